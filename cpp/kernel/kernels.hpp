// The kernels of this build, one per instruction set.
#pragma once

#include <string>
#include <vector>

#include "kernel/kernel.hpp"

namespace catena {

// those this processor can run, best last
std::vector<const Kernel*> usable_kernels();

const Kernel& find_kernel(const std::string& name);

}  // namespace catena
