// One pass of k-means, its centres moving with every row.
#include "binding.hpp"
#include "box_tree.hpp"
#include "centres.hpp"

namespace covey {

namespace {

class Oka {
  public:
    // Each of the first n / k rows starts a group. Numbers at `missing` stand for none.
    Oka(const Table &table, i64 k, double missing, std::vector<i64> order)
        : table_(table), cells_(table.cells), order_(std::move(order)), k_(k), groups_(table.cells.rows / k),
          missing_(missing), caps_(cells_.intervals, 1.0), scale_{cells_.weights, caps_.data(), false},
          centres_(cells_, order_.data(), groups_), sums_(groups_ * cells_.intervals, 0.0),
          present_(groups_ * cells_.intervals, 0), sizes_(groups_, 0), labels_(cells_.rows, -1) {}

    std::vector<i64> labels(Watch &watch) {
        cluster(watch);
        adjust(surplus(), watch);
        return std::move(labels_);
    }

  private:
    // Centres are means of the numbers present and common ancestors, so they may be at inner nodes.
    BoxTree boxes() const { return BoxTree(centres_.instead_of_rows(table_), true); }

    // Put each row into the group of the nearest centre, which follows at once.
    void cluster(Watch &watch) {
        BoxTree tree = boxes();
        for (i64 i = 0; i < cells_.rows; ++i) {
            i64 row = order_[i], group = i < groups_ ? i : nearest(tree, row);
            put(row, group);
            follow(group, row);
            tree.move(group, centres_.number(group), centres_.code(group));
            watch.reach(i, cells_.rows);
        }
    }

    // Put rows into the nearest groups with fewer than k rows and, when there are none, into any.
    void adjust(const std::vector<i64> &rows, Watch &watch) {
        BoxTree open = boxes(), all = boxes();
        for (i64 group = 0; group < groups_; ++group)
            if (sizes_[group] >= k_) open.remove(group);
        for (i64 row : rows) {
            bool needed = open.free() > 0;
            i64 group = nearest(needed ? open : all, row);
            put(row, group);
            if (needed && sizes_[group] == k_) open.remove(group);
            watch.reach(1, 1);
        }
    }

    // The rows that groups of more than k give up, furthest from the centre first.
    std::vector<i64> surplus() {
        std::vector<double> distance(cells_.rows);
        for (i64 row = 0; row < cells_.rows; ++row) distance[row] = distance_from_centre(row);
        Members members(labels_, groups_);
        std::vector<i64> rows;
        for (i64 group = 0; group < groups_; ++group) {
            if (sizes_[group] <= k_) continue;
            i64 *own = members.begin(group);
            std::stable_sort(own, members.end(group), [&](i64 a, i64 b) { return distance[a] > distance[b]; });
            rows.insert(rows.end(), own, own + (sizes_[group] - k_));
            sizes_[group] = k_;
        }
        return rows;
    }

    i64 nearest(BoxTree &tree, i64 row) const { return tree.nearest(scale_, cells_.number(row), cells_.code(row)); }

    void put(i64 row, i64 group) {
        labels_[row] = group;
        sizes_[group] += 1;
    }

    // The centre moves to the middle of the group and one more row.
    void follow(i64 group, i64 row) {
        const double *numbers = cells_.number(row);
        for (int j = 0; j < cells_.intervals; ++j) {
            if (numbers[j] == missing_) continue;
            i64 at = group * cells_.intervals + j;
            sums_[at] += numbers[j];
            present_[at] += 1;
            centres_.number(group)[j] = sums_[at] / double(present_[at]);
        }
        i32 *codes = centres_.code(group);
        for (int j = 0; j < cells_.categories; ++j)
            codes[j] = table_.forest.common_ancestor(codes[j], cells_.code(row)[j]);
    }

    double distance_from_centre(i64 row) {
        const double *numbers = cells_.number(row), *middle = centres_.number(labels_[row]);
        const i32 *codes = cells_.code(row), *nodes = centres_.code(labels_[row]);
        double total = 0.0;
        for (int j = 0; j < cells_.intervals; ++j)
            total += cells_.weights[j] * std::min(std::abs(numbers[j] - middle[j]), 1.0);
        for (int j = 0; j < cells_.categories; ++j)
            total += table_.forest.loss[table_.forest.common_ancestor(codes[j], nodes[j])];
        return total;
    }

    Table table_;
    Cells cells_;
    std::vector<i64> order_;
    i64 k_, groups_;
    double missing_;
    std::vector<double> caps_;
    Scale scale_;
    Centres centres_;
    std::vector<double> sums_;           // (groups, intervals) of the numbers present
    std::vector<i64> present_;           // (groups, intervals) how many these are
    std::vector<i64> sizes_, labels_;    // (groups,), (rows,)
};

}  // namespace

void bind_oka(nb::module_ &m) {
    m.def(
        "oka",
        [](const BoundTable &table, i64 k, double missing, nb::object generator, Watch &watch) {
            Random random = random_of(generator);
            return give(unlocked([&] { return Oka(table, k, missing, random.order(table.cells.rows)).labels(watch); }));
        },
        "table"_a, "k"_a, "missing"_a, "random"_a, "watch"_a);
}

}  // namespace covey
