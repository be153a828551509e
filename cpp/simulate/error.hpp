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
// Five parts do not see a steady turn, which has a term of its own.
//
// Plain steps have one part: there it is the second difference of the motions (d / size, 2 eta) of three equal steps,
// the larger of the last two, or the cube of the turn.
#pragma once

#include "simulate/compose.hpp"
#include "simulate/node.hpp"

namespace catena::CATENA_ISA {

constexpr double plain_gain = 0.145, steady_gain = 0.0072;

// of one body over the step before: its displacement and turn, and what they had changed by
template <class T>
struct Past {
  Wrench<T> motion, change;
};
// of a motion whose rotation is half of a turn
template <class T>
CATENA_INLINE T motion2(Vec3<T> way, Vec3<T> half_turn, T per_size2) {
  return per_size2 * norm2(way) + T(4) * norm2(half_turn);
}
// the second difference of a body's motion, squared; the step becomes the one before
template <class T>
CATENA_INLINE T second_difference2(const Body<T>& b, Past<T>& past, T per_size2) {
  const Wrench<T> change = {b.d - past.motion.f, b.w.v - past.motion.t};
  const T result = motion2(change.f - past.change.f, change.t - past.change.t, per_size2);
  past = {{b.d, b.w.v}, change};
  return result;
}

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
  Past<double>* past;   // (link), of plain steps
  Wrench<double>* sum;  // (link), of composed ones
  const Layout& layout = node.layout;
  RunArgs& args = node.args;
  const Body<double>* body = node.solver.body;
  double error = 0;  // of the last step
  int link = 0;      // that errs most
  // plain steps: how long the last one was, its second difference, and how many of that length were before it
  double length = 0, second = 0;
  int equal = 0;
  double fastest2 = 0, turn2 = 0;

  static long past_size(const Layout& layout, int order) { return order == 2 ? 12L * layout.link_count + 3 : 0; }

  double per_size2() const { return 1 / (args.size * args.size); }
  void begin() {
    if (parts.count == 1) return;
    for (int i = 0; i < layout.link_count; ++i) sum[i] = {{0, 0, 0}, {0, 0, 0}};
    fastest2 = turn2 = 0;
  }
  // a part that has been solved and not yet taken
  void see(int k, double h) {
    if (parts.count == 1) return see_plain(h);
    const double weight = error_weights(args.order)[k < parts.count / 2 ? k : parts.count - 1 - k] / h;
    const double scale = per_size2();
    double way2 = 0, most = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      const Vec3<double> d = body[i].d, eta = body[i].w.v;
      sum[i].f += weight * d;
      sum[i].t += weight * eta;
      const double turned2 = norm2(eta), moved2 = scale * norm2(d) + 4 * turned2;
      way2 = moved2 > way2 ? moved2 : way2;
      most = turned2 > most ? turned2 : most;
    }
    fastest2 = std::fmax(fastest2, way2 / (h * h));
    turn2 = std::fmax(turn2, most);
  }
  void see_plain(double h) {
    const double scale = per_size2();
    double change2 = 0, most = 0;
    int changed = 0, turned = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      const double by2 = second_difference2(body[i], past[i], scale), turn = norm2(body[i].w.v);
      if (by2 > change2) change2 = by2, changed = i;
      if (turn > most) most = turn, turned = i;
    }
    equal = h == length ? equal + 1 : 0;
    length = h;
    const double before = second, angle = 2 * std::sqrt(most), cube = angle * angle * angle;
    second = equal >= 2 ? std::sqrt(change2) : 0;
    error = plain_gain * std::fmax(std::fmax(second, before), cube);
    link = cube > second ? turned : changed;
  }
  // of a composed step of length h, all parts of which have been seen
  void end(double h) {
    if (parts.count == 1) return;
    const double scale = per_size2(), fastest = std::sqrt(fastest2);
    double most = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      const double by2 = motion2(sum[i].f, sum[i].t, scale);
      if (by2 > most) most = by2, link = i;
    }
    if (!(fastest > 0)) {
      error = 0;
      return;
    }
    const double ratio = std::sqrt(most) / fastest, way = std::fabs(h) * fastest;
    if (args.order == 4)
      error = way * std::fmax(ratio * ratio, steady_gain * 16 * turn2 * turn2);
    else
      error = way * ratio * (args.order == 6 ? std::sqrt(ratio) : std::cbrt(ratio));
  }
};

}  // namespace catena::CATENA_ISA
