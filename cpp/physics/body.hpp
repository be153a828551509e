// One rigid body over one step: the discrete Euler-Lagrange equations in the world frame.
//
// Between the nodes t_2 and t_3 = t_2 + dt the centre of mass moves by d and the body turns by the unit quaternion
// (c, eta), eta in the world frame, c = sqrt(1 - eta.eta) > 0, which is the paper's |w| dt < 2 with w = 2 eta/dt.
// The body's angular momentum on that interval, in the world frame, is
//
//     L = (2/dt) (c y + eta x y),   y = J eta,   J = R2 J_body R2^T,
//
// because R(c, eta) (c I - [eta]) J eta = (c I + [eta]) J eta: what the paper writes with the new w at the end
// of one step and with the old w at the start of the next is the same vector. So L is kept as state and the paper's two
// equations become balances of momentum at the node, multiplied by dt so that unknowns are metres and radians:
//
//     F = m d  - dt (m v1 + kick f)  - joint forces,
//     N = 2 (c y + eta x y) - dt (L1 + kick tau) - joint torques,
//
// with v1, L1 of the interval before, f and tau the applied force and torque at the node and kick the time over which
// they act: half of the interval before plus half of the one after (dt for equal steps, dt/2 at a symmetric start).
//
// Against an increment phi of the new orientation (world frame) the derivative of N is, in closed form,
//
//     H = K J K^T - (eta.y) I - [c y + eta x y]x,   K = c I + [eta]x,
//
// and the unknown itself changes by d eta = (c phi + phi x eta)/2.
//
// Momenta and forces are kept over a `unit` (kg), of which the body has a `share`, m = unit share: the mass itself and
// one, or, of a massless body, 1 kg and nothing. Its balance has no more than what acts on it, F = -dt kick f - joint
// forces, which its joints hand on to bodies that have a mass.
#pragma once

#include "base/quat.hpp"
#include "model/layout.hpp"

namespace catena::CATENA_ISA {

template <class T>
struct Body {
  // state: pose at the node, momentum over the unit and world angular momentum of the interval before it
  Vec3<T> x;
  Quat<T> q;
  Vec3<T> v, L;

  // fixed during a step: rotation matrix, world inertia, applied force over the unit (gravity included) and torque,
  // and the momenta to be met, over the unit and scaled by dt
  Mat3<T> R;
  Mat3<T> J;
  Vec3<T> f, tau;
  Vec3<T> target_d, target_L;

  // iterate: step quaternion (c, eta) and displacement
  Quat<T> w;
  Vec3<T> d;

  // Newton increment of the new pose
  Vec3<T> dx, phi;
};

// Squared, of half the angle by which a step turns the body, turns about its axis `spin` left out.
template <class T>
CATENA_INLINE T swing_cosine2(const Body<T>& b, Vec3<T> spin) {
  const T spun = dot(vector_part(b.w), b.R * spin);
  return b.w.w * b.w.w + spun * spun;
}

// what changes with the node only
template <class T>
CATENA_INLINE void place_body(Body<T>& b, const LinkInfo& info) {
  b.R = matrix(b.q);
  b.J = rotated(b.R, info.inertia);
}

template <class T>
CATENA_INLINE void aim_body(Body<T>& b, T dt, T kick) {
  b.target_d = dt * (b.v + kick * b.f);
  b.target_L = dt * (b.L + kick * b.tau);
}

// dt L / 2
template <class T>
CATENA_INLINE Vec3<T> half_turn_momentum(const Body<T>& b) {
  const Vec3<T> y = b.J * b.w.v;
  return b.w.w * y + cross(b.w.v, y);
}

// force (over the unit) and torque balance without joints
template <class T>
CATENA_INLINE Vec3<T> force_residual(const Body<T>& b, T share) {
  return share * b.d - b.target_d;
}
template <class T>
CATENA_INLINE Vec3<T> torque_residual(const Body<T>& b) {
  return T(2) * half_turn_momentum(b) - b.target_L;
}

template <class T>
CATENA_INLINE Mat3<T> turn_jacobian(const Body<T>& b) {
  const T c = b.w.w;
  const Vec3<T> eta = b.w.v, y = b.J * eta;
  const Vec3<T> l = c * y + cross(eta, y);
  const Mat3<T> KJ = {c * b.J.i + cross(eta, b.J.i), c * b.J.j + cross(eta, b.J.j), c * b.J.k + cross(eta, b.J.k)};
  const Mat3<T> S = times_skew(KJ, eta) + diagonal_and_skew(dot(eta, y), l);
  return {c * KJ.i - S.i, c * KJ.j - S.j, c * KJ.k - S.k};
}

template <class T>
CATENA_INLINE Vec3<T> turn_increment(const Quat<T>& w, Vec3<T> phi) {
  return T(0.5) * (w.w * phi + cross(phi, w.v));
}

// momenta on the interval of a step that has been solved
template <class T>
CATENA_INLINE Vec3<T> left_velocity(const Body<T>& b, T share, T per_dt) {
  return (share * per_dt) * b.d;
}
template <class T>
CATENA_INLINE Vec3<T> left_momentum(const Body<T>& b, T per_dt) {
  return (T(2) * per_dt) * half_turn_momentum(b);
}
// they become state, and the body moves
template <class T>
CATENA_INLINE void commit_body(Body<T>& b, T share, T per_dt) {
  b.v = left_velocity(b, share, per_dt);
  b.L = left_momentum(b, per_dt);
  b.q = renormalised(b.w * b.q);
  b.x += b.d;
}

// what of a body a step leaves to the next; of several at once, such as in a lane and by itself
constexpr int body_state_size = 13;
template <class F, class... Bodies>
CATENA_INLINE void visit_body(F&& visit, Bodies&... b) {
  visit(b.x...), visit(b.q...), visit(b.v...), visit(b.L...);
}

}  // namespace catena::CATENA_ISA
