// What each leaf of a tree would make of a group: the loss of their common ancestor.
//
// A table of prices spares searches the climb. Most leaves cost as much as the root, so an update
// touches only those that do not.
#pragma once

#include <cmath>

#include "core.hpp"

namespace covey {

class Prices {
  public:
    explicit Prices(const Forest &forest)
        : forest_(forest), price_(forest.nodes, 0.0), start_(forest.trees, -1) {}

    const double *data() const { return price_.data(); }

    // The prices of all trees for a group that is at these leaves.
    void start(const i32 *leaves) {
        for (int tree = 0; tree < forest_.trees; ++tree) start(tree, leaves[tree]);
    }

    // The group's node in a tree has become `node`, above the one before.
    void climb(int tree, i32 node) {
        // Under the root, only the leaves around the first one do not cost the root already.
        bool at_root = forest_.depth[node] == 0;
        set(at_root ? forest_.ancestor(start_[tree], 1) : node, node);
    }

    // The distance of each of some rows from a point with these numbers, at the leaves started from.
    template <class Row>
    void distances(const Cells &cells, const double *centre, const Row *rows, i64 count,
                   double *into) const {
        for (i64 place = 0; place < count; ++place) {
            const double *numbers = cells.number(rows[place]);
            const i32 *codes = cells.code(rows[place]);
            double total = 0.0;
            for (int j = 0; j < cells.intervals; ++j) {
                total += cells.weights[j] * std::min(std::abs(numbers[j] - centre[j]), 1.0);
            }
            for (int j = 0; j < cells.categories; ++j) total += price_[codes[j]];
            into[place] = total;
        }
    }

  private:
    void start(int tree, i32 leaf) {
        i32 root = forest_.ancestor(leaf, 0), before = start_[tree];
        set(before < 0 ? root : forest_.ancestor(before, 1), root);
        for (int level = 1; level <= forest_.depth[leaf]; ++level) {
            i32 node = forest_.ancestor(leaf, level);
            set(node, node);
        }
        start_[tree] = leaf;
    }

    // All leaves under one node cost as much as another.
    void set(i32 under, i32 node) {
        std::fill(price_.begin() + forest_.begin[under], price_.begin() + forest_.end[under],
                  forest_.loss[node]);
    }

    Forest forest_;
    std::vector<double> price_;  // (nodes,)
    std::vector<i32> start_;     // (trees,) the leaf that the prices start from, -1 for none
};

}  // namespace covey
