"""Assembly: from a rough pose to one that closes every joint, loops included."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from . import _core
from ._handover import build_core
from ._rotation import Array, finite
from .analysis import extent

if TYPE_CHECKING:
    from .mechanism import Mechanism
    from .state import State

# closed: gaps below this part of the mechanism's size (m), or below this angle (rad)
CLOSED = 5e-11

# longest step of a driven joint (rad, or parts of the mechanism's size) between two assemblies
_STRIDE = 0.05
_ITERATIONS = 100


class AssemblyError(ValueError):
    """A mechanism that cannot be put together; `gaps` holds what is left open: joint name to (m, rad)."""

    def __init__(self, message: str, gaps: dict[str, tuple[float, float]]) -> None:
        super().__init__(message)
        self.gaps = gaps


def assemble(
    mechanism: Mechanism, guess: State, fixed: Iterable[str] = (), drive: Mapping[str, ArrayLike] | None = None
) -> State:
    """See Mechanism.assemble."""
    state = guess.copy()
    goals = {name: _coordinates(mechanism, name, value) for name, value in (drive or {}).items()}
    start = {name: state.joint(name).coordinates for name in (*fixed, *goals)}
    size = extent(state)

    # driven joints go to their goal in short strides, so that the others follow on the same branch
    longest = max((float(np.abs(goals[name] - start[name]).max(initial=0.0)) for name in goals), default=0.0)
    count = max(1, ceil(longest / _STRIDE))
    for k in range(1, count + 1):
        frozen = {name: start[name] + k / count * (goals.get(name, start[name]) - start[name]) for name in start}
        _close(build_core(mechanism, frozen=frozen), state)
    if start:
        # velocities are those that the joints themselves allow
        _close(build_core(mechanism), state, iterations=0)
        for name in goals:
            if np.abs(state.joint(name).coordinates - goals[name]).max(initial=0.0) > 1e-9:
                raise AssemblyError(
                    f"{mechanism.joints[name].label} cannot reach {np.squeeze(goals[name])}: "
                    f"the other joints allow {np.squeeze(state.joint(name).coordinates)}",
                    open_joints(state),
                )
    gaps = {name: gap for name, gap in open_joints(state).items() if max(gap[0] / size, gap[1]) > CLOSED}
    if gaps:
        raise AssemblyError(f"the mechanism cannot be assembled: {describe(mechanism, gaps)}", gaps)
    return state


def _close(core: _core.Core, state: State, iterations: int = _ITERATIONS) -> None:
    """One assembly in place, velocities projected."""
    core.assemble(
        iteration_limit=iterations,
        position=state.position,
        orientation=state.orientation,
        velocity=state.velocity,
        angular_velocity=state.angular_velocity,
    )


def open_joints(state: State) -> dict[str, tuple[float, float]]:
    """Gap (m) and misalignment (rad) of every joint."""
    views = ((name, state.joint(name)) for name in state.mechanism.joints)
    return {name: (view.gap, view.misalignment) for name, view in views}


def describe(mechanism: Mechanism, gaps: Mapping[str, tuple[float, float]]) -> str:
    """The worst of the open joints in words."""
    worst = sorted(gaps, key=lambda name: -sum(gaps[name]))[:3]
    parts = [f"{mechanism.joints[n].label} stays open by {gaps[n][0]:.3g} m, {gaps[n][1]:.3g} rad" for n in worst]
    more = f", and {len(gaps) - len(worst)} more" if len(gaps) > len(worst) else ""
    return "; ".join(parts) + more


def _coordinates(mechanism: Mechanism, name: str, value: ArrayLike) -> Array:
    if name not in mechanism.joints:
        raise ValueError(f"drive: there is no joint called {name!r}")
    joint = mechanism.joints[name]
    return finite(np.reshape(np.asarray(value, dtype=float), -1), (joint.dof,), f"drive of {joint.label}")
