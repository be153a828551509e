// What is asked of a mechanism besides its motion, at many poses (dynamics/).
#include "dynamics/loop_inverse.hpp"
#include "dynamics/tree_forces.hpp"
#include "kernel/carve.hpp"
#include "kernel/queries.hpp"

namespace catena::CATENA_ISA {

namespace {

// what one evaluation works in
struct DynamicsRoom {
  TreeLink* link;
  TreeAxis* axis;
  int* row_of;
  Law* law;
  Body<double>* body;
  double* now;
  int* freedoms;  // how many there are
  Articulation* articulation;
  AxisAnswer* answer;
  double* rotor;
  LoopInverse loops;
};
DynamicsRoom dynamics_room(const Layout& layout, Arena& arena) {
  const int rows = RowMotion::row_count(layout), coordinates = layout.coordinate_count, stops = layout.stop_count;
  const int others = coordinates > stops ? coordinates : stops;
  const long entries = 6L * rows * layout.link_count;
  return {.link = arena.take<TreeLink>(layout.link_count),
          .axis = arena.take<TreeAxis>(6L * layout.link_count),
          .row_of = arena.take<int>(6L * layout.link_count),
          .law = arena.take<Law>(layout.law_count),
          .body = arena.take<Body<double>>(layout.link_count),
          .now = arena.take<double>(rows > others ? rows : others),
          .freedoms = arena.take<int>(1),
          .articulation = arena.take<Articulation>(layout.link_count),
          .answer = arena.take<AxisAnswer>(6L * layout.link_count),
          .rotor = arena.take<double>(6L * layout.link_count),
          .loops = {.rows = rows,
                    .freedoms = 0,
                    .row = arena.take<double>(entries),
                    .answer = arena.take<double>(entries),
                    .square = arena.take<double>(static_cast<long>(rows) * rows),
                    .missing = arena.take<double>(rows),
                    .order = arena.take<int>(rows)}};
}
// a point of a link: what unit rates do to it, and its acceleration
void find_point(const Layout& layout, const TreeMotion& tree, const DynamicsArgs& args, long pose, int p) {
  const int own = layout.body_link[args.point_body[p]], count = tree.count;
  const TreeLink& l = tree.link[own];
  const Vec3<double> r = l.pose.R * load3(args.point + 3 * p);
  const long place = pose * args.point_count + p;
  if (args.basis) {
    double* const out = args.basis + 6 * place * count;
    for (long k = 0; k < 6L * count; ++k) out[k] = 0;
    Vec3<double> arm = r;
    for (int i = own; i >= 0; i = layout.link[i].parent) {
      for (int k = tree.link[i].first; k < tree.link[i].first + tree.link[i].count; ++k) {
        const Vec3<double> v = tree.axis[k].slide + cross(tree.axis[k].turn, arm), w = tree.axis[k].turn;
        double* const column = out + tree.row_of[k];
        column[0] = v.x, column[count] = v.y, column[2 * count] = v.z;
        column[3 * count] = w.x, column[4 * count] = w.y, column[5 * count] = w.z;
      }
      arm += tree.link[i].rho;
    }
  }
  if (args.drift) {
    const Wrench<double>&a = l.acceleration, &v = l.velocity;
    store3(args.drift + 6 * place, a.f + cross(a.t, r) + cross(v.t, cross(v.t, r)));
    store3(args.drift + 6 * place + 3, a.t);
  }
}

// accelerations of all bodies, then angular ones
void tell_links(const Layout& layout, const TreeMotion& tree, double* out) {
  for (int i = 0; i < layout.link_count; ++i) {
    store3(out + 3 * layout.link[i].body, tree.link[i].acceleration.f);
    store3(out + 3 * (layout.link_count + layout.link[i].body), tree.link[i].acceleration.t);
  }
}

// rotors that turn with one freedom of the tree
template <class Use>
void each_rotor(const Layout& layout, const TreeMotion& tree, Use&& use) {
  for (int l = 0; l < layout.law_count; ++l) {
    const LawInfo& law = layout.law[l];
    if (law.inertia == 0 || law.link < 0) continue;
    const LinkInfo& info = layout.link[law.link];
    const int k = branch_of(info.kind, info.flipped).coordinate[law.axis - info.first_axis];
    use(tree.row_of[tree.link[law.link].first + k], law.inertia);
  }
}

}  // namespace

long dynamics_size(const Layout& layout) {
  Arena arena{nullptr};
  dynamics_room(layout, arena);
  return arena.used;
}
DynamicsShape dynamics_shape(const Layout& layout, void* workspace, int* coordinate) {
  Arena arena{static_cast<char*>(workspace)};
  const DynamicsRoom room = dynamics_room(layout, arena);
  TreeMotion tree{layout, room.link, room.axis, room.row_of};
  tree.number();
  tree.tell_coordinates(coordinate);
  return {tree.count, RowMotion::row_count(layout)};
}

void find_dynamics(const Layout& layout, void* workspace, const DynamicsArgs& args) {
  Arena arena{static_cast<char*>(workspace)};
  const DynamicsRoom room = dynamics_room(layout, arena);
  TreeMotion tree{layout, room.link, room.axis, room.row_of};
  TreeForces forces{layout, tree, room.law};
  RowMotion rows{layout, tree, room.body, room.now};
  if (args.numbered) {
    tree.count = *room.freedoms;
  } else {
    tree.number();
    *room.freedoms = tree.count;
    for (int k = 0; k < tree.count; ++k) room.rotor[k] = 0;
    each_rotor(layout, tree, [&](int k, double inertia) { room.rotor[k] += inertia; });
  }
  TreeInverse inverse{tree, room.articulation, room.answer, room.rotor};
  LoopInverse loops = room.loops;
  loops.freedoms = tree.count;
  const bool accelerates =
      args.answers || args.efforts || args.drift || args.row_drift || args.coordinate_drift || args.stops;
  for (long pose = 0; pose < args.count; ++pose) {
    const long first = pose * tree.count;
    tree.place(args, pose);
    const double* const given = args.accelerations ? args.accelerations + first : nullptr;
    if (accelerates) tree.accelerate(given);
    for (int k = 0; args.rates && k < tree.count; ++k) args.rates[first + tree.row_of[k]] = tree.axis[k].rate;
    if (args.efforts) {
      forces.find(args, pose);
      tree.resist(args.efforts + first);
      for (int k = 0; given && k < tree.count; ++k) args.efforts[first + k] += room.rotor[k] * given[k];
    }
    if (args.answers) {
      double* const out = args.answers + first;
      forces.find(args, pose);
      tree.resist(out);
      for (int k = 0; k < tree.count; ++k) out[k] = (args.exerted ? args.exerted[first + k] : 0) - out[k];
      inverse.factor();
      inverse.solve(out);
      if (loops.rows > 0) loops.close(inverse, rows, args, pose, out);
      if (args.links) {
        tree.accelerate(out);
        tell_links(layout, tree, args.links + 6 * pose * layout.link_count);
      }
    }
    if (args.mass) {
      double* const out = args.mass + first * tree.count;
      tree.find_mass(out);
      for (int k = 0; k < tree.count; ++k) out[k * (tree.count + 1L)] += room.rotor[k];
    }
    for (int p = 0; p < args.point_count; ++p) find_point(layout, tree, args, pose, p);
    rows.find(args, pose);
  }
}

}  // namespace catena::CATENA_ISA
