// Classes of equal rows that merge with their closest until all are large enough.
#include "binding.hpp"
#include "centres.hpp"

namespace covey {

namespace {

class Kaca {
  public:
    Kaca(const Table &table, const i64 *classes, i64 count, const double *climb, i64 k)
        : cells_(table.cells), forest_(table.forest), climb_(climb), k_(k), summaries_(count, cells_, forest_),
          alive_(all_rows(count)), mergers_(count) {
        for (i64 row = 0; row < cells_.rows; ++row) summaries_.add(classes[row], row);
        std::copy_if(alive_.begin(), alive_.end(), std::back_inserter(small_), [&](i64 one) { return is_small(one); });
    }

    // While there are small classes, a random one merges with the closest class.
    Mergers &merge(const Random &random, Watch &watch) {
        i64 all = i64(small_.size());
        while (!small_.empty() && alive_.size() > 1) {
            i64 one = small_[random.below(i64(small_.size()))], other = closest(one);
            merge(std::max(one, other), std::min(one, other));
            watch.reach(all - i64(small_.size()), all);
        }
        return mergers_;
    }

  private:
    bool is_small(i64 one) const { return summaries_.size[one] < k_; }

    // Those behind move up, which is far cheaper than to search for the closest.
    static void erase(std::vector<i64> &from, i64 one) { from.erase(std::lower_bound(from.begin(), from.end(), one)); }

    void merge(i64 gone, i64 kept) {
        bool was_small = is_small(kept);
        if (is_small(gone)) erase(small_, gone);
        summaries_.unite(kept, gone);
        if (was_small && !is_small(kept)) erase(small_, kept);
        erase(alive_, gone);
        mergers_.merge(gone, kept);
    }

    // The class whose merging with this one distorts the rows of both least.
    i64 closest(i64 one) {
        double best = INF;
        i64 choice = -1;
        for (i64 other : alive_) {
            if (other == one) continue;
            double distance = distortion(one, other, best);
            if (distance < best) best = distance, choice = other;
        }
        return choice;
    }

    // Distortions only add up, so a class is given up once it is worse than the best so far.
    double distortion(i64 one, i64 other, double best) {
        const double *low = summaries_.low(one), *high = summaries_.high(one);
        const double *bottom = summaries_.low(other), *top = summaries_.high(other);
        const double rows = double(summaries_.size[one]), rows_there = double(summaries_.size[other]);
        double ours = 0.0, theirs = 0.0;
        for (int j = 0; j < cells_.intervals; ++j) {
            double width = std::min(std::max(high[j], top[j]) - std::min(low[j], bottom[j]), 1.0);
            ours += cells_.weights[j] * (width - std::min(high[j] - low[j], 1.0));
            theirs += cells_.weights[j] * (width - std::min(top[j] - bottom[j], 1.0));
        }
        const i32 *node = summaries_.node(one), *node_there = summaries_.node(other);
        for (int j = 0; j < cells_.categories; ++j) {
            if (rows * ours + rows_there * theirs > best) return INF;
            i32 above = forest_.depth[forest_.common_ancestor(node[j], node_there[j])];
            ours += climb(j, node[j], above);
            theirs += climb(j, node_there[j], above);
        }
        return rows * ours + rows_there * theirs;
    }

    // What it costs a row to climb from a node of a tree to a level above it.
    double climb(int tree, i32 node, i32 level) const {
        return climb_[(i64(tree) * forest_.levels + forest_.depth[node]) * forest_.levels + level];
    }

    Cells cells_;
    Forest forest_;
    const double *climb_;  // (trees, levels, levels)
    i64 k_;
    Summaries summaries_;
    std::vector<i64> alive_, small_;  // all classes, and those with fewer than k rows, ascending
    Mergers mergers_;
};

}  // namespace

void bind_kaca(nb::module_ &m) {
    m.def(
        "kaca",
        [](const BoundTable &table, i64 k, Array1<i64> classes, Array3<double> climb, nb::object generator,
           Watch &watch) {
            i64 levels = table.forest.levels;
            require_k(table, k);
            require(has_shape(classes, {table.cells.rows}), "a class for each row");
            require(all_within(classes, 0, double(table.cells.rows)), "classes count from 0");
            require(has_shape(climb, {table.forest.trees, levels, levels}), "a cost for each tree and two levels");
            Random random = random_of(generator);
            return give(unlocked([&] {
                const i64 *first = classes.data(), *last = first + classes.size();
                Kaca kaca(table, first, *std::max_element(first, last) + 1, climb.data(), k);
                return kaca.merge(random, watch).labels(first, table.cells.rows);
            }));
        },
        "table"_a, "k"_a, "classes"_a.noconvert(), "climb"_a.noconvert(), "random"_a, "watch"_a);
}

}  // namespace covey
