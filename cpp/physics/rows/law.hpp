// A force along a measure in the guise of a row (physics/law.hpp): lambda - what the law wants of it = 0.
#pragma once

#include "physics/law.hpp"
#include "physics/rows/kind.hpp"

namespace catena::CATENA_ISA {

struct LawRows : RowsOf<LawRows> {
  static CATENA_INLINE void before(const RowSite& at, JointRows& rows) { PlainRows::before(at, rows); }
  static CATENA_INLINE void after(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows) {
    PlainRows::measure(at, before, rows);
    const LawInfo& law = at.layout.law[at.c.item];
    const double phi2 = before.g[0];
    double slope;
    rows.g[0] = *state.lambda -
                law_multiplier<double>(law, phi2, rows.g[0] - phi2, stage_of(law, at.clock), state.momentum, slope);
    for (int e = 0; e < 2; ++e) rows.w[e] = {-slope * rows.w[e].f, -slope * rows.w[e].t};
  }
};

}  // namespace catena::CATENA_ISA
