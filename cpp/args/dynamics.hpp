// What is asked of a mechanism at given poses and velocities besides its motion: see dynamics/.
#pragma once

#include "base/offset.hpp"

namespace catena {

// instants at which rows are looked at for how they change: now, and so many on either side of it
constexpr int instants_beside = 3, instant_count = 2 * instants_beside + 1;

struct DynamicsShape {
  int freedoms, rows;
};

// Freedoms are those of the tree (dynamics/tree_motion.hpp). An output that is null is not computed.
struct DynamicsArgs {
  Offset count = 0;
  const double *position = nullptr, *orientation = nullptr;       // (pose, body, ...)
  const double *velocity = nullptr, *angular_velocity = nullptr;  // (pose, body, 3)
  const double* law_start = nullptr;                              // (pose, law) near which turns are counted
  int term_count = 0;
  const double* term_start = nullptr;  // (pose, term)
  int input_count = 0;
  const int* input_place = nullptr;                          // (input, 2): a law, and which of its numbers
  const double* inputs = nullptr;                            // (pose, input), null for those described
  const double *signals = nullptr, *signal_rates = nullptr;  // (pose, instant, signal): now, then + and - in turn
  double instant = 0;  // s between them; 0 if nothing moves, and nothing is driven
  // which forces act: gravity; springs, dampers, drag and friction; motors and servos
  bool gravity = true, passive = true, actuators = true;
  const double* accelerations = nullptr;  // (pose, freedom) of the freedoms, null for none
  const double* loads = nullptr;          // (pose, body, 6) on centers of mass, world frame, null for none
  const double* exerted = nullptr;        // (pose, freedom) efforts that `answers` are to, null for none
  bool numbered = false;                  // the workspace has been used for this layout before
  int point_count = 0;
  const int* point_body = nullptr;  // (point)
  const double* point = nullptr;    // (point, 3) in the body's frame, from its center of mass

  double* rates = nullptr;             // (pose, freedom)
  double* efforts = nullptr;           // (pose, freedom) that the accelerations take beyond the forces that act
  double* answers = nullptr;           // (pose, freedom) accelerations, where all rotors are on freedoms of the tree
  double* links = nullptr;             // (pose, 2, body, 3) accelerations of bodies at `answers`, and angular ones
  double* mass = nullptr;              // (pose, freedom, freedom)
  double* basis = nullptr;             // (pose, point, 6, freedom): velocity of the point and of turning, world frame
  double* drift = nullptr;             // (pose, point, 6): their derivatives at the given accelerations
  double* rows = nullptr;              // (pose, row, freedom) of all constraints that are no joints of the tree
  double* row_drift = nullptr;         // (pose, row): second derivatives of gaps at the given accelerations
  double* stops = nullptr;             // (pose, stop, 3): measures of hard stops and their first two derivatives
  double* stop_rows = nullptr;         // (pose, stop, freedom)
  double* coordinate_rows = nullptr;   // (pose, coordinate, freedom)
  double* coordinate_drift = nullptr;  // (pose, coordinate)
};

}  // namespace catena
