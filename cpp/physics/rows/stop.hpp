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
  // the gap of a pair of features, at the node or at the iterate
  static CATENA_INLINE void shape_rows(const RowSite& of, const Stop& stop, bool at_end, JointRows& rows) {
    const auto pose = [&](int e) { return at_end ? new_pose(of.body, of.c.end[e]) : old_pose(of.body, of.c.end[e]); };
    const Pose<double> a = pose(0), b = pose(1);
    // without any, some direction, which nothing acts along
    Touching<double> t = {no_gap, {0, 0, 1}, b.x};
    if (stop.slot.present != 0) t = touching(stop.feature, a, b);
    rows.point = t.point;
    rows.put(of.c, 0, t.gap, {-t.normal, -cross(t.point - a.x, t.normal)}, {t.normal, cross(t.point - b.x, t.normal)},
             {t.normal, {0, 0, 0}});
  }
  static RowSite measured(const RowSite& at) {
    return {at.layout, at.layout.law[at.c.item].measure, at.body, at.clock};
  }

  static CATENA_INLINE void before(const RowSite& at, JointRows& rows) {
    if (state_of(at).shaped) return shape_rows(measured(at), state_of(at), false, rows);
    measure_before(measured(at), rows);
  }
  static CATENA_INLINE void after(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows) {
    const Stop& stop = state_of(at);
    if (stop.shaped)
      shape_rows(measured(at), stop, true, rows);
    else
      measure_after(measured(at), before, rows);
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
