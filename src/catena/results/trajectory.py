"""Trajectory: what a run computed, as arrays with names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._util.lookup import how_many, looked_up, name_of, no_such
from .._util.rotation import Array
from .._util.status import warn
from .._util.strict import Recorded
from ..describe.showing import Playable
from ..kinematics.nodes import STEP_RECORDS, Checkpoints, Making, Nodes
from ..kinematics.readable import Readable
from ..kinematics.unwrap import ByJoint
from . import analysis
from .accuracy import AccuracyWarning
from .convergence import Convergence
from .efforts import ForceHistory, InputEfforts
from .files import TrajectoryFiles
from .histories import CouplingHistory
from .impacts import Impact, impact_rows, impacts_of
from .shape_contacts import ContactRow, contact_rows

if TYPE_CHECKING:
    from .._util.provenance import RunInfo
    from .._util.status import CatenaWarning, Status
    from ..assemble.reach import Poses
    from ..describe.contacts import Contact
    from ..describe.couplings import Coupling
    from ..describe.forces import Force
    from ..describe.joint import Joint
    from ..describe.mechanism import Mechanism
    from ..kinematics.state import State
    from ..simulate.events import Occurrence
    from .run_context import RunContext


_Recorded: TypeAlias = "tuple[_core.Recording, RunContext]"

# where a name was not found
_HERE = " in this trajectory"


class Trajectory(TrajectoryFiles, Playable, Recorded, analysis.JointSpace, Readable[Array]):
    """The recorded nodes of a run. Arrays begin with the axis `step`; bodies are in the mechanism's order.

    time (step,) s, position (step, n, 3) m, orientation (step, n, 4) body to world, velocity (step, n, 3) m/s and
    angular_velocity (step, n, 3) rad/s in the world frame, multipliers (step, rows). Velocities follow from the momenta
    of the nodes and satisfy the joints, to rounding, or to 1e-6 near a singular pose of a loop.

    control (step, n, 6) contains what a control function returned at the nodes: forces (N) and torques (N m) on the
    centers of mass, world frame, held until the next node of the run. It is None without a control function.

    The following arrays have one entry per step of the run, recorded or not.

    - iterations: Newton iterations. substeps: 1, or more if `rescue` halved the step; halved_count counts such steps.
    - newton_residual: upper bound of the remaining Newton increment, the 2-norm over all bodies in m/s and rad/s. It is
      below the tolerance, or as small as rounding allows (far from the origin, or near a singular pose of a loop);
      floor_count counts the latter steps.
    - error: estimated error, relative to the mechanism's size or in rad. In regular motion, the errors of all steps add
      up to the error of the last node. None at order 1 and with on_inaccurate="ignore".

    checked_error is the largest error of the nodes found by comparison with a coarser run, or None without one.
    warnings lists reasons to doubt the run. info describes how the run was computed (`RunInfo`); it is None for
    trajectories that no simulator made.
    """

    _where = " in this trajectory"

    mechanism: Mechanism
    status: Status
    _recording: _Recorded
    _smallest: Array | None  # reactions.smallest_multipliers, once asked for

    def __init__(self, mechanism: Mechanism, nodes: Nodes, made: Making) -> None:
        # one by one each of them would be asked whether it may be set, which a single step would feel
        vars(self).update(mechanism=mechanism, nodes=nodes, made=made, status=made.status, _smallest=None)

    @classmethod
    def written(cls, recording: _core.Recording, mechanism: Mechanism, status: Status, told: RunContext) -> Trajectory:
        """Return the trajectory of a recording; its arrays are made on first use."""
        run = cls.__new__(cls)
        vars(run).update(mechanism=mechanism, status=status, _recording=(recording, told), _smallest=None)
        return run

    @cached_property
    def nodes(self) -> Nodes:
        """Everything that was recorded at the nodes."""
        recording, told = self._recording
        numbers = recording.checkpoint
        return Nodes(
            time=recording.time,
            position=recording.position,
            orientation=recording.orientation,
            velocity=recording.velocity,
            angular_velocity=recording.angular_velocity,
            multipliers=recording.multipliers[:, : told["row_count"]],
            turned=ByJoint(recording.counted, told["places"]),
            inputs=recording.inputs,
            stops=recording.multipliers[:, recording.multipliers.shape[1] - told["stop_count"] :],
            control=told["control"],
            checkpoints=None if numbers is None else Checkpoints(numbers, told["key"]),
        )

    @cached_property
    def made(self) -> Making:
        """How the nodes were computed."""
        recording, told = self._recording
        return Making(
            dt=told["dt"],
            **{name: getattr(recording, name) for name in STEP_RECORDS},
            increments=told["increments"],
            accuracy_warning=told["accuracy_warning"],
            status=self.status,
            info=told["info"],
            selection=told["selection"],
            impacts=impact_rows(recording.impacts, self.mechanism),
            cut_count=recording.tally.cut,
            caught_count=recording.tally.caught,
        )

    def __getstate__(self) -> dict[str, Any]:
        state = {**vars(self), "nodes": self.nodes, "made": self.made}
        state.pop("_recording", None)
        return state

    # ---- the nodes

    @property
    def time(self) -> Array:
        """Times (step,) of the nodes in s."""
        return self.nodes.time

    @property
    def position(self) -> Array:
        """Positions (step, n, 3) in m."""
        return self.nodes.position

    @property
    def orientation(self) -> Array:
        """Quaternions (step, n, 4), body to world."""
        return self.nodes.orientation

    @property
    def velocity(self) -> Array:
        """Velocities (step, n, 3) in m/s."""
        return self.nodes.velocity

    @property
    def angular_velocity(self) -> Array:
        """Angular velocities (step, n, 3) in rad/s, world frame."""
        return self.nodes.angular_velocity

    @property
    def multipliers(self) -> Array:
        """Multipliers (step, rows) of joints and couplings."""
        return self.nodes.multipliers

    @property
    def turned(self) -> Mapping[str, Array]:
        """Reference angles (step, k) for counting the full turns of joints, by joint name."""
        return self.nodes.turned

    @property
    def inputs(self) -> Array | None:
        """Inputs of motors and servos (step, input), held from each node on; None if they were not recorded."""
        return self.nodes.inputs

    @property
    def control(self) -> Array | None:
        """Loads from a control function (step, n, 6), held from each node on, N and N m; None without one."""
        return self.nodes.control

    @property
    def checkpoints(self) -> Checkpoints | None:
        """Data with which a run can continue from a node; None if they were not recorded."""
        return self.nodes.checkpoints

    # ---- how they were made

    @property
    def dt(self) -> float:
        """Time step in s."""
        return self.made.dt

    @property
    def iterations(self) -> NDArray[np.int32]:
        """Newton iterations of every step of the run."""
        return self.made.iterations

    @property
    def substeps(self) -> NDArray[np.int32]:
        """Substeps of every step of the run, 1 if it was not halved."""
        return self.made.substeps

    @property
    def newton_residual(self) -> Array:
        """Upper bound of the remaining Newton increment of every step, m/s and rad/s."""
        return self.made.newton_residual

    @property
    def error(self) -> Array | None:
        """Estimated error of every step (relative to the size, or rad); None if it was not estimated."""
        return self.made.error

    @property
    def checked_error(self) -> float | None:
        """Largest error of the nodes (relative to the size, or rad), from a coarser run; None without one."""
        return self.made.checked_error

    @property
    def increments(self) -> Array | None:
        """Increments of Newton's method (step, iteration), padded with zeros; None if they were not recorded."""
        return self.made.increments

    @property
    def accuracy_warning(self) -> str:
        """The sentence of `warnings` about steps that are too coarse; empty if there is none."""
        return self.made.accuracy_warning

    @property
    def info(self) -> RunInfo | None:
        """How the run was computed; None if no simulator made it."""
        return self.made.info

    @property
    def events(self) -> list[Occurrence]:
        """Occurrences of events, in the order of time."""
        return self.made.events

    # ---- reading

    @property
    def _rows(self) -> Mapping[str, int]:
        return self.mechanism.rows()

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        from .run_warnings import found_at_once

        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "empty"
        halved = f", {how_many(self.halved_count, 'step', 'steps')} halved" if self.halved_count else ""
        if halved and self.info is not None and self.info.accuracy > 0:
            # the accuracy asks for them
            halved = f", {int(self.substeps.sum())} substeps"
        if self.made.impacts is not None and len(self.made.impacts):
            halved += f", {how_many(len(self.made.impacts), 'impact', 'impacts')}"
            halved += f" ({how_many(self.caught_count, 'step', 'steps')} caught)" * (self.caught_count > 0)
        left = self.newton_residual.max(initial=0.0)
        floor = f", Newton's method at rounding ({left:.0e} m/s) in {self.floor_count} steps"
        halved += floor * (self.floor_count > 0)
        error = f", sum of step errors {self.error.sum():.1g}" if self.error is not None and len(self) else ""
        error += f" (largest {self.error.max(initial=0.0):.1g})" if self.error is not None and error else ""
        error += f", error at nodes at most {self.checked_error:.1g}" if self.checked_error is not None else ""
        failed = "".join(f", {sentence.split(':')[0]}" for _, sentence in found_at_once(self))
        failed += "" if self.status.ok else f", stopped: {self.status.message}"
        bodies = how_many(self.mechanism.body_count, "body", "bodies")
        return f"Trajectory({bodies}, {len(self)} nodes, {span}{halved}{error}{failed})"

    def _repr_html_(self) -> str:
        from ..view.notebooks import trajectory_table

        return trajectory_table(self)

    def _seen(self, reactions: bool = False) -> Trajectory:
        return self

    def _accelerations(self, row: int | slice) -> tuple[Array, Array]:
        if len(self) < 3:
            raise ValueError(f"accelerations need at least three recorded nodes, got {len(self)}")
        linear, angular = (
            np.gradient(array[:, row], self.time, axis=0, edge_order=2)
            for array in (self.velocity, self.angular_velocity)
        )
        return linear, angular

    @overload
    def __getitem__(self, key: int) -> State: ...
    @overload
    def __getitem__(self, key: slice | NDArray[np.bool_]) -> Trajectory: ...
    def __getitem__(self, key: int | slice | NDArray[np.bool_]) -> State | Trajectory:
        """A node as a State, or a part of the trajectory, as in run[::10] or run[run.time > 2]."""
        if isinstance(key, str):
            raise TypeError(f"a trajectory is indexed by node, as in run[-1] or run[::10]; try run.body({key!r})")
        if isinstance(key, slice) or (isinstance(key, np.ndarray) and key.dtype == bool and key.shape == (len(self),)):
            return Trajectory(self.mechanism, self.nodes[key], self.made)
        if not isinstance(key, int | np.integer):
            raise TypeError(
                f"a trajectory is indexed by node, as in run[-1], run[::10] or run[run.time > 2], got {key!r}"
            )
        return self.nodes.state(self.mechanism, key)

    @overload
    def at(self, time: float) -> State: ...
    @overload
    def at(self, time: Array) -> Trajectory: ...
    def at(self, time: float | ArrayLike) -> State | Trajectory:
        """Return the state at a time (s) between nodes, or a trajectory with one node for each of several times.

        It interpolates with a polynomial of degree 7 through the poses and velocities of the four surrounding nodes. At
        orders 2 and 4 with a given dt, it is as accurate as the nodes; if nodes are far apart, as in runs that chose
        their own steps, it is less accurate. Joint gaps are as large as the interpolation error (`mechanism.assemble`
        closes them). If you know the times in advance, use `Simulator.run(t_eval=)`.

        An AccuracyWarning says where the estimated interpolation error exceeds the accuracy of the run.
        """
        from .interpolation import not_resolved, resampled

        try:
            times = np.atleast_1d(np.asarray(time, dtype=float))
        except (TypeError, ValueError, OverflowError):
            times = np.full(1, np.nan)
        if times.ndim != 1 or not len(self) or not ((self.time[0] <= times) & (times <= self.time[-1])).all():
            span = f"from {self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "at no time at all"
            raise ValueError(f"times must be numbers within the run, which was {span}, got {time!r}")
        found = resampled(self, times)
        if unresolved := not_resolved(self, times):
            warn(AccuracyWarning(unresolved))
        return found.nodes.state(self.mechanism, 0, computed=False) if np.ndim(time) == 0 else found

    @property
    def efforts(self) -> Array:
        """Efforts of motors and servos (step, input) in the order of `mechanism.inputs`, N m or N."""
        return InputEfforts(self.mechanism)(*self._joint_motion(), self.inputs)

    def _joint_motion(self) -> tuple[Array, Array]:
        return analysis.joint_motion(self.mechanism, self.time, self._motion, self.turned)

    def counted(self, name: str) -> Array:
        """Return the angles (step, k) of a joint in rad, including full turns."""
        joint = self.mechanism.joints[name]
        return self.joint(joint).coordinates[:, list(joint.angles)]

    def __iter__(self) -> Iterator[State]:
        return (self[k] for k in range(len(self)))

    def coupling(self, name: str | Coupling) -> CouplingHistory:
        """Return one coupling over time, given by name or as an object."""
        return CouplingHistory(self, looked_up("coupling", name, self.mechanism, _HERE))

    def force(self, name: str | Force) -> ForceHistory:
        """Return one force over time, given by name or as an object: its effort, power and work."""
        return ForceHistory(self, looked_up("force", name, self.mechanism, _HERE))

    @property
    def impacts(self) -> tuple[Impact, ...]:
        """Impacts at hard limits and contacts in the order of time; `pandas.DataFrame(run.impacts)` is a table."""
        if self.made.impacts is None:
            raise ValueError(
                "impacts of members of a batch are not recorded, only their number, batch.impact_counts; simulate the "
                "member alone with run(state=...)"
            )
        return impacts_of(self.mechanism, self.made.impacts)

    @property
    def contacts(self) -> list[ContactRow]:
        """Shapes that press on each other, node by node; `pandas.DataFrame(run.contacts)` is a table."""
        return contact_rows(self)

    def dissipated(self, name: str | Joint | Contact | None = None) -> Array:
        """Return the energy (step,) in J that impacts have dissipated since the first node.

        With `name`, a joint or contact given by name or as an object, only what its own impacts have dissipated.
        """
        known = None if name is None else name_of(name)
        m = self.mechanism
        if known is not None and known not in m.joints and known not in m.contacts:
            raise no_such("joint" if m.joints else "contact", known, m, after=" in this trajectory")
        impacts = [impact for impact in self.impacts if known in (None, impact.name)]
        lost = np.concatenate(((0.0,), np.cumsum([impact.loss for impact in impacts])))
        found: Array = lost[np.searchsorted([impact.time for impact in impacts], self.time, side="right")]
        # a node at an impact is after it
        return found - found[:1]

    @property
    def failed(self) -> bool:
        """Whether the run failed; `status` says why."""
        return not self.status.ok

    @property
    def halved_count(self) -> int:
        """Number of steps that were halved because they had no solution (`rescue`)."""
        return int(np.count_nonzero(self.substeps > 1))

    @property
    def cut_count(self) -> int:
        """Times that a step was cut where a hard limit was touched; the rest of the step followed."""
        return self.made.cut_count

    @property
    def caught_count(self) -> int:
        """Steps whose last part ended at a hard limit without a located touch, after several cuts: of first order."""
        return self.made.caught_count

    @property
    def floor_count(self) -> int:
        """Number of steps in which rounding kept Newton's method above its tolerance; see `newton_residual`."""
        return 0 if self.info is None else int(np.count_nonzero(self.newton_residual > self.info.tolerance))

    @cached_property
    def _doubts(self) -> tuple[tuple[type[CatenaWarning], str], ...]:
        from .run_warnings import doubts

        return tuple(doubts(self))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences with reasons to doubt the run, for example if steps are too coarse or redundant joints disagree."""
        return tuple(sentence for _, sentence in self._doubts)

    def convergence(self, step: int) -> Convergence:
        """Return the increments of Newton's method in a step; requires run(..., increments=True)."""
        if self.increments is None or self.info is None:
            raise ValueError("this run did not record increments; use run(..., increments=True)")
        row = self.increments[step]
        return Convergence(row[row > 0], self.info.tolerance, float(self.newton_residual[step]))

    def energy_error(self) -> Array:
        """Return the energy gained or lost since the first node (step,), relative to the energy in motion.

        The energy in motion is the largest kinetic energy or change of potential energy over the nodes whose error is
        below half of it (over all nodes if there are none), so it does not grow with the error. If nothing moves, the
        result is 0. The work of motors, dampers and loads counts as error.
        """
        return analysis.energy_error(self.kinetic_energy(), self.potential_energy())


def single_node(state: State) -> Trajectory:
    """A trajectory of one node."""
    return Trajectory(state.mechanism, Nodes.of(state), Making())


def followed(mechanism: Mechanism, poses: Poses, dt: float, start: float) -> Trajectory:
    """A trajectory through poses that follow each other at intervals dt."""
    count = len(poses.position)
    velocity, angular_velocity = poses.motion(dt)
    nodes = Nodes(
        time=np.asarray(start + dt * np.arange(count), dtype=float),
        position=poses.position,
        orientation=poses.orientation,
        velocity=velocity,
        angular_velocity=angular_velocity,
        multipliers=np.zeros((count, 0)),
        turned=poses.turned,
    )
    return Trajectory(mechanism, nodes, Making(dt=dt))
