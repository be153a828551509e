// What a run writes of its nodes and of its steps, once: a quantity is a pointer of `Outputs` and a line of
// `visit_records`. The memory of a run, its arrays in Python with their signatures, the arrays of a batch and what
// files are checked by follow.
#pragma once

#include "base/offset.hpp"

namespace catena {

// recorded nodes; steps, all of them; the same where errors are estimated
enum class Per : int { node, step, estimate };
// one entry for all, or one for every body, row of the record of multipliers, counter of turns, or input
enum class Of : int { all, body, row, counter, input };

struct RecordInfo {
  const char* name;
  Per per;
  Of of = Of::all;
  int width = 1;  // numbers of an entry
};

// null where it is not wanted
struct Outputs {
  double *time = nullptr, *position = nullptr, *orientation = nullptr, *velocity = nullptr, *angular_velocity = nullptr;
  double* multipliers = nullptr;
  double* counted = nullptr;
  double* inputs = nullptr;
  double* newton_residual = nullptr;  // what Newton's method may have left, m/s and rad/s
  double* error = nullptr;
  int* iterations = nullptr;
  int* substeps = nullptr;  // 1 if the step was not halved
};

// of one `Outputs`, or of several at once
template <class F, class... Out>
void visit_records(F&& visit, Out&&... out) {
  visit(RecordInfo{"time", Per::node}, out.time...);
  visit(RecordInfo{"position", Per::node, Of::body, 3}, out.position...);
  visit(RecordInfo{"orientation", Per::node, Of::body, 4}, out.orientation...);
  visit(RecordInfo{"velocity", Per::node, Of::body, 3}, out.velocity...);
  visit(RecordInfo{"angular_velocity", Per::node, Of::body, 3}, out.angular_velocity...);
  visit(RecordInfo{"multipliers", Per::node, Of::row}, out.multipliers...);
  visit(RecordInfo{"counted", Per::node, Of::counter}, out.counted...);
  visit(RecordInfo{"inputs", Per::node, Of::input}, out.inputs...);
  visit(RecordInfo{"newton_residual", Per::step}, out.newton_residual...);
  visit(RecordInfo{"error", Per::estimate}, out.error...);
  visit(RecordInfo{"iterations", Per::step}, out.iterations...);
  visit(RecordInfo{"substeps", Per::step}, out.substeps...);
}

// of how many things there are entries
struct RecordSizes {
  Offset steps = 0, records = 0, bodies = 0, rows = 0, counters = 0, inputs = 0;
  bool estimates = false;

  Offset entries(Of of) const {
    const Offset count[] = {1, bodies, rows, counters, inputs};
    return count[static_cast<int>(of)];
  }
  Offset length(Per per) const { return per == Per::node ? records : per == Per::step || estimates ? steps : 0; }
  Offset numbers(const RecordInfo& info) const { return length(info.per) * entries(info.of) * info.width; }
};

}  // namespace catena
