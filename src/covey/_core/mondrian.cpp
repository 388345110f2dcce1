// Median partitioning of a table.
#include <array>

#include "binding.hpp"
#include "top_down.hpp"

namespace covey {

namespace {

class Mondrian : public TopDown {
  public:
    // `places` has the place of each cell in the order of its attribute, numbers before categories.
    Mondrian(const Table &table, const i32 *places, const double *weights, i64 k, bool relaxed, Watch &watch)
        : TopDown(table.cells.rows, k, watch), cells_(table.cells), forest_(table.forest), places_(places),
          weights_(weights), attributes_(cells_.intervals + cells_.categories), relaxed_(relaxed),
          ranges_(attributes_), distinct_(attributes_), seen_in_(std::max(cells_.rows, forest_.nodes), 0) {}

  private:
    i64 split(Node node) override {
        measure(node);
        for (int tried = 0; tried < attributes_; ++tried) {
            int attribute = widest(node);
            if (ranges_[attribute] <= 0.0) break;
            ranges_[attribute] = -1.0;
            if (i64 left = cut(node, attribute)) return left;
        }
        return 0;
    }

    // How much of its column's range each attribute spans in a node.
    void measure(Node node) {
        std::vector<Range<double>> numbers(cells_.intervals);
        std::vector<Range<i32>> leaves(cells_.categories);
        for (i32 row : node) {
            for (int j = 0; j < cells_.intervals; ++j) numbers[j].add(cells_.number(row)[j]);
            for (int j = 0; j < cells_.categories; ++j) leaves[j].add(cells_.code(row)[j]);
        }
        for (int j = 0; j < cells_.intervals; ++j)
            ranges_[j] = weights_[j] * std::min(numbers[j].high - numbers[j].low, 1.0);
        for (int j = 0, at = cells_.intervals; j < cells_.categories; ++j, ++at) {
            double steps = double(leaves[j].high - leaves[j].low);
            ranges_[at] = steps > 0.0 ? weights_[at] * (steps / double(forest_.leaves[j] - 1)) : 0.0;
        }
        std::fill(distinct_.begin(), distinct_.end(), -1);
        watch_.go_on();
    }

    // The attribute of the widest range; of equals the one with most values, then the first.
    int widest(Node node) {
        int best = 0;
        for (int j = 1; j < attributes_; ++j) {
            bool wider = ranges_[j] > ranges_[best], equal = ranges_[j] == ranges_[best] && ranges_[j] > 0.0;
            if (wider || (equal && distinct(node, j) > distinct(node, best))) best = j;
        }
        return best;
    }

    // How many values of an attribute occur in a node, counted when first needed.
    i64 distinct(Node node, int attribute) {
        if (distinct_[attribute] >= 0) return distinct_[attribute];
        i64 count = 0;
        counts_made_ += 1;
        for (i32 row : node) {
            i64 &last = seen_in_[place(row, attribute)];
            count += last != counts_made_;
            last = counts_made_;
        }
        watch_.go_on();
        return distinct_[attribute] = count;
    }

    // Cut behind the lower median, or before it, so that both sides have k rows. Equal values stay
    // together, unless `relaxed`: then the lowest rows of those at the border are on the left.
    i64 cut(Node node, int attribute) {
        i64 size = node.size(), middle = relaxed_ ? size / 2 : (size - 1) / 2;
        keys_.clear();
        for (i32 row : node) keys_.push_back(key(row, attribute));
        std::nth_element(keys_.begin(), keys_.begin() + middle, keys_.end());
        watch_.go_on();
        u64 border = keys_[middle], median = border / NEXT * NEXT;
        for (u64 bound : relaxed_ ? std::array{border, border} : std::array{median + NEXT, median}) {
            i64 left = std::count_if(keys_.begin(), keys_.end(), [&](u64 known) { return known < bound; });
            if (left < k_ || size - left < k_) continue;
            return part(node, [&](i32 row) { return key(row, attribute) < bound; });
        }
        return 0;
    }

    i32 place(i32 row, int attribute) const { return places_[i64(row) * attributes_ + attribute]; }

    // Rows in the order of an attribute, of equal ones by number.
    u64 key(i32 row, int attribute) const { return u64(place(row, attribute)) * NEXT + u64(row); }
    static constexpr u64 NEXT = u64(1) << 32;

    Cells cells_;
    Forest forest_;
    const i32 *places_;      // (rows, attributes)
    const double *weights_;  // (attributes,)
    int attributes_;
    bool relaxed_;
    std::vector<double> ranges_;  // (attributes,) -1 once tried
    std::vector<i64> distinct_;   // (attributes,) -1 before they are counted
    std::vector<i64> seen_in_;    // (places,) the last count in which each place was seen
    i64 counts_made_ = 0;
    std::vector<u64> keys_;
};

}  // namespace

void bind_mondrian(nb::module_ &m) {
    m.def(
        "mondrian",
        [](const BoundTable &table, Array2<i32> places, Array1<double> weights, i64 k, bool relaxed, Watch &watch) {
            i64 rows = table.cells.rows, attributes = table.cells.intervals + table.cells.categories;
            require_k(table, k);
            require(i64(places.shape(0)) == rows && i64(places.shape(1)) == attributes, "a place for each cell");
            require(i64(weights.size()) == attributes, "a weight for each attribute");
            require(all_within(places, 0, double(std::max(rows, table.forest.nodes))), "a place outside of its column");
            return give(unlocked([&] {
                Mondrian mondrian(table, places.data(), weights.data(), k, relaxed, watch);
                mondrian.run();
                return mondrian.labels();
            }));
        },
        "table"_a, "places"_a.noconvert(), "weights"_a.noconvert(), "k"_a, "relaxed"_a, "watch"_a);
}

}  // namespace covey
