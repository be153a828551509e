// Coulomb's law of friction at one contact, as equations that Newton's method can solve (Alart and Curnier, 1991).
//
// With l = (n, t) the multipliers, g the gap at the end of the step and s the slip over it, the law
//
//     0 <= n  perp  g >= 0,     |t| <= mu n,  s = 0 inside the disk,  t = -mu n s/|s| on its rim
//
// is F(l, g, s) = 0 with a_n = n - r g, a_t = t - r_t s, where r and r_t are inverse compliances of the rows, and
//
//     open     a_n <= 0         F = l
//     sticks   |a_t| <= mu n    F = (r g, r_t s)
//     slips    otherwise        F = (r g, t - mu n e),   e = a_t/|a_t|.
//
// A force at a node acts between two intervals. Where a contact slips steadily, its direction therefore follows from
// the mean of the slips before and after the node, e = a/|a| with a = t - r_t (s + s_before)/2. With the slip after the
// node alone, the error would be of first order if the direction of slip changes.
//
// K and S are the derivatives of F by (g, s) and by l. `eps` on the diagonal of S makes S regular; it is in the matrix
// only, so it does not change the solution.
#pragma once

#include "base/small.hpp"

namespace catena::CATENA_ISA {

enum class Grip : int { open, sticks, slips };

// Large enough that rounding divided by eps is below the tolerance, small enough not to slow Newton's method down.
constexpr double usual_eps = 1e-5, coarse_eps = 1e-3;

struct Coulomb {
  Grip grip = Grip::open;
  bool pulls = false;           // the normal multiplier is negative, so there is no friction
  double per_n = 1, per_t = 1;  // factors of S^-1: inverse normal entry, inverse tangential determinant
  double F[3] = {}, K[3][3] = {}, S[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

  // `stuck`: as if it sticks, for any multipliers; `before`: the slip over the step before, if it slips steadily
  CATENA_INLINE void look(const double* l, const double* g, double r, double r_t, double mu, double eps, bool stuck,
                          const double* before = nullptr) {
    for (int k = 0; k < 3; ++k) {
      F[k] = l[k];
      for (int j = 0; j < 3; ++j) K[k][j] = 0, S[k][j] = k == j ? 1 : 0;
    }
    grip = Grip::open;
    pulls = l[0] < 0;
    if (!(l[0] - r * g[0] > 0) && !stuck) return;
    F[0] = r * g[0];
    K[0][0] = r;
    S[0][0] = eps;
    grip = Grip::slips;
    if (!(mu > 0)) return;
    double a = l[1] - r_t * g[1], b = l[2] - r_t * g[2], size2 = a * a + b * b, part = 1;
    const double radius = mu * larger(l[0], 0);
    if (stuck || size2 <= radius * radius) {
      grip = Grip::sticks;
      for (int k = 1; k < 3; ++k) F[k] = r_t * g[k], K[k][k] = r_t, S[k][k] = eps;
      return;
    }
    if (before) {
      const double mean[2] = {l[1] - 0.5 * r_t * (g[1] + before[0]), l[2] - 0.5 * r_t * (g[2] + before[1])};
      const double mean2 = mean[0] * mean[0] + mean[1] * mean[1];
      if (mean2 > radius * radius) a = mean[0], b = mean[1], size2 = mean2, part = 0.5;
    }
    const double size = std::sqrt(size2), e[2] = {a / size, b / size}, ratio = radius / size;
    for (int k = 0; k < 2; ++k) {
      F[k + 1] = l[k + 1] - radius * e[k];
      if (!pulls) S[k + 1][0] = -mu * e[k];
      for (int j = 0; j < 2; ++j) {
        const double across = ratio * ((k == j ? 1 : 0) - e[k] * e[j]);
        K[k + 1][j + 1] = part * r_t * across;
        S[k + 1][j + 1] = (k == j ? 1 + eps : 0) - across;
      }
    }
  }
  // S^-1 y; S is lower triangular by blocks
  CATENA_INLINE void solve(const double* y, double* x) const {
    x[0] = y[0] * per_n;
    const double b = y[1] - S[1][0] * x[0], c = y[2] - S[2][0] * x[0];
    x[1] = per_t * (S[2][2] * b - S[1][2] * c);
    x[2] = per_t * (S[1][1] * c - S[2][1] * b);
  }
  void invert() {
    per_n = 1 / S[0][0];
    per_t = 1 / (S[1][1] * S[2][2] - S[1][2] * S[2][1]);
  }
  // T = S^-1 K, of which T[0][1] and T[0][2] are zero
  CATENA_INLINE void solve_rows(double (*T)[3]) const {
    for (int j = 0; j < 3; ++j) {
      const double column[3] = {K[0][j], K[1][j], K[2][j]};
      double x[3];
      solve(column, x);
      for (int k = 0; k < 3; ++k) T[k][j] = x[k];
    }
  }
};

}  // namespace catena::CATENA_ISA
