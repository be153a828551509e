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
// A substep backwards in time, of which the higher orders make use, feeds what a damper takes: the pivot
// 1 - c |dt| k/2, k the compliance of the bodies, vanishes for a stiff one, and what lies beyond is not to be trusted.
// A solution there is refused (free bodies give the first bound of k, and what the joints leave of it decides), and so
// the step is halved until it fits.
//
// A spring of one side, with its damper, acts only beyond its rest, as a cable does, or only below, as a bumper does,
// and never the other way: f is nothing where it is slack, or where the damper would make a cable push.
//
// A soft stop is a spring with a damper beyond a bound, and acts at the end of the interval, f = -k (phi3 - bound) - c
// v: in its middle, as other springs do, a stiff one would push where the motion has only just arrived and make energy.
// At the end it never does, at any stiffness; it is of first order.
//
// A rotor that turns with phi (an armature) has the discrete momentum p = I (phi3 - phi2)/dt on the interval, and what
// it takes over from the bodies at the node is lambda = -dt (p - p1), p1 of the interval before: variational too.
#pragma once

#include "base/tanh.hpp"
#include "physics/body.hpp"
#include "physics/clock.hpp"

namespace catena::CATENA_ISA {

// what a law needs to know of the interval
template <class T>
struct Stage {
  T dt, per_dt;
  bool resting;     // velocities are projected
  T target, rate;   // where a servo wants the measure in the middle, and how fast
  double soft = 1;  // see Clock
};
CATENA_INLINE Stage<double> stage_of(const LawInfo& law, const Clock& clock) {
  const int k = law.target_signal;
  if (k < 0 || clock.resting) return {clock.dt, clock.per_dt, clock.resting, law.target, law.target_rate, clock.soft};
  return {clock.dt, clock.per_dt, false, clock.middle[k], (clock.end[k] - clock.now[k]) * clock.per_dt, clock.soft};
}

// whether a spring of one side is slack at phi
template <class T>
CATENA_INLINE auto is_slack(const LawOf<T>& law, T phi) {
  return law.side * (law.rest - phi) > T(0);
}

// force at a rate, a middle and an end of the interval, and its derivative against the end
template <class T>
CATENA_INLINE T force_between(const LawOf<T>& law, T v, T middle, T end, const Stage<T>& stage, T& slope) {
  const T per_dt = stage.per_dt;
  T f = -law.damping * v;
  slope = -law.damping * per_dt;
  if (any(law.implicit > T(0))) {
    const T stiffness = choose(law.implicit > T(0), law.stiffness, T(0));
    f -= stiffness * (middle - law.rest);
    slope -= T(0.5) * stiffness;
  }
  if (any(law.side != T(0))) {
    const auto idle = is_slack(law, middle) | (law.side * f > T(0));
    f = choose(idle, T(0), f);
    slope = choose(idle, T(0), slope);
  }
  if (any(law.friction > T(0))) {
    const T threshold = T(stage.soft) * law.threshold, t = tangent(v / threshold);
    f -= law.friction * t;
    slope -= law.friction * (T(1) - t * t) / threshold * per_dt;
  }
  if (any(law.kp > T(0)) || any(law.kd > T(0))) {
    const T servo = law.kp * (stage.target - middle) + law.kd * (stage.rate - v);
    const auto within = (servo < law.limit) & (-servo < law.limit);
    f += choose(within, servo, choose(servo > T(0), law.limit, -law.limit));
    slope -= choose(within, T(0.5) * law.kp + law.kd * per_dt, T(0));
  }
  if (any(law.stop_stiffness > T(0))) {
    const T above = end - law.upper, below = law.lower - end;
    const auto over = above > T(0), under = below > T(0), beyond = over | under;
    f -= choose(over, law.stop_stiffness * above, T(0)) - choose(under, law.stop_stiffness * below, T(0));
    f -= choose(beyond, law.stop_damping * v, T(0));
    slope -= choose(beyond, law.stop_stiffness + law.stop_damping * per_dt, T(0));
  }
  return f;
}
// force on the interval, and its derivative against phi3
template <class T>
CATENA_INLINE T stage_force(const LawOf<T>& law, T phi2, T phi3, const Stage<T>& stage, T& slope) {
  return force_between(law, (phi3 - phi2) * stage.per_dt, T(0.5) * (phi2 + phi3), phi3, stage, slope);
}

// force at the node, with a motor's
template <class T>
CATENA_INLINE T spring_and_motor(const LawOf<T>& law, T motor, T phi) {
  if (!any(law.stiffness != T(0))) return motor;
  return motor - choose((law.implicit > T(0)) | is_slack(law, phi), T(0), law.stiffness * (phi - law.rest));
}
CATENA_INLINE double node_force(const LawInfo& law, double phi, const Clock& clock) {
  return spring_and_motor<double>(law, law.force_signal >= 0 ? clock.now[law.force_signal] : law.force, phi);
}

// The multiplier that a law wants where the step moves its measure from phi2 by so much, with what its rotor had as
// momentum, and its derivative against that; in a projection of velocities only rotors take part.
template <class T>
CATENA_INLINE T law_multiplier(const LawOf<T>& law, T phi2, T by, const Stage<T>& stage, T momentum, T& slope) {
  const T weight = T(0.5) * stage.dt * stage.dt;
  T f = T(0);
  slope = T(0);
  if (!stage.resting) f = stage_force(law, phi2, phi2 + by, stage, slope);
  slope = weight * slope - law.inertia;
  return weight * f - law.inertia * by + stage.dt * momentum;
}

// The same against the motion of a freedom for all iterates of a step. But for what acts on one side it is a line, that
// of the servo another one, which its limit bends, and friction a curve of its own.
struct LawLine {
  double value = 0, slope = 0;                  // without friction and the servo
  double servo = 0, servo_slope = 0, most = 0;  // of the servo, and its largest
  double friction = 0, rate = 0;                // largest, and what it is reached by
  double sign = 1;                              // of the law's measure, if the freedom grows
  bool bent = true;                             // it is no line
  bool absent = false;                          // the law acts at the nodes only
  // effort on the freedom, and its derivative
  CATENA_INLINE double at(double by, double& steepness) const {
    const double wanted = servo + servo_slope * by;
    const bool within = std::fabs(wanted) < most;
    double effort = value + slope * by + (within ? wanted : std::copysign(most, wanted));
    steepness = slope + (within ? servo_slope : 0);
    if (friction > 0) {
      const double t = tangent(rate * by);
      effort -= friction * t;
      steepness -= friction * rate * (1 - t * t);
    }
    return effort;
  }
};
// before the first step
CATENA_INLINE LawLine law_line(const LawInfo& law) { return {.sign = law.sign, .absent = law.constraint < 0}; }
// for a step; the law's numbers are read first, as a compiler must take them for the line's own
CATENA_INLINE void draw(LawLine& line, const LawInfo& law, double phi2, const Stage<double>& stage, double momentum) {
  const double weight = 0.5 * stage.dt * stage.dt, spring = law.implicit > 0 ? law.stiffness : 0, sign = law.sign;
  const double kp = law.kp, kd = law.kd, limit = law.limit, friction = law.friction, threshold = law.threshold;
  const double value = sign * (stage.dt * momentum - weight * spring * (phi2 - law.rest));
  line.slope = -weight * (0.5 * spring + law.damping * stage.per_dt) - law.inertia;
  line.value = value;
  line.bent = law.side != 0 || law.stop_stiffness > 0;
  if (kp > 0 || kd > 0) {
    line.servo = sign * weight * (kp * (stage.target - phi2) + kd * stage.rate);
    line.servo_slope = -weight * (0.5 * kp + kd * stage.per_dt);
    line.most = weight * limit;
  } else {
    line.servo = line.servo_slope = line.most = 0;
  }
  line.friction = weight * friction;
  if (friction > 0) line.rate = stage.per_dt / (stage.soft * threshold);
}

// Whether a step backwards, of so much, cannot be trusted with the law: it is too stiff, or its friction could turn the
// motion round, where there are several solutions.
CATENA_INLINE bool misleads(const LawInfo& law, double phi2, double by, const Clock& clock, double compliance) {
  const double weight = 0.5 * clock.dt * clock.dt, pull = weight * law.friction * compliance;
  double slope;
  stage_force<double>(law, phi2, phi2 + by, stage_of(law, clock), slope);
  return weight * slope * compliance > 0.9 ||
         (pull > 0.9 * law.threshold * std::fabs(clock.dt) && std::fabs(by) < 2 * pull);
}

}  // namespace catena::CATENA_ISA
