// Passes over groups, or rows, that cannot be the cheapest, many at a time.
//
// A sieve holds the hulls of all groups a second time, attribute by attribute and rounded to 16 bits, and
// computes for all of them at once what they lose at least together with another hull. Rounding is
// always downwards, so no group is passed over that an exact search would choose.
#pragma once

#include "space.hpp"

namespace covey {

// The places of a table in 16 bits, and its losses in whole units.
class Units {
  public:
    using i16 = std::int16_t;

    void measure(const Space &space);
    bool any() const { return most > 0.0; }
    i16 place(int attribute, double value) const {
        return i16(std::clamp(value * scale_[attribute], -32000.0, 32000.0) - (value < 0.0));
    }
    i16 leaf(int tree, i32 code) const { return i16(std::min(code - space->forest.first[tree], 32767)); }
    i16 of(double loss) const { return i16(loss * unit); }

    const Space *space = nullptr;
    double unit = 0.0, most = 0.0;  // units of a loss; the largest loss

  private:
    std::vector<double> scale_;  // (intervals,) units of a width
};

// The free rows of a block, of which a group looks for the cheapest.
class RowSieve {
  public:
    using i16 = std::int16_t;

    void reset(const Space &space, const double *numbers, const i32 *codes, i64 rows);
    void move(i64 from, i64 to);  // one row takes the place of another

    // What each of the first rows makes the members of a hull lose at least, in units.
    const i16 *least(const Hull &hull, i64 count);
    // Rows with more units than these lose more than this.
    i16 most(double loss) const { return i16(std::min(loss, units_.most) * units_.unit + 1.0); }

    // The first place with the fewest units.
    static i64 lowest(const i16 *least, i64 count);

    // The first place from `place` on with no more units than the limit, or `end`.
    static i64 next(const i16 *least, i64 place, i64 end, i16 limit) {
        constexpr i64 STRIP = 16;
        for (; place + STRIP <= end; place += STRIP) {
            int any = 0;
            for (i64 i = place; i < place + STRIP; ++i) any |= least[i] <= limit;
            if (any) break;
        }
        while (place < end && least[place] > limit) ++place;
        return place;
    }

  private:
    Units units_;
    i64 stride_ = 0;
    std::vector<i16> places_;  // (attributes, rows)
    std::vector<i16> least_;
};

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

    Units units_;
    i64 groups_ = 0;
    std::vector<i16> low_, high_;             // (intervals, groups)
    std::vector<i16> first_, last_, own_;     // (categories, groups) leaves, and the loss of their ancestor
    std::vector<i16> least_;                  // (groups,) in units
    std::vector<float> factor_, base_;        // (groups,) of the rises
    std::vector<float> size_, loss_, margin_; // (groups,) for unions
    std::vector<float> bounds_;
};

}  // namespace covey
