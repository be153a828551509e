// Where a group of members sits: lanes, and room for one member by itself.
#pragma once

#include <new>

#include "kernel/seats.hpp"
#include "lanes/lanes.hpp"

namespace catena::CATENA_ISA {

namespace {

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
  LaneStops stops;
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
  Segment* segment = arena.take<Segment>(links);
  Articulation<Lane>* received = arena.take<Articulation<Lane>>(receiver_count(layout));
  Lane *z = arena.take<Lane>(count), *dz = arena.take<Lane>(count), *ahead = arena.take<Lane>(count);
  Lane* difference = arena.take<Lane>(static_cast<long>(LaneNewton::points) * count);
  LaneLaw* law = arena.take<LaneLaw>(layout.law_count);
  Axis<Lane>* axis = arena.take<Axis<Lane>>(layout.axis_count);
  Acting<Lane>* acting = arena.take<Acting<Lane>>(layout.axis_count);
  Lane* pushed = arena.take<Lane>(layout.axis_count);
  LaneHold* stopped = layout.stop_count > 0 ? arena.take<LaneHold>(layout.axis_count) : nullptr;
  LaneStop* stop = arena.take<LaneStop>(layout.stop_count);
  Lane* push = arena.take<Lane>(layout.stop_count > 0 ? layout.axis_count : 0);
  Torsion<Lane>* torsion = arena.take<Torsion<Lane>>(layout.rotary_count > 0 ? links : 0);
  Wrench<Lane>* reaction = has_loops(layout) ? arena.take<Wrench<Lane>>(links) : nullptr;
  double* counted = arena.take<double>(static_cast<long>(lane_width) * layout.counter_count);
  const Past<Lane> past = past_in<Lane>(arena, links);
  const long used = arena.used, size = used + seat_size<Articulated<double>>(layout, 2);
  if (!workspace) return size;
  new (seat) LaneSeat{.tree = {{.layout = layout,
                                .body = body,
                                .link = link,
                                .segment = segment,
                                .received = received,
                                .z = z,
                                .dz = dz,
                                .ahead = ahead,
                                .law = law,
                                .axis = axis,
                                .acting = acting,
                                .pushed = pushed,
                                .stopped = stopped,
                                .torsion = torsion,
                                .reaction = reaction,
                                .segment_count = find_segments(layout, link, segment)}},
                      .loops = {layout, seat->tree, reaction},
                      .stops = {layout, seat->tree, stop, push},
                      .node = {.layout = layout, .tree = seat->tree, .loops = seat->loops, .counted = counted},
                      .newton = {.layout = layout, .tree = seat->tree, .loops = seat->loops, .difference = difference},
                      .estimator = {seat->node, past},
                      .runner = {.layout = layout,
                                 .tree = seat->tree,
                                 .loops = seat->loops,
                                 .stops = seat->stops,
                                 .node = seat->node,
                                 .newton = seat->newton,
                                 .estimator = seat->estimator,
                                 .with_single = {static_cast<char*>(workspace) + used}}};
  for (int n = 0; n < layout.axis_count && stopped; ++n) acting[n] = {Lane(0), Lane(0)}, stopped[n] = {};
  seat->stops.open();
  return size;
}
LaneRunner<Alone>& lanes_at(void* workspace) { return static_cast<LaneSeat*>(workspace)->runner; }

}  // namespace

}  // namespace catena::CATENA_ISA
