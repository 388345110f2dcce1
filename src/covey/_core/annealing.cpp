#include "annealing.hpp"

#include "binding.hpp"

namespace covey {

namespace {

constexpr double LN2 = 0.6931471805599453;
constexpr u64 RANGE = 1 << 16;  // of the numbers that one draw is cut into
// How many of these ask for each kind of change; the rest ask for a new group.
constexpr u64 RELOCATE = 29491, SWAP = 34079, DISSOLVE = 983;
constexpr i64 LOOK = 40;  // nearest rows whose groups a dissolved one may go to

}  // namespace

Annealing::Annealing(const double *points, i64 rows, int width, const i64 *labels, i64 k, i64 near)
    : rows_(rows), k_(k), most_(3 * k), near_(std::min(near, rows - 1)), width_(width), points_(points, points + rows * width), norms_(rows),
      labels_(rows, -1), places_(rows), members_(rows / k), sizes_(rows / k, 0), sums_(rows / k * width, 0.0),
      squares_(rows / k, 0.0) {
    for (i64 row = 0; row < rows; ++row) {
        norms_[row] = dot(point(row), point(row), width);
        join(row, labels[row]);
    }
    for (i64 group = i64(sizes_.size()) - 1; group >= 0; --group)
        if (sizes_[group] == 0) empty_.push_back(group);
    find_nearest();
}

void Annealing::find_nearest() {
    nearest_.resize(rows_ * near_);
    std::vector<std::pair<double, i32>> others(rows_);
    for (i64 row = 0; row < rows_; ++row) {
        for (i64 other = 0; other < rows_; ++other)
            others[other] = {other == row ? INF : squared_distance(point(row), point(other), width_), i32(other)};
        std::partial_sort(others.begin(), others.begin() + near_, others.end());
        for (i64 place = 0; place < near_; ++place) nearest_[row * near_ + place] = others[place].second;
    }
}

double Annealing::cost() const {
    double total = 0.0;
    for (i64 row = 0; row < rows_; ++row) {
        const double *all = sum(labels_[row]), *own = point(row);
        double size = double(sizes_[labels_[row]]), squares = 0.0;
        for (int j = 0; j < width_; ++j) {
            double apart = own[j] - all[j] / size;
            squares += apart * apart;
        }
        total += squares;
    }
    return total;
}

void Annealing::run(i64 sweeps, double heat, double fall, const Random &random, const Watch &watch) {
    for (i64 sweep = 0; near_ && sweep < sweeps && !watch.stopped(); ++sweep, heat *= fall)
        for (i64 row = 0; row < rows_; ++row) step(row, heat, random);
}

// One change, at random, of the groups of a row and of one near it. It is made if the squares rise by
// less than a random number: on average by about the heat, and twice as seldom for each LN2 more.
void Annealing::step(i64 row, double heat, const Random &random) {
    u64 bits = random.next_u64(random.state);
    u64 coins = (bits % RANGE) | RANGE, part = (bits >> 16) % RANGE, kind = (bits >> 32) % RANGE, nearness = bits >> 48;
    // The square of a random share, so that the nearest ones are the most likely.
    i64 other = nearest_[row * near_ + i64((nearness * nearness >> 16) * u64(near_) >> 16)];
    i64 group = labels_[row], theirs = labels_[other];
    if (group == theirs) return;
    i64 heads = 0;
    for (; coins % 2 == 0; coins /= 2) heads += 1;
    double most = heat * LN2 * (double(heads) + double(part) / double(RANGE));
    if (kind < RELOCATE) {
        if (sizes_[group] > k_) relocate(row, theirs, most);
        else if (sizes_[theirs] > k_) relocate(other, group, most);
    } else if (kind < RELOCATE + SWAP) {
        swap(row, members_[theirs][random.below(sizes_[theirs])], most);
    } else if (kind < RELOCATE + SWAP + DISSOLVE) {
        dissolve(group, most);
    } else {
        create(row, most);
    }
}

double Annealing::joining(i64 row, i64 group) const {
    double with = squares_[group] + 2.0 * dot(point(row), sum(group), width_) + norms_[row];
    return norms_[row] + square(group) - with / double(sizes_[group] + 1);
}

double Annealing::leaving(i64 row, i64 group) const {
    double without = squares_[group] - 2.0 * dot(point(row), sum(group), width_) + norms_[row];
    return square(group) - without / double(sizes_[group] - 1) - norms_[row];
}

void Annealing::join(i64 row, i64 group) {
    labels_[row] = group, places_[row] = sizes_[group]++;
    members_[group].push_back(row);
    double *all = sum(group);
    const double *own = point(row);
    for (int j = 0; j < width_; ++j) all[j] += own[j];
    squares_[group] = dot(all, all, width_);
}

void Annealing::leave(i64 row) {
    i64 group = labels_[row], last = members_[group].back();
    members_[group][places_[row]] = last, places_[last] = places_[row];
    members_[group].pop_back(), sizes_[group] -= 1;
    double *all = sum(group);
    const double *own = point(row);
    for (int j = 0; j < width_; ++j) all[j] = sizes_[group] ? all[j] - own[j] : 0.0;
    squares_[group] = dot(all, all, width_);
}

void Annealing::relocate(i64 row, i64 into, double most) {
    if (sizes_[into] >= most_ || leaving(row, labels_[row]) + joining(row, into) >= most) return;
    leave(row);
    join(row, into);
}

void Annealing::swap(i64 row, i64 other, double most) {
    i64 group = labels_[row], theirs = labels_[other];
    const double *own = point(row), *its = point(other), *here = sum(group), *there = sum(theirs);
    double apart[LANES] = {}, from[LANES] = {}, to[LANES] = {};
    for (int j = 0; j < width_; j += LANES)
        for (int lane = 0; lane < LANES; ++lane) {
            double change = its[j + lane] - own[j + lane];
            apart[lane] += change * change;
            from[lane] += change * here[j + lane];
            to[lane] += change * there[j + lane];
        }
    double square = (apart[0] + apart[1]) + (apart[2] + apart[3]);
    double gain = 2.0 * ((from[0] + from[1]) + (from[2] + from[3])) + square;
    double loss = 2.0 * ((to[0] + to[1]) + (to[2] + to[3])) - square;
    if (loss / double(sizes_[theirs]) - gain / double(sizes_[group]) >= most) return;
    std::swap(members_[group][places_[row]], members_[theirs][places_[other]]);
    std::swap(places_[row], places_[other]), std::swap(labels_[row], labels_[other]);
    double *first = sum(group), *second = sum(theirs);
    for (int j = 0; j < width_; ++j) {
        double change = its[j] - own[j];
        first[j] += change, second[j] -= change;
    }
    squares_[group] = dot(first, first, width_), squares_[theirs] = dot(second, second, width_);
}

// All members go where each raises the squares least, one after the other, and perhaps return.
void Annealing::dissolve(i64 group, double most) {
    double rise = square(group);
    for (i64 row : members_[group]) rise -= norms_[row];
    moved_ = members_[group], homes_.clear();
    for (i64 row : moved_) {
        double best = INF;
        i64 home = -1;
        for (i64 place = 0; place < std::min(near_, LOOK); ++place) {
            i64 other = labels_[nearest_[row * near_ + place]];
            if (other == group || sizes_[other] >= most_) continue;
            double cost = joining(row, other);
            if (cost < best) best = cost, home = other;
        }
        if (home < 0 || rise + best >= most) {
            for (size_t back = homes_.size(); back-- > 0;) leave(moved_[back]), join(moved_[back], group);
            return;
        }
        rise += best;
        homes_.push_back(home);
        leave(row);
        join(row, home);
    }
    empty_.push_back(group);
}

// A row and the nearest rows that their groups can spare become a new group.
void Annealing::create(i64 row, double most) {
    if (empty_.empty() || sizes_[labels_[row]] <= k_) return;
    i64 group = empty_.back();
    double rise = 0.0;
    moved_.clear(), homes_.clear();
    for (i64 place = -1; place < near_ && i64(moved_.size()) < k_; ++place) {
        i64 other = place < 0 ? row : nearest_[row * near_ + place], home = labels_[other];
        if (home == group || sizes_[home] <= k_) continue;
        rise += leaving(other, home) + norms_[other];
        moved_.push_back(other), homes_.push_back(home);
        leave(other);
        join(other, group);
    }
    rise -= square(group);
    if (i64(moved_.size()) == k_ && rise < most) {
        empty_.pop_back();
        return;
    }
    for (size_t back = moved_.size(); back-- > 0;) leave(moved_[back]), join(moved_[back], homes_[back]);
}

// ── for Python ──────────────────────────────────────────────────────────────────────────────────

void bind_annealing(nb::module_ &m) {
    nb::class_<Annealing>(m, "Annealing")
        .def(
            "__init__",
            [](Annealing *self, Array2<double> points, Array1<i64> labels, i64 k, i64 near) {
                i64 rows = i64(points.shape(0)), width = i64(points.shape(1));
                require(k >= 1 && k <= rows && rows < std::numeric_limits<i32>::max(), "k is from 1 to the number of rows");
                require(width % LANES == 0, "the number of coordinates is a multiple of 4");
                require(all_within(points, std::numeric_limits<double>::lowest(), INF), "a number is not finite");
                require(has_shape(labels, {rows}), "a label for each row");
                require(all_within(labels, 0, double(rows / k)), "no more groups than k allows");
                require(near >= 0, "0 or more are near");
                nb::gil_scoped_release release;
                new (self) Annealing(points.data(), rows, int(width), labels.data(), k, near);
            },
            "points"_a.noconvert(), "labels"_a.noconvert(), "k"_a, "near"_a)
        .def(
            "run",
            [](Annealing &self, i64 sweeps, double heat, double fall, nb::handle random, const Watch &watch) {
                Random draws = random_of(random);
                nb::gil_scoped_release release;
                self.run(sweeps, heat, fall, draws, watch);
            },
            "sweeps"_a, "heat"_a, "fall"_a, "random"_a, "watch"_a)
        .def_prop_ro(
            "labels", [](Annealing &self) { return give(std::vector<i64>(self.labels())); },
            nb::rv_policy::automatic)
        .def_prop_ro("cost", [](Annealing &self) { return self.cost(); });
}

}  // namespace covey
