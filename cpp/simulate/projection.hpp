// What is solved for bodies at rest: there Newton's matrix is the mass matrix with the joints of the node on both
// sides, and one increment is what the joints leave of a motion. The velocities of a node are found so.
#pragma once

#include <utility>

#include "simulate/node.hpp"
#include "solve/newton.hpp"

namespace catena::CATENA_ISA {

constexpr int most_refinements = 20;  // of a node's velocities
constexpr double safe_pivot = 1e-6;   // that needs none

template <class Solver>
struct Projection {
  Node<Solver>& node;
  Newton<Solver>& newton;
  Stops<Solver>& stops;
  double* zeros;         // unknowns of a body at rest
  double* rates;         // their increment where velocities are projected: rates of the unknowns, to guess from
  double* scratch;       // the same where rotors and functions of time stand still
  double* momentum;      // (law) room for momenta of rotors
  Wrench<double>* owed;  // (link) room for what is still to be made up for
  const Layout& layout = node.layout;
  Solver& solver = node.solver;

  // a function that solves for bodies that stand still
  template <class F>
  auto resting(double* increment, F&& solve) {
    double *z = solver.z, *dz = solver.dz;
    solver.z = zeros;
    solver.dz = increment;
    solver.clock.resting = true;
    solver.clock.last(1);
    const auto result = stops.besides(Besides::projection, [&] {
      stops.rest();
      const auto found = solve();
      solver.clock.resting = false;
      return found;
    });
    solver.z = z;
    solver.dz = dz;
    return result;
  }
  // the same where rotors and functions of time stand still too
  template <class F>
  auto frozen(F&& solve) {
    for (int l = 0; l < layout.law_count; ++l) std::swap(momentum[l] = 0, node.law_momentum[l]);
    solver.clock.frozen = true;
    if constexpr (Solver::acts_on_axes) solver.pushed = zeros;
    const auto result = resting(scratch, solve);
    solver.clock.frozen = false;
    if constexpr (Solver::acts_on_axes) solver.pushed = node.pushed;
    restore_momenta();
    return result;
  }
  void restore_momenta() {
    for (int l = 0; l < layout.law_count; ++l) node.law_momentum[l] = momentum[l];
  }

  // node velocities into body.dx and body.phi
  bool project(double arriving) {
    node.signals.read_rates(node.now);
    return resting(rates, [&] {
      for (int i = 0; i < layout.link_count; ++i) aim_body(solver.body[i], 1.0, arriving);
      node.push(1, arriving);
      if (stops.count() > 0) {
        stops.meet();
        stops.stand(false);
      }
      return settle() && polish(arriving);
    });
  }
  // an increment, again until stops stay as they are
  bool settle() {
    for (int changes = 0;; ++changes) {
      solver.rest();
      if (!solver.direction()) return false;
      if (stops.count() > 0 && changes == 0) stops.still = rounded_speed * fastest();
      if (stops.count() == 0 || !stops.settle(changes == 0)) return true;
      if (changes == most_changes + changes_of_each * stops.count()) return false;
    }
  }
  // where one increment is not all
  bool polish(double arriving) {
    if (has_loops(layout)) return solver.smallest() >= safe_pivot || refine();
    if constexpr (Newton<Solver>::looks_ahead)
      if (layout.loop_count == 0 && solver.slid_far()) return correct(arriving) && correct(arriving);
    return true;
  }
  // Stops that are touched anew: what arrives, projected onto those that stood before, bounces; momenta are those after
  // it. False if velocities cannot be found.
  bool strike() {
    stops.meet();
    node.signals.read_rates(node.now);
    const bool fine = resting(rates, [&] {
      for (int i = 0; i < layout.link_count; ++i) aim_body(solver.body[i], 1.0, node.half);
      node.push(1, node.half);
      stops.stand(true);
      if (!settle() || !polish(node.half)) return false;
      bool hits = stops.strike(false, false);
      node.take_velocities();
      node.half = 0;
      for (int impacts = 1, most = stops.most_impacts(); hits; ++impacts) {
        for (int i = 0; i < layout.link_count; ++i) aim_body(solver.body[i], 1.0, 0.0);
        node.push(1, 0);
        if (!settle() || !polish(0)) return false;
        node.take_velocities();
        tell_impacts();
        hits = impacts <= most && stops.strike(true, impacts == most);
      }
      return true;
    });
    stops.leave();
    node.struck = true;
    return fine;
  }
  // of any body, once velocities have been projected (m/s or rad/s)
  double fastest() const {
    double most = 0;
    for (int i = 0; i < layout.link_count; ++i)
      most = larger(most, larger(norm2(solver.body[i].dx), norm2(solver.body[i].phi)));
    return std::sqrt(most);
  }
  // Stops that let go at the node: what arrives, projected while they still hold, becomes the momenta. False if
  // velocities cannot be found.
  bool release(double most) {
    stops.meet();
    node.signals.read_rates(node.now);
    const bool fine = resting(rates, [&] {
      for (int i = 0; i < layout.link_count; ++i) aim_body(solver.body[i], 1.0, node.half);
      node.push(1, node.half);
      stops.stand(true);
      stops.fixed = true;
      const bool found = settle() && polish(node.half);
      stops.fixed = false;
      if (!found) return false;
      node.take_velocities();
      node.half = 0;
      return true;
    });
    stops.let_go(most, &Stop::press_ahead);
    node.struck = true;
    return fine;
  }
  void tell_impacts() {
    RunArgs& args = node.args;
    for (int k = 0; k < stops.count(); ++k) {
      const Stop& s = stops.stop[k];
      if (s.held == 0 || s.push == 0) continue;
      if (args.tell_impact)
        args.tell_impact(args.context, args.tally.impacts, {node.now, s.law, s.push, s.approach, stops.rate_of(s)});
      ++args.tally.impacts;
    }
  }
  // what is left of the momenta, projected, is what the velocities are wrong by
  bool correct(double arriving) {
    stops.rest();
    for (int l = 0; l < layout.law_count; ++l)
      node.law_momentum[l] = (momentum[l] = node.law_momentum[l]) - node.rotor_momentum(l);
    for (int k = 0; k < newton.motions; ++k) newton.last_dz[k] = solver.dz[k];
    for (int i = 0; i < layout.link_count; ++i) {
      Body<double>& b = solver.body[i];
      owed[i] = {b.dx, b.phi};
      aim_body(b, 1.0, arriving);
      b.target_d -= layout.link[i].share * b.dx;
      b.target_L -= b.J * b.phi;
    }
    solver.rest();
    const bool fine = solver.direction();
    restore_momenta();
    if (!fine) return false;
    for (int k = 0; k < newton.motions; ++k) solver.dz[k] += newton.last_dz[k];
    for (int i = 0; i < layout.link_count; ++i) {
      solver.body[i].dx += owed[i].f;
      solver.body[i].phi += owed[i].t;
    }
    return true;
  }
  // Where rows nearly say the same, one increment takes away only a part of what they forbid, and rounding is as large
  // as the pivot is small: the same again from its velocities, as long as that goes on at a pace.
  bool refine() {
    for (int l = 0; l < layout.law_count; ++l) momentum[l] = node.law_momentum[l];
    // laws on freedoms are in the velocities
    if constexpr (Solver::acts_on_axes) solver.pushed = zeros;
    const bool fine = repeat();
    if constexpr (Solver::acts_on_axes) solver.pushed = node.pushed;
    restore_momenta();
    return fine;
  }
  bool repeat() {
    double last = 0;
    for (int k = 0; k < most_refinements; ++k) {
      node.find_rotor_momenta();
      double change = 0, speed = 0;
      for (int i = 0; i < layout.link_count; ++i) {
        Body<double>& b = solver.body[i];
        owed[i] = {b.dx, b.phi};
        b.target_d = layout.link[i].share * b.dx;
        b.target_L = b.J * b.phi;
      }
      solver.rest();
      if (!solver.direction()) return false;
      for (int i = 0; i < layout.link_count; ++i) {
        const Body<double>& b = solver.body[i];
        change += norm2(b.dx - owed[i].f) + layout.span * layout.span * norm2(b.phi - owed[i].t);
        speed += norm2(b.dx) + layout.span * layout.span * norm2(b.phi);
      }
      if (!(change > 1e-28 * speed) || (k > 0 && change > 0.9 * last)) return true;
      last = change;
    }
    return true;
  }
};

}  // namespace catena::CATENA_ISA
