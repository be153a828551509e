// Rows of eight doubles: two registers of four, or four of two. One of eight would be slower, since it leaves half as
// many numbers in registers, and out of such GCC 12 stores the wrong lanes: {0, 1, 2, 4} becomes {0, 1, 2, 2}.
//
// A row of a block has its up to six columns in lanes 0, 1, 2 and 4, 5, 6, so that the force and the torque of a wrench
// are its two halves, and in lane 3 something that goes through the same row operations as they do.
#pragma once

#include "physics/joint.hpp"

namespace catena::CATENA_ISA {

#ifdef __AVX__
constexpr int part_size = 4;
#else
constexpr int part_size = 2;
#endif
constexpr int part_count = 8 / part_size;
typedef double Part __attribute__((vector_size(8 * part_size)));

struct alignas(64) Row {
  Part part[part_count];
};

constexpr int extra_lane = 3;
constexpr int lane_of(int column) { return column < 3 ? column : column + 1; }

// numbers the compiler knows: arrays that are indexed by nothing else can live in registers
template <int I>
struct Index {
  constexpr operator int() const { return I; }
};
template <int First, int End, class F>
CATENA_INLINE void each(F&& f) {
  if constexpr (First < End) {
    f(Index<First>{});
    each<First + 1, End>(f);
  }
}
#define CATENA_EACH(i) [&](auto i) __attribute__((always_inline))

CATENA_INLINE double at(const Row& r, int lane) { return r.part[lane / part_size][lane % part_size]; }
CATENA_INLINE double* lanes(Row& r) { return reinterpret_cast<double*>(&r); }

// one lane in all lanes
template <int Lane>
CATENA_INLINE Part spread(const Row& r) {
  constexpr int i = Lane % part_size;
  const Part p = r.part[Lane / part_size];
#ifdef __AVX__
  return shuffle<i, i, i, i>(p);
#else
  return shuffle<i, i>(p);
#endif
}

// r with the extra lane of another
CATENA_INLINE Row with_extra(Row r, const Row& of) {
  Part& p = r.part[extra_lane / part_size];
  const Part q = of.part[extra_lane / part_size];
#ifdef __AVX__
  p = shuffle<0, 1, 2, 7>(p, q);
#else
  p = shuffle<0, 3>(p, q);
#endif
  return r;
}

CATENA_INLINE Row make_row(Vec3<double> first, Vec3<double> second, double extra = 0) {
#ifdef __AVX__
  first.q[3] = extra;
  return {first.q, second.q};
#else
  return {Part{first.x, first.y}, Part{first.z, extra}, Part{second.x, second.y}, Part{second.z, 0}};
#endif
}
CATENA_INLINE Vec3<double> first_half(const Row& r) { return {at(r, 0), at(r, 1), at(r, 2)}; }
CATENA_INLINE Vec3<double> second_half(const Row& r) { return {at(r, 4), at(r, 5), at(r, 6)}; }

template <class Factor>
CATENA_INLINE void subtract(Row& a, Factor factor, const Row& b) {
  each<0, part_count>(CATENA_EACH(q) { a.part[q] -= factor * b.part[q]; });
}
template <class Factor>
CATENA_INLINE Row times(Factor factor, Row a) {
  each<0, part_count>(CATENA_EACH(q) { a.part[q] *= factor; });
  return a;
}
CATENA_INLINE Row product(Row a, const Row& b) {
  each<0, part_count>(CATENA_EACH(q) { a.part[q] *= b.part[q]; });
  return a;
}
CATENA_INLINE Row plus(Row a, const Row& b) {
  each<0, part_count>(CATENA_EACH(q) { a.part[q] += b.part[q]; });
  return a;
}
CATENA_INLINE Row minus(Row a, const Row& b) {
  each<0, part_count>(CATENA_EACH(q) { a.part[q] -= b.part[q]; });
  return a;
}

// the sums over all lanes of each of six rows, as a row
CATENA_INLINE Row sums(const Row* r) {
#ifdef __AVX__
  const auto half = [](const Row* r) __attribute__((always_inline)) {
    const auto fold = [](const Row& r) __attribute__((always_inline)) { return r.part[0] + r.part[1]; };
    const Quad a = fold(r[0]), b = fold(r[1]), c = fold(r[2]), o = {};
    const Quad ab = shuffle<0, 4, 2, 6>(a, b) + shuffle<1, 5, 3, 7>(a, b);
    const Quad co = shuffle<0, 4, 2, 6>(c, o) + shuffle<1, 5, 3, 7>(c, o);
    return Vec3<double>(shuffle<0, 1, 4, 5>(ab, co) + shuffle<2, 3, 6, 7>(ab, co));
  };
  return make_row(half(r), half(r + 3));
#else
  double s[6];
  each<0, 6>(CATENA_EACH(k) {
    const Part p = (r[k].part[0] + r[k].part[1]) + (r[k].part[2] + r[k].part[3]);
    s[k] = p[0] + p[1];
  });
  return make_row({s[0], s[1], s[2]}, {s[3], s[4], s[5]});
#endif
}

}  // namespace catena::CATENA_ISA
