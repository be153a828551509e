// The inverse of a matrix that may be singular: that of the rows of loops.
//
// Redundant rows (a planar loop in space) make it singular, and a loop that passes a singular pose gives it a tiny
// pivot of either sign. The inverse is therefore a regularised one: of m = l d u, with rows and columns permuted by
// complete pivoting, it is u^-1 f(d) l^-1 where every pivot d is inverted as f(d) = d / (d^2 + e^2), which is 1/d where
// d is larger than e and nothing where it is smaller; pivots below rounding are left out. That m be of order one, its
// rows and columns are multiplied by `scale`, and so are those of the inverse. Only the matrix is touched, never the
// residual, so the solution of the step is not; multipliers of redundant rows are one choice of many.
//
// Rows that follow from each other only nearly, because their numbers are rounded, cannot all be met: of `redundant`
// directions the elimination stops short. What is left open then holds the null vectors: with i an open row, one has 1
// at i and the factors of row i at the pivot rows; likewise for columns. Made orthonormal in a constant metric, left
// ones L (new pose, what the gaps cannot do) and right ones R (old pose, what multipliers need not do) are taken out,
//
//     m^-1  <-  w^-1 (1 - R R^T) w  m^-1  w (1 - L L^T) w^-1,      w = 1 / `weight`,
//
// so that which rows became pivots does not matter, and the motion is as reversible as with exact numbers.
//
// Gauss and Jordan's way in place: a pivot's column, of no more use, takes up what the others become of its row. Rows
// not yet pivots lose l times the pivot row, those that are lose u times it, which has been through f(d) where it is
// part of the inverse.
#pragma once

#include "solve/sparse/block_row.hpp"

namespace catena::CATENA_ISA {

constexpr double smallest_pivot = 1e-12, smallest_remainder = 1e-15;

// rows are padded to whole blocks
constexpr int padded(int columns) { return (columns + block_size - 1) / block_size * block_size; }
CATENA_INLINE Pack& pack(double* p) { return *reinterpret_cast<Pack*>(p); }
CATENA_INLINE const Pack& pack(const double* p) { return *reinterpret_cast<const Pack*>(p); }

typedef long long PackBits __attribute__((vector_size(sizeof(Pack))));
#ifdef __AVX__
constexpr PackBits first_entries = {0, 1, 2, 3};
#else
constexpr PackBits first_entries = {0, 1};
#endif

// A number's size and where it stands in one that can be compared: the place in the lower half of its bits.
constexpr long long upper_half = 0x7fffffff00000000;
CATENA_INLINE void note_largest(Pack& largest, Pack value, PackBits place, PackBits open) {
  const Pack key = (Pack)((((PackBits)value & upper_half) | place) & open);
  largest = key > largest ? key : largest;
}

CATENA_INLINE double largest_entry(Pack a) {
#ifdef __AVX__
  const Pack b = shuffle<2, 3, 0, 1>(a);
  a = a > b ? a : b;
  const Pack c = shuffle<1, 0, 3, 2>(a);
#else
  const Pack c = shuffle<1, 0>(a);
#endif
  a = a > c ? a : c;
  return a[0];
}

// Width 0: as many columns as there are
template <int Width>
inline int invert_rows(double* m, const double* scale, double* transposed, int size, int redundant, double loose_below,
                       int* order, double& least_pivot) {
  const int width = Width > 0 ? Width : padded(size);
  int *row = order, *column = order + size;
  double *factor = m + size * width, *open = factor + width;
  Pack largest = {}, nothing = {};
  for (int r = 0; r < size; ++r) row[r] = r;
  for (int w = 0; w < width; w += pack_size) {
    const PackBits left = first_entries + w < size;
    pack(open + w) = (Pack)left;
    for (int r = 0; r < size; ++r) {
      Pack& value = pack(m + r * width + w);
      value = (Pack)((PackBits)(scale[r] * value * pack(scale + w)) & left);
      note_largest(largest, value, first_entries + (r * width + w), left);
      nothing += 0 * value;
    }
  }
  int rank = 0;
  for (; rank < size - redundant; ++rank) {
    const double key = largest_entry(largest);
    if (!(key > smallest_remainder)) break;
    const unsigned place = static_cast<unsigned>(__builtin_bit_cast(long long, key)), columns = width;
    const unsigned r_best = place / columns, c_best = place % columns;
    const int pivot_row = row[r_best];
    row[r_best] = row[rank];
    row[rank] = pivot_row;
    column[rank] = c_best;
    double* p = m + pivot_row * width;
    least_pivot = std::fmin(least_pivot, std::fabs(p[c_best]));
    const double d = p[c_best], inverse = 1 / d, loose = d / (d * d + loose_below * loose_below);
    for (int r = 0; r < size; ++r) factor[r] = m[row[r] * width + c_best];
    largest = Pack{};
    for (int w = 0; w < width; w += pack_size) {
      const PackBits other = first_entries + w != c_best, left = (PackBits)pack(open + w) & other;
      const Pack one = (Pack)(~other & (PackBits)(Pack{} + 1.0));
      const Pack old = (Pack)((PackBits)pack(p + w) & other) + one;
      const Pack below = inverse * old, above = left ? below : loose * old;
      pack(open + w) = (Pack)left;
      pack(p + w) = above;
      for (int r = 0; r < rank; ++r) {
        Pack& value = pack(m + row[r] * width + w);
        value = (Pack)((PackBits)value & other) - factor[r] * above;
      }
      for (int r = rank + 1; r < size; ++r) {
        Pack& value = pack(m + row[r] * width + w);
        value = (Pack)((PackBits)value & other) - factor[r] * below;
        note_largest(largest, value, first_entries + (r * width + w), left);
      }
    }
  }
  // zero, or no number if there was one
  double rest = 0;
  for (int k = 0; k < pack_size; ++k) rest += nothing[k];
  for (int k = 0; k < size * width; k += pack_size) pack(transposed + k) = Pack{} + rest;
  for (int p = 0; p < rank; ++p)
    for (int q = 0; q < rank; ++q)
      transposed[row[q] * width + column[p]] = scale[row[q]] * scale[column[p]] * m[row[p] * width + column[q]];
  return rank;
}

CATENA_INLINE double scalar_product(const double* a, const double* b, int size) {
  double sum = 0;
  for (int k = 0; k < size; ++k) sum += a[k] * b[k];
  return sum;
}
inline void make_orthonormal(double* v, int count, int size, int width) {
  for (int k = 0; k < count; ++k) {
    double* a = v + k * width;
    // twice is enough
    for (int pass = 0; pass < 2; ++pass)
      for (int b = 0; b < k; ++b) {
        const double along = scalar_product(a, v + b * width, size);
        for (int c = 0; c < size; ++c) a[c] -= along * v[b * width + c];
      }
    const double one = 1 / std::sqrt(scalar_product(a, a, size));
    for (int c = 0; c < size; ++c) a[c] *= one;
  }
}

// null vectors of what an elimination to `rank` has left, L and R; what is known of the inverse becomes the projected
// one
inline void take_out(const double* m, const double* scale, const double* weight, double* transposed, int size, int rank,
                     const int* order, double* left, double* right) {
  const int width = padded(size), count = size - rank;
  const int *row = order, *column = order + size;
  for (int k = 0, c = 0; k < count; ++k, ++c) {
    // the k-th column that is no pivot's
    for (bool found = false; !found;) {
      found = true;
      for (int p = 0; p < rank; ++p) found &= column[p] != c;
      if (!found) ++c;
    }
    double *l = left + k * width, *r = right + k * width;
    for (int e = 0; e < width; ++e) l[e] = r[e] = 0;
    l[row[rank + k]] = r[c] = 1;
    for (int p = 0; p < rank; ++p) {
      l[row[p]] = m[row[rank + k] * width + column[p]];
      r[column[p]] = -m[row[p] * width + c];
    }
    for (int e = 0; e < size; ++e) l[e] *= scale[e] * weight[e], r[e] *= scale[e] * weight[e];
  }
  make_orthonormal(left, count, size, width);
  make_orthonormal(right, count, size, width);
  for (int k = 0; k < count; ++k) {
    const double *l = left + k * width, *r = right + k * width;
    for (int i = 0; i < size; ++i) {
      double sum = 0;
      for (int j = 0; j < size; ++j) sum += transposed[j * width + i] * l[j] * weight[j];
      for (int j = 0; j < size; ++j) transposed[j * width + i] -= sum * l[j] / weight[j];
    }
    for (int j = 0; j < size; ++j) {
      double sum = 0;
      for (int i = 0; i < size; ++i) sum += transposed[j * width + i] * r[i] * weight[i];
      for (int i = 0; i < size; ++i) transposed[j * width + i] -= sum * r[i] / weight[i];
    }
  }
}

// m has rows of padded(size) numbers, as `scale` has, and room for two more of them; it is destroyed, whatever its
// padding. `order` has room for 2 size indices. The number of pivots is returned, the smallest is noted.
inline int invert_loosely(double* m, const double* scale, double* transposed, int size, int redundant,
                          double loose_below, int* order, double& least_pivot) {
  switch (padded(size)) {
    case 4: return invert_rows<4>(m, scale, transposed, size, redundant, loose_below, order, least_pivot);
    case 8: return invert_rows<8>(m, scale, transposed, size, redundant, loose_below, order, least_pivot);
    default: return invert_rows<0>(m, scale, transposed, size, redundant, loose_below, order, least_pivot);
  }
}

}  // namespace catena::CATENA_ISA
