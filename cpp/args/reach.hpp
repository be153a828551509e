// Poses in which points or frames of bodies are where they are wanted: see simulate/reach.hpp.
#pragma once

#include "args/run.hpp"

namespace catena {

struct ReachArgs {
  CloseArgs close;  // where it begins, freedoms that must not move, and the seed; in place only `counted`
  int target_count = 0;
  const int* target_body = nullptr;      // (target)
  const double* target_point = nullptr;  // (target, 3) in the body's frame, from its center of mass
  const double* target_turn = nullptr;   // (target, 4) of the frame in the body's
  const double* weight = nullptr;        // (target, 2) of places and of orientations, 0 for what is not asked
  Offset count = 0;                      // of goals that follow each other
  const double* place = nullptr;         // (goal, target, 3)
  const double* turn = nullptr;          // (goal, target, 4)
  const double* range = nullptr;         // (freedom, 2) how far each may move from where it begins, m or rad
  int restarts = 0;                      // from random poses, if the first goal is not reached
  double enough = 0;                     // m in parts of the size, or rad, that count as reached

  double *position = nullptr, *orientation = nullptr;  // (goal, body, ...)
  double* moved = nullptr;                             // (goal, freedom) from where it begins
  double* left = nullptr;                              // (goal, target, 2) m, rad
  double* open = nullptr;                              // (goal) what loops are open, as in CloseArgs
  int* attempts = nullptr;                             // (goal)
};

}  // namespace catena
