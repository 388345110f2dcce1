// One pass of k-means, its centres moving with every row.
#include "binding.hpp"
#include "box_tree.hpp"
#include "centres.hpp"

namespace covey {

namespace {

class Oka {
  public:
    // Each of the first n / k rows starts a group.
    Oka(const Table &table, i64 k, const double *missing, std::vector<i64> order, Watch &watch)
        : table_(table), cells_(table.cells), order_(std::move(order)), k_(k), groups_(cells_.rows / k), watch_(watch),
          caps_(cells_.intervals, 1.0), scale_{cells_.weights, caps_.data(), false},
          centres_(table, order_.data(), groups_), means_(groups_, cells_, missing), sizes_(groups_, 0),
          labels_(cells_.rows, -1) {}

    std::vector<i64> labels() {
        cluster();
        adjust(surplus());
        return std::move(labels_);
    }

  private:
    // Centres are at common ancestors: inner nodes.
    BoxTree boxes() { return BoxTree(centres_.instead_of_rows(table_), watch_, true); }

    i64 nearest(BoxTree &tree, i64 row) const { return tree.nearest(scale_, cells_.number(row), cells_.code(row)); }

    void put(i64 row, i64 group) {
        labels_[row] = group;
        sizes_[group] += 1;
    }

    // Put each row into the group of the nearest centre, which follows at once.
    void cluster() {
        BoxTree tree = boxes();
        for (i64 i = 0; i < cells_.rows; ++i) {
            i64 row = order_[i], group = i < groups_ ? i : nearest(tree, row);
            put(row, group);
            means_.count(group, row, 1);
            i32 *node = centres_.code(group);
            for (int j = 0; j < cells_.intervals; ++j) centres_.move(group, j, means_.of(group, j));
            for (int j = 0; j < cells_.categories; ++j)
                node[j] = table_.forest.common_ancestor(node[j], cells_.code(row)[j]);
            tree.move(group, centres_.number(group), node);
            watch_.reach(i + 1, cells_.rows);
        }
    }

    // The rows that groups of more than k give up, furthest from the centre first.
    std::vector<i64> surplus() {
        std::vector<double> distance(cells_.rows);
        std::vector<i64> rows = all_rows(cells_.rows), result;
        for (i64 row : rows) distance[row] = centres_.loss_with(labels_[row], row);
        std::stable_sort(rows.begin(), rows.end(), [&](i64 a, i64 b) {
            return labels_[a] != labels_[b] ? labels_[a] < labels_[b] : distance[a] > distance[b];
        });
        for (i64 row : rows) {
            i64 &size = sizes_[labels_[row]];
            if (size > k_) result.push_back(row), --size;
        }
        return result;
    }

    // Put rows into the nearest groups with fewer than k rows and, when there are none, into any.
    void adjust(const std::vector<i64> &rows) {
        BoxTree open = boxes(), all = boxes();
        for (i64 group = 0; group < groups_; ++group)
            if (sizes_[group] >= k_) open.remove(group);
        for (i64 row : rows) {
            i64 group = nearest(open.free() > 0 ? open : all, row);
            put(row, group);
            if (sizes_[group] == k_) open.remove(group);
            watch_.reach(1, 1);
        }
    }

    Table table_;
    Cells cells_;
    std::vector<i64> order_;
    i64 k_, groups_;
    Watch &watch_;
    std::vector<double> caps_;
    Scale scale_;
    Centres centres_;
    Means means_;
    std::vector<i64> sizes_, labels_;
};

}  // namespace

void bind_oka(nb::module_ &m) {
    m.def(
        "oka",
        [](const BoundTable &table, i64 k, Array1<double> missing, nb::object generator, Watch &watch) {
            require_k(table, k);
            require(has_shape(missing, {table.cells.intervals}), "a place of missing numbers for each interval");
            Random random = random_of(generator);
            return give(unlocked([&] {
                return Oka(table, k, missing.data(), random.order(table.cells.rows), watch).labels();
            }));
        },
        "table"_a, "k"_a, "missing"_a.noconvert(), "random"_a, "watch"_a);
}

}  // namespace covey
