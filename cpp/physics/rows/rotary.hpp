// A rotary damper in the guise of three rows along the axes of the world, with its torque as multipliers
// (physics/rotary.hpp); bodies at rest do not feel it.
#pragma once

#include "physics/rotary.hpp"
#include "physics/rows/kind.hpp"

namespace catena::CATENA_ISA {

struct RotaryRows : RowsOf<RotaryRows> {
  static void before(const RowSite&, JointRows& rows) {
    const Vec3<double> zero = {0, 0, 0};
    for (int k = 0; k < 3; ++k) {
      rows.g[k] = 0;
      rows.w[k] = {zero, -world_axis(k)};
      rows.w[3 + k] = {zero, world_axis(k)};
    }
  }
  static void after(const RowSite& at, const RowMemory&, const LawState& state, JointRows& rows) {
    const double half = 0.5 * (at.clock.resting ? 0 : at.clock.dt) * at.c.parameter;
    const Quat<double>&a = at.body[at.c.end[0]].w, &b = at.body[at.c.end[1]].w;
    const Mat3<double> on_a = transpose(rotary_against_turn(a, half)), on_b = transpose(rotary_against_turn(b, half));
    const Vec3<double> zero = {0, 0, 0}, wanted = load3(state.lambda) + rotary_torque(a, b, half);
    store3(rows.g, wanted);
    for (int k = 0; k < 3; ++k) {
      rows.w[k] = {zero, -(on_a * world_axis(k))};
      rows.w[3 + k] = {zero, on_b * world_axis(k)};
    }
  }
};

}  // namespace catena::CATENA_ISA
