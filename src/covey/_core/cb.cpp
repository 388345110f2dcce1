// Bisecting 2-means with repair, and its l-diverse kind.
#include "binding.hpp"
#include "diversity.hpp"
#include "prices.hpp"

namespace covey {

namespace {

// The numbers of a group in one column.
struct Values : Range<double> {
    double sum = 0.0;  // of those present
    i64 present = 0;
};

// One of the two groups into which a node is parted, and its centre.
class Half {
  public:
    Half(const Table &table, double missing)
        : distance(table.cells.rows), cells_(table.cells), forest_(table.forest), missing_(missing),
          prices_(table.forest), counts_(table.forest.nodes, 0) {}

    void start(i64 row) {
        numbers_.assign(cells_.number(row), cells_.number(row) + cells_.intervals);
        codes_.assign(cells_.code(row), cells_.code(row) + cells_.categories);
        moved_ = true;
    }

    // The distance of each row of a node from the centre. The centre soon comes to rest, and so do they.
    void measure(Node node) {
        if (!moved_) return;
        prices_.start(codes_.data());
        prices_.distances(cells_, numbers_.data(), node.begin(), node.size(), distance.data());
    }

    void clear() {
        values_.assign(cells_.intervals, {});
        leaves_.assign(cells_.categories, {});
    }

    void add(i64 row) {
        const double *numbers = cells_.number(row);
        const i32 *codes = cells_.code(row);
        for (int j = 0; j < cells_.intervals; ++j) {
            values_[j].add(numbers[j]);
            if (numbers[j] == missing_) continue;
            values_[j].sum += numbers[j];
            values_[j].present += 1;
        }
        for (int j = 0; j < cells_.categories; ++j) {
            leaves_[j].add(codes[j]);
            counts_[codes[j]] += 1;
        }
    }

    // The information loss of the group. Leaves stand in the order of their tree, so the first and
    // the last that occur have the same common ancestor as all of them.
    double loss() const {
        double loss = 0.0;
        for (int j = 0; j < cells_.intervals; ++j)
            loss += cells_.weights[j] * std::min(values_[j].high - values_[j].low, 1.0);
        for (auto [first, last] : leaves_) loss += forest_.loss[forest_.common_ancestor(first, last)];
        return double(size) * loss;
    }

    // Move the centre: to the mean of the numbers present, to the most frequent leaf.
    void move() {
        moved_ = false;
        for (int j = 0; j < cells_.intervals; ++j)
            set(numbers_[j], values_[j].present > 0 ? values_[j].sum / double(values_[j].present) : missing_);
        for (int j = 0; j < cells_.categories; ++j) {
            auto first = counts_.begin() + leaves_[j].low, last = counts_.begin() + leaves_[j].high + 1;
            set(codes_[j], i32(std::max_element(first, last) - counts_.begin()));
            std::fill(first, last, 0);
        }
    }

    i64 size = 0;
    std::vector<double> distance;  // (rows,) from the centre, by place in the node

  private:
    template <class T> void set(T &known, T value) {
        moved_ |= known != value;
        known = value;
    }

    Cells cells_;
    Forest forest_;
    double missing_;  // where missing numbers stand
    std::vector<double> numbers_;  // of the centre
    std::vector<i32> codes_;
    bool moved_ = true;
    Prices prices_;  // from the centre
    std::vector<Values> values_;
    std::vector<Range<i32>> leaves_;
    std::vector<i64> counts_;  // (nodes,) members at each leaf, zero between two tries
};

class TwoMeans : public Bisection {
  public:
    TwoMeans(const Table &table, double missing, i64 k, i64 tries, i64 restarts, const Diversity &diversity,
             const Random &random, Watch &watch)
        : Bisection(table.cells.rows, k, random, watch), table_(table), tries_(tries), restarts_(restarts),
          diversity_(diversity), halves_{{table, missing}, {table, missing}}, best_(table.cells.rows) {}

  private:
    // Part a node by its best try.
    i64 split(Node node) override {
        double least = INF;
        for (i64 start = 0; start < restarts_; ++start) {
            i64 one = random_.below(node.size()), other = random_.below(node.size() - 1);
            halves_[0].start(node[one]);
            halves_[1].start(node[other + (other >= one)]);
            for (i64 tried = 0; tried < tries_; ++tried) {
                assign(node);
                repair(node);
                summarise(node);
                double cost = halves_[0].loss() + halves_[1].loss();
                if (cost < least && diversity_.holds(node, side_)) {
                    least = cost;
                    std::copy_n(side_.begin(), node.size(), best_.begin());
                }
                for (Half &half : halves_) half.move();
            }
        }
        return least == INF ? 0 : part_by(node, best_);
    }

    // Every row goes to the nearer centre. Ties look at the sizes so far, so rows come in random order.
    void assign(Node node) {
        for (Half &half : halves_) half.measure(node), half.size = 0;
        watch_.go_on();
        std::iota(order_.begin(), order_.begin() + node.size(), 0);
        random_.shuffle(order_.data(), node.size());
        watch_.go_on();
        auto &[one, other] = halves_;
        for (i64 i = 0; i < node.size(); ++i) {
            i64 place = order_[i];
            int half = nearer(one.distance[place], other.distance[place], one.size, other.size);
            side_[place] = std::int8_t(half);
            halves_[half].size += 1;
        }
        watch_.go_on();
    }

    // Fill up a group to k by the rows of the other that lose least by the move.
    void repair(Node node) {
        for (int small : {0, 1}) {
            Half &half = halves_[small], &other = halves_[1 - small];
            i64 need = k_ - half.size;
            if (need <= 0) continue;
            auto regret = [&](i64 place) { return half.distance[place] - other.distance[place]; };
            bring_over(node.size(), small, need, regret);
            half.size += need;
            other.size -= need;
        }
    }

    void summarise(Node node) {
        for (Half &half : halves_) half.clear();
        for (i64 place = 0; place < node.size(); ++place) halves_[side_[place]].add(node[place]);
        watch_.go_on();
    }

    void settle(Node node) override {
        std::vector<i64> sizes;
        if (diversity_.l > 0) sizes = Deal(table_, diversity_, node, watch_).classes(k_);
        for (i64 size : sizes) form_group(size);
        if (sizes.empty()) form_group(node.size());
    }

    const Table &table_;
    i64 tries_, restarts_;
    Diversity diversity_;
    Half halves_[2];
    Sides best_;
};

}  // namespace

void bind_cb(nb::module_ &m) {
    m.def(
        "cb",
        [](const BoundTable &table, double missing, i64 k, i64 tries, i64 restarts, i64 l, Array1<i32> values,
           Array1<i64> rank, nb::object random, Watch &watch) {
            require_k(table, k);
            Diversity diversity;
            if (l > 0) {
                size_t rows = size_t(table.cells.rows);
                require(values.size() == rows && rank.size() == rows, "a value and a rank for each row");
                auto [lowest, highest] = std::minmax_element(values.data(), values.data() + rows);
                require(*lowest >= 0, "values count from 0");
                diversity = {l, values.data(), rank.data(), std::vector<i64>(2 * (*highest + 1))};
            }
            return give(unlocked([&, draws = random_of(random)] {
                TwoMeans method(table, missing, k, tries, restarts, diversity, draws, watch);
                method.run();
                return method.labels();
            }));
        },
        "table"_a, "missing"_a, "k"_a, "tries"_a, "restarts"_a, "l"_a, "values"_a.noconvert(), "rank"_a.noconvert(),
        "random"_a, "watch"_a);
}

}  // namespace covey
