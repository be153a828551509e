"""Trajectory: what a run computed, as arrays with names."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import analysis, joints, laws
from ._rotation import Array, conjugate, cross, finite, multiply, rotate
from .inertia import Inertia
from .state import State

if TYPE_CHECKING:
    from .joints import BodyLike, Joint
    from .laws import Force
    from .mechanism import Mechanism
    from .simulator import Status

# raised when the contents of a saved file change their meaning
FORMAT = 1
_MARK = "catena trajectory"

_FORCES: dict[str, Any] = {
    name: kind for name, kind in vars(laws).items() if isinstance(kind, type) and issubclass(kind, laws.Force)
}
_KINDS = {
    name: kind for name, kind in vars(joints).items() if isinstance(kind, type) and issubclass(kind, joints.Joint)
}


class Trajectory:
    """The recorded nodes of a run; arrays begin with the axis `step`, bodies are in the mechanism's order.

    time (step,) s, position (step, n, 3) m, orientation (step, n, 4) body to world, velocity (step, n, 3) m/s and
    angular_velocity (step, n, 3) rad/s in the world frame, multipliers (step, rows). Velocities are those of the node's
    momentum, which the joints allow exactly; the integrator's own stage velocities live between the nodes.

    iterations and pieces have one entry per step of the run, recorded or not: Newton iterations, and the number of
    substeps it took (1, or more where `rescue` halved it); halved_count counts the latter steps.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        dt: float,
        time: Array,
        position: Array,
        orientation: Array,
        velocity: Array,
        angular_velocity: Array,
        multipliers: Array,
        *,
        iterations: NDArray[np.int32],
        pieces: NDArray[np.int32],
        status: Status,
        turned: Mapping[str, float] | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.dt = dt
        self.time = time
        self.position = position
        self.orientation = orientation
        self.velocity = velocity
        self.angular_velocity = angular_velocity
        self.multipliers = multipliers
        self.iterations = iterations
        self.pieces = pieces
        self.status = status
        # what each force on an angle measures at the first node, turns counted
        self.turned = dict(turned or {})
        self._angles: dict[str, Array] | None = None
        self._smallest: Array | None = None  # analysis.smallest_multipliers, once asked for
        self._rows = {name: row for row, name in enumerate(mechanism.bodies)}

    # ---- reading

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "empty"
        halved = f", {self.halved_count} steps halved" if self.halved_count else ""
        failed = "" if self.status.ok else f", stopped: {self.status.message}"
        return f"Trajectory({len(self._rows)} bodies, {len(self)} nodes, {span}{halved}{failed})"

    @overload
    def __getitem__(self, key: int) -> State: ...
    @overload
    def __getitem__(self, key: slice) -> Trajectory: ...
    def __getitem__(self, key: int | slice) -> State | Trajectory:
        """A node as a State, or a part of the trajectory."""
        if isinstance(key, slice):
            return Trajectory(
                self.mechanism,
                self.dt,
                *(getattr(self, name)[key] for name in _ARRAYS),
                iterations=self.iterations,
                pieces=self.pieces,
                status=self.status,
                turned=self._turned_at(key.indices(len(self))[0]),
            )
        return State(
            self.mechanism,
            self.position[key],
            self.orientation[key],
            self.velocity[key],
            self.angular_velocity[key],
            time=float(self.time[key]),
            multipliers=self.multipliers[key],
            turned=self._turned_at(key),
        )

    def _turned_at(self, node: int) -> dict[str, float]:
        """What every force on an angle measures at a node."""
        angles = [f for f in self.mechanism.forces.values() if f.measure.code == "measured_angle"]
        if not angles or not -len(self) <= node < len(self):
            return {}
        if self._angles is None:
            self._angles = {force.name: analysis.measured(self, force) for force in angles}
        return {name: float(values[node]) for name, values in self._angles.items()}

    def __iter__(self) -> Iterator[State]:
        return (self[k] for k in range(len(self)))

    def row(self, name: str) -> int:
        """Index of a body on the body axis."""
        if name not in self._rows:
            raise ValueError(f"there is no body called {name!r} in this trajectory")
        return self._rows[name]

    def body(self, name: str) -> BodyHistory:
        """One body over time."""
        return BodyHistory(self, self.row(name))

    def joint(self, name: str) -> JointHistory:
        """One joint over time."""
        if name not in self.mechanism.joints:
            raise ValueError(f"there is no joint called {name!r} in this trajectory")
        return JointHistory(self, self.mechanism.joints[name])

    @property
    def angular_velocity_body(self) -> Array:
        """Angular velocity (step, n, 3) in the body frames (rad/s)."""
        return rotate(conjugate(self.orientation), self.angular_velocity)

    @property
    def halved_count(self) -> int:
        """Steps that could not be taken whole and were halved (`rescue`)."""
        return int(np.count_nonzero(self.pieces > 1))

    # ---- laws

    def kinetic_energy(self) -> Array:
        """Kinetic energy (step,) in J."""
        return analysis.kinetic_energy(self)

    def potential_energy(self) -> Array:
        """Potential energy of gravity (step,) in J, zero at the origin."""
        return analysis.potential_energy(self)

    def energy(self) -> Array:
        """Kinetic plus potential energy (step,) in J."""
        return analysis.energy(self)

    def energy_error(self) -> Array:
        """Energy minus that of the first node, over the largest that any body's kinetic or potential energy changed.

        (step,); zero where nothing moves.
        """
        total = self.energy()
        scale = max(np.ptp(self.kinetic_energy()), self.kinetic_energy().max(), np.ptp(self.potential_energy()))
        rounding = np.finfo(float).eps * np.abs(total).max()
        error: Array = np.abs(total - total[0]) / scale if scale > 1e3 * rounding else np.zeros(len(self))
        return error

    def momentum(self) -> Array:
        """Linear momentum (step, 3) in kg m/s."""
        return analysis.momentum(self)

    def angular_momentum(self, about: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Array:
        """Angular momentum (step, 3) about a fixed world point, in kg m^2/s."""
        return analysis.angular_momentum(self, about)

    def drift(self) -> Array:
        """Gap of every joint (step, joint) in m."""
        return analysis.drift(self)

    def misalignment(self) -> Array:
        """Angle by which every joint is open (step, joint) in rad."""
        return analysis.misalignment(self)

    # ---- files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything, mechanism included, to one npz file; an old file stays whole until the new one is."""
        target = Path(path)
        contents = {name: getattr(self, name) for name in (*_ARRAYS, *_COUNTS)}
        contents |= _pack(self.mechanism)
        contents |= {f"status_{key}": np.array(value) for key, value in asdict(self.status).items()}
        contents |= {f"turned_{key}": np.array(value) for key, value in self.turned.items()}
        contents |= {"mark": np.array(_MARK), "format": np.array(FORMAT), "dt": np.array(self.dt)}
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, **contents)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Trajectory:
        """Read a file written by save."""
        name = os.fspath(path)
        try:
            with open(path, "rb") as file:
                loaded = np.load(file, allow_pickle=False)
                contents = dict(loaded) if isinstance(loaded, np.lib.npyio.NpzFile) else {}
        except (ValueError, EOFError, IsADirectoryError, zipfile.BadZipFile) as error:
            raise ValueError(f"{name}: not a readable trajectory ({error})") from None
        if str(contents.get("mark")) != _MARK:
            raise ValueError(f"{name}: not a trajectory that catena wrote")
        version = int(contents["format"])
        if version != FORMAT:
            raise ValueError(f"{name}: has format {version}, this catena reads format {FORMAT}")
        try:
            return _rebuild(contents)
        except KeyError as error:
            raise ValueError(f"{name}: incomplete, {error.args[0]} missing") from None
        except (ValueError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"{name}: contradicts itself ({error})") from None


_ARRAYS = ("time", "position", "orientation", "velocity", "angular_velocity", "multipliers")
_COUNTS = ("iterations", "pieces")


class BodyHistory:
    """One body over time: position, velocity, angular_velocity (step, 3), orientation (step, 4), world frame."""

    def __init__(self, run: Trajectory, row: int) -> None:
        self.position = run.position[:, row]
        self.orientation = run.orientation[:, row]
        self.velocity = run.velocity[:, row]
        self.angular_velocity = run.angular_velocity[:, row]

    def point(self, p: ArrayLike) -> Array:
        """World position (step, 3) of a point of the body frame (m)."""
        return self.position + rotate(self.orientation, np.asarray(p, dtype=float))

    def point_velocity(self, p: ArrayLike) -> Array:
        """World velocity (step, 3) of a point of the body frame (m/s)."""
        arm = rotate(self.orientation, np.asarray(p, dtype=float))
        return self.velocity + cross(self.angular_velocity, arm)


class JointHistory:
    """One joint over time: its coordinates, rates, gap and what it transmits."""

    def __init__(self, run: Trajectory, joint: Joint) -> None:
        self._run = run
        self._joint = joint

    @property
    def coordinates(self) -> Array:
        """Joint coordinates (step, dof); angles in rad, lengths in m."""
        a, b = self._side(self._joint.a), self._side(self._joint.b)
        return self._joint.coordinates_of(*self._joint.measure(a[:2], b[:2]))

    @property
    def rates(self) -> Array:
        """Joint rates (step, dof); rad/s and m/s."""
        joint = self._joint
        xa, qa, va, wa = self._side(joint.a)
        xb, qb, vb, wb = self._side(joint.b)
        point = xb + rotate(qb, joint.anchor_b)
        velocity = vb + cross(wb, point - xb) - va - cross(wa, point - xa)
        frame = conjugate(multiply(qa, joint.frame_a))
        return joint.rates_of(rotate(frame, velocity), rotate(frame, wb - wa), self.coordinates)

    def _side(self, body: BodyLike) -> tuple[Array, Array, Array, Array]:
        """Position, orientation, velocity and angular velocity of a body or the world, each (step, ...)."""
        if body.is_world:
            still = np.zeros((len(self._run), 3))
            return still, np.broadcast_to(body.orientation, (len(self._run), 4)), still, still
        history = self._run.body(body.name)
        return history.position, history.orientation, history.velocity, history.angular_velocity

    @property
    def gap(self) -> Array:
        """Distance (step,) in m in the directions the joint constrains."""
        return analysis.gaps(self._run, self._joint)[0]

    @property
    def misalignment(self) -> Array:
        """Angle (step,) in rad in the directions the joint constrains."""
        return analysis.gaps(self._run, self._joint)[1]

    @property
    def force(self) -> Array:
        """Force (step, 3) in N that the joint exerts on its body b, world frame."""
        return analysis.reaction(self._run, self._joint)[0]

    @property
    def torque(self) -> Array:
        """Torque (step, 3) in N m that the joint exerts on its body b, about b's joint point, world frame."""
        return analysis.reaction(self._run, self._joint)[1]


def _rebuild(contents: dict[str, NDArray[np.generic]]) -> Trajectory:
    from .simulator import Status

    mechanism = _unpack(contents)
    n, steps = mechanism.body_count, len(contents["time"])
    rows = sum(analysis.row_count(joint) for joint in mechanism.joints.values())
    shapes = ((steps,), (steps, n, 3), (steps, n, 4), (steps, n, 3), (steps, n, 3), (steps, rows))
    arrays = [finite(contents[name], shape, name) for name, shape in zip(_ARRAYS, shapes, strict=True)]
    status = {field.name: contents[f"status_{field.name}"].item() for field in fields(Status)}
    return Trajectory(
        mechanism,
        float(contents["dt"]),
        *arrays,
        iterations=contents["iterations"].astype(np.int32),
        pieces=contents["pieces"].astype(np.int32),
        status=Status(**status),
        turned={key[7:]: float(value) for key, value in contents.items() if key.startswith("turned_")},
    )


def _pack(mechanism: Mechanism) -> dict[str, NDArray[np.generic]]:
    bodies, links = list(mechanism.bodies.values()), list(mechanism.joints.values())
    shapes = [body.shape for body in bodies]
    return {
        "gravity": np.array(mechanism.gravity),
        "body_name": np.array([body.name for body in bodies], dtype=str),
        "body_mass": np.array([body.inertia.mass for body in bodies]),
        "body_tensor": np.reshape([body.inertia.tensor for body in bodies], (-1, 3, 3)),
        "body_pose": np.reshape([(*body.position, *body.orientation) for body in bodies], (-1, 7)),
        "body_twist": np.reshape([(*body.velocity, *body.angular_velocity) for body in bodies], (-1, 6)),
        "shape_kind": np.array([shape.kind if shape else "" for shape in shapes], dtype=str),
        "shape_size": np.reshape([[*(shape.size if shape else ()), 0, 0, 0][:3] for shape in shapes], (-1, 3)).astype(
            float
        ),
        "joint_name": np.array([joint.name for joint in links], dtype=str),
        "joint_kind": np.array([type(joint).__name__ for joint in links], dtype=str),
        "joint_bodies": np.array([(joint.a.name, joint.b.name) for joint in links], dtype=str).reshape(-1, 2),
        "joint_anchors": np.reshape([(joint.anchor_a, joint.anchor_b) for joint in links], (-1, 2, 3)),
        "joint_frames": np.reshape([(joint.frame_a, joint.frame_b) for joint in links], (-1, 2, 4)),
        "joint_parameter": np.array([joint.parameter for joint in links], dtype=float),
    } | _pack_forces(list(mechanism.forces.values()))


def _pack_forces(forces: list[Force]) -> dict[str, NDArray[np.generic]]:
    return {
        "force_name": np.array([force.name for force in forces], dtype=str),
        "force_kind": np.array([type(force).__name__ for force in forces], dtype=str),
        "force_code": np.array([force.measure.code for force in forces], dtype=str),
        "force_bodies": np.array([(f.measure.a, f.measure.b) for f in forces], dtype=str).reshape(-1, 2),
        "force_anchors": np.reshape([force.measure.anchors for force in forces], (-1, 2, 3)),
        "force_frames": np.reshape([force.measure.frames for force in forces], (-1, 2, 4)),
        "force_law": np.reshape([list(force.law.values()) for force in forces], (-1, 12)),
        "force_law_keys": np.array([list(force.law) for force in forces], dtype=str).reshape(-1, 12),
    }


def _unpack_forces(contents: dict[str, NDArray[np.generic]], mechanism: Mechanism) -> None:
    for k, name in enumerate(contents["force_name"]):
        kind = _FORCES[str(contents["force_kind"][k])]
        force = kind.__new__(kind)
        force.name, force.named = str(name), True
        a, b = (str(body) for body in contents["force_bodies"][k])
        anchors, frames = contents["force_anchors"][k].astype(float), contents["force_frames"][k].astype(float)
        force.measure = laws.Measure(str(contents["force_code"][k]), a, b, anchors, frames)
        keys, values = contents["force_law_keys"][k], contents["force_law"][k].astype(float)
        force.law = {str(key): float(value) for key, value in zip(keys, values, strict=True)}
        # resolved already: what it acts on is stored
        mechanism._forces[force.name] = force


def _unpack(contents: dict[str, NDArray[np.generic]]) -> Mechanism:
    from .inertia import Shape
    from .mechanism import Mechanism

    def get(name: str) -> Array:
        return contents[name].astype(float)

    mechanism = Mechanism(gravity=get("gravity"))
    names = [str(name) for name in contents["body_name"]]
    sizes = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2}
    poses, twists = get("body_pose"), get("body_twist")
    for k, name in enumerate(names):
        inertia = Inertia(float(get("body_mass")[k]), get("body_tensor")[k], physical=False)
        kind = str(contents["shape_kind"][k])
        size = tuple(float(s) for s in get("shape_size")[k][: sizes.get(kind, 0)])
        mechanism.add_body(
            name,
            Shape(kind, size, inertia) if kind else inertia,  # type: ignore[arg-type]
            position=poses[k, :3],
            orientation=poses[k, 3:],
            velocity=twists[k, :3],
            angular_velocity=twists[k, 3:],
        )
    for k, name in enumerate(contents["joint_name"]):
        made = _KINDS[str(contents["joint_kind"][k])]
        a, b = (str(body) for body in contents["joint_bodies"][k])
        anchors, frames = get("joint_anchors")[k], get("joint_frames")[k]
        # frames and parameter are stored whole, so any axis will do to make the joint
        extra: dict[str, Any] = {"axis": (0.0, 0.0, 1.0)} if issubclass(made, joints._AxisJoint) else {}
        if made is joints.Universal:
            extra = {"axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))}
        if made is joints.Screw:
            extra["pitch"] = 1.0
        if made is joints.Distance:
            extra["length"] = 1.0
        joint = mechanism.add_joint(made(a, b, anchors=anchors, name=str(name), **extra))
        joint.frame_a, joint.frame_b = frames[0], frames[1]
        joint.parameter = float(get("joint_parameter")[k])
    _unpack_forces(contents, mechanism)
    return mechanism
