// Recorded nodes into the caller's arrays: every record_every-th, and the last one reached.
#pragma once

#include "simulate/reactions.hpp"

namespace catena::CATENA_ISA {

template <class Solver>
struct Recorder {
  Node<Solver>& node;
  Projection<Solver>& projection;
  Reactions<Solver>& reactions;
  const Layout& layout = node.layout;
  RunArgs& args = node.args;
  long next = 0;          // step whose node is the next to be recorded
  bool recorded = false;  // the node has been

  // the next record: everything but the multipliers, which come with the step that leaves the node
  bool record(double time) {
    if (!record_velocities()) return false;
    record_pose(time);
    return true;
  }
  bool record_velocities() {
    if (!projection.project(node.arriving())) return false;
    const long n = args.status.records * layout.link_count;
    write_velocities(args.out.velocity + 3 * n, args.out.angular_velocity + 3 * n);
    return true;
  }
  void record_pose(double time) {
    reactions.weighed = false;
    const long k = args.status.records;
    const long n = k * layout.link_count;
    args.out.time[k] = time;
    record_inputs();
    for (int c = 0; c < args.counter_count; ++c) args.out.counted[k * args.counter_count + c] = node.turns.counted[c];
    write_poses(args.out.position + 3 * n, args.out.orientation + 4 * n);
  }
  // the node as it is recorded, for the user's control to see
  void show_control() const {
    for (int k = 0; k < args.counter_count; ++k) args.control_counted[k] = node.turns.counted[k];
    write_poses(args.control_position, args.control_orientation);
    write_velocities(args.control_velocity, args.control_angular_velocity);
  }
  void write_poses(double* position, double* orientation) const {
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<double>& b = node.solver.body[i];
      const int k = layout.link[i].body;
      store3(position + 3 * k, b.x);
      store_quat(orientation + 4 * k, b.q);
    }
  }
  // those of the last projection
  void write_velocities(double* velocity, double* angular_velocity) const {
    for (int i = 0; i < layout.link_count; ++i) {
      const Body<double>& b = node.solver.body[i];
      const int k = layout.link[i].body;
      store3(velocity + 3 * k, b.dx);
      store3(angular_velocity + 3 * k, b.phi);
    }
  }
  // that hold from the node on
  void record_inputs() {
    for (int k = 0; k < args.input_count && args.out.inputs; ++k)
      args.out.inputs[args.status.records * args.input_count + k] =
          numbers_of(args.laws[args.input[k].law])[args.input[k].number];
  }
  // what is held on bodies from the node on, at their centres of mass
  void record_control() {
    if (!args.out_control) return;
    for (int k = 0; k < args.held.count; ++k) {
      const Wrench<double> w = node.applied.held(k);
      double* row = args.out_control + 6L * (args.status.records * args.held.count + k);
      store3(row, w.f);
      store3(row + 3, w.t);
    }
  }
};

}  // namespace catena::CATENA_ISA
