"""Batches: one mechanism simulated many times, from other states, under other loads, with other numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._util.checks import whole
from .._util.lookup import no_such
from .._util.memory import refuse_if_too_large
from .._util.progress import finish, watcher
from .._util.rotation import Array, finite
from .._util.status import CatenaError, status_of
from .._util.strict import Recorded
from ..compile.compile import start_arrays
from ..describe.forces import LAW, NUMBERS
from ..describe.inertia import Inertia
from ..kinematics.nodes import Making, Nodes
from ..kinematics.unwrap import unwrapped
from ..results.accuracy import too_coarse, warn
from ..results.analysis import JointSpace, joint_motion
from ..results.efforts import InputEfforts
from ..results.run_warnings import passed_by_members, warn_of_members
from ..results.trajectory import Trajectory
from .loads import Forces, LoadTable, load_table

if TYPE_CHECKING:
    from .._util.provenance import RunInfo
    from .._util.status import Status
    from ..compile.row_selection import Asked
    from ..describe.joint import BodyLike, Joint, Motion
    from ..describe.mechanism import Mechanism
    from ..describe.signals import Signals
    from ..kinematics.state import State
    from .simulator import Simulator

# members' own numbers of a force, by its name: {"spring": {"stiffness": (members,)}}
Laws: TypeAlias = Mapping[str, Mapping[str, ArrayLike]]

# recorded of every body, and how many numbers each is
_SIZES = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}

# members that a thread takes at a time, at most
_WIDEST_GROUP = 8

# numbers of a law that make it act inside the step; whether one does is settled when the simulator is built
_STAGED = ("damping", "friction", "kp", "kd", "implicit", "inertia")


@dataclass
class Batch(Recorded, JointSpace):
    """Recorded nodes of many runs; arrays begin with the axes (member, step), bodies are those recorded, in `bodies`.

    time (member, step) s, position (member, step, n, 3) m, orientation (member, step, n, 4), velocity and
    angular_velocity (member, step, n, 3), world frame. iterations, substeps, newton_residual and error are (member,
    step of the run). status has one entry per member; counts (member,) is how many of its rows are filled: all, unless
    it failed, and what lies beyond is nan. `batch[k]` is member k as a Trajectory, with its own masses and forces, if
    all bodies were recorded; it has no reactions. `batch.joint(name)` is one joint in all members. info says how they
    were computed.
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
    coarse: list[str]  # of every member, what is to be said of steps that are too coarse
    counts: NDArray[np.int64]
    status: list[Status]
    numbers: MemberNumbers
    near: Mapping[str, Array]  # angles (member, step, k) of joints near which their turns are counted
    info: RunInfo
    asked: Asked | None  # rows of loops that were enforced, if others than those of the described pose
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
        return tuple(filter(None, (self.too_coarse, passed_by_members(self), self.alone)))

    @property
    def too_coarse(self) -> str:
        """The sentence on the member whose steps are most too coarse; empty if none are."""
        coarse = [k for k, sentence in enumerate(self.coarse) if sentence]
        if not coarse or self.error is None:
            return ""
        worst = coarse[int(self.error[coarse].max(axis=1).argmax())]
        return f"{len(coarse)} of {len(self)} members, most of all member {worst}: {self.coarse[worst]}"

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
        position, orientation, velocity, spin = (getattr(self, name)[member, :count][:, which] for name in _SIZES)
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
            coarse=self.coarse[member],
            status=self.status[member],
            info=self.info,
            asked=self.asked,
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
        flat = [getattr(self, name)[:, ::every, which].reshape(-1, n, size) for name, size in _SIZES.items()]
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

    def joint(self, name: str) -> BatchJoint:
        """One joint over time in all members; its bodies must have been recorded."""
        if not isinstance(name, str) or name not in self.mechanism.joints:
            raise ValueError(f"there is no joint called {name!r} in this batch")
        joint = self.mechanism.joints[name]
        for body in (joint.a, joint.b):
            if not body.is_world and body.name not in self.bodies:
                raise ValueError(f"{joint.label}: its body {body.name!r} was not recorded")
        return BatchJoint(self, joint)


class BatchJoint:
    """One joint in all members of a batch."""

    def __init__(self, batch: Batch, joint: Joint) -> None:
        self._batch = batch
        self._joint = joint

    @property
    def coordinates(self) -> Array:
        """Joint coordinates (member, step, dof); angles in rad, turns counted, lengths in m."""
        (xa, qa, _, _), (xb, qb, _, _) = self._sides()
        found = self._joint.coordinates_of(*self._joint.measure((xa, qa), (xb, qb)))
        return unwrapped(self._joint, found, self._batch.near.get(self._joint.name))

    @property
    def rates(self) -> Array:
        """Joint rates (member, step, dof); rad/s and m/s."""
        return self._joint.rates_of(*self._joint.relative_twist(*self._sides()), self.coordinates)

    def _sides(self) -> tuple[Motion, Motion]:
        return self._side(self._joint.a), self._side(self._joint.b)

    def _side(self, body: BodyLike) -> Motion:
        """Position, orientation, velocity and angular velocity of a body or the world, (member, step, ...)."""
        batch, joint = self._batch, self._joint
        if not body.is_world:
            row = batch.bodies.index(body.name)
            x, q, v, w = (getattr(batch, name)[:, :, row] for name in _SIZES)
            return x, q, v, w
        shape = batch.time.shape
        if joint.ground is None:
            still = np.zeros((*shape, 3))
            return still, np.broadcast_to(body.orientation, (*shape, 4)), still, still
        # all members pass the same instants, unless one failed between two of them
        instants, place = np.unique(batch.time, return_inverse=True)
        found = np.full((len(instants), 13), np.nan)
        for numbers, t in zip(found, instants, strict=True):
            if np.isfinite(t):
                numbers[:] = np.concatenate(joint.ground_motion(float(t)))
        found = found[place].reshape(*shape, 13)
        return found[..., :3], found[..., 3:7], found[..., 7:10], found[..., 10:]


class BatchError(CatenaError, RuntimeError):
    """Members that could not be finished; `batch` holds what was computed."""

    def __init__(self, batch: Batch) -> None:
        failed = batch.failed
        more = f", and {len(failed) - 3} more" if len(failed) > 3 else ""
        sentences = "; ".join(f"member {k}: {batch.status[k].message}" for k in failed[:3])
        super().__init__(f"{len(failed)} of {len(batch)} members failed: {sentences}{more}")
        self.batch = batch

    def __reduce__(self) -> tuple[type[BatchError], tuple[Batch]]:
        return type(self), (self.batch,)


class MemberNumbers:
    """Masses, inertias, gravity and numbers of forces that differ between members, checked; None where none do."""

    def __init__(
        self,
        mechanism: Mechanism,
        count: int,
        masses: Mapping[str, ArrayLike] | None,
        inertias: Mapping[str, ArrayLike] | None,
        gravity: ArrayLike | None,
        force_parameters: Laws | None,
    ) -> None:
        bodies = list(mechanism.bodies.values())
        rows = {body.name: k for k, body in enumerate(bodies)}
        for label, mapping in (("masses", masses), ("inertias", inertias), ("laws", force_parameters)):
            if mapping is not None and not isinstance(mapping, Mapping):
                raise ValueError(f"{label} must be a mapping from names to numbers, got {mapping!r}")
        self._masses, self._inertias, self._laws = masses or {}, inertias or {}, force_parameters or {}
        for what, given in (("masses", self._masses), ("inertias", self._inertias)):
            for name in given:
                if name not in rows:
                    raise no_such("body", name, mechanism, f"{what}: ")
        self.mass: Array | None = None
        self.inertia: Array | None = None
        self.gravity: Array | None = None
        self.law: Array | None = None
        self._own_gravity: Array | None = None
        if masses or inertias:
            self.mass = np.tile([body.inertia.mass for body in bodies], (count, 1))
            self.inertia = np.tile([body.inertia.tensor for body in bodies], (count, 1, 1, 1))
            for name, value in self._masses.items():
                own, inertia = finite(value, (count,), f"masses of {name!r}"), mechanism.bodies[name].inertia
                self.mass[:, rows[name]] = own
                if inertia.mass:
                    # as where the mass of a body is set
                    self.inertia[:, rows[name]] *= (own / inertia.mass)[:, None, None]
            for name, value in self._inertias.items():
                self.inertia[:, rows[name]] = finite(value, (count, 3, 3), f"inertias of {name!r}")
            for name in {*self._masses, *self._inertias}:
                if ((self.mass[:, rows[name]] == 0) != (mechanism.bodies[name].mass == 0)).any():
                    raise ValueError(f"body {name!r} must be massless in all members or in none")
                for k in range(count):
                    try:
                        Inertia(float(self.mass[k, rows[name]]), self.inertia[k, rows[name]])
                    except ValueError as error:
                        raise ValueError(f"body {name!r} of member {k}: {error}") from None
        if gravity is not None:
            own = self._own_gravity = finite(gravity, (count, 3), "gravity")
            self.gravity = np.array([[g if body.has_gravity else np.zeros(3) for body in bodies] for g in own])
        if force_parameters:
            self._fill_laws(mechanism, count)

    def _fill_laws(self, mechanism: Mechanism, count: int) -> None:
        parts = [(name, part) for name, force in mechanism.forces.items() for part in force.parts]
        table = np.tile([[part.law[key] for key in NUMBERS] for _, part in parts], (count, 1, 1))
        for name, numbers in self._laws.items():
            if name not in mechanism.forces:
                raise no_such("force", name, mechanism, "laws: ")
            label = mechanism.forces[name].label
            places = [k for k, (owner, _) in enumerate(parts) if owner == name]
            if not places:
                raise ValueError(f"laws: {label} has the same numbers for all members")
            if not isinstance(numbers, Mapping):
                raise ValueError(f"laws: numbers of {label} must be a mapping, got {numbers!r}")
            for key, value in numbers.items():
                if key not in LAW:
                    raise ValueError(f"laws: {label} has no {key!r}, only {', '.join(LAW)}")
                if len(places) > 1:
                    raise ValueError(f"laws: {label} has several parts, whose numbers are the same for all members")
                column = finite(value, (count,), f"{key} of {label}")
                if (column < 0).any() and key not in ("rest", "target", "target_rate", "force"):
                    raise ValueError(f"{key} of {label} must not be negative")
                base = parts[places[0]][1].law
                if key in _STAGED and column.any() and not any(base[other] for other in _STAGED):
                    raise ValueError(
                        f"laws: {label} has no {key} of its own, so its members cannot: "
                        f"give the mechanism's a small one before the simulator is built"
                    )
                table[:, places[0], NUMBERS.index(key)] = column
        self.law = table

    def arrays(self) -> _core.MemberArrays:
        """As the core takes them."""
        return _core.MemberArrays(mass=self.mass, inertia=self.inertia, gravity=self.gravity, law=self.law)

    def mechanism_of(self, mechanism: Mechanism, member: int) -> Mechanism:
        """A copy of the mechanism with a member's own numbers, or the mechanism itself if it has none."""
        if self.mass is None and self.gravity is None and self.law is None:
            return mechanism
        own = mechanism.copy()
        for k, body in enumerate(own.bodies.values()):
            if self.mass is not None and self.inertia is not None:
                body.inertia = Inertia(float(self.mass[member, k]), self.inertia[member, k], physical=False)
        if self._own_gravity is not None:
            own.gravity = self._own_gravity[member]
        if self.law is not None:
            parts = [part for force in own.forces.values() for part in force.parts]
            for part, numbers in zip(parts, self.law[member], strict=True):
                part.law = dict(zip(NUMBERS, map(float, numbers), strict=True))
        return own.snapshot("trajectory")


def run_batch(
    simulator: Simulator,
    starts: list[State],
    steps: int,
    *,
    loads: Forces | Sequence[Forces | None] | None,
    masses: Mapping[str, ArrayLike] | None,
    inertias: Mapping[str, ArrayLike] | None,
    gravity: ArrayLike | None,
    force_parameters: Laws | None,
    threads: int | None,
    record_every: int,
    bodies: Sequence[str] | None,
    out: Mapping[str, Array],
    progress: bool | Callable[[int, int], None],
) -> Batch:
    """See Simulator.run_batch."""
    mechanism, compiled, count = simulator.mechanism, simulator._compiled, len(starts)
    if count == 0:
        raise ValueError("a batch needs at least one member")
    if any(start.time != starts[0].time for start in starts):
        raise ValueError("the states of a batch must have the same time")
    places = {name: place for place, name in enumerate(mechanism.bodies)}
    kept = _recorded(mechanism, bodies)
    numbers = MemberNumbers(mechanism, count, masses, inertias, gravity, force_parameters)
    signals = compiled.signals.extended()
    table = member_loads(mechanism, loads, count, steps, signals)

    records = -(-steps // record_every) + 1
    threads = min(count, whole(threads, "threads") if threads is not None else os.cpu_count() or 1)
    shapes = {name: (count, records, len(kept), size) for name, size in _SIZES.items()} | {"time": (count, records)}
    if not isinstance(out, Mapping):
        raise ValueError(f"out must be a mapping from names to arrays, got {out!r}")
    for name in out:
        if name not in shapes:
            raise ValueError(f"out: {name!r} is not recorded, only {', '.join(shapes)}")
    room = 8 * sum(int(np.prod(shape)) for name, shape in shapes.items() if name not in out)
    # counts of every step, and what threads have on their hands: all bodies of a group of members
    room += 16 * count * steps + 8 * threads * _WIDEST_GROUP * records * len(places) * sum(_SIZES.values())
    room += 8 * count * records * len(compiled.counters)
    what = f"recording {count} members x {records} nodes x {len(kept)} bodies"
    refuse_if_too_large(room, what, "raise record_every or record fewer bodies")
    arrays = {name: _room(out, name, shape) for name, shape in shapes.items()}
    iterations, substeps = (np.zeros((count, max(steps, 1)), dtype=np.int32) for _ in range(2))
    newton_residual = np.zeros((count, max(steps, 1)))
    error = np.zeros((count, max(steps, 1))) if simulator._estimates else None
    counters = compiled.counters
    angles = np.full((count, records, len(counters)), np.nan)
    ended, tallies = compiled.core.run_batch(
        settings=simulator._settings(starts[0], steps, record_every),
        threads=threads,
        start=_core.Start(**start_arrays(compiled, starts)),
        loads=table.arrays(),
        rows=compiled.rows,
        signals=signals.read,
        signal_count=signals.count,
        numbers=numbers.arrays(),
        bodies=np.array([places[name] for name in kept], dtype=np.int32),
        records=_core.Records(
            **arrays,
            counted=angles,
            iterations=iterations,
            substeps=substeps,
            newton_residual=newton_residual,
            error=error,
        ),
        poll=watcher(progress, count),
    )
    if progress:
        finish(progress, count, count)
    coarse = [too_coarse(simulator, tally, end.step) for tally, end in zip(tallies, ended, strict=True)]
    batch = Batch(
        mechanism=mechanism,
        dt=simulator.dt,
        bodies=tuple(kept),
        **arrays,
        iterations=iterations,
        substeps=substeps,
        newton_residual=newton_residual,
        error=error,
        coarse=coarse,
        counts=np.array([end.records for end in ended]),
        status=[simulator._judged(status_of(simulator, end), each) for end, each in zip(ended, coarse, strict=True)],
        numbers=numbers,
        near=compiled.by_joint(angles),
        info=simulator._run_info(),
        asked=simulator._other_rows,
        alone=_why_alone(simulator, signals.count) if count > 1 else "",
    )
    for k in batch.failed:
        for array in arrays.values():
            array[k, batch.counts[k] :] = np.nan
    if batch.failed and (simulator.on_failure == "raise" or simulator.on_inaccurate == "raise"):
        raise BatchError(batch)
    if simulator.on_inaccurate == "warn":
        warn(batch.too_coarse, 3)
    warn_of_members(batch, 3)
    return batch


def _why_alone(simulator: Simulator, signal_count: int) -> str:
    kind, order = _core.SolverKind[simulator.solver], max(simulator.order, 2)
    can = simulator.order > 1 and simulator._error_rate == 0
    if can and simulator._compiled.core.fits_lanes(solver=kind, order=order, signal_count=signal_count):
        return ""
    why = {
        f"solver {simulator.solver!r} has none": simulator.solver != "articulated",
        f"order {simulator.order} has none": simulator.order != 2,
        "each keeps its own accuracy": simulator._error_rate > 0,
        "there are functions of time": signal_count > 0,
    }
    reason = next((reason for reason, holds in why.items() if holds), "its loops are too large or too special")
    return f"members ran one by one, not several at a time in lanes: {reason}"


def member_loads(
    mechanism: Mechanism,
    force: Forces | Sequence[Forces | None] | None,
    count: int,
    steps: int,
    signals: Signals,
) -> LoadTable:
    """Loads of all members; where they differ, with values of each."""
    if not isinstance(force, list | tuple) or not all(isinstance(f, Mapping | np.ndarray | None) for f in force):
        return load_table(mechanism, cast("Forces | None", force), steps, signals)
    if len(force) != count:
        raise ValueError(f"force: {len(force)} given for {count} members")
    tables = [load_table(mechanism, cast("Forces | None", f), steps, signals) for f in force]
    first = tables[0]
    for k, table in enumerate(tables):
        same = all(
            np.array_equal(getattr(table, what), getattr(first, what)) for what in ("body", "point", "in_body_frame")
        )
        if not same or (table.signal >= 0).any():
            raise ValueError(
                f"loads of member {k}: members' forces must act on the same bodies, at the same points and in the same "
                "frames, and be no functions of time"
            )
    rows = max(table.values.shape[1] for table in tables)
    every = [np.broadcast_to(t.values, (1, rows, *t.values.shape[2:])) for t in tables]
    return replace(first, values=np.concatenate(every))


def _recorded(mechanism: Mechanism, bodies: Sequence[str] | None) -> list[str]:
    """Names of the bodies to be recorded, checked."""
    names = list(mechanism.bodies)
    if bodies is None:
        return names
    if isinstance(bodies, str | bytes) or not isinstance(bodies, Sequence):
        raise ValueError(f"bodies must be names of bodies, got {bodies!r}")
    kept = list(bodies)
    for name in kept:
        if not isinstance(name, str) or name not in names:
            raise no_such("body", name, mechanism, "bodies: ")
    if len(set(kept)) < len(kept):
        raise ValueError("bodies: each can be recorded once only")
    return kept


def _room(out: Mapping[str, Array], name: str, shape: tuple[int, ...]) -> Array:
    """The caller's array, if it fits, or a new one."""
    if name not in out:
        return np.empty(shape)
    array = out[name]
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != np.float64:
        raise ValueError(f"out: {name} must be an array of floats of shape {shape}")
    if not array.flags.c_contiguous or not array.flags.writeable:
        raise ValueError(f"out: {name} must be writable and contiguous")
    return array
