// A link of the tree: how it follows its parent, at the node and over the step.
#pragma once

#include "physics/body.hpp"
#include "solve/freedoms.hpp"
#include "solve/tree/articulation.hpp"

namespace catena::CATENA_ISA {

template <class T>
struct Link {
  T mass, unit, share;     // see LinkInfo
  int children, receiver;  // see find_segments
  // node: joint point from the parent's centre of mass, own centre from there, and from the parent's centre the point
  // at which the link hands over: its own centre, or the joint point where only a force is left; joint displacement in
  // the parent's frame
  Vec3<T> arm, c, r, offset;
  // iterate: the same in the new pose; the link's own inertia against turns, and its own balance
  Vec3<T> c3, r3;
  Mat3<T> H;
  Vec3<T> f, t;
};

//---- at the node ----

// directions of a joint's freedoms in the old pose; a turn about the joint point moves the centre
template <int branch, class T>
CATENA_INLINE void place_axes(Axis<T>* x, const LinkInfo& info, const Mat3<T>& own, const Mat3<T>& above, Vec3<T> c) {
  constexpr Branch form = branch_at(branch);
  for (int k = 0; k < form.count; ++k) {
    const Vec3<T> e = (form.own[k] ? own : above) * load3(info.direction + 3 * k);
    if (form.motion[k] == Motion::slide) {
      x[k].slide = e;
      x[k].turn = {T(0), T(0), T(0)};
      continue;
    }
    x[k].slide = cross(e, c);
    x[k].turn = e;
    if (form.motion[k] == Motion::helix) x[k].slide += T(info.parameter) * e;
  }
}
// geometry of the node; the pose of the parent becomes that of the link, which is rebuilt from it, so it cannot drift
template <int branch, class T>
CATENA_INLINE void place_link(Link<T>& l, Body<T>& b, const LinkInfo& info, Axis<T>* x, Pose<T>& p) {
  place_body(b, info);
  if constexpr (manner_of(branch) != floating_manner) {
    Vec3<T> anchor = load3(info.anchor), above = load3(info.parent_anchor);
    if constexpr (slides(branch)) (slides_on_link(branch) ? anchor : above) += l.offset;
    l.c = -(b.R * anchor);
    l.arm = p.R * above;
    l.r = manner_of(branch) == swivel_manner ? l.arm : l.arm + l.c;
    b.x = p.x + l.arm + l.c;
    if constexpr (manner_of(branch) < swivel_manner) place_axes<branch>(x, info, b.R, p.R, l.c);
  }
  p = {b.x, b.R};
}

//---- at the iterate ----

// the step quaternion of a link that has its own among the unknowns, behind so many displacements
constexpr int slides_of(int branch) { return manner_of(branch) == floating_manner ? 3 : 0; }
template <int branch, class T>
CATENA_INLINE Vec3<T> turn_of(const T* s) {
  return manner_of(branch) >= swivel_manner ? load_whole(s + slides_of(branch)) : Vec3<T>{T(0), T(0), T(0)};
}
template <class T>
CATENA_INLINE Quat<T> step_turn(Vec3<T> eta) {
  return {std::sqrt(T(1) - norm2(eta)), eta};
}

// one freedom of a joint: turns the frame w that the ones before it have reached, or moves the link
template <int branch, class T>
CATENA_INLINE void evaluate_axis(int k, Axis<T>& x, T s, Quat<T>& w, Vec3<T>& way, const LinkInfo& info) {
  constexpr Branch form = branch_at(branch);
  if (form.motion[k] == Motion::slide) {
    x.gain = T(1);
    way += s * (x.slide + turn(w, x.slide));
    return;
  }
  // a screw slides by its pitch times the angle
  if (form.motion[k] == Motion::helix) way += T(info.parameter) * turned_angle(s) * (x.turn + turn(w, x.turn));
  const T cosine = std::sqrt(T(1) - s * s);
  x.gain = T(0.5) * cosine;
  w = w * Quat<T>{cosine, s * x.turn};
}
// w and d of the parent become those of the link
template <int branch, class T>
CATENA_INLINE bool evaluate_link(Link<T>& l, Body<T>& b, const LinkInfo& info, Axis<T>* x, const T* s, Vec3<T> eta,
                                 Quat<T>& w, Vec3<T>& d) {
  if constexpr (manner_of(branch) == floating_manner) {
    d = {s[0], s[1], s[2]};
    w = step_turn(eta);
  } else {
    Vec3<T> swing = turn(w, l.arm), shift = {T(0), T(0), T(0)};
    if constexpr (manner_of(branch) == swivel_manner)
      w = step_turn(eta);
    else
      for (int k = 0; k < manner_of(branch); ++k)
        evaluate_axis<branch>(k, x[k], s[k], w, slides_on_link(branch) ? shift : swing, info);
    Vec3<T> spin = turn(w, l.c);
    if constexpr (slides_on_link(branch)) spin += shift;
    d += swing + spin;
    l.c3 = l.c + spin;
    l.r3 = l.r + swing;
    if constexpr (manner_of(branch) != swivel_manner) l.r3 += spin;
  }
  b.w = w;
  b.d = d;
  // NaN counts as too far
  return w.w > T(0);
}

// directions of a joint's freedoms at the iterate, in the frame w that its parent has turned to
template <int branch, class T>
CATENA_INLINE void direct_axes(Axis<T>* x, const LinkInfo& info, Vec3<T> c3, const T* s, Quat<T> w) {
  for (int k = 0; k < manner_of(branch); ++k) {
    Axis<T>& e = x[k];
    e.turn3 = e.slide3 = {T(0), T(0), T(0)};
    if (!turns(branch, k)) {
      e.slide3 = e.slide + turn(w, e.slide);
      continue;
    }
    e.turn3 = e.turn + turn(w, e.turn);
    e.slide3 = cross(e.turn3, c3);
    if (branch_at(branch).motion[k] == Motion::helix) e.slide3 += T(info.parameter) * e.turn3;
    // on to the frame of the next one
    if (k + 1 < manner_of(branch)) w = w * Quat<T>{T(2) * e.gain, s[k] * e.turn};
  }
}

}  // namespace catena::CATENA_ISA
