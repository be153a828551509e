// How the links of several members move, one member to a lane: at the node, and at the iterate of a step. Links are
// worked on in segments, as in solve/tree/segment.hpp: inside one a motion goes from parent to child in registers.
#pragma once

#include "base/lane.hpp"
#include "physics/law.hpp"
#include "solve/tree/segment.hpp"

namespace catena::CATENA_ISA {

template <class T>
struct LaneLink {
  // of the member: mass (see LinkInfo), inertia, gravity, axis of a rotor
  T mass, unit, share;
  T inertia[6];  // xx yy zz xy xz yz
  Vec3<T> gravity, spin;
  int children, receiver;  // see find_segments

  // node: joint point to centre of mass, parent's joint point to this one, joint axis, joint displacement (parent's
  // frame); iterate of the last matrix: the same in the new pose
  Vec3<T> c, rho, a, offset;
  Vec3<T> c3, rho3, a3;
  T cosine;  // of half the angle turned by the joint

  // factors: joint directions through the matrix, rows, 1/pivot; for a ball E^-1, B and E^-1 C, for a floating link
  // A^-1
  Vec3<T> up, ur, row_P, row_R;
  T inverse_pivot;
  Mat3<T> E_inverse, B, rows, A_inverse;

  // solution: joint's share of the wrench over the pivot, force on a floating link
  Vec3<T> first, free_force;

  // of the last link of a segment: displacement of its joint point, increment of that and of the turn
  Vec3<T> u, dP, phi;
};

// a law, and what it carries from step to step: its measure and the momentum of its rotor at the node, the force that
// it exerted on the interval before
struct LaneLaw : LawOf<Lane> {
  Lane measured, momentum, before;
};

// of a freedom that has a stop: 1 in lanes where it is held, what is left of its way at the iterate, and where its
// unknown is to be
struct LaneHold {
  Lane held, left, target;
};

// R - I of a turn: shorter than turn() for more than one vector
template <class T>
CATENA_INLINE Mat3<T> turn_matrix(const Quat<T>& q) {
  const Vec3<T> v = q.v + q.v, s = q.w * v;
  const T xx = v.x * q.v.x, yy = v.y * q.v.y, zz = v.z * q.v.z;
  const T xy = v.x * q.v.y, xz = v.x * q.v.z, yz = v.y * q.v.z;
  return {{-(yy + zz), xy + s.z, xz - s.y}, {xy - s.z, -(xx + zz), yz + s.x}, {xz + s.y, yz - s.x, -(xx + yy)}};
}

struct LaneMotion {
  using T = Lane;
  const Layout& layout;  // of any member: what differs between them is in the links
  Body<T>* body;
  LaneLink<T>* link;
  Segment* segment;
  Articulation<T>* received;  // from the segments that hang on a link
  T *z, *dz, *ahead;          // unknowns, their increment, and the unknowns after it
  LaneLaw* law;               // (law)
  Axis<T>* axis;              // (axis) freedoms that are worked on one by one
  Acting<T>* acting;          // (axis) laws on freedoms, at the iterate
  T* pushed;                  // (axis) and at the node, times dt
  LaneHold* stopped;          // (axis) valid while some are held
  Torsion<T>* torsion;        // (link) where there are rotary dampers
  const Wrench<T>* reaction;  // (link) of loops, if there are any
  int segment_count;
  T dt = T(1), per_dt = T(1);  // of the step to be solved
  bool resting = false;        // velocities are projected
  bool holds = false;          // some freedoms are at their stops in some lanes
  void last(double interval) { dt = T(interval), per_dt = T(1 / interval); }

  // how a link is worked on: as a single turn or slide, or its freedoms one by one
  enum class Way { fixed, turn, slide, swivel, floating, general };
  static constexpr Way way_of(int branch) {
    const Branch& form = branch_at(branch);
    if (manner_of(branch) == 0) return Way::fixed;
    if (manner_of(branch) >= swivel_manner) return manner_of(branch) == swivel_manner ? Way::swivel : Way::floating;
    if (form.count > 1 || form.motion[0] == Motion::helix) return Way::general;
    return form.motion[0] == Motion::turn ? Way::turn : Way::slide;
  }
  // unknowns of a link, and room for as many
  template <Way way>
  static constexpr int unknowns(int branch) {
    constexpr int count[] = {0, 1, 1, 3, 6};
    if constexpr (way == Way::general)
      return branch_at(branch).count;
    else
      return count[static_cast<int>(way)];
  }
  template <Way way>
  static constexpr int space = way == Way::general ? most_freedoms : unknowns<way>(0) + 1;

  // f.template operator()<way>(segment)
  template <class F>
  static CATENA_INLINE void pass(const Segment& s, F f) {
    switch (way_of(s.branch)) {
      case Way::turn: return f.template operator()<Way::turn>(s);
      case Way::swivel: return f.template operator()<Way::swivel>(s);
      case Way::floating: return f.template operator()<Way::floating>(s);
      case Way::slide: return f.template operator()<Way::slide>(s);
      case Way::fixed: return f.template operator()<Way::fixed>(s);
      case Way::general: return f.template operator()<Way::general>(s);
    }
  }
  template <class F>
  CATENA_INLINE void from_root(F f) {
    for (int k = 0; k < segment_count; ++k) pass(segment[k], f);
  }
  // f.template operator()<way, acted>(segment)
  template <class F>
  CATENA_INLINE void from_leaf(F f) {
    for (int k = segment_count - 1; k >= 0; --k)
      pass(segment[k], [&]<Way way>(const Segment& s) {
        if constexpr (way != Way::fixed && way != Way::floating)
          if (s.acted) return f.template operator()<way, true>(s);
        f.template operator()<way, false>(s);
      });
  }

  static CATENA_INLINE Vec3<T> zero() { return {T(0), T(0), T(0)}; }
  // lanes where a value is not positive, or not a number, are marked for good
  static CATENA_INLINE void require(T& fine, T value) { fine = choose(value > T(0), fine, T(0)); }

  // geometry of the node; positions of carried links are rebuilt from the tree
  void place() {
    from_root([this]<Way way>(const Segment& s) {
      for (int i = s.first; i < s.end; ++i) place_link<way>(i);
    });
  }
  template <Way way>
  CATENA_INLINE void place_link(int i) {
    const LinkInfo& info = layout.link[i];
    Body<T>& b = body[i];
    LaneLink<T>& l = link[i];
    b.R = matrix(b.q);
    b.J = rotated(b.R, l.inertia);
    Vec3<T> own = wide<T>(info.anchor), anchor = wide<T>(info.parent_anchor);
    if constexpr (way == Way::slide) anchor += l.offset;
    if constexpr (way == Way::general)
      if (slides(info.branch)) (slides_on_link(info.branch) ? own : anchor) += l.offset;
    l.c = -(b.R * own);
    if constexpr (way == Way::floating) return;
    if constexpr (way == Way::turn) l.a = b.R * wide<T>(info.direction);
    if constexpr (way == Way::slide) l.a = from_parent(info, wide<T>(info.direction));
    if constexpr (way == Way::general) place_axes(info, b.R);
    if (info.parent < 0) {
      l.rho = anchor;
      b.x = anchor + l.c;
    } else {
      const Body<T>& p = body[info.parent];
      const Vec3<T> arm = p.R * anchor;
      l.rho = link[info.parent].c + arm;
      b.x = p.x + arm + l.c;
    }
  }

  CATENA_INLINE Vec3<T> from_parent(const LinkInfo& info, Vec3<T> e) const {
    return info.parent < 0 ? e : body[info.parent].R * e;
  }
  // directions of freedoms that are worked on one by one, at the joint point
  void place_axes(const LinkInfo& info, const Mat3<T>& own) {
    const Branch& form = branch_at(info.branch);
    for (int k = 0; k < form.count; ++k) {
      const Vec3<T> fixed = wide<T>(info.direction + 3 * k), e = form.own[k] ? own * fixed : from_parent(info, fixed);
      Axis<T>& x = axis[info.first_axis + k];
      x.slide = x.turn = zero();
      if (form.motion[k] != Motion::turn) x.slide = form.motion[k] == Motion::slide ? e : T(info.parameter) * e;
      if (form.motion[k] != Motion::slide) x.turn = e;
    }
  }

  // how a link turns, and how its joint point moves
  struct Moved {
    Quat<T> w;
    Mat3<T> turn;
    Vec3<T> u;
  };
  CATENA_INLINE Moved follow(const Segment& s) const {
    const Quat<T> w = s.parent < 0 ? Quat<T>{T(1), zero()} : body[s.parent].w;
    return {w, turn_matrix(w), s.parent < 0 ? zero() : link[s.parent].u};
  }
  // of half the angle turned by a joint; found one link ahead, because a root takes long
  template <Way way>
  CATENA_INLINE void find_cosine(int i, const T* s) {
    constexpr int first = way == Way::floating ? 3 : 0;
    if constexpr (way == Way::turn) link[i].cosine = sqrt(T(1) - s[0] * s[0]);
    if constexpr (way == Way::swivel || way == Way::floating)
      link[i].cosine = sqrt(T(1) - norm2(Vec3<T>{s[first], s[first + 1], s[first + 2]}));
  }

  // the momenta to be met, iterate from the unknowns, and the directions that a new matrix needs; not positive in lanes
  // where a body would turn too far
  T evaluate(T kick) {
    T fine = T(1);
    from_root([&]<Way way>(const Segment& s) {
      Moved m = follow(s);
      const T* q = z + s.variable;
      const int count = unknowns<way>(s.branch);
      find_cosine<way>(s.first, q);
      for (int i = s.first; i < s.end; ++i, q += count) {
        if (i + 1 < s.end) find_cosine<way>(i + 1, q + count);
        aim_body(body[i], dt, kick);
        evaluate_link<way, true>(i, q, m, fine);
      }
      link[s.end - 1].u = m.u;
    });
    return fine;
  }

  // the parent's motion becomes that of the link
  template <Way way, bool directions>
  CATENA_INLINE void evaluate_link(int i, const T* s, Moved& m, T& fine) {
    Body<T>& b = body[i];
    LaneLink<T>& l = link[i];
    if constexpr (way == Way::floating) {
      m.u = {s[0], s[1], s[2]};
      m.w = {l.cosine, {s[3], s[4], s[5]}};
    } else {
      Vec3<T> swing = m.turn * l.rho;
      if constexpr (way == Way::slide) {
        const Vec3<T> a3 = l.a + m.turn * l.a;
        swing += s[0] * a3;
        if constexpr (directions) l.a3 = a3;
      } else if constexpr (way == Way::turn) {
        if constexpr (directions) l.a3 = l.a + m.turn * l.a;
        m.w = m.w * Quat<T>{l.cosine, s[0] * l.a};
      } else if constexpr (way == Way::swivel) {
        m.w = {l.cosine, {s[0], s[1], s[2]}};
      } else if constexpr (way == Way::general) {
        evaluate_axes<directions>(layout.link[i], s, m.w, swing);
      }
      if constexpr (directions) l.rho3 = l.rho + swing;
      m.u += swing;
    }
    if constexpr (way != Way::slide && way != Way::fixed) m.turn = turn_matrix(m.w);
    require(fine, m.w.w);
    const Vec3<T> spin = m.turn * l.c;
    if constexpr (directions) l.c3 = l.c + spin;
    b.w = m.w;
    b.d = m.u + spin;
  }

  // freedoms one by one: each turns the frame w that the ones before it have reached, or moves the link
  template <bool directions>
  void evaluate_axes(const LinkInfo& info, const T* s, Quat<T>& w, Vec3<T>& swing) {
    const Branch& form = branch_at(info.branch);
    Axis<T>* x = axis + info.first_axis;
    Vec3<T> way[most_freedoms + 1];
    for (int k = 0; k < form.count; ++k) {
      const Mat3<T> by = turn_matrix(w);
      way[k] = zero();
      if (form.motion[k] == Motion::slide) {
        const Vec3<T> e = x[k].slide + by * x[k].slide;
        way[k] = s[k] * e;
        x[k].gain = T(1);
        if constexpr (directions) x[k].slide3 = e, x[k].turn3 = zero();
        continue;
      }
      const Vec3<T> e = x[k].turn + by * x[k].turn;
      const T cosine = sqrt(T(1) - s[k] * s[k]);
      if (form.motion[k] == Motion::helix) way[k] = (T(info.parameter) * turned_angle(s[k])) * e;
      x[k].gain = T(0.5) * cosine;
      w = w * Quat<T>{cosine, s[k] * x[k].turn};
      if constexpr (directions) {
        x[k].turn3 = e;
        x[k].slide3 = form.motion[k] == Motion::helix ? T(info.parameter) * e : zero();
      }
    }
    // a turn takes the link along where it slides on from its axis
    Vec3<T> shift = zero();
    for (int k = form.count - 1; k >= 0; --k) {
      if constexpr (directions)
        if (form.motion[k] == Motion::turn && slides_on_link(info.branch)) x[k].slide3 = cross(x[k].turn3, shift);
      shift += way[k];
    }
    swing += shift;
  }
};

}  // namespace catena::CATENA_ISA
