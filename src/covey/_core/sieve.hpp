// Passes over groups that cannot be the cheapest, many at a time.
//
// It holds the hulls of all groups a second time, attribute by attribute and rounded to 16 bits, and
// computes for all of them at once what they lose at least together with another hull. Rounding is
// always downwards, so no group is passed over that an exact search would choose.
#pragma once

#include "space.hpp"

namespace covey {

class Sieve {
  public:
    // Few groups are looked at one by one; then the sieve is off.
    void reset(const Space &space, i64 groups);
    bool on() const { return groups_ > 0; }

    void set(i64 group, const Hull &hull, i64 size, double loss, double larger);
    void erase(i64 group);

    // For each group, what a row would raise its cost by at least: (size + 1) × new loss - size ×
    // loss + larger.
    const float *rises(const Hull &row);

    // For each group, what a union with this one would raise the loss of both by at least, if no more
    // than twice this one's rows count.
    const float *unions(const Hull &hull, i64 size, double loss);

    // The first group from `group` on whose bound is below the limit.
    static i64 next(const float *bounds, i64 group, i64 groups, double limit) {
        constexpr i64 STRIP = 16;
        while (group < groups) {
            if (group % STRIP == 0 && group + STRIP <= groups) {
                int any = 0;
                for (i64 i = group; i < group + STRIP; ++i) any |= bounds[i] < limit;
                if (!any) {
                    group += STRIP;
                    continue;
                }
            }
            if (bounds[group] < limit) return group;
            ++group;
        }
        return groups;
    }

  private:
    using i16 = std::int16_t;

    void measure(const Hull &hull);  // least losses of all groups with this hull
    i16 place(int attribute, double value) const {
        return i16(std::clamp(value * scale_[attribute], -32000.0, 32000.0) - (value < 0.0));
    }
    i16 leaf(int tree, i32 code) const { return i16(std::min(code - space_->forest.first[tree], 32767)); }
    i16 units(double loss) const { return i16(loss * unit_); }

    const Space *space_ = nullptr;
    i64 groups_ = 0;
    double unit_ = 0.0, most_ = 0.0;          // units of a loss; the largest loss
    std::vector<double> scale_;               // (intervals,) units of a width
    std::vector<i16> low_, high_;             // (intervals, groups)
    std::vector<i16> first_, last_, own_;     // (categories, groups) leaves, and the loss of their ancestor
    std::vector<i16> least_;                  // (groups,) in units
    std::vector<float> factor_, base_;        // (groups,) of the rises
    std::vector<float> size_, loss_, margin_; // (groups,) for unions
    std::vector<float> bounds_;
};

}  // namespace covey
