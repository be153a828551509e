// The features of a pair of shapes at a node: at most so many, those that matter.
#pragma once

#include "physics/shapes/feature.hpp"
#include "physics/shapes/solid.hpp"

namespace catena::CATENA_ISA {

// of one pair of shapes
constexpr int most_features = 8;
// Sine of an angle below which two lines are parallel, or a line lies in a plane.
constexpr double parallel_sine = 1e-3;

struct Manifold {
  double margin = 0;  // farther apart than that is not noted, both now and at the end of the step
  int count = 0;
  Feature feature[most_features];
  Touching<double> now[most_features];

  // Keeps what is near: of too many the nearest, and of all others those that are farthest from each other.
  void note(const Feature& f, const Posed& a, const Posed& b) {
    const Touching<double> here = touching(f, a.now, b.now);
    if (!(here.gap < margin) && !(touching(f, a.then, b.then).gap < margin)) return;
    for (int k = 0; k < count; ++k)
      if (same(here, now[k], a.solid->reach, b.solid->reach)) {
        if (here.gap < now[k].gap) put(k, f, here);
        return;
      }
    if (count < most_features) return put(count++, f, here);
    // which of all leaves the widest spread if it goes
    int worst = -1;
    double narrowest = spread(here, -1);
    for (int k = 0; k < count; ++k)
      if (const double own = std::min(spread(now[k], k), norm2(now[k].point - here.point)); own < narrowest)
        narrowest = own, worst = k;
    if (worst < 0 && here.gap < least_gap()) worst = 0;
    if (worst >= 0 && !(now[worst].gap <= least_gap() && here.gap > now[worst].gap)) put(worst, f, here);
  }
  double least_gap() const {
    double least = HUGE_VAL;
    for (int k = 0; k < count; ++k) least = std::min(least, now[k].gap);
    return least;
  }

 private:
  void put(int k, const Feature& f, const Touching<double>& here) { feature[k] = f, now[k] = here; }
  static bool same(const Touching<double>& p, const Touching<double>& q, double reach_a, double reach_b) {
    const double size = std::min(reach_a > 0 ? reach_a : HUGE_VAL, reach_b > 0 ? reach_b : HUGE_VAL);
    return norm2(p.point - q.point) < 1e-12 * size * size && dot(p.normal, q.normal) > 0.99;
  }
  double spread(const Touching<double>& of, int but) const {
    double least = HUGE_VAL;
    for (int k = 0; k < count; ++k)
      if (k != but) least = std::min(least, norm2(of.point - now[k].point));
    return least;
  }
};

//---- features by what they are made of, in the world at the node; they are kept in the frames of the bodies ----

inline void keep(double* at, const Posed& of, Vec3<double> point) { store3(at, of.in_body(point)); }
inline void keep_along(double* along, const Posed& of, Vec3<double> direction) {
  const double length = std::sqrt(norm2(direction));
  store3(along, (1 / length) * transposed_times(of.now.R, direction));
}

// Pairs are built with the plane, line or circle on `first`, whichever of a and b that is.
struct Sides {
  const Posed& first;
  const Posed& second;
  bool flipped;  // first is b

  Feature plane_point(int face, Vec3<double> normal, Vec3<double> on, int index, Vec3<double> point) const {
    Feature f = empty(FeatureKind::point_plane, face, index);
    keep(flipped ? f.at_b : f.at_a, first, on), keep_along(flipped ? f.along_b : f.along_a, first, normal);
    keep(flipped ? f.at_a : f.at_b, second, point);
    return f;
  }
  Feature point_point(int one, Vec3<double> p, int other, Vec3<double> q) const {
    Feature f = empty(FeatureKind::point_point, one, other);
    keep(flipped ? f.at_b : f.at_a, first, p), keep(flipped ? f.at_a : f.at_b, second, q);
    return f;
  }
  Feature line_point(int edge, Vec3<double> on, Vec3<double> along, int index, Vec3<double> point) const {
    Feature f = empty(FeatureKind::point_line, edge, index);
    keep(flipped ? f.at_b : f.at_a, first, on), keep_along(flipped ? f.along_b : f.along_a, first, along);
    keep(flipped ? f.at_a : f.at_b, second, point);
    return f;
  }
  // `normal` from the first to the second, roughly
  Feature line_line(int edge, Vec3<double> p, Vec3<double> u, int other, Vec3<double> q, Vec3<double> w,
                    Vec3<double> normal) const {
    Feature f = empty(FeatureKind::line_line, edge, other);
    keep(flipped ? f.at_b : f.at_a, first, p), keep_along(flipped ? f.along_b : f.along_a, first, u);
    keep(flipped ? f.at_a : f.at_b, second, q), keep_along(flipped ? f.along_a : f.along_b, second, w);
    f.sign = dot(cross(u, w), normal) < 0 ? -1 : 1;
    return f;
  }
  const Posed& a() const { return flipped ? second : first; }
  const Posed& b() const { return flipped ? first : second; }
  Sides other_way() const { return {second, first, !flipped}; }

 private:
  Feature empty(FeatureKind kind, int one, int other) const {
    Feature f;
    f.kind = kind;
    f.flipped = flipped;
    f.radius_a = (flipped ? second : first).solid->radius;
    f.radius_b = (flipped ? first : second).solid->radius;
    f.key[flipped] = one, f.key[!flipped] = other;
    return f;
  }
};

}  // namespace catena::CATENA_ISA
