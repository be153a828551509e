// Forward dynamics by the mass matrix: composite rigid bodies for its entries, recursive Newton-Euler for the bias, a
// dense Cholesky factor that looks at no structure. O(n^3), and what the paper compared with.
//
//   M d(rates)/dt + h = J^T m,   J d(rates)/dt = target          with M = L L^T, Y = L^-1 J^T, z = -L^-1 h
//   Y^T Y m = target - Y^T z,    d(rates)/dt = L^-T (z + Y m)
#pragma once

#include "dense.hpp"
#include "kinematics.hpp"
#include "least_squares.hpp"
#include "loops.hpp"

namespace rivals {

class Composite {
 public:
  Composite(const Model& model, const Holding& hold)
      : kinematics_(model),
        model_(model),
        hold_(hold),
        part_(model.bodies + 1),
        above_(model.bodies + 1),
        factor_(model.rates),
        z_(factor_.padded() / 4),
        y_(size_t(model.rows) * factor_.padded() / 4),
        multipliers_(model.rows) {
    square_.resize(model.rows, hold.rank);
    for (int i = 1; i <= model.bodies; ++i) {
      const Joint& joint = model.joints[i];
      above_[i].kind = joint.kind, above_[i].rate = joint.rate, above_[i].parent = joint.parent;
    }
    part_[0].spin = {0, 0, 0};
    part_[0].pull = -model.gravity;
  }

  void accelerations(const double* q, const double* rates, double* out) {
    kinematics_.turn(q);
    Frame<double> last = kinematics_.frame[0];
    for (int i = 1; i <= model_.bodies; ++i) {
      kinematics_.place(i, q, rates, last);
      begin(i);
    }
    factor_.clear();
    double* z = numbers(z_);
    for (int i = model_.bodies; i > 0; --i) gather(i, z);
    factor_.factor();
    for (int i = model_.rates; i < factor_.padded(); ++i) z[i] = 0;
    factor_.forward(z);
    if (model_.rows) close(z);
    factor_.backward(z);
    for (int i = 0; i < model_.rates; ++i) out[i] = z[i];
  }

 private:
  // a body, then all that hangs on it as one body: about its joint
  struct Part {
    Mat3<double> inertia;
    Vec3<double> moment;
    double mass;
    Vec3<double> spin, pull;  // accelerations at rates that stay
    Vec3<double> n, f;        // and the wrench they need
  };

  // what the columns of the mass matrix ask of a joint, kept together because they ask so often
  struct Above {
    Mat3<double> axes;  // of a hinge the first alone
    Vec3<double> x;
    int kind, rate, parent;
  };

  static double* numbers(std::vector<Block>& blocks) { return reinterpret_cast<double*>(blocks.data()); }

  CATENA_INLINE void begin(int i) {
    const Link<double>& body = kinematics_.link[i];
    const Frame<double>& frame = kinematics_.frame[i];
    const Part& parent = part_[body.parent];
    Part& own = part_[i];
    Above& above = above_[i];
    if (body.kind == revolute)
      above.axes.i = frame.axis;
    else
      above.axes = frame.R;
    above.x = frame.x;
    own.inertia = rotated(frame.R, body.inertia);
    own.moment = frame.R * body.moment;
    own.mass = body.mass;
    own.spin = parent.spin + frame.turning;
    own.pull = (parent.pull + frame.pulling) + cross(parent.spin, frame.l);
    own.n = (own.inertia * own.spin + cross(own.moment, own.pull)) + cross(frame.w, own.inertia * frame.w);
    own.f = (own.mass * own.pull + cross(own.spin, own.moment)) + cross(frame.w, cross(frame.w, own.moment));
  }

  CATENA_INLINE void gather(int i, double* z) {
    const Link<double>& body = kinematics_.link[i];
    const Frame<double>& frame = kinematics_.frame[i];
    const Part& own = part_[i];
    if (body.kind == revolute) {
      z[body.rate] = -dot(frame.axis, own.n);
      column(i, body.rate, frame.axis);
    } else {
      store3(z + body.rate, -transposed_times(frame.R, own.n));
      column(i, body.rate, frame.R.i);
      column(i, body.rate + 1, frame.R.j);
      column(i, body.rate + 2, frame.R.k);
    }
    if (body.parent == 0) return;
    Part& to = part_[body.parent];
    const Vec3<double> l = frame.l, moment = own.moment + own.mass * l;
    Mat3<double> shifted = own.inertia + diagonal(dot(l, own.moment) + dot(l, moment));
    subtract_outer(shifted, moment, l);
    subtract_outer(shifted, l, own.moment);
    to.inertia = to.inertia + shifted;
    to.moment += moment;
    to.mass += own.mass;
    to.f += own.f;
    to.n += plus_cross(own.n, l, own.f);
  }

  // the torques at all joints above that a unit acceleration about an axis of joint i needs
  CATENA_INLINE void column(int i, int row, Vec3<double> axis) {
    const Part& own = part_[i];
    const Vec3<double> about = own.inertia * axis, f = cross(axis, own.moment), x = kinematics_.frame[i].x;
    double* entry = factor_.row(row);
    for (int j = i; j > 0;) {
      const Above& above = above_[j];
      // by the whole way, so that no joint waits for the one before
      const Vec3<double> n = plus_cross(about, x - above.x, f);
      if (above.kind == revolute) {
        entry[4 * above.rate] = dot(above.axes.i, n);
      } else {
        // of its own three, the lower half
        const Vec3<double> torque = transposed_times(above.axes, n);
        entry[4 * above.rate] = torque.x;
        if (row > above.rate) entry[4 * above.rate + 4] = torque.y;
        if (row > above.rate + 1) entry[4 * above.rate + 8] = torque.z;
      }
      j = above.parent;
    }
  }

  // ---- loops

  Side<double> side(const End& end) const {
    const Frame<double>& frame = kinematics_.frame[end.body];
    const Vec3<double> foot = end.body ? model_.joints[end.body].at_child : Vec3<double>{0, 0, 0};
    return {frame.R, frame.R * (end.point - foot), frame.w, frame.x, frame.v};
  }

  void close(double* z) {
    const int width = factor_.padded();
    double* y = numbers(y_);
    std::fill(y, y + size_t(model_.rows) * width, 0.0);
    for (const Loop& loop : model_.loops) {
      Rows<double> rows;
      rows.set(loop, side(loop.a), side(loop.b), hold_);
      for (int r = 0; r < loop.rows; ++r) {
        double* row = y + size_t(loop.row + r) * width;
        multipliers_[loop.row + r] = rows.target[r] - walk(loop.a.body, rows, r, rows.arm_a, -1, row) -
                                     walk(loop.b.body, rows, r, rows.arm_b, 1, row);
      }
    }
    for (int r = 0; r < model_.rows; ++r) {
      double* mine = y + size_t(r) * width;
      factor_.forward(mine);
      multipliers_[r] -= product(mine, z, width);
      for (int s = 0; s <= r; ++s) square_.at(r, s) = product(mine, y + size_t(s) * width, width);
    }
    square_.solve(multipliers_.data());
    for (int r = 0; r < model_.rows; ++r)
      for (int k = 0; k < width; k += 4) block(z + k) += multipliers_[r] * block(y + size_t(r) * width + k);
  }

  // adds the row's torques at the joints that a body hangs on; returns its acceleration along the row at rates that
  // stay
  double walk(int body, const Rows<double>& rows, int r, Vec3<double> arm, double sign, double* row) const {
    Vec3<double> f, n;
    rows.wrench(r, arm, sign, f, n);
    const double along = dot(f, part_[body].pull, n, part_[body].spin);
    for (int j = body; j > 0;) {
      const Link<double>& link = kinematics_.link[j];
      const Frame<double>& frame = kinematics_.frame[j];
      if (link.kind == revolute) {
        row[link.rate] += dot(frame.axis, n);
      } else {
        const Vec3<double> torque = transposed_times(frame.R, n);
        for (int k = 0; k < 3; ++k) row[link.rate + k] += k == 0 ? torque.x : k == 1 ? torque.y : torque.z;
      }
      n = plus_cross(n, frame.l, f);
      j = link.parent;
    }
    return along;
  }

  static double product(const double* a, const double* b, int width) {
    Block sum = {};
    for (int k = 0; k < width; k += 4) sum += block(const_cast<double*>(a) + k) * block(const_cast<double*>(b) + k);
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  Kinematics<double> kinematics_;
  const Model& model_;
  Holding hold_;
  std::vector<Part> part_;
  std::vector<Above> above_;
  Dense factor_;
  std::vector<Block> z_, y_;
  std::vector<double> multipliers_;
  LeastSquares<double> square_;
};

}  // namespace rivals
