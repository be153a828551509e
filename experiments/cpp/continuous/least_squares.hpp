// The shortest least-squares solution of S x = b, S symmetric and positive semidefinite: what redundant loops need.
//
// Cholesky with diagonal pivoting, stopped where the largest pivot left is below `tolerance` of the first, gives
// P^T S P = R^T R with R (rank x n) of full rank. Then the pseudo-inverse is R^T (R R^T)^-2 R, and R R^T is definite
// with the same eigenvalues as S, the zeros left out. RigidBodyDynamics.jl does the same by gelsy at the same
// tolerance.
#pragma once

#include <utility>
#include <vector>

#include "scalar.hpp"

namespace rivals {

template <class T>
struct LeastSquares {
  int n = 0, rank = 0;
  double tolerance = 0;
  std::vector<T> s, r, g, y;
  std::vector<int> order;

  void resize(int size, double smallest) {
    n = size;
    tolerance = smallest;
    s.resize(n * n), r.resize(n * n), g.resize(n * n), y.resize(n);
    order.resize(n);
  }

  T& at(int i, int j) { return s[i * n + j]; }

  void clear() {
    for (T& x : s) x = T(0);
  }

  // x = S^+ x; the lower half of S is read, and lost
  void solve(T* x) {
    factor();
    if (rank == n) return definite(x);

    // R R^T and its Cholesky factor
    for (int i = 0; i < rank; ++i)
      for (int j = 0; j <= i; ++j) {
        const T sum = product(&r[i * n + i], &r[j * n + i], n - i) - product(&g[i * n], &g[j * n], j);
        using std::sqrt;
        g[i * n + j] = i == j ? sqrt(sum) : sum / g[j * n + j];
      }
    for (int i = 0; i < rank; ++i) {
      y[i] = T(0);
      for (int k = i; k < n; ++k) y[i] += r[i * n + k] * x[order[k]];
    }
    for (int twice = 0; twice < 2; ++twice) {
      for (int i = 0; i < rank; ++i) {
        y[i] = (y[i] - product(&g[i * n], y.data(), i)) / g[i * n + i];
      }
      for (int i = rank - 1; i >= 0; --i) {
        for (int k = i + 1; k < rank; ++k) y[i] -= g[k * n + i] * y[k];
        y[i] = y[i] / g[i * n + i];
      }
    }
    for (int k = 0; k < n; ++k) {
      T sum = T(0);
      for (int i = 0; i <= k && i < rank; ++i) sum += r[i * n + k] * y[i];
      x[order[k]] = sum;
    }
  }

 private:
  // four sums, none of which waits for another
  static T product(const T* a, const T* b, int count) {
    T sum[4] = {T(0), T(0), T(0), T(0)};
    int k = 0;
    for (; k + 4 <= count; k += 4)
      for (int m = 0; m < 4; ++m) sum[m] += a[k + m] * b[k + m];
    for (; k < count; ++k) sum[0] += a[k] * b[k];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  void factor() {
    for (int i = 0; i < n; ++i) order[i] = i;
    T first = T(0);
    for (rank = 0; rank < n; ++rank) {
      int best = rank;
      for (int i = rank + 1; i < n; ++i)
        if (at(i, i) > at(best, best)) best = i;
      const T pivot = at(best, best);
      if (rank == 0) first = pivot;
      // also where it is no number
      if (!(pivot > T(tolerance) * first)) break;
      swap(rank, best);
      using std::sqrt;
      const T root = sqrt(pivot), scale = T(1) / root;
      r[rank * n + rank] = root;
      for (int i = rank + 1; i < n; ++i) r[rank * n + i] = scale * at(i, rank);
      for (int i = rank + 1; i < n; ++i)
        for (int j = rank + 1; j <= i; ++j) at(i, j) -= r[rank * n + i] * r[rank * n + j];
    }
  }

  // rows and columns i < j of the lower half, and the rows of R so far
  void swap(int i, int j) {
    if (i == j) return;
    std::swap(order[i], order[j]);
    std::swap(at(i, i), at(j, j));
    for (int k = 0; k < i; ++k) std::swap(r[k * n + i], r[k * n + j]);
    for (int k = i + 1; k < j; ++k) std::swap(at(k, i), at(j, k));
    for (int k = j + 1; k < n; ++k) std::swap(at(k, i), at(k, j));
  }

  void definite(T* x) {
    for (int i = 0; i < n; ++i) {
      y[i] = x[order[i]];
      for (int k = 0; k < i; ++k) y[i] -= r[k * n + i] * y[k];
      y[i] = y[i] / r[i * n + i];
    }
    for (int i = n - 1; i >= 0; --i) {
      for (int k = i + 1; k < n; ++k) y[i] -= r[i * n + k] * y[k];
      y[i] = y[i] / r[i * n + i];
    }
    for (int i = 0; i < n; ++i) x[order[i]] = y[i];
  }
};

}  // namespace rivals
