// Drag of a body in what stands still around it, such as air: a force and a torque against its own motion.
//
// With resistances C along and K about the axes of the body (N s/m, N m s/rad) it is
//
//     f = -R C R^T v,   tau = -R K R^T omega,   v = d/dt,   omega = 2 eta/dt  on the interval,
//
// half of its impulse at either end, along the axes that the body has there: second order, and it never feeds energy,
// as v and omega are those of both halves. The first half is part of the step's balance, multiplied by dt as all of it,
//
//     F += (dt/2) R2 C R2^T d,   N += dt R2 K R2^T eta,
//
// with derivatives that are the body's own: it needs no rows, and nothing that its joints would have to know. The
// second half, along R3, goes to the momenta that arrive at the end.
//
// In a step backwards it feeds what it would take: m + c dt/2 and J + k dt/2 must stay positive, with a margin.
#pragma once

#include "physics/body.hpp"
#include "physics/rows/joint.hpp"

namespace catena::CATENA_ISA {

// of a link, along or about its axes (3), as a matrix in the world
template <class T>
CATENA_INLINE Mat3<T> resistance(const Mat3<T>& R, const double* along) {
  if (along[0] == along[1] && along[1] == along[2]) return diagonal(T(along[0]));
  const double six[6] = {along[0], along[1], along[2], 0, 0, 0};
  return rotated(R, six);
}
// in its balance at the iterate; `drag` has three numbers for motions, then three for turns
template <class T>
CATENA_INLINE Wrench<T> drag_residual(const Body<T>& b, const double* drag, T dt) {
  return {(T(0.5) * dt) * (resistance(b.R, drag) * b.d), dt * (resistance(b.R, drag + 3) * vector_part(b.w))};
}
// and how that grows with a displacement, and with a turn of the new pose
template <class T>
CATENA_INLINE Mat3<T> drag_against_motion(const Body<T>& b, const double* drag, T dt) {
  return (T(0.5) * dt) * resistance(b.R, drag);
}
template <class T>
CATENA_INLINE Mat3<T> drag_against_turn(const Body<T>& b, const double* drag, T dt) {
  const Mat3<T> K = (T(0.5) * dt) * resistance(b.R, drag + 3);
  return b.w.w * K + times_skew(K, -vector_part(b.w));
}
// its second half to the momenta of a step that has been solved and ends in the pose q
template <class T>
CATENA_INLINE void drag_momenta(const Body<T>& b, const Quat<T>& q, const double* drag, T unit, Vec3<T>& v,
                                Vec3<T>& L) {
  const Mat3<T> R = matrix(q);
  v -= (T(0.5) / unit) * (resistance(R, drag) * b.d);
  L -= resistance(R, drag + 3) * vector_part(b.w);
}
// whether a step backwards cannot be trusted with it
CATENA_INLINE bool drag_misleads(const Body<double>* body, const LinkInfo* link, int i, const double* drag, double dt) {
  double slow = 0, turn = 0;
  const auto gives = link[i].mass > 0 ? free_compliance : compliance;
  for (int e = 0; e < 3; ++e) {
    const Vec3<double> axis = {e == 0 ? 1.0 : 0.0, e == 1 ? 1.0 : 0.0, e == 2 ? 1.0 : 0.0};
    slow = std::fmax(slow, drag[e] * gives(body, link, i, {axis, {0, 0, 0}}));
    turn += drag[3 + e] * gives(body, link, i, {{0, 0, 0}, body[i].R * axis});
  }
  return -0.5 * dt * std::fmax(slow, turn) > 0.9;
}

}  // namespace catena::CATENA_ISA
