// Close loops that are wide open, by moving the joints of a tree, which stay closed.
//
// With q the coordinates of the tree and g(q) what is open (lengths in parts of the mechanism's size), |g|^2 is made
// small by Gauss-Newton steps within a region in which the linear picture has proved true:
//
//     dq = J^T y,    (J J^T + lambda) y = -g,
//
// a unit of each coordinate being what moves all bodies beyond it, together, by one rad or size, so that little is
// moved; lambda being what makes |dq| the radius, or next to nothing where the whole step fits. Then g + J dq = -lambda
// y, whether or not rows say the same thing twice, and so tells what the step should have gained. J J^T couples loops
// that share joints: kept from the first such row to the diagonal it takes linear time. Above 450 lines: one algorithm.
#pragma once

#include "args/run.hpp"
#include "model/assembly_tree.hpp"
#include "simulate/wide_rows.hpp"

namespace catena::CATENA_ISA {

struct Closer {
  const Layout& layout;
  const ClosingPlan& plan;
  CloseArgs& args;
  Body<double>* body;                      // (link) x, q and R alone
  Vec3<double>*shift, *kept_shift;         // (branch) of b's joint frame in a's
  Quat<double>*turn, *kept_turn;           // (branch)
  FrameTurns* frames;                      // (branch)
  double *moved, *kept_moved;              // (freedom) from the start
  double* measure;                         // (freedom) rad or m
  Wrench<double>* twist;                   // (freedom) velocity at the origin, angular velocity
  JointRows* rows;                         // (loop)
  double *share, *product, *factor;        // J; J J^T; the root of that with lambda, of which rows follow each other
  double *gap, *ahead, *y, *slope, *step;  // (row), but the last (freedom)
  Clock clock = {};
  unsigned long long seed = 1;
  bool follows = true;    // angles of joints, at every iteration
  bool all_move = false;  // joints, not only those that loops pass through

  static constexpr double least = 1e-10;                  // lambda of a whole step
  static constexpr double closed = 1e-12;                 // |g| that is
  static constexpr double first_radius = 1, widest = 10;  // of the region
  static constexpr double stalled = 1e-4;                 // parts of |g|^2 that a step gains at least,
  static constexpr int patience = 10;                     // but for so many in a row
  static constexpr double slides = 0.05;                  // parts of the size that go with a turn of 1 rad, in restarts

  bool moves(const ClosingBranch& b) const { return all_move || b.first_strand < b.end_strand; }
  bool holds(int freedom) const { return args.held && args.held[freedom]; }

  double random() {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(seed >> 11) / 4503599627370496.0 - 1;
  }

  //---- where bodies are ----

  const ConstraintInfo* joint_of(const ClosingBranch& b) const {
    return b.constraint < 0 ? nullptr : layout.constraint + b.constraint;
  }
  Pose<double> pose(int link) const { return old_pose(body, link); }
  void set(int link, Vec3<double> x, const Quat<double>& q) {
    body[link].x = x;
    body[link].q = q;
    body[link].R = matrix(q);
  }
  Standing standing(int link) const {
    const Wrench<double> none = {{0, 0, 0}, {0, 0, 0}};
    if (link < 0) return {{0, 0, 0}, {1, {0, 0, 0}}, none};
    return {body[link].x, body[link].q, none};
  }

  // from the arguments' pose, which is one of a mechanism that may have another geometry
  void enter(const Layout& described) {
    for (int i = 0; i < layout.link_count; ++i) {
      const int k = layout.link[i].body;
      set(i, load3(args.position + 3 * k), load_quat(args.orientation + 4 * k));
    }
    for (int k = 0; k < plan.branch_count; ++k) {
      const ClosingBranch& b = plan.branch[k];
      const ConstraintInfo* c = joint_of(b);
      if (!c) {
        shift[k] = body[b.child].x;
        turn[k] = body[b.child].q;
        continue;
      }
      const Standing at = standing(c->end[0]), bt = standing(c->end[1]);
      const ConstraintInfo& seen = described.constraint[b.constraint];
      const Mat3<double> A = matrix(at.q), axes = A * frame(seen.frame_a);
      shift[k] = transposed_times(axes, bt.x + matrix(bt.q) * load3(seen.anchor_b) - at.x - A * load3(seen.anchor_a));
      turn[k] = unit(conjugate(at.q * quaternion(frame(seen.frame_a))) * bt.q * quaternion(frame(seen.frame_b)));
      frames[k] = FrameTurns(*c);
    }
    for (int f = 0; f < plan.freedom_count; ++f) moved[f] = 0;
    for (int l = 0; l < plan.loop_count; ++l) {
      const ClosingLoop& loop = plan.loop[l];
      if (loop.constraint < 0) continue;
      const ConstraintInfo& c = layout.constraint[loop.constraint];
      first_angles({layout, c, body, clock}, rows[l]);
      count_terms(c, args.term_start, rows[l]);
    }
  }
  void place() {
    for (int k = 0; k < plan.branch_count; ++k) {
      const ClosingBranch& b = plan.branch[k];
      const ConstraintInfo* c = joint_of(b);
      if (!c) {
        set(b.child, shift[k], turn[k]);
        continue;
      }
      // as placed_a and placed_b do of what moves
      const Pose<double> above = pose(b.parent);
      const Quat<double> under = b.parent < 0 ? Quat<double>{1, {0, 0, 0}} : body[b.parent].q;
      const Vec3<double> at_a = load3(c->anchor_a) + frame(c->frame_a) * shift[k], at_b = load3(c->anchor_b);
      const auto& [of_a, of_b] = frames[k];
      set(b.child, above.x,
          unit(b.flipped ? under * of_b * conjugate(turn[k]) * conjugate(of_a)
                         : under * of_a * turn[k] * conjugate(of_b)));
      body[b.child].x += above.R * (b.flipped ? at_b : at_a) - body[b.child].R * (b.flipped ? at_a : at_b);
    }
  }

  // the freedoms of a branch one by one: f(freedom, motion, axis, whether the axis is b's)
  template <class F>
  void each_freedom(const ClosingBranch& b, F&& f) const {
    const ConstraintInfo* c = joint_of(b);
    const JointForm& form = joint_form[static_cast<int>(c ? c->kind : JointKind::free)];
    int at = b.first_freedom;
    for (int k = 0; k < form.freedom_count; ++k) {
      const Freedom& freedom = form.freedom[k];
      if (freedom.motion < Motion::swivel) {
        f(at++, freedom.motion, freedom.axis, freedom.side == Side::b);
        continue;
      }
      for (int axis = 0; axis < 3; ++axis)
        f(at++, freedom.motion == Motion::swivel ? Motion::turn : Motion::slide, axis, false);
    }
  }

  // what a freedom does to all bodies beyond it
  void find_units() {
    for (int f = 0; f < plan.freedom_count; ++f) measure[f] = 1;
    find_twists();
    for (int f = 0; f < plan.freedom_count; ++f) measure[f] = 0;
    for (int k = plan.branch_count - 1; k >= 0; --k)
      for (int up = k; up >= 0; up = plan.branch[up].above) {
        const ClosingBranch& b = plan.branch[up];
        const Vec3<double> x = body[plan.branch[k].child].x;
        if (b.first_strand == b.end_strand) continue;
        for (int f = b.first_freedom; f < b.first_freedom + b.freedom_count; ++f) {
          const Vec3<double> way = twist[f].f + cross(twist[f].t, x);
          measure[f] += norm2(twist[f].t) + norm2(way) / (args.size * args.size);
        }
      }
    // what is held moves by nothing
    for (int f = 0; f < plan.freedom_count; ++f)
      measure[f] = holds(f) ? 0 : measure[f] > 0 ? 1 / std::sqrt(measure[f]) : 1;
  }

  // the joints by so much; turns of a ball are made one after the other
  void move(const double* by) {
    for (int k = 0; k < plan.branch_count; ++k) {
      const ClosingBranch& b = plan.branch[k];
      if (!moves(b)) continue;
      const double pitch = b.constraint < 0 ? 0 : layout.constraint[b.constraint].parameter;
      each_freedom(b, [&](int f, Motion motion, int axis, bool own) {
        const double way = measure[f] * by[f];
        if (way == 0) return;
        const Vec3<double> along = {axis == 0 ? way : 0, axis == 1 ? way : 0, axis == 2 ? way : 0};
        moved[f] += way;
        if (motion == Motion::slide) shift[k] += along;
        if (motion == Motion::helix) shift[k] += pitch * along;
        if (motion == Motion::slide) return;
        const Quat<double> q = by_rotation_vector(along);
        turn[k] = unit(own ? turn[k] * q : q * turn[k]);
      });
    }
    place();
  }
  void find_twists() {
    for (int k = 0; k < plan.branch_count; ++k)
      if (moves(plan.branch[k])) find_twists_of(plan.branch[k]);
  }
  void find_twists_of(const ClosingBranch& b) {
    const ConstraintInfo* c = joint_of(b);
    const Pose<double> pa = c ? pose(c->end[0]) : world_pose(), pb = c ? pose(c->end[1]) : pose(b.child);
    const Vec3<double> point = c ? pb.x + pb.R * load3(c->anchor_b) : pb.x;
    const Mat3<double> e = c ? pa.R * frame(c->frame_a) : diagonal(1.0);
    const Mat3<double> h = c ? pb.R * frame(c->frame_b) : pb.R;
    const double sign = b.flipped ? -1 : 1;
    each_freedom(b, [&](int f, Motion motion, int axis, bool own) {
      const Mat3<double>& from = own ? h : e;
      const Vec3<double> n = (sign * measure[f]) * (axis == 0 ? from.i : axis == 1 ? from.j : from.k);
      twist[f] = {n, {0, 0, 0}};
      if (motion == Motion::slide) return;
      twist[f] = {cross(point, n), n};
      if (motion == Motion::helix) twist[f].f += c->parameter * n;
    });
  }

  void keep() {
    for (int k = 0; k < plan.branch_count; ++k) kept_shift[k] = shift[k], kept_turn[k] = turn[k];
    for (int f = 0; f < plan.freedom_count; ++f) kept_moved[f] = moved[f];
  }
  void go_back() {
    for (int k = 0; k < plan.branch_count; ++k) shift[k] = kept_shift[k], turn[k] = kept_turn[k];
    for (int f = 0; f < plan.freedom_count; ++f) moved[f] = kept_moved[f];
    place();
  }

  //---- what is open ----

  double scale_of(const ConstraintInfo& c, int row) const { return c.lengths >> row & 1u ? 1 / args.size : 1; }

  // gaps into `to`, and what they do if joints move; squares summed
  double look(double* to, bool with_rates) {
    if (with_rates) find_twists();
    double sum = 0;
    for (int l = 0; l < plan.loop_count; ++l) {
      const ClosingLoop& loop = plan.loop[l];
      if (loop.constraint < 0)
        look_at_bound(loop, to, with_rates);
      else
        look_at(loop, rows[l], to, with_rates);
      for (int r = 0; r < loop.row_count; ++r) sum += to[loop.row + r] * to[loop.row + r];
    }
    return sum;
  }
  void look_at_bound(const ClosingLoop& loop, double* to, bool with_rates) {
    const ClosingBound& bound = plan.bound[loop.bound];
    const ClosingStrand& strand = plan.strand[loop.first_strand];
    const ClosingBranch& b = plan.branch[strand.branch];
    const double at = bound.start + moved[bound.freedom];
    const double over = at > bound.upper ? at - bound.upper : at < bound.lower ? at - bound.lower : 0;
    const bool slides = moves_along(b, bound.freedom);
    to[loop.row] = over / (slides ? args.size : 1);
    for (int f = 0; f < b.freedom_count && with_rates; ++f)
      share[strand.first_share + f] =
          over != 0 && b.first_freedom + f == bound.freedom ? measure[bound.freedom] / (slides ? args.size : 1) : 0;
  }
  bool moves_along(const ClosingBranch& b, int freedom) const {
    bool slides = false;
    each_freedom(b, [&](int f, Motion motion, int, bool) { slides |= f == freedom && motion == Motion::slide; });
    return slides;
  }
  void look_at(const ClosingLoop& loop, JointRows& own, double* to, bool with_rates) {
    const ConstraintInfo& c = layout.constraint[loop.constraint];
    double counted[most_terms];
    __builtin_memcpy(counted, own.angle, sizeof counted);
    rows_before({layout, c, body, clock}, own);
    // a step that may be taken back leaves the turns as they are
    if (!with_rates) __builtin_memcpy(own.angle, counted, sizeof counted);
    WideRows(c, pose_before(c, 0, body, clock), pose_before(c, 1, body, clock), own);
    for (int r = 0; r < c.row_count; ++r) {
      const bool idle = row_is_velocity(static_cast<int>(c.kind), r);
      to[loop.row + r] = idle ? 0 : scale_of(c, r) * own.g[r];
    }
    for (int s = loop.first_strand; s < loop.end_strand && with_rates; ++s) {
      const ClosingStrand& strand = plan.strand[s];
      const ClosingBranch& b = plan.branch[strand.branch];
      for (int r = 0; r < c.row_count; ++r) {
        // of all ends beyond the branch, at the origin
        Wrench<double> pull = {{0, 0, 0}, {0, 0, 0}};
        for (int end = 0; end < c.end_count; ++end) {
          if (!(strand.ends >> end & 1u) || row_is_velocity(static_cast<int>(c.kind), r)) continue;
          const Wrench<double>& w = own.w[end * c.row_count + r];
          pull.f += w.f;
          pull.t += w.t + cross(body[c.end[end]].x, w.f);
        }
        for (int f = 0; f < b.freedom_count; ++f) {
          const Wrench<double>& v = twist[b.first_freedom + f];
          share[strand.first_share + r * b.freedom_count + f] = scale_of(c, r) * (dot(pull.f, v.f) + dot(pull.t, v.t));
        }
      }
    }
  }

  //---- the step ----

  // the row of a matrix kept to the diagonal, so that [c] is column c
  template <class T>
  static T* row_of(T* entries, const ClosingLoop& loop, int r) {
    const Offset first_width = loop.row + 1 - loop.first_row;
    return entries + loop.first_entry + r * first_width + Offset{r} * (r - 1) / 2 - loop.first_row;
  }
  void multiply() {
    for (Offset k = 0; k < plan.entry_count; ++k) product[k] = 0;
    for (int k = 0; k < plan.branch_count; ++k) {
      const ClosingBranch& b = plan.branch[k];
      for (int i = b.first_strand; i < b.end_strand; ++i)
        for (int j = b.first_strand; j <= i; ++j) {
          const ClosingStrand &s = plan.strand[plan.passing[i]], &t = plan.strand[plan.passing[j]];
          const ClosingLoop &mine = plan.loop[s.loop], &other = plan.loop[t.loop];
          for (int r = 0; r < mine.row_count; ++r) {
            double* to = row_of(product, mine, r);
            const double* a = share + s.first_share + r * b.freedom_count;
            for (int c = 0; c < (i == j ? r + 1 : other.row_count); ++c) {
              const double* with = share + t.first_share + c * b.freedom_count;
              double sum = 0;
              for (int f = 0; f < b.freedom_count; ++f) sum += a[f] * with[f];
              to[other.row + c] += sum;
            }
          }
        }
    }
  }
  static double dot_of(const double* a, const double* b, int from, int to) {
    double sum[4] = {0, 0, 0, 0};
    for (; from + 4 <= to; from += 4)
      for (int k = 0; k < 4; ++k) sum[k] += a[from + k] * b[from + k];
    for (; from < to; ++from) sum[0] += a[from] * b[from];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
  bool factorise(double lambda) {
    for (Offset k = 0; k < plan.entry_count; ++k) factor[k] = product[k];
    for (int l = 0; l < plan.loop_count; ++l)
      for (int r = 0; r < plan.loop[l].row_count; ++r) {
        const int n = plan.loop[l].row + r, first = plan.loop[l].first_row;
        double* own = row_of(factor, plan.loop[l], r);
        for (int m = plan.loop[l].first_loop; m <= l; ++m) {
          const ClosingLoop& other = plan.loop[m];
          const int from = first > other.first_row ? first : other.first_row;
          for (int c = other.row; c < other.row + other.row_count && c < n; ++c) {
            const double* there = row_of(factor, other, c - other.row);
            own[c] = (own[c] - dot_of(own, there, from, c)) / there[c];
          }
        }
        const double pivot = own[n] + lambda - dot_of(own, own, first, n);
        if (!(pivot > 0)) return false;
        own[n] = std::sqrt(pivot);
      }
    return true;
  }
  // x = (J J^T + lambda)^-1 x
  void solve(double* x) const {
    for (int l = 0; l < plan.loop_count; ++l)
      for (int r = 0; r < plan.loop[l].row_count; ++r) {
        const int n = plan.loop[l].row + r;
        const double* own = row_of(factor, plan.loop[l], r);
        x[n] = (x[n] - dot_of(own, x, plan.loop[l].first_row, n)) / own[n];
      }
    for (int l = plan.loop_count - 1; l >= 0; --l)
      for (int r = plan.loop[l].row_count - 1; r >= 0; --r) {
        const int n = plan.loop[l].row + r;
        const double* own = row_of(factor, plan.loop[l], r);
        x[n] /= own[n];
        for (int c = plan.loop[l].first_row; c < n; ++c) x[c] -= own[c] * x[n];
      }
  }
  // dq = J^T y, and its square
  double find_step() {
    for (int f = 0; f < plan.freedom_count; ++f) step[f] = 0;
    for (int l = 0; l < plan.loop_count; ++l)
      for (int s = plan.loop[l].first_strand; s < plan.loop[l].end_strand; ++s) {
        const ClosingBranch& b = plan.branch[plan.strand[s].branch];
        for (int r = 0; r < plan.loop[l].row_count; ++r)
          for (int f = 0; f < b.freedom_count; ++f)
            step[b.first_freedom + f] +=
                y[plan.loop[l].row + r] * share[plan.strand[s].first_share + r * b.freedom_count + f];
      }
    double sum = 0;
    for (int f = 0; f < plan.freedom_count; ++f) sum += step[f] * step[f];
    return sum;
  }
  // the step that fits into the region, and its length; what it leaves of |g|^2 if the picture is true, less than 0 if
  // there is none
  double find_step_within(double radius, double& length) {
    double lambda = least;
    for (int tries = 0; tries < 30; ++tries) {
      if (!factorise(lambda)) return -1;
      for (int r = 0; r < plan.row_count; ++r) y[r] = -gap[r];
      solve(y);
      length = std::sqrt(find_step());
      if (!(length < 1e300)) return -1;
      if (length <= (lambda > least ? 1.1 : 1.0) * radius && (lambda == least || length >= 0.9 * radius)) break;
      // |dq|^2 falls with lambda by 2 y . J J^T (J J^T + lambda)^-1 y
      double fall = 0;
      for (int r = 0; r < plan.row_count; ++r) slope[r] = y[r];
      solve(slope);
      for (int r = 0; r < plan.row_count; ++r) fall -= (gap[r] + lambda * y[r]) * slope[r];
      const double next = lambda + length / radius * (length - radius) * length / std::fmax(fall, 1e-300);
      lambda = std::fmax(std::fmax(next, 1e-3 * lambda), least);
    }
    double left = 0;
    for (int r = 0; r < plan.row_count; ++r) left += lambda * y[r] * lambda * y[r];
    return left;
  }

  void run() {
    clock.resting = clock.frozen = true;
    clock.now = args.signals;
    seed = args.seed;
    enter(layout);
    if (args.amplitude > 0) disturb();
    args.iterations = 0;
    find_units();
    count_turns();
    close(closed, args.iteration_limit);
    store();
  }
  // until no more than `enough` is open, or after so many iterations in all; the units are known
  void close(double enough, int limit) {
    double cost = look(gap, true), radius = first_radius;
    for (int idle = 0; idle < patience && cost > enough * enough && args.iterations < limit;) {
      multiply();
      keep();
      double now = cost;
      bool better = false;
      for (int cut = 0; cut < 12 && !better; ++cut) {
        double length = 0;
        const double left = find_step_within(radius, length);
        if (left < 0) break;
        move(step);
        now = look(ahead, false);
        const double ratio = cost > left ? (cost - now) / (cost - left) : -1;
        if (!(ratio >= 0.25))
          radius = 0.25 * length;
        else if (ratio > 0.75 && length > 0.8 * radius)
          radius = std::fmin(2 * radius, widest);
        better = now < cost && ratio > 1e-4;
        if (!better) go_back();
      }
      if (!better) break;
      ++args.iterations;
      idle = now > (1 - stalled) * cost ? idle + 1 : 0;
      cost = look(gap, true);
      if (follows) count_turns();
    }
    args.open = std::sqrt(cost);
  }
  void store() const {
    for (int i = 0; i < layout.link_count; ++i) {
      const int k = layout.link[i].body;
      store3(args.position + 3 * k, body[i].x);
      store_quat(args.orientation + 4 * k, body[i].q);
    }
  }
  // of all freedoms, held or not: (row, freedom)
  void find_row_rates(double* out) {
    clock.resting = clock.frozen = true;
    clock.now = args.signals;
    enter(layout);
    for (int f = 0; f < plan.freedom_count; ++f) measure[f] = 1;
    look(gap, true);
    for (int s = 0; s < plan.strand_count; ++s) {
      const ClosingLoop& loop = plan.loop[plan.strand[s].loop];
      const ClosingBranch& b = plan.branch[plan.strand[s].branch];
      for (int r = 0; r < loop.row_count; ++r)
        for (int f = 0; f < b.freedom_count; ++f)
          out[Offset{loop.row + r} * plan.freedom_count + b.first_freedom + f] =
              share[plan.strand[s].first_share + r * b.freedom_count + f];
    }
  }
  // elsewhere, at random
  void disturb() {
    for (int k = 0; k < plan.branch_count; ++k)
      each_freedom(plan.branch[k], [&](int f, Motion motion, int, bool) {
        measure[f] = 1;
        step[f] = holds(f) ? 0 : args.amplitude * random() * (motion == Motion::slide ? slides * args.size : 1);
      });
    move(step);
  }
  // angles of joints are followed on the way
  void count_turns() {
    for (int k = 0; k < layout.counter_count; ++k) {
      const ConstraintInfo& m = layout.counter[k];
      args.counted[k] = angle_near(m, pose_before(m, 0, body, clock), pose_before(m, 1, body, clock), args.counted[k]);
    }
  }
};

}  // namespace catena::CATENA_ISA
