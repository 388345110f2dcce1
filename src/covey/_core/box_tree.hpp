// A tree of boxes over the rows of a table, searched for the row that fits a group best.
//
// Each box knows the range of its rows in every number, which leaves of every tree occur in it, and
// how many of its rows are still free. That bounds what any of them can cost a group, so whole boxes
// are passed over: a search looks at a small part of the rows and still finds exactly the row that
// looking at all of them would find, ties included. A bound is summed in the same order as the cost
// itself, and floating-point addition is monotone, so a bound is never above what it bounds.
//
// The leaves of a tree that occur in a box are kept as one word of 64 bits. A tree of more than 64
// leaves shares bits between neighbours, which makes bounds looser, never wrong.
#pragma once

#include "core.hpp"

namespace covey {

// Boxes in boxes, as ranges of `rows`; the children of a box are `left` and `left + 1`.
struct Boxes {
    std::vector<i32> rows, first, last, left, parent;
    int deepest = 0;
};

// Split rows into boxes of similar ones until none has more than `most`. Rows stay in their order
// within every box, so that of rows that are all alike the first come first.
Boxes split_into_boxes(const Table &table, std::vector<i32> rows, i64 most, const Watch &watch = {});

// The price of a row whose class is not that of most rows of the group.
struct ClassPrice {
    const i32 *classes = nullptr;  // (rows,)
    i32 majority = 0;
    double surcharge = 0.0;
};

// A group that looks for a row: what its members have in common.
struct Seeker {
    const double *low, *high;  // (intervals,)
    const i32 *node;           // (categories,)
    const double *price = nullptr;  // (nodes,) loss of the group's nodes once they cover each leaf
    ClassPrice by_class = {};
};

class BoxTree {
  public:
    // All rows are free. With `inner`, rows may be at inner nodes of the trees.
    BoxTree(const Table &table, const Watch &watch, bool inner = false);

    i64 free() const { return free_[0]; }
    i64 size() const { return i64(rows_.size()); }

    void remove(i64 row);                                           // from all searches to come
    void move(i64 row, const double *numbers, const i32 *codes);    // before any was removed
    void know_classes(const i32 *classes);                          // needed for surcharges

    // The free row with which each record of the group loses least, of equal ones the lowest; the
    // number of rows if none is free. `furthest` finds the row with which it loses most.
    i64 cheapest(const Scale &scale, const Seeker &seeker) { return search<false>(scale, seeker); }
    i64 furthest(const Scale &scale, const Seeker &seeker) { return search<true>(scale, seeker); }

    i64 nearest(const Scale &scale, const double *numbers, const i32 *codes) {
        return search<false>(scale, {numbers, numbers, codes});
    }
    i64 furthest(const Scale &scale, const double *numbers, const i32 *codes) {
        return search<true>(scale, {numbers, numbers, codes});
    }

  private:
    template <bool Far> i64 search(const Scale &scale, const Seeker &seeker) {
        if (scale.squared) return search<Far, true>(scale, seeker);
        return search<Far, false>(scale, seeker);
    }
    template <bool Far, bool Squared> i64 search(const Scale &scale, const Seeker &seeker);
    template <bool Far, bool Squared>
    double bound(const Scale &scale, const Seeker &seeker, i32 box) const;
    template <bool Squared> double loss(const Scale &scale, const Seeker &seeker, i64 place) const;
    bool enclose(i32 box);
    void spread_bits(bool inner);

    Forest forest_;
    int intervals_, categories_, bits_;
    std::vector<i32> rows_, place_, leaf_;  // by box, the free ones first; where each row stands
    std::vector<double> numbers_;           // in the order of `rows_`
    std::vector<i32> codes_;
    std::vector<i32> first_, free_, left_, parent_, lowest_;  // (boxes,)
    std::vector<double> low_, high_;                          // (boxes, intervals)
    std::vector<u64> mask_;                                   // (boxes, categories)
    std::vector<u64> bit_, touch_, cover_;  // (nodes,) its bit; bits under it, some or all of them
    std::vector<u64> classes_;              // (boxes,) which classes occur
    std::vector<i32> stack_;                // scratch of a search
    std::vector<double> bounds_;
};

}  // namespace covey
