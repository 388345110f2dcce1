// C-means whose attributes count by how well they hold groups together.
#include <functional>
#include <queue>

#include "binding.hpp"
#include "box_tree.hpp"
#include "centres.hpp"

namespace covey {

namespace {

class WfCMeans {
  public:
    // The first n / k rows are the first centres. Numbers at `missing` stand for none. Weights of
    // attributes and losses of nodes come apart, since the first change.
    WfCMeans(const Table &table, i64 k, double missing, const double *weights, const double *losses,
             const std::vector<i64> &order)
        : table_(table), cells_(table.cells), k_(k), missing_(missing), weights_(weights), losses_(losses),
          caps_(cells_.intervals, 1.0), interval_weights_(cells_.intervals), node_losses_(table.forest.nodes),
          counts_(table.forest.nodes, 0), centres_(cells_, order.data(), cells_.rows / k), labels_(cells_.rows, -1) {
        table_.cells.weights = interval_weights_.data();
        table_.forest.loss = node_losses_.data();
        weigh(std::vector<double>(cells_.intervals + cells_.categories, 1.0));
    }

    std::vector<i64> labels(i64 iterations, Watch &watch) {
        for (i64 i = 0; i < iterations && assign(i, iterations, watch); ++i) {
            move_centres();
            weigh(feature_weights());
        }
        return merge(watch);
    }

  private:
    BoxTree boxes() const { return BoxTree(centres_.instead_of_rows(table_)); }
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
    bool assign(i64 iteration, i64 iterations, Watch &watch) {
        BoxTree tree = boxes();
        bool moved = false;
        for (i64 row = 0; row < cells_.rows; ++row) {
            i64 group = tree.nearest(scale(), cells_.number(row), cells_.code(row));
            moved |= group != labels_[row];
            labels_[row] = group;
            watch.reach(iteration * cells_.rows + row, iterations * cells_.rows);
        }
        return moved;
    }

    // To the mean of the numbers present and the most frequent leaves.
    void move_centres() {
        Members members(labels_, centres_.count());
        for (i64 group = 0; group < centres_.count(); ++group) {
            if (members.size(group) == 0) continue;
            const i64 *begin = members.begin(group), *end = members.end(group);
            for (int j = 0; j < cells_.intervals; ++j) centres_.number(group)[j] = mean(j, begin, end);
            for (int j = 0; j < cells_.categories; ++j) centres_.code(group)[j] = mode(j, begin, end);
        }
    }

    double mean(int interval, const i64 *begin, const i64 *end) const {
        double total = 0.0;
        i64 present = 0;
        for (const i64 *row = begin; row < end; ++row) {
            double number = cells_.number(*row)[interval];
            if (number != missing_) total += number, ++present;
        }
        return present > 0 ? total / double(present) : missing_;
    }

    i32 mode(int category, const i64 *begin, const i64 *end) {
        auto leaf_of = [&](i64 row) { return cells_.code(row)[category]; };
        for (const i64 *row = begin; row < end; ++row) counts_[leaf_of(*row)] += 1;
        i32 best = leaf_of(*begin);
        for (const i64 *row = begin; row < end; ++row) {
            i32 leaf = leaf_of(*row);
            if (counts_[leaf] > counts_[best] || (counts_[leaf] == counts_[best] && leaf < best)) best = leaf;
        }
        for (const i64 *row = begin; row < end; ++row) counts_[leaf_of(*row)] = 0;
        return best;
    }

    // On average 1, and larger if rows are near their centres in an attribute. One full step is
    // added to the distances of all rows, so that no weight is infinite.
    std::vector<double> feature_weights() {
        std::vector<double> features = dispersions();
        double rows = double(cells_.rows), total = 0.0;
        for (double &feature : features) total += feature = 1.0 / (feature / rows + 1.0 / rows);
        for (double &feature : features) feature = double(features.size()) * feature / total;
        return features;
    }

    // How far all rows are from their centres in each attribute, unweighted.
    std::vector<double> dispersions() {
        std::vector<double> totals(cells_.intervals + cells_.categories, 0.0);
        for (i64 row = 0; row < cells_.rows; ++row) {
            const double *numbers = cells_.number(row), *middle = centres_.number(labels_[row]);
            const i32 *codes = cells_.code(row), *modes = centres_.code(labels_[row]);
            double *total = totals.data();
            for (int j = 0; j < cells_.intervals; ++j) *total++ += std::min(std::abs(numbers[j] - middle[j]), 1.0);
            for (int j = 0; j < cells_.categories; ++j)
                *total++ += losses_[table_.forest.common_ancestor(codes[j], modes[j])];
        }
        return totals;
    }

    // Groups of fewer than k rows, the smallest first, go over into those with the nearest centres.
    std::vector<i64> merge(Watch &watch) {
        using Sized = std::pair<i64, i64>;  // size and group
        std::priority_queue<Sized, std::vector<Sized>, std::greater<Sized>> small;
        Members members(labels_, centres_.count());
        Mergers mergers(centres_.count());
        BoxTree tree = boxes();
        std::vector<i64> sizes(centres_.count());
        auto queue = [&](i64 group) {
            if (sizes[group] < k_) small.push({sizes[group], group});
        };
        for (i64 group = 0; group < centres_.count(); ++group) {
            sizes[group] = members.size(group);
            if (sizes[group] > 0) queue(group);
            else tree.remove(group);
        }
        for (; !small.empty() && tree.free() > 1; watch.reach(1, 1)) {
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
    double missing_;
    const double *weights_, *losses_;  // (attributes,), (nodes,) unweighted
    std::vector<double> caps_, interval_weights_, node_losses_;
    std::vector<i64> counts_;  // (nodes,) scratch, zero
    Centres centres_;
    std::vector<i64> labels_;
};

}  // namespace

void bind_wf_c_means(nb::module_ &m) {
    m.def(
        "wf_c_means",
        [](const BoundTable &table, i64 k, i64 iterations, double missing, Array1<double> weights,
           Array1<double> losses, nb::object generator, Watch &watch) {
            require(i64(weights.size()) == table.cells.intervals + table.cells.categories, "a weight for each attribute");
            require(i64(losses.size()) == table.forest.nodes, "a loss for each node");
            Random random = random_of(generator);
            return give(unlocked([&] {
                std::vector<i64> order = random.order(table.cells.rows);
                WfCMeans clustering(table, k, missing, weights.data(), losses.data(), order);
                return clustering.labels(iterations, watch);
            }));
        },
        "table"_a, "k"_a, "iterations"_a, "missing"_a, "weights"_a.noconvert(), "losses"_a.noconvert(), "random"_a,
        "watch"_a);
}

}  // namespace covey
