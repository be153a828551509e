"""Writes URDF: the tree as links and joints, loops as <loop_joint>s, massless links between freedoms of one joint."""

from __future__ import annotations

import os
from math import inf, isfinite, pi
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ..._util.disk import file_name
from ..._util.rotation import Array, conjugate, rotate, to_matrix
from ...describe.joint import Pose
from ...describe.mechanism import Mechanism
from ...describe.shapes import Shape, Shaped
from .elementary_joints import Limb, Motion, Tree
from .graph import WORLD, inverse, together
from .markup import identity_pose
from .notes import Notes
from .writing import relative, save, text

_TYPES = {"turn": "revolute", "slide": "prismatic", "ball": "ball", "screw": "screw"}
_LOOPS = {
    **{"revolute": "revolute", "prismatic": "prismatic", "fixed": "fixed", "ball": "spherical", "planar": "planar"},
    **{"universal": "universal", "cylindrical": "cylindrical", "screw": "screw"},
}
_NO_LIMIT = 1e16


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """See Mechanism.to_urdf."""
    target = Path(file_name(path))
    notes = Notes(str(target), "written")
    save(_Writer(mechanism, notes, target).robot, path, declares=True)
    notes.warn()


class _Writer:
    def __init__(self, mechanism: Mechanism, notes: Notes, target: Path) -> None:
        self.mechanism, self.notes, self.target = mechanism, notes, target
        self.tree = Tree(mechanism, notes)
        self.robot = Element("robot", name=target.stem)
        self.robot.set("xmlns:drake", "http://drake.mit.edu")
        self.origins: dict[str, Pose] = {WORLD: identity_pose()}
        limbs = self.tree.limbs
        self.rootless = len(limbs) > 0 and limbs[0].is_free and all(limb.parent != WORLD for limb in limbs[1:])
        if not self.rootless:
            self._shapes(SubElement(self.robot, "link", name=WORLD), mechanism.world, identity_pose())
        elif mechanism.world.shapes:
            notes.skip("shapes of the world")
        for limb in limbs:
            self._limb(limb)
        for joint in self.tree.loops:
            self._loop(joint.name)
        for name, body, pose in self.tree.other_frames():
            if body == WORLD and self.rootless:
                notes.skip("frame of the world", name)
                continue
            SubElement(self.robot, "link", name=name)
            place = together(inverse(self.origins[body]), pose)
            self._joint(f"{name} frame", "fixed", body, name, place)
        self._couplings()
        for force in self.tree.forces:
            notes.skip(type(force).__name__.lower(), force.name)
        if not np.array_equal(mechanism.gravity, (0.0, 0.0, -9.81)):
            notes.skip("gravity that is not 9.81 m/s^2 along -z")

    # ---- links

    def _limb(self, limb: Limb) -> None:
        body = limb.body
        frame = self.tree.origin(body.name)
        # a link's origin is at its joint, along the axes of the body's reference frame
        self.origins[body.name] = frame if limb.is_free or not limb.motions else (limb.on_body[0], frame[1])
        self._link(limb)
        if limb.is_free:
            if not self.rootless:
                place = together(limb.on_parent, self.origins[body.name])
                self._joint(limb.name, "floating", WORLD, body.name, place)
            return
        self._joints(limb)

    def _link(self, limb: Limb) -> None:
        body = limb.body
        link = SubElement(self.robot, "link", name=body.name)
        back = inverse(self.origins[body.name])
        if body.mass > 0:
            inertial = SubElement(link, "inertial")
            _origin(inertial, (back[0], identity_pose()[1]))
            SubElement(inertial, "mass", value=repr(body.mass))
            axes = to_matrix(back[1])
            tensor = axes @ body.inertia.tensor @ axes.T
            keys = (("ixx", 0, 0), ("ixy", 0, 1), ("ixz", 0, 2), ("iyy", 1, 1), ("iyz", 1, 2), ("izz", 2, 2))
            SubElement(inertial, "inertia", {key: repr(float(tensor[i, j])) for key, i, j in keys})
        if not body.has_gravity:
            self.notes.skip("a body without gravity", body.name)
        self._shapes(link, body, back)

    def _shapes(self, link: Element, thing: Shaped, back: Pose) -> None:
        for shape in thing.shapes:
            if shape.kind in ("plane", "heightfield", "hull"):
                self.notes.skip(f"shape of kind {shape.kind}", shape.name or thing.label)
                continue
            for tag, wanted in (("visual", shape.visible), ("collision", shape.collides)):
                if wanted:
                    self._shape(SubElement(link, tag), shape, back)

    def _shape(self, element: Element, shape: Shape, back: Pose) -> None:
        if shape.name:
            element.set("name", shape.name)
        _origin(element, together(back, (shape.position, shape.orientation)))
        geometry = SubElement(element, "geometry")
        if shape.kind == "box":
            SubElement(geometry, "box", size=text(shape.size))
        elif shape.kind == "sphere":
            SubElement(geometry, "sphere", radius=repr(shape.size[0]))
        elif shape.kind in ("cylinder", "capsule"):
            tag = "cylinder" if shape.kind == "cylinder" else "drake:capsule"
            SubElement(geometry, tag, radius=repr(shape.size[0]), length=repr(shape.size[1]))
        elif shape.kind == "ellipsoid":
            SubElement(geometry, "drake:ellipsoid", dict(zip("abc", map(repr, shape.size), strict=True)))
        else:
            SubElement(geometry, "mesh", filename=relative(shape.mesh, self.target), scale=text(shape.size))
        if shape.color is not None:
            material = SubElement(element, "material", name="")
            SubElement(material, "color", rgba=text(shape.color))

    # ---- joints

    def _joints(self, limb: Limb) -> None:
        """The joint of a limb, or its motions one after the other with massless links between them."""
        parent, name = limb.parent, limb.body.name
        start = together(inverse(self.origins[parent]), limb.on_parent)
        end = together(inverse(limb.on_body), self.origins[name])
        if not limb.motions:
            self._joint(limb.name, "fixed", parent, name, together(start, end))
            return
        for k, motion in enumerate(limb.motions):
            last = k == len(limb.motions) - 1
            child = name if last else f"{motion.name} link"
            if not last:
                SubElement(self.robot, "link", name=child)
            place = together(start, (np.zeros(3), end[1])) if last else start
            axis = rotate(conjugate(end[1]), motion.axis) if last else motion.axis
            self._motion(motion, parent, child, place, axis)
            parent, start = child, identity_pose()

    def _motion(self, motion: Motion, parent: str, child: str, place: Pose, axis: Array) -> None:
        limits, law = motion.limits, motion.law
        kind = _TYPES[motion.kind]
        ranged = isfinite(limits.lower) or isfinite(limits.upper)
        if kind == "revolute" and not ranged:
            kind = "continuous"
        joint = self._joint(motion.name, kind, parent, child, place)
        if kind == "ball":
            if law.damping:
                SubElement(joint, "dynamics", damping=repr(law.damping))
            return
        SubElement(joint, "axis", xyz=text(axis))
        if kind == "screw":
            SubElement(joint, "drake:screw_thread_pitch", value=repr(2 * pi * motion.joint.parameter))
        if ranged or kind == "prismatic" or min(limits.effort, limits.speed) < inf:
            given = {"effort": _bounded(limits.effort), "velocity": _bounded(limits.speed)}
            if kind != "continuous":
                given |= {"lower": _bounded(limits.lower), "upper": _bounded(limits.upper)}
            SubElement(joint, "limit", given)
        if law.damping or law.friction:
            SubElement(joint, "dynamics", damping=repr(law.damping), friction=repr(law.friction))
        for key in ("stiffness", "armature"):
            if getattr(law, key):
                self.notes.skip(f"{key} of a joint", motion.name)

    def _joint(self, name: str, kind: str, parent: str, child: str, place: Pose) -> Element:
        tag = "drake:joint" if kind in ("ball", "screw") else "joint"
        joint = SubElement(self.robot, tag, name=name, type=kind)
        SubElement(joint, "parent", link=parent)
        SubElement(joint, "child", link=child)
        _origin(joint, place)
        return joint

    def _loop(self, name: str) -> None:
        joint = self.mechanism.joints[name]
        if joint.code not in _LOOPS:
            raise ValueError(f"{joint.label} closes a loop in a way that URDF cannot represent")
        if any(body.name == WORLD for body in (joint.a, joint.b)) and self.rootless:
            raise ValueError(f"{joint.label} joins a floating mechanism to the world, which URDF cannot represent")
        loop = SubElement(self.robot, "loop_joint", name=name, type=_LOOPS[joint.code])
        for tag, body, pose in (
            ("link1", joint.a.name, (joint.anchor_a, joint.frame_a)),
            ("link2", joint.b.name, (joint.anchor_b, joint.frame_b)),
        ):
            end = SubElement(loop, tag, link=body)
            end.attrib |= _pose(together(inverse(self.origins[body]), pose))
        if joint.code not in ("fixed", "ball", "universal"):
            SubElement(loop, "axis", xyz="0 0 1")
        if joint.code == "screw":
            SubElement(loop, "drake:screw_thread_pitch", value=repr(2 * pi * joint.parameter))

    def _couplings(self) -> None:
        """Couplings of two coordinates become mimics."""
        joints = {joint.get("name"): joint for joint in self.robot if joint.tag in ("joint", "drake:joint")}
        names = {(m.joint.name, m.coordinate): m.name for limb in self.tree.limbs for m in limb.motions}
        for coupling in self.mechanism.couplings.values():
            terms = [
                (
                    names.get((t.measure.joint, self.mechanism.joints[t.measure.joint].names[t.measure.index])),
                    t.coefficient,
                )
                for t in coupling.terms
            ]
            if coupling.function is not None or len(terms) != 2 or any(name is None for name, _ in terms):
                self.notes.skip(type(coupling).__name__.lower(), coupling.name)
                continue
            (follower, own), (leader, other) = terms
            mimic = {"joint": str(leader), "multiplier": repr(-other / own), "offset": repr(coupling.offset / own)}
            SubElement(joints[follower], "mimic", mimic)


def _bounded(value: float) -> str:
    return repr(value if isfinite(value) else np.copysign(_NO_LIMIT, value).item())


def _origin(element: Element, pose: Pose) -> None:
    SubElement(element, "origin", _pose(pose))


def _pose(pose: Pose) -> dict[str, str]:
    return {"xyz": text(pose[0]), "rpy": text(_rpy(pose[1]))}


def _rpy(q: Array) -> Array:
    """Roll, pitch and yaw of a turn; where the pitch is a quarter turn the yaw is zero."""
    m = to_matrix(q)
    flat = np.hypot(m[0, 0], m[1, 0])
    pitch = np.arctan2(-m[2, 0], flat)
    if flat < 1e-9:
        return np.array((np.arctan2(-m[1, 2], m[1, 1]), pitch, 0.0))
    return np.array((np.arctan2(m[2, 1], m[2, 2]), pitch, np.arctan2(m[1, 0], m[0, 0])))
