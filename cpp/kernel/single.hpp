// Runs of single mechanisms by one kind of solver, as a table: see the functions of the same names in kernel.hpp.
#pragma once

#include "kernel/seats.hpp"

namespace catena::CATENA_ISA {

struct SingleRuns {
  long (*workspace_size)(const Layout&, int order);
  long (*checkpoint_size)(const Layout&, int order, int signal_count, int input_count);
  void (*run)(const Layout&, void* workspace, RunArgs&);
  void (*start)(const Layout&, void* workspace, RunArgs&);
  void (*go_on)(void* workspace);
  bool (*rebound)(void* workspace);
  bool (*velocities)(void* workspace);
  void (*go_on_from)(const Layout&, void* workspace, RunArgs&, double* row);
  void (*save)(void* workspace, double* row);
  void (*restore)(void* workspace, const double* row);
  void (*reactions)(void* workspace, double* row);
};

extern const SingleRuns articulated_runs, ldu_runs, dense_runs;

namespace {

template <class Solver>
constexpr SingleRuns single_runs = {
    .workspace_size = seat_size<Solver>,
    .checkpoint_size =
        [](const Layout& layout, int order, int signal_count, int input_count) {
          return with_empty_seat<Solver>(layout,
                                         {.order = order, .input_count = input_count, .signal_count = signal_count},
                                         [](Runner<Solver>& runner, long) { return runner.checkpoint.size(); });
        },
    .run = [](const Layout& layout, void* workspace,
              RunArgs& args) { runner_in<Solver>(layout, workspace, args).run(); },
    .start = [](const Layout& layout, void* workspace,
                RunArgs& args) { runner_in<Solver>(layout, workspace, args).start(); },
    .go_on = [](void* workspace) { seated<Solver>(workspace).go_on(); },
    .rebound = [](void* workspace) { return seated<Solver>(workspace).rebound(); },
    .velocities = [](void* workspace) { return seated<Solver>(workspace).show_velocities(); },
    .go_on_from =
        [](const Layout& layout, void* workspace, RunArgs& args, double* row) {
          Runner<Solver>& runner = runner_in<Solver>(layout, workspace, args);
          if (!args.checkpoint)
            runner.start();
          else
            runner.wake();
          if (args.status.code == StatusCode::done && args.steps > 0) runner.go_on();
          runner.save(row);
        },
    .save = [](void* workspace, double* row) { seated<Solver>(workspace).save(row); },
    .restore =
        [](void* workspace, const double* row) {
          Runner<Solver>& runner = seated<Solver>(workspace);
          runner.go_back(row);
          // from which a first step is guessed
          if (runner.history[0].count == 0) runner.projection.project(runner.node.arriving());
        },
    .reactions = [](void* workspace, double* row) { seated<Solver>(workspace).react(row); },
};

}  // namespace

}  // namespace catena::CATENA_ISA
