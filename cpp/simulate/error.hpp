// How much a step errs, in parts of the mechanism's size or in rad, from what it has computed anyway.
//
// Composed steps. Let u_k be a body's mean velocity over part k of length c_k h, (d / size, 2 eta) / (c_k h). For a
// slow motion it is a function of the part's middle m_k, seen from the middle of the step, of c_k, and of what earlier
// parts did wrong, S_k = sum_{j<k} c_j^3 + c_k^3 / 2, and S'_k, the same with c_j^3 m_j. Sums over weights w_k =
// w_{s+1-k} are blind to odd powers of h; they are O(h^2) if sum w = 0, O(h^4) if w also vanishes on m^2 and c^2,
// O(h^6) if also on m^4, m^2 c^2, c^4, m S and S'. Five, nine and seventeen parts leave room for that much. With E the
// largest |sum w_k u_k| of all bodies and U the largest |u_k| of all bodies and parts, a step of order p errs by
//
//     h U (E / U)^(p/q),   q = 2, 4, 6 for p = 4, 6, 8,
//
// which is the same number from either end, and needs no memory: steps that are halved by it stay reversible. The
// weights are the shortest that answer a slow harmonic motion, scaled so that the result is the median of true errors.
//
// A steady turn has no slow motion to be seen. A free rotor's momentum is the sine of its part's turn, so a step that
// turns it by x errs by |sum_k asin(c_k x) - x| = C x^(p+1) + ..., C = 5.578e-3, 1.586e-3, 2.281e-5 for p = 4, 6, 8:
// exact for a top, and a bound for what rolls, where the turn follows from the way as well.
//
// Plain steps have one part: there it is the second difference of the motions (d / size, 2 eta) of three equal steps,
// the larger of the last two, or the cube of the turn. Of all bodies the largest is taken axis by axis, which costs no
// more than one instruction for each of them.
#pragma once

#include <utility>

#include "simulate/compose.hpp"
#include "simulate/node.hpp"

namespace catena::CATENA_ISA {

constexpr double plain_gain = 0.145;
// of a steady turn by x
inline double steady_error(int order, double x) {
  const double x2 = x * x, x4 = x2 * x2;
  return x * x4 * (order == 4 ? 5.5782e-3 : order == 6 ? 1.5864e-3 * x2 : 2.28081e-5 * x4);
}

// of a motion whose rotation is half of a turn
template <class T>
CATENA_INLINE T motion2(Vec3<T> way, Vec3<T> half_turn, T per_size2) {
  return per_size2 * norm2(way) + T(4) * norm2(half_turn);
}
// The cube of the largest turn, squared, where some links move along screws: of their inertia against a turn, J + m p^2
// with p the way per angle, only J is that of a turn, which has the error; J is at most half of the trace.
template <class T>
T cube2_along_threads(const Layout& layout, const Body<T>* body) {
  T most = T(0);
  for (int i = 0; i < layout.link_count; ++i) {
    const LinkInfo& link = layout.link[i];
    const T angle2 = T(4) * (T(1) - body[i].w.w) * (T(1) + body[i].w.w);
    double part = 1;
    if (link.kind == JointKind::screw) {
      const double moment = 0.5 * (link.inertia[0] + link.inertia[1] + link.inertia[2]);
      part = moment / (moment + link.mass * link.parameter * link.parameter);
    }
    most = larger(most, T(part * part) * angle2 * angle2 * angle2);
  }
  return most;
}
// What plain steps remember of every link: displacement and half turn of the step before, what they had changed by, and
// what they had changed by the step before that.
template <class T>
struct Past {
  Wrench<T>*motion, *change, *older;

  void turn_page() { std::swap(change, older); }
  // the step becomes the one before; the squares of its second difference, axis by axis
  CATENA_INLINE Vec3<T> see(int i, const Body<T>& b, T per_size2) const {
    const Wrench<T> by = {b.d - motion[i].f, b.w.v - motion[i].t};
    motion[i] = {b.d, b.w.v};
    change[i] = by;
    return per_size2 * squares(by.f - older[i].f) + T(4) * squares(by.t - older[i].t);
  }
};

// the first half of the weights, and the middle one
inline const double* error_weights(int order) {
  static const double four[] = {1.220320358102178, -1.020124270879758, -0.4003921744448383};
  static const double six[] = {-1.155391253242653, 0.3630775961252933, 0.28801430779031, 0.519422742991541,
                               -0.03024678732898097};
  static const double eight[] = {-0.02272166478878199, -1.819069913301432,  0.6081643816474189,
                                 -0.04125509787785583, 0.6387805276455053,  -0.06469211684793398,
                                 -0.1775541098916273,  -0.2643018317906005, 2.285299650410615};
  return order == 4 ? four : order == 6 ? six : eight;
}

template <class Solver>
struct Estimator {
  Node<Solver>& node;
  const Composition& parts;
  Past<double> past;    // of plain steps
  Wrench<double>* sum;  // (link), of composed ones
  const Layout& layout = node.layout;
  RunArgs& args = node.args;
  const Body<double>* body = node.solver.body;
  double error = 0;  // of the last step
  int link = 0;      // that errs most
  // plain steps: how long the last one was, its second difference squared, and how many of that length were before it
  double length = 0, second2 = 0;
  int equal = 0;
  double speed2 = 0, spin2 = 0;  // composed ones: the largest of all bodies and parts, squared

  double per_size2() const { return 1 / (args.size * args.size); }
  void begin() {
    if (parts.count == 1) return;
    for (int i = 0; i < layout.link_count; ++i) sum[i] = {{0, 0, 0}, {0, 0, 0}};
    speed2 = spin2 = 0;
  }
  // a part that has been solved and not yet taken, which turns no body further than a half angle of this cosine
  void see(int k, double h, double cosine) {
    const double most = (1 - cosine) * (1 + cosine);
    if (parts.count == 1) return see_plain(h, most);
    const double weight = error_weights(args.order)[k < parts.count / 2 ? k : parts.count - 1 - k] / h;
    const double scale = per_size2();
    double way2 = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      const Vec3<double> d = body[i].d, eta = body[i].w.v;
      sum[i].f += weight * d;
      sum[i].t += weight * eta;
      const double moved2 = motion2(d, eta, scale);
      way2 = moved2 > way2 ? moved2 : way2;
    }
    speed2 = larger(speed2, way2 / (h * h));
    spin2 = larger(spin2, 4 * most / (h * h));
  }
  void see_plain(double h, double turned2) {
    const double scale = per_size2();
    Vec3<double> most = {0, 0, 0};
    past.turn_page();
    for (int i = 0; i < layout.link_count; ++i) most = larger(most, past.see(i, body[i], scale));
    equal = h == length ? equal + 1 : 0;
    length = h;
    const double before2 = second2, angle2 = 4 * turned2;
    const double cube2 = layout.has_threads ? cube2_along_threads(layout, body) : angle2 * angle2 * angle2;
    second2 = equal >= 2 ? most.x + most.y + most.z : 0;
    error = plain_gain * std::sqrt(larger(larger(second2, before2), cube2));
    // a name is asked for where it is coarse
    if (error > inaccurate_above) link = cube2 > second2 ? fastest() : most_changed(scale);
  }
  int most_changed(double scale) const {
    double most = -1;
    int found = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      const double by2 = motion2(past.change[i].f - past.older[i].f, past.change[i].t - past.older[i].t, scale);
      if (by2 > most) most = by2, found = i;
    }
    return found;
  }
  // that turns most
  int fastest() const {
    int found = 0;
    for (int i = 1; i < layout.link_count; ++i)
      if (body[i].w.w < body[found].w.w) found = i;
    return found;
  }
  // of a composed step of length h, all parts of which have been seen
  void end(double h) {
    if (parts.count == 1) return;
    const double scale = per_size2(), speed = std::sqrt(speed2);
    double most = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      const double by2 = motion2(sum[i].f, sum[i].t, scale);
      if (by2 > most) most = by2, link = i;
    }
    if (!(speed > 0)) {
      error = 0;
      return;
    }
    const double ratio = std::sqrt(most) / speed, way = std::fabs(h) * speed;
    error = way * ratio * (args.order == 4 ? ratio : args.order == 6 ? std::sqrt(ratio) : std::cbrt(ratio));
    error = larger(error, steady_error(args.order, std::fabs(h) * std::sqrt(spin2)));
  }
};

}  // namespace catena::CATENA_ISA
