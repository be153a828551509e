// Where joints sit on their bodies, in copies of what a layout points to: members of a batch may differ in it.
#pragma once

#include <vector>

#include "model/layout.hpp"

namespace catena {

// Of one member, in the user's order; measures are those of laws, of couplings' terms, then of joint angles.
struct GeometryNumbers {
  const double *joint_anchor, *joint_frame, *joint_parameter;  // (joint, 2, 3), (joint, 2, 4), (joint)
  const double *measure_anchor, *measure_frame;                // (measure, 2, 3), (measure, 2, 4)
};

// so many of each
int plain_joint_count(const Layout& layout);
int measure_count(const Layout& layout);

// owns what such a copy of a layout points to, links and laws aside, which are its owner's
class Geometry {
 public:
  explicit Geometry(Layout& layout);
  void become(Layout& layout, LinkInfo* link, LawInfo* law, const GeometryNumbers& numbers);

 private:
  std::vector<ConstraintInfo> constraints_, inactive_, counters_;
  std::vector<TermInfo> terms_;
  std::vector<ReductionInfo> reductions_;
  std::vector<CoordinatedInfo> coordinated_;
};

}  // namespace catena
