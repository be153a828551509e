// What the rivals simulate, as given by catena_paper/tree.py: bodies parents first, the joints that carry them, loops.
//
// Here bodies are numbered from one, and body zero is the world.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/quat.hpp"

namespace rivals {

using namespace catena::CATENA_ISA;

enum Kind : int { revolute = 0, ball = 1 };

struct Joint {
  int kind, parent, coordinate, rate;  // where its coordinates and rates begin
  Quat<double> rest;                   // of the child in the parent, at zero coordinates
  Vec3<double> axis;                   // in the child's frame
  Vec3<double> at_parent, at_child;    // from the centres of mass, in the bodies' frames
};

struct Mass {
  double mass = 0;
  double inertia[6] = {};  // about the centre of mass, in the body's frame: xx yy zz xy xz yz
};

// one side of a loop
struct End {
  int body;
  Vec3<double> point, axis;  // from the centre of mass, in the body's frame
};

struct Loop {
  int kind, row, rows;  // its first row among those of all loops, and how many it has: 3 of a ball, 5 of a hinge
  End a, b;
  Vec3<double> across[2];  // normal to the axis and to each other, in a's frame
  std::vector<int> path;   // bodies that either end hangs on, ends included, children first; the world is left out
  std::vector<int> next;   // where on the path each one's parent stands, -1 for the world
  int meet;                // where on the path the two ends' ways meet, -1 at the world
  int start_a, start_b;    // where on the path the ends stand, -1 for the world
};

constexpr int most_rows = 5;

struct Model {
  int bodies = 0, coordinates = 0, rates = 0, rows = 0;
  Vec3<double> gravity;
  std::vector<Joint> joints{Joint{}};
  std::vector<Mass> masses{Mass{}};
  std::vector<Loop> loops;

  void add_body(const Joint& joint, const Mass& mass) {
    joints.push_back(joint);
    masses.push_back(mass);
    Joint& added = joints.back();
    added.coordinate = coordinates;
    added.rate = rates;
    coordinates += added.kind == revolute ? 1 : 4;
    rates += added.kind == revolute ? 1 : 3;
    ++bodies;
  }

  void add_loop(int kind, const End& a, const End& b) {
    Loop loop{kind, rows, kind == revolute ? 5 : 3, a, b, {}, {}, {}, -1, -1, -1};
    rows += loop.rows;
    if (kind == revolute) normals(a.axis, loop.across);
    std::vector<char> from_a(bodies + 1), from_b(bodies + 1);
    for (int i = a.body; i > 0; i = joints[i].parent) from_a[i] = 1;
    for (int i = b.body; i > 0; i = joints[i].parent) from_b[i] = 1;
    std::vector<int> place(bodies + 1, -1);
    for (int i = bodies; i > 0; --i) {
      if (!from_a[i] && !from_b[i]) continue;
      place[i] = int(loop.path.size());
      loop.path.push_back(i);
      if (loop.meet < 0 && from_a[i] && from_b[i]) loop.meet = place[i];
    }
    for (int i : loop.path) loop.next.push_back(place[joints[i].parent]);
    loop.start_a = place[a.body];
    loop.start_b = place[b.body];
    loops.push_back(loop);
  }

  // two unit vectors normal to a unit vector and to each other
  static void normals(Vec3<double> axis, Vec3<double>* two) {
    const Vec3<double> other = std::fabs(axis.x) < 0.6 ? Vec3<double>{1, 0, 0} : Vec3<double>{0, 1, 0};
    const Vec3<double> normal = cross(axis, other);
    two[0] = (1 / std::sqrt(norm2(normal))) * normal;
    two[1] = cross(axis, two[0]);
  }
};

// what Baumgarte adds to an acceleration-level constraint of gap g: -damping dg/dt - stiffness g; zero is none
struct Stabilisation {
  double damping = 0, stiffness = 0;
};

template <class T>
CATENA_INLINE Vec3<T> as(Vec3<double> a) {
  return {T(a.x), T(a.y), T(a.z)};
}
template <class T>
CATENA_INLINE Quat<T> as(const Quat<double>& q) {
  return {T(q.w), as<T>(Vec3<double>{q.v.x, q.v.y, q.v.z})};
}
// four numbers, scalar first, as they lie in memory
template <class T>
CATENA_INLINE Quat<T> load_quaternion(const T* p) {
  return {p[0], {p[1], p[2], p[3]}};
}
template <class T>
CATENA_INLINE void store_quaternion(T* p, const Quat<T>& q) {
  p[0] = q.w, p[1] = q.v.x, p[2] = q.v.y, p[3] = q.v.z;
}
#ifdef __AVX__
CATENA_INLINE Quat<double> load_quaternion(const double* p) {
  Quad q;
  std::memcpy(&q, p, sizeof q);
  return shuffle<1, 2, 3, 0>(q);
}
CATENA_INLINE void store_quaternion(double* p, const Quat<double>& q) {
  const Quad turned = shuffle<3, 0, 1, 2>(q.q);
  std::memcpy(p, &turned, sizeof turned);
}
#endif
template <class T>
CATENA_INLINE Vec3<T> load_vector(const T* p) {
  return {p[0], p[1], p[2]};
}
template <class T>
CATENA_INLINE void store_vector(T* p, Vec3<T> a) {
  p[0] = a.x, p[1] = a.y, p[2] = a.z;
}
// of a symmetric matrix, the determinant left out: its columns are cross products
template <class T>
CATENA_INLINE Mat3<T> symmetric_adjugate(const Mat3<T>& m) {
  return {cross(m.j, m.k), cross(m.k, m.i), cross(m.i, m.j)};
}
template <class T>
CATENA_INLINE Mat3<T> symmetric_inverse(const Mat3<T>& m) {
  const Mat3<T> adjoint = symmetric_adjugate(m);
  return (T(1) / dot(m.i, adjoint.i)) * adjoint;
}

}  // namespace rivals
