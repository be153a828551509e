// The motion of a tree in its own freedoms, at one pose: what every unit rate does to the bodies, and what is left of
// their accelerations where the rates are constant.
//
// A freedom is a coordinate of the joint that carries a link, in the user's own terms: its rate is that of the
// coordinate. A link without such a joint floats: its freedoms are those of a free joint to the world, if it has one,
// or else the velocity of its center of mass and its angular velocity in the world frame. With rho from the parent's
// center to the link's, c from the joint point P to the link's center, and e the axes of freedoms r,
//
//     v = v_p + omega_p x rho + sum r slide,   slide = e x c (+ pitch e) of a turn, e of a slide
//     omega = omega_p + sum r e                of turns
//     a = a_p + alpha_p x rho + omega_p x (v - v_p) + sum r' slide + r slide'
//     alpha = alpha_p + sum r' e + r e',       e' = omega_of_the_frame x e
//     slide' = e' x c + e x c',                c' = omega x c + sum r e over slides along axes of the link
//
// e is fixed to the link (`own`) or to its parent; P to the link, or to the parent where slides are along the link's.
// Then M and the efforts of given accelerations are the sums of composite bodies and of Newton and Euler, in O(n) and
// O(n depth) [Featherstone, Rigid Body Dynamics Algorithms, 2008, chapters 5 and 6].
#pragma once

#include "args/dynamics.hpp"
#include "physics/coordinates.hpp"

namespace catena::CATENA_ISA {

// of one freedom
struct TreeAxis {
  Vec3<double> e, slide, turn;  // slide of the link's center and turn of the link for a unit rate
  double rate;
  bool turns, own;
};
// of one link
struct TreeLink {
  int first, count;  // freedoms
  int end;           // one past the last link of its subtree
  int carrier;       // which of the joints with coordinates carries it, -1 for none
  Pose<double> pose;
  Mat3<double> J;
  Wrench<double> velocity, acceleration;
  Vec3<double> rho, c;
  Wrench<double> load;  // what acts on it; then the sum over its subtree of what is missing
  // the composite body of its subtree about the link's center
  double mass;
  Vec3<double> moment;
  Mat3<double> inertia;
};

struct TreeMotion {
  const Layout& layout;
  TreeLink* link;
  TreeAxis* axis;  // (freedom), by links
  int* row_of;     // (freedom) by links -> its place in what comes out
  int count = 0;   // of freedoms

  // which joint carries every link, and the freedoms; in what comes out those of coordinates precede the others
  void number() {
    for (int i = 0; i < layout.link_count; ++i) link[i].carrier = -1;
    for (int j = 0; j < layout.coordinated_count; ++j) {
      const ConstraintInfo& c = layout.coordinated[j].joint;
      if (c.kind == JointKind::free) {
        if (c.end[0] < 0 && c.end[1] >= 0 && c.ground < 0 && layout.link[c.end[1]].joint < 0 &&
            link[c.end[1]].carrier < 0)
          link[c.end[1]].carrier = j;
        continue;
      }
      for (int e = 0; e < 2; ++e)
        if (c.end[e] >= 0 && layout.link[c.end[e]].joint == c.joint) link[c.end[e]].carrier = j;
    }
    count = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      link[i].first = count;
      link[i].count = link[i].carrier >= 0
                          ? coordinate_count(static_cast<int>(layout.coordinated[link[i].carrier].joint.kind))
                          : (info.joint < 0 ? 6 : 0);
      count += link[i].count;
      link[i].end = i + 1;
    }
    for (int i = layout.link_count - 1; i >= 0; --i) {
      const int p = layout.link[i].parent;
      if (p >= 0 && link[i].end > link[p].end) link[p].end = link[i].end;
    }
    // coordinates of joints that close loops are no freedoms
    int next = 0;
    for (int j = 0; j < layout.coordinated_count; ++j) {
      const ConstraintInfo& c = layout.coordinated[j].joint;
      for (int e = 0; e < 2; ++e) {
        if (c.end[e] < 0 || link[c.end[e]].carrier != j) continue;
        const TreeLink& l = link[c.end[e]];
        for (int k = 0; k < l.count; ++k) row_of[l.first + k] = next++;
        break;
      }
    }
    for (int i = 0; i < layout.link_count; ++i)
      for (int k = 0; k < link[i].count && link[i].carrier < 0; ++k) row_of[link[i].first + k] = next++;
  }

  // (freedom), in the order of what comes out: its coordinate, or -1 - 6 body - k of the k-th freedom of one that
  // floats
  void tell_coordinates(int* out) const {
    for (int i = 0; i < layout.link_count; ++i)
      for (int k = 0; k < link[i].count; ++k)
        out[row_of[link[i].first + k]] =
            link[i].carrier < 0 ? -1 - 6 * layout.link[i].body - k : layout.coordinated[link[i].carrier].coordinate + k;
  }

  Pose<double> above(int i) const { return i < 0 ? world_pose() : link[i].pose; }
  Wrench<double> velocity_of(int i) const { return i < 0 ? Wrench<double>{{0, 0, 0}, {0, 0, 0}} : link[i].velocity; }

  void place(const DynamicsArgs& args, long pose) {
    const long n = pose * layout.link_count;
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      TreeLink& l = link[i];
      const long k = n + info.body;
      l.pose = {load3(args.position + 3 * k), matrix(load_quat(args.orientation + 4 * k))};
      l.J = rotated(l.pose.R, info.inertia);
      l.velocity = {load3(args.velocity + 3 * k), load3(args.angular_velocity + 3 * k)};
      const Pose<double> p = above(info.parent);
      l.rho = l.pose.x - p.x;
      l.c = {0, 0, 0};
      if (l.count > 0) place_axes_of(i, p);
    }
  }

  // r' of every freedom from `given`, in the order of what comes out, none if null
  void accelerate(const double* given) {
    for (int i = 0; i < layout.link_count; ++i) {
      const LinkInfo& info = layout.link[i];
      TreeLink& l = link[i];
      const Wrench<double> zero = {{0, 0, 0}, {0, 0, 0}};
      const Wrench<double> a = info.parent < 0 ? zero : link[info.parent].acceleration;
      const Wrench<double> v = velocity_of(info.parent);
      Vec3<double> spin = l.velocity.t, slid = cross(spin, l.c);
      for (int k = l.first; k < l.first + l.count; ++k)
        if (axis[k].own && (!axis[k].turns || is_thread(i)))
          slid += axis[k].rate * (axis[k].slide - cross(axis[k].turn, l.c));
      Vec3<double> along = a.f + cross(a.t, l.rho) + cross(v.t, l.velocity.f - v.f), about = a.t;
      for (int k = l.first; k < l.first + l.count; ++k) {
        const TreeAxis& x = axis[k];
        const double by = given ? given[row_of[k]] : 0;
        const Vec3<double> turning = cross(x.own ? spin : v.t, x.e);
        along += by * x.slide;
        if (!x.turns) {
          along += x.rate * turning;
          continue;
        }
        about += by * x.turn + x.rate * turning;
        along += x.rate * (cross(turning, l.c) + cross(x.turn, slid));
        if (is_thread(i)) along += (x.rate * info.parameter) * turning;
      }
      l.acceleration = {along, about};
    }
  }

  // efforts (freedom) that the accelerations take beyond the loads on links
  void resist(double* efforts) {
    for (int i = 0; i < layout.link_count; ++i) {
      TreeLink& l = link[i];
      const Vec3<double> spin = l.velocity.t;
      l.load = {layout.link[i].mass * l.acceleration.f - l.load.f,
                l.J * l.acceleration.t + cross(spin, l.J * spin) - l.load.t};
    }
    for (int i = layout.link_count - 1; i >= 0; --i) {
      const TreeLink& l = link[i];
      for (int k = l.first; k < l.first + l.count; ++k)
        efforts[row_of[k]] = dot(axis[k].slide, l.load.f, axis[k].turn, l.load.t);
      const int p = layout.link[i].parent;
      if (p < 0) continue;
      link[p].load.f += l.load.f;
      link[p].load.t += l.load.t + cross(l.rho, l.load.f);
    }
  }

  void find_mass(double* out) {
    for (long k = 0; k < static_cast<long>(count) * count; ++k) out[k] = 0;
    for (int i = 0; i < layout.link_count; ++i) {
      link[i].mass = layout.link[i].mass;
      link[i].moment = {0, 0, 0};
      link[i].inertia = link[i].J;
    }
    for (int i = layout.link_count - 1; i >= 0; --i) {
      const TreeLink& l = link[i];
      for (int k = l.first; k < l.first + l.count; ++k) {
        const TreeAxis& x = axis[k];
        Vec3<double> f = l.mass * x.slide + cross(x.turn, l.moment);
        Vec3<double> t = l.inertia * x.turn + cross(l.moment, x.slide);
        for (int j = i; j >= 0; j = layout.link[j].parent) {
          const int end = j == i ? k + 1 : link[j].first + link[j].count;
          for (int m = link[j].first; m < end; ++m) {
            const double entry = dot(axis[m].slide, f, axis[m].turn, t);
            out[row_of[k] * static_cast<long>(count) + row_of[m]] = entry;
            out[row_of[m] * static_cast<long>(count) + row_of[k]] = entry;
          }
          t += cross(link[j].rho, f);
        }
      }
      const int p = layout.link[i].parent;
      if (p < 0) continue;
      // the same about the parent's center
      TreeLink& q = link[p];
      const Vec3<double> d = l.rho, h = l.moment, far = h + l.mass * d;
      const double square = 2 * dot(h, d) + l.mass * norm2(d);
      const auto column = [&](Vec3<double> of, double hk, double dk, Vec3<double> unit) {
        return of + square * unit - hk * d - dk * far;
      };
      q.inertia.i += column(l.inertia.i, h.x, d.x, {1, 0, 0});
      q.inertia.j += column(l.inertia.j, h.y, d.y, {0, 1, 0});
      q.inertia.k += column(l.inertia.k, h.z, d.z, {0, 0, 1});
      q.mass += l.mass;
      q.moment += far;
    }
  }

  // a wrench at the center of a link as efforts, added with a factor to a row (freedom)
  void add_row(int i, const Wrench<double>& w, double factor, double* row) const {
    Vec3<double> t = w.t;
    for (; i >= 0; i = layout.link[i].parent) {
      const TreeLink& l = link[i];
      for (int k = l.first; k < l.first + l.count; ++k)
        row[row_of[k]] += factor * dot(axis[k].slide, w.f, axis[k].turn, t);
      t += cross(l.rho, w.f);
    }
  }

 private:
  bool is_thread(int i) const { return layout.link[i].kind == JointKind::screw; }

  void set(TreeAxis& x, Vec3<double> e, bool turns, bool own, Vec3<double> c) {
    x.e = e;
    x.turns = turns;
    x.own = own;
    x.turn = turns ? e : Vec3<double>{0, 0, 0};
    x.slide = turns ? cross(e, c) : e;
  }
  void place_axes_of(int i, const Pose<double>& p) {
    const LinkInfo& info = layout.link[i];
    TreeLink& l = link[i];
    TreeAxis* const x = axis + l.first;
    if (l.carrier < 0) {
      for (int k = 0; k < 6; ++k) {
        const Vec3<double> unit = {k % 3 == 0 ? 1.0 : 0.0, k % 3 == 1 ? 1.0 : 0.0, k % 3 == 2 ? 1.0 : 0.0};
        set(x[k], unit, k >= 3, false, l.c);
        x[k].rate = dot(unit, k >= 3 ? l.velocity.t : l.velocity.f);
      }
      return;
    }
    const ConstraintInfo& joint = layout.coordinated[l.carrier].joint;
    const Branch branch = branch_of(info.kind, info.flipped);
    const bool is_free = joint.kind == JointKind::free, is_ball = manner_of(info.branch) == swivel_manner;
    const double sign = info.flipped ? -1 : 1;
    bool slides_on_link = false;
    for (int k = 0; k < branch.count && !is_free; ++k)
      slides_on_link |= branch.own[k] && (branch.motion[k] == Motion::slide || branch.motion[k] == Motion::helix);
    if (is_free)
      l.c = -(l.pose.R * load3(joint.anchor_b));
    else if (slides_on_link)
      l.c = l.rho - p.R * load3(info.parent_anchor);
    else
      l.c = -(l.pose.R * load3(info.anchor));
    if (is_free || is_ball) {
      const bool own = is_ball && info.flipped;
      const Mat3<double>& R = is_free ? diagonal(1.0) : own ? l.pose.R : p.R;
      for (int k = 0; k < l.count; ++k)
        set(x[k], sign * (R * load3(joint.frame_a + 3 * (k % 3))), is_ball || k >= 3, own, l.c);
    } else {
      for (int k = 0; k < branch.count; ++k) {
        TreeAxis& to = x[branch.coordinate[k]];
        set(to, sign * ((branch.own[k] ? l.pose.R : p.R) * load3(info.direction + 3 * k)),
            branch.motion[k] != Motion::slide, branch.own[k], l.c);
        if (branch.motion[k] == Motion::helix) to.slide += info.parameter * to.e;
      }
    }
    // rates: turns first, what they leave of the velocity is slides
    const Wrench<double> v = velocity_of(info.parent);
    const Vec3<double> spin = l.velocity.t - v.t;
    Vec3<double> left = l.velocity.f - v.f - cross(v.t, l.rho);
    for (int k = 0; k < l.count; ++k)
      if (x[k].turns) left -= (x[k].rate = dot(x[k].e, spin)) * x[k].slide;
    for (int k = 0; k < l.count; ++k)
      if (!x[k].turns) x[k].rate = dot(x[k].e, left);
  }
};

}  // namespace catena::CATENA_ISA
