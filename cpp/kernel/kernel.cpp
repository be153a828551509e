// The templates, compiled once per instruction set; CATENA_ISA names the set and the namespace.
#include "kernel/kernel.hpp"

#include <new>
#include <optional>
#include <type_traits>

#include "lanes/lanes.hpp"
#include "physics/coordinates.hpp"
#include "simulate/assemble.hpp"
#include "simulate/pose_walk.hpp"
#include "simulate/run.hpp"
#include "simulate/trust_region.hpp"
#include "solve/loops/self_stress.hpp"
#include "solve/solver.hpp"
#include "solve/sparse/dense.hpp"
#include "solve/sparse/ldu.hpp"
#include "solve/tree/articulated.hpp"

namespace catena::CATENA_ISA {

namespace {

// carves 64-byte aligned arrays out of one block; with no block it only counts
struct Arena {
  char* at;
  long used = 0;

  template <class T>
  T* take(long count) {
    T* p = reinterpret_cast<T*>(at + used);
    used += (count * static_cast<long>(sizeof(T)) + 63) / 64 * 64;
    return at ? p : nullptr;
  }
};

template <class T>
Past<T> past_in(Arena& arena, int links) {
  return {arena.take<Wrench<T>>(links), arena.take<Wrench<T>>(links), arena.take<Wrench<T>>(links)};
}

// what only one kind of solver needs
Articulated<double> make(const Layout& layout, Arena& arena, Body<double>* body, Articulated<double>*) {
  Link<double>* link = arena.take<Link<double>>(layout.link_count);
  Stretch* stretch = arena.take<Stretch>(layout.link_count);
  Axis<double>* axis = arena.take<Axis<double>>(layout.axis_count);
  Acting<double>* acting = arena.take<Acting<double>>(layout.axis_count);
  Swivel<double>* swivel = arena.take<Swivel<double>>(Articulated<double>::swivel_count(layout));
  Torsion<double>* torsion =
      arena.take<Torsion<double>>(layout.rotary_count > 0 ? Articulated<double>::swivel_count(layout) : 0);
  Articulation<double>* received = arena.take<Articulation<double>>(receiver_count(layout));
  // as of a matrix in which nothing closes, which is what idle loops have
  double* least_pivot = arena.take<double>(1);
  if (least_pivot) *least_pivot = 1;
  const Loops loop = {layout,
                      body,
                      arena.take<JointRows>(layout.loop_count),
                      arena.take<JointRows>(layout.loop_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<double>(layout.loop_row_count),
                      arena.take<double>(layout.front_size),
                      arena.take<int>(2 * layout.largest_closing),
                      least_pivot};
  Tied* tied = arena.take<Tied>(layout.tie_count);
  double* ahead = arena.take<double>(Articulated<double>::unknown_count(layout));
  return {.layout = layout,
          .body = body,
          .link = link,
          .stretch = stretch,
          .axis = axis,
          .acting = acting,
          .swivel = swivel,
          .torsion = torsion,
          .received = received,
          .loop = loop,
          .tied = tied,
          .ahead = ahead};
}
Ldu make(const Layout& layout, Arena& arena, Body<double>* body, Ldu*) {
  RowMemory* memory = arena.take<RowMemory>(layout.constraint_count);
  double* term = arena.take<double>(layout.row_count);
  Octet* block = arena.take<Octet>(layout.block_rows);
  Octet* vector = arena.take<Octet>(layout.vertex_count);
  return {layout, body, memory, term, {}, nullptr, 1, 0, -1, {}, block, vector, nullptr, nullptr};
}
Dense make(const Layout& layout, Arena& arena, Body<double>* body, Dense*) {
  const long size = Dense::unknown_count(layout);
  const Ldu sparse = make(layout, arena, body, static_cast<Ldu*>(nullptr));
  double* first = arena.take<double>(size);
  return {layout, body, sparse, {}, nullptr, 1, 0, -1, {}, first, arena.take<double>(size * size), nullptr, nullptr};
}

static_assert(IsSolver<Articulated<double>> && IsSolver<Ldu> && IsSolver<Dense>);

// a runner and what it refers to, in a workspace
template <class Solver>
struct Seat {
  Composition parts;
  History history[most_parts + most_order];
  Solver solver;
  Newton<Solver> newton;
  Runner<Solver> runner;
};

// carves what one run needs out of the workspace; with no workspace it only counts
template <class Solver>
Seat<Solver>* seat_in(const Layout& layout, Arena& arena, int order, RunArgs* args) {
  const int count = Solver::unknown_count(layout);
  const Composition parts = composition_of(order);
  Seat<Solver>* seat = arena.take<Seat<Solver>>(1);
  Body<double>* body = arena.take<Body<double>>(layout.link_count);
  Solver solver = make(layout, arena, body, static_cast<Solver*>(nullptr));
  solver.z = arena.take<double>(count);
  solver.dz = arena.take<double>(count);
  double* last_dz = arena.take<double>(count);
  const int links = layout.link_count, laws = layout.law_count;
  const Room room = {.law_angle = arena.take<double>(laws),
                     .law_force = arena.take<double>(laws),
                     .law_momentum = arena.take<double>(laws),
                     .pushed = arena.take<double>(layout.axis_count),
                     .counted = arena.take<double>(layout.counter_count),
                     .zeros = arena.take<double>(count),
                     .rates = arena.take<double>(count),
                     .scratch = arena.take<double>(count),
                     .momentum = arena.take<double>(laws),
                     .owed = arena.take<Wrench<double>>(links),
                     .law_mode = arena.take<double>(laws),
                     .acting = arena.take<Wrench<double>>(links),
                     .saved = arena.take<double>(Carried<Solver>::motion_size(layout)),
                     .before = arena.take<double>(layout.recorded_count),
                     .motor_before = arena.take<double>(laws),
                     .acted = arena.take<Wrench<double>>(links),
                     .past = past_in<double>(arena, parts.count > 1 ? 0 : links),
                     .sum = arena.take<Wrench<double>>(parts.count > 1 ? links : 0),
                     .end = arena.take<Place>(parts.count > 1 ? 0 : links)};
  const long differences = Carried<Solver>::differences_of(layout);
  const int histories = Carried<Solver>::histories_of(parts, order);
  double* known = arena.take<double>(histories * differences);
  if (!args) return nullptr;
  for (int k = 0; k < count; ++k) room.zeros[k] = solver.z[k] = 0;
  for (int k = 0; k < layout.axis_count; ++k) room.pushed[k] = 0;
  for (int l = 0; l < laws; ++l) room.law_mode[l] = room.momentum[l] = 0;
  for (int i = 0; i < links && parts.count == 1; ++i) room.past.motion[i] = room.past.change[i] = {};
  for (long k = 0; k < histories * differences; ++k) known[k] = 0;
  const int motions = Solver::motion_count(layout), points = Newton<Solver>::points_of(layout);
  new (seat)
      Seat<Solver>{.parts = parts,
                   .history = {},
                   .solver = solver,
                   .newton = {seat->solver, count, motions, points, last_dz, args->tolerance, args->iteration_limit, 0},
                   .runner = {.layout = layout,
                              .args = *args,
                              .solver = seat->solver,
                              .newton = seat->newton,
                              .parts = seat->parts,
                              .history = seat->history,
                              .history_count = histories,
                              .room = room}};
  for (int k = 0; k < histories; ++k) seat->history[k].differences = known + k * differences;
  for (int k = 0; k < Solver::memory_count(layout); ++k) seat->solver.memory_at(k) = RowMemory{};
  seat->newton.select(seat->history[0]);
  return seat;
}
template <class Solver>
Runner<Solver>& runner_in(const Layout& layout, void* workspace, RunArgs& args) {
  Arena arena{static_cast<char*>(workspace)};
  return seat_in<Solver>(layout, arena, args.order, &args)->runner;
}
// that which has been there since `start`
template <class Solver>
Runner<Solver>& seated(void* workspace) {
  return static_cast<Seat<Solver>*>(workspace)->runner;
}

// the kind of solver as a type
template <class F>
auto with_solver(SolverKind kind, F&& use) {
  if (kind == SolverKind::ldu) return use(std::type_identity<Ldu>());
  if (kind == SolverKind::dense) return use(std::type_identity<Dense>());
  return use(std::type_identity<Articulated<double>>());
}

template <class Solver>
long seat_size(const Layout& layout, int order) {
  Arena arena{nullptr};
  seat_in<Solver>(layout, arena, order, nullptr);
  return arena.used;
}
long workspace_size(const Layout& layout, SolverKind kind, int order) {
  return with_solver(kind, [&]<class S>(std::type_identity<S>) { return seat_size<S>(layout, order); });
}
long carried_size(const Layout& layout, SolverKind kind, int order, int signal_count, int input_count) {
  return with_solver(
      kind, [&]<class S>(std::type_identity<S>) { return Carried<S>::size(layout, order, signal_count, input_count); });
}
bool belongs(const Layout& layout, const RunArgs& args) {
  return with_solver(args.solver, [&]<class S>(std::type_identity<S>) {
    return Carried<S>::belongs(layout, args.resumed, args.position, args.orientation);
  });
}
void run(const Layout& layout, void* workspace, RunArgs& args) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { runner_in<S>(layout, workspace, args).run(); });
}
void start(const Layout& layout, void* workspace, RunArgs& args) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { runner_in<S>(layout, workspace, args).start(); });
}
void go_on(void* workspace, const RunArgs& args) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { seated<S>(workspace).go_on(); });
}
bool velocities(void* workspace, const RunArgs& args) {
  return with_solver(args.solver,
                     [&]<class S>(std::type_identity<S>) { return seated<S>(workspace).show_velocities(); });
}
void go_on_from(const Layout& layout, void* workspace, RunArgs& args, double* row) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) {
    Runner<S>& runner = runner_in<S>(layout, workspace, args);
    if (!args.resumed)
      runner.start();
    else
      runner.wake();
    if (args.status.code == StatusCode::done && args.steps > 0) runner.go_on();
    runner.save(row);
  });
}
void save(void* workspace, const RunArgs& args, double* row) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { seated<S>(workspace).save(row); });
}
void restore(void* workspace, const RunArgs& args, const double* carried) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) {
    Runner<S>& runner = seated<S>(workspace);
    runner.go_back(carried);
    // from which a first step is guessed
    if (runner.history[0].count == 0) runner.rest.project(runner.node.arriving());
  });
}
void reactions(void* workspace, const RunArgs& args, double* row) {
  with_solver(args.solver, [&]<class S>(std::type_identity<S>) { seated<S>(workspace).react(row); });
}

int lane_count(const Layout& layout, const RunArgs& args) { return lanes_fit(layout, args) ? lane_width : 0; }

// where a lane's member runs by itself
struct Alone {
  void* workspace;
  template <class F>
  void operator()(const Layout& layout, RunArgs& args, F&& use) const {
    use(runner_in<Articulated<double>>(layout, workspace, args));
  }
};
// a group's runner and what it refers to, in a workspace
struct LaneSeat {
  LaneTree tree;
  LaneLoops loops;
  LaneNode node;
  LaneNewton newton;
  LaneEstimator estimator;
  LaneRunner<Alone> runner;
};
// lanes first, then room for one member by itself; with no workspace it only counts
long lanes_in(const Layout& layout, void* workspace) {
  Arena arena{static_cast<char*>(workspace)};
  const int links = layout.link_count, count = layout.variable_count;
  LaneSeat* seat = arena.take<LaneSeat>(1);
  Body<Lane>* body = arena.take<Body<Lane>>(links);
  LaneLink<Lane>* link = arena.take<LaneLink<Lane>>(links);
  Stretch* stretch = arena.take<Stretch>(links);
  Articulation<Lane>* received = arena.take<Articulation<Lane>>(receiver_count(layout));
  Lane *z = arena.take<Lane>(count), *dz = arena.take<Lane>(count), *ahead = arena.take<Lane>(count);
  Lane* difference = arena.take<Lane>(static_cast<long>(LaneNewton::points) * count);
  LaneLaw* law = arena.take<LaneLaw>(layout.law_count);
  Axis<Lane>* axis = arena.take<Axis<Lane>>(layout.axis_count);
  Acting<Lane>* acting = arena.take<Acting<Lane>>(layout.axis_count);
  Lane* pushed = arena.take<Lane>(layout.axis_count);
  Torsion<Lane>* torsion = arena.take<Torsion<Lane>>(layout.rotary_count > 0 ? links : 0);
  Wrench<Lane>* reaction = has_loops(layout) ? arena.take<Wrench<Lane>>(links) : nullptr;
  double* counted = arena.take<double>(static_cast<long>(lane_width) * layout.counter_count);
  const Past<Lane> past = past_in<Lane>(arena, links);
  const long used = arena.used, size = used + seat_size<Articulated<double>>(layout, 2);
  if (!workspace) return size;
  new (seat) LaneSeat{.tree = {.layout = layout,
                               .body = body,
                               .link = link,
                               .stretch = stretch,
                               .received = received,
                               .z = z,
                               .dz = dz,
                               .ahead = ahead,
                               .law = law,
                               .axis = axis,
                               .acting = acting,
                               .pushed = pushed,
                               .torsion = torsion,
                               .reaction = reaction,
                               .stretch_count = find_stretches(layout, link, stretch)},
                      .loops = {layout, seat->tree, reaction},
                      .node = {.layout = layout, .tree = seat->tree, .loops = seat->loops, .counted = counted},
                      .newton = {.layout = layout, .tree = seat->tree, .loops = seat->loops, .difference = difference},
                      .estimator = {seat->node, past},
                      .runner = {.layout = layout,
                                 .tree = seat->tree,
                                 .loops = seat->loops,
                                 .node = seat->node,
                                 .newton = seat->newton,
                                 .estimator = seat->estimator,
                                 .with_single = {static_cast<char*>(workspace) + used}}};
  return size;
}
LaneRunner<Alone>& lanes_at(void* workspace) { return static_cast<LaneSeat*>(workspace)->runner; }
long lane_workspace_size(const Layout& layout) { return lanes_in(layout, nullptr); }
void open_lanes(const Layout& layout, void* workspace) { lanes_in(layout, workspace); }
void run_lanes(const Layout* const* layouts, void* workspace, RunArgs* args, int members) {
  lanes_at(workspace).seat(layouts, args, members);
  lanes_at(workspace).run();
}
long lane_row_size(void* workspace, RunArgs& args) {
  lanes_at(workspace).seat(nullptr, &args, 0);
  long count = 0;
  lanes_at(workspace).each_carried([&](Lane&) { ++count; });
  return count * lane_width;
}
void go_on_lanes(const Layout* const* layouts, void* workspace, RunArgs* args, int members, double* row,
                 unsigned entering, bool own_numbers) {
  lanes_at(workspace).seat(layouts, args, members);
  lanes_at(workspace).go_on(reinterpret_cast<Lane*>(row), entering, own_numbers);
}

void linearise(const Layout& layout, void* workspace, const LinearisationArgs& args) {
  Arena arena{static_cast<char*>(workspace)};
  Body<double>* body = arena.take<Body<double>>(layout.link_count);
  Dense dense = make(layout, arena, body, static_cast<Dense*>(nullptr));
  const long count = Dense::unknown_count(layout);
  dense.z = arena.take<double>(count);
  dense.dz = args.residual;
  for (int i = 0; i < layout.link_count; ++i) {
    Body<double>& b = body[i];
    const int k = layout.link[i].body;
    b.x = load3(args.position + 3 * k);
    b.q = load_quat(args.orientation + 4 * k);
    b.v = load3(args.velocity + 3 * k);
    b.L = load3(args.momentum + 3 * k);
    b.f = load3(layout.link[i].gravity);
    b.tau = {0, 0, 0};
    place_body(b, layout.link[i]);
    aim_body(b, args.dt, args.kick);
  }
  dense.clock.last(args.dt);
  dense.clock.now = dense.clock.middle = dense.clock.end = dense.clock.rate = args.signals;
  double* momentum = arena.take<double>(layout.law_count);
  for (int l = 0; l < layout.law_count; ++l) momentum[l] = 0;
  dense.momentum = momentum;
  dense.enter();
  for (long k = 0; k < count; ++k) dense.z[k] = args.unknowns[k];
  dense.place();
  dense.evaluate();
  dense.assemble();
  for (long k = 0; k < count * count; ++k) args.matrix[k] = dense.matrix[k];
}

// the articulated solver alone
Articulated<double> make_walker(const Layout& layout, Arena& arena) {
  Body<double>* body = arena.take<Body<double>>(layout.link_count);
  Articulated<double> solver = make(layout, arena, body, static_cast<Articulated<double>*>(nullptr));
  solver.z = arena.take<double>(Articulated<double>::unknown_count(layout));
  solver.dz = arena.take<double>(Articulated<double>::unknown_count(layout));
  // rotors stand still
  double* momentum = arena.take<double>(layout.law_count);
  double *measured = arena.take<double>(layout.law_count), *pushed = arena.take<double>(layout.axis_count);
  for (int l = 0; l < layout.law_count && arena.at; ++l) momentum[l] = measured[l] = 0;
  for (int k = 0; k < layout.axis_count && arena.at; ++k) pushed[k] = 0;
  solver.momentum = momentum;
  solver.measured = measured;
  solver.pushed = pushed;
  return solver;
}

void assemble(const Layout& layout, void* workspace, AssembleArgs& args) {
  Arena arena{static_cast<char*>(workspace)};
  // rows that disagree are no matter for the solver below, which would share them out among all joints; nor is it for
  // mechanisms that it has no program for
  if (layout.excess > 0 || !layout.vertex) {
    Articulated<double> walker = make_walker(layout, arena);
    Settler{layout, walker}.run(args);
    return;
  }
  Body<double>* body = arena.take<Body<double>>(layout.link_count);
  Ldu solver = make(layout, arena, body, static_cast<Ldu*>(nullptr));
  const long count = Ldu::unknown_count(layout);
  solver.z = arena.take<double>(count);
  solver.dz = arena.take<double>(count);
  for (long k = 0; k < count; ++k) solver.z[k] = 0;
  if (args.loose_below > 0) solver.loose_below = args.loose_below;
  Assembler{layout, args, solver}.run();
}

long close_in(const Layout& layout, const ClosingPlan& plan, void* workspace, CloseArgs* args) {
  Arena arena{static_cast<char*>(workspace)};
  CloseArgs none;
  const long branches = plan.branch_count, freedoms = plan.freedom_count, rows = plan.row_count;
  Closer closer{.layout = layout,
                .plan = plan,
                .args = args ? *args : none,
                .body = arena.take<Body<double>>(layout.link_count),
                .shift = arena.take<Vec3<double>>(branches),
                .kept_shift = arena.take<Vec3<double>>(branches),
                .turn = arena.take<Quat<double>>(branches),
                .kept_turn = arena.take<Quat<double>>(branches),
                .moved = arena.take<double>(freedoms),
                .kept_moved = arena.take<double>(freedoms),
                .measure = arena.take<double>(freedoms),
                .twist = arena.take<Wrench<double>>(freedoms),
                .rows = arena.take<JointRows>(plan.loop_count),
                .share = arena.take<double>(plan.share_count),
                .product = arena.take<double>(plan.entry_count),
                .factor = arena.take<double>(plan.entry_count),
                .gap = arena.take<double>(rows),
                .ahead = arena.take<double>(rows),
                .y = arena.take<double>(rows),
                .slope = arena.take<double>(rows),
                .step = arena.take<double>(freedoms)};
  if (args) closer.run();
  return arena.used;
}
long close_size(const Layout& layout, const ClosingPlan& plan) { return close_in(layout, plan, nullptr, nullptr); }
void close(const Layout& layout, const ClosingPlan& plan, void* workspace, CloseArgs& args) {
  close_in(layout, plan, workspace, &args);
}

long explore_in(const Layout& layout, void* workspace, ExploreArgs* args) {
  Arena arena{static_cast<char*>(workspace)};
  Articulated<double> solver = make_walker(layout, arena);
  const long closing = layout.largest_closing;
  double* weight = arena.take<double>(layout.loop_row_count);
  double *singular = arena.take<double>(6L * layout.loop_count),
         *direction = arena.take<double>(36L * layout.loop_count);
  double *work = arena.take<double>(closing * closing), *kept = arena.take<double>(closing * closing);
  double *image = arena.take<double>(closing * closing), *square = arena.take<double>(closing);
  double* signals = arena.take<double>(layout.signal_count);
  int* end = arena.take<int>(closing);
  if (!args) return arena.used;
  for (int l = 0; l < layout.loop_count; ++l) {
    const ConstraintInfo& c = layout.constraint[layout.loop[l]];
    for (int r = 0; r < c.row_count; ++r) weight[c.loop_row + r] = c.lengths >> r & 1u ? args->length[l] : 1;
  }
  Probe probe{layout, args->fit, weight, singular, direction, work, kept, image, square, end};
  solver.loop.probe = &probe;
  Explorer{{layout, solver}, probe, signals}.run(*args);
  return arena.used;
}
long explore_size(const Layout& layout) { return explore_in(layout, nullptr, nullptr); }
void explore(const Layout& layout, void* workspace, ExploreArgs& args) { explore_in(layout, workspace, &args); }

void evaluate_rows(const RowsArgs& args) {
  const ConstraintInfo& joint = *args.joint;
  const int rows = joint.row_count;
  const bool contact = row_is_velocity(static_cast<int>(joint.kind), rows - 1);
  JointRows r;
  for (long k = 0; k < args.count; ++k) {
    const Pose<double> a = {load3(args.position_a + 3 * k), matrix(load_quat(args.orientation_a + 4 * k))};
    const Pose<double> b = {load3(args.position_b + 3 * k), matrix(load_quat(args.orientation_b + 4 * k))};
    r.angle[0] = first_angle(joint, a, b);
    if (contact)
      contact_rows(joint, a, b, r);
    else
      joint_rows(joint, a, b, r.angle[0], r);
    for (int i = 0; i < rows; ++i) {
      args.gap[k * rows + i] = r.g[i];
      store3(args.wrench + 6 * (k * rows + i), r.at_point[i].f);
      store3(args.wrench + 6 * (k * rows + i) + 3, r.at_point[i].t);
    }
    store3(args.point + 3 * k, r.point);
  }
}

// gaps of a joint's rows, lengths and angles apart, added to what is there
void add_gaps(const ConstraintInfo& c, const double* gap, double* out) {
  for (int k = 0; k < c.row_count; ++k) {
    double& norm = out[2 * c.joint + (c.lengths >> k & 1u ? 0 : 1)];
    norm = std::sqrt(norm * norm + gap[k] * gap[k]);
  }
}
// of a joint of which less is asked than it has rows
void add_reduced_gaps(const Layout& layout, const ConstraintInfo& c, const double* whole, double* out, double* misfit) {
  const ReductionInfo& reduction = layout.reduction[c.reduction];
  const int count = reduction.whole.row_count;
  double asked[6], part[6], rest[6];
  combine_gaps(layout, c, whole, asked);
  for (int r = 0; r < count; ++r) {
    part[r] = 0;
    for (int k = 0; k < c.row_count; ++k)
      part[r] += asked[k] * reduction.combination[k * count + r] * reduction.weight[r] * reduction.weight[r];
    rest[r] = whole[r] - part[r];
  }
  add_gaps(reduction.whole, part, out);
  add_gaps(reduction.whole, rest, misfit);
}

// directions that cannot be asked for depend on the pose, and the solver finds them
bool gaps_need_solver(const Layout& layout) { return layout.excess > 0; }
long gaps_size(const Layout& layout) {
  Arena arena{nullptr};
  if (gaps_need_solver(layout))
    make_walker(layout, arena);
  else
    arena.take<Body<double>>(layout.link_count);
  return arena.used;
}
void find_gaps(const Layout& layout, void* workspace, const GapArgs& args) {
  Clock clock;
  clock.now = args.signals;
  for (long pose = 0; pose < args.count; ++pose) {
    Arena arena{static_cast<char*>(workspace)};
    std::optional<Articulated<double>> solver;
    if (gaps_need_solver(layout)) solver.emplace(make_walker(layout, arena));
    Body<double>* const body = solver ? solver->body : arena.take<Body<double>>(layout.link_count);
    const double *position = args.position + 3L * layout.link_count * pose,
                 *orientation = args.orientation + 4L * layout.link_count * pose;
    double *out = args.out + 2L * layout.joint_count * pose, *misfit = args.misfit + 2L * layout.joint_count * pose;
    for (int k = 0; k < 2 * layout.joint_count; ++k) out[k] = misfit[k] = 0;
    if (solver) {
      Walk walk{layout, *solver};
      walk.enter(position, orientation, args.term_start, args.signals, args.signals);
      walk.direction();
      for (int k = 0; k < layout.loop_row_count; ++k) solver->loop.gap[k] = solver->loop.misfit[k] = 0;
    }
    for (int i = 0; i < layout.link_count; ++i) {
      const int k = layout.link[i].body;
      body[i].x = load3(position + 3 * k);
      body[i].q = load_quat(orientation + 4 * k);
      place_body(body[i], layout.link[i]);
    }
    const auto find = [&](const ConstraintInfo& c) {
      const ConstraintInfo& whole = c.reduction >= 0 ? layout.reduction[c.reduction].whole : c;
      JointRows rows;
      first_angles(layout, whole, body, rows);
      count_terms(whole, args.term_start, rows);
      rows_before(layout, whole, body, clock, rows);
      if (c.reduction >= 0)
        add_reduced_gaps(layout, c, rows.g, out, misfit);
      else if (c.loop >= 0 && solver)
        for (int k = 0; k < c.row_count; ++k) solver->loop.gap[c.loop_row + k] = rows.g[k];
      else
        add_gaps(c, rows.g, out);
      if (whole.kind == JointKind::coupling || whole.hook >= 0) return;
      const double over = turned_over(whole, pose_before(whole, 0, body, clock), pose_before(whole, 1, body, clock));
      out[2 * whole.joint + 1] = std::fmax(out[2 * whole.joint + 1], over);
    };
    for (int j = 0; j < layout.constraint_count; ++j)
      if (!layout.constraint[j].acts) find(layout.constraint[j]);
    for (int k = 0; k < layout.idle_count; ++k) find(layout.idle[k]);
    if (!solver) continue;
    solver->loop.split_gaps();
    for (int l = 0; l < layout.loop_count; ++l) {
      const ConstraintInfo& c = layout.constraint[layout.loop[l]];
      if (c.acts || c.reduction >= 0) continue;
      add_gaps(c, solver->loop.gap + c.loop_row, out);
      add_gaps(c, solver->loop.misfit + c.loop_row, misfit);
    }
  }
}

void find_coordinates(const Layout& layout, const CoordinateArgs& args) {
  for (long pose = 0; pose < args.count; ++pose) {
    const long n = pose * layout.link_count;
    const auto moving = [&](const ConstraintInfo& c, int e) -> Moving {
      if (c.end[e] < 0 && c.ground >= 0) {
        const long at = pose * layout.signal_count + c.ground;
        return {ground_pose(args.signals + at), ground_velocity(args.signals + at, args.signal_rates + at)};
      }
      if (c.end[e] < 0) return {world_pose(), {{0, 0, 0}, {0, 0, 0}}};
      const long k = n + layout.link[c.end[e]].body;
      return {{load3(args.position + 3 * k), matrix(load_quat(args.orientation + 4 * k))},
              {load3(args.velocity + 3 * k), load3(args.angular_velocity + 3 * k)}};
    };
    // in a chain the body that one joint carries has the next
    int last = -1;
    Moving carried = {};
    for (int j = 0; j < layout.coordinated_count; ++j) {
      const auto& [joint, coordinate, counter] = layout.coordinated[j];
      const Moving a = last >= 0 && joint.end[0] == last ? carried : moving(joint, 0);
      carried = moving(joint, 1);
      last = joint.end[1];
      const long at = pose * layout.coordinate_count + coordinate;
      joint_motion(joint, a, carried, args.counted + pose * layout.counter_count + counter, args.coordinate + at,
                   args.rate + at);
    }
  }
}

void place_bodies(const Layout& layout, const PlaceArgs& args) {
  for (long pose = 0; pose < args.count; ++pose) {
    const auto standing = [&](int body) -> Standing {
      const long k = pose * layout.link_count + body;
      return {load3(args.position + 3 * k),
              load_quat(args.orientation + 4 * k),
              {load3(args.velocity + 3 * k), load3(args.angular_velocity + 3 * k)}};
    };
    const auto end_of = [&](const ConstraintInfo& c, int e) -> Standing {
      if (c.end[e] >= 0) return standing(layout.link[c.end[e]].body);
      if (c.ground < 0) return {{0, 0, 0}, {1, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
      const long at = pose * layout.signal_count + c.ground;
      return {load3(args.signals + at), ground_turn(args.signals + at),
              ground_velocity(args.signals + at, args.signal_rates + at)};
    };
    const auto put = [&](int body, const Standing& there) {
      const long k = pose * layout.link_count + body;
      store3(args.position + 3 * k, there.x);
      store_quat(args.orientation + 4 * k, there.q);
      store3(args.velocity + 3 * k, there.velocity.f);
      store3(args.angular_velocity + 3 * k, there.velocity.t);
    };
    // of the body that a joint has put somewhere
    Standing before = {}, now = {};
    for (int m = 0; m < args.move_count; ++m) {
      const int joint = args.move[2 * m], body = args.move[2 * m + 1];
      if (joint < 0) {
        put(body, carried_along(standing(body), before, now));
        continue;
      }
      const auto& [c, coordinate, counter] = layout.coordinated[joint];
      const long at = pose * layout.coordinate_count + coordinate;
      const Relative seen(c, args.coordinate + at, args.rate + at);
      before = standing(body);
      now = c.end[1] == layout.body_link[body] ? placed_b(c, end_of(c, 0), seen) : placed_a(c, end_of(c, 1), seen);
      put(body, now);
    }
  }
}

long relieve_in(const Layout& layout, const LoopGroups& groups, void* workspace, const StressArgs* args) {
  Arena arena{static_cast<char*>(workspace)};
  const Offset width = padded(groups.most_rows);
  Stress stress{layout,
                groups,
                arena.take<Body<double>>(layout.link_count),
                arena.take<Wrench<double>>(groups.pull_count),
                arena.take<double>(groups.share_count),
                arena.take<double>(groups.most_rows * width),
                arena.take<double>(width),
                arena.take<double>(width),
                arena.take<double>(groups.most_freedoms * width),
                arena.take<double*>(groups.most_freedoms)};
  char* regular = arena.take<char>(groups.group_count);
  if (!args) return arena.used;
  stress.size = args->size;
  stress.scale = args->scale;
  for (long node = 0; node < args->count && args->poll(args->context, node); ++node) {
    stress.clock.now = args->signals + node * layout.signal_count;
    stress.place(args->position + 3L * layout.link_count * node, args->orientation + 4L * layout.link_count * node);
    for (int g = 0; g < groups.group_count; ++g)
      // loops that say nothing twice at the first node are taken to go on like that
      if (node == 0 || !regular[g])
        regular[g] = !stress.relieve(groups.group[g], args->multipliers + layout.recorded_count * node);
  }
  return arena.used;
}
long relieve_size(const Layout& layout, const LoopGroups& groups) {
  return relieve_in(layout, groups, nullptr, nullptr);
}
void relieve(const Layout& layout, const LoopGroups& groups, void* workspace, const StressArgs& args) {
  relieve_in(layout, groups, workspace, &args);
}

}  // namespace

extern const Kernel kernel;
const Kernel kernel = {.name = CATENA_ISA_NAME,
                       .workspace_size = workspace_size,
                       .run = run,
                       .start = start,
                       .go_on = go_on,
                       .velocities = velocities,
                       .go_on_from = go_on_from,
                       .save = save,
                       .restore = restore,
                       .reactions = reactions,
                       .carried_size = carried_size,
                       .belongs = belongs,
                       .lane_count = lane_count,
                       .lane_workspace_size = lane_workspace_size,
                       .open_lanes = open_lanes,
                       .run_lanes = run_lanes,
                       .lane_row_size = lane_row_size,
                       .go_on_lanes = go_on_lanes,
                       .linearise = linearise,
                       .assemble = assemble,
                       .close_size = close_size,
                       .close = close,
                       .explore_size = explore_size,
                       .explore = explore,
                       .rows = evaluate_rows,
                       .gaps_size = gaps_size,
                       .gaps = find_gaps,
                       .coordinates = find_coordinates,
                       .place = place_bodies,
                       .relieve_size = relieve_size,
                       .relieve = relieve};

}  // namespace catena::CATENA_ISA
