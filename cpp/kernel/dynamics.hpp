// What is asked of a mechanism besides its motion, at many poses: see DynamicsArgs.
#pragma once

#include "args/dynamics.hpp"
#include "base/isa.hpp"
#include "model/layout.hpp"

namespace catena::CATENA_ISA {

long dynamics_size(const Layout& layout);  // bytes of the workspace of both
DynamicsShape dynamics_shape(const Layout& layout, void* workspace, int* coordinate);
void find_dynamics(const Layout& layout, void* workspace, const DynamicsArgs& args);

}  // namespace catena::CATENA_ISA
