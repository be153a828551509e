"""Trajectories as files: one npz, the mechanism included, and nothing that could run code."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import constraints, couplings, custom, joints, laws, rolling
from ._rotation import Array, finite
from .inertia import Inertia, Shape
from .laws import LAW
from .measures import Measure
from .trajectory import ARRAYS, COUNTS, Trajectory

if TYPE_CHECKING:
    from .mechanism import Mechanism

# raised when the contents of a saved file change their meaning
FORMAT = 2
_MARK = "catena trajectory"

Contents = dict[str, NDArray[np.generic]]
Kind = TypeVar("Kind")


def _kinds(base: type[Kind], *modules: Any) -> dict[str, type[Kind]]:
    found = (kind for module in modules for kind in vars(module).values())
    return {kind.__name__: kind for kind in found if isinstance(kind, type) and issubclass(kind, base)}


_JOINTS = _kinds(joints.Joint, joints, constraints, rolling, custom)
_FORCES = _kinds(laws.Force, laws)
_COUPLINGS = _kinds(couplings.Coupling, couplings)


def save(run: Trajectory, path: str | os.PathLike[str]) -> None:
    """See Trajectory.save."""
    target = Path(path)
    contents = {name: getattr(run, name) for name in (*ARRAYS, *COUNTS)}
    contents |= _pack_bodies(run.mechanism) | _pack_joints(run.mechanism)
    contents |= _pack_forces(run.mechanism) | _pack_couplings(run.mechanism)
    contents |= {f"status_{key}": np.array(value) for key, value in asdict(run.status).items()}
    contents |= {f"counted_{name}": run.counted(name) for name in run._angled()}
    contents |= {"mark": np.array(_MARK), "format": np.array(FORMAT), "dt": np.array(run.dt)}
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **contents)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def load(path: str | os.PathLike[str]) -> Trajectory:
    """See Trajectory.load."""
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


def _rebuild(contents: Contents) -> Trajectory:
    from .mechanism import Mechanism
    from .simulator import Status

    mechanism = Mechanism(gravity=_floats(contents, "gravity"))
    _unpack_bodies(contents, mechanism)
    _unpack_joints(contents, mechanism)
    _unpack_forces(contents, mechanism)
    _unpack_couplings(contents, mechanism)
    n, steps = mechanism.body_count, len(contents["time"])
    rows = sum(joint.row_count for joint in mechanism.joints.values()) + len(mechanism.couplings)
    shapes = ((steps,), (steps, n, 3), (steps, n, 4), (steps, n, 3), (steps, n, 3), (steps, rows))
    arrays = [finite(contents[name], shape, name) for name, shape in zip(ARRAYS, shapes, strict=True)]
    status = {field.name: contents[f"status_{field.name}"].item() for field in fields(Status)}
    return Trajectory(
        mechanism.snapshot("trajectory"),
        float(contents["dt"]),
        *arrays,
        iterations=contents["iterations"].astype(np.int32),
        pieces=contents["pieces"].astype(np.int32),
        status=Status(**status),
        near={key[8:]: _floats(contents, key) for key in contents if key.startswith("counted_")},
    )


def _floats(contents: Contents, name: str) -> Array:
    return contents[name].astype(float)


def _strings(values: list[str]) -> NDArray[np.str_]:
    return np.array(values, dtype=str)


def _lost(label: str) -> Callable[..., Any]:
    """What stands for a function that a file cannot hold."""

    def function(*_: object) -> NoReturn:
        raise ValueError(f"{label}: its function was not saved with the trajectory")

    return function


# ---- bodies

_SHAPE_SIZES = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2}


def _pack_bodies(mechanism: Mechanism) -> Contents:
    bodies = list(mechanism.bodies.values())
    shapes = [body.shape for body in bodies]
    sizes = [[*(shape.size if shape else ()), 0, 0, 0][:3] for shape in shapes]
    return {
        "gravity": np.array(mechanism.gravity),
        "body_name": _strings([body.name for body in bodies]),
        "body_mass": np.array([body.inertia.mass for body in bodies]),
        "body_tensor": np.reshape([body.inertia.tensor for body in bodies], (-1, 3, 3)),
        "body_pose": np.reshape([(*body.position, *body.orientation) for body in bodies], (-1, 7)),
        "body_twist": np.reshape([(*body.velocity, *body.angular_velocity) for body in bodies], (-1, 6)),
        "body_has_gravity": np.array([body.has_gravity for body in bodies], dtype=bool),
        "shape_kind": _strings([shape.kind if shape else "" for shape in shapes]),
        "shape_size": np.reshape(sizes, (-1, 3)).astype(float),
    }


def _unpack_bodies(contents: Contents, mechanism: Mechanism) -> None:
    poses, twists = _floats(contents, "body_pose"), _floats(contents, "body_twist")
    masses, tensors = _floats(contents, "body_mass"), _floats(contents, "body_tensor")
    for k, name in enumerate(contents["body_name"]):
        inertia = Inertia(float(masses[k]), tensors[k], physical=False)
        kind = str(contents["shape_kind"][k])
        size = tuple(float(s) for s in _floats(contents, "shape_size")[k][: _SHAPE_SIZES.get(kind, 0)])
        mechanism.add_body(
            str(name),
            Shape(kind, size, inertia) if kind else inertia,  # type: ignore[arg-type]
            position=poses[k, :3],
            orientation=poses[k, 3:],
            velocity=twists[k, :3],
            angular_velocity=twists[k, 3:],
            gravity=bool(contents["body_has_gravity"][k]),
        )


# ---- joints, forces and couplings: made without their constructors, because what those find out is stored


def _pack_joints(mechanism: Mechanism) -> Contents:
    links = list(mechanism.joints.values())
    return {
        "joint_name": _strings([joint.name for joint in links]),
        "joint_kind": _strings([type(joint).__name__ for joint in links]),
        "joint_bodies": np.array([(joint.a.name, joint.b.name) for joint in links], dtype=str).reshape(-1, 2),
        "joint_anchors": np.reshape([(joint.anchor_a, joint.anchor_b) for joint in links], (-1, 2, 3)),
        "joint_frames": np.reshape([(joint.frame_a, joint.frame_b) for joint in links], (-1, 2, 4)),
        "joint_parameter": np.array([joint.parameter for joint in links], dtype=float),
        "joint_rows": np.array([joint.row_count for joint in links], dtype=int),
        "joint_has_ground": np.array([joint.ground is not None for joint in links], dtype=bool),
    }


def _unpack_joints(contents: Contents, mechanism: Mechanism) -> None:
    for k, name in enumerate(contents["joint_name"]):
        kind = _JOINTS[str(contents["joint_kind"][k])]
        joint = kind.__new__(kind)
        joint.name, joint.named = str(name), True
        joint._a, joint._b = (mechanism.find(str(body), joint.label) for body in contents["joint_bodies"][k])
        joint.anchor_a, joint.anchor_b = _floats(contents, "joint_anchors")[k]
        joint.frame_a, joint.frame_b = _floats(contents, "joint_frames")[k]
        joint.parameter = float(_floats(contents, "joint_parameter")[k])
        if contents["joint_has_ground"][k]:
            joint.ground = _lost(f"the ground of {joint.label}")
        if isinstance(joint, custom.GivenRows):
            joint._count = int(contents["joint_rows"][k])
            joint.forget(_lost(joint.label))
        mechanism._joints[joint.name] = joint


def _pack_measures(prefix: str, owners: list[int], measures: list[Measure]) -> Contents:
    return {
        f"{prefix}_owner": np.array(owners, dtype=int),
        f"{prefix}_code": _strings([m.code for m in measures]),
        f"{prefix}_bodies": np.array([(m.a, m.b) for m in measures], dtype=str).reshape(-1, 2),
        f"{prefix}_anchors": np.reshape([m.anchors for m in measures], (-1, 2, 3)),
        f"{prefix}_frames": np.reshape([m.frames for m in measures], (-1, 2, 4)),
        f"{prefix}_joint": _strings([m.joint for m in measures]),
        f"{prefix}_index": np.array([m.index for m in measures], dtype=int),
    }


def _unpack_measures(prefix: str, contents: Contents) -> list[Measure]:
    return [
        Measure(
            str(contents[f"{prefix}_code"][k]),
            str(contents[f"{prefix}_bodies"][k, 0]),
            str(contents[f"{prefix}_bodies"][k, 1]),
            _floats(contents, f"{prefix}_anchors")[k],
            _floats(contents, f"{prefix}_frames")[k],
            str(contents[f"{prefix}_joint"][k]),
            int(contents[f"{prefix}_index"][k]),
        )
        for k in range(len(contents[f"{prefix}_code"]))
    ]


def _pack_forces(mechanism: Mechanism) -> Contents:
    forces = list(mechanism.forces.values())
    parts = [(k, part) for k, force in enumerate(forces) for part in force.parts]
    return {
        "force_name": _strings([force.name for force in forces]),
        "force_kind": _strings([type(force).__name__ for force in forces]),
        "law_numbers": np.reshape([[part.law[key] for key in LAW] for _, part in parts], (-1, len(LAW))),
        "law_functions": _strings([" ".join(part.functions) for _, part in parts]),
    } | _pack_measures("law", [k for k, _ in parts], [part.measure for _, part in parts])


def _unpack_forces(contents: Contents, mechanism: Mechanism) -> None:
    measures = _unpack_measures("law", contents)
    for k, name in enumerate(contents["force_name"]):
        kind = _FORCES[str(contents["force_kind"][k])]
        force = kind.__new__(kind)
        force.name, force.named, force.parts = str(name), True, []
        for place in np.flatnonzero(contents["law_owner"] == k):
            numbers = _floats(contents, "law_numbers")[place]
            functions = str(contents["law_functions"][place]).split()
            law = {key: float(value) for key, value in zip(LAW, numbers, strict=True)}
            force.parts.append(laws.Part(measures[place], law, {key: _lost(force.label) for key in functions}))
        mechanism._forces[force.name] = force


def _pack_couplings(mechanism: Mechanism) -> Contents:
    found = list(mechanism.couplings.values())
    terms = [(k, term) for k, coupling in enumerate(found) for term in coupling.terms]
    return {
        "coupling_name": _strings([coupling.name for coupling in found]),
        "coupling_kind": _strings([type(coupling).__name__ for coupling in found]),
        "coupling_offset": np.array([coupling.offset for coupling in found], dtype=float),
        "coupling_has_function": np.array([coupling.function is not None for coupling in found], dtype=bool),
        "term_coefficient": np.array([term.coefficient for _, term in terms], dtype=float),
    } | _pack_measures("term", [k for k, _ in terms], [term.measure for _, term in terms])


def _unpack_couplings(contents: Contents, mechanism: Mechanism) -> None:
    measures = _unpack_measures("term", contents)
    for k, name in enumerate(contents["coupling_name"]):
        kind = _COUPLINGS[str(contents["coupling_kind"][k])]
        coupling = kind.__new__(kind)
        coupling.name, coupling.named = str(name), True
        coupling.offset = float(_floats(contents, "coupling_offset")[k])
        coupling.function = _lost(coupling.label) if contents["coupling_has_function"][k] else None
        factors = _floats(contents, "term_coefficient")
        places = np.flatnonzero(contents["term_owner"] == k)
        coupling.terms = [couplings.Term(measures[place], float(factors[place])) for place in places]
        mechanism._couplings[coupling.name] = coupling
