// Every constraint as rows on its ends: before the step, where they are directions of forces, and after it, where they
// must vanish. Most are joints; the others are
//
// clang-format off
//     joints to moving ground  the world's side has a pose that is a function of time;
//     couplings                g = sum of coefficient x measure - offset - signal, a measure being an angle or a slide;
//     velocities               rolling, blades (physics/rows/rolling.hpp), and the user's own rows, A(pose) v = b(t);
//     the user's own rows      g(pose of a, pose of b), by a function;
//     laws, rotary dampers     forces in the guise of rows (physics/law.hpp, physics/rotary.hpp).
// clang-format on
//
// In a projection of velocities the rows after the step are those before it, and g is what time alone does to them.
// Where poses are put together time stands still (`clock.frozen`), and velocity rows take no part.
#pragma once

#include "physics/law.hpp"
#include "physics/rotary.hpp"
#include "physics/rows/rolling.hpp"

namespace catena::CATENA_ISA {

// pose of moving ground from seven signals, and its velocity from their derivatives
CATENA_INLINE Quat<double> ground_turn(const double* signal) {
  return renormalised(Quat<double>{signal[3], load3(signal + 4)});
}
CATENA_INLINE Pose<double> ground_pose(const double* signal) { return {load3(signal), matrix(ground_turn(signal))}; }
CATENA_INLINE Wrench<double> ground_velocity(const double* signal, const double* rate) {
  const Quat<double> q = ground_turn(signal);
  const Quat<double> w = Quat<double>{rate[3], load3(rate + 4)} * Quat<double>{q.w, -q.v};
  return {load3(rate), 2.0 * w.v};
}

CATENA_INLINE Pose<double> pose_before(const ConstraintInfo& c, int e, const Body<double>* body, const Clock& clock) {
  return c.end[e] >= 0 || c.ground < 0 ? old_pose(body, c.end[e]) : ground_pose(clock.now + c.ground);
}
CATENA_INLINE Pose<double> pose_after(const ConstraintInfo& c, int e, const Body<double>* body, const Clock& clock) {
  if (c.end[e] >= 0 || c.ground < 0) return new_pose(body, c.end[e]);
  return ground_pose((clock.resting ? clock.now : clock.end) + c.ground);
}
CATENA_INLINE Passage passage_of(const ConstraintInfo& c, int e, const Body<double>* body, const Clock& clock) {
  const int i = c.end[e];
  if (i >= 0) return passage({body[i].x, body[i].R}, body[i].d, body[i].w);
  if (c.ground < 0) return passage(world_pose(), {0, 0, 0}, {1, {0, 0, 0}});
  const double* now = clock.now + c.ground;
  if (clock.resting) {
    if (clock.frozen) return passage(ground_pose(now), {0, 0, 0}, {1, {0, 0, 0}});
    const Wrench<double> v = ground_velocity(now, clock.rate + c.ground);
    Passage p = passage(ground_pose(now), {0, 0, 0}, {1, {0, 0, 0}});
    p.d = v.f;
    p.w = v.t;
    return p;
  }
  const double* end = clock.end + c.ground;
  const Quat<double> from = ground_turn(now);
  Quat<double> by = ground_turn(end) * Quat<double>{from.w, -from.v};
  if (by.w < 0) by = {-by.w, -by.v};
  return passage(ground_pose(now), load3(end) - load3(now), by);
}

// the user's function, at the poses of a and b
inline void given_rows(const Layout& layout, const ConstraintInfo& c, const Pose<double>& a, const Pose<double>& b,
                       double* gap, double* gradient) {
  double poses[14];
  store3(poses, a.x);
  store_quat(poses + 3, quaternion(a.R));
  store3(poses + 7, b.x);
  store_quat(poses + 10, quaternion(b.R));
  layout.hook.call(layout.hook.context, c.hook, poses, gap, gradient);
}
CATENA_INLINE void take_gradient(const ConstraintInfo& c, const double* gradient, JointRows& rows, Vec3<double> x_b) {
  rows.point = x_b;
  for (int k = 0; k < c.row_count; ++k)
    for (int e = 0; e < 2; ++e) {
      const double* p = gradient + 12 * k + 6 * e;
      rows.w[e * c.row_count + k] = {load3(p), load3(p + 3)};
      if (e == 1) rows.at_point[k] = rows.w[e * c.row_count + k];
    }
}

// the user's velocity rows over a step; how A changes with the pose by differences
inline void given_slip(const Layout& layout, const ConstraintInfo& c, const Passage& a, const Passage& b,
                       const Clock& clock, JointRows& rows) {
  const Passage* side[2] = {&a, &b};
  double gap[6], gradient[72];
  const auto slip = [&](const Pose<double>& pa, const Pose<double>& pb, double* out) {
    given_rows(layout, c, pa, pb, gap, gradient);
    for (int k = 0; k < c.row_count; ++k) {
      const double* p = gradient + 12 * k;
      out[k] = dot(load3(p), a.d) + dot(load3(p + 3), a.w) + dot(load3(p + 6), b.d) + dot(load3(p + 9), b.w);
    }
  };
  slip(a.middle, b.middle, rows.g);
  take_gradient(c, gradient, rows, b.middle.x);
  const double* wanted = clock.resting ? clock.now : clock.middle;
  for (int k = 0; k < c.row_count && c.signal >= 0; ++k) rows.g[k] -= clock.dt * wanted[c.signal + k];
  if (clock.resting) return;
  constexpr double step = 1e-6;
  for (int e = 0; e < 2; ++e) {
    Wrench<double> u[6];
    double by_axis[6][6], low[6], high[6];
    for (int axis = 0; axis < 6; ++axis) {
      for (const double sign : {-1.0, 1.0}) {
        Pose<double> moved = side[e]->middle;
        const double h = sign * step;
        const Vec3<double> n = {axis % 3 == 0 ? h : 0, axis % 3 == 1 ? h : 0, axis % 3 == 2 ? h : 0};
        if (axis < 3) {
          moved.x += n;
        } else {
          const Quat<double> q = renormalised(Quat<double>{1, 0.5 * n});
          const Mat3<double> R = moved.R;
          moved.R = {R.i + turn(q, R.i), R.j + turn(q, R.j), R.k + turn(q, R.k)};
        }
        slip(e == 0 ? moved : a.middle, e == 1 ? moved : b.middle, sign < 0 ? low : high);
      }
      for (int k = 0; k < c.row_count; ++k) by_axis[k][axis] = (high[k] - low[k]) / (2 * step);
    }
    for (int k = 0; k < c.row_count; ++k) {
      u[k] = {load3(by_axis[k]), load3(by_axis[k] + 3)};
      Wrench<double>& w = rows.w[e * c.row_count + k];
      w = row_at_end(*side[e], w, u[k]);
    }
  }
}

// terms of a coupling, in the poses of its ends
template <class PoseOf>
inline void coupling_rows(const Layout& layout, const ConstraintInfo& c, PoseOf&& pose, const double* recent,
                          JointRows& rows) {
  rows.g[0] = -c.parameter;
  for (int t = 0; 2 * t < c.end_count; ++t) {
    const TermInfo& term = layout.term[c.first_term + t];
    JointRows one;
    one.angle[0] = recent[t];
    joint_rows(term.measure, pose(term.measure.end[0]), pose(term.measure.end[1]), recent[t], one);
    rows.angle[t] = one.angle[0];
    rows.g[0] += term.coefficient * one.g[0];
    for (int e = 0; e < 2; ++e) rows.w[2 * t + e] = {term.coefficient * one.w[e].f, term.coefficient * one.w[e].t};
  }
}

// fewer rows than the joint has: constant combinations of them
inline void combine_rows(const Layout& layout, const ConstraintInfo& c, const JointRows& whole, JointRows& rows) {
  const ReductionInfo& reduction = layout.reduction[c.reduction];
  const int count = reduction.whole.row_count;
  rows.angle[0] = whole.angle[0];
  rows.point = whole.point;
  const Wrench<double> none = {{0, 0, 0}, {0, 0, 0}};
  for (int k = 0; k < c.row_count; ++k) {
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
    rows.put(c, k, gap, sum[0], sum[1], sum[2]);
  }
}

// multipliers of a constraint as those of all rows of its joint, times `scale`, to where they are recorded
CATENA_INLINE void record_multipliers(const Layout& layout, const ConstraintInfo& c, double scale, const double* lambda,
                                      double* out) {
  if (c.recorded < 0) return;
  out += c.recorded;
  if (c.reduction < 0) {
    for (int k = 0; k < c.row_count; ++k) out[k] = scale * lambda[k];
    return;
  }
  const ReductionInfo& reduction = layout.reduction[c.reduction];
  const int count = reduction.whole.row_count;
  for (int r = 0; r < count; ++r) {
    out[r] = 0;
    for (int k = 0; k < c.row_count; ++k) out[r] += scale * reduction.combination[k * count + r] * lambda[k];
  }
}

// at the node; angles are counted on from those in `rows`
inline void rows_before(const Layout& layout, const ConstraintInfo& c, const Body<double>* body, const Clock& clock,
                        JointRows& rows) {
  if (c.reduction >= 0) {
    JointRows whole;
    static_cast<RowMemory&>(whole) = rows;
    rows_before(layout, layout.reduction[c.reduction].whole, body, clock, whole);
    return combine_rows(layout, c, whole, rows);
  }
  if (!c.special || c.law >= 0) {
    joint_rows(c, old_pose(body, c.end[0]), old_pose(body, c.end[1]), rows.angle[0], rows);
    return;
  }
  if (c.kind == JointKind::rotary) return rotary_rows(rows);
  const Pose<double> a = pose_before(c, 0, body, clock), b = pose_before(c, 1, body, clock);
  if (c.kind == JointKind::coupling) {
    coupling_rows(layout, c, [&](int i) { return old_pose(body, i); }, rows.angle, rows);
    if (c.signal >= 0) rows.g[0] -= clock.now[c.signal];
  } else if (c.hook >= 0) {
    double gradient[72];
    given_rows(layout, c, a, b, rows.g, gradient);
    take_gradient(c, gradient, rows, b.x);
    for (int k = 0; k < c.row_count && c.kind == JointKind::custom_velocity; ++k) rows.g[k] = 0;
  } else if (row_is_velocity(static_cast<int>(c.kind), c.row_count - 1)) {
    contact_rows(c, a, b, rows);
  } else {
    joint_rows(c, a, b, rows.angle[0], rows);
  }
}

// at the iterate
inline void rows_after(const Layout& layout, const ConstraintInfo& c, const Body<double>* body, const Clock& clock,
                       const RowMemory& before, const LawState& state, JointRows& rows) {
  if (c.reduction >= 0) {
    JointRows whole;
    rows_after(layout, layout.reduction[c.reduction].whole, body, clock, before, state, whole);
    return combine_rows(layout, c, whole, rows);
  }
  if (!c.special || c.law >= 0) {
    joint_rows(c, new_pose(body, c.end[0]), new_pose(body, c.end[1]), before.angle[0], rows);
    if (c.law >= 0) law_row(layout.law[c.law], before.g[0], clock, state, rows);
    return;
  }
  if (c.kind == JointKind::rotary) return rotary_rows_after(c, body, clock.resting ? 0 : clock.dt, state.lambda, rows);
  if (c.kind == JointKind::coupling) {
    coupling_rows(layout, c, [&](int i) { return new_pose(body, i); }, before.angle, rows);
    if (c.signal >= 0) {
      const double rate = clock.resting && !clock.frozen ? clock.rate[c.signal] : 0;
      rows.g[0] -= clock.resting ? clock.now[c.signal] + rate : clock.end[c.signal];
    }
    return;
  }
  const Pose<double> a = pose_after(c, 0, body, clock), b = pose_after(c, 1, body, clock);
  if (c.kind == JointKind::custom) {
    double gradient[72];
    given_rows(layout, c, a, b, rows.g, gradient);
    take_gradient(c, gradient, rows, b.x);
  } else if (c.kind == JointKind::custom_velocity) {
    given_slip(layout, c, passage_of(c, 0, body, clock), passage_of(c, 1, body, clock), clock, rows);
  } else if (row_is_velocity(static_cast<int>(c.kind), c.row_count - 1)) {
    contact_rows(c, a, b, rows);
    slip_rows(c, passage_of(c, 0, body, clock), passage_of(c, 1, body, clock), clock.resting, rows);
  } else {
    joint_rows(c, a, b, before.angle[0], rows);
  }
  if (clock.frozen)
    for (int k = 0; k < c.row_count; ++k) {
      if (!row_is_velocity(static_cast<int>(c.kind), k)) continue;
      rows.g[k] = 0;
      for (int e = 0; e < 2; ++e) rows.w[e * c.row_count + k] = {{0, 0, 0}, {0, 0, 0}};
    }
  if (!clock.resting || clock.frozen || c.ground < 0) return;
  // the ground moves the gap
  const int e = c.end[0] < 0 ? 0 : 1;
  const Wrench<double> v = ground_velocity(clock.now + c.ground, clock.rate + c.ground);
  for (int k = 0; k < c.row_count; ++k) {
    if (row_is_velocity(static_cast<int>(c.kind), k)) continue;
    const Wrench<double>& w = rows.w[e * c.row_count + k];
    rows.g[k] += dot(w.f, v.f) + dot(w.t, v.t);
  }
}

// of a joint's gaps what is asked for, and how much is not (rad, or parts of the bodies' size)
CATENA_INLINE double combine_gaps(const Layout& layout, const ConstraintInfo& c, const double* whole, double* asked) {
  const ReductionInfo& reduction = layout.reduction[c.reduction];
  const int count = reduction.whole.row_count;
  double rest[6];
  for (int r = 0; r < count; ++r) rest[r] = whole[r] / reduction.weight[r];
  for (int k = 0; k < c.row_count; ++k) {
    asked[k] = 0;
    for (int r = 0; r < count; ++r) asked[k] += reduction.combination[k * count + r] * whole[r];
    for (int r = 0; r < count; ++r) rest[r] -= asked[k] * reduction.combination[k * count + r] * reduction.weight[r];
  }
  double square = 0;
  for (int r = 0; r < count; ++r) square += rest[r] * rest[r];
  return std::sqrt(square);
}

// the gaps alone, if the rows that go with them are not needed, and what of them is not asked for
inline double gaps_after(const Layout& layout, const ConstraintInfo& c, const Body<double>* body, const Clock& clock,
                         const RowMemory& before, const LawState& state, JointRows& rows) {
  if (c.reduction >= 0) {
    JointRows whole;
    gaps_after(layout, layout.reduction[c.reduction].whole, body, clock, before, state, whole);
    return combine_gaps(layout, c, whole.g, rows.g);
  }
  if (c.special) {
    rows_after(layout, c, body, clock, before, state, rows);
    return 0;
  }
  GapRows gaps{rows.g, {}, {}};
  joint_rows(c, new_pose(body, c.end[0]), new_pose(body, c.end[1]), before.angle[0], gaps);
  return 0;
}

// the widest of what joints are not asked for, and whose it is
struct Misfit {
  double size = 0;
  int joint = -1;
  CATENA_INLINE void note(double open, int whose) {
    if (open <= size) return;
    size = open;
    joint = whose;
  }
};
// of those of which nothing is asked; turns need not be counted, their rows know none
inline void note_idle(const Layout& layout, const Body<double>* body, const Clock& clock, Misfit& misfit) {
  for (int k = 0; k < layout.idle_count; ++k) {
    JointRows rows;
    RowMemory before;
    before.angle[0] = 0;
    misfit.note(gaps_after(layout, layout.idle[k], body, clock, before, {}, rows), layout.idle[k].joint);
  }
}

// the angles from which turns are counted on: where the nut of a screw is, or what a measured angle is told
inline void first_angles(const Layout& layout, const ConstraintInfo& c, const Body<double>* body, RowMemory& rows) {
  if (c.kind != JointKind::coupling) {
    rows.angle[0] = first_angle(c, old_pose(body, c.end[0]), old_pose(body, c.end[1]));
    return;
  }
  for (int t = 0; 2 * t < c.end_count; ++t) rows.angle[t] = layout.term[c.first_term + t].measure.parameter;
}

// terms of a coupling are told where they stand
CATENA_INLINE void count_terms(const ConstraintInfo& c, const double* term_start, RowMemory& rows) {
  for (int t = 0; c.kind == JointKind::coupling && 2 * t < c.end_count; ++t)
    rows.angle[t] = term_start[c.first_term + t];
}

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

// the root of what a unit of a row's multiplier moves the row itself, summed over its ends
inline double row_compliance(const ConstraintInfo& c, const Body<double>* body, const LinkInfo* link,
                             const JointRows& rows, int k) {
  double sum = 0;
  for (int e = 0; e < c.end_count; ++e) sum += compliance(body, link, c.end[e], rows.w[e * c.row_count + k]);
  return std::sqrt(sum);
}

}  // namespace catena::CATENA_ISA
