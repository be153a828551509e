// The articulated solver from root to leaf: increments of the joints and of the poses, and the next iterate.
#pragma once

#include "solve/tree/articulated.hpp"

namespace catena::CATENA_ISA {

// at rest directions are those of the old pose
template <class T>
template <int branch>
inline void Articulated<T>::rest_segment(const Segment& run) {
  Axis<T>* x = axis + run.slot;
  for (int i = run.first; i < run.end; ++i) {
    Link<T>& l = link[i];
    Body<T>& b = body[i];
    b.w = {T(1), {T(0), T(0), T(0)}};
    b.d = {T(0), T(0), T(0)};
    l.c3 = l.c;
    l.r3 = l.r;
    l.H = b.J;
    l.f = -l.unit * b.target_d;
    l.t = -b.target_L;
    for (int k = 0; k < manner_of(branch) && manner_of(branch) < swivel_manner; ++k, ++x) {
      x->slide3 = x->slide;
      x->turn3 = x->turn;
      x->gain = T(turns(branch, k) ? 0.5 : 1);
    }
  }
  if constexpr (manner_of(branch) < swivel_manner)
    if (run.acted) act<branch>(run, run.first, run.end);
}

template <class T>
template <int branch, bool loops, bool on, bool acted>
inline void Articulated<T>::substitute_segment(const Segment& run) {
  constexpr int manner = manner_of(branch);
  T *ds = dz + run.variable, *lambda = dz + layout.variable_count, *next = ahead + run.variable;
  const T* s = z + run.variable;
  Vec3<T> dx = {T(0), T(0), T(0)}, phi = dx, deta = dx, d;
  Quat<T> w;
  if (run.parent >= 0) dx = body[run.parent].dx, phi = body[run.parent].phi;
  follow(run, w, d);
  Axis<T>* x = axis + run.slot;
  const Swivel<T>* turned = swivel + run.slot;
  [[maybe_unused]] const Torsion<T>* twisted = torsion + run.slot;
  Vec3<T> sum = moved;
  bool fine = true;
  Link<T>* const links = link;
  Body<T>* const bodies = body;
  const LinkInfo* const infos = layout.link;
  for (int i = run.first; i < run.end; ++i) {
    Link<T>& l = links[i];
    Body<T>& b = bodies[i];
    const bool passes = loops && loop.pass(i);
    const auto pull = [&](int k) { return loop.front(i).pull(k, lambda); };
    if constexpr (manner < swivel_manner) {
      const Vec3<T> carried = dx + cross(phi, l.r3);
      for (int k = 0; k < manner; ++k) {
        T y = x[k].motion(dx, phi);
        if (passes) y -= pull(k);
        ds[k] = x[k].gain * y;
        dx = (k == 0 ? carried : dx) + y * x[k].slide3;
        phi += y * x[k].turn3;
      }
      if (manner == 0) dx = carried;
    } else {
      if constexpr (manner == swivel_manner) {
        dx += cross(phi, l.r3);
      } else {
        dx = -turned->shift_first;
        if (passes) dx -= Vec3<T>{pull(3), pull(4), pull(5)};
        store_whole(ds, dx);
      }
      [[maybe_unused]] const Vec3<T> above = phi;
      phi = -(turned->first + turned->rows * dx);
      if constexpr (acted) phi -= twisted++->rows * above;
      if (passes) phi -= Vec3<T>{pull(0), pull(1), pull(2)};
      deta = turn_increment(b.w, phi);
      store_whole(ds + slides_of(branch), deta);
      if constexpr (manner == swivel_manner) dx += cross(phi, l.c3);
      ++turned;
    }
    b.dx = dx;
    b.phi = phi;
    sum += squares(dx) + squares(phi);
    if constexpr (loops)
      if (layout.front[i].opens) open(i, dx, phi, lambda);
    if constexpr (on) {
      for (int k = 0; k < (manner < swivel_manner ? manner : slides_of(branch)); ++k) next[k] = s[k] + ds[k];
      const Vec3<T> eta = turn_of<branch>(s) + deta;
      if constexpr (manner >= swivel_manner) store_whole(next + slides_of(branch), eta);
      fine &= evaluate_link<branch>(l, b, infos[i], x, next, eta, w, d);
    }
    x += manner;
    s += freedoms(branch), ds += freedoms(branch), next += freedoms(branch);
  }
  moved = sum;
  in_range &= fine;
  if constexpr (manner > 0 && manner < swivel_manner)
    if (holds && run.acted) settle_stops<manner, loops>(run);
}

// What stops exert, known once the increments are; apart from these, as it is rare.
template <class T>
template <int manner, bool loops>
[[gnu::noinline]] void Articulated<T>::settle_stops(const Segment& run) {
  const T *lambda = dz + layout.variable_count, *ds = dz + run.variable;
  for (int i = run.first, n = run.slot; i < run.end; ++i) {
    Vec3<T> dx = {T(0), T(0), T(0)}, phi = dx;
    if (const int parent = layout.link[i].parent; parent >= 0) dx = body[parent].dx, phi = body[parent].phi;
    const Vec3<T> carried = dx + cross(phi, link[i].r3);
    for (int k = 0; k < manner; ++k, ++n, ++ds) {
      const Axis<T>& x = axis[n];
      T y = x.motion(dx, phi);
      if (loops && loop.pass(i)) y -= loop.front(i).pull(k, lambda);
      if (stopped[n].held) stopped[n].settle(dx, phi, y);
      dx = (k == 0 ? carried : dx) + y * x.slide3;
      phi += y * x.turn3;
    }
  }
}

}  // namespace catena::CATENA_ISA
