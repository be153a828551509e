// Freedoms of sibling links that one row ties together: sum of a_k q_k = offset, as of two fingers or of mirrored
// cranks.
//
// Such a tie needs no columns on its links. Its multiplier is an effort a_k lambda along each of the freedoms, whose
// motions are known from their elimination,
//
//     y_k = -(first_k + row_k . delta + gain_k . mu) + a_k lambda / pivot_k,
//
// delta the increment of the common parent and mu that of the multipliers of loops that pass through the links. With
// sum of a_k y_k = -g the multiplier is one number over one pivot,
//
//     lambda = (T + r . delta + c . mu) / S,   S = sum of a_k^2 / pivot_k,   T = sum of a_k first_k - g,
//
// r and c the sums of a_k row_k and a_k gain_k. What the efforts hand to the parent, U lambda with U the sum of
// a_k u_k / pivot_k, and do to the gaps of loops, V lambda, is of rank one: U (T, r, c) / S is added to the parent's
// wrench, matrix and columns, V (T, r, c) / S to the rows of its loops. On the way back lambda is known once the parent
// has moved, and each freedom takes its share of it into `first`.
//
// The gap of a tie is what it is at the node and what the freedoms have moved since.
#pragma once

#include "solve/freedoms.hpp"
#include "solve/loops/loops.hpp"
#include "solve/tree/link.hpp"

namespace catena::CATENA_ISA {

// of a tie, after its elimination: r, U, one over S, and T / S
struct Tied {
  Vec3<double> row_P, row_R, up, ur;
  double inverse, first;
};

struct Ties {
  const Layout& layout;
  const Loops& loop;
  Axis<double>* axis;
  const Link<double>* link;
  Tied* tied;  // (tie)

  // of the parent i, the world after the last link
  template <class F>
  CATENA_INLINE void each(int i, F&& use) const {
    const FrontInfo& front = layout.front[i];
    for (int t = front.first_tie; t < front.first_tie + front.tie_count; ++t) use(layout.tie[t], tied[t]);
  }
  double& gap_of(const TieInfo& tie) const { return loop.gap[layout.constraint[tie.constraint].loop_row]; }

  // gaps at the iterate
  void find_gaps(const double* z) const {
    for (int t = 0; t < layout.tie_count; ++t) {
      const TieInfo& tie = layout.tie[t];
      double gap = loop.old_rows[layout.constraint[tie.constraint].loop].g[0];
      for (int k = 0; k < tie.count; ++k) {
        const LinkInfo& info = layout.link[tie.link[k]];
        gap += tie.coefficient[k] * moved_by(info.branch, 0, z[info.variable]);
      }
      gap_of(tie) = gap;
    }
  }

  // the freedoms have been eliminated; false on a pivot that is not positive
  bool close(Articulation<double>& m, int i) const {
    bool fine = true;
    each(i, [&](const TieInfo& tie, Tied& t) {
      const Vec3<double> none = {0, 0, 0};
      t = {none, none, none, none, 0, -gap_of(tie)};
      double pivot = 0;
      for (int k = 0; k < tie.count; ++k) {
        const Axis<double>& e = axis[layout.link[tie.link[k]].first_axis];
        const double a = tie.coefficient[k], share = a * e.inverse;
        pivot += a * share;
        t.row_P += a * e.row_P;
        t.row_R += a * e.row_R;
        t.up += share * e.up;
        t.ur += share * plus_cross(e.ur, link[tie.link[k]].r, e.up);
        t.first += a * e.first;
      }
      fine &= pivot > 0;
      t.inverse = 1 / pivot;
      t.first *= t.inverse;
      const Vec3<double> vp = -t.inverse * t.up, vr = -t.inverse * t.ur;
      subtract_outer(m.A, vp, t.row_P);
      subtract_outer(m.B, vp, t.row_R);
      subtract_outer(m.C, vr, t.row_P);
      subtract_outer(m.E, vr, t.row_R);
      hand_over(m, t);
      if (layout.front[i].columns > 0) widen(tie, t, loop.front(i));
    });
    return fine;
  }
  static CATENA_INLINE void hand_over(Wrench<double>& m, const Tied& t) {
    m.f += t.first * t.up;
    m.t += t.first * t.ur;
  }
  // what loops make of the tie: to the parent's column `c`, by how much its multiplier and its gap take part
  template <class F>
  CATENA_INLINE void each_column(const TieInfo& tie, F&& use) const {
    for (int k = 0; k < tie.count; ++k) {
      const int i = tie.link[k];
      if (!loop.pass(i)) continue;
      const Front from = loop.front(i);
      const double a = tie.coefficient[k], share = a * axis[layout.link[i].first_axis].inverse;
      for (int c = 0; c < from.info.outgoing; ++c) use(from.map[c], a * from.gain(0)[c], share * from.push(0)[c]);
    }
  }
  void widen(const TieInfo& tie, const Tied& t, const Front& to) const {
    // a column of one link with one of another as well
    each_column(tie, [&](int c, double own, double) {
      const double by = own * t.inverse;
      const double u[6] = {t.up.x, t.up.y, t.up.z, t.ur.x, t.ur.y, t.ur.z};
      for (int r = 0; r < 6; ++r) to.q(r)[c] += by * u[r];
      each_column(tie, [&](int d, double, double pushed) { to.s(d)[c] += by * pushed; });
    });
    each_column(tie, [&](int c, double, double pushed) {
      const double by = pushed * t.inverse;
      const double r[6] = {t.row_P.x, t.row_P.y, t.row_P.z, t.row_R.x, t.row_R.y, t.row_R.z};
      for (int e = 0; e < 6; ++e) to.p(e)[c] += by * r[e];
      to.g()[c] += pushed * t.first;
    });
  }

  // the same with other gaps and another wrench
  void close_again(Wrench<double>& m, int i) const {
    each(i, [&](const TieInfo& tie, Tied& t) {
      double first = -gap_of(tie);
      for (int k = 0; k < tie.count; ++k) first += tie.coefficient[k] * axis[layout.link[tie.link[k]].first_axis].first;
      t.first = first * t.inverse;
      hand_over(m, t);
      if (layout.front[i].columns == 0) return;
      const Front to = loop.front(i);
      each_column(tie, [&](int c, double, double pushed) { to.g()[c] += pushed * t.first; });
    });
  }

  // multipliers after the step's increment, once the parent and the loops' multipliers are known: their increments
  void open(int i, Vec3<double> dx, Vec3<double> phi, const double* z, double* dz) const {
    each(i, [&](const TieInfo& tie, const Tied& t) {
      const int row = layout.variable_count + layout.constraint[tie.constraint].loop_row;
      double lambda = t.first + t.inverse * dot(t.row_P, dx, t.row_R, phi);
      for (int k = 0; k < tie.count; ++k)
        if (loop.pass(tie.link[k]))
          lambda += t.inverse * tie.coefficient[k] * loop.front(tie.link[k]).pull(0, dz + layout.variable_count);
      for (int k = 0; k < tie.count; ++k) {
        Axis<double>& e = axis[layout.link[tie.link[k]].first_axis];
        e.first -= tie.coefficient[k] * e.inverse * lambda;
      }
      dz[row] = lambda - z[row];
    });
  }
};

}  // namespace catena::CATENA_ISA
