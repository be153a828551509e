// Counts and offsets of what grows with products.
#pragma once

#include <cstddef>

namespace catena {

// 64 bits wherever addresses have them, which long has not on Windows
using Offset = std::ptrdiff_t;

}  // namespace catena
