// One plain step of several members in lanes: solved, checked, and taken by those lanes that are solved
// (simulate/step.hpp).
#pragma once

#include <numbers>

#include "lanes/lane_newton.hpp"
#include "lanes/lane_node.hpp"
#include "lanes/lane_stops.hpp"
#include "simulate/step.hpp"

namespace catena::CATENA_ISA {

struct LaneStep {
  using T = Lane;
  using Mask = Lane::Mask;

  LaneNode& node;
  LaneNewton& newton;
  LaneStops& stops;
  const Layout& layout = node.layout;
  LaneTree& tree = node.tree;
  Mask unsolved = {};  // could not take this step, or are not alive

  void solve(Mask alive) {
    const double dt = node.common().dt;
    newton.guess(dt);
    const T kick = node.half + T(0.5 * dt);
    tree.last(dt);
    node.push(kick);
    if (stops.count() > 0) stops.arm();
    unsolved = newton.iterate(dt, kick, alive);
    if (node.common().rescue_depth > 0) unsolved |= too_fast(alive);
    if (stops.count() > 0) unsolved |= stops.meet();
    unsolved |= ~alive;
  }
  // for the solver that judges them one by one: see Step::judged
  Mask too_fast(Mask alive) const {
    T least_cosine = T(1);
    for (int i = 0; i < layout.link_count; ++i) least_cosine = least(least_cosine, tree.body[i].w.w);
    const Mask fast = alive & ~(least_cosine > T(farthest_cosine));
    if (!any(fast)) return fast;
    Mask close = least_cosine > T(farthest_spin_cosine);
    for (int i = 0; i < layout.link_count; ++i)
      close &= swing_cosine2(tree.body[i], tree.link[i].spin) > T(farthest_cosine * farthest_cosine);
    return fast & ~close;
  }

  // the step has been solved: its momenta become state, the bodies move on
  void commit() {
    const T per_dt = tree.per_dt;
    newton.learn(unsolved);
    for (int i = 0; i < layout.link_count; ++i) {
      Body<T>& b = tree.body[i];
      const Quat<T> q = renormalised(b.w * b.q);
      Vec3<T> v = left_velocity(b, tree.link[i].share, per_dt), L = left_momentum(b, per_dt);
      if (layout.drag) drag_momenta(b, q, layout.drag + 6L * i, tree.link[i].unit, v, L);
      b.v = keep(b.v, v);
      b.L = keep(b.L, L);
      b.q = {choose(unsolved, b.q.w, q.w), keep(b.q.v, q.v)};
      if (slides(layout.link[i].branch)) {
        Vec3<T> way = LaneTree::zero();
        add_slides(layout.link[i], tree.z, way);
        tree.link[i].offset = keep(tree.link[i].offset, tree.link[i].offset + way);
      }
    }
    for (int k = 0; k < layout.rotary_count; ++k) {
      const ConstraintInfo& c = layout.constraint[layout.rotary[k]];
      Body<T>&a = tree.body[c.end[0]], &b = tree.body[c.end[1]];
      const Vec3<T> lost = rotary_impulse(a, b, c.parameter);
      a.L = keep(a.L, a.L + lost);
      b.L = keep(b.L, b.L - lost);
    }
    for (int l = 0; l < layout.law_count; ++l)
      if (layout.law[l].axis >= 0 && layout.law[l].stop < 0) commit_law(l);
    stops.commit(unsolved);
    balance();
    // carried links are placed anew
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end)
      if (manner_of(layout.link[i].branch) == floating_manner)
        tree.body[i].x = keep(tree.body[i].x, tree.body[i].x + tree.body[i].d);
    if (node.common().counter_count > 0) wind();
    node.half = choose(unsolved, node.half, T(0.5 * node.common().dt));
  }

  // of laws on freedoms; there are no others inside the step here
  void commit_law(int l) {
    T slope;
    LaneLaw& law = tree.law[l];
    const T by = moved_by(layout, layout.law[l], tree.z), lambda = tree.wanted(l, by, slope);
    const auto rotor = law.inertia > T(0);
    law.before = choose(unsolved, law.before, choose(rotor, T(0), T(2) * tree.per_dt * tree.per_dt * lambda));
    law.momentum = choose(unsolved, law.momentum, choose(rotor, law.momentum - tree.per_dt * lambda, T(0)));
    law.measured = choose(unsolved, law.measured, law.measured + T(layout.law[l].sign) * by);
  }

  // How far the ends of any counted angle have turned against each other, or a little more: with c the cosine of half
  // of it, acos c <= pi/2 sqrt(1 - c), or where c < 0 pi sqrt((1 - c)/2). Counting leaves the lanes, so this is closer
  // than what Turns::wind says of all bodies.
  void wind() {
    const Quat<T> identity = {T(1), LaneTree::zero()};
    T least_cosine = T(1);
    for (int c = 0; c < node.common().counter_count; ++c) {
      const int *end = layout.counter[c].end, a = end[0], b = end[1];
      const Quat<T>&p = a < 0 ? identity : tree.body[a].w, &q = b < 0 ? identity : tree.body[b].w;
      least_cosine = least(least_cosine, p.w * q.w + dot(p.v, q.v));
    }
    const T turn = choose(least_cosine > T(0), T(std::numbers::pi), T(std::numbers::pi * std::numbers::sqrt2)) *
                   sqrt(T(1) - least_cosine);
    node.wound = choose(unsolved, node.wound, node.wound + turn);
  }

  // the old value in unsolved lanes
  CATENA_INLINE Vec3<T> keep(Vec3<T> old, Vec3<T> fresh) const {
    return {choose(unsolved, old.x, fresh.x), choose(unsolved, old.y, fresh.y), choose(unsolved, old.z, fresh.z)};
  }

  // Momentum that Newton leaves, as in Step::balance; trees do not meet here, so every floating root keeps its own, and
  // bodies are still where they were.
  void balance() {
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end) {
      if (layout.link[i].keeper != i) continue;
      Body<T>& root = tree.body[i];
      Vec3<T> force = {T(0), T(0), T(0)}, torque = force;
      for (int j = i; j < layout.link[i].tree_end; ++j) {
        const Body<T>& b = tree.body[j];
        Vec3<T> f = tree.link[j].unit * force_residual(b, tree.link[j].share), t = torque_residual(b);
        if (layout.drag) {
          const Wrench<T> w = drag_residual(b, layout.drag + 6L * j, tree.dt);
          f += w.f, t += w.t;
        }
        force += f;
        torque += t + cross(b.x - root.x, f);
      }
      root.v = keep(root.v, root.v - (tree.per_dt / tree.link[i].unit) * force);
      root.L = keep(root.L, root.L - tree.per_dt * (torque - cross(root.d, force)));
    }
  }
};

}  // namespace catena::CATENA_ISA
