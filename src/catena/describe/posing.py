"""Poses that a mechanism finds by itself: at rest, and with its hands where they are wanted."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, overload

from .._util.checks import positive

if TYPE_CHECKING:
    from ..assemble.reach import Target, Weight
    from ..kinematics.state import State
    from ..results.trajectory import Trajectory
    from .limits import Limits
    from .mechanism import Mechanism


class Posing:
    """What a Mechanism has of these."""

    def state(self) -> State:
        """The described pose."""
        raise NotImplementedError

    def snapshot(self) -> Mechanism:
        """A copy that cannot be changed."""
        raise NotImplementedError

    def equilibrium(self, guess: State | None = None, *, hold: Sequence[str] = ()) -> State:
        """Find a pose at rest under gravity, springs, motors and servos, downhill from a guess, loops closed.

        Limits and contacts do not act. An `EquilibriumWarning` says if the pose is not stable; if none is found, a
        ValueError names the coordinate that is still pushed.

        Parameters
        ----------
        guess
            State to start from; default: the described pose.
        hold
            Names of joints that keep the coordinates of the guess.
        """
        from ..dynamics.equilibrium import equilibrium_of

        if isinstance(hold, str):
            raise ValueError(f"hold takes a list of names, such as [{hold!r}], got {hold!r}")
        return equilibrium_of(self.snapshot(), guess or self.state(), list(hold))

    @overload
    def reach(
        self,
        targets: Mapping[str, Target],
        guess: State | None = None,
        *,
        limits: bool | Mapping[str, Limits | tuple[float, float]] = ...,
        keep: Collection[str] = ...,
        weights: Mapping[str, Weight] | None = ...,
        dt: None = None,
        nearest: bool = ...,
        restarts: int = ...,
        seed: int = ...,
    ) -> State: ...
    @overload
    def reach(
        self,
        targets: Mapping[str, Target],
        guess: State | None = None,
        *,
        limits: bool | Mapping[str, Limits | tuple[float, float]] = ...,
        keep: Collection[str] = ...,
        weights: Mapping[str, Weight] | None = ...,
        dt: float,
        nearest: bool = ...,
        restarts: int = ...,
        seed: int = ...,
    ) -> Trajectory: ...
    def reach(
        self,
        targets: Mapping[str, Target],
        guess: State | None = None,
        *,
        limits: bool | Mapping[str, Limits | tuple[float, float]] = True,
        keep: Collection[str] = (),
        weights: Mapping[str, Weight] | None = None,
        dt: float | None = None,
        nearest: bool = False,
        restarts: int = 50,
        seed: int = 1,
    ) -> State | Trajectory:
        """Inverse kinematics: move the joints until frames or bodies are at their targets, within limits, loops closed.

        Of all poses that reach the targets, one near the guess is returned, at rest. If the targets are out of reach, a
        `ReachError` names the distances that are left; its `state` is the nearest pose that was found.

        Parameters
        ----------
        targets
            Mapping from names of frames or bodies to points (3,) in m, or to poses: tuples of a position (3,) and an
            orientation (4,), of which one may be None. With points (k, 3) or orientations (k, 4), the result is a
            `Trajectory` of k nodes, each found from the one before.
        guess
            State to start from; default: the described pose.
        limits
            Whether joint coordinates stay within their limits, or a mapping from joints to other limits (lower, upper).
            Limits of the swing and twist of ball joints are not kept.
        keep
            Names of joints, and of bodies that float, that stay as they are in the guess.
        weights
            Mapping from targets to weights, or to pairs of them for position and orientation; default 1. A position
            counts as its distance over the size of the mechanism, an orientation as its angle in rad.
        dt
            Time (s) between the targets of a series; velocities are differences over it.
        nearest
            Return the nearest pose found if targets are out of reach, such as those of many markers on one body.
        restarts
            How often to begin again from a random pose within the limits if the search from the guess ends elsewhere.
        seed
            Of the random poses.
        """
        from ..assemble.reach import reach_poses, read_targets, restarts_of, state_of
        from ..results.trajectory import followed

        locked = self.snapshot()
        begin = locked.state() if guess is None else guess
        wanted = read_targets(locked, targets, weights)
        if wanted.is_series != (dt is not None):
            raise ValueError(
                "reach: dt, the time between two targets, is needed for a series of targets"
                if wanted.is_series
                else "reach: dt is for series of targets, arrays (k, 3)"
            )
        found = reach_poses(locked, wanted, begin, limits, keep, restarts_of(restarts), seed, nearest)
        if dt is None:
            return state_of(locked, begin, found, 0)
        return followed(locked, found, positive(dt, "reach: dt"), begin.time)
