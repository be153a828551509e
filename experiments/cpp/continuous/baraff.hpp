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
  Baraff(const Model& model, const Holding& hold)
      : model_(model),
        hold_(hold),
        joint_(model.bodies + 1),
        node_(model.bodies + 1),
        rows_(model.loops.size()),
        meetings_(model.meetings()),
        multipliers_(model.rows) {
    square_.resize(model.rows, hold.rank);
    for (int i = 1; i <= model.bodies; ++i) {
      const Joint& from = model.joints[i];
      Loop& to = joint_[i];
      to.kind = from.kind;
      const Vec3<double> axis = matrix(from.rest) * from.axis;
      to.a = {from.parent, from.at_parent, axis};
      to.b = {i, from.at_child, from.axis};
      Model::normals(axis, to.across);
    }
    for (const Loop& loop : model.loops) answers_.emplace_back(loop.path.size());
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
  // a loop's rows at a body of its path, and at the joint above it: right-hand sides and what the blocks make of them
  struct Answer {
    Vec3<T> N[most_rows], F[most_rows], w[most_rows], v[most_rows];
    Vec3<T> point[most_rows], force[most_rows], torque[most_rows];
  };
  template <int rows>
  struct Wrenches {
    Vec3<T> N[rows], F[rows];
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
    rows.set(joint, side(joint.a, bodies), side(joint.b, bodies), hold_);
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
      rows_[k].set(loop, side(loop.a, bodies), side(loop.b, bodies), hold_);
      if (loop.rows == 5)
        walk<5>(loop, rows_[k], answers_[k]);
      else
        walk<3>(loop, rows_[k], answers_[k]);
    }
    for (const Meeting& m : meetings_) {
      const Loop &a = model_.loops[m.one], &b = model_.loops[m.two];
      for (int r = 0; r < a.rows; ++r)
        for (int s = 0; s < b.rows; ++s)
          square_.at(a.row + r, b.row + s) += shared(answers_[m.one][m.place_one], r, answers_[m.two][m.place_two], s);
    }
    square_.solve(multipliers_.data());
    for (int k = 0; k < int(model_.loops.size()); ++k) {
      const Loop& loop = model_.loops[k];
      for (int p = 0; p < int(loop.path.size()); ++p) {
        const Answer& at = answers_[k][p];
        Node& node = node_[loop.path[p]];
        for (int r = 0; r < loop.rows; ++r) {
          const T m = multipliers_[loop.row + r];
          node.n += m * at.N[r], node.f += m * at.F[r];
          node.force += m * at.force[r];
          if (joint_[loop.path[p]].kind == revolute) node.torque += m * at.torque[r];
        }
      }
    }
  }

  // from both ends to where they meet, and on to the root: the loop's own system, and its targets less the
  // accelerations that are there without it
  template <int rows>
  void walk(const Loop& loop, const Rows<T>& from, std::vector<Answer>& at) {
    Wrenches<rows> a, b;
    T along[rows], own[rows * (rows + 1) / 2];
    for (T& x : own) x = T(0);
    for (int r = 0; r < rows; ++r) {
      along[r] = T(0);
      from.wrench(r, from.arm_a, T(-1), a.F[r], a.N[r]);
      from.wrench(r, from.arm_b, T(1), b.F[r], b.N[r]);
    }
    for (int p = 0; p < loop.from_b; ++p) pass<rows>(loop.path[p], a, at[p], along, own);
    for (int p = loop.from_b; p < loop.trunk; ++p) pass<rows>(loop.path[p], b, at[p], along, own);
    for (int r = 0; r < rows; ++r) a.N[r] += b.N[r], a.F[r] += b.F[r];
    for (int p = loop.trunk; p < int(loop.path.size()); ++p) pass<rows>(loop.path[p], a, at[p], along, own);
    for (int r = 0, k = 0; r < rows; ++r) {
      multipliers_[loop.row + r] = from.target[r] - along[r];
      for (int s = 0; s <= r; ++s) square_.at(loop.row + r, loop.row + s) = own[k++];
    }
  }

  template <int rows>
  CATENA_INLINE void pass(int i, Wrenches<rows>& on, Answer& at, T* along, T* own) {
    const Node& node = node_[i];
    const int kind = joint_[i].kind;
    for (int r = 0; r < rows; ++r) {
      Vec3<T> w, v, force, torque = {T(0), T(0), T(0)};
      at.N[r] = on.N[r], at.F[r] = on.F[r];
      solve(node, on.N[r], on.F[r], w, v);
      const Vec3<T> point = -(v + cross(w, node.r));
      react(node, kind, point, -w, force, torque);
      along[r] += dot(on.N[r], node.w, on.F[r], node.v) - dot(point, node.force);
      if (kind == revolute) along[r] += dot(w, node.torque);
      at.w[r] = w, at.v[r] = v, at.point[r] = point, at.force[r] = force, at.torque[r] = torque;
      on.F[r] = -force;
      on.N[r] = -plus_cross(torque, node.d, force);
    }
    for (int r = 0, k = 0; r < rows; ++r)
      for (int s = 0; s <= r; ++s) own[k++] += shared(at, r, at, s);
  }

  // what the response to row s does along row r, as far as a body and its joint account for it
  CATENA_INLINE T shared(const Answer& a, int r, const Answer& b, int s) const {
    const T body = dot(a.N[r], b.w[s], a.F[r], b.v[s]);
    return body - dot(a.point[r], b.force[s], -a.w[r], b.torque[s]);
  }

  const Model& model_;
  Holding hold_;
  std::vector<Loop> joint_;
  std::vector<Node> node_;
  std::vector<Rows<T>> rows_;
  std::vector<std::vector<Answer>> answers_;
  std::vector<Meeting> meetings_;
  std::vector<T> multipliers_;
  LeastSquares<T> square_;
};

// The classical scheme of Runge and Kutta on positions, quaternions and velocities; quaternions are brought back to
// unit length after every step, and wherever they are used in between.
class MaximalRungeKutta {
 public:
  MaximalRungeKutta(const Model& model, const Holding& hold)
      : n_(model.bodies), dynamics_(model, hold), stage_(n_ + 1), sum_(n_ + 1), slope_(n_ + 1) {
    const Vec3<double> zero = {0, 0, 0};
    stage_[0] = {zero, zero, zero, Quat<double>{1, zero}};
  }

  void step(Body<double>* state, double h) {
    const double reach[4] = {0.5 * h, 0.5 * h, h, 0}, weight[4] = {h / 6, h / 3, h / 3, h / 6};
    for (int s = 0; s < 4; ++s) {
      Body<double>* now = s == 0 ? state : stage_.data();
      dynamics_.accelerations(now, slope_.data());
      for (int i = 1; i <= n_; ++i) {
        const Body<double>& at = now[i];
        const Quat<double> turning = Quat<double>{0, 0.5 * at.w} * at.q;
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
