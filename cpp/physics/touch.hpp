// A contact with friction: a pair of features (physics/shapes/feature.hpp), its rows over a step, and Coulomb's law.
//
// Its three forces have the directions of the normal and two tangents at the old pose. They act on both bodies at one
// point C, also while the gap is open, so momentum is conserved. The gap is that of the new pose. The slip is the exact
// relative displacement of the material points of both bodies at a point Q, and the rolling of the lever from Q to C,
//
//     s = u_b - u_a,     u = d + (R' - R) (Q - x) + 2 eta x (C - Q).
//
// Q is the touching point, or the center of the ball. So a corner that sticks does not creep, and a ball rolls as in
// rows/rolling.hpp.
#pragma once

#include "physics/coulomb.hpp"
#include "physics/rows/joint.hpp"
#include "physics/shapes/feature.hpp"

namespace catena::CATENA_ISA {

// slip is steady if it is this many times as large as the change of slip by friction in a step
constexpr double steady_slip = 4;

struct Touch {
  // from the layout
  int law = 0, stop = 0;
  int end[2] = {-1, -1};  // links a and b
  int row = 0;            // index of its multipliers among the solver's unknowns
  bool lone = false;      // the solver eliminates it with its only link
  Feature feature = {};
  // the node
  Vec3<double> direction[3];  // normal, tangents
  Vec3<double> point;         // C
  Vec3<double> arm[2], lever;
  Wrench<double> force[2][3];  // of the directions, on either end
  double give[3] = {};         // compliance of each row
  double resistance[3];        // inverse compliance
  bool takes = false;          // it takes part in the equations
  // force (N, world, on b) in the step before, which is the guess for the next one, and the grip in it
  Vec3<double> pressed = {0, 0, 0};
  Grip grip = Grip::open;
  Vec3<double> slipped = {0, 0, 0};  // slip velocity (m/s, world) in that step
  bool is_steady = false;            // it slips much farther in a step than friction changes the slip
  double before[2] = {0, 0};         // slip of a step at that velocity
  // the iterate: gap and slip, their gradients, the law, and its residual
  double value[3];
  Wrench<double> motion[2][3];
  Coulomb law_there = {};
  double residual[3] = {};
  // projection of velocities: the current multipliers, and the required rate of the gap
  double impulse[3] = {}, want = 0, approach[3] = {}, bounced[3] = {};
  // the elimination: multiplier increment = -(solved + kept . increment of the link)
  double solved[3];
  Wrench<double> kept[3];
  Grip aside[2] = {Grip::open, Grip::open};  // saved while another step is solved

  // a point or ball on a plane of the world, the most frequent case: everything but its arm is constant
  bool is_plain() const { return feature.kind == FeatureKind::point_plane && !feature.flipped && end[0] < 0; }
  Vec3<double> plane_normal() const { return load3(feature.along_a); }
  double height(Vec3<double> center) const {
    return dot(plane_normal(), center - load3(feature.at_a)) - feature.radius_a - feature.radius_b;
  }

  double mu(const Layout& layout) const { return layout.law[law].grip; }

  // a trajectory begins
  void enter(const Layout& layout, int which) {
    *this = Touch();
    law = layout.touch[which];
    stop = layout.law[law].stop;
    const ConstraintInfo& c = layout.constraint[layout.law[law].constraint];
    end[0] = c.end[0];
    end[1] = c.end[1];
    lone = c.link >= 0;
    // the anchor on the plane is at the height of the ball's center
    feature.radius_b = layout.law[law].ball;
    for (int k = 0; k < 3; ++k) {
      feature.along_a[k] = c.frame_a[6 + k];
      feature.at_a[k] = c.anchor_a[k] - feature.radius_b * c.frame_a[6 + k];
      feature.at_b[k] = c.anchor_b[k];
    }
    if (!is_plain()) return;
    direction[0] = plane_normal();
    direction[1] = across(direction[0]);
    direction[2] = cross(direction[0], direction[1]);
    for (int k = 0; k < 3; ++k) force[0][k] = motion[0][k] = {{0, 0, 0}, {0, 0, 0}};
  }

  void place(const Layout& layout, const Body<double>* body) {
    if (is_plain()) return place_plain(layout, body[end[1]]);
    const Pose<double> a = old_pose(body, end[0]), b = old_pose(body, end[1]);
    const Touching<double> here = touching(feature, a, b);
    point = here.point;
    direction[0] = here.normal;
    direction[1] = across(here.normal);
    direction[2] = cross(direction[0], direction[1]);
    const Vec3<double> core = feature.kind == FeatureKind::line_line ? point
                              : feature.flipped                      ? a.x + a.R * load3(feature.at_a)
                                                                     : b.x + b.R * load3(feature.at_b);
    lever = point - core;
    arm[0] = core - a.x;
    arm[1] = core - b.x;
    const Vec3<double> from[2] = {point - a.x, point - b.x};
    for (int k = 0; k < 3; ++k) {
      double sum = 0;
      for (int e = 0; e < 2; ++e) {
        const Vec3<double> f = e == 0 ? -direction[k] : direction[k];
        force[e][k] = {f, cross(from[e], f)};
        sum += compliance(body, layout.link, end[e], force[e][k]);
      }
      give[k] = sum;
    }
    find_resistance();
  }
  void place_plain(const Layout& layout, const Body<double>& b) {
    const Vec3<double> n = direction[0];
    arm[1] = b.R * load3(feature.at_b);
    const Vec3<double> center = b.x + arm[1];
    lever = -(feature.radius_b + 0.5 * height(center)) * n;
    point = center + lever;
    const Vec3<double> from = arm[1] + lever;
    for (int k = 0; k < 3; ++k) {
      force[1][k] = {direction[k], cross(from, direction[k])};
      give[k] = compliance(&b - end[1], layout.link, end[1], force[1][k]);
    }
    find_resistance();
  }
  void find_resistance() {
    // the mean of both tangents, which does not depend on their directions
    give[1] = give[2] = 0.5 * (give[1] + give[2]);
    for (int k = 0; k < 3; ++k) resistance[k] = 1 / give[k];
  }
  double gap_at(const Body<double>* body, bool at_end) const {
    if (is_plain()) {
      const Body<double>& b = body[end[1]];
      const Vec3<double> own = b.R * load3(feature.at_b);
      return height(at_end ? b.x + b.d + (own + turn(b.w, own)) : b.x + own);
    }
    if (at_end) return touching(feature, new_pose(body, end[0]), new_pose(body, end[1])).gap;
    return touching(feature, old_pose(body, end[0]), old_pose(body, end[1])).gap;
  }
  // rate along direction k in the last projection of velocities
  double rate(const Body<double>* body, int k) const {
    double sum = 0;
    for (int e = 0; e < 2; ++e)
      if (end[e] >= 0) sum += dot(force[e][k].f, body[end[e]].dx, force[e][k].t, body[end[e]].phi);
    return sum;
  }

  // gap and slip at the iterate of a step
  void measure(const Body<double>* body) {
    if (is_plain()) {
      const Body<double>& b = body[end[1]];
      const Vec3<double> swing = turn(b.w, arm[1]), arm_there = arm[1] + swing;
      value[0] = height(b.x + b.d + arm_there);
      motion[1][0] = {direction[0], cross(arm_there, direction[0])};
      return slide(b, 1, swing, arm_there);
    }
    const Touching<double> there = touching(feature, new_pose(body, end[0]), new_pose(body, end[1]));
    value[0] = there.gap;
    value[1] = value[2] = 0;
    for (int e = 0; e < 2; ++e) {
      if (end[e] < 0) {
        for (int k = 0; k < 3; ++k) motion[e][k] = {{0, 0, 0}, {0, 0, 0}};
        continue;
      }
      const Body<double>& b = body[end[e]];
      const double sign = e == 0 ? -1 : 1;
      const Vec3<double> n = sign * there.normal, swing = turn(b.w, arm[e]), arm_there = arm[e] + swing;
      motion[e][0] = {n, cross(there.point - (b.x + b.d), n)};
      slide(b, e, swing, arm_there);
    }
  }
  // adds the part of an end to the slip
  void slide(const Body<double>& b, int e, const Vec3<double>& swing, const Vec3<double>& arm_there) {
    const double sign = e == 0 ? -1 : 1;
    const Vec3<double> moved = b.d + swing + 2.0 * cross(b.w.v, lever);
    for (int k = 1; k < 3; ++k) {
      const Vec3<double> t = sign * direction[k], q = cross(lever, t);
      motion[e][k] = {t, cross(arm_there, t) + b.w.w * q + cross(b.w.v, q)};
      value[k] = dot(t, moved) + (e == 1 && end[0] >= 0 ? value[k] : 0);
    }
  }
  // begins a step of length dt, in which multipliers are `scale` times the forces
  void begin(const Layout& layout, double dt, double scale) {
    for (int k = 0; k < 2; ++k) before[k] = dt * dot(slipped, direction[k + 1]);
    const double change = mu(layout) * larger(scale * dot(pressed, direction[0]), 0) / resistance[1];
    is_steady = std::hypot(before[0], before[1]) > steady_slip * change && norm2(slipped) > 0;
  }
  // evaluates the law at the iterate of a step
  void look(const Layout& layout, const Body<double>* body, const double* lambda, double eps, bool stuck) {
    measure(body);
    law_there.look(lambda, value, resistance[0], resistance[1], mu(layout), eps, stuck, is_steady ? before : nullptr);
    for (int k = 0; k < 3; ++k) residual[k] = law_there.F[k];
    grip = law_there.grip;
  }
  // evaluates the law of velocities at the current ones; the next increment gives velocities and multipliers as a whole
  void look_at_rates(const Layout& layout, double eps, bool stuck) {
    const double rates[3] = {value[0] - want, value[1], value[2]};
    law_there.look(impulse, rates, resistance[0], resistance[1], mu(layout), eps, stuck);
    grip = law_there.grip;
    for (int k = 0; k < 3; ++k) {
      residual[k] = law_there.F[k];
      for (int j = 0; j < 3; ++j) residual[k] -= law_there.K[k][j] * value[j] + law_there.S[k][j] * impulse[j];
    }
    for (int e = 0; e < 2; ++e)
      for (int k = 0; k < 3; ++k) motion[e][k] = force[e][k];
  }
  // violation of the law (m, or m/s)
  double misfit() const {
    double most = 0;
    for (int k = 0; k < 3; ++k) most = larger(most, std::fabs(law_there.F[k]) * give[k]);
    return most;
  }
  // a row of factors times the gradients on an end
  CATENA_INLINE Wrench<double> combined(const double* factor, int e) const {
    Wrench<double> w = {factor[0] * motion[e][0].f, factor[0] * motion[e][0].t};
    for (int k = 1; k < 3; ++k) {
      w.f += factor[k] * motion[e][k].f;
      w.t += factor[k] * motion[e][k].t;
    }
    return w;
  }
  // adds the contact with multipliers `lambda` to the balance of its only link
  template <class Articulation>
  void close(Articulation& m, const double* lambda) {
    const int e = end[0] >= 0 ? 0 : 1;
    double T[3][3];
    law_there.invert();
    law_there.solve(residual, solved);
    law_there.solve_rows(T);
    for (int k = 0; k < 3; ++k) {
      kept[k] = combined(T[k], e);
      const Wrench<double>& w = force[e][k];
      subtract_outer(m.A, -w.f, kept[k].f);
      subtract_outer(m.B, -w.f, kept[k].t);
      subtract_outer(m.C, -w.t, kept[k].f);
      subtract_outer(m.E, -w.t, kept[k].t);
      const double y = solved[k] - lambda[k];
      m.f += y * w.f;
      m.t += y * w.t;
    }
  }
  void open(const Vec3<double>& dx, const Vec3<double>& phi, double* change) const {
    for (int k = 0; k < 3; ++k) change[k] = -(solved[k] + dot(kept[k].f, dx, kept[k].t, phi));
  }
  Wrench<double> wrench(int e, const double* lambda) const {
    Wrench<double> w = {{0, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < 3; ++k) {
      w.f += lambda[k] * force[e][k].f;
      w.t += lambda[k] * force[e][k].t;
    }
    return w;
  }
  Vec3<double> along_directions(const double* lambda) const {
    return lambda[0] * direction[0] + lambda[1] * direction[1] + lambda[2] * direction[2];
  }
};

}  // namespace catena::CATENA_ISA
