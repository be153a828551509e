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
        part_(model.bodies + 1),
        chained_(model.bodies + 1),
        forked_(model.bodies + 1),
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
    for (int i = 1; i <= model.bodies; ++i) {
      const int parent = model.joints[i].parent;
      if (parent == i - 1)
        chained_[parent] = 1;
      else
        forked_[parent] = 1;
    }
    for (int i = 1; i <= model.bodies; ++i)
      if (forked_[i]) forks_.push_back(i);
    node_[0].R = diagonal(T(1));
  }

  // of bodies 1 ... n; those of the world, body 0, are not written
  void accelerations(const Body<T>* bodies, Acceleration<T>* out) {
    const Vec3<T> zero = {T(0), T(0), T(0)};
    for (int i = 1; i <= model_.bodies; ++i) node_[i].R = matrix(bodies[i].q);
    for (int i : forks_) part_[i] = {};
    // what the last joint passed on, at hand for the next body of a chain
    Part passed = {};
    for (int i = model_.bodies; i > 0; --i) {
      Part part = own(i, bodies[i]);
      if (chained_[i]) add(part, passed);
      if (forked_[i]) add(part, part_[i]);
      passed = eliminate(i, bodies, part);
      const int parent = joint_[i].a.body;
      if (parent > 0 && parent != i - 1) add(part_[parent], passed);
    }
    if (model_.rows) close(bodies);
    Acceleration<T> last = {zero, zero};
    out[0] = last;
    for (int i = 1; i <= model_.bodies; ++i) {
      if (joint_[i].a.body != i - 1) last = out[joint_[i].a.body];
      last = substitute(i, last);
      out[i] = last;
    }
  }

 private:
  struct Node {
    Mat3<T> R;
    Mat3<T> W, G, P, Ci, V;   // of the body's factor; P = G^T, V = W H
    Vec3<T> r, d;             // to the joint, from the centres of mass of the body and of its parent
    Mat3<T> Aj, Bj, Btj, Cj;  // S^-1 of its joint as a map of motion at the joint to wrench there
    Vec3<T> force, torque;    // S^-1 times the joint's right-hand side, likewise
    Vec3<T> v, w;             // D^-1 times the body's
  };
  // a body's block and its right-hand side
  struct Part {
    Mat3<T> A, Bt, C;
    Vec3<T> n, f;
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

  CATENA_INLINE Part own(int i, const Body<T>& body) const {
    const Mass& own = model_.masses[i];
    const T mass = T(own.mass);
    T inertia[6];
    for (int k = 0; k < 6; ++k) inertia[k] = T(own.inertia[k]);
    const Mat3<T> A = rotated(node_[i].R, inertia);
    return {A, diagonal(T(0)), diagonal(mass), -cross(body.w, A * body.w), mass * as<T>(model_.gravity)};
  }

  static CATENA_INLINE void add(Part& to, const Part& from) {
    to.A = to.A + from.A;
    to.Bt = to.Bt + from.Bt;
    to.C = to.C + from.C;
    to.n += from.n;
    to.f += from.f;
  }

  CATENA_INLINE Side<T> side(const End& end, const Body<T>* bodies) const {
    const Body<T>& body = bodies[end.body];
    return {node_[end.body].R, node_[end.body].R * as<T>(end.point), body.w, body.x, body.v};
  }

  CATENA_INLINE void solve(const Node& node, Vec3<T> n, Vec3<T> f, Vec3<T>& w, Vec3<T>& v) const {
    w = node.W * (n - node.G * f);
    v = node.Ci * f - node.P * w;
  }

  // returns what the parent's block gets
  CATENA_INLINE Part eliminate(int i, const Body<T>* bodies, const Part& own) {
    Node& node = node_[i];
    const Loop& joint = joint_[i];
    Rows<T> rows;
    rows.set(joint, side(joint.a, bodies), side(joint.b, bodies), hold_);
    node.r = rows.arm_b, node.d = rows.arm_a;

    // the body's block; products before divisions, which take as long
    const Mat3<T> adjoint_C = symmetric_adjugate(own.C), CB = adjoint_C * own.Bt, BCB = transpose(own.Bt) * CB;
    const T over_C = T(1) / dot(own.C.i, adjoint_C.i);
    node.Ci = over_C * adjoint_C;
    node.P = over_C * CB;
    node.G = transpose(node.P);
    const Mat3<T> H = diagonal_and_skew(T(0), node.r) - node.G, Ht = transpose(H);
    const Mat3<T> schur = own.A - over_C * BCB, adjoint_W = symmetric_adjugate(schur);
    const T over_W = T(1) / dot(schur.i, adjoint_W.i);
    node.W = over_W * adjoint_W;
    node.V = over_W * (adjoint_W * H);
    solve(node, own.n, own.f, node.w, node.v);

    // its joint's
    const Vec3<T> point = load_vector(rows.target) - (node.v + cross(node.w, node.r));
    Mat3<T> S = node.Ci + Ht * node.V;
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

    const Vec3<T> d = node.d;
    Part to;
    to.C = node.Cj;
    to.f = -node.force;
    if (joint.kind == ball) {
      to.Bt = times_skew(node.Cj, -d);
      to.A = plus_skew_times(diagonal(T(0)), d, to.Bt);
      to.n = -cross(d, node.force);
    } else {
      to.Bt = minus_times_skew(node.Btj, node.Cj, d);
      to.A = plus_skew_times(minus_times_skew(node.Aj, node.Bj, d), d, to.Bt);
      to.n = -plus_cross(node.torque, d, node.force);
    }
    return to;
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

  CATENA_INLINE Acceleration<T> substitute(int i, const Acceleration<T>& parent) const {
    const Node& node = node_[i];
    const int kind = joint_[i].kind;
    const Vec3<T> point = parent.v + cross(parent.w, node.d);
    Vec3<T> force, torque;
    react(node, kind, point, parent.w, force, torque);
    force += node.force;
    Vec3<T> w = node.V * force;
    if (kind == revolute) w += node.W * (torque + node.torque);
    return {node.v + (node.Ci * force - node.P * w), node.w + w};
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
          node.w += m * at.w[r], node.v += m * at.v[r];
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
  std::vector<Part> part_;              // of forks
  std::vector<char> chained_, forked_;  // whether the next body hangs on this one, and whether others do
  std::vector<int> forks_;
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
