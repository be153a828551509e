#include "kernel/shapes.hpp"

#include "physics/shapes/build.hpp"
#include "physics/shapes/pair.hpp"
#include "physics/shapes/sweep.hpp"

namespace catena::CATENA_ISA {

namespace {

Pose<double> pose_of(const double* position, const double* orientation) {
  return {load3(position), matrix(load_quat(orientation))};
}

struct Scene {
  std::vector<Solid> solid;
  std::vector<Posed> posed;

  Scene(const ShapeArrays& shapes, const ShapePoses& at) : solid(solids_of(shapes)), posed(solid.size()) {
    for (std::size_t k = 0; k < solid.size(); ++k) {
      const int body = solid[k].body;
      Wrench<double> velocity = {{0, 0, 0}, {0, 0, 0}};
      if (body >= 0 && at.velocity) velocity = {load3(at.velocity + 3 * body), load3(at.angular_velocity + 3 * body)};
      posed[k].place(solid[k], body < 0 ? world_pose() : pose_of(at.position + 3 * body, at.orientation + 4 * body),
                     velocity, at.time);
    }
  }
};

}  // namespace

}  // namespace catena::CATENA_ISA

namespace catena {

using namespace CATENA_ISA;

void find_clearances(const ClearanceArgs& args) {
  const Scene scene(args.shapes, args.poses);
  std::vector<Box> box;
  const bool all = !(args.within < HUGE_VAL);
  if (!all)
    for (const Posed& s : scene.posed) box.push_back(box_around(s, 0.5 * args.within));
  for (long k = 0; k < args.pair_count; ++k) {
    const int a = args.pair[2 * k], b = args.pair[2 * k + 1];
    Clearance found = {HUGE_VAL, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}};
    if (all || box[a].meets(box[b])) found = clearance(scene.posed[a], scene.posed[b]);
    args.gap[k] = found.gap <= args.within ? found.gap : HUGE_VAL;
    store3(args.normal + 3 * k, found.normal);
    store3(args.on_a + 3 * k, found.on_a);
    store3(args.on_b + 3 * k, found.on_b);
  }
}

void find_features(const FeatureArgs& args) {
  const Scene scene(args.shapes, args.poses);
  const Posed &a = scene.posed[args.pair[0]], &b = scene.posed[args.pair[1]];
  Manifold found;
  found.margin = args.margin;
  pair_features(a, b, found);
  static_assert(most_features == most_told_features);
  for (int f = 0; f < most_features; ++f) args.kind[f] = f < found.count ? static_cast<int>(found.feature[f].kind) : -1;
  for (long k = 0; k < args.count; ++k) {
    const auto pose = [&](int side, int body) {
      return body < 0 ? world_pose()
                      : pose_of(args.other_position + 6 * k + 3 * side, args.other_orientation + 8 * k + 4 * side);
    };
    const Pose<double> at = pose(0, a.solid->body), bt = pose(1, b.solid->body);
    for (int f = 0; f < found.count; ++f) {
      const Touching<double> t = touching(found.feature[f], at, bt);
      const long to = k * most_features + f;
      args.gap[to] = t.gap;
      store3(args.normal + 3 * to, t.normal);
      store3(args.point + 3 * to, t.point);
    }
  }
}

void sweep_shapes(const SweepArgs& args) {
  const Scene scene(args.shapes, args.poses);
  Sweep sweep;
  sweep.each_pair(scene.posed, args.margin, [&](int i, int j) { args.pair.push_back(i), args.pair.push_back(j); });
}

}  // namespace catena
