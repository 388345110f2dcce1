#include "rules.hpp"

#include <cmath>

namespace covey {

namespace {

constexpr double ROOM = 1e-12;  // of a share, for rounding
constexpr double ROOM_OF_ENTROPY = 5e-10;

double positive(double number) { return number > 0.0 ? number : 0.0; }

// count × log(count), from a table for the counts of most groups.
double weight(i32 count) {
    static const std::vector<double> known = [] {
        std::vector<double> table(256, 0.0);
        for (size_t i = 2; i < table.size(); ++i) table[i] = double(i) * std::log(double(i));
        return table;
    }();
    if (count < i32(known.size())) return known[count];
    return count * std::log(double(count));
}

}  // namespace

void Counts::add(i32 value, i32 sign) {
    if (value < 0) return;
    auto at = std::lower_bound(values.begin(), values.end(), value) - values.begin();
    if (at == found() || values[at] != value) {
        values.insert(values.begin() + at, value);
        counts.insert(counts.begin() + at, sign);
    } else if ((counts[at] += sign) == 0) {
        values.erase(values.begin() + at);
        counts.erase(counts.begin() + at);
    }
}

void Counts::merge(const Counts &other, Counts &into) const {
    into.clear();
    i64 i = 0, j = 0;
    while (i < found() || j < other.found()) {
        bool ours = j == other.found() || (i < found() && values[i] <= other.values[j]);
        bool theirs = i == found() || (j < other.found() && other.values[j] <= values[i]);
        into.values.push_back(ours ? values[i] : other.values[j]);
        into.counts.push_back((ours ? counts[i] : 0) + (theirs ? other.counts[j] : 0));
        i += ours, j += theirs;
    }
}

i32 Counts::count(i32 value) const {
    auto at = std::lower_bound(values.begin(), values.end(), value) - values.begin();
    return at < found() && values[at] == value ? counts[at] : 0;
}

bool Rules::grow_safely() const {
    for (i64 rule = 0; rule < count; ++rule)
        if (kind(rule) != distinct) return false;
    return true;
}

double Rules::excess(i64 rule, const Counts &group, Shift shift, i64 size, i64 final) const {
    switch (kind(rule)) {
    case recursive:
    case ordered:
    case tree:
        break;
    case entropy:
        return excess_of_entropy(rule, group, shift, final);
    default:
        return excess_of_values(rule, group, shift, size, final);
    }
    if (!shift.none()) {
        Counts shifted = group;
        shifted.add(shift.less, -1), shifted.add(shift.more, 1);
        return excess(rule, shifted, {}, size, final);
    }
    if (kind(rule) == recursive) return excess_of_counts(rule, group.counts, final);
    if (size < final) return 0.0;  // rows to come may set it right
    double distance = kind(rule) == ordered ? along_line(rule, group, size) : over_tree(rule, group, size);
    return positive(distance - asked[3 * rule] * (1 + ROOM));
}

double Rules::excess_of_entropy(i64 rule, const Counts &group, Shift shift, i64 size) const {
    double parts = 0.0;
    for (i64 i = 0; i < group.found(); ++i) parts += weight(group.counts[i] + shift.of(group.values[i]));
    return positive(asked[3 * rule] - (std::log(double(size)) - parts / double(size)) - ROOM_OF_ENTROPY);
}

// How many values there are after a shift.
i64 Rules::found(const Counts &group, Shift shift) {
    if (shift.none()) return group.found();
    return group.found() - (shift.less >= 0 && group.count(shift.less) == 1) +
           (shift.more >= 0 && group.count(shift.more) == 0);
}

// Of rules that look at each value by itself.
double Rules::excess_of_values(i64 rule, const Counts &group, Shift shift, i64 size, i64 final) const {
    Kind what = kind(rule);
    const double *highest = bounds + places[5 * rule + 3], *lowest = highest + width;
    double least = asked[3 * rule], total = 0.0;
    auto add = [&](i32 value, i32 count) {
        double share = count / double(final), most = highest[value];
        if (what == between) {
            total += positive(share - most * (1 - ROOM));
            if (size == final && count > 0) total += positive(lowest[value] * (1 + ROOM) - share);
        } else {
            total += positive(share - (what == shares ? most * (1 + ROOM) : most));
        }
    };
    if (what != distinct) {
        for (i64 i = 0; i < group.found(); ++i) add(group.values[i], group.counts[i] + shift.of(group.values[i]));
        if (!shift.none() && shift.more >= 0 && group.count(shift.more) == 0) add(shift.more, 1);
    }
    if (what == equal) return positive(total - least * (1 + ROOM));
    if (what == distinct || what == between)
        total += positive((least - double(found(group, shift)) - double(final - size)) / least);
    return total;
}

// The most frequent value must be rarer than c times those from the l-th on.
double Rules::excess_of_counts(i64 rule, std::vector<i32> counts, i64 final) const {
    if (counts.empty()) return 0.0;
    std::sort(counts.begin(), counts.end());
    double rest = double(final);
    for (i64 i = std::max<i64>(i64(counts.size()) - i64(asked[3 * rule]) + 1, 0); i < i64(counts.size()); ++i)
        rest -= counts[i];
    double most = counts.back(), allowed = asked[3 * rule + 1] * rest * (1 - ROOM);
    return most < allowed ? 0.0 : (most - allowed) / double(final) + ROOM;
}

// Earth mover's distance where values stand in a line, over its length.
//
// Up to each value passes the difference of what the group and the table have until there. From one
// value of the group to its next the group's part is the same, and the table's grows. Bounds are the
// sums of shares up to each value, and the sums of these before it.
double Rules::along_line(i64 rule, const Counts &group, i64 size) const {
    i64 count = places[5 * rule + 2];
    if (count < 2 || group.found() == 0) return 0.0;
    const double *line = bounds + places[5 * rule + 3], *sums = line + width;
    auto sum_to = [&](i64 end) { return end < count ? sums[end] : sums[count - 1] + line[count - 1]; };
    double total = sums[group.values[0]];
    i64 passed = 0;
    for (i64 i = 0; i < group.found(); ++i) {
        i64 value = group.values[i], end = i + 1 < group.found() ? group.values[i + 1] : count;
        passed += group.counts[i];
        double here = double(passed) / double(size);
        // Up to `turn` the table has less than the group, from there on it has more.
        i64 turn = std::upper_bound(line + value, line + end, here) - line;
        total += double(turn - value) * here - (sum_to(turn) - sums[value]);
        total += sum_to(end) - sum_to(turn) - double(end - turn) * here;
    }
    return total / double(count - 1);
}

// Earth mover's distance where values are leaves of a tree, in the order of the tree.
double Rules::over_tree(i64 rule, const Counts &group, i64 size) const {
    const i32 *up = above + places[5 * rule + 4] * depths;
    double total = asked[3 * rule + 2];
    for (int depth = 0; depth < depths; ++depth) {
        for (i64 at = 0; at < group.found();) {
            i32 node = up[i64(group.values[at]) * depths + depth];
            i64 under = 0;
            for (; at < group.found() && up[i64(group.values[at]) * depths + depth] == node; ++at)
                under += group.counts[at];
            if (node < 0) continue;
            double there = double(under) / double(size), share = nodes[node];
            total += nodes[tree_nodes + node] * (std::abs(there - share) - share);
        }
    }
    return total;
}

}  // namespace covey
