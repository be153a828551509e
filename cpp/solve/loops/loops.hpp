// All loops of a mechanism in the articulated solver: their rows at the node and at the iterate, the links they sit on,
// and the way of their columns from link to link (solve/loop.hpp says what a link carries of them).
//
// Multipliers of the loop rows are the last of the solver's unknowns; `lambda` points to the first of them.
//
// A massless body X at the end of the tree has no pivot of its own: what closes the loop lends it some of the inertia
// of the body B on its other side. With n the rows at the node, o at the iterate and g their gap, o_X d_X + o_B d_B =
// -g lets the multiplier be written in two ways,
//
//     lambda = lambda' - w (o_X d_X + g) = lambda' + w o_B d_B,
//
// the first in the balance of X, the second in that of B: w n_X o_X^T is added to the matrix of one, w n_B o_B^T taken
// from that of the other, and lambda' is what the elimination knows. The solution is the same.
#pragma once

#include "physics/rows/constraint.hpp"
#include "solve/loops/loop.hpp"

namespace catena::CATENA_ISA {

struct Loops {
  const Layout& layout;
  const Body<double>* body;
  JointRows *old_rows, *new_rows;  // (loop) at the node and at the iterate
  double *gap, *scale;             // (loop row); one over the root of its compliance
  double *weight, *loop_mismatch;  // (loop row) what its gap is measured by; its part along redundant directions
  double* lent;                    // (loop row) the inertia w
  char* holds_own;                 // (loop row) it holds its own multiplier
  double* space;                   // of all fronts
  int* order;
  double* least_pivot;  // of what closes, in the last matrix
  Probe* probe = nullptr;

  const ConstraintInfo& constraint(int k) const { return layout.constraint[layout.loop[k]]; }
  Front front(int i) const {
    const FrontInfo& info = layout.front[i];
    return {info,
            layout.column_row + info.first_column,
            layout.column_map + info.first_column,
            space + info.carried,
            space + info.kept,
            space + info.dropped,
            order,
            weight,
            probe,
            least_pivot};
  }
  Front world_front() const { return front(layout.link_count); }
  Front front_above(int i) const { return layout.link[i].parent < 0 ? world_front() : front(layout.link[i].parent); }
  // loops go on from the link through its joint; they sit on it or close at it, or ties of its children do
  bool pass(int i) const { return layout.front[i].outgoing > 0; }
  bool stop(int i) const { return layout.front[i].stops; }

  //---- rows ----

  // a new trajectory begins
  void enter() {
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = constraint(k);
      first_angles({layout, c, body, Clock{}}, old_rows[k]);
      for (int r = 0; r < c.row_count; ++r) weight[c.loop_row + r] = c.lengths >> r & 1u ? layout.span : 1;
      for (int r = 0; r < c.row_count; ++r) holds_own[c.loop_row + r] = c.acts();
    }
  }

  // at the node
  void place(const Clock& clock) {
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = constraint(k);
      rows_before({layout, c, body, clock}, old_rows[k]);
      if (c.tied) continue;
      for (int r = 0; r < c.row_count; ++r)
        scale[c.loop_row + r] = 1 / row_compliance(c, body, layout.link, old_rows[k], r);
      if (c.borrower >= 0) find_lent(c, old_rows[k]);
    }
  }
  void find_lent(const ConstraintInfo& c, const JointRows& rows) {
    const int lender = 1 - c.borrower;
    for (int r = 0; r < c.row_count; ++r)
      lent[c.loop_row + r] =
          c.lent / (compliance(body, layout.link, c.end[c.borrower], rows.w[c.borrower * c.row_count + r]) +
                    free_compliance(body, layout.link, c.end[lender], rows.w[lender * c.row_count + r]));
  }

  LawState law_state(const ConstraintInfo& c, const double* lambda, const double* momentum) const {
    return {lambda + c.loop_row, c.rows == RowKind::law ? momentum[c.item] : 0};
  }

  // rows and gaps at the iterate, but for those of ties; `again` if the matrix stays
  void find_rows(const Clock& clock, const double* lambda, const double* momentum, bool again) {
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = constraint(k);
      if (c.tied) continue;
      const LawState state = law_state(c, lambda, momentum);
      if (again)
        gaps_after({layout, c, body, clock}, old_rows[k], state, new_rows[k]);
      else
        rows_after({layout, c, body, clock}, old_rows[k], state, new_rows[k]);
      for (int r = 0; r < c.row_count; ++r) gap[c.loop_row + r] = new_rows[k].g[r];
      if (c.rows == RowKind::stop) holds_own[c.loop_row] = holds_multiplier({layout, c, body, clock});
    }
    if (!again) *least_pivot = 1;
    for (int i = 0; i <= layout.link_count; ++i) {
      if (layout.front[i].columns == 0 || layout.front[i].shares) continue;
      if (again)
        front(i).clear_gaps();
      else
        front(i).clear();
    }
  }

  // the widest gap at the iterate, and whose it is; likewise of what is not asked for
  void find_gap(const Clock& clock, double span, double& widest, int& whose, LoopMismatch& mismatch) {
    widest = 0;
    mismatch = {};
    if (layout.inactive_count > 0) note_inactive(layout, body, clock, mismatch);
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = constraint(k);
      if (holds_multiplier({layout, c, body, clock})) continue;
      if (c.tied) {
        note_gap(c, layout.loop[k], gap + c.loop_row, span, widest, whose);
        continue;
      }
      mismatch.note(gaps_after({layout, c, body, clock}, old_rows[k], {}, new_rows[k]), c.joint);
      if (layout.redundant == 0) note_gap(c, layout.loop[k], new_rows[k].g, span, widest, whose);
      for (int r = 0; r < c.row_count && layout.redundant > 0; ++r) gap[c.loop_row + r] = new_rows[k].g[r];
    }
    if (layout.redundant == 0) return;
    for (int r = 0; r < layout.loop_row_count; ++r)
      if (holds_own[r]) gap[r] = 0;
    split_gaps();
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = constraint(k);
      if (holds_own[c.loop_row] || c.tied) continue;
      note_gap(c, layout.loop[k], gap + c.loop_row, span, widest, whose);
      for (int r = 0; r < c.row_count; ++r)
        mismatch.note(std::fabs(loop_mismatch[c.loop_row + r]) / weight[c.loop_row + r], c.joint);
    }
  }
  // `gap` into the part along active directions and `loop_mismatch`, along the directions of the last matrix
  void split_gaps() {
    for (int i = 0; i <= layout.link_count; ++i)
      if (layout.front[i].columns > layout.front[i].outgoing) front(i).split(gap, loop_mismatch);
  }

  //---- from leaf to root ----

  // loops whose joint sits on the link: multipliers act on it, its motion moves their gap; and loops that close here
  void close(Articulation<double>& m, int i, const double* lambda) const {
    const Front columns = front(i);
    each_row(i, [&](int at, int row, const Wrench<double>& n, const Wrench<double>& o) __attribute__((always_inline)) {
      const double column[12] = {-n.f.x, -n.f.y, -n.f.z, -n.t.x, -n.t.y, -n.t.z,
                                 o.f.x,  o.f.y,  o.f.z,  o.t.x,  o.t.y,  o.t.z};
      for (int r = 0; r < 12; ++r) columns.q(r)[at] += column[r];
      act(m, lambda[row], n);
    });
    if (layout.lends) lend(m, i);
    columns.close(m, gap, holds_own, scale);
  }
  void lend(Articulation<double>& m, int i) const {
    each_lent(i, [&](int, double w, const Wrench<double>& n, const Wrench<double>& o) {
      subtract_outer(m.A, -w * n.f, o.f);
      subtract_outer(m.B, -w * n.f, o.t);
      subtract_outer(m.C, -w * n.t, o.f);
      subtract_outer(m.E, -w * n.t, o.t);
    });
    borrow(m, i);
  }
  void borrow(Wrench<double>& m, int i) const {
    each_lent(i, [&](int row, double w, const Wrench<double>& n, const Wrench<double>&) {
      if (w > 0) act(m, -w * gap[row], n);
    });
  }
  // inertia that the link borrows, or lends if it is negative
  template <class F>
  void each_lent(int i, F&& f) const {
    const FrontInfo& info = layout.front[i];
    for (int e = 0; e < info.end_count; ++e) {
      const LoopEnd& end = layout.end[info.first_end + e];
      const ConstraintInfo& c = constraint(end.loop);
      const int first = end.end * c.row_count;
      for (int k = 0; k < c.row_count && c.borrower >= 0; ++k)
        f(c.loop_row + k, c.borrower == end.end ? lent[c.loop_row + k] : -lent[c.loop_row + k],
          old_rows[end.loop].w[first + k], new_rows[end.loop].w[first + k]);
    }
  }
  // the loops that sit on the link, row by row: f(column, loop row, wrench at the node, wrench at the iterate)
  template <class F>
  CATENA_INLINE void each_row(int i, F&& f) const {
    const FrontInfo& info = layout.front[i];
    for (int e = 0; e < info.end_count; ++e) {
      const LoopEnd& end = layout.end[info.first_end + e];
      const ConstraintInfo& c = constraint(end.loop);
      const int first = end.end * c.row_count;
      for (int k = 0; k < c.row_count; ++k)
        f(end.column + k, c.loop_row + k, old_rows[end.loop].w[first + k], new_rows[end.loop].w[first + k]);
    }
  }
  // what the multipliers do to the link
  void act(Wrench<double>& m, int i, const double* lambda) const {
    each_row(i, [&](int, int row, const Wrench<double>& n, const Wrench<double>&)
                    __attribute__((always_inline)) { act(m, lambda[row], n); });
  }
  static CATENA_INLINE void act(Wrench<double>& m, double lambda, const Wrench<double>& n) {
    m.f -= lambda * n.f;
    m.t -= lambda * n.t;
  }

  // through the link's joint, which has been eliminated: axes or a swivel, which may have a rotary damper; c and r as
  // in Link
  template <int manner, bool acted>
  void send(int i, const Axis<double>* x, const Swivel<double>* turned, const Torsion<double>* twisted,
            const Vec3<double>& c, const Vec3<double>& c3, const Vec3<double>& r, const Vec3<double>& r3) const {
    if (!pass(i)) return;
    if constexpr (manner < swivel_manner)
      front(i).pass<manner>(x, r, r3, front_above(i));
    else if constexpr (manner == swivel_manner)
      front(i).pass<acted>(*turned, twisted, c, c3, r, r3, front_above(i));
    else
      front(i).pass(*turned, front_above(i));
  }
  void close_world(Articulation<double>& none) const { world_front().close(none, gap, holds_own, scale); }

  // the same with the matrix at hand
  void close_again(Wrench<double>& m, int i, const double* lambda) const {
    act(m, i, lambda);
    if (layout.lends) borrow(m, i);
    front(i).close_again(m, gap);
  }
  template <int manner>
  void send_again(int i, const Axis<double>* x, const Swivel<double>* turned) const {
    if (!pass(i)) return;
    double first[6];
    if constexpr (manner >= swivel_manner) store3(first, turned->first);
    if constexpr (manner == floating_manner) store3(first + 3, turned->shift_first);
    for (int k = 0; k < manner && manner < swivel_manner; ++k) first[k] = x[k].first;
    constexpr int freedoms = manner < swivel_manner ? manner : manner == swivel_manner ? 3 : 6;
    front(i).pass_again<freedoms>(first, front_above(i));
  }
  void close_world_again(Wrench<double>& none) const { world_front().close_again(none, gap); }

  //---- from root to leaf ----

  // multipliers of the loops that close at a link, once its motion is known
  void open(int i, Vec3<double> dx, Vec3<double> phi, double* lambda) const {
    if (layout.front[i].columns > layout.front[i].outgoing) front(i).open(dx, phi, lambda);
  }
  // all motions are known: multipliers as they are in the balance of the lenders
  void settle(double* lambda) const {
    for (int i = 0; i < layout.link_count && layout.lends; ++i)
      each_lent(i, [&](int row, double w, const Wrench<double>&, const Wrench<double>& o) {
        if (w < 0) lambda[row] -= w * (dot(o.f, body[i].dx) + dot(o.t, body[i].phi));
      });
  }
};

}  // namespace catena::CATENA_ISA
