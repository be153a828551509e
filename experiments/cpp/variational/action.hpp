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

#include "variational/tree.hpp"

namespace catena_paper {

enum class Map { quaternion, cayley, exponential };

struct Momentum {
  Vec p, begin, end;  // linear, and angular about the centre at the two nodes
};

// derivatives of (p, begin) by the body's final displacement and turn
struct Tangent {
  Mat pd, pt, ld, lt;
};

// A, C and their first two derivatives
struct Family {
  double A, A1, A2, C, C1, C2;
};

template <Map map>
CATENA_INLINE Family family(double s) {
  static_assert(map != Map::quaternion);
  if constexpr (map == Map::cayley) {
    const double a = 1 / (1 - s);
    return {a, a * a, 2 * a * a * a, a, a * a, 2 * a * a * a};
  } else {
    // asin^2(s^1/2) / s = sum of 2^(2k+1) s^k / ((k+1)^2 binomial(2k+2, k+1)): C is the same series one power lower
    Family f = {0, 0, 0, 0, 0, 0};
    if (s < 0.05) {
      constexpr int terms = 14;
      constexpr auto series = [] {
        struct {
          double of[terms] = {};
        } made;
        double term = 1;
        for (int k = 0; k < terms; ++k) {
          made.of[k] = term;
          // ratio of neighbouring coefficients
          term *= 2.0 * (k + 1) * (k + 1) / ((k + 2) * (2.0 * k + 3));
        }
        return made;
      }();
      for (int k = terms - 1; k >= 1; --k) {
        f.C2 = s * f.C2 + 2 * f.C1;
        f.C1 = s * f.C1 + f.C;
        f.C = s * f.C + series.of[k];
      }
    } else {
      const double t = std::asin(std::sqrt(s)), root = std::sqrt(s * (1 - s));
      // y = t^2: y' = t / root, y'' = (1 - t (1 - 2 s) / root) / (2 s (1 - s)), and y = s + s^2 C
      const double y = t * t, y1 = t / root, y2 = (1 - t * (1 - 2 * s) / root) / (2 * s * (1 - s));
      f.C = (y - s) / (s * s);
      f.C1 = (y1 - 1 - 2 * s * f.C) / (s * s);
      f.C2 = (y2 - 2 * f.C - 4 * s * f.C1) / (s * s);
    }
    f.A = 1 + s * f.C;
    f.A1 = f.C + s * f.C1;
    f.A2 = 2 * f.C1 + s * f.C2;
    return f;
  }
}

template <Map map>
CATENA_INLINE Momentum momentum(double mass, const Mat& J, const Turn& turn, Vec d, double per_dt) {
  const Vec eta = vector_part(turn), Je = J * eta;
  if constexpr (map == Map::quaternion) {
    const Vec ell = (2 * per_dt) * plus_cross(turn.w * Je, eta, Je);
    return {(mass * per_dt) * d, ell, ell};
  } else {
    const double s = norm2(eta), E = dot(eta, Je);
    const Family f = family<map>(s);
    const Vec w = cross(eta, d), Be = cross(d, w);
    const double W = norm2(w), m = mass * per_dt;
    const Vec gamma = (m * f.C1 * W + 4 * per_dt * f.A1 * E) * eta + (m * f.C) * Be + (4 * per_dt * f.A) * Je;
    const Vec p = m * (d - f.C * cross(eta, w));
    const Vec end = 0.5 * plus_cross(turn.w * gamma, eta, gamma);
    return {p, plus_cross(end, d, p), end};
  }
}

template <Map map>
CATENA_INLINE Tangent tangent(double mass, const Mat& J, const Turn& turn, Vec d, double per_dt) {
  const double c = turn.w, m = mass * per_dt;
  const Vec eta = vector_part(turn), Je = J * eta;
  Tangent t;
  if constexpr (map == Map::quaternion) {
    // eta changes by (c phi - eta x phi)/2 and c by -eta.phi/2
    const Mat by_eta = plus_skew_times(c * J, eta, J) - skew(Je);
    t.lt = per_dt * (minus_times_skew(c * by_eta, by_eta, eta) - outer(Je, eta));
    t.pd = diagonal(m);
  } else {
    const double s = norm2(eta), E = dot(eta, Je), ed = dot(eta, d);
    const Family f = family<map>(s);
    const Vec w = cross(eta, d), Be = cross(d, w), Hd = s * d - ed * eta;
    const double W = norm2(w), k = 4 * per_dt;
    const Vec gamma = (m * f.C1 * W + k * f.A1 * E) * eta + (m * f.C) * Be + (k * f.A) * Je;
    const Vec mixed = (2 * m * f.C1) * Be + (2 * k * f.A1) * Je;
    // derivatives of gamma and p by eta and d
    const Mat ee = diagonal(m * (f.C1 * W + f.C * norm2(d)) + k * f.A1 * E) - (m * f.C) * outer(d, d) + (k * f.A) * J +
                   outer(eta, mixed + (2 * (m * f.C2 * W + k * f.A2 * E)) * eta) + outer(mixed, eta);
    const Mat ed_ = (2 * m * f.C1) * outer(eta, Hd) + (m * f.C) * (2.0 * outer(eta, d) - diagonal(ed) - outer(d, eta));
    t.pd = diagonal(m * (1 + f.C * s)) - (m * f.C) * outer(eta, eta);
    const Mat pe = transpose(ed_);
    const Vec p = m * (d - f.C * cross(eta, w));
    // end = (c gamma + eta x gamma)/2, begin = end + d x p
    const Mat end_e = 0.5 * (plus_skew_times(c * ee, eta, ee) - skew(gamma));
    const Mat end_d = 0.5 * plus_skew_times(c * ed_, eta, ed_);
    const Mat begin_e = plus_skew_times(end_e, d, pe);
    t.ld = plus_skew_times(end_d, d, t.pd) - skew(p);
    t.pt = 0.5 * minus_times_skew(c * pe, pe, eta);
    t.lt = 0.5 * minus_times_skew(c * begin_e, begin_e, eta) - 0.25 * outer(gamma, eta);
  }
  return t;
}

}  // namespace catena_paper
