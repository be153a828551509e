// Shapes that collide, and what is asked of them at a pose.
#pragma once

#include "python/arrays.hpp"

namespace catena {

void bind_shapes(nb::module_& m);

}  // namespace catena
