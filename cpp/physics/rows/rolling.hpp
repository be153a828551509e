// Constraints on velocities: rolling and blades.
//
// A contact is a point C of b that must not slip on a. With e a direction, rho the vectors from the centres of mass to
// C, a row of forces is e at C on b and -e at C on a, and over a step it asks (discrete Lagrange-d'Alembert) that
//
//     g = e . s = 0,   s = d_b + w_b x rho_b - d_a - w_a x rho_a,   w = 2 eta,
//
// with e and rho taken in the middle of the step (rows/passage.hpp). Then the scheme is second order and loses no
// energy; taken at either end it is first order.
//
// A ball touches a plane at C = centre - r n, a disk with axis z at C = centre - r u/|u|, u = n - (n.z) z. Both keep
// their height as a joint does, g = n . (C - p_a), whose gradient is the force n at C because C is the lowest point.
//
// A disk that lies flat, u = 0, has no lowest point, and near there C races round the rim: a step that takes it further
// than its middle can follow has jumped over the flat pose to another motion, with another energy. It is refused.
#pragma once

#include "physics/rows/ground.hpp"

namespace catena::CATENA_ISA {

struct Contact {
  Vec3<double> point, arm_b;       // C, and C from b's centre of mass
  Vec3<double> normal, axis, out;  // of the plane; of the disk; u/|u|
  double length;                   // |u|
};

CATENA_INLINE Contact contact_of(const ConstraintInfo& info, const Pose<double>& a, const Pose<double>& b) {
  Contact c;
  const double radius = info.parameter;
  c.normal = a.R * load3(info.frame_a + 6);
  c.arm_b = b.R * load3(info.anchor_b);
  c.axis = b.R * load3(info.frame_b + 6);
  c.out = c.normal;
  c.length = 1;
  if (info.kind == JointKind::rolling_disk) {
    const Vec3<double> u = c.normal - dot(c.normal, c.axis) * c.axis;
    c.length = std::sqrt(norm2(u));
    c.out = (1 / c.length) * u;
  }
  if (info.kind != JointKind::knife_edge) c.arm_b -= radius * c.out;
  c.point = b.x + c.arm_b;
  return c;
}

// Whether a disk comes to lie flat in a step, within three degrees, or may have passed the flat pose: u/|u|, seen from
// the plane, turns by more than a right angle, or near the flat pose by more than 26 degrees
constexpr double flat_sine = 0.0524, near_sine = 0.2, near_cosine = 0.9;
CATENA_INLINE bool falls_flat(const ConstraintInfo& info, const Pose<double>& a0, const Pose<double>& b0,
                              const Pose<double>& a1, const Pose<double>& b1) {
  const Contact from = contact_of(info, a0, b0), to = contact_of(info, a1, b1);
  if (!(to.length > flat_sine)) return true;
  double cosine = 0;
  for (int k = 0; k < 3; ++k) {
    const Vec3<double> e = load3(info.frame_a + 3 * k);
    cosine += dot(a0.R * e, from.out) * dot(a1.R * e, to.out);
  }
  return !(cosine > (from.length < near_sine || to.length < near_sine ? near_cosine : 0));
}

// directions of the rows: the plane's normal and its two axes, or the one across the blade
CATENA_INLINE int contact_directions(const ConstraintInfo& info, const Pose<double>& a, const Pose<double>& b,
                                     Vec3<double>* e) {
  if (info.kind == JointKind::knife_edge) {
    e[0] = b.R * load3(info.frame_b + 3);
    return 1;
  }
  for (int k = 0; k < 3; ++k) e[k] = a.R * load3(info.frame_a + 3 * ((k + 2) % 3));
  return 3;
}

// forces at the contact in a pose; g is the height, and zero for the velocity rows
inline void contact_rows(const ConstraintInfo& info, const Pose<double>& a, const Pose<double>& b, JointRows& rows) {
  const Contact c = contact_of(info, a, b);
  Vec3<double> e[3];
  const int count = contact_directions(info, a, b, e);
  const Vec3<double> arm_a = c.point - a.x;
  rows.point = c.point;
  for (int k = 0; k < count; ++k) {
    rows.g[k] = 0;
    rows.w[k] = {-e[k], -cross(arm_a, e[k])};
    rows.w[count + k] = {e[k], cross(c.arm_b, e[k])};
    rows.at_point[k] = {e[k], {0, 0, 0}};
  }
  if (count == 3) rows.g[0] = dot(c.normal, c.point - (a.x + a.R * load3(info.anchor_a)));
}

// velocity rows over a step; in a projection of velocities (`resting`) only g, what moving ground does to them
inline void slip_rows(const ConstraintInfo& info, const Passage& a, const Passage& b, bool resting, JointRows& rows) {
  const Contact c = contact_of(info, a.middle, b.middle);
  Vec3<double> e[3];
  const int count = contact_directions(info, a.middle, b.middle, e);
  const Vec3<double> arm_a = c.point - a.middle.x, zero = {0, 0, 0};
  const Vec3<double> s = b.d + cross(b.w, c.arm_b) - a.d - cross(a.w, arm_a);
  for (int k = count == 3 ? 1 : 0; k < count; ++k) {
    rows.g[k] = dot(e[k], s);
    if (resting) continue;
    // by the place of the contact: (k_b - k_a) . d rho_b - k_a . (dx_b - dx_a)
    const Vec3<double> k_a = cross(e[k], a.w), place = cross(e[k], b.w) - k_a;
    Wrench<double> u_a = {k_a, zero}, u_b = {-k_a, cross(b.middle.R * load3(info.anchor_b), place)};
    const Vec3<double> turned = cross(e[k], s);
    if (info.kind == JointKind::knife_edge) {
      u_b.t += turned;
    } else {
      u_a.t += turned;
      const double radius = info.parameter;
      if (info.kind == JointKind::rolling_ball) {
        u_a.t -= radius * cross(c.normal, place);
      } else {
        const Vec3<double> q = (-radius / c.length) * (place - dot(c.out, place) * c.out);
        const double along = dot(q, c.axis);
        u_a.t += cross(c.normal, q - along * c.axis);
        u_b.t -= cross(c.axis, along * c.normal + dot(c.normal, c.axis) * q);
      }
    }
    rows.w[k] = row_at_end(a, {-e[k], -cross(arm_a, e[k])}, u_a);
    rows.w[count + k] = row_at_end(b, {e[k], cross(c.arm_b, e[k])}, u_b);
  }
}

struct RollingRows : RowsOf<RollingRows> {
  static void before(const RowSite& at, JointRows& rows) {
    contact_rows(at.c, pose_before(at, 0), pose_before(at, 1), rows);
  }
  static void after(const RowSite& at, const RowMemory&, const LawState&, JointRows& rows) {
    contact_rows(at.c, pose_after(at, 0), pose_after(at, 1), rows);
    slip_rows(at.c, passage_of(at, 0), passage_of(at, 1), at.clock.resting, rows);
    drop_velocities(at, rows);
    add_ground_motion(at, rows);
  }
};

}  // namespace catena::CATENA_ISA
