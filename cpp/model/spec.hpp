// What Python hands over: the mechanism as flat arrays, bodies and joints in the user's order.
#pragma once

#include <vector>

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
  screw,
  free,
  in_line,
  in_plane,
  distance,
  parallel,
  orientation,
  constant_velocity,
  measured_angle,
  measured_slide,
  measured_distance,
};
constexpr int joint_kind_count = 18;

// one more row that neither a point nor an angle gives
enum class ExtraRow : int { none, screw, distance, twist, angle, slide };

// Every joint is made of two kinds of rows, both measured in the joint frames of a and b:
// point rows, an axis of a dotted with the vector between the two anchors, and angle rows, an axis of a dotted
// with an axis of b; a few need an extra row.
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
    // not joints but scalars that force laws act on (physics/law.hpp)
    {"measured_angle", false, 0, {}, 0, {}, ExtraRow::angle},
    {"measured_slide", false, 0, {}, 0, {}, ExtraRow::slide},
    {"measured_distance", false, 0, {}, 0, {}, ExtraRow::distance},
};
constexpr int joint_row_count(int kind) {
  const JointForm& form = joint_form[kind];
  return form.point_count + form.angle_count + (form.extra != ExtraRow::none);
}

// whether a row is measured in metres, or else in radians
constexpr bool row_is_length(int kind, int row) {
  const JointForm& form = joint_form[kind];
  if (row < form.point_count) return true;
  if (row < form.point_count + form.angle_count) return false;
  return form.extra != ExtraRow::twist && form.extra != ExtraRow::angle;
}

// A force along a measured scalar; fields in the order in which Python passes them
struct Law {
  double stiffness, rest, damping;                     // spring: N/m or N m/rad, m or rad; damper
  double friction, threshold;                          // largest force, and the rate at which most of it is reached
  double gain, rate_gain, target, target_rate, limit;  // servo
  double force;                                        // constant
  double implicit;                                     // not 0: the spring too is implicit
};
constexpr int law_size = sizeof(Law) / sizeof(double);

struct Spec {
  int body_count = 0, joint_count = 0;
  std::vector<double> mass;                // (body)
  std::vector<double> inertia;             // (body, 3, 3) body frame, about the centre of mass
  std::vector<int> kind, body_a, body_b;   // (joint); body -1 is the world
  std::vector<double> anchor_a, anchor_b;  // (joint, 3) in the body's frame
  std::vector<double> parameter;           // (joint) screw: m per rad; distance: m
  std::vector<double> frame_a, frame_b;    // (joint, 4) joint frame in the body's frame; its z is the joint axis
  std::vector<int> law_joint;              // (law) which of the joints above is its measure
  std::vector<double> law;                 // (law, law_size)
  double gravity[3] = {0, 0, 0};
};

}  // namespace catena
