// Forward dynamics by the articulated-body algorithm: O(n) for trees.
//
// A body and all that hangs on it answer an acceleration (angular dw, of the joint's point dv) with the wrench
//
//   torque = A dw + B dv + n,   force = B^T dw + C dv + f        (at the joint, world frame)
//
// A hinge lets the torque about its axis a vanish: with u = A a, y = B^T a, D = a.u, e = -a.n
//
//   d(rate)/dt = (e - u.dw - y.dv) / D,   A -= u u^T / D,   B^T -= y u^T / D,   C -= y y^T / D
//
// What is to be subtracted is first shifted to the parent's joint, as u + l x y: so the shift of A, B, C needs not wait
// for D, and the accelerations follow from the parent's own.
//
// A ball lets all torque vanish: dw = -A^-1 (n + B dv), and what is left is C -= B^T A^-1 B alone.
//
// Loops: every row of a loop sends its unit wrenches from its two ends to the root, reduced at each joint as the bias
// is, with (N, F) before and e_j = a.N (or N) at a joint. The loops' inverse inertia is S_jk = sum over joints of e_j
// D^-1 e_k, and the same walk gives the acceleration along the row. So a row costs O(depth), S is small and dense, and
// it is inverted by least_squares.hpp. The multipliers enter the e of the joints, before the accelerations are found.
#pragma once

#include "kinematics.hpp"
#include "least_squares.hpp"
#include "loops.hpp"

namespace rivals {

template <class T>
class Articulated {
 public:
  Articulated(const Model& model, const Holding& hold)
      : kinematics_(model),
        model_(model),
        hold_(hold),
        inertia_(model.bodies + 1),
        joint_(model.bodies + 1),
        motion_(model.bodies + 1),
        chained_(model.bodies + 1),
        forked_(model.bodies + 1),
        rows_(model.loops.size()),
        meetings_(model.meetings()),
        multipliers_(model.rows) {
    square_.resize(model.rows, hold.rank);
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
    motion_[0] = {as<T>(Vec3<double>{0, 0, 0}), as<T>(-model.gravity)};
  }

  // d(rates)/dt
  void accelerations(const T* q, const T* rates, T* out) {
    kinematics_.turn(q);
    Frame<T> last = kinematics_.frame[0];
    for (int i = 1; i <= model_.bodies; ++i) kinematics_.place(i, q, rates, last);
    for (int i : forks_) inertia_[i] = {};
    // what the last link passed on, at hand for the next one of a chain
    Inertia passed = {};
    for (int i = model_.bodies; i > 0; --i) {
      Inertia I = own(i);
      if (chained_[i]) add(I, passed);
      if (forked_[i]) add(I, inertia_[i]);
      passed = kinematics_.link[i].kind == revolute ? reduce_hinge(i, I) : reduce_ball(i, I);
      const int parent = kinematics_.link[i].parent;
      if (parent > 0 && parent != i - 1) add(inertia_[parent], passed);
    }
    if (model_.rows) close();
    Motion moved = motion_[0];
    for (int i = 1; i <= model_.bodies; ++i) accelerate(i, moved, out);
  }

 private:
  struct Inertia {
    Mat3<T> A, Bt, C;
    Vec3<T> n, f;
  };
  struct Elimination {
    Vec3<T> u, y;  // hinge
    T inverse, e;
    Mat3<T> Ai, K;  // ball: A^-1, A^-1 B
    Vec3<T> z;      // A^-1 n
  };
  struct Motion {
    Vec3<T> spin, pull;  // dw/dt, acceleration of the joint's point
  };
  // a loop's rows at a joint of its path: e and D^-1 e; of a hinge the first number alone
  struct Answer {
    Vec3<T> e[most_rows], answer[most_rows];
  };
  // wrenches of a loop's rows on their way to the root
  template <int rows>
  struct Wrenches {
    Vec3<T> N[rows], F[rows];
  };
  // of the body alone
  CATENA_INLINE Inertia own(int i) const {
    const Link<T>& body = kinematics_.link[i];
    const Frame<T>& frame = kinematics_.frame[i];
    const Vec3<T> moment = frame.R * body.moment;
    const Mat3<T> A = rotated(frame.R, body.inertia);
    return {A, diagonal_and_skew(T(0), -moment), diagonal(body.mass), cross(frame.w, A * frame.w),
            cross(frame.w, cross(frame.w, moment))};
  }

  static CATENA_INLINE void add(Inertia& to, const Inertia& from) {
    to.A = to.A + from.A;
    to.Bt = to.Bt + from.Bt;
    to.C = to.C + from.C;
    to.n += from.n;
    to.f += from.f;
  }

  // returns what the parent feels, at its joint
  CATENA_INLINE Inertia reduce_hinge(int i, const Inertia& I) {
    Elimination& j = joint_[i];
    const Frame<T>& frame = kinematics_.frame[i];
    const Vec3<T> a = frame.axis, l = frame.l;
    const Mat3<T> B = transpose(I.Bt);
    const Vec3<T> u = I.A * a, y = I.Bt * a, shifted_u = plus_cross(u, l, y);
    const T inverse = T(1) / dot(a, u);
    const T e = -dot(a, I.n) - dot(u, frame.turning, y, frame.pulling);
    j.u = shifted_u, j.y = y, j.inverse = inverse, j.e = e;

    Inertia to;
    to.C = I.C;
    to.Bt = minus_times_skew(I.Bt, I.C, l);
    to.A = plus_skew_times(minus_times_skew(I.A, B, l), l, to.Bt);
    to.f = I.f + (I.Bt * frame.turning + I.C * frame.pulling);
    to.n = plus_cross(I.n + (I.A * frame.turning + B * frame.pulling), l, to.f);
    const Vec3<T> ud = inverse * shifted_u, yd = inverse * y;
    subtract_outer(to.A, ud, shifted_u);
    subtract_outer(to.Bt, yd, shifted_u);
    subtract_outer(to.C, yd, y);
    to.f += e * yd;
    to.n += e * ud;
    return to;
  }

  CATENA_INLINE Inertia reduce_ball(int i, const Inertia& I) {
    Elimination& j = joint_[i];
    const Frame<T>& frame = kinematics_.frame[i];
    const Vec3<T> l = frame.l;
    // products before the division, which takes as long
    const Mat3<T> adjoint = symmetric_adjugate(I.A), AB = adjoint * transpose(I.Bt);
    const Vec3<T> An = adjoint * I.n;
    const T inverse = T(1) / dot(I.A.i, adjoint.i);
    if (model_.rows) j.Ai = inverse * adjoint;
    j.K = inverse * AB;
    j.z = inverse * An;

    Inertia to;
    to.C = I.C - inverse * (I.Bt * AB);
    to.Bt = times_skew(to.C, -l);
    to.A = plus_skew_times(diagonal(T(0)), l, to.Bt);
    to.f = (I.f - inverse * (I.Bt * An)) + to.C * frame.pulling;
    to.n = cross(l, to.f);
    return to;
  }

  CATENA_INLINE void accelerate(int i, Motion& moved, T* out) {
    const Link<T>& body = kinematics_.link[i];
    const Frame<T>& frame = kinematics_.frame[i];
    const Elimination& j = joint_[i];
    if (body.parent != i - 1) moved = motion_[body.parent];
    const Vec3<T> spin = moved.spin + frame.turning;
    const Vec3<T> pull = (moved.pull + frame.pulling) + cross(moved.spin, frame.l);
    if (body.kind == revolute) {
      const T rate = j.inverse * (j.e - dot(j.u, moved.spin, j.y, moved.pull));
      out[body.rate] = rate;
      moved = {spin + rate * frame.axis, pull};
    } else {
      const Vec3<T> turned = -(j.z + j.K * pull);
      store_vector(out + body.rate, transposed_times(frame.R, turned - spin));
      moved = {turned, pull};
    }
    if (forked_[i]) motion_[i] = moved;
  }

  // ---- loops

  Side<T> side(const End& end) const {
    const Frame<T>& frame = kinematics_.frame[end.body];
    const Vec3<double> foot = end.body ? model_.joints[end.body].at_child : Vec3<double>{0, 0, 0};
    return {frame.R, frame.R * as<T>(end.point - foot), frame.w, frame.x, frame.v};
  }

  void close() {
    square_.clear();
    for (int k = 0; k < int(model_.loops.size()); ++k) {
      const Loop& loop = model_.loops[k];
      rows_[k].set(loop, side(loop.a), side(loop.b), hold_);
      if (loop.rows == 5)
        walk<5>(loop, rows_[k], answers_[k]);
      else
        walk<3>(loop, rows_[k], answers_[k]);
    }
    for (const Meeting& meeting : meetings_) couple(meeting);
    square_.solve(multipliers_.data());
    for (int k = 0; k < int(model_.loops.size()); ++k) {
      const Loop& loop = model_.loops[k];
      const T* m = &multipliers_[loop.row];
      for (int p = 0; p < int(loop.path.size()); ++p) {
        const Answer& at = answers_[k][p];
        Elimination& j = joint_[loop.path[p]];
        if (kinematics_.link[loop.path[p]].kind == revolute)
          for (int r = 0; r < loop.rows; ++r) j.e += m[r] * at.e[r].x;
        else
          for (int r = 0; r < loop.rows; ++r) j.z -= m[r] * at.answer[r];
      }
    }
  }

  // from both ends to where they meet, and on to the root: the loop's own inverse inertia, and its targets less the
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
      // gravity is an acceleration of the world, upwards
      multipliers_[loop.row + r] = from.target[r] - (along[r] + dot(a.F[r], motion_[0].pull));
      for (int s = 0; s <= r; ++s) square_.at(loop.row + r, loop.row + s) = own[k++];
    }
  }

  template <int rows>
  CATENA_INLINE void pass(int i, Wrenches<rows>& on, Answer& at, T* along, T* own) {
    const Frame<T>& frame = kinematics_.frame[i];
    const Elimination& j = joint_[i];
    if (kinematics_.link[i].kind == revolute) {
      T e[rows];
      for (int r = 0; r < rows; ++r) {
        e[r] = dot(frame.axis, on.N[r]);
        const T answer = j.inverse * e[r];
        at.e[r].x = e[r], at.answer[r].x = answer;
        along[r] += dot(on.N[r], frame.turning, on.F[r], frame.pulling) + answer * j.e;
        on.N[r] = plus_cross(on.N[r], frame.l, on.F[r]) - answer * j.u;
        on.F[r] -= answer * j.y;
      }
      for (int r = 0, k = 0; r < rows; ++r) {
        const T answer = j.inverse * e[r];
        for (int s = 0; s <= r; ++s) own[k++] += answer * e[s];
      }
    } else {
      const Mat3<T> Kt = transpose(j.K);
      for (int r = 0; r < rows; ++r) {
        at.e[r] = on.N[r], at.answer[r] = j.Ai * on.N[r];
        on.F[r] -= Kt * on.N[r];
        along[r] += dot(on.F[r], frame.pulling) - dot(on.N[r], j.z);
        on.N[r] = cross(frame.l, on.F[r]);
      }
      for (int r = 0, k = 0; r < rows; ++r)
        for (int s = 0; s <= r; ++s) own[k++] += dot(at.answer[r], at.e[s]);
    }
  }

  // what two loops that share a joint have to do with each other
  void couple(const Meeting& m) {
    const Loop &a = model_.loops[m.one], &b = model_.loops[m.two];
    const Answer &at_a = answers_[m.one][m.place_one], &at_b = answers_[m.two][m.place_two];
    const bool hinge = kinematics_.link[a.path[m.place_one]].kind == revolute;
    for (int r = 0; r < a.rows; ++r) {
      T* to = &square_.at(a.row + r, b.row);
      if (hinge)
        for (int s = 0; s < b.rows; ++s) to[s] += at_a.e[r].x * at_b.answer[s].x;
      else
        for (int s = 0; s < b.rows; ++s) to[s] += dot(at_a.e[r], at_b.answer[s]);
    }
  }

  Kinematics<T> kinematics_;
  const Model& model_;
  Holding hold_;
  std::vector<Inertia> inertia_;
  std::vector<Elimination> joint_;
  std::vector<Motion> motion_;          // of forks
  std::vector<char> chained_, forked_;  // whether the next body hangs on this one, and whether others do
  std::vector<int> forks_;
  std::vector<Rows<T>> rows_;
  std::vector<std::vector<Answer>> answers_;
  std::vector<Meeting> meetings_;
  std::vector<T> multipliers_;
  LeastSquares<T> square_;
};

}  // namespace rivals
