// How far a run has come, which a run that goes on takes over: times are multiples of the step, and substeps and looks
// at springs are counted, from step 0 on.
#pragma once

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

struct Progress {
  double origin = 0;  // time of step 0, which a run that goes on has long left behind
  double usual = 0;   // length of a step
  long base = 0;      // steps from there to the first node of this run
  long spent = 0;     // substeps of all steps
  long next_stiff_check = 0;

  double time_of(long step) const { return origin + static_cast<double>(base + step) * usual; }
  // this node is the first of all
  void restart(double now) {
    origin = now;
    base = spent = next_stiff_check = 0;
  }
};

}  // namespace catena::CATENA_ISA
