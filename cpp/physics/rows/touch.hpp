// A contact with friction as three rows (physics/touch.hpp), in metres: F/r, whose derivatives by the multipliers are
// S/r. One that takes no part holds its multipliers at zero.
#pragma once

#include "physics/rows/kind.hpp"
#include "physics/touch.hpp"

namespace catena::CATENA_ISA {

struct TouchRows : RowsOf<TouchRows> {
  static Touch& state_of(const RowSite& at) { return at.clock.touch[at.layout.law[at.c.item].touch]; }

  static void first(const RowSite&, RowMemory& rows) { rows.angle[0] = 0; }
  static void before(const RowSite& at, JointRows& rows) {
    Touch& touch = state_of(at);
    touch.place(at.layout, at.body);
    for (int k = 0; k < 3; ++k) {
      rows.g[k] = 0;
      for (int e = 0; e < 2; ++e) rows.w[3 * e + k] = touch.force[e][k];
    }
  }
  static void after(const RowSite& at, const RowMemory&, const LawState& state, JointRows& rows) {
    const Touch& touch = state_of(at);
    for (int k = 0; k < 3; ++k) {
      const double per = touch.takes ? 1 / touch.resistance[k] : 1;
      rows.g[k] = touch.takes ? per * touch.residual[k] : state.lambda ? state.lambda[k] : 0;
      for (int e = 0; e < 2; ++e) {
        const Wrench<double> w =
            touch.takes ? touch.combined(touch.law_there.K[k], e) : Wrench<double>{{0, 0, 0}, {0, 0, 0}};
        rows.w[3 * e + k] = {per * w.f, per * w.t};
      }
    }
  }
  // of a row, by the three multipliers
  static Vec3<double> by_multipliers(const RowSite& at, int k) {
    const Touch& touch = state_of(at);
    if (!touch.takes) return k == 0 ? Vec3<double>{1, 0, 0} : k == 1 ? Vec3<double>{0, 1, 0} : Vec3<double>{0, 0, 1};
    const double per = 1 / touch.resistance[k], *S = touch.law_there.S[k];
    return {per * S[0], per * S[1], per * S[2]};
  }
};

// normal force and the whole force on b in the world's frame, where a unit of a multiplier is `scale`
inline void record_touch(const Layout& layout, const Touch& touch, double scale, const double* lambda, double* out) {
  const LawInfo& law = layout.law[touch.law];
  const Vec3<double> force = touch.takes ? scale * touch.along_directions(lambda) : Vec3<double>{0, 0, 0};
  out[layout.constraint[law.constraint].recorded] = touch.takes ? scale * lambda[0] : 0;
  store3(out + law.recorded_force, force);
}

}  // namespace catena::CATENA_ISA
