#include "gathering.hpp"

#include <cmath>

namespace covey {

namespace {

constexpr int CLASSES = 64;  // of rises
constexpr int LOWEST = 14;   // rises below 2^-15 are in one class

// Four classes for each power of two. They spare a sort of the rows at each step.
int class_of(double rise) {
    int exponent;
    double fraction = std::frexp(rise, &exponent);
    return std::clamp(4 * (exponent + LOWEST) + int(8 * fraction) - 4, 0, CLASSES - 1);
}

// What a row and any row of a group lose together at least, or something above `most`.
double least_loss(const Space &space, const Hull &row, const Hull &group, double most) {
    double sum = 0.0;
    for (int j = 0; j < space.intervals; ++j) {
        double gap = std::max({group.low[j] - row.low[j], row.low[j] - group.high[j], 0.0});
        sum += space.cells.weights[j] * std::min(gap, 1.0);
    }
    for (int j = 0; j < space.categories && sum < most; ++j) {
        if (row.first[j] < group.first[j]) sum += space.pair(j, row.first[j], group.first[j]);
        if (row.first[j] > group.last[j]) sum += space.pair(j, group.last[j], row.first[j]);
    }
    return sum;
}

}  // namespace

template <bool Marked> void Gathering<Marked>::gather(Parts &parts, i64 seed, i64 place, double allowed) {
    limit_ = parts.loss[parts.labels[seed]];
    start(parts, seed);
    if (!widen(parts)) return;
    double before = parts.total_cost(parts.aim.price);
    moves_.clear();
    take_spare(parts, place);
    for (const Donor &donor : donors_) dissolve(parts, donor, place, allowed);
    bool pays = parts.size[place] >= parts.aim.k && parts.total_cost(parts.aim.price) < before + allowed;
    if (!pays) undo(parts);
}

// ── the box ─────────────────────────────────────────────────────────────────────────────────────

// The box of one row, and all rows that lose less with it than both do in their groups.
template <bool Marked> void Gathering<Marked>::start(const Parts &parts, i64 seed) {
    const Block &rows = *parts.rows;
    const Space &space = *rows.space;
    low_.assign(rows.number(seed), rows.number(seed) + space.intervals), high_ = low_;
    first_.assign(rows.code(seed), rows.code(seed) + space.categories), last_ = first_;
    parts_.assign(space.intervals + space.categories, 0.0);
    loss_ = 0.0;
    candidates_.clear();
    for (i64 group = 0; group < parts.groups(); ++group) {
        double now = parts.loss[group], most = std::min(now, limit_);
        if (now == 0.0 || least_loss(space, box(), parts.hull(group), most) >= most) continue;
        for (i64 row = parts.head[group]; row >= 0; row = parts.next[row])
            if (!parts.is_atom(row) && space.loss(box(), rows.of(row), most) < most) candidates_.push_back({row, now});
    }
}

// Widen the box until k rows that gain fit, and on while all of them together gain more; whether k fit.
template <bool Marked> bool Gathering<Marked>::widen(const Parts &parts) {
    const Block &rows = *parts.rows;
    i64 k = parts.aim.k;
    while (true) {
        if (i64(candidates_.size()) < k) return false;
        i64 fitting = survey(rows);
        i64 row = best_widening(fitting, k);
        if (row < 0 && fitting < k) row = nearest(rows);
        if (row < 0) return fitting >= k;
        include(rows, row);
    }
}

// Count the rows that fit and gain, and those that would if one attribute were wider.
template <bool Marked> i64 Gathering<Marked>::survey(const Block &rows) {
    int intervals = rows.space->intervals, categories = rows.space->categories;
    widenings_.assign((2 * intervals + categories) * CLASSES, {});
    i64 fitting = 0;
    size_t kept = 0;
    for (Candidate candidate : candidates_) {
        auto [row, now] = candidate;
        Misses misses = missed(rows, row);
        // The box only widens: a row that does not gain now never will.
        double most = std::min(now, limit_), with = loss_ + misses.rise;
        if (now <= loss_ || with > most + LEAST_GAIN) continue;
        candidates_[kept++] = candidate;
        fitting += misses.count == 0;
        if (misses.count != 1 || with >= most) continue;
        int direction = intervals + misses.last;
        if (misses.last < intervals) direction = 2 * misses.last + (rows.number(row)[misses.last] > high_[misses.last]);
        Widening &widening = widenings_[direction * CLASSES + class_of(misses.rise)];
        widening.count += 1, widening.gain += now - loss_;
        if (misses.rise > widening.rise) widening.rise = misses.rise, widening.furthest = row;
    }
    candidates_.resize(kept);
    return fitting;
}

// The row to widen the box to. While too few rows fit, it brings in most rows for its rise; then it
// raises most what all save together.
template <bool Marked> i64 Gathering<Marked>::best_widening(i64 fitting, i64 k) const {
    double best = 0.0, gain = 0.0;
    i64 choice = NOBODY, count = 0;
    for (size_t i = 0; i < widenings_.size(); ++i) {
        if (i % CLASSES == 0) count = 0, gain = 0.0;
        const Widening &widening = widenings_[i];
        if (widening.count == 0) continue;
        count += widening.count, gain += widening.gain;
        double score = fitting < k ? double(std::min(count, k - fitting)) / widening.rise
                                   : gain - double(fitting + count) * widening.rise;
        if (score > best) best = score, choice = widening.furthest;
    }
    return choice;
}

// The row that widens the box least, if no single attribute is enough.
template <bool Marked> i64 Gathering<Marked>::nearest(const Block &rows) const {
    double least = limit_;
    i64 choice = NOBODY;
    for (auto [row, now] : candidates_) {
        double most = std::min(now, least), loss = rows.space->loss(box(), rows.of(row), most);
        if (loss < most && !fits(rows, row)) least = loss, choice = row;
    }
    return choice;
}

template <bool Marked> void Gathering<Marked>::include(const Block &rows, i64 row) {
    const Space &space = *rows.space;
    for (size_t j = 0; j < parts_.size(); ++j) parts_[j] = part(rows, int(j), row);
    for (int j = 0; j < space.intervals; ++j) {
        low_[j] = std::min(low_[j], rows.number(row)[j]);
        high_[j] = std::max(high_[j], rows.number(row)[j]);
    }
    for (int j = 0; j < space.categories; ++j) {
        first_[j] = std::min(first_[j], rows.code(row)[j]);
        last_[j] = std::max(last_[j], rows.code(row)[j]);
    }
    loss_ = space.loss(box(), box());
}

// What the box would lose in one attribute with a row.
template <bool Marked> inline double Gathering<Marked>::part(const Block &rows, int attribute, i64 row) const {
    const Space &space = *rows.space;
    if (int j = attribute; j < space.intervals) {
        double cell = rows.number(row)[j];
        return space.cells.weights[j] * std::min(std::max(high_[j], cell) - std::min(low_[j], cell), 1.0);
    }
    int j = attribute - space.intervals;
    i32 leaf = rows.code(row)[j];
    return space.pair(j, std::min(first_[j], leaf), std::max(last_[j], leaf));
}

// The attributes that a row would widen the box in. More than two do not matter.
template <bool Marked>
typename Gathering<Marked>::Misses Gathering<Marked>::missed(const Block &rows, i64 row) const {
    const Space &space = *rows.space;
    const double *numbers = rows.number(row);
    const i32 *codes = rows.code(row);
    Misses misses;
    auto look = [&](int attribute) {
        double rise = part(rows, attribute, row) - parts_[attribute];
        if (rise > 0.0) misses.count += 1, misses.last = attribute, misses.rise += rise;
    };
    for (int j = 0; j < space.intervals && misses.count < 2; ++j)
        if (numbers[j] < low_[j] || numbers[j] > high_[j]) look(j);
    for (int j = 0; j < space.categories && misses.count < 2; ++j)
        if (codes[j] < first_[j] || codes[j] > last_[j]) look(space.intervals + j);
    return misses;
}

// ── the rows ────────────────────────────────────────────────────────────────────────────────────

// Each group gives what it can spare. Those that should give more come in `donors_`, the largest gifts first.
template <bool Marked> void Gathering<Marked>::take_spare(Parts &parts, i64 place) {
    wanted_.clear(), donors_.clear();
    parts.open(place);
    for (auto [row, now] : candidates_)
        if (fits(*parts.rows, row)) wanted_.push_back(row);
    for (size_t begin = 0, end = 0; begin < wanted_.size(); begin = end) {
        i64 group = parts.labels[wanted_[begin]], size = parts.size[group];
        while (end < wanted_.size() && parts.labels[wanted_[end]] == group) ++end;
        i64 number = i64(end - begin);
        i64 given = number == size ? number : std::min(number, parts.counted(group) - parts.aim.k);
        for (size_t i = begin; i < begin + size_t(given); ++i) move(parts, wanted_[i], place);
        if (given > 0) parts.recount(group);
        if (given < number) donors_.push_back({group, number - given});
    }
    std::stable_sort(donors_.begin(), donors_.end(),
                     [](const Donor &one, const Donor &other) { return one.rows > other.rows; });
}

// The rest of a group that gives more than it can spare goes where it costs least, if that may pay.
template <bool Marked>
void Gathering<Marked>::dissolve(Parts &parts, const Donor &donor, i64 place, double allowed) {
    double left = parts.cost(donor.group) - double(donor.rows) * loss_ + allowed;
    homes_.clear();
    for (i64 row = parts.head[donor.group]; row >= 0; row = parts.next[row]) {
        i64 home = place;
        if (parts.is_atom(row) || !fits(*parts.rows, row)) {
            auto offer = parts.cheapest(row, donor.group, left);
            if (offer.group < 0) return;
            left -= offer.rise, home = offer.group;
        }
        homes_.push_back({row, donor.group, home});
    }
    for (const Move &leaving : homes_) move(parts, leaving.row, leaving.to);
    parts.recount(donor.group);
}

template <bool Marked> void Gathering<Marked>::move(Parts &parts, i64 row, i64 to) {
    moves_.push_back({row, parts.labels[row], to});
    parts.detach(row);
    parts.join(to, row);
}

template <bool Marked> void Gathering<Marked>::undo(Parts &parts) {
    for (size_t i = moves_.size(); i-- > 0;) {
        parts.detach(moves_[i].row);
        parts.attach(moves_[i].from, moves_[i].row);
    }
    std::vector<i64> touched;
    for (const Move &made : moves_) touched.insert(touched.end(), {made.from, made.to});
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (i64 group : touched) parts.recount(group);
}

template class Gathering<false>;
template class Gathering<true>;

}  // namespace covey
