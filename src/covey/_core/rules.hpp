// What requirements ask of the sensitive values in a group, and by how much a group misses it.
//
// The values of a column are numbered; -1 is one that counts for nothing. Shares are compared with a
// little room, since products are rounded: what is at the very border keeps the requirement. A group
// that is still to grow is judged as if the rows to come were the best that one could wish for.
#pragma once

#include "core.hpp"

namespace covey {

// The values that occur in a group, ascending, and how often.
struct Counts {
    std::vector<i32> values, counts;

    i64 found() const { return i64(values.size()); }
    void clear() { values.clear(), counts.clear(); }
    void add(i32 value, i32 sign);  // one more of a value, or one less
    void merge(const Counts &other, Counts &into) const;
    i32 count(i32 value) const;
};

// A row that leaves a group and one that joins it, by their values; -1 for none.
struct Shift {
    i32 less = -1, more = -1;

    bool none() const { return less == more; }
    i32 of(i32 value) const { return (value == more) - (value == less); }
};

class Rules {
  public:
    enum Kind { distinct, shares, entropy, recursive, equal, ordered, tree, between };

    // As covey.encoding.constraints lays them out; sorted by column.
    const i64 *places = nullptr;     // (rules, 5) column, kind, number of values, begin of bounds and leaves
    const double *asked = nullptr;   // (rules, 3) l, its logarithm or t; c; the distance of an empty group
    const double *bounds = nullptr;  // (2, width) highest and lowest shares, or see the distances
    const i32 *above = nullptr;      // (leaves, depths) ancestors of each value without the root, -1 for none
    const double *nodes = nullptr;   // (2, nodes) share under a node; the edge above it in half heights
    i64 count = 0, width = 0, tree_nodes = 0;
    int depths = 0;

    i64 column(i64 rule) const { return places[5 * rule]; }
    Kind kind(i64 rule) const { return Kind(places[5 * rule + 1]); }

    // Whether a group that keeps the rules does so with any other row too.
    bool grow_safely() const;

    // By how much a group of these values misses a rule after a shift; 0 if it keeps it. It has `size`
    // members then and will have `final`.
    double excess(i64 rule, const Counts &group, Shift shift, i64 size, i64 final) const;

  private:
    double excess_of_values(i64 rule, const Counts &group, Shift shift, i64 size, i64 final) const;
    double excess_of_entropy(i64 rule, const Counts &group, Shift shift, i64 size) const;
    static i64 found(const Counts &group, Shift shift);
    double excess_of_counts(i64 rule, std::vector<i32> counts, i64 final) const;
    double along_line(i64 rule, const Counts &group, i64 size) const;
    double over_tree(i64 rule, const Counts &group, i64 size) const;
};

}  // namespace covey
