// The joint-space inertia M of a tree, factorised in linear time: the articulated-body algorithm.
//
// Motions (phi, u) are an angular part and a linear part at the world's origin, wrenches (F, T) a force and a torque
// about it, so that nothing has to be shifted from body to body. Leaf to root, with A the articulated inertia of a
// body, S = (a, l) its joint, U = A S, d = S.U, what the parent has to carry is A - U U^T / d. This serves
// the impulses of the quasi-Newton method, M delta = impulse, and the rates of a node, M rate = momentum.
#pragma once

#include "variational/tree.hpp"

namespace catena_paper {

class Mass {
 public:
  explicit Mass(const Tree& tree) : tree_(tree), inertias_(tree.size()), joints_(tree.size()), motions_(tree.size()) {}

  void factor(const Place* places) {
    for (int i = 0; i < tree_.size(); ++i) {
      const Vec x = places[i].x, mx = tree_.bodies[i].mass * x;
      inertias_[i] = {diagonal(tree_.bodies[i].mass), skew(-mx),
                      // J - m [x][x]
                      places[i].inertia + diagonal(dot(mx, x)) - outer(mx, x)};
    }
    for (int i = tree_.size() - 1; i >= 0; --i) {
      const Inertia& A = inertias_[i];
      Joint& joint = joints_[i];
      joint.a = places[i].a;
      joint.l = cross(places[i].c, joint.a);
      joint.x = places[i].x;
      joint.force = A.Fu * joint.l + A.Fp * joint.a;
      joint.torque = A.Tp * joint.a + transposed_times(A.Fp, joint.l);
      joint.inverse = 1 / dot(joint.a, joint.torque, joint.l, joint.force);
      const int parent = tree_.bodies[i].parent;
      if (parent < 0) continue;
      const Vec f = joint.inverse * joint.force, t = joint.inverse * joint.torque;
      Inertia& to = inertias_[parent];
      to.Fu = to.Fu + A.Fu - outer(joint.force, f);
      to.Fp = to.Fp + A.Fp - outer(joint.force, t);
      to.Tp = to.Tp + A.Tp - outer(joint.torque, t);
    }
  }

  // M out = scale in; tells the sum of |phi|^2 + |velocity of the centre|^2 over the bodies
  double solve(double scale, const double* in, double* out) {
    for (auto& motion : motions_) motion = {zero(), zero()};
    for (int i = tree_.size() - 1; i >= 0; --i) {
      const Joint& joint = joints_[i];
      // going down the slots hold wrenches
      const Motion& load = motions_[i];
      out[i] = joint.inverse * (scale * in[i] - dot(joint.a, load.phi, joint.l, load.u));
      const int parent = tree_.bodies[i].parent;
      if (parent < 0) continue;
      motions_[parent].phi += load.phi + out[i] * joint.torque;
      motions_[parent].u += load.u + out[i] * joint.force;
    }
    double size = 0;
    for (int i = 0; i < tree_.size(); ++i) {
      const Joint& joint = joints_[i];
      const int parent = tree_.bodies[i].parent;
      Motion motion = {zero(), zero()};
      if (parent >= 0) {
        motion = motions_[parent];
        out[i] -= joint.inverse * dot(joint.torque, motion.phi, joint.force, motion.u);
      }
      motion.phi += out[i] * joint.a;
      motion.u += out[i] * joint.l;
      motions_[i] = motion;
      const Vec centre = motion.u + cross(motion.phi, joint.x);
      size += dot(motion.phi, motion.phi, centre, centre);
    }
    return size;
  }

  // the sum of |phi|^2 + |velocity of the centre|^2 that given rates make
  double size_of(const double* rates) {
    double size = 0;
    for (int i = 0; i < tree_.size(); ++i) {
      const Joint& joint = joints_[i];
      const int parent = tree_.bodies[i].parent;
      Motion motion = {rates[i] * joint.a, rates[i] * joint.l};
      if (parent >= 0) {
        motion.phi += motions_[parent].phi;
        motion.u += motions_[parent].u;
      }
      motions_[i] = motion;
      const Vec centre = motion.u + cross(motion.phi, joint.x);
      size += dot(motion.phi, motion.phi, centre, centre);
    }
    return size;
  }

 private:
  struct Inertia {
    Mat Fu, Fp, Tp;  // force and torque by u and phi; T by u is the transpose of F by phi
  };
  struct Joint {
    Vec a, l, x, force, torque;
    double inverse;
  };
  struct Motion {
    Vec phi, u;
  };

  const Tree& tree_;
  std::vector<Inertia> inertias_;
  std::vector<Joint> joints_;
  std::vector<Motion> motions_;
};

}  // namespace catena_paper
