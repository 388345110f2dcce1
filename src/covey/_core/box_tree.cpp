#include "box_tree.hpp"

#include <numeric>

namespace covey {

// ── splitting ───────────────────────────────────────────────────────────────────────────────────

namespace {

struct Cut {
    int attribute = -1;  // numbers first, then categories
    double value = 0.0;
    bool exact = false;  // whether that value stands alone

    bool is_first(double cell) const { return cell == value || (!exact && cell < value); }
};

double cell_of(const Cells &cells, i64 row, int attribute) {
    if (attribute < cells.intervals) return cells.number(row)[attribute];
    return double(cells.code(row)[attribute - cells.intervals]);
}

// The middle value, or the one before where no value is above it.
double lower_median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    double middle = values[(values.size() - 1) / 2];
    if (middle < values.back()) return middle;
    auto below = std::lower_bound(values.begin(), values.end(), middle);
    return below == values.begin() ? middle : *(below - 1);
}

// The most frequent code, to stand alone, or else the median.
Cut category_cut(int attribute, const std::vector<double> &codes) {
    double mode = codes[0];
    i64 most = 0;
    // The first code to reach the highest count is the mode.
    for (size_t i = 0; i < codes.size(); ++i) {
        i64 count = std::count(codes.begin(), codes.begin() + i + 1, codes[i]);
        if (count > most) most = count, mode = codes[i];
    }
    if (3 * most >= i64(codes.size())) return {attribute, mode, true};
    return {attribute, lower_median(codes), false};
}

// How much less two rows on the same side of a cut cost together than any two, by all pairs.
double gain_of(const Table &table, const Cut &cut, const std::vector<double> &values) {
    const Cells &cells = table.cells;
    i64 size = i64(values.size()), same = 0;
    double total = 0.0, within = 0.0;
    for (i64 one = 0; one < size; ++one) {
        for (i64 other = 0; other < one; ++other) {
            double loss;
            if (cut.attribute < cells.intervals) {
                double width = std::abs(values[one] - values[other]);
                loss = cells.weights[cut.attribute] * std::min(width, 1.0);
            } else {
                loss = table.forest.loss[table.forest.common_ancestor(i32(values[one]), i32(values[other]))];
            }
            total += loss;
            if (cut.is_first(values[one]) == cut.is_first(values[other])) within += loss, ++same;
        }
    }
    if (total <= 0.0) return -INF;
    return total / double(size * (size - 1) / 2) - (same > 0 ? within / double(same) : 0.0);
}

// The cut that leaves pairs of rows most alike, judged by a small sample.
Cut best_cut(const Table &table, const i32 *own, i64 count) {
    i64 size = std::min<i64>(table.shape.sample, count);
    int attributes = table.cells.intervals + table.cells.categories;
    std::vector<double> values(size);
    Cut choice;
    double best = -INF;
    for (int j = 0; j < attributes; ++j) {
        for (i64 i = 0; i < size; ++i) values[i] = cell_of(table.cells, own[i * count / size], j);
        Cut cut = j < table.cells.intervals ? Cut{j, lower_median(values), false} : category_cut(j, values);
        double gain = gain_of(table, cut, values);
        if (gain > best) best = gain, choice = cut;
    }
    return choice;
}

}  // namespace

Boxes split_into_boxes(const Table &table, std::vector<i32> rows, i64 most, const Watch &watch) {
    Boxes boxes;
    std::vector<int> depth;
    auto add = [&](i64 first, i64 last, i64 parent, int level) {
        boxes.first.push_back(i32(first)), boxes.last.push_back(i32(last));
        boxes.left.push_back(-1), boxes.parent.push_back(i32(parent));
        depth.push_back(level);
        boxes.deepest = std::max(boxes.deepest, level);
    };
    add(0, i64(rows.size()), -1, 0);
    for (size_t box = 0; box < boxes.first.size(); ++box) {
        i64 first = boxes.first[box], size = boxes.last[box] - first;
        if (size <= most) continue;
        watch.go_on();
        i32 *own = rows.data() + first;
        Cut cut = best_cut(table, own, size);
        i64 part = 0;
        if (cut.attribute >= 0) {
            auto is_first = [&](i32 row) { return cut.is_first(cell_of(table.cells, row, cut.attribute)); };
            part = std::stable_partition(own, own + size, is_first) - own;
        }
        if (part == 0 || part == size) part = size / 2;
        boxes.left[box] = i32(boxes.first.size());
        int level = depth[box] + 1;
        add(first, first + part, i64(box), level);
        add(first + part, first + size, i64(box), level);
    }
    boxes.rows = std::move(rows);
    return boxes;
}

// ── building ────────────────────────────────────────────────────────────────────────────────────

BoxTree::BoxTree(const Table &table, const Watch &watch, bool inner)
    : forest_(table.forest), intervals_(table.cells.intervals), categories_(table.cells.categories),
      bits_(table.shape.bits) {
    const Cells &cells = table.cells;
    std::vector<i32> everyone(cells.rows);
    std::iota(everyone.begin(), everyone.end(), 0);
    Boxes boxes = split_into_boxes(table, std::move(everyone), table.shape.leaf_rows, watch);
    i64 count = i64(boxes.first.size());
    rows_ = std::move(boxes.rows), first_ = std::move(boxes.first);
    left_ = std::move(boxes.left), parent_ = std::move(boxes.parent);
    place_.resize(cells.rows), leaf_.resize(cells.rows);
    numbers_.resize(cells.rows * intervals_), codes_.resize(cells.rows * categories_);
    for (i64 place = 0; place < cells.rows; ++place) {
        std::copy_n(cells.number(rows_[place]), intervals_, numbers_.data() + place * intervals_);
        std::copy_n(cells.code(rows_[place]), categories_, codes_.data() + place * categories_);
    }
    free_.resize(count), lowest_.resize(count);
    low_.resize(count * intervals_), high_.resize(count * intervals_);
    mask_.resize(count * categories_);
    stack_.resize(2 * boxes.deepest + 4), bounds_.resize(2 * boxes.deepest + 4);
    spread_bits(inner);
    for (i64 box = count - 1; box >= 0; --box) {
        free_[box] = boxes.last[box] - first_[box];
        if (left_[box] < 0) {
            lowest_[box] = free_[box] > 0 ? rows_[first_[box]] : 0;
            for (i32 i = first_[box]; i < first_[box] + free_[box]; ++i) {
                place_[rows_[i]] = i;
                leaf_[rows_[i]] = i32(box);
            }
        } else {
            lowest_[box] = std::min(lowest_[left_[box]], lowest_[left_[box] + 1]);
        }
        enclose(i32(box));
    }
}

// Give each leaf a bit, or each node if rows may be at inner ones. Neighbours share bits.
void BoxTree::spread_bits(bool inner) {
    bit_.assign(forest_.nodes, 0), touch_.assign(forest_.nodes, 0), cover_.assign(forest_.nodes, 0);
    std::vector<i32> under(forest_.nodes, 0), nodes;
    for (int tree = 0; tree < forest_.trees; ++tree) {
        i64 first = forest_.first[tree];
        i64 behind = tree + 1 < forest_.trees ? forest_.first[tree + 1] : forest_.nodes;
        nodes.resize((inner ? behind : first + forest_.leaves[tree]) - first);
        std::iota(nodes.begin(), nodes.end(), i32(first));
        std::stable_sort(nodes.begin(), nodes.end(), [&](i32 a, i32 b) {
            if (forest_.begin[a] != forest_.begin[b]) return forest_.begin[a] < forest_.begin[b];
            return forest_.depth[a] < forest_.depth[b];
        });
        i64 count = i64(nodes.size());
        auto bit_at = [&](i64 place) { return count <= bits_ ? place : place * bits_ / count; };
        for (i64 start = 0, end; start < count; start = end) {
            for (end = start + 1; end < count && bit_at(end) == bit_at(start);) ++end;
            u64 word = u64(1) << bit_at(start);
            // A node covers a bit when all that share it are under the node.
            for (i64 i = start; i < end; ++i) {
                bit_[nodes[i]] = word;
                for (int level = 0; level <= forest_.depth[nodes[i]]; ++level) {
                    i32 above = forest_.ancestor(nodes[i], level);
                    touch_[above] |= word;
                    if (++under[above] == end - start) cover_[above] |= word;
                }
            }
            for (i64 i = start; i < end; ++i)
                for (int level = 0; level <= forest_.depth[nodes[i]]; ++level)
                    under[forest_.ancestor(nodes[i], level)] = 0;
        }
    }
}

// Draw a box tightly around its free rows or its children; whether that changed it.
bool BoxTree::enclose(i32 box) {
    bool changed = false;
    i64 one = left_[box], begin = first_[box], end = begin + free_[box];
    for (int j = 0; j < intervals_; ++j) {
        double low = INF, high = -INF;
        if (one < 0) {
            for (i64 i = begin; i < end; ++i) {
                low = std::min(low, numbers_[i * intervals_ + j]);
                high = std::max(high, numbers_[i * intervals_ + j]);
            }
        } else {
            low = std::min(low_[one * intervals_ + j], low_[(one + 1) * intervals_ + j]);
            high = std::max(high_[one * intervals_ + j], high_[(one + 1) * intervals_ + j]);
        }
        i64 at = box * i64(intervals_) + j;
        changed |= low != low_[at] || high != high_[at];
        low_[at] = low, high_[at] = high;
    }
    for (int j = 0; j < categories_; ++j) {
        u64 word = 0;
        if (one < 0) {
            for (i64 i = begin; i < end; ++i) word |= bit_[codes_[i * categories_ + j]];
        } else {
            word = mask_[one * categories_ + j] | mask_[(one + 1) * categories_ + j];
        }
        i64 at = box * i64(categories_) + j;
        changed |= word != mask_[at];
        mask_[at] = word;
    }
    return changed;
}

void BoxTree::know_classes(const i32 *classes) {
    classes_.assign(first_.size(), 0);
    for (i64 box = i64(first_.size()) - 1; box >= 0; --box) {
        if (left_[box] >= 0) {
            classes_[box] = classes_[left_[box]] | classes_[left_[box] + 1];
            continue;
        }
        for (i32 i = first_[box]; i < first_[box] + free_[box]; ++i)
            classes_[box] |= u64(1) << (classes[rows_[i]] & 63);  // classes 64 apart share a bit
    }
}

void BoxTree::remove(i64 row) {
    i32 leaf = leaf_[row];
    i32 here = place_[row], there = first_[leaf] + free_[leaf] - 1;
    i32 other = rows_[there];
    rows_[here] = other, rows_[there] = i32(row);
    place_[other] = here, place_[row] = there;
    // The cells of the removed row are never read again, so they need not be kept.
    std::copy_n(numbers_.data() + there * i64(intervals_), intervals_, numbers_.data() + here * i64(intervals_));
    std::copy_n(codes_.data() + there * i64(categories_), categories_, codes_.data() + here * i64(categories_));
    for (i32 box = leaf; box >= 0; box = parent_[box]) free_[box] -= 1;
}

void BoxTree::move(i64 row, const double *numbers, const i32 *codes) {
    std::copy_n(numbers, intervals_, numbers_.data() + place_[row] * i64(intervals_));
    std::copy_n(codes, categories_, codes_.data() + place_[row] * i64(categories_));
    for (i32 box = leaf_[row]; box >= 0 && enclose(box);) box = parent_[box];
}

// ── searching ───────────────────────────────────────────────────────────────────────────────────

template <bool Squared>
double BoxTree::loss(const Scale &scale, const Seeker &seeker, i64 place) const {
    const double *numbers = numbers_.data() + place * intervals_;
    const i32 *codes = codes_.data() + place * categories_;
    double sum = 0.0;
    for (int j = 0; j < intervals_; ++j) {
        double above = seeker.high[j] > numbers[j] ? seeker.high[j] : numbers[j];
        double below = seeker.low[j] < numbers[j] ? seeker.low[j] : numbers[j];
        double width = above - below;
        if (Squared) width *= width;
        sum += scale.weights[j] * (width < scale.caps[j] ? width : scale.caps[j]);
    }
    if (seeker.price) {
        for (int j = 0; j < categories_; ++j) sum += seeker.price[codes[j]];
    } else {
        for (int j = 0; j < categories_; ++j)
            sum += forest_.loss[forest_.common_ancestor(seeker.node[j], codes[j])];
    }
    const ClassPrice &by_class = seeker.by_class;
    if (by_class.surcharge > 0.0 && by_class.classes[rows_[place]] != by_class.majority)
        sum += by_class.surcharge;
    return sum;
}

// What any free row of a box costs at least, or at most if `Far`.
template <bool Far, bool Squared>
double BoxTree::bound(const Scale &scale, const Seeker &seeker, i32 box) const {
    const double *bottom = low_.data() + box * i64(intervals_);
    const double *summit = high_.data() + box * i64(intervals_);
    double sum = 0.0;
    for (int j = 0; j < intervals_; ++j) {
        double low = seeker.low[j], high = seeker.high[j], width;
        if (Far) {
            // The wider of the two ways from the group to an end of the box.
            double upwards = (summit[j] > high ? summit[j] : high) - low;
            double downwards = high - (bottom[j] < low ? bottom[j] : low);
            width = upwards > downwards ? upwards : downwards;
        } else {
            width = (high > bottom[j] ? high : bottom[j]) - (low < summit[j] ? low : summit[j]);
        }
        if (Squared) width *= width;
        sum += scale.weights[j] * (width < scale.caps[j] ? width : scale.caps[j]);
    }
    const u64 *mask = mask_.data() + box * i64(categories_);
    for (int j = 0; j < categories_; ++j) {
        // Up from the group's node to the first that has a leaf of the box under it, or all of them.
        i32 node = seeker.node[j], at = node;
        int level = forest_.depth[node];
        while (Far ? (mask[j] & ~cover_[at]) != 0 : (mask[j] & touch_[at]) == 0)
            at = forest_.ancestor(node, --level);
        sum += forest_.loss[at];
    }
    const ClassPrice &by_class = seeker.by_class;
    if (by_class.surcharge > 0.0 && !(classes_[box] >> (by_class.majority & 63) & 1))
        sum += by_class.surcharge;
    return sum;
}

// To look far is to look for the least of negative losses, so boxes are then bounded from above.
template <bool Far, bool Squared>
i64 BoxTree::search(const Scale &scale, const Seeker &seeker) {
    double best = INF;
    i64 choice = size();
    int top = 1;
    stack_[0] = 0, bounds_[0] = -INF;
    while (top > 0) {
        i32 box = stack_[--top];
        if (bounds_[top] > best || (bounds_[top] == best && lowest_[box] > choice)) continue;
        if (left_[box] < 0) {
            for (i64 i = first_[box]; i < first_[box] + free_[box]; ++i) {
                double cost = loss<Squared>(scale, seeker, i);
                if (Far) cost = -cost;
                if (cost < best || (cost == best && rows_[i] < choice)) best = cost, choice = rows_[i];
            }
            continue;
        }
        int begin = top;
        for (i32 child = left_[box]; child < left_[box] + 2; ++child) {
            if (free_[child] == 0) continue;
            double least = bound<Far, Squared>(scale, seeker, child);
            if (Far) least = -least;
            if (least < best || (least == best && lowest_[child] < choice))
                stack_[top] = child, bounds_[top++] = least;
        }
        // The better child is looked at first, so it goes on top.
        if (top == begin + 2 &&
            (bounds_[begin] < bounds_[begin + 1] ||
             (bounds_[begin] == bounds_[begin + 1] && lowest_[stack_[begin]] < lowest_[stack_[begin + 1]]))) {
            std::swap(stack_[begin], stack_[begin + 1]);
            std::swap(bounds_[begin], bounds_[begin + 1]);
        }
    }
    return choice;
}

template i64 BoxTree::search<false, false>(const Scale &, const Seeker &);
template i64 BoxTree::search<false, true>(const Scale &, const Seeker &);
template i64 BoxTree::search<true, false>(const Scale &, const Seeker &);
template i64 BoxTree::search<true, true>(const Scale &, const Seeker &);

}  // namespace covey
