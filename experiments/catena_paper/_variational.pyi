import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_Ints = NDArray[np.int32]

class Tree:
    """Arrays of a tree of revolute joints, as catena_paper.tree has them."""

    def __init__(
        self,
        parent: _Ints,
        kind: _Ints,
        rest: _Array,
        axis: _Array,
        at_parent: _Array,
        at_child: _Array,
        mass: _Array,
        inertia: _Array,
        gravity: _Array,
        /,
    ) -> None: ...

def run(
    tree: Tree,
    method: str,
    coordinates: _Array,
    rates: _Array,
    dt: float,
    steps: int,
    every: int,
    tolerance: float,
    measure: str,
    iteration_limit: int,
    direction: str,
    most_differences: int,
    go_on: bool,
    as_angles: bool,
    /,
) -> tuple[_Array, _Array, _Ints, _Array, int, int, int, float]:
    """Coordinates and rates of nodes, iterations and residuals of steps, steps, failures, the first, seconds."""

def look(
    tree: Tree,
    method: str,
    coordinates: _Array,
    rates: _Array,
    dt: float,
    z: _Array,
    right: _Array,
    direction: str,
    /,
) -> tuple[_Array, _Array]:
    """The first step's residual at z, and the direction found there for a residual `right`."""
