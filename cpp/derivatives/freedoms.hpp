// Freedoms of a tree as columns: a spatial velocity of six numbers for each, and which freedoms move which links.
//
// Spatial velocities (v, w) are referred to one common origin: v of the point there, and the angular velocity w. So
// nothing is shifted from link to link. Equal components of all freedoms are contiguous, for SIMD products.
#pragma once

#include "base/lane.hpp"
#include "solve/tree/articulated.hpp"

namespace catena::CATENA_ISA {

struct Six {
  Vec3<double> v, w;
};
CATENA_INLINE Six operator+(const Six& a, const Six& b) { return {a.v + b.v, a.w + b.w}; }
CATENA_INLINE Six operator-(const Six& a, const Six& b) { return {a.v - b.v, a.w - b.w}; }
CATENA_INLINE Six operator*(double s, const Six& a) { return {s * a.v, s * a.w}; }
CATENA_INLINE double dot(const Six& a, const Six& b) { return dot(a.v, b.v, a.w, b.w); }
// spatial cross product: the rate of b if it moves with a
CATENA_INLINE Six motion_cross(const Six& a, const Six& b) {
  return {cross(a.w, b.v) + cross(a.v, b.w), cross(a.w, b.w)};
}

typedef double Unaligned __attribute__((vector_size(8 * lane_width), aligned(8), may_alias));
CATENA_INLINE Lane load_lane(const double* p) {
  return Lane(static_cast<Lane::Register>(*reinterpret_cast<const Unaligned*>(p)));
}
CATENA_INLINE void store_lane(double* p, Lane v) { *reinterpret_cast<Unaligned*>(p) = v.v; }

// length of a padded row of freedoms: whole registers, and one more
constexpr int padded_row(int count) { return (count + lane_width - 1) / lane_width * lane_width + lane_width; }

// (6, freedom)
struct Motions {
  double* at;
  int pad;
  CATENA_INLINE void put(int f, const Six& s) const {
    at[f] = s.v.x, at[pad + f] = s.v.y, at[2 * pad + f] = s.v.z;
    at[3 * pad + f] = s.w.x, at[4 * pad + f] = s.w.y, at[5 * pad + f] = s.w.z;
  }
  CATENA_INLINE Six get(int f) const {
    return {{at[f], at[pad + f], at[2 * pad + f]}, {at[3 * pad + f], at[4 * pad + f], at[5 * pad + f]}};
  }
  // products of one torque, or of one wrench, with the motions of the freedoms from the j-th on, a register full
  CATENA_INLINE Lane turns(Vec3<double> t, int j) const {
    return Lane(t.x) * load_lane(at + 3 * pad + j) + Lane(t.y) * load_lane(at + 4 * pad + j) +
           Lane(t.z) * load_lane(at + 5 * pad + j);
  }
  CATENA_INLINE Lane dots(const Six& g, int j) const {
    return (Lane(g.v.x) * load_lane(at + j) + Lane(g.v.y) * load_lane(at + pad + j) +
            Lane(g.v.z) * load_lane(at + 2 * pad + j)) +
           turns(g.w, j);
  }
};

// of a layout: the links of the freedoms, and which freedoms move which others
struct FreedomTable {
  const Layout& layout;
  int count, pad;
  int *owner, *rank;  // (freedom) its link, and its index in the joint of that link
  char* swivels;      // (freedom) it is one of the three of a rotation by a quaternion
  char* only;         // (link) it is the only child of its parent, which precedes it
  double* mask;       // (freedom, pad) 1 for freedoms that move this one: itself, and those nearer to the root

  static bool is_floating(const LinkInfo& info) { return manner_of(info.branch) == floating_manner; }
  static bool has_swivel(const LinkInfo& info) { return manner_of(info.branch) >= swivel_manner; }
  // the first of the three rotations of a swivel
  static int first_turn(const LinkInfo& info) { return info.variable + (is_floating(info) ? 3 : 0); }

  void fill() {
    __builtin_memset(mask, 0, sizeof(double) * count * static_cast<std::size_t>(pad));
    for (int i = 0; i < layout.link_count; ++i) {
      const int parent = layout.link[i].parent;
      only[i] = parent >= 0 && parent == i - 1;
      // a second child of a link follows the whole subtree of the first
      if (parent >= 0 && parent < i - 1 && parent + 1 < i) only[parent + 1] = 0;
    }
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& l = layout.link[i];
      const int own = freedoms(l.branch);
      for (int k = 0; k < own; ++k) {
        const int f = l.variable + k;
        double* const row = mask + f * static_cast<long>(pad);
        owner[f] = i, rank[f] = k;
        swivels[f] = has_swivel(l) && f >= first_turn(l);
        for (int e = l.parent; e >= 0; e = layout.link[e].parent)
          for (int c = 0; c < freedoms(layout.link[e].branch); ++c) row[layout.link[e].variable + c] = 1;
        for (int c = 0; c < k; ++c) row[l.variable + c] = swivels[f] && swivels[l.variable + c] ? 0 : 1;
        row[f] = 1;
      }
    }
  }
  // freedoms of one swivel do not move each other's axes: both orders of each pair
  template <class Use>
  CATENA_INLINE void each_swivel_pair(Use&& use) const {
    for (int f = 0; f < count; ++f)
      for (int k = 0; k < 3 && swivels[f]; ++k)
        if (const int j = f - rank[f] % 3 + k; j != f) use(f, j);
  }
};

}  // namespace catena::CATENA_ISA
