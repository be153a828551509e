// All loops of a mechanism in the articulated solver: their rows at the node and at the iterate, the links they sit on,
// and the way of their columns from link to link (solve/loop.hpp says what a link carries of them).
//
// Multipliers of the loop rows are the last of the solver's unknowns; `lambda` points to the first of them.
#pragma once

#include "physics/constraint.hpp"
#include "solve/articulation.hpp"
#include "solve/loop.hpp"

namespace catena::CATENA_ISA {

template <class T>
struct Loops {
  const Layout& layout;
  const Body<T>* body;
  JointRows *old_rows, *new_rows;  // (loop) at the node and at the iterate
  T *gap, *row_scale;              // (loop row); the root of its compliance
  T* space;                        // of the columns of all links
  int* order;

  const ConstraintInfo& constraint(int k) const { return layout.constraint[layout.loop[k]]; }
  Front<T> front(int i) const {
    const FrontInfo& info = layout.front[i];
    return {info, layout.column_row + info.first_column, space + info.offset, order};
  }
  Front<T> world_front() const { return front(layout.link_count); }
  Front<T> front_above(int i) const { return layout.link[i].parent < 0 ? world_front() : front(layout.link[i].parent); }
  // loops go on from the link through its joint
  bool pass(int i) const { return layout.front[i].outgoing > 0; }

  //---- rows ----

  // a new trajectory begins
  void enter() {
    for (int k = 0; k < layout.loop_count; ++k) first_angles(layout, constraint(k), body, old_rows[k]);
  }

  // at the node
  void place(const Clock& clock) {
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = constraint(k);
      rows_before(layout, c, body, clock, old_rows[k]);
      for (int r = 0; r < c.row_count; ++r)
        row_scale[c.loop_row + r] = row_compliance(c, body, layout.link, old_rows[k], r);
    }
  }

  LawState law_state(const ConstraintInfo& c, const T* lambda, const double* momentum) const {
    if (c.law < 0) return {};
    const double scale = row_scale[c.loop_row];
    return {lambda[c.loop_row], momentum[c.law], scale * scale};
  }

  // rows and gaps at the iterate; `again` if the matrix stays
  void find_rows(const Clock& clock, const T* lambda, const double* momentum, bool again) {
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = constraint(k);
      rows_after(layout, c, body, clock, old_rows[k], law_state(c, lambda, momentum), new_rows[k]);
      for (int r = 0; r < c.row_count; ++r) gap[c.loop_row + r] = new_rows[k].g[r];
    }
    for (int i = 0; i <= layout.link_count; ++i) {
      if (layout.front[i].columns == 0 || layout.front[i].received) continue;
      if (again)
        front(i).clear_gaps(gap);
      else
        front(i).clear(gap, layout.is_law_row);
    }
  }

  // the widest gap at the iterate, and whose it is
  void find_gap(const Clock& clock, double reach, double& widest, int& whose) {
    widest = 0;
    for (int k = 0; k < layout.loop_count; ++k) {
      const ConstraintInfo& c = constraint(k);
      if (c.law >= 0) continue;
      rows_after(layout, c, body, clock, old_rows[k], {}, new_rows[k]);
      note_gap(c, layout.loop[k], new_rows[k], reach, widest, whose);
    }
  }

  //---- from leaf to root ----

  // loops whose joint sits on the link: multipliers act on it, its motion moves their gap; and loops that close here
  void close(Articulation<T>& m, int i, const T* lambda) const {
    const Front<T> columns = front(i);
    if (columns.info.columns == 0) return;
    for (int e = 0; e < columns.info.end_count; ++e) {
      const LoopEnd& end = layout.end[columns.info.first_end + e];
      const ConstraintInfo& c = constraint(end.loop);
      for (int k = 0; k < c.row_count; ++k) {
        const Wrench<T> n = old_rows[end.loop].w[end.end * c.row_count + k];
        const Wrench<T> o = new_rows[end.loop].w[end.end * c.row_count + k];
        const T column[12] = {-n.f.x, -n.f.y, -n.f.z, -n.t.x, -n.t.y, -n.t.z, o.f.x, o.f.y, o.f.z, o.t.x, o.t.y, o.t.z};
        for (int row = 0; row < 12; ++row) columns.q(row)[end.column + k] += column[row];
      }
    }
    act(m, i, lambda);
    columns.close(m.A, m.B, m.C, m.E, m.f, m.t, row_scale);
  }
  // what the multipliers do to the link
  void act(Wrench<T>& m, int i, const T* lambda) const {
    for (int e = 0; e < layout.front[i].end_count; ++e) {
      const LoopEnd& end = layout.end[layout.front[i].first_end + e];
      const ConstraintInfo& c = constraint(end.loop);
      for (int k = 0; k < c.row_count; ++k) {
        const Wrench<T>& n = old_rows[end.loop].w[end.end * c.row_count + k];
        m.f -= lambda[c.loop_row + k] * n.f;
        m.t -= lambda[c.loop_row + k] * n.t;
      }
    }
  }
  void send(int i, Vec3<T> r, Vec3<T> r3, bool force_only) const {
    const Front<T> columns = front(i);
    if (layout.link[i].parent >= 0) columns.shift(r, r3, force_only);
    columns.send(front_above(i), layout.column_map + columns.info.first_column);
  }
  void close_world() const {
    Articulation<T> m;
    m.A = m.B = m.C = m.E = diagonal(T(0));
    m.f = m.t = {T(0), T(0), T(0)};
    world_front().close(m.A, m.B, m.C, m.E, m.f, m.t, row_scale);
  }

  // the same with the matrix at hand
  void close_again(Wrench<T>& m, int i, const T* lambda) const {
    if (layout.front[i].columns == 0) return;
    act(m, i, lambda);
    front(i).close_again(m.f, m.t);
  }
  void send_again(int i) const {
    front(i).send_again(front_above(i), layout.column_map + layout.front[i].first_column);
  }
  void close_world_again() const {
    Vec3<T> f = {T(0), T(0), T(0)}, t = f;
    world_front().close_again(f, t);
  }

  //---- from root to leaf ----

  // multipliers of the loops that close at a link, once its motion is known
  void open_world(T* lambda) const { world_front().open({T(0), T(0), T(0)}, {T(0), T(0), T(0)}, lambda); }
  void open(int i, Vec3<T> dx, Vec3<T> phi, T* lambda) const {
    if (layout.front[i].columns > layout.front[i].outgoing) front(i).open(dx, phi, lambda);
  }
};

}  // namespace catena::CATENA_ISA
