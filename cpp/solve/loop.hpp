// Loops in the articulated solver: the columns and rows that a loop adds to every link on its cycle.
//
// A joint that closes a loop keeps its multipliers as unknowns. On the way from its two bodies up to their lowest
// common ancestor each link carries, for every row of every loop that passes through it,
//
//     a column of q: the wrench that a unit of the multiplier asks of the link (old pose, at the joint point),
//     a row of p: what a motion of the link does to the loop's gap (new pose),
//     s and g: what joints eliminated so far have made of the loop's own rows,
//
// so that the link's equations read  M delta + q lambda = -wrench,  p delta + s lambda = -g. Joints are eliminated from
// all of it, children's columns are added to their parent's, and where the two ends of a loop meet its multipliers are
// eliminated too. Loops are local: a chain of k four-bars costs O(k).
//
// Redundant rows (a planar loop in space) make s singular, and a loop that passes a singular pose gives it a tiny pivot
// of either sign. Its inverse is therefore a regularised one: scaled by what a free body would yield, row by row, so
// that units do not matter, and factored with complete pivoting, every pivot d is inverted as d / (d^2 + e^2), which is
// 1/d where d is larger than e and nothing where it is smaller. Only the matrix is touched, never the residual, so the
// solution of the step is not; multipliers of redundant rows are one choice of many.
#pragma once

#include "base/small.hpp"
#include "model/layout.hpp"

namespace catena::CATENA_ISA {

constexpr double smallest_pivot = 1e-9;
constexpr int column_block = 8;

// y += a x, over whole blocks so that the compiler sees a fixed length
template <class T>
CATENA_INLINE void axpy(T* y, T a, const T* x, int stride) {
  for (int w = 0; w < stride; w += column_block)
    for (int c = 0; c < column_block; ++c) y[w + c] += a * x[w + c];
}
template <class T>
CATENA_INLINE void combine(T* y, T a0, const T* x0, T a1, const T* x1, T a2, const T* x2, int stride) {
  for (int w = 0; w < stride; w += column_block)
    for (int c = 0; c < column_block; ++c) y[w + c] = a0 * x0[w + c] + a1 * x1[w + c] + a2 * x2[w + c];
}

// y -= a0 x0 + a1 x1 + a2 x2
template <class T>
CATENA_INLINE void reduce(T* y, T a0, const T* x0, T a1, const T* x1, T a2, const T* x2, int stride) {
  for (int w = 0; w < stride; w += column_block)
    for (int c = 0; c < column_block; ++c) y[w + c] -= a0 * x0[w + c] + a1 * x1[w + c] + a2 * x2[w + c];
}

// Regularised inverse of a matrix scaled to order one: out = u^-1 f(d) l^-1, from m = l d u with rows and columns
// permuted. m is destroyed; `order` has room for 2 size indices.
template <class T>
void invert_loosely(T* m, T* out, int size, int* order) {
  int *row = order, *column = order + size;
  for (int k = 0; k < size; ++k) row[k] = column[k] = k;
  const auto at = [&](int r, int c) -> T& { return m[row[r] * size + column[c]]; };
  for (int p = 0; p < size; ++p) {
    int r_best = p, c_best = p;
    T largest = T(-1);
    for (int r = p; r < size; ++r)
      for (int c = p; c < size; ++c)
        if (std::fabs(at(r, c)) > largest) largest = std::fabs(at(r, c)), r_best = r, c_best = c;
    const int r_old = row[p], c_old = column[p];
    row[p] = row[r_best], row[r_best] = r_old;
    column[p] = column[c_best], column[c_best] = c_old;
    const T d = at(p, p);
    // below rounding nothing is left to eliminate
    const T inv = std::fabs(d) > T(1e-15) ? T(1) / d : T(0);
    for (int r = p + 1; r < size; ++r) {
      const T f = at(r, p) * inv;
      at(r, p) = f;
      for (int c = p + 1; c < size; ++c) at(r, c) -= f * at(p, c);
    }
    for (int c = p + 1; c < size; ++c) at(p, c) *= inv;
  }
  // columns of l^-1, scaled by the inverted pivots, then u^-1 from below
  for (int k = 0; k < size; ++k) {
    const auto x = [&](int r) -> T& { return out[column[r] * size + row[k]]; };
    for (int r = 0; r < size; ++r) {
      T sum = r == k ? T(1) : T(0);
      for (int c = k; c < r; ++c) sum -= at(r, c) * x(c);
      x(r) = sum;
    }
    for (int r = 0; r < size; ++r) {
      const T d = at(r, r);
      x(r) *= d / (d * d + T(smallest_pivot * smallest_pivot));
    }
    for (int r = size - 1; r >= 0; --r)
      for (int c = r + 1; c < size; ++c) x(r) -= at(r, c) * x(c);
  }
}

template <class T>
struct Front {
  const FrontInfo& info;
  const int* rows;  // (column) loop row
  T* space;         // of this front
  int* order;       // room for a permutation

  // arrays of `stride` columns, the padding always zero
  int stride() const { return info.stride; }
  T* q(int r) const { return space + r * info.stride; }
  T* p(int r) const { return space + (6 + r) * info.stride; }
  T* g() const { return space + 12 * info.stride; }
  T* gain(int r) const { return space + (13 + r) * info.stride; }
  // what a freedom of the joint does to the gaps
  T* push(int r) const { return space + (19 + r) * info.stride; }
  T* s(int k) const { return space + (25 + k) * info.stride; }
  // closing rows: s^-1 times (s to the outgoing columns | p | g), what of q and s belonged to them, and s^-1 itself
  int closing() const { return info.columns - info.outgoing; }
  T* solved(int k) const { return space + (25 + info.columns + k) * info.stride; }
  T* closed_s(int k) const { return solved(closing() + k); }
  T* solved_p(int k) const { return closed() + 7 * k; }
  T* closed_q(int k) const { return closed() + 7 * closing() + 6 * k; }
  T* inverse() const { return closed() + 13 * closing(); }
  T* scratch() const { return inverse() + closing() * closing(); }
  T* closed() const { return solved(2 * closing()); }

  // empty but for the gaps of the loops that close here; a law's row holds its own multiplier
  void clear(const T* gap, const char* is_law_row) const {
    for (int c = 0; c < 13 * info.stride; ++c) space[c] = T(0);
    for (int c = 0; c < info.columns * info.stride; ++c) s(0)[c] = T(0);
    for (int c = info.outgoing; c < info.columns; ++c) {
      g()[c] = gap[rows[c]];
      if (is_law_row[rows[c]]) s(c)[c] = T(1);
    }
  }

  // the loops that close here
  void close(Mat3<T>& A, Mat3<T>& B, Mat3<T>& C, Mat3<T>& E, Vec3<T>& f, Vec3<T>& t, const T* scale) const {
    const int n = closing(), o = info.outgoing;
    if (n == 0) return;
    invert_closing(scale);
    const T* inv = inverse();
    for (int k = 0; k < n; ++k) {
      T* row = solved(k);
      for (int c = 0; c < info.stride; ++c) row[c] = T(0);
      for (int r = 0; r < 7; ++r) solved_p(k)[r] = T(0);
      for (int j = 0; j < n; ++j) {
        const T x = inv[k * n + j];
        for (int c = 0; c < o; ++c) row[c] += x * s(o + j)[c];
        for (int r = 0; r < 6; ++r) solved_p(k)[r] += x * p(r)[o + j];
        solved_p(k)[6] += x * g()[o + j];
      }
    }
    for (int k = 0; k < n; ++k) {
      const T* x = solved_p(k);
      const Vec3<T> qf = {q(0)[o + k], q(1)[o + k], q(2)[o + k]}, qt = {q(3)[o + k], q(4)[o + k], q(5)[o + k]};
      const Vec3<T> xp = {x[0], x[1], x[2]}, xr = {x[3], x[4], x[5]};
      subtract_outer(A, qf, xp);
      subtract_outer(B, qf, xr);
      subtract_outer(C, qt, xp);
      subtract_outer(E, qt, xr);
      f -= x[6] * qf;
      t -= x[6] * qt;
      for (int c = 0; c < o; ++c) closed_s(k)[c] = s(c)[o + k];
      for (int r = 0; r < 6; ++r) {
        const T w = closed_q(k)[r] = q(r)[o + k];
        for (int c = 0; c < o; ++c) q(r)[c] -= w * solved(k)[c];
      }
      for (int c = 0; c < o; ++c) {
        const T w = s(c)[o + k];
        for (int r = 0; r < 6; ++r) p(r)[c] -= w * x[r];
        for (int d = 0; d < o; ++d) s(c)[d] -= w * solved(k)[d];
        g()[c] -= w * x[6];
      }
    }
    // only outgoing columns go on
    for (int c = o; c < info.columns; ++c) {
      for (int r = 0; r < 6; ++r) q(r)[c] = p(r)[c] = T(0);
      for (int k = 0; k < o; ++k) s(k)[c] = T(0);
      g()[c] = T(0);
    }
  }

  // the same with other gaps and another wrench: into g the gaps of the loops that close here, nothing for the rest
  void clear_gaps(const T* gap) const {
    for (int c = 0; c < info.outgoing; ++c) g()[c] = T(0);
    for (int c = info.outgoing; c < info.columns; ++c) g()[c] = gap[rows[c]];
  }
  void close_again(Vec3<T>& f, Vec3<T>& t) const {
    const int n = closing(), o = info.outgoing;
    for (int k = 0; k < n; ++k) {
      T x = T(0);
      for (int j = 0; j < n; ++j) x += inverse()[k * n + j] * g()[o + j];
      solved_p(k)[6] = x;
      const T* w = closed_q(k);
      f -= Vec3<T>{x * w[0], x * w[1], x * w[2]};
      t -= Vec3<T>{x * w[3], x * w[4], x * w[5]};
      for (int c = 0; c < o; ++c) g()[c] -= closed_s(k)[c] * x;
    }
    for (int c = o; c < info.columns; ++c) g()[c] = T(0);
  }
  void eliminate_again(int k, T first) const { axpy(g(), -first, push(k), info.stride); }
  void eliminate_again(int k, Vec3<T> first) const {
    eliminate_again(k, first.x);
    eliminate_again(k + 1, first.y);
    eliminate_again(k + 2, first.z);
  }
  void send_again(const Front& to, const int* map) const {
    if (to.info.received)
      for (int c = 0; c < info.outgoing; ++c) to.g()[c] = g()[c];
    else
      for (int c = 0; c < info.outgoing; ++c) to.g()[map[c]] += g()[c];
  }

  // regularised inverse of the closing block; `scale` is the square root of every loop row's compliance
  void invert_closing(const T* scale) const {
    const int n = closing(), o = info.outgoing;
    const int* rows = this->rows + o;
    T *inv = inverse(), *scaled = scratch();
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) scaled[k * n + j] = s(o + k)[o + j] / (scale[rows[k]] * scale[rows[j]]);
    invert_loosely(scaled, inv, n, order);
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) inv[k * n + j] /= scale[rows[k]] * scale[rows[j]];
  }

  // multipliers of the loops that end here, once the link's motion and the outgoing ones are known
  void open(Vec3<T> dP, Vec3<T> phi, T* lambda) const {
    for (int k = 0; k < closing(); ++k) {
      const T* x = solved_p(k);
      T sum = x[6] + x[0] * dP.x + x[1] * dP.y + x[2] * dP.z + x[3] * phi.x + x[4] * phi.y + x[5] * phi.z;
      for (int c = 0; c < info.outgoing; ++c) sum += solved(k)[c] * lambda[rows[c]];
      lambda[rows[info.outgoing + k]] = -sum;
    }
  }

  // what the outgoing multipliers add to a joint's motion
  T pull(int r, const T* lambda) const {
    T sum = T(0);
    for (int c = 0; c < info.outgoing; ++c) sum += gain(r)[c] * lambda[rows[c]];
    return sum;
  }

  // one freedom k of a joint: old directions over the pivot, new directions, u = M s', row = s^T M / pivot,
  // first = s.wrench / pivot
  void eliminate(int k, Vec3<T> slide, Vec3<T> turn, Vec3<T> slide3, Vec3<T> turn3, Vec3<T> up, Vec3<T> ur,
                 Vec3<T> row_P, Vec3<T> row_R, T first) const {
    const int n = info.stride;
    T *y = gain(k), *m = push(k);
    combine(y, turn.x, q(3), turn.y, q(4), turn.z, q(5), n);
    combine(m, turn3.x, p(3), turn3.y, p(4), turn3.z, p(5), n);
    const T s2[3] = {slide.x, slide.y, slide.z}, s3[3] = {slide3.x, slide3.y, slide3.z};
    for (int r = 0; r < 3; ++r) {
      axpy(y, s2[r], q(r), n);
      axpy(m, s3[r], p(r), n);
    }
    const T u[6] = {up.x, up.y, up.z, ur.x, ur.y, ur.z};
    const T row[6] = {row_P.x, row_P.y, row_P.z, row_R.x, row_R.y, row_R.z};
    for (int r = 0; r < 6; ++r) {
      axpy(q(r), -u[r], y, n);
      axpy(p(r), -row[r], m, n);
    }
    for (int c = 0; c < info.outgoing; ++c) axpy(s(c), -m[c], y, n);
    axpy(g(), -first, m, n);
  }

  // a link that turns freely: gain = E^-1 q_torque; torques and turns are gone then, and no longer kept
  void eliminate_turn(const Mat3<T>& inv, const Mat3<T>& B, const Mat3<T>& rows, Vec3<T> first) const {
    const int n = info.stride;
    combine(gain(0), inv.i.x, q(3), inv.j.x, q(4), inv.k.x, q(5), n);
    combine(gain(1), inv.i.y, q(3), inv.j.y, q(4), inv.k.y, q(5), n);
    combine(gain(2), inv.i.z, q(3), inv.j.z, q(4), inv.k.z, q(5), n);
    const T b[3][3] = {{B.i.x, B.j.x, B.k.x}, {B.i.y, B.j.y, B.k.y}, {B.i.z, B.j.z, B.k.z}};
    const T w[3][3] = {{rows.i.x, rows.i.y, rows.i.z}, {rows.j.x, rows.j.y, rows.j.z}, {rows.k.x, rows.k.y, rows.k.z}};
    const T y[3] = {first.x, first.y, first.z};
    for (int r = 0; r < 3; ++r) {
      reduce(q(r), b[r][0], gain(0), b[r][1], gain(1), b[r][2], gain(2), n);
      reduce(p(r), w[r][0], p(3), w[r][1], p(4), w[r][2], p(5), n);
    }
    for (int c = 0; c < info.outgoing; ++c) reduce(s(c), p(3)[c], gain(0), p(4)[c], gain(1), p(5)[c], gain(2), n);
    for (int k = 0; k < 3; ++k)
      for (int c = 0; c < n; ++c) push(k)[c] = p(3 + k)[c];
    reduce(g(), y[0], p(3), y[1], p(4), y[2], p(5), n);
  }

  // a link that floats: gain = A^-1 q_force, after its turn has been eliminated
  void eliminate_shift(const Mat3<T>& inv, Vec3<T> f) const {
    const int n = info.stride;
    combine(gain(3), inv.i.x, q(0), inv.j.x, q(1), inv.k.x, q(2), n);
    combine(gain(4), inv.i.y, q(0), inv.j.y, q(1), inv.k.y, q(2), n);
    combine(gain(5), inv.i.z, q(0), inv.j.z, q(1), inv.k.z, q(2), n);
    const Vec3<T> first = inv * f;
    const T y[3] = {first.x, first.y, first.z};
    for (int c = 0; c < info.outgoing; ++c)
      for (int k = 0; k < 3; ++k) axpy(s(c), -p(k)[c], gain(3 + k), n);
    for (int k = 0; k < 3; ++k) {
      for (int c = 0; c < n; ++c) push(3 + k)[c] = p(k)[c];
      axpy(g(), -y[k], p(k), n);
    }
  }

  // from the own joint point to the parent's; `turned` if there is no torque or turn of its own
  void shift(Vec3<T> rho, Vec3<T> rho3, bool turned) const {
    const int n = info.stride;
    const T keep = turned ? T(0) : T(1);
    combine(q(3), keep, q(3), rho.y, q(2), -rho.z, q(1), n);
    combine(q(4), keep, q(4), rho.z, q(0), -rho.x, q(2), n);
    combine(q(5), keep, q(5), rho.x, q(1), -rho.y, q(0), n);
    combine(p(3), keep, p(3), rho3.y, p(2), -rho3.z, p(1), n);
    combine(p(4), keep, p(4), rho3.z, p(0), -rho3.x, p(2), n);
    combine(p(5), keep, p(5), rho3.x, p(1), -rho3.y, p(0), n);
  }

  // add to the parent's front (or the world's, which has no q and p to fill)
  void send(const Front& to, const int* map) const {
    if (to.info.received) {
      for (int c = 0; c < 13 * info.stride; ++c) to.space[c] = space[c];
      for (int c = 0; c < info.outgoing * info.stride; ++c) to.s(0)[c] = s(0)[c];
      return;
    }
    if (info.same_columns) {
      for (int r = 0; r < 12; ++r) axpy(to.q(r), T(1), q(r), info.stride);
      for (int c = 0; c < info.outgoing; ++c) axpy(to.s(c), T(1), s(c), info.stride);
      axpy(to.g(), T(1), g(), info.stride);
      return;
    }
    for (int c = 0; c < info.outgoing; ++c) {
      for (int r = 0; r < 12; ++r) to.q(r)[map[c]] += q(r)[c];
      for (int d = 0; d < info.outgoing; ++d) to.s(map[c])[map[d]] += s(c)[d];
      to.g()[map[c]] += g()[c];
    }
  }
};

}  // namespace catena::CATENA_ISA
