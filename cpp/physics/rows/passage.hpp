// The middle of a step, where rows of velocities are taken.
//
// It is half of the displacement d and half of the turn: m, the square root of the turn (c, eta). A turn phi of the new
// pose turns the middle by psi = (I + R(m))^-1 phi = (phi - t x phi)/2 with t = eta/(1 + c), and changes w = 2 eta by
// c phi - eta x phi, so a row's gradients by the middle pose (u_x, u_psi) and by d and w (A_x, A_w) together are,
// against the new pose,
//
//     force part A_x + u_x/2,    torque part c A_w + eta x A_w + (u_psi + t x u_psi)/2.
#pragma once

#include "physics/rows/joint.hpp"

namespace catena::CATENA_ISA {

// a body between the two ends of a step
struct Passage {
  Pose<double> middle;
  Vec3<double> d, w;  // displacement and 2 eta
  Quat<double> turn;
  Vec3<double> t;
};

CATENA_INLINE Passage passage(const Pose<double>& from, Vec3<double> d, const Quat<double>& turn_by) {
  Passage p;
  const double norm = std::sqrt(2 * (1 + turn_by.w));
  const Quat<double> half = {0.5 * norm, (1 / norm) * turn_by.v};
  const Mat3<double>& R = from.R;
  p.middle = {from.x + 0.5 * d, {R.i + turn(half, R.i), R.j + turn(half, R.j), R.k + turn(half, R.k)}};
  p.d = d;
  p.w = 2.0 * turn_by.v;
  p.turn = turn_by;
  p.t = (1 / (1 + turn_by.w)) * turn_by.v;
  return p;
}

// a row against the new pose: A by displacement and turn, u by the middle pose
CATENA_INLINE Wrench<double> row_at_end(const Passage& p, const Wrench<double>& A, const Wrench<double>& u) {
  return {A.f + 0.5 * u.f, p.turn.w * A.t + cross(p.turn.v, A.t) + 0.5 * (u.t + cross(p.t, u.t))};
}

}  // namespace catena::CATENA_ISA
