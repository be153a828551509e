// Members with geometry of their own enforce the rows of loops that were selected for the mechanism as it is described.
// Whether what was left out still follows from the rest is seen at their nodes.
#pragma once

#include <cmath>
#include <vector>

#include "base/arena.hpp"
#include "batch/member.hpp"

namespace catena {

class MismatchCheck {
 public:
  MismatchCheck(const Kernel& kernel, const Layout& layout, const MemberNumbers& numbers)
      : kernel_(kernel),
        needed_(numbers.has_geometry() && layout.reduction_count > 0),
        found_(4 * static_cast<std::size_t>(layout.joint_count)),
        nothing_(static_cast<std::size_t>(layout.term_count) + layout.signal_count + 1) {
    if (needed_) space_ = make_workspace(kernel.gaps_size(layout));
  }

  // ends a run where it is no longer so
  void look(const Layout& layout, const RunArgs& run, Status& status) {
    if (!needed_) return;
    const Offset n = layout.link_count;
    for (long r = 0; r < status.records; ++r) {
      kernel_.gaps(layout, space_.get(),
                   {.count = 1,
                    .position = run.out.position + 3 * n * r,
                    .orientation = run.out.orientation + 4 * n * r,
                    .term_start = nothing_.data(),
                    .signals = nothing_.data(),
                    .out = found_.data(),
                    .loop_mismatch = found_.data() + 2 * layout.joint_count});
      for (int j = 0; j < plain_joint_count(layout); ++j) {
        const double* mismatch = found_.data() + 2 * (layout.joint_count + j);
        const double size = std::hypot(mismatch[0] / layout.span, mismatch[1]);
        if (size <= layout.loop_tolerance) continue;
        status = {.code = StatusCode::mismatched,
                  .step = std::min(r * run.record_every, run.steps),
                  .time = run.out.time[r],
                  .body = 0,
                  .joint = j,
                  .size = size,
                  .records = r + 1};
        return;
      }
    }
  }

 private:
  const Kernel& kernel_;
  bool needed_;
  std::vector<double> found_, nothing_;
  Workspace space_;
};

}  // namespace catena
