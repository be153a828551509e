// Vectors and matrices of three, as values: the words in which the physics is written.
//
// T is the scalar: double for one mechanism, a register of doubles for several at once (base/lane.hpp). Where registers
// hold four doubles a vector of doubles is one of them, the last number spare: sums and multiples of vectors are single
// instructions. Matrices are three columns, because every recursion of the solvers works on whole columns (M s,
// M - u r^T, M [r]x are all combinations of them).
#pragma once

#include <cmath>
#ifdef __AVX512VL__
#include <immintrin.h>
#endif

#include "base/shuffle.hpp"

namespace catena::CATENA_ISA {

// numbers of a long array that are worked on at a time; arrays are padded to whole blocks
constexpr int block_size = 4;
typedef double Block __attribute__((vector_size(8 * block_size)));
CATENA_INLINE Block& block(double* p) { return *reinterpret_cast<Block*>(p); }
CATENA_INLINE const Block& block(const double* p) { return *reinterpret_cast<const Block*>(p); }

template <class T>
struct Vec3 {
  T x, y, z;
};
template <class T>
CATENA_INLINE Vec3<T> operator+(Vec3<T> a, Vec3<T> b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
CATENA_INLINE Vec3<T> operator-(Vec3<T> a, Vec3<T> b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
CATENA_INLINE Vec3<T> operator-(Vec3<T> a) {
  return {-a.x, -a.y, -a.z};
}
template <class T>
CATENA_INLINE Vec3<T> operator*(T s, Vec3<T> a) {
  return {s * a.x, s * a.y, s * a.z};
}
template <class T>
CATENA_INLINE T dot(Vec3<T> a, Vec3<T> b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
CATENA_INLINE Vec3<T> squares(Vec3<T> a) {
  return {a.x * a.x, a.y * a.y, a.z * a.z};
}
// not std::fmax, which is a call as it has to mind NaN
CATENA_INLINE double larger(double a, double b) { return a > b ? a : b; }
template <class T>
CATENA_INLINE Vec3<T> larger(Vec3<T> a, Vec3<T> b) {
  return {larger(a.x, b.x), larger(a.y, b.y), larger(a.z, b.z)};
}
template <class T>
CATENA_INLINE Vec3<T> cross(Vec3<T> a, Vec3<T> b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

#ifdef __AVX__
typedef Block Quad;

template <>
struct Vec3<double> {
  union {
    Quad q;
    struct {
      double x, y, z, spare;
    };
  };
  Vec3() = default;
  CATENA_INLINE Vec3(Quad v) : q(v) {}
  CATENA_INLINE Vec3(double a, double b, double c) : q(Quad{a, b, c, 0}) {}
};
CATENA_INLINE Vec3<double> operator+(Vec3<double> a, Vec3<double> b) { return a.q + b.q; }
CATENA_INLINE Vec3<double> operator-(Vec3<double> a, Vec3<double> b) { return a.q - b.q; }
CATENA_INLINE Vec3<double> operator-(Vec3<double> a) { return -a.q; }
CATENA_INLINE Vec3<double> operator*(double s, Vec3<double> a) { return s * a.q; }
CATENA_INLINE Vec3<double> squares(Vec3<double> a) { return a.q * a.q; }
CATENA_INLINE Vec3<double> larger(Vec3<double> a, Vec3<double> b) { return Quad(a.q > b.q ? a.q : b.q); }
CATENA_INLINE double dot(Vec3<double> a, Vec3<double> b) {
  const Quad p = a.q * b.q;
  return (p[0] + p[1]) + p[2];
}
CATENA_INLINE Vec3<double> cross(Vec3<double> a, Vec3<double> b) {
  return shuffle<1, 2, 0, 3>(a.q * shuffle<1, 2, 0, 3>(b.q) - shuffle<1, 2, 0, 3>(a.q) * b.q);
}
#endif

template <class T>
CATENA_INLINE Vec3<T>& operator+=(Vec3<T>& a, Vec3<T> b) {
  return a = a + b;
}
template <class T>
CATENA_INLINE Vec3<T>& operator-=(Vec3<T>& a, Vec3<T> b) {
  return a = a - b;
}
template <class T>
CATENA_INLINE T norm2(Vec3<T> a) {
  return dot(a, a);
}
CATENA_INLINE Vec3<double> load3(const double* p) { return {p[0], p[1], p[2]}; }
// the same for every lane
template <class T>
CATENA_INLINE Vec3<T> wide(const double* p) {
  return {T(p[0]), T(p[1]), T(p[2])};
}
CATENA_INLINE void store3(double* p, Vec3<double> a) {
  p[0] = a.x;
  p[1] = a.y;
  p[2] = a.z;
}

// The same in few instructions, for vectors that are used whole; nothing behind the three numbers is touched.
#ifdef __AVX512VL__
CATENA_INLINE Vec3<double> load_whole(const double* p) { return Quad(_mm256_maskz_loadu_pd(7, p)); }
CATENA_INLINE void store_whole(double* p, Vec3<double> a) { _mm256_mask_storeu_pd(p, 7, a.q); }
#else
CATENA_INLINE Vec3<double> load_whole(const double* p) { return load3(p); }
CATENA_INLINE void store_whole(double* p, Vec3<double> a) { store3(p, a); }
#endif

// three columns
template <class T>
struct Mat3 {
  Vec3<T> i, j, k;
};

template <class T>
CATENA_INLINE Mat3<T> diagonal(T s) {
  const T o = T(0);
  return {{s, o, o}, {o, s, o}, {o, o, s}};
}
// s I + [a]x
template <class T>
CATENA_INLINE Mat3<T> diagonal_and_skew(T s, Vec3<T> a) {
  return {{s, a.z, -a.y}, {-a.z, s, a.x}, {a.y, -a.x, s}};
}
#ifdef __AVX__
CATENA_INLINE Mat3<double> diagonal(double s) {
  return {s * Quad{1, 0, 0, 0}, s * Quad{0, 1, 0, 0}, s * Quad{0, 0, 1, 0}};
}
CATENA_INLINE Mat3<double> diagonal_and_skew(double s, Vec3<double> a) {
  const Quad p = shuffle<0, 1, 2, 7>(a.q, Quad{s, s, s, s});
  return {shuffle<3, 2, 1, 0>(p) * Quad{1, 1, -1, 0}, shuffle<2, 3, 0, 1>(p) * Quad{-1, 1, 1, 0},
          shuffle<1, 0, 3, 2>(p) * Quad{1, -1, 1, 0}};
}
#endif
template <class T>
CATENA_INLINE Vec3<T> operator*(const Mat3<T>& m, Vec3<T> a) {
  return a.x * m.i + a.y * m.j + a.z * m.k;
}
template <class T>
CATENA_INLINE Mat3<T> operator*(const Mat3<T>& m, const Mat3<T>& n) {
  return {m * n.i, m * n.j, m * n.k};
}
template <class T>
CATENA_INLINE Mat3<T> operator+(const Mat3<T>& m, const Mat3<T>& n) {
  return {m.i + n.i, m.j + n.j, m.k + n.k};
}
template <class T>
CATENA_INLINE Mat3<T> operator-(const Mat3<T>& m, const Mat3<T>& n) {
  return {m.i - n.i, m.j - n.j, m.k - n.k};
}
// m^T a: one dot product per column
template <class T>
CATENA_INLINE Vec3<T> transposed_times(const Mat3<T>& m, Vec3<T> a) {
  return {dot(m.i, a), dot(m.j, a), dot(m.k, a)};
}
template <class T>
CATENA_INLINE Mat3<T> transpose(const Mat3<T>& m) {
  return {{m.i.x, m.j.x, m.k.x}, {m.i.y, m.j.y, m.k.y}, {m.i.z, m.j.z, m.k.z}};
}
// m - u r^T
template <class T>
CATENA_INLINE void subtract_outer(Mat3<T>& m, Vec3<T> u, Vec3<T> r) {
  m.i -= r.x * u;
  m.j -= r.y * u;
  m.k -= r.z * u;
}
// m [r]x : its columns are the columns of m combined crosswise
template <class T>
CATENA_INLINE Mat3<T> times_skew(const Mat3<T>& m, Vec3<T> r) {
  return {r.z * m.j - r.y * m.k, r.x * m.k - r.z * m.i, r.y * m.i - r.x * m.j};
}
// n - m [r]x, in an order that makes every product part of a sum
template <class T>
CATENA_INLINE Mat3<T> minus_times_skew(const Mat3<T>& n, const Mat3<T>& m, Vec3<T> r) {
  return {(n.i - r.z * m.j) + r.y * m.k, (n.j - r.x * m.k) + r.z * m.i, (n.k - r.y * m.i) + r.x * m.j};
}
// a + r x b, for one r and many b
template <class T>
CATENA_INLINE Vec3<T> plus_cross(Vec3<T> a, Vec3<T> r, Vec3<T> b) {
  return {(a.x + r.y * b.z) - r.z * b.y, (a.y + r.z * b.x) - r.x * b.z, (a.z + r.x * b.y) - r.y * b.x};
}
#ifdef __AVX__
CATENA_INLINE Vec3<double> plus_cross(Vec3<double> a, Vec3<double> r, Vec3<double> b) {
  return (a.q + shuffle<1, 2, 0, 3>(r.q) * shuffle<2, 0, 1, 3>(b.q)) -
         shuffle<2, 0, 1, 3>(r.q) * shuffle<1, 2, 0, 3>(b.q);
}
#endif
// n + [r]x m
template <class T>
CATENA_INLINE Mat3<T> plus_skew_times(const Mat3<T>& n, Vec3<T> r, const Mat3<T>& m) {
  return {plus_cross(n.i, r, m.i), plus_cross(n.j, r, m.j), plus_cross(n.k, r, m.k)};
}
template <class T>
CATENA_INLINE Mat3<T> operator*(T s, const Mat3<T>& m) {
  return {s * m.i, s * m.j, s * m.k};
}
// m^-1 det m; the caller judges and divides
template <class T>
CATENA_INLINE Mat3<T> adjugate(const Mat3<T>& m, T& det) {
  const Vec3<T> a = cross(m.j, m.k), b = cross(m.k, m.i), c = cross(m.i, m.j);
  det = dot(m.i, a);
  return transpose(Mat3<T>{a, b, c});
}

// a . b + c . d
template <class T>
CATENA_INLINE T dot(Vec3<T> a, Vec3<T> b, Vec3<T> c, Vec3<T> d) {
  return dot(a, b) + dot(c, d);
}
// m^T a + n^T b, and in the same go f . a + t . b
template <class T>
CATENA_INLINE Vec3<T> dots(Vec3<T> a, const Mat3<T>& m, Vec3<T> f, Vec3<T> b, const Mat3<T>& n, Vec3<T> t, T& last) {
  last = dot(a, f, b, t);
  return {dot(a, m.i, b, n.i), dot(a, m.j, b, n.j), dot(a, m.k, b, n.k)};
}
#ifdef __AVX__
CATENA_INLINE double dot(Vec3<double> a, Vec3<double> b, Vec3<double> c, Vec3<double> d) {
  const Quad p = a.q * b.q + c.q * d.q;
  return (p[0] + p[1]) + p[2];
}
// four sums at once: the spare number of a and b is zero
CATENA_INLINE Vec3<double> dots(Vec3<double> a, const Mat3<double>& m, Vec3<double> f, Vec3<double> b,
                                const Mat3<double>& n, Vec3<double> t, double& last) {
  const Quad i = a.q * m.i.q + b.q * n.i.q, j = a.q * m.j.q + b.q * n.j.q;
  const Quad k = a.q * m.k.q + b.q * n.k.q, l = a.q * f.q + b.q * t.q;
  const Quad ij = shuffle<0, 4, 2, 6>(i, j) + shuffle<1, 5, 3, 7>(i, j);
  const Quad kl = shuffle<0, 4, 2, 6>(k, l) + shuffle<1, 5, 3, 7>(k, l);
  const Quad sum = shuffle<0, 1, 4, 5>(ij, kl) + shuffle<2, 3, 6, 7>(ij, kl);
  last = sum[3];
  return sum;
}
#endif

// m^T a + n^T b
template <class T>
CATENA_INLINE Vec3<T> dots(Vec3<T> a, const Mat3<T>& m, Vec3<T> b, const Mat3<T>& n) {
  const Vec3<T> zero = {T(0), T(0), T(0)};
  T none;
  return dots(a, m, zero, b, n, zero, none);
}

// R S R^T, S symmetric: xx yy zz xy xz yz
template <class T, class S>
CATENA_INLINE Mat3<T> rotated(const Mat3<T>& r, const S* s) {
  const Vec3<T> a = T(s[0]) * r.i + T(s[3]) * r.j + T(s[4]) * r.k;
  const Vec3<T> b = T(s[3]) * r.i + T(s[1]) * r.j + T(s[5]) * r.k;
  const Vec3<T> c = T(s[4]) * r.i + T(s[5]) * r.j + T(s[2]) * r.k;
  return {r.i.x * a + r.j.x * b + r.k.x * c, r.i.y * a + r.j.y * b + r.k.y * c, r.i.z * a + r.j.z * b + r.k.z * c};
}

}  // namespace catena::CATENA_ISA
