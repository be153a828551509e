// A robot with a servo on every hinge in Pinocchio, for robots.py: forward dynamics (aba) and semi-implicit Euler
// steps, velocities first. Servos act explicitly, with the state at the beginning of the step.
#include <algorithm>
#include <memory>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/multibody.hpp>
#include <string>
#include <vector>

namespace pin = pinocchio;
using Eigen::VectorXd;
using Vector = Eigen::Vector3d;
using Matrix = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

struct Drive {
  double gain, rate_gain, target, limit;
};

struct Sim {
  pin::Model model;
  std::unique_ptr<pin::Data> data;
  pin::Convention convention;
  std::vector<pin::JointIndex> joint;  // (link) that carries it
  std::vector<pin::SE3> centre;        // (link) its centre of mass from there
  std::vector<Drive> drive;
  VectorXd q0, v0, q, v, torque, moved, by;

  void step(double h) {
    const int n = static_cast<int>(drive.size()), first_q = model.nq - n, first_v = model.nv - n;
    for (int k = 0; k < n; ++k) {
      const Drive& d = drive[k];
      const double wanted = d.gain * (d.target - q[first_q + k]) - d.rate_gain * v[first_v + k];
      torque[first_v + k] = std::clamp(wanted, -d.limit, d.limit);
    }
    v += h * pin::aba(model, *data, q, v, torque, convention);
    by.noalias() = h * v;
    pin::integrate(model, q, by, moved);
    q.swap(moved);
  }
};

static Vector vector(const double* p) { return {p[0], p[1], p[2]}; }

// along an axis of the frame there is a joint of its own, which is faster
static pin::JointModel hinge(const Vector& axis) {
  if (axis == Vector::UnitX()) return pin::JointModelRX();
  if (axis == Vector::UnitY()) return pin::JointModelRY();
  if (axis == Vector::UnitZ()) return pin::JointModelRZ();
  return pin::JointModelRevoluteUnaligned(axis);
}

extern "C" {

// links: 26 numbers each, place, rotation by rows, centre, inertia by rows about it, mass, number of axes (-1: it
// floats); axes: 6 each; start: q and v, quaternions scalar last
Sim* make_robot(int n, const int* parent, const double* link, const double* axes, int drives, const double* drive,
                const double* start, const double* gravity, int world) {
  auto* s = new Sim;
  s->convention = world ? pin::Convention::WORLD : pin::Convention::LOCAL;
  s->model.gravity.linear() = vector(gravity);
  std::vector<pin::SE3> frame;
  for (int i = 0; i < n; ++i) {
    const double* p = link + 26 * i;
    const int count = static_cast<int>(p[25]);
    pin::SE3 place(Eigen::Map<const Matrix>(p + 3), vector(p));
    pin::JointIndex to = parent[i] < 0 ? 0 : s->joint[parent[i]];
    if (parent[i] >= 0) place = frame[parent[i]] * place;
    const auto name = std::to_string(i);
    const Vector first = vector(axes + 6 * i), second = vector(axes + 6 * i + 3);
    // a welded link belongs to what carries it; a floating one stands where q says
    if (count == -1) to = s->model.addJoint(to, pin::JointModelFreeFlyer(), pin::SE3::Identity(), name);
    if (count == 1) to = s->model.addJoint(to, hinge(first), place, name);
    if (count == 2) to = s->model.addJoint(to, pin::JointModelUniversal(first, second), place, name);
    frame.push_back(count == 0 ? place : pin::SE3::Identity());
    const Eigen::Matrix3d inertia = Eigen::Map<const Matrix>(p + 15);
    s->model.appendBodyToJoint(to, pin::Inertia(p[24], vector(p + 12), inertia), frame.back());
    s->joint.push_back(to);
    s->centre.push_back(frame.back() * pin::SE3(Eigen::Matrix3d::Identity(), vector(p + 12)));
  }
  s->data = std::make_unique<pin::Data>(s->model);
  for (int k = 0; k < drives; ++k)
    s->drive.push_back({drive[4 * k], drive[4 * k + 1], drive[4 * k + 2], drive[4 * k + 3]});
  s->q0 = Eigen::Map<const VectorXd>(start, s->model.nq);
  s->v0 = Eigen::Map<const VectorXd>(start + s->model.nq, s->model.nv);
  s->q = s->moved = s->q0;
  s->v = s->by = s->v0;
  s->torque = VectorXd::Zero(s->model.nv);
  return s;
}

void reset_robot(Sim* s) {
  s->q = s->q0;
  s->v = s->v0;
}

void run_robot(Sim* s, int steps, double h) {
  for (int k = 0; k < steps; ++k) s->step(h);
}

// position, rotation (by rows), velocity and angular velocity of every centre of mass
void robot_bodies(Sim* s, double* x, double* r, double* velocity, double* spin) {
  pin::forwardKinematics(s->model, *s->data, s->q, s->v);
  for (std::size_t i = 0; i < s->joint.size(); ++i) {
    const pin::SE3 pose = s->data->oMi[s->joint[i]] * s->centre[i];
    const pin::Motion motion = s->centre[i].actInv(s->data->v[s->joint[i]]);
    Eigen::Map<Vector>(x + 3 * i) = pose.translation();
    Eigen::Map<Matrix>(r + 9 * i) = pose.rotation();
    Eigen::Map<Vector>(velocity + 3 * i) = pose.rotation() * motion.linear();
    Eigen::Map<Vector>(spin + 3 * i) = pose.rotation() * motion.angular();
  }
}
}
