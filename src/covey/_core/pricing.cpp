// Groups that cost less than the prices of their rows: what separates prices from a lower bound.
//
// Each row has a price. If no group of k to 2k - 1 rows costs less than the prices of its rows, all
// prices together are a lower bound of what any grouping costs: larger groups can be split at no cost.
// What a group falls short by is its excess. Equal rows form a class and have the same price, so a
// group takes some rows of each of some classes.
//
// A group is found at its dearest class, the anchor. The search widens the hull of the anchor by one
// row at a time, the one of the group that loses most together with the hull. So no other row of the
// group loses more with it, which bounds the excess. Rows inside of the hull need no branches: the
// dearest are taken.
#include "binding.hpp"
#include "space.hpp"

namespace covey {

namespace {

// Classes by falling price.
struct Classes {
    std::vector<i64> rows;  // one of each
    std::vector<i64> counts;
    std::vector<double> prices;
};

struct Candidate {
    i64 place;    // of the class
    i64 count;    // rows that may join
    double loss;  // together with the hull
};

// A hull, the sum of prices of the rows that span it, and what may join them.
struct Node {
    std::vector<double> low, high;
    std::vector<i32> first, last;
    double loss = 0.0, paid = 0.0;
    std::vector<Candidate> candidates;
    std::vector<double> bounds;  // of the excess of groups that a candidate loses most of

    Hull hull() const { return {low.data(), high.data(), first.data(), last.data()}; }

    void span(const Space &space, const Hull &one, const Hull &other) {
        low.resize(space.intervals), high.resize(space.intervals);
        first.resize(space.categories), last.resize(space.categories);
        for (int j = 0; j < space.intervals; ++j) {
            low[j] = std::min(one.low[j], other.low[j]);
            high[j] = std::max(one.high[j], other.high[j]);
        }
        for (int j = 0; j < space.categories; ++j) {
            first[j] = std::min(one.first[j], other.first[j]);
            last[j] = std::max(one.last[j], other.last[j]);
        }
    }
};

class Search {
  public:
    Search(const Space &space, i64 k, const Classes &classes, double floor, i64 work)
        : space_(space), classes_(classes), k_(k), floor_(floor), work_(work), nodes_(2 * k) {}
    virtual ~Search() = default;

    // Look at all groups whose dearest class is the anchor and whose excess is above the floor.
    void from(i64 anchor) {
        // A group of the dearest price p and the loss L has at most the excess (p - L) × its size.
        limit_ = classes_.prices[anchor] + std::max(-floor_, 0.0) / double(k_);
        if (limit_ <= 0.0) return;
        Node &root = nodes_[0];
        Hull own = space_.of(classes_.rows[anchor]);
        root.span(space_, own, own);
        root.loss = 0.0, root.paid = classes_.prices[anchor];
        root.candidates.clear();
        offer(root, anchor, classes_.counts[anchor] - 1);
        for (i64 place = anchor + 1; place < i64(classes_.rows.size()); ++place)
            offer(root, place, classes_.counts[place]);
        spanning_.assign(1, anchor);
        explore(0);
    }

    i64 work() const { return work_; }
    bool ended() const { return full_ || work_ <= 0; }

  protected:
    struct Taken {
        double price;
        i64 place;
    };

    // Look at groups of the rows that span this hull and others inside of it: the first candidates.
    virtual void look(const Node &node, i64 inside) = 0;

    // The search ends before these groups.
    virtual void leave(double bound) = 0;

    // How many rows must and may join those that span a hull.
    i64 need() const { return std::max(k_ - i64(spanning_.size()), i64(0)); }
    i64 room() const { return 2 * k_ - 1 - i64(spanning_.size()); }

    // How many of the rows taken make the excess highest, if so many must or may join.
    i64 enough(i64 need, i64 room, double loss) const {
        i64 most = std::min(i64(taken_.size()), room), count = need;
        while (count < most && taken_[count].price > loss) ++count;
        return count;
    }

    double gain(i64 need, i64 room, double loss) const {
        if (i64(taken_.size()) < need) return -INF;
        double sum = 0.0;
        for (i64 i = 0, end = enough(need, room, loss); i < end; ++i) sum += taken_[i].price - loss;
        return sum;
    }

    const Space &space_;
    const Classes &classes_;
    i64 k_;
    double floor_;
    i64 work_;
    bool full_ = false;  // there is no use for more
    std::vector<i64> spanning_;
    std::vector<Taken> taken_;  // the dearest first

  private:
    void offer(Node &node, i64 place, i64 count) {
        if (count < 1) return;
        double loss = space_.loss(node.hull(), space_.of(classes_.rows[place]), limit_);
        if (loss < limit_) node.candidates.push_back({place, count, loss});
    }

    // Take rows of a class, but no more than there is room for: the dearest stay.
    void take(i64 place, i64 count) {
        for (double price = classes_.prices[place]; count > 0; --count) {
            if (i64(taken_.size()) == room()) {
                if (taken_.empty() || taken_.back().price >= price) return;
                taken_.pop_back();
            }
            auto dearer = [&](const Taken &one) { return one.price >= price; };
            taken_.insert(std::find_if(taken_.rbegin(), taken_.rend(), dearer).base(), {price, place});
        }
    }

    void explore(i64 depth) {
        Node &node = nodes_[depth];
        auto &candidates = node.candidates;
        i64 inside = 0, count = i64(candidates.size());
        work_ -= 1 + count;
        std::sort(candidates.begin(), candidates.end(), [](const Candidate &one, const Candidate &other) {
            return one.loss != other.loss ? one.loss < other.loss : one.place < other.place;
        });
        taken_.clear();
        for (; inside < count && candidates[inside].loss <= node.loss; ++inside)
            take(candidates[inside].place, candidates[inside].count);
        look(node, inside);
        if (room() == 0) return;
        node.bounds.assign(count, -INF);
        for (i64 i = inside; i < count; ++i) {
            auto [place, rows, loss] = candidates[i];
            take(place, rows - 1);
            node.bounds[i] = node.paid + classes_.prices[place] - double(spanning_.size() + 1) * loss +
                             gain(std::max(need() - 1, i64(0)), room() - 1, loss);
            take(place, 1);
        }
        for (i64 i = inside; i < count; ++i)
            if (node.bounds[i] > floor_) widen(depth, i);
    }

    void widen(i64 depth, i64 most) {
        const Node &node = nodes_[depth];
        if (ended()) return leave(node.bounds[most]);
        Node &wider = nodes_[depth + 1];
        auto [place, count, loss] = node.candidates[most];
        wider.span(space_, node.hull(), space_.of(classes_.rows[place]));
        wider.loss = loss, wider.paid = node.paid + classes_.prices[place];
        wider.candidates.clear();
        offer(wider, place, count - 1);
        for (i64 i = 0; i < most; ++i) offer(wider, node.candidates[i].place, node.candidates[i].count);
        spanning_.push_back(place);
        explore(depth + 1);
        spanning_.pop_back();
    }

    std::vector<Node> nodes_;
    double limit_ = 0.0;  // no group loses so much
};

// The highest excess of all groups of an anchor.
class Highest : public Search {
  public:
    using Search::Search;

    // No group of the anchor has a higher excess.
    double of(i64 anchor) {
        double least = floor_;
        group.clear();
        left_ = least;
        from(anchor);
        double found = std::max(floor_, left_);
        floor_ = least;
        return found;
    }

    std::vector<i64> group;  // the one found, if its excess is above the floor

  private:
    void look(const Node &node, i64) override {
        double excess = node.paid - double(spanning_.size()) * node.loss + gain(need(), room(), node.loss);
        if (excess <= floor_) return;
        floor_ = excess, group = spanning_;
        for (i64 i = 0, end = enough(need(), room(), node.loss); i < end; ++i) group.push_back(taken_[i].place);
    }

    void leave(double bound) override { left_ = std::max(left_, bound); }

    double left_ = 0.0;
};

// All groups with an excess above the floor; the search ends when there are more than `most`.
class Above : public Search {
  public:
    Above(const Space &space, i64 k, const Classes &classes, double floor, i64 most, i64 work)
        : Search(space, k, classes, floor, work), most_(most) {}

    std::vector<i64> members, ends;
    std::vector<double> excesses;

  private:
    void look(const Node &node, i64 inside) override {
        inside_.assign(node.candidates.begin(), node.candidates.begin() + inside);
        std::sort(inside_.begin(), inside_.end(), [](auto &one, auto &other) { return one.place < other.place; });
        group_ = spanning_;
        choose(0, need(), room(), node.loss, node.paid - double(group_.size()) * node.loss);
    }

    void choose(size_t from, i64 need, i64 room, double loss, double excess) {
        --work_;
        if (need <= 0 && excess > floor_) {
            members.insert(members.end(), group_.begin(), group_.end());
            ends.push_back(i64(members.size()));
            excesses.push_back(excess);
            full_ = i64(ends.size()) > most_;
        }
        for (; from < inside_.size() && room > 0 && !ended(); ++from) {
            Candidate &one = inside_[from];
            double gain = classes_.prices[one.place] - loss;
            if (excess + gain * double(gain > 0.0 ? room : std::max(need, i64(1))) <= floor_) return;
            if (one.count == 0) continue;
            --one.count;
            group_.push_back(one.place);
            choose(from, need - 1, room - 1, loss, excess + gain);
            group_.pop_back();
            ++one.count;
        }
    }

    void leave(double) override {}

    i64 most_;
    std::vector<Candidate> inside_;
    std::vector<i64> group_;
};

// The classes by falling price; `order` becomes their numbers.
Classes by_price(const Array1<i64> &rows, const Array1<i64> &counts, const Array1<double> &prices,
                 std::vector<i64> &order) {
    order = all_rows(i64(rows.size()));
    std::stable_sort(order.begin(), order.end(),
                     [&](i64 one, i64 other) { return prices.data()[one] > prices.data()[other]; });
    Classes classes;
    for (i64 number : order) {
        classes.rows.push_back(rows.data()[number]);
        classes.counts.push_back(counts.data()[number]);
        classes.prices.push_back(prices.data()[number]);
    }
    return classes;
}

void require_classes(const Space &space, i64 k, const Array1<i64> &rows, const Array1<i64> &counts,
                     const Array1<double> &prices) {
    i64 classes = i64(rows.size());
    require(k >= 1 && k <= space.cells.rows, "k is from 1 to the number of rows");
    require(has_shape(counts, {classes}) && has_shape(prices, {classes}), "a count and a price for each class");
    require(all_within(rows, 0, double(space.cells.rows)), "a row outside of the table");
    require(all_within(counts, 1, double(space.cells.rows) + 1.0), "a class has one row or more");
    require(all_within(prices, std::numeric_limits<double>::lowest(), INF), "a price is not finite");
}

nb::tuple overpriced(const Space &space, i64 k, Array1<i64> rows, Array1<i64> counts, Array1<double> prices,
                     double floor, i64 work) {
    require_classes(space, k, rows, counts, prices);
    std::vector<double> excess(rows.size());
    std::vector<i64> members, ends;
    unlocked([&] {
        std::vector<i64> order;
        Classes classes = by_price(rows, counts, prices, order);
        Highest search(space, k, classes, floor, work);
        for (i64 anchor = 0; anchor < i64(order.size()); ++anchor) {
            excess[order[anchor]] = search.of(anchor);
            for (i64 place : search.group) members.push_back(order[place]);
            if (!search.group.empty()) ends.push_back(i64(members.size()));
        }
        work = search.work();
        return 0;
    });
    return nb::make_tuple(give(std::move(excess)), give(std::move(members)), give(std::move(ends)), work);
}

nb::tuple groups_above(const Space &space, i64 k, Array1<i64> rows, Array1<i64> counts, Array1<double> prices,
                       double floor, i64 most, i64 work) {
    require_classes(space, k, rows, counts, prices);
    std::vector<i64> order;
    Classes classes = by_price(rows, counts, prices, order);
    Above search(space, k, classes, floor, most, work);
    unlocked([&] {
        for (i64 anchor = 0; anchor < i64(order.size()) && !search.ended(); ++anchor) search.from(anchor);
        for (i64 &member : search.members) member = order[member];
        return 0;
    });
    return nb::make_tuple(give(std::move(search.members)), give(std::move(search.ends)),
                          give(std::move(search.excesses)), search.work());
}

}  // namespace

void bind_pricing(nb::module_ &m) {
    m.def("overpriced", &overpriced, "space"_a, "k"_a, "rows"_a.noconvert(), "counts"_a.noconvert(),
          "prices"_a.noconvert(), "floor"_a, "work"_a);
    m.def("groups_above", &groups_above, "space"_a, "k"_a, "rows"_a.noconvert(), "counts"_a.noconvert(),
          "prices"_a.noconvert(), "floor"_a, "most"_a, "work"_a);
}

}  // namespace covey
