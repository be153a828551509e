// A mechanism as Python hands it over, one array for every number of every joint, law and coupling, and the way from
// there to its Spec.
#pragma once

#include <vector>

#include "model/spec.hpp"

namespace catena {

// what is asked of joints and couplings, see RowSelection
struct RowSelectionArrays {
  double loop_tolerance = 0;
  std::vector<int> rows, redundant;  // (joint)
  std::vector<double> combination;   // (joint, 6, 6)
  std::vector<double> length;        // (joint)
  std::vector<int> inactive;         // (coupling)
};

struct Description {
  std::vector<double> mass, inertia, gravity;  // (body), (body, 3, 3), (body, 3)
  std::vector<int> massless;                   // (body)
  std::vector<double> drag;                    // (body, 6), or none

  std::vector<int> joint_kind, joint_bodies;        // (joint), (joint, 2)
  std::vector<double> joint_anchors, joint_frames;  // (joint, 2, 3), (joint, 2, 4)
  std::vector<double> joint_parameter;              // (joint)
  std::vector<int> joint_rows;                      // (joint) of a custom one
  std::vector<int> joint_cost;                      // (joint) of closing a loop there
  std::vector<double> joint_damping;                // (joint)
  std::vector<int> joint_signal, joint_ground;      // (joint)

  // what laws measure comes first, then what the terms of couplings do, then the angles to be counted
  std::vector<int> measure_kind, measure_bodies;        // (measure), (measure, 2)
  std::vector<double> measure_anchors, measure_frames;  // (measure, 2, 3), (measure, 2, 4)

  std::vector<double> law_numbers;             // (law, law_size)
  std::vector<int> law_target, law_force;      // (law)
  std::vector<int> law_joint, law_coordinate;  // (law)
  std::vector<int> law_sum;                    // (law) the coupling whose sum it bounds, or -1
  std::vector<int> coupling_terms;             // (coupling) how many
  std::vector<double> term_coefficient;        // (term)
  std::vector<int> term_joint;                 // (term) whose only coordinate it is, or -1
  std::vector<double> coupling_offset;         // (coupling)
  std::vector<int> coupling_signal;            // (coupling)
  std::vector<int> counter_ground;             // (counter)
  std::vector<int> counter_joint;              // (counter) whose angle it is
  int signal_count = 0;
  RowSelectionArrays selection;
};

// of arrays that fit each other (checks.hpp)
Spec describe(const Description& given);

}  // namespace catena
