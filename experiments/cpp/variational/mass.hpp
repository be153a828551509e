// The joint-space inertia M of a tree, factorised in linear time: the articulated-body algorithm.
//
// Motions (phi, u) are an angular part and a linear part at the world's origin, wrenches (F, T) a force and a torque
// about it, so that nothing has to be shifted from body to body. Leaf to root, with A the articulated inertia of a
// body, S = (a, l) its joint, U = A S, d = S.U, what the parent has to carry is A - U U^T / d. This serves
// the impulses of the quasi-Newton method, M delta = impulse, and the rates of a node, M rate = momentum.
//
// On the way along a chain everything stays in registers; where branches meet it is left at the fork.
#pragma once

#include "variational/tree.hpp"

namespace catena_paper {

struct Wrench {
  Vec force, torque;
};
CATENA_INLINE Wrench operator+(const Wrench& a, const Wrench& b) { return {a.force + b.force, a.torque + b.torque}; }

struct Motion {
  Vec phi, u;
};

class Mass {
 public:
  explicit Mass(const Tree& tree)
      : tree_(tree), at_forks_(tree.size), loads_at_forks_(tree.size), joints_(tree.size), motions_(tree.size) {}

  void factor(const Places* places) {
    for (int i = 0; i < tree_.size; ++i)
      if (tree_.forks[i]) at_forks_[i] = Inertia{};
    Inertia carried = {};
    for (int b = int(tree_.packs.size()) - 1; b >= 0; --b) {
      const Places& at = places[b];
      const WideVec mx = tree_.packs[b].mass * at.x;
      Vec a[4], l[4], x[4], force[4];
      Mat Tp[4];
      spread(at.a, a);
      spread(at.l, l);
      spread(at.x, x);
      spread(-mx, force);
      // J - m [x][x]
      spread(at.inertia + diagonal(dot(mx, at.x)) - outer(mx, at.x), Tp);
      for (int k = 3; k >= 0; --k) {
        const int i = b * pack_size + k;
        if (i >= tree_.size) continue;
        Inertia A = {carried.Fu + diagonal(tree_.mass[i]), carried.Fp + skew(force[k]), carried.Tp + Tp[k]};
        if (tree_.forks[i]) A = A + at_forks_[i];
        Joint& joint = joints_[i];
        joint.a = a[k];
        joint.l = l[k];
        joint.x = x[k];
        joint.force = A.Fu * l[k] + A.Fp * a[k];
        joint.torque = A.Tp * a[k] + transposed_times(A.Fp, l[k]);
        joint.inverse = 1 / dot(a[k], joint.torque, l[k], joint.force);
        const Vec f = joint.inverse * joint.force, t = joint.inverse * joint.torque;
        carried = {A.Fu - outer(joint.force, f), A.Fp - outer(joint.force, t), A.Tp - outer(joint.torque, t)};
        const int parent = tree_.parent[i];
        if (parent != i - 1) {
          if (parent >= 0) at_forks_[parent] = at_forks_[parent] + carried;
          carried = Inertia{};
        }
      }
    }
  }

  // M out = scale in
  void solve(double scale, const double* in, double* out) {
    for (int i = 0; i < tree_.size; ++i)
      if (tree_.forks[i]) loads_at_forks_[i] = Wrench{};
    Wrench load = {};
    for (int i = tree_.size - 1; i >= 0; --i) {
      const Joint& joint = joints_[i];
      if (tree_.forks[i]) load = load + loads_at_forks_[i];
      out[i] = joint.inverse * (scale * in[i] - dot(joint.a, load.torque, joint.l, load.force));
      load.force += out[i] * joint.force;
      load.torque += out[i] * joint.torque;
      const int parent = tree_.parent[i];
      if (parent != i - 1) {
        if (parent >= 0) loads_at_forks_[parent] = loads_at_forks_[parent] + load;
        load = Wrench{};
      }
    }
    Motion motion = {};
    for (int i = 0; i < tree_.size; ++i) {
      const Joint& joint = joints_[i];
      const int parent = tree_.parent[i];
      if (parent != i - 1) motion = parent < 0 ? Motion{} : motions_[parent];
      out[i] -= joint.inverse * dot(joint.torque, motion.phi, joint.force, motion.u);
      motion.phi += out[i] * joint.a;
      motion.u += out[i] * joint.l;
      motions_[i] = motion;
    }
  }

  // the sum of |phi|^2 + |velocity of the centre|^2 that given rates make
  double size_of(const double* rates) {
    double size = 0;
    for (int i = 0; i < tree_.size; ++i) {
      const Joint& joint = joints_[i];
      const int parent = tree_.parent[i];
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
    CATENA_INLINE Inertia operator+(const Inertia& b) const { return {Fu + b.Fu, Fp + b.Fp, Tp + b.Tp}; }
  };
  struct Joint {
    Vec a, l, x, force, torque;
    double inverse;
  };

  const Tree& tree_;
  std::vector<Inertia> at_forks_;
  std::vector<Wrench> loads_at_forks_;
  std::vector<Joint> joints_;
  std::vector<Motion> motions_;
};

}  // namespace catena_paper
