// The second-order variational integrator in minimal coordinates, in linear time.
//
// The discrete Lagrangian of a tree is the sum of its bodies' discrete actions (action.hpp) and half of the potential
// at either node. Its Euler-Lagrange equation at node k is, for every joint j,
//
//   f_j = S_j(q_k) . sum over bodies i behind j of ( P_i(q_k, q_k+1) - P_i(q_k-1, q_k) - dt (m g, 0) ) = 0,
//
// an impulse (N m s). Evaluated root to leaf (poses, momenta) and leaf to root (sums): the discrete recursive
// Newton-Euler algorithm of Lee et al. Poses of the next node are written as displacements from this one, which
// loses no digits however far the tree reaches.
//
// Its derivative is exact and has the shape of the articulated-body algorithm: behind S_j(q_k) stand the bodies'
// tangents D_i, behind them the motions S_l(q_k+1) of the next node. So leaf to root, with A the sum of
// tangents behind a body, U = A S', w = S A, d = S.U, the parent carries A - U w / d: O(n), not symmetric.
#pragma once

#include "variational/action.hpp"
#include "variational/mass.hpp"

namespace catena_paper {

template <Map map>
class Second {
 public:
  static constexpr int stages = 1;  // unknowns per joint

  Second(const Tree& tree, double dt, const double* angles, const double* rates)
      : tree_(tree),
        dt_(dt),
        n_(tree.size()),
        mass_(tree),
        places_(n_),
        moves_(n_),
        tangents_(n_),
        joints_(n_),
        loads_(n_),
        old_(n_),
        half_cos_(n_),
        half_sin_(n_),
        by_cos_(n_),
        by_sin_(n_),
        momenta_(n_) {
    for (int i = 0; i < n_; ++i) {
      half_cos_[i] = std::cos(0.5 * angles[i]);
      half_sin_[i] = std::sin(0.5 * angles[i]);
    }
    find_places(tree_, half_cos_.data(), half_sin_.data(), places_.data());
    start(rates);
  }

  void first_guess(const double* rates, double* z) const {
    for (int i = 0; i < n_; ++i) z[i] = dt_ * rates[i];
  }

  // f at the angles z further than this node's; tells its square
  double residual(const double* z, double* f) {
    half_turns(z, n_, by_cos_.data(), by_sin_.data());
    const double per_dt = 1 / dt_;
    for (int i = 0; i < n_; ++i) {
      const Body& body = tree_.bodies[i];
      const Place& at = places_[i];
      Move& to = moves_[i];
      const Turn joint = {by_cos_[i], by_sin_[i] * at.a};
      if (body.parent < 0) {
        to.turn = joint;
        to.joint = zero();
      } else {
        const Move& from = moves_[body.parent];
        to.turn = from.turn * joint;
        to.joint = from.d + turn(from.turn, at.s);
      }
      to.d = to.joint + turn(to.turn, at.r);
      to.now = momentum<map>(body.mass, at.inertia, to.turn, to.d, per_dt);
      loads_[i] = {to.now.p - old_[i].p, to.now.begin - old_[i].end};
    }
    double size = 0;
    for (int i = n_ - 1; i >= 0; --i) {
      const Place& at = places_[i];
      const Wrench load = loads_[i];
      const Vec torque = plus_cross(load.torque, at.r, load.force);
      f[i] = dot(at.a, torque);
      size += f[i] * f[i];
      const int parent = tree_.bodies[i].parent;
      if (parent < 0) continue;
      loads_[parent].force += load.force;
      loads_[parent].torque += plus_cross(torque, at.s, load.force);
    }
    return size;
  }

  // the exact derivative where the residual was last evaluated
  void factor() {
    const double per_dt = 1 / dt_;
    for (int i = 0; i < n_; ++i) {
      const Place& at = places_[i];
      const Move& to = moves_[i];
      const double m = tree_.bodies[i].mass;
      const Tangent t = tangent<map>(m, at.inertia, to.turn, to.d, per_dt);
      const Vec x = at.x, next = at.x + to.d;
      Block6& A = tangents_[i];
      if constexpr (map == Map::quaternion) {
        const Vec mx = (m * per_dt) * x;
        A = {t.pd, skew(-(m * per_dt) * next), skew(mx), t.lt + diagonal(dot(mx, next)) - outer(next, mx)};
      } else {
        // a turn about the origin displaces by - [next], a force at x is felt there as [x]
        A.Fu = t.pd;
        A.Fp = minus_times_skew(t.pt, t.pd, next);
        A.Tu = plus_skew_times(t.ld, x, t.pd);
        A.Tp = plus_skew_times(minus_times_skew(t.lt, t.ld, next), x, A.Fp);
      }
    }
    for (int i = n_ - 1; i >= 0; --i) {
      const Place& at = places_[i];
      const Move& to = moves_[i];
      Joint& joint = joints_[i];
      const Block6& A = tangents_[i];
      joint.a = at.a;
      joint.l = cross(at.c, at.a);
      joint.a_next = at.a + turn(to.turn, at.a);
      joint.l_next = cross(at.c + to.joint, joint.a_next);
      joint.x_next = at.x + to.d;
      joint.force = A.Fu * joint.l_next + A.Fp * joint.a_next;
      joint.torque = A.Tu * joint.l_next + A.Tp * joint.a_next;
      joint.inverse = 1 / dot(joint.a, joint.torque, joint.l, joint.force);
      joint.by_u = joint.inverse * dots(joint.a, A.Tu, joint.l, A.Fu);
      joint.by_phi = joint.inverse * dots(joint.a, A.Tp, joint.l, A.Fp);
      const int parent = tree_.bodies[i].parent;
      if (parent < 0) continue;
      Block6& up = tangents_[parent];
      up.Fu = up.Fu + A.Fu - outer(joint.force, joint.by_u);
      up.Fp = up.Fp + A.Fp - outer(joint.force, joint.by_phi);
      up.Tu = up.Tu + A.Tu - outer(joint.torque, joint.by_u);
      up.Tp = up.Tp + A.Tp - outer(joint.torque, joint.by_phi);
    }
  }

  // (derivative) out = -f, by the factors at hand; tells the squares of the bodies' turns and displacements
  double solve(const double* f, double* out) {
    for (auto& load : loads_) load = {zero(), zero()};
    for (int i = n_ - 1; i >= 0; --i) {
      const Joint& joint = joints_[i];
      const Wrench load = loads_[i];
      out[i] = -joint.inverse * (f[i] + dot(joint.a, load.torque, joint.l, load.force));
      const int parent = tree_.bodies[i].parent;
      if (parent < 0) continue;
      loads_[parent].force += load.force + out[i] * joint.force;
      loads_[parent].torque += load.torque + out[i] * joint.torque;
    }
    double size = 0;
    for (int i = 0; i < n_; ++i) {
      const Joint& joint = joints_[i];
      const int parent = tree_.bodies[i].parent;
      // going up the slots hold motions: u and phi
      Wrench motion = {zero(), zero()};
      if (parent >= 0) {
        motion = loads_[parent];
        out[i] -= dot(joint.by_u, motion.force, joint.by_phi, motion.torque);
      }
      motion.force += out[i] * joint.l_next;
      motion.torque += out[i] * joint.a_next;
      loads_[i] = motion;
      const Vec centre = motion.force + cross(motion.torque, joint.x_next);
      size += dot(motion.torque, motion.torque, centre, centre);
    }
    return size;
  }

  // the quasi-Newton method of Lee et al.: M(q_k) out = -dt f
  void factor_mass() { mass_.factor(places_.data()); }
  double solve_mass(const double* f, double* out) { return mass_.solve(-dt_, f, out); }

  // the last evaluated motion becomes the past
  void advance(const double*) {
    for (int i = 0; i < n_; ++i) {
      const Vec fall = (dt_ * tree_.bodies[i].mass) * tree_.gravity;
      old_[i] = {moves_[i].now.p + fall, zero(), moves_[i].now.end};
    }
    turn_on(half_cos_.data(), half_sin_.data(), by_cos_.data(), by_sin_.data(), n_);
    find_places(tree_, half_cos_.data(), half_sin_.data(), places_.data());
  }

  // rates of the node's momentum, as it arrives from the last step
  void node_rates(double* rates) {
    for (int i = 0; i < n_; ++i) {
      const Vec half_fall = (0.5 * dt_ * tree_.bodies[i].mass) * tree_.gravity;
      loads_[i] = {old_[i].p - half_fall, old_[i].end};
    }
    for (int i = n_ - 1; i >= 0; --i) {
      const Place& at = places_[i];
      const Wrench load = loads_[i];
      const Vec torque = plus_cross(load.torque, at.r, load.force);
      momenta_[i] = dot(at.a, torque);
      const int parent = tree_.bodies[i].parent;
      if (parent < 0) continue;
      loads_[parent].force += load.force;
      loads_[parent].torque += plus_cross(torque, at.s, load.force);
    }
    mass_.factor(places_.data());
    mass_.solve(1, momenta_.data(), rates);
  }

 private:
  struct Move {
    Turn turn;
    Vec joint, d;  // displacements of the joint and of the centre
    Momentum now;
  };
  struct Wrench {
    Vec force, torque;
  };
  struct Block6 {
    Mat Fu, Fp, Tu, Tp;  // force and torque by the linear and angular part of a motion
  };
  struct Joint {
    Vec a, l, a_next, l_next, x_next, force, torque, by_u, by_phi;
    double inverse;
  };

  // the first step begins with the given rates' own momentum and half a step of gravity
  void start(const double* rates) {
    for (int i = 0; i < n_; ++i) {
      const Body& body = tree_.bodies[i];
      const Place& at = places_[i];
      // angular velocity and velocity of the centre
      Vec w = rates[i] * at.a, v = cross(w, at.r);
      if (body.parent >= 0) {
        const Wrench& from = loads_[body.parent];
        w += from.torque;
        v = from.force + cross(from.torque, at.s) + cross(w, at.r);
      }
      loads_[i] = {v, w};
      old_[i] = {body.mass * (v + (0.5 * dt_) * tree_.gravity), zero(), at.inertia * w};
    }
  }

  const Tree& tree_;
  double dt_;
  int n_;
  Mass mass_;
  std::vector<Place> places_;
  std::vector<Move> moves_;
  std::vector<Block6> tangents_;
  std::vector<Joint> joints_;
  std::vector<Wrench> loads_;
  std::vector<Momentum> old_;
  std::vector<double> half_cos_, half_sin_, by_cos_, by_sin_, momenta_;
};

}  // namespace catena_paper
