// Groups in which no sensitive value is frequent.
#pragma once

#include <queue>

#include "summaries.hpp"
#include "top_down.hpp"

namespace covey {

// The demand that no value of the sensitive column is in more than one of `l` rows of a group.
struct Diversity {
    i64 l = 0;                     // 0 for no demand
    const i32 *values = nullptr;   // (rows,)
    const i64 *rank = nullptr;     // (rows,) place of each row in the sorted table
    std::vector<i64> counts = {};  // (values, 2) on each side, zero between two uses

    bool holds(Node node, const Sides &side) {  // on both sides
        if (l == 0) return true;
        i64 most[2] = {0, 0}, size[2] = {0, 0};
        for (i64 place = 0; place < node.size(); ++place) {
            int half = side[place];
            most[half] = std::max(most[half], ++counts[2 * values[node[place]] + half]);
            size[half] += 1;
        }
        for (i32 row : node) counts[2 * values[row]] = counts[2 * values[row] + 1] = 0;
        return l * most[0] <= size[0] && l * most[1] <= size[1];
    }
};

// Rows dealt out so that every class keeps the demand. Groups of one row of each of the `l` most
// frequent values left are peeled off, the few rows that remain join groups without their value,
// and groups are merged to classes of k rows.
class Deal {
  public:
    Deal(const Table &table, const Diversity &demand, Node node, Watch &watch)
        : demand_(demand), node_(node), watch_(watch), rows_(node.begin(), node.end()), home_(rows_.size(), -1),
          summaries_(2 * (node.size() / demand.l) + 1, table.cells, table.forest) {}

    // The sizes of the classes, and the rows of the node by class; none if the node loses less as a whole.
    std::vector<i64> classes(i64 k) {
        peel();
        if (!place_rest()) return {};
        merge((k + demand_.l - 1) / demand_.l);
        if (classes_ < 2 || !pays()) return {};
        std::vector<i64> sizes(summaries_.size.begin() + groups_, summaries_.size.begin() + groups_ + classes_);
        std::vector<i64> at(classes_, 0);
        std::partial_sum(sizes.begin(), sizes.end() - 1, at.begin() + 1);
        for (i64 place = 0; place < node_.size(); ++place)
            node_.first[at[class_of_[home_[place]]]++] = rows_[place];
        return sizes;
    }

  private:
    struct Bucket {
        i64 next, end;  // the rows of one value that are left
        i64 size() const { return end - next; }
    };

    void peel() {
        std::vector<Bucket> buckets = sort_by_value();
        // The largest bucket first, of equal ones the first, so numbers are negated.
        std::priority_queue<std::pair<i64, i64>> queue;
        for (size_t i = 0; i < buckets.size(); ++i) queue.push({buckets[i].size(), -i64(i)});
        std::vector<i64> largest(demand_.l);
        for (; queue.size() >= largest.size(); ++groups_) {
            for (i64 &number : largest) number = -queue.top().second, queue.pop();
            for (i64 number : largest) {
                auto &[next, end] = buckets[number];
                if (number != largest[0])
                    bring_cheapest(rows_, next, end, [&](i32 row) { return summaries_.loss_with(groups_, row); });
                join(groups_, next++);
                if (next < end) queue.push({end - next, -number});
            }
            watch_.go_on();
        }
    }

    // The rows by value, those of each value in sorted order.
    std::vector<Bucket> sort_by_value() {
        auto key = [&](i32 row) { return std::pair(demand_.values[row], demand_.rank[row]); };
        std::sort(rows_.begin(), rows_.end(), [&](i32 one, i32 other) {
            watch_.go_on();
            return key(one) < key(other);
        });
        std::vector<Bucket> buckets;
        for (i64 place = 0; place < node_.size(); ++place) {
            if (place == 0 || value(place) != value(place - 1)) buckets.push_back({place, place});
            buckets.back().end += 1;
        }
        return buckets;
    }

    // Every row that is left joins the cheapest group without its value; whether there was one.
    bool place_rest() {
        for (i64 place = 0; place < node_.size(); ++place) {
            if (home_[place] >= 0) continue;
            std::vector<char> has_value(groups_, false);
            for (i64 other = 0; other < node_.size(); ++other)
                if (home_[other] >= 0 && value(other) == value(place)) has_value[home_[other]] = true;
            i64 choice = cheapest(0, groups_, [&](i64 group) {
                return has_value[group] ? INF : summaries_.rise(group, rows_[place]);
            });
            if (choice == groups_) return false;
            join(choice, place);
            watch_.go_on();
        }
        return true;
    }

    // Merge so many groups at a time to a class, each with its nearest; the last few join finished ones.
    void merge(i64 together) {
        class_of_.resize(groups_);
        std::vector<i64> waiting(groups_);
        std::iota(waiting.begin(), waiting.end(), 0);
        i64 next = 0;
        for (; groups_ - next >= together; ++classes_) {
            auto loss = [&](i64 group) { return summaries_.loss_of_union(groups_ + classes_, group); };
            for (i64 i = 0; i < together; ++i) {
                if (i > 0) bring_cheapest(waiting, next, groups_, loss);
                unite(classes_, waiting[next++]);
            }
            watch_.go_on();
        }
        for (; classes_ > 0 && next < groups_; ++next) {
            i64 group = waiting[next];
            auto rise = [&](i64 number) { return summaries_.rise_of_union(groups_ + number, group); };
            unite(cheapest(0, classes_, rise), group);
            watch_.go_on();
        }
    }

    // Whether the classes lose less than the node as one group.
    bool pays() {
        i64 whole = i64(summaries_.size.size()) - 1;
        double total = 0.0;
        for (i64 number = groups_; number < groups_ + classes_; ++number)
            total += double(summaries_.size[number]) * summaries_.loss(number);
        for (i32 row : rows_) summaries_.add(whole, row);
        return total < double(node_.size()) * summaries_.loss(whole);
    }

    void join(i64 group, i64 place) {
        home_[place] = group;
        summaries_.add(group, rows_[place]);
    }

    void unite(i64 number, i64 group) {
        class_of_[group] = number;
        summaries_.unite(groups_ + number, group);
    }

    // The first of the cheapest numbers from `first` to before `last`; `last` if all cost infinity.
    template <class Cost> static i64 cheapest(i64 first, i64 last, Cost cost) {
        double least = INF;
        i64 choice = last;
        for (i64 i = first; i < last; ++i)
            if (double price = cost(i); price < least) least = price, choice = i;
        return choice;
    }

    // Bring the cheapest of the next items to the front of them. Near ones stand near each other, so
    // few are looked at: to look at all would cost n².
    template <class T, class Cost> static void bring_cheapest(std::vector<T> &items, i64 first, i64 last, Cost cost) {
        i64 choice = cheapest(first, std::min(first + WINDOW, last), [&](i64 i) { return cost(items[i]); });
        std::rotate(items.begin() + first, items.begin() + choice, items.begin() + choice + 1);
    }
    static constexpr i64 WINDOW = 256;

    i32 value(i64 place) const { return demand_.values[rows_[place]]; }

    const Diversity &demand_;
    Node node_;
    Watch &watch_;
    i64 groups_ = 0, classes_ = 0;
    std::vector<i32> rows_;      // of the node
    std::vector<i64> home_;      // the group of each of them
    std::vector<i64> class_of_;  // (groups,)
    Summaries summaries_;        // of the groups, then of the classes; the last one of the whole node
};

}  // namespace covey
