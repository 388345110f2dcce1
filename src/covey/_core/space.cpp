#include "space.hpp"

namespace covey {

constexpr i64 LARGEST_TREE = 256;  // leaves of a tree whose pairwise losses are stored

Space::Space(const Table &table)
    : cells(table.cells), forest(table.forest), intervals(table.cells.intervals),
      categories(table.cells.categories) {
    for (int tree = 0; tree < forest.trees; ++tree) {
        i32 first = forest.first[tree], leaves = forest.leaves[tree];
        if (leaves > LARGEST_TREE) {
            start_.push_back(-1);
            continue;
        }
        start_.push_back(i64(pairs_.size()));
        for (i32 one = first; one < first + leaves; ++one)
            for (i32 other = first; other < first + leaves; ++other)
                pairs_.push_back(forest.loss[forest.common_ancestor(one, other)]);
    }
}

}  // namespace covey
