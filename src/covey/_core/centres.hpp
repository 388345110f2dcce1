// Centres of groups, and groups that merge.
#pragma once

#include "summaries.hpp"

namespace covey {

// A centre is a group of one point, which may be a row or not: the loss with a row is its distance.
class Centres : public Summaries {
  public:
    Centres(const Table &table, const i64 *rows, i64 groups) : Summaries(groups, table.cells, table.forest) {
        for (i64 group = 0; group < groups; ++group) start(group, rows[group]);
    }

    i64 count() const { return i64(size.size()); }
    double *number(i64 group) { return low(group); }
    i32 *code(i64 group) { return node(group); }
    void move(i64 group, int interval, double to) { low(group)[interval] = high(group)[interval] = to; }

    // A table with the centres as its rows, in other respects like this one.
    Table instead_of_rows(Table table) {
        table.cells.numbers = low(0), table.cells.codes = node(0), table.cells.rows = count();
        return table;
    }
};

// The means of the numbers present in groups. Numbers at `missing` stand for none.
class Means {
  public:
    Means(i64 groups, const Cells &cells, const double *missing)
        : cells_(cells), missing_(missing), sums_(groups * cells.intervals, 0.0), present_(sums_.size(), 0) {}

    // Let a row enter (1) or leave (-1) a group.
    void count(i64 group, i64 row, int sign) {
        for (int j = 0; j < cells_.intervals; ++j) {
            if (cells_.number(row)[j] == missing_[j]) continue;
            sums_[group * cells_.intervals + j] += sign * cells_.number(row)[j];
            present_[group * cells_.intervals + j] += sign;
        }
    }

    double of(i64 group, int interval) const {
        i64 at = group * cells_.intervals + interval;
        return present_[at] == 0 ? missing_[interval] : sums_[at] / double(present_[at]);
    }

  private:
    Cells cells_;
    const double *missing_;     // (intervals,)
    std::vector<double> sums_;  // (groups, intervals)
    std::vector<i64> present_;  // (groups, intervals)
};

// Groups that go over into others.
class Mergers {
  public:
    explicit Mergers(i64 groups) : into_(all_rows(groups)) {}

    void merge(i64 gone, i64 kept) { into_[gone] = kept; }
    bool is_gone(i64 group) const { return into_[group] != group; }

    // Where the rows of these groups are in the end; groups without rows get no number.
    std::vector<i64> labels(const i64 *groups, i64 rows) {
        std::vector<i64> number(into_.size(), -1), result(groups, groups + rows);
        for (i64 &group : result) {
            while (is_gone(group)) group = into_[group] = into_[into_[group]];  // shorter for those to come
            number[group] = 0;
        }
        i64 next = 0;
        for (i64 &own : number) own = own == 0 ? next++ : -1;
        for (i64 &group : result) group = number[group];
        return result;
    }

  private:
    std::vector<i64> into_;
};

}  // namespace covey
