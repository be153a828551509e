"""Reads MJCF, with MuJoCo as its compiler: the only file that knows it, and so above 450 lines.

A body of MuJoCo with several joints becomes as many bodies in a row, all but the last massless. Joint coordinates are
counted from the model's initial pose, qpos0, in which all of them are zero here. Armature, damping, springs and
friction loss act on the joints; motors are `Motor`s, whose input is the force on the joint, gear included; position and
velocity servos are `Servo`s, whose input is the joint's target. Equality constraints are hard joints and couplings.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import inf, pi
from typing import Any

import numpy as np

from ..._util.rotation import Array, multiply, normalised, to_matrix, z_to
from ...describe.body_forces import SumLimits
from ...describe.couplings import MOST_TERMS, Coupling
from ...describe.joint import Pose
from ...describe.joint_forces import Motor, Servo
from ...describe.limits import Limits
from ...describe.mechanism import Mechanism
from .folders import Folders
from .graph import WORLD, Edge, Graph, Law, Link, inverse, together
from .markup import LARGEST, identity_pose
from .mjcf_contacts import add_contacts, height_field
from .mjcf_files import Harmless, harmless
from .notes import Notes

_IDENTITY = identity_pose()[1]
# how soft limits are if a file does not say so
_USUAL_SOLREF = (0.02, 1.0)


def read(
    path: str | os.PathLike[str],
    *,
    merge_fixed: bool,
    packages: Mapping[str, str | os.PathLike[str]] | None,
    loop_tolerance: float,
    contacts: bool,
) -> Mechanism:
    """See Mechanism.from_mjcf."""
    try:
        import mujoco  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise ImportError("from_mjcf needs MuJoCo to compile the file: pip install 'catena[mjcf]'") from None
    folders = Folders(path, packages)
    notes = Notes(str(folders.model))
    with notes:
        files = harmless(folders, notes, contacts)
        try:
            with _heard(mujoco, notes):
                model = mujoco.MjSpec.from_string(files.text, assets=files.assets).compile()
        except (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError) as error:
            raise ValueError(f"MuJoCo does not compile it: {' '.join(str(error).split())}") from None
        reader = _Reader(mujoco, model, files, notes)
        mechanism = reader.mechanism(merge_fixed=merge_fixed, loop_tolerance=loop_tolerance)
        if contacts:
            add_contacts(mechanism, mujoco, model, reader.last, notes)
    return mechanism


@contextmanager
def _heard(engine: Any, notes: Notes) -> Iterator[None]:
    """Take down what MuJoCo has to say, which it would otherwise write to a file in the current folder."""
    usual = engine.get_mju_user_warning()
    engine.set_mju_user_warning(lambda message: notes.flag(f"MuJoCo says: {' '.join(message.split())}"))
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            yield
        for warning in said:
            notes.flag(f"MuJoCo says: {' '.join(str(warning.message).split())}")
    finally:
        engine.set_mju_user_warning(usual)


class _Reader:
    def __init__(self, engine: Any, model: Any, files: Harmless, notes: Notes) -> None:
        self.engine, self.model, self.files, self.notes = engine, model, files, notes
        self.graph = Graph(notes)
        for key in ("body_pos", "body_ipos", "body_mass", "body_inertia", "jnt_pos", "geom_pos", "geom_size", "qpos0"):
            found = np.asarray(getattr(model, key))
            if not np.isfinite(found).all() or np.abs(found).max(initial=0.0) > LARGEST:
                raise ValueError(f"{key} contains a number that is too large")
        self.bodies = self._names("body", model.nbody)
        self.joints = self._names("joint", model.njnt)
        self.bodies[0] = WORLD
        self.last: dict[int, str] = {}  # the link that stands for a body, by its number
        self.couplings: list[Coupling] = []
        self.sums: list[SumLimits] = []

    def _names(self, kind: str, count: int) -> list[str]:
        """Names, and numbers for those that have none."""
        code = getattr(self.engine.mjtObj, f"mjOBJ_{kind.upper()}")
        names = [self.engine.mj_id2name(self.model, code, k) or f"{kind}{k}" for k in range(count)]
        taken = {name for k, name in enumerate(names) if self.engine.mj_id2name(self.model, code, k)}
        for k, name in enumerate(names):
            if not self.engine.mj_id2name(self.model, code, k):
                while name in taken:
                    name += "'"
                names[k] = name
        return names

    def mechanism(self, *, merge_fixed: bool, loop_tolerance: float) -> Mechanism:
        model = self.model
        self.graph.links[WORLD] = Link(WORLD, pose=identity_pose())
        self.last[0] = WORLD
        self._shapes(0, self.graph.links[WORLD])
        self._frames(0, self.graph.links[WORLD])
        for k in range(1, model.nbody):
            self._body(k)
        flags = self.engine.mjtDisableBit
        for k in range(model.neq):
            self._equality(k)
        self._tendons()
        self._options()
        if merge_fixed:
            self.graph.merge_fixed()
        weightless = model.opt.disableflags & int(flags.mjDSBL_GRAVITY)
        mechanism = self.graph.build(np.zeros(3) if weightless else np.array(model.opt.gravity), loop_tolerance)
        for coupling in self.couplings:
            mechanism.add_coupling(coupling)
        for limited in self.sums:
            mechanism.add_force(limited)
        for k in range(model.nu):
            self._actuator(k, mechanism)
        return mechanism

    def _options(self) -> None:
        """What of the physics is not here."""
        model = self.model
        for key in ("density", "viscosity"):
            if getattr(model.opt, key):
                self.notes.skip(f"option@{key}")
        if np.any(model.opt.wind):
            self.notes.skip("option@wind")
        for key in ("spring", "damper", "frictionloss", "actuation"):
            if model.opt.disableflags & int(getattr(self.engine.mjtDisableBit, f"mjDSBL_{key.upper()}")):
                self.notes.skip(f"flag@{key}")
        for k, name in enumerate(self.joints):
            if np.any(model.jnt_stiffnesspoly[k]) or np.any(model.dof_dampingpoly[model.jnt_dofadr[k]]):
                self.notes.skip("nonlinear stiffness or damping", name)

    # ---- bodies and their joints

    def _body(self, k: int) -> None:
        model, name = self.model, self.bodies[k]
        parent = self.last[int(model.body_parentid[k])]
        place = _pose(model.body_pos[k], model.body_quat[k])
        first, count = int(model.body_jntadr[k]), int(model.body_jntnum[k])
        link = Link(name, mass=float(model.body_mass[k]), center=np.array(model.body_ipos[k]))
        axes = to_matrix(normalised(np.array(model.body_iquat[k])))
        link.tensor = axes @ np.diag(model.body_inertia[k]) @ axes.T
        compensation = float(model.body_gravcomp[k])
        link.gravity = compensation != 1.0
        if compensation not in (0.0, 1.0):
            self.notes.skip("body@gravcomp", name)
        if model.body_mocapid[k] >= 0:
            self.notes.skip("motion of a mocap body", name)
        self.last[k] = name
        if count == 0:
            self._take(link)
            self.graph.edges.append(Edge(f"{name} to {parent}", "fixed", parent, name, place))
        for joint in range(first, first + count):
            last = joint == first + count - 1
            child = name if last else f"{name} before {self.joints[joint + 1]}"
            self._take(link if last else Link(child))
            self.graph.edges.append(self._joint(joint, parent, child, place))
            parent, place = child, identity_pose()
        self._shapes(k, link)
        self._frames(k, link)

    def _take(self, link: Link) -> None:
        if link.name in self.graph.links:
            raise ValueError(f"there are two bodies called {link.name!r}")
        self.graph.links[link.name] = link

    def _joint(self, k: int, parent: str, child: str, place: Pose) -> Edge:
        """A joint of which the child's frame is at a place of the parent where its coordinates are zero."""
        model, name = self.model, self.joints[k]
        kinds = self.engine.mjtJoint
        kind = {
            int(kinds.mjJNT_FREE): "free",
            int(kinds.mjJNT_BALL): "ball",
            int(kinds.mjJNT_SLIDE): "prismatic",
            int(kinds.mjJNT_HINGE): "revolute",
        }[int(model.jnt_type[k])]
        dof = int(model.jnt_dofadr[k])
        law = Law(
            damping=float(model.dof_damping[dof]),
            friction=float(model.dof_frictionloss[dof]),
            armature=float(model.dof_armature[dof]),
            stiffness=float(model.jnt_stiffness[k]),
        )
        if kind == "free":
            frame = identity_pose()
        elif kind == "ball":
            frame = (np.array(model.jnt_pos[k]), _IDENTITY)
        else:
            frame = (np.array(model.jnt_pos[k]), z_to(normalised(np.array(model.jnt_axis[k]))))
        edge = Edge(name, kind, parent, child, together(place, frame), frame)
        if kind in ("free", "ball"):
            # MuJoCo damps a free body at the origin of its frame, a drag acts at its center of mass
            is_centered = not np.any(model.body_ipos[model.jnt_bodyid[k]])
            if law.damping and (kind == "ball" or is_centered):
                edge.laws = [Law(damping=law.damping)]
            for what in ("damping", "friction", "armature", "stiffness"):
                if getattr(law, what) and not (what == "damping" and edge.laws):
                    self.notes.skip(f"{what} of a {kind} joint", name)
            if model.jnt_limited[k] and kind == "ball" and 1e-3 <= float(model.jnt_range[k][1]) < pi:
                edge.limits = {"rotation": Limits(upper=float(model.jnt_range[k][1]))}
            elif model.jnt_limited[k]:
                self.notes.skip(f"range of a {kind} joint", name)
            self._soft(k, name)
            return edge
        position = int(model.jnt_qposadr[k])
        law.rest = float(model.qpos_spring[position] - model.qpos0[position])
        edge.laws = [law]
        lower, upper = model.jnt_range[k] - model.qpos0[position] if model.jnt_limited[k] else (-inf, inf)
        self._soft(k, name)
        effort = float(np.abs(model.jnt_actfrcrange[k]).max()) if model.jnt_actfrclimited[k] else inf
        limits = Limits(float(lower), float(upper), effort)
        if limits != Limits():
            edge.limits = {"angle" if kind == "revolute" else "displacement": limits}
        return edge

    def _soft(self, k: int, name: str) -> None:
        """Limits of MuJoCo give way, by numbers of their own if it is told so."""
        if self.model.jnt_limited[k] and not np.array_equal(self.model.jnt_solref[k], _USUAL_SOLREF):
            self.notes.skip("solreflimit, as limits are hard", name)

    def _shapes(self, body: int, link: Link) -> None:
        model, kinds = self.model, self.engine.mjtGeom
        scales: dict[int, tuple[str, list[int], float]] = {
            int(kinds.mjGEOM_SPHERE): ("sphere", [0], 1.0),
            int(kinds.mjGEOM_CAPSULE): ("capsule", [0, 1], 2.0),
            int(kinds.mjGEOM_ELLIPSOID): ("ellipsoid", [0, 1, 2], 1.0),
            int(kinds.mjGEOM_CYLINDER): ("cylinder", [0, 1], 2.0),
            int(kinds.mjGEOM_BOX): ("box", [0, 1, 2], 2.0),
        }
        first = int(model.body_geomadr[body])
        for k in range(first, first + int(model.body_geomnum[body])):
            name = self.engine.mj_id2name(model, self.engine.mjtObj.mjOBJ_GEOM, k) or ""
            material = int(model.geom_matid[k])
            shape: dict[str, Any] = {
                "name": name,
                "color": np.clip(model.mat_rgba[material] if material >= 0 else model.geom_rgba[k], 0.0, 1.0),
                "visible": bool(model.geom_group[k] < 3),
                "collides": bool(model.geom_contype[k] or model.geom_conaffinity[k]),
                "friction": 0.0 if model.geom_condim[k] == 1 else float(model.geom_friction[k][0]),
                "group": int(model.geom_contype[k]) % (1 << 32),
                "mask": int(model.geom_conaffinity[k]) % (1 << 32),
            }
            place = _pose(model.geom_pos[k], model.geom_quat[k])
            code = int(model.geom_type[k])
            if code in scales:
                kind, numbers, factor = scales[code]
                size = model.geom_size[k][numbers] * (1.0 if kind in ("sphere", "ellipsoid") else factor)
                if kind in ("capsule", "cylinder"):
                    size[0] = model.geom_size[k][0]
                shape |= {"kind": kind, "size": size}
            elif code == int(kinds.mjGEOM_PLANE):
                shape |= {"kind": "plane", "size": ()}
            elif code == int(kinds.mjGEOM_HFIELD):
                shape |= height_field(model, int(model.geom_dataid[k]))
            elif code == int(kinds.mjGEOM_MESH):
                mesh = int(model.geom_dataid[k])
                title = self.engine.mj_id2name(model, self.engine.mjtObj.mjOBJ_MESH, mesh) or ""
                if title in self.files.meshes:
                    # the compiler moved the mesh to its center and axes
                    place = together(place, inverse(_pose(model.mesh_pos[mesh], model.mesh_quat[mesh])))
                    file, scale = str(self.files.meshes[title]), np.array(model.mesh_scale[mesh])
                    shape |= {"kind": "mesh", "size": scale, "mesh": file}
                elif shape["collides"]:
                    first_point = int(model.mesh_vertadr[mesh])
                    points = model.mesh_vert[first_point : first_point + int(model.mesh_vertnum[mesh])]
                    shape |= {"kind": "hull", "size": (), "points": np.array(points, dtype=float)}
                else:
                    self.notes.skip("mesh without a file", title)
                    continue
            else:
                self.notes.skip(f"geom {kinds(code).name.removeprefix('mjGEOM_').lower()}", name or link.name)
                continue
            shape["position"], shape["orientation"] = place
            link.shapes.append(shape)

    def _frames(self, body: int, link: Link) -> None:
        for k in np.flatnonzero(self.model.site_bodyid == body):
            name = self.engine.mj_id2name(self.model, self.engine.mjtObj.mjOBJ_SITE, int(k))
            if name:
                link.frames[name] = _pose(self.model.site_pos[k], self.model.site_quat[k])

    # ---- equality constraints

    def _equality(self, k: int) -> None:
        model, kinds = self.model, self.engine.mjtEq
        kind = int(model.eq_type[k])
        name = self.engine.mj_id2name(model, self.engine.mjtObj.mjOBJ_EQUALITY, k) or f"equality{k}"
        while name in self.joints:
            name += "'"
        data = np.array(model.eq_data[k], dtype=float)
        if not np.isfinite(data).all() or np.abs(data).max(initial=0.0) > LARGEST:
            raise ValueError(f"equality {name!r} contains a number that is too large")
        one, two = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
        if not model.eq_active0[k] or model.opt.disableflags & int(self.engine.mjtDisableBit.mjDSBL_EQUALITY):
            self.notes.skip("equality that is not active", name)
        elif kind in (int(kinds.mjEQ_CONNECT), int(kinds.mjEQ_WELD)):
            self._hold(name, kind == int(kinds.mjEQ_WELD), one, two, data, int(model.eq_objtype[k]))
        elif kind == int(kinds.mjEQ_JOINT):
            self._tie(name, {one: 1.0}, {two: 1.0} if two >= 0 else {}, data)
        elif kind == int(kinds.mjEQ_TENDON):
            sums = [self._sum(tendon) for tendon in (one, two) if tendon >= 0]
            if any(terms is None for terms in sums):
                self.notes.skip("equality of a spatial tendon", name)
            else:
                self._tie(name, sums[0] or {}, (sums[1] or {}) if len(sums) > 1 else {}, data)
        else:
            self.notes.skip("equality of another kind", name)

    def _hold(self, name: str, weld: bool, one: int, two: int, data: Array, of: int) -> None:
        """Two points, or two frames, that coincide."""
        model = self.model
        if of == int(self.engine.mjtObj.mjOBJ_SITE):
            sites = [_pose(model.site_pos[site], model.site_quat[site]) for site in (one, two)]
            bodies = [int(model.site_bodyid[site]) for site in (one, two)]
        else:
            bodies = [one, two]
            turn = normalised(data[6:10]) if weld else _IDENTITY
            sites = [(data[3:6], turn), (data[:3], _IDENTITY)] if weld else [(data[:3], turn), (data[3:6], turn)]
        a, b = (self.last[body] for body in bodies)
        if a == b:
            raise ValueError(f"equality {name!r} joins {a!r} to itself")
        kind = "fixed" if weld else "ball"
        self.graph.edges.append(Edge(name, kind, a, b, sites[0], sites[1], closes=True, points=not weld))

    def _sum(self, tendon: int) -> dict[int, float] | None:
        """The joints of a fixed tendon and their coefficients."""
        model = self.model
        first = int(model.tendon_adr[tendon])
        terms: dict[int, float] = {}
        for k in range(first, first + int(model.tendon_num[tendon])):
            if int(model.wrap_type[k]) != int(self.engine.mjtWrap.mjWRAP_JOINT):
                return None
            joint = int(model.wrap_objid[k])
            terms[joint] = terms.get(joint, 0.0) + float(model.wrap_prm[k])
        return terms

    def _tie(self, name: str, first: dict[int, float], second: dict[int, float], data: Array) -> None:
        """First = data[0] + data[1] second, all counted from the initial pose."""
        if np.any(data[2:5]):
            self.notes.skip("nonlinear equality", name)
            return
        terms = dict(first)
        for joint, factor in second.items():
            terms[joint] = terms.get(joint, 0.0) - float(data[1]) * factor
        wanted = [(self.joints[joint], factor) for joint, factor in terms.items() if factor]
        if not wanted:
            self.notes.skip("equality without effect", name)
            return
        self.couplings.append(Coupling(wanted, offset=float(data[0]), name=name))

    def _tendons(self) -> None:
        model = self.model
        for k in range(model.ntendon):
            name = self.engine.mj_id2name(model, self.engine.mjtObj.mjOBJ_TENDON, k) or f"tendon{k}"
            for key in ("stiffness", "damping", "frictionloss", "armature"):
                if np.any(getattr(model, f"tendon_{key}")[k]):
                    self.notes.skip(f"{key} of a tendon", name)
            if model.tendon_limited[k] and not self._bound(k, name):
                self.notes.skip("limited of a tendon", name)

    def _bound(self, tendon: int, name: str) -> bool:
        """Limits of a fixed tendon, counted from the initial pose; whether they could be read."""
        model, terms = self.model, self._sum(tendon)
        wanted = {joint: factor for joint, factor in (terms or {}).items() if factor}
        if not 1 <= len(wanted) <= MOST_TERMS:
            return False
        start = sum(factor * float(model.qpos0[model.jnt_qposadr[joint]]) for joint, factor in wanted.items())
        lower, upper = (float(bound) - start for bound in model.tendon_range[tendon])
        terms_by_name = [(self.joints[joint], factor) for joint, factor in wanted.items()]
        self.sums.append(SumLimits(terms_by_name, Limits(lower, upper), name=name))
        return True

    # ---- actuators

    def _actuator(self, k: int, mechanism: Mechanism) -> None:
        """An affine law of a joint's coordinate and rate: a motor, or a servo."""
        model, engine = self.model, self.engine
        name = engine.mj_id2name(model, engine.mjtObj.mjOBJ_ACTUATOR, k) or f"actuator{k}"
        joint = int(model.actuator_trnid[k][0])
        of_joint = int(model.actuator_trntype[k]) == int(engine.mjtTrn.mjTRN_JOINT)
        affine = int(model.actuator_biastype[k]) == int(engine.mjtBias.mjBIAS_AFFINE)
        plain = (
            int(model.actuator_dyntype[k]) == int(engine.mjtDyn.mjDYN_NONE)
            and int(model.actuator_gaintype[k]) == int(engine.mjtGain.mjGAIN_FIXED)
            and (affine or int(model.actuator_biastype[k]) == int(engine.mjtBias.mjBIAS_NONE))
        )
        if not (of_joint and plain and mechanism.joints[self.joints[joint]].dof == 1):
            self.notes.skip("actuator other than a motor or servo of one coordinate", name)
            return
        gear, kp = float(model.actuator_gear[k][0]), float(model.actuator_gainprm[k][0])
        constant, stiffness, damping = (float(value) if affine else 0.0 for value in model.actuator_biasprm[k][:3])
        target = self.joints[joint]
        if gear == 0:
            self.notes.skip("actuator without gear", name)
        elif stiffness == 0 and damping == 0:
            mechanism.add_force(Motor(target, gear * constant, name=name))
            self._effort(k, mechanism, target, gear, kp, name)
        elif stiffness > 0 or damping > 0:
            self.notes.skip("actuator with a negative gain", name)
        else:
            zero = float(model.qpos0[model.jnt_qposadr[joint]])
            held = constant / (-stiffness * gear) - zero if stiffness else 0.0
            rate = 0.0 if stiffness else constant / (-damping * gear)
            servo = Servo(
                target,
                kp=-stiffness * gear**2,
                kd=-damping * gear**2,
                target=held,
                target_rate=rate,
                effort_limit=self._limit(k, joint, gear, name),
                name=name,
            )
            mechanism.add_force(servo)
            if model.actuator_ctrllimited[k]:
                self.notes.skip("range of a servo's target", name)
        for key in ("armature", "damping", "delay"):
            if np.any(getattr(model, f"actuator_{key}")[k]):
                self.notes.skip(f"{key} of an actuator", name)

    def _limit(self, k: int, joint: int, gear: float, name: str) -> float:
        """The most that a servo exerts: its own range, and that of all that acts on its joint."""
        model, most = self.model, inf
        ranges = [(model.actuator_forcerange[k], abs(gear))] if model.actuator_forcelimited[k] else []
        if model.jnt_actfrclimited[joint]:
            ranges.append((model.jnt_actfrcrange[joint], 1.0))
            others = (model.actuator_trnid[:, 0] == joint) & (
                model.actuator_trntype == int(self.engine.mjtTrn.mjTRN_JOINT)
            )
            if np.count_nonzero(others) > 1:
                self.notes.flag("actuatorfrcrange of several actuators, each taken to have it for itself", name)
        for (low, high), factor in ranges:
            if low != -high:
                self.notes.flag("an asymmetric range of forces, read as symmetric with its larger side", name)
            most = min(most, float(max(abs(low), abs(high)) * factor))
        return most

    def _effort(self, k: int, mechanism: Mechanism, name: str, gear: float, kp: float, motor: str) -> None:
        """The most that a motor is made for becomes a limit of its joint."""
        model, joint = self.model, mechanism.joints[name]
        most = inf
        if model.actuator_ctrllimited[k]:
            most = float(np.abs(model.actuator_ctrlrange[k]).max() * abs(gear * kp))
        if model.actuator_forcelimited[k]:
            most = min(most, float(np.abs(model.actuator_forcerange[k]).max() * abs(gear)))
        coordinate = joint.names[0]
        known = joint.limits.get(coordinate, Limits())
        if min(most, known.effort) < inf:
            self.notes.skip("range of a motor, stored as the effort limit of its joint, but not enforced", motor)
        if most < known.effort:
            joint.limits = {coordinate: Limits(known.lower, known.upper, most, known.speed)}


def _pose(position: Array, orientation: Array) -> Pose:
    return np.array(position, dtype=float), normalised(multiply(np.array(orientation, dtype=float), _IDENTITY))
