// Four bodies at a time: a number of each in one register.
//
// What bodies do apart from each other (poses from turns, momenta, tangents) is done in packs of four; what goes from
// parent to child or back (turns, sums) body by body, with vectors spread out of the packs and gathered into them.
#pragma once

#include "base/quat.hpp"

namespace catena_paper {

using namespace catena::CATENA_ISA;
typedef Vec3<double> Vec;
typedef Mat3<double> Mat;
typedef Quat<double> Turn;

constexpr int pack_size = block_size;

struct Wide {
  Block v;

  Wide() = default;
  CATENA_INLINE Wide(Block b) : v(b) {}
  CATENA_INLINE explicit Wide(double s) : v(Block{s, s, s, s}) {}
};
CATENA_INLINE Wide operator+(Wide a, Wide b) { return a.v + b.v; }
CATENA_INLINE Wide operator-(Wide a, Wide b) { return a.v - b.v; }
CATENA_INLINE Wide operator-(Wide a) { return -a.v; }
CATENA_INLINE Wide operator*(Wide a, Wide b) { return a.v * b.v; }
CATENA_INLINE Wide operator/(Wide a, Wide b) { return a.v / b.v; }
CATENA_INLINE Wide& operator+=(Wide& a, Wide b) { return a = a + b; }

// four numbers of an array that begins with a whole register
CATENA_INLINE Wide load_wide(const double* p) { return *reinterpret_cast<const Block*>(p); }

typedef Vec3<Wide> WideVec;
typedef Mat3<Wide> WideMat;
typedef Quat<Wide> WideTurn;

CATENA_INLINE Vec zero() { return {0, 0, 0}; }
CATENA_INLINE Turn no_turn() { return {1, {0, 0, 0}}; }

// a vector as four numbers, the last one zero, and a turn as x, y, z, w
CATENA_INLINE Block four(Vec a) {
#ifdef __AVX__
  return a.q;
#else
  return Block{a.x, a.y, a.z, 0};
#endif
}
CATENA_INLINE Vec three(Block b) {
#ifdef __AVX__
  return b;
#else
  return {b[0], b[1], b[2]};
#endif
}
CATENA_INLINE Block four(const Turn& q) {
#ifdef __AVX__
  return q.q;
#else
  return Block{q.v.x, q.v.y, q.v.z, q.w};
#endif
}
CATENA_INLINE Turn turn_of(Block b) {
#ifdef __AVX__
  return b;
#else
  return {b[3], {b[0], b[1], b[2]}};
#endif
}

struct Blocks {
  Block of[4];
};
CATENA_INLINE Blocks transposed(Block a, Block b, Block c, Block d) {
  const Block ab = shuffle<0, 4, 2, 6>(a, b), ba = shuffle<1, 5, 3, 7>(a, b);
  const Block cd = shuffle<0, 4, 2, 6>(c, d), dc = shuffle<1, 5, 3, 7>(c, d);
  return {{shuffle<0, 1, 4, 5>(ab, cd), shuffle<0, 1, 4, 5>(ba, dc), shuffle<2, 3, 6, 7>(ab, cd),
           shuffle<2, 3, 6, 7>(ba, dc)}};
}

CATENA_INLINE void spread(const WideVec& a, Vec (&to)[4]) {
  const Blocks t = transposed(a.x.v, a.y.v, a.z.v, Block{});
  for (int k = 0; k < 4; ++k) to[k] = three(t.of[k]);
}
CATENA_INLINE WideVec gathered(const Vec (&from)[4]) {
  const Blocks t = transposed(four(from[0]), four(from[1]), four(from[2]), four(from[3]));
  return {t.of[0], t.of[1], t.of[2]};
}
CATENA_INLINE void spread(const WideTurn& q, Turn (&to)[4]) {
  const Blocks t = transposed(q.v.x.v, q.v.y.v, q.v.z.v, q.w.v);
  for (int k = 0; k < 4; ++k) to[k] = turn_of(t.of[k]);
}
CATENA_INLINE WideTurn gathered(const Turn (&from)[4]) {
  const Blocks t = transposed(four(from[0]), four(from[1]), four(from[2]), four(from[3]));
  return {t.of[3], {t.of[0], t.of[1], t.of[2]}};
}
CATENA_INLINE void spread(const WideMat& m, Mat (&to)[4]) {
  Vec i[4], j[4], k[4];
  spread(m.i, i);
  spread(m.j, j);
  spread(m.k, k);
  for (int l = 0; l < 4; ++l) to[l] = {i[l], j[l], k[l]};
}

// u v^T and [a]x
template <class T>
CATENA_INLINE Mat3<T> outer(Vec3<T> u, Vec3<T> v) {
  return {v.x * u, v.y * u, v.z * u};
}
template <class T>
CATENA_INLINE Mat3<T> skew(Vec3<T> a) {
  return diagonal_and_skew(T(0), a);
}
CATENA_INLINE Mat skew(Vec a) { return diagonal_and_skew(0.0, a); }

}  // namespace catena_paper
