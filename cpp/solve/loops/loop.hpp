// Loops in the articulated solver: the columns and rows that a loop adds to every link on its cycle.
//
// A joint that closes a loop keeps its multipliers as unknowns. On the way from its two bodies up to their lowest
// common ancestor each link carries, for every row of every loop that passes through it,
//
//     a column of q: the wrench that a unit of the multiplier asks of the link (old pose, at its centre of mass),
//     a row of p: what a motion of the link does to the loop's gap (new pose),
//     s and g: what joints eliminated so far have made of the loop's own rows,
//
// so that the link's equations read  M delta + q lambda = -wrench,  p delta + s lambda = -g. Joints are eliminated from
// all of it, children's columns are added to their parent's, and where the two ends of a loop meet its multipliers are
// eliminated too, by a regularised inverse of s (solve/loops/regularised_inverse.hpp) that is scaled by what a free
// body would yield, row by row, so that units do not matter. Loops are local: a chain of k four-bars costs O(k).
//
// All of q, p and g of a few columns go through a joint in registers. What a link carries is of no use once its joint
// is eliminated: a parent with the same columns finds them where its child had them.
#pragma once

#include "solve/loops/probe.hpp"
#include "solve/loops/regularised_inverse.hpp"
#include "solve/tree/articulation.hpp"

namespace catena::CATENA_ISA {

// sums over three rows of columns, with numbers or with other columns
typedef Vec3<Pack> Packs;
CATENA_INLINE Pack dot(const Vec3<double>& a, const Packs& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
CATENA_INLINE Packs operator*(const Mat3<double>& m, const Packs& a) {
  return {m.i.x * a.x + m.j.x * a.y + m.k.x * a.z, m.i.y * a.x + m.j.y * a.y + m.k.y * a.z,
          m.i.z * a.x + m.j.z * a.y + m.k.z * a.z};
}
CATENA_INLINE Packs transposed_times(const Mat3<double>& m, const Packs& a) {
  return {dot(m.i, a), dot(m.j, a), dot(m.k, a)};
}
CATENA_INLINE Packs outer(const Vec3<double>& u, Pack y) { return {u.x * y, u.y * y, u.z * y}; }
CATENA_INLINE Packs cross(const Vec3<double>& r, const Packs& b) {
  return {r.y * b.z - r.z * b.y, r.z * b.x - r.x * b.z, r.x * b.y - r.y * b.x};
}

// what a link carries, a few columns of it
struct Columns {
  Packs q_force, q_torque, p_shift, p_turn;
  Pack g;
};

struct Front {
  const FrontInfo& info;
  const int *rows, *map;  // (column) loop row, the parent's column
  double *carried, *kept, *dropped;
  int* order;            // room for a permutation
  const double* weight;  // (loop row) what its gap is measured by
  Probe* probe;          // set where redundant rows are looked for
  double* least_pivot;   // of what closes

  // arrays of `stride` columns, the padding always zero; g stands after p, as one more row of it
  double* q(int r) const { return carried + r * info.stride; }
  double* p(int r) const { return carried + (6 + r) * info.stride; }
  double* g() const { return carried + 12 * info.stride; }
  double* s(int k) const { return carried + (13 + k) * info.stride; }
  // what a multiplier does to a freedom of the joint, and what that does to the gaps
  double* gain(int k) const { return kept + k * info.stride; }
  double* push(int k) const { return kept + (info.freedoms + k) * info.stride; }
  // closing rows: s^-1 times s to the outgoing columns, s from there; s^-1 times (p | g) and s^-1 itself, by columns; q
  int closing() const { return info.columns - info.outgoing; }
  int closing_stride() const { return padded(closing()); }
  double* solved(int k) const { return kept + (2 * info.freedoms + k) * info.stride; }
  double* closed_s(int k) const { return solved(closing() + k); }
  double* solved_p(int r) const { return solved(2 * closing()) + r * closing_stride(); }
  double* inverse(int k) const { return solved_p(7 + k); }
  double* closed_q(int k) const { return inverse(closing()) + 8 * k; }
  double* scratch() const { return closed_q(closing()); }

  void clear() const {
    for (int c = 0; c < (13 + info.columns) * info.stride; c += pack_size) pack(carried + c) = Pack{};
  }
  void clear_gaps() const {
    for (int c = 0; c < info.stride; ++c) g()[c] = 0;
  }

  //---- loops that close here ----

  // their gaps are `gap`, some rows hold their own multiplier; `scale` is one over the root of every row's compliance
  void close(Articulation<double>& m, const double* gap, const char* holds_own, const double* own,
             const double* scale) const {
    const int n = closing(), o = info.outgoing;
    if (n == 0) return;
    for (int c = o; c < info.columns; ++c) {
      g()[c] += gap[rows[c]];
      const int holds = holds_own[rows[c]];
      if (holds == 1) s(c)[c] += 1;
      for (int k = 0; k < 3 && holds > 1; ++k) s(c)[c - (holds - 2) + k] += own[3L * rows[c] + k];
    }
    invert_closing(scale);
    for (int r = 0; r < 7; ++r) solve(p(r) + o, solved_p(r));
    for (int k = 0; k < n; ++k) {
      const Vec3<double> force = {q(0)[o + k], q(1)[o + k], q(2)[o + k]};
      const Vec3<double> torque = {q(3)[o + k], q(4)[o + k], q(5)[o + k]};
      const auto x = [&](int r) { return solved_p(r)[k]; };
      const Vec3<double> shift = {x(0), x(1), x(2)}, turn = {x(3), x(4), x(5)};
      subtract_outer(m.A, force, shift);
      subtract_outer(m.B, force, turn);
      subtract_outer(m.C, torque, shift);
      subtract_outer(m.E, torque, turn);
      m.f -= x(6) * force;
      m.t -= x(6) * torque;
      store3(closed_q(k), force);
      store3(closed_q(k) + 4, torque);
    }
    if (o > 0) close_outgoing();
  }
  // x = s^-1 y
  CATENA_INLINE void solve(const double* y, double* x) const {
    for (int w = 0; w < closing_stride(); w += pack_size) {
      Pack sum = {};
      for (int j = 0; j < closing(); ++j) sum += y[j] * pack(inverse(j) + w);
      pack(x + w) = sum;
    }
  }
  void invert_closing(const double* scale) const {
    const int n = closing(), o = info.outgoing, width = closing_stride();
    double *m = scratch(), *own_scale = solved_p(0);
    for (int k = 0; k < n; ++k) {
      own_scale[k] = scale[rows[o + k]];
      // whole blocks, the last of which may reach into the next row
      for (int w = 0; w < width; w += pack_size) __builtin_memcpy(m + k * width + w, s(o + k) + o + w, sizeof(Pack));
    }
    if (probe) return probe->invert(m, n, rows + o, inverse(0));
    const int rank = invert_loosely(m, own_scale, inverse(0), n, info.redundant, smallest_pivot, order, *least_pivot);
    if (info.redundant == 0) return;
    double* own_weight = solved_p(1);
    for (int k = 0; k < n; ++k) own_weight[k] = weight[rows[o + k]];
    *dropped = n - rank;
    take_out(m, own_scale, own_weight, inverse(0), n, rank, order, left(0), left(n));
  }
  double* left(int k) const { return dropped + 8 + k * closing_stride(); }
  // of gaps (loop row) at the closing rows, only the part along active directions; the rest goes to `loop_mismatch`
  void split(double* gap, double* loop_mismatch) const {
    const int n = closing(), o = info.outgoing;
    for (int k = 0; k < n; ++k) loop_mismatch[rows[o + k]] = 0;
    for (int v = 0; info.redundant > 0 && v < static_cast<int>(*dropped); ++v) {
      double along = 0;
      for (int k = 0; k < n; ++k) along += left(v)[k] / weight[rows[o + k]] * gap[rows[o + k]];
      for (int k = 0; k < n; ++k) {
        const double part = along * left(v)[k] * weight[rows[o + k]];
        gap[rows[o + k]] -= part;
        loop_mismatch[rows[o + k]] += part;
      }
    }
  }
  // what is left for the columns that go on, and only for them
  void close_outgoing() const {
    const int n = closing(), o = info.outgoing, stride = info.stride;
    for (int k = 0; k < n; ++k) {
      for (int c = 0; c < stride; ++c) closed_s(k)[c] = c < o ? s(c)[o + k] : 0;
      for (int w = 0; w < stride; w += pack_size) {
        Pack sum = {};
        for (int j = 0; j < n; ++j) sum += inverse(j)[k] * pack(s(o + j) + w);
        pack(solved(k) + w) = sum;
      }
      for (int c = o; c < stride; ++c) solved(k)[c] = 0;
    }
    const auto reduce = [&](double* y, const double* a, int step, const double* x) {
      for (int w = 0; w < stride; w += pack_size) {
        Pack sum = pack(y + w);
        for (int k = 0; k < n; ++k) sum -= a[k * step] * pack(x + k * stride + w);
        pack(y + w) = sum;
      }
      for (int c = o; c < stride; ++c) y[c] = 0;
    };
    for (int r = 0; r < 6; ++r) reduce(q(r), closed_q(0) + (r < 3 ? r : r + 1), 8, solved(0));
    for (int r = 0; r < 7; ++r) reduce(p(r), solved_p(r), 1, closed_s(0));
    for (int c = 0; c < o; ++c) reduce(s(c), closed_s(0) + c, stride, solved(0));
  }

  // the same with other gaps and another wrench
  void close_again(Wrench<double>& m, const double* gap) const {
    const int n = closing(), o = info.outgoing;
    for (int c = o; c < info.columns; ++c) g()[c] += gap[rows[c]];
    solve(g() + o, solved_p(6));
    for (int k = 0; k < n; ++k) {
      const double x = solved_p(6)[k];
      m.f -= x * load3(closed_q(k));
      m.t -= x * load3(closed_q(k) + 4);
      for (int c = 0; c < o; ++c) g()[c] -= closed_s(k)[c] * x;
    }
    for (int c = o; c < info.columns; ++c) g()[c] = 0;
  }

  // their multipliers, once the link's motion and the outgoing ones are known
  void open(Vec3<double> dx, Vec3<double> phi, double* lambda) const {
    for (int k = 0; k < closing(); ++k) {
      const auto x = [&](int r) { return solved_p(r)[k]; };
      double sum = x(6) + x(0) * dx.x + x(1) * dx.y + x(2) * dx.z + x(3) * phi.x + x(4) * phi.y + x(5) * phi.z;
      for (int c = 0; c < info.outgoing; ++c) sum += solved(k)[c] * lambda[rows[c]];
      lambda[rows[info.outgoing + k]] = -sum;
    }
  }

  // what the outgoing multipliers add to a joint's motion
  double pull(int k, const double* lambda) const {
    double sum = 0;
    for (int c = 0; c < info.outgoing; ++c) sum += gain(k)[c] * lambda[rows[c]];
    return sum;
  }

  //---- through the joint to the parent's front ----

  // freedoms one by one, that nearest to the link first, and on by r to the parent's centre; the row of the last one
  // has been moved there already
  template <int manner>
  void pass(const Axis<double>* x, const Vec3<double>& r, const Vec3<double>& r3, const Front& to) const {
    send<manner>(to, [&](Columns& c, int w) __attribute__((always_inline)) {
      for (int k = manner - 1; k >= 0; --k) {
        const Axis<double>& e = x[k];
        const Pack y = e.inverse * (dot(e.slide, c.q_force) + dot(e.turn, c.q_torque));
        const Pack motion = dot(e.slide3, c.p_shift) + dot(e.turn3, c.p_turn);
        pack(gain(k) + w) = y;
        pack(push(k) + w) = motion;
        c.q_force -= outer(e.up, y);
        c.q_torque -= outer(e.ur, y);
        if (k == 0) c.p_turn += cross(r3, c.p_shift);
        c.p_shift -= outer(e.row_P, motion);
        c.p_turn -= outer(e.row_R, motion);
        c.g -= e.first * motion;
      }
      if (manner == 0) c.p_turn += cross(r3, c.p_shift);
      c.q_torque += cross(r, c.q_force);
    });
  }
  // a free turn at the joint point, c from the centre; what is left has neither torques nor turns, but for those that a
  // rotary damper hands on
  template <bool damped>
  void pass(const Swivel<double>& e, const Torsion<double>* twisted, const Vec3<double>& c, const Vec3<double>& c3,
            const Vec3<double>& r, const Vec3<double>& r3, const Front& to) const {
    send<3>(to, [&](Columns& x, int w) __attribute__((always_inline)) {
      x.q_torque += cross(c, x.q_force);
      x.p_turn += cross(c3, x.p_shift);
      const Packs turned = x.p_turn;
      turn(e, x, w);
      x.q_torque = cross(r, x.q_force);
      x.p_turn = cross(r3, x.p_shift);
      if constexpr (damped) {
        x.q_torque += twisted->own * get(gain(0) + w);
        x.p_turn -= transposed_times(twisted->rows, turned);
      }
    });
  }
  // a floating link passes its loops on to the world
  void pass(const Swivel<double>& e, const Front& to) const {
    send<6>(to, [&](Columns& x, int w) __attribute__((always_inline)) {
      turn(e, x, w);
      put(gain(3) + w, e.shift * x.q_force);
      put(push(3) + w, x.p_shift);
      x.g -= dot(e.shift_first, x.p_shift);
    });
  }
  CATENA_INLINE void turn(const Swivel<double>& e, Columns& x, int w) const {
    const Packs y = e.inverse * x.q_torque;
    put(gain(0) + w, y);
    put(push(0) + w, x.p_turn);
    x.q_force -= e.lift * y;
    x.p_shift -= transposed_times(e.rows, x.p_turn);
    x.g -= dot(e.first, x.p_turn);
  }

  CATENA_INLINE Packs get(const double* from) const {
    return {pack(from), pack(from + info.stride), pack(from + 2 * info.stride)};
  }
  CATENA_INLINE void put(double* to, const Packs& v) const {
    pack(to) = v.x;
    pack(to + info.stride) = v.y;
    pack(to + 2 * info.stride) = v.z;
  }

  // whether the parent has the same columns, here or elsewhere
  bool stays(const Front& to) const { return to.carried == carried; }
  bool adds(const Front& to) const { return info.same_columns && !stays(to); }

  template <int freedoms, class F>
  CATENA_INLINE void send(const Front& to, F&& eliminate) const {
    if (adds(to)) return send_to<freedoms, true>(to.carried, eliminate);
    send_to<freedoms, false>(carried, eliminate);
    if (!stays(to)) scatter(to);
  }
  template <int freedoms, bool adding, class F>
  CATENA_INLINE void send_to(double* to, F&& eliminate) const {
    const int stride = info.stride;
    for (int w = 0; w < stride; w += pack_size) {
      Columns c = {get(q(0) + w), get(q(3) + w), get(p(0) + w), get(p(3) + w), pack(g() + w)};
      eliminate(c, w);
      double* at = to + w;
      if (adding) {
        c.q_force += get(at);
        c.q_torque += get(at + 3 * stride);
        c.p_shift += get(at + 6 * stride);
        c.p_turn += get(at + 9 * stride);
        c.g += pack(at + 12 * stride);
      }
      put(at, c.q_force);
      put(at + 3 * stride, c.q_torque);
      put(at + 6 * stride, c.p_shift);
      put(at + 9 * stride, c.p_turn);
      pack(at + 12 * stride) = c.g;
    }
    for (int w = 0; w < stride; w += pack_size) {
      Pack y[freedoms + 1];
      for (int k = 0; k < freedoms; ++k) y[k] = pack(gain(k) + w);
      for (int c = 0; c < info.outgoing; ++c) {
        Pack sum = pack(s(c) + w);
        for (int k = 0; k < freedoms; ++k) sum -= push(k)[c] * y[k];
        double* at = to + (13 + c) * stride + w;
        if (adding) sum += pack(at);
        pack(at) = sum;
      }
    }
  }
  void scatter(const Front& to) const {
    for (int c = 0; c < info.outgoing; ++c) {
      const int there = map[c];
      for (int r = 0; r < 13; ++r) to.q(r)[there] += q(r)[c];
      for (int d = 0; d < info.outgoing; ++d) to.s(there)[map[d]] += s(c)[d];
    }
  }

  // the gaps alone, with the same matrix; `first` of every freedom
  template <int freedoms>
  void pass_again(const double* first, const Front& to) const {
    const bool adding = adds(to);
    double* there = adding ? to.g() : g();
    for (int w = 0; w < info.stride; w += pack_size) {
      Pack sum = pack(g() + w);
      for (int k = 0; k < freedoms; ++k) sum -= first[k] * pack(push(k) + w);
      if (adding) sum += pack(there + w);
      pack(there + w) = sum;
    }
    if (adding || stays(to)) return;
    for (int c = 0; c < info.outgoing; ++c) to.g()[map[c]] += g()[c];
  }
};

}  // namespace catena::CATENA_ISA
