// Groups that grow by the free rows that cost them least: k-member, systematic and GAA-CP.
#pragma once

#include "box_tree.hpp"
#include "fenwick.hpp"
#include "prices.hpp"
#include "summaries.hpp"

namespace covey {

// Where the next group starts: at the row furthest from another one, at a random row, or as given.
enum class SeedRule { last, seed, first, random, given };

class Growth {
  public:
    // `classes` may be null. Rows that cost a group another class than its majority pay `penalty`.
    Growth(const Table &table, i64 k, const i32 *classes, double penalty, const Watch &watch);

    // Greedy k-member clustering, from a reference row or random numbers (one for each group).
    void k_member(SeedRule rule, i64 start, const double *picks, Watch &watch);

    // The same from given seeds, which are set apart.
    void from_seeds(const i64 *seeds, Watch &watch);

    // Groups that take in all the nearest rows at once.
    void in_shells(const double *picks, Watch &watch);

    // Put each row that is left, in this order if there is one, into the group whose loss it raises least.
    void place_leftovers(const i64 *order, bool penalise, Watch &watch);

    std::vector<i64> labels;

  private:
    i64 find(i64 group, bool far, double surcharge);
    i64 seed(SeedRule rule, i64 group, i64 reference, const double *picks);
    void fill(i64 group, i64 &reference, SeedRule rule);
    void take_shell(i64 group);
    void release(i64 row);
    void join(i64 group, i64 row);
    void count_class(i64 group, i32 label);
    void recount_majority(i64 group, i32 label);
    i64 cheapest_group(i64 row, bool penalise);

    Cells cells_;
    Forest forest_;
    i64 k_, formed_ = 0;
    const i32 *classes_;
    double penalty_;
    BoxTree tree_;
    Fenwick ranks_;  // free rows by number
    Summaries summaries_;
    Prices prices_;
    std::vector<double> caps_;
    std::vector<i32> majority_;  // (groups,) class of most members
    std::vector<i64> tally_;     // (classes,) members of the growing group
    std::vector<i64> shell_;
};

}  // namespace covey
