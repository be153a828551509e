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
  // bodies that an end hangs on, the end first: from a and from b to where the two ways meet, and from there to the
  // root
  std::vector<int> path;
  int from_b = 0, trunk = 0;  // where on the path the second and the third part begin
};

constexpr int most_rows = 5;

// a body on the paths of two loops, and where it stands on them; the first has the larger number
struct Meeting {
  int one, place_one, two, place_two;
};

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
    Loop loop;
    loop.kind = kind, loop.row = rows, loop.rows = kind == revolute ? 5 : 3;
    loop.a = a, loop.b = b;
    rows += loop.rows;
    if (kind == revolute) normals(a.axis, loop.across);
    std::vector<char> above_a(bodies + 1), above_b(bodies + 1);
    for (int i = a.body; i > 0; i = joints[i].parent) above_a[i] = 1;
    for (int i = b.body; i > 0; i = joints[i].parent) above_b[i] = 1;
    int i = a.body;
    for (; i > 0 && !above_b[i]; i = joints[i].parent) loop.path.push_back(i);
    loop.from_b = int(loop.path.size());
    for (i = b.body; i > 0 && !above_a[i]; i = joints[i].parent) loop.path.push_back(i);
    loop.trunk = int(loop.path.size());
    for (; i > 0; i = joints[i].parent) loop.path.push_back(i);
    loops.push_back(loop);
  }

  std::vector<Meeting> meetings() const {
    std::vector<Meeting> found;
    std::vector<int> place(bodies + 1);
    for (int two = 0; two < int(loops.size()); ++two) {
      std::fill(place.begin(), place.end(), -1);
      for (int p = 0; p < int(loops[two].path.size()); ++p) place[loops[two].path[p]] = p;
      for (int one = two + 1; one < int(loops.size()); ++one)
        for (int p = 0; p < int(loops[one].path.size()); ++p)
          if (place[loops[one].path[p]] >= 0) found.push_back({one, p, two, place[loops[one].path[p]]});
    }
    return found;
  }

  // two unit vectors normal to a unit vector and to each other
  static void normals(Vec3<double> axis, Vec3<double>* two) {
    const Vec3<double> other = std::fabs(axis.x) < 0.6 ? Vec3<double>{1, 0, 0} : Vec3<double>{0, 1, 0};
    const Vec3<double> normal = cross(axis, other);
    two[0] = (1 / std::sqrt(norm2(normal))) * normal;
    two[1] = cross(axis, two[0]);
  }
};

// How constraints are held at acceleration level: gaps g follow d2g/dt2 = -damping dg/dt - stiffness g, which Baumgarte
// made a habit; rows of loops whose pivot is below `rank` times the largest count as redundant.
struct Holding {
  double damping = 0, stiffness = 0, rank = 1e-10;
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
