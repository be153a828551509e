// Time stepping around Pinocchio's forward dynamics, for pinocchio_engine.py. Pinocchio has no simulator of its own, so
// the integrators are Boost's odeint, which its wheel brings along, and a semi-implicit Euler step.
//
// The state is (q, v). Quaternions (x, y, z, w) are integrated as four numbers, q' = q (v, 0) / 2, the forward dynamics
// sees them normalised, and they are normalised after every step: so a method keeps its order on ball joints, which it
// would lose if its stages were averaged in the tangent space.
#include <boost/numeric/odeint/stepper/runge_kutta4.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_fehlberg78.hpp>
#include <memory>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/loop-constrained-aba.hpp>
#include <pinocchio/multibody.hpp>
#include <string>
#include <vector>

namespace pin = pinocchio;
namespace odeint = boost::numeric::odeint;
using Eigen::VectorXd;
using Vector = Eigen::Vector3d;
using State = std::vector<double>;

enum Method { euler, rk4, rk78 };
enum Loops { none, constrained, lcaba };

struct Sim {
  pin::Model model;
  std::unique_ptr<pin::Data> data;
  std::vector<pin::RigidConstraintModel> loops;
  std::vector<pin::RigidConstraintData> loop_data;
  pin::ProximalSettings proximal{1e-12, 1e-10, 10};
  bool ball;
  Method method;
  Loops solver = none;
  State start, state;
  VectorXd q, v, torque, moved;
  odeint::runge_kutta4<State> fourth;
  odeint::runge_kutta_fehlberg78<State> eighth;

  void read(const State& x) {
    q = Eigen::Map<const VectorXd>(x.data(), model.nq);
    v = Eigen::Map<const VectorXd>(x.data() + model.nq, model.nv);
    if (ball)
      for (int i = 0; i < model.nq; i += 4) q.segment<4>(i).normalize();
  }

  const VectorXd& acceleration() {
    if (solver == constrained) return pin::constraintDynamics(model, *data, q, v, torque, loops, loop_data, proximal);
    if (solver == lcaba) return pin::lcaba(model, *data, q, v, torque, loops, loop_data, proximal);
    return pin::aba(model, *data, q, v, torque);
  }

  void operator()(const State& x, State& rate, double) {
    read(x);
    Eigen::Map<VectorXd>(rate.data() + model.nq, model.nv) = acceleration();
    if (!ball) {
      std::copy(x.begin() + model.nq, x.end(), rate.begin());
      return;
    }
    for (int i = 0; i < model.nq / 4; ++i) {
      Eigen::Map<const Eigen::Quaterniond> turn(x.data() + 4 * i);
      Eigen::Quaterniond spin(0, v[3 * i], v[3 * i + 1], v[3 * i + 2]);
      Eigen::Map<Eigen::Vector4d>(rate.data() + 4 * i) = 0.5 * (turn * spin).coeffs();
    }
  }

  void write() {
    std::copy(q.data(), q.data() + model.nq, state.begin());
    std::copy(v.data(), v.data() + model.nv, state.begin() + model.nq);
  }

  void step(double h) {
    if (method == euler) {
      read(state);
      v += h * acceleration();
      pin::integrate(model, q, (h * v).eval(), moved);
      q.swap(moved);
      write();
      return;
    }
    if (method == rk4) fourth.do_step(std::ref(*this), state, 0.0, h);
    if (method == rk78) eighth.do_step(std::ref(*this), state, 0.0, h);
    if (ball) {
      read(state);
      write();
    }
  }
};

static Vector vector(const double* p) { return {p[0], p[1], p[2]}; }
static pin::SE3 at(const double* p) { return pin::SE3(Eigen::Matrix3d::Identity(), vector(p)); }

extern "C" {

// links: anchor, centre, moments (9 numbers each) and mass; loops: the two points (6 numbers each)
Sim* make(int n, const int* parent, const double* link, const double* mass, int ball, const double* start,
          int loop_count, const int* ends, const double* points, double gravity, int method, int solver, double kp,
          double kd) {
  auto* s = new Sim;
  s->model.gravity.linear() = Vector(0, 0, -gravity);
  s->ball = ball;
  s->method = Method(method);
  for (int i = 0; i < n; ++i) {
    const double* p = link + 9 * i;
    const auto name = std::to_string(i);
    const pin::JointIndex to = parent[i] + 1;
    const auto joint = ball ? s->model.addJoint(to, pin::JointModelSpherical(), at(p), name)
                            : s->model.addJoint(to, pin::JointModelRX(), at(p), name);
    const Eigen::Matrix3d moments = vector(p + 6).asDiagonal();
    s->model.appendBodyToJoint(joint, pin::Inertia(mass[i], vector(p + 3), moments), pin::SE3::Identity());
  }
  s->data = std::make_unique<pin::Data>(s->model);
  for (int k = 0; k < loop_count; ++k) {
    s->loops.emplace_back(pin::CONTACT_3D, s->model, ends[2 * k] + 1, at(points + 6 * k), ends[2 * k + 1] + 1,
                          at(points + 6 * k + 3), pin::LOCAL);
    s->loops.back().baumgarte_corrector_parameters().Kp = kp;
    s->loops.back().baumgarte_corrector_parameters().Kd = kd;
    s->loop_data.emplace_back(s->loops.back());
  }
  if (loop_count) {
    s->solver = Loops(solver);
    pin::initConstraintDynamics(s->model, *s->data, s->loops, s->loop_data);
    if (s->solver == lcaba) pin::computeJointMinimalOrdering(s->model, *s->data, s->loops);
  }
  s->torque = VectorXd::Zero(s->model.nv);
  s->moved = VectorXd::Zero(s->model.nq);
  s->start.assign(start, start + s->model.nq + s->model.nv);
  s->state = s->start;
  return s;
}

void reset(Sim* s) { s->state = s->start; }

void run(Sim* s, int steps, double h) {
  for (int k = 0; k < steps; ++k) s->step(h);
}

// position, rotation (by rows), velocity and angular velocity of every centre of mass
void bodies(Sim* s, double* x, double* r, double* velocity, double* spin) {
  s->read(s->state);
  pin::forwardKinematics(s->model, *s->data, s->q, s->v);
  for (int i = 0; i < s->model.njoints - 1; ++i) {
    const pin::SE3& pose = s->data->oMi[i + 1];
    const pin::Motion& motion = s->data->v[i + 1];
    const Vector centre = s->model.inertias[i + 1].lever();
    Eigen::Map<Vector>(x + 3 * i) = pose.act(centre);
    Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(r + 9 * i) = pose.rotation();
    Eigen::Map<Vector>(velocity + 3 * i) = pose.rotation() * (motion.linear() + motion.angular().cross(centre));
    Eigen::Map<Vector>(spin + 3 * i) = pose.rotation() * motion.angular();
  }
}
}
