// A tree of revolute joints in minimal coordinates, and where its bodies are at given angles.
//
// Everything is in world axes. Joint i turns body i and all that hang on it about the axis a through the point c: the
// motion that it gives has the angular part a and, at the world's origin, the linear part l = c x a. Orientations come
// from the cosine and sine of half of every angle, which steps turn further, so that no step calls a trigonometric
// function: joints stay closed to rounding, as minimal coordinates promise.
//
// Bodies are in packs of four. Those that fill up the last pack weigh nothing and follow the last body.
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "variational/wide.hpp"

namespace catena_paper {

// what never changes of four bodies and the joints that carry them
struct Bodies {
  WideVec axis, at_parent, at_child;
  WideTurn rest, rest_axis;  // rest (1, 0) and rest (0, axis)
  Wide inertia[6];           // xx yy zz xy xz yz in the body's frame
  Wide mass;
};

struct Tree {
  std::vector<Bodies> packs;
  std::vector<int> parent;  // of whole packs
  std::vector<double> mass;
  Vec gravity;
  int size;

  // whether a body has children other than the next one
  std::vector<char> forks;

  int packed() const { return int(packs.size()) * pack_size; }
};

// plain arrays, as experiments/catena_paper/tree.py has them
struct Arrays {
  int count;
  const int *parent, *kind;
  const double *rest, *axis, *at_parent, *at_child, *mass, *inertia, *gravity;
};

inline Tree tree_of(const Arrays& arrays) {
  Tree tree;
  tree.size = arrays.count;
  tree.gravity = load3(arrays.gravity);
  tree.packs.resize((arrays.count + pack_size - 1) / pack_size);
  for (int i = 0; i < tree.packed(); ++i) {
    const bool real = i < arrays.count;
    const int parent = real ? arrays.parent[i] : i - 1;
    Vec axis = {1, 0, 0}, at_parent = zero(), at_child = zero();
    Turn rest = no_turn();
    double mass = 0, symmetric[6] = {};
    if (real) {
      const std::string joint = "joint " + std::to_string(i);
      if (arrays.kind[i] != 0) throw std::invalid_argument(joint + " is not revolute");
      if (parent < -1 || parent >= i) throw std::invalid_argument(joint + " hangs on a body that comes after it");
      axis = load3(arrays.axis + 3 * i);
      at_child = load3(arrays.at_child + 3 * i);
      at_parent = load3(arrays.at_parent + 3 * i);
      // positions count from the first joint: far from it factorisations would lose digits
      if (parent < 0) at_parent -= load3(arrays.at_parent);
      rest = load_quat(arrays.rest + 4 * i);
      mass = arrays.mass[i];
      const double* m = arrays.inertia + 9 * i;
      const int places[6] = {0, 4, 8, 1, 2, 5};
      for (int k = 0; k < 6; ++k) symmetric[k] = m[places[k]];
    }
    Bodies& pack = tree.packs[i / pack_size];
    const int k = i % pack_size;
    const auto put = [k](WideVec& to, Vec from) {
      to.x.v[k] = from.x;
      to.y.v[k] = from.y;
      to.z.v[k] = from.z;
    };
    const auto put_turn = [k, &put](WideTurn& to, const Turn& from) {
      to.w.v[k] = from.w;
      put(to.v, vector_part(from));
    };
    put(pack.axis, axis);
    put(pack.at_parent, at_parent);
    put(pack.at_child, at_child);
    put_turn(pack.rest, rest);
    put_turn(pack.rest_axis, rest * Turn{0.0, axis});
    for (int s = 0; s < 6; ++s) pack.inertia[s].v[k] = symmetric[s];
    pack.mass.v[k] = mass;
    tree.mass.push_back(mass);
    tree.parent.push_back(parent);
    tree.forks.push_back(false);
    if (parent >= 0 && parent != i - 1) tree.forks[parent] = true;
  }
  return tree;
}

// four bodies at some angles: axis a through c; r from there to the centre of mass x, s from the parent's centre to c
struct Places {
  WideVec a, l, c, r, s, x;
  WideMat inertia;
};

class Kinematics {
 public:
  explicit Kinematics(const Tree& tree) : tree_(tree), turns_(tree.packed()), centres_(tree.packed()) {}

  // from the cosine and sine of half of every angle
  void find(const double* half_cos, const double* half_sin, Places* places) {
    Turn last = no_turn();
    Vec centre = zero();
    for (std::size_t b = 0; b < tree_.packs.size(); ++b) {
      const Bodies& bodies = tree_.packs[b];
      const int first = int(b) * pack_size;
      const Wide c = load_wide(half_cos + first), s = load_wide(half_sin + first);
      Turn joint[4], own[4], of_parent[4];
      spread(WideTurn{c * bodies.rest.w + s * bodies.rest_axis.w, c * bodies.rest.v + s * bodies.rest_axis.v}, joint);
      for (int k = 0; k < 4; ++k) {
        const int i = first + k, parent = tree_.parent[i];
        if (parent != i - 1) last = parent < 0 ? no_turn() : turns_[parent];
        of_parent[k] = last;
        last = last * joint[k];
        turns_[i] = own[k] = last;
      }
      Places& to = places[b];
      const WideMat R = matrix(gathered(own));
      to.s = bodies.at_parent + turn(gathered(of_parent), bodies.at_parent);
      to.r = -(R * bodies.at_child);
      to.a = R * bodies.axis;
      to.inertia = rotated(R, bodies.inertia);
      Vec step[4], x[4];
      spread(to.s + to.r, step);
      for (int k = 0; k < 4; ++k) {
        const int i = first + k, parent = tree_.parent[i];
        if (parent != i - 1) centre = parent < 0 ? zero() : centres_[parent];
        centre += step[k];
        centres_[i] = x[k] = centre;
      }
      to.x = gathered(x);
      to.c = to.x - to.r;
      to.l = cross(to.c, to.a);
    }
  }

 private:
  const Tree& tree_;
  std::vector<Turn> turns_;
  std::vector<Vec> centres_;
};

// cosines and sines of half of small turns, to rounding; in whole registers, so that it costs next to nothing
inline void half_turns(const double* turn, int count, double* half_cos, double* half_sin) {
  constexpr double limit = 1;  // of the turn, up to which the series are exact
  bool large = false;
  for (int i = 0; i < count; ++i) {
    const double h = 0.5 * turn[i], y = h * h;
    large |= !(turn[i] < limit && turn[i] > -limit);
    const double s1 = 1.0 / 362880 - y * (1.0 / 39916800 - y * (1.0 / 6227020800 - y * (1.0 / 1307674368000)));
    half_sin[i] = h - h * y * (1.0 / 6 - y * (1.0 / 120 - y * (1.0 / 5040 - y * s1)));
    const double c1 = 1.0 / 40320 - y * (1.0 / 3628800 - y * (1.0 / 479001600 - y * (1.0 / 87178291200)));
    half_cos[i] = 1 - y * (0.5 - y * (1.0 / 24 - y * (1.0 / 720 - y * c1)));
  }
  if (large)
    for (int i = 0; i < count; ++i) {
      half_cos[i] = std::cos(0.5 * turn[i]);
      half_sin[i] = std::sin(0.5 * turn[i]);
    }
}

// cosine and sine of half of every angle of the node, and of the same turned further
class Angles {
 public:
  Angles(const double* angles, int count, int packed)
      : cos_(packed, 1.0), sin_(packed, 0.0), by_cos_(packed), by_sin_(packed), turn_(packed) {
    for (int i = 0; i < count; ++i) {
      cos_[i] = std::cos(0.5 * angles[i]);
      sin_[i] = std::sin(0.5 * angles[i]);
    }
  }

  // the turns that `by_cos` and `by_sin` are of; those behind the last body stay zero
  double* turn() { return turn_.data(); }
  void take() { half_turns(turn_.data(), int(turn_.size()), by_cos_.data(), by_sin_.data()); }
  const double* by_cos() const { return by_cos_.data(); }
  const double* by_sin() const { return by_sin_.data(); }
  const double* half_cos() const { return cos_.data(); }
  const double* half_sin() const { return sin_.data(); }

  // what was taken, as seen from zero angles
  void compose() {
    for (std::size_t i = 0; i < cos_.size(); ++i) {
      const double c = cos_[i] * by_cos_[i] - sin_[i] * by_sin_[i];
      by_sin_[i] = sin_[i] * by_cos_[i] + cos_[i] * by_sin_[i];
      by_cos_[i] = c;
    }
  }

  // the node's angles turn by what was taken; the pairs are brought back to length one
  void advance() {
    for (std::size_t i = 0; i < cos_.size(); ++i) {
      const double c = cos_[i] * by_cos_[i] - sin_[i] * by_sin_[i];
      const double s = sin_[i] * by_cos_[i] + cos_[i] * by_sin_[i];
      const double length = 1.5 - 0.5 * (c * c + s * s);
      cos_[i] = length * c;
      sin_[i] = length * s;
    }
  }

 private:
  // registers are loaded whole
  struct alignas(32) Numbers {
    double of[pack_size];
  };
  struct Row {
    std::vector<Numbers> packs;
    Row(int packed, double value = 0) : packs(packed / pack_size) {
      for (int i = 0; i < packed; ++i) data()[i] = value;
    }
    double* data() { return packs.data()->of; }
    const double* data() const { return packs.data()->of; }
    double& operator[](std::size_t i) { return data()[i]; }
    std::size_t size() const { return packs.size() * pack_size; }
  };

  Row cos_, sin_, by_cos_, by_sin_, turn_;
};

}  // namespace catena_paper
