// Elimination of one block of the sparse LDU (solve/sparse/ldu.hpp): X = D^-1 U, and the products that it leaves to its
// neighbors.
#pragma once

#include "solve/loops/regularised_inverse.hpp"
#include "solve/sparse/block_row.hpp"

namespace catena::CATENA_ISA {

// X = D^-1 U with exchanges of rows; the sign of the determinant, 0 for a singular block
__attribute__((noinline)) inline int eliminate_exchanging(int size, const BlockRow* D, const BlockRow* U, BlockRow* X) {
  BlockRow d[6], u[6];
  int sign = 1;
  for (int r = 0; r < size; ++r) {
    d[r] = D[r];
    u[r] = with_extra(U ? U[r] : BlockRow{}, D[r]);
  }
  for (int p = 0; p < size; ++p) {
    const auto value = [&](int r) { return at(d[r], entry_of(p)); };
    int best = p;
    for (int r = p + 1; r < size; ++r)
      if (std::fabs(value(r)) > std::fabs(value(best))) best = r;
    if (!(std::fabs(value(best)) > 1e-14 * std::fabs(at(D[p], entry_of(p))))) return 0;
    if (best != p) {
      const BlockRow row = d[p], right = u[p];
      d[p] = d[best], d[best] = row;
      u[p] = u[best], u[best] = right;
      sign = -sign;
    }
    if (value(p) < 0) sign = -sign;
    for (int r = p + 1; r < size; ++r) {
      const double factor = value(r) / value(p);
      subtract(d[r], factor, d[p]);
      subtract(u[r], factor, u[p]);
    }
  }
  for (int p = size - 1; p >= 0; --p) {
    for (int c = p + 1; c < size; ++c) subtract(u[p], at(d[p], entry_of(c)), X[c]);
    X[p] = times(1 / at(d[p], entry_of(p)), u[p]);
  }
  return sign;
}
// The same in registers and without exchanges, which blocks that are nearly symmetric positive definite do not need
// however badly conditioned, until their skew part makes a pivot vanish
template <int Size>
CATENA_INLINE int eliminate(const BlockRow* D, const BlockRow* U, BlockRow* X) {
  BlockRow d[Size], u[Size];
  Pack inverse[Size];
  bool fine = true, negative = false;
  each<0, Size>(CATENA_EACH(r) {
    d[r] = D[r];
    u[r] = with_extra(U ? U[r] : BlockRow{}, D[r]);
  });
  // pivots by twos: the second is det / a, and both divisions run side by side
  each<0, (Size + 1) / 2>(CATENA_EACH(half) {
    constexpr int p = 2 * half, q = p + 1, one = entry_of(p), two = entry_of(q);
    constexpr bool pair = q < Size;
    const Pack a = spread<one>(d[p]), b = spread<two>(d[p]);
    const Pack det = pair ? a * spread<two>(d[pair ? q : p]) - b * spread<one>(d[pair ? q : p]) : a;
    fine &= std::fabs(a[0]) > 1e-8 * std::fabs(at(D[p], one));
    negative ^= det[0] < 0;
    inverse[p] = 1.0 / a;
    if constexpr (pair) {
      fine &= std::fabs(det[0]) > 1e-8 * std::fabs(a[0] * at(D[q], two));
      inverse[q] = a / det;
      const Pack factor = spread<one>(d[q]) * inverse[p];
      subtract(d[q], factor, d[p]);
      subtract(u[q], factor, u[p]);
    }
    each<p + 2, Size>(CATENA_EACH(r) {
      const Pack first = spread<one>(d[r]) * inverse[p];
      const Pack second = (spread<two>(d[r]) - first * b) * inverse[q];
      subtract(d[r], first, d[p]);
      subtract(u[r], first, u[p]);
      subtract(d[r], second, d[q]);
      subtract(u[r], second, u[q]);
    });
  });
  if (!fine) return eliminate_exchanging(Size, D, U, X);
  each<0, Size>(CATENA_EACH(i) {
    constexpr int p = Size - 1 - i;
    each<p + 1, Size>(CATENA_EACH(c) { subtract(u[p], spread<entry_of(c)>(d[p]), u[c]); });
    u[p] = times(inverse[p], u[p]);
    X[p] = u[p];
  });
  return negative ? -1 : 1;
}
// the inverse of a block whose rows may be redundant, transposed (solve/loops/regularised_inverse.hpp)
inline void invert_loosely(int size, const BlockRow* D, const double* scale, double loose_below, double* inverse,
                           double& least_pivot) {
  const int width = padded(size);
  alignas(64) double m[64], own_scale[8];
  int order[12];
  for (int r = 0; r < size; ++r) {
    own_scale[r] = 1 / scale[r];
    for (int c = 0; c < size; ++c) m[r * width + c] = at(D[r], entry_of(c));
  }
  invert_loosely(m, own_scale, inverse, size, 0, loose_below, order, least_pivot);
}
template <int Size>
CATENA_INLINE void eliminate_loosely(const double* inverse, const BlockRow* D, const BlockRow* U, BlockRow* X) {
  for (int r = 0; r < Size; ++r) X[r] = BlockRow{};
  for (int c = 0; c < Size; ++c) {
    const BlockRow right = with_extra(U ? U[c] : BlockRow{}, D[c]);
    for (int r = 0; r < Size; ++r) subtract(X[r], -inverse[c * padded(Size) + r], right);
  }
}
// c -= l x
template <int Inner>
CATENA_INLINE void subtract_product(BlockRow* c, const BlockRow* l, const BlockRow* x, int rows) {
  for (int r = 0; r < rows; ++r) {
    BlockRow sum = c[r];
    each<0, Inner>(CATENA_EACH(k) { subtract(sum, at(l[r], entry_of(k)), x[k]); });
    c[r] = sum;
  }
}

// with a size that the compiler knows, so that blocks stay in registers
template <class F>
CATENA_INLINE void for_size(int size, F&& f) {
  switch (size) {
    case 1: return f(Index<1>{});
    case 2: return f(Index<2>{});
    case 3: return f(Index<3>{});
    case 4: return f(Index<4>{});
    case 5: return f(Index<5>{});
    default: return f(Index<6>{});
  }
}

}  // namespace catena::CATENA_ISA
