// Runs by the solvers that factor the whole matrix.
#include "kernel/single.hpp"
#include "kernel/sparse_seats.hpp"

namespace catena::CATENA_ISA {

const SingleRuns ldu_runs = single_runs<Ldu>;
const SingleRuns dense_runs = single_runs<Dense>;

}  // namespace catena::CATENA_ISA
