#include "partition.hpp"

#include <cmath>

namespace covey {

// ── rows of a block ─────────────────────────────────────────────────────────────────────────────

void Block::take(const Space &whole, const Marks *known, const i64 *rows, i64 count_) {
    space = &whole, marks = known, count = count_;
    int intervals = whole.intervals, categories = whole.categories, columns = known ? known->columns : 0;
    numbers.resize(count * intervals), codes.resize(count * categories);
    classes.clear(), values.clear(), sorts.resize(columns ? count : 0), begin.assign(known && known->atoms ? 1 : 0, 0);
    for (i64 i = 0; i < count; ++i) {
        std::copy_n(whole.cells.number(rows[i]), intervals, numbers.data() + i * intervals);
        std::copy_n(whole.cells.code(rows[i]), categories, codes.data() + i * categories);
    }
    tops = begin.empty() ? std::vector<double>() : numbers, lasts = begin.empty() ? std::vector<i32>() : codes;
    for (i64 i = 0; known && i < count; ++i) {
        const i64 *first = known->first_of(rows[i]), *end = first + known->rows_of(rows[i]);
        for (const i64 *row = first; row < end; ++row) {
            if (known->classes) classes.push_back(known->classes[*row]);
            values.insert(values.end(), known->values + *row * columns, known->values + (*row + 1) * columns);
            if (!begin.empty()) widen(i, whole.of(*row));
        }
        if (!begin.empty()) begin.push_back(begin.back() + (end - first));
        // No other row is like an atom.
        if (columns) sorts[i] = end - first == 1 ? known->sorts[rows[i]] : whole.cells.rows + rows[i];
    }
    number_sorts();
}

void Block::widen(i64 row, const Hull &other) {
    for (int j = 0; j < space->intervals; ++j) {
        double &low = numbers[row * space->intervals + j], &high = tops[row * space->intervals + j];
        low = std::min(low, other.low[j]), high = std::max(high, other.high[j]);
    }
    for (int j = 0; j < space->categories; ++j) {
        i32 &first = codes[row * space->categories + j], &last = lasts[row * space->categories + j];
        first = std::min(first, other.first[j]), last = std::max(last, other.last[j]);
    }
}

void Block::take(const Block &whole, const std::vector<i64> &rows) {
    space = whole.space, marks = whole.marks, count = i64(rows.size());
    int intervals = space->intervals, categories = space->categories;
    numbers.resize(count * intervals), codes.resize(count * categories);
    for (i64 i = 0; i < count; ++i) {
        std::copy_n(whole.number(rows[i]), intervals, numbers.data() + i * intervals);
        std::copy_n(whole.code(rows[i]), categories, codes.data() + i * categories);
    }
    if (!marks) return;
    classes.clear(), values.clear(), sorts.clear(), begin.assign(whole.begin.empty() ? 0 : 1, 0);
    tops = begin.empty() ? std::vector<double>() : numbers, lasts = begin.empty() ? std::vector<i32>() : codes;
    for (i64 i = 0; i < count; ++i) {
        i64 first = whole.first_mark(rows[i]), end = first + whole.weight(rows[i]);
        if (!whole.classes.empty()) classes.insert(classes.end(), &whole.classes[first], &whole.classes[0] + end);
        if (!whole.sorts.empty()) sorts.push_back(whole.sorts[rows[i]]);
        values.insert(values.end(), whole.values.data() + first * marks->columns,
                      whole.values.data() + end * marks->columns);
        if (begin.empty()) continue;
        widen(i, whole.of(rows[i]));
        begin.push_back(begin.back() + (end - first));
    }
    sort_count = whole.sort_count;
    if (sort_count > count) number_sorts();
}

// Sorts of these rows as 0, 1, 2 …, so that what is known of each fits into a small array.
void Block::number_sorts() {
    std::vector<i64> known(sorts);
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    for (i64 &sort : sorts) sort = std::lower_bound(known.begin(), known.end(), sort) - known.begin();
    sort_count = i64(known.size());
}

// ── groups ──────────────────────────────────────────────────────────────────────────────────────

template <bool Marked>
void Partition<Marked>::reset(const Block &block, const Objective &objective, i64 groups) {
    rows = &block, aim = objective;
    labels.assign(block.count, NOBODY), next.assign(block.count, NOBODY), previous.assign(block.count, NOBODY);
    head.assign(groups, NOBODY), size.assign(groups, 0), loss.assign(groups, 0.0), extra.assign(groups, 0.0);
    low_.resize(groups * block.space->intervals), high_.resize(groups * block.space->intervals);
    first_.resize(groups * block.space->categories), last_.resize(groups * block.space->categories);
    sieve_.reset(*block.space, groups);
    if constexpr (Marked) {
        counted_.assign(groups, 0);
        counts_.resize(std::max<size_t>(counts_.size(), groups * block.marks->columns));
        for (Counts &counts : counts_) counts.clear();
        known_.assign(groups, 0), fits_.assign(groups, 0);
        safe_ = block.marks->rules.grow_safely();
    }
}

template <bool Marked> void Partition<Marked>::load(const i64 *known) {
    for (i64 row = rows->count - 1; row >= 0; --row)
        if (known[row] >= 0) attach(known[row], row);
    for (i64 group = 0; group < groups(); ++group) recount(group);
}

template <bool Marked> double Partition<Marked>::total_cost(double price) const {
    double total = 0.0;
    for (i64 group = 0; group < groups(); ++group) total += cost(group);
    i64 left_out = std::count(labels.begin(), labels.end(), NOBODY);
    return left_out > 0 ? total + double(left_out) * price : total;
}

template <bool Marked> i64 Partition<Marked>::members(i64 group, std::vector<i64> &into) const {
    i64 before = i64(into.size());
    for (i64 row = head[group]; row >= 0; row = next[row]) into.push_back(row);
    return i64(into.size()) - before;
}

template <bool Marked> void Partition<Marked>::count(i64 group, i64 row, i32 sign) {
    if constexpr (Marked) {
        counted_[group] += sign * rows->counted(row, aim.k);
        for (int column = 0; column < rows->marks->columns; ++column)
            count(counts_[group * rows->marks->columns + column], row, column, sign);
        known_[group] = 0;
    }
}

template <bool Marked> bool Partition<Marked>::accepts(i64 group, i64 row) {
    if (!has_rules()) return true;
    u64 sort = u64(rows->sorts[row]);
    if (!safe_ && sort >= 64) return complies(group, {NOBODY, row});
    // If any row may join a group that keeps the rules, only that needs to be known.
    u64 bit = safe_ ? 1 : u64(1) << sort;
    if (!(known_[group] & bit)) {
        known_[group] |= bit;
        bool fits = complies(group, {NOBODY, safe_ ? NOBODY : row});
        fits_[group] = fits ? fits_[group] | bit : fits_[group] & ~bit;
    }
    return fits_[group] & bit || (safe_ && complies(group, {NOBODY, row}));
}

template <bool Marked> void Partition<Marked>::attach(i64 group, i64 row) {
    i64 old = head[group];
    next[row] = old, previous[row] = NOBODY;
    if (old >= 0) previous[old] = row;
    head[group] = row;
    labels[row] = group;
    count(group, row, 1);
}

template <bool Marked> void Partition<Marked>::detach(i64 row) {
    i64 before = previous[row], after = next[row];
    if (before >= 0) next[before] = after;
    else head[labels[row]] = after;
    if (after >= 0) previous[after] = before;
    count(labels[row], row, -1);
}

template <bool Marked> void Partition<Marked>::open(i64 group) {
    std::fill_n(low(group), rows->space->intervals, INF);
    std::fill_n(high(group), rows->space->intervals, -INF);
    std::fill_n(first(group), rows->space->categories, FAR);
    std::fill_n(last(group), rows->space->categories, -1);
}

template <bool Marked> void Partition<Marked>::include(i64 group, i64 row) {
    Hull own = rows->of(row);
    double *l = low(group), *h = high(group);
    i32 *f = first(group), *e = last(group);
    for (int j = 0; j < rows->space->intervals; ++j) {
        l[j] = std::min(l[j], own.low[j]);
        h[j] = std::max(h[j], own.high[j]);
    }
    for (int j = 0; j < rows->space->categories; ++j) {
        f[j] = std::min(f[j], own.first[j]);
        e[j] = std::max(e[j], own.last[j]);
    }
}

template <bool Marked> void Partition<Marked>::weigh(i64 group) {
    loss[group] = size[group] > 0 ? own_loss(group) : 0.0;
    extra[group] = extra_of(group, {});
    if (size[group] > 0) sieve_.set(group, hull(group), size[group], loss[group], larger(group));
    else sieve_.erase(group);
}

template <bool Marked> void Partition<Marked>::recount(i64 group) {
    open(group);
    i64 found = 0;
    for (i64 row = head[group]; row >= 0; row = next[row]) include(group, row), found += weight(row);
    size[group] = found;
    weigh(group);
}

template <bool Marked> void Partition<Marked>::join(i64 group, i64 row) {
    attach(group, row);
    include(group, row);
    size[group] += weight(row);
    weigh(group);
}

template <bool Marked> void Partition<Marked>::unite(i64 group, i64 other) {
    for (i64 row = head[group], after; row >= 0; row = after) {
        after = next[row];
        count(group, row, -1);
        attach(other, row);
        include(other, row);
    }
    size[other] += size[group], size[group] = 0;
    if constexpr (Marked) counted_[group] = 0;
    head[group] = NOBODY;
    weigh(group), weigh(other);
}

template <bool Marked> void Partition<Marked>::swap(i64 group, i64 row, i64 other) {
    i64 home = labels[row];
    detach(row);
    if (other >= 0) {
        detach(other);
        attach(home, other);
    }
    attach(group, row);
    recount(home), recount(group);
}

// ── costs ───────────────────────────────────────────────────────────────────────────────────────

template <bool Marked> double Partition<Marked>::extra_of(i64 group, const Change &change) {
    i64 number = size[group];
    if (change.leaving >= 0) number -= weight(change.leaving);
    if (change.joining >= 0) number += weight(change.joining);
    double more = aim.evenness * double(number) * double(number - aim.k) / double(aim.k);
    if constexpr (Marked)
        if (rows->marks->penalty > 0.0 && number > 0)
            more += rows->marks->penalty * double(number - majority(group, change));
    return more;
}

// How many members are of the most frequent class.
template <bool Marked> i64 Partition<Marked>::majority(i64 group, const Change &change) {
    seen_.clear();
    auto see = [&](i64 row) {
        for (i64 mark = rows->first_mark(row), end = mark + rows->weight(row); mark < end; ++mark)
            seen_.push_back(rows->classes[mark]);
    };
    for (i64 row = head[group]; row >= 0; row = next[row])
        if (row != change.leaving) see(row);
    if (change.joining >= 0) see(change.joining);
    std::sort(seen_.begin(), seen_.end());
    i64 most = 1, begin = 0;
    for (i64 i = 1; i < i64(seen_.size()); ++i) {
        if (seen_[i] != seen_[begin]) begin = i;
        most = std::max(most, i + 1 - begin);
    }
    return most;
}

template <bool Marked> double Partition<Marked>::missed(i64 group, const Change &change) {
    double total = 0.0;
    if constexpr (Marked) {
        const Rules &rules = rows->marks->rules;
        i64 columns = rows->marks->columns;
        i64 now = size[group];
        if (change.leaving >= 0) now -= weight(change.leaving);
        if (change.joining >= 0) now += weight(change.joining);
        if (change.uniting >= 0) now += size[change.uniting];
        for (i64 rule = 0; rule < rules.count;) {
            i64 column = rules.column(rule);
            const Counts *found = &counts_[group * columns + column];
            Shift shift;
            if (change.uniting >= 0) {
                found->merge(counts_[change.uniting * columns + column], scratch_);
                found = &scratch_;
            }
            auto shifts = [&](i64 row, i32 &single, i32 sign) {
                if (row < 0) return;
                if (!rows->is_atom(row)) {
                    single = rows->value(rows->first_mark(row), column);
                    return;
                }
                if (found != &shifted_) shifted_ = *found, found = &shifted_;
                count(shifted_, row, column, sign);
            };
            shifts(change.leaving, shift.less, -1), shifts(change.joining, shift.more, 1);
            for (; rule < rules.count && rules.column(rule) == column; ++rule)
                total += rules.excess(rule, *found, shift, now, std::max(now, change.final));
        }
    }
    return total;
}

template <bool Marked>
typename Partition<Marked>::Offer Partition<Marked>::cheapest(i64 row, i64 own, double limit, bool minding) {
    Hull here = rows->of(row);
    Offer best{NOBODY, limit};
    double own_weight = double(weight(row));
    const float *bounds = sieve_.on() ? sieve_.rises(here) : nullptr;
    // Groups that are known to refuse its sort need not be measured.
    u64 refused = minding && has_rules() && !safe_ && rows->sorts[row] < 64 ? u64(1) << rows->sorts[row] : 0;
    for (i64 group = 0; group < groups(); ++group) {
        if (bounds && (group = Sieve::next(bounds, group, groups(), best.rise)) == groups()) break;
        if constexpr (Marked)
            if (known_[group] & ~fits_[group] & refused) continue;
        double number = double(size[group]), before = loss[group], more = larger(group, weight(row));
        // A row raises a group's loss at least by what it loses there itself.
        if (size[group] == 0 || group == own || own_weight * before + more >= best.rise) continue;
        double most = (best.rise - more + number * before) / (number + own_weight);
        double after = rows->space->loss(hull(group), here, most);
        if (after >= most) continue;
        double rise = (number + own_weight) * after - number * before + more;
        if constexpr (Marked) {
            if (minding && rise < best.rise && rows->marks->judges()) {
                rise += extra_of(group, {NOBODY, row}) - extra[group] - more;
                if (rise < best.rise && !accepts(group, row)) continue;
            }
        }
        if (rise < best.rise) best = {group, rise};
    }
    return best;
}

// By how much the loss would rise if two groups were one, or INF if it is not below the limit.
template <bool Marked>
double Partition<Marked>::rise_of_union(i64 group, i64 other, double limit) const {
    double own = double(size[group]), theirs = double(std::min(size[other], 2 * size[group]));
    double now = own * loss[group] + theirs * loss[other];
    double most = (limit + now) / (own + theirs);
    double together = rows->space->loss(hull(group), hull(other), most);
    return together < most ? (own + theirs) * together - now : INF;
}

template <bool Marked> std::vector<i64> Partition<Marked>::nearest(i64 group, i64 most) {
    std::vector<i64> found;
    std::vector<double> rises;
    auto limit = [&] { return i64(found.size()) == most ? rises.back() : INF; };
    auto insert = [&](i64 other) {
        double rise = rise_of_union(group, other, limit());
        if (rise == INF) return;
        if (i64(found.size()) == most) found.pop_back(), rises.pop_back();
        i64 place = i64(found.size());
        while (place > 0 && rises[place - 1] > rise) --place;
        found.insert(found.begin() + place, other);
        rises.insert(rises.begin() + place, rise);
    };
    const float *bounds = sieve_.on() ? sieve_.unions(hull(group), size[group], loss[group]) : nullptr;
    double enough = INF;  // no group above this can be among the best
    if (bounds) {
        // Those with the lowest bounds are likely to be the best, and say how good one has to be.
        std::vector<std::pair<float, i64>> lowest;
        for (i64 other = 0; other < groups(); ++other) {
            double worst = i64(lowest.size()) == most ? lowest.back().first : INF;
            if ((other = Sieve::next(bounds, other, groups(), worst)) == groups()) break;
            if (other == group) continue;
            if (i64(lowest.size()) == most) lowest.pop_back();
            std::pair<float, i64> here{bounds[other], other};
            lowest.insert(std::upper_bound(lowest.begin(), lowest.end(), here), here);
        }
        if (i64(lowest.size()) == most) {
            enough = -INF;
            for (auto &[bound, other] : lowest) enough = std::max(enough, rise_of_union(group, other, INF));
            enough += 1e-6 * (1.0 + std::abs(enough));
        }
    }
    for (i64 other = 0; other < groups(); ++other) {
        if (bounds && (other = Sieve::next(bounds, other, groups(), std::min(enough, limit()))) == groups()) break;
        if (other != group && size[other] > 0) insert(other);
    }
    return found;
}

template class Partition<false>;
template class Partition<true>;

}  // namespace covey
