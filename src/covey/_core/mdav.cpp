// Maximum distance to average vector: groups around the rows furthest from the middle.
#include "binding.hpp"
#include "box_tree.hpp"

namespace covey {

namespace {

// The average of some rows: the mean of the numbers present, the most frequent leaf of each tree.
class Middle {
  public:
    // Numbers at `missing` stand for none.
    Middle(const Table &table, const double *missing)
        : numbers(table.cells.intervals), codes(table.cells.categories), cells_(table.cells), forest_(table.forest),
          missing_(missing), sums_(table.cells.intervals, 0.0), present_(table.cells.intervals, 0),
          counts_(table.forest.nodes, 0) {}

    void enter(i64 row) { count(row, 1); }
    void leave(i64 row) { count(row, -1); }

    void update() {
        for (int j = 0; j < cells_.intervals; ++j)
            numbers[j] = present_[j] == 0 ? missing_[j] : sums_[j] / double(present_[j]);
        for (int tree = 0; tree < cells_.categories; ++tree) {
            auto first = counts_.begin() + forest_.first[tree];
            codes[tree] = i32(std::max_element(first, first + forest_.leaves[tree]) - counts_.begin());
        }
    }

    std::vector<double> numbers;
    std::vector<i32> codes;

  private:
    void count(i64 row, int sign) {
        const double *own = cells_.number(row);
        for (int j = 0; j < cells_.intervals; ++j) {
            if (own[j] == missing_[j]) continue;
            sums_[j] += sign * own[j];
            present_[j] += sign;
        }
        for (int j = 0; j < cells_.categories; ++j) counts_[cells_.code(row)[j]] += sign;
    }

    Cells cells_;
    Forest forest_;
    const double *missing_;
    std::vector<double> sums_;
    std::vector<i64> present_, counts_;  // (intervals,), (nodes,)
};

class Mdav {
  public:
    Mdav(const Table &table, i64 k, const double *caps, const double *missing)
        : cells_(table.cells), scale_{table.cells.weights, caps, true}, k_(k), tree_(table), middle_(table, missing),
          labels_(table.cells.rows, -1) {
        for (i64 row = 0; row < cells_.rows; ++row) middle_.enter(row);
    }

    std::vector<i64> labels(Watch &watch) {
        while (tree_.free() >= 3 * k_) {
            i64 seed = furthest_from_middle();
            form_group(seed, watch);
            form_group(tree_.furthest(scale_, cells_.number(seed), cells_.code(seed)), watch);
        }
        if (tree_.free() >= 2 * k_) form_group(furthest_from_middle(), watch);
        std::replace(labels_.begin(), labels_.end(), i64(-1), groups_);
        return std::move(labels_);
    }

  private:
    i64 furthest_from_middle() {
        middle_.update();
        return tree_.furthest(scale_, middle_.numbers.data(), middle_.codes.data());
    }

    // A row and its k - 1 nearest.
    void form_group(i64 seed, Watch &watch) {
        take(seed);
        for (i64 size = 1; size < k_; ++size) {
            take(tree_.nearest(scale_, cells_.number(seed), cells_.code(seed)));
            watch.reach(cells_.rows - tree_.free(), cells_.rows);
        }
        groups_ += 1;
        watch.reach(cells_.rows - tree_.free(), cells_.rows);
    }

    void take(i64 row) {
        labels_[row] = groups_;
        tree_.remove(row);
        middle_.leave(row);
    }

    Cells cells_;
    Scale scale_;
    i64 k_, groups_ = 0;
    BoxTree tree_;
    Middle middle_;  // of the free rows
    std::vector<i64> labels_;
};

}  // namespace

void bind_mdav(nb::module_ &m) {
    m.def(
        "mdav",
        [](const BoundTable &table, i64 k, Array1<double> caps, Array1<double> missing, Watch &watch) {
            size_t intervals = size_t(table.cells.intervals);
            require(caps.size() == intervals && missing.size() == intervals, "a cap and a place for each interval");
            return give(unlocked([&] { return Mdav(table, k, caps.data(), missing.data()).labels(watch); }));
        },
        "table"_a, "k"_a, "caps"_a.noconvert(), "missing"_a.noconvert(), "watch"_a);
}

}  // namespace covey
