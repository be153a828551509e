// Accelerations of the freedoms of a tree whose loops are closed by rows G with drift b:
//
//     M r' = t + G^T l,   G r' = -b      so   (G M^-1 G^T) l = -b - G M^-1 t,   r' = M^-1 t + M^-1 G^T l.
//
// The matrix is factored by Cholesky with the largest pivot first. Where rows depend on each other, such as at a
// singular pose, it does not say what moves, and the accelerations are no numbers.
#pragma once

#include "dynamics/row_motion.hpp"
#include "dynamics/tree_inverse.hpp"

namespace catena::CATENA_ISA {

struct LoopInverse {
  int rows, freedoms;
  double* row;      // (row, freedom) G
  double* answer;   // (row, freedom) M^-1 G^T
  double* square;   // (row, row)
  double* missing;  // (row) right-hand side, then l
  int* order;       // (row)

  // parts of the largest pivot below which rows depend on others
  static constexpr double dependent = 1e-13;

  // accelerations (freedom), those without loops before
  void close(TreeInverse& inverse, RowMotion& motion, const DynamicsArgs& args, long pose, double* accelerations) {
    motion.find_rows(args, pose, row);
    motion.find_drift(args, pose, missing);
    for (int r = 0; r < rows; ++r) {
      double* const column = answer + r * static_cast<long>(freedoms);
      for (int k = 0; k < freedoms; ++k) column[k] = of(r)[k];
      inverse.solve(column);
      missing[r] = -missing[r] - along(of(r), accelerations);
      for (int s = 0; s <= r; ++s) at(r, s) = at(s, r) = along(of(s), column);
      order[r] = r;
    }
    const bool tells = solve();
    for (int k = 0; k < freedoms && !tells; ++k) accelerations[k] = __builtin_nan("");
    for (int r = 0; r < rows && tells; ++r)
      for (int k = 0; k < freedoms; ++k) accelerations[k] += missing[r] * answer[r * static_cast<long>(freedoms) + k];
  }

 private:
  const double* of(int r) const { return row + r * static_cast<long>(freedoms); }
  double& at(int r, int s) { return square[r * static_cast<long>(rows) + s]; }
  double along(const double* a, const double* b) const {
    double sum = 0;
    for (int k = 0; k < freedoms; ++k) sum += a[k] * b[k];
    return sum;
  }
  // whether the rows are independent
  bool solve() {
    double largest = 0;
    for (int rank = 0; rank < rows; ++rank) {
      int best = rank;
      for (int r = rank + 1; r < rows; ++r)
        if (at(order[r], order[r]) > at(order[best], order[best])) best = r;
      swap(order[rank], order[best]);
      const int p = order[rank];
      if (rank == 0) largest = at(p, p);
      if (!(at(p, p) > dependent * largest)) return false;
      for (int r = rank + 1; r < rows; ++r) {
        const int q = order[r];
        const double part = at(q, p) / at(p, p);
        for (int s = rank + 1; s <= r; ++s) at(order[s], q) = at(q, order[s]) -= part * at(p, order[s]);
        missing[q] -= part * missing[p];
      }
    }
    for (int r = rows - 1; r >= 0; --r) {
      const int p = order[r];
      for (int s = r + 1; s < rows; ++s) missing[p] -= at(p, order[s]) * missing[order[s]];
      missing[p] /= at(p, p);
    }
    return true;
  }
  static void swap(int& a, int& b) {
    const int c = a;
    a = b;
    b = c;
  }
};

}  // namespace catena::CATENA_ISA
