// The geometry of groups: what the members of a group span, and what each of them loses by it.
//
// A group is represented by its minimum and maximum in every attribute. Leaves stand in the order of
// their tree, so the first and the last leaf of a group have the same common ancestor as all of them.
#pragma once

#include "core.hpp"

namespace covey {

// What some rows span; a single row spans itself.
struct Hull {
    const double *low, *high;   // (intervals,)
    const i32 *first, *last;    // (categories,)
};

// What all blocks of a table share.
class Space {
  public:
    explicit Space(const Table &table);

    Cells cells;
    Forest forest;
    int intervals, categories;

    Hull of(i64 row) const {
        const double *numbers = cells.number(row);
        const i32 *codes = cells.code(row);
        return {numbers, numbers, codes, codes};
    }

    // The loss of the common ancestor of two leaves, of which `one` does not come later.
    double pair(int tree, i32 one, i32 other) const {
        if (one == other) return 0.0;
        if (start_[tree] < 0) return forest.loss[forest.common_ancestor(one, other)];
        i64 first = forest.first[tree];
        return pairs_[start_[tree] + (one - first) * forest.leaves[tree] + other - first];
    }

    // What each row loses where two hulls are one, added to `sum`: numbers first. The sum is given up
    // once it reaches `most`.
    double loss(const Hull &one, const Hull &other, double most = INF, double sum = 0.0) const {
        for (int j = 0; j < intervals; ++j) {
            double high = one.high[j] > other.high[j] ? one.high[j] : other.high[j];
            double low = one.low[j] < other.low[j] ? one.low[j] : other.low[j];
            double width = high - low;
            sum += cells.weights[j] * (width < 1.0 ? width : 1.0);
        }
        for (int j = 0; j < categories && sum < most; ++j) {
            i32 first = one.first[j] < other.first[j] ? one.first[j] : other.first[j];
            i32 last = one.last[j] > other.last[j] ? one.last[j] : other.last[j];
            sum += pair(j, first, last);
        }
        return sum;
    }

  private:
    std::vector<double> pairs_;  // by tree, the lower leaf first
    std::vector<i64> start_;     // (trees,) where the pairs of a tree begin, -1 for a large tree
};

}  // namespace covey
