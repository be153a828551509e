// Joints to moving ground: the world's side has a pose that is a function of time. Rolling and the user's own rows may
// stand on it as well.
#pragma once

#include "physics/rows/kind.hpp"
#include "physics/rows/passage.hpp"

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
CATENA_INLINE Pose<double> pose_before(const RowSite& at, int e) { return pose_before(at.c, e, at.body, at.clock); }
CATENA_INLINE Pose<double> pose_after(const ConstraintInfo& c, int e, const Body<double>* body, const Clock& clock) {
  if (c.end[e] >= 0 || c.ground < 0) return new_pose(body, c.end[e]);
  return ground_pose((clock.resting ? clock.now : clock.end) + c.ground);
}
CATENA_INLINE Pose<double> pose_after(const RowSite& at, int e) { return pose_after(at.c, e, at.body, at.clock); }
CATENA_INLINE Passage passage_of(const RowSite& at, int e) {
  const auto& [layout, c, body, clock] = at;
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

// in a projection of velocities the ground moves the gap
CATENA_INLINE void add_ground_motion(const RowSite& at, JointRows& rows) {
  const auto& [layout, c, body, clock] = at;
  if (!clock.resting || clock.frozen || c.ground < 0) return;
  const int e = c.end[0] < 0 ? 0 : 1;
  const Wrench<double> v = ground_velocity(clock.now + c.ground, clock.rate + c.ground);
  for (int k = 0; k < c.row_count; ++k) {
    if (at.is_velocity(k)) continue;
    const Wrench<double>& w = rows.w[e * c.row_count + k];
    rows.g[k] += dot(w.f, v.f) + dot(w.t, v.t);
  }
}
// where time stands still velocities are not asked for
CATENA_INLINE void drop_velocities(const RowSite& at, JointRows& rows) {
  for (int k = 0; at.clock.frozen && k < at.c.row_count; ++k) {
    if (!at.is_velocity(k)) continue;
    rows.g[k] = 0;
    for (int e = 0; e < 2; ++e) rows.w[e * at.c.row_count + k] = {{0, 0, 0}, {0, 0, 0}};
  }
}

struct GroundRows : RowsOf<GroundRows> {
  static void before(const RowSite& at, JointRows& rows) {
    joint_rows(at.c, pose_before(at, 0), pose_before(at, 1), rows.angle[0], rows);
  }
  static void after(const RowSite& at, const RowMemory& before, const LawState&, JointRows& rows) {
    joint_rows(at.c, pose_after(at, 0), pose_after(at, 1), before.angle[0], rows);
    add_ground_motion(at, rows);
  }
};

}  // namespace catena::CATENA_ISA
