// Galerkin variational integrators of orders 3 and 4 in minimal coordinates, in linear time (after Fan, Schultz,
// Murphey).
//
// Over a step every angle is a quadratic polynomial through three control points (begin, middle, end) with shape
// functions h_0, h_1, h_2; the action is the integral of the Lagrangian L by a quadrature with nodes c and weights b:
//
//   R_m = sum over quadrature points of b ( dt h_m(c) dL/dq + h_m'(c) dL/dq' ),    m = 0, 1, 2
//   p_k + R_0 = 0,   R_1 = 0   (two unknowns per joint: the angles at the middle and at the end),   p_k+1 = R_2
//
// The order is that of the quadrature up to 4: Radau's two points give 3, Lobatto's three and Gauss's two give 4.
// Radau's do not integrate q q' of quadratic polynomials exactly, so that a total time derivative in L, which is
// nothing to a motion, is felt: long chains, whose L has large ones in relative angles, need shorter steps with it.
//
// Recursions. With S = (a, l) the motion of a joint at the world's origin, S' its rate, h = (F, T) the momentum of
// all bodies behind it and G their weight, dL/dq' = h.S and dL/dq = h.S' + G.S.
//
// Newton's direction. Let z be the displacement of a body and z' its rate, both motions at the origin: along the
// tree they simply add up, z = z_parent + S dq, z' = z'_parent + S' dq + S dq', and dS = z x S, dS' = z' x S + z x S'.
// Momenta behind change by dh = sum of I z' + z x* h, weights by the sum of m (displacements): so the state of a body
// is (z, z') at every quadrature point, its load (dF, dT, d sum m x) at every quadrature point, and load = P state with
// P the sum of those behind. A joint's two rows and two unknowns are eliminated by a pivot of 2 x 2, leaf to root:
// P - U K^-1 w. What vanishes is left out: at c = 0 nothing is displaced, at c = 1 h_0 and h_1 are zero.
#pragma once

#include <utility>

#include "variational/mass.hpp"

namespace catena_paper {

struct Radau {
  static constexpr int points = 2;
  static constexpr double c[] = {0, 2.0 / 3}, b[] = {0.25, 0.75};
};
struct Lobatto {
  static constexpr int points = 3;
  static constexpr double c[] = {0, 0.5, 1}, b[] = {1.0 / 6, 2.0 / 3, 1.0 / 6};
};
struct Gauss {
  static constexpr int points = 2;
  static constexpr double off = 0.28867513459481288225;  // sqrt(3) / 6
  static constexpr double c[] = {0.5 - off, 0.5 + off}, b[] = {0.5, 0.5};
};

constexpr double shape(int m, double t) {
  return m == 0 ? (1 - 2 * t) * (1 - t) : m == 1 ? 4 * t * (1 - t) : t * (2 * t - 1);
}
constexpr double shape_rate(int m, double t) { return m == 0 ? 4 * t - 3 : m == 1 ? 4 - 8 * t : 4 * t - 1; }

// rows of the loads, and parts of the states, of a scheme: vectors of three, each in a register of four
template <class Scheme>
struct Pattern {
  static constexpr bool moves(int j) { return Scheme::c[j] != 0; }
  static constexpr bool falls(int j) { return Scheme::c[j] != 1; }
  static constexpr int row(int j) { return j == 0 ? 0 : row(j - 1) + (falls(j - 1) ? 3 : 2); }
  static constexpr int part(int j) { return j == 0 ? 0 : part(j - 1) + (moves(j - 1) ? 4 : 2); }
  static constexpr int rows = row(Scheme::points);
  static constexpr int parts = part(Scheme::points);
  static constexpr int columns = 3 * parts;
};

// one body of a pack
struct Place {
  Vec a, c, r, s, x;
  Mat inertia;
};

inline void spread_places(const Places* packs, int count, Place* places) {
  for (int first = 0; first < count; first += pack_size) {
    const Places& from = packs[first / pack_size];
    Vec a[4], c[4], r[4], s[4], x[4];
    Mat inertia[4];
    spread(from.a, a);
    spread(from.c, c);
    spread(from.r, r);
    spread(from.s, s);
    spread(from.x, x);
    spread(from.inertia, inertia);
    for (int k = 0; k < 4 && first + k < count; ++k) places[first + k] = {a[k], c[k], r[k], s[k], x[k], inertia[k]};
  }
}

template <class Scheme>
class Galerkin {
 public:
  static constexpr int stages = 2;

  Galerkin(const Tree& tree, double dt, const double* angles, const double* rates)
      : tree_(tree),
        dt_(dt),
        n_(tree.size),
        kinematics_(tree),
        mass_(tree),
        angles_(angles, n_, tree.packed()),
        packs_(tree.packs.size()),
        node_packs_(tree.packs.size()),
        node_(n_),
        joints_(n_),
        states_(n_),
        rates_(n_),
        momenta_(n_),
        next_(n_),
        behind_(n_),
        slot_(n_) {
    for (auto& point : points_) {
      point.places.resize(n_);
      point.motions.resize(n_);
      point.sums.resize(n_);
      point.moments.resize(n_);
    }
    for (int i = n_ - 1; i >= 0; --i) {
      behind_[i] += tree.mass[i];
      if (tree.parent[i] >= 0) behind_[tree.parent[i]] += behind_[i];
    }
    assign_slots();
    arrive();
    // the momentum of the given rates
    Point& point = points_[0];
    move(point, node_.data(), rates);
    for (int i = 0; i < n_; ++i) momenta_[i] = dot(node_[i].a, point.sums[i].torque);
  }

  void first_guess(const double* rates, double* z) const {
    for (int i = 0; i < n_; ++i) {
      z[i] = 0.5 * dt_ * rates[i];
      z[n_ + i] = dt_ * rates[i];
    }
  }

  double residual(const double* z, double* f) {
    const double *middle = z, *end = z + n_;
    double *first = f, *second = f + n_;
    for (int i = 0; i < n_; ++i) {
      first[i] = momenta_[i];
      second[i] = next_[i] = 0;
    }
    for (int j = 0; j < Scheme::points; ++j) {
      const double c = Scheme::c[j], b = Scheme::b[j];
      Point& point = points_[j];
      if (c != 0) {
        const double h1 = shape(1, c), h2 = shape(2, c);
        for (int i = 0; i < n_; ++i) angles_.turn()[i] = h1 * middle[i] + h2 * end[i];
        place(point);
      }
      const double r1 = shape_rate(1, c) / dt_, r2 = shape_rate(2, c) / dt_;
      for (int i = 0; i < n_; ++i) rates_[i] = r1 * middle[i] + r2 * end[i];
      const Place* places = places_of(j);
      move(point, places, rates_.data());
      double alpha[3], kappa[3];
      for (int m = 0; m < 3; ++m) {
        alpha[m] = b * dt_ * shape(m, c);
        kappa[m] = b * shape_rate(m, c);
      }
      for (int i = 0; i < n_; ++i) {
        const Vec a = places[i].a;
        const Velocity& motion = point.motions[i];
        const Wrench& sum = point.sums[i];
        const double by_rate = dot(a, sum.torque);
        const double by_angle = dot(cross(motion.w, a), sum.torque, cross(motion.joint, a), sum.force) +
                                dot(point.moments[i], cross(tree_.gravity, a));
        first[i] += alpha[0] * by_angle + kappa[0] * by_rate;
        second[i] += alpha[1] * by_angle + kappa[1] * by_rate;
        next_[i] += alpha[2] * by_angle + kappa[2] * by_rate;
      }
    }
    double size = 0;
    for (int i = 0; i < 2 * n_; ++i) size += f[i] * f[i];
    return size;
  }

  double factor_and_solve(const double* f, double* out, bool measured) {
    factor();
    return solve(f, out, measured);
  }

  void factor() {
    for (int i = n_ - 1; i >= 0; --i) {
      Load& P = slots_[slot_[i]];
      if (leaf_[i]) P = Load{};
      for (int s : merged_[i])
        for (int k = 0; k < Shape::columns; ++k)
          for (int r = 0; r < Shape::rows; ++r) P.column[k][r] += slots_[s].column[k][r];
      Joint& joint = joints_[i];
      Block w[2][Shape::parts] = {};
      [&]<int... j>(std::integer_sequence<int, j...>) {
        (add_body<j>(i, P), ...);
        (aim<j>(i, joint, w), ...);
      }(std::make_integer_sequence<int, Scheme::points>());
      eliminate(P, joint, w, tree_.parent[i] >= 0);
    }
  }

  double solve(const double* f, double* out, bool measured) {
    for (int i = 0; i < n_; ++i)
      if (tree_.forks[i]) states_[i] = State{};
    State load = {};
    for (int i = n_ - 1; i >= 0; --i) {
      const Joint& joint = joints_[i];
      if (tree_.forks[i]) load.add(states_[i]);
      Block s0 = {}, s1 = {};
      for (int r = 0; r < Shape::rows; ++r) {
        s0 += joint.left[0][r] * load.of[r];
        s1 += joint.left[1][r] * load.of[r];
      }
      const double f0 = f[i] + ((s0[0] + s0[1]) + s0[2]), f1 = f[n_ + i] + ((s1[0] + s1[1]) + s1[2]);
      const double y0 = -(joint.inverse[0] * f0 + joint.inverse[1] * f1);
      const double y1 = -(joint.inverse[2] * f0 + joint.inverse[3] * f1);
      out[i] = y0;
      out[n_ + i] = y1;
      for (int r = 0; r < Shape::rows; ++r) load.of[r] += y0 * joint.U[0][r] + y1 * joint.U[1][r];
      const int parent = tree_.parent[i];
      if (parent == i - 1) continue;
      if (parent >= 0) states_[parent].add(load);
      load = State{};
    }
    constexpr int last = Scheme::points - 1;
    double size = 0;
    State state = {};
    for (int i = 0; i < n_; ++i) {
      const Joint& joint = joints_[i];
      const int parent = tree_.parent[i];
      if (parent != i - 1) state = parent < 0 ? State{} : states_[parent];
      Block s0 = {}, s1 = {};
      for (int k = 0; k < Shape::parts; ++k) {
        s0 += joint.w[0][k] * state.of[k];
        s1 += joint.w[1][k] * state.of[k];
      }
      const double z0 = out[i] - ((s0[0] + s0[1]) + s0[2]);
      const double z1 = out[n_ + i] - ((s1[0] + s1[1]) + s1[2]);
      out[i] = z0;
      out[n_ + i] = z1;
      for (int k = 0; k < Shape::parts; ++k) state.of[k] += z0 * joint.right[0][k] + z1 * joint.right[1][k];
      if (tree_.forks[i]) states_[i] = state;
      if (!measured) continue;
      const Vec phi = three(state.of[Shape::part(last)]);
      const Vec centre = three(state.of[Shape::part(last) + 1]) + cross(phi, places_of(last)[i].x);
      size += dot(phi, phi, centre, centre);
    }
    return size;
  }

  // all quadrature points are given the node's joint-space inertia: K / dt x M
  void factor_mass() { mass_.factor(node_packs_.data()); }
  double solve_mass(const double* f, double* out, bool measured) {
    double K[2][2] = {};
    for (int j = 0; j < Scheme::points; ++j)
      for (int m = 0; m < 2; ++m)
        for (int k = 0; k < 2; ++k)
          K[m][k] += Scheme::b[j] * shape_rate(m, Scheme::c[j]) * shape_rate(k + 1, Scheme::c[j]);
    const double scale = -dt_ / (K[0][0] * K[1][1] - K[0][1] * K[1][0]);
    mass_.solve(scale, f, out);
    mass_.solve(scale, f + n_, out + n_);
    for (int i = 0; i < n_; ++i) {
      const double f0 = out[i], f1 = out[n_ + i];
      out[i] = K[1][1] * f0 - K[0][1] * f1;
      out[n_ + i] = K[0][0] * f1 - K[1][0] * f0;
    }
    return measured ? mass_.size_of(out + n_) : 0;
  }

  void advance(const double* z) {
    std::swap(momenta_, next_);
    std::copy_n(z + n_, n_, angles_.turn());
    angles_.take();
    angles_.advance();
    arrive();
  }

  void node_rates(double* rates) {
    mass_.factor(node_packs_.data());
    mass_.solve(1, momenta_.data(), rates);
  }

 private:
  typedef Pattern<Scheme> Shape;
  struct Velocity {
    Vec w, v, joint, p, spin;  // angular velocity, velocities of centre and joint, momenta about the centre
  };
  struct Point {
    std::vector<Place> places;  // unused at c = 0, where the node's are
    std::vector<Velocity> motions;
    std::vector<Wrench> sums;  // momentum of all bodies behind a joint, about it
    std::vector<Vec> moments;  // sum of m (x - c) over the bodies behind a joint
  };
  struct Load {
    Block column[Shape::columns][Shape::rows];
  };
  struct State {
    static constexpr int size = Shape::rows > Shape::parts ? Shape::rows : Shape::parts;
    Block of[size];
    CATENA_INLINE void add(const State& other) {
      for (int k = 0; k < size; ++k) of[k] += other.of[k];
    }
  };
  struct Joint {
    Block left[2][Shape::rows], U[2][Shape::rows];
    Block w[2][Shape::parts], right[2][Shape::parts];
    double inverse[4];
  };

  const Place* places_of(int j) const { return Scheme::c[j] == 0 ? node_.data() : points_[j].places.data(); }

  // every branch of the tree gathers its loads in a slot of its own
  void assign_slots() {
    leaf_.assign(n_, true);
    merged_.resize(n_);
    int slots = 0;
    for (int i = n_ - 1; i >= 0; --i) {
      if (leaf_[i]) slot_[i] = slots++;
      const int parent = tree_.parent[i];
      if (parent < 0) continue;
      if (leaf_[parent])
        slot_[parent] = slot_[i];
      else
        merged_[parent].push_back(slot_[i]);
      leaf_[parent] = false;
    }
    slots_.resize(slots);
  }

  void arrive() {
    kinematics_.find(angles_.half_cos(), angles_.half_sin(), node_packs_.data());
    spread_places(node_packs_.data(), n_, node_.data());
    for (int j = 0; j < Scheme::points; ++j)
      if (Scheme::c[j] == 0) find_moments(node_.data(), points_[j].moments.data());
  }

  // places at the angles' turn
  void place(Point& point) {
    angles_.take();
    angles_.compose();
    kinematics_.find(angles_.by_cos(), angles_.by_sin(), packs_.data());
    spread_places(packs_.data(), n_, point.places.data());
    find_moments(point.places.data(), point.moments.data());
  }

  void find_moments(const Place* places, Vec* moments) {
    for (int i = 0; i < n_; ++i)
      if (tree_.forks[i]) moments[i] = zero();
    Vec carried = zero();
    for (int i = n_ - 1; i >= 0; --i) {
      // about the joint here, about the parent's centre on the way
      carried += behind_[i] * places[i].r;
      if (tree_.forks[i]) carried += moments[i];
      moments[i] = carried;
      carried += behind_[i] * places[i].s;
      const int parent = tree_.parent[i];
      if (parent == i - 1) continue;
      if (parent >= 0) moments[parent] += carried;
      carried = zero();
    }
  }

  // velocities root to leaf, momenta leaf to root
  void move(Point& point, const Place* places, const double* rates) {
    Vec w = zero(), v = zero();
    for (int i = 0; i < n_; ++i) {
      const Place& at = places[i];
      const int parent = tree_.parent[i];
      Velocity& motion = point.motions[i];
      if (parent != i - 1) {
        w = parent < 0 ? zero() : point.motions[parent].w;
        v = parent < 0 ? zero() : point.motions[parent].v;
      }
      motion.joint = plus_cross(v, w, at.s);
      w += rates[i] * at.a;
      v = plus_cross(motion.joint, w, at.r);
      motion.w = w;
      motion.v = v;
      motion.p = tree_.mass[i] * v;
      motion.spin = at.inertia * w;
      point.sums[i] = {motion.p, motion.spin};
    }
    Wrench carried = {};
    for (int i = n_ - 1; i >= 0; --i) {
      const Place& at = places[i];
      carried = carried + point.sums[i];
      carried.torque = plus_cross(carried.torque, at.r, carried.force);
      point.sums[i] = carried;
      carried.torque = plus_cross(carried.torque, at.s, carried.force);
      const int parent = tree_.parent[i];
      if (parent == i - 1) continue;
      if (parent >= 0) point.sums[parent] = point.sums[parent] + carried;
      carried = Wrench{};
    }
  }

  static CATENA_INLINE void add(Load& P, int row, int column, const Mat& m) {
    P.column[column][row] += four(m.i);
    P.column[column + 1][row] += four(m.j);
    P.column[column + 2][row] += four(m.k);
  }

  // what the body itself adds at quadrature point j
  template <int j>
  CATENA_INLINE void add_body(int i, Load& P) const {
    constexpr int row = Shape::row(j), rate = 3 * Shape::part(j) + (Shape::moves(j) ? 6 : 0);
    const Place& at = places_of(j)[i];
    const Velocity& motion = points_[j].motions[i];
    const double m = tree_.mass[i];
    const Vec x = at.x, mx = m * x, p = motion.p;
    const Mat unit = diagonal(m), arm = skew(mx), back = skew(-mx);
    if constexpr (Shape::moves(j)) {
      constexpr int column = 3 * Shape::part(j);
      const Mat force = skew(-p);
      add(P, row, column, force);
      add(P, row + 1, column, skew(-plus_cross(motion.spin, x, p)));
      add(P, row + 1, column + 3, force);
      if constexpr (Shape::falls(j)) {
        add(P, row + 2, column, back);
        add(P, row + 2, column + 3, unit);
      }
    }
    add(P, row, rate, back);
    add(P, row, rate + 3, unit);
    add(P, row + 1, rate, at.inertia + diagonal(dot(mx, x)) - outer(mx, x));
    add(P, row + 1, rate + 3, arm);
  }

  static CATENA_INLINE void put(Block* to, Vec angular, Vec linear) {
    to[0] = four(angular);
    to[1] = four(linear);
  }

  // the joint's rows before its loads, its columns behind its states, and what its own turning axis adds to its rows
  template <int j>
  CATENA_INLINE void aim(int i, Joint& joint, Block (&w)[2][Shape::parts]) const {
    constexpr int row = Shape::row(j), part = Shape::part(j), rate = part + (Shape::moves(j) ? 2 : 0);
    constexpr double c = Scheme::c[j], b = Scheme::b[j];
    const Point& point = points_[j];
    const Place& at = places_of(j)[i];
    const Velocity& motion = point.motions[i];
    const Vec a = at.a, l = cross(at.c, a), da = cross(motion.w, a);
    const Vec dl = plus_cross(cross(motion.joint, a), at.c, da);
    const Vec F = point.sums[i].force, T = plus_cross(point.sums[i].torque, at.c, F);
    const Vec angular = plus_cross(cross(a, T), l, F), linear = cross(a, F);
    for (int m = 0; m < 2; ++m) {
      const double alpha = b * dt_ * shape(m, c), kappa = b * shape_rate(m, c);
      joint.left[m][row] = four(alpha * dl + kappa * l);
      joint.left[m][row + 1] = four(alpha * da + kappa * a);
      if constexpr (Shape::falls(j)) {
        joint.left[m][row + 2] = four(alpha * cross(tree_.gravity, a));
        put(w[m] + rate, alpha * angular, alpha * linear);
      }
      if constexpr (Shape::moves(j)) {
        const Vec Fg = behind_[i] * tree_.gravity;
        const Vec Tg = cross(point.moments[i] + behind_[i] * at.c, tree_.gravity);
        const Vec by_turn = plus_cross(plus_cross(plus_cross(cross(da, T), dl, F), a, Tg), l, Fg);
        put(w[m] + part, kappa * angular + alpha * by_turn,
            kappa * linear + alpha * cross(da, F) + alpha * cross(a, Fg));
      }
    }
    for (int m = 0; m < 2; ++m) {
      Block* right = joint.right[m];
      const double h = shape(m + 1, c), dh = shape_rate(m + 1, c) / dt_;
      if constexpr (Shape::moves(j)) put(right + part, h * a, h * l);
      put(right + rate, h * da + dh * a, h * dl + dh * l);
    }
  }

  static CATENA_INLINE Block all(double s) { return Block{s, s, s, s}; }

  // four sums of four
  static CATENA_INLINE Block sums(Block a, Block b, Block c, Block d) {
    const Block ab = shuffle<0, 4, 2, 6>(a, b) + shuffle<1, 5, 3, 7>(a, b);
    const Block cd = shuffle<0, 4, 2, 6>(c, d) + shuffle<1, 5, 3, 7>(c, d);
    return shuffle<0, 1, 4, 5>(ab, cd) + shuffle<2, 3, 6, 7>(ab, cd);
  }

  CATENA_INLINE void eliminate(Load& P, Joint& joint, const Block (&own)[2][Shape::parts], bool onward) const {
    constexpr int rows = Shape::rows, parts = Shape::parts;
    static_assert(rows % 2 == 0);
    // sums in names of their own stay in registers
    for (int r = 0; r < rows; r += 2) {
      Block u00 = {}, u01 = {}, u10 = {}, u11 = {};
      for (int g = 0; g < parts; ++g)
        for (int c = 0; c < 3; ++c) {
          const Block* column = P.column[3 * g + c] + r;
          const Block x0 = all(joint.right[0][g][c]), x1 = all(joint.right[1][g][c]);
          u00 += x0 * column[0];
          u01 += x0 * column[1];
          u10 += x1 * column[0];
          u11 += x1 * column[1];
        }
      joint.U[0][r] = u00;
      joint.U[0][r + 1] = u01;
      joint.U[1][r] = u10;
      joint.U[1][r + 1] = u11;
    }
    Block w0[parts], w1[parts];
    for (int g = 0; g < parts; ++g) {
      Block a0 = {}, a1 = {}, a2 = {}, b0 = {}, b1 = {}, b2 = {};
      const Block(*column)[rows] = P.column + 3 * g;
      for (int r = 0; r < rows; ++r) {
        const Block x0 = joint.left[0][r], x1 = joint.left[1][r];
        a0 += x0 * column[0][r];
        b0 += x1 * column[0][r];
        a1 += x0 * column[1][r];
        b1 += x1 * column[1][r];
        a2 += x0 * column[2][r];
        b2 += x1 * column[2][r];
      }
      w0[g] = own[0][g] + sums(a0, a1, a2, Block{});
      w1[g] = own[1][g] + sums(b0, b1, b2, Block{});
    }
    Block k00 = {}, k01 = {}, k10 = {}, k11 = {};
    for (int g = 0; g < parts; ++g) {
      k00 += w0[g] * joint.right[0][g];
      k01 += w0[g] * joint.right[1][g];
      k10 += w1[g] * joint.right[0][g];
      k11 += w1[g] * joint.right[1][g];
    }
    const Block pivots = sums(k00, k01, k10, k11);
    const double scale = 1 / (pivots[0] * pivots[3] - pivots[1] * pivots[2]);
    const double i00 = scale * pivots[3], i01 = -scale * pivots[1], i10 = -scale * pivots[2], i11 = scale * pivots[0];
    joint.inverse[0] = i00, joint.inverse[1] = i01, joint.inverse[2] = i10, joint.inverse[3] = i11;
    for (int g = 0; g < parts; ++g) {
      joint.w[0][g] = i00 * w0[g] + i01 * w1[g];
      joint.w[1][g] = i10 * w0[g] + i11 * w1[g];
    }
    if (!onward) return;
    for (int r = 0; r < rows; r += 2) {
      const Block u00 = joint.U[0][r], u01 = joint.U[0][r + 1], u10 = joint.U[1][r], u11 = joint.U[1][r + 1];
      for (int g = 0; g < parts; ++g)
        for (int c = 0; c < 3; ++c) {
          Block* column = P.column[3 * g + c] + r;
          const Block x0 = all(joint.w[0][g][c]), x1 = all(joint.w[1][g][c]);
          column[0] = (column[0] - x0 * u00) - x1 * u10;
          column[1] = (column[1] - x0 * u01) - x1 * u11;
        }
    }
  }

  const Tree& tree_;
  double dt_;
  int n_;
  Kinematics kinematics_;
  Mass mass_;
  Angles angles_;
  std::vector<Places> packs_, node_packs_;
  std::vector<Place> node_;
  Point points_[Scheme::points];
  std::vector<Joint> joints_;
  std::vector<State> states_;  // and loads, where branches meet
  std::vector<double> rates_, momenta_, next_;
  std::vector<double> behind_;  // mass behind a joint
  std::vector<int> slot_;
  std::vector<char> leaf_;
  std::vector<std::vector<int>> merged_;
  std::vector<Load> slots_;
};

}  // namespace catena_paper
