// The fast solver: maximal-coordinate state, joints eliminated inside the step.
//
// Instead of all velocities and multipliers, a step's unknowns are the motions of the tree joints over the step: the
// sine of half the angle turned by a revolute joint, the distance slid by a prismatic one, the step quaternion of a
// body on a ball joint, displacement and step quaternion of a floating one. Poses follow from root to leaf, so tree
// joints are closed to rounding at every iterate (solve/link.hpp), and the joint wrench is what the subtree needs,
// summed from leaf to root (solve/tree/articulation.hpp).
//
// Links are worked on in segments (solve/tree/segment.hpp). Above 450 lines: functions of one solver share its state.
#pragma once

#include "physics/drag.hpp"
#include "solve/loops/loops.hpp"
#include "solve/newton.hpp"
#include "solve/tree/link.hpp"
#include "solve/tree/segment.hpp"
#include "solve/tree/ties.hpp"

namespace catena::CATENA_ISA {

// links that are worked on in one go where several sweeps follow each other
constexpr int portion = 32;

template <class T>
struct Articulated {
  const Layout& layout;
  Body<T>* body;
  Link<T>* link;
  Segment* segment;
  Axis<T>* axis;
  Acting<T>* acting;   // (axis)
  AtStop<T>* stopped;  // (axis) where there are stops
  LawLine* line;       // (law on a freedom) over the step to be solved
  Swivel<T>* swivel;
  Torsion<T>* torsion;  // (swivel) where there are rotary dampers
  Articulation<T>* received;
  Loops loop;
  Tied* tied;
  T* ahead;          // the unknowns after the Newton increment
  T* z = nullptr;    // unknowns: joint motions of the step, then multipliers of the loop rows times dt^2
  T* dz = nullptr;   // their Newton increment
  Clock clock = {};  // of the step to be solved
  const double* momentum = nullptr;  // (law) of rotors, before it
  const double* measured = nullptr;  // (law) at the node, of those on freedoms of the tree
  const double* pushed = nullptr;    // (axis) impulse of the step at the node, times dt
  double span = 1;                   // a length that lengths of gaps are measured by
  double widest_gap = 0;             // of the loops, over the span or in rad
  int widest_constraint = -1;
  LoopMismatch loop_mismatch = {};  // of the inactive rows of loops
  bool in_range = true;             // no body turns too far at `ahead`
  bool prepared = false;            // for a new matrix at the iterate
  Vec3<T> moved = {0, 0, 0};        // squares of the increments of the poses, summed
  int segment_count = 0;
  bool holds = false;    // freedoms at their stops
  bool positive = true;  // so were all pivots of the last matrix

  // kappa hardly changes from step to step in joint space
  static constexpr double caution = 4;
  // earlier steps that the guess may extrapolate
  static constexpr int guess_points = most_points, violent_guess_points = most_points;
  static int motion_count(const Layout& layout) { return layout.variable_count; }
  static int unknown_count(const Layout& layout) { return layout.variable_count + layout.loop_row_count; }
  static int swivel_count(const Layout& layout) {
    int count = 0;
    for (int i = 0; i < layout.link_count; ++i) count += manner_of(layout.link[i].branch) >= swivel_manner;
    return count;
  }
  // a sweep over all segments: f.template operator()<branch>(segment)
  template <class F>
  CATENA_INLINE void from_root(F f) {
    for (int k = 0; k < segment_count; ++k) dispatch(segment[k], f);
  }
  // the same by manner, and whether laws or rotary dampers act on it
  template <class F>
  CATENA_INLINE void by_manner(const Segment& s, F f) {
    switch (manner_of(s.branch)) {
      case 1: return s.acted ? f.template operator()<1, true>(s) : f.template operator()<1, false>(s);
      case swivel_manner:
        return s.acted ? f.template operator()<swivel_manner, true>(s) : f.template operator()<swivel_manner, false>(s);
      case floating_manner: return f.template operator()<floating_manner, false>(s);
      case 0: return f.template operator()<0, false>(s);
      case 2: return s.acted ? f.template operator()<2, true>(s) : f.template operator()<2, false>(s);
      default: return s.acted ? f.template operator()<3, true>(s) : f.template operator()<3, false>(s);
    }
  }

  // a new trajectory begins: joint displacements are read off the poses, along what the joint leaves free
  void enter() {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      link[i].mass = T(info.mass);
      link[i].unit = T(info.unit);
      link[i].share = T(info.share);
      link[i].offset = {T(0), T(0), T(0)};
      const Branch branch = branch_at(info.branch);
      const Pose<T> p = old_pose(body, info.parent);
      // from the joint point on the parent to that on the link
      const Vec3<T> from = p.x + p.R * load3(info.parent_anchor);
      const Vec3<T> span = body[i].x + body[i].R * load3(info.anchor) - from;
      for (int k = 0; k < info.axis_count; ++k) {
        if (branch.motion[k] == Motion::turn) continue;
        const Vec3<T> e = load3(info.direction + 3 * k);
        link[i].offset +=
            branch.own[k] ? -dot(e, transposed_times(body[i].R, span)) * e : dot(e, transposed_times(p.R, span)) * e;
      }
    }
    segment_count = find_segments(layout, link, segment);
    loop.enter();
  }

  // geometry of the node; positions of carried links are rebuilt from the tree, so they cannot drift
  void place() {
    from_root([this]<int branch>(const Segment& s) { place_segment<branch>(s); });
    loop.place(clock);
  }
  template <int branch>
  void place_segment(const Segment& s) {
    Pose<T> p = old_pose(body, s.parent);
    Axis<T>* x = axis + s.slot;
    Link<T>* const links = link;
    Body<T>* const bodies = body;
    const LinkInfo* const infos = layout.link;
    for (int i = s.first; i < s.end; ++i) {
      place_link<branch>(links[i], bodies[i], infos[i], x, p);
      x += manner_of(branch);
    }
  }

  // Iterate from the unknowns, and what a new matrix needs of it; false where a body would turn too far for the step.
  // A portion of a segment at a time, which stays in the cache.
  bool evaluate() {
    bool fine = true;
    from_root([&]<int branch>(const Segment& s) { fine &= evaluate_segment<branch>(s); });
    prepared = true;
    return fine;
  }
  // the same where nothing moves and all unknowns are zero
  void rest() {
    from_root([this]<int branch>(const Segment& s) { rest_segment<branch>(s); });
    prepared = true;
  }
  template <int branch>
  void rest_segment(const Segment& run);
  template <int branch>
  bool evaluate_segment(const Segment& run) {
    bool fine = true;
    Quat<T> w;
    Vec3<T> d;
    follow(run, w, d);
    const T* s = z + run.variable;
    Axis<T>* x = axis + run.slot;
    // copies of pointers, which the compiler would read again after every store
    Link<T>* const links = link;
    Body<T>* const bodies = body;
    const LinkInfo* const infos = layout.link;
    for (int i = run.first; i < run.end;) {
      const int first = i, end = run.end - i < portion ? run.end : i + portion;
      for (; i < end; ++i, s += freedoms(branch), x += manner_of(branch))
        fine &= evaluate_link<branch>(links[i], bodies[i], infos[i], x, s, turn_of<branch>(s), w, d);
      prepare<branch>(run, first, end);
    }
    return fine;
  }
  // how the parent of a segment turns and moves
  CATENA_INLINE void follow(const Segment& run, Quat<T>& w, Vec3<T>& d) const {
    w = {T(1), {T(0), T(0), T(0)}};
    d = {T(0), T(0), T(0)};
    if (run.parent >= 0) w = body[run.parent].w, d = body[run.parent].d;
  }

  // Bodies and directions of joints at the iterate: all that the elimination needs and no link has to wait for.
  template <int branch>
  void prepare(const Segment& run, int first, int end) {
    Axis<T>* x = axis + run.slot + (first - run.first) * manner_of(branch);
    Link<T>* const links = link;
    const Body<T>* const bodies = body;
    for (int i = first; i < end; ++i) {
      Link<T>& l = links[i];
      const Body<T>& b = bodies[i];
      l.H = turn_jacobian(b);
      l.f = l.unit * force_residual(b, l.share);
      l.t = torque_residual(b);
      if constexpr (manner_of(branch) > 0 && manner_of(branch) < swivel_manner) {
        const int parent = i == run.first ? run.parent : i - 1;
        const Quat<T> w = parent < 0 ? Quat<T>{T(1), {T(0), T(0), T(0)}} : bodies[parent].w;
        direct_axes<branch>(x, layout.link[i], l.c3, z + run.variable + (i - run.first) * manner_of(branch), w);
        x += manner_of(branch);
      }
    }
    if (layout.drag) add_drag(first, end);
    if constexpr (manner_of(branch) < swivel_manner)
      if (run.acted) act<branch>(run, first, end);
  }
  // Drag is rare: its code stays apart, so that links without any can keep their numbers in registers.
  [[gnu::noinline]] void add_drag(int first, int end) {
    for (int i = first; i < end; ++i) {
      const Wrench<T> w = drag_on(i);
      link[i].H = link[i].H + drag_against_turn(body[i], drag_of(i), T(clock.dt));
      link[i].f += w.f;
      link[i].t += w.t;
    }
  }
  [[gnu::noinline]] Wrench<T> drag_on(int i) const { return drag_residual(body[i], drag_of(i), T(clock.dt)); }
  [[gnu::noinline]] Mat3<T> drag_on_motion(int i) const {
    return drag_against_motion(body[i], drag_of(i), T(clock.dt));
  }
  const double* drag_of(int i) const { return layout.drag + 6L * i; }
  // of the rotary damper in a link's joint: half of its resistance over the step, and how its parent turns
  T half_damping(int i) const { return clock.resting ? T(0) : T(0.5 * clock.dt * layout.link[i].damping); }
  Quat<T> turn_above(int i) const {
    const int parent = layout.link[i].parent;
    return parent < 0 ? Quat<T>{T(1), {T(0), T(0), T(0)}} : body[parent].w;
  }

  // Efforts on the freedoms of links at the iterate, and how they fall.
  template <int branch>
  void act(const Segment& run, int first, int end) {
    constexpr int manner = manner_of(branch);
    int n = run.slot + (first - run.first) * manner;
    const T* s = z + run.variable + (first - run.first) * manner;
    for (int i = first; i < end; ++i)
      for (int k = 0; k < manner; ++k, ++n, ++s) {
        acting[n] = {pushed[n], T(0)};
        if (layout.first_axis_law[n] == layout.first_axis_law[n + 1]) continue;
        const T by = moved_by(branch, k, *s);
        for (int at = layout.first_axis_law[n]; at < layout.first_axis_law[n + 1]; ++at) {
          if (line[at].absent) continue;
          T slope;
          acting[n].effort += effort_of(at, by, slope);
          acting[n].stiffness -= slope;
        }
      }
  }
  // for the step to be solved
  void find_lines() {
    if (layout.axis_law_count == 0) return;
    // a copy, which need not be read again after every line
    const Clock at_node = clock;
    for (int at = 0; at < layout.axis_law_count; ++at) {
      const int l = layout.axis_law[at];
      if (!line[at].absent) draw(line[at], layout.law[l], measured[l], stage_of(layout.law[l], at_node), momentum[l]);
    }
  }
  // of a law on a freedom if that moves by so much, and its derivative
  CATENA_INLINE T effort_of(int at, T by, T& slope) const {
    if (!clock.resting && !line[at].bent) return line[at].at(by, slope);
    return line[at].sign * wanted(layout.axis_law[at], by, slope);
  }
  // the multiplier that a law on a freedom wants if that moves by so much, and its derivative against the measure
  CATENA_INLINE T wanted(int l, T by, T& slope) const {
    const LawInfo& law = layout.law[l];
    return law_multiplier<T>(law, measured[l], law.sign * by, stage_of(law, clock), momentum[l], slope);
  }
  // of a law on a freedom, at the iterate
  T axis_multiplier(int l) const {
    T slope;
    return wanted(l, moved_by(layout, layout.law[l], z), slope);
  }

  // the motion that is left to a freedom at its stop
  CATENA_INLINE T left_to(int n, T unknown) const { return (stopped[n].target - unknown) / axis[n].gain; }
  // some freedoms are held at their stops, others no more
  void hold_stops() {
    holds = false;
    for (int k = 0; k < segment_count; ++k) {
      Segment& s = segment[k];
      s.acted = s.has_laws;
      const int manner = manner_of(s.branch);
      for (int n = s.slot; n < s.slot + (s.end - s.first) * manner && manner < swivel_manner; ++n)
        s.acted |= stopped[n].held, holds |= stopped[n].held;
    }
    prepared = false;
  }

  // Newton increment at the iterate: dz, and the increments of the poses; at rest false on a pivot that is not positive
  bool direction() {
    if (!factor()) return false;
    substitute<false>();
    return true;
  }
  // the same, and the iterate where it leads; or with the matrix of the last one
  bool advance(bool again) {
    if (again)
      repeat();
    else if (!factor())
      return false;
    substitute<true>();
    return true;
  }

  // links of plain trees ask neither for loops nor for drag
  bool is_plain() const { return layout.loop_count == 0 && !layout.drag; }
  bool factor() { return is_plain() ? factor<false>() : factor<true>(); }
  template <bool loops>
  bool factor() {
    if (!prepared) from_root([this]<int branch>(const Segment& s) { prepare<branch>(s, s.first, s.end); });
    if constexpr (loops) find_rows(false);
    bool fine = true;
    for (int k = segment_count - 1; k >= 0; --k)
      by_manner(segment[k],
                [&]<int manner, bool acted>(const Segment& s) { fine &= eliminate<manner, loops, acted>(s); });
    if constexpr (loops) fine &= close_world();
    positive = fine;
    return fine || !clock.resting;
  }
  void repeat() { is_plain() ? repeat<false>() : repeat<true>(); }
  template <bool loops>
  void repeat() {
    if constexpr (loops) find_rows(true);
    from_root([this]<int branch>(const Segment& s) {
      if constexpr (manner_of(branch) < swivel_manner)
        if (s.acted) act<branch>(s, s.first, s.end);
    });
    for (int k = segment_count - 1; k >= 0; --k)
      by_manner(segment[k],
                [this]<int manner, bool acted>(const Segment& s) { repeat_segment<manner, loops, acted>(s); });
    if constexpr (loops) close_world_again();
  }

  Ties ties() const { return {layout, loop, axis, link, tied}; }
  void find_rows(bool again) {
    if (layout.tie_count > 0) ties().find_gaps(z);
    loop.find_rows(clock, loop_multipliers(), momentum, again);
  }
  // Ties are rare as well.
  bool has_ties(int i) const { return layout.front[i].tie_count > 0; }
  [[gnu::noinline]] bool close_ties(Articulation<T>& m, int i) const { return ties().close(m, i); }
  [[gnu::noinline]] void close_ties_again(Wrench<T>& m, int i) const { ties().close_again(m, i); }
  [[gnu::noinline]] void open(int i, const Vec3<T>& dx, const Vec3<T>& phi, T* lambda) const {
    loop.open(i, dx, phi, lambda);
    if (has_ties(i)) ties().open(i, dx, phi, z, dz);
  }
  // loops and ties that end or sit at a link
  CATENA_INLINE bool close(Articulation<T>& m, int i) const {
    // a copy, so that most links can keep theirs in registers
    Articulation<T> own = m;
    const bool fine = !has_ties(i) || close_ties(own, i);
    loop.close(own, i, loop_multipliers());
    m = own;
    return fine;
  }
  CATENA_INLINE void close_again(Wrench<T>& m, int i) const {
    if (has_ties(i)) close_ties_again(m, i);
    loop.close_again(m, i, loop_multipliers());
  }
  bool close_world() const;
  void close_world_again() const;

  // what a link adds to its own balance
  template <bool loops>
  CATENA_INLINE void add_wrench(Wrench<T>& m, const Link<T>& l, const Body<T>& b, int i) const {
    m.f += l.unit * force_residual(b, l.share);
    m.t += torque_residual(b);
    if (!loops || !layout.drag) return;
    const Wrench<T> w = drag_on(i);
    m.f += w.f;
    m.t += w.t;
  }

  // leaf to root (solve/tree/leaf_to_root.hpp)
  template <int manner, bool loops, bool acted>
  bool eliminate(const Segment& s);
  void hold_axis(Articulation<T>& m, const Link<T>& l, int n, T pivot, T unknown, bool moves);
  static void hand_over(const Articulation<T>& m, Articulation<T>& to, bool opens);
  template <int manner, bool loops, bool acted>
  void repeat_segment(const Segment& s);

  // root to leaf; `on` to the next iterate, which is evaluated in the same go
  template <bool on>
  void substitute() {
    T* lambda = dz + layout.variable_count;
    in_range = true;
    prepared = false;
    moved = {T(0), T(0), T(0)};
    if (layout.loop_count == 0)
      return from_root([this]<int branch>(const Segment& s) { substitute_branch<branch, false, on>(s); });
    open(layout.link_count, {T(0), T(0), T(0)}, {T(0), T(0), T(0)}, lambda);
    from_root([this]<int branch>(const Segment& s) { substitute_branch<branch, true, on>(s); });
    loop.settle(lambda);
    for (int k = layout.variable_count; k < unknown_count(layout); ++k) ahead[k] = z[k] + dz[k];
  }
  template <int branch, bool loops, bool on>
  CATENA_INLINE void substitute_branch(const Segment& run) {
    if constexpr (manner_of(branch) == swivel_manner)
      if (run.acted) return substitute_segment<branch, loops, on, true>(run);
    substitute_segment<branch, loops, on, false>(run);
  }
  // (solve/tree/root_to_leaf.hpp), by rotary dampers or without them
  template <int branch, bool loops, bool on, bool acted>
  void substitute_segment(const Segment& run);
  template <int manner, bool loops>
  void settle_stops(const Segment& run);

  //---- between steps ----

  // the step has been solved
  void commit(T dt) {
    for (int i = 0; i < layout.link_count; ++i) commit_body(body[i], link[i].share, 1 / dt);
    for (int i = 0; i < layout.link_count && layout.drag; ++i)
      drag_momenta(body[i], body[i].q, drag_of(i), link[i].unit, body[i].v, body[i].L);
    rotary_momenta(layout, body);
    for (int k = 0; k < segment_count; ++k)
      if (slides(segment[k].branch))
        for (int i = segment[k].first; i < segment[k].end; ++i) add_slides(layout.link[i], z, link[i].offset);
  }

  // Whether a slide has taken a link so far from its parent that what the joint does not hand over is lost in what it
  // does: its inertia about the parent against the parent's own.
  bool slid_far() const {
    for (int k = 0; k < segment_count; ++k) {
      if (!slides(segment[k].branch)) continue;
      for (int i = segment[k].first; i < segment[k].end; ++i) {
        const int parent = layout.link[i].parent;
        if (parent < 0) continue;
        const Mat3<T>& J = body[parent].J;
        if (link[i].mass * norm2(link[i].r) > T(1e3) * (J.i.x + J.j.y + J.k.z)) return true;
      }
    }
    return false;
  }

  // pivot of what closes loops, in the last matrix
  double smallest() const { return *loop.least_pivot; }
  T* loop_multipliers() const { return z + layout.variable_count; }
  // rows of a constraint that is no branch of the tree, at the node
  JointRows& rows_of(const ConstraintInfo& c) { return loop.old_rows[c.loop]; }
  // all that are kept from node to node
  static int memory_count(const Layout& layout) { return layout.loop_count; }
  JointRows* memories() { return loop.old_rows; }
  // laws on freedoms of the tree are part of its pivots
  static constexpr bool acts_on_axes = true;
  // of a law that has a row, among given unknowns
  double row_multiplier(int l, const double* unknowns) const {
    return unknowns[layout.variable_count + layout.constraint[layout.law[l].constraint].loop_row];
  }
  double multiplier_of(int l) const {
    const LawInfo& law = layout.law[l];
    if (law.axis < 0) return row_multiplier(l, z);
    return law.stop < 0 ? axis_multiplier(l) : stopped[law.axis].held ? law.sign * stopped[law.axis].effort : 0;
  }
  void find_gap() {
    if (layout.tie_count > 0) ties().find_gaps(z);
    loop.find_gap(clock, span, widest_gap, widest_constraint, loop_mismatch);
  }

  // the state between steps
  template <class F>
  void visit_state(F&& visit) {
    visit.each(body, layout.link_count, [](auto& to, Body<T>& b) { visit_body(to, b); });
    visit.each(link, layout.link_count, [](auto& to, Link<T>& l) { to(l.offset); });
  }

  // (solve/tree/reactions.hpp)
  void multipliers(T scale, double* out);
  T effort_at(const LinkInfo& info) const;
  void reaction(const Wrench<T>& m, int i, T scale, double* out) const;
};

}  // namespace catena::CATENA_ISA

#include "solve/tree/leaf_to_root.hpp"
#include "solve/tree/reactions.hpp"
#include "solve/tree/root_to_leaf.hpp"
