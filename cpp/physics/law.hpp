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
//
// A step backwards in time, of which the higher orders make use, feeds what a damper takes: the pivot 1 - c |dt| k/2, k
// the compliance of the bodies, vanishes for a stiff one, and what lies beyond is not to be trusted. A solution there
// is refused, with the compliance of free bodies for a bound, and so the step is halved until it fits.
//
// A rotor that turns with phi (an armature) has the discrete momentum p = I (phi3 - phi2)/dt on the interval, and what
// it takes over from the bodies at the node is lambda = -dt (p - p1), p1 of the interval before: variational too.
#pragma once

#include "physics/joint.hpp"

namespace catena::CATENA_ISA {

// The step to be solved, and the functions of time at its two ends and in its middle; in a projection of velocities
// (`resting`) dt is 1 and `rate` holds their derivatives at the node; where poses are put together time stands still
// too
// (`frozen`).
struct Clock {
  double dt = 1;
  bool resting = false, frozen = false;
  double soft = 1;  // by so much friction begins more gently than it should, on the way to a solution
  const double *now = nullptr, *middle = nullptr, *end = nullptr, *rate = nullptr;
};

// force on the interval, and its derivative against phi3
CATENA_INLINE double stage_force(const LawInfo& law, double phi2, double phi3, const Clock& clock, double& slope) {
  const double dt = clock.dt;
  const double v = (phi3 - phi2) / dt, middle = 0.5 * (phi2 + phi3);
  double f = -law.damping * v;
  slope = -law.damping / dt;
  if (law.implicit) {
    f -= law.stiffness * (middle - law.rest);
    slope -= 0.5 * law.stiffness;
  }
  if (law.friction > 0) {
    const double threshold = clock.soft * law.threshold, t = std::tanh(v / threshold);
    f -= law.friction * t;
    slope -= law.friction * (1 - t * t) / (threshold * dt);
  }
  if (law.gain > 0 || law.rate_gain > 0) {
    double target = law.target, target_rate = law.target_rate;
    if (law.target_signal >= 0) {
      target = clock.middle[law.target_signal];
      target_rate = (clock.end[law.target_signal] - clock.now[law.target_signal]) / dt;
    }
    const double servo = law.gain * (target - middle) + law.rate_gain * (target_rate - v);
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
CATENA_INLINE double node_force(const LawInfo& law, double phi, const Clock& clock) {
  const double motor = law.force_signal >= 0 ? clock.now[law.force_signal] : law.force;
  return motor - (law.implicit ? 0 : law.stiffness * (phi - law.rest));
}

// what a law needs to know of the step besides its measure
struct LawState {
  double lambda;      // its multiplier
  double momentum;    // of its rotor, before the step
  double compliance;  // of its row
};

// Whether a step backwards, of so much, cannot be trusted with the law: it is too stiff, or its friction could turn the
// motion round, where there are several solutions.
CATENA_INLINE bool misleads(const LawInfo& law, double phi2, double by, const Clock& clock, double compliance) {
  const double weight = 0.5 * clock.dt * clock.dt, pull = weight * law.friction * compliance;
  double slope;
  stage_force(law, phi2, phi2 + by, clock, slope);
  return weight * slope * compliance > 0.9 ||
         (pull > 0.9 * law.threshold * std::fabs(clock.dt) && std::fabs(by) < 2 * pull);
}

// turn a measured row into the law's row; in a projection of velocities only rotors take part
CATENA_INLINE void law_row(const LawInfo& law, double phi2, const Clock& clock, const LawState& state,
                           JointRows& rows) {
  const double phi3 = rows.g[0], weight = 0.5 * clock.dt * clock.dt;
  double slope = 0;
  const double f = clock.resting ? 0 : stage_force(law, phi2, phi3, clock, slope);
  rows.g[0] = state.lambda - weight * f + law.inertia * (phi3 - phi2) - clock.dt * state.momentum;
  const double factor = law.inertia - weight * slope;
  for (int e = 0; e < 2; ++e) rows.w[e] = {factor * rows.w[e].f, factor * rows.w[e].t};
}

}  // namespace catena::CATENA_ISA
