// The groups of a block, formed greedily and then changed as long as that lowers the cost.
//
// Every step leaves a legal grouping, so work can stop after any of them. Without heat, every step
// lowers the cost by more than LEAST_GAIN.
#pragma once

#include <array>
#include <memory>

#include "heap.hpp"
#include "partition.hpp"

namespace covey {

// One end of a group in one attribute: its outermost values, and how many members have each.
template <class T> class End {
  public:
    void clear(T far, int kept) { far_ = far, kept_ = kept, known_ = 0, all_ = true; }
    // `before` says which values lie further out.
    template <class Before> void extend(T cell, Before before) {
        int place = known_;
        while (place > 0 && !before(values_[place - 1], cell)) --place;
        if (place < known_ && values_[place] == cell) counts_[place] += 1;
        else if (place < known_ || (all_ && known_ < kept_)) insert(place, cell);
        else all_ = false;
    }
    // Forget a member; whether the outermost value and the next one are still known.
    bool forget(T cell) {
        int place = 0;
        while (place < known_ && values_[place] != cell) ++place;
        if (place < known_ && --counts_[place] == 0) {
            known_ -= 1;
            for (; place < known_; ++place) values_[place] = values_[place + 1], counts_[place] = counts_[place + 1];
        }
        return all_ || known_ > 1;
    }
    T value() const { return known_ > 0 ? values_[0] : far_; }
    T without(T cell) const {
        if (cell != values_[0] || counts_[0] > 1) return values_[0];
        return known_ > 1 ? values_[1] : far_;
    }

    static constexpr int FEW = 2, MANY = 32;

  private:
    void insert(int place, T cell) {
        all_ = all_ && known_ < kept_;
        known_ = std::min(known_ + 1, kept_);
        for (int i = known_ - 1; i > place; --i) values_[i] = values_[i - 1], counts_[i] = counts_[i - 1];
        values_[place] = cell, counts_[place] = 1;
    }

    T far_{};
    int kept_ = FEW, known_ = 0;
    bool all_ = true;  // whether there are no other values
    std::array<T, MANY> values_{};
    std::array<i64, MANY> counts_{};
};

// The ends of a group and what is next to them: what it would lose without any one member.
class Extremes {
  public:
    // Both also tighten the hull of the group.
    template <bool Marked> void measure(Partition<Marked> &parts, i64 group);
    template <bool Marked> void forget(Partition<Marked> &parts, i64 group, i64 row);  // a member that has left
    void extend(const Block &rows, i64 row);

    double loss_without(const Block &rows, i64 row) const;
    void leave(const Block &rows, i64 row, Extremes &into) const;  // only the hull of what remains
    double loss_with(const Block &rows, i64 row) const;

  private:
    void clear(const Space &space, i64 rows);
    void resize(const Space &space);
    Hull hull() const { return {low_.data(), high_.data(), first_.data(), last_.data()}; }

    std::vector<End<double>> lows_, highs_;
    std::vector<End<i32>> firsts_, lasts_;
    std::vector<double> low_, high_;
    std::vector<i32> first_, last_;
};

// How a partition changes. Its scratch memory serves one partition after another.
template <bool Marked> class Moves {
  public:
    using Parts = Partition<Marked>;

    // Groups of k from the first rows, each from a random row and those that cost least; the rest where
    // it costs least. Where there are rules, groups may grow towards a goal beyond k to keep them.
    void grow(Parts &parts, i64 count, i64 goal, const Random &random, const Watch &watch);

    // Dissolve each of the first groups that costs more than its rows do elsewhere; of others, let rows go.
    void sweep(Parts &parts, i64 groups, const Watch &watch);

    // Put groups that miss the rules together with others until all keep them; whether they do.
    bool merge(Parts &parts);

    // Change groups that miss the rules until all keep them, rows by rows or group by group. If it is
    // stopped, groups that still miss them merge with all around them, and the answer is false.
    bool repair(Parts &parts, Watch &watch);

    void take_back(Parts &parts);

  private:
    void take(Parts &parts, i64 group, i64 place);
    double loss_with(const Parts &parts, i64 group, i64 last, i64 row, double most) const;
    i64 next_row(Parts &parts, i64 group, i64 last, i64 start, double own, double most, double &best);
    bool fits(Parts &parts, i64 group, i64 row, double most);
    i64 take_many(Parts &parts, i64 group, i64 last, i64 start, i64 number);
    bool dissolve(Parts &parts, i64 group, const Watch &watch);
    void bring_back(Parts &parts, i64 group, i64 moved);
    void relocate(Parts &parts, i64 group, const Watch &watch);
    void exchange(Parts &parts, i64 group, const Watch &watch);
    double extra_of_swap(Parts &parts, i64 group, i64 home, i64 row, i64 other);
    bool may_swap(Parts &parts, i64 group, i64 home, i64 row, i64 other);
    bool merge(Parts &parts, i64 group);
    i64 partner(Parts &parts, i64 group);

    std::vector<i64> members_, homes_;
    Extremes ends_, theirs_, without_;
    std::vector<i64> free_;  // rows, while groups grow
    RowSieve sieve_;
    const std::int16_t *least_ = nullptr;  // what each costs the growing group at least
    Least cheapest_;  // while it takes many at once
    std::vector<std::int16_t> bounds_;
    std::vector<i64> places_;
    i64 left_ = 0, left_counted_ = 0, goal_ = 0, step_ = 0;
    std::vector<i64> looked_;  // (sorts,) the step in which a sort was judged
    std::vector<char> fits_;   // (sorts,) whether it fitted then
};

template <> bool Moves<true>::repair(Parts &parts, Watch &watch);
template <> bool Moves<false>::repair(Parts &parts, Watch &watch);

// How groups are formed again.
struct Regrouping {
    i64 neighbours;  // groups that are formed again together with each
    i64 hosts;       // more groups, which stay but may take in rows
    i64 tries;
    double heat;   // by how much new groups may cost more, as a share of what a group costs
    bool gathers;  // whether new groups also gather rows of all groups
};

// A block of rows with its groups, for Python.
class Refinery {
  public:
    virtual ~Refinery() = default;
    virtual void grow(const Random &random, const Watch &watch) = 0;
    virtual void load(const i64 *labels) = 0;
    virtual void sweep(double price, const Watch &watch) = 0;
    virtual void refine(double price, const Regrouping &how, const Random &random, const Watch &watch) = 0;
    virtual bool repair(Watch &watch) = 0;
    virtual std::vector<double> offers() = 0;           // what the return of each row left out would cost
    virtual void settle(const bool *returning) = 0;     // let some of them join the cheapest groups
    virtual i64 rows() const = 0;
    virtual i64 groups() const = 0;
    virtual double cost() const = 0;
    virtual const std::vector<i64> &labels() const = 0;

    static std::unique_ptr<Refinery> of(const Space &space, const Marks *marks, const Objective &aim,
                                        const i64 *rows, i64 count);
};

}  // namespace covey
