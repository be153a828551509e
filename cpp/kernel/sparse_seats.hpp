// What the solvers that factor the whole matrix need of a workspace.
#pragma once

#include "kernel/carve.hpp"
#include "solve/solver.hpp"
#include "solve/sparse/dense.hpp"
#include "solve/sparse/ldu.hpp"

namespace catena::CATENA_ISA {

inline Ldu make(const Layout& layout, Arena& arena, Body<double>* body, Ldu*) {
  RowMemory* memory = arena.take<RowMemory>(layout.constraint_count);
  double* term = arena.take<double>(layout.row_count);
  BlockRow* block = arena.take<BlockRow>(layout.block_rows);
  BlockRow* vector = arena.take<BlockRow>(layout.vertex_count);
  return {layout, body, memory, term, {}, nullptr, 1, 0, -1, {}, block, vector, nullptr, nullptr};
}
inline Dense make(const Layout& layout, Arena& arena, Body<double>* body, Dense*) {
  const long size = Dense::unknown_count(layout);
  const Ldu sparse = make(layout, arena, body, static_cast<Ldu*>(nullptr));
  double* first = arena.take<double>(size);
  return {layout, body, sparse, {}, nullptr, 1, 0, -1, {}, first, arena.take<double>(size * size), nullptr, nullptr};
}

static_assert(IsSolver<Ldu> && IsSolver<Dense>);

}  // namespace catena::CATENA_ISA
