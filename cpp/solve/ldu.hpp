// The paper's solver: bodies and constraints as nodes of a sparse block LDU (its Algorithms 3 and 4), any graph.
//
// Unknowns are the displacement and step quaternion of every body and the multipliers of every constraint row.
// Newton's matrix, in metres and radians of the new pose and in multipliers times dt^2, is
//
//     [ D    -G2^T ]      D = diag(m I, H),   G2 the rows at the old pose (force directions),
//     [ G3    0    ]                          G3 at the new one (the constraint itself),
//
// symmetric in pattern only. Nodes are eliminated in the order of the layout: no constraint before a body it acts on.
// Blocks are rows of eight doubles, so that one row is one vector register on the newest machines; a product then needs
// no knowledge of the number of columns.
#pragma once

#include "physics/body.hpp"
#include "physics/constraint.hpp"
#include "solve/loop.hpp"

namespace catena::CATENA_ISA {

typedef double Row __attribute__((vector_size(64)));

// In place, by Gauss-Jordan; returns the sign of the determinant, 0 for a singular block. Blocks are nearly symmetric
// positive definite, but their skew part can swamp a small inertia, so rows are exchanged where a pivot has lost its
// size.
template <int Size>
CATENA_INLINE int invert(Row* m) {
  constexpr int size = Size;
  int swapped[6], sign = 1;
  bool any = false;
  double diagonal[6];
  for (int p = 0; p < size; ++p) diagonal[p] = std::fabs(m[p][p]);
  for (int p = 0; p < size; ++p) {
    int best = p;
    if (!(std::fabs(m[p][p]) > 1e-2 * diagonal[p])) {
      for (int r = p + 1; r < size; ++r)
        if (std::fabs(m[r][p]) > std::fabs(m[best][p])) best = r;
      if (!(std::fabs(m[best][p]) > 1e-14 * diagonal[p])) return 0;
    }
    swapped[p] = best;
    if (best != p) {
      const Row row = m[p];
      m[p] = m[best];
      m[best] = row;
      any = true;
      sign = -sign;
    }
    const double pivot = m[p][p];
    if (pivot < 0) sign = -sign;
    const double s = 1.0 / pivot;
    Row row = m[p] * s;
    row[p] = s;
    m[p] = row;
    row[p] = 0;
    for (int r = 0; r < size; ++r) {
      if (r == p) continue;
      const double factor = m[r][p];
      m[r] -= factor * row;
      m[r][p] = -factor * s;
    }
  }
  // the inverse of the exchanged rows has exchanged columns
  if (any)
    for (int p = size - 1; p >= 0; --p)
      for (int r = 0; r < size; ++r) {
        const double t = m[r][p];
        m[r][p] = m[r][swapped[p]];
        m[r][swapped[p]] = t;
      }
  return sign;
}
// In place, the regularised inverse of a block whose rows may be redundant (solve/loop.hpp)
CATENA_INLINE void invert_loosely(Row* m, int size, const double* scale) {
  double scaled[36], inverse[36];
  int order[12];
  for (int r = 0; r < size; ++r)
    for (int c = 0; c < size; ++c) scaled[r * size + c] = m[r][c] / (scale[r] * scale[c]);
  invert_loosely(scaled, inverse, size, order);
  for (int r = 0; r < size; ++r)
    for (int c = 0; c < size; ++c) m[r][c] = inverse[r * size + c] / (scale[r] * scale[c]);
}
// a = a b, a has `rows` x Inner
template <int Inner>
CATENA_INLINE void multiply(Row* a, const Row* b, int rows) {
  for (int r = 0; r < rows; ++r) {
    const Row left = a[r];
    Row sum = left[0] * b[0];
    for (int k = 1; k < Inner; ++k) sum += left[k] * b[k];
    a[r] = sum;
  }
}
// c -= a b
template <int Inner>
CATENA_INLINE void multiply_subtract(Row* c, const Row* a, const Row* b, int rows) {
  for (int r = 0; r < rows; ++r) {
    const Row left = a[r];
    Row sum = c[r];
    for (int k = 0; k < Inner; ++k) sum -= left[k] * b[k];
    c[r] = sum;
  }
}

struct Ldu {
  const Layout& layout;
  Body<double>* body;
  JointRows* old_rows;     // (constraint) at the node
  double* row_scale;       // (row), square root of its compliance; for loops only
  Clock clock;             // of the step to be solved
  const double* momentum;  // (law) of rotors, before it
  double reach;            // a length that lengths of gaps are measured by
  double widest_gap;       // over the reach or in rad
  int widest_constraint;
  Row* block;
  Row* vector;  // (node) residual, then increment
  double* z;    // unknowns: displacement and eta of every link, multipliers times dt^2
  double* dz;

  // guesses that break the joints make kappa jump
  static constexpr double caution = 64;
  // more would break the joints so far in violent motion that Newton finds another root
  static constexpr int guess_points = 2;
  static int motion_count(const Layout& layout) { return 6 * layout.link_count; }
  static int unknown_count(const Layout& layout) { return 6 * layout.link_count + layout.row_count; }

  void enter() {
    for (int j = 0; j < layout.constraint_count; ++j) first_angles(layout, layout.constraint[j], body, old_rows[j]);
  }

  void place() {
    for (int i = 0; i < layout.link_count; ++i) place_body(body[i], layout.link[i]);
    for (int j = 0; j < layout.constraint_count; ++j) {
      const ConstraintInfo& c = layout.constraint[j];
      rows_before(layout, c, body, clock, old_rows[j]);
      for (int k = 0; k < c.row_count && layout.loop_count > 0; ++k)
        row_scale[c.row + k] = row_compliance(c, body, layout.link, old_rows[j], k);
    }
  }

  bool evaluate() {
    bool fine = true;
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = body[i];
      b.d = load3(z + 6 * i);
      b.w.v = load3(z + 6 * i + 3);
      b.w.w = std::sqrt(1.0 - norm2(b.w.v));
      fine &= b.w.w > 0;
    }
    return fine;
  }

  // the widest of all joints at the iterate
  void find_gap() {
    widest_gap = 0;
    for (int j = 0; j < layout.constraint_count; ++j) {
      const ConstraintInfo& c = layout.constraint[j];
      if (c.law >= 0) continue;
      JointRows rows;
      rows_after(layout, c, body, clock, old_rows[j], {}, rows);
      note_gap(c, j, rows, reach, widest_gap, widest_constraint);
    }
  }

  LawState law_state(const ConstraintInfo& c) const {
    if (c.law < 0) return {};
    const double scale = row_scale[c.row];
    return {z[6 * layout.link_count + c.row], momentum[c.law], scale * scale};
  }

  // residual and matrix at the iterate
  void assemble() {
    for (int k = 0; k < layout.block_rows; ++k) block[k] = Row{};
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<double>& b = body[i];
      const LduNode& node = layout.node[layout.link_node[i]];
      Row* D = block + node.diagonal;
      const double m = layout.link[i].mass;
      const Mat3<double> H = turn_jacobian(b);
      D[0] = Row{m};
      D[1] = Row{0, m};
      D[2] = Row{0, 0, m};
      D[3] = Row{0, 0, 0, H.i.x, H.j.x, H.k.x};
      D[4] = Row{0, 0, 0, H.i.y, H.j.y, H.k.y};
      D[5] = Row{0, 0, 0, H.i.z, H.j.z, H.k.z};
      const Vec3<double> f = m * force_residual(b), t = torque_residual(b);
      vector[layout.link_node[i]] = Row{f.x, f.y, f.z, t.x, t.y, t.z};
    }
    for (int j = 0; j < layout.constraint_count; ++j) {
      const ConstraintInfo& c = layout.constraint[j];
      const LduSlot* slot = layout.slot + layout.first_slot[j];
      const int node = layout.constraint_node[j];
      const double* lambda = z + 6 * layout.link_count + c.row;
      JointRows rows;
      rows_after(layout, c, body, clock, old_rows[j], law_state(c), rows);
      if (c.law >= 0) block[layout.node[node].diagonal][0] = 1;
      for (int e = 0; e < c.end_count; ++e) {
        if (c.end[e] < 0) continue;
        Row& r = vector[layout.link_node[c.end[e]]];
        Row* U = block + slot[e].upper;
        Row* L = block + slot[e].lower;
        const Wrench<double>*before = old_rows[j].w + e * c.row_count, *after = rows.w + e * c.row_count;
        for (int k = 0; k < c.row_count; ++k) {
          const Wrench<double>& n = before[k];
          const Row column = {n.f.x, n.f.y, n.f.z, n.t.x, n.t.y, n.t.z};
          r -= lambda[k] * column;
          for (int i = 0; i < 6; ++i) U[i][k] -= column[i];
          const Wrench<double>& o = after[k];
          L[k] += Row{o.f.x, o.f.y, o.f.z, o.t.x, o.t.y, o.t.z};
        }
      }
      Row g{};
      for (int k = 0; k < c.row_count; ++k) g[k] = rows.g[k];
      vector[node] = g;
    }
  }

  // Algorithm 3: every diagonal block becomes its inverse, every lower block L D^-1
  bool factor() {
    int sign = 1;
    for (int k = 0; k < layout.node_count && sign != 0; ++k) {
      switch (layout.node[k].size) {
        case 1: sign *= factor_node<1>(k); break;
        case 2: sign *= factor_node<2>(k); break;
        case 3: sign *= factor_node<3>(k); break;
        case 4: sign *= factor_node<4>(k); break;
        case 5: sign *= factor_node<5>(k); break;
        default: sign *= factor_node<6>(k);
      }
    }
    // On the branch that begins at dt = 0 the determinant is positive; a lost sign is another root of the step
    // equations. Rows of loops have pivots of any sign.
    return sign > 0 || (sign != 0 && layout.loop_count > 0);
  }

  // sizes are known to the compiler, so that a block stays in registers; the sign of the pivot block's determinant
  template <int Size>
  int factor_node(int k) {
    const LduNode& node = layout.node[k];
    Row* D = block + node.diagonal;
    int sign = 1;
    if (node.is_body || layout.loop_count == 0)
      sign = invert<Size>(D);
    else
      invert_loosely(D, Size, row_scale + node.unknown - 6 * layout.link_count);
    const LduNeighbour* first = layout.neighbour + node.first_neighbour;
    const int* target = layout.target + node.first_target;
    for (int i = 0; i < node.neighbour_count; ++i) {
      Row* L = block + first[i].lower;
      const int rows = layout.node[first[i].node].size;
      multiply<Size>(L, D, rows);
      for (int j = 0; j < node.neighbour_count; ++j)
        multiply_subtract<Size>(block + target[i * node.neighbour_count + j], L, block + first[j].upper, rows);
    }
    return sign;
  }

  // Algorithm 4
  void solve() {
    for (int k = 0; k < layout.node_count; ++k) {
      const LduNode& node = layout.node[k];
      const LduNeighbour* first = layout.neighbour + node.first_neighbour;
      for (int i = 0; i < node.neighbour_count; ++i)
        apply(vector[first[i].node], block + first[i].lower, vector[k], layout.node[first[i].node].size);
    }
    for (int k = layout.node_count - 1; k >= 0; --k) {
      const LduNode& node = layout.node[k];
      const LduNeighbour* first = layout.neighbour + node.first_neighbour;
      for (int j = 0; j < node.neighbour_count; ++j)
        apply(vector[k], block + first[j].upper, vector[first[j].node], node.size);
      const Row r = vector[k];
      Row x{};
      for (int e = 0; e < node.size; ++e) x[e] = row_dot(block[node.diagonal + e], r);
      vector[k] = x;
    }
  }
  static CATENA_INLINE double row_dot(Row a, Row b) {
    const Row p = a * b;
    return ((p[0] + p[1]) + (p[2] + p[3])) + (p[4] + p[5]);
  }
  static CATENA_INLINE void apply(Row& out, const Row* m, Row in, int rows) {
    for (int r = 0; r < rows; ++r) out[r] -= row_dot(m[r], in);
  }

  bool direction() {
    assemble();
    if (!factor()) return false;
    solve();
    for (int k = 0; k < layout.node_count; ++k) {
      const LduNode& node = layout.node[k];
      for (int e = 0; e < node.size; ++e) dz[node.unknown + e] = -vector[k][e];
    }
    read_increment();
    return true;
  }

  // pose increments from dz, whose rotational part turns into the increment of eta
  void read_increment() {
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = body[i];
      b.dx = load3(dz + 6 * i);
      b.phi = load3(dz + 6 * i + 3);
      store3(dz + 6 * i + 3, turn_increment(b.w, b.phi));
    }
  }

  void commit(double dt) {
    for (int i = 0; i < layout.link_count; ++i) commit_body(body[i], dt);
  }

  // rows of a constraint at the node
  JointRows& rows_of(const ConstraintInfo& c) { return old_rows[&c - layout.constraint]; }
  double law_multiplier(const ConstraintInfo& c) const { return z[6 * layout.link_count + c.row]; }

  // the state between steps, to and fro; turns are counted on from wherever they are
  static long state_size(const Layout& layout) { return layout.link_count * static_cast<long>(body_state_size); }
  void save(double* to) const {
    for (int i = 0; i < layout.link_count; ++i) save_body(body[i], to + i * body_state_size);
  }
  void restore(const double* from) {
    for (int i = 0; i < layout.link_count; ++i) restore_body(body[i], from + i * body_state_size);
  }

  void multipliers(double scale, double* out) const {
    for (int k = 0; k < layout.row_count; ++k) out[k] = scale * z[6 * layout.link_count + k];
  }
};

}  // namespace catena::CATENA_ISA
