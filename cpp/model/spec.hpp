// What Python hands over: the mechanism as flat arrays, bodies and joints in the user's order.
#pragma once

#include <cstddef>
#include <vector>

namespace catena {

// counts and offsets of what grows with products: 64 bits wherever addresses have them, which long has not on Windows
using Offset = std::ptrdiff_t;

// the codes Python passes; module.cpp exports them by name
enum class JointKind : int {
  fixed,
  revolute,
  prismatic,
  cylindrical,
  universal,
  ball,
  planar,
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
  measured_angle,
  measured_slide,
  measured_distance,
  measured_bend,
};
constexpr int joint_kind_count = 25;

// rows that neither a point nor an angle gives
enum class ExtraRow : int { none, screw, distance, twist, angle, slide, bend, contact, edge, given, sum };

// Every joint is made of two kinds of rows, both measured in the joint frames of a and b:
// point rows, an axis of a dotted with the vector between the two anchors, and angle rows, an axis of a dotted
// with an axis of b; a few need extra rows.
struct JointForm {
  const char* name;
  bool carries;  // b's pose follows from a's and a few joint variables: the joint may be a branch of the tree
  int point_count, point_axis[3];
  int angle_count, angle_axes[3][2];  // axis of a, axis of b
  ExtraRow extra;
};
constexpr JointForm joint_form[joint_kind_count] = {
    {"fixed", true, 3, {0, 1, 2}, 3, {{0, 2}, {1, 2}, {0, 1}}, ExtraRow::none},
    {"revolute", true, 3, {0, 1, 2}, 2, {{0, 2}, {1, 2}}, ExtraRow::none},
    {"prismatic", true, 2, {0, 1}, 3, {{0, 2}, {1, 2}, {0, 1}}, ExtraRow::none},
    {"cylindrical", true, 2, {0, 1}, 2, {{0, 2}, {1, 2}}, ExtraRow::none},
    {"universal", true, 3, {0, 1, 2}, 1, {{0, 1}}, ExtraRow::none},
    {"ball", true, 3, {0, 1, 2}, 0, {}, ExtraRow::none},
    {"planar", true, 1, {2}, 2, {{0, 2}, {1, 2}}, ExtraRow::none},
    {"screw", true, 2, {0, 1}, 2, {{0, 2}, {1, 2}}, ExtraRow::screw},
    {"free", false, 0, {}, 0, {}, ExtraRow::none},
    {"in_line", false, 2, {0, 1}, 0, {}, ExtraRow::none},
    {"in_plane", false, 1, {2}, 0, {}, ExtraRow::none},
    {"distance", false, 0, {}, 0, {}, ExtraRow::distance},
    {"parallel", false, 0, {}, 2, {{0, 2}, {1, 2}}, ExtraRow::none},
    {"orientation", false, 0, {}, 3, {{0, 2}, {1, 2}, {0, 1}}, ExtraRow::none},
    {"constant_velocity", false, 3, {0, 1, 2}, 0, {}, ExtraRow::twist},
    // rolling and blades (physics/contact.hpp), rows that the user computes, sums of measures (physics/constraint.hpp)
    {"rolling_ball", false, 0, {}, 0, {}, ExtraRow::contact},
    {"rolling_disk", false, 0, {}, 0, {}, ExtraRow::contact},
    {"knife_edge", false, 0, {}, 0, {}, ExtraRow::edge},
    {"custom", false, 0, {}, 0, {}, ExtraRow::given},
    {"custom_velocity", false, 0, {}, 0, {}, ExtraRow::given},
    {"coupling", false, 0, {}, 0, {}, ExtraRow::sum},
    // not joints but scalars that force laws act on and couplings add up (physics/law.hpp)
    {"measured_angle", false, 0, {}, 0, {}, ExtraRow::angle},
    {"measured_slide", false, 0, {}, 0, {}, ExtraRow::slide},
    {"measured_distance", false, 0, {}, 0, {}, ExtraRow::distance},
    {"measured_bend", false, 0, {}, 0, {}, ExtraRow::bend},
};
// rows of a kind; those of the user's own constraints are counted elsewhere
constexpr int joint_row_count(int kind) {
  const JointForm& form = joint_form[kind];
  const int extra = form.extra == ExtraRow::none || form.extra == ExtraRow::given ? 0
                    : form.extra == ExtraRow::contact                             ? 3
                                                                                  : 1;
  return form.point_count + form.angle_count + extra;
}

// Which freedom of the link that a joint carries is one of the joint's coordinates, nearest to the parent first; -1 if
// it is none by itself. The link may be the joint's body a, and its freedoms run the other way.
constexpr int freedom_of(JointKind kind, bool flipped, int coordinate) {
  switch (kind) {
    case JointKind::revolute:
    case JointKind::prismatic:
    case JointKind::cylindrical:
    case JointKind::screw: return coordinate;
    case JointKind::universal: return flipped ? 1 - coordinate : coordinate;
    case JointKind::planar: return flipped && coordinate < 2 ? -1 : coordinate;
    default: return -1;
  }
}

// whether a row is measured in metres, or else in radians
constexpr bool row_is_length(int kind, int row) {
  const JointForm& form = joint_form[kind];
  if (row < form.point_count) return true;
  if (row < form.point_count + form.angle_count) return false;
  return form.extra != ExtraRow::twist && form.extra != ExtraRow::angle && form.extra != ExtraRow::bend;
}

// whether a row holds a velocity and leaves the pose free
constexpr bool row_is_velocity(int kind, int row) {
  const JointForm& form = joint_form[kind];
  return (form.extra == ExtraRow::contact && row > 0) || form.extra == ExtraRow::edge ||
         static_cast<JointKind>(kind) == JointKind::custom_velocity;
}

// A force along a measured scalar; fields in the order in which Python passes them
template <class T>
struct LawOf {
  T stiffness, rest, damping;                     // spring: N/m or N m/rad, m or rad; damper
  T friction, threshold;                          // largest force, and the rate at which most of it is reached
  T gain, rate_gain, target, target_rate, limit;  // servo
  T force;                                        // constant
  T implicit;                                     // 1: the spring too is implicit, or else 0
  T inertia;                                      // of a rotor that turns with the scalar: kg m^2 or kg
};
using Law = LawOf<double>;
constexpr int law_size = sizeof(Law) / sizeof(double);
inline Law law_of(const double* p) {
  return {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12]};
}

// two bodies and where something sits on them
struct Pair {
  int kind, body_a, body_b;         // body -1 is the world
  double anchor_a[3], anchor_b[3];  // in the body's frame
  double frame_a[4], frame_b[4];    // joint frame in the body's frame; its z is the joint axis
  double parameter;                 // screw: m per rad; distance: m; rolling: radius
};

// What is asked of a joint that closes a loop, where some of its rows follow from the other joints (redundancy.hpp):
// `rows` combinations of its rows, constant in their frame; or all rows but `excess` directions that turn with the
// pose.
struct Asked {
  int rows = -1;  // -1: all
  int excess = 0;
  double combination[36] = {};  // (asked row, row), orthonormal where lengths are measured by `length`
  double length = 1;
};

struct JointSpec : Pair {
  int row_count = 0;  // of a custom joint
  Asked asked;
  int signal = -1;  // first of the values that a custom velocity joint's rows take
  int ground = -1;  // first of seven signals, the pose of the world's side
};

struct LawSpec : Law {
  Pair measure{};
  int target = -1, force = -1;      // signals in place of the constants
  int joint = -1, coordinate = -1;  // that the measure is, if it is one of a joint
};

// sum of coefficient x measure = offset, or = offset + signal
struct CouplingSpec {
  std::vector<Pair> measure;
  std::vector<double> coefficient;
  double offset = 0;
  int signal = -1;
  bool idle = false;  // it follows from the other constraints, and is not asked for
};

struct Spec {
  std::vector<double> mass;     // (body)
  std::vector<double> inertia;  // (body, 3, 3) body frame, about the centre of mass
  std::vector<double> gravity;  // (body, 3)
  std::vector<JointSpec> joint;
  std::vector<LawSpec> law;
  std::vector<CouplingSpec> coupling;
  std::vector<JointSpec> counter;  // joint angles whose turns may have to be counted
  int signal_count = 0;            // functions of time
  double fit = 0;                  // what redundant joints may disagree by: rad, or parts of their bodies' size
};

}  // namespace catena
