// A rotary damper between two bodies, such as one in a ball joint: a torque against the turn of b against a.
//
// It is the same about all axes. With c in N m s/rad it is, on b,
//
//     tau = -c (omega_b - omega_a),   omega = 2 eta/dt  on the interval,
//
// and the opposite on a, half of its impulse at either end: second order, and it never feeds energy. No axes turn
// between the two ends, and the torques on a and b cancel at each of them: angular momentum is kept. The first half is
// part of the step's balance, multiplied by dt as all of it,
//
//     N_b += c dt (eta_b - eta_a),   N_a -= c dt (eta_b - eta_a),
//
// and with d(eta) = (w phi + phi x eta)/2 its derivative against turns of either body is G = (c dt/2) (w - [eta]). The
// second half goes to the momenta that arrive at the end.
//
// On a ball joint of the tree it is part of the joint's elimination (solve/tree/articulation.hpp). Elsewhere it is
// three rows (rows/rotary.hpp): lambda + c dt (eta_b - eta_a) = 0.
//
// In a step backwards it feeds what it would take: J + c dt/2 must stay positive, with a margin.
#pragma once

#include "physics/body.hpp"
#include "physics/rows/joint.hpp"

namespace catena::CATENA_ISA {

// against a turn of one of the bodies
template <class T>
CATENA_INLINE Mat3<T> rotary_against_turn(const Quat<T>& w, T half) {
  return diagonal_and_skew(half * w.w, -half * vector_part(w));
}

// on a link and its parent: derivatives against their turns, and the torque in the balance of the link
template <class T>
struct Rotary {
  Mat3<T> own, above;
  Vec3<T> torque;
};
template <class T>
CATENA_INLINE Vec3<T> rotary_torque(const Quat<T>& parent, const Quat<T>& link, T half) {
  return (half + half) * (vector_part(link) - vector_part(parent));
}
template <class T>
CATENA_INLINE Rotary<T> rotary_between(const Quat<T>& parent, const Quat<T>& link, T half) {
  return {rotary_against_turn(link, half), rotary_against_turn(parent, half), rotary_torque(parent, link, half)};
}

// its second half, which b loses and a gains at the end of a step that has been solved
template <class T>
CATENA_INLINE Vec3<T> rotary_impulse(const Body<T>& a, const Body<T>& b, double damping) {
  return T(damping) * (vector_part(b.w) - vector_part(a.w));
}
inline void rotary_momenta(const Layout& layout, Body<double>* body) {
  for (int k = 0; k < layout.rotary_count; ++k) {
    const ConstraintInfo& c = layout.constraint[layout.rotary[k]];
    Body<double>&a = body[c.end[0]], &b = body[c.end[1]];
    const Vec3<double> lost = rotary_impulse(a, b, c.parameter);
    b.L -= lost;
    a.L += lost;
  }
}

CATENA_INLINE Vec3<double> world_axis(int k) { return {k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0}; }

// whether a step backwards cannot be trusted with it: what free bodies yield bounds what joints leave of them
inline bool rotary_misleads(const Body<double>* body, const LinkInfo* link, const ConstraintInfo& c, double dt) {
  double turn = 0;
  for (int e = 0; e < 2; ++e)
    for (int k = 0; k < 3; ++k) {
      const auto gives = link[c.end[e]].mass > 0 ? free_compliance : compliance;
      turn += gives(body, link, c.end[e], {{0, 0, 0}, world_axis(k)});
    }
  return -0.5 * dt * c.parameter * turn > 0.9;
}

}  // namespace catena::CATENA_ISA
