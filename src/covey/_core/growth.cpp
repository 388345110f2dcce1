#include "growth.hpp"

#include "binding.hpp"

namespace covey {

Growth::Growth(const Table &table, i64 k, const i32 *classes, double penalty, const Watch &watch)
    : labels(table.cells.rows, -1), cells_(table.cells), forest_(table.forest), k_(k),
      classes_(classes), penalty_(penalty), tree_(table, watch), ranks_(table.cells.rows),
      summaries_(table.cells.rows / k, table.cells, table.forest), prices_(table.forest),
      caps_(table.cells.intervals, 1.0), majority_(table.cells.rows / k, -1) {
    if (!classes) return;
    tree_.know_classes(classes);
    tally_.resize(*std::max_element(classes, classes + cells_.rows) + 1);
}

// ── growing ─────────────────────────────────────────────────────────────────────────────────────

void Growth::k_member(SeedRule rule, i64 start, const double *picks, Watch &watch) {
    i64 groups = cells_.rows / k_, reference = start;
    for (i64 group = 0; group < groups; ++group) {
        i64 row = seed(rule, group, reference, picks);
        release(row);
        join(group, row);
        if (rule == SeedRule::last || rule == SeedRule::seed) reference = row;
        fill(group, reference, rule);
        formed_ += 1;
        watch.reach(formed_, groups);
    }
}

void Growth::from_seeds(const i64 *seeds, Watch &watch) {
    i64 groups = cells_.rows / k_, reference = -1;
    for (i64 group = 0; group < groups; ++group) release(seeds[group]);
    for (i64 group = 0; group < groups; ++group) {
        join(group, seeds[group]);
        fill(group, reference, SeedRule::given);
        formed_ += 1;
        watch.reach(formed_, groups);
    }
}

void Growth::in_shells(const double *picks, Watch &watch) {
    while (tree_.free() >= k_) {
        i64 row = ranks_.ranked(i64(picks[formed_] * double(tree_.free())));
        release(row);
        join(formed_, row);
        while (summaries_.size[formed_] < k_) take_shell(formed_);
        formed_ += 1;
        watch.reach(cells_.rows - tree_.free(), cells_.rows);
    }
}

i64 Growth::seed(SeedRule rule, i64 group, i64 reference, const double *picks) {
    if (rule == SeedRule::random) return ranks_.ranked(i64(picks[group] * double(tree_.free())));
    // The reference row is looked at as a group of its own; the real seed replaces it.
    summaries_.start(group, reference);
    prices_.start(cells_.code(reference));
    i64 row = find(group, true, 0.0);
    summaries_.clear(group);
    return row;
}

// Let a group grow to k rows.
void Growth::fill(i64 group, i64 &reference, SeedRule rule) {
    for (i64 size = 1; size < k_; ++size) {
        i64 row = find(group, false, classes_ ? penalty_ / double(size + 1) : 0.0);
        release(row);
        join(group, row);
        if (rule == SeedRule::last) reference = row;
    }
}

// All free rows that would cost the group equally little join it together.
void Growth::take_shell(i64 group) {
    shell_.clear();
    double least = 0.0;
    while (tree_.free() > 0) {
        i64 row = find(group, false, 0.0);
        double loss = summaries_.loss_with(group, row);
        if (!shell_.empty() && loss > least) break;
        release(row);
        shell_.push_back(row);
        least = loss;
    }
    for (i64 row : shell_) join(group, row);
}

i64 Growth::find(i64 group, bool far, double surcharge) {
    Scale scale{cells_.weights, caps_.data(), false};
    ClassPrice by_class{classes_, std::max(majority_[group], 0), surcharge};
    Seeker seeker{summaries_.low(group), summaries_.high(group), summaries_.node(group),
                  prices_.data(), by_class};
    return far ? tree_.furthest(scale, seeker) : tree_.cheapest(scale, seeker);
}

void Growth::release(i64 row) {
    tree_.remove(row);
    ranks_.remove(row);
}

void Growth::join(i64 group, i64 row) {
    labels[row] = group;
    if (summaries_.size[group] == 0) {
        summaries_.start(group, row);
        prices_.start(cells_.code(row));
        std::fill(tally_.begin(), tally_.end(), 0);
    } else {
        std::vector<i32> before(summaries_.node(group), summaries_.node(group) + cells_.categories);
        summaries_.add(group, row);
        for (int tree = 0; tree < cells_.categories; ++tree)
            if (i32 node = summaries_.node(group)[tree]; node != before[tree]) prices_.climb(tree, node);
    }
    if (classes_) count_class(group, classes_[row]);
}

// The majority stays until another class outnumbers it.
void Growth::count_class(i64 group, i32 label) {
    tally_[label] += 1;
    if (summaries_.size[group] == 1 || tally_[label] > tally_[majority_[group]]) majority_[group] = label;
}

// ── rows left over ──────────────────────────────────────────────────────────────────────────────

void Growth::place_leftovers(const i64 *order, bool penalise, Watch &watch) {
    std::vector<i64> rest;
    for (i64 row = 0; row < cells_.rows; ++row)
        if (labels[row] < 0) rest.push_back(row);
    for (size_t i = 0; i < rest.size(); ++i) {
        i64 row = rest[order ? order[i] : i64(i)], choice = cheapest_group(row, penalise);
        labels[row] = choice;
        summaries_.add(choice, row);
        if (classes_ && penalise) recount_majority(choice, classes_[row]);
        watch.reach(1, 1);
    }
}

i64 Growth::cheapest_group(i64 row, bool penalise) {
    double best = INF;
    i64 choice = -1;
    for (i64 group = 0; group < formed_; ++group) {
        double cost = summaries_.rise(group, row);
        if (classes_ && penalise && classes_[row] != majority_[group]) cost += penalty_;
        if (cost < best) best = cost, choice = group;
    }
    return choice;
}

// The majority of a finished group that has taken in another row of class `label`.
void Growth::recount_majority(i64 group, i32 label) {
    i64 ours = 0, theirs = 0;
    for (i64 row = 0; row < cells_.rows; ++row) {
        if (labels[row] != group) continue;
        ours += classes_[row] == label;
        theirs += classes_[row] == majority_[group];
    }
    if (ours > theirs) majority_[group] = label;
}

// ── for Python ──────────────────────────────────────────────────────────────────────────────────

namespace {

// A random number for each group, from 0 to below 1.
void require_picks(const Table &table, i64 k, const Array1<double> &picks) {
    require_k(table, k);
    require(has_shape(picks, {table.cells.rows / k}) && all_within(picks, 0.0, 1.0), "a pick for each group");
}

}  // namespace

void bind_growth(nb::module_ &m) {
    m.def(
        "k_member",
        [](const BoundTable &table, i64 k, int rule, i64 start, Array1<double> picks, Array1<i64> order,
           Array1<i32> classes, double penalty, bool penalise_leftovers, Watch &watch) {
            i64 rows = table.cells.rows;
            require_picks(table, k, picks);
            require(rule >= 0 && rule < int(SeedRule::given), "no rule for seeds");
            require(start >= 0 && start < rows, "the first reference is a row");
            require(has_shape(order, {rows % k}) && all_within(order, 0, double(rows % k)), "an order of rows left over");
            require(classes.size() == 0 || has_shape(classes, {rows}), "a class for each row");
            require(all_within(classes, 0, INF), "classes count from 0");
            return give(unlocked([&] {
                Growth growth(table, k, classes.size() ? classes.data() : nullptr, penalty, watch);
                growth.k_member(SeedRule(rule), start, picks.data(), watch);
                growth.place_leftovers(order.data(), penalise_leftovers, watch);
                return std::move(growth.labels);
            }));
        },
        "table"_a, "k"_a, "rule"_a, "start"_a, "picks"_a.noconvert(), "order"_a.noconvert(),
        "classes"_a.noconvert(), "penalty"_a, "penalise_leftovers"_a, "watch"_a);
    m.def(
        "systematic",
        [](const BoundTable &table, i64 k, Array1<i64> seeds, Watch &watch) {
            require_k(table, k);
            require(has_shape(seeds, {table.cells.rows / k}), "a seed for each group");
            require(all_within(seeds, 0, double(table.cells.rows)), "a row outside of the table");
            return give(unlocked([&] {
                Growth growth(table, k, nullptr, 0.0, watch);
                growth.from_seeds(seeds.data(), watch);
                growth.place_leftovers(nullptr, false, watch);
                return std::move(growth.labels);
            }));
        },
        "table"_a, "k"_a, "seeds"_a.noconvert(), "watch"_a);
    m.def(
        "gaa_cp",
        [](const BoundTable &table, i64 k, Array1<double> picks, Watch &watch) {
            require_picks(table, k, picks);
            return give(unlocked([&] {
                Growth growth(table, k, nullptr, 0.0, watch);
                growth.in_shells(picks.data(), watch);
                growth.place_leftovers(nullptr, false, watch);
                return std::move(growth.labels);
            }));
        },
        "table"_a, "k"_a, "picks"_a.noconvert(), "watch"_a);
}

}  // namespace covey
