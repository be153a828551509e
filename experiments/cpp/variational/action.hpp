// The discrete action of one free body over a step, its momenta and their derivatives.
//
// From node to node a body is displaced by d and turned by the quaternion (c, eta), both in world axes, with J the
// inertia at the first node. With s = |eta|^2 = sin^2 of half of the turn, three maps between steps and velocities are
// one family:
//
//   L_d = ( m |d|^2 + m C(s) |eta x d|^2 + 4 A(s) eta.J eta ) / 2 dt,    C = (A - 1) / s
//
//   quaternion   A = 1               turn and displacement apart; what catena's own step is made of
//   cayley       A = 1 / (1 - s)     V dt = cay^-1(step) on SE(3)
//   exponential  A = asin(s^1/2)^2/s V dt = log(step) on SE(3): Lee et al.
//
// since on SE(3) the part of d across the axis is lengthened by tan(t/2)/sin(t/2), or by (t/2)/sin(t/2). Momenta at the
// first node are p = dL/dd and ell = (c gamma + eta x gamma)/2 + d x p with gamma = dL/deta (the map's
// right-trivialised derivative at work); at the second node they are p and ell - d x p, because a free body keeps its
// spatial momentum.
#pragma once

#include "variational/wide.hpp"

namespace catena_paper {

enum class Map { quaternion, cayley, exponential };

template <class T>
struct Momentum {
  Vec3<T> p, begin, end;  // linear, and angular about the centre at the two nodes
};

// derivatives of (p, begin) by the body's final displacement and turn
template <class T>
struct Tangent {
  Mat3<T> pd, pt, ld, lt;
};

// A, C and their first two derivatives
template <class T>
struct Family {
  T A, A1, A2, C, C1, C2;
};

// the rest of C (s = sin^2 of half of the turn t) where its series would be too long
inline void long_turn(double s, double& C, double& C1, double& C2) {
  const double t = std::asin(std::sqrt(s)), root = std::sqrt(s * (1 - s));
  // y = t^2: y' = t / root, y'' = (1 - t (1 - 2 s) / root) / (2 s (1 - s)), and y = s + s^2 C
  const double y = t * t, y1 = t / root, y2 = (1 - t * (1 - 2 * s) / root) / (2 * s * (1 - s));
  C = (y - s) / (s * s);
  C1 = (y1 - 1 - 2 * s * C) / (s * s);
  C2 = (y2 - 2 * C - 4 * s * C1) / (s * s);
}

// sum of 2^(2k+1) s^k / ((k+1)^2 binomial(2k+2, k+1)) = asin^2(s^1/2) / s: C is the same series one power lower
constexpr int asin_terms = 14;
constexpr double asin_limit = 0.05;
struct AsinSeries {
  double of[asin_terms] = {};
  constexpr AsinSeries() {
    double term = 1;
    for (int k = 0; k < asin_terms; ++k) {
      of[k] = term;
      term *= 2.0 * (k + 1) * (k + 1) / ((k + 2) * (2.0 * k + 3));
    }
  }
};
constexpr AsinSeries asin_series;

template <Map map>
CATENA_INLINE Family<Wide> family(Wide s) {
  static_assert(map != Map::quaternion);
  const Wide one(1), two(2);
  if constexpr (map == Map::cayley) {
    const Wide a = one / (one - s), a1 = a * a, a2 = two * a1 * a;
    return {a, a1, a2, a, a1, a2};
  } else {
    Family<Wide> f;
    f.C = Wide(asin_series.of[asin_terms - 1]);
    f.C1 = f.C2 = Wide(0);
    for (int k = asin_terms - 2; k >= 1; --k) {
      f.C2 = s * f.C2 + two * f.C1;
      f.C1 = s * f.C1 + f.C;
      f.C = s * f.C + Wide(asin_series.of[k]);
    }
    const auto large = s.v >= asin_limit;
    if (large[0] | large[1] | large[2] | large[3])
      for (int k = 0; k < 4; ++k) {
        double C = f.C.v[k], C1 = f.C1.v[k], C2 = f.C2.v[k];
        if (large[k]) long_turn(s.v[k], C, C1, C2);
        f.C.v[k] = C;
        f.C1.v[k] = C1;
        f.C2.v[k] = C2;
      }
    f.A = one + s * f.C;
    f.A1 = f.C + s * f.C1;
    f.A2 = two * f.C1 + s * f.C2;
    return f;
  }
}

template <Map map, class T>
CATENA_INLINE Momentum<T> momentum(T mass, const Mat3<T>& J, const Quat<T>& turn, Vec3<T> d, T per_dt) {
  const Vec3<T> eta = vector_part(turn), Je = J * eta;
  if constexpr (map == Map::quaternion) {
    const Vec3<T> ell = (T(2) * per_dt) * plus_cross(turn.w * Je, eta, Je);
    return {(mass * per_dt) * d, ell, ell};
  } else {
    const T s = norm2(eta), E = dot(eta, Je), m = mass * per_dt, k = T(4) * per_dt;
    const Family<T> f = family<map>(s);
    const Vec3<T> w = cross(eta, d), Be = cross(d, w);
    const T W = norm2(w);
    const Vec3<T> gamma = (m * f.C1 * W + k * f.A1 * E) * eta + (m * f.C) * Be + (k * f.A) * Je;
    const Vec3<T> p = m * (d - f.C * cross(eta, w));
    const Vec3<T> end = T(0.5) * plus_cross(turn.w * gamma, eta, gamma);
    return {p, plus_cross(end, d, p), end};
  }
}

template <Map map, class T>
CATENA_INLINE Tangent<T> tangent(T mass, const Mat3<T>& J, const Quat<T>& turn, Vec3<T> d, T per_dt) {
  const T c = turn.w, m = mass * per_dt, half(0.5), two(2);
  const Vec3<T> eta = vector_part(turn), Je = J * eta;
  Tangent<T> t;
  if constexpr (map == Map::quaternion) {
    // eta changes by (c phi - eta x phi)/2 and c by -eta.phi/2
    const Mat3<T> by_eta = plus_skew_times(c * J, eta, J) - skew(Je);
    t.lt = per_dt * (minus_times_skew(c * by_eta, by_eta, eta) - outer(Je, eta));
    t.pd = diagonal(m);
  } else {
    const T s = norm2(eta), E = dot(eta, Je), ed = dot(eta, d), k = T(4) * per_dt;
    const Family<T> f = family<map>(s);
    const Vec3<T> w = cross(eta, d), Be = cross(d, w), Hd = s * d - ed * eta;
    const T W = norm2(w);
    const Vec3<T> gamma = (m * f.C1 * W + k * f.A1 * E) * eta + (m * f.C) * Be + (k * f.A) * Je;
    const Vec3<T> mixed = (two * m * f.C1) * Be + (two * k * f.A1) * Je;
    // derivatives of gamma and p by eta and d
    const Mat3<T> ee = diagonal(m * (f.C1 * W + f.C * norm2(d)) + k * f.A1 * E) - (m * f.C) * outer(d, d) +
                       (k * f.A) * J + outer(eta, mixed + (two * (m * f.C2 * W + k * f.A2 * E)) * eta) +
                       outer(mixed, eta);
    const Mat3<T> by_d =
        (two * m * f.C1) * outer(eta, Hd) + (m * f.C) * (two * outer(eta, d) - diagonal(ed) - outer(d, eta));
    t.pd = diagonal(m * (T(1) + f.C * s)) - (m * f.C) * outer(eta, eta);
    const Mat3<T> pe = transpose(by_d);
    const Vec3<T> p = m * (d - f.C * cross(eta, w));
    // end = (c gamma + eta x gamma)/2, begin = end + d x p
    const Mat3<T> end_e = half * (plus_skew_times(c * ee, eta, ee) - skew(gamma));
    const Mat3<T> end_d = half * plus_skew_times(c * by_d, eta, by_d);
    const Mat3<T> begin_e = plus_skew_times(end_e, d, pe);
    t.ld = plus_skew_times(end_d, d, t.pd) - skew(p);
    t.pt = half * minus_times_skew(c * pe, pe, eta);
    t.lt = half * minus_times_skew(c * begin_e, begin_e, eta) - T(0.25) * outer(gamma, eta);
  }
  return t;
}

}  // namespace catena_paper
