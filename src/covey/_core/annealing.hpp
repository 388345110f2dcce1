// Points in groups of k or more, changed at random while it grows colder, so that the sum of the
// squared distances to the means of the groups falls.
//
// A group is known by its size, the sum of its points and the square of that sum: what a change does
// to the squares within groups follows from these in one pass over the coordinates.
#pragma once

#include "core.hpp"

namespace covey {

// Sums over coordinates have four parts, which processors add up side by side.
constexpr int LANES = 4;

inline double dot(const double *one, const double *other, int width) {
    double sums[LANES] = {0.0, 0.0, 0.0, 0.0};
    for (int j = 0; j < width; j += LANES)
        for (int lane = 0; lane < LANES; ++lane) sums[lane] += one[j + lane] * other[j + lane];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

inline double squared_distance(const double *one, const double *other, int width) {
    double sums[LANES] = {0.0, 0.0, 0.0, 0.0};
    for (int j = 0; j < width; j += LANES)
        for (int lane = 0; lane < LANES; ++lane) {
            double apart = one[j + lane] - other[j + lane];
            sums[lane] += apart * apart;
        }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

class Annealing {
  public:
    // `points` are (rows, width), the width a multiple of LANES; labels are 0 … rows / k - 1. A change
    // concerns a row and one of so many `near` it.
    Annealing(const double *points, i64 rows, int width, const i64 *labels, i64 k, i64 near);

    // Look at each row so many times; after each time, the heat is multiplied by `fall`.
    void run(i64 sweeps, double heat, double fall, const Random &random, const Watch &watch);

    i64 rows() const { return rows_; }
    double cost() const;  // the sum of squares within groups
    const std::vector<i64> &labels() const { return labels_; }

  private:
    const double *point(i64 row) const { return points_.data() + row * width_; }
    double *sum(i64 group) { return sums_.data() + group * width_; }
    const double *sum(i64 group) const { return sums_.data() + group * width_; }

    void find_nearest();
    void step(i64 row, double heat, const Random &random);
    // Each is made only if the squares rise by less than `most`.
    void relocate(i64 row, i64 into, double most);
    void swap(i64 row, i64 other, double most);
    void dissolve(i64 group, double most);
    void create(i64 row, double most);

    // What the sum of squares rises by if a row joins a group or leaves it.
    double joining(i64 row, i64 group) const;
    double leaving(i64 row, i64 group) const;
    double square(i64 group) const { return squares_[group] / double(sizes_[group]); }
    void join(i64 row, i64 group);
    void leave(i64 row);

    i64 rows_, k_, most_, near_;  // at most so many members of a group
    int width_;
    std::vector<double> points_, norms_;  // of each row, the point and its square
    std::vector<i64> labels_, places_;    // of each row, its group and its place among the members
    std::vector<std::vector<i64>> members_;
    std::vector<i64> sizes_, empty_;
    std::vector<double> sums_, squares_;  // of each group, the sum of its points and the square of that
    std::vector<i32> nearest_;            // (rows, near), the nearest first
    std::vector<i64> moved_, homes_;
};

}  // namespace covey
