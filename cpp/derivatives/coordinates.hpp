// Small changes at a node: from the freedoms of the solver (q, r) to the user's coordinates and rates (q', r').
//
// Rotations and translations along single axes differ only in order and sign. For rotations by a quaternion, q = P q'
// with a matrix P that may depend on the pose: rates then change by r = P r' + W q'.
//
//     ball         P = F of the joint's frame, on body a, which is the parent; W = 0
//     ball, on b   the link is body a: P = -Q, Q = R_parent^T R F, W q' = Q (q' x r')
//     Free         the joint's point, with c from there to the center: P = [F -[c]x F; 0 F], W q' = w x (F q' x c)
//     floating     those of the solver
#pragma once

#include "derivatives/freedoms.hpp"
#include "dynamics/tree_motion.hpp"

namespace catena::CATENA_ISA {

struct CoordinateChange {
  int count = 0;  // 3 or 6
  double P[6][6], inverse[6][6], W[6][6];
};

struct Coordinates {
  const FreedomTable& freedom;
  TreeMotion& tree;             // with its freedoms numbered
  CoordinateChange *old, *now;  // (link)
  const Layout& layout = freedom.layout;

  // at the current node of the bodies, with the velocities of their centers
  void find(CoordinateChange* change, const Body<double>* body, const Six* velocity) const {
    for (int i = 0; i < layout.link_count; ++i) {
      CoordinateChange& to = change[i] = {};
      const LinkInfo& info = layout.link[i];
      const int carrier = tree.link[i].carrier;
      if (!FreedomTable::has_swivel(info) || carrier < 0) continue;
      const ConstraintInfo& joint = layout.coordinated[carrier].joint;
      const Mat3<double> F = {load3(joint.frame_a), load3(joint.frame_a + 3), load3(joint.frame_a + 6)};
      const bool floats = FreedomTable::is_floating(info);
      to.count = floats ? 6 : 3;
      if (floats) {
        const Vec3<double> c = -(body[i].R * load3(joint.anchor_b)), w = velocity[i].w;
        const auto lever = [&](Vec3<double> e) { return cross(e, c); };
        put(to.P, 0, 0, F), put(to.P, 3, 3, F);
        put(to.P, 0, 3, {lever(F.i), lever(F.j), lever(F.k)});
        put(to.W, 0, 3, {cross(w, lever(F.i)), cross(w, lever(F.j)), cross(w, lever(F.k))});
        put(to.inverse, 0, 0, transpose(F)), put(to.inverse, 3, 3, transpose(F));
        put(to.inverse, 0, 3, transpose(F) * Mat3<double>{-lever({1, 0, 0}), -lever({0, 1, 0}), -lever({0, 0, 1})});
      } else if (!info.flipped) {
        put(to.P, 0, 0, F), put(to.inverse, 0, 0, transpose(F));
      } else {
        const Mat3<double> above = info.parent < 0 ? diagonal(1.0) : body[info.parent].R;
        const Vec3<double> turning =
            velocity[i].w - (info.parent < 0 ? Vec3<double>{0, 0, 0} : velocity[info.parent].w);
        const Mat3<double> own = body[i].R * F, Q = transpose(above) * own;
        const Vec3<double> rate = -transposed_times(own, turning);
        put(to.P, 0, 0, -1.0 * Q), put(to.inverse, 0, 0, -1.0 * transpose(Q));
        put(to.W, 0, 0, {Q * cross({1, 0, 0}, rate), Q * cross({0, 1, 0}, rate), Q * cross({0, 0, 1}, rate)});
      }
    }
  }

  // converts X and Y (freedom, stride), derivatives of positions and rates by initial ones and inputs, into A and B
  void write(double* X, double* Y, long stride, int inputs, double* A, double* B) const {
    const int n = freedom.count;
    for (int i = 0; i < layout.link_count; ++i) {
      if (old[i].count == 0) continue;
      const int v = layout.link[i].variable;
      for (int f = 0; f < n; ++f)
        for (double* const row : {X + f * stride, Y + f * stride}) change_columns(old[i], row + v, row + n + v);
      for (int column = 0; column < 2 * n + inputs; ++column)
        change_rows(now[i], X + v * stride + column, Y + v * stride + column, stride);
    }
    const long width = 2L * n;
    each([&](int f, int row, double sign) {
      const double* const from[2] = {X + f * stride, Y + f * stride};
      for (int part = 0; part < 2; ++part) {
        double* const a = A + (row + part * n) * width;
        each([&](int g, int column, double other) {
          a[column] = sign * other * from[part][g];
          a[n + column] = sign * other * from[part][n + g];
        });
        for (int k = 0; k < inputs; ++k)
          B[(row + part * n) * static_cast<long>(inputs) + k] = sign * from[part][2 * n + k];
      }
    });
  }

 private:
  static void put(double (&to)[6][6], int row, int column, const Mat3<double>& m) {
    const Vec3<double> columns[3] = {m.i, m.j, m.k};
    for (int k = 0; k < 3; ++k) {
      to[row][column + k] = columns[k].x;
      to[row + 1][column + k] = columns[k].y;
      to[row + 2][column + k] = columns[k].z;
    }
  }
  // calls use(freedom, index of the user's coordinate, sign) for every freedom
  template <class Use>
  void each(Use&& use) const {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      const TreeLink& l = tree.link[i];
      const bool swivels = FreedomTable::has_swivel(info);
      const Branch branch = branch_of(info.kind, info.flipped);
      for (int k = 0; k < l.count; ++k)
        use(info.variable + k, tree.row_of[l.first + (swivels ? k : branch.coordinate[k])],
            !swivels && info.flipped ? -1.0 : 1.0);
    }
  }
  static void change_columns(const CoordinateChange& by, double* q, double* r) {
    double positions[6] = {}, rates[6] = {};
    for (int k = 0; k < by.count; ++k)
      for (int j = 0; j < by.count; ++j) {
        positions[k] += q[j] * by.P[j][k] + r[j] * by.W[j][k];
        rates[k] += r[j] * by.P[j][k];
      }
    for (int k = 0; k < by.count; ++k) q[k] = positions[k], r[k] = rates[k];
  }
  static void change_rows(const CoordinateChange& by, double* q, double* r, long stride) {
    double positions[6] = {}, rates[6] = {};
    for (int k = 0; k < by.count; ++k)
      for (int j = 0; j < by.count; ++j) positions[k] += by.inverse[k][j] * q[j * stride];
    double left[6];
    for (int k = 0; k < by.count; ++k) {
      left[k] = r[k * stride];
      for (int j = 0; j < by.count; ++j) left[k] -= by.W[k][j] * positions[j];
    }
    for (int k = 0; k < by.count; ++k)
      for (int j = 0; j < by.count; ++j) rates[k] += by.inverse[k][j] * left[j];
    for (int k = 0; k < by.count; ++k) q[k * stride] = positions[k], r[k * stride] = rates[k];
  }
};

}  // namespace catena::CATENA_ISA
