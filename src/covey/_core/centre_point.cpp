// Groups gathered around centres that are chosen by their distances to all earlier ones.
#include <cmath>

#include "binding.hpp"
#include "heap.hpp"

namespace covey {

namespace {

// Some rows, laid out so that their distances from a point are summed fast: numbers by column.
class Crowd {
  public:
    Crowd(const Cells &cells, const std::vector<i64> &rows)
        : cells_(cells), lengths_(rows.size()) {
        for (int j = 0; j < cells.intervals; ++j)
            for (i64 row : rows) numbers_.push_back(cells.number(row)[j]);
        for (i64 row : rows) codes_.insert(codes_.end(), cells.code(row), cells.code(row) + cells.categories);
    }

    // From a point with these numbers, if leaves have these prices.
    const std::vector<double> &distances(const double *centre, const double *price) {
        std::fill(lengths_.begin(), lengths_.end(), 0.0);
        const double *number = numbers_.data();
        for (int j = 0; j < cells_.intervals; ++j) {
            const double middle = centre[j], weight = cells_.weights[j];
            for (double &length : lengths_) {
                double width = std::abs(*number++ - middle);
                length += weight * (width < 1.0 ? width : 1.0);
            }
        }
        const i32 *code = codes_.data();
        for (double &length : lengths_) {
            double total = length;
            for (int j = 0; j < cells_.categories; ++j) total += price[*code++];
            length = total;
        }
        return lengths_;
    }

  private:
    Cells cells_;
    std::vector<double> numbers_, lengths_;  // (intervals, rows), (rows,)
    std::vector<i32> codes_;                 // (rows, categories)
};

// The place of the least, the first of several.
i64 least(const std::vector<double> &values) {
    return std::min_element(values.begin(), values.end()) - values.begin();
}

class Gathering {
  public:
    Gathering(const Table &table, i64 k, const double *pairs, bool furthest, Watch &watch)
        : cells_(table.cells), forest_(table.forest), k_(k), free_(cells_.rows), pairs_(pairs), furthest_(furthest),
          watch_(watch), price_(forest_.nodes), rows_(all_rows(cells_.rows)), crowd_(cells_, rows_),
          sums_(cells_.rows, 0.0), labels_(cells_.rows, -1) {}

    i64 nearest(const double *numbers, const i32 *codes) { return least(distances(crowd_, numbers, codes)); }

    // Groups of k around one centre after another. Each is the free row nearest to all before, or
    // the furthest from them: that with the least sum of distances, or of negative ones.
    std::vector<i64> labels(i64 start) {
        for (i64 place = start; free_ >= k_; place = least(sums_)) {
            centres_.push_back(rows_[place]);
            take(place);
            look_around(rows_[place]);
            for (auto [length, other] : nearest_.entries()) take(other);
            if (8 * free_ < 7 * i64(rows_.size())) close_up();
            watch_.reach(cells_.rows - free_, cells_.rows);
        }
        // Rows that are left join the groups of the nearest centres.
        Crowd centres(cells_, centres_);
        for (i64 row : rows_) {
            if (labels_[row] < 0) labels_[row] = least(distances(centres, cells_.number(row), cells_.code(row)));
            watch_.reach(1, 1);
        }
        return std::move(labels_);
    }

  private:
    // Two leaves are as far from each other as their common ancestor and their depths say.
    const std::vector<double> &distances(Crowd &crowd, const double *numbers, const i32 *codes) {
        const i64 levels = forest_.levels;
        for (int tree = 0; tree < forest_.trees; ++tree) {
            i32 own = codes[tree], first = forest_.first[tree];
            for (i32 leaf = first; leaf < first + forest_.leaves[tree]; ++leaf) {
                i64 at = forest_.common_ancestor(own, leaf) * levels + forest_.depth[own];
                price_[leaf] = leaf == own ? 0.0 : pairs_[at * levels + forest_.depth[leaf]];
            }
        }
        return crowd.distances(numbers, price_.data());
    }

    // The row at this place joins the last group.
    void take(i64 place) {
        labels_[rows_[place]] = i64(centres_.size()) - 1;
        sums_[place] = INF;
        free_ -= 1;
    }

    // Add the distance of every free row from a centre to its sum, and find the k - 1 nearest.
    void look_around(i64 centre) {
        const std::vector<double> &lengths = distances(crowd_, cells_.number(centre), cells_.code(centre));
        double sign = furthest_ ? -1.0 : 1.0, *sum = sums_.data();
        nearest_.start(k_ - 1);
        for (i64 place = 0; place < i64(lengths.size()); ++place) {
            sum[place] += sign * lengths[place];
            if (sum[place] < INF) nearest_.offer(lengths[place], place);
        }
    }

    // Free rows move up to the places of those that were taken.
    void close_up() {
        auto is_taken = [&](i64 row) { return labels_[row] >= 0; };
        rows_.erase(std::remove_if(rows_.begin(), rows_.end(), is_taken), rows_.end());
        sums_.erase(std::remove(sums_.begin(), sums_.end(), INF), sums_.end());
        crowd_ = Crowd(cells_, rows_);
    }

    Cells cells_;
    Forest forest_;
    i64 k_, free_;
    const double *pairs_;  // (nodes, levels, levels)
    bool furthest_;
    Watch &watch_;
    std::vector<double> price_;  // (nodes,) how far each leaf is from those of a point
    std::vector<i64> centres_;   // (groups,) the row at the centre of each
    std::vector<i64> rows_;      // by place, ascending; most of them free
    Crowd crowd_;                // of these rows
    std::vector<double> sums_;   // by place: of the distances to all centres, infinite once taken
    Least nearest_;
    std::vector<i64> labels_;
};

bool has_pairs(const Forest &forest, const Array3<double> &pairs) {
    return has_shape(pairs, {forest.nodes, forest.levels, forest.levels});
}

}  // namespace

void bind_centre_point(nb::module_ &m) {
    m.def(
        "kacpc",
        [](const BoundTable &table, i64 k, Array3<double> pairs, Array1<double> numbers, Array1<i32> codes,
           Watch &watch) {
            require_k(table, k);
            require(has_pairs(table.forest, pairs), "a distance for each node and two levels");
            require(has_shape(numbers, {table.cells.intervals}), "a number for each interval");
            require(has_shape(codes, {table.cells.categories}), "a code for each category");
            require_leaves(table.forest, codes);
            return give(unlocked([&] {
                Gathering gathering(table, k, pairs.data(), false, watch);
                return gathering.labels(gathering.nearest(numbers.data(), codes.data()));
            }));
        },
        "table"_a, "k"_a, "pairs"_a.noconvert(), "numbers"_a.noconvert(), "codes"_a.noconvert(), "watch"_a);
    m.def(
        "ikac",
        [](const BoundTable &table, i64 k, Array3<double> pairs, i64 start, Watch &watch) {
            require_k(table, k);
            require(has_pairs(table.forest, pairs), "a distance for each node and two levels");
            require(start >= 0 && start < table.cells.rows, "the first centre is a row");
            return give(unlocked([&] { return Gathering(table, k, pairs.data(), true, watch).labels(start); }));
        },
        "table"_a, "k"_a, "pairs"_a.noconvert(), "start"_a, "watch"_a);
}

}  // namespace covey
