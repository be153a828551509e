// Joint angles whose turns are counted, followed as often as that needs.
#pragma once

#include <algorithm>

#include "args/run.hpp"
#include "physics/rows/constraint.hpp"

namespace catena::CATENA_ISA {

// by how much a step has turned a measured angle, from the vector parts of the step quaternions
CATENA_INLINE double angle_turned(const ConstraintInfo& m, const Pose<double>& a, Vec3<double> turn_a,
                                  Vec3<double> turn_b) {
  const Vec3<double> e = a.R * load3(m.frame_a + 6);
  return 2 * (std::asin(dot(e, turn_b)) - std::asin(dot(e, turn_a)));
}

// Turns of joint angles are counted when two bodies may have turned against each other by `count_after` (rad) since the
// last time; if by more than `fast_turn`, they are followed by what the last step turned them.
// Angles that a run begins with may be as far from the truth: they are counted at once.
constexpr double count_after = 2, at_start = 2.5, fast_turn = 3;

// no two bodies turn further against each other in a step: 4 acos(c), a little more, if c is the least cosine of half
// a turn; asin(s) <= s + (pi/2 - 1) s^3
CATENA_INLINE double turn_bound(double c) {
  const double square = 1 - c * c, s = square > 0 ? std::sqrt(square) : 0;
  return 4 * s * (1 + 0.5708 * square);
}

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
