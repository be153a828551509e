// A tree of revolute joints in minimal coordinates, and where its bodies are at given angles.
//
// Everything is in world axes. Joint i turns body i and all that hang on it about the axis a through the point c: the
// motion that it gives has the angular part a and, at the world's origin, the linear part l = c x a. Orientations come
// from the cosine and sine of half of every angle, which steps turn further, so that no step calls a trigonometric
// function: joints stay closed to rounding, as minimal coordinates promise.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/quat.hpp"

namespace catena_paper {

using namespace catena::CATENA_ISA;
typedef Vec3<double> Vec;
typedef Mat3<double> Mat;
typedef Quat<double> Turn;

inline Vec zero() { return {0, 0, 0}; }

// a vector as four numbers, the last one zero
CATENA_INLINE Block four(Vec a) {
#ifdef __AVX__
  return a.q;
#else
  return Block{a.x, a.y, a.z, 0};
#endif
}

// what never changes of a body and the joint that carries it
struct Body {
  int parent;
  double mass;
  double inertia[6];  // xx yy zz xy xz yz in the body's frame
  Vec axis, at_parent, at_child;
  Turn rest, rest_axis;  // rest (1, 0) and rest (0, axis)
};

struct Tree {
  std::vector<Body> bodies;
  Vec gravity;

  int size() const { return int(bodies.size()); }
};

// plain arrays, as experiments/catena_paper/tree.py has them
struct Arrays {
  int count;
  const int *parent, *kind;
  const double *rest, *axis, *at_parent, *at_child, *mass, *inertia, *gravity;
};

inline Tree tree_of(const Arrays& arrays) {
  Tree tree;
  tree.gravity = load3(arrays.gravity);
  for (int i = 0; i < arrays.count; ++i) {
    const int parent = arrays.parent[i];
    const std::string joint = "joint " + std::to_string(i);
    if (arrays.kind[i] != 0) throw std::invalid_argument(joint + " is not revolute");
    if (parent < -1 || parent >= i) throw std::invalid_argument(joint + " hangs on a body that comes after it");
    Body body;
    body.parent = parent;
    body.mass = arrays.mass[i];
    const double* m = arrays.inertia + 9 * i;
    const double symmetric[6] = {m[0], m[4], m[8], m[1], m[2], m[5]};
    for (int k = 0; k < 6; ++k) body.inertia[k] = symmetric[k];
    body.axis = load3(arrays.axis + 3 * i);
    body.at_parent = load3(arrays.at_parent + 3 * i);
    // positions count from the first joint: far from it factorisations would lose digits
    if (parent < 0) body.at_parent -= load3(arrays.at_parent);
    body.at_child = load3(arrays.at_child + 3 * i);
    body.rest = load_quat(arrays.rest + 4 * i);
    body.rest_axis = body.rest * Turn{0.0, body.axis};
    tree.bodies.push_back(body);
  }
  return tree;
}

// a body at some angles: axis a through c; r from there to the centre of mass x, s from the parent's centre to c
struct Place {
  Turn q;
  Vec a, c, r, s, x;
  Mat inertia, R;
};

// places of all bodies from the cosine and sine of half of every angle
inline void find_places(const Tree& tree, const double* half_cos, const double* half_sin, Place* places) {
  for (int i = 0; i < tree.size(); ++i) {
    const Body& body = tree.bodies[i];
    Place& to = places[i];
    const double c = half_cos[i], s = half_sin[i];
    const Turn joint = {c * body.rest.w + s * body.rest_axis.w,
                        c * vector_part(body.rest) + s * vector_part(body.rest_axis)};
    if (body.parent < 0) {
      to.q = joint;
      to.s = to.c = body.at_parent;
    } else {
      const Place& from = places[body.parent];
      to.q = from.q * joint;
      to.s = from.R * body.at_parent;
      to.c = from.x + to.s;
    }
    to.R = matrix(to.q);
    to.a = to.R * body.axis;
    to.r = -(to.R * body.at_child);
    to.x = to.c + to.r;
    to.inertia = rotated(to.R, body.inertia);
  }
}

// cosines and sines of half of small turns, to rounding; in whole vectors, so that it costs next to nothing
inline void half_turns(const double* turn, int count, double* half_cos, double* half_sin) {
  constexpr double limit = 1;  // of the turn, up to which the series are exact
  bool large = false;
  for (int i = 0; i < count; ++i) {
    const double h = 0.5 * turn[i], y = h * h;
    large |= !(turn[i] < limit && turn[i] > -limit);
    const double s1 = 1.0 / 362880 - y * (1.0 / 39916800 - y * (1.0 / 6227020800 - y / 1307674368000));
    half_sin[i] = h - h * y * (1.0 / 6 - y * (1.0 / 120 - y * (1.0 / 5040 - y * s1)));
    const double c1 = 1.0 / 40320 - y * (1.0 / 3628800 - y * (1.0 / 479001600 - y / 87178291200));
    half_cos[i] = 1 - y * (0.5 - y * (1.0 / 24 - y * (1.0 / 720 - y * c1)));
  }
  if (large)
    for (int i = 0; i < count; ++i) {
      half_cos[i] = std::cos(0.5 * turn[i]);
      half_sin[i] = std::sin(0.5 * turn[i]);
    }
}

// angles turned on by what a step found; the pair is brought back to length one
inline void turn_on(double* half_cos, double* half_sin, const double* by_cos, const double* by_sin, int count) {
  for (int i = 0; i < count; ++i) {
    const double c = half_cos[i] * by_cos[i] - half_sin[i] * by_sin[i];
    const double s = half_sin[i] * by_cos[i] + half_cos[i] * by_sin[i];
    const double length = 1.5 - 0.5 * (c * c + s * s);
    half_cos[i] = length * c;
    half_sin[i] = length * s;
  }
}

// m u (u . v) and the like: an outer product
inline Mat outer(Vec u, Vec v) { return {v.x * u, v.y * u, v.z * u}; }
inline Mat skew(Vec a) { return diagonal_and_skew(0.0, a); }

}  // namespace catena_paper
