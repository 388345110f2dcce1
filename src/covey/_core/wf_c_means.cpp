// C-means whose attributes count by how well they hold groups together.
#include <cmath>
#include <functional>
#include <queue>

#include "binding.hpp"
#include "box_tree.hpp"
#include "centres.hpp"

namespace covey {

namespace {

class WfCMeans {
  public:
    // The first n / k rows are the first centres. Losses are unweighted, since weights change.
    WfCMeans(const Table &table, i64 k, const double *missing, const double *weights, const double *losses,
             const std::vector<i64> &order, Watch &watch)
        : table_(table), cells_(table.cells), k_(k), missing_(missing), weights_(weights), losses_(losses),
          watch_(watch), caps_(cells_.intervals, 1.0), interval_weights_(cells_.intervals),
          node_losses_(table.forest.nodes), counts_(table.forest.nodes, 0),
          centres_(table, order.data(), cells_.rows / k), labels_(cells_.rows, -1) {
        table_.cells.weights = interval_weights_.data();
        table_.forest.loss = node_losses_.data();
        weigh(std::vector<double>(cells_.intervals + cells_.categories, 1.0));
    }

    std::vector<i64> labels(i64 iterations) {
        for (i64 i = 0; i < iterations && assign(i, iterations); ++i) {
            move_centres();
            weigh(feature_weights());
        }
        return merge();
    }

  private:
    BoxTree boxes() { return BoxTree(centres_.instead_of_rows(table_), watch_); }
    Scale scale() const { return {interval_weights_.data(), caps_.data(), false}; }

    // Let each attribute count by its weight times another one.
    void weigh(const std::vector<double> &features) {
        for (int j = 0; j < cells_.intervals; ++j) interval_weights_[j] = weights_[j] * features[j];
        const Forest &forest = table_.forest;
        for (int tree = 0; tree < forest.trees; ++tree) {
            double weight = weights_[cells_.intervals + tree] * features[cells_.intervals + tree];
            i64 behind = tree + 1 < forest.trees ? forest.first[tree + 1] : forest.nodes;
            for (i64 node = forest.first[tree]; node < behind; ++node) node_losses_[node] = weight * losses_[node];
        }
    }

    // Put each row into the group of the nearest centre; whether any was elsewhere before.
    bool assign(i64 iteration, i64 iterations) {
        BoxTree tree = boxes();
        bool moved = false;
        for (i64 row = 0; row < cells_.rows; ++row) {
            i64 group = tree.nearest(scale(), cells_.number(row), cells_.code(row));
            moved |= group != labels_[row];
            labels_[row] = group;
            watch_.reach(iteration * cells_.rows + row, iterations * cells_.rows);
        }
        return moved;
    }

    // To the means and the most frequent leaves of their rows.
    void move_centres() {
        Means means(centres_.count(), cells_, missing_);
        std::vector<i64> first(centres_.count(), -1), next(cells_.rows);  // the rows of each group, linked
        for (i64 row = 0; row < cells_.rows; ++row) {
            means.count(labels_[row], row, 1);
            next[row] = std::exchange(first[labels_[row]], row);
        }
        for (i64 group = 0; group < centres_.count(); ++group) {
            if (first[group] < 0) continue;
            for (int j = 0; j < cells_.intervals; ++j) centres_.move(group, j, means.of(group, j));
            for (int j = 0; j < cells_.categories; ++j) centres_.code(group)[j] = mode(j, first[group], next);
        }
    }

    // The most frequent leaf of some rows, the first of several.
    i32 mode(int category, i64 first, const std::vector<i64> &next) {
        i32 best = cells_.code(first)[category];
        for (i64 row = first; row >= 0; row = next[row]) {
            i32 leaf = cells_.code(row)[category];
            i64 more = ++counts_[leaf] - counts_[best];
            if (more > 0 || (more == 0 && leaf < best)) best = leaf;
        }
        for (i64 row = first; row >= 0; row = next[row]) counts_[cells_.code(row)[category]] = 0;
        return best;
    }

    // On average 1, and larger for attributes in which rows are near their centres. One full step is
    // added to the distances of all rows, so that no weight is infinite.
    std::vector<double> feature_weights() {
        std::vector<double> features(cells_.intervals + cells_.categories, 0.0);
        for (i64 row = 0; row < cells_.rows; ++row) {
            const double *numbers = cells_.number(row), *middle = centres_.number(labels_[row]);
            const i32 *codes = cells_.code(row), *modes = centres_.code(labels_[row]);
            double *distance = features.data();
            for (int j = 0; j < cells_.intervals; ++j) *distance++ += std::min(std::abs(numbers[j] - middle[j]), 1.0);
            for (int j = 0; j < cells_.categories; ++j)
                *distance++ += losses_[table_.forest.common_ancestor(codes[j], modes[j])];
        }
        double rows = double(cells_.rows), total = 0.0;
        for (double &feature : features) total += feature = 1.0 / (feature / rows + 1.0 / rows);
        for (double &feature : features) feature = double(features.size()) * feature / total;
        return features;
    }

    // Groups of fewer than k rows, the smallest first, go over into those with the nearest centres.
    std::vector<i64> merge() {
        using Sized = std::pair<i64, i64>;  // size and group
        std::priority_queue<Sized, std::vector<Sized>, std::greater<Sized>> small;
        std::vector<i64> sizes(centres_.count(), 0);
        auto queue = [&](i64 group) {
            if (sizes[group] < k_) small.push({sizes[group], group});
        };
        Mergers mergers(centres_.count());
        BoxTree tree = boxes();
        for (i64 group : labels_) sizes[group] += 1;
        for (i64 group = 0; group < centres_.count(); ++group) sizes[group] > 0 ? queue(group) : tree.remove(group);
        for (watch_.reach(1, 1); !small.empty() && tree.free() > 1; watch_.reach(1, 1)) {
            auto [size, group] = small.top();
            small.pop();
            if (sizes[group] != size || mergers.is_gone(group)) continue;  // it has grown since
            tree.remove(group);
            i64 other = tree.nearest(scale(), centres_.number(group), centres_.code(group));
            mergers.merge(group, other);
            sizes[other] += size;
            queue(other);
        }
        return mergers.labels(labels_.data(), cells_.rows);
    }

    Table table_;  // with the weights of the moment
    Cells cells_;
    i64 k_;
    const double *missing_, *weights_, *losses_;  // (intervals,), (attributes,), (nodes,)
    Watch &watch_;
    std::vector<double> caps_, interval_weights_, node_losses_;
    std::vector<i64> counts_;  // (nodes,) scratch, zero
    Centres centres_;
    std::vector<i64> labels_;
};

}  // namespace

void bind_wf_c_means(nb::module_ &m) {
    m.def(
        "wf_c_means",
        [](const BoundTable &table, i64 k, i64 iterations, Array1<double> missing, Array1<double> weights,
           Array1<double> losses, nb::object generator, Watch &watch) {
            const Cells &cells = table.cells;
            require_k(table, k);
            require(has_shape(missing, {cells.intervals}), "a place of missing numbers for each interval");
            require(has_shape(weights, {cells.intervals + cells.categories}), "a weight for each attribute");
            require(has_shape(losses, {table.forest.nodes}), "a loss for each node");
            Random random = random_of(generator);
            return give(unlocked([&] {
                std::vector<i64> order = random.order(cells.rows);
                return WfCMeans(table, k, missing.data(), weights.data(), losses.data(), order, watch)
                    .labels(iterations);
            }));
        },
        "table"_a, "k"_a, "iterations"_a, "missing"_a.noconvert(), "weights"_a.noconvert(), "losses"_a.noconvert(),
        "random"_a, "watch"_a);
}

}  // namespace covey
