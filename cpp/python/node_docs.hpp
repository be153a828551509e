// Docstrings of what a live mechanism or a batch of them shows of its node; shapes are in the signatures.
#pragma once

#include <string_view>
#include <utility>

namespace catena {

constexpr std::pair<std::string_view, const char*> node_docs[] = {
    {"time", "Time of the current node (s)."},
    {"position", "Positions of the centers of mass (m), world frame."},
    {"orientation", "Unit quaternions (w, x, y, z), body to world."},
    {"velocity", "Velocities of the centers of mass (m/s), world frame."},
    {"angular_velocity", "Angular velocities (rad/s), world frame."},
    {"inputs", "Inputs of motors and servos, by `mechanism.inputs`; can be written."},
    {"coordinates", "Joint coordinates, by `mechanism.coordinates`; rad, including full turns, or m."},
    {"rates", "Joint rates, by `mechanism.coordinates`; rad/s or m/s."},
    {"error", "Sum of the estimated errors of all steps, relative to the size or in rad."},
    {"failed", "Whether a step has failed; see `status`."},
};

constexpr const char* node_doc(std::string_view name) {
  for (const auto& [known, doc] : node_docs)
    if (known == name) return doc;
  return "";
}

}  // namespace catena
