// Forward dynamics in maximal coordinates after Baraff (Linear-Time Dynamics using Lagrange Multipliers, 1996).
//
// Accelerations v of all bodies, at their centres of mass, and multipliers m of all joints solve the symmetric system
//
//   [ M  -J^T ] [ v ]   [ forces ]
//   [ -J   0  ] [ m ] = [ -target ]
//
// Bodies and joints are the nodes of a tree. Ordered leaves first, a body before the joint it hangs on, its LDL^T
// factor has no fill: a body's block D = [A B; B^T C] (angular, linear) is positive definite, its joint's is -S with S
// = J D^-1 J^T, and S^-1 adds J_p^T S^-1 J_p to the parent's block. Blocks of three rows are inverted as such. With r
// from the centre of mass to the joint, G = B C^-1, W = (A - G B^T)^-1 and H = [r]x - G:
//
//   point rows: C^-1 + H^T W H,   point and axes: H^T W [d1 d2],   axes: [d1 d2]^T W [d1 d2]
//
// Loops are what he calls auxiliary constraints: their rows go through the factor in O(depth) each, their small dense
// system S_jk = row_j H^-1 row_k is the sum over the nodes they share, and it is solved by least_squares.hpp.
#pragma once

#include "kinematics.hpp"
#include "least_squares.hpp"
#include "loops.hpp"

namespace rivals {

template <class T>
struct Body {
  Vec3<T> x, v, w;  // centre of mass, its velocity, angular velocity: world frame
  Quat<T> q;        // body to world, unit length
};

template <class T>
struct Acceleration {
  Vec3<T> v, w;
};

template <class T>
class Baraff {
 public:
  Baraff(const Model& model, Stabilisation stabilise)
      : model_(model),
        stabilise_(stabilise),
        joint_(model.bodies + 1),
        node_(model.bodies + 1),
        rows_(model.loops.size()),
        passes_(model.bodies + 1),
        multipliers_(model.rows) {
    square_.resize(model.rows);
    for (int i = 1; i <= model.bodies; ++i) {
      const Joint& from = model.joints[i];
      Loop& to = joint_[i];
      to.kind = from.kind;
      const Vec3<double> axis = matrix(from.rest) * from.axis;
      to.a = {from.parent, from.at_parent, axis};
      to.b = {i, from.at_child, from.axis};
      Model::normals(axis, to.across);
    }
    for (int k = 0; k < int(model.loops.size()); ++k) {
      const Loop& loop = model.loops[k];
      walks_.emplace_back(loop.path.size());
      for (int p = 0; p < int(loop.path.size()); ++p) passes_[loop.path[p]].push_back({k, p});
    }
    node_[0].R = diagonal(T(1));
  }

  // of bodies 1 ... n; those of the world, body 0, are not written
  void accelerations(const Body<T>* bodies, Acceleration<T>* out) {
    const T none = T(0);
    for (int i = 1; i <= model_.bodies; ++i) begin(i, bodies[i]);
    for (int i = model_.bodies; i > 0; --i) eliminate(i, bodies);
    if (model_.rows) close(bodies);
    out[0] = {{none, none, none}, {none, none, none}};
    for (int i = 1; i <= model_.bodies; ++i) substitute(i, out);
  }

 private:
  struct Node {
    Mat3<T> R;
    Mat3<T> A, Bt, C;         // the body's block, from its own mass on
    Vec3<T> n, f;             // its right-hand side, likewise
    Mat3<T> W, G, P, Ci;      // of its factor; P = G^T
    Vec3<T> r, d;             // to the joint, from the centres of mass of the body and of its parent
    Mat3<T> Aj, Bj, Btj, Cj;  // S^-1 of its joint as a map of motion at the joint to wrench there
    Vec3<T> force, torque;    // S^-1 times the joint's right-hand side, likewise
    Vec3<T> v, w;             // D^-1 times the body's
  };
  // a loop's rows at a body of its path, and at the joint above it
  struct Walk {
    Vec3<T> N[most_rows], F[most_rows];
    Vec3<T> w[most_rows], v[most_rows];  // D^-1 of it
    Vec3<T> point[most_rows], force[most_rows], torque[most_rows];
  };
  struct Pass {
    int loop, place;
  };

  CATENA_INLINE void begin(int i, const Body<T>& body) {
    Node& node = node_[i];
    const Mass& own = model_.masses[i];
    const T mass = T(own.mass), zero = T(0);
    node.R = matrix(body.q);
    T inertia[6];
    for (int k = 0; k < 6; ++k) inertia[k] = T(own.inertia[k]);
    node.A = rotated(node.R, inertia);
    node.Bt = diagonal(zero);
    node.C = diagonal(mass);
    node.n = -cross(body.w, node.A * body.w);
    node.f = mass * as<T>(model_.gravity);
  }

  CATENA_INLINE Side<T> side(const End& end, const Body<T>* bodies) const {
    const Body<T>& body = bodies[end.body];
    return {node_[end.body].R, node_[end.body].R * as<T>(end.point), body.w, body.x, body.v};
  }

  CATENA_INLINE void solve(const Node& node, Vec3<T> n, Vec3<T> f, Vec3<T>& w, Vec3<T>& v) const {
    w = node.W * (n - node.G * f);
    v = node.Ci * f - node.P * w;
  }

  CATENA_INLINE void eliminate(int i, const Body<T>* bodies) {
    Node& node = node_[i];
    const Loop& joint = joint_[i];
    Rows<T> rows;
    rows.set(joint, side(joint.a, bodies), side(joint.b, bodies), stabilise_);
    node.r = rows.arm_b, node.d = rows.arm_a;

    // the body's block
    node.Ci = symmetric_inverse(node.C);
    node.P = node.Ci * node.Bt;
    node.G = transpose(node.P);
    node.W = symmetric_inverse(node.A - node.G * node.Bt);
    solve(node, node.n, node.f, node.w, node.v);

    // its joint's
    const Mat3<T> Ht = transpose(diagonal_and_skew(T(0), node.r) - node.G), V = node.W * transpose(Ht);
    const Vec3<T> point = load_vector(rows.target) - (node.v + cross(node.w, node.r));
    Mat3<T> S = node.Ci + Ht * V;
    if (joint.kind == ball) {
      node.Cj = symmetric_inverse(S);
      node.force = node.Cj * point;
    } else {
      const Vec3<T> d1 = rows.about[0], d2 = rows.about[1], u1 = node.W * d1, u2 = node.W * d2;
      const Vec3<T> s1 = Ht * u1, s2 = Ht * u2;
      const T a = dot(d1, u1), b = dot(d1, u2), c = dot(d2, u2), det = T(1) / (a * c - b * b);
      const T i11 = det * c, i12 = -(det * b), i22 = det * a;
      const Vec3<T> y1 = i11 * s1 + i12 * s2, y2 = i12 * s1 + i22 * s2;
      subtract_outer(S, y1, s1);
      subtract_outer(S, y2, s2);
      node.Cj = symmetric_inverse(S);
      const Vec3<T> k1 = node.Cj * y1, k2 = node.Cj * y2;
      const T e12 = i12 + dot(y1, k2);
      const Vec3<T> e1 = (i11 + dot(y1, k1)) * d1 + e12 * d2, e2 = e12 * d1 + (i22 + dot(y2, k2)) * d2;
      node.Aj = outer(d1, e1) + outer(d2, e2);
      node.Btj = diagonal(T(0)) - (outer(k1, d1) + outer(k2, d2));
      node.Bj = transpose(node.Btj);

      const T g1 = rows.target[3] - dot(d1, node.w), g2 = rows.target[4] - dot(d2, node.w);
      node.force = node.Cj * (point - (g1 * y1 + g2 * y2));
      const T m1 = (i11 * g1 + i12 * g2) - dot(y1, node.force), m2 = (i12 * g1 + i22 * g2) - dot(y2, node.force);
      node.torque = m1 * d1 + m2 * d2;
    }

    // what they leave of the parent's
    if (joint.a.body == 0) return;
    Node& parent = node_[joint.a.body];
    const Vec3<T> d = node.d;
    parent.C = parent.C + node.Cj;
    parent.f -= node.force;
    if (joint.kind == ball) {
      const Mat3<T> shifted = times_skew(node.Cj, -d);
      parent.Bt = parent.Bt + shifted;
      parent.A = plus_skew_times(parent.A, d, shifted);
      parent.n -= cross(d, node.force);
    } else {
      const Mat3<T> shifted = minus_times_skew(node.Btj, node.Cj, d);
      parent.Bt = parent.Bt + shifted;
      parent.A = parent.A + plus_skew_times(minus_times_skew(node.Aj, node.Bj, d), d, shifted);
      parent.n -= plus_cross(node.torque, d, node.force);
    }
  }

  static CATENA_INLINE Mat3<T> outer(Vec3<T> a, Vec3<T> b) { return {b.x * a, b.y * a, b.z * a}; }

  // S^-1 of a joint, from a motion of the parent's side at the joint to the wrench on the child
  CATENA_INLINE void react(const Node& node, int kind, Vec3<T> point, Vec3<T> w, Vec3<T>& force,
                           Vec3<T>& torque) const {
    force = node.Cj * point;
    if (kind == ball) return;
    force += node.Btj * w;
    torque = node.Bj * point + node.Aj * w;
  }

  CATENA_INLINE void substitute(int i, Acceleration<T>* out) {
    const Node& node = node_[i];
    const Loop& joint = joint_[i];
    const Acceleration<T>& parent = out[joint.a.body];
    const Vec3<T> point = parent.v + cross(parent.w, node.d);
    Vec3<T> force, torque;
    react(node, joint.kind, point, parent.w, force, torque);
    force += node.force;
    Vec3<T> n = plus_cross(node.n, node.r, force);
    if (joint.kind == revolute) n += torque + node.torque;
    solve(node, n, node.f + force, out[i].w, out[i].v);
  }

  // ---- loops

  void close(const Body<T>* bodies) {
    square_.clear();
    for (int k = 0; k < int(model_.loops.size()); ++k) {
      const Loop& loop = model_.loops[k];
      rows_[k].set(loop, side(loop.a, bodies), side(loop.b, bodies), stabilise_);
      for (int r = 0; r < loop.rows; ++r) multipliers_[loop.row + r] = rows_[k].target[r];
      walk(loop, rows_[k], walks_[k]);
    }
    for (int i = 1; i <= model_.bodies; ++i)
      for (const Pass& one : passes_[i])
        for (const Pass& two : passes_[i])
          if (two.loop <= one.loop) couple(one, two);
    square_.solve(multipliers_.data());
    for (int i = 1; i <= model_.bodies; ++i)
      for (const Pass& pass : passes_[i]) {
        const Loop& loop = model_.loops[pass.loop];
        const Walk& at = walks_[pass.loop][pass.place];
        Node& node = node_[i];
        for (int r = 0; r < loop.rows; ++r) {
          const T m = multipliers_[loop.row + r];
          node.n += m * at.N[r], node.f += m * at.F[r];
          node.force += m * at.force[r];
          if (joint_[i].kind == revolute) node.torque += m * at.torque[r];
        }
      }
  }

  void walk(const Loop& loop, const Rows<T>& rows, std::vector<Walk>& at) {
    const Vec3<T> zero = {T(0), T(0), T(0)};
    for (Walk& step : at)
      for (int r = 0; r < loop.rows; ++r) step.N[r] = step.F[r] = zero;
    for (int r = 0; r < loop.rows; ++r) {
      Vec3<T> N, F;
      if (loop.start_a >= 0) {
        rows.wrench(r, rows.arm_a, T(-1), F, N);
        at[loop.start_a].N[r] += N, at[loop.start_a].F[r] += F;
      }
      if (loop.start_b >= 0) {
        rows.wrench(r, rows.arm_b, T(1), F, N);
        at[loop.start_b].N[r] += N, at[loop.start_b].F[r] += F;
      }
    }
    for (int p = 0; p < int(at.size()); ++p) {
      const int i = loop.path[p], next = loop.next[p], kind = joint_[i].kind;
      const Node& node = node_[i];
      Walk& here = at[p];
      for (int r = 0; r < loop.rows; ++r) {
        solve(node, here.N[r], here.F[r], here.w[r], here.v[r]);
        T along = dot(here.N[r], node.w, here.F[r], node.v);
        here.point[r] = -(here.v[r] + cross(here.w[r], node.r));
        here.torque[r] = zero;
        react(node, kind, here.point[r], -here.w[r], here.force[r], here.torque[r]);
        along -= dot(here.point[r], node.force);
        if (kind == revolute) along += dot(here.w[r], node.torque);
        multipliers_[loop.row + r] -= along;
        if (next >= 0) {
          at[next].F[r] -= here.force[r];
          at[next].N[r] -= plus_cross(here.torque[r], node.d, here.force[r]);
        }
      }
    }
  }

  void couple(const Pass& one, const Pass& two) {
    const Loop &a = model_.loops[one.loop], &b = model_.loops[two.loop];
    const Walk &at_a = walks_[one.loop][one.place], &at_b = walks_[two.loop][two.place];
    for (int r = 0; r < a.rows; ++r)
      for (int s = 0; s < (one.loop == two.loop ? r + 1 : b.rows); ++s) {
        const T body = dot(at_a.N[r], at_b.w[s], at_a.F[r], at_b.v[s]);
        const T joint = dot(at_a.point[r], at_b.force[s], -at_a.w[r], at_b.torque[s]);
        square_.at(a.row + r, b.row + s) += body - joint;
      }
  }

  const Model& model_;
  Stabilisation stabilise_;
  std::vector<Loop> joint_;
  std::vector<Node> node_;
  std::vector<Rows<T>> rows_;
  std::vector<std::vector<Walk>> walks_;
  std::vector<std::vector<Pass>> passes_;
  std::vector<T> multipliers_;
  LeastSquares<T> square_;
};

// The classical scheme of Runge and Kutta on positions, quaternions and velocities; quaternions are brought back to
// unit length after every step, and wherever they are used in between.
class MaximalRungeKutta {
 public:
  MaximalRungeKutta(const Model& model, Stabilisation stabilise)
      : n_(model.bodies), dynamics_(model, stabilise), stage_(n_ + 1), sum_(n_ + 1), slope_(n_ + 1) {
    const Vec3<double> zero = {0, 0, 0};
    stage_[0] = {zero, zero, zero, Quat<double>(1, zero)};
  }

  void step(Body<double>* state, double h) {
    const double reach[4] = {0.5 * h, 0.5 * h, h, 0}, weight[4] = {h / 6, h / 3, h / 3, h / 6};
    for (int s = 0; s < 4; ++s) {
      Body<double>* now = s == 0 ? state : stage_.data();
      dynamics_.accelerations(now, slope_.data());
      for (int i = 1; i <= n_; ++i) {
        const Body<double>& at = now[i];
        const Quat<double> turning = Quat<double>(0, 0.5 * at.w) * at.q;
        Body<double>& sum = sum_[i];
        if (s == 0) sum = state[i];
        sum.x += weight[s] * at.v;
        sum.q = plus(sum.q, weight[s], turning);
        sum.v += weight[s] * slope_[i].v;
        sum.w += weight[s] * slope_[i].w;
        if (s == 3) continue;
        Body<double>& next = stage_[i];
        const Vec3<double> v = at.v;
        next.x = state[i].x + reach[s] * v;
        next.q = unit(plus(state[i].q, reach[s], turning));
        next.v = state[i].v + reach[s] * slope_[i].v;
        next.w = state[i].w + reach[s] * slope_[i].w;
      }
    }
    for (int i = 1; i <= n_; ++i) {
      state[i] = sum_[i];
      state[i].q = unit(sum_[i].q);
    }
  }

 private:
  static CATENA_INLINE Quat<double> plus(const Quat<double>& p, double s, const Quat<double>& q) {
    return {p.w + s * q.w, vector_part(p) + s * vector_part(q)};
  }
  static CATENA_INLINE Quat<double> unit(const Quat<double>& q) {
    const double s = 1 / std::sqrt(q.w * q.w + norm2(vector_part(q)));
    return {s * q.w, s * vector_part(q)};
  }

  int n_;
  Baraff<double> dynamics_;
  std::vector<Body<double>> stage_, sum_;
  std::vector<Acceleration<double>> slope_;
};

}  // namespace rivals
