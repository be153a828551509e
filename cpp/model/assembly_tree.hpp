// What an assembly works on (simulate/trust_region.hpp): a tree of joints that are kept closed, the caller's choice and
// not that of the solvers, and the joints, couplings and bounds that are to be closed by moving it.
#pragma once

#include <vector>

#include "model/layout.hpp"

namespace catena {

// a link that hangs on its parent by a joint of the tree, parents first
struct ClosingBranch {
  int constraint;  // -1: it floats, and stands in the world
  int parent, child;
  int above;                     // the branch that carries the parent, -1 if it is the world
  bool flipped;                  // the child is the joint's body a
  int first_freedom;             // of the tree's
  int freedom_count;             // turns and slides, three each of a swivel and a shift
  int first_strand, end_strand;  // in `passing`, by loop
};
// what is to be closed: a joint or coupling, or one coordinate of the tree that is to stay within bounds
struct ClosingLoop {
  int constraint;  // -1 for a bound
  int bound;
  int row, row_count;  // its first among all that are to be closed
  int first_loop;      // the first of all with which it shares a joint
  int first_row;       // and its first row
  Offset first_entry;  // of the matrix, which is kept from there to the diagonal, row by row
  int first_strand, end_strand;
};
// a loop that passes through a branch
struct ClosingStrand {
  int loop, branch;
  unsigned ends;       // bit e: end e lies beyond the branch
  Offset first_share;  // (row, freedom) what a unit of each freedom does to each row
};
struct ClosingBound {
  int freedom;
  double lower, upper, start;
};

struct ClosingPlan {
  int branch_count, loop_count, row_count, freedom_count, strand_count;
  Offset entry_count, share_count;
  double work;  // multiplications of a factorisation
  const ClosingBranch* branch;
  const ClosingLoop* loop;
  const ClosingStrand* strand;  // by loop
  const int* passing;           // strands by branch
  const ClosingBound* bound;
};

// owns what ClosingPlan points to
class Closing {
 public:
  // a branch is a joint of the user's, or -1, its body, and what carries that, -1 for the world; `chosen` (joint,
  // coupling) are to be closed; a bound is a branch and one of its freedoms
  struct Bound {
    int branch, freedom;
    double lower, upper, start;
  };
  Closing(const Layout& layout, const int* branches, int branch_count, const int* chosen,
          const std::vector<Bound>& bounds);
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  const ClosingPlan& plan() const { return plan_; }

 private:
  ClosingPlan plan_{};
  std::vector<ClosingBranch> branches_;
  std::vector<ClosingLoop> loops_;
  std::vector<ClosingStrand> strands_;
  std::vector<int> passing_;
  std::vector<ClosingBound> bounds_;
};

}  // namespace catena
