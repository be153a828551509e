// Unit quaternions, scalar first, Hamilton, body to world.
//
// A step turns a body by the quaternion (c, eta), c = sqrt(1 - eta.eta), eta in the world frame. Turning a vector by it
// is written as a difference, (R - I) a = 2 (c eta x a + eta x (eta x a)), so that small steps lose no digits.
#pragma once

#include "base/lane.hpp"
#include "base/small.hpp"

namespace catena::CATENA_ISA {

template <class T>
struct Quat {
  T w;
  Vec3<T> v;
};

#ifdef __AVX__
// one register: the vector part's spare number is the scalar part
template <>
struct Quat<double> {
  union {
    Quad q;
    Vec3<double> v;
    struct {
      double x, y, z, w;
    };
  };
  Quat() = default;
  CATENA_INLINE Quat(Quad p) : q(p) {}
  CATENA_INLINE Quat(double s, Vec3<double> a) : q(shuffle<0, 1, 2, 7>(a.q, Quad{s, s, s, s})) {}
};
CATENA_INLINE Vec3<double> vector_part(const Quat<double>& q) { return shuffle<0, 1, 2, 7>(q.q, Quad{}); }
// four multiples of p: short where p is what has to be waited for
CATENA_INLINE Quat<double> operator*(const Quat<double>& p, const Quat<double>& q) {
  const Quad i = shuffle<3, 2, 1, 0>(p.q), j = shuffle<2, 3, 0, 1>(p.q);
  const Quad k = shuffle<1, 0, 3, 2>(p.q);
  const Quad x = q.x * Quad{1, 1, -1, -1}, y = q.y * Quad{-1, 1, 1, -1}, z = q.z * Quad{1, -1, 1, -1};
  return (q.w * p.q + x * i) + (y * j + z * k);
}
#endif

template <class T>
CATENA_INLINE Vec3<T> vector_part(const Quat<T>& q) {
  return q.v;
}
template <class T>
CATENA_INLINE Quat<T> operator*(const Quat<T>& p, const Quat<T>& q) {
  return {p.w * q.w - dot(p.v, q.v), p.w * q.v + q.w * p.v + cross(p.v, q.v)};
}
template <class T>
CATENA_INLINE Mat3<T> matrix(const Quat<T>& q) {
  const Vec3<T> v = T(2) * vector_part(q);
  const Mat3<T> m = diagonal_and_skew(T(1) - dot(v, q.v), q.w * v);
  return {q.v.x * v + m.i, q.v.y * v + m.j, q.v.z * v + m.k};
}
// (R - I) a
template <class T>
CATENA_INLINE Vec3<T> turn(const Quat<T>& q, Vec3<T> a) {
  const Vec3<T> t = cross(q.v, a);
  return T(2) * (q.w * t + cross(q.v, t));
}
// rounding makes |q| random-walk away from one; one Newton step of 1/sqrt brings it back
template <class T>
CATENA_INLINE Quat<T> renormalised(const Quat<T>& q) {
  const T s = T(1.5) - T(0.5) * (q.w * q.w + norm2(q.v));
  return {s * q.w, s * q.v};
}
#ifdef __AVX__
CATENA_INLINE Quat<double> renormalised(const Quat<double>& q) {
  const Quad p = q.q * q.q, pairs = p + shuffle<1, 0, 3, 2>(p);
  return (1.5 - 0.5 * (pairs + shuffle<2, 3, 0, 1>(pairs))) * q.q;
}
#endif
// of a rotation matrix, from whichever of its four squares is the largest
inline Quat<double> quaternion(const Mat3<double>& R) {
  const double xx = R.i.x, yy = R.j.y, zz = R.k.z, trace = xx + yy + zz;
  Quat<double> q;
  if (trace >= xx && trace >= yy && trace >= zz)
    q = {1 + trace, {R.j.z - R.k.y, R.k.x - R.i.z, R.i.y - R.j.x}};
  else if (xx >= yy && xx >= zz)
    q = {R.j.z - R.k.y, {1 + xx - yy - zz, R.i.y + R.j.x, R.k.x + R.i.z}};
  else if (yy >= zz)
    q = {R.k.x - R.i.z, {R.i.y + R.j.x, 1 + yy - xx - zz, R.j.z + R.k.y}};
  else
    q = {R.i.y - R.j.x, {R.k.x + R.i.z, R.j.z + R.k.y, 1 + zz - xx - yy}};
  const double s = 1 / std::sqrt(q.w * q.w + norm2(q.v));
  return {s * q.w, s * q.v};
}
CATENA_INLINE Quat<double> load_quat(const double* p) { return {p[0], {p[1], p[2], p[3]}}; }
CATENA_INLINE void store_quat(double* p, const Quat<double>& q) {
  p[0] = q.w;
  store3(p + 1, q.v);
}

// Twice asin(s), the angle of which s is the sine of the half: the series, good to rounding up to |s| = 1/4.
constexpr double most_sine = 0.25;
template <class T>
CATENA_INLINE T short_angle(T s) {
  const T u = s * s, v = u * u;
  const T even =
      T(1) +
      v * (T(3.0 / 40) + v * (T(35.0 / 1152) +
                              v * (T(231.0 / 13312) + v * (T(6435.0 / 557056) +
                                                           v * (T(46189.0 / 5505024) + v * T(676039.0 / 104857600))))));
  const T odd =
      T(1.0 / 6) +
      v * (T(5.0 / 112) +
           v * (T(63.0 / 2816) + v * (T(143.0 / 10240) + v * (T(12155.0 / 1245184) + v * T(88179.0 / 12058624)))));
  return (s + s) * (even + u * odd);
}
CATENA_INLINE double turned_angle(double s) { return std::fabs(s) <= most_sine ? short_angle(s) : 2 * std::asin(s); }
CATENA_INLINE Lane turned_angle(Lane s) {
  const Lane angle = short_angle(s);
  const Lane::Mask far = (s > Lane(most_sine)) | (-s > Lane(most_sine));
  return any(far) ? choose(far, each_lane(s, [](double x) { return 2 * std::asin(x); }), angle) : angle;
}

}  // namespace catena::CATENA_ISA
