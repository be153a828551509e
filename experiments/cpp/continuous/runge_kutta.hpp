// Explicit Runge-Kutta-Munthe-Kaas: hinges' angles are plain numbers, ball joints turn on SO(3).
//
// Within a step a ball joint's quaternion is q exp(t), and it is the rotation vector t to which the scheme is applied:
// dt/dt is the joint's rate, corrected by the inverse of the exponential's differential. Without ball joints these are
// the plain schemes of Heun and of Runge and Kutta.
#pragma once

#include "angles.hpp"
#include "model.hpp"

namespace rivals {

// every stage starts from the slope of the one before
struct Scheme {
  int stages;
  double node[4], weight[4];
};
constexpr Scheme heun = {2, {0, 1}, {0.5, 0.5}};
constexpr Scheme classical = {4, {0, 0.5, 0.5, 1}, {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}};

template <class Dynamics>
class MuntheKaas {
 public:
  MuntheKaas(const Model& model, Dynamics& dynamics, const Scheme& scheme)
      : model_(model),
        dynamics_(dynamics),
        scheme_(scheme),
        q_(model.coordinates),
        v_(model.rates),
        a_(model.rates),
        turn_(model.rates),
        slope_(model.rates),
        dv_(model.rates),
        dq_(model.rates) {}

  void step(double* q, double* v, double h) {
    const int n = model_.rates;
    for (int s = 0; s < scheme_.stages; ++s) {
      const double reach = h * scheme_.node[s], weight = h * scheme_.weight[s];
      if (s == 0) {
        dynamics_.accelerations(q, v, a_.data());
        for (int i = 0; i < n; ++i) slope_[i] = v[i], dq_[i] = weight * v[i], dv_[i] = weight * a_[i];
        continue;
      }
      for (int i = 0; i < n; ++i) turn_[i] = reach * slope_[i], v_[i] = v[i] + reach * a_[i];
      move(q, turn_.data(), q_.data());
      dynamics_.accelerations(q_.data(), v_.data(), a_.data());
      for (int i = 0; i < n; ++i) slope_[i] = v_[i];
      for (int i = 1; i <= model_.bodies; ++i) {
        const Joint& joint = model_.joints[i];
        if (joint.kind == ball)
          store3(&slope_[joint.rate], rate_of_turn(load3(&turn_[joint.rate]), load3(&v_[joint.rate])));
      }
      for (int i = 0; i < n; ++i) dq_[i] += weight * slope_[i], dv_[i] += weight * a_[i];
    }
    move(q, dq_.data(), q);
    for (int i = 1; i <= model_.bodies; ++i) {
      double* p = q + model_.joints[i].coordinate;
      if (model_.joints[i].kind == ball) store_quaternion(p, renormalised(load_quaternion(p)));
    }
    for (int i = 0; i < n; ++i) v[i] += dv_[i];
  }

 private:
  void move(const double* from, const double* turn, double* to) const {
    for (int i = 1; i <= model_.bodies; ++i) {
      const Joint& joint = model_.joints[i];
      const double* p = from + joint.coordinate;
      if (joint.kind == revolute)
        to[joint.coordinate] = p[0] + turn[joint.rate];
      else
        store_quaternion(to + joint.coordinate, load_quaternion(p) * exponential(load3(turn + joint.rate)));
    }
  }

  const Model& model_;
  Dynamics& dynamics_;
  Scheme scheme_;
  std::vector<double> q_, v_, a_, turn_, slope_, dv_, dq_;
};

}  // namespace rivals
