// Joint angles whose turns are counted, followed as often as that needs.
#pragma once

#include <algorithm>

#include "args/run.hpp"
#include "physics/rows/constraint.hpp"

namespace catena::CATENA_ISA {

// Angles where links stand; fast ones are followed by what the last step has turned links, eta of their w.
template <class PoseOf, class TurnOf>
void count_angles(const Layout& layout, int count, bool fast, PoseOf pose, TurnOf turn, double* counted) {
  const auto turned = [&](int i) { return i < 0 ? Vec3<double>{0, 0, 0} : turn(i); };
  for (int k = 0; k < count; ++k) {
    const ConstraintInfo& m = layout.counter[k];
    const Pose<double> a = pose(m, 0);
    const double since = fast ? angle_turned(m, a, turned(m.end[0]), turned(m.end[1])) : 0;
    counted[k] = angle_near(m, a, pose(m, 1), counted[k] + since);
  }
}

struct Turns {
  const Layout& layout;
  const RunArgs& args;
  double* counted;   // (counter) angles
  double wound = 0;  // no two bodies have turned further against each other since then

  void enter() {
    for (int k = 0; k < layout.counter_count; ++k) counted[k] = k < args.counter_count ? args.counter_start[k] : 0;
    wound = at_start;
  }
  // a step has been taken
  void wind(const Body<double>* body) {
    if (args.counter_count == 0) return;
    double least = 1;
    for (int i = 0; i < layout.link_count; ++i) least = std::min(least, body[i].w.w);
    wound += turn_bound(least);
  }
  bool are_due() const { return wound > count_after; }
  void count(const Body<double>* body, const Clock& clock) {
    const bool fast = wound > fast_turn;
    wound = 0;
    count_angles(
        layout, args.counter_count, fast,
        [&](const ConstraintInfo& m, int e) { return pose_before(m, e, body, clock); },
        [&](int i) { return vector_part(body[i].w); }, counted);
  }
};

}  // namespace catena::CATENA_ISA
