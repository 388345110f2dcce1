// Maximum distance to average vector: groups around the rows furthest from the middle.
#include "binding.hpp"
#include "box_tree.hpp"
#include "centres.hpp"

namespace covey {

namespace {

class Mdav {
  public:
    Mdav(const Table &table, i64 k, const double *caps, const double *missing, Watch &watch)
        : cells_(table.cells), forest_(table.forest), scale_{cells_.weights, caps, true}, k_(k), watch_(watch),
          tree_(table, watch), means_(1, cells_, missing), counts_(forest_.nodes, 0), labels_(cells_.rows, -1) {
        for (i64 row = 0; row < cells_.rows; ++row) count(row, 1);
    }

    std::vector<i64> labels() {
        while (tree_.free() >= 3 * k_) {
            i64 seed = furthest_from_middle();
            form_group(seed);
            form_group(tree_.furthest(scale_, cells_.number(seed), cells_.code(seed)));
        }
        if (tree_.free() >= 2 * k_) form_group(furthest_from_middle());
        watch_.reach(1, 1);
        std::replace(labels_.begin(), labels_.end(), i64(-1), groups_);
        return std::move(labels_);
    }

  private:
    // The middle of the free rows: the mean of the numbers, the most frequent leaf of each tree.
    i64 furthest_from_middle() {
        std::vector<double> numbers(cells_.intervals);
        std::vector<i32> codes(cells_.categories);
        for (int j = 0; j < cells_.intervals; ++j) numbers[j] = means_.of(0, j);
        for (int tree = 0; tree < forest_.trees; ++tree) {
            auto first = counts_.begin() + forest_.first[tree];
            codes[tree] = i32(std::max_element(first, first + forest_.leaves[tree]) - counts_.begin());
        }
        return tree_.furthest(scale_, numbers.data(), codes.data());
    }

    // A row and its k - 1 nearest.
    void form_group(i64 seed) {
        take(seed);
        for (i64 size = 1; size < k_; ++size) take(tree_.nearest(scale_, cells_.number(seed), cells_.code(seed)));
        groups_ += 1;
    }

    void take(i64 row) {
        labels_[row] = groups_;
        tree_.remove(row);
        count(row, -1);
        watch_.reach(cells_.rows - tree_.free(), cells_.rows);
    }

    void count(i64 row, int sign) {
        means_.count(0, row, sign);
        for (int j = 0; j < cells_.categories; ++j) counts_[cells_.code(row)[j]] += sign;
    }

    Cells cells_;
    Forest forest_;
    Scale scale_;
    i64 k_, groups_ = 0;
    Watch &watch_;
    BoxTree tree_;
    Means means_;              // of the free rows
    std::vector<i64> counts_;  // (nodes,) free rows at each leaf
    std::vector<i64> labels_;
};

}  // namespace

void bind_mdav(nb::module_ &m) {
    m.def(
        "mdav",
        [](const BoundTable &table, i64 k, Array1<double> caps, Array1<double> missing, Watch &watch) {
            require_k(table, k);
            require(has_shape(caps, {table.cells.intervals}), "a cap for each interval");
            require(has_shape(missing, {table.cells.intervals}), "a place of missing numbers for each interval");
            return give(unlocked([&] { return Mdav(table, k, caps.data(), missing.data(), watch).labels(); }));
        },
        "table"_a, "k"_a, "caps"_a.noconvert(), "missing"_a.noconvert(), "watch"_a);
}

}  // namespace covey
