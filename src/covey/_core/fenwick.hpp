// Members of a shrinking set by rank, in a Fenwick tree.
#pragma once

#include "core.hpp"

namespace covey {

class Fenwick {
  public:
    explicit Fenwick(i64 members = 0) : counts_(members + 1) {
        for (i64 i = 1; i <= members; ++i) counts_[i] = i32(i & -i);
    }

    void remove(i64 member) {
        for (i64 i = member + 1; i < i64(counts_.size()); i += i & -i) counts_[i] -= 1;
    }

    // The member that has `rank` members before it.
    i64 ranked(i64 rank) const {
        i64 step = 1, member = 0, length = i64(counts_.size());
        while (2 * step < length) step *= 2;
        for (; step > 0; step /= 2) {
            if (member + step < length && counts_[member + step] <= rank) {
                member += step;
                rank -= counts_[member];
            }
        }
        return member;
    }

  private:
    std::vector<i32> counts_;
};

}  // namespace covey
