// Sines and cosines of many angles, four at a time, and the exponential of small turns.
//
// An angle is brought into [-pi/4, pi/4] by a multiple of pi/2 in three parts, and the polynomials of fdlibm do the
// rest: within a unit or two in the last place. Angles beyond a million, or none at all, go to the C library.
#pragma once

#include <bit>

#include "base/quat.hpp"
#include "scalar.hpp"

namespace rivals {

using namespace catena::CATENA_ISA;

CATENA_INLINE void four_sines(Block x, Block& sine, Block& cosine) {
  typedef long long Bits __attribute__((vector_size(sizeof(Block))));
  // adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits
  const double rounding = 6755399441055744.0;
  const Block shifted = x * 0.63661977236758134308 + rounding, turns = shifted - rounding;
  const Block r = ((x - turns * 1.57079632673412561417e+00) - turns * 6.07710050630396597660e-11) -
                  turns * 2.02226624879595063154e-21;
  const Block z = r * r;
  const Block s6 = 1.58969099521155010221e-10 * z - 2.50507602534068634195e-08;
  const Block s4 = (s6 * z + 2.75573137070700676789e-06) * z - 1.98412698298579493134e-04;
  const Block s2 = (s4 * z + 8.33333333332248946124e-03) * z - 1.66666666666666324348e-01;
  const Block s = r + (r * z) * s2;
  const Block c6 = -1.13596475577881948265e-11 * z + 2.08757232129817482790e-09;
  const Block c4 = (c6 * z - 2.75573143513906633035e-07) * z + 2.48015872894767294178e-05;
  const Block c2 = (c4 * z - 1.38888888888741095749e-03) * z + 4.16666666666666019037e-02;
  const Block c = (1.0 - 0.5 * z) + (z * z) * c2;

  // odd quarters swap the two, and the signs go round
  const Bits quarter = std::bit_cast<Bits>(shifted);
  const Bits odd = (quarter & 1) != 0;
  const Bits negative_sine = (quarter & 2) != 0, negative_cosine = ((quarter + 1) & 2) != 0;
  const Block a = odd ? c : s, b = odd ? s : c;
  sine = negative_sine ? -a : a;
  cosine = negative_cosine ? -b : b;
}

// of `count` angles; all arrays are padded to whole blocks
inline void sines(const double* angle, double* sine, double* cosine, int count) {
  for (int i = 0; i < count; i += block_size) {
    Block x, s, c;
    double most = 0;
    for (int k = 0; k < block_size; ++k) {
      x[k] = angle[i + k];
      // a comparison that NaN fails
      most = std::fabs(x[k]) <= 1e6 ? most : 1;
    }
    if (most == 0) {
      four_sines(x, s, c);
    } else {
      for (int k = 0; k < block_size; ++k) s[k] = std::sin(x[k]), c[k] = std::cos(x[k]);
    }
    for (int k = 0; k < block_size; ++k) sine[i + k] = s[k], cosine[i + k] = c[k];
  }
}
inline void sines(const Counted* angle, Counted* sine, Counted* cosine, int count) {
  for (int i = 0; i < count; ++i) {
    sine[i] = Counted::one(std::sin(angle[i].value));
    cosine[i] = Counted::one(std::cos(angle[i].value));
  }
}

CATENA_INLINE double c_rest(double z) { return -1.0 / 3628800 + z * (1.0 / 479001600 - z * (1.0 / 87178291200)); }
CATENA_INLINE double s_rest(double z) { return -1.0 / 39916800 + z * (1.0 / 6227020800 - z * (1.0 / 1307674368000)); }

// the unit quaternion of a rotation vector
CATENA_INLINE Quat<double> exponential(Vec3<double> turn) {
  const double z = 0.25 * norm2(turn);
  double c, s;
  if (z < 0.25) {
    // (-z)^k / (2k)! and (-z)^k / (2k + 1)!, to k = 7
    c = 1 + z * (-1.0 / 2 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 + z * c_rest(z)))));
    s = 1 + z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 + z * s_rest(z)))));
  } else {
    const double half = std::sqrt(z);
    c = std::cos(half);
    s = std::sin(half) / half;
  }
  return {c, 0.5 * s * turn};
}

// the rate of the rotation vector t in Q = Q0 exp(t) where Q turns at the body's rate u: the inverse of the
// exponential's differential, u + t x u / 2 + f(|t|) t x (t x u), f(a) = (1 - (a/2) cot(a/2)) / a^2
CATENA_INLINE Vec3<double> rate_of_turn(Vec3<double> t, Vec3<double> u) {
  const double z = norm2(t);
  double f;
  if (z < 0.25) {
    f = 1.0 / 12 + z * (1.0 / 720 +
                        z * (1.0 / 30240 + z * (1.0 / 1209600 + z * (1.0 / 47900160 + z * (691.0 / 1307674368000.0)))));
  } else {
    const double half = 0.5 * std::sqrt(z);
    f = (1 - half / std::tan(half)) / z;
  }
  const Vec3<double> tu = cross(t, u);
  return u + 0.5 * tu + f * cross(t, tu);
}

}  // namespace rivals
