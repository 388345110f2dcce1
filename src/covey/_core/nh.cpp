// Non-homogeneous generalisation: partitioning by two far rows, and each part in the order of a tour.
#include "binding.hpp"
#include "prices.hpp"
#include "summaries.hpp"
#include "top_down.hpp"

namespace covey {

namespace {

// Rows ring by ring, where each ring begins, and the end; and by how much each is shifted.
struct Rings {
    std::vector<i64> order, begin, shift;
};

class NonHomogeneous : public Bisection {
  public:
    NonHomogeneous(const Table &table, i64 k, const Random &random, Watch &watch)
        : Bisection(table.cells.rows, k, random, watch), cells_(table.cells), halves_(2, table.cells, table.forest),
          prices_(table.forest), distance_(table.cells.rows) {}

    Rings rings() const {
        Rings rings{{rows_.begin(), rows_.end()}, begin_, std::vector<i64>(begin_.size() - 1)};
        for (i64 &shift : rings.shift) shift = random_.below(k_);
        return rings;
    }

  private:
    i64 split(Node node) override {
        i64 one = furthest(node, furthest(node, random_.below(node.size())));
        i64 other = furthest(node, one);
        assign(node, one, other);
        for (int half : {0, 1}) {
            if (i64 need = k_ - halves_.size[half]; need > 0)
                bring_over(node.size(), half, need, [&](i64 place) { return halves_.loss_with(half, node[place]); });
        }
        return part_by(node, side_);
    }

    // The place of the row furthest from another, of equals the first.
    i64 furthest(Node node, i64 place) {
        measure(node[place], node.begin(), node.size());
        distance_[place] = -INF;
        return std::max_element(distance_.begin(), distance_.begin() + node.size()) - distance_.begin();
    }

    // Two far rows start the groups. The others come in random order, each to the group whose loss it raises less.
    void assign(Node node, i64 one, i64 other) {
        halves_.start(0, node[one]);
        halves_.start(1, node[other]);
        side_[one] = 0, side_[other] = 1;
        i64 count = 0;
        for (i64 place = 0; place < node.size(); ++place)
            if (place != one && place != other) order_[count++] = i32(place);
        random_.shuffle(order_.data(), count);
        for (i64 i = 0; i < count; ++i) {
            i64 place = order_[i];
            i32 row = node[place];
            int half = nearer(halves_.rise(0, row), halves_.rise(1, row), halves_.size[0], halves_.size[1]);
            side_[place] = std::int8_t(half);
            halves_.add(half, row);
            watch_.go_on();
        }
    }

    // A part becomes a ring: its rows in the order of a walk from each to the nearest not visited.
    void settle(Node node) override {
        for (i32 *at = node.begin(); at + 1 < node.end(); ++at) {
            i64 rest = node.end() - (at + 1), nearest = 0;
            measure(*at, at + 1, rest);
            for (i64 i = 1; i < rest; ++i)
                if (std::pair(distance_[i], at[1 + i]) < std::pair(distance_[nearest], at[1 + nearest])) nearest = i;
            std::swap(at[1], at[1 + nearest]);
            watch_.go_on();
        }
        TopDown::settle(node);
    }

    // How far some rows are from another.
    void measure(i32 row, const i32 *others, i64 count) {
        prices_.start(cells_.code(row));
        prices_.distances(cells_, cells_.number(row), others, count, distance_.data());
        watch_.go_on();
    }

    Cells cells_;
    Summaries halves_;
    Prices prices_;
    std::vector<double> distance_;
};

}  // namespace

void bind_nh(nb::module_ &m) {
    m.def(
        "nh",
        [](const BoundTable &table, i64 k, nb::object random, Watch &watch) {
            require_k(table, k);
            Rings rings = unlocked([&, draws = random_of(random)] {
                NonHomogeneous method(table, k, draws, watch);
                method.run();
                return method.rings();
            });
            return nb::make_tuple(give(std::move(rings.order)), give(std::move(rings.begin)),
                                  give(std::move(rings.shift)));
        },
        "table"_a, "k"_a, "random"_a, "watch"_a);
}

}  // namespace covey
