// Fewer rows than a joint has: constant combinations of them.
#pragma once

#include "physics/rows/kind.hpp"

namespace catena::CATENA_ISA {

// rows of any kind (rows/constraint.hpp)
inline void rows_before(const RowSite& at, JointRows& rows);
inline void rows_after(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows);
inline double gaps_after(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows);

// the joint with all its rows
inline const ConstraintInfo& whole_of(const Layout& layout, const ConstraintInfo& c) {
  return c.rows == RowKind::combination ? layout.reduction[c.item].whole : c;
}

// of a joint's gaps what is asked for, and how much is not (rad, or parts of the bodies' size)
CATENA_INLINE double combine_gaps(const Layout& layout, const ConstraintInfo& c, const double* whole, double* active) {
  const ReductionInfo& reduction = layout.reduction[c.item];
  const int count = reduction.whole.row_count;
  double rest[6];
  for (int r = 0; r < count; ++r) rest[r] = whole[r] / reduction.weight[r];
  for (int k = 0; k < c.row_count; ++k) {
    active[k] = 0;
    for (int r = 0; r < count; ++r) active[k] += reduction.combination[k * count + r] * whole[r];
    for (int r = 0; r < count; ++r) rest[r] -= active[k] * reduction.combination[k * count + r] * reduction.weight[r];
  }
  double square = 0;
  for (int r = 0; r < count; ++r) square += rest[r] * rest[r];
  return std::sqrt(square);
}

struct CombinedRows : RowsOf<CombinedRows> {
  static void before(const RowSite& at, JointRows& rows) {
    JointRows whole;
    static_cast<RowMemory&>(whole) = rows;
    rows_before(site_of_whole(at), whole);
    combine(at, whole, rows);
  }
  static void after(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows) {
    JointRows whole;
    rows_after(site_of_whole(at), before, state, whole);
    combine(at, whole, rows);
  }
  static double gaps(const RowSite& at, const RowMemory& before, const LawState& state, JointRows& rows) {
    JointRows whole;
    gaps_after(site_of_whole(at), before, state, whole);
    return combine_gaps(at.layout, at.c, whole.g, rows.g);
  }

 private:
  static RowSite site_of_whole(const RowSite& at) {
    return {at.layout, at.layout.reduction[at.c.item].whole, at.body, at.clock};
  }
  static void combine(const RowSite& at, const JointRows& whole, JointRows& rows) {
    const ReductionInfo& reduction = at.layout.reduction[at.c.item];
    const int count = reduction.whole.row_count;
    rows.angle[0] = whole.angle[0];
    rows.point = whole.point;
    const Wrench<double> none = {{0, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < at.c.row_count; ++k) {
      double gap = 0;
      Wrench<double> sum[3] = {none, none, none};
      const Wrench<double>* from[3] = {whole.w, whole.w + count, whole.at_point};
      for (int r = 0; r < count; ++r) {
        const double factor = reduction.combination[k * count + r];
        gap += factor * whole.g[r];
        for (int e = 0; e < 3; ++e) {
          sum[e].f += factor * from[e][r].f;
          sum[e].t += factor * from[e][r].t;
        }
      }
      rows.put(at.c, k, gap, sum[0], sum[1], sum[2]);
    }
  }
};

// multipliers of a constraint as those of all rows of its joint, times `scale`, to where they are recorded
CATENA_INLINE void record_multipliers(const Layout& layout, const ConstraintInfo& c, double scale, const double* lambda,
                                      double* out) {
  if (c.recorded < 0) return;
  out += c.recorded;
  if (c.rows != RowKind::combination) {
    for (int k = 0; k < c.row_count; ++k) out[k] = scale * lambda[k];
    return;
  }
  const ReductionInfo& reduction = layout.reduction[c.item];
  const int count = reduction.whole.row_count;
  for (int r = 0; r < count; ++r) {
    out[r] = 0;
    for (int k = 0; k < c.row_count; ++k) out[r] += scale * reduction.combination[k * count + r] * lambda[k];
  }
}

}  // namespace catena::CATENA_ISA
