// Solves for many right-hand sides at once with the matrix that the articulated solver has factored: columns of efforts
// of the freedoms become columns of motions.
//
// Columns are processed in pairs of registers, whose operations are independent, to hide their latency. If all freedoms
// are eliminated one by one, their pivots are first referred to the origin, so nothing is shifted from link to link.
#pragma once

#include "derivatives/freedoms.hpp"

namespace catena::CATENA_ISA {

struct Wide {
  Lane a, b;
  Wide() = default;
  CATENA_INLINE Wide(Lane p, Lane q) : a(p), b(q) {}
  CATENA_INLINE explicit Wide(double s) : a(s), b(s) {}
};
CATENA_INLINE Wide operator+(Wide x, Wide y) { return {x.a + y.a, x.b + y.b}; }
CATENA_INLINE Wide operator-(Wide x, Wide y) { return {x.a - y.a, x.b - y.b}; }
CATENA_INLINE Wide operator-(Wide x) { return {-x.a, -x.b}; }
CATENA_INLINE Wide operator*(Wide x, Wide y) { return {x.a * y.a, x.b * y.b}; }
CATENA_INLINE Vec3<Wide> widen(Vec3<double> a) { return {Wide(a.x), Wide(a.y), Wide(a.z)}; }
CATENA_INLINE Vec3<Wide> times(const Mat3<double>& m, Vec3<Wide> a) {
  return a.x * widen(m.i) + a.y * widen(m.j) + a.z * widen(m.k);
}
constexpr int wide_width = 2 * lane_width;

// one freedom, referred to the origin
struct Pivot {
  Six old, now;  // directions
  Vec3<double> up, ur, row_P, row_R;
  double inverse;
};

struct ColumnSolver {
  const FreedomTable& freedom;
  const Articulated<double>& solver;
  const Vec3<double>& origin;
  Pivot* pivot;                   // (freedom)
  Wrench<Wide>*received, *moved;  // (link)
  Wide* first;                    // (freedom)
  const Layout& layout = freedom.layout;

  // (freedom, columns) in place, rows of `stride` numbers
  void solve(double* at, long stride, int columns) {
    bool swivels = false;
    for (int i = 0; i < layout.link_count; ++i) swivels |= FreedomTable::has_swivel(layout.link[i]);
    if (!swivels) look_from_origin();
    for (int column = 0; column < columns; column += wide_width)
      swivels ? solve_local(at + column, stride) : solve_plain(at + column, stride);
  }

 private:
  static CATENA_INLINE Wide load(const double* p) { return {load_lane(p), load_lane(p + lane_width)}; }
  static CATENA_INLINE void store(double* p, Wide v) { store_lane(p, v.a), store_lane(p + lane_width, v.b); }
  static CATENA_INLINE Wrench<Wide> nothing() { return {widen(Vec3<double>{0, 0, 0}), widen(Vec3<double>{0, 0, 0})}; }
  // whether the next link is not the only child of this one
  bool ends(int i) const { return i + 1 == layout.link_count || !freedom.only[i + 1]; }

  void look_from_origin() {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      const auto end_of = [&](int k) { return solver.body[k].x + solver.body[k].d - origin; };
      const Vec3<double> x = solver.body[i].x - origin, x3 = end_of(i);
      const Vec3<double> above = info.parent >= 0 ? end_of(info.parent) : Vec3<double>{0, 0, 0};
      for (int k = 0; k < info.axis_count; ++k) {
        const Axis<double>& e = solver.axis[info.first_axis + k];
        pivot[info.variable + k] = {{e.slide - cross(e.turn, x), e.turn},
                                    {e.slide3 - cross(e.turn3, x3), e.turn3},
                                    e.up,
                                    e.ur + cross(x, e.up),
                                    e.row_P,
                                    e.row_R + cross(k == 0 ? above : x3, e.row_P),
                                    e.inverse};
      }
    }
  }
  void solve_plain(double* at, long stride) {
    for (int i = 0; i < layout.link_count; ++i)
      if (ends(i)) received[i] = nothing();
    Wrench<Wide> m = nothing();
    for (int i = freedom.owner[freedom.count - 1]; i >= 0; --i) {
      const LinkInfo& info = layout.link[i];
      if (ends(i)) m = received[i];
      for (int f = info.variable + info.axis_count - 1; f >= info.variable; --f) {
        const Pivot& e = pivot[f];
        const Wide effort = load(at + f * stride);
        const Wide y = Wide(e.inverse) * ((dot(widen(e.old.v), m.f) - effort) + dot(widen(e.old.w), m.t));
        first[f] = y;
        m.f -= y * widen(e.up);
        m.t -= y * widen(e.ur);
      }
      if (info.parent >= 0 && !freedom.only[i]) received[info.parent].f += m.f, received[info.parent].t += m.t;
    }
    Vec3<Wide> v = nothing().f, w = v;
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      if (!freedom.only[i]) {
        v = info.parent >= 0 ? moved[info.parent].f : nothing().f;
        w = info.parent >= 0 ? moved[info.parent].t : nothing().f;
      }
      for (int f = info.variable; f < info.variable + info.axis_count; ++f) {
        const Pivot& e = pivot[f];
        const Wide y = -((first[f] + dot(widen(e.row_P), v)) + dot(widen(e.row_R), w));
        store(at + f * stride, y);
        v += y * widen(e.now.v);
        w += y * widen(e.now.w);
      }
      if (ends(i)) moved[i] = {v, w};
    }
  }
  // each link in its own frame, as in the solver
  void solve_local(double* at, long stride) {
    const auto effort = [&](int f) { return load(at + f * stride); };
    const auto three = [&](int f) -> Vec3<Wide> { return {effort(f), effort(f + 1), effort(f + 2)}; };
    const auto keep = [&](int f, Vec3<Wide> y) { first[f] = y.x, first[f + 1] = y.y, first[f + 2] = y.z; };
    const auto kept = [&](int f) -> Vec3<Wide> { return {first[f], first[f + 1], first[f + 2]}; };
    const auto tell = [&](int f, Wide x, Wide y, Wide z) {
      store(at + f * stride, x), store(at + (f + 1) * stride, y), store(at + (f + 2) * stride, z);
    };
    for (int i = 0; i < layout.link_count; ++i) received[i] = nothing();
    for (int k = solver.segment_count - 1; k >= 0; --k)
      for (int i = solver.segment[k].end - 1; i >= solver.segment[k].first; --i) {
        const LinkInfo& info = layout.link[i];
        const Link<double>& link = solver.link[i];
        Wrench<Wide> m = received[i];
        if (!FreedomTable::has_swivel(info)) {
          for (int a = info.axis_count - 1; a >= 0; --a) {
            const Axis<double>& e = solver.axis[info.first_axis + a];
            const Wide y =
                Wide(e.inverse) * (dot(widen(e.slide), m.f) + dot(widen(e.turn), m.t) - effort(info.variable + a));
            first[info.variable + a] = y;
            m.f -= y * widen(e.up);
            m.t -= y * widen(e.ur);
          }
          m.t = plus_cross(m.t, widen(link.r), m.f);
        } else {
          const Swivel<double>& s = swivel_of(solver.segment[k], i);
          const int turn = FreedomTable::first_turn(info);
          const bool floats = FreedomTable::is_floating(info);
          if (!floats) m.t = plus_cross(m.t, widen(link.c), m.f);
          const Vec3<Wide> torque = times(frame_above(i), three(turn));
          m.t -= torque;
          const Vec3<Wide> y = times(s.inverse, m.t);
          keep(turn, y);
          m.f -= times(s.lift, y);
          if (floats) {
            m.f -= three(info.variable);
            keep(info.variable, times(s.shift, m.f));
          } else {
            m.t = plus_cross(torque, widen(link.r), m.f);
          }
        }
        if (info.parent >= 0) received[info.parent].f += m.f, received[info.parent].t += m.t;
      }
    for (int k = 0; k < solver.segment_count; ++k)
      for (int i = solver.segment[k].first; i < solver.segment[k].end; ++i) {
        const LinkInfo& info = layout.link[i];
        const Link<double>& link = solver.link[i];
        const Wrench<Wide> above = info.parent >= 0 ? moved[info.parent] : nothing();
        Vec3<Wide> dx = above.f, phi = above.t;
        if (!FreedomTable::has_swivel(info)) {
          const Vec3<Wide> carried = plus_cross(dx, phi, widen(link.r3));
          for (int a = 0; a < info.axis_count; ++a) {
            const Axis<double>& e = solver.axis[info.first_axis + a];
            const Wide y = -(first[info.variable + a] + dot(widen(e.row_P), dx) + dot(widen(e.row_R), phi));
            store(at + (info.variable + a) * stride, y);
            dx = (a == 0 ? carried : dx) + y * widen(e.slide3);
            phi += y * widen(e.turn3);
          }
          if (info.axis_count == 0) dx = carried;
        } else {
          const Swivel<double>& s = swivel_of(solver.segment[k], i);
          const int turn = FreedomTable::first_turn(info);
          const bool floats = FreedomTable::is_floating(info);
          if (floats) {
            dx = -kept(info.variable);
            tell(info.variable, dx.x, dx.y, dx.z);
          } else {
            dx = plus_cross(dx, phi, widen(link.r3));
          }
          phi = -(kept(turn) + times(s.rows, dx));
          const Mat3<double> P = turned_frame_above(i);
          const Vec3<Wide> own = phi - above.t;
          tell(turn, dot(widen(P.i), own), dot(widen(P.j), own), dot(widen(P.k), own));
          if (!floats) dx = plus_cross(dx, phi, widen(link.c3));
        }
        moved[i] = {dx, phi};
      }
  }
  const Swivel<double>& swivel_of(const Segment& s, int i) const { return solver.swivel[s.slot + i - s.first]; }

 public:
  // axes of the rotations of a swivel, those of the parent, at the node; below, at the end of the step
  Mat3<double> frame_above(int i) const {
    const int parent = layout.link[i].parent;
    return parent < 0 || FreedomTable::is_floating(layout.link[i]) ? diagonal(1.0) : solver.body[parent].R;
  }
  Mat3<double> turned_frame_above(int i) const {
    Mat3<double> R = frame_above(i);
    const int parent = layout.link[i].parent;
    if (parent < 0) return R;
    const Quat<double>& w = solver.body[parent].w;
    return {R.i + turn(w, R.i), R.j + turn(w, R.j), R.k + turn(w, R.k)};
  }
};

// Y += N X
struct Product {
  const double* N;
  long n_stride;
  const double* X;
  double* Y;
  long stride;
  int count;
  // one block of `rows` rows and `registers` registers of columns
  template <int rows, int registers>
  CATENA_INLINE void tile(int row, int column) const {
    Lane y[rows][registers];
    double* const to = Y + row * stride + column;
    for (int e = 0; e < rows; ++e)
      for (int c = 0; c < registers; ++c) y[e][c] = load_lane(to + e * stride + lane_width * c);
    for (int j = 0; j < count; ++j) {
      Lane x[registers];
      for (int c = 0; c < registers; ++c) x[c] = load_lane(X + j * stride + column + lane_width * c);
      for (int e = 0; e < rows; ++e)
        for (int c = 0; c < registers; ++c) y[e][c] += Lane(N[(row + e) * n_stride + j]) * x[c];
    }
    for (int e = 0; e < rows; ++e)
      for (int c = 0; c < registers; ++c) store_lane(to + e * stride + lane_width * c, y[e][c]);
  }
  void add(int columns) const {
    int at = 0;
    for (; at + 2 * lane_width < columns; at += 3 * lane_width) add_columns<3>(at);
    for (; at < columns; at += lane_width) add_columns<1>(at);
  }

 private:
  template <int registers>
  void add_columns(int at) const {
    int row = 0;
    for (; row + 4 <= count; row += 4) tile<4, registers>(row, at);
    for (; row < count; ++row) tile<1, registers>(row, at);
  }
};

}  // namespace catena::CATENA_ISA
