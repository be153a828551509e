// Shapes that collide, at one pose of all bodies: distances, features of a pair, and which are near. Compiled once, not
// for every instruction set.
#pragma once

#include "args/shapes.hpp"

namespace catena {

void find_clearances(const ClearanceArgs& args);
void find_features(const FeatureArgs& args);
void sweep_shapes(const SweepArgs& args);

}  // namespace catena
