// Vectors and matrices of three, as values: the words in which the physics is written.
//
// T is the scalar: double for one mechanism, a register of doubles for several at once (base/lane.hpp). Where registers
// hold four doubles a vector of doubles is one of them, the last number idle: sums and multiples of vectors are single
// instructions. Matrices are three columns, because every recursion of
// the solvers works on whole columns (M s, M - u r^T, M [r]x are all combinations of them).
#pragma once

#include <cmath>

#include "base/isa.hpp"

namespace catena::CATENA_ISA {

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
CATENA_INLINE Vec3<T> cross(Vec3<T> a, Vec3<T> b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

#ifdef __AVX__
typedef double Quad __attribute__((vector_size(32)));
typedef long long QuadIndex __attribute__((vector_size(32)));

template <>
struct Vec3<double> {
  union {
    Quad q;
    struct {
      double x, y, z, idle;
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
CATENA_INLINE double dot(Vec3<double> a, Vec3<double> b) {
  const Quad p = a.q * b.q;
  return (p[0] + p[1]) + p[2];
}
CATENA_INLINE Vec3<double> cross(Vec3<double> a, Vec3<double> b) {
  const QuadIndex yzx = {1, 2, 0, 3};
  return __builtin_shuffle(a.q * __builtin_shuffle(b.q, yzx) - __builtin_shuffle(a.q, yzx) * b.q, yzx);
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
CATENA_INLINE void store3(double* p, Vec3<double> a) {
  p[0] = a.x;
  p[1] = a.y;
  p[2] = a.z;
}

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
// [r]x m
template <class T>
CATENA_INLINE Mat3<T> skew_times(Vec3<T> r, const Mat3<T>& m) {
  return {cross(r, m.i), cross(r, m.j), cross(r, m.k)};
}
// inverse by the adjugate; `det` is handed back so that the caller can judge it
template <class T>
CATENA_INLINE Mat3<T> inverse(const Mat3<T>& m, T& det) {
  const Vec3<T> a = cross(m.j, m.k), b = cross(m.k, m.i), c = cross(m.i, m.j);
  det = dot(m.i, a);
  const T s = T(1) / det;
  return transpose(Mat3<T>{s * a, s * b, s * c});
}

// symmetric matrix: xx yy zz xy xz yz
template <class T>
struct Sym3 {
  T xx, yy, zz, xy, xz, yz;
};
template <class T>
CATENA_INLINE Vec3<T> operator*(const Sym3<T>& s, Vec3<T> a) {
  return {s.xx * a.x + s.xy * a.y + s.xz * a.z, s.xy * a.x + s.yy * a.y + s.yz * a.z,
          s.xz * a.x + s.yz * a.y + s.zz * a.z};
}
template <class T>
CATENA_INLINE Mat3<T> full(const Sym3<T>& s) {
  return {{s.xx, s.xy, s.xz}, {s.xy, s.yy, s.yz}, {s.xz, s.yz, s.zz}};
}
// R S R^T
template <class T, class S>
CATENA_INLINE Sym3<T> rotated(const Mat3<T>& r, const Sym3<S>& s) {
  // columns of R S, then only the six entries that differ
  const Vec3<T> a = T(s.xx) * r.i + T(s.xy) * r.j + T(s.xz) * r.k;
  const Vec3<T> b = T(s.xy) * r.i + T(s.yy) * r.j + T(s.yz) * r.k;
  const Vec3<T> c = T(s.xz) * r.i + T(s.yz) * r.j + T(s.zz) * r.k;
  return {a.x * r.i.x + b.x * r.j.x + c.x * r.k.x, a.y * r.i.y + b.y * r.j.y + c.y * r.k.y,
          a.z * r.i.z + b.z * r.j.z + c.z * r.k.z, a.x * r.i.y + b.x * r.j.y + c.x * r.k.y,
          a.x * r.i.z + b.x * r.j.z + c.x * r.k.z, a.y * r.i.z + b.y * r.j.z + c.y * r.k.z};
}

}  // namespace catena::CATENA_ISA
