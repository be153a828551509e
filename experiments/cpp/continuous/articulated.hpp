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
  Articulated(const Model& model, Stabilisation stabilise)
      : kinematics_(model),
        model_(model),
        stabilise_(stabilise),
        inertia_(model.bodies + 1),
        joint_(model.bodies + 1),
        motion_(model.bodies + 1),
        chained_(model.bodies + 1),
        forked_(model.bodies + 1),
        rows_(model.loops.size()),
        passes_(model.bodies + 1),
        multipliers_(model.rows) {
    square_.resize(model.rows);
    for (int k = 0; k < int(model.loops.size()); ++k) {
      const Loop& loop = model.loops[k];
      walks_.emplace_back(loop.path.size());
      for (int p = 0; p < int(loop.path.size()); ++p) passes_[loop.path[p]].push_back({k, p});
    }
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

  int coordinates() const { return model_.coordinates; }
  int rates() const { return model_.rates; }

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
  // a loop's rows at a body of its path: wrenches, and what they do at its joint
  struct Walk {
    Vec3<T> N[most_rows], F[most_rows];
    Vec3<T> e[most_rows], answer[most_rows];  // e and D^-1 e; of a hinge the first number alone
  };
  struct Pass {
    int loop, place;
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
      rows_[k].set(loop, side(loop.a), side(loop.b), stabilise_);
      for (int r = 0; r < loop.rows; ++r) multipliers_[loop.row + r] = rows_[k].target[r];
      walk(loop, rows_[k], walks_[k]);
    }
    // the inverse inertia of all loops, joint by joint
    for (int i = 1; i <= model_.bodies; ++i)
      for (const Pass& one : passes_[i])
        for (const Pass& two : passes_[i])
          if (two.loop <= one.loop) couple(i, one, two);
    square_.solve(multipliers_.data());
    for (int i = 1; i <= model_.bodies; ++i)
      for (const Pass& pass : passes_[i]) {
        const Loop& loop = model_.loops[pass.loop];
        const Walk& at = walks_[pass.loop][pass.place];
        for (int r = 0; r < loop.rows; ++r) {
          const T m = multipliers_[loop.row + r];
          if (kinematics_.link[i].kind == revolute)
            joint_[i].e += m * at.e[r].x;
          else
            joint_[i].z -= m * at.answer[r];
        }
      }
  }

  // from both ends to the root; takes the accelerations that are there without the loop off the targets
  void walk(const Loop& loop, const Rows<T>& rows, std::vector<Walk>& at) {
    const Vec3<T> zero = as<T>(Vec3<double>{0, 0, 0});
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
      const int i = loop.path[p], next = loop.next[p];
      const Frame<T>& frame = kinematics_.frame[i];
      const Elimination& j = joint_[i];
      Walk& here = at[p];
      for (int r = 0; r < loop.rows; ++r) {
        Vec3<T> N = here.N[r], F = here.F[r];
        T along;
        if (kinematics_.link[i].kind == revolute) {
          const T e = dot(frame.axis, N), answer = j.inverse * e;
          here.e[r] = {e, T(0), T(0)}, here.answer[r] = {answer, T(0), T(0)};
          along = dot(N, frame.turning, F, frame.pulling) + answer * j.e;
          F -= answer * j.y;
          N = plus_cross(N, frame.l, here.F[r]) - answer * j.u;
        } else {
          here.e[r] = N, here.answer[r] = j.Ai * N;
          F -= transposed_times(j.K, N);
          along = dot(F, frame.pulling) - dot(N, j.z);
          N = cross(frame.l, F);
        }
        // gravity is an acceleration of the world, upwards
        if (next < 0)
          along += dot(F, motion_[0].pull);
        else
          at[next].F[r] += F, at[next].N[r] += N;
        multipliers_[loop.row + r] -= along;
      }
    }
    // an end in the world moves with it
    if (loop.start_a < 0 || loop.start_b < 0)
      for (int r = 0; r < loop.rows; ++r) {
        Vec3<T> N, F;
        rows.wrench(r, zero, loop.start_a < 0 ? T(-1) : T(1), F, N);
        multipliers_[loop.row + r] -= dot(F, motion_[0].pull);
      }
  }

  void couple(int i, const Pass& one, const Pass& two) {
    const Loop &a = model_.loops[one.loop], &b = model_.loops[two.loop];
    const Walk &at_a = walks_[one.loop][one.place], &at_b = walks_[two.loop][two.place];
    const bool hinge = kinematics_.link[i].kind == revolute;
    for (int r = 0; r < a.rows; ++r)
      for (int s = 0; s < (one.loop == two.loop ? r + 1 : b.rows); ++s)
        square_.at(a.row + r, b.row + s) += hinge ? at_a.e[r].x * at_b.answer[s].x : dot(at_a.e[r], at_b.answer[s]);
  }

  Kinematics<T> kinematics_;
  const Model& model_;
  Stabilisation stabilise_;
  std::vector<Inertia> inertia_;
  std::vector<Elimination> joint_;
  std::vector<Motion> motion_;          // of forks
  std::vector<char> chained_, forked_;  // whether the next body hangs on this one, and whether others do
  std::vector<int> forks_;
  std::vector<Rows<T>> rows_;
  std::vector<std::vector<Walk>> walks_;
  std::vector<std::vector<Pass>> passes_;
  std::vector<T> multipliers_;
  LeastSquares<T> square_;
};

}  // namespace rivals
