// Where bodies are and how they move at given coordinates and rates, from the root to the leaves.
//
// Everything is in the world frame, and a body's velocity, acceleration and wrench are those at the joint it hangs on.
// So a joint's motion is purely angular, a shift from joint to joint is a vector l, and no rotations of six numbers are
// needed:
//
//   w = w_p + s,   s = a rate  or  R rate         dw/dt = dw_p/dt + (a or R) d(rate)/dt + w_p x s
//   joint's point: acceleration_p + dw_p/dt x l + w_p x (w_p x l)
#pragma once

#include "angles.hpp"
#include "model.hpp"

namespace rivals {

template <class T>
struct Link {
  int kind, parent, coordinate, rate;
  int hinge;                // which of the hinges it is
  Quat<T> rest, rest_axis;  // a hinge's turn is cos(angle / 2) rest + sin(angle / 2) rest_axis
  Vec3<T> axis;
  Vec3<T> hang;    // from the parent's joint to this one, in the parent's frame
  Vec3<T> moment;  // mass times the way from the joint to the centre of mass, in the body's frame
  T mass;
  T inertia[6];  // about the joint, in the body's frame
};

template <class T>
struct Frame {
  Quat<T> q;
  Mat3<T> R;
  Vec3<T> w;        // angular velocity
  Vec3<T> axis;     // of a hinge
  Vec3<T> l;        // from the parent's joint
  Vec3<T> turning;  // w_p x s
  Vec3<T> pulling;  // w_p x (w_p x l)
  Vec3<T> x, v;     // of the joint's point; its velocity for loops alone
};

template <class T>
struct Kinematics {
  const Model& model;
  std::vector<Link<T>> link;
  std::vector<Frame<T>> frame;
  std::vector<int> hinge_coordinate;
  std::vector<T> half, sine, cosine;

  explicit Kinematics(const Model& m) : model(m), link(m.bodies + 1), frame(m.bodies + 1) {
    for (int i = 1; i <= m.bodies; ++i) {
      const Joint& joint = m.joints[i];
      const Vec3<double> foot = joint.parent > 0 ? m.joints[joint.parent].at_child : Vec3<double>{0, 0, 0};
      const double mass = m.masses[i].mass;
      const Vec3<double> c = -joint.at_child;
      const double* I = m.masses[i].inertia;
      Link<T>& to = link[i];
      to.kind = joint.kind, to.parent = joint.parent, to.coordinate = joint.coordinate, to.rate = joint.rate;
      to.hinge = int(hinge_coordinate.size());
      if (joint.kind == revolute) hinge_coordinate.push_back(joint.coordinate);
      to.rest = as<T>(joint.rest);
      to.rest_axis = as<T>(joint.rest * Quat<double>{0, joint.axis});
      to.axis = as<T>(joint.axis);
      to.hang = as<T>(joint.at_parent - foot);
      to.moment = as<T>(mass * c);
      to.mass = T(mass);
      const double about[6] = {I[0] + mass * (c.y * c.y + c.z * c.z),
                               I[1] + mass * (c.x * c.x + c.z * c.z),
                               I[2] + mass * (c.x * c.x + c.y * c.y),
                               I[3] - mass * c.x * c.y,
                               I[4] - mass * c.x * c.z,
                               I[5] - mass * c.y * c.z};
      for (int k = 0; k < 6; ++k) to.inertia[k] = T(about[k]);
    }
    const size_t padded = (hinge_coordinate.size() + block_size - 1) / block_size * block_size;
    half.resize(padded), sine.resize(padded), cosine.resize(padded);
    Frame<T>& world = frame[0];
    const Vec3<T> zero = as<T>(Vec3<double>{0, 0, 0});
    world.q = Quat<T>{T(1), zero};
    world.R = diagonal(T(1));
    world.w = world.axis = world.l = world.turning = world.pulling = world.x = world.v = zero;
  }

  // half angles first, so that their sines come four at a time
  void turn(const T* q) {
    for (size_t k = 0; k < hinge_coordinate.size(); ++k) half[k] = T(0.5) * q[hinge_coordinate[k]];
    sines(half.data(), sine.data(), cosine.data(), int(hinge_coordinate.size()));
  }

  // `last` is the frame placed before, at hand for the next link of a chain
  CATENA_INLINE void place(int i, const T* q, const T* rates, Frame<T>& last) {
    const Link<T>& body = link[i];
    if (body.parent != i - 1) last = frame[body.parent];
    const Frame<T> parent = last;
    Frame<T>& f = last;
    Vec3<T> s;
    if (body.kind == revolute) {
      const T s2 = sine[body.hinge], c2 = cosine[body.hinge];
      Quat<T> turn;
      if constexpr (requires { turn.q; })
        turn = Quat<T>(c2 * body.rest.q + s2 * body.rest_axis.q);
      else
        turn = {c2 * body.rest.w + s2 * body.rest_axis.w, c2 * body.rest.v + s2 * body.rest_axis.v};
      f.q = parent.q * turn;
      f.R = matrix(f.q);
      f.axis = f.R * body.axis;
      s = rates[body.rate] * f.axis;
    } else {
      const T* p = q + body.coordinate;
      f.q = parent.q * (body.rest * load_quaternion(p));
      f.R = matrix(f.q);
      const T* rate = rates + body.rate;
      s = (rate[0] * f.R.i + rate[1] * f.R.j) + rate[2] * f.R.k;
    }
    f.w = parent.w + s;
    f.l = parent.R * body.hang;
    f.turning = cross(parent.w, s);
    f.pulling = cross(parent.w, cross(parent.w, f.l));
    f.x = parent.x + f.l;
    if (model.rows) f.v = parent.v + cross(parent.w, f.l);
    frame[i] = f;
  }
};

}  // namespace rivals
