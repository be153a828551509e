// Rows of constraints that no joint of the tree is, of rotors that turn with more than one freedom, and of coordinates
// that are no freedoms: what a unit rate of every freedom does to them, and their second derivatives.
//
// With the rows G of a gap, gap' = G V + what time does to it, and gap'' = G V' + d/dt (G V + ...) where the bodies
// keep their velocities V: the last term is a difference of sixth order of the rate over a short time, for which the
// bodies move on with V. It turns bodies by little enough to be good to twelve digits, and needs no formula of any kind
// of row.
#pragma once

#include "dynamics/tree_motion.hpp"
#include "physics/rows/constraint.hpp"
#include "physics/rows/stop.hpp"

namespace catena::CATENA_ISA {

// constraints that are rows here, not joints of the tree
inline bool closes(const ConstraintInfo& c) { return !c.acts() && (c.kind == JointKind::coupling || c.link < 0); }
// rotors that turn with no freedom of the tree
inline bool is_rotor_row(const LawInfo& law) { return law.inertia > 0 && law.link < 0; }

struct RowMotion {
  const Layout& layout;
  TreeMotion& tree;
  Body<double>* body;  // where they are looked at
  double* now;         // (row) rates

  static int row_count(const Layout& layout) {
    int count = 0;
    for (int j = 0; j < layout.constraint_count; ++j)
      if (closes(layout.constraint[j])) count += layout.constraint[j].row_count;
    for (int l = 0; l < layout.law_count; ++l) count += is_rotor_row(layout.law[l]) ? 1 : 0;
    return count;
  }

  // what unit rates do to the rows (row, freedom)
  void find_rows(const DynamicsArgs& args, long pose, double* out) {
    for (long k = 0; k < row_count(layout) * static_cast<long>(tree.count); ++k) out[k] = 0;
    move_to(args, pose, 0);
    each_row(
        [&](int row, const ConstraintInfo& c, const JointRows& r, int k) {
          for (int e = 0; e < c.end_count; ++e)
            if (c.end[e] >= 0)
              tree.add_row(c.end[e], r.w[e * c.row_count + k], 1, out + row * static_cast<long>(tree.count));
        },
        args, pose, 0);
  }
  // second derivatives of their gaps (row) at the accelerations of the links
  void find_drift(const DynamicsArgs& args, long pose, double* out) {
    differentiate(args, pose, row_count(layout), out, [&](int instant, double* rates) {
      each_row(
          [&](int row, const ConstraintInfo& c, const JointRows& r, int k) {
            rates[row] = r.g[k];
            for (int e = 0; e < c.end_count; ++e)
              rates[row] += along(r.w[e * c.row_count + k], tree.velocity_of(c.end[e]));
          },
          args, pose, instant);
    });
    move_to(args, pose, 0);
    each_row(
        [&](int row, const ConstraintInfo& c, const JointRows& r, int k) {
          for (int e = 0; e < c.end_count; ++e)
            if (c.end[e] >= 0) out[row] += along(r.w[e * c.row_count + k], tree.link[c.end[e]].acceleration);
        },
        args, pose, 0);
  }

  void find(const DynamicsArgs& args, long pose) {
    const int rows = row_count(layout);
    if (args.rows) find_rows(args, pose, args.rows + pose * rows * static_cast<long>(tree.count));
    if (args.row_drift) find_drift(args, pose, args.row_drift + pose * rows);
    if (args.stops) find_stops(args, pose);
    if (args.coordinate_rows) {
      const long size = static_cast<long>(layout.coordinate_count) * tree.count;
      double* const out = args.coordinate_rows + pose * size;
      for (long k = 0; k < size; ++k) out[k] = 0;
      move_to(args, pose, 0);
      each_coordinate([&](int j, int end, int first, int count) {
        if (end >= 0) {
          for (int k = 0; k < count; ++k)
            out[(first + k) * static_cast<long>(tree.count) + tree.row_of[tree.link[end].first + k]] = 1;
          return;
        }
        each_unit_rate(args, pose, j, [&](int e, const Wrench<double>& w, int k) {
          tree.add_row(e, w, 1, out + (first + k) * static_cast<long>(tree.count));
        });
      });
    }
    if (args.coordinate_drift) {
      double* const out = args.coordinate_drift + pose * layout.coordinate_count;
      differentiate(args, pose, layout.coordinate_count, out, [&](int instant, double* rates) {
        each_coordinate([&](int j, int end, int first, int count) {
          if (end < 0)
            return find_rates(args, pose, j, instant, [&](int i) { return tree.velocity_of(i); }, true, rates + first);
          for (int k = 0; k < count; ++k) rates[first + k] = 0;
        });
      });
      move_to(args, pose, 0);
      each_coordinate([&](int j, int end, int first, int count) {
        for (int k = 0; k < count && end >= 0; ++k) {
          const int freedom = tree.row_of[tree.link[end].first + k];
          out[first + k] = args.accelerations ? args.accelerations[pose * tree.count + freedom] : 0;
        }
        if (end >= 0) return;
        each_unit_rate(args, pose, j, [&](int e, const Wrench<double>& w, int k) {
          out[first + k] += along(w, tree.link[e].acceleration);
        });
      });
    }
  }

 private:
  static double along(const Wrench<double>& w, const Wrench<double>& v) { return dot(w.f, v.f, w.t, v.t); }
  // of an instant
  static double offset(int instant) { return instant == 0 ? 0 : (instant + 1) / 2 * (instant % 2 == 1 ? 1.0 : -1.0); }

  // the bodies, after so many instants of their velocities
  void move_to(const DynamicsArgs& args, long pose, int instant) {
    const double t = args.instant * offset(instant);
    for (int i = 0; i < layout.link_count; ++i) {
      const long k = pose * layout.link_count + layout.link[i].body;
      const Wrench<double>& v = tree.link[i].velocity;
      Body<double>& b = body[i];
      b.x = load3(args.position + 3 * k) + t * v.f;
      b.q = by_rotation_vector(t * v.t) * load_quat(args.orientation + 4 * k);
      b.R = matrix(b.q);
      b.d = {0, 0, 0};
      b.w = {1, {0, 0, 0}};
    }
  }
  Clock clock_at(const DynamicsArgs& args, long pose, int instant) const {
    const long at = (pose * instant_count + instant) * layout.signal_count;
    Clock clock;
    clock.resting = true;
    clock.now = clock.middle = clock.end = args.signals + at;
    clock.rate = args.signal_rates + at;
    return clock;
  }
  // rows where the bodies are, with what time alone does to their gaps as g
  template <class Use>
  void each_row(Use&& use, const DynamicsArgs& args, long pose, int instant) {
    const Clock clock = clock_at(args, pose, instant);
    int row = 0;
    for (int j = 0; j < layout.constraint_count; ++j) {
      const ConstraintInfo& c = layout.constraint[j];
      if (!closes(c)) continue;
      const RowSite site = {layout, c, body, clock};
      JointRows before, after;
      first_angles(site, before);
      count_terms(whole_of(layout, c), args.term_start + pose * args.term_count, before);
      rows_before(site, before);
      rows_after(site, before, {}, after);
      for (int k = 0; k < c.row_count; ++k) after.g[k] -= before.g[k];
      for (int k = 0; k < c.row_count; ++k) use(row++, c, after, k);
    }
    for (int l = 0; l < layout.law_count; ++l) {
      if (!is_rotor_row(layout.law[l])) continue;
      const ConstraintInfo& c = layout.law[l].measure;
      JointRows rows;
      joint_rows(c, old_pose(body, c.end[0]), old_pose(body, c.end[1]), args.law_start[pose * layout.law_count + l],
                 rows);
      rows.g[0] = 0;
      use(row++, c, rows, 0);
    }
  }
  // hard stops: the row of what each measures
  template <class Use>
  void each_stop(Use&& use, const DynamicsArgs& args, long pose, int instant) {
    const Clock clock = clock_at(args, pose, instant);
    for (int k = 0; k < layout.stop_count; ++k) {
      const ConstraintInfo& c = layout.law[layout.stop[k]].measure;
      const RowSite site = {layout, c, body, clock};
      JointRows rows;
      rows.angle[0] = args.law_start[pose * layout.law_count + layout.stop[k]];
      count_terms(c, args.term_start + pose * args.term_count, rows);
      StopRows::measure_before(site, rows);
      use(k, c, rows);
    }
  }
  void find_stops(const DynamicsArgs& args, long pose) {
    const int count = layout.stop_count;
    double* const found = args.stops + 3L * pose * count;
    const auto rate = [&](const ConstraintInfo& c, const JointRows& r, auto&& motion) {
      double sum = 0;
      for (int e = 0; e < c.end_count; ++e)
        if (c.end[e] >= 0) sum += along(r.w[e], motion(tree.link[c.end[e]]));
      return sum;
    };
    const auto velocity = [](const TreeLink& l) { return l.velocity; };
    // where the last derivatives come from stands behind them for a while
    differentiate(args, pose, count, found, [&](int instant, double* rates) {
      each_stop([&](int k, const ConstraintInfo& c, const JointRows& r) { rates[k] = rate(c, r, velocity); }, args,
                pose, instant);
    });
    for (int k = count - 1; k >= 0; --k) found[3 * k + 2] = found[k];
    move_to(args, pose, 0);
    double* const rows = args.stop_rows + pose * count * static_cast<long>(tree.count);
    for (long k = 0; k < count * static_cast<long>(tree.count); ++k) rows[k] = 0;
    each_stop(
        [&](int k, const ConstraintInfo& c, const JointRows& r) {
          found[3 * k] = r.g[0];
          found[3 * k + 1] = rate(c, r, velocity);
          found[3 * k + 2] += rate(c, r, [](const TreeLink& l) { return l.acceleration; });
          for (int e = 0; e < c.end_count; ++e)
            if (c.end[e] >= 0) tree.add_row(c.end[e], r.w[e], 1, rows + k * static_cast<long>(tree.count));
        },
        args, pose, 0);
  }
  // joints with coordinates, the link that each carries or -1, and which coordinates
  template <class Use>
  void each_coordinate(Use&& use) {
    for (int j = 0; j < layout.coordinated_count; ++j) {
      const auto& [joint, first, counter] = layout.coordinated[j];
      int carried = -1;
      for (int e = 0; e < 2; ++e)
        if (joint.end[e] >= 0 && tree.link[joint.end[e]].carrier == j) carried = joint.end[e];
      use(j, carried, first, coordinate_count(static_cast<int>(joint.kind)));
    }
  }
  // rates of a joint's coordinates where links have velocities, and the ground its own or none
  template <class VelocityOf>
  void find_rates(const DynamicsArgs& args, long pose, int j, int instant, VelocityOf&& velocity, bool ground_moves,
                  double* rates) {
    const ConstraintInfo& c = layout.coordinated[j].joint;
    const Clock clock = clock_at(args, pose, instant);
    const auto moving = [&](int e) -> Moving {
      const Wrench<double> still = {{0, 0, 0}, {0, 0, 0}};
      if (c.end[e] >= 0) return {old_pose(body, c.end[e]), velocity(c.end[e])};
      if (c.ground < 0) return {world_pose(), still};
      return {ground_pose(clock.now + c.ground),
              ground_moves ? ground_velocity(clock.now + c.ground, clock.rate + c.ground) : still};
    };
    const double recent[most_freedoms] = {};
    double coordinate[6];
    joint_motion(c, moving(0), moving(1), recent, coordinate, rates);
  }
  // which twist of which link makes a rate of which coordinate of a joint: the rate is the sum of wrench . velocity
  template <class Use>
  void each_unit_rate(const DynamicsArgs& args, long pose, int j, Use&& use) {
    const ConstraintInfo& c = layout.coordinated[j].joint;
    const int count = coordinate_count(static_cast<int>(c.kind));
    for (int e = 0; e < 2; ++e) {
      if (c.end[e] < 0 || (e == 1 && c.end[1] == c.end[0])) continue;
      double by[6][6];
      for (int k = 0; k < 6; ++k) {
        double unit[6] = {};
        unit[k] = 1;
        const Wrench<double> moved = {load3(unit), load3(unit + 3)}, still = {{0, 0, 0}, {0, 0, 0}};
        find_rates(args, pose, j, 0, [&](int i) { return i == c.end[e] ? moved : still; }, false, by[k]);
      }
      for (int r = 0; r < count; ++r)
        use(c.end[e], {{by[0][r], by[1][r], by[2][r]}, {by[3][r], by[4][r], by[5][r]}}, r);
    }
  }
  // derivatives of rates that are found at every instant
  template <class Rates>
  void differentiate(const DynamicsArgs& args, long pose, int count, double* out, Rates&& find_at) {
    for (int k = 0; k < count; ++k) out[k] = 0;
    if (args.instant == 0) return;
    constexpr double weight[instants_beside] = {3.0 / 4, -3.0 / 20, 1.0 / 60};
    for (int instant = 1; instant < instant_count; ++instant) {
      move_to(args, pose, instant);
      find_at(instant, now);
      const double factor = (instant % 2 == 1 ? 1 : -1) * weight[(instant - 1) / 2] / args.instant;
      for (int k = 0; k < count; ++k) out[k] += factor * now[k];
    }
  }
};

}  // namespace catena::CATENA_ISA
