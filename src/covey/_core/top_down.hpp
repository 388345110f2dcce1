// Partitioning from the top: nodes are split until they are groups, the left side before the right.
#pragma once

#include <numeric>

#include "heap.hpp"

namespace covey {

// The rows of a node, ascending.
struct Node {
    i32 *first, *last;

    i32 *begin() const { return first; }
    i32 *end() const { return last; }
    i64 size() const { return last - first; }
    i32 operator[](i64 place) const { return first[place]; }
};

// From the lowest to the highest of some values.
template <class T> struct Range {
    T low = std::numeric_limits<T>::max(), high = std::numeric_limits<T>::lowest();

    void add(T value) {
        low = std::min(low, value);
        high = std::max(high, value);
    }
};

class TopDown {
  public:
    virtual ~TopDown() = default;

    void run() {
        // The next node begins where the groups end, so its end is all there is to remember of it.
        std::vector<i64> ends{i64(rows_.size())};
        while (!ends.empty()) {
            Node node{rows_.data() + begin_.back(), rows_.data() + ends.back()};
            if (i64 cut = node.size() >= 2 * k_ ? split(node) : 0) {
                ends.push_back(begin_.back() + cut);
            } else {
                settle(node);
                ends.pop_back();
            }
            watch_.reach(begin_.back(), i64(rows_.size()));
        }
    }

    // The group of each row.
    std::vector<i64> labels() const {
        std::vector<i64> labels(rows_.size());
        for (size_t group = 0; group + 1 < begin_.size(); ++group)
            for (i64 place = begin_[group]; place < begin_[group + 1]; ++place) labels[rows_[place]] = i64(group);
        return labels;
    }

  protected:
    TopDown(i64 rows, i64 k, Watch &watch) : k_(k), watch_(watch), rows_(rows) {
        std::iota(rows_.begin(), rows_.end(), 0);
    }

    // Put the rows of the left side first; how many these are, 0 for a node that stays whole.
    virtual i64 split(Node node) = 0;

    // Form groups of a node that stays whole.
    virtual void settle(Node node) { form_group(node.size()); }

    void form_group(i64 size) { begin_.push_back(begin_.back() + size); }

    // Both sides stay ascending.
    template <class IsLeft> static i64 part(Node node, IsLeft is_left) {
        return std::stable_partition(node.begin(), node.end(), is_left) - node.begin();
    }

    i64 k_;
    Watch &watch_;
    std::vector<i32> rows_;       // by group, then by node
    std::vector<i64> begin_{0};  // where each group begins in `rows_`, and the end
};

// Which of two groups each row of a node is in, by its place in the node.
using Sides = std::vector<std::int8_t>;

// Splits in which each row of a node joins one of two groups.
class Bisection : public TopDown {
  protected:
    Bisection(i64 rows, i64 k, const Random &random, Watch &watch)
        : TopDown(rows, k, watch), random_(random), side_(rows), order_(rows), is_left_(rows) {}

    // A row goes to the nearer group, of equally near ones to the smaller.
    static int nearer(double one, double other, i64 size_of_one, i64 size_of_other) {
        return one != other ? one > other : size_of_one > size_of_other;
    }

    // Bring those of the other group to a small one that cost least, of equals the first.
    template <class Cost> void bring_over(i64 size, int small, i64 need, Cost cost) {
        least_.start(need);
        for (i64 place = 0; place < size; ++place)
            if (side_[place] != small) least_.offer(cost(place), place);
        for (auto [key, place] : least_.entries()) side_[place] = std::int8_t(small);
    }

    i64 part_by(Node node, const Sides &side) {
        for (i64 place = 0; place < node.size(); ++place) is_left_[node[place]] = side[place] == 0;
        return part(node, [&](i32 row) { return is_left_[row]; });
    }

    Random random_;
    Sides side_;
    std::vector<i32> order_;  // places in the node

  private:
    Least least_;
    std::vector<char> is_left_;  // (rows,)
};

}  // namespace covey
