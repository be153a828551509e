// What is computed from poses alone: assembly, exploration around a pose, Newton's matrix, gaps, self-stress.
#include <optional>

#include "kernel/queries.hpp"
#include "kernel/seats.hpp"
#include "kernel/sparse_seats.hpp"
#include "simulate/assemble.hpp"
#include "simulate/pose_walk.hpp"
#include "simulate/reach.hpp"
#include "simulate/start_pose.hpp"
#include "solve/loops/self_stress.hpp"

namespace catena::CATENA_ISA {

namespace {

// stops that are open, where nothing runs into them
const Stop* open_stops(const Layout& layout, Arena& arena) {
  Stop* stop = arena.take<Stop>(layout.stop_count);
  for (int k = 0; k < layout.stop_count && arena.at; ++k) stop[k] = {};
  return stop;
}

Touch* open_touches(const Layout& layout, Arena& arena) {
  Touch* touch = arena.take<Touch>(layout.touch_count);
  for (int k = 0; k < layout.touch_count && arena.at; ++k) touch[k].enter(layout, k);
  return touch;
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
  solver.clock.stop = open_stops(layout, arena);
  solver.clock.touch = open_touches(layout, arena);
  solver.momentum = momentum;
  solver.measured = measured;
  solver.pushed = pushed;
  return solver;
}

}  // namespace

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
  dense.clock.stop = open_stops(layout, arena);
  dense.clock.touch = open_touches(layout, arena);
  dense.momentum = momentum;
  dense.enter();
  for (long k = 0; k < count; ++k) dense.z[k] = args.unknowns[k];
  dense.place();
  dense.evaluate();
  dense.assemble();
  for (long k = 0; k < count * count; ++k) args.matrix[k] = dense.matrix[k];
}

void assemble(const Layout& layout, void* workspace, AssembleArgs& args) {
  Arena arena{static_cast<char*>(workspace)};
  // rows that disagree are no matter for the solver below, which would share them out among all joints; nor is it for
  // mechanisms that it has no program for
  if (layout.redundant > 0 || !layout.vertex) {
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

namespace {

Closer closer_in(const Layout& layout, const ClosingPlan& plan, Arena& arena, CloseArgs& args) {
  const long branches = plan.branch_count, freedoms = plan.freedom_count, rows = plan.row_count;
  return {.layout = layout,
          .plan = plan,
          .args = args,
          .body = arena.take<Body<double>>(layout.link_count),
          .shift = arena.take<Vec3<double>>(branches),
          .kept_shift = arena.take<Vec3<double>>(branches),
          .turn = arena.take<Quat<double>>(branches),
          .kept_turn = arena.take<Quat<double>>(branches),
          .frames = arena.take<FrameTurns>(branches),
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
}
long start_pose_in(const Layout& layout, const ClosingPlan& plan, void* workspace, StartPoseArgs* args) {
  Arena arena{static_cast<char*>(workspace)};
  StartPoseArgs none;
  StartPoseArgs& given = args ? *args : none;
  Closer closer = closer_in(layout, plan, arena, given.close);
  StartPose start{closer, given, arena.take<double>(plan.freedom_count), arena.take<double>(plan.freedom_count),
                  arena.take<Wrench<double>>(plan.branch_count)};
  if (args) start.run();
  return arena.used;
}

}  // namespace

// of both
long close_size(const Layout& layout, const ClosingPlan& plan) { return start_pose_in(layout, plan, nullptr, nullptr); }
void close(const Layout& layout, const ClosingPlan& plan, void* workspace, CloseArgs& args) {
  Arena arena{static_cast<char*>(workspace)};
  closer_in(layout, plan, arena, args).run();
}
void start_pose(const Layout& layout, const ClosingPlan& plan, void* workspace, StartPoseArgs& args) {
  start_pose_in(layout, plan, workspace, &args);
}
// what a unit of every freedom (m, rad) does to the rows of all loops (row, freedom), where bodies are
void row_rates(const Layout& layout, const ClosingPlan& plan, void* workspace, CloseArgs& args, double* out) {
  Arena arena{static_cast<char*>(workspace)};
  closer_in(layout, plan, arena, args).find_row_rates(out);
}

namespace {

long reach_in(const Layout& layout, const ClosingPlan& plan, void* workspace, ReachArgs& args) {
  Arena arena{static_cast<char*>(workspace)};
  const long freedoms = plan.freedom_count, rows = plan.row_count + Reacher::target_rows(args);
  const auto pose = [&]() -> TreePose {
    return {arena.take<Vec3<double>>(plan.branch_count), arena.take<Quat<double>>(plan.branch_count),
            arena.take<double>(freedoms)};
  };
  Reacher reacher{.closer = closer_in(layout, plan, arena, args.close),
                  .args = args,
                  .carrier = arena.take<int>(layout.link_count),
                  .first = pose(),
                  .best = pose(),
                  .matrix = arena.take<double>(rows * freedoms),
                  .square = arena.take<double>(rows * rows),
                  .gap = arena.take<double>(rows),
                  .ahead = arena.take<double>(rows),
                  .y = arena.take<double>(rows),
                  .step = arena.take<double>(freedoms),
                  .way = arena.take<double>(freedoms),
                  .unit = arena.take<double>(freedoms),
                  .state = arena.take<signed char>(freedoms)};
  if (workspace) reacher.run();
  return arena.used;
}

}  // namespace

long reach_size(const Layout& layout, const ClosingPlan& plan, const ReachArgs& args) {
  ReachArgs given = args;
  return reach_in(layout, plan, nullptr, given);
}
void reach(const Layout& layout, const ClosingPlan& plan, void* workspace, ReachArgs& args) {
  reach_in(layout, plan, workspace, args);
}

namespace {

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
  Probe probe{layout, args->loop_tolerance, weight, singular, direction, work, kept, image, square, end};
  solver.loop.probe = &probe;
  Explorer{{layout, solver}, probe, signals}.run(*args);
  return arena.used;
}

}  // namespace

long explore_size(const Layout& layout) { return explore_in(layout, nullptr, nullptr); }
void explore(const Layout& layout, void* workspace, ExploreArgs& args) { explore_in(layout, workspace, &args); }

namespace {

// gaps of a joint's rows, lengths and angles apart, added to what is there
void add_gaps(const ConstraintInfo& c, const double* gap, double* out) {
  for (int k = 0; k < c.row_count; ++k) {
    double& norm = out[2 * c.joint + (c.lengths >> k & 1u ? 0 : 1)];
    norm = std::sqrt(norm * norm + gap[k] * gap[k]);
  }
}
// of a joint with fewer active rows than rows
void add_reduced_gaps(const Layout& layout, const ConstraintInfo& c, const double* whole, double* out,
                      double* loop_mismatch) {
  const ReductionInfo& reduction = layout.reduction[c.item];
  const int count = reduction.whole.row_count;
  double active[6], part[6], rest[6];
  combine_gaps(layout, c, whole, active);
  for (int r = 0; r < count; ++r) {
    part[r] = 0;
    for (int k = 0; k < c.row_count; ++k)
      part[r] += active[k] * reduction.combination[k * count + r] * reduction.weight[r] * reduction.weight[r];
    rest[r] = whole[r] - part[r];
  }
  add_gaps(reduction.whole, part, out);
  add_gaps(reduction.whole, rest, loop_mismatch);
}

// redundant directions depend on the pose, and the solver finds them
bool gaps_need_solver(const Layout& layout) { return layout.redundant > 0; }

}  // namespace

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
    double *out = args.out + 2L * layout.joint_count * pose,
           *loop_mismatch = args.loop_mismatch + 2L * layout.joint_count * pose;
    for (int k = 0; k < 2 * layout.joint_count; ++k) out[k] = loop_mismatch[k] = 0;
    if (solver) {
      Walk walk{layout, *solver};
      walk.enter(position, orientation, args.term_start, args.signals, args.signals);
      walk.direction();
      for (int k = 0; k < layout.loop_row_count; ++k) solver->loop.gap[k] = solver->loop.loop_mismatch[k] = 0;
    }
    for (int i = 0; i < layout.link_count; ++i) {
      const int k = layout.link[i].body;
      body[i].x = load3(position + 3 * k);
      body[i].q = load_quat(orientation + 4 * k);
      place_body(body[i], layout.link[i]);
    }
    const auto find = [&](const ConstraintInfo& c) {
      const ConstraintInfo& whole = whole_of(layout, c);
      JointRows rows;
      first_angles({layout, whole, body, clock}, rows);
      count_terms(whole, args.term_start, rows);
      rows_before({layout, whole, body, clock}, rows);
      if (c.rows == RowKind::combination)
        add_reduced_gaps(layout, c, rows.g, out, loop_mismatch);
      else if (c.loop >= 0 && solver)
        for (int k = 0; k < c.row_count; ++k) solver->loop.gap[c.loop_row + k] = rows.g[k];
      else
        add_gaps(c, rows.g, out);
      const double over = turned_over(whole, pose_before(whole, 0, body, clock), pose_before(whole, 1, body, clock));
      out[2 * whole.joint + 1] = std::fmax(out[2 * whole.joint + 1], over);
    };
    for (int j = 0; j < layout.constraint_count; ++j)
      if (!layout.constraint[j].acts()) find(layout.constraint[j]);
    for (int k = 0; k < layout.inactive_count; ++k) find(layout.inactive[k]);
    if (!solver) continue;
    solver->loop.split_gaps();
    for (int l = 0; l < layout.loop_count; ++l) {
      const ConstraintInfo& c = layout.constraint[layout.loop[l]];
      if (c.acts() || c.rows == RowKind::combination) continue;
      add_gaps(c, solver->loop.gap + c.loop_row, out);
      add_gaps(c, solver->loop.loop_mismatch + c.loop_row, loop_mismatch);
    }
  }
}

namespace {

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

}  // namespace

long relieve_size(const Layout& layout, const LoopGroups& groups) {
  return relieve_in(layout, groups, nullptr, nullptr);
}
void relieve(const Layout& layout, const LoopGroups& groups, void* workspace, const StressArgs& args) {
  relieve_in(layout, groups, workspace, &args);
}

}  // namespace catena::CATENA_ISA
