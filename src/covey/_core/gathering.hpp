// A new group of rows that lose more where they are.
//
// A pool of neighbouring groups holds few rows that have most cells in common. A gathering looks at
// all groups of a block: it starts a box at one row and widens it where that brings in most rows.
#pragma once

#include "partition.hpp"

namespace covey {

template <bool Marked> class Gathering {
  public:
    using Parts = Partition<Marked>;

    // Form a group around a row in a place that is empty. It is undone unless all groups together then
    // cost less than before plus what is allowed. Rules are not minded.
    void gather(Parts &parts, i64 seed, i64 place, double allowed);

  private:
    // A row that may gain, and what it loses in its group.
    struct Candidate {
        i64 row;
        double now;
    };
    // In how many attributes a row does not fit, the last of them, and what they would add to the loss.
    struct Misses {
        int count = 0, last = 0;
        double rise = 0.0;
    };
    // What it takes to widen the box in one direction, for rows of about the same rise.
    struct Widening {
        i64 count = 0, furthest = NOBODY;
        double gain = 0.0;  // what the rows would save as the box is
        double rise = 0.0;  // of the loss, for the furthest of them
    };
    // A group that keeps less than k rows if it gives all that should come.
    struct Donor {
        i64 group, rows;
    };
    struct Move {
        i64 row, from, to;
    };

    void start(const Parts &parts, i64 seed);
    bool widen(const Parts &parts);
    i64 survey(const Block &rows);
    i64 best_widening(i64 fitting, i64 k) const;
    i64 nearest(const Block &rows) const;
    void include(const Block &rows, i64 row);

    void take_spare(Parts &parts, i64 place);
    void dissolve(Parts &parts, const Donor &donor, i64 place, double allowed);
    void move(Parts &parts, i64 row, i64 to);
    void undo(Parts &parts);

    double part(const Block &rows, int attribute, i64 row) const;
    Misses missed(const Block &rows, i64 row) const;
    bool fits(const Block &rows, i64 row) const { return missed(rows, row).count == 0; }
    Hull box() const { return {low_.data(), high_.data(), first_.data(), last_.data()}; }

    std::vector<double> low_, high_;
    std::vector<i32> first_, last_;
    std::vector<double> parts_;  // (attributes,) of the loss of the box
    double loss_ = 0.0, limit_ = 0.0;  // of the box; it must stay below what the first row loses now
    std::vector<Candidate> candidates_;
    std::vector<Widening> widenings_;  // (directions, classes of rises)
    std::vector<i64> wanted_;
    std::vector<Donor> donors_;
    std::vector<Move> homes_, moves_;
};

}  // namespace covey
