// Loops of several members in lockstep: multipliers by the responses of the open tree.
//
// With K the matrix of the tree's step (lanes/lane_tree.hpp), G2 and G3 the rows of the closing joints at the node and
// at the iterate, an increment solves
//
//     K d - G2^T dl = -residual,   G3 d = -gap:   d = d0 + sum_r dl_r d_r,   K d0 = -residual,   K d_r = G2_r^T,
//
// so that S dl = -gap - G3 d0 with S = G3 d_r, a few numbers by a few. Each response is a sweep over the tree with its
// factors at hand: for a few rows that is less than columns carried from link to link (solve/loop.hpp), and lanes share
// it. S is inverted in the order of its rows: a lane in which a pivot is small against its row is near a singular pose,
// and left to the solver that looks for the order.
#pragma once

#include "lanes/lane_tree.hpp"
#include "physics/rows/constraint.hpp"

namespace catena::CATENA_ISA {

struct LaneLoops {
  using T = Lane;
  static constexpr int most_rows = 8;
  static constexpr double small_pivot = 1e-3;  // parts of what the row moves on free bodies

  const Layout& layout;
  LaneTree& tree;
  Wrench<T>* reaction;                   // (link) of the multipliers, on the links they sit on
  Wrench<T> before[2 * most_rows] = {};  // (row, end) rows at the node
  Wrench<T> after[2 * most_rows] = {};   // and at the iterate of the last matrix
  T gap[most_rows] = {}, lambda[most_rows] = {};
  T S[most_rows][most_rows] = {};  // its factors: unit lower, pivots, unit upper
  T loop_mismatch = T(0);          // of inactive rows

  int count() const { return layout.loop_row_count; }

  static bool is_plain(const Layout& layout, const ConstraintInfo& c) {
    const ConstraintInfo& whole = whole_of(layout, c);
    return whole.rows == RowKind::joint && joint_form[static_cast<int>(whole.kind)].extra == ExtraRow::none;
  }
  static bool can_run(const Layout& layout) {
    bool fine = layout.loop_row_count <= most_rows && layout.redundant == 0 && !layout.lends;
    for (int k = 0; k < layout.loop_count; ++k) fine &= is_plain(layout, layout.constraint[layout.loop[k]]);
    for (int k = 0; k < layout.inactive_count; ++k) fine &= is_plain(layout, layout.inactive[k]);
    // trees that only loops tie together share what keeps their momentum
    for (int i = 0; i < layout.link_count; i = layout.link[i].tree_end)
      fine &= layout.link[i].keeper == i || layout.link[i].keeper < 0;
    return fine;
  }

  Pose<T> pose(int i, bool moved) const {
    const Vec3<T> zero = {T(0), T(0), T(0)};
    if (i < 0) return {zero, diagonal(T(1))};
    const Body<T>& b = tree.body[i];
    if (!moved) return {b.x, b.R};
    const Mat3<T> turn = turn_matrix(b.w);
    return {b.x + b.d, {b.R.i + turn * b.R.i, b.R.j + turn * b.R.j, b.R.k + turn * b.R.k}};
  }

  // what joint_rows puts
  struct Rows {
    T gap[6];
    Wrench<T> on[2][6];
    Vec3<T> point;
    CATENA_INLINE void put(const ConstraintInfo&, int k, T open, const Wrench<T>& on_a, const Wrench<T>& on_b,
                           const Wrench<T>&) {
      gap[k] = open;
      on[0][k] = on_a;
      on[1][k] = on_b;
    }
  };
  // rows that are asked of a constraint, in the poses before or after the step; what of its gaps is not, is noted
  void find(const ConstraintInfo& c, bool moved, Rows& rows) {
    const ConstraintInfo& whole = whole_of(layout, c);
    const JointForm& form = joint_form[static_cast<int>(whole.kind)];
    const Pose<T> a = pose(c.end[0], moved), b = pose(c.end[1], moved);
    if (c.rows != RowKind::combination) {
      plain_rows<T>(form, whole, a, b, rows);
      return;
    }
    Rows all;
    plain_rows<T>(form, whole, a, b, all);
    const ReductionInfo& reduction = layout.reduction[c.item];
    const int n = whole.row_count;
    T rest[6];
    for (int r = 0; r < n; ++r) rest[r] = all.gap[r] / T(reduction.weight[r]);
    for (int k = 0; k < c.row_count; ++k) {
      const Wrench<T> none = {LaneTree::zero(), LaneTree::zero()};
      rows.gap[k] = T(0);
      rows.on[0][k] = rows.on[1][k] = none;
      for (int r = 0; r < n; ++r) {
        const T factor = T(reduction.combination[k * n + r]);
        rows.gap[k] += factor * all.gap[r];
        for (int e = 0; e < 2; ++e) {
          rows.on[e][k].f += factor * all.on[e][r].f;
          rows.on[e][k].t += factor * all.on[e][r].t;
        }
      }
      for (int r = 0; r < n; ++r) rest[r] -= rows.gap[k] * T(reduction.combination[k * n + r] * reduction.weight[r]);
    }
    T square = T(0);
    for (int r = 0; r < n; ++r) square += rest[r] * rest[r];
    const T open = sqrt(square);
    loop_mismatch = choose(open > loop_mismatch, open, loop_mismatch);
  }
  template <class F>
  void each(bool moved, F&& use) {
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = layout.constraint[layout.loop[k]];
      Rows rows;
      find(c, moved, rows);
      for (int r = 0; r < c.row_count; ++r) use(c, c.loop_row + r, rows, r);
    }
  }

  // at the node
  void place() {
    each(false, [&](const ConstraintInfo&, int row, const Rows& rows, int r) {
      for (int e = 0; e < 2; ++e) before[2 * row + e] = rows.on[e][r];
    });
  }
  // a new step; multipliers begin at zero, for it is linear in them
  void begin() {
    for (int r = 0; r < count(); ++r) lambda[r] = T(0);
    lay();
  }
  // the multipliers on the links
  void lay() {
    const Wrench<T> none = {LaneTree::zero(), LaneTree::zero()};
    for (int i = 0; i < layout.link_count; ++i) reaction[i] = none;
    for (int r = 0; r < count(); ++r) add(r, lambda[r]);
  }
  void add(int r, T by) {
    const ConstraintInfo& c = closing(r);
    for (int e = 0; e < 2; ++e) {
      if (c.end[e] < 0) continue;
      reaction[c.end[e]].f -= by * before[2 * r + e].f;
      reaction[c.end[e]].t -= by * before[2 * r + e].t;
    }
  }
  const ConstraintInfo& closing(int row) const {
    int k = layout.loop_count - 1;
    while (layout.constraint[layout.loop[k]].loop_row > row) --k;
    return layout.constraint[layout.loop[k]];
  }

  // rows at the iterate, or its gaps alone; in a projection of velocities there are none
  void look(bool rows_too) {
    loop_mismatch = T(0);
    if (tree.resting) {
      for (int r = 0; r < 2 * count(); ++r) after[r] = before[r];
      for (int r = 0; r < count(); ++r) gap[r] = T(0);
      return;
    }
    each(true, [&](const ConstraintInfo&, int row, const Rows& rows, int r) {
      gap[row] = rows.gap[r];
      for (int e = 0; e < 2 && rows_too; ++e) after[2 * row + e] = rows.on[e][r];
    });
  }
  // the widest gap at the iterate, lengths over the span, and the mismatch of inactive rows
  T widest() {
    T open = T(0);
    loop_mismatch = T(0);
    each(true, [&](const ConstraintInfo& c, int, const Rows& rows, int r) {
      const T by = T(c.lengths >> r & 1u ? 1 / layout.span : 1);
      const T size = by * choose(rows.gap[r] > T(0), rows.gap[r], -rows.gap[r]);
      // NaN is wide
      open = choose(size < open, open, size);
    });
    for (int k = 0; k < layout.inactive_count; ++k) {
      Rows rows;
      find(layout.inactive[k], true, rows);
    }
    return open;
  }

  // what row r sees of the increments of the bodies
  T seen(int r) const {
    const ConstraintInfo& c = closing(r);
    T sum = T(0);
    for (int e = 0; e < 2; ++e) {
      if (c.end[e] < 0) continue;
      const Body<T>& b = tree.body[c.end[e]];
      sum += dot(after[2 * r + e].f, b.dx) + dot(after[2 * r + e].t, b.phi);
    }
    return sum;
  }
  // what a unit of its multiplier moves a row on free bodies
  T compliance_of(int r) const {
    const ConstraintInfo& c = closing(r);
    T sum = T(0);
    for (int e = 0; e < 2; ++e) {
      const int i = c.end[e];
      if (i < 0) continue;
      const Mat3<T>& J = tree.body[i].J;
      const Wrench<T>& w = before[2 * r + e];
      const LinkInfo& info = layout.link[i];
      if (info.mass == 0)
        sum += norm2(w.f) / T(info.like_mass) + T(3) * norm2(w.t) / T(info.like_trace);
      else
        sum += norm2(w.f) / tree.link[i].mass + T(3) * norm2(w.t) / (J.i.x + J.j.y + J.k.z);
    }
    return sum;
  }

  // the tree has been factored: responses to all rows, and the factors of S; not positive in lanes near singular poses
  T factor() {
    T fine = T(1);
    for (int r = 0; r < count(); ++r) {
      const Wrench<T> none = {LaneTree::zero(), LaneTree::zero()};
      for (int i = 0; i < layout.link_count; ++i) reaction[i] = none;
      add(r, T(1));
      tree.respond(reaction);
      for (int k = 0; k < count(); ++k) S[k][r] = seen(k);
    }
    for (int p = 0; p < count(); ++p) {
      LaneTree::require(fine, S[p][p] - T(small_pivot) * compliance_of(p));
      const T inverse = T(1) / S[p][p];
      for (int k = p + 1; k < count(); ++k) {
        const T factor = S[k][p] * inverse;
        S[k][p] = factor;
        for (int c = p + 1; c < count(); ++c) S[k][c] -= factor * S[p][c];
      }
    }
    lay();
    return fine;
  }
  // the open tree's increment is in the bodies: what the multipliers must change by, in lanes that are moving
  void correct(Lane::Mask moving) {
    T right[most_rows];
    for (int r = 0; r < count(); ++r) right[r] = -(gap[r] + seen(r));
    for (int p = 0; p < count(); ++p)
      for (int k = p + 1; k < count(); ++k) right[k] -= S[k][p] * right[p];
    for (int p = count() - 1; p >= 0; --p) {
      for (int c = p + 1; c < count(); ++c) right[p] -= S[p][c] * right[c];
      right[p] = right[p] / S[p][p];
      lambda[p] = choose(moving, lambda[p] + right[p], lambda[p]);
    }
    lay();
  }
  // the open tree's increment is known: multipliers follow, and what the increment that goes with them needs
  void close(Lane::Mask moving) {
    tree.substitute();
    correct(moving);
    tree.again();
  }
};

}  // namespace catena::CATENA_ISA
