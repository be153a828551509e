// Forces along a joint coordinate or between two points: springs, dampers, motors, servos, friction.
//
// A law acts along one scalar measure phi of two bodies (an angle, a displacement, a distance) with a force f on it,
// that is the wrench f times the gradient of phi, equal and opposite on the two bodies.
//
// Springs and motors act at the nodes, as gravity does: variational. What depends on velocity, and stiff springs if
// asked, acts on the interval between two nodes and is implicit in its end:
//
//     f = -k ((phi2 + phi3)/2 - rest) - c v - friction tanh(v / threshold) + clamp(servo),   v = (phi3 - phi2)/dt,
//
// half of its impulse at either end. As an unknown of the step it is a multiplier like any other, with the row
// lambda - (dt^2/2) f(phi3) = 0 in place of a gap: stable however stiff, second order.
#pragma once

#include "physics/joint.hpp"

namespace catena::CATENA_ISA {

// force on the interval, and its derivative against phi3
CATENA_INLINE double stage_force(const LawInfo& law, double phi2, double phi3, double dt, double& slope) {
  const double v = (phi3 - phi2) / dt, middle = 0.5 * (phi2 + phi3);
  double f = -law.damping * v;
  slope = -law.damping / dt;
  if (law.implicit) {
    f -= law.stiffness * (middle - law.rest);
    slope -= 0.5 * law.stiffness;
  }
  if (law.friction > 0) {
    const double t = std::tanh(v / law.threshold);
    f -= law.friction * t;
    slope -= law.friction * (1 - t * t) / (law.threshold * dt);
  }
  if (law.gain > 0 || law.rate_gain > 0) {
    const double servo = law.gain * (law.target - middle) + law.rate_gain * (law.target_rate - v);
    if (std::fabs(servo) < law.limit) {
      f += servo;
      slope -= 0.5 * law.gain + law.rate_gain / dt;
    } else {
      f += servo > 0 ? law.limit : -law.limit;
    }
  }
  return f;
}

// force at the node
CATENA_INLINE double node_force(const LawInfo& law, double phi) {
  return law.force - (law.implicit ? 0 : law.stiffness * (phi - law.rest));
}

// turn a measured row into the law's row; `resting` is the projection of velocities, in which laws take no part
CATENA_INLINE void law_row(const LawInfo& law, const JointRows& before, double dt, bool resting, double lambda,
                           JointRows& rows) {
  double slope = 0;
  const double f = resting ? 0 : stage_force(law, before.g[0], rows.g[0], dt, slope);
  const double weight = 0.5 * dt * dt;
  rows.g[0] = lambda - weight * f;
  const double factor = -weight * slope;
  rows.a[0] = {factor * rows.a[0].f, factor * rows.a[0].t};
  rows.b[0] = {factor * rows.b[0].f, factor * rows.b[0].t};
}

}  // namespace catena::CATENA_ISA
