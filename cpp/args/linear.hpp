// What a step is linearized into: see derivatives/.
#pragma once

namespace catena {

// why there is no linear model of a step
enum class LinearOutcome { found, unsolved, held };

struct LinearArgs {
  double* A = nullptr;  // (2 freedom, 2 freedom) of coordinates and rates by these
  double* B = nullptr;  // (2 freedom, input)
};

}  // namespace catena
