// The least of many rows, in a heap with the greatest of them on top.
#pragma once

#include <utility>

#include "core.hpp"

namespace covey {

class Least {
  public:
    explicit Least(i64 room = 0) { start(room); }

    // Forget all rows, and make room for so many.
    void start(i64 room) {
        room_ = size_t(room);
        heap_.clear();
    }

    // A row stays while fewer than `room` others have a lower key, or the same key and a lower number.
    void offer(double key, i64 row) {
        Entry entry{key, i32(row)};
        if (heap_.size() == room_) {
            if (room_ == 0 || !(entry < heap_.front())) return;
            std::pop_heap(heap_.begin(), heap_.end());
            heap_.pop_back();
        }
        heap_.push_back(entry);
        std::push_heap(heap_.begin(), heap_.end());
    }

    // No row with a higher key stays.
    double limit() const { return heap_.size() < room_ ? INF : heap_.front().first; }

    using Entry = std::pair<double, i32>;  // key and row
    const std::vector<Entry> &entries() const { return heap_; }  // in no particular order

  private:
    size_t room_;
    std::vector<Entry> heap_;
};

}  // namespace covey
