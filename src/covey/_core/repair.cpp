// Groups that miss the rules, changed until they keep them.
//
// Such a group takes in rows of others, mostly in exchange for rows of its own, or merges with
// another group: whichever is cheaper per unit of violation removed. A union of groups that keep the
// rules keeps them too, so there is always an answer where the whole table keeps them. Candidates come
// from a tree of boxes, so the work grows nearly with the number of rows.
#include <utility>

#include "box_tree.hpp"
#include "refinement.hpp"

namespace covey {

namespace {

constexpr u64 ALL = ~u64(0);  // sorts
constexpr size_t CANDIDATES = 16;  // rows that a group looks at more closely before it takes one in
constexpr i64 MOST_VISITS = 4096;  // rows that a search looks at
constexpr i64 LARGEST_BY_STEPS = 1024;  // rows of a group that still grows step by step

// ── near rows ───────────────────────────────────────────────────────────────────────────────────

struct Near {
    double loss;
    i64 row;
    bool operator<(const Near &other) const {
        return loss < other.loss || (loss == other.loss && row < other.row);
    }
};

// Finds the rows of a block that widen a hull least, of those that are acceptable.
class Finder {
  public:
    explicit Finder(const Block &rows)
        : rows_(rows), space_(*rows.space), boxes_(split(rows)), low_(boxes_.first.size() * space_.intervals),
          high_(low_), first_(boxes_.first.size() * space_.categories), last_(first_),
          takes_(boxes_.first.size(), 0), point_(space_.intervals), leaf_(space_.categories),
          home_(rows.count) {
        for (i64 box = i64(boxes_.first.size()) - 1; box >= 0; --box) enclose(box);
    }

    // Boxes in which nobody takes one of the sorts `given` in exchange are passed over; 0 passes over
    // none. After MOST_VISITS rows the search ends with what it has.
    template <class Accept>
    void nearest(const Hull &hull, u64 given, size_t most, Accept accept, std::vector<Near> &found) {
        found.clear();
        i64 visits = 0;
        stack_.assign(1, {0.0, 0});
        while (!stack_.empty() && visits < MOST_VISITS) {
            auto [bound, box] = stack_.back();
            stack_.pop_back();
            if (found.size() == most && bound >= found.back().loss) continue;
            if (boxes_.left[box] >= 0) {
                push_children(hull, given, box);
                continue;
            }
            visits += boxes_.last[box] - boxes_.first[box];
            for (i64 i = boxes_.first[box]; i < boxes_.last[box]; ++i) {
                Near near{0.0, boxes_.rows[i]};
                double limit = found.size() == most ? found.back().loss : INF;
                near.loss = space_.loss(hull, rows_.of(near.row), limit);
                if (near.loss >= limit || !accept(near.row)) continue;
                if (found.size() == most) found.pop_back();
                found.insert(std::upper_bound(found.begin(), found.end(), near), near);
            }
        }
    }

    // `takes` says for which sorts a row is given.
    template <class Takes> void update_all(Takes takes) {
        for (i64 box = i64(boxes_.first.size()) - 1; box >= 0; --box) takes_[box] = taken(box, takes);
    }

    // The sorts for which a row is given have changed.
    template <class Takes> void update(i64 row, Takes takes) {
        i64 box = home_[row];
        u64 now = taken(box, takes);
        while (now != takes_[box]) {
            takes_[box] = now;
            box = boxes_.parent[box];
            if (box < 0) return;
            now = taken(box, takes);
        }
    }

    // The boxes around a row, from the smallest to all rows.
    template <class Visit> void around(i64 row, Visit visit) const {
        for (i64 box = home_[row]; box >= 0; box = boxes_.parent[box])
            if (visit(boxes_.rows.data() + boxes_.first[box], boxes_.last[box] - boxes_.first[box])) return;
    }

  private:
    template <class Takes> u64 taken(i64 box, Takes takes) const {
        if (i64 left = boxes_.left[box]; left >= 0) return takes_[left] | takes_[left + 1];
        u64 all = 0;
        for (i64 i = boxes_.first[box]; i < boxes_.last[box]; ++i) all |= takes(boxes_.rows[i]);
        return all;
    }

    static Boxes split(const Block &rows) {
        const Space &space = *rows.space;
        Table table{{rows.numbers.data(), space.cells.weights, rows.codes.data(), rows.count, space.intervals,
                     space.categories},
                    space.forest,
                    {}};
        std::vector<i32> everyone(rows.count);
        for (i64 row = 0; row < rows.count; ++row) everyone[row] = i32(row);
        return split_into_boxes(table, std::move(everyone), table.shape.leaf_rows);
    }

    void enclose(i64 box) {
        int intervals = space_.intervals, categories = space_.categories;
        std::fill_n(low_.data() + box * intervals, intervals, INF);
        std::fill_n(high_.data() + box * intervals, intervals, -INF);
        std::fill_n(first_.data() + box * categories, categories, FAR);
        std::fill_n(last_.data() + box * categories, categories, -1);
        auto take = [&](const Hull &hull) {
            for (int j = 0; j < intervals; ++j) {
                low_[box * intervals + j] = std::min(low_[box * intervals + j], hull.low[j]);
                high_[box * intervals + j] = std::max(high_[box * intervals + j], hull.high[j]);
            }
            for (int j = 0; j < categories; ++j) {
                first_[box * categories + j] = std::min(first_[box * categories + j], hull.first[j]);
                last_[box * categories + j] = std::max(last_[box * categories + j], hull.last[j]);
            }
        };
        if (i64 left = boxes_.left[box]; left >= 0) {
            take(hull_of(left)), take(hull_of(left + 1));
            return;
        }
        for (i64 i = boxes_.first[box]; i < boxes_.last[box]; ++i) {
            i64 row = boxes_.rows[i];
            take(rows_.of(row));
            home_[row] = box;
        }
    }

    Hull hull_of(i64 box) const {
        return {low_.data() + box * space_.intervals, high_.data() + box * space_.intervals,
                first_.data() + box * space_.categories, last_.data() + box * space_.categories};
    }

    // What a row in a box loses at least: the loss at the point of the box nearest to the hull.
    double bound(const Hull &hull, i64 box) {
        Hull own = hull_of(box);
        for (int j = 0; j < space_.intervals; ++j)
            point_[j] = own.low[j] > hull.high[j] ? own.low[j] : std::min(own.high[j], hull.high[j]);
        for (int j = 0; j < space_.categories; ++j)
            leaf_[j] = own.first[j] > hull.last[j] ? own.first[j] : std::min(own.last[j], hull.last[j]);
        return space_.loss(hull, {point_.data(), point_.data(), leaf_.data(), leaf_.data()});
    }

    void push_children(const Hull &hull, u64 given, i64 box) {
        std::pair<double, i64> one{INF, boxes_.left[box]}, other{INF, boxes_.left[box] + 1};
        if (!given || takes_[one.second] & given) one.first = bound(hull, one.second);
        if (!given || takes_[other.second] & given) other.first = bound(hull, other.second);
        if (one.first < other.first) std::swap(one, other);  // the nearer child goes on top
        if (one.first < INF) stack_.push_back(one);
        if (other.first < INF) stack_.push_back(other);
    }

    const Block &rows_;
    const Space &space_;
    Boxes boxes_;
    std::vector<double> low_, high_;
    std::vector<i32> first_, last_;
    std::vector<u64> takes_;  // (boxes,) bits of the sorts for which rows are given (sorts 64 apart share one)
    std::vector<double> point_;
    std::vector<i32> leaf_;
    std::vector<i64> home_;  // (rows,) the leaf box of each
    std::vector<std::pair<double, i64>> stack_;
};

// ── repair ──────────────────────────────────────────────────────────────────────────────────────

// What was found out about each sort of rows, until it is forgotten. There may be as many sorts as
// rows, so forgetting must not touch them all.
class Memo {
  public:
    explicit Memo(i64 sorts) : known_(sorts, 0), value_(sorts) {}
    void forget() { ++now_; }
    void set(i64 sort, double value) { known_[sort] = now_, value_[sort] = value; }
    template <class Find> double of(i64 sort, Find find) {
        if (known_[sort] != now_) set(sort, find());
        return value_[sort];
    }

  private:
    i64 now_ = 1;
    std::vector<i64> known_;
    std::vector<double> value_;
};

class Repair {
  public:
    Repair(Partition<true> &parts, Watch &watch)
        : parts_(parts), watch_(watch), rows_(*parts.rows), finder_(rows_), after_(rows_.sort_count),
          steps_(rows_.sort_count), takes_(parts.groups(), 0), missed_(parts.groups(), 0.0) {}

    // Whether it was left to finish.
    bool run() {
        for (i64 group = 0; group < parts_.groups(); ++group) judge(group);
        finder_.update_all([&](i64 row) { return takes(row); });
        for (i64 group = 0; group < parts_.groups(); ++group) {
            mend(group);
            watch_.tell(group + 1, parts_.groups());
        }
        return !watch_.stopped();
    }

  private:
    // A step towards the rules: what it costs per unit of violation removed. A violation counts for
    // each member of the group, or a union of two groups that miss the rules alike would be a gain.
    struct Step {
        double rate = INF;
        i64 row = NOBODY, back = NOBODY;  // who comes, and who leaves for it
    };
    struct Union {
        double rate = INF;
        i64 group = NOBODY;
    };

    void mend(i64 group) {
        for (double missed; parts_.size[group] > 0 && (missed = missed_[group]) > 0.0;) {
            if (watch_.stopped()) return merge_around(group);
            find_candidates(group, missed);
            Union both = best_union(group, missed);
            if (take_in(group, missed, both.rate)) continue;
            if (both.group < 0) return merge_around(group);
            parts_.unite(group, both.group);
            group = both.group;
            offer(group);
        }
    }

    static u64 bit(i64 sort) { return u64(1) << (sort & 63); }

    // Find out by how much a group misses the rules, and for which sorts it would give a row away: it
    // must not miss them by more then. Where there are many sorts, every row is asked itself.
    void judge(i64 group) {
        u64 taken = rows_.sort_count > 64 ? ALL : 0;
        missed_[group] = parts_.size[group] > 0 ? parts_.missed(group) : 0.0;
        for (i64 sort = 0; sort < rows_.sort_count && taken != ALL; ++sort)
            if (parts_.size[group] > 0 && would_take(group, example(sort), missed_[group])) taken |= bit(sort);
        takes_[group] = taken;
    }

    u64 takes(i64 row) const {
        u64 known = parts_.labels[row] >= 0 ? takes_[parts_.labels[row]] : 0;
        return rows_.sort_count > 64 ? known : known & ~bit(rows_.sorts[row]);
    }

    // Judge a group that has changed, and let searches know; `joined` is its only new member, if there
    // is one alone.
    void offer(i64 group, i64 joined = NOBODY) {
        u64 before = takes_[group];
        judge(group);
        auto taken = [&](i64 row) { return takes(row); };
        if (takes_[group] == before && joined >= 0) return finder_.update(joined, taken);
        for (i64 row = parts_.head[group]; row >= 0; row = parts_.next[row]) finder_.update(row, taken);
    }

    // Whether a group would take a row for one of another sort.
    bool would_take(i64 group, i64 joining, double now) {
        steps_.forget();
        steps_.set(rows_.sorts[joining], INF);
        for (i64 row = parts_.head[group]; row >= 0; row = parts_.next[row]) {
            if (rows_.is_atom(row)) continue;
            auto find = [&] { return parts_.missed(group, {row, joining}); };
            if (steps_.of(rows_.sorts[row], find) <= now) return true;
        }
        return false;
    }

    i64 example(i64 sort) {
        if (example_.empty()) {
            example_.assign(rows_.sort_count, NOBODY);
            for (i64 row = 0; row < rows_.count; ++row) example_[rows_.sorts[row]] = row;
        }
        return example_[sort];
    }

    // The rows of other groups that widen one least, of those which bring it nearer to the rules.
    void find_candidates(i64 group, double missed) {
        after_.forget();
        auto helps = [&](i64 row) {
            auto find = [&] { return parts_.missed(group, {NOBODY, row}); };
            return after_.of(rows_.sorts[row], find) < missed - LEAST_GAIN;
        };
        auto foreign = [&](i64 row) { return parts_.labels[row] >= 0 && parts_.labels[row] != group; };
        finder_.nearest(parts_.hull(group), 0, CANDIDATES, foreign, around_);
        auto [given, back] = surplus(group, missed);
        auto helpful = [&](i64 row) {
            if (!foreign(row) || rows_.is_atom(row) || !helps(row)) return false;
            i64 home = parts_.labels[row];
            return parts_.missed(home, {row, back}) <= missed_[home] + LEAST_GAIN;
        };
        finder_.nearest(parts_.hull(group), given, CANDIDATES, helpful, near_);
    }

    // The sorts of members without which a group misses the rules by no more, and a member of the best.
    std::pair<u64, i64> surplus(i64 group, double missed) {
        steps_.forget();
        u64 given = 0;
        i64 choice = NOBODY;
        double best = INF;
        for (i64 row = parts_.head[group]; row >= 0; row = parts_.next[row]) {
            if (rows_.is_atom(row)) continue;
            auto find = [&] { return parts_.missed(group, {row}); };
            double rest = steps_.of(rows_.sorts[row], find);
            if (rest <= missed) given |= bit(rows_.sorts[row]);
            if (rest < best) best = rest, choice = row;
        }
        return {given ? given : ALL, choice};
    }

    // Of the groups nearby: the one with which this one keeps the rules at least cost, or the nearest.
    Union best_union(i64 group, double missed) {
        double best = INF, least = INF, size = double(parts_.size[group]);
        i64 choice = NOBODY, nearest = NOBODY;
        for (const auto *list : {&around_, &near_}) {
            for (const Near &near : *list) {
                i64 other = parts_.labels[near.row];
                double theirs = double(parts_.size[other]);
                if (size + theirs > double(std::max(LARGEST_BY_STEPS, 16 * parts_.aim.k))) continue;
                double loss = rows_.space->loss(parts_.hull(group), parts_.hull(other));
                double rise = (size + theirs) * loss - size * parts_.loss[group] - theirs * parts_.loss[other];
                if (rise < least) least = rise, nearest = other;
                if (rise < best && parts_.complies(group, {NOBODY, NOBODY, other})) best = rise, choice = other;
            }
        }
        if (choice < 0) return {INF, nearest};  // only if there is no other step
        return {best / (size * missed + double(parts_.size[choice]) * missed_[choice]), choice};
    }

    // Take rows in as long as these are the cheapest steps; whether any was taken.
    bool take_in(i64 group, double missed, double merging) {
        bool took = false;
        while (missed > 0.0 && !watch_.stopped()) {
            ends_.measure(parts_, group);
            Step best;
            best.rate = merging;
            for (const Near &near : near_) {
                if (parts_.labels[near.row] == group) continue;
                Step step = exchange(group, near.row, missed);
                // Of a swap and a union that cost the same, a swap leaves more groups.
                if (step.rate < best.rate || (step.rate <= merging && best.row < 0)) best = step;
            }
            if (best.row < 0) break;
            i64 home = parts_.labels[best.row];
            parts_.swap(group, best.row, best.back);
            offer(home, best.back), offer(group, best.row);
            missed = missed_[group], took = true;
        }
        return took;
    }

    // What it costs to take a row in per unit of violation removed, and who had best leave for it.
    Step exchange(i64 group, i64 row, double missed) {
        i64 home = parts_.labels[row], size = parts_.size[group], many = parts_.size[home];
        double before = double(size) * parts_.loss[group] + double(many) * parts_.loss[home];
        double theirs = missed_[home];
        Step best{INF, NOBODY, NOBODY};
        their_ends_.measure(parts_, home);
        if (parts_.can_spare(home, row)) {
            double step = removed(group, home, row, NOBODY, missed, theirs);
            double cost = double(size + 1) * ends_.loss_with(rows_, row) - before;
            cost += double(many - 1) * their_ends_.loss_without(rows_, row);
            if (step > 0.0) best = {cost / step, row, NOBODY};
        }
        their_ends_.leave(rows_, row, spare_);
        steps_.forget();
        steps_.set(rows_.sorts[row], 0.0);
        for (i64 other = parts_.head[group]; other >= 0; other = parts_.next[other]) {
            if (rows_.is_atom(other)) continue;
            auto find = [&] { return removed(group, home, row, other, missed, theirs); };
            double step = steps_.of(rows_.sorts[other], find);
            if (step <= 0.0) continue;
            ends_.leave(rows_, other, without_);
            double cost = double(size) * without_.loss_with(rows_, row) - before;
            cost += double(many) * spare_.loss_with(rows_, other);
            if (cost / step < best.rate) best = {cost / step, row, other};
        }
        return best;
    }

    // The violation that a swap removes from both groups; 0 if either misses the rules by more.
    double removed(i64 group, i64 home, i64 row, i64 other, double missed, double theirs) {
        double own = missed - parts_.missed(group, {other, row});
        if (own <= LEAST_GAIN) return 0.0;
        double rest = theirs - parts_.missed(home, {row, other});
        return rest >= 0.0 ? double(parts_.size[group]) * own + double(parts_.size[home]) * rest : 0.0;
    }

    // Where steps lead nowhere: merge all groups of the smallest box that keeps the rules as a whole.
    void merge_around(i64 group) {
        finder_.around(parts_.head[group], [&](const i32 *rows, i64 count) {
            for (i64 i = 0; i < count; ++i) {
                i64 other = parts_.labels[rows[i]];
                if (other < 0 || other == group) continue;
                // The smaller one moves, so that no row moves often.
                if (parts_.size[other] > parts_.size[group]) std::swap(group, other);
                parts_.unite(other, group);
            }
            return parts_.complies(group);
        });
        offer(group);
    }

    Partition<true> &parts_;
    Watch &watch_;
    const Block &rows_;
    Finder finder_;
    std::vector<Near> near_, around_;
    Memo after_;  // by how much the group would miss the rules with a row of a sort
    Memo steps_;  // the violation that its leaving for another row would remove
    std::vector<i64> example_;  // (sorts,) a row of each
    std::vector<u64> takes_;    // (groups,) bits of the sorts for which it gives a row away
    std::vector<double> missed_;  // (groups,) by how much it misses the rules
    Extremes ends_, their_ends_, without_, spare_;
};

}  // namespace

template <> bool Moves<true>::repair(Parts &parts, Watch &watch) {
    return !parts.has_rules() || Repair(parts, watch).run();
}

template <> bool Moves<false>::repair(Parts &, Watch &) { return true; }

}  // namespace covey
