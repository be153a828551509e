// What Python hands over: the mechanism as flat arrays, bodies and joints in the user's order.
#pragma once

#include <vector>

#include "base/offset.hpp"

namespace catena {

// the codes Python passes; module.cpp exports them by name
enum class JointKind : int {
  fixed,
  revolute,
  prismatic,
  cylindrical,
  universal,
  ball,
  planar,
  pin_in_slot,
  screw,
  free,
  in_line,
  in_plane,
  distance,
  parallel,
  orientation,
  constant_velocity,
  rolling_ball,
  rolling_disk,
  knife_edge,
  custom,
  custom_velocity,
  coupling,
  rotary,
  measured_angle,
  measured_slide,
  measured_distance,
  measured_bend,
  measured_swing,
  measured_twist,
  measured_rotation,
};
// rows that neither a point nor an angle gives
enum class ExtraRow : int { none, screw, distance, twist, angle, slide, bend, swing, axial, rotation };
// what rows are made of: a file each in physics/rows, listed in its constraint.hpp
enum class RowKind : int {
  joint,
  ground,
  rolling,
  custom,
  custom_velocity,
  coupling,
  rotary,
  law,
  stop,
  touch,
  combination
};
// of a kind that is no joint's: how many, unless the user says so; metres or radians; the first that holds a velocity
struct OwnRows {
  RowKind kind = RowKind::joint;
  int count = 0;
  bool lengths = true;
  int first_velocity = 6;
};

// What a joint leaves free of b against a, one after the other, nearest to a first: a turn about an axis, a slide along
// it, both at once by the joint's parameter; a turn about any, a shift along any. The axis is one of the joint frame of
// a or of b, or one that both have in common.
enum class Motion : int { turn, slide, helix, swivel, shift };
enum class Side : int { a, b, both };
struct Freedom {
  Motion motion;
  Side side;
  int axis;
};
constexpr int most_freedoms = 3;

// Every joint is made of two kinds of rows, both measured in the joint frames of a and b:
// point rows, an axis of a dotted with the vector between the two anchors, and angle rows, an axis of a dotted
// with an axis of b; a few need extra rows. Others have rows of their own.
struct JointForm {
  JointKind kind;
  const char* name;
  int point_count, point_axis[3];
  int angle_count, angle_axes[3][2];  // axis of a, axis of b
  ExtraRow extra;
  int freedom_count = 0;  // if there are any b's pose follows from a's: the joint may be a branch of the tree
  Freedom freedom[most_freedoms] = {};
  OwnRows own = {};
};
// clang-format off
constexpr JointForm joint_form[] = {
    {JointKind::fixed, "fixed", 3, {0, 1, 2}, 3, {{0, 2}, {1, 2}, {0, 1}}, ExtraRow::none},
    {JointKind::revolute, "revolute", 3, {0, 1, 2}, 2, {{0, 2}, {1, 2}}, ExtraRow::none,
     1, {{Motion::turn, Side::both, 2}}},
    {JointKind::prismatic, "prismatic", 2, {0, 1}, 3, {{0, 2}, {1, 2}, {0, 1}}, ExtraRow::none,
     1, {{Motion::slide, Side::both, 2}}},
    {JointKind::cylindrical, "cylindrical", 2, {0, 1}, 2, {{0, 2}, {1, 2}}, ExtraRow::none,
     2, {{Motion::slide, Side::both, 2}, {Motion::turn, Side::both, 2}}},
    {JointKind::universal, "universal", 3, {0, 1, 2}, 1, {{0, 1}}, ExtraRow::none,
     2, {{Motion::turn, Side::a, 0}, {Motion::turn, Side::b, 1}}},
    {JointKind::ball, "ball", 3, {0, 1, 2}, 0, {}, ExtraRow::none,
     1, {{Motion::swivel, Side::both, 0}}},
    {JointKind::planar, "planar", 1, {2}, 2, {{0, 2}, {1, 2}}, ExtraRow::none,
     3, {{Motion::slide, Side::a, 0}, {Motion::slide, Side::a, 1}, {Motion::turn, Side::both, 2}}},
    {JointKind::pin_in_slot, "pin_in_slot", 2, {1, 2}, 2, {{0, 2}, {1, 2}}, ExtraRow::none,
     2, {{Motion::slide, Side::a, 0}, {Motion::turn, Side::both, 2}}},
    {JointKind::screw, "screw", 2, {0, 1}, 2, {{0, 2}, {1, 2}}, ExtraRow::screw,
     1, {{Motion::helix, Side::both, 2}}},
    {JointKind::free, "free", 0, {}, 0, {}, ExtraRow::none,
     2, {{Motion::shift, Side::both, 0}, {Motion::swivel, Side::both, 0}}},
    {JointKind::in_line, "in_line", 2, {0, 1}, 0, {}, ExtraRow::none},
    {JointKind::in_plane, "in_plane", 1, {2}, 0, {}, ExtraRow::none},
    {JointKind::distance, "distance", 0, {}, 0, {}, ExtraRow::distance},
    {JointKind::parallel, "parallel", 0, {}, 2, {{0, 2}, {1, 2}}, ExtraRow::none},
    {JointKind::orientation, "orientation", 0, {}, 3, {{0, 2}, {1, 2}, {0, 1}}, ExtraRow::none},
    {JointKind::constant_velocity, "constant_velocity", 3, {0, 1, 2}, 0, {}, ExtraRow::twist},
    {JointKind::rolling_ball, "rolling_ball", 0, {}, 0, {}, ExtraRow::none, 0, {}, {RowKind::rolling, 3, true, 1}},
    {JointKind::rolling_disk, "rolling_disk", 0, {}, 0, {}, ExtraRow::none, 0, {}, {RowKind::rolling, 3, true, 1}},
    {JointKind::knife_edge, "knife_edge", 0, {}, 0, {}, ExtraRow::none, 0, {}, {RowKind::rolling, 1, true, 0}},
    {JointKind::custom, "custom", 0, {}, 0, {}, ExtraRow::none, 0, {}, {RowKind::custom}},
    {JointKind::custom_velocity, "custom_velocity", 0, {}, 0, {}, ExtraRow::none, 0, {},
     {RowKind::custom_velocity, 0, true, 0}},
    {JointKind::coupling, "coupling", 0, {}, 0, {}, ExtraRow::none, 0, {}, {RowKind::coupling, 1}},
    // not a joint but a damper between two bodies (physics/rotary.hpp)
    {JointKind::rotary, "rotary", 0, {}, 0, {}, ExtraRow::none, 0, {}, {RowKind::rotary, 3, false}},
    // not joints but scalars that force laws act on and couplings add up (physics/law.hpp)
    {JointKind::measured_angle, "measured_angle", 0, {}, 0, {}, ExtraRow::angle},
    {JointKind::measured_slide, "measured_slide", 0, {}, 0, {}, ExtraRow::slide},
    {JointKind::measured_distance, "measured_distance", 0, {}, 0, {}, ExtraRow::distance},
    {JointKind::measured_bend, "measured_bend", 0, {}, 0, {}, ExtraRow::bend},
    {JointKind::measured_swing, "measured_swing", 0, {}, 0, {}, ExtraRow::swing},
    {JointKind::measured_twist, "measured_twist", 0, {}, 0, {}, ExtraRow::axial},
    {JointKind::measured_rotation, "measured_rotation", 0, {}, 0, {}, ExtraRow::rotation},
};
// clang-format on
constexpr int joint_kind_count = sizeof joint_form / sizeof joint_form[0];
static_assert(joint_kind_count == static_cast<int>(JointKind::measured_rotation) + 1);
static_assert(
    [] {
      for (int k = 0; k < joint_kind_count; ++k)
        if (static_cast<int>(joint_form[k].kind) != k) return false;
      return true;
    }(),
    "the table is in the order of the enumeration");

// whether a joint may be a branch of the tree: it fixes b against a, or leaves it listed freedoms
constexpr bool carries(int kind) {
  const JointForm& form = joint_form[kind];
  return form.kind == JointKind::fixed || (form.freedom_count > 0 && form.kind != JointKind::free);
}

// angles whose turns are counted
constexpr int turn_count(int kind) {
  int count = 0;
  for (int f = 0; f < joint_form[kind].freedom_count; ++f)
    count += joint_form[kind].freedom[f].motion == Motion::turn ? 1 : 0;
  return count;
}
// numbers that say where b is against a
constexpr int coordinate_count(int kind) {
  int count = 0;
  for (int f = 0; f < joint_form[kind].freedom_count; ++f) {
    const Motion motion = joint_form[kind].freedom[f].motion;
    count += motion == Motion::swivel || motion == Motion::shift ? 3 : 1;
  }
  return count;
}

// rows of a kind; those of the user's own constraints are counted elsewhere
constexpr int joint_row_count(int kind) {
  const JointForm& form = joint_form[kind];
  return form.point_count + form.angle_count + (form.extra == ExtraRow::none ? 0 : 1) + form.own.count;
}

// The freedoms of a link against its parent, nearest to the parent first: those of its joint, in reverse if the link is
// the joint's body a and their order matters. Axes are fixed to the link itself (`own`) or to the parent.
struct Branch {
  int count = 0;
  Motion motion[most_freedoms] = {};
  bool own[most_freedoms] = {};
  int axis[most_freedoms] = {};        // of the joint frame there
  int coordinate[most_freedoms] = {};  // of the joint
};
constexpr Branch branch_of(JointKind kind, bool flipped) {
  const JointForm& form = joint_form[static_cast<int>(kind)];
  bool ordered = false;
  for (int k = 0; k < form.freedom_count; ++k) ordered |= form.freedom[k].side != Side::both;
  Branch branch;
  branch.count = form.freedom_count;
  for (int k = 0; k < branch.count; ++k) {
    const int from = ordered && flipped ? branch.count - 1 - k : k;
    const Freedom& freedom = form.freedom[from];
    branch.motion[k] = freedom.motion;
    // an axis in common: turns about the link's, slides along the parent's
    branch.own[k] = freedom.side == Side::both ? freedom.motion != Motion::slide : (freedom.side == Side::b) != flipped;
    branch.axis[k] = freedom.axis;
    branch.coordinate[k] = from;
  }
  return branch;
}
// links whose branches have the same number are treated alike: axes and coordinates are data
constexpr bool moves_alike(const Branch& p, const Branch& q) {
  bool alike = p.count == q.count;
  for (int k = 0; k < p.count && alike; ++k) alike = p.motion[k] == q.motion[k] && p.own[k] == q.own[k];
  return alike;
}
constexpr int branch_number(JointKind kind, bool flipped) {
  return 2 * static_cast<int>(kind) + (flipped && !moves_alike(branch_of(kind, false), branch_of(kind, true)) ? 1 : 0);
}
// how a joint is eliminated: so many freedoms one by one, or else
constexpr int swivel_manner = 4, floating_manner = 5;
constexpr int manner_of(int branch) {
  const JointForm& form = joint_form[branch / 2];
  if (form.freedom_count == 0 || form.freedom[0].motion < Motion::swivel) return form.freedom_count;
  return form.freedom[0].motion == Motion::swivel ? swivel_manner : floating_manner;
}
struct BranchTable {
  Branch branch[2 * joint_kind_count];
};
constexpr BranchTable branch_table = [] {
  BranchTable table;
  for (int k = 0; k < 2 * joint_kind_count; ++k) table.branch[k] = branch_of(static_cast<JointKind>(k / 2), k % 2 == 1);
  return table;
}();
constexpr const Branch& branch_at(int number) { return branch_table.branch[number]; }

// whether a row is measured in metres, or else in radians
constexpr bool row_is_length(int kind, int row) {
  const JointForm& form = joint_form[kind];
  if (row < form.point_count) return true;
  if (row < form.point_count + form.angle_count) return false;
  switch (form.extra) {
    case ExtraRow::twist:
    case ExtraRow::angle:
    case ExtraRow::bend:
    case ExtraRow::swing:
    case ExtraRow::axial:
    case ExtraRow::rotation: return false;
    default: return form.own.lengths;
  }
}

// whether a row holds a velocity and leaves the pose free
constexpr bool row_is_velocity(int kind, int row) { return row >= joint_form[kind].own.first_velocity; }

// whether the user computes the rows
constexpr bool is_custom(int kind) {
  return kind == static_cast<int>(JointKind::custom) || kind == static_cast<int>(JointKind::custom_velocity);
}

// A force along a measured scalar
template <class T>
struct LawOf {
  T stiffness, rest, damping;            // spring: N/m or N m/rad, m or rad; damper
  T friction, threshold;                 // largest force, and the rate at which most of it is reached
  T kp, kd, target, target_rate, limit;  // servo
  T force;                               // constant
  T implicit;                            // 1: the spring too is implicit, or else 0
  T inertia;                             // of a rotor that turns with the scalar: kg m^2 or kg
  T side;                                // where the spring acts: 1 beyond its rest, -1 below, 0 on both sides
  T lower, upper;                        // of the scalar
  T restitution;                         // of hard stops there: the part of the speed that they give back
  T stop_stiffness, stop_damping;        // of soft ones; no stiffness makes them hard
  T grip, ball;                          // of a contact: its coefficient of friction, and the radius of its ball, m
};
// whether a law is a hard stop, and nothing else
template <class T>
bool is_hard_stop(const LawOf<T>& law) {
  return law.stop_stiffness == 0 && (law.lower > -1e300 || law.upper < 1e300);
}
// whether it is a contact with friction
template <class T>
bool is_touch(const LawOf<T>& law) {
  return is_hard_stop(law) && law.grip > 0;
}
using Law = LawOf<double>;
constexpr int law_size = sizeof(Law) / sizeof(double);
// its numbers one after the other, as Python has them
template <class T>
T* numbers_of(LawOf<T>& law) {
  return &law.stiffness;
}
template <class T>
const T* numbers_of(const LawOf<T>& law) {
  return &law.stiffness;
}
inline Law law_of(const double* numbers) {
  Law law;
  for (int k = 0; k < law_size; ++k) numbers_of(law)[k] = numbers[k];
  return law;
}
// the names of its fields, in the order in which Python passes them
constexpr const char* law_names[] = {
    "stiffness", "rest_length", "damping",      "friction",       "threshold",    "kp",      "kd",
    "target",    "target_rate", "effort_limit", "effort",         "implicit",     "inertia", "side",
    "lower",     "upper",       "restitution",  "stop_stiffness", "stop_damping", "grip",    "ball"};
static_assert(sizeof law_names / sizeof law_names[0] == law_size);

// two bodies and where something sits on them
struct Pair {
  int kind, body_a, body_b;         // body -1 is the world
  double anchor_a[3], anchor_b[3];  // in the body's frame
  double frame_a[4], frame_b[4];    // joint frame in the body's frame; its z is the joint axis
  double parameter;                 // screw: m per rad; distance: m; rolling: radius
};
// bodies (2), anchors (2, 3), frames (2, 4)
inline Pair pair_of(int kind, const int* bodies, const double* anchors, const double* frames, double parameter) {
  const double *p = anchors, *q = frames;
  return {.kind = kind,
          .body_a = bodies[0],
          .body_b = bodies[1],
          .anchor_a = {p[0], p[1], p[2]},
          .anchor_b = {p[3], p[4], p[5]},
          .frame_a = {q[0], q[1], q[2], q[3]},
          .frame_b = {q[4], q[5], q[6], q[7]},
          .parameter = parameter};
}

// What is asked of a joint that closes a loop, where some of its rows follow from the other joints (redundancy.py):
// `rows` combinations of its rows, constant in their frame; or all rows but `redundant` directions that turn with the
// pose.
struct RowSelection {
  int rows = -1;  // -1: all
  int redundant = 0;
  double combination[36] = {};  // (active row, row), orthonormal where lengths are measured by `length`
  double length = 1;
};

struct JointSpec : Pair {
  int row_count = 0;   // of a custom joint
  int cost = 0;        // of closing a loop here, where another may
  double damping = 0;  // of a rotary damper between its two bodies, N m s/rad
  RowSelection selection{};
  int signal = -1;  // first of the values that a custom velocity joint's rows take
  int ground = -1;  // first of seven signals, the pose of the world's side
};

struct CounterSpec : Pair {
  int ground = -1;  // as of a joint
  int joint = -1;   // whose angle it is
};

struct LawSpec : Law {
  Pair measure{};
  int target = -1, force = -1;      // signals in place of the constants
  int joint = -1, coordinate = -1;  // that the measure is, if it is one of a joint
  int sum = -1;                     // of a hard stop: the coupling whose sum it measures in place of that
};

// sum of coefficient x measure = offset, or = offset + signal
struct CouplingSpec {
  std::vector<Pair> measure;
  std::vector<double> coefficient;
  std::vector<int> joint;  // whose only coordinate it is, or -1
  double offset = 0;
  int signal = -1;
  bool inactive = false;  // it follows from the other constraints, and is not enforced
};

struct Spec {
  std::vector<double> mass;     // (body)
  std::vector<double> inertia;  // (body, 3, 3) body frame, about the centre of mass
  std::vector<double> gravity;  // (body, 3)
  std::vector<double> drag;     // (body, 6) along and about its axes, or nothing: N s/m, N m s/rad
  std::vector<char> massless;   // (body) whatever mass it is given here: joints of the tree are chosen by it
  std::vector<JointSpec> joint;
  std::vector<LawSpec> law;
  std::vector<CouplingSpec> coupling;
  std::vector<CounterSpec> counter;  // joint angles whose turns may have to be counted
  int signal_count = 0;              // functions of time
  double loop_tolerance = 0;         // what redundant joints may disagree by: rad, or parts of their bodies' size
};

}  // namespace catena
