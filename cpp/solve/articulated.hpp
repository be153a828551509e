// The fast solver: maximal-coordinate state, joints eliminated inside the step.
//
// Instead of all velocities and multipliers, a step's unknowns are the motions of the tree joints over the step: the
// sine of half the angle turned by a revolute joint, the distance slid by a prismatic one, the step quaternion of a
// body on a ball joint, displacement and step quaternion of a floating one. Poses follow from root to leaf, so tree
// joints are closed to rounding at every iterate, and the joint wrench is what the subtree needs, summed from leaf to
// root.
//
// Newton's matrix is not symmetric: forces balance along the joint directions of the old pose (c, rho, a), motions run
// along those of the new pose (c', rho', a'). With the increments of link i taken at its joint point P_i (displacement
// dP, rotation phi), its own equations read
//
//     [f]   [ m I     -m [c']                            ] [dP ]
//     [t] = [ m [c]   H + m (c.c') I - m c' c^T          ] [phi]        c from P_i to the centre of mass,
//
// and a child's articulated matrix M = [A B; C E] is added to its parent's after the joint is eliminated,
//
//     M <- M - (M s') (s^T M) / (s^T M s'),   s, s' the joint's direction in the old and new pose,
//
// and moved to the parent's joint point, rho from there to P_i:
//
//     B <- B - A [rho'],  E <- E - C [rho'],  then C <- C + [rho] A,  E <- E + [rho] B.
//
// Pivots are scalars (revolute, prismatic) or 3x3 (ball, floating): nothing larger is ever inverted.
#pragma once

#include "base/quat.hpp"
#include "physics/body.hpp"
#include "physics/constraint.hpp"
#include "solve/loop.hpp"

namespace catena::CATENA_ISA {

template <class T>
struct Link {
  // node: joint point to centre of mass, parent's joint point to this one, joint axis, joint displacement (parent's
  // frame)
  Vec3<T> c, rho, a;
  Vec3<T> offset;

  // iterate: the same in the new pose, displacement of the joint point
  Vec3<T> c3, rho3, a3, u;

  // articulated matrix and wrench at the joint point, children included
  Mat3<T> A, B, C, E;
  Vec3<T> f, t;

  // eliminated joint: motion = -(first + row . parent's increment); a ball's row is the matrix `rows`
  Mat3<T> rows;
  Vec3<T> row_P, row_R, first;

  // increment of the joint point
  Vec3<T> dP;
};

// One freedom of a general joint: direction in the old and new pose (displacement of the joint point, turn), eliminated
// one after the other as if massless links stood between them.
template <class T>
struct Axis {
  Vec3<T> slide, turn, slide3, turn3;
  Vec3<T> row_P, row_R;
  T first;
};

template <class T>
struct Articulated {
  const Layout& layout;
  Body<T>* body;
  Link<T>* link;
  Axis<T>* axis;
  // loops: rows at the old and new pose, gaps and scales by loop row, columns of every link
  JointRows *old_rows, *new_rows;
  T *gap, *row_scale, *front_space;
  int* order;
  Clock clock;             // of the step to be solved
  const double* momentum;  // (law) of rotors, before it
  double reach;            // a length that lengths of gaps are measured by
  double widest_gap;       // of the loops, over the reach or in rad
  int widest_constraint;
  T* z;   // unknowns: joint motions of the step, then multipliers of the loop rows times dt^2
  T* dz;  // their Newton increment

  // kappa hardly changes from step to step in joint space
  static constexpr double caution = 4;
  // earlier steps that the guess extrapolates
  static constexpr int guess_points = 4;
  static int motion_count(const Layout& layout) { return layout.variable_count; }
  static int unknown_count(const Layout& layout) { return layout.variable_count + layout.loop_row_count; }

  Front<T> front(int i) const {
    const FrontInfo& info = layout.front[i];
    return {info, layout.column_row + info.first_column, front_space + info.offset, order};
  }

  // a new trajectory begins: joint displacements are read off the poses, along what the joint leaves free
  void enter() {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      link[i].offset = {T(0), T(0), T(0)};
      if (info.kind == JointKind::free) continue;
      const Pose<T> p = old_pose(body, info.parent);
      const Vec3<T> from = p.x + p.R * load3(info.parent_anchor);
      const Vec3<T> span = transposed_times(p.R, body[i].x + body[i].R * load3(info.anchor) - from);
      const auto along = [&](int k) {
        const Vec3<T> e = load3(info.parent_axes + 3 * k);
        link[i].offset += dot(e, span) * e;
      };
      if (info.kind == JointKind::planar) along(0), along(1);
      if (info.kind == JointKind::prismatic || info.kind == JointKind::cylindrical || info.kind == JointKind::screw)
        along(2);
    }
    for (int k = 0; k < layout.loop_count; ++k)
      first_angles(layout, layout.constraint[layout.loop[k]], body, old_rows[k]);
  }

  // geometry of the node; positions of carried links are rebuilt from the tree, so they cannot drift
  void place() {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      Body<T>& b = body[i];
      Link<T>& l = link[i];
      place_body(b, info);
      l.c = -(b.R * load3(info.anchor));
      if (info.kind == JointKind::free) continue;
      l.a = b.R * load3(info.axis);
      const Vec3<T> anchor = load3(info.parent_anchor) + l.offset;
      if (info.parent < 0) {
        l.rho = anchor;
        b.x = anchor + l.c;
      } else {
        const Body<T>& p = body[info.parent];
        const Vec3<T> arm = p.R * anchor;
        l.rho = link[info.parent].c + arm;
        b.x = p.x + arm + l.c;
      }
      if (info.axis_count > 0) place_axes(i);
    }
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = layout.constraint[layout.loop[k]];
      rows_before(layout, c, body, clock, old_rows[k]);
      for (int r = 0; r < c.row_count; ++r)
        row_scale[c.loop_row + r] = row_compliance(c, body, layout.link, old_rows[k], r);
    }
  }

  // directions of a general joint's freedoms in the old pose
  void place_axes(int i) {
    const LinkInfo& info = layout.link[i];
    const Vec3<T> zero = {T(0), T(0), T(0)}, a = link[i].a;
    const Mat3<T> R = old_pose(body, info.parent).R;
    const auto parent_axis = [&](int k) { return R * load3(info.parent_axes + 3 * k); };
    Axis<T>* x = axis + info.first_axis;
    const auto set = [&](int k, Vec3<T> slide, Vec3<T> turn) {
      x[k].slide = slide;
      x[k].turn = turn;
    };
    switch (info.kind) {
      case JointKind::cylindrical: set(0, a, zero), set(1, zero, a); break;
      case JointKind::planar: set(0, parent_axis(0), zero), set(1, parent_axis(1), zero), set(2, zero, a); break;
      case JointKind::screw: set(0, T(info.parameter) * a, a); break;
      default: set(0, zero, parent_axis(info.flipped ? 1 : 0)), set(1, zero, a);
    }
  }

  // new pose of a link on a general joint: slides and turns in their order
  void evaluate_axes(int i, const Quat<T>& wp, const T* s) {
    const LinkInfo& info = layout.link[i];
    Link<T>& l = link[i];
    Quat<T> w = wp;
    for (int k = 0; k < info.axis_count; ++k) {
      Axis<T>& x = axis[info.first_axis + k];
      x.slide3 = x.slide + turn(w, x.slide);
      x.turn3 = x.turn + turn(w, x.turn);
      if (turns(info.kind, k)) {
        // a screw slides by its pitch times the angle
        const Vec3<T> d = T(2) * std::asin(s[k]) * x.slide3;
        l.u += d;
        l.rho3 += d;
        w = w * Quat<T>{std::sqrt(T(1) - s[k] * s[k]), s[k] * x.turn};
      } else {
        l.u += s[k] * x.slide3;
        l.rho3 += s[k] * x.slide3;
      }
    }
    body[i].w = w;
  }
  // whether a freedom's unknown is the sine of half an angle, or else a distance
  static bool turns(JointKind kind, int k) {
    return kind == JointKind::screw || kind == JointKind::universal || (kind == JointKind::cylindrical && k == 1) ||
           (kind == JointKind::planar && k == 2);
  }

  // iterate from the unknowns; false where a body would turn too far for the step
  bool evaluate() {
    bool fine = true;
    const Vec3<T> still = {T(0), T(0), T(0)};
    const Quat<T> unturned = {T(1), still};
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      Body<T>& b = body[i];
      Link<T>& l = link[i];
      const T* s = z + info.variable;
      if (info.kind == JointKind::free) {
        l.u = {s[0], s[1], s[2]};
        b.w.v = {s[3], s[4], s[5]};
        b.w.w = std::sqrt(T(1) - norm2(b.w.v));
      } else {
        const Quat<T>& wp = info.parent < 0 ? unturned : body[info.parent].w;
        const Vec3<T>& up = info.parent < 0 ? still : link[info.parent].u;
        const Vec3<T> swing = turn(wp, l.rho);
        l.u = up + swing;
        l.rho3 = l.rho + swing;
        switch (info.kind) {
          case JointKind::revolute:
            l.a3 = l.a + turn(wp, l.a);
            b.w = wp * Quat<T>{std::sqrt(T(1) - s[0] * s[0]), s[0] * l.a};
            break;
          case JointKind::prismatic:
            l.a3 = l.a + turn(wp, l.a);
            l.u += s[0] * l.a3;
            l.rho3 += s[0] * l.a3;
            b.w = wp;
            break;
          case JointKind::ball:
            b.w.v = {s[0], s[1], s[2]};
            b.w.w = std::sqrt(T(1) - norm2(b.w.v));
            break;
          case JointKind::fixed: b.w = wp; break;
          default: evaluate_axes(i, wp, s);
        }
      }
      // NaN counts as too far
      fine &= b.w.w > T(0);
      const Vec3<T> spin = turn(b.w, l.c);
      l.c3 = l.c + spin;
      b.d = l.u + spin;
    }
    return fine;
  }

  // Newton increment at the iterate: dz, and the increments of the poses; false on a vanishing pivot
  bool direction() {
    equations();
    if (!eliminate()) return false;
    substitute();
    return true;
  }

  // the widest of the loops at the iterate
  void find_gap() {
    widest_gap = 0;
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = layout.constraint[layout.loop[k]];
      if (c.law >= 0) continue;
      rows_after(layout, c, body, clock, old_rows[k], {}, new_rows[k]);
      note_gap(c, layout.loop[k], new_rows[k], reach, widest_gap, widest_constraint);
    }
  }

  LawState law_state(const ConstraintInfo& c) const {
    if (c.law < 0) return {};
    const double scale = row_scale[c.loop_row];
    return {z[layout.variable_count + c.loop_row], momentum[c.law], scale * scale};
  }

  // each link's own matrix and wrench
  void equations() {
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = layout.constraint[layout.loop[k]];
      rows_after(layout, c, body, clock, old_rows[k], law_state(c), new_rows[k]);
      for (int r = 0; r < c.row_count; ++r) gap[c.loop_row + r] = new_rows[k].g[r];
    }
    for (int i = 0; i < layout.link_count; ++i) {
      const T m = T(layout.link[i].mass);
      const Body<T>& b = body[i];
      Link<T>& l = link[i];
      const Vec3<T> mc = m * l.c, mc3 = m * l.c3;
      l.f = m * force_residual(b);
      l.t = torque_residual(b) + cross(l.c, l.f);
      l.A = diagonal(m);
      l.B = {{T(0), -mc3.z, mc3.y}, {mc3.z, T(0), -mc3.x}, {-mc3.y, mc3.x, T(0)}};
      l.C = {{T(0), mc.z, -mc.y}, {-mc.z, T(0), mc.x}, {mc.y, -mc.x, T(0)}};
      l.E = turn_jacobian(b);
      subtract_outer(l.E, mc3, l.c);
      const T s = dot(mc, l.c3);
      l.E.i.x += s;
      l.E.j.y += s;
      l.E.k.z += s;
      if (layout.front[i].columns > 0 && !layout.front[i].received) attach_loops(i);
    }
  }

  // loops whose joint sits on the link: multipliers act on it, its motion moves their gap
  void attach_loops(int i) {
    const Front<T> columns = front(i);
    Link<T>& l = link[i];
    columns.clear(gap, layout.is_law_row);
    for (int e = 0; e < columns.info.end_count; ++e) {
      const LoopEnd& end = layout.end[columns.info.first_end + e];
      const ConstraintInfo& c = layout.constraint[layout.loop[end.loop]];
      const T* lambda = z + layout.variable_count + c.loop_row;
      for (int k = 0; k < c.row_count; ++k) {
        const Wrench<T> n = old_rows[end.loop].w[end.end * c.row_count + k];
        const Wrench<T> o = new_rows[end.loop].w[end.end * c.row_count + k];
        const Vec3<T> t = n.t + cross(l.c, n.f), r = o.t + cross(l.c3, o.f);
        const T column[12] = {-n.f.x, -n.f.y, -n.f.z, -t.x, -t.y, -t.z, o.f.x, o.f.y, o.f.z, r.x, r.y, r.z};
        for (int row = 0; row < 12; ++row) columns.q(row)[end.column + k] += column[row];
        l.f -= lambda[k] * n.f;
        l.t -= lambda[k] * t;
      }
    }
  }

  // leaf to root
  bool eliminate() {
    bool fine = true;
    const Vec3<T> zero = {T(0), T(0), T(0)};
    const Front<T> world = front(layout.link_count);
    if (world.info.columns > 0) world.clear(gap, layout.is_law_row);
    for (int i = layout.link_count - 1; i >= 0; --i) {
      const LinkInfo& info = layout.link[i];
      Link<T>& l = link[i];
      Mat3<T> A = l.A, B = l.B, C = l.C, E = l.E;
      Vec3<T> f = l.f, t = l.t;
      T pivot = T(1);
      const Front<T> loops = front(i);
      if (loops.info.columns > 0) loops.close(A, B, C, E, f, t, row_scale);
      const bool passes = loops.info.outgoing > 0;
      switch (info.kind) {
        case JointKind::revolute: {
          const Vec3<T> up = B * l.a3, ur = E * l.a3;
          pivot = dot(l.a, ur);
          const T inv = T(1) / pivot;
          l.row_P = inv * transposed_times(C, l.a);
          l.row_R = inv * transposed_times(E, l.a);
          l.first.x = inv * dot(l.a, t);
          if (passes) loops.eliminate(0, zero, inv * l.a, zero, l.a3, up, ur, l.row_P, l.row_R, l.first.x);
          if (info.parent < 0) break;
          subtract_outer(A, up, l.row_P);
          subtract_outer(B, up, l.row_R);
          subtract_outer(C, ur, l.row_P);
          subtract_outer(E, ur, l.row_R);
          f -= l.first.x * up;
          t -= l.first.x * ur;
          break;
        }
        case JointKind::prismatic: {
          const Vec3<T> up = A * l.a3, ur = C * l.a3;
          pivot = dot(l.a, up);
          const T inv = T(1) / pivot;
          l.row_P = inv * transposed_times(A, l.a);
          l.row_R = inv * transposed_times(B, l.a);
          l.first.x = inv * dot(l.a, f);
          if (passes) loops.eliminate(0, inv * l.a, zero, l.a3, zero, up, ur, l.row_P, l.row_R, l.first.x);
          if (info.parent < 0) break;
          subtract_outer(A, up, l.row_P);
          subtract_outer(B, up, l.row_R);
          subtract_outer(C, ur, l.row_P);
          subtract_outer(E, ur, l.row_R);
          f -= l.first.x * up;
          t -= l.first.x * ur;
          break;
        }
        case JointKind::ball:
        case JointKind::free: {
          // the link turns by itself: only the force at its joint point reaches the parent
          const Mat3<T> inv = inverse(E, pivot);
          l.rows = inv * C;
          l.first = inv * t;
          if (passes) loops.eliminate_turn(inv, B, l.rows, l.first);
          A = A - B * l.rows;
          f -= B * l.first;
          if (info.kind == JointKind::free) {
            T det;
            l.A = inverse(A, det);
            l.f = f;
            fine &= det > T(0);
            if (passes) loops.eliminate_shift(l.A, f);
          }
          B = C = E = diagonal(T(0));
          t = {T(0), T(0), T(0)};
          break;
        }
        case JointKind::fixed: break;
        default:
          // the freedom nearest to the link goes first
          for (int k = info.axis_count - 1; k >= 0; --k) {
            Axis<T>& x = axis[info.first_axis + k];
            const Vec3<T> up = A * x.slide3 + B * x.turn3, ur = C * x.slide3 + E * x.turn3;
            const T d = dot(x.slide, up) + dot(x.turn, ur);
            fine &= d > T(0);
            const T inv = T(1) / d;
            x.row_P = inv * (transposed_times(A, x.slide) + transposed_times(C, x.turn));
            x.row_R = inv * (transposed_times(B, x.slide) + transposed_times(E, x.turn));
            x.first = inv * (dot(x.slide, f) + dot(x.turn, t));
            if (passes)
              loops.eliminate(k, inv * x.slide, inv * x.turn, x.slide3, x.turn3, up, ur, x.row_P, x.row_R, x.first);
            subtract_outer(A, up, x.row_P);
            subtract_outer(B, up, x.row_R);
            subtract_outer(C, ur, x.row_P);
            subtract_outer(E, ur, x.row_R);
            f -= x.first * up;
            t -= x.first * ur;
          }
      }
      // pivots of a stable step are positive; NaN and a lost sign are a failure, not a number
      fine &= pivot > T(0);
      if (passes) {
        if (info.parent >= 0) loops.shift(l.rho, l.rho3, info.kind == JointKind::ball);
        loops.send(front(info.parent < 0 ? layout.link_count : info.parent),
                   layout.column_map + loops.info.first_column);
      }
      if (info.parent < 0) continue;
      Link<T>& p = link[info.parent];
      const Mat3<T> Br = B - times_skew(A, l.rho3), Er = E - times_skew(C, l.rho3);
      p.A = p.A + A;
      p.B = p.B + Br;
      p.C = p.C + C + skew_times(l.rho, A);
      p.E = p.E + Er + skew_times(l.rho, Br);
      p.f += f;
      p.t += t + cross(l.rho, f);
    }
    Mat3<T> A, B, C, E;
    Vec3<T> f, t;
    A = B = C = E = diagonal(T(0));
    f = t = {T(0), T(0), T(0)};
    world.close(A, B, C, E, f, t, row_scale);
    return fine;
  }

  // root to leaf
  void substitute() {
    const Vec3<T> zero = {T(0), T(0), T(0)};
    T* lambda = dz + layout.variable_count;
    front(layout.link_count).open(zero, zero, lambda);
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      Body<T>& b = body[i];
      Link<T>& l = link[i];
      const Front<T> loops = front(i);
      const bool passes = loops.info.outgoing > 0;
      T* ds = dz + info.variable;
      Vec3<T> phi = zero, dP = zero;
      if (info.parent >= 0) {
        phi = body[info.parent].phi;
        dP = link[info.parent].dP + cross(phi, l.rho3);
      }
      switch (info.kind) {
        case JointKind::revolute: {
          T y = -(l.first.x + dot(l.row_P, dP) + dot(l.row_R, phi));
          if (passes) y -= loops.pull(0, lambda);
          const T s = z[info.variable];
          ds[0] = T(0.5) * std::sqrt(T(1) - s * s) * y;
          phi += y * l.a3;
          break;
        }
        case JointKind::prismatic: {
          T y = -(l.first.x + dot(l.row_P, dP) + dot(l.row_R, phi));
          if (passes) y -= loops.pull(0, lambda);
          ds[0] = y;
          dP += y * l.a3;
          break;
        }
        case JointKind::free:
          dP = -(l.A * l.f);
          if (passes) dP -= Vec3<T>{loops.pull(3, lambda), loops.pull(4, lambda), loops.pull(5, lambda)};
          ds[0] = dP.x;
          ds[1] = dP.y;
          ds[2] = dP.z;
          ds += 3;
          [[fallthrough]];
        case JointKind::ball: {
          phi = -(l.first + l.rows * dP);
          if (passes) phi -= Vec3<T>{loops.pull(0, lambda), loops.pull(1, lambda), loops.pull(2, lambda)};
          const Vec3<T> deta = turn_increment(b.w, phi);
          ds[0] = deta.x;
          ds[1] = deta.y;
          ds[2] = deta.z;
          break;
        }
        case JointKind::fixed: break;
        default:
          for (int k = 0; k < info.axis_count; ++k) {
            const Axis<T>& x = axis[info.first_axis + k];
            T y = -(x.first + dot(x.row_P, dP) + dot(x.row_R, phi));
            if (passes) y -= loops.pull(k, lambda);
            const T s = z[info.variable + k];
            ds[k] = turns(info.kind, k) ? T(0.5) * std::sqrt(T(1) - s * s) * y : y;
            dP += y * x.slide3;
            phi += y * x.turn3;
          }
      }
      l.dP = dP;
      b.phi = phi;
      b.dx = dP + cross(phi, l.c3);
      if (loops.info.columns > loops.info.outgoing) loops.open(dP, phi, lambda);
    }
  }

  // the step has been solved
  void commit(T dt) {
    for (int i = 0; i < layout.link_count; ++i) {
      slide_on(i);
      commit_body(body[i], dt);
    }
  }
  void slide_on(int i) {
    const LinkInfo& info = layout.link[i];
    const T* s = z + info.variable;
    const auto along = [&](int k, T by) { link[i].offset += by * load3(info.parent_axes + 3 * k); };
    switch (info.kind) {
      case JointKind::prismatic:
      case JointKind::cylindrical: along(2, s[0]); break;
      case JointKind::planar: along(0, s[0]), along(1, s[1]); break;
      case JointKind::screw: along(2, T(2 * info.parameter) * std::asin(s[0])); break;
      default: break;
    }
  }

  // rows of a constraint that is no branch of the tree, at the node
  JointRows& rows_of(const ConstraintInfo& c) { return old_rows[c.loop]; }
  double law_multiplier(const ConstraintInfo& c) const { return z[layout.variable_count + c.loop_row]; }

  // the state between steps, to and fro
  static long state_size(const Layout& layout) { return layout.link_count * (body_state_size + 3L); }
  void save(double* to) const {
    for (int i = 0; i < layout.link_count; ++i, to += body_state_size + 3) {
      save_body(body[i], to);
      store3(to + body_state_size, link[i].offset);
    }
  }
  void restore(const double* from) {
    for (int i = 0; i < layout.link_count; ++i, from += body_state_size + 3) {
      restore_body(body[i], from);
      link[i].offset = load3(from + body_state_size);
    }
  }

  // multipliers of every constraint at the iterate, times `scale`: the wrench that the subtree needs, on its rows
  void multipliers(T scale, double* out) {
    for (int i = 0; i < layout.link_count; ++i) {
      Link<T>& l = link[i];
      l.f = T(layout.link[i].mass) * force_residual(body[i]);
      l.t = torque_residual(body[i]) + cross(l.c, l.f);
    }
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = layout.constraint[layout.loop[k]];
      for (int r = 0; r < c.row_count; ++r) {
        const T lambda = z[layout.variable_count + c.loop_row + r];
        out[c.row + r] = scale * lambda;
        for (int e = 0; e < c.end_count; ++e) {
          const int i = c.end[e];
          if (i < 0) continue;
          const Wrench<T>& n = old_rows[k].w[e * c.row_count + r];
          link[i].f -= lambda * n.f;
          link[i].t -= lambda * (n.t + cross(link[i].c, n.f));
        }
      }
    }
    for (int i = layout.link_count - 1; i >= 0; --i) {
      const LinkInfo& info = layout.link[i];
      const Link<T>& l = link[i];
      if (info.parent >= 0) {
        Link<T>& p = link[info.parent];
        p.f += l.f;
        p.t += l.t + cross(l.rho, l.f);
      }
      if (info.joint < 0) continue;
      const ConstraintInfo& joint = layout.constraint[layout.joint_constraint[info.joint]];
      JointRows rows;
      joint_rows(joint, old_pose(body, joint.end[0]), old_pose(body, joint.end[1]), 0, rows);
      // on body b, at b's anchor
      const Vec3<T> shift = body[i].x - l.c - rows.point;
      const T sign = info.flipped ? -scale : scale;
      const Vec3<T> f = sign * l.f, t = sign * (l.t + cross(shift, l.f));
      for (int k = 0; k < joint.row_count; ++k) {
        const Wrench<double>& n = rows.at_point[k];
        out[joint.row + k] = (dot(n.f, f) + dot(n.t, t)) / (norm2(n.f) + norm2(n.t));
      }
    }
  }
};

}  // namespace catena::CATENA_ISA
