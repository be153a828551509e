// One step after the other: guess, directions, when to stop, what is told.
//
// Directions: "newton" factorises the exact derivative at every iterate, "frozen" only at the guess of a step,
// "impulse" takes the joint-space inertia of the node for it (the quasi-Newton method of Lee et al.).
// Stop: "residual" when the 2-norm of f (N m s) is below the tolerance, unscaled as its authors have it; "increment"
// when the velocity change that an increment makes in all bodies, sqrt(sum |dx|^2 + |phi|^2) / dt, is: catena's.
// A step that is not there after the limit of iterations has failed, and says so.
//
// Unknowns are the increments of the angles since the last node. An angle of a radian is rounded to 1e-16, which
// moves the residual by that much times the inertia behind the joint over dt: n^3 in a chain of n links, and 1e-8 N m s
// at n = 100. That is where solvers of absolute angles stall; `as_angles` rounds like them.
//
// The guess sums backward differences of the last solutions, as many as would have guessed the last one best: what
// catena gives itself its rivals get too.
#pragma once

#include <time.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "variational/wide.hpp"

namespace catena_paper {

enum class Direction { newton, frozen, impulse };
enum class Measure { residual, increment };

struct Settings {
  double dt, tolerance;
  int steps, every, iteration_limit, most_differences;
  Direction direction;
  Measure measure;
  bool go_on;      // after a step that did not converge
  bool as_angles;  // the unknowns are rounded as the next node's angles would be, instead of their increments
};

struct Result {
  std::vector<double> angles, rates, residuals;  // nodes x n, nodes x n, steps
  std::vector<int> iterations;                   // steps
  int steps = 0, failures = 0, first_failure = -1;
  double seconds = 0;
};

class Guess {
 public:
  Guess(int count, int most) : count_(count), most_(std::clamp(most, 1, limit)), rows_((count + 3) / 4) {}

  static constexpr int limit = 12;

  bool empty() const { return known_ == 0; }

  void next(double* z) const {
    for (std::size_t b = 0; b < rows_.size(); ++b) {
      Block sum = rows_[b].of[0];
      for (int k = 1; k < order_; ++k) sum += rows_[b].of[k];
      put(b, sum, z);
    }
  }

  void learn(const double* z) {
    // the k-th difference is the error of a guess that sums the k before it
    Block sizes[limit + 1] = {};
    const int last = std::min(known_, most_);
    for (std::size_t b = 0; b < rows_.size(); ++b) {
      Block now = taken(b, z);
      for (int k = 0; k <= last; ++k) {
        const Block before = rows_[b].of[k];
        rows_[b].of[k] = now;
        sizes[k] += now * now;
        now -= before;
      }
    }
    double best = 1e300;
    for (int k = 1; k <= last; ++k) {
      const double size = (sizes[k][0] + sizes[k][1]) + (sizes[k][2] + sizes[k][3]);
      if (size < best) {
        best = size;
        order_ = k;
      }
    }
    known_ = std::min(known_ + 1, most_);
  }

 private:
  // backward differences of four unknowns, the 0-th is the last solution itself
  struct Row {
    Block of[limit + 1] = {};
  };

  int left(std::size_t b) const { return std::min(4, count_ - 4 * int(b)); }
  Block taken(std::size_t b, const double* z) const {
    Block now = {};
    if (left(b) == 4)
      __builtin_memcpy(&now, z + 4 * b, sizeof now);
    else
      for (int k = 0; k < left(b); ++k) now[k] = z[4 * b + k];
    return now;
  }
  void put(std::size_t b, Block values, double* z) const {
    if (left(b) == 4)
      __builtin_memcpy(z + 4 * b, &values, sizeof values);
    else
      for (int k = 0; k < left(b); ++k) z[4 * b + k] = values[k];
  }

  int count_, most_, known_ = 0, order_ = 1;
  std::vector<Row> rows_;
};

inline double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

template <class Integrator>
class Stepper {
 public:
  Stepper(Integrator& integrator, int n, const Settings& settings)
      : integrator_(integrator),
        settings_(settings),
        count_(n * Integrator::stages),
        z_(count_),
        f_(count_),
        dz_(count_),
        guess_(count_, settings.most_differences) {}

  // false if the step did not converge
  bool step(const double* angles, const double* rates) {
    if (guess_.empty())
      integrator_.first_guess(rates, z_.data());
    else
      guess_.next(z_.data());
    round_at(angles);
    const bool impulse = settings_.direction == Direction::impulse;
    if (impulse) integrator_.factor_mass();
    const bool measured = settings_.measure == Measure::increment;
    const double tolerance = settings_.tolerance;
    iterations = 0;
    bool small = false;
    for (;;) {
      const double square = integrator_.residual(z_.data(), f_.data());
      residual = std::sqrt(square);
      if (measured ? small : residual <= tolerance) return true;
      if (iterations == settings_.iteration_limit || !std::isfinite(square)) return false;
      double size;
      if (impulse)
        size = integrator_.solve_mass(f_.data(), dz_.data(), measured);
      else if (settings_.direction == Direction::newton || iterations == 0)
        size = integrator_.factor_and_solve(f_.data(), dz_.data(), measured);
      else
        size = integrator_.solve(f_.data(), dz_.data(), measured);
      small = std::sqrt(size) <= tolerance * settings_.dt;
      for (int i = 0; i < count_; ++i) z_[i] += dz_[i];
      round_at(angles);
      ++iterations;
    }
  }

  void accept() {
    guess_.learn(z_.data());
    integrator_.advance(z_.data());
  }

  const double* solution() const { return z_.data(); }
  bool finite() const { return std::isfinite(residual); }

  int iterations = 0;
  double residual = 0;

 private:
  void round_at(const double* angles) {
    if (!settings_.as_angles) return;
    const int n = count_ / Integrator::stages;
    for (int i = 0; i < count_; ++i) {
      const double angle = angles[i % n];
      z_[i] = (angle + z_[i]) - angle;
    }
  }

  Integrator& integrator_;
  Settings settings_;
  int count_;
  std::vector<double> z_, f_, dz_;
  Guess guess_;
};

// all memory is there before the clock starts
template <class Integrator>
Result run(Integrator& integrator, int n, const double* angles, const double* rates, const Settings& settings) {
  Result result;
  const int nodes = settings.steps / settings.every + 1;
  result.angles.resize(std::size_t(nodes) * n);
  result.rates.resize(std::size_t(nodes) * n);
  result.residuals.resize(settings.steps);
  result.iterations.resize(settings.steps);
  std::vector<double> at(angles, angles + n);
  std::copy_n(angles, n, result.angles.begin());
  std::copy_n(rates, n, result.rates.begin());
  Stepper<Integrator> stepper(integrator, n, settings);

  const double begin = cpu_seconds();
  for (int k = 0; k < settings.steps; ++k) {
    const bool converged = stepper.step(at.data(), rates);
    result.iterations[k] = stepper.iterations;
    result.residuals[k] = stepper.residual;
    if (!converged) {
      if (result.failures++ == 0) result.first_failure = k;
      if (!settings.go_on || !stepper.finite()) break;
    }
    stepper.accept();
    const double* last = stepper.solution() + n * (Integrator::stages - 1);
    for (int i = 0; i < n; ++i) at[i] += last[i];
    result.steps = k + 1;
    if ((k + 1) % settings.every == 0) {
      const std::size_t row = std::size_t((k + 1) / settings.every) * n;
      std::copy_n(at.data(), n, result.angles.begin() + row);
      integrator.node_rates(result.rates.data() + row);
    }
  }
  result.seconds = cpu_seconds() - begin;
  return result;
}

}  // namespace catena_paper
