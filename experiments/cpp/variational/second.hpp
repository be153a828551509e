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

#include <type_traits>

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
        packs_(int(tree.packs.size())),
        kinematics_(tree),
        mass_(tree),
        angles_(angles, tree.size, tree.packed()),
        places_(packs_),
        moves_(packs_),
        old_(packs_),
        turns_(tree.packed()),
        shifts_(tree.packed()),
        at_forks_(tree.size),
        loads_at_forks_(tree.packed()),
        joints_(tree.size),
        motions_(tree.size),
        momenta_(tree.packed()) {
    kinematics_.find(angles_.half_cos(), angles_.half_sin(), places_.data());
    start(rates);
  }

  void first_guess(const double* rates, double* z) const {
    for (int i = 0; i < tree_.size; ++i) z[i] = dt_ * rates[i];
  }

  // f at the angles z further than this node's; tells its square
  double residual(const double* z, double* f) {
    std::copy_n(z, tree_.size, angles_.turn());
    angles_.take();
    const Wide per_dt(1 / dt_);
    Turn last = no_turn();
    Vec shift = zero();
    for (int b = 0; b < packs_; ++b) {
      const Places& at = places_[b];
      Moves& to = moves_[b];
      const int first = b * pack_size;
      const Wide c = load_wide(angles_.by_cos() + first);
      const Wide s = load_wide(angles_.by_sin() + first);
      Turn joint[4], own[4], of_parent[4];
      spread(WideTurn{c, s * at.a}, joint);
      for (int k = 0; k < 4; ++k) {
        const int i = first + k, parent = tree_.parent[i];
        if (parent != i - 1) last = parent < 0 ? no_turn() : turns_[parent];
        of_parent[k] = last;
        last = last * joint[k];
        turns_[i] = own[k] = last;
      }
      to.turn = gathered(own);
      const WideVec by_own = turn(to.turn, at.r);
      Vec step[4], d[4];
      spread(by_own + turn(gathered(of_parent), at.s), step);
      for (int k = 0; k < 4; ++k) {
        const int i = first + k, parent = tree_.parent[i];
        if (parent != i - 1) shift = parent < 0 ? zero() : shifts_[parent];
        shift += step[k];
        shifts_[i] = d[k] = shift;
      }
      to.d = gathered(d);
      to.joint = to.d - by_own;
      to.now = momentum<map, Wide>(tree_.packs[b].mass, at.inertia, to.turn, to.d, per_dt);
      to.load = {to.now.p - old_[b].p, to.now.begin - old_[b].end};
    }
    return project(f);
  }

  // (derivative) out = -f with the exact derivative where the residual was last evaluated; tells the sum of the
  // squares of all bodies' turns and displacements, if asked
  double factor_and_solve(const double* f, double* out, bool measured) {
    for (int i = 0; i < tree_.size; ++i)
      if (tree_.forks[i]) {
        at_forks_[i] = Block6{};
        loads_at_forks_[i] = Wrench{};
      }
    Block6 carried = {};
    Wrench load = {};
    for (int b = packs_ - 1; b >= 0; --b) {
      const Places& at = places_[b];
      const Moves& to = moves_[b];
      Vec a[4], l[4], a_next[4], l_next[4], x_next[4];
      const WideVec axis = at.a + turn(to.turn, at.a);
      const WideVec next = at.x + to.d;
      spread(at.a, a);
      spread(at.l, l);
      spread(axis, a_next);
      spread(cross(at.c + to.joint, axis), l_next);
      spread(next, x_next);
      Own own[4];
      spread_tangents(b, next, own);
      for (int k = 3; k >= 0; --k) {
        const int i = b * pack_size + k;
        if (i >= tree_.size) continue;
        Block6 A = carried + own[k].block();
        if (tree_.forks[i]) {
          A = A + at_forks_[i];
          load = load + loads_at_forks_[i];
        }
        Joint& joint = joints_[i];
        joint.a = a[k];
        joint.l = l[k];
        joint.a_next = a_next[k];
        joint.l_next = l_next[k];
        joint.x_next = x_next[k];
        joint.force = A.Fu * l_next[k] + A.Fp * a_next[k];
        joint.torque = A.Tu * l_next[k] + A.Tp * a_next[k];
        const double inverse = 1 / dot(a[k], joint.torque, l[k], joint.force);
        joint.inverse = inverse;
        joint.by_u = inverse * dots(a[k], A.Tu, l[k], A.Fu);
        joint.by_phi = inverse * dots(a[k], A.Tp, l[k], A.Fp);
        carried.Fu = A.Fu - outer(joint.force, joint.by_u);
        carried.Fp = A.Fp - outer(joint.force, joint.by_phi);
        carried.Tu = A.Tu - outer(joint.torque, joint.by_u);
        carried.Tp = A.Tp - outer(joint.torque, joint.by_phi);
        push(joint, f[i], out[i], load);
        const int parent = tree_.parent[i];
        if (parent != i - 1) {
          if (parent >= 0) {
            at_forks_[parent] = at_forks_[parent] + carried;
            loads_at_forks_[parent] = loads_at_forks_[parent] + load;
          }
          carried = Block6{};
          load = Wrench{};
        }
      }
    }
    return pull(out, measured);
  }

  // the same with the factors at hand
  double solve(const double* f, double* out, bool measured) {
    for (int i = 0; i < tree_.size; ++i)
      if (tree_.forks[i]) loads_at_forks_[i] = Wrench{};
    Wrench load = {};
    for (int i = tree_.size - 1; i >= 0; --i) {
      if (tree_.forks[i]) load = load + loads_at_forks_[i];
      push(joints_[i], f[i], out[i], load);
      const int parent = tree_.parent[i];
      if (parent != i - 1) {
        if (parent >= 0) loads_at_forks_[parent] = loads_at_forks_[parent] + load;
        load = Wrench{};
      }
    }
    return pull(out, measured);
  }

  // the quasi-Newton method of Lee et al.: M(q_k) out = -dt f
  void factor_mass() { mass_.factor(places_.data()); }
  double solve_mass(const double* f, double* out, bool measured) {
    mass_.solve(-dt_, f, out);
    return measured ? mass_.size_of(out) : 0;
  }

  // the last evaluated motion becomes the past
  void advance(const double*) {
    const WideVec fall = wide(dt_ * tree_.gravity);
    for (int b = 0; b < packs_; ++b) old_[b] = {moves_[b].now.p + tree_.packs[b].mass * fall, moves_[b].now.end};
    angles_.advance();
    kinematics_.find(angles_.half_cos(), angles_.half_sin(), places_.data());
  }

  // rates of the node's momentum, as it arrives from the last step
  void node_rates(double* rates) {
    const WideVec half_fall = wide((0.5 * dt_) * tree_.gravity);
    for (int b = 0; b < packs_; ++b) moves_[b].load = {old_[b].p - tree_.packs[b].mass * half_fall, old_[b].end};
    project(momenta_.data());
    mass_.factor(places_.data());
    mass_.solve(1, momenta_.data(), rates);
  }

 private:
  struct WideWrench {
    WideVec force, torque;
  };
  struct Moves {
    WideTurn turn;
    WideVec joint, d;  // displacements of the joint and of the centre
    Momentum<Wide> now;
    WideWrench load;
  };
  struct Past {
    WideVec p, end;
  };
  struct Block6 {
    Mat Fu, Fp, Tu, Tp;  // force and torque by the linear and angular part of a motion
    CATENA_INLINE Block6 operator+(const Block6& b) const { return {Fu + b.Fu, Fp + b.Fp, Tu + b.Tu, Tp + b.Tp}; }
  };
  struct Joint {
    Vec a, l, a_next, l_next, x_next, force, torque, by_u, by_phi;
    double inverse;
  };
  // a body's own tangent about the origin, as little of it as it takes
  struct Split {
    double m;
    Vec back, arm;  // -m x_next and m x
    Mat Tp;
    CATENA_INLINE Block6 block() const { return {diagonal(m), skew(back), skew(arm), Tp}; }
  };
  struct Whole {
    Block6 A;
    CATENA_INLINE const Block6& block() const { return A; }
  };
  typedef std::conditional_t<map == Map::quaternion, Split, Whole> Own;

  static WideVec wide(Vec a) { return {Wide(a.x), Wide(a.y), Wide(a.z)}; }

  CATENA_INLINE void spread_tangents(int b, const WideVec& next, Own (&own)[4]) const {
    const Places& at = places_[b];
    const Moves& to = moves_[b];
    const Wide per_dt(1 / dt_), mass = tree_.packs[b].mass;
    const Tangent<Wide> t = tangent<map, Wide>(mass, at.inertia, to.turn, to.d, per_dt);
    const WideVec x = at.x;
    if constexpr (map == Map::quaternion) {
      const Wide m = mass * per_dt;
      const WideVec mx = m * x;
      Vec back[4], arm[4];
      Mat Tp[4];
      spread(-(m * next), back);
      spread(mx, arm);
      spread(t.lt + diagonal(dot(mx, next)) - outer(next, mx), Tp);
      for (int k = 0; k < 4; ++k) own[k] = {m.v[k], back[k], arm[k], Tp[k]};
    } else {
      // a turn about the origin displaces by - [next], a force at x is felt there as [x]
      const WideMat Fp = minus_times_skew(t.pt, t.pd, next);
      Mat part[4][4];
      spread(t.pd, part[0]);
      spread(Fp, part[1]);
      spread(plus_skew_times(t.ld, x, t.pd), part[2]);
      spread(plus_skew_times(minus_times_skew(t.lt, t.ld, next), x, Fp), part[3]);
      for (int k = 0; k < 4; ++k) own[k].A = {part[0][k], part[1][k], part[2][k], part[3][k]};
    }
  }

  // sums the loads of all packs leaf to root: f_j = S_j . loads behind; tells its square
  double project(double* f) {
    for (int i = 0; i < tree_.size; ++i)
      if (tree_.forks[i]) loads_at_forks_[i] = Wrench{};
    Wrench carried = {};
    Wide square(0);
    for (int b = packs_ - 1; b >= 0; --b) {
      const Places& at = places_[b];
      const WideWrench& load = moves_[b].load;
      // forces first, so that torques need no waiting for them
      Vec force[4], torque[4], onward[4], sum[4];
      spread(load.force, force);
      for (int k = 3; k >= 0; --k) {
        const int i = b * pack_size + k, parent = tree_.parent[i];
        carried.force += force[k];
        if (tree_.forks[i]) carried.force += loads_at_forks_[i].force;
        sum[k] = carried.force;
        if (parent != i - 1) {
          if (parent >= 0) loads_at_forks_[parent].force += carried.force;
          carried.force = zero();
        }
      }
      const WideVec sums = gathered(sum);
      spread(plus_cross(load.torque, at.r, sums), torque);
      spread(cross(at.s, sums), onward);
      for (int k = 3; k >= 0; --k) {
        const int i = b * pack_size + k, parent = tree_.parent[i];
        carried.torque += torque[k];
        if (tree_.forks[i]) carried.torque += loads_at_forks_[i].torque;
        sum[k] = carried.torque;
        carried.torque += onward[k];
        if (parent != i - 1) {
          if (parent >= 0) loads_at_forks_[parent].torque += carried.torque;
          carried.torque = zero();
        }
      }
      const Wide found = dot(at.a, gathered(sum));
      square += found * found;
      const int first = b * pack_size;
      if (first + pack_size <= tree_.size)
        __builtin_memcpy(f + first, &found, sizeof found);
      else
        for (int i = first; i < tree_.size; ++i) f[i] = found.v[i - first];
    }
    return (square.v[0] + square.v[1]) + (square.v[2] + square.v[3]);
  }

  static CATENA_INLINE void push(const Joint& joint, double f, double& out, Wrench& load) {
    out = -joint.inverse * (f + dot(joint.a, load.torque, joint.l, load.force));
    load.force += out * joint.force;
    load.torque += out * joint.torque;
  }

  double pull(double* out, bool measured) {
    Motion motion = {};
    double size = 0;
    for (int i = 0; i < tree_.size; ++i) {
      const Joint& joint = joints_[i];
      const int parent = tree_.parent[i];
      if (parent != i - 1) motion = parent < 0 ? Motion{} : motions_[parent];
      out[i] -= dot(joint.by_u, motion.u, joint.by_phi, motion.phi);
      motion.u += out[i] * joint.l_next;
      motion.phi += out[i] * joint.a_next;
      motions_[i] = motion;
      if (measured) {
        const Vec centre = motion.u + cross(motion.phi, joint.x_next);
        size += dot(motion.phi, motion.phi, centre, centre);
      }
    }
    return size;
  }

  // the first step begins with the given rates' own momentum and half a step of gravity
  void start(const double* rates) {
    std::vector<Motion> motions(tree_.packed());  // angular velocity, and velocity of the centre
    for (int b = 0; b < packs_; ++b) {
      const Places& at = places_[b];
      Vec a[4], r[4], s[4], w[4], v[4];
      spread(at.a, a);
      spread(at.r, r);
      spread(at.s, s);
      for (int k = 0; k < 4; ++k) {
        const int i = b * pack_size + k, parent = tree_.parent[i];
        const Motion from = parent < 0 ? Motion{} : motions[parent];
        w[k] = from.phi + (i < tree_.size ? rates[i] : 0) * a[k];
        v[k] = from.u + cross(from.phi, s[k]) + cross(w[k], r[k]);
        motions[i] = {w[k], v[k]};
      }
      old_[b] = {tree_.packs[b].mass * (gathered(v) + wide((0.5 * dt_) * tree_.gravity)), at.inertia * gathered(w)};
    }
  }

  const Tree& tree_;
  double dt_;
  int packs_;
  Kinematics kinematics_;
  Mass mass_;
  Angles angles_;
  std::vector<Places> places_;
  std::vector<Moves> moves_;
  std::vector<Past> old_;
  std::vector<Turn> turns_;
  std::vector<Vec> shifts_;
  std::vector<Block6> at_forks_;
  std::vector<Wrench> loads_at_forks_;
  std::vector<Joint> joints_;
  std::vector<Motion> motions_;
  std::vector<double> momenta_;
};

}  // namespace catena_paper
