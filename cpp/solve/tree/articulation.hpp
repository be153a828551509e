// What a link and all that hangs on it ask of its joint, and how joints are eliminated from it.
//
// With increments taken at the link's centre of mass (displacement dx, turn phi) and its children's joints eliminated,
//
//     [A B] [dx ]   [f]
//     [C E] [phi] + [t] = wrench through its joint.
//
// The link itself adds its mass to the diagonal of A and H (physics/body.hpp) to E. The matrix is not symmetric: forces
// balance along the directions of the old pose, motions run along those of the new pose. A freedom with the directions
// s = (slide, turn) and s' of the link's centre is eliminated by a scalar pivot,
//
//     M <- M - (M s') (s^T M) / (s^T M s'),
//
// a ball joint by the 3 x 3 block E at the joint point; and to another point, r from there in the old pose and r' in
// the new one, M moves by
//
//     B <- B - A [r'],  E <- E - C [r'],  then C <- C + [r] A,  E <- E + [r] B.
//
// What acts along a freedom itself (physics/law.hpp) is two numbers: an effort against s . wrench, and by how much the
// effort falls as the freedom moves, a stiffness in the pivot.
//
// A freedom at its stop (solve/stops.hpp) moves by what is left to it, y, and hands on the whole matrix, with M s' y
// added to the wrench. What the stop must exert for that is known once the link's increment is,
//
//     effort = s . wrench + (s^T M) . increment + pivot y - what acts along the freedom.
//
// A rotary damper in a ball joint (physics/rotary.hpp) adds G and a torque tau to the balance of the link, takes both
// from that of the parent, and sees the parent's turn phi_p by G_p. At the joint point, with E' = E + G,
//
//     phi = -E'^-1 (t + tau + C dP - G_p phi_p),
//
// and what is left for the parent is no longer a force alone:
//
//     [A - B E'^-1 C     B E'^-1 G_p      ] [dP   ]   [f - B E'^-1 (t + tau)  ]
//     [G E'^-1 C         G_p - G E'^-1 G_p] [phi_p] + [G E'^-1 (t + tau) - tau].
//
// What is kept of every pivot serves for the way back, and for a second right-hand side with the same matrix.
#pragma once

#include "physics/rotary.hpp"

namespace catena::CATENA_ISA {

template <class T>
struct Articulation : Wrench<T> {
  Mat3<T> A, B, C, E;
};

template <class T>
CATENA_INLINE void move(Wrench<T>& m, Vec3<T> r) {
  m.t = plus_cross(m.t, r, m.f);
}
template <class T>
CATENA_INLINE void move(Articulation<T>& m, const Vec3<T>& r, const Vec3<T>& r3) {
  m.B = minus_times_skew(m.B, m.A, r3);
  m.E = minus_times_skew(m.E, m.C, r3);
  m.C = plus_skew_times(m.C, r, m.A);
  m.E = plus_skew_times(m.E, r, m.B);
  move(m, r);
}
// the same where there is nothing but A and f
template <class T>
CATENA_INLINE void move_force(Articulation<T>& m, const Vec3<T>& r, const Vec3<T>& r3) {
  m.B = times_skew(m.A, -r3);
  m.C = {cross(r, m.A.i), cross(r, m.A.j), cross(r, m.A.k)};
  m.E = {cross(r, m.B.i), cross(r, m.B.j), cross(r, m.B.k)};
  m.t = cross(r, m.f);
}

// what acts along a freedom at the iterate
template <class T>
struct Acting {
  T effort, stiffness;
};

// a freedom at its stop: where its unknown is to be, and what of its elimination the effort follows from
template <class T>
struct AtStop {
  bool held = false;
  T target = T(0), effort = T(0);
  Vec3<T> row_P, row_R;
  T first, pivot;
  CATENA_INLINE void settle(Vec3<T> dx, Vec3<T> phi, T y) { effort = first + dot(row_P, dx, row_R, phi) + pivot * y; }
};

// One freedom of a joint: directions of the link's centre in the old and new pose, change of the unknown per motion,
// and after elimination u = M s', row = s^T M / pivot, first = s . wrench / pivot: motion = -(first + row . increment);
// for a joint's first freedom the row is moved, and the increment the parent's.
template <class T>
struct Axis {
  Vec3<T> slide, turn, slide3, turn3;
  Vec3<T> up, ur, row_P, row_R;
  T gain, inverse, first;

  // the pivot; pivots of a stable step are positive
  template <bool acted>
  CATENA_INLINE T divide(const Articulation<T>& m, const Acting<T>* acting) {
    up = m.A * slide3 + m.B * turn3;
    ur = m.C * slide3 + m.E * turn3;
    T pivot = dot(slide, up, turn, ur);
    if constexpr (acted) pivot += acting->stiffness;
    inverse = T(1) / pivot;
    row_P = dots(slide, m.A, m.f, turn, m.C, m.t, first);
    if constexpr (acted) first -= acting->effort;
    row_R = dots(slide, m.B, turn, m.E);
    return pivot;
  }
  // what is left of the matrix
  CATENA_INLINE void reduce(Articulation<T>& m) { reduce(m, up, ur); }
  // and the same moved to the parent: m, u and the row are moved by themselves, so as not to wait for the pivot
  CATENA_INLINE void reduce_and_move(Articulation<T>& m, const Vec3<T>& r, const Vec3<T>& r3) {
    row_R = plus_cross(row_R, r3, row_P);
    move(m, r, r3);
    reduce(m, up, plus_cross(ur, r, up));
  }
  CATENA_INLINE void finish() {
    row_P = inverse * row_P;
    row_R = inverse * row_R;
    first *= inverse;
  }
  CATENA_INLINE void reduce(Articulation<T>& m, Vec3<T> up, Vec3<T> ur) const {
    const Vec3<T> vp = inverse * up, vr = inverse * ur;
    subtract_outer(m.A, vp, row_P);
    subtract_outer(m.B, vp, row_R);
    subtract_outer(m.C, vr, row_P);
    subtract_outer(m.E, vr, row_R);
    m.f -= first * vp;
    m.t -= first * vr;
  }
  // another wrench
  template <bool acted>
  CATENA_INLINE void repeat(Wrench<T>& m, const Acting<T>* acting) {
    first = dot(slide, m.f, turn, m.t);
    if constexpr (acted) first -= acting->effort;
    first *= inverse;
    m.f -= first * up;
    m.t -= first * ur;
  }
  // at its stop, by so much from there
  CATENA_INLINE void hold(Wrench<T>& m, T left, T pivot, AtStop<T>& kept) {
    kept.row_P = row_P;
    kept.row_R = row_R;
    kept.pivot = pivot;
    kept.first = first;
    row_P = row_R = {T(0), T(0), T(0)};
    inverse = T(0);
    go(m, left);
  }
  CATENA_INLINE void hold_again(Wrench<T>& m, T left, const Acting<T>* acting, AtStop<T>& kept) {
    kept.first = dot(slide, m.f, turn, m.t) - acting->effort;
    go(m, left);
  }
  CATENA_INLINE void go(Wrench<T>& m, T left) {
    m.f += left * up;
    m.t += left * ur;
    first = -left;
  }
  CATENA_INLINE T motion(Vec3<T> dx, Vec3<T> phi) const { return -(first + dot(row_P, dx, row_R, phi)); }
};

// The turn of a link on a ball joint or of a floating one, everything at the joint point: phi = -(first + rows . dP);
// what is left for the parent is A and f. A floating link's displacement follows from its own A.
template <class T>
struct Torsion;
template <class T>
struct Swivel {
  Mat3<T> inverse, rows, lift, shift;
  Vec3<T> first, shift_first;

  // products first, then the division: they need not wait for it
  CATENA_INLINE bool eliminate(Articulation<T>& m) {
    T pivot;
    const Mat3<T> adj = adjugate(m.E, pivot), adj_C = adj * m.C;
    const Vec3<T> adj_t = adj * m.t;
    const T s = T(1) / pivot;
    lift = m.B;
    m.A = m.A - s * (lift * adj_C);
    m.f -= s * (lift * adj_t);
    inverse = s * adj;
    rows = s * adj_C;
    first = s * adj_t;
    return pivot > T(0);
  }
  CATENA_INLINE void repeat(Wrench<T>& m) {
    first = inverse * m.t;
    m.f -= lift * first;
  }
  // the same with a rotary damper, by which the parent's turn has a part in it
  CATENA_INLINE bool eliminate(Articulation<T>& m, const Rotary<T>& damper, Torsion<T>& twisted) {
    T pivot;
    const Mat3<T> adj = adjugate(m.E + damper.own, pivot);
    const T s = T(1) / pivot;
    inverse = s * adj;
    lift = m.B;
    rows = inverse * m.C;
    twisted.rows = (-s) * (adj * damper.above);
    twisted.own = damper.own;
    m.A = m.A - lift * rows;
    m.B = T(-1) * (lift * twisted.rows);
    m.C = damper.own * rows;
    m.E = damper.above + damper.own * twisted.rows;
    repeat(m, damper.torque, twisted);
    return pivot > T(0);
  }
  CATENA_INLINE void repeat(Wrench<T>& m, const Vec3<T>& torque, const Torsion<T>& twisted) {
    m.t += torque;
    repeat(m);
    m.t = twisted.own * first - torque;
  }
  CATENA_INLINE bool eliminate_shift(const Articulation<T>& m) {
    T pivot;
    const Mat3<T> adj = adjugate(m.A, pivot);
    shift = (T(1) / pivot) * adj;
    repeat_shift(m);
    return pivot > T(0);
  }
  CATENA_INLINE void repeat_shift(const Wrench<T>& m) { shift_first = shift * m.f; }
};

// what a swivel with a rotary damper has besides: phi = -(first + rows . dP + rows' . phi_p), and what its own turn
// hands on to the parent
template <class T>
struct Torsion {
  Mat3<T> rows, own;
};

}  // namespace catena::CATENA_ISA
