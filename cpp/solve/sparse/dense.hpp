// The paper's reference: the same matrix as a dense one, factored entry by entry (its Algorithms 1 and 2), O(n^3).
//
// Bodies come first and constraints last, so that no pivot is zero. Nothing here knows of the graph: the tests hold the
// sparse solvers to it.
#pragma once

#include "solve/sparse/ldu.hpp"

namespace catena::CATENA_ISA {

struct Dense {
  const Layout& layout;
  Body<double>* body;
  Ldu sparse;
  Clock clock;
  const double* momentum;
  double span;  // a length that lengths of gaps are measured by
  double widest_gap;
  int widest_constraint;
  LoopMismatch loop_mismatch;
  double* first;   // (size) the solution before refinement
  double* matrix;  // (size, size) by rows; also what the linearisation hands out
  double *z, *dz;
  bool positive = true;  // so was the last determinant

  static constexpr double caution = Ldu::caution;
  static constexpr int guess_points = Ldu::guess_points, violent_guess_points = Ldu::violent_guess_points;
  static int motion_count(const Layout& layout) { return Ldu::motion_count(layout); }
  static int unknown_count(const Layout& layout) { return Ldu::unknown_count(layout); }
  int touch_row(const ConstraintInfo& c) const { return sparse.touch_row(c); }

  void enter() { sparse.enter(); }
  void place() {
    sparse.clock = clock;
    sparse.place();
  }
  void rest() { evaluate(); }
  bool evaluate() {
    sparse.z = z;
    return sparse.evaluate();
  }
  void find_gap() {
    sparse.clock = clock;
    sparse.span = span;
    sparse.find_gap();
    widest_gap = sparse.widest_gap;
    widest_constraint = sparse.widest_constraint;
    loop_mismatch = sparse.loop_mismatch;
  }
  double smallest() const { return smallest_pivot; }
  void commit(double dt) { sparse.commit(dt); }
  RowMemory& rows_of(const ConstraintInfo& c) { return sparse.rows_of(c); }
  static int memory_count(const Layout& layout) { return Ldu::memory_count(layout); }
  RowMemory* memories() { return sparse.memories(); }
  static constexpr bool acts_on_axes = false;
  double row_multiplier(int l, const double* unknowns) const {
    return unknowns[6 * layout.link_count + layout.constraint[layout.law[l].constraint].row];
  }
  double multiplier_of(int l) const { return row_multiplier(l, z); }
  template <class F>
  void visit_state(F&& visit) {
    sparse.visit_state(visit);
  }
  void multipliers(double scale, double* out) const { sparse.multipliers(scale, out); }

  // scatter the blocks; dz receives the residual
  void assemble() {
    const Offset size = unknown_count(layout);
    sparse.z = z;
    sparse.dz = dz;
    sparse.clock = clock;
    sparse.momentum = momentum;
    sparse.assemble();
    for (Offset e = 0; e < size * size; ++e) matrix[e] = 0;
    for (int k = 0; k < layout.vertex_count; ++k) {
      const LduVertex& vertex = layout.vertex[k];
      const auto scatter = [&](const LduVertex& row, const LduVertex& column, int block) {
        for (int i = 0; i < row.size; ++i)
          for (int j = 0; j < column.size; ++j)
            matrix[(row.unknown + i) * size + column.unknown + j] = at(sparse.block[block + i], entry_of(j));
      };
      scatter(vertex, vertex, vertex.diagonal);
      for (int i = 0; i < vertex.neighbour_count; ++i) {
        const LduNeighbour& n = layout.neighbour[vertex.first_neighbour + i];
        scatter(vertex, layout.vertex[n.vertex], n.upper);
        scatter(layout.vertex[n.vertex], vertex, n.lower);
      }
      for (int e = 0; e < vertex.size; ++e) dz[vertex.unknown + e] = at(sparse.block[vertex.diagonal + e], extra_entry);
    }
    if (layout.loop_count == 0) return;
    for (Offset r = 0; r < layout.row_count; ++r) matrix[(6 * layout.link_count + r) * (size + 1)] += proximal(r);
  }

  // Scalar pivots cannot drop what is redundant: here a small term on the diagonal keeps them from zero, and one
  // refinement, whose right-hand side is that term times the solution, takes its effect back.
  double proximal(Offset row) const { return smallest_pivot * sparse.row_scale[row] * sparse.row_scale[row]; }

  // row by row instead of the paper's border by border: the same L, D and U, read along the cache
  bool factor() {
    const Offset size = unknown_count(layout);
    bool fine = true;
    int sign = 1;
    for (Offset p = 0; p < size; ++p) {
      const double* pivot_row = matrix + p * size;
      const double pivot = pivot_row[p];
      fine &= std::fabs(pivot) > 0;
      if (pivot < 0) sign = -sign;
      for (Offset r = p + 1; r < size; ++r) {
        double* row = matrix + r * size;
        const double factor = row[p] /= pivot;
        for (Offset c = p + 1; c < size; ++c) row[c] -= factor * pivot_row[c];
      }
    }
    positive = fine && (sign > 0 || layout.loop_count > 0 || clock.rubs);
    return positive || (fine && !clock.resting);
  }

  void solve() {
    const Offset size = unknown_count(layout);
    for (Offset r = 0; r < size; ++r)
      for (Offset c = 0; c < r; ++c) dz[r] -= matrix[r * size + c] * dz[c];
    for (Offset r = size - 1; r >= 0; --r) {
      for (Offset c = r + 1; c < size; ++c) dz[r] -= matrix[r * size + c] * dz[c];
      dz[r] /= matrix[r * size + r];
    }
    for (Offset r = 0; r < size; ++r) dz[r] = -dz[r];
  }

  bool direction() {
    assemble();
    if (!factor()) return false;
    solve();
    if (layout.loop_count > 0) {
      const int size = unknown_count(layout);
      for (int k = 0; k < size; ++k) {
        first[k] = dz[k];
        dz[k] = k < 6 * layout.link_count ? 0 : -proximal(k - 6 * layout.link_count) * dz[k];
      }
      solve();
      for (int k = 0; k < size; ++k) dz[k] += first[k];
    }
    for (int i = 0; i < layout.link_count; ++i) sparse.take_increment(i, load3(dz + 6 * i), load3(dz + 6 * i + 3));
    return true;
  }
};

}  // namespace catena::CATENA_ISA
