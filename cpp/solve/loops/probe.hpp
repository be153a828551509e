// Which rows of the joints that close loops follow from the other joints.
//
// At a link where loops close, s is what a unit of each of their multipliers moves each of their gaps, everything below
// eliminated. Bodies are given a turning inertia of one and the mass that makes a shift by their own size cost as much
// as a turn by one rad, and gaps are measured by that size: then s has no units, knows nothing of the mechanism's
// masses, and the eigenvalues of a joint's own block are squares of how far its rows are free to move. Joint by joint,
// those below `loop_tolerance` squared are directions that say nothing new; the others are eliminated before the next
// joint's turn.
#pragma once

#include <cmath>

#include "base/small.hpp"
#include "model/layout.hpp"

namespace catena::CATENA_ISA {

// eigenvalues of a symmetric matrix (n <= 6, rows of six), ascending, and its eigenvectors as columns of v
inline void eigen(double* a, int n, double* values, double* v) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) v[6 * i + j] = i == j;
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0, all = 0;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) (i == j ? all : off) += a[6 * i + j] * a[6 * i + j];
    if (!(off > 1e-34 * all)) break;
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        if (a[6 * p + q] == 0) continue;
        const double theta = (a[7 * q] - a[7 * p]) / (2 * a[6 * p + q]);
        const double t = (theta < 0 ? -1 : 1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        const auto rotate = [&](double& x, double& y) {
          const double old = x;
          x = c * old - s * y;
          y = s * old + c * y;
        };
        for (int k = 0; k < n; ++k) rotate(a[6 * k + p], a[6 * k + q]);
        for (int k = 0; k < n; ++k) rotate(a[6 * p + k], a[6 * q + k]);
        for (int k = 0; k < n; ++k) rotate(v[6 * k + p], v[6 * k + q]);
      }
  }
  for (int i = 0; i < n; ++i) values[i] = a[7 * i];
  for (int i = 0; i < n; ++i)
    for (int j = i + 1; j < n; ++j)
      if (values[j] < values[i]) {
        const double value = values[i];
        values[i] = values[j], values[j] = value;
        for (int k = 0; k < n; ++k) {
          const double one = v[6 * k + i];
          v[6 * k + i] = v[6 * k + j], v[6 * k + j] = one;
        }
      }
}

struct Probe {
  const Layout& layout;
  double loop_tolerance;
  const double* weight;  // (loop row) what its gap is measured by
  double*
      singular;  // (loop, 6) how far its rows are free to move, ascending; below `loop_tolerance` they say nothing new
  double* direction;            // (loop, 6, 6) the columns of a joint's rows, measured by `weight`, that go with them
  double *work, *kept, *image;  // room for (closing, closing) each
  double* square;               // (closing)
  int* end;                     // (closing) one past the last row that a vector has

  // whether a joint's rows can be left out: not those of velocities, nor what functions of time move
  static bool can_reduce(const ConstraintInfo& c) {
    return c.rows == RowKind::joint || (c.rows == RowKind::coupling && c.signal < 0);
  }

  // `inverse` by columns: of s (rows padded) for the directions that are kept, nothing for the others
  void invert(const double* s, int size, const int* rows, double* inverse) {
    const int width = (size + block_size - 1) / block_size * block_size;
    const auto entry = [&](int r, int c) {
      return 0.5 * (s[r * width + c] + s[c * width + r]) / (weight[rows[r]] * weight[rows[c]]);
    };
    for (int r = 0; r < size; ++r)
      for (int c = 0; c < size; ++c) work[r * size + c] = entry(r, c);
    // a basis of what is kept, orthogonal with respect to s: vectors x, s x, and x . s x; `work` is what they leave of
    // s
    int rank = 0;
    for (int first = 0, count; first < size; first += count) {
      const ConstraintInfo& c = layout.constraint[loop_of(rows[first])];
      count = c.row_count;
      if (!can_reduce(c)) continue;
      double block[36], values[6], *v = direction + 36 * c.loop;
      for (int i = 0; i < count; ++i)
        for (int j = 0; j < count; ++j) block[6 * i + j] = work[(first + i) * size + first + j];
      eigen(block, count, values, v);
      for (int k = 0; k < count; ++k) {
        singular[6 * c.loop + k] = values[k] > 0 ? std::sqrt(values[k]) : 0;
        if (!(singular[6 * c.loop + k] > loop_tolerance)) continue;
        double *x = kept + rank * size, *y = image + rank * size;
        for (int e = 0; e < size; ++e) x[e] = e >= first && e < first + count ? v[6 * (e - first) + k] : 0;
        for (int e = first; e < size; ++e) {
          y[e] = 0;
          for (int i = 0; i < count; ++i) y[e] += work[e * size + first + i] * v[6 * i + k];
        }
        for (int b = 0; b < rank; ++b) {
          double along = 0;
          for (int i = 0; i < count; ++i) along += v[6 * i + k] * image[b * size + first + i];
          along /= square[b];
          for (int e = 0; e < end[b]; ++e) x[e] -= along * kept[b * size + e];
        }
        end[rank] = first + count;
        square[rank++] = values[k];
        // of later joints' rows only
        for (int e = first; e < size; ++e) {
          const double factor = y[e] / values[k];
          for (int f = first; f < size; ++f) work[e * size + f] -= factor * y[f];
        }
      }
    }
    for (int k = 0; k < size * width; ++k) inverse[k] = 0;
    for (int b = 0; b < rank; ++b) {
      double* x = kept + b * size;
      for (int e = 0; e < end[b]; ++e) x[e] /= weight[rows[e]];
      for (int j = 0; j < end[b]; ++j) {
        const double factor = x[j] / square[b];
        for (int i = 0; i < end[b]; ++i) inverse[j * width + i] += factor * x[i];
      }
    }
  }

 private:
  int loop_of(int row) const {
    int low = 0, high = layout.loop_count - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (layout.constraint[layout.loop[middle]].loop_row <= row)
        low = middle;
      else
        high = middle - 1;
    }
    return layout.loop[low];
  }
};

}  // namespace catena::CATENA_ISA
