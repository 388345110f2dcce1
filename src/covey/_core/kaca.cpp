// Classes of equal rows that merge with their closest until all are large enough.
#include "binding.hpp"
#include "centres.hpp"
#include "fenwick.hpp"
#include "summaries.hpp"

namespace covey {

namespace {

class Kaca {
  public:
    Kaca(const Table &table, const i64 *classes, i64 count, const double *climb, i64 k)
        : cells_(table.cells), forest_(table.forest), classes_(classes), climb_(climb), k_(k), small_(count),
          summaries_(count, table.cells, table.forest), ranks_(count), alive_(count), mergers_(count) {
        std::iota(alive_.begin(), alive_.end(), i64(0));
        for (i64 row = 0; row < cells_.rows; ++row) summaries_.add(classes[row], row);
        for (i64 number = 0; number < count; ++number)
            if (!is_small(number)) count_out(number);
    }

    // While there are small classes, merge a random one with the closest class.
    std::vector<i64> labels(const Random &random, Watch &watch) {
        for (i64 start = small_; small_ > 0 && alive_.size() > 1;) {
            i64 one = ranks_.ranked(random.below(small_)), other = closest(one);
            merge(std::max(one, other), std::min(one, other));
            watch.reach(start - small_, start);
        }
        return mergers_.labels(classes_, cells_.rows);
    }

  private:
    bool is_small(i64 number) const { return summaries_.size[number] < k_; }

    void count_out(i64 number) {
        ranks_.remove(number);
        small_ -= 1;
    }

    void merge(i64 gone, i64 kept) {
        bool was_small = is_small(kept);
        if (is_small(gone)) count_out(gone);
        summaries_.unite(kept, gone);
        if (was_small && !is_small(kept)) count_out(kept);
        mergers_.merge(gone, kept);
        // What comes behind moves up: far cheaper than the search before.
        alive_.erase(std::lower_bound(alive_.begin(), alive_.end(), gone));
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
        const double count = double(summaries_.size[one]), others = double(summaries_.size[other]);
        double ours = 0.0, theirs = 0.0;
        for (int j = 0; j < cells_.intervals; ++j) {
            double width = std::min(std::max(high[j], top[j]) - std::min(low[j], bottom[j]), 1.0);
            ours += cells_.weights[j] * (width - std::min(high[j] - low[j], 1.0));
            theirs += cells_.weights[j] * (width - std::min(top[j] - bottom[j], 1.0));
        }
        const i32 *node = summaries_.node(one), *node_there = summaries_.node(other);
        for (int j = 0; j < cells_.categories; ++j) {
            i32 above = forest_.depth[forest_.common_ancestor(node[j], node_there[j])];
            ours += climb(j, node[j], above);
            theirs += climb(j, node_there[j], above);
            if (count * ours + others * theirs > best) return INF;
        }
        return count * ours + others * theirs;
    }

    // What it costs a row to climb from a node of a tree to a level above it.
    double climb(int tree, i32 node, i32 level) const {
        return climb_[(i64(tree) * forest_.levels + forest_.depth[node]) * forest_.levels + level];
    }

    Cells cells_;
    Forest forest_;
    const i64 *classes_;   // (rows,)
    const double *climb_;  // (trees, levels, levels)
    i64 k_, small_;        // how many classes have fewer than k rows
    Summaries summaries_;
    Fenwick ranks_;  // of the small classes
    std::vector<i64> alive_;
    Mergers mergers_;
};

}  // namespace

void bind_kaca(nb::module_ &m) {
    m.def(
        "kaca",
        [](const BoundTable &table, i64 k, Array1<i64> classes, Array3<double> climb, nb::object generator,
           Watch &watch) {
            size_t levels = size_t(table.forest.levels);
            require(i64(classes.size()) == table.cells.rows, "a class for each row");
            require(i64(climb.shape(0)) == table.forest.trees && climb.shape(1) == levels && climb.shape(2) == levels,
                    "a cost for each tree and each two levels");
            Random random = random_of(generator);
            return give(unlocked([&] {
                i64 count = *std::max_element(classes.data(), classes.data() + classes.size()) + 1;
                return Kaca(table, classes.data(), count, climb.data(), k).labels(random, watch);
            }));
        },
        "table"_a, "k"_a, "classes"_a.noconvert(), "climb"_a.noconvert(), "random"_a, "watch"_a);
}

}  // namespace covey
