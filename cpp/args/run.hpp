// The door between the bindings and the kernels: plain data in, plain data out, one table of functions per
// instruction set.
#pragma once

#include "args/records.hpp"
#include "model/assembly_tree.hpp"
#include "model/groups.hpp"
#include "model/layout.hpp"

namespace catena {

enum class SolverKind : int { articulated, ldu, dense };

// how a run ended; module.cpp exports the codes by name, status.py has the sentences
enum class StatusCode : int {
  done,
  interrupted,
  diverged,
  too_far,
  singular,
  locked,
  exhausted,
  flat,
  stiff,
  open,
  beyond,
  mismatched
};

struct Status {
  StatusCode code = StatusCode::done;
  long step = 0;    // steps completed
  double time = 0;  // of the node reached
  int body = -1;    // the user's index of the body that moved most, or turned too far
  int joint = -1;   // the user's index of the joint that is open most, if any is, or of the wheel that lies flat
  int law = -1;     // the law that is too stiff, for a step backwards or at all, if one is; the stop that is passed
  double gap = 0, speed = 0;  // of a contact whose friction finds no solution: its gap, m, and how fast it slips, m/s
  // last Newton increment, m/s and rad/s; of a locked mechanism the gap, m or rad; w dt of a stiff law; how far a stop
  // is passed, m or rad
  double size = 0;
  long records = 0;  // complete ones
};

// Applied forces and torques, each on one body at a point of it, one row of values for all nodes or one per node.
struct Loads {
  int count = 0;
  const int* body = nullptr;           // (load) the user's index
  const double* point = nullptr;       // (load, 3) body frame
  const int* in_body_frame = nullptr;  // (load)
  const int* signal = nullptr;         // (load) where its six values stand among the signals, -1 if in `values`
  const double* values = nullptr;      // (rows, load, 6) force, torque
  long rows = 0;
};
// a number of a law that may change from step to step
struct InputInfo {
  int law, number;
};
// one on every body, or none: they change at the user's nodes and hold over the step between two
struct HeldLoads {
  int count = 0;
  double *values = nullptr, *point = nullptr;
  int* in_body_frame = nullptr;
  bool plain = false;  // all at centres of mass, along the world's axes

  void copy(const HeldLoads& from) {
    for (int k = 0; k < 6 * count; ++k) values[k] = from.values[k];
    plain = from.plain;
    if (plain) return;
    for (int k = 0; k < 3 * count; ++k) point[k] = from.point[k];
    for (int k = 0; k < count; ++k) in_body_frame[k] = from.in_body_frame[k];
  }
};

// of a step that is too long for its motion, in parts of the mechanism's size or rad
constexpr double inaccurate_above = 1e-3;

// of all steps of a run, or of the last ones of one that is taken step by step
struct Tally {
  long iterations = 0, substeps = 0;
  double newton_residual = 0;        // the largest
  double error = 0;                  // estimated, of all steps together
  double worst = 0, worst_time = 0;  // the largest of a step, and when it began
  int worst_body = -1;               // the user's index of the body that errs most in it
  long inaccurate = 0;               // steps that err by more than `inaccurate_above`
  long missed = 0;                   // substeps that err too much and cannot be halved any more
  long impacts = 0;                  // at stops
  long guarded = 0;                  // impacts that give back less, as they would create energy
  long cut = 0, caught = 0;          // substeps that end where a stop is touched; steps that end at one without that
  long located = 0, tries = 0;       // touches within a step; substeps solved for them, whole ones included

  // a step that began at a time and errs by so much, most in a body
  void count_error(double of_step, double start, int body) {
    error += of_step;
    inaccurate += of_step > inaccurate_above;
    if (!(of_step > worst)) return;
    worst = of_step;
    worst_time = start;
    worst_body = body;
  }
};

// of a stop that is touched anew, or that stands while another is
struct Impact {
  double time;
  int law;
  double impulse, approach, leaving;  // N s or N m s along the measure, its rate before and after
  double rubbed;                      // J that friction takes
};

// of the composition of a step (simulate/compose.hpp)
constexpr int known_orders[] = {2, 4, 6, 8};

struct RunArgs {
  SolverKind solver = SolverKind::articulated;
  double dt = 0, tolerance = 0, start_time = 0;
  int order = 2;  // one of known_orders
  int iteration_limit = 0;
  int rescue_depth = 0;    // how often a failing step may be halved
  bool estimates = false;  // errors of steps
  double size = 1;         // of the mechanism, m
  double error_rate = 0;   // 1/s: steps that err by more for their length are taken in shorter ones; 0 if none are
  bool paper_start = false;
  bool absent = false;  // a member of a batch that has no pose to start from
  int cuts = 4;         // times that a step may be cut where a stop is touched; the rest is caught
  Offset steps = 0, record_every = 1;

  // first node: the user's body order, all in the world frame
  const double *position = nullptr, *orientation = nullptr, *velocity = nullptr, *angular_velocity = nullptr;
  const double *law_start = nullptr, *term_start = nullptr;  // (law), (term) what it measures there, turns counted
  Loads loads = {};
  // The layout's own, whose inputs are part of the state. A run may go on from a checkpoint of another one
  // (simulate/checkpoint.hpp), in place of what is given above.
  LawInfo* laws = nullptr;
  const double* checkpoint = nullptr;
  double* out_checkpoint = nullptr;  // (checkpoint size) of the last record, or of each; null if not wanted
  bool checkpoint_of_each = false, has_checkpoint = false;
  long checkpoint_size = 0;

  // what holds over the step ahead, and what the caller wants to hold over the next: forces and torques on bodies,
  // numbers of laws
  HeldLoads held = {}, wanted = {};
  bool wants = false;  // the caller has said what it wants on bodies
  int input_count = 0;
  const InputInfo* input = nullptr;
  const double* input_value = nullptr;

  // functions of time, the mechanism's own first: read_signals fills one row of the (4, count) values
  int signal_count = 0;
  double* signals = nullptr;
  void (*read_signals)(void* context, double time, double* values) = nullptr;

  // joint angles to be followed between records: none, or all counters of the layout
  int counter_count = 0;
  const double* counter_start = nullptr;
  double* control_counted = nullptr;  // (counter)

  // every record_every-th node and the last one reached, and all steps
  Outputs out = {};
  bool velocities_later = false;  // step by step, velocities are written when asked for
  Tally tally = {};
  // (step and one for scratch, iteration limit): increments of the slowest solve of the step; null if not wanted
  double* out_increments = nullptr;

  // (time): what is recorded in place of every record_every-th node, rising; and room for a checkpoint
  const double* times = nullptr;
  Offset time_count = 0;
  double* scratch = nullptr;

  // called at every node with the node's state written to the control arrays; it says what it wants; false stops
  bool (*control)(void* context, long step, double time) = nullptr;
  double* out_control = nullptr;  // (record, body, 6) what is held on bodies from the node on
  double *control_position = nullptr, *control_orientation = nullptr, *control_velocity = nullptr,
         *control_angular_velocity = nullptr;
  // called with the number of impacts before it, which may be smaller than that of the last one: steps are tried
  void (*tell_impact)(void* context, long before, const Impact& impact) = nullptr;
  // called every poll_every steps; false stops
  bool (*poll)(void* context, long step) = nullptr;
  long poll_every = 0;
  void* context = nullptr;

  Status status{};
};

// Newton's matrix and residual at a given iterate, for tests: unknowns are displacement and eta of every link in layout
// order and the multipliers; columns are increments (metres, radians of the new pose, multipliers)
struct LinearisationArgs {
  double dt = 0, kick = 0;
  const double *position = nullptr, *orientation = nullptr, *velocity = nullptr, *momentum = nullptr;
  const double* unknowns = nullptr;
  const double* signals = nullptr;  // the same at all times
  double *residual = nullptr, *matrix = nullptr;
};

// A rough pose in, a closed one out, in place; velocities (if given) become those the joints allow
struct AssembleArgs {
  int iteration_limit = 0;
  double *position = nullptr, *orientation = nullptr, *velocity = nullptr, *angular_velocity = nullptr;
  const double* term_start = nullptr;
  double* counted = nullptr;                                 // (counter) joint angles, followed
  const double *signals = nullptr, *signal_rates = nullptr;  // at that instant
  double loose_below = 0;  // pivots of redundant rows that count as zero, if not the usual ones
  int iterations = 0;
};

// A pose whose chosen tree is closed in, one in which loops are closed as well as they can be out, in place
// (simulate/trust_region.hpp)
struct CloseArgs {
  int iteration_limit = 0;
  double size = 1;       // of the mechanism (m)
  double amplitude = 0;  // rad, by which joints are moved first, at random
  unsigned long long seed = 1;
  double *position = nullptr, *orientation = nullptr;
  const double *term_start = nullptr, *signals = nullptr;
  double* counted = nullptr;  // (counter) joint angles, followed
  const int* held = nullptr;  // (freedom of the tree) 1 if it must not move; null if all may
  int iterations = 0;
  double open = 0;  // what is left: the root of the squares of all rows, rad or parts of the size
};

// A pose that is described in, one whose joints have given coordinates and rates, loops closed, out, in place
// (simulate/start_pose.hpp); freedoms that are held have what is given, and the others follow
struct StartPoseArgs {
  CloseArgs close;  // the described pose, and where it is written to
  double *velocity = nullptr, *angular_velocity = nullptr;
  const int* first_coordinate = nullptr;                // (branch) of its joint, -1 if that has none
  const double* from = nullptr;                         // (coordinate) of the described pose
  const Layout* described = nullptr;                    // with the geometry of that
  const double *coordinate = nullptr, *rate = nullptr;  // (coordinate) that are given
  bool is_guess = false;                                // coordinates that are not held are given as well
  double enough = 0;                                    // what may stay open, as in CloseArgs
  int joint = -1;                                       // that is open most, and its gap, m and rad
  double gap[2] = {0, 0};
};

// Which rows of loop closures say nothing new, at up to `poses` poses around the given one (solve/loops/probe.hpp); the
// layout's masses are those of the search, and all its rows are asked for
struct ExploreArgs {
  double loop_tolerance = 0;
  int poses = 0;
  const double *position = nullptr, *orientation = nullptr;  // tree joints closed
  const double *term_start = nullptr, *signals = nullptr;
  const double* length = nullptr;  // (loop) what its lengths are measured by
  double *singular = nullptr,
         *direction = nullptr,          // (1 + pose, loop, 6), (1 + pose, loop, 6, 6): one a little way off
             *loop_mismatch = nullptr;  // (1 + pose, loop, 6) what is open along these, over the length or in rad
  int found = 0;                        // poses
};

// A joint's rows along a path of poses: gaps (count, rows), wrenches on b at its joint point (count, rows, 6), that
// point; `joint` is no coupling and no custom one
struct RowsArgs {
  const ConstraintInfo* joint = nullptr;
  Offset count = 0;
  const double *position_a = nullptr, *orientation_a = nullptr, *position_b = nullptr, *orientation_b = nullptr;
  double *gap = nullptr, *wrench = nullptr, *point = nullptr;
};

// Joints' coordinates and rates (pose, coordinate) where bodies are and how they move (physics/coordinates.hpp)
struct CoordinateArgs {
  long count = 0;
  const double *position = nullptr, *orientation = nullptr, *velocity = nullptr, *angular_velocity = nullptr;
  const double* counted = nullptr;                           // (pose, counter)
  const double *signals = nullptr, *signal_rates = nullptr;  // (pose, signal)
  double *coordinate = nullptr, *rate = nullptr;
};

// Bodies where joints have these coordinates and rates (pose, coordinate): along a walk through the tree, every body is
// put where its joint holds it, or goes with the last one that was; those that are not on the walk stay
struct PlaceArgs {
  long count = 0;
  int move_count = 0;
  const int* move = nullptr;  // (move, 2): the joint, among those with coordinates, or -1; the body
  const double *coordinate = nullptr, *rate = nullptr;
  const double *signals = nullptr, *signal_rates = nullptr;  // (pose, signal)
  double *position = nullptr, *orientation = nullptr, *velocity = nullptr, *angular_velocity = nullptr;  // in place
};

// How far every joint and coupling is open, metres and radians: in the rows that are asked for (pose, joint, 2), and
// what redundant joints disagree by (pose, joint, 2); velocity rows are no gaps
struct GapArgs {
  Offset count = 0;
  const double *position = nullptr, *orientation = nullptr, *term_start = nullptr, *signals = nullptr;
  double *out = nullptr, *loop_mismatch = nullptr;
};

// Self-stress is taken out of multipliers (node, row), in place (solve/loops/self_stress.hpp). The layout has no laws,
// and all rows are asked for.
struct StressArgs {
  Offset count = 0;
  const double *position = nullptr, *orientation = nullptr;
  const double* signals = nullptr;  // (node, signal)
  double size = 1;                  // m, by which torques are divided
  const double* scale = nullptr;    // (row) one, or one over the size
  double* multipliers = nullptr;
  bool (*poll)(void* context, long node) = nullptr;  // false stops
  void* context = nullptr;
};

}  // namespace catena
