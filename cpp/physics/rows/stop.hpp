// A hard stop as a row (solve/stops.hpp): phi3 - bound = 0 while it is held, lambda = 0 while it is open. It measures
// one scalar between two bodies, or a sum of them.
#pragma once

#include "physics/rows/coupling.hpp"
#include "physics/stop.hpp"

namespace catena::CATENA_ISA {

struct StopRows : RowsOf<StopRows> {
  static const Stop& state_of(const RowSite& at) { return at.clock.stop[at.layout.law[at.c.item].stop]; }

  // rows of what a law measures, at the node or at the iterate; turns are counted on from those in `rows` and `before`
  static CATENA_INLINE void measure_before(const RowSite& of, JointRows& rows) {
    if (of.c.kind == JointKind::coupling) return CouplingRows::before(of, rows);
    PlainRows::before(of, rows);
  }
  static CATENA_INLINE void measure_after(const RowSite& of, const RowMemory& before, JointRows& rows) {
    if (of.c.kind == JointKind::coupling) return CouplingRows::after(of, before, {}, rows);
    PlainRows::measure(of, before, rows);
  }
  static RowSite measured(const RowSite& at) {
    return {at.layout, at.layout.law[at.c.item].measure, at.body, at.clock};
  }

  static CATENA_INLINE void before(const RowSite& at, JointRows& rows) { measure_before(measured(at), rows); }
  static CATENA_INLINE void after(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows) {
    measure_after(measured(at), before, rows);
    const Stop& stop = state_of(at);
    if (stop.held) {
      rows.g[0] = at.clock.resting ? -stop.rate : rows.g[0] - stop.bound;
      return;
    }
    rows.g[0] = *state.lambda;
    for (int e = 0; e < at.c.end_count; ++e) rows.w[e] = {{0, 0, 0}, {0, 0, 0}};
  }
};
// whether a row holds its own multiplier and nothing else does: that of a force, or of a stop that is open
CATENA_INLINE bool holds_multiplier(const RowSite& at) {
  return at.c.acts() && !(at.c.rows == RowKind::stop && StopRows::state_of(at).held);
}

}  // namespace catena::CATENA_ISA
