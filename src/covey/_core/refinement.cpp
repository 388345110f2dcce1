#include "refinement.hpp"

#include <cmath>
#include <numeric>

#include "binding.hpp"
#include "gathering.hpp"

namespace covey {

// ── ends of a group and what is next to them ────────────────────────────────────────────────────

namespace {

constexpr i64 LARGE = 256;  // rows of a group whose ends take long to find again

// Values that are kept for each end of a group.
int kept(i64 rows) { return rows < LARGE ? End<double>::FEW : End<double>::MANY; }

const auto lower = [](auto one, auto other) { return one < other; };
const auto higher = [](auto one, auto other) { return one > other; };

}  // namespace

void Extremes::resize(const Space &space) {
    lows_.resize(space.intervals), highs_.resize(space.intervals);
    firsts_.resize(space.categories), lasts_.resize(space.categories);
    low_.resize(space.intervals), high_.resize(space.intervals);
    first_.resize(space.categories), last_.resize(space.categories);
}

void Extremes::clear(const Space &space, i64 rows) {
    resize(space);
    for (auto &end : lows_) end.clear(INF, kept(rows));
    for (auto &end : highs_) end.clear(-INF, kept(rows));
    for (auto &end : firsts_) end.clear(FAR, kept(rows));
    for (auto &end : lasts_) end.clear(-1, kept(rows));
}

void Extremes::extend(const Block &rows, i64 row) {
    Hull own = rows.of(row);
    for (size_t j = 0; j < lows_.size(); ++j) {
        lows_[j].extend(own.low[j], lower), highs_[j].extend(own.high[j], higher);
        low_[j] = lows_[j].value(), high_[j] = highs_[j].value();
    }
    for (size_t j = 0; j < firsts_.size(); ++j) {
        firsts_[j].extend(own.first[j], lower), lasts_[j].extend(own.last[j], higher);
        first_[j] = firsts_[j].value(), last_[j] = lasts_[j].value();
    }
}

template <bool Marked> void Extremes::measure(Partition<Marked> &parts, i64 group) {
    const Space &space = *parts.rows->space;
    clear(space, parts.size[group]);
    for (i64 row = parts.head[group]; row >= 0; row = parts.next[row]) extend(*parts.rows, row);
    std::copy_n(low_.data(), space.intervals, parts.low(group));
    std::copy_n(high_.data(), space.intervals, parts.high(group));
    std::copy_n(first_.data(), space.categories, parts.first(group));
    std::copy_n(last_.data(), space.categories, parts.last(group));
}

template void Extremes::measure(Partition<false> &, i64);
template void Extremes::measure(Partition<true> &, i64);

// Attributes of which too few values are known are measured again.
template <bool Marked> void Extremes::forget(Partition<Marked> &parts, i64 group, i64 row) {
    const Block &rows = *parts.rows;
    int many = kept(parts.size[group]);
    auto update = [&](auto &low, auto &high, auto lowest, auto highest, auto ends) {
        auto own = ends(rows.of(row));
        if (low.forget(own.first) & high.forget(own.second)) return;
        low.clear(lowest, many), high.clear(highest, many);
        for (i64 member = parts.head[group]; member >= 0; member = parts.next[member]) {
            own = ends(rows.of(member));
            low.extend(own.first, lower), high.extend(own.second, higher);
        }
    };
    for (size_t j = 0; j < lows_.size(); ++j) {
        update(lows_[j], highs_[j], INF, -INF, [&](Hull one) { return std::pair(one.low[j], one.high[j]); });
        parts.low(group)[j] = low_[j] = lows_[j].value(), parts.high(group)[j] = high_[j] = highs_[j].value();
    }
    for (size_t j = 0; j < firsts_.size(); ++j) {
        update(firsts_[j], lasts_[j], FAR, -1, [&](Hull one) { return std::pair(one.first[j], one.last[j]); });
        parts.first(group)[j] = first_[j] = firsts_[j].value(), parts.last(group)[j] = last_[j] = lasts_[j].value();
    }
}

void Extremes::leave(const Block &rows, i64 row, Extremes &into) const {
    into.resize(*rows.space);
    Hull own = rows.of(row);
    for (size_t j = 0; j < lows_.size(); ++j)
        into.low_[j] = lows_[j].without(own.low[j]), into.high_[j] = highs_[j].without(own.high[j]);
    for (size_t j = 0; j < firsts_.size(); ++j)
        into.first_[j] = firsts_[j].without(own.first[j]), into.last_[j] = lasts_[j].without(own.last[j]);
}

double Extremes::loss_without(const Block &rows, i64 row) const {
    const Space &space = *rows.space;
    Hull own = rows.of(row);
    double loss = 0.0;
    for (int j = 0; j < space.intervals; ++j) {
        double low = lows_[j].without(own.low[j]), high = highs_[j].without(own.high[j]);
        if (high > low) loss += space.cells.weights[j] * std::min(high - low, 1.0);
    }
    for (int j = 0; j < space.categories; ++j) {
        i32 first = firsts_[j].without(own.first[j]), last = lasts_[j].without(own.last[j]);
        if (last > first) loss += space.pair(j, first, last);
    }
    return loss;
}

double Extremes::loss_with(const Block &rows, i64 row) const { return rows.space->loss(hull(), rows.of(row)); }

// ── the greedy start ────────────────────────────────────────────────────────────────────────────

namespace {

constexpr i64 MANY = 64;  // a group takes one in so many of the rows that it still needs in one search
constexpr i64 SAMPLE = 1024;  // rows

}  // namespace

// A row of another class than the one before pays the penalty. Where there are rules, a group takes rows
// with which it could still keep them at its goal, if there are any; and from there on, those that bring it
// nearer to keeping them. It grows until it has k rows and keeps the rules.
template <bool Marked>
void Moves<Marked>::grow(Parts &parts, i64 count, i64 goal, const Random &random, const Watch &watch) {
    const Block &rows = *parts.rows;
    i64 k = parts.aim.k;
    goal_ = goal, free_.resize(count), left_ = count, left_counted_ = 0;
    std::iota(free_.begin(), free_.end(), 0);
    sieve_.reset(*rows.space, rows.numbers.data(), rows.codes.data(), count);
    if (Marked) step_ = 0, looked_.assign(rows.sort_count, 0), fits_.assign(rows.sort_count, 0);
    for (i64 row : free_) left_counted_ += parts.counts_for(row);
    for (i64 group = 0, most = left_counted_ / k; group < most && left_counted_ >= k; ++group) {
        parts.open(group);
        double own = 0.0, best = INF;
        i64 choice = random.below(left_);
        while (choice >= 0) {
            watch.go_on();
            i64 row = free_[choice];
            take(parts, group, choice);
            i64 size = parts.counted(group);
            if (left_ == 0 || (size >= k && parts.complies(group))) break;
            double most = parts.missed(group, {NOBODY, NOBODY, NOBODY, goal_});
            if (parts.size[group] >= goal_) most -= LEAST_GAIN;
            if (best > own) {
                own = parts.own_loss(group);
                least_ = sieve_.least(parts.hull(group), left_);
            }
            i64 start = choice, number = parts.has_rules() ? 1 : (k - size) / MANY;
            choice = next_row(parts, group, row, start, own, most, best);
            if (number > 1 && best > own) choice = take_many(parts, group, row, start, number);
        }
        parts.weigh(group);
    }
    for (i64 i = 0; i < left_; ++i) {
        i64 choice = parts.cheapest(free_[i], NOBODY, INF).group;
        // Whichever it joins, rules will have to be set right.
        if (choice < 0) choice = parts.cheapest(free_[i], NOBODY, INF, false).group;
        parts.join(choice, free_[i]);
    }
}

// A free row joins a growing group, and the last one takes its place.
template <bool Marked> void Moves<Marked>::take(Parts &parts, i64 group, i64 place) {
    parts.attach(group, free_[place]);
    parts.include(group, free_[place]);
    parts.size[group] += parts.weight(free_[place]);
    left_ -= 1, left_counted_ -= parts.counts_for(free_[place]);
    free_[place] = free_[left_];
    sieve_.move(left_, place);
}

// What each member of a growing group would lose with a free row, and what that row pays.
template <bool Marked>
double Moves<Marked>::loss_with(const Parts &parts, i64 group, i64 last, i64 row, double most) const {
    const Block &rows = *parts.rows;
    double paid = 0.0;
    if constexpr (Marked)
        if (!rows.classes.empty() && rows.classes[rows.first_mark(row)] != rows.classes[rows.first_mark(last)])
            paid = rows.marks->penalty / double(parts.size[group] + 1);
    return rows.space->loss(parts.hull(group), rows.of(row), most, paid);
}

// The place of the free row that costs the group least, or NOBODY; `best` is what it costs.
//
// A row that costs nothing more is taken at once. Rows before it did not fit, so the next search goes
// on behind it: it starts at `start`, where the last row was taken from.
template <bool Marked>
i64 Moves<Marked>::next_row(Parts &parts, i64 group, i64 last, i64 start, double own, double most, double &best) {
    i64 choice = NOBODY;
    step_ += 1;
    auto look_around = [&](std::int16_t limit, bool minding) {
        best = INF, choice = NOBODY;
        for (auto [begin, end] : {std::pair{start, left_}, std::pair{i64(0), start}}) {
            for (i64 place = begin; (place = RowSieve::next(least_, place, end, limit)) < end; ++place) {
                double loss = loss_with(parts, group, last, free_[place], best);
                if (loss >= best || (minding && !fits(parts, group, free_[place], most))) continue;
                best = loss, choice = place;
                if (loss <= own) return;
                limit = std::min(limit, sieve_.most(best));
            }
        }
    };
    for (bool minding : {parts.has_rules(), false}) {
        look_around(sieve_.most(own), minding);
        if (best <= own) break;
        // The row that seems cheapest is likely to be it, and says how cheap one has to be.
        i64 likely = minding ? NOBODY : RowSieve::lowest(least_, left_);
        look_around(sieve_.most(minding ? INF : loss_with(parts, group, last, free_[likely], INF)), minding);
        // If nobody keeps the rules, anyone will do the second time around.
        if (!minding || choice >= 0 || parts.counted(group) >= parts.aim.k) break;
    }
    return choice;
}

// Let a group take in several of the cheapest rows, those in the last places first, but for one: the place
// of that one. So the number of searches for a group hardly grows with k.
template <bool Marked>
i64 Moves<Marked>::take_many(Parts &parts, i64 group, i64 last, i64 start, i64 number) {
    cheapest_.start(number), places_.clear();
    auto offer = [&](i64 place) {
        i64 turn = place - start;
        cheapest_.offer(loss_with(parts, group, last, free_[place], INF), turn < 0 ? turn + left_ : turn);
    };
    // Those that seem cheapest, by a sample of all, are likely to be it, and say how cheap the others have
    // to be. If the sample misleads, only time is lost.
    bounds_.clear();
    i64 step = std::max<i64>(1, left_ / SAMPLE);
    for (i64 place = 0; place < left_; place += step) bounds_.push_back(least_[place]);
    auto last_near = bounds_.begin() + std::min<i64>(number * 5 / 4 / step + 4, i64(bounds_.size()) - 1);
    std::nth_element(bounds_.begin(), last_near, bounds_.end());
    std::int16_t near = *last_near;
    for (i64 place = 0; (place = RowSieve::next(least_, place, left_, near)) < left_; ++place) offer(place);
    std::int16_t limit = sieve_.most(cheapest_.limit());
    for (i64 place = 0; (place = RowSieve::next(least_, place, left_, limit)) < left_; ++place)
        if (least_[place] > near) offer(place);
    for (auto &[loss, turn] : cheapest_.entries()) places_.push_back((start + turn) % left_);
    std::sort(places_.rbegin(), places_.rend());
    for (size_t i = 0; i + 1 < places_.size(); ++i) take(parts, group, places_[i]);
    return places_.back();
}

// Whether a group with this row would miss the rules, at its goal, by no more than `most`.
template <bool Marked> bool Moves<Marked>::fits(Parts &parts, i64 group, i64 row, double most) {
    i64 sort = parts.rows->sorts[row];
    if (looked_[sort] != step_) {
        looked_[sort] = step_;
        fits_[sort] = parts.missed(group, {NOBODY, row, NOBODY, goal_}) <= most;
    }
    return fits_[sort];
}

// ── rows that go elsewhere ──────────────────────────────────────────────────────────────────────

template <bool Marked> void Moves<Marked>::sweep(Parts &parts, i64 groups, const Watch &watch) {
    if (parts.aim.price < INF) take_back(parts);
    for (i64 group = 0; group < groups && !watch.stopped(); ++group) {
        if (parts.size[group] == 0 || parts.cost(group) == 0.0) continue;
        if (dissolve(parts, group, watch)) continue;
        if (parts.counted(group) > parts.aim.k) relocate(parts, group, watch);
        if (Marked && parts.rows->marks->judges()) exchange(parts, group, watch);
    }
}

// Rows that were left out join groups where they cost less than that.
template <bool Marked> void Moves<Marked>::take_back(Parts &parts) {
    for (i64 row = 0; row < parts.rows->count; ++row) {
        if (parts.labels[row] >= 0) continue;
        i64 choice = parts.cheapest(row, NOBODY, parts.aim.price - LEAST_GAIN).group;
        if (choice >= 0) parts.join(choice, row);
    }
}

// Let all members go where each costs least, if that costs less than to keep them together.
template <bool Marked> bool Moves<Marked>::dissolve(Parts &parts, i64 group, const Watch &watch) {
    double whole = parts.cost(group) - LEAST_GAIN, price = parts.aim.price, total = 0.0;
    members_.clear();
    i64 count = parts.members(group, members_);
    for (i64 i = 0; i < count; ++i) {
        auto offer = parts.cheapest(members_[i], group, std::min(whole - total, price));
        if (watch.stopped() || (offer.group < 0 && price >= whole - total)) return false;
        total += offer.rise;
    }
    // What one joins costs the next one more or less, so they go one by one, and perhaps return.
    total = 0.0;
    homes_.resize(count);
    for (i64 i = 0; i < count; ++i) {
        auto offer = parts.cheapest(members_[i], group, std::min(whole - total, price));
        if (watch.stopped() || (offer.group < 0 && price >= whole - total)) {
            bring_back(parts, group, i);
            return false;
        }
        total += offer.rise;
        homes_[i] = offer.group;
        parts.detach(members_[i]);
        if (offer.group >= 0) parts.join(offer.group, members_[i]);
        else parts.leave_out(members_[i]);
    }
    parts.recount(group);
    return true;
}

// Members that have gone return from their new homes.
template <bool Marked> void Moves<Marked>::bring_back(Parts &parts, i64 group, i64 moved) {
    for (i64 i = 0; i < moved; ++i) {
        if (homes_[i] >= 0) parts.detach(members_[i]);
        parts.attach(group, members_[i]);
    }
    std::sort(homes_.begin(), homes_.begin() + moved);
    auto end = std::unique(homes_.begin(), homes_.begin() + moved);
    for (auto home = homes_.begin(); home != end; ++home)
        if (*home >= 0) parts.recount(*home);
    parts.recount(group);
}

// Let members go elsewhere, one by one, while the group has more than k.
template <bool Marked> void Moves<Marked>::relocate(Parts &parts, i64 group, const Watch &watch) {
    members_.clear();
    i64 count = parts.members(group, members_);
    double price = parts.aim.price;
    ends_.measure(parts, group);
    for (i64 i = 0; i < count && !watch.stopped(); ++i) {
        i64 row = members_[i], rest = parts.size[group] - parts.weight(row);
        if (parts.counted(group) <= parts.aim.k || parts.cost(group) == 0.0) break;
        if (!parts.can_spare(group, row)) continue;
        double cost = double(rest) * ends_.loss_without(*parts.rows, row);
        double saved = parts.cost(group) - cost - parts.extra_of(group, {row}) - LEAST_GAIN;
        i64 choice = parts.cheapest(row, group, std::min(saved, price)).group;
        if (choice < 0 && price >= saved) continue;
        if (!parts.complies(group, {row})) continue;
        parts.detach(row);
        parts.size[group] = rest;
        ends_.forget(parts, group, row);
        parts.weigh(group);
        if (choice >= 0) parts.join(choice, row);
        else parts.leave_out(row);
    }
}

// Give members to groups where they cost little, each for one of theirs.
//
// Where rules forbid that a row goes, one that is like it in what they ask for may come instead.
template <bool Marked> void Moves<Marked>::exchange(Parts &parts, i64 group, const Watch &watch) {
    const Block &rows = *parts.rows;
    members_.clear();
    i64 count = parts.members(group, members_);
    ends_.measure(parts, group);
    for (i64 i = 0; i < count && !watch.stopped(); ++i) {
        i64 row = members_[i], size = parts.size[group];
        double saved = double(size) * (parts.loss[group] - ends_.loss_without(rows, row)) - LEAST_GAIN;
        if (size < 2 || saved <= 0.0 || parts.is_atom(row)) continue;
        i64 home = parts.cheapest(row, group, saved, false).group;
        if (home < 0) continue;
        ends_.leave(rows, row, without_);
        theirs_.measure(parts, home);
        theirs_.extend(rows, row);
        double best = parts.cost(group) + parts.cost(home) - LEAST_GAIN;
        i64 choice = NOBODY, many = parts.size[home];
        for (i64 other = parts.head[home]; other >= 0; other = parts.next[other]) {
            double cost = double(size) * without_.loss_with(rows, other);
            if (cost >= best || parts.is_atom(other)) continue;
            cost += double(many) * theirs_.loss_without(rows, other);
            cost += extra_of_swap(parts, group, home, row, other);
            if (cost < best && may_swap(parts, group, home, row, other)) best = cost, choice = other;
        }
        if (choice < 0) continue;
        parts.swap(group, choice, row);
        ends_.measure(parts, group);
    }
}

template <bool Marked>
double Moves<Marked>::extra_of_swap(Parts &parts, i64 group, i64 home, i64 row, i64 other) {
    if (parts.rows->marks->penalty == 0.0) return parts.extra[group] + parts.extra[home];
    return parts.extra_of(group, {row, other}) + parts.extra_of(home, {other, row});
}

template <bool Marked> bool Moves<Marked>::may_swap(Parts &parts, i64 group, i64 home, i64 row, i64 other) {
    const std::vector<i64> &sorts = parts.rows->sorts;
    if (sorts.empty() || sorts[row] == sorts[other]) return true;
    return parts.complies(group, {row, other}) && parts.complies(home, {other, row});
}

// ── merging ─────────────────────────────────────────────────────────────────────────────────────

template <bool Marked> bool Moves<Marked>::merge(Parts &parts) {
    if (parts.has_rules())
        for (i64 group = 0; group < parts.groups(); ++group)
            if (!merge(parts, group)) return false;
    return true;
}

template <bool Marked> bool Moves<Marked>::merge(Parts &parts, i64 group) {
    while (parts.size[group] > 0 && !parts.complies(group)) {
        i64 other = partner(parts, group);
        if (other < 0) return false;
        parts.unite(group, other);
        group = other;
    }
    return true;
}

// The group with which one keeps the rules at least cost; the cheapest one if with none.
template <bool Marked> i64 Moves<Marked>::partner(Parts &parts, i64 group) {
    double best = INF, least = INF, size = double(parts.size[group]);
    i64 choice = NOBODY, nearest = NOBODY;
    for (i64 other = 0; other < parts.groups(); ++other) {
        double theirs = double(parts.size[other]);
        if (theirs == 0 || other == group) continue;
        double loss = parts.rows->space->loss(parts.hull(group), parts.hull(other));
        double rise = (size + theirs) * loss - size * parts.loss[group] - theirs * parts.loss[other];
        if (rise < least) least = rise, nearest = other;
        if (rise < best && parts.complies(group, {NOBODY, NOBODY, other})) best = rise, choice = other;
    }
    return choice >= 0 ? choice : nearest;
}

// ── a block and its groups ──────────────────────────────────────────────────────────────────────

namespace {

constexpr double HOPELESS = 1.1;
constexpr double CHOSEN = 0.4;  // how likely one of the nearest groups is formed again, with heat

template <bool Marked> class BlockRefinery : public Refinery {
  public:
    BlockRefinery(const Space &space, const Marks *marks, const Objective &aim, const i64 *rows, i64 count)
        : aim_(aim) {
        block_.take(space, marks, rows, count);
        empty();
    }

    void grow(const Random &random, const Watch &watch) override {
        empty();
        moves_.grow(parts_, block_.count, aim_.k, random, watch);
    }
    void load(const i64 *labels) override {
        empty();
        parts_.load(labels);
    }
    i64 rows() const override { return block_.count; }
    i64 groups() const override { return parts_.groups(); }
    double cost() const override { return parts_.total_cost(aim_.price); }
    const std::vector<i64> &labels() const override { return parts_.labels; }
    bool repair(Watch &watch) override { return moves_.repair(parts_, watch); }

    std::vector<double> offers() override {
        std::vector<double> rises;
        for (i64 row = 0; row < block_.count; ++row)
            if (parts_.labels[row] < 0) rises.push_back(parts_.cheapest(row, NOBODY, INF).rise);
        return rises;
    }

    void settle(const bool *returning) override {
        for (i64 row = 0; row < block_.count; ++row) {
            if (!returning[row] || parts_.labels[row] >= 0) continue;
            i64 choice = parts_.cheapest(row, NOBODY, INF).group;
            if (choice >= 0) parts_.join(choice, row);
        }
    }

    void sweep(double price, const Watch &watch) override {
        parts_.aim.price = price;
        moves_.sweep(parts_, parts_.groups(), watch);
    }

    // Sweep, gather, then form each group again together with its neighbours. A group of 2k rows or
    // more is formed again on its own first, which may split it.
    void refine(double price, const Regrouping &how, const Random &random, const Watch &watch) override {
        sweep(price, watch);
        double heat = how.heat * mean_cost();
        // Rows that agree in nearly all attributes seldom keep rules: it would not pay.
        if (how.gathers && !parts_.has_rules()) gather(heat, random, watch);
        std::vector<char> done(parts_.groups(), 0);
        // Of many groups, the nearest third need no neighbourhoods of their own.
        i64 third = (how.neighbours + 1) / 3;
        for (i64 group = 0; group < parts_.groups() && !watch.stopped(); ++group) {
            if (done[group] || parts_.size[group] == 0 || parts_.cost(group) == 0.0) continue;
            if (parts_.counted(group) >= 2 * aim_.k) {
                regroup({group}, {}, how.tries, heat, random, watch);
                if (parts_.size[group] == 0) continue;
            }
            auto [chosen, hosts] = neighbourhood(group, how, random);
            for (i64 i = 0; i < std::min<i64>(third, i64(chosen.size())); ++i) done[chosen[i]] = 1;
            if (chosen.size() > 1) regroup(chosen, hosts, how.tries, heat, random, watch);
        }
    }

  private:
    void empty() {
        i64 counted = 0;
        for (i64 row = 0; row < block_.count; ++row) counted += block_.counted(row, aim_.k);
        parts_.reset(block_, aim_, counted / aim_.k);
    }

    static i64 filled(const Partition<Marked> &parts) {
        return parts.groups() - std::count(parts.size.begin(), parts.size.end(), 0);
    }

    // By how much new groups may cost more than the old: a random share of the heat, or less than nothing.
    static double allowed(double heat, const Random &random) {
        return heat > 0.0 ? -(heat * std::log(1.0 - random.uniform())) : -LEAST_GAIN;
    }

    // Let a new group gather rows around a random row of each group that loses anything.
    void gather(double heat, const Random &random, const Watch &watch) {
        for (i64 group = 0; group < parts_.groups() && !watch.stopped(); ++group) {
            if (parts_.loss[group] == 0.0) continue;
            i64 place = std::find(parts_.size.begin(), parts_.size.end(), 0) - parts_.size.begin();
            if (place == parts_.groups()) return;
            i64 seed = parts_.head[group];
            own_.clear();
            for (i64 i = random.below(parts_.members(group, own_)); i > 0; --i) seed = parts_.next[seed];
            if (parts_.is_atom(seed)) continue;
            gathering_.gather(parts_, seed, place, allowed(heat, random));
        }
    }

    double mean_cost() const {
        double total = 0.0;
        for (i64 group = 0; group < parts_.groups(); ++group) total += parts_.cost(group);
        i64 many = filled(parts_);
        return many ? total / double(many) : 0.0;
    }

    // The groups to form again together with one, the first ones first, and then to keep as hosts. With
    // heat, any of the nearest may come first: the same ones each time would lead to the same groups.
    std::vector<i64> around(i64 group, const Regrouping &how, const Random &random) {
        std::vector<i64> near = parts_.nearest(group, how.neighbours + how.hosts), first, rest;
        if (how.heat == 0.0) return near;
        for (i64 other : near)
            (i64(first.size()) < how.neighbours && random.uniform() < CHOSEN ? first : rest).push_back(other);
        first.insert(first.end(), rest.begin(), rest.end());
        return first;
    }

    // The group and its nearest, as long as they are not too large together; and the groups that stay.
    std::pair<std::vector<i64>, std::vector<i64>> neighbourhood(i64 group, const Regrouping &how,
                                                                const Random &random) {
        i64 largest = std::max<i64>((2 * how.neighbours + 2) * aim_.k, 40), size = parts_.size[group];
        std::vector<i64> chosen{group}, hosts;
        for (i64 other : around(group, how, random)) {
            if (i64(chosen.size()) <= how.neighbours && size + parts_.size[other] <= largest) {
                chosen.push_back(other);
                size += parts_.size[other];
            } else {
                hosts.push_back(other);
            }
        }
        return {chosen, hosts};
    }

    // Form some groups again from their rows, if that pays, or if it costs no more than heat allows.
    // The hosts stay, but rows may join them.
    void regroup(const std::vector<i64> &chosen, const std::vector<i64> &hosts, i64 tries, double heat,
                 const Random &random, const Watch &watch) {
        own_.clear(), stay_.clear();
        double before = 0.0;
        places_ = 0;
        for (i64 group : chosen) {
            parts_.members(group, own_);
            places_ += parts_.counted(group);
            before += parts_.cost(group);
        }
        free_ = i64(own_.size()), places_ /= aim_.k;
        stay_.assign(free_, NOBODY);
        for (size_t i = 0; i < hosts.size(); ++i) {
            stay_.insert(stay_.end(), parts_.members(hosts[i], own_), places_ + i64(i));
            before += parts_.cost(hosts[i]);
        }
        pool_.take(block_, own_);
        start_.reset(pool_, parts_.aim, places_ + i64(hosts.size()));
        start_.load(stay_.data());
        double best = before + allowed(heat, random);
        labels_.clear();
        for (i64 attempt = 0; attempt < tries && !watch.stopped(); ++attempt) {
            double cost = try_again(before, random, watch);
            if (cost < best) best = cost, labels_ = trial_.labels;
            // Rules that keep a group together once will most likely do so again.
            if (trial_.has_rules() && chosen.size() == 1 && filled(trial_) == 1) break;
        }
        if (!labels_.empty()) replace(chosen, hosts);
    }

    // How many rows new groups are to keep the rules with: some rules are easier for larger groups, such as
    // that a tenth of the rows has a value, and chance decides which size to try.
    i64 goal(const Random &random) const { return aim_.k + (trial_.has_rules() ? random.below(aim_.k) : 0); }

    // Form groups of the pool; what they and the hosts cost, or INF where that led to none. Under
    // rules a try costs much, and one that begins far above the cost `before` hardly ever ends below.
    double try_again(double before, const Random &random, const Watch &watch) {
        trial_ = start_;
        try {
            pool_moves_.grow(trial_, free_, goal(random), random, watch);
        } catch (const Stopped &) {
            return INF;  // the groups that there were stay as they are
        }
        auto is_hopeless = [&] {
            return trial_.has_rules() && trial_.total_cost(parts_.aim.price) > HOPELESS * before;
        };
        if (is_hopeless() || !pool_moves_.merge(trial_) || is_hopeless()) return INF;
        pool_moves_.sweep(trial_, places_, watch);
        return trial_.total_cost(parts_.aim.price);
    }

    // Put the rows of some groups into new ones, which take their places and empty ones. There are
    // places enough: no grouping into parts of k or more has more than n // k.
    void replace(const std::vector<i64> &chosen, const std::vector<i64> &hosts) {
        i64 most = places_, wanted = 0;
        for (i64 label : labels_)
            if (label < most) wanted = std::max(wanted, label + 1);
        std::vector<i64> places(chosen.begin(), chosen.begin() + std::min<i64>(wanted, i64(chosen.size())));
        for (i64 row : own_) parts_.detach(row);
        for (i64 other = 0; i64(places.size()) < wanted; ++other)
            if (parts_.size[other] == 0) places.push_back(other);
        for (size_t i = 0; i < own_.size(); ++i) {
            i64 label = labels_[i];
            if (label >= 0) parts_.attach(label < most ? places[label] : hosts[label - most], own_[i]);
            else parts_.leave_out(own_[i]);
        }
        for (const auto *some : {&chosen, &hosts, &std::as_const(places)})
            for (i64 group : *some) parts_.recount(group);
    }

    Objective aim_;
    Block block_, pool_;
    Partition<Marked> parts_, start_, trial_;  // all groups; hosts alone; with the new groups of a try
    Moves<Marked> moves_, pool_moves_;
    Gathering<Marked> gathering_;
    std::vector<i64> own_, stay_, labels_;  // rows of a pool; the groups of those that are in hosts
    i64 free_ = 0, places_ = 0;  // rows of the pool that are in none, and the groups that they may form
};

}  // namespace

std::unique_ptr<Refinery> Refinery::of(const Space &space, const Marks *marks, const Objective &aim,
                                       const i64 *rows, i64 count) {
    if (marks) return std::make_unique<BlockRefinery<true>>(space, marks, aim, rows, count);
    return std::make_unique<BlockRefinery<false>>(space, nullptr, aim, rows, count);
}

template class Moves<false>;
template class Moves<true>;

// ── for Python ──────────────────────────────────────────────────────────────────────────────────

namespace {

struct BoundMarks : Marks {
    i64 rows = 0;
    std::vector<nb::object> kept;
};

void require_rule(const Marks &marks, i64 rule, i64 rows, i64 leaves) {
    const Rules &rules = marks.rules;
    const i64 *place = rules.places + 5 * rule, column = place[0], values = place[2];
    require(column >= 0 && column < marks.columns && (rule == 0 || rules.column(rule - 1) <= column),
            "rules are sorted by column");
    require(place[1] >= Rules::distinct && place[1] <= Rules::between, "no kind of a rule");
    bool by_value = rules.kind(rule) != Rules::distinct && rules.kind(rule) != Rules::entropy &&
                    rules.kind(rule) != Rules::recursive && rules.kind(rule) != Rules::tree;
    require(place[3] >= 0 && (!by_value || place[3] + values <= rules.width), "bounds of each value");
    require(place[4] >= 0 && (rules.kind(rule) != Rules::tree || place[4] + values <= leaves), "a leaf for each value");
    for (i64 row = 0; row < rows; ++row) {
        i32 value = marks.values[row * marks.columns + column];
        require(value >= -1 && value < values, "a value outside of its column");
    }
}

// Sort the rows of atoms by atom: counting keeps the order of their numbers.
void know_atoms(Marks &marks, i64 rows, const Array1<i64> &atoms, i64 enough) {
    require(has_shape(atoms, {rows}) && all_within(atoms, -1, double(rows)), "an atom or -1 for each row");
    marks.atoms = atoms.data(), marks.enough = enough;
    marks.begin.assign(*std::max_element(marks.atoms, marks.atoms + rows) + 2, 0);
    for (i64 row = 0; row < rows; ++row) marks.begin[marks.atoms[row] + 1] += marks.atoms[row] >= 0;
    std::partial_sum(marks.begin.begin(), marks.begin.end(), marks.begin.begin());
    marks.members.resize(marks.begin.back());
    std::vector<i64> at(marks.begin);
    for (i64 row = 0; row < rows; ++row)
        if (marks.atoms[row] >= 0) marks.members[at[marks.atoms[row]]++] = row;
}

BoundMarks make_marks(Array1<i32> classes, double penalty, Array2<i32> values, Array1<i64> sorts,
                      Array2<i64> places, Array2<double> asked, Array2<double> bounds, Array2<i32> above,
                      Array2<double> nodes, Array1<i64> atoms, i64 enough) {
    size_t rows = sorts.size();
    require(values.shape(0) == rows && (classes.size() == rows || !classes.size()), "marks of each row");
    require(penalty >= 0.0 && (penalty == 0.0 || classes.size()), "a penalty needs classes");
    require(places.shape(0) == asked.shape(0) && places.shape(1) == 5 && asked.shape(1) == 3, "places of each rule");
    require(bounds.shape(0) == 2 && nodes.shape(0) == 2, "two bounds, and two figures of each node");
    BoundMarks marks;
    for (auto array : {nb::cast(classes), nb::cast(values), nb::cast(sorts), nb::cast(places), nb::cast(asked),
                       nb::cast(bounds), nb::cast(above), nb::cast(nodes), nb::cast(atoms)})
        marks.kept.push_back(array);
    marks.rows = i64(rows);
    marks.classes = classes.size() ? classes.data() : nullptr, marks.penalty = penalty;
    marks.values = values.data(), marks.sorts = sorts.data(), marks.columns = int(values.shape(1));
    Rules &rules = marks.rules;
    rules.places = places.data(), rules.asked = asked.data(), rules.count = i64(places.shape(0));
    rules.bounds = bounds.data(), rules.width = i64(bounds.shape(1));
    rules.above = above.data(), rules.depths = int(above.shape(1));
    rules.nodes = nodes.data(), rules.tree_nodes = i64(nodes.shape(1));
    require(all_within(above, -1, double(rules.tree_nodes)), "an ancestor is no node");
    for (i64 rule = 0; rule < rules.count; ++rule) require_rule(marks, rule, i64(rows), i64(above.shape(0)));
    if (atoms.size()) know_atoms(marks, i64(rows), atoms, enough);
    return marks;
}

// By how much members of these values miss a rule after a shift.
double excess_of(const BoundMarks &marks, i64 rule, Array1<i32> members, i32 less, i32 more, i64 size, i64 final) {
    require(rule >= 0 && rule < marks.rules.count, "no such rule");
    double values = double(marks.rules.places[5 * rule + 2]);
    require(all_within(members, -1, values) && less >= -1 && more >= -1 && more < values, "a value outside of its column");
    require(size > 0 && size <= final, "no rows, or fewer at the end");
    Counts group;
    for (size_t i = 0; i < members.size(); ++i) group.add(members.data()[i], 1);
    require(less < 0 || group.count(less) > 0, "nobody to leave");
    return marks.rules.excess(rule, group, {less, more}, size, final);
}

bool are_first(const Marks &marks, const Array1<i64> &rows) {
    return std::all_of(rows.data(), rows.data() + rows.size(), [&](i64 row) { return *marks.first_of(row) == row; });
}

struct BoundBlock {
    std::unique_ptr<Refinery> block;
};

}  // namespace

void bind_refinement(nb::module_ &m) {
    nb::class_<Space>(m, "Space")
        .def(
            "__init__", [](Space *space, const BoundTable &table) { new (space) Space(table); }, "table"_a,
            nb::keep_alive<1, 2>());
    nb::class_<BoundMarks>(m, "Marks")
        .def(
            "__init__",
            [](BoundMarks *marks, Array1<i32> classes, double penalty, Array2<i32> values, Array1<i64> sorts,
               Array2<i64> places, Array2<double> asked, Array2<double> bounds, Array2<i32> above,
               Array2<double> nodes, Array1<i64> atoms, i64 enough) {
                new (marks) BoundMarks(make_marks(classes, penalty, values, sorts, places, asked, bounds, above,
                                                  nodes, atoms, enough));
            },
            "classes"_a.noconvert(), "penalty"_a, "values"_a.noconvert(), "sorts"_a.noconvert(), "places"_a.noconvert(),
            "asked"_a.noconvert(), "bounds"_a.noconvert(), "above"_a.noconvert(), "nodes"_a.noconvert(),
            "atoms"_a.noconvert(), "enough"_a)
        .def("excess", &excess_of, "rule"_a, "members"_a.noconvert(), "less"_a, "more"_a, "size"_a, "final"_a);
    nb::class_<BoundBlock>(m, "Block")
        .def(
            "__init__",
            [](BoundBlock *self, const Space &space, const BoundMarks *marks, Array1<i64> rows, i64 k,
               double evenness, double price) {
                require(all_within(rows, 0, double(space.cells.rows)), "a row outside of the table");
                require(!marks || marks->rows == space.cells.rows, "marks of another table");
                require(!marks || are_first(*marks, rows), "the first row of an atom stands for all of them");
                require(k >= 1, "k is at least 1");
                Objective aim{k, evenness, price};
                auto block = unlocked(
                    [&] { return Refinery::of(space, marks, aim, rows.data(), i64(rows.size())); });
                new (self) BoundBlock{std::move(block)};
            },
            "space"_a, "marks"_a.none(), "rows"_a.noconvert(), "k"_a, "evenness"_a, "price"_a,
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def(
            "grow",
            [](BoundBlock &self, nb::handle random, Watch &watch) {
                Random draws = random_of(random);
                nb::gil_scoped_release release;
                self.block->grow(draws, watch);
            },
            "random"_a, "watch"_a)
        .def(
            "load",
            [](BoundBlock &self, Array1<i64> labels) {
                require(has_shape(labels, {self.block->rows()}), "a label for each row");
                require(all_within(labels, -1, double(self.block->groups())), "a group outside of the block");
                nb::gil_scoped_release release;
                self.block->load(labels.data());
            },
            "labels"_a.noconvert())
        .def(
            "refine",
            [](BoundBlock &self, double price, i64 neighbours, i64 hosts, i64 tries, double heat, bool gathers,
               nb::handle random, Watch &watch) {
                require(neighbours >= 1 && hosts >= 0 && heat >= 0.0, "no numbers of groups, or cold");
                Random draws = random_of(random);
                nb::gil_scoped_release release;
                self.block->refine(price, {neighbours, hosts, tries, heat, gathers}, draws, watch);
            },
            "price"_a, "neighbours"_a, "hosts"_a, "tries"_a, "heat"_a, "gathers"_a, "random"_a,
            "watch"_a)
        .def(
            "sweep",
            [](BoundBlock &self, double price, Watch &watch) {
                nb::gil_scoped_release release;
                self.block->sweep(price, watch);
            },
            "price"_a, "watch"_a)
        .def(
            "repair",
            [](BoundBlock &self, Watch &watch) {
                nb::gil_scoped_release release;
                return self.block->repair(watch);
            },
            "watch"_a)
        .def("offers", [](BoundBlock &self) { return give(unlocked([&] { return self.block->offers(); })); })
        .def(
            "settle",
            [](BoundBlock &self, Array1<bool> returning) {
                require(has_shape(returning, {self.block->rows()}), "a flag for each row");
                nb::gil_scoped_release release;
                self.block->settle(returning.data());
            },
            "returning"_a.noconvert())
        .def_prop_ro(
            "labels", [](BoundBlock &self) { return give(std::vector<i64>(self.block->labels())); },
            nb::rv_policy::automatic)
        .def_prop_ro("cost", [](BoundBlock &self) { return self.block->cost(); });
}

}  // namespace covey
