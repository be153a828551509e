// The paper's solver: bodies and constraints as vertices of a sparse block LDU (its Algorithms 3 and 4), any graph.
//
// Unknowns are the displacement and step quaternion of every body and the multipliers of every constraint row.
// Newton's matrix, in metres and radians of the new pose and in multipliers times dt^2, is
//
//     [ D    -G2^T ]      D = diag(m I, H),   G2 the rows at the old pose (force directions),
//     [ G3    0    ]                          G3 at the new one (the constraint itself),
//
// symmetric in pattern only. Nodes are eliminated in the order of the layout: no constraint before a body it acts on.
// To eliminate a vertex is to solve for X_j = D^-1 U_j and y = D^-1 r, r its residual, and to subtract L_i X_j and L_i
// y from what its later neighbours i hold; its unknowns then are -(y + sum X_j x_j). Residuals are the extra entry of
// the rows of diagonal blocks, and y that of X_j, so that they take part in every row operation for nothing.
//
// A massless body's D is singular by itself. What holds it is therefore added to the balance of the bodies it acts on,
//
//     D + G2^T W G3,   residual + G2^T W g,   of the rows G of all its joints,
//
// which leaves the solution as it is, because G3 d = -g, and makes D as good as any if no free motion moves nothing but
// massless bodies; W is one over the rows' compliance. Two bodies that a massless one joins then touch each other.
//
// The blocks -G2^T are constant during a step. X_0 takes the place of D, every other X_j that of U_j.
#pragma once

#include "physics/body.hpp"
#include "physics/drag.hpp"
#include "physics/rows/constraint.hpp"
#include "solve/sparse/block_elimination.hpp"

namespace catena::CATENA_ISA {

// rows of a joint, straight into its blocks
struct JointBlocks {
  BlockRow *on_a, *on_b, *diagonal;
  double angle[1];
  Vec3<double> point;
  CATENA_INLINE void put(const ConstraintInfo&, int k, double gap, const Wrench<double>& a, const Wrench<double>& b,
                         const Wrench<double>&) {
    on_a[k] = make_row(a.f, a.t);
    on_b[k] = make_row(b.f, b.t);
    diagonal[k] = make_row({0, 0, 0}, {0, 0, 0}, gap);
  }
};

struct Ldu {
  const Layout& layout;
  Body<double>* body;
  RowMemory* memory;       // (constraint) of the node
  double* row_scale;       // (row), square root of its compliance; for loops and braces only
  Clock clock;             // of the step to be solved
  const double* momentum;  // (law) of rotors, before it
  double span;             // a length that lengths of gaps are measured by
  double widest_gap;       // over the span or in rad
  int widest_constraint;
  LoopMismatch loop_mismatch;  // of the inactive rows of loops
  BlockRow* block;
  BlockRow* vector;  // (vertex) multipliers of the iterate, then the increment with a one in the extra entry
  double* z;         // unknowns: displacement and eta of every link, multipliers times dt^2
  double* dz;
  bool loaded = false;  // there are multipliers other than zero
  double loose_below = smallest_pivot;
  double least_pivot = 1;  // of what may be redundant, in the last matrix
  bool positive = true;    // so was its determinant

  // guesses that break the joints make kappa jump
  static constexpr double caution = 64;
  // earlier steps that the guess extrapolates; in violent motion more than two would break the joints so far that
  // Newton finds another solution
  static constexpr int guess_points = 4, violent_guess_points = 2;
  static int motion_count(const Layout& layout) { return 6 * layout.link_count; }
  static int unknown_count(const Layout& layout) { return 6 * layout.link_count + layout.row_count; }
  int touch_row(const ConstraintInfo& c) const { return 6 * layout.link_count + c.row; }

  void enter() {
    for (int j = 0; j < layout.constraint_count; ++j)
      first_angles({layout, layout.constraint[j], body, clock}, memory[j]);
  }

  void place() {
    for (int i = 0; i < layout.link_count; ++i) place_body(body[i], layout.link[i]);
    for (int j = 0; j < layout.constraint_count; ++j) {
      const ConstraintInfo& c = layout.constraint[j];
      const LduSlot* slot = layout.slot + layout.first_slot[j];
      JointRows rows;
      static_cast<RowMemory&>(rows) = memory[j];
      rows_before({layout, c, body, clock}, rows);
      memory[j] = rows;
      for (int k = 0; k < c.row_count && (layout.loop_count > 0 || layout.braced); ++k)
        row_scale[c.row + k] = row_compliance(c, body, layout.link, rows, k);
      for (int e = 0; e < c.end_count; ++e)
        if (c.end[e] >= 0) keep_forces(block + slot[e].kept, rows.w + e * c.row_count, c.row_count, slot[e].repeat);
    }
  }
  // -G2^T from the rows of G2
  static CATENA_INLINE void keep_forces(BlockRow* kept, const Wrench<double>* w, int count, bool repeat) {
    const Wrench<double> none = {{0, 0, 0}, {0, 0, 0}};
    const auto row = [&](int k) { return k < count ? w[k] : none; };
    const auto transposed = [](const Wrench<double>& a, const Wrench<double>& b, const Wrench<double>& c,
                               Mat3<double>& f, Mat3<double>& t) {
      f = transpose(Mat3<double>{-a.f, -b.f, -c.f});
      t = transpose(Mat3<double>{-a.t, -b.t, -c.t});
    };
    Mat3<double> f, t, g, s;
    transposed(row(0), row(1), row(2), f, t);
    transposed(row(3), row(4), row(5), g, s);
    const BlockRow forces[6] = {make_row(f.i, g.i), make_row(f.j, g.j), make_row(f.k, g.k),
                                make_row(t.i, s.i), make_row(t.j, s.j), make_row(t.k, s.k)};
    each<0, 6>(CATENA_EACH(i) { kept[i] = repeat ? plus(kept[i], forces[i]) : forces[i]; });
  }

  // where nothing moves, all unknowns being zero
  void rest() { evaluate(); }
  bool evaluate() {
    bool fine = true;
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = body[i];
      b.d = load3(z + 6 * i);
      b.w.v = load3(z + 6 * i + 3);
      b.w.w = std::sqrt(1.0 - norm2(b.w.v));
      fine &= b.w.w > 0;
    }
    const double* lambda = z + 6 * layout.link_count;
    loaded = false;
    for (int k = 0; k < layout.row_count; ++k) loaded |= lambda[k] != 0;
    for (int j = 0; j < layout.constraint_count && loaded; ++j) {
      const ConstraintInfo& c = layout.constraint[j];
      BlockRow& row = vector[layout.constraint_vertex[j]];
      row = BlockRow{};
      for (int k = 0; k < c.row_count; ++k) entries(row)[entry_of(k)] = lambda[c.row + k];
    }
    return fine;
  }

  // the widest of all joints at the iterate
  void find_gap() {
    widest_gap = 0;
    loop_mismatch = {};
    note_inactive(layout, body, clock, loop_mismatch);
    for (int j = 0; j < layout.constraint_count; ++j) {
      const ConstraintInfo& c = layout.constraint[j];
      if (holds_multiplier({layout, c, body, clock})) continue;
      JointRows rows;
      loop_mismatch.note(gaps_after({layout, c, body, clock}, memory[j], {}, rows), c.joint);
      note_gap(c, j, rows.g, span, widest_gap, widest_constraint);
    }
  }

  LawState law_state(const ConstraintInfo& c) const {
    return {z + 6 * layout.link_count + c.row, c.rows == RowKind::law ? momentum[c.item] : 0};
  }

  // residual and matrix at the iterate, as far as a vertex brings them
  CATENA_INLINE void assemble_vertex(int k) {
    const LduVertex& vertex = layout.vertex[k];
    if (vertex.is_body)
      assemble_body(vertex.index, block + vertex.diagonal);
    else
      assemble_constraint(vertex.index, block + vertex.diagonal);
  }
  CATENA_INLINE void assemble_body(int i, BlockRow* D) {
    const Body<double>& b = body[i];
    const LinkInfo& link = layout.link[i];
    const double m = link.mass;
    BlockRow r = plus(make_row(link.unit * force_residual(b, link.share), torque_residual(b)), load_on(i));
    Mat3<double> A = diagonal(m), H = turn_jacobian(b);
    if (layout.drag && !clock.resting) {
      const double* drag = layout.drag + 6L * i;
      const Wrench<double> w = drag_residual(b, drag, clock.dt);
      r = plus(r, make_row(w.f, w.t));
      A = A + drag_against_motion(b, drag, clock.dt);
      H = H + drag_against_turn(b, drag, clock.dt);
    }
    H = transpose(H);
    const Vec3<double> zero = {0, 0, 0};
    // A is symmetric
    D[0] = make_row(A.i, zero, at(r, 0));
    D[1] = make_row(A.j, zero, at(r, 1));
    D[2] = make_row(A.k, zero, at(r, 2));
    D[3] = make_row(zero, H.i, at(r, 4));
    D[4] = make_row(zero, H.j, at(r, 5));
    D[5] = make_row(zero, H.k, at(r, 6));
  }
  CATENA_INLINE void assemble_constraint(int j, BlockRow* D) {
    assemble_rows(j, D);
    if (layout.first_brace[j] >= 0) brace(j, D);
  }
  void brace(int j, const BlockRow* D) {
    const ConstraintInfo& c = layout.constraint[j];
    const LduSlot* slot = layout.slot + layout.first_slot[j];
    const auto counts = [&](int e) { return c.end[e] >= 0 && !slot[e].repeat; };
    for (int e = 0; e < c.end_count; ++e)
      for (int k = 0; counts(e) && k < c.row_count; ++k) {
        const double scale = row_scale[c.row + k], weight = scale > 0 ? 1 / (scale * scale) : 0;
        const int* own = layout.brace + layout.first_brace[j] + e * c.end_count;
        for (int i = 0; i < 6; ++i) {
          const double factor = weight * at(block[slot[e].kept + i], entry_of(k));
          subtract(block[own[e] + i], factor, D[k]);
          for (int f = 0; f < c.end_count; ++f)
            if (counts(f)) subtract(block[own[f] + i], factor, block[slot[f].motion + k]);
        }
      }
  }
  CATENA_INLINE void assemble_rows(int j, BlockRow* D) {
    const ConstraintInfo& c = layout.constraint[j];
    const LduSlot* slot = layout.slot + layout.first_slot[j];
    for (int e = 0; e < c.end_count; ++e)
      for (int i = 0; i < 6 && slot[e].kept != slot[e].force; ++i) block[slot[e].force + i] = block[slot[e].kept + i];
    if (c.rows == RowKind::joint) {
      BlockRow none[6];
      const auto rows_on = [&](int e) { return c.end[e] < 0 ? none : block + slot[e].motion; };
      JointBlocks rows{rows_on(0), rows_on(1), D, {}, {}};
      joint_rows(c, new_pose(body, c.end[0]), new_pose(body, c.end[1]), memory[j].angle[0], rows);
      return;
    }
    JointRows rows;
    rows_after({layout, c, body, clock}, memory[j], law_state(c), rows);
    const bool own = holds_multiplier({layout, c, body, clock});
    for (int k = 0; k < c.row_count; ++k) {
      const Vec3<double> own_rows = c.rows == RowKind::touch ? TouchRows::by_multipliers({layout, c, body, clock}, k)
                                    : own                    ? world_axis(k)
                                                             : Vec3<double>{0, 0, 0};
      D[k] = make_row(own_rows, {0, 0, 0}, rows.g[k]);
      for (int e = 0; e < c.end_count; ++e) {
        if (c.end[e] < 0) continue;
        const Wrench<double>& w = rows.w[e * c.row_count + k];
        BlockRow& row = block[slot[e].motion + k];
        row = slot[e].repeat ? plus(row, make_row(w.f, w.t)) : make_row(w.f, w.t);
      }
    }
  }
  void clear_fill() {
    for (int k = layout.first_fill; k < layout.end_fill; ++k) block[k] = BlockRow{};
  }
  void assemble() {
    clear_fill();
    for (int k = 0; k < layout.vertex_count; ++k) assemble_vertex(layout.arrival[k]);
  }
  // -G2^T lambda of all constraints on a link
  BlockRow load_on(int i) const {
    if (!loaded) return BlockRow{};
    BlockRow sum[6] = {};
    for (int l = layout.first_load[i]; l < layout.first_load[i + 1]; ++l) {
      const LduSlot& slot = layout.slot[layout.load[l]];
      for (int r = 0; r < 6; ++r) sum[r] = plus(sum[r], product(block[slot.kept + r], vector[slot.vertex]));
    }
    return sums(sum);
  }

  // Algorithms 3 and 4 for the vertex alone
  template <int Size>
  int eliminate_vertex(int k) {
    const LduVertex& vertex = layout.vertex[k];
    BlockRow* D = block + vertex.diagonal;
    const LduNeighbour* first = layout.neighbour + vertex.first_neighbour;
    const int* target = layout.target + vertex.first_target;
    const int count = vertex.neighbour_count;
    const bool loosely = !vertex.is_body && layout.loop_count > 0;
    const double* scale = row_scale + vertex.unknown - 6 * layout.link_count;
    alignas(64) double inverse[48];
    if (loosely) invert_loosely(Size, D, scale, loose_below, inverse, least_pivot);
    int sign = 1;
    for (int j = count > 0 ? count - 1 : 0; j >= 0; --j) {
      BlockRow X[Size];
      BlockRow* U = count > 0 ? block + first[j].upper : nullptr;
      if (loosely)
        eliminate_loosely<Size>(inverse, D, U, X);
      else
        sign = eliminate<Size>(D, U, X);
      for (int i = 0; i < count; ++i)
        subtract_product<Size>(block + target[i * count + j], block + first[i].lower, X, first[i].size);
      BlockRow* solved = j == 0 ? D : U;
      for (int r = 0; r < Size; ++r) solved[r] = X[r];
    }
    return sign;
  }
  // Nodes are assembled when they are first touched: a processor that looks ahead does so while it waits for pivots.
  bool eliminate_all() {
    clear_fill();
    least_pivot = 1;
    int sign = 1;
    for (int k = 0, arrived = 0; k < layout.vertex_count && sign != 0; ++k) {
      while (arrived < layout.vertex[k].arrivals) assemble_vertex(layout.arrival[arrived++]);
      for_size(layout.vertex[k].size, CATENA_EACH(size) { sign *= eliminate_vertex<size>(k); });
    }
    // Rows of loops have pivots of any sign.
    positive = sign > 0 || (sign != 0 && (layout.loop_count > 0 || clock.rubs));
    return positive || (sign != 0 && !clock.resting);
  }

  template <int Size>
  CATENA_INLINE void substitute_vertex(int k) {
    const LduVertex& vertex = layout.vertex[k];
    const LduNeighbour* first = layout.neighbour + vertex.first_neighbour;
    const BlockRow unit = make_row({0, 0, 0}, {0, 0, 0}, 1);
    const BlockRow x = vertex.neighbour_count > 0 ? vector[first->vertex] : unit;
    BlockRow sum[6] = {};
    each<0, Size>(CATENA_EACH(r) { sum[r] = product(block[vertex.diagonal + r], x); });
    for (int j = 1; j < vertex.neighbour_count; ++j) {
      const BlockRow more = with_extra(vector[first[j].vertex], BlockRow{});
      each<0, Size>(CATENA_EACH(r) { sum[r] = plus(sum[r], product(block[first[j].upper + r], more)); });
    }
    const BlockRow increment = minus(BlockRow{}, sums(sum));
    vector[k] = with_extra(increment, unit);
    if (vertex.is_body)
      take_increment(vertex.index, first_half(increment), second_half(increment));
    else
      each<0, Size>(CATENA_EACH(e) { dz[vertex.unknown + e] = at(increment, entry_of(e)); });
  }
  // from the last vertex to the first
  void substitute() {
    for (int k = layout.vertex_count - 1; k >= 0; --k)
      for_size(layout.vertex[k].size, CATENA_EACH(size) { substitute_vertex<size>(k); });
  }
  // of a body's new pose; that of eta follows
  CATENA_INLINE void take_increment(int i, Vec3<double> dx, Vec3<double> phi) {
    Body<double>& b = body[i];
    b.dx = dx;
    b.phi = phi;
    store3(dz + 6 * i, dx);
    store3(dz + 6 * i + 3, turn_increment(b.w, phi));
  }

  bool direction() {
    if (!eliminate_all()) return false;
    substitute();
    return true;
  }

  double smallest() const { return least_pivot; }

  void commit(double dt) {
    for (int i = 0; i < layout.link_count; ++i) commit_body(body[i], layout.link[i].share, 1 / dt);
    for (int i = 0; i < layout.link_count && layout.drag; ++i)
      drag_momenta(body[i], body[i].q, layout.drag + 6L * i, layout.link[i].unit, body[i].v, body[i].L);
    rotary_momenta(layout, body);
  }

  RowMemory& rows_of(const ConstraintInfo& c) { return memory[&c - layout.constraint]; }
  static int memory_count(const Layout& layout) { return layout.constraint_count; }
  RowMemory* memories() { return memory; }
  static constexpr bool acts_on_axes = false;
  double row_multiplier(int l, const double* unknowns) const {
    return unknowns[6 * layout.link_count + layout.constraint[layout.law[l].constraint].row];
  }
  double multiplier_of(int l) const { return row_multiplier(l, z); }

  // the state between steps; turns are counted on from wherever they are
  template <class F>
  void visit_state(F&& visit) {
    visit.each(body, layout.link_count, [](auto& to, Body<double>& b) { visit_body(to, b); });
  }

  void multipliers(double scale, double* out) const {
    for (int j = 0; j < layout.constraint_count; ++j) {
      const ConstraintInfo& c = layout.constraint[j];
      const double* lambda = z + 6 * layout.link_count + c.row;
      if (c.rows == RowKind::touch)
        record_touch(layout, clock.touch[layout.law[c.item].touch], scale, lambda, out);
      else
        record_multipliers(layout, c, scale, lambda, out);
    }
  }
};

}  // namespace catena::CATENA_ISA
