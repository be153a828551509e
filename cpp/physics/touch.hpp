// A contact with friction: a pair of features (physics/shapes/feature.hpp), its rows over a step, and Coulomb's law.
//
// Its three forces are directions of the old pose, the normal and two tangents, and act on both bodies at one point C,
// also while the gap is open: momentum is kept. The gap is asked at the new pose. The slip is what the material points
// of both bodies at a point Q are displaced against each other, exactly, and what the lever from Q to C rolls,
//
//     s = u_b - u_a,     u = d + (R' - R) (Q - x) + 2 eta x (C - Q).
//
// Q is the point or center that touches, so a corner that sticks does not creep, and a ball rolls as rows/rolling.hpp
// has it.
#pragma once

#include "physics/coulomb.hpp"
#include "physics/rows/joint.hpp"
#include "physics/shapes/feature.hpp"

namespace catena::CATENA_ISA {

// times as far
constexpr double steady_slip = 4;

struct Touch {
  // what the layout says of it
  int law = 0, stop = 0;
  int end[2] = {-1, -1};  // links a and b
  int row = 0;            // of its multipliers among the solver's unknowns
  bool lone = false;      // the solver eliminates it with its only link
  Feature feature = {};
  // the node
  Vec3<double> direction[3];  // normal, tangents
  Vec3<double> point;         // C
  Vec3<double> arm[2], lever;
  Wrench<double> force[2][3];  // of the directions, on either end
  double give[3] = {};         // compliance of each row
  double resistance[3];        // one over it
  bool takes = false;          // it takes part in the equations
  // force (N, world, on b) over the step before, from which the next one is guessed, and how it has gripped
  Vec3<double> pressed = {0, 0, 0};
  Grip grip = Grip::open;
  Vec3<double> slipped = {0, 0, 0};  // at that rate (m/s, world), over the same step
  bool is_steady = false;            // it slips much farther in a step than friction changes that
  double before[2] = {0, 0};         // the slip of a step at the rate before
  // the iterate: gap and slip, their gradients, the law, and what is left of it
  double value[3];
  Wrench<double> motion[2][3];
  Coulomb law_there = {};
  double residual[3] = {};
  // velocities: the multipliers so far, and the rate that the gap is to have
  double impulse[3] = {}, want = 0, approach[3] = {}, bounced[3] = {};
  // the elimination: multiplier increment = -(solved + kept . increment of the link)
  double solved[3];
  Wrench<double> kept[3];
  Grip aside[2] = {Grip::open, Grip::open};  // put aside while something else is solved for

  // a point or ball on a plane of the world, by far the most: everything but its arm is constant
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
    // the anchor on the plane is where the ball's center is
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
    // of the mean of the two, which is the same for all tangents
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
  // of the last projection of velocities, along a direction
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
  // what an end adds to the slip
  void slide(const Body<double>& b, int e, const Vec3<double>& swing, const Vec3<double>& arm_there) {
    const double sign = e == 0 ? -1 : 1;
    const Vec3<double> moved = b.d + swing + 2.0 * cross(b.w.v, lever);
    for (int k = 1; k < 3; ++k) {
      const Vec3<double> t = sign * direction[k], q = cross(lever, t);
      motion[e][k] = {t, cross(arm_there, t) + b.w.w * q + cross(b.w.v, q)};
      value[k] = dot(t, moved) + (e == 1 && end[0] >= 0 ? value[k] : 0);
    }
  }
  // a step of so much time begins, in which multipliers are `scale` times the forces
  void begin(const Layout& layout, double dt, double scale) {
    for (int k = 0; k < 2; ++k) before[k] = dt * dot(slipped, direction[k + 1]);
    const double change = mu(layout) * larger(scale * dot(pressed, direction[0]), 0) / resistance[1];
    is_steady = std::hypot(before[0], before[1]) > steady_slip * change && norm2(slipped) > 0;
  }
  // the law at the iterate of a step
  void look(const Layout& layout, const Body<double>* body, const double* lambda, double eps, bool stuck) {
    measure(body);
    law_there.look(lambda, value, resistance[0], resistance[1], mu(layout), eps, stuck, is_steady ? before : nullptr);
    for (int k = 0; k < 3; ++k) residual[k] = law_there.F[k];
    grip = law_there.grip;
  }
  // the law of velocities, at those so far; the increment is to be the whole of both, velocities and multipliers
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
  // how far the law is from being met (m, or m/s)
  double misfit() const {
    double most = 0;
    for (int k = 0; k < 3; ++k) most = larger(most, std::fabs(law_there.F[k]) * give[k]);
    return most;
  }
  // a row of K times the gradients on an end
  CATENA_INLINE Wrench<double> combined(const double* factor, int e) const {
    Wrench<double> w = {factor[0] * motion[e][0].f, factor[0] * motion[e][0].t};
    for (int k = 1; k < 3; ++k) {
      w.f += factor[k] * motion[e][k].f;
      w.t += factor[k] * motion[e][k].t;
    }
    return w;
  }
  // what it adds to the balance of its only link, where its multipliers are `lambda`
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
