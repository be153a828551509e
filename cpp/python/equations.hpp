// The equations of motion of a mechanism without drives, ready to be asked again and again: see DynamicsArgs. Poses
// come from a live mechanism, or are given by coordinates and rates.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "python/live.hpp"

namespace catena {

// what is asked for
enum class Asked { mass, rates, efforts, accelerations, bodies };

class TreeEquations {
 public:
  // `laws` (law) and `terms` (term): the coordinate near which turns are counted, -1 for none; `moves`, and poses of
  // bodies, are those of PlaceArgs; `selected`: the freedoms whose coordinates the equations are in
  TreeEquations(const Core& core, const InInts<-1, 2>& inputs, const InInts<-1>& laws, const InInts<-1>& terms,
                const InInts<-1, 2>& moves, const InInts<-1>& selected, const In<-1, 3>& position,
                const In<-1, 4>& orientation);
  TreeEquations(const TreeEquations&) = delete;
  TreeEquations& operator=(const TreeEquations&) = delete;

  // Arrays with the axes of the poses in front; None where the caller has to find it in another way: of a live
  // mechanism that it has not admitted, or of anything else but a live mechanism or a pair of arrays; `given` are
  // accelerations or efforts. Of bodies (2, body, 3): accelerations and angular ones of a live mechanism under the
  // loads that it holds, without hard stops
  nb::object find(Asked asked, const nb::object& x, const nb::object& given, bool passive, bool actuators);
  // this live mechanism is one of these bodies
  void admit(const Live& live) { admitted_ = live.serial(); }

 private:
  // with the axes in front of the last one
  struct Numbers {
    const double* data = nullptr;
    std::vector<std::size_t> axes;
  };
  nb::object answer(Asked asked, DynamicsArgs& args, const std::vector<std::size_t>& axes, const nb::object& given);
  nb::object bodies(DynamicsArgs& args, Live& live);
  nb::object of_coordinates(Asked asked, const nb::object& coordinates, const nb::object& rates,
                            const nb::object& given, DynamicsArgs& args);
  void count_turns(Offset pose, const double* coordinates);
  double instant_of(const DynamicsArgs& args) const;

  const Core* core_;
  const Layout& layout_;
  int freedoms_, rows_;
  std::vector<int> inputs_, laws_, terms_, moves_, selected_;
  std::vector<double> described_position_, described_orientation_;
  // of the poses that are asked about
  std::vector<double> position_, orientation_, velocity_, spin_, law_start_, term_start_, given_, found_;
  Workspace space_;
  std::uint64_t admitted_ = 0;
  bool numbered_ = false;
};

}  // namespace catena
