// Couplings: g = sum of coefficient x measure - offset - signal, a measure being an angle or a slide.
#pragma once

#include "physics/rows/kind.hpp"

namespace catena::CATENA_ISA {

struct CouplingRows : RowsOf<CouplingRows> {
  static CATENA_INLINE void first(const RowSite& at, RowMemory& rows) {
    each_term(at.c, [&](int t) { rows.angle[t] = at.layout.term[at.c.item + t].measure.parameter; });
  }
  static void before(const RowSite& at, JointRows& rows) {
    sum(at, [&](int i) { return old_pose(at.body, i); }, rows.angle, rows);
    if (at.c.signal >= 0) rows.g[0] -= at.clock.now[at.c.signal];
  }
  static void after(const RowSite& at, const RowMemory& before, const LawState&, JointRows& rows) {
    const auto& [layout, c, body, clock] = at;
    sum(at, [&](int i) { return new_pose(at.body, i); }, before.angle, rows);
    if (c.signal < 0) return;
    const double rate = clock.resting && !clock.frozen ? clock.rate[c.signal] : 0;
    rows.g[0] -= clock.resting ? clock.now[c.signal] + rate : clock.end[c.signal];
  }

  template <class F>
  static CATENA_INLINE void each_term(const ConstraintInfo& c, F&& use) {
    for (int t = 0; 2 * t < c.end_count; ++t) use(t);
  }

 private:
  template <class PoseOf>
  static CATENA_INLINE void sum(const RowSite& at, PoseOf&& pose, const double* recent, JointRows& rows) {
    rows.g[0] = -at.c.parameter;
    each_term(at.c, [&](int t) {
      const TermInfo& term = at.layout.term[at.c.item + t];
      JointRows one;
      one.angle[0] = recent[t];
      joint_rows(term.measure, pose(term.measure.end[0]), pose(term.measure.end[1]), recent[t], one);
      rows.angle[t] = one.angle[0];
      rows.g[0] += term.coefficient * one.g[0];
      for (int e = 0; e < 2; ++e) rows.w[2 * t + e] = {term.coefficient * one.w[e].f, term.coefficient * one.w[e].t};
    });
  }
};

// terms of a coupling are told where they stand
CATENA_INLINE void count_terms(const ConstraintInfo& c, const double* term_start, RowMemory& rows) {
  if (c.rows != RowKind::coupling) return;
  CouplingRows::each_term(c, [&](int t) { rows.angle[t] = term_start[c.item + t]; });
}

}  // namespace catena::CATENA_ISA
