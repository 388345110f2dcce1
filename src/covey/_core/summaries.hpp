// What the members of each group have in common, and what it costs to show only that.
#pragma once

#include "core.hpp"

namespace covey {

class Summaries {
  public:
    Summaries(i64 groups, const Cells &cells, const Forest &forest)
        : size(groups, 0), cells_(cells), forest_(forest),
          low_(groups * cells.intervals, INF), high_(groups * cells.intervals, -INF),
          node_(groups * cells.categories, -1) {}

    std::vector<i64> size;

    double *low(i64 group) { return low_.data() + group * cells_.intervals; }
    double *high(i64 group) { return high_.data() + group * cells_.intervals; }
    i32 *node(i64 group) { return node_.data() + group * cells_.categories; }

    void clear(i64 group) {
        std::fill_n(low(group), cells_.intervals, INF);
        std::fill_n(high(group), cells_.intervals, -INF);
        std::fill_n(node(group), cells_.categories, -1);
        size[group] = 0;
    }

    // Let a group consist of one row.
    void start(i64 group, i64 row) {
        std::copy_n(cells_.number(row), cells_.intervals, low(group));
        std::copy_n(cells_.number(row), cells_.intervals, high(group));
        std::copy_n(cells_.code(row), cells_.categories, node(group));
        size[group] = 1;
    }

    void add(i64 group, i64 row) {
        widen(group, cells_.number(row), cells_.number(row), cells_.code(row));
        size[group] += 1;
    }

    // Let a group take in another one.
    void unite(i64 group, i64 other) {
        widen(group, low(other), high(other), node(other));
        size[group] += size[other];
    }

    // What each record of a group loses: the sum over attributes, numbers first.
    double loss(i64 group) { return loss_with(group, low(group), high(group), node(group)); }

    double loss_with(i64 group, i64 row) {
        return loss_with(group, cells_.number(row), cells_.number(row), cells_.code(row));
    }

    double loss_of_union(i64 group, i64 other) {
        return loss_with(group, low(other), high(other), node(other));
    }

    // By how much a row, or another group, would raise the loss of a whole group.
    double rise(i64 group, i64 row) {
        double count = double(size[group]);
        return (count + 1) * loss_with(group, row) - count * loss(group);
    }
    double rise_of_union(i64 group, i64 other) {
        double count = double(size[group]);
        return double(size[group] + size[other]) * loss_of_union(group, other) - count * loss(group);
    }

  private:
    void widen(i64 group, const double *bottom, const double *top, const i32 *nodes) {
        double *l = low(group), *h = high(group);
        for (int j = 0; j < cells_.intervals; ++j) {
            l[j] = std::min(l[j], bottom[j]);
            h[j] = std::max(h[j], top[j]);
        }
        i32 *n = node(group);
        for (int j = 0; j < cells_.categories; ++j)
            n[j] = n[j] < 0 ? nodes[j] : forest_.common_ancestor(n[j], nodes[j]);
    }

    double loss_with(i64 group, const double *bottom, const double *top, const i32 *nodes) {
        const double *l = low(group), *h = high(group);
        const i32 *n = node(group);
        double sum = 0.0;
        for (int j = 0; j < cells_.intervals; ++j) {
            double width = std::max(h[j], top[j]) - std::min(l[j], bottom[j]);
            sum += cells_.weights[j] * std::min(width, 1.0);
        }
        for (int j = 0; j < cells_.categories; ++j)
            sum += forest_.loss[forest_.common_ancestor(n[j], nodes[j])];
        return sum;
    }

    Cells cells_;
    Forest forest_;
    std::vector<double> low_, high_;
    std::vector<i32> node_;
};

}  // namespace covey
