// Several members of a batch in lockstep, one to a lane: the recursion of solve/tree/articulated.hpp with a register of
// doubles for every number.
//
// Here the joints of the tree are eliminated; loops of few rows are solved on top (lanes/lane_loops.hpp). Lanes never
// mix: every operation acts on each by itself, and what a lane decides (stop, shorten a step, give up) it decides
// alone, so a member's result does not depend on its neighbors. Here nothing waits, so what counts is arithmetic:
// joints are eliminated at their own points, where a turn needs half of the products.
//
// The factors of an iteration are kept. Close to the solution the next increment is found with them again (`again`):
// one residual and two sweeps, without a new matrix.
#pragma once

#include "lanes/lane_motion.hpp"
#include "physics/drag.hpp"

namespace catena::CATENA_ISA {

struct LaneTree : LaneMotion {
  CATENA_INLINE void add_wrench(int i, Wrench<T>& s) const {
    const LaneLink<T>& l = link[i];
    Vec3<T> f = l.unit * force_residual(body[i], l.share), t = torque_residual(body[i]);
    if (layout.drag && !resting) {
      const Wrench<T> w = drag_residual(body[i], layout.drag + 6L * i, dt);
      f += w.f, t += w.t;
    }
    if (reaction) f += reaction[i].f, t += reaction[i].t;
    s.f += f;
    s.t += t + cross(l.c, f);
  }
  CATENA_INLINE void add_matrix(int i, Articulation<T>& s) const {
    const LaneLink<T>& l = link[i];
    const Vec3<T> mc = l.mass * l.c, mc3 = l.mass * l.c3;
    s.A.i.x += l.mass;
    s.A.j.y += l.mass;
    s.A.k.z += l.mass;
    s.B.i.y -= mc3.z, s.B.i.z += mc3.y;
    s.B.j.x += mc3.z, s.B.j.z -= mc3.x;
    s.B.k.x -= mc3.y, s.B.k.y += mc3.x;
    s.C.i.y += mc.z, s.C.i.z -= mc.y;
    s.C.j.x -= mc.z, s.C.j.z += mc.x;
    s.C.k.x += mc.y, s.C.k.y -= mc.x;
    s.E = s.E + turn_jacobian(body[i]);
    subtract_outer(s.E, mc3, l.c);
    const T d = dot(mc, l.c3);
    s.E.i.x += d;
    s.E.j.y += d;
    s.E.k.z += d;
    if (layout.drag && !resting) add_drag(i, s);
  }
  void add_drag(int i, Articulation<T>& s) const {
    const LaneLink<T>& l = link[i];
    const double* drag = layout.drag + 6L * i;
    Articulation<T> own;
    own.A = drag_against_motion(body[i], drag, dt);
    own.f = zero();
    move_force(own, l.c, l.c3);
    s.A = s.A + own.A;
    s.B = s.B + own.B;
    s.C = s.C + own.C;
    s.E = s.E + own.E + drag_against_turn(body[i], drag, dt);
  }

  // the multiplier that a law on a freedom wants if that moves by so much, and its derivative against the measure
  T wanted(int l, T by, T& slope) const {
    const LaneLaw& own = law[l];
    const Stage<T> stage = {dt, per_dt, resting, own.target, own.target_rate};
    return law_multiplier<T>(own, own.measured, T(layout.law[l].sign) * by, stage, own.momentum, slope);
  }
  // efforts on all freedoms at the iterate, and how they fall
  void act() {
    if (holds) approach();
    if (layout.axis_law_count == 0) return;
    for (int n = 0; n < layout.axis_count; ++n) {
      acting[n] = {pushed[n], T(0)};
      for (int at = layout.first_axis_law[n]; at < layout.first_axis_law[n + 1]; ++at) {
        T slope;
        const int l = layout.axis_law[at];
        acting[n].effort += T(layout.law[l].sign) * wanted(l, moved_by(layout, layout.law[l], z), slope);
        acting[n].stiffness -= slope;
      }
    }
  }

  // what is left to freedoms that are held at their stops
  void approach() {
    for (int k = 0; k < layout.stop_count; ++k) {
      const LawInfo& law = layout.law[layout.stop[k]];
      const LinkInfo& info = layout.link[law.link];
      LaneHold& s = stopped[law.axis];
      const T way = s.target - z[info.variable + law.axis - info.first_axis];
      const T gain = way_of(info.branch) == Way::turn    ? T(0.5) * link[law.link].cosine
                     : way_of(info.branch) == Way::slide ? T(1)
                                                         : axis[law.axis].gain;
      s.left = choose(s.held > T(0), resting ? T(0) : way / gain, T(0));
    }
  }
  // what acts along every freedom at the iterate, together with what the links beyond it hand on
  void find_efforts(T* effort) {
    act();
    from_leaf([&]<Way way, bool acted>(const Segment& s) {
      Wrench<T> m = {zero(), zero()};
      if (s.receives >= 0) m = received[s.receives];
      for (int i = s.end - 1; i >= s.first; --i) {
        add_wrench(i, m);
        const int first = layout.link[i].first_axis;
        if constexpr (way == Way::turn || way == Way::slide)
          effort[first] = dot(link[i].a, way == Way::turn ? m.t : m.f) - acting[first].effort;
        if constexpr (way == Way::general)
          for (int k = 0; k < unknowns<way>(s.branch); ++k) {
            const Axis<T>& x = axis[first + k];
            effort[first + k] = dot(x.slide, m.f, x.turn, m.t) - acting[first + k].effort;
          }
        move(m, link[i].rho);
      }
      if (s.parent < 0) return;
      Wrench<T>& to = received[s.sends];
      to = s.opens ? m : Wrench<T>{to.f + m.f, to.t + m.t};
    });
  }

  // leaf to root with a new matrix; not positive in lanes where a pivot is not
  T factor() {
    T fine = T(1);
    act();
    from_leaf([&]<Way way, bool acted>(const Segment& s) {
      Articulation<T> m;
      if (s.receives >= 0) {
        m = received[s.receives];
      } else {
        m.A = m.B = m.C = m.E = diagonal(T(0));
        m.f = m.t = zero();
      }
      for (int i = s.end - 1; i >= s.first; --i) {
        add_wrench(i, m);
        add_matrix(i, m);
        const Acting<T>* acts = acting + layout.link[i].first_axis;
        const bool root = i == s.first && s.parent < 0;
        if constexpr (way == Way::general) {
          eliminate_axes<acted>(i, m, acts, root, fine);
        } else if constexpr (way == Way::swivel && acted) {
          eliminate_damped(i, m, fine);
        } else {
          divide<way, acted>(link[i], m, acts, hold_of<acted>(i), fine);
          eliminate_wrench<way, acted>(link[i], m, acts, hold_of<acted>(i));
        }
        if (root) return;
        if constexpr (way != Way::general && !(way == Way::swivel && acted)) reduce_and_move<way>(link[i], m);
      }
      Articulation<T>& to = received[s.sends];
      if (s.opens)
        to = m;
      else
        to = {{to.f + m.f, to.t + m.t}, to.A + m.A, to.B + m.B, to.C + m.C, to.E + m.E};
    });
    return fine;
  }
  template <bool acted>
  CATENA_INLINE const LaneHold* hold_of(int i) const {
    return acted && holds ? stopped + layout.link[i].first_axis : nullptr;
  }
  // the one nearest to the link goes first; the last one moves on to the parent
  template <bool acted>
  void eliminate_axes(int i, Articulation<T>& m, const Acting<T>* acts, bool root, T& fine) {
    Axis<T>* x = axis + layout.link[i].first_axis;
    const LaneHold* hold = hold_of<acted>(i);
    for (int k = branch_at(layout.link[i].branch).count - 1; k >= 0; --k) {
      require(fine, x[k].template divide<acted>(m, acts + k));
      if (hold) x[k].inverse = choose(hold[k].held > T(0), T(0), x[k].inverse);
      if (k > 0)
        x[k].reduce(m);
      else if (!root)
        x[k].reduce_and_move(m, link[i].rho, link[i].rho3);
      x[k].finish();
      if (hold) go(x[k], m, hold[k].left, k > 0 ? x[k].ur : plus_cross(x[k].ur, link[i].rho, x[k].up));
    }
  }
  // a freedom that is held goes what is left to it
  static CATENA_INLINE void go(Axis<T>& x, Wrench<T>& m, T left, const Vec3<T>& ur) {
    x.first -= left;
    m.f += left * x.up;
    m.t += left * ur;
  }
  // a ball with a rotary damper, which hands on more than a force
  void eliminate_damped(int i, Articulation<T>& m, T& fine) {
    LaneLink<T>& l = link[i];
    Torsion<T>& twisted = torsion[i];
    const Rotary<T> damper = rotary_between(turn_above(i), body[i].w, half_damping(i));
    m.E = m.E + damper.own;
    divide<Way::swivel, false>(l, m, nullptr, nullptr, fine);
    twisted = {T(-1) * (l.E_inverse * damper.above), damper.own};
    m.A = m.A - l.B * l.rows;
    m.B = T(-1) * (l.B * twisted.rows);
    m.C = damper.own * l.rows;
    m.E = damper.above + damper.own * twisted.rows;
    eliminate_damped_wrench(i, m, damper.torque);
    move(m, l.rho, l.rho3);
  }
  CATENA_INLINE void eliminate_damped_wrench(int i, Wrench<T>& m, Vec3<T> torque) {
    m.t += torque;
    eliminate_wrench<Way::swivel, false>(link[i], m, nullptr, nullptr);
    m.t = torsion[i].own * link[i].first - torque;
  }
  T half_damping(int i) const { return resting ? T(0) : T(0.5 * layout.link[i].damping) * dt; }
  Quat<T> turn_above(int i) const {
    const int parent = layout.link[i].parent;
    return parent < 0 ? Quat<T>{T(1), zero()} : body[parent].w;
  }
  template <Way way, bool acted>
  static CATENA_INLINE void divide(LaneLink<T>& l, const Articulation<T>& s, const Acting<T>* acts,
                                   const LaneHold* hold, T& fine) {
    if constexpr (way == Way::turn || way == Way::slide) {
      constexpr bool turns = way == Way::turn;
      l.up = (turns ? s.B : s.A) * l.a3;
      l.ur = (turns ? s.E : s.C) * l.a3;
      T pivot = dot(l.a, turns ? l.ur : l.up);
      if constexpr (acted) pivot += acts->stiffness;
      require(fine, pivot);
      l.inverse_pivot = T(1) / pivot;
      if (hold) l.inverse_pivot = choose(hold->held > T(0), T(0), l.inverse_pivot);
      l.row_P = l.inverse_pivot * transposed_times(turns ? s.C : s.A, l.a);
      l.row_R = l.inverse_pivot * transposed_times(turns ? s.E : s.B, l.a);
    } else if constexpr (way != Way::fixed) {
      T det;
      const Mat3<T> adjoint = adjugate(s.E, det);
      l.E_inverse = (T(1) / det) * adjoint;
      require(fine, det);
      l.B = s.B;
      l.rows = l.E_inverse * s.C;
      if constexpr (way == Way::floating) {
        const Mat3<T> rest = adjugate(s.A - s.B * l.rows, det);
        l.A_inverse = (T(1) / det) * rest;
        require(fine, det);
      }
    }
  }
  // what is left of the matrix, at the parent's joint point; in an order that keeps few numbers waiting
  template <Way way>
  static CATENA_INLINE void reduce_and_move(const LaneLink<T>& l, Articulation<T>& s) {
    if constexpr (way == Way::swivel || way == Way::floating) {
      // a force at the joint point
      s.A = s.A - l.B * l.rows;
      move_force(s, l.rho, l.rho3);
    } else {
      constexpr bool reduces = way != Way::fixed;
      if constexpr (reduces) subtract_outer(s.A, l.up, l.row_P);
      if constexpr (reduces) subtract_outer(s.B, l.up, l.row_R);
      s.B = minus_times_skew(s.B, s.A, l.rho3);
      if constexpr (reduces) subtract_outer(s.C, l.ur, l.row_P);
      if constexpr (reduces) subtract_outer(s.E, l.ur, l.row_R);
      s.E = minus_times_skew(s.E, s.C, l.rho3);
      s.E = plus_skew_times(s.E, l.rho, s.B);
      s.C = plus_skew_times(s.C, l.rho, s.A);
      move(static_cast<Wrench<T>&>(s), l.rho);
    }
  }

  // what a joint passes on of the wrench
  template <Way way, bool acted>
  static CATENA_INLINE void eliminate_wrench(LaneLink<T>& l, Wrench<T>& s, const Acting<T>* acts,
                                             const LaneHold* hold) {
    if constexpr (way == Way::turn || way == Way::slide) {
      T share = dot(l.a, way == Way::turn ? s.t : s.f);
      if constexpr (acted) share -= acts->effort;
      l.first.x = l.inverse_pivot * share;
      if (hold) l.first.x -= hold->left;
      s.f -= l.first.x * l.up;
      s.t -= l.first.x * l.ur;
    } else if constexpr (way != Way::fixed) {
      l.first = l.E_inverse * s.t;
      s.f -= l.B * l.first;
      s.t = zero();
      l.free_force = s.f;
    }
  }

  // leaf to root with the last matrix
  void again() {
    act();
    from_leaf([this]<Way way, bool acted>(const Segment& s) {
      Wrench<T> m = {zero(), zero()};
      if (s.receives >= 0) m = received[s.receives];
      for (int i = s.end - 1; i >= s.first; --i) {
        add_wrench(i, m);
        const int first = layout.link[i].first_axis;
        const LaneHold* hold = hold_of<acted>(i);
        if constexpr (way == Way::general)
          for (int k = unknowns<way>(s.branch) - 1; k >= 0; --k) {
            Axis<T>& x = axis[first + k];
            x.template repeat<acted>(m, acting + first + k);
            if (hold) go(x, m, hold[k].left, x.ur);
          }
        else if constexpr (way == Way::swivel && acted)
          eliminate_damped_wrench(i, m, rotary_torque(turn_above(i), body[i].w, half_damping(i)));
        else
          eliminate_wrench<way, acted>(link[i], m, acting + first, hold);
        move(m, link[i].rho);
      }
      if (s.parent < 0) return;
      Wrench<T>& to = received[s.sends];
      to = s.opens ? m : Wrench<T>{to.f + m.f, to.t + m.t};
    });
  }

  // the increments of the poses that a wrench on every link makes, with the last matrix
  void respond(const Wrench<T>* on) {
    from_leaf([&]<Way way, bool acted>(const Segment& s) {
      Wrench<T> m = {zero(), zero()};
      if (s.receives >= 0) m = received[s.receives];
      for (int i = s.end - 1; i >= s.first; --i) {
        m.f += on[i].f;
        m.t += on[i].t + cross(link[i].c, on[i].f);
        const int first = layout.link[i].first_axis;
        if constexpr (way == Way::general)
          for (int k = unknowns<way>(s.branch) - 1; k >= 0; --k) axis[first + k].template repeat<false>(m, nullptr);
        else if constexpr (way == Way::swivel && acted)
          eliminate_damped_wrench(i, m, zero());
        else
          eliminate_wrench<way, false>(link[i], m, nullptr, nullptr);
        move(m, link[i].rho);
      }
      if (s.parent < 0) return;
      Wrench<T>& to = received[s.sends];
      to = s.opens ? m : Wrench<T>{to.f + m.f, to.t + m.t};
    });
    substitute();
  }

  // root to leaf: dz and the increments of the poses
  void substitute() {
    T square = T(0), fine = T(1);
    substitute<false>(Lane::Mask{}, square, fine);
  }
  // or the next iterate in lanes that are moving; the square of the increments' size, and not positive where a body
  // would turn too far
  void advance(Lane::Mask moving, T& square, T& fine) {
    square = T(0), fine = T(1);
    substitute<true>(moving, square, fine);
  }
  template <bool on>
  CATENA_INLINE void substitute(Lane::Mask moving, T& square, T& fine) {
    from_root([&]<Way way>(const Segment& s) {
      const T* q = z + s.variable;
      T *ds = dz + s.variable, *next = ahead + s.variable;
      Vec3<T> dP = zero(), phi = zero();
      if (s.parent >= 0) dP = link[s.parent].dP, phi = link[s.parent].phi;
      Moved m = follow(s);
      const int count = unknowns<way>(s.branch);
      T sum = square, room = fine;
      for (int i = s.first; i < s.end; ++i) {
        T step[space<way>];
        increase<way>(i, dP, phi, step);
        const Vec3<T> dx = dP + cross(phi, link[i].c3);
        sum += norm2(dx) + norm2(phi);
        if constexpr (on) {
          // a lane that rests may hold anything but must not move
          for (int k = 0; k < count; ++k) next[k] = choose(moving, q[k] + step[k], q[k]);
          find_cosine<way>(i, next);
          if (i > s.first) evaluate_link<way, false>(i - 1, next - count, m, room);
        } else {
          for (int k = 0; k < count; ++k) ds[k] = step[k];
          body[i].dx = dx;
          body[i].phi = phi;
        }
        q += count, ds += count, next += count;
      }
      if constexpr (on) evaluate_link<way, false>(s.end - 1, next - count, m, room);
      square = sum, fine = room;
      link[s.end - 1].dP = dP;
      link[s.end - 1].phi = phi;
      if constexpr (on) link[s.end - 1].u = m.u;
    });
  }
  // the parent's increments become those of the link, `step` that of its unknowns
  template <Way way>
  CATENA_INLINE void increase(int i, Vec3<T>& dP, Vec3<T>& phi, T* step) const {
    const LaneLink<T>& l = link[i];
    if constexpr (way == Way::general) {
      const Axis<T>* x = axis + layout.link[i].first_axis;
      const Vec3<T> carried = plus_cross(dP, phi, l.rho3);
      for (int k = 0; k < layout.link[i].axis_count; ++k) {
        const T y = x[k].motion(dP, phi);
        step[k] = x[k].gain * y;
        dP = (k == 0 ? carried : dP) + y * x[k].slide3;
        phi += y * x[k].turn3;
      }
      return;
    }
    if constexpr (way == Way::floating)
      dP = -(l.A_inverse * l.free_force);
    else
      dP = plus_cross(dP, phi, l.rho3);
    if constexpr (way == Way::turn || way == Way::slide) {
      const T y = -(l.first.x + dot(l.row_P, dP) + dot(l.row_R, phi));
      if constexpr (way == Way::turn) {
        step[0] = T(0.5) * l.cosine * y;
        phi += y * l.a3;
      } else {
        step[0] = y;
        dP += y * l.a3;
      }
    } else if constexpr (way == Way::swivel || way == Way::floating) {
      const Vec3<T> above = phi;
      phi = -(l.first + l.rows * dP);
      if (way == Way::swivel && layout.link[i].damping > 0) phi -= torsion[i].rows * above;
      const Vec3<T> deta = turn_increment(body[i].w, phi);
      if constexpr (way == Way::floating) *step++ = dP.x, *step++ = dP.y, *step++ = dP.z;
      step[0] = deta.x, step[1] = deta.y, step[2] = deta.z;
    }
  }
};

}  // namespace catena::CATENA_ISA
