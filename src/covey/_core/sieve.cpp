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
constexpr i64 FEW = 20;  // groups
constexpr i64 LANES = 16;  // so many at once; arrays are filled up, so that no loop ends with single ones
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

// The same where there is one row in each place.
WIDE void add_reaches(i16 *__restrict sum, const i16 *__restrict places, i64 count, i16 bottom, i16 top, i16 cap) {
    for (i64 i = 0; i < count; ++i) {
        i16 above = places[i] > top ? places[i] : top, below = places[i] < bottom ? places[i] : bottom;
        i16 width = i16(above - below);
        width = width < cap ? width : cap;
        sum[i] = i16(sum[i] + width - (width > 0));
    }
}

// Rows under a node lose what it does; others at least what the node above it does.
WIDE void add_climbs(i16 *__restrict sum, const i16 *__restrict leaves, i64 count, i16 begin, i16 end, i16 loss,
                     i16 above) {
    for (i64 i = 0; i < count; ++i) {
        i16 node = (leaves[i] < begin) | (leaves[i] > end) ? above : loss;
        sum[i] = i16(sum[i] + node);
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

void Units::measure(const Space &known) {
    space = &known;
    most = 0.0;
    for (int j = 0; j < known.intervals; ++j) most += known.cells.weights[j];
    for (int j = 0; j < known.categories; ++j)
        most += known.forest.loss[known.forest.ancestor(known.forest.first[j], 0)];
    unit = any() ? 30000.0 / most : 0.0;
    scale_.resize(known.intervals);
    for (int j = 0; j < known.intervals; ++j) scale_[j] = known.cells.weights[j] * unit;
}

// ── rows ────────────────────────────────────────────────────────────────────────────────────────

void RowSieve::reset(const Space &space, const double *numbers, const i32 *codes, i64 rows) {
    units_.measure(space);
    stride_ = (rows + LANES - 1) / LANES * LANES;
    places_.resize(stride_ * (space.intervals + space.categories));
    least_.resize(stride_);
    i16 *into = places_.data();
    for (int j = 0; j < space.intervals; ++j, into += stride_)
        for (i64 row = 0; row < rows; ++row) into[row] = units_.place(j, numbers[row * space.intervals + j]);
    for (int j = 0; j < space.categories; ++j, into += stride_)
        for (i64 row = 0; row < rows; ++row) into[row] = units_.leaf(j, codes[row * space.categories + j]);
}

void RowSieve::move(i64 from, i64 to) {
    least_[to] = least_[from];
    for (i64 at = 0; at < i64(places_.size()); at += stride_) places_[at + to] = places_[at + from];
}

const RowSieve::i16 *RowSieve::least(const Hull &hull, i64 count) {
    count = (count + LANES - 1) / LANES * LANES;
    std::fill_n(least_.begin(), count, i16(0));
    const i16 *from = places_.data();
    for (int j = 0; j < units_.space->intervals; ++j, from += stride_)
        add_reaches(least_.data(), from, count, units_.place(j, hull.low[j]), units_.place(j, hull.high[j]),
                    units_.of(units_.space->cells.weights[j]));
    const Forest &forest = units_.space->forest;
    for (int j = 0; j < units_.space->categories; ++j, from += stride_) {
        i32 node = hull.first[j] == hull.last[j] ? hull.first[j] : forest.common_ancestor(hull.first[j], hull.last[j]);
        i32 above = forest.depth[node] > 0 ? forest.ancestor(node, forest.depth[node] - 1) : node;
        add_climbs(least_.data(), from, count, units_.leaf(j, forest.begin[node]), units_.leaf(j, forest.end[node] - 1),
                   units_.of(forest.loss[node]), units_.of(forest.loss[above]));
    }
    return least_.data();
}

i64 RowSieve::lowest(const i16 *least, i64 count) {
    i16 lowest = least[0];
    for (i64 i = 1; i < count; ++i) lowest = least[i] < lowest ? least[i] : lowest;
    return next(least, 0, count, lowest);
}

// ── groups ──────────────────────────────────────────────────────────────────────────────────────

void Sieve::reset(const Space &space, i64 groups) {
    units_.measure(space);
    groups_ = groups >= FEW && units_.any() ? groups : 0;
    if (!on()) return;
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
    for (int j = 0; j < units_.space->intervals; ++j) {
        low_[j * groups_ + group] = units_.place(j, hull.low[j]);
        high_[j * groups_ + group] = units_.place(j, hull.high[j]);
    }
    for (int j = 0; j < units_.space->categories; ++j) {
        first_[j * groups_ + group] = units_.leaf(j, hull.first[j]);
        last_[j * groups_ + group] = units_.leaf(j, hull.last[j]);
        own_[j * groups_ + group] = units_.of(units_.space->pair(j, hull.first[j], hull.last[j]));
    }
    double count = double(size);
    double room = ROOM * ((3 * count + 1) * (units_.most + loss) + std::abs(larger));
    factor_[group] = float((count + 1) / units_.unit);
    base_[group] = float(larger - count * loss - room);
    size_[group] = float(count), loss_[group] = float(loss);
    margin_[group] = float(ROOM * 4 * count * (units_.most + loss));
}

void Sieve::measure(const Hull &hull) {
    std::fill(least_.begin(), least_.end(), i16(0));
    for (int j = 0; j < units_.space->intervals; ++j)
        add_widths(least_.data(), low_.data() + j * groups_, high_.data() + j * groups_, groups_,
                   units_.place(j, hull.low[j]), units_.place(j, hull.high[j]), units_.of(units_.space->cells.weights[j]));
    const Forest &forest = units_.space->forest;
    for (int j = 0; j < units_.space->categories; ++j) {
        i32 code = hull.first[j];
        i16 above = forest.depth[code] > 0 ? units_.of(forest.loss[forest.ancestor(code, forest.depth[code] - 1)]) : i16(0);
        add_nodes(least_.data(), first_.data() + j * groups_, last_.data() + j * groups_, own_.data() + j * groups_,
                  groups_, units_.leaf(j, code), units_.of(units_.space->pair(j, code, hull.last[j])), above);
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
                 float(1.0 / units_.unit), float(size), float(loss));
    return bounds_.data();
}

}  // namespace covey
