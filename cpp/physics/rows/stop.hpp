// A hard stop as a row (solve/stops.hpp): phi3 - bound = 0 while it is held, lambda = 0 while it is open.
#pragma once

#include "physics/rows/kind.hpp"
#include "physics/stop.hpp"

namespace catena::CATENA_ISA {

struct StopRows : RowsOf<StopRows> {
  static const Stop& state_of(const RowSite& at) { return at.clock.stop[at.layout.law[at.c.item].stop]; }
  static CATENA_INLINE void before(const RowSite& at, JointRows& rows) { PlainRows::before(at, rows); }
  static CATENA_INLINE void after(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows) {
    PlainRows::measure(at, before, rows);
    const Stop& stop = state_of(at);
    if (stop.held) {
      rows.g[0] = at.clock.resting ? -stop.rate : rows.g[0] - stop.bound;
      return;
    }
    rows.g[0] = *state.lambda;
    for (int e = 0; e < 2; ++e) rows.w[e] = {{0, 0, 0}, {0, 0, 0}};
  }
};
// whether a row holds its own multiplier and nothing else does: that of a force, or of a stop that is open
CATENA_INLINE bool holds_multiplier(const RowSite& at) {
  return at.c.acts() && !(at.c.rows == RowKind::stop && StopRows::state_of(at).held);
}

}  // namespace catena::CATENA_ISA
