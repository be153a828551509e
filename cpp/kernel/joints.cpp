// What is asked of joints at many poses: rows, coordinates and rates, and bodies placed by these.
#include "kernel/queries.hpp"
#include "physics/coordinates.hpp"
#include "physics/rows/constraint.hpp"

namespace catena::CATENA_ISA {

void evaluate_rows(const RowsArgs& args) {
  const ConstraintInfo& joint = *args.joint;
  const int rows = joint.row_count;
  JointRows r;
  for (long k = 0; k < args.count; ++k) {
    const Pose<double> a = {load3(args.position_a + 3 * k), matrix(load_quat(args.orientation_a + 4 * k))};
    const Pose<double> b = {load3(args.position_b + 3 * k), matrix(load_quat(args.orientation_b + 4 * k))};
    r.angle[0] = first_angle(joint, a, b);
    if (joint.rows == RowKind::rolling)
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
  const auto standing = [&](long pose, int body) -> Standing {
    const long k = pose * layout.link_count + body;
    return {load3(args.position + 3 * k),
            load_quat(args.orientation + 4 * k),
            {load3(args.velocity + 3 * k), load3(args.angular_velocity + 3 * k)}};
  };
  const auto end_of = [&](long pose, const ConstraintInfo& c, int e) -> Standing {
    if (c.end[e] >= 0) return standing(pose, layout.link[c.end[e]].body);
    if (c.ground < 0) return {{0, 0, 0}, {1, {0, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}};
    const long at = pose * layout.signal_count + c.ground;
    return {load3(args.signals + at), ground_turn(args.signals + at),
            ground_velocity(args.signals + at, args.signal_rates + at)};
  };
  const auto put = [&](long pose, int body, const Standing& there) {
    const long k = pose * layout.link_count + body;
    store3(args.position + 3 * k, there.x);
    store_quat(args.orientation + 4 * k, there.q);
    store3(args.velocity + 3 * k, there.velocity.f);
    store3(args.angular_velocity + 3 * k, there.velocity.t);
  };
  // a joint and what goes with the body that it puts somewhere, in all poses
  for (int m = 0, next; m < args.move_count; m = next) {
    next = m + 1;
    while (next < args.move_count && args.move[2 * next] < 0) ++next;
    if (args.move[2 * m] < 0) continue;
    const int body = args.move[2 * m + 1];
    const auto& [c, coordinate, counter] = layout.coordinated[args.move[2 * m]];
    const FrameTurns turns(c);
    const bool is_b = c.end[1] == layout.body_link[body];
    for (long pose = 0; pose < args.count; ++pose) {
      const long at = pose * layout.coordinate_count + coordinate;
      const Relative seen(c, args.coordinate + at, args.rate + at);
      const Standing before = standing(pose, body);
      const Standing now =
          is_b ? placed_b(c, turns, end_of(pose, c, 0), seen) : placed_a(c, turns, end_of(pose, c, 1), seen);
      put(pose, body, now);
      for (int along = m + 1; along < next; ++along) {
        const int other = args.move[2 * along + 1];
        put(pose, other, carried_along(standing(pose, other), before, now));
      }
    }
  }
}

}  // namespace catena::CATENA_ISA
