#include "sieve.hpp"

#include <cmath>

// The same loops, built for processors with wider registers too; all are of whole numbers or of floats
// in a fixed order, so the results are the same.
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(COVEY_BASELINE)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
#endif

namespace covey {

namespace {

using i16 = std::int16_t;
constexpr i64 FEW = 64;  // groups
constexpr double ROOM = 1e-6;  // for the rounding of floats, relative to the sums

WIDE void add_widths(i16 *__restrict sum, const i16 *__restrict low, const i16 *__restrict high, i64 count, i16 bottom,
                     i16 top, i16 cap) {
    for (i64 i = 0; i < count; ++i) {
        i16 above = high[i] > top ? high[i] : top, below = low[i] < bottom ? low[i] : bottom;
        i16 width = i16(above - below);
        width = width < cap ? width : cap;
        sum[i] = i16(sum[i] + width - (width > 0));  // both ends were rounded down
    }
}

// Where the union has another leaf than `first`, it loses at least what the node above it does.
WIDE void add_nodes(i16 *__restrict sum, const i16 *__restrict firsts, const i16 *__restrict lasts,
                    const i16 *__restrict own, i64 count, i16 first, i16 loss, i16 above) {
    for (i64 i = 0; i < count; ++i) {
        i16 node = (firsts[i] != first) | (lasts[i] != first) ? above : i16(0);
        node = node > own[i] ? node : own[i];
        sum[i] = i16(sum[i] + (node > loss ? node : loss));
    }
}

WIDE void scale_rises(float *__restrict bounds, const i16 *__restrict least, const float *__restrict factor,
                      const float *__restrict base, i64 count) {
    for (i64 i = 0; i < count; ++i) bounds[i] = factor[i] * float(least[i]) + base[i];
}

WIDE void scale_unions(float *__restrict bounds, const i16 *__restrict least, const float *__restrict sizes,
                       const float *__restrict losses, const float *__restrict margin, i64 count, float unit,
                       float size, float loss) {
    for (i64 i = 0; i < count; ++i) {
        float theirs = sizes[i] < 2 * size ? sizes[i] : 2 * size;
        bounds[i] = (size + theirs) * (float(least[i]) * unit) - size * loss - theirs * losses[i] - margin[i];
    }
}

}  // namespace

void Sieve::reset(const Space &space, i64 groups) {
    space_ = &space;
    most_ = 0.0;
    for (int j = 0; j < space.intervals; ++j) most_ += space.cells.weights[j];
    for (int j = 0; j < space.categories; ++j)
        most_ += space.forest.loss[space.forest.ancestor(space.forest.first[j], 0)];
    groups_ = groups >= FEW && most_ > 0.0 ? groups : 0;
    if (!on()) return;
    unit_ = 30000.0 / most_;
    scale_.resize(space.intervals);
    for (int j = 0; j < space.intervals; ++j) scale_[j] = space.cells.weights[j] * unit_;
    low_.assign(groups * space.intervals, 0), high_ = low_;
    first_.assign(groups * space.categories, 0), last_ = first_, own_ = first_;
    least_.resize(groups), bounds_.resize(groups);
    factor_.assign(groups, 0.0f), base_.assign(groups, INFINITY);
    size_.assign(groups, 0.0f), loss_.assign(groups, 0.0f), margin_.assign(groups, -INFINITY);
}

void Sieve::erase(i64 group) {
    if (!on()) return;
    factor_[group] = 0.0f, base_[group] = INFINITY, margin_[group] = -INFINITY;
}

void Sieve::set(i64 group, const Hull &hull, i64 size, double loss, double larger) {
    if (!on()) return;
    for (int j = 0; j < space_->intervals; ++j) {
        low_[j * groups_ + group] = place(j, hull.low[j]);
        high_[j * groups_ + group] = place(j, hull.high[j]);
    }
    for (int j = 0; j < space_->categories; ++j) {
        first_[j * groups_ + group] = leaf(j, hull.first[j]);
        last_[j * groups_ + group] = leaf(j, hull.last[j]);
        own_[j * groups_ + group] = units(space_->pair(j, hull.first[j], hull.last[j]));
    }
    double count = double(size);
    double room = ROOM * ((3 * count + 1) * (most_ + loss) + std::abs(larger));
    factor_[group] = float((count + 1) / unit_);
    base_[group] = float(larger - count * loss - room);
    size_[group] = float(count), loss_[group] = float(loss);
    margin_[group] = float(ROOM * 4 * count * (most_ + loss));
}

void Sieve::measure(const Hull &hull) {
    std::fill(least_.begin(), least_.end(), i16(0));
    for (int j = 0; j < space_->intervals; ++j)
        add_widths(least_.data(), low_.data() + j * groups_, high_.data() + j * groups_, groups_,
                   place(j, hull.low[j]), place(j, hull.high[j]), units(space_->cells.weights[j]));
    const Forest &forest = space_->forest;
    for (int j = 0; j < space_->categories; ++j) {
        i32 code = hull.first[j];
        i16 above = forest.depth[code] > 0 ? units(forest.loss[forest.ancestor(code, forest.depth[code] - 1)]) : i16(0);
        add_nodes(least_.data(), first_.data() + j * groups_, last_.data() + j * groups_, own_.data() + j * groups_,
                  groups_, leaf(j, code), units(space_->pair(j, code, hull.last[j])), above);
    }
}

const float *Sieve::rises(const Hull &row) {
    measure(row);
    scale_rises(bounds_.data(), least_.data(), factor_.data(), base_.data(), groups_);
    return bounds_.data();
}

const float *Sieve::unions(const Hull &hull, i64 size, double loss) {
    measure(hull);
    scale_unions(bounds_.data(), least_.data(), size_.data(), loss_.data(), margin_.data(), groups_,
                 float(1.0 / unit_), float(size), float(loss));
    return bounds_.data();
}

}  // namespace covey
