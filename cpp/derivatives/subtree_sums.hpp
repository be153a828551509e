// Sums over subtrees, and the matrices of a linearized step that are computed from them.
//
// One step, linearized, in the freedoms of a tree [dq changes of positions, dr of rates, du of held efforts]:
//
//     K dq3 = N2 dq2 + h M2 dr2 + h^2/2 du,       M3 dr3 = N3 dq3 - K^T dq2 / h + h/2 du.
//
// The directions of the freedoms are s at the old node and s' at the new one. Sums are over the subtree of a freedom:
// W_i of h P - h p2 - h^2/2 f2 and E_i of p3 - M3 u3, the wrenches through its joint, and the inertia I. V_j is the
// spatial velocity on the far side of freedom j, a_j = V_j x s_j, and l = I V the momentum; x and x* are the spatial
// cross products of motions with motions and with wrenches:
//
//     K_ij  =  s_i . D s'_j                                               Newton's matrix, factored by the solver
//     M_ij  =  s_i . I s_j
//     N2_ij = -s_i . (Y2 s_j - h (s_j x* l + I a_j)) - [i below j] (s_j x s_i) . W_i
//     N3_ij =  s'_i . (Y3 s'_j - s'_j x* l - I a_j)  + [i below j] (s'_j x s'_i) . E_i
//
// where at a link's center Y2 = (-m dx, -H^T phi + dx x (m d - h^2/2 f2)), Y3 = (m dx, H phi)/h + (0, dx x p3). In long
// chains, rounding errors would grow by 1/h times the condition of M, so e in dq3 = dq2 + e is the unknown:
//
//     K e = (N2 - K) dq2 + h M2 dr2 + h^2/2 du,   M3 dr3 = (N3 - K^T/h) dq2 + N3 e + h/2 du.
//
// The differences N2 - K and N3 - K^T/h are computed without cancellation, as D^T s - D s' = -(D (s' - s) + Q s) with
// Q s = (m w x d, -h L_P x w).
//
// For i below j the momenta cancel between the two terms of N2 and N3, so both terms leave them out there.
#pragma once

#include "derivatives/freedoms.hpp"

namespace catena::CATENA_ISA {

// [a]x [b]x
CATENA_INLINE Mat3<double> skews(Vec3<double> a, Vec3<double> b) {
  const double d = dot(a, b);
  return {a.x * b - Vec3<double>{d, 0, 0}, a.y * b - Vec3<double>{0, d, 0}, a.z * b - Vec3<double>{0, 0, d}};
}
// w -> x x (w x md) - l x w
CATENA_INLINE Mat3<double> turned_points(Vec3<double> x, Vec3<double> md, Vec3<double> l) {
  Mat3<double> q = diagonal_and_skew(dot(x, md), -l);
  subtract_outer(q, md, x);
  return q;
}

// sums over a link and its subtree, referred to the origin
struct Subtree {
  double mass;
  Vec3<double> moment;            // mass times position
  Mat3<double> inertia;           // rotational, about the origin
  Vec3<double> momentum, spin;    // l
  Vec3<double> force, torque;     // wrench through the joint, without momenta
  Vec3<double> push;              // part of Y that maps displacements to torques
  Mat3<double> pushed;            // the same for rotations
  Vec3<double> moment2, moment3;  // mass times position on the left and on the right of D
  Mat3<double> D;                 // its rotational part
  Vec3<double> shift;             // mass times displacement over the step
  Mat3<double> Q;
};
CATENA_INLINE void operator+=(Subtree& a, const Subtree& b) {
  a.mass += b.mass;
  a.moment += b.moment, a.momentum += b.momentum, a.spin += b.spin, a.force += b.force, a.torque += b.torque;
  a.push += b.push, a.moment2 += b.moment2, a.moment3 += b.moment3, a.shift += b.shift;
  a.inertia = a.inertia + b.inertia, a.pushed = a.pushed + b.pushed, a.D = a.D + b.D, a.Q = a.Q + b.Q;
}

struct SubtreeSums {
  const FreedomTable& freedom;
  Subtree* subtree;      // (link)
  Six *above, *mass_of;  // (freedom)
  const int n = freedom.count;
  const long pad = freedom.pad;

  // turns the terms of single links into sums over their subtrees
  void gather() {
    for (int i = freedom.layout.link_count - 1; i > 0; --i)
      if (freedom.layout.link[i].parent >= 0) subtree[freedom.layout.link[i].parent] += subtree[i];
  }
  static CATENA_INLINE Six inertia_times(const Subtree& c, const Six& s) {
    return {c.mass * s.v + cross(s.w, c.moment), cross(c.moment, s.v) + c.inertia * s.w};
  }

  // N2 or N3 without D, times `sign`, as a lower half and a transposed upper one (freedom, pad); `scale` is h or 1.
  // `masses`, if given, receives the lower half of M times `mass_scale`.
  void find_slopes(Motions s, Motions a, double scale, double sign, double* lower, double* upper, double* masses,
                   double mass_scale) const {
    for (int f = 0; f < n; ++f) {
      const Subtree& c = subtree[freedom.owner[f]];
      const Six si = s.get(f), Is = inertia_times(c, si), Ia = inertia_times(c, a.get(f));
      const Six pushed = {{0, 0, 0}, c.pushed * si.w - cross(c.push, si.v)};
      const Six carried = {cross(si.w, c.momentum), cross(si.w, c.spin) + cross(si.v, c.momentum)};
      above[f] = sign * (pushed - scale * (carried + Ia));
      mass_of[f] = Is;
      Six by_motion = {-cross(si.w, c.push), transposed_times(c.pushed, si.w)};
      by_motion.v += cross(si.w, c.force) - scale * cross(c.momentum, si.w);
      by_motion.w +=
          cross(si.v, c.force) + cross(si.w, c.torque) - scale * (cross(c.momentum, si.v) + cross(c.spin, si.w));
      by_motion = sign * by_motion;
      const Six by_rate = (-sign * scale) * Is, mass = mass_scale * Is;
      const double* const m = freedom.mask + f * pad;
      for (int j = 0; j <= f; j += lane_width) {
        const Lane keep = load_lane(m + j);
        store_lane(lower + f * pad + j, keep * (s.dots(by_motion, j) + a.dots(by_rate, j)));
        store_lane(upper + f * pad + j, keep * s.dots(above[f], j));
        if (masses) store_lane(masses + f * pad + j, keep * s.dots(mass, j));
      }
    }
    freedom.each_swivel_pair([&](int f, int j) {
      const Six sj = s.get(j);
      lower[j * pad + f] = dot(above[f], sj);
      if (j > f) return;
      upper[f * pad + j] = lower[j * pad + f];
      if (masses) masses[f * pad + j] = mass_scale * dot(mass_of[f], sj);
    });
    for (int f = 0; f < n; ++f)
      if (freedom.swivels[f]) lower[f * pad + f] = dot(above[f], s.get(f));
  }
  // adds factor s_i . (D d_j + Q q_j), where d and q are motions of the freedoms; without q, only the first term
  void add_masses(Motions s, Motions d, const Motions* q, double factor, double* lower, double* upper) const {
    for (int f = 0; f < n; ++f) {
      const Subtree& c = subtree[freedom.owner[f]];
      const Six si = s.get(f), df = d.get(f);
      Six below = {c.mass * si.v + cross(si.w, c.moment2), cross(c.moment3, si.v) + transposed_times(c.D, si.w)};
      Six up = {c.mass * df.v + cross(df.w, c.moment3), cross(c.moment2, df.v) + c.D * df.w};
      Vec3<double> turned = {0, 0, 0};
      if (q) {
        const Vec3<double> w = q->get(f).w;
        up.v += cross(w, c.shift), up.w += c.Q * w;
        turned = factor * (cross(c.shift, si.v) + transposed_times(c.Q, si.w));
      }
      below = factor * below, above[f] = factor * up;
      const double* const m = freedom.mask + f * pad;
      for (int j = 0; j <= f; j += lane_width) {
        const Lane keep = load_lane(m + j);
        Lane value = d.dots(below, j);
        if (q) value += q->turns(turned, j);
        store_lane(lower + f * pad + j, load_lane(lower + f * pad + j) + keep * value);
        store_lane(upper + f * pad + j, load_lane(upper + f * pad + j) + keep * s.dots(above[f], j));
      }
    }
    freedom.each_swivel_pair([&](int f, int j) { lower[j * pad + f] += dot(above[f], s.get(j)); });
    freedom.each_swivel_pair([&](int f, int j) {
      if (j < f) upper[f * pad + j] = lower[j * pad + f];
    });
  }
};

}  // namespace catena::CATENA_ISA
