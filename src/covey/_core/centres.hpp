// Centres of groups, the rows of each group, and groups that merge.
#pragma once

#include <numeric>

#include "core.hpp"

namespace covey {

// A point for each group. At first, each is a row of the table.
class Centres {
  public:
    Centres(const Cells &cells, const i64 *rows, i64 groups)
        : intervals_(cells.intervals), categories_(cells.categories), numbers_(groups * cells.intervals),
          codes_(groups * cells.categories), groups_(groups) {
        for (i64 group = 0; group < groups; ++group) {
            std::copy_n(cells.number(rows[group]), intervals_, number(group));
            std::copy_n(cells.code(rows[group]), categories_, code(group));
        }
    }

    i64 count() const { return groups_; }
    double *number(i64 group) { return numbers_.data() + group * intervals_; }
    i32 *code(i64 group) { return codes_.data() + group * categories_; }

    // A table with the centres as its rows, in other respects like this one.
    Table instead_of_rows(Table table) const {
        table.cells.numbers = numbers_.data(), table.cells.codes = codes_.data();
        table.cells.rows = groups_;
        return table;
    }

  private:
    int intervals_, categories_;
    std::vector<double> numbers_;
    std::vector<i32> codes_;
    i64 groups_;
};

// The rows of each group, in ascending order.
class Members {
  public:
    Members(const std::vector<i64> &labels, i64 groups) : start_(groups + 1, 0), rows_(labels.size()) {
        for (i64 group : labels) start_[group + 1] += 1;
        std::partial_sum(start_.begin(), start_.end(), start_.begin());
        std::vector<i64> next(start_);
        for (size_t row = 0; row < labels.size(); ++row) rows_[next[labels[row]]++] = i64(row);
    }

    i64 size(i64 group) const { return start_[group + 1] - start_[group]; }
    i64 *begin(i64 group) { return rows_.data() + start_[group]; }
    i64 *end(i64 group) { return rows_.data() + start_[group + 1]; }

  private:
    std::vector<i64> start_, rows_;
};

// Groups that go over into others.
class Mergers {
  public:
    explicit Mergers(i64 groups) : into_(groups) { std::iota(into_.begin(), into_.end(), i64(0)); }

    void merge(i64 gone, i64 kept) { into_[gone] = kept; }
    bool is_gone(i64 group) const { return into_[group] != group; }

    // Where the rows of some groups are in the end; groups without rows get no number.
    std::vector<i64> labels(const i64 *groups, i64 rows) {
        std::vector<i64> number(into_.size(), -1), result(rows);
        for (i64 row = 0; row < rows; ++row) number[result[row] = end(groups[row])] = 0;
        i64 next = 0;
        for (i64 &own : number)
            if (own == 0) own = next++;
        for (i64 &label : result) label = number[label];
        return result;
    }

  private:
    // Shortens the way for those that come after.
    i64 end(i64 group) {
        while (is_gone(group)) group = into_[group] = into_[into_[group]];
        return group;
    }

    std::vector<i64> into_;
};

}  // namespace covey
