// Rows of blocks, eight doubles each: two registers of four, or four of two. One of eight would be slower, since it
// leaves half as many numbers in registers, and out of such GCC 12 stores the wrong numbers: {0, 1, 2, 4} becomes {0,
// 1, 2, 2}.
//
// A row of a block has its up to six columns in entries 0, 1, 2 and 4, 5, 6, so that the force and the torque of a
// wrench are its two halves, and in entry 3 something that goes through the same row operations as they do.
#pragma once

#include "physics/rows/joint.hpp"

namespace catena::CATENA_ISA {

#ifdef __AVX__
constexpr int pack_size = 4;
#else
constexpr int pack_size = 2;
#endif
constexpr int pack_count = 8 / pack_size;
typedef double Pack __attribute__((vector_size(8 * pack_size)));

struct alignas(64) BlockRow {
  Pack pack[pack_count];
};

constexpr int extra_entry = 3;
constexpr int entry_of(int column) { return column < 3 ? column : column + 1; }

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

CATENA_INLINE double at(const BlockRow& r, int entry) { return r.pack[entry / pack_size][entry % pack_size]; }
CATENA_INLINE double* entries(BlockRow& r) { return reinterpret_cast<double*>(&r); }

// one entry in all of a pack
template <int Entry>
CATENA_INLINE Pack spread(const BlockRow& r) {
  constexpr int i = Entry % pack_size;
  const Pack p = r.pack[Entry / pack_size];
#ifdef __AVX__
  return shuffle<i, i, i, i>(p);
#else
  return shuffle<i, i>(p);
#endif
}

// r with the extra entry of another
CATENA_INLINE BlockRow with_extra(BlockRow r, const BlockRow& of) {
  Pack& p = r.pack[extra_entry / pack_size];
  const Pack q = of.pack[extra_entry / pack_size];
#ifdef __AVX__
  p = shuffle<0, 1, 2, 7>(p, q);
#else
  p = shuffle<0, 3>(p, q);
#endif
  return r;
}

CATENA_INLINE BlockRow make_row(Vec3<double> first, Vec3<double> second, double extra = 0) {
#ifdef __AVX__
  first.q[3] = extra;
  return {first.q, second.q};
#else
  return {Pack{first.x, first.y}, Pack{first.z, extra}, Pack{second.x, second.y}, Pack{second.z, 0}};
#endif
}
CATENA_INLINE Vec3<double> first_half(const BlockRow& r) { return {at(r, 0), at(r, 1), at(r, 2)}; }
CATENA_INLINE Vec3<double> second_half(const BlockRow& r) { return {at(r, 4), at(r, 5), at(r, 6)}; }

template <class Factor>
CATENA_INLINE void subtract(BlockRow& a, Factor factor, const BlockRow& b) {
  each<0, pack_count>(CATENA_EACH(q) { a.pack[q] -= factor * b.pack[q]; });
}
template <class Factor>
CATENA_INLINE BlockRow times(Factor factor, BlockRow a) {
  each<0, pack_count>(CATENA_EACH(q) { a.pack[q] *= factor; });
  return a;
}
CATENA_INLINE BlockRow product(BlockRow a, const BlockRow& b) {
  each<0, pack_count>(CATENA_EACH(q) { a.pack[q] *= b.pack[q]; });
  return a;
}
CATENA_INLINE BlockRow plus(BlockRow a, const BlockRow& b) {
  each<0, pack_count>(CATENA_EACH(q) { a.pack[q] += b.pack[q]; });
  return a;
}
CATENA_INLINE BlockRow minus(BlockRow a, const BlockRow& b) {
  each<0, pack_count>(CATENA_EACH(q) { a.pack[q] -= b.pack[q]; });
  return a;
}

// the sums over all entries of each of six rows, as a row
CATENA_INLINE BlockRow sums(const BlockRow* r) {
#ifdef __AVX__
  const auto half = [](const BlockRow* r) __attribute__((always_inline)) {
    const auto fold = [](const BlockRow& r) __attribute__((always_inline)) { return r.pack[0] + r.pack[1]; };
    const Quad a = fold(r[0]), b = fold(r[1]), c = fold(r[2]), o = {};
    const Quad ab = shuffle<0, 4, 2, 6>(a, b) + shuffle<1, 5, 3, 7>(a, b);
    const Quad co = shuffle<0, 4, 2, 6>(c, o) + shuffle<1, 5, 3, 7>(c, o);
    return Vec3<double>(shuffle<0, 1, 4, 5>(ab, co) + shuffle<2, 3, 6, 7>(ab, co));
  };
  return make_row(half(r), half(r + 3));
#else
  double s[6];
  each<0, 6>(CATENA_EACH(k) {
    const Pack p = (r[k].pack[0] + r[k].pack[1]) + (r[k].pack[2] + r[k].pack[3]);
    s[k] = p[0] + p[1];
  });
  return make_row({s[0], s[1], s[2]}, {s[3], s[4], s[5]});
#endif
}

}  // namespace catena::CATENA_ISA
