// Cholesky factor of a dense symmetric matrix, and the solutions it gives.
//
// Rows are kept in panels of four: element (i, k) stands at 4 k + i % 4 of panel i / 4, so that the updates of a panel
// run along memory. The update of 4 columns and up to 12 rows is held in registers. Sizes that are no multiple of four
// are filled up with rows of the unit matrix.
#pragma once

#include <cmath>
#include <vector>

#include "base/small.hpp"

namespace rivals {

using namespace catena::CATENA_ISA;

class Dense {
 public:
  explicit Dense(int n) : n_(n), panels_((n + 3) / 4), store_(size_t(panels_) * 4 * panels_), sums_(4 * panels_) {}

  int padded() const { return 4 * panels_; }

  // element k of a row stands at 4 k
  double* row(int i) { return reinterpret_cast<double*>(panel(i / 4)) + i % 4; }

  // the lower half, before entries are set
  void clear() {
    for (int p = 0; p < panels_; ++p)
      for (int k = 0; k < 4 * p + 4; ++k) panel(p)[k] = Block{};
    for (int i = n_; i < 4 * panels_; ++i) row(i)[4 * i] = 1;
  }

  // in place, reads the lower half; a matrix that is not positive definite leaves NaN
  void factor() {
    for (int j = 0; j < panels_; ++j) {
      update<1>(j, j);
      corner(j);
      int p = j + 1;
      for (; p + 3 <= panels_; p += 3) update<3>(p, j), divide(p, j), divide(p + 1, j), divide(p + 2, j);
      for (; p < panels_; ++p) update<1>(p, j), divide(p, j);
    }
  }

  // b = L^-1 b, padded
  void forward(double* b) const {
    for (int p = 0; p < panels_; ++p) {
      const Block* L = panel(p);
      Block sum = block(b + 4 * p), other = {};
      for (int k = 0; k < 4 * p; k += 2) sum -= L[k] * b[k], other += L[k + 1] * b[k + 1];
      sum -= other;
      for (int k = 0; k < 4; ++k) {
        const double x = sum[k] / L[4 * p + k][k];
        b[4 * p + k] = x;
        sum -= L[4 * p + k] * x;
      }
    }
  }

  // b = L^-T b, padded
  void backward(double* b) {
    for (Block& s : sums_) s = Block{};
    for (int p = panels_ - 1; p >= 0; --p) {
      const Block* L = panel(p);
      for (int k = 3; k >= 0; --k) {
        const int i = 4 * p + k;
        double x = b[i] - ((sums_[i][0] + sums_[i][1]) + (sums_[i][2] + sums_[i][3]));
        for (int r = k + 1; r < 4; ++r) x -= L[i][r] * b[4 * p + r];
        b[i] = x / L[i][k];
      }
      const Block x = block(b + 4 * p);
      for (int k = 0; k < 4 * p; ++k) sums_[k] += L[k] * x;
    }
  }

 private:
  Block* panel(int p) { return store_.data() + size_t(p) * 4 * panels_; }
  const Block* panel(int p) const { return store_.data() + size_t(p) * 4 * panels_; }

  // rows of P panels from p, columns of panel j: take off what columns before account for
  template <int P>
  void update(int p, int j) {
    const Block* column = panel(j);
    const Block* row[P];
    Block sum[P][4];
    for (int r = 0; r < P; ++r) {
      row[r] = panel(p + r);
      for (int c = 0; c < 4; ++c) sum[r][c] = row[r][4 * j + c];
    }
    for (int k = 0; k < 4 * j; ++k) {
      const double* other = reinterpret_cast<const double*>(column + k);
      for (int r = 0; r < P; ++r) {
        const Block mine = row[r][k];
        for (int c = 0; c < 4; ++c) sum[r][c] -= mine * other[c];
      }
    }
    for (int r = 0; r < P; ++r)
      for (int c = 0; c < 4; ++c) panel(p + r)[4 * j + c] = sum[r][c];
  }

  void corner(int j) {
    Block* L = panel(j) + 4 * j;
    for (int c = 0; c < 4; ++c) {
      L[c] = (1 / std::sqrt(L[c][c])) * L[c];
      for (int d = c + 1; d < 4; ++d) L[d] -= L[c] * L[c][d];
    }
    for (int c = 0; c < 4; ++c) inverse_[c] = 1 / L[c][c];
  }

  void divide(int p, int j) {
    const Block* L = panel(j) + 4 * j;
    Block* mine = panel(p) + 4 * j;
    for (int c = 0; c < 4; ++c) {
      for (int d = 0; d < c; ++d) mine[c] -= mine[d] * L[d][c];
      mine[c] *= inverse_[c];
    }
  }

  int n_, panels_;
  std::vector<Block> store_;
  std::vector<Block> sums_;
  double inverse_[4];
};

}  // namespace rivals
