// The articulated solver from leaf to root: joints are eliminated, with a new matrix or with the one at hand.
#pragma once

#include "solve/tree/articulated.hpp"

namespace catena::CATENA_ISA {

// leaf to root
template <class T>
template <int manner, bool loops, bool acted>
inline bool Articulated<T>::eliminate(const Segment& s) {
  bool fine = true;
  Articulation<T> m;
  if (s.receives >= 0) {
    m = received[s.receives];
  } else {
    m.A = m.B = m.C = m.E = diagonal(T(0));
    m.f = m.t = {T(0), T(0), T(0)};
  }
  Axis<T>* x = axis + s.slot + (s.end - s.first) * manner;
  const Acting<T>* acts = acting + s.slot + (s.end - s.first) * manner;
  Swivel<T>* turned = swivel + s.slot + (s.end - s.first);
  Torsion<T>* twisted = torsion + s.slot + (s.end - s.first);
  const Link<T>* const links = link;
  const bool drags = loops && layout.drag && !clock.resting;
  for (int i = s.end - 1;; --i) {
    const Link<T>& l = links[i];
    const bool root = i == s.first && s.parent < 0;
    m.A = m.A + diagonal(l.mass);
    if constexpr (loops)
      if (drags) m.A = m.A + drag_on_motion(i);
    m.E = m.E + l.H;
    m.f += l.f;
    m.t += l.t;
    if constexpr (loops)
      if (loop.stop(i)) fine &= close(m, i);
    if constexpr (manner < swivel_manner) {
      x -= manner;
      if constexpr (acted) acts -= manner;
      // the freedom nearest to the link goes first
      for (int k = manner - 1; k >= 0; --k) {
        Axis<T>& e = x[k];
        const T pivot = e.template divide<acted>(m, acts + k);
        fine &= pivot > T(0);
        if constexpr (acted)
          if (holds && stopped[x + k - axis].held) {
            // a copy, so that others can keep theirs in registers
            Articulation<T> own = m;
            hold_axis(own, l, static_cast<int>(x + k - axis), pivot, z[s.variable + (i - s.first) * manner + k],
                      k == 0 && !root);
            m = own;
            continue;
          }
        if (k > 0)
          e.reduce(m);
        else if (!root)
          e.reduce_and_move(m, l.r, l.r3);
        e.finish();
      }
      if (manner == 0 && !root) move(m, l.r, l.r3);
    } else {
      --turned;
      if constexpr (acted) --twisted;
      if constexpr (manner == swivel_manner) move(m, l.c, l.c3);
      if constexpr (acted)
        fine &= turned->eliminate(m, rotary_between(turn_above(i), body[i].w, half_damping(i)), *twisted);
      else
        fine &= turned->eliminate(m);
      if constexpr (manner == floating_manner)
        fine &= turned->eliminate_shift(m);
      else if constexpr (acted)
        move(m, l.r, l.r3);
      else if (!root)
        move_force(m, l.r, l.r3);
    }
    if constexpr (loops) loop.send<manner, acted>(i, x, turned, twisted, l.c, l.c3, l.r, l.r3);
    if (i == s.first) break;
  }
  if (s.sends >= 0) hand_over(m, received[s.sends], s.opens);
  return fine;
}
// apart, as it is rare
template <class T>
[[gnu::noinline]] void Articulated<T>::hold_axis(Articulation<T>& m, const Link<T>& l, int n, T pivot, T unknown,
                                                 bool moves) {
  axis[n].hold(m, left_to(n, unknown), pivot, stopped[n]);
  if (!moves) return;
  stopped[n].row_R = plus_cross(stopped[n].row_R, l.r3, stopped[n].row_P);
  move(m, l.r, l.r3);
}
template <class T>
inline void Articulated<T>::hand_over(const Articulation<T>& m, Articulation<T>& to, bool opens) {
  if (opens) {
    to = m;
    return;
  }
  to.A = to.A + m.A;
  to.B = to.B + m.B;
  to.C = to.C + m.C;
  to.E = to.E + m.E;
  to.f += m.f;
  to.t += m.t;
}

template <class T>
template <int manner, bool loops, bool acted>
inline void Articulated<T>::repeat_segment(const Segment& s) {
  Wrench<T> m = {{T(0), T(0), T(0)}, {T(0), T(0), T(0)}};
  if (s.receives >= 0) m = received[s.receives];
  Axis<T>* x = axis + s.slot + (s.end - s.first) * manner;
  const Acting<T>* acts = acting + s.slot + (s.end - s.first) * manner;
  Swivel<T>* turned = swivel + s.slot + (s.end - s.first);
  Torsion<T>* twisted = torsion + s.slot + (s.end - s.first);
  const Link<T>* const links = link;
  const Body<T>* const bodies = body;
  for (int i = s.end - 1; i >= s.first; --i) {
    const Link<T>& l = links[i];
    add_wrench<loops>(m, l, bodies[i], i);
    if constexpr (loops)
      if (loop.stop(i)) close_again(m, i);
    if constexpr (manner < swivel_manner) {
      x -= manner;
      if constexpr (acted) acts -= manner;
      for (int k = manner - 1; k >= 0; --k) {
        const int n = static_cast<int>(x + k - axis);
        if (acted && holds && stopped[n].held)
          x[k].hold_again(m, left_to(n, z[s.variable + (i - s.first) * manner + k]), acts + k, stopped[n]);
        else
          x[k].template repeat<acted>(m, acts + k);
      }
      move(m, l.r);
    } else {
      --turned;
      if constexpr (manner == swivel_manner) move(m, l.c);
      if constexpr (acted)
        turned->repeat(m, rotary_torque(turn_above(i), bodies[i].w, half_damping(i)), *--twisted);
      else
        turned->repeat(m);
      if constexpr (manner == floating_manner)
        turned->repeat_shift(m);
      else if constexpr (acted)
        move(m, l.r);
      else
        m.t = cross(l.r, m.f);
    }
    if constexpr (loops) loop.send_again<manner>(i, x, turned);
  }
  if (s.sends < 0) return;
  Wrench<T>& to = received[s.sends];
  to = s.opens ? m : Wrench<T>{to.f + m.f, to.t + m.t};
}

// loops and ties that end at the world
template <class T>
inline bool Articulated<T>::close_world() const {
  Articulation<T> none;
  none.A = none.B = none.C = none.E = diagonal(T(0));
  none.f = none.t = {T(0), T(0), T(0)};
  const bool fine = !has_ties(layout.link_count) || close_ties(none, layout.link_count);
  loop.close_world(none);
  return fine;
}
template <class T>
inline void Articulated<T>::close_world_again() const {
  Wrench<T> none = {{T(0), T(0), T(0)}, {T(0), T(0), T(0)}};
  if (has_ties(layout.link_count)) close_ties_again(none, layout.link_count);
  loop.close_world_again(none);
}

}  // namespace catena::CATENA_ISA
