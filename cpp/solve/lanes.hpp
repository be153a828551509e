// Several members of a batch in lockstep, one to a lane: the recursion of solve/articulated.hpp with a register of
// doubles for every number.
//
// For open trees of fixed, revolute, prismatic, ball and floating links. Lanes never mix: every operation acts on each
// by itself, and what a lane decides (stop, shorten a step, give up) it decides alone, so a member's result does not
// depend on its neighbours. A matrix goes from child to parent in registers where the parent is the previous link, as
// in chains; through memory only where a link has several children.
//
// The factors of an iteration are kept. Close to the solution the next increment is found with them again (`again`):
// one residual and two sweeps, without a new matrix; its error is that of Newton's next step but one.
#pragma once

#include "base/lane.hpp"
#include "physics/body.hpp"
#include "solve/articulation.hpp"

namespace catena::CATENA_ISA {

template <class T>
struct LaneLink {
  // of the member: mass, inertia, gravity
  T mass;
  T inertia[6];  // xx yy zz xy xz yz
  Vec3<T> gravity;

  // node: joint point to centre of mass, parent's joint point to this one, joint axis, joint displacement (parent's
  // frame); iterate: the same in the new pose, displacement of the joint point
  Vec3<T> c, rho, a, offset;
  Vec3<T> c3, rho3, a3, u;
  T cosine;  // of half the angle turned by a revolute joint

  // factors: joint directions through the matrix, rows, 1/pivot; for a ball E^-1, B and E^-1 C, for a floating link
  // A^-1
  Vec3<T> up, ur, row_P, row_R;
  T inverse_pivot;
  Mat3<T> E_inverse, B, rows, A_inverse;

  // solution: joint's share of the wrench over the pivot, force on a floating link, increment of the joint point
  Vec3<T> first, free_force, dP;
};

struct LaneTree {
  using T = Lane;
  const Layout& layout;  // of any member: what differs between them is in the links
  Body<T>* body;
  LaneLink<T>* link;
  Articulation<T>* branch;  // (link) sum of children that are not the next link; for links with several children
  const char* branching;
  T *z, *dz;

  static bool fits(const Layout& layout) {
    if (layout.loop_count > 0) return false;
    for (int i = 0; i < layout.link_count; ++i) switch (layout.link[i].kind) {
        case JointKind::fixed:
        case JointKind::revolute:
        case JointKind::prismatic:
        case JointKind::ball:
        case JointKind::free: break;
        default: return false;
      }
    return true;
  }

  static CATENA_INLINE Vec3<T> wide(const double* p) { return {T(p[0]), T(p[1]), T(p[2])}; }

  // geometry of the node; positions of carried links are rebuilt from the tree
  void place() {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      Body<T>& b = body[i];
      LaneLink<T>& l = link[i];
      b.R = matrix(b.q);
      b.J = rotated(b.R, l.inertia);
      l.c = -(b.R * wide(info.anchor));
      if (info.kind == JointKind::free) continue;
      l.a = b.R * wide(info.axis);
      const Vec3<T> anchor = wide(info.parent_anchor) + l.offset;
      if (info.parent < 0) {
        l.rho = anchor;
        b.x = anchor + l.c;
      } else {
        const Body<T>& p = body[info.parent];
        const Vec3<T> arm = p.R * anchor;
        l.rho = link[info.parent].c + arm;
        b.x = p.x + arm + l.c;
      }
    }
  }

  // iterate from the unknowns, and where a new matrix is to be made the directions it needs; the smallest cosine of
  // half a turn in every lane, which must be positive
  template <bool Directions>
  T evaluate() {
    T room = T(1);
    const T one = T(1);
    const Vec3<T> still = {T(0), T(0), T(0)};
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      Body<T>& b = body[i];
      LaneLink<T>& l = link[i];
      const T* s = z + info.variable;
      if (info.kind == JointKind::free) {
        l.u = {s[0], s[1], s[2]};
        b.w.v = {s[3], s[4], s[5]};
        b.w.w = sqrt(one - norm2(b.w.v));
      } else {
        const Quat<T> wp = info.parent < 0 ? Quat<T>{one, still} : body[info.parent].w;
        const Vec3<T> swing = turn(wp, l.rho);
        l.u = info.parent < 0 ? swing : link[info.parent].u + swing;
        if constexpr (Directions) l.rho3 = l.rho + swing;
        switch (info.kind) {
          case JointKind::revolute:
            if constexpr (Directions) l.a3 = l.a + turn(wp, l.a);
            l.cosine = sqrt(one - s[0] * s[0]);
            b.w = wp * Quat<T>{l.cosine, s[0] * l.a};
            break;
          case JointKind::prismatic: {
            const Vec3<T> a3 = l.a + turn(wp, l.a);
            l.u += s[0] * a3;
            if constexpr (Directions) {
              l.a3 = a3;
              l.rho3 += s[0] * a3;
            }
            b.w = wp;
            break;
          }
          case JointKind::ball:
            b.w.v = {s[0], s[1], s[2]};
            b.w.w = sqrt(one - norm2(b.w.v));
            break;
          default: b.w = wp;
        }
      }
      room = least(room, b.w.w);
      const Vec3<T> spin = turn(b.w, l.c);
      if constexpr (Directions) l.c3 = l.c + spin;
      b.d = l.u + spin;
    }
    return room;
  }

  CATENA_INLINE void add_wrench(int i, Wrench<T>& s) const {
    const LaneLink<T>& l = link[i];
    const Vec3<T> f = l.mass * force_residual(body[i]);
    s.f += f;
    s.t += torque_residual(body[i]) + cross(l.c, f);
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
  }
  static CATENA_INLINE void clear(Articulation<T>& s) {
    s.A = s.B = s.C = s.E = diagonal(T(0));
    s.f = s.t = {T(0), T(0), T(0)};
  }
  static CATENA_INLINE void add(Articulation<T>& to, const Articulation<T>& s) {
    to.A = to.A + s.A;
    to.B = to.B + s.B;
    to.C = to.C + s.C;
    to.E = to.E + s.E;
    to.f += s.f;
    to.t += s.t;
  }

  // leaf to root with a new matrix; the smallest pivot in every lane, which must be positive
  T factor() {
    T smallest = T(1);
    for (int i = 0; i < layout.link_count; ++i)
      if (branching[i]) clear(branch[i]);
    Articulation<T> s;
    bool received = false;  // from the next link, in s
    for (int i = layout.link_count - 1; i >= 0; --i) {
      const LinkInfo& info = layout.link[i];
      LaneLink<T>& l = link[i];
      if (!received) clear(s);
      add_wrench(i, s);
      add_matrix(i, s);
      if (branching[i]) add(s, branch[i]);
      switch (info.kind) {
        case JointKind::revolute: {
          l.up = s.B * l.a3, l.ur = s.E * l.a3;
          const T pivot = dot(l.a, l.ur);
          smallest = least(smallest, pivot);
          l.inverse_pivot = T(1) / pivot;
          l.row_P = l.inverse_pivot * transposed_times(s.C, l.a);
          l.row_R = l.inverse_pivot * transposed_times(s.E, l.a);
          break;
        }
        case JointKind::prismatic: {
          l.up = s.A * l.a3, l.ur = s.C * l.a3;
          const T pivot = dot(l.a, l.up);
          smallest = least(smallest, pivot);
          l.inverse_pivot = T(1) / pivot;
          l.row_P = l.inverse_pivot * transposed_times(s.A, l.a);
          l.row_R = l.inverse_pivot * transposed_times(s.B, l.a);
          break;
        }
        case JointKind::ball:
        case JointKind::free: {
          T det;
          const Mat3<T> adjoint = adjugate(s.E, det);
          l.E_inverse = (T(1) / det) * adjoint;
          smallest = least(smallest, det);
          l.B = s.B;
          l.rows = l.E_inverse * s.C;
          s.A = s.A - s.B * l.rows;
          if (info.kind == JointKind::free) {
            const Mat3<T> rest = adjugate(s.A, det);
            l.A_inverse = (T(1) / det) * rest;
            smallest = least(smallest, det);
          }
          break;
        }
        default: break;
      }
      eliminate_wrench(info.kind, l, s);
      received = info.parent == i - 1 && i > 0;
      if (info.parent < 0) {
        received = false;
        continue;
      }
      if (info.kind == JointKind::revolute || info.kind == JointKind::prismatic) {
        subtract_outer(s.A, l.up, l.row_P);
        subtract_outer(s.B, l.up, l.row_R);
        subtract_outer(s.C, l.ur, l.row_P);
        subtract_outer(s.E, l.ur, l.row_R);
      } else if (info.kind == JointKind::ball) {
        // only the force at the joint point reaches the parent
        s.B = s.C = s.E = diagonal(T(0));
      }
      // to the parent's joint point
      move(s, l.rho, l.rho3);
      if (!received) add(branch[info.parent], s);
    }
    return smallest;
  }

  // what a joint passes on of the wrench
  static CATENA_INLINE void eliminate_wrench(JointKind kind, LaneLink<T>& l, Wrench<T>& s) {
    switch (kind) {
      case JointKind::revolute: l.first.x = l.inverse_pivot * dot(l.a, s.t); break;
      case JointKind::prismatic: l.first.x = l.inverse_pivot * dot(l.a, s.f); break;
      case JointKind::ball:
      case JointKind::free:
        l.first = l.E_inverse * s.t;
        s.f -= l.B * l.first;
        s.t = {T(0), T(0), T(0)};
        l.free_force = s.f;
        return;
      default: return;
    }
    s.f -= l.first.x * l.up;
    s.t -= l.first.x * l.ur;
  }

  // leaf to root with the last matrix
  void again() {
    const Vec3<T> none = {T(0), T(0), T(0)};
    for (int i = 0; i < layout.link_count; ++i)
      if (branching[i]) branch[i].f = branch[i].t = none;
    Wrench<T> s;
    bool received = false;
    for (int i = layout.link_count - 1; i >= 0; --i) {
      const LinkInfo& info = layout.link[i];
      LaneLink<T>& l = link[i];
      if (!received) s.f = s.t = none;
      add_wrench(i, s);
      if (branching[i]) s.f += branch[i].f, s.t += branch[i].t;
      eliminate_wrench(info.kind, l, s);
      received = info.parent == i - 1 && i > 0;
      if (info.parent < 0) continue;
      move(s, l.rho);
      if (received) continue;
      branch[info.parent].f += s.f;
      branch[info.parent].t += s.t;
    }
  }

  // root to leaf: dz and the increments of the poses; the square of their size in every lane
  T substitute() {
    const Vec3<T> zero = {T(0), T(0), T(0)};
    const T half = T(0.5);
    T sum = T(0);
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      Body<T>& b = body[i];
      LaneLink<T>& l = link[i];
      T* ds = dz + info.variable;
      Vec3<T> phi = zero, dP = zero;
      if (info.parent >= 0) {
        phi = body[info.parent].phi;
        dP = link[info.parent].dP + cross(phi, l.rho3);
      }
      switch (info.kind) {
        case JointKind::revolute: {
          const T y = -(l.first.x + dot(l.row_P, dP) + dot(l.row_R, phi));
          ds[0] = half * l.cosine * y;
          phi += y * l.a3;
          break;
        }
        case JointKind::prismatic: {
          const T y = -(l.first.x + dot(l.row_P, dP) + dot(l.row_R, phi));
          ds[0] = y;
          dP += y * l.a3;
          break;
        }
        case JointKind::free:
          dP = -(l.A_inverse * l.free_force);
          ds[0] = dP.x;
          ds[1] = dP.y;
          ds[2] = dP.z;
          ds += 3;
          [[fallthrough]];
        case JointKind::ball: {
          phi = -(l.first + l.rows * dP);
          const Vec3<T> deta = turn_increment(b.w, phi);
          ds[0] = deta.x;
          ds[1] = deta.y;
          ds[2] = deta.z;
          break;
        }
        default: break;
      }
      l.dP = dP;
      b.phi = phi;
      b.dx = dP + cross(phi, l.c3);
      sum += norm2(b.dx) + norm2(b.phi);
    }
    return sum;
  }
};

}  // namespace catena::CATENA_ISA
