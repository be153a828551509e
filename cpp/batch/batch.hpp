// Many runs of one mechanism: members share the layout, threads take them in groups, each into its own part of the
// caller's arrays. What a member computes does not depend on which thread takes it, nor on its neighbours.
#pragma once

#include "batch/member.hpp"
#include "kernel/kernel.hpp"

namespace catena {

// Arrays begin with the axis (member).
struct BatchArgs {
  RunArgs run;  // what all members have in common; its pointers to states, loads and records are those of member 0
  int member_count = 0, threads = 1;

  MemberNumbers numbers = {};
  bool own_loads = false;       // values of loads differ
  const int* absent = nullptr;  // (member) 1 if it has no pose to start from

  int body_count = 0;           // recorded
  const int* bodies = nullptr;  // (recorded) the user's index
  Offset records = 0;           // room of a member
  Offset term_count = 0;        // of all couplings

  Status* status = nullptr;
  Tally* tally = nullptr;
  // called by the calling thread several times a second with the number of members done; false stops
  bool (*poll)(void* context, int done) = nullptr;
};

void run_batch(const Kernel& kernel, const Layout& layout, BatchArgs& args);

}  // namespace catena
