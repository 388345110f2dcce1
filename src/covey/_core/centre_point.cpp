// Groups gathered around centres that are chosen by their distances to all earlier ones.
#include "binding.hpp"
#include "heap.hpp"
#include "prices.hpp"

namespace covey {

namespace {

// The distances of rows from one point. Two leaves are as far from each other as their common
// ancestor and their depths say.
class Distances {
  public:
    Distances(const Table &table, const double *pair) : forest_(table.forest), pair_(pair), price_(forest_.nodes, 0.0) {}

    void start(const double *numbers, const i32 *codes) {
        numbers_ = numbers;
        for (int tree = 0; tree < forest_.trees; ++tree) {
            i32 own = codes[tree], first = forest_.first[tree];
            for (i32 leaf = first; leaf < first + forest_.leaves[tree]; ++leaf)
                price_[leaf] = leaf == own ? 0.0 : pair(forest_.common_ancestor(own, leaf), own, leaf);
        }
    }

    double to(const Cells &cells, i64 row) const { return distance(cells, row, numbers_, price_.data()); }

  private:
    double pair(i32 above, i32 one, i32 other) const {
        return pair_[(i64(above) * forest_.levels + forest_.depth[one]) * forest_.levels + forest_.depth[other]];
    }

    Forest forest_;
    const double *pair_;  // (nodes, levels, levels) of two leaves at these depths under this node
    const double *numbers_ = nullptr;
    std::vector<double> price_;  // (nodes,) of each leaf from those of the point
};

class Gathering {
  public:
    Gathering(const Table &table, i64 k, const double *pair, bool furthest)
        : cells_(table.cells), k_(k), furthest_(furthest), distances_(table, pair), free_(cells_.rows),
          rows_(cells_.rows), numbers_(cells_.numbers, cells_.number(cells_.rows)),
          codes_(cells_.codes, cells_.code(cells_.rows)), sums_(cells_.rows, 0.0), labels_(cells_.rows, -1) {
        std::iota(rows_.begin(), rows_.end(), i64(0));
    }

    i64 nearest_to(const double *numbers, const i32 *codes) {
        distances_.start(numbers, codes);
        double best = INF;
        i64 choice = -1;
        for (i64 row = 0; row < cells_.rows; ++row)
            if (double length = distances_.to(cells_, row); length < best) best = length, choice = row;
        return choice;
    }

    // Groups of k around one centre after another, the first of which is given.
    std::vector<i64> labels(i64 start, Watch &watch) {
        for (i64 centre = start; free_ >= k_; centre = next_centre()) {
            centres_.push_back(rows_[centre]);
            take(centre);
            look_around(rows_[centre]);
            for (auto [length, place] : nearest_.entries()) take(place);
            if (8 * free_ < 7 * i64(rows_.size())) close_up();
            watch.reach(cells_.rows - free_, cells_.rows);
        }
        place_leftovers(watch);
        return std::move(labels_);
    }

  private:
    // The row at this place joins the last group.
    void take(i64 place) {
        labels_[rows_[place]] = i64(centres_.size()) - 1;
        sums_[place] = INF;
        free_ -= 1;
    }

    // Add the distance of every free row from a centre to its sum, and find the k - 1 nearest.
    void look_around(i64 centre) {
        distances_.start(cells_.number(centre), cells_.code(centre));
        nearest_.start(k_ - 1);
        Cells by_place{numbers_.data(), cells_.weights, codes_.data(), i64(rows_.size()), cells_.intervals,
                       cells_.categories};
        for (i64 place = 0; place < by_place.rows; ++place) {
            if (sums_[place] == INF) continue;
            double length = distances_.to(by_place, place);
            // To look for the furthest is to look for the least of negative sums.
            sums_[place] += furthest_ ? -length : length;
            nearest_.offer(length, place);
        }
    }

    i64 next_centre() const { return std::min_element(sums_.begin(), sums_.end()) - sums_.begin(); }

    // Free rows move up to the places of those that were taken.
    void close_up() {
        i64 to = 0;
        for (i64 place = 0; place < i64(rows_.size()); ++place) {
            if (sums_[place] == INF) continue;
            rows_[to] = rows_[place], sums_[to] = sums_[place];
            std::copy_n(cells_.number(rows_[to]), cells_.intervals, numbers_.data() + to * cells_.intervals);
            std::copy_n(cells_.code(rows_[to]), cells_.categories, codes_.data() + to * cells_.categories);
            ++to;
        }
        rows_.resize(to), sums_.resize(to);
    }

    // Rows that are left join the groups of the nearest centres.
    void place_leftovers(Watch &watch) {
        for (i64 row = 0; row < cells_.rows; ++row) {
            if (labels_[row] >= 0) continue;
            distances_.start(cells_.number(row), cells_.code(row));
            double best = INF;
            for (size_t group = 0; group < centres_.size(); ++group) {
                double length = distances_.to(cells_, centres_[group]);
                if (length < best) best = length, labels_[row] = i64(group);
            }
            watch.reach(1, 1);
        }
    }

    Cells cells_;
    i64 k_;
    bool furthest_;  // whether centres are far from earlier ones, or near
    Distances distances_;
    i64 free_;
    std::vector<i64> centres_;     // (groups,) the row at the centre of each
    std::vector<i64> rows_;        // by place, ascending; most of them free
    std::vector<double> numbers_;  // (places, intervals) side by side, so that scans are fast
    std::vector<i32> codes_;       // (places, categories)
    std::vector<double> sums_;     // by place: of the distances to all centres, infinite once taken
    Least nearest_;
    std::vector<i64> labels_;
};

void check_pairs(const Table &table, const Array3<double> &pairs) {
    size_t levels = size_t(table.forest.levels);
    require(i64(pairs.shape(0)) == table.forest.nodes && pairs.shape(1) == levels && pairs.shape(2) == levels,
            "a distance for each node and each two levels");
}

}  // namespace

void bind_centre_point(nb::module_ &m) {
    m.def(
        "kacpc",
        [](const BoundTable &table, i64 k, Array3<double> pairs, Array1<double> numbers, Array1<i32> codes,
           Watch &watch) {
            check_pairs(table, pairs);
            require(i64(numbers.size()) == table.cells.intervals && i64(codes.size()) == table.cells.categories,
                    "a point has a cell for each attribute");
            return give(unlocked([&] {
                Gathering gathering(table, k, pairs.data(), false);
                return gathering.labels(gathering.nearest_to(numbers.data(), codes.data()), watch);
            }));
        },
        "table"_a, "k"_a, "pairs"_a.noconvert(), "numbers"_a.noconvert(), "codes"_a.noconvert(), "watch"_a);
    m.def(
        "ikac",
        [](const BoundTable &table, i64 k, Array3<double> pairs, i64 start, Watch &watch) {
            check_pairs(table, pairs);
            require(start >= 0 && start < table.cells.rows, "the first centre is a row");
            return give(unlocked([&] { return Gathering(table, k, pairs.data(), true).labels(start, watch); }));
        },
        "table"_a, "k"_a, "pairs"_a.noconvert(), "start"_a, "watch"_a);
}

}  // namespace covey
