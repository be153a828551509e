// Accelerations of the freedoms of a tree, r' = M^-1 t in O(n): articulated bodies [Featherstone, Rigid Body Dynamics
// Algorithms, 2008, chapter 7].
//
// From the leaves, the wrench that moves a link and its subtree, whose freedoms answer to their efforts, is linear in
// the acceleration (v, w) of its center,
//
//     f = A v + B^T w + p,   t = B v + C w + q.
//
// A freedom s of its joint, with effort u = t_s - s.(p, q) and d = s.(A B; B C) s + rotor, takes the rank one U U^T / d
// away, U being what a unit of it needs, and adds U u / d to (p, q); then all goes to the parent's center. What depends
// on velocities is in the efforts already. Freedoms of a joint follow each other.
#pragma once

#include "dynamics/tree_motion.hpp"

namespace catena::CATENA_ISA {

// of one link
struct Articulation {
  Mat3<double> A, B, C;
  Wrench<double> p, motion;
};
// of one freedom
struct AxisAnswer {
  Wrench<double> need;
  double u, d;
};

struct TreeInverse {
  const TreeMotion& tree;
  Articulation* link;
  AxisAnswer* answer;   // (freedom) by links
  const double* rotor;  // (freedom) in the order of what comes out

  // where bodies are
  void factor() {
    const Layout& layout = tree.layout;
    for (int i = 0; i < layout.link_count; ++i) {
      Articulation& l = link[i];
      l.A = diagonal(layout.link[i].mass);
      l.B = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
      l.C = tree.link[i].J;
    }
    for (int i = layout.link_count - 1; i >= 0; --i) {
      Articulation& l = link[i];
      const TreeLink& own = tree.link[i];
      for (int k = own.first + own.count - 1; k >= own.first; --k) yield(l, k);
      const int parent = layout.link[i].parent;
      if (parent >= 0) hand_on(l, own.rho, link[parent]);
    }
  }
  // from efforts (freedom) to accelerations, in place
  void solve(double* efforts) {
    const Layout& layout = tree.layout;
    for (int i = 0; i < layout.link_count; ++i) link[i].p = {{0, 0, 0}, {0, 0, 0}};
    for (int i = layout.link_count - 1; i >= 0; --i) {
      Wrench<double>& p = link[i].p;
      const TreeLink& own = tree.link[i];
      for (int k = own.first + own.count - 1; k >= own.first; --k) {
        AxisAnswer& a = answer[k];
        a.u = efforts[tree.row_of[k]] - dot(tree.axis[k].slide, p.f, tree.axis[k].turn, p.t);
        const double push = a.u * (1 / a.d);
        p.f += push * a.need.f;
        p.t += push * a.need.t;
      }
      const int parent = layout.link[i].parent;
      if (parent < 0) continue;
      link[parent].p.f += p.f;
      link[parent].p.t += p.t + cross(own.rho, p.f);
    }
    for (int i = 0; i < layout.link_count; ++i) {
      const TreeLink& own = tree.link[i];
      const int parent = layout.link[i].parent;
      Wrench<double> v = {{0, 0, 0}, {0, 0, 0}};
      if (parent >= 0) v = {link[parent].motion.f + cross(link[parent].motion.t, own.rho), link[parent].motion.t};
      for (int k = own.first; k < own.first + own.count; ++k) {
        const AxisAnswer& a = answer[k];
        const TreeAxis& x = tree.axis[k];
        const double by = (a.u - dot(a.need.f, v.f, a.need.t, v.t)) / a.d;
        efforts[tree.row_of[k]] = by;
        v.f += by * x.slide;
        v.t += by * x.turn;
      }
      link[i].motion = v;
    }
  }

 private:
  void yield(Articulation& l, int k) {
    const TreeAxis& x = tree.axis[k];
    AxisAnswer& a = answer[k];
    const Vec3<double> f = l.A * x.slide + transposed_times(l.B, x.turn), t = l.B * x.slide + l.C * x.turn;
    a.need = {f, t};
    a.d = dot(x.slide, f, x.turn, t) + rotor[tree.row_of[k]];
    const double part = 1 / a.d;
    const Vec3<double> f_part = part * f, t_part = part * t;
    subtract_outer(l.A, f_part, f);
    subtract_outer(l.B, t_part, f);
    subtract_outer(l.C, t_part, t);
  }
  static void hand_on(const Articulation& l, Vec3<double> rho, Articulation& up) {
    const Mat3<double> moved = plus_skew_times(l.B, rho, l.A);
    up.A = up.A + l.A;
    up.B = up.B + moved;
    up.C = up.C + plus_skew_times(minus_times_skew(l.C, l.B, rho), rho, transpose(moved));
  }
};

}  // namespace catena::CATENA_ISA
