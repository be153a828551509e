"""Batches: many runs of one mechanism with different states, loads or parameters."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._util.rotation import Array
from .._util.status import CatenaError
from .._util.strict import Recorded
from ..kinematics.nodes import Making, Nodes
from ..kinematics.readable import Readable
from ..results.analysis import JointSpace, joint_motion
from ..results.efforts import InputEfforts
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
COUNTS: dict[str, str] = {"impact_counts": "impacts", "cut_counts": "cut", "caught_counts": "caught"}

# recorded of every body, and how many numbers each is
SIZES: dict[str, int] = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}


@dataclass
class Batch(Recorded, JointSpace, Readable[Array]):
    """Recorded nodes of many runs of one mechanism; arrays begin with the axes (member, step).

    time (member, step) s, position (member, step, n, 3) m, orientation (member, step, n, 4), velocity and
    angular_velocity (member, step, n, 3), in the world frame; `bodies` names the n recorded bodies. iterations,
    substeps, newton_residual and error are (member, step of the run). status has one entry per member. counts (member,)
    is the number of recorded nodes, which is smaller for members that failed; their remaining entries are nan.
    impact_counts, cut_counts and caught_counts (member,) are the numbers of impacts at hard limits, of steps cut there
    and of steps that were caught. info describes how the batch was computed.

    `batch[k]` is member k as a Trajectory with its own masses, forces and geometry, if all bodies were recorded; it
    contains no reactions. `batch.joint(name)` is one joint in all members.
    """

    _where = " in this batch"

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
    turned: Mapping[str, Array]  # angles (member, step, k) of joints near which their turns are counted
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
        failed = int(self.failed.sum())
        ended = f", {failed} failed" if failed else ""
        return f"Batch({len(self)} members, {len(self.bodies)} bodies, {self.time.shape[1]} nodes{ended})"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences with reasons to doubt members; empty if there are none. For one member, see `batch[k].warnings`."""
        return tuple(filter(None, (self.accuracy_warning, self.alone)))

    @property
    def accuracy_warning(self) -> str:
        """The sentence about the member with the largest error per step, if its steps are too coarse; else empty."""
        return "" if self.error is None else worst_of(self.accuracy_warnings, self.error.max(axis=1, initial=0.0))

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Whether each member (member,) failed; `status` gives the reasons."""
        return np.array([not status.ok for status in self.status], dtype=bool)

    def __getitem__(self, member: int) -> Trajectory:
        which = self._all_bodies()
        try:
            member = range(len(self))[member]
        except TypeError:
            raise ValueError(f"a batch is indexed by member, a whole number, got {member!r}") from None
        except IndexError:
            raise IndexError(f"there is no member {member}: there are {len(self)}, from 0 to {len(self) - 1}") from None
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
            turned={name: angles[member, :count] for name, angles in self.turned.items()},
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
        first = (position[0], orientation[0], velocity[0], spin[0]) if count else None
        return Trajectory(self.numbers.mechanism_of(self.mechanism, member, first), nodes, made)

    @property
    def efforts(self) -> Array:
        """Efforts of motors and servos (member, step, input) in the order of `mechanism.inputs`, N m or N."""
        return self._input_efforts()(*self._joint_motion(), None)

    @property
    def inputs(self) -> Array:
        """Inputs (member, step, input) by `mechanism.inputs`: those described, or the members' own."""
        described = self._input_efforts().described
        return np.broadcast_to(described, (*self.time.shape, described.shape[-1]))

    def _input_efforts(self) -> InputEfforts:
        laws = self.numbers.law
        return InputEfforts(self.mechanism, None if laws is None else laws[:, None])

    def _joint_motion(self) -> tuple[Array, Array]:
        run = self._seen()
        bodies = (run.position, run.orientation, run.velocity, run.angular_velocity)
        coordinates, rates = joint_motion(self.mechanism, run.time, bodies, run.turned, self.numbers.geometry)
        shape = (*self.time.shape, coordinates.shape[1])
        return coordinates.reshape(shape), rates.reshape(shape)

    def _seen(self, reactions: bool = False) -> Trajectory:
        which = self._all_bodies()

        def flat(array: Array) -> Array:
            return array.reshape(self.time.size, *array.shape[2:])

        position, orientation, velocity, spin = (flat(getattr(self, name))[:, which] for name in SIZES)
        nodes = Nodes(
            time=flat(self.time),
            position=position,
            orientation=orientation,
            velocity=velocity,
            angular_velocity=spin,
            multipliers=np.zeros((len(position), 0)),
            turned={name: flat(angles) for name, angles in self.turned.items()},
        )
        return Trajectory(self.mechanism, nodes, Making(selection=self.selection))

    def _of_nodes(self, law: Callable[[Trajectory], Array], *, reactions: bool = False) -> Any:
        if self.numbers.are_shared and (self.counts == self.time.shape[1]).all():
            return super()._of_nodes(law)
        return self._of_members(law)

    def _of_members(self, law: Callable[[Trajectory], Array]) -> Array:
        """What a function gives for every member (member, step, ...), nan beyond the last node of one that failed."""
        parts = [law(run) for run in self]
        found = np.full((*self.time.shape, *parts[0].shape[1:]), np.nan)
        for row, part in zip(found, parts, strict=True):
            row[: len(part)] = part
        return found

    def _accelerations(self, row: int | slice) -> tuple[Array, Array]:
        def of(run: Trajectory, which: int) -> Array:
            # one that failed soon has too few nodes
            few = len(run) < 3 <= self.time.shape[1]
            return np.full_like(run.velocity[:, row], np.nan) if few else run._accelerations(row)[which]

        return self._of_members(lambda run: of(run, 0)), self._of_members(lambda run: of(run, 1))

    def _known_joint(self, name: str | Joint) -> Joint:
        joint = super()._known_joint(name)
        if self.numbers.geometry is not None:
            joint = self.numbers.geometry.joint(joint)
        for body in (joint.a, joint.b):
            if not body.is_world and body.name not in self.bodies:
                raise ValueError(f"{joint.label}: its body {body.name!r} was not recorded")
        return joint

    @property
    def _rows(self) -> Mapping[str, int]:
        return {name: row for row, name in enumerate(self.bodies)}

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
        """Write the batch and its mechanism to one npz file; an existing file is replaced once the new one is complete.

        Functions of time and of poses cannot be written; a batch read from a file does not have them.
        """
        from ..io.batch_file import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Batch:
        """Read a file written by `save`."""
        from ..io.batch_file import load

        return load(path)

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with one row per member and node, indexed by "member" and "time".

        The columns are those of `Trajectory.to_csv`; joint coordinates and rates require that all bodies were recorded.
        """
        from ..io.tables import batch_dataframe

        return batch_dataframe(self)

    def to_xarray(self) -> Any:
        """Return an xarray Dataset over member, node, body and axis, with `failed` and `message` for every member."""
        from ..io.tables import batch_dataset

        return batch_dataset(self)


def worst_of(sentences: Sequence[str], errors: Array) -> str:
    """Of sentences about members whose steps are too coarse that about the largest error (member,) per step."""
    inaccurate = [k for k, sentence in enumerate(sentences) if sentence]
    if not inaccurate:
        return ""
    worst = inaccurate[int(errors[inaccurate].argmax())]
    return f"{len(inaccurate)} of {len(sentences)} members, the worst is {worst}: {sentences[worst]}"


class BatchError(CatenaError, RuntimeError):
    """Members of a batch failed; `batch` contains the results: a Batch, or the Summaries of `keep`."""

    def __init__(self, batch: Batch | Summaries) -> None:
        failed = np.flatnonzero(batch.failed)
        more = f", and {len(failed) - 3} more" if len(failed) > 3 else ""
        sentences = "; ".join(f"member {k}: {batch.status[k].message}" for k in failed[:3])
        super().__init__(f"{len(failed)} of {len(batch.status)} members failed: {sentences}{more}")
        self.batch = batch

    def __reduce__(self) -> tuple[type[BatchError], tuple[Batch | Summaries]]:
        return type(self), (self.batch,)
