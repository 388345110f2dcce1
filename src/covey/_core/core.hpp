// What all kernels share: the rows of a table, its trees, random draws, and the way to stop.
//
// Floats are added in the order written, and the build contracts nothing: equal losses are equal to
// the last bit in every build, so ties fall the same way everywhere.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <numeric>
#include <vector>

namespace covey {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u64 = std::uint64_t;

constexpr double INF = std::numeric_limits<double>::infinity();

// The rows of a table. Numbers are scaled to 0 … 1, missing ones stand further away.
struct Cells {
    const double *numbers;  // (rows, intervals)
    const double *weights;  // (intervals,)
    const i32 *codes;       // (rows, categories) leaves of the forest
    i64 rows;
    int intervals, categories;

    const double *number(i64 row) const { return numbers + row * intervals; }
    const i32 *code(i64 row) const { return codes + row * categories; }
};

// The trees of all categories, their nodes numbered through. Leaves come first in each tree, and
// those under one node are neighbours.
struct Forest {
    const i32 *ancestors;  // (nodes, levels) ancestor by depth, -1 below the node
    const i32 *depth;      // (nodes,)
    const double *loss;    // (nodes,) times the weight of the column
    const i32 *first;      // (trees,) the first leaf of each tree
    const i32 *leaves;     // (trees,)
    const i32 *begin;      // (nodes,) the first leaf under each node
    const i32 *end;        // (nodes,) behind the last leaf under each node
    i64 nodes;
    int trees, levels;

    i32 ancestor(i32 node, int level) const { return ancestors[i64(node) * levels + level]; }

    // The lowest node above both.
    i32 common_ancestor(i32 one, i32 other) const {
        int level = depth[one] < depth[other] ? depth[one] : depth[other];
        while (ancestor(one, level) != ancestor(other, level)) --level;
        return ancestor(one, level);
    }
};

// How boxes are cut. It decides how fast a search is, never what it finds; tests change it.
struct BoxShape {
    int leaf_rows = 16;
    int bits = 64;
    int sample = 32;
};

struct Table {
    Cells cells;
    Forest forest;
    BoxShape shape;
};

// How a distance counts the widths of ranges.
struct Scale {
    const double *weights;  // (intervals,)
    const double *caps;     // (intervals,) no width counts for more
    bool squared;           // whether the squares of widths count
};

inline std::vector<i64> all_rows(i64 count) {
    std::vector<i64> rows(count);
    std::iota(rows.begin(), rows.end(), i64(0));
    return rows;
}

// numpy's own bit generator, so that kernels draw the same numbers as Python would.
struct Random {
    void *state;
    u64 (*next_u64)(void *);
    std::uint32_t (*next_u32)(void *);
    double (*next_double)(void *);
    u64 (*next_raw)(void *);

    double uniform() const { return next_double(state); }

    // A whole number from 0 to bound - 1.
    i64 below(i64 bound) const { return i64(uniform() * double(bound)); }

    // Put items into random order, each order as likely as any other.
    template <class T> void shuffle(T *items, i64 count) const {
        for (i64 i = count - 1; i > 0; --i) std::swap(items[i], items[below(i + 1)]);
    }

    // That many rows in random order.
    std::vector<i64> order(i64 count) const {
        std::vector<i64> rows = all_rows(count);
        shuffle(rows.data(), count);
        return rows;
    }
};

// Thrown by a kernel that was asked to stop and has nothing to show.
struct Stopped : std::exception {
    const char *what() const noexcept override { return "stopped"; }
};

// Two-way window into a running kernel: how much is done, and whether to stop.
class Watch {
  public:
    void stop() { stop_.store(true, std::memory_order_relaxed); }
    bool stopped() const { return stop_.load(std::memory_order_relaxed); }
    double done() const { return done_.load(std::memory_order_relaxed); }

    // This is where a kernel ends if it has to.
    void go_on() const {
        if (stopped()) throw Stopped{};
    }

    // Say how much is done.
    void tell(i64 part, i64 whole) {
        done_.store(whole > 0 ? double(part) / double(whole) : 1.0, std::memory_order_relaxed);
    }

    // Say how much is done, and go on.
    void reach(i64 part, i64 whole) {
        tell(part, whole);
        go_on();
    }

  private:
    std::atomic<bool> stop_{false};
    std::atomic<double> done_{0.0};
};

}  // namespace covey
