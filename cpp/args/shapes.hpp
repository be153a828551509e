// Shapes that collide, as Python hands them over, and what is asked of them at one pose of all bodies.
#pragma once

#include <vector>

namespace catena {

// flat arrays, shape after shape
struct ShapeArrays {
  std::vector<int> kind, body;            // (shape); body -1 is the world
  std::vector<double> frame;              // (shape, 3 + 9) center and axes, in the frame of the body
  std::vector<double> size;               // (shape, 3) radius around points, radius and half height of a cylinder
  std::vector<int> point_count;           // (shape)
  std::vector<double> point;              // (point, 3) in the frame of the body
  std::vector<int> face_count;            // (shape)
  std::vector<int> corner_count, corner;  // (face), and points of the shape, counterclockwise from outside
  std::vector<int> grid_count;            // (shape, 2) of heights along x and y
  std::vector<double> grid_step, height;  // (shape, 2), and all heights, (y, x)
  int count() const { return static_cast<int>(kind.size()); }
};

// all bodies at one time
struct ShapePoses {
  const double *position, *orientation;       // (body, 3), (body, 4)
  const double *velocity, *angular_velocity;  // or none: at rest
  double time = 0;                            // for which they go on
};

struct ClearanceArgs {
  const ShapeArrays& shapes;
  ShapePoses poses;
  long pair_count;
  const int* pair;  // (pair, 2)
  double within;    // of pairs that are farther apart nothing is told but that their gap is infinite
  double *gap, *normal, *on_a, *on_b;
};

// the features of one pair at a node, and what they touch with at other poses of its two bodies
constexpr int most_told_features = 8;
struct FeatureArgs {
  const ShapeArrays& shapes;
  ShapePoses poses;
  int pair[2];
  double margin;
  long count;                                        // of other poses
  const double *other_position, *other_orientation;  // (pose, 2, 3), (pose, 2, 4)
  int* kind;                                         // (feature), -1 for none
  double *gap, *normal, *point;                      // (pose, feature, ...)
};

// pairs of shapes whose swept boxes, wider by a margin, meet
struct SweepArgs {
  const ShapeArrays& shapes;
  ShapePoses poses;
  double margin;
  std::vector<int>& pair;
};

}  // namespace catena
