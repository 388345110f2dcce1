// The groups of a block of rows, and what they cost.
//
// The cost of a group is its information loss, that is its size times what each member loses, and
// what the `Objective` adds: a penalty for rows of another class than most, a price for sizes beyond
// k. Rows may be left out of all groups, at a price of their own.
#pragma once

#include "rules.hpp"
#include "sieve.hpp"
#include "space.hpp"

namespace covey {

constexpr double LEAST_GAIN = 1e-9;  // every step lowers the cost by more than this
constexpr i32 FAR = 1 << 30;
constexpr i64 NOBODY = -1;

struct Objective {
    i64 k;
    double evenness;  // what each member of a group of 2k pays for its size
    double price;     // of a row that is left out, infinite where none may be
};

// What counts about the rows of a table besides their quasi-identifiers. Most tables have none of it,
// so the code is built twice: where there is nothing to mind, nothing of it is left in the loops.
//
// An atom is a set of rows that stay together, because an earlier release has shown them together. It
// moves as one: a block has its first row for all of them, and "row" stands for a whole atom, too.
struct Marks {
    const i32 *classes = nullptr;  // (rows,)
    double penalty = 0.0;          // for each member that is not of the most frequent class
    const i32 *values = nullptr;   // (rows, columns) sensitive ones
    const i64 *sorts = nullptr;    // (rows,) equal for rows of equal values
    int columns = 0;
    Rules rules;  // what every group must keep of the values
    const i64 *atoms = nullptr;  // (rows,) the atom of each row, -1 for a row by itself; null if there are none
    std::vector<i64> begin, members;  // (atoms + 1,) and the rows atom by atom
    i64 enough = 0;  // an atom of so many rows may be a group by itself

    bool judges() const { return penalty > 0.0 || columns > 0; }
    const i64 *first_of(const i64 &row) const { return is_atom(row) ? members.data() + begin[atoms[row]] : &row; }
    i64 rows_of(i64 row) const { return is_atom(row) ? begin[atoms[row] + 1] - begin[atoms[row]] : 1; }

  private:
    bool is_atom(i64 row) const { return atoms && atoms[row] >= 0; }
};

// The rows of a block, copied together.
struct Block {
    const Space *space = nullptr;
    const Marks *marks = nullptr;  // null if there is nothing to mind
    i64 count = 0, sort_count = 0;
    std::vector<double> numbers, tops;  // the highest numbers and the last codes only where there are atoms
    std::vector<i32> codes, lasts, classes, values;
    std::vector<i64> sorts, begin;  // where the classes and values of each row begin, and the end

    void take(const Space &whole, const Marks *known, const i64 *rows, i64 number);
    void take(const Block &whole, const std::vector<i64> &rows);

    const double *number(i64 row) const { return numbers.data() + row * space->intervals; }
    const i32 *code(i64 row) const { return codes.data() + row * space->categories; }
    Hull of(i64 row) const {
        if (begin.empty()) return {number(row), number(row), code(row), code(row)};
        return {number(row), tops.data() + row * space->intervals, code(row), lasts.data() + row * space->categories};
    }
    i64 weight(i64 row) const { return begin.empty() ? 1 : begin[row + 1] - begin[row]; }
    i64 weight() const { return begin.empty() ? count : begin[count]; }
    bool is_atom(i64 row) const { return weight(row) > 1; }
    // What a row counts towards k: an atom may be large enough though it is smaller than new groups.
    i64 counted(i64 row, i64 k) const {
        i64 own = weight(row);
        return own > 1 && own >= marks->enough ? std::max(own, k) : own;
    }
    i64 first_mark(i64 row) const { return begin.empty() ? row : begin[row]; }
    i32 value(i64 mark, i64 column) const { return values[mark * marks->columns + column]; }

  private:
    void widen(i64 row, const Hull &other);
    void number_sorts();
};

// Changes to a group that are being considered.
struct Change {
    i64 leaving = NOBODY, joining = NOBODY;
    i64 uniting = NOBODY;  // another group
    i64 final = 0;         // judge it as one that will have so many rows, or as it is if it has more
};

template <bool Marked> class Partition {
  public:
    const Block *rows = nullptr;
    Objective aim{};
    std::vector<i64> labels;          // (rows,) group of each row, -1 for one that is left out
    std::vector<i64> next, previous;  // (rows,) members of a group are linked, -1 at the ends
    std::vector<i64> head, size;      // (groups,) groups of size 0 are not there
    std::vector<double> loss, extra;  // (groups,) of each member; of the group besides

    void reset(const Block &block, const Objective &objective, i64 groups);
    void load(const i64 *known);  // take over a grouping

    i64 groups() const { return i64(size.size()); }
    i64 weight(i64 row) const { return Marked ? rows->weight(row) : 1; }
    bool is_atom(i64 row) const { return Marked && rows->is_atom(row); }
    i64 counts_for(i64 row) const { return Marked ? rows->counted(row, aim.k) : 1; }
    // What the members of a group count towards k, of which it needs as many.
    i64 counted(i64 group) const {
        if constexpr (Marked) return counted_[group];
        return size[group];
    }
    bool can_spare(i64 group, i64 row) const {
        if constexpr (Marked) return counted_[group] - rows->counted(row, aim.k) >= aim.k;
        return size[group] > aim.k;
    }
    Hull hull(i64 group) const { return {low(group), high(group), first(group), last(group)}; }
    double cost(i64 group) const { return double(size[group]) * loss[group] + extra[group]; }
    double total_cost(double price) const;
    i64 members(i64 group, std::vector<i64> &into) const;  // appends them; how many

    void attach(i64 group, i64 row);
    void detach(i64 row);
    void join(i64 group, i64 row);  // a row that is in no group
    void leave_out(i64 row) { labels[row] = NOBODY; }
    void recount(i64 group);  // all that is known of a group, from its members
    void open(i64 group);     // make it an empty group
    void include(i64 group, i64 row);
    void weigh(i64 group);    // loss and extra, from hull and size
    void unite(i64 group, i64 other);  // all rows of one group go to another
    void swap(i64 group, i64 row, i64 other);  // a row of another group comes, a member may go there

    double own_loss(i64 group) const { return rows->space->loss(hull(group), hull(group)); }
    double loss_with(i64 group, i64 row, double most) const {
        return rows->space->loss(hull(group), rows->of(row), most);
    }

    // The group, other than `own`, whose cost a row raises least and by less than the limit, and that
    // rise; NOBODY and the limit if there is none. Without `minding`, rules and classes do not count.
    struct Offer {
        i64 group;
        double rise;
    };
    Offer cheapest(i64 row, i64 own, double limit, bool minding = true);

    // The groups that fit best together with one, the best first. Of a large group, only twice the
    // rows of this one count: more are not likely to take part.
    std::vector<i64> nearest(i64 group, i64 most);

    double extra_of(i64 group, const Change &change);
    double missed(i64 group, const Change &change = {});  // by how much it misses the rules
    bool complies(i64 group, const Change &change = {}) { return missed(group, change) == 0.0; }
    bool has_rules() const { return Marked && rows->marks->rules.count > 0; }

    double *low(i64 group) { return low_.data() + group * rows->space->intervals; }
    double *high(i64 group) { return high_.data() + group * rows->space->intervals; }
    i32 *first(i64 group) { return first_.data() + group * rows->space->categories; }
    i32 *last(i64 group) { return last_.data() + group * rows->space->categories; }
    const double *low(i64 group) const { return low_.data() + group * rows->space->intervals; }
    const double *high(i64 group) const { return high_.data() + group * rows->space->intervals; }
    const i32 *first(i64 group) const { return first_.data() + group * rows->space->categories; }
    const i32 *last(i64 group) const { return last_.data() + group * rows->space->categories; }

  private:
    double larger(i64 group, i64 more = 1) const {  // what more rows cost a group for its size
        return aim.evenness / double(aim.k) * double(more * (2 * size[group] + more - aim.k));
    }
    i64 majority(i64 group, const Change &change);
    void count(i64 group, i64 row, i32 sign);
    void count(Counts &counts, i64 row, i64 column, i32 sign) const {
        for (i64 mark = rows->first_mark(row), end = mark + rows->weight(row); mark < end; ++mark)
            counts.add(rows->value(mark, column), sign);
    }
    bool accepts(i64 group, i64 row);  // whether it keeps the rules with this row
    double rise_of_union(i64 group, i64 other, double limit) const;

    std::vector<double> low_, high_;  // (groups, intervals)
    std::vector<i32> first_, last_;   // (groups, categories)
    std::vector<i64> counted_;        // (groups,)
    std::vector<Counts> counts_;      // (groups, columns) values of the members
    std::vector<u64> known_, fits_;   // (groups,) the first 64 sorts: judged since it changed; accepted
    bool safe_ = false;               // whether a group that keeps the rules accepts any row
    Sieve sieve_;
    Counts scratch_, shifted_;
    std::vector<i32> seen_;
};

}  // namespace covey
