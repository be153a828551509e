// Joints as constraint rows, the form in which the LDU and dense solvers and all reactions see them.
//
// With p_a, p_b the two anchors in the world, r = p_b - p_a, and e_i, h_j the axes of the joint frames on a and b:
//
//     point row i:      g = e_i . r        b: force e_i at p_b             a: -e_i at p_b (e_i turns with a)
//     angle row i, j:   g = e_i . h_j      b: torque h_j x e_i             a: the opposite
//
//     screw:            g = e_z . r - h theta, theta the angle about z, counted over turns; h in metres per radian
//     distance:         g = |r| - length
//     twist:            g = (e_x . h_y - e_y . h_x) / 2, zero where b has not turned about the joint's axis against a
//     bend:             g = twice the z component of b's quaternion against a: the turn about z, if it is small
//     swing:            g = the angle between e_z and h_z
//     axial:            g = the turn about e_z that is left when h_z has been turned onto e_z by the shortest way
//     rotation:         g = the angle of b's turn against a
//
// Where a distance, a swing or a rotation is zero it has no gradient. A limit that is far away is looked at there as
// well, and any direction serves it.
//
// Rows are gradients (of the screw: once its axes are aligned) against (displacement of the centre of mass, world
// rotation increment), so the same six numbers are the wrench that a unit multiplier exerts on the body. When the joint
// is closed the wrenches of a joint's rows on b, taken at p_b, are orthogonal: a multiplier is the reaction dotted with
// its row, over the row's square.
#pragma once

#include "physics/body.hpp"
#include "physics/pose.hpp"

namespace catena::CATENA_ISA {

CATENA_INLINE Pose<double> old_pose(const Body<double>* body, int i) {
  return i < 0 ? world_pose() : Pose<double>{body[i].x, body[i].R};
}
CATENA_INLINE Pose<double> new_pose(const Body<double>* body, int i) {
  if (i < 0) return world_pose();
  const Body<double>& b = body[i];
  return {b.x + b.d, {b.R.i + turn(b.w, b.R.i), b.R.j + turn(b.w, b.R.j), b.R.k + turn(b.w, b.R.k)}};
}

// what a step remembers of the node it leaves
struct RowMemory {
  double g[6];
  double angle[most_terms];  // about z, turns counted, of a screw, a measure or every term of a coupling
};
struct JointRows : RowMemory {
  Wrench<double> w[most_ends];  // at the centres of mass: row k on end e is w[e row_count + k]
  Wrench<double> at_point[6];   // of a joint: on b, at p_b
  Vec3<double> point;           // p_b

  CATENA_INLINE void put(const ConstraintInfo& info, int k, double gap, const Wrench<double>& on_a,
                         const Wrench<double>& on_b, const Wrench<double>& there) {
    g[k] = gap;
    w[k] = on_a;
    w[info.row_count + k] = on_b;
    at_point[k] = there;
  }
};

// the multipliers of a wrench that a joint's rows have to make up for: on body b, at some point
struct RowShares {
  Wrench<double> wrench;
  Vec3<double> at;
  double* out;
  Vec3<double> point;
  double angle[1];

  CATENA_INLINE void put(const ConstraintInfo&, int k, double, const Wrench<double>&, const Wrench<double>&,
                         const Wrench<double>& there) {
    const Vec3<double> t = wrench.t + cross(at - point, wrench.f);
    out[k] = (dot(there.f, wrench.f) + dot(there.t, t)) / (norm2(there.f) + norm2(there.t));
  }
};
// the gaps alone
struct GapRows {
  double* g;
  double angle[1];
  Vec3<double> point;
  CATENA_INLINE void put(const ConstraintInfo&, int k, double gap, const Wrench<double>&, const Wrench<double>&,
                         const Wrench<double>&) {
    g[k] = gap;
  }
};

// the angle nearest to a recent value of it
CATENA_INLINE double counted_angle(double sine, double cosine, double recent) {
  constexpr double turn = 6.283185307179586;
  const double angle = std::atan2(sine, cosine);
  return angle + turn * std::nearbyint((recent - angle) / turn);
}

// of b's frame about the z axis of a's
CATENA_INLINE double angle_near(const ConstraintInfo& info, const Pose<double>& a, const Pose<double>& b,
                                double recent) {
  const Vec3<double> h = b.R * load3(info.frame_b);
  return counted_angle(dot(a.R * load3(info.frame_a + 3), h), dot(a.R * load3(info.frame_a), h), recent);
}

CATENA_INLINE void widen(Vec3<double>& to, const double* p) { to = load3(p); }
CATENA_INLINE void widen(Vec3<Lane>& to, const double* p) { to = {Lane(p[0]), Lane(p[1]), Lane(p[2])}; }
template <class T>
CATENA_INLINE Vec3<T> constant(const double* p) {
  Vec3<T> v;
  widen(v, p);
  return v;
}

// point and angle rows; the axes of a's frame and the two arms to b's anchor serve for others
template <class T>
struct Sight {
  Vec3<T> e[3], r, arm_a, arm_b;
};
template <class T, class Rows>
CATENA_INLINE Sight<T> plain_rows(const JointForm& form, const ConstraintInfo& info, const Pose<T>& a, const Pose<T>& b,
                                  Rows& rows) {
  const auto axis = [&](int k) { return a.R * constant<T>(info.frame_a + 3 * k); };
  const Vec3<T> arm_b = b.R * constant<T>(info.anchor_b), p_b = b.x + arm_b;
  const Vec3<T> r = p_b - (a.x + a.R * constant<T>(info.anchor_a));
  const Sight<T> sight = {{axis(0), axis(1), axis(2)}, r, p_b - a.x, arm_b};
  const Vec3<T> zero = {T(0), T(0), T(0)};
  rows.point = p_b;
  int k = 0;
  for (int i = 0; i < form.point_count; ++i, ++k) {
    const Vec3<T> n = sight.e[form.point_axis[i]];
    rows.put(info, k, dot(n, r), {-n, -cross(sight.arm_a, n)}, {n, cross(arm_b, n)}, {n, zero});
  }
  for (int i = 0; i < form.angle_count; ++i, ++k) {
    const Vec3<T> n = sight.e[form.angle_axes[i][0]];
    const Vec3<T> h = b.R * constant<T>(info.frame_b + 3 * form.angle_axes[i][1]);
    const Vec3<T> t = cross(h, n);
    rows.put(info, k, dot(n, h), {zero, -t}, {zero, t}, {zero, t});
  }
  return sight;
}

template <class Rows>
CATENA_INLINE void rows_of_form(const JointForm& form, const ConstraintInfo& info, const Pose<double>& a,
                                const Pose<double>& b, double angle, Rows& rows) {
  const Sight<double> sight = plain_rows<double>(form, info, a, b, rows);
  if (form.extra == ExtraRow::none) return;
  const auto& [e, r, arm_a, arm_b] = sight;
  const Vec3<double> zero = {0, 0, 0};
  const int k = form.point_count + form.angle_count;
  const auto h = [&](int axis) { return b.R * load3(info.frame_b + 3 * axis); };
  double gap = 0;
  Wrench<double> w = {zero, zero};
  switch (form.extra) {
    case ExtraRow::screw: {
      rows.angle[0] = angle_near(info, a, b, angle);
      gap = dot(e[2], r) - info.parameter * rows.angle[0];
      w = {e[2], -info.parameter * e[2]};
      break;
    }
    case ExtraRow::angle: {
      rows.angle[0] = angle_near(info, a, b, angle);
      gap = rows.angle[0];
      w.t = e[2];
      break;
    }
    case ExtraRow::slide:
      gap = dot(e[2], r);
      w.f = e[2];
      break;
    case ExtraRow::distance: {
      const double length = std::sqrt(norm2(r));
      gap = length - info.parameter;
      w.f = length > 0 ? (1 / length) * r : e[2];
      break;
    }
    case ExtraRow::bend: {
      // the relative matrix m_ij = e_i . h_j; beyond half a turn there is no telling which way round it went
      const Vec3<double> hx = h(0), hy = h(1), hz = h(2);
      const double trace = dot(e[0], hx) + dot(e[1], hy) + dot(e[2], hz);
      const double w0 = 0.5 * std::sqrt(1 + trace > 1e-12 ? 1 + trace : 1e-12), s = 0.25 / w0;
      const double vx = s * (dot(e[2], hy) - dot(e[1], hz)), vy = s * (dot(e[0], hz) - dot(e[2], hx));
      const double vz = s * (dot(e[1], hx) - dot(e[0], hy));
      gap = 2 * vz;
      // w e_z + v x e_z
      w.t = vy * e[0] - vx * e[1] + w0 * e[2];
      break;
    }
    case ExtraRow::twist:
      gap = 0.5 * (dot(e[0], h(1)) - dot(e[1], h(0)));
      w.t = 0.5 * (cross(h(1), e[0]) - cross(h(0), e[1]));
      break;
    case ExtraRow::swing: {
      const Vec3<double> hz = h(2), normal = cross(e[2], hz);
      const double sine = std::sqrt(norm2(normal));
      gap = std::atan2(sine, dot(e[2], hz));
      w.t = sine > 1e-9 ? (1 / sine) * normal : e[0];
      break;
    }
    case ExtraRow::axial: {
      const Vec3<double> hx = h(0), hy = h(1), hz = h(2);
      gap = std::atan2(dot(e[1], hx) - dot(e[0], hy), dot(e[0], hx) + dot(e[1], hy));
      w.t = (1 / (1 + dot(e[2], hz))) * (e[2] + hz);
      break;
    }
    case ExtraRow::rotation: {
      const Vec3<double> hx = h(0), hy = h(1), hz = h(2);
      const Vec3<double> axial =
          0.5 * (cross(e[0], hx) + cross(e[1], hy) + cross(e[2], hz));  // the axis times the sine of the angle
      const double sine = std::sqrt(norm2(axial));
      gap = std::atan2(sine, 0.5 * (dot(e[0], hx) + dot(e[1], hy) + dot(e[2], hz) - 1));
      w.t = sine > 1e-9 ? (1 / sine) * axial : e[2];
      break;
    }
    case ExtraRow::none: return;
  }
  rows.put(info, k, gap, {-w.f, -w.t - cross(arm_a, w.f)}, {w.f, w.t + cross(arm_b, w.f)}, w);
}

// `angle` is a recent value of the joint's angle, by which turns are counted; `rows` is where they are put
template <class Rows>
inline void joint_rows(const ConstraintInfo& info, const Pose<double>& a, const Pose<double>& b, double angle,
                       Rows& rows) {
  // forms that the compiler knows for the joints that chains are made of
  constexpr int revolute = static_cast<int>(JointKind::revolute), ball = static_cast<int>(JointKind::ball);
  switch (info.kind) {
    case JointKind::revolute: return rows_of_form(joint_form[revolute], info, a, b, angle, rows);
    case JointKind::ball: return rows_of_form(joint_form[ball], info, a, b, angle, rows);
    default: rows_of_form(joint_form[static_cast<int>(info.kind)], info, a, b, angle, rows);
  }
}

// the angle from which turns are counted: where the nut of a screw is, or what a measured angle is told
inline double first_angle(const ConstraintInfo& info, const Pose<double>& a, const Pose<double>& b) {
  if (joint_form[static_cast<int>(info.kind)].extra == ExtraRow::angle) return info.parameter;
  if (joint_form[static_cast<int>(info.kind)].extra != ExtraRow::screw || info.parameter == 0) return 0;
  const Vec3<double> r = b.x + b.R * load3(info.anchor_b) - (a.x + a.R * load3(info.anchor_a));
  return dot(a.R * load3(info.frame_a + 6), r) / info.parameter;
}

// Angle rows are products of axes, which also vanish where b's frame is half a turn off: by how much it is (rad), if by
// more than a quarter of a turn, or else 0.
inline double turned_over(const ConstraintInfo& info, const Pose<double>& a, const Pose<double>& b) {
  const JointForm& form = joint_form[static_cast<int>(info.kind)];
  const auto cosine = [&](int k) { return dot(a.R * load3(info.frame_a + 3 * k), b.R * load3(info.frame_b + 3 * k)); };
  double cosine_off = 1;
  if (form.angle_count == 3) cosine_off = 0.5 * (cosine(0) + cosine(1) + cosine(2) - 1);
  if (form.angle_count == 2) cosine_off = cosine(2);
  if (form.extra == ExtraRow::twist) cosine_off = 0.5 * (cosine(0) + cosine(1));
  return cosine_off < 0 ? std::acos(cosine_off > -1 ? cosine_off : -1) : 0;
}

// keep the widest gap, angles in rad and lengths in parts of `span`, and whose it is; NaN is the widest
CATENA_INLINE void note_gap(const ConstraintInfo& info, int index, const double* gap, double span, double& widest,
                            int& whose) {
  for (int k = 0; k < info.row_count; ++k) {
    const double open = std::fabs(gap[k]) / (info.lengths >> k & 1u ? span : 1);
    if (open <= widest) continue;
    widest = open;
    whose = index;
  }
}

// What a unit of a row's multiplier moves the row itself on a free body: the scale against which a constraint can be
// called stiff, in whatever units. Moments of inertia enter by their mean. A massless body counts as the one beside it.
CATENA_INLINE double compliance(const Body<double>* body, const LinkInfo* info, int i, const Wrench<double>& row) {
  if (i < 0) return 0;
  if (info[i].mass == 0) return norm2(row.f) / info[i].like_mass + 3 * norm2(row.t) / info[i].like_trace;
  const Mat3<double>& J = body[i].J;
  return norm2(row.f) / info[i].mass + 3 * norm2(row.t) / (J.i.x + J.j.y + J.k.z);
}
// what a free body moves along a wrench of its own; without a mass it moves at will
inline double free_compliance(const Body<double>* body, const LinkInfo* info, int i, const Wrench<double>& w) {
  if (i < 0) return 0;
  if (info[i].mass == 0) return HUGE_VAL;
  double det;
  const Mat3<double> cofactors = adjugate(body[i].J, det);
  return norm2(w.f) / info[i].mass + dot(w.t, cofactors * w.t) / det;
}

}  // namespace catena::CATENA_ISA
