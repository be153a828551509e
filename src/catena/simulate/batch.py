"""Batches: one mechanism simulated many times, from other states, under other loads, with other numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._util.lookup import name_of, no_such
from .._util.rotation import Array
from .._util.status import CatenaError
from .._util.strict import Recorded
from ..kinematics.nodes import Making, Nodes
from ..results.analysis import JointSpace, joint_motion
from ..results.efforts import InputEfforts
from ..results.histories import JointReader
from ..results.trajectory import Trajectory

if TYPE_CHECKING:
    from .._util.provenance import RunInfo
    from .._util.status import Status
    from ..compile.row_selection import RowSelection
    from ..describe.joint import Joint
    from ..describe.mechanism import Mechanism
    from .members import MemberNumbers
    from .summaries import Summaries

# of every member, by the name of what its tally counts
COUNTS = {"impact_counts": "impacts", "cut_counts": "cut", "caught_counts": "caught"}

# recorded of every body, and how many numbers each is
SIZES = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}


@dataclass
class Batch(Recorded, JointSpace):
    """Recorded nodes of many runs; arrays begin with the axes (member, step), bodies are those recorded, in `bodies`.

    time (member, step) s, position (member, step, n, 3) m, orientation (member, step, n, 4), velocity and
    angular_velocity (member, step, n, 3), world frame. iterations, substeps, newton_residual and error are (member,
    step of the run). status has one entry per member; counts (member,) is how many of its rows are filled: all, unless
    it failed, and what lies beyond is nan. `batch[k]` is member k as a Trajectory, with its own masses and forces, if
    all bodies were recorded; it has no reactions. impact_counts, cut_counts and caught_counts (member,) are numbers of
    impacts at hard limits, of cuts there and of steps that were caught. `batch.joint(name)` is one joint in all
    members. info says how they were computed.
    """

    mechanism: Mechanism
    dt: float
    bodies: tuple[str, ...]
    time: Array
    position: Array
    orientation: Array
    velocity: Array
    angular_velocity: Array
    iterations: NDArray[np.int32]
    substeps: NDArray[np.int32]
    newton_residual: Array
    error: Array | None
    accuracy_warnings: list[str]  # of every member, what is to be said of steps that are too coarse
    counts: NDArray[np.int64]
    status: list[Status]
    numbers: MemberNumbers
    near: Mapping[str, Array]  # angles (member, step, k) of joints near which their turns are counted
    info: RunInfo
    selection: RowSelection | None  # rows of loops that were enforced, if others than those of the described pose
    # (member,) impacts at hard stops; substeps that end where one is touched, steps that end at one without that
    impact_counts: NDArray[np.int64]
    cut_counts: NDArray[np.int64]
    caught_counts: NDArray[np.int64]
    alone: str  # why members ran one by one, empty if they ran in lanes

    def __len__(self) -> int:
        return len(self.status)

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        failed = self.failed
        ended = f", {len(failed)} failed" if failed else ""
        return f"Batch({len(self)} members, {len(self.bodies)} bodies, {self.time.shape[1]} nodes{ended})"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on what makes members doubtful, empty if nothing does; those of one member: `batch[k].warnings`."""
        return tuple(filter(None, (self.accuracy_warning, self.alone)))

    @property
    def accuracy_warning(self) -> str:
        """The sentence on the member whose steps are most too coarse; empty if none are."""
        inaccurate = [k for k, sentence in enumerate(self.accuracy_warnings) if sentence]
        if not inaccurate or self.error is None:
            return ""
        worst = inaccurate[int(self.error[inaccurate].max(axis=1).argmax())]
        return f"{len(inaccurate)} of {len(self)} members, most of all member {worst}: {self.accuracy_warnings[worst]}"

    @property
    def failed(self) -> list[int]:
        """Members that could not be finished; their status says why."""
        return [k for k, status in enumerate(self.status) if not status.ok]

    def __getitem__(self, member: int) -> Trajectory:
        which = self._all_bodies()
        try:
            member = range(len(self))[member]
        except TypeError:
            raise ValueError(f"a member of a batch is chosen by a whole number, got {member!r}") from None
        count = int(self.counts[member])
        done = self.status[member].step
        position, orientation, velocity, spin = (getattr(self, name)[member, :count][:, which] for name in SIZES)
        nodes = Nodes(
            time=self.time[member, :count],
            position=position,
            orientation=orientation,
            velocity=velocity,
            angular_velocity=spin,
            multipliers=np.zeros((count, 0)),
            near={name: angles[member, :count] for name, angles in self.near.items()},
        )
        made = Making(
            dt=self.dt,
            iterations=self.iterations[member, :done],
            substeps=self.substeps[member, :done],
            newton_residual=self.newton_residual[member, :done],
            error=None if self.error is None else self.error[member, :done],
            accuracy_warning=self.accuracy_warnings[member],
            status=self.status[member],
            info=self.info,
            selection=self.selection,
            # the core does not keep them
            impacts=None if self.impact_counts[member] else np.zeros((0, 5)),
            cut_count=int(self.cut_counts[member]),
            caught_count=int(self.caught_counts[member]),
        )
        return Trajectory(self.numbers.mechanism_of(self.mechanism, member), nodes, made)

    @property
    def efforts(self) -> Array:
        """What motors and servos exert (member, step, input) by `mechanism.inputs`, N m or N."""
        laws = self.numbers.law
        return InputEfforts(self.mechanism, None if laws is None else laws[:, None])(*self._joint_motion(), None)

    def _joint_motion(self, every: int = 1) -> tuple[Array, Array]:
        """Coordinates and rates (member, step, coordinate), of every so many nodes."""
        which = self._all_bodies()
        time = self.time[:, ::every]
        shape, n = time.shape, len(self.bodies)
        flat = [getattr(self, name)[:, ::every, which].reshape(-1, n, size) for name, size in SIZES.items()]
        near = {name: angles[:, ::every].reshape(-1, angles.shape[-1]) for name, angles in self.near.items()}
        found = joint_motion(self.mechanism, time.reshape(-1), (flat[0], flat[1], flat[2], flat[3]), near)
        return found[0].reshape(*shape, -1), found[1].reshape(*shape, -1)

    def _all_bodies(self) -> slice | list[int]:
        """Bodies in the mechanism's order, all of which must have been recorded."""
        rows = {name: k for k, name in enumerate(self.bodies)}
        missing = [name for name in self.mechanism.bodies if name not in rows]
        if missing:
            raise ValueError(
                f"only {len(self.bodies)} of {self.mechanism.body_count} bodies were recorded, not {missing[0]!r}"
            )
        order = [rows[name] for name in self.mechanism.bodies]
        # a view, if the order is the mechanism's own
        return slice(None) if order == list(range(len(order))) else order

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the batch and its mechanism to one npz file; an existing file is replaced only when complete.

        Functions of time and of poses cannot be written; a batch that is read back does not have them.
        """
        from ..io.batch_file import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Batch:
        """Read a file written by save."""
        from ..io.batch_file import load

        return load(path)

    def to_dataframe(self) -> Any:
        """A pandas DataFrame with a row per member and node, by "member" and "time", as Trajectory.to_csv names them.

        Joint coordinates and rates are there if all bodies were recorded.
        """
        from ..io.tables import batch_dataframe

        return batch_dataframe(self)

    def to_xarray(self) -> Any:
        """An xarray Dataset over member, node, body and axis, with `failed` and `message` of every member."""
        from ..io.tables import batch_dataset

        return batch_dataset(self)

    def joint(self, name: str | Joint) -> JointReader:
        """One joint, given by name or itself, over time in all members; its bodies must have been recorded."""
        known = name_of(name)
        if known not in self.mechanism.joints:
            raise no_such("joint", known, self.mechanism, after=" in this batch")
        joint = self.mechanism.joints[known]
        for body in (joint.a, joint.b):
            if not body.is_world and body.name not in self.bodies:
                raise ValueError(f"{joint.label}: its body {body.name!r} was not recorded")
        return JointReader(self, joint, {name: row for row, name in enumerate(self.bodies)})


class BatchError(CatenaError, RuntimeError):
    """Members that could not be finished; `batch` holds what was computed: a Batch, or the Summaries of `keep`."""

    def __init__(self, batch: Batch | Summaries) -> None:
        failed = batch.failed
        more = f", and {len(failed) - 3} more" if len(failed) > 3 else ""
        sentences = "; ".join(f"member {k}: {batch.status[k].message}" for k in failed[:3])
        super().__init__(f"{len(failed)} of {len(batch.status)} members failed: {sentences}{more}")
        self.batch = batch

    def __reduce__(self) -> tuple[type[BatchError], tuple[Batch | Summaries]]:
        return type(self), (self.batch,)
