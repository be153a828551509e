"""Writes MJCF: bodies within bodies, loops and couplings as equality constraints, motors and servos as actuators.

Massless bodies between others are not written: their joints become further joints of the body that they carry. A hinge
that closes a loop holds two points of its axis. MuJoCo's constraints are soft: what is exact here gives a little there.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ..._util.disk import file_name
from ..._util.rotation import rotate, to_matrix
from ...describe.body_forces import Bumper, PointSpring, Rope, SumLimits
from ...describe.collisions import colliders
from ...describe.couplings import Coupling, Term
from ...describe.forces import Force, Part
from ...describe.joint import Joint, Pose
from ...describe.joint_forces import JointForce, Motor, Servo
from ...describe.mechanism import Mechanism
from ...describe.shapes import Shape
from .elementary_joints import Limb, Motion, Tree
from .graph import WORLD, inverse, together
from .markup import identity_pose
from .notes import Notes
from .writing import relative, save, text

_MESHES = (".stl", ".obj", ".msh")

# a bound that nothing reaches (rad or m)
_FAR = 1e6

# MuJoCo takes no moments of inertia below 1e-14
_LEAST = 2e-14

# half of the distance (m) of the two points that hold a hinge
_SPAN = 0.05


def write(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """See Mechanism.to_mjcf."""
    target = Path(file_name(path))
    notes = Notes(str(target), "written")
    save(_Writer(mechanism, notes, target).root, path, declares=False)
    notes.warn()


class _Writer:
    def __init__(self, mechanism: Mechanism, notes: Notes, target: Path) -> None:
        self.mechanism, self.notes, self.target = mechanism, notes, target
        self.tree = Tree(mechanism, notes)
        self.root = Element("mujoco", model=target.stem)
        compiler = SubElement(self.root, "compiler", angle="radian", autolimits="true")
        if not all(body.inertia.physical for body in mechanism.bodies.values()):
            compiler.set("balanceinertia", "true")
        SubElement(self.root, "option", gravity=text(mechanism.gravity))
        parts = ("asset", "worldbody", "contact", "tendon", "equality", "actuator", "keyframe")
        self.parts = {tag: SubElement(self.root, tag) for tag in parts}
        self.bodies: dict[str, Element] = {WORLD: self.parts["worldbody"]}
        # where a body's element stands, in the body's own frame
        self.origins: dict[str, Pose] = {WORLD: identity_pose()}
        self.meshes: dict[tuple[str, tuple[float, ...]], str] = {}
        self.names = {id(one.shape): one.name for one in colliders(mechanism)}
        self.rules = mechanism.contact_rules
        self.motions: dict[tuple[str, str], str] = {}
        self.starts: dict[str, float] = {}
        for shape in mechanism.world.shapes:
            self._shape(self.bodies[WORLD], shape, identity_pose())
        passed = self._passed()
        for limb in self.tree.limbs:
            if limb.body.name not in passed:
                self._limb(limb, passed)
        for joint in self.tree.loops:
            self._loop(joint)
        for name, body, pose in self.tree.other_frames():
            self._site(name, body, pose)
        for coupling in mechanism.couplings.values():
            self._coupling(coupling)
        for force in self.tree.forces:
            self._force(force)
        self._contacts()
        self._key()
        for tag, part in self.parts.items():
            if len(part) == 0 and tag != "worldbody":
                self.root.remove(part)

    def _passed(self) -> dict[str, Limb]:
        """Massless bodies that only pass on motion from one body to another, by name."""
        children: dict[str, int] = {}
        for limb in self.tree.limbs:
            children[limb.parent] = children.get(limb.parent, 0) + 1
        held = {body.name for joint in self.tree.loops for body in (joint.a, joint.b)}
        held |= {part.measure.a for force in self.tree.forces if isinstance(force, PointSpring) for part in force.parts}
        held |= {part.measure.b for force in self.tree.forces if isinstance(force, PointSpring) for part in force.parts}
        found = {}
        for limb in self.tree.limbs:
            name = limb.body.name
            moves = bool(limb.motions) and limb.body.mass == 0
            if moves and children.get(name, 0) == 1 and name not in held:
                found[name] = limb
            elif moves:
                raise ValueError(
                    f"massless body {name!r} moves without carrying exactly one other body, which MJCF cannot represent"
                )
        return found

    # ---- bodies

    def _limb(self, limb: Limb, passed: dict[str, Limb]) -> None:
        body = limb.body
        # the joints from the nearest body that is written, each with its frame seen from this one
        place, parent = limb.at_zero(), limb.parent
        chain = [(motion, limb.on_body) for motion in limb.motions]
        while parent in passed:
            above = passed[parent]
            seen = together(inverse(place), above.on_body)
            chain = [(motion, seen) for motion in above.motions] + chain
            place, parent = together(above.at_zero(), place), above.parent
            self._lose(above)
        origin = self.origins[body.name] = self.tree.origin(body.name)
        place = together(together(inverse(self.origins[parent]), place), origin)
        element = SubElement(self.bodies[parent], "body", {"name": body.name, **_place(place)})
        self.bodies[body.name] = element
        if not body.has_gravity:
            element.set("gravcomp", "1")
        if limb.is_free:
            SubElement(element, "freejoint", name=limb.name)
        for motion, frame in chain:
            self._joint(element, motion, together(inverse(origin), frame))
        if body.mass > 0:
            self._inertial(element, limb, origin)
        for shape in body.shapes:
            self._shape(element, shape, inverse(origin))

    def _lose(self, limb: Limb) -> None:
        if limb.body.shapes:
            self.notes.skip("shapes of a massless body", limb.body.name)
        for name, body, _ in self.tree.other_frames():
            if body == limb.body.name:
                self.notes.skip("frame of a massless body", name)

    def _inertial(self, element: Element, limb: Limb, origin: Pose) -> None:
        position, turn = inverse(origin)
        axes = to_matrix(turn)
        tensor = axes @ limb.body.inertia.tensor @ axes.T
        if not limb.body.inertia.physical:
            self.notes.flag("impossible moments of inertia, of which MuJoCo uses the mean", limb.body.name)
        moments, principal = np.linalg.eigh(tensor)
        mass = max(limb.body.mass, _LEAST)
        if moments[0] < _LEAST or limb.body.mass < _LEAST:
            self.notes.flag("a mass or inertia too small for MuJoCo, written as 2e-14", limb.body.name)
            tensor = principal @ np.diag(np.maximum(moments, _LEAST)) @ principal.T
        six = [tensor[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        given = {"pos": text(position), "mass": repr(mass), "fullinertia": text(six)}
        SubElement(element, "inertial", given)

    def _joint(self, element: Element, motion: Motion, frame: Pose) -> None:
        """A joint of one freedom, or a ball; a screw is a slide and a hinge that are tied."""
        axis = rotate(frame[1], motion.axis)
        if motion.kind == "screw":
            slide = f"{motion.name} slide"
            SubElement(element, "joint", name=slide, type="slide", pos=text(frame[0]), axis=text(axis))
            tie = f"0 {motion.joint.parameter!r} 0 0 0"
            SubElement(self.parts["equality"], "joint", joint1=slide, joint2=motion.name, polycoef=tie)
        kind = {"turn": "hinge", "screw": "hinge", "slide": "slide", "ball": "ball"}[motion.kind]
        joint = SubElement(element, "joint", name=motion.name, type=kind, pos=text(frame[0]))
        self.motions[motion.joint.name, motion.coordinate] = motion.name
        if kind == "ball":
            if motion.law.damping:
                joint.set("damping", repr(motion.law.damping))
            for what, limits in motion.joint.limits.items():
                if what == "rotation":
                    joint.set("range", text((0.0, limits.upper)))
                else:
                    self.notes.skip(f"limits of the {what} of a ball joint", motion.name)
            return
        joint.set("axis", text(axis))
        limits, law = motion.limits, motion.law
        if isfinite(limits.lower) and isfinite(limits.upper):
            joint.set("range", text((limits.lower, limits.upper)))
        elif isfinite(limits.lower) or isfinite(limits.upper):
            self.notes.skip("limit on one side", motion.name)
        if limits.effort > 0 and isfinite(limits.effort):
            joint.set("actuatorfrcrange", text((-limits.effort, limits.effort)))
        if isfinite(limits.speed):
            self.notes.skip("limit of speed", motion.name)
        for key, value in (
            *(("damping", law.damping), ("frictionloss", law.friction), ("armature", law.armature)),
            *(("stiffness", law.stiffness), ("springref", law.rest)),
        ):
            if value:
                joint.set(key, repr(value))

    def _shape(self, element: Element, shape: Shape, back: Pose) -> None:
        size, surface = shape.size, self._surface(shape)
        if shape.kind in ("box", "cylinder", "capsule"):
            # lengths are halved, radii are not
            size = tuple(0.5 * length for length in size) if shape.kind == "box" else (size[0], 0.5 * size[1])
        given = {"type": shape.kind, "size": text(size), "mass": "0"}
        if shape.kind == "mesh":
            if Path(shape.mesh).suffix.lower() not in _MESHES:
                self.notes.skip("mesh that MuJoCo cannot read", shape.mesh)
                return
            given = {"type": "mesh", "mesh": self._mesh(shape), "mass": "0"}
        elif shape.kind == "plane":
            given["size"] = "0 0 1"
        elif shape.kind == "hull":
            given = {"type": "mesh", "mesh": self._hull(shape), "mass": "0"}
        elif shape.kind == "heightfield":
            given = {"type": "hfield", "hfield": self._field(shape), "mass": "0"}
            assert shape.heights is not None
            low = rotate(shape.orientation, np.array((0.0, 0.0, shape.heights.min())))
            shape = replace(shape, position=shape.position + low)
        given |= {"group": "1" if shape.visible else "3"}
        given |= surface
        if shape.color is not None:
            given["rgba"] = text(shape.color)
        SubElement(element, "geom", given | _place(together(back, (shape.position, shape.orientation))))

    def _surface(self, shape: Shape) -> dict[str, str]:
        """Who collides with it, and how; usual numbers are left out."""
        if not shape.collides:
            return {"contype": "0", "conaffinity": "0"}
        found = {}
        if (name := self.names.get(id(shape))) is not None:
            found["name"] = name
        if (shape.group, shape.mask) != (1, 1):
            # of the file's bits the highest is a sign
            found |= {"contype": str(shape.group & 0x7FFFFFFF), "conaffinity": str(shape.mask & 0x7FFFFFFF)}
        friction = shape.friction if self.rules is None or self.rules.friction is None else self.rules.friction
        if friction == 0:
            found["condim"] = "1"
        elif friction != 1:
            found["friction"] = f"{friction!r} 0.005 0.0001"
        if shape.restitution:
            self.notes.skip("restitution of a shape", shape.name)
        return found

    def _contacts(self) -> None:
        """Pairs and exclusions."""
        if self.rules is None:
            return
        if self.rules.combine != "larger" and self.rules.friction is None:
            self.notes.skip("the smaller friction of two shapes, where MuJoCo takes the larger")
        for a, b in self.rules.exclude:
            if self.bodies.keys() >= {a, b}:
                SubElement(self.parts["contact"], "exclude", body1=a, body2=b)
        for a, b, friction in self.rules.pairs:
            if not {a, b} <= set(self.names.values()):
                continue
            mu = self.rules.friction if friction is None else friction
            given = (
                {} if mu is None else {"condim": "1"} if mu == 0 else {"friction": f"{mu!r} {mu!r} 0.005 0.0001 0.0001"}
            )
            SubElement(self.parts["contact"], "pair", {"geom1": a, "geom2": b, **given})

    def _hull(self, shape: Shape) -> str:
        """The asset of a hull."""
        assert shape.points is not None
        name = f"hull {len(self.parts['asset'])}"
        SubElement(self.parts["asset"], "mesh", name=name, vertex=text(shape.points.ravel()))
        return name

    def _field(self, shape: Shape) -> str:
        """The asset of a height field, whose heights are parts of the largest above the least, the last row first."""
        assert shape.heights is not None
        name = f"field {len(self.parts['asset'])}"
        rows, columns = shape.heights.shape
        low, high = float(shape.heights.min()), float(shape.heights.max())
        above = max(high - low, 1e-6)
        given = {
            "nrow": str(rows),
            "ncol": str(columns),
            "elevation": text(((shape.heights[::-1] - low) / above).ravel()),
        }
        given["size"] = text((shape.size[0] / 2, shape.size[1] / 2, above, 0.1))
        SubElement(self.parts["asset"], "hfield", {"name": name, **given})
        return name

    def _mesh(self, shape: Shape) -> str:
        """The asset of a mesh and scale, made once."""
        key = (shape.mesh, shape.size)
        if key not in self.meshes:
            self.meshes[key] = f"{Path(shape.mesh).stem} {len(self.meshes)}"
            asset = SubElement(self.parts["asset"], "mesh", name=self.meshes[key], scale=text(shape.size))
            asset.set("file", relative(shape.mesh, self.target))
        return self.meshes[key]

    def _site(self, name: str, body: str, pose: Pose) -> None:
        if body in self.bodies:
            place = together(inverse(self.origins[body]), pose)
            SubElement(self.bodies[body], "site", {"name": name, **_place(place)})

    # ---- constraints

    def _loop(self, joint: Joint) -> None:
        """Points, or frames, that coincide, marked by sites."""
        ends = ((joint.a.name, joint.anchor_a, joint.frame_a), (joint.b.name, joint.anchor_b, joint.frame_b))
        if joint.code == "revolute":
            shifts = [(" 1", -_SPAN), (" 2", _SPAN)]
        elif joint.code in ("ball", "fixed"):
            shifts = [("", 0.0)]
        else:
            raise ValueError(f"{joint.label} closes a loop in a way that MJCF cannot represent")
        for ending, shift in shifts:
            sites = {}
            for side, (body, anchor, frame) in zip(("1", "2"), ends, strict=True):
                sites[f"site{side}"] = f"{joint.name}{ending} {'ab'[int(side) - 1]}"
                spot = anchor + rotate(frame, np.array((0.0, 0.0, shift)))
                self._site(sites[f"site{side}"], body, (spot, frame))
            tag = "weld" if joint.code == "fixed" else "connect"
            SubElement(self.parts["equality"], tag, {"name": f"{joint.name}{ending}", **sites})

    def _coupling(self, coupling: Coupling) -> None:
        if coupling.function is not None:
            raise ValueError(f"{coupling.label} follows a function of time, which a file cannot represent")
        terms = self._terms(coupling.terms, coupling.label)
        if len(terms) <= 2:
            (first, own), *rest = terms
            slope = -rest[0][1] / own if rest else 0.0
            given = {"name": coupling.name, "joint1": first, "polycoef": f"{coupling.offset / own!r} {slope!r} 0 0 0"}
            if rest:
                given["joint2"] = rest[0][0]
            SubElement(self.parts["equality"], "joint", given)
            return
        self._tendon(coupling.name, terms)
        fixed = {"name": coupling.name, "tendon1": coupling.name, "polycoef": f"{coupling.offset!r} 0 0 0 0"}
        SubElement(self.parts["equality"], "tendon", fixed)

    def _terms(self, terms: Sequence[Term], label: str) -> list[tuple[str, float]]:
        found = []
        for term in terms:
            joint = self.mechanism.joints[term.measure.joint]
            name = self.motions.get((joint.name, joint.names[term.measure.index]))
            if name is None:
                raise ValueError(f"{label} acts on {joint.label}, which closes a loop: MJCF cannot hold that")
            found.append((name, term.coefficient))
        return found

    def _tendon(self, name: str, terms: list[tuple[str, float]], **given: str) -> None:
        tendon = SubElement(self.parts["tendon"], "fixed", {"name": name, **given})
        for joint, factor in terms:
            SubElement(tendon, "joint", joint=joint, coef=repr(factor))

    # ---- forces

    def _force(self, force: Force) -> None:
        if any(part.functions for part in force.parts):
            self.notes.skip("force that is a function of time", force.name)
        elif isinstance(force, SumLimits):
            part = force.parts[0]
            self._tendon(force.name, self._terms(part.terms, force.label), range=self._range(part, force.name))
        elif isinstance(force, Rope) or (isinstance(force, PointSpring) and not isinstance(force, Bumper)):
            self._rope(force)
        elif isinstance(force, JointForce) and isinstance(force, (Motor, Servo)):
            self._actuator(force)
        else:
            self.notes.skip(type(force).__name__.lower(), force.name)

    def _actuator(self, force: JointForce) -> None:
        law, measure = force.parts[0].law, force.parts[0].measure
        joint = self.mechanism.joints[measure.joint]
        name = self.motions.get((joint.name, joint.names[measure.index]))
        if name is None:
            self.notes.skip("actuator of a joint that closes a loop", force.name)
            return
        given = {"name": force.name, "joint": name}
        if isfinite(law["effort_limit"]):
            given["forcerange"] = text((-law["effort_limit"], law["effort_limit"]))
        if isinstance(force, Motor):
            tag, start = "motor", law["effort"]
        elif law["kp"] > 0:
            if law["target_rate"]:
                self.notes.skip("target_rate of a servo with a gain", force.name)
            tag, start = "position", law["target"]
            given |= {"kp": repr(law["kp"]), "kv": repr(law["kd"])}
        else:
            tag, start = "velocity", law["target_rate"]
            given |= {"kv": repr(law["kd"])}
        SubElement(self.parts["actuator"], tag, given)
        self.starts[force.name] = start

    def _range(self, part: Part, name: str) -> str:
        """Limits of a tendon, which has both."""
        bounds = part.law["lower"], part.law["upper"]
        if not all(map(isfinite, bounds)):
            self.notes.flag("a tendon with a limit on one side, which has another one far away", name)
        return text([min(max(bound, -_FAR), _FAR) for bound in bounds])

    def _rope(self, force: PointSpring | Rope) -> None:
        """A spring between two points, or a rope, is a tendon between two sites."""
        law, measure = force.parts[0].law, force.parts[0].measure
        given = {"name": force.name}
        if isinstance(force, Rope):
            given["range"] = text((0.0, law["upper"]))
        else:
            # a cable is slack where it is shorter
            given["springlength"] = ("0 " if law["side"] > 0 else "") + repr(law["rest_length"])
            given |= {key: repr(law[key]) for key in ("stiffness", "damping")}
        rope = SubElement(self.parts["tendon"], "spatial", given)
        for side, body, anchor in zip("ab", (measure.a, measure.b), measure.anchors, strict=True):
            self._site(f"{force.name} {side}", body, (anchor, identity_pose()[1]))
            SubElement(rope, "site", site=f"{force.name} {side}")

    def _key(self) -> None:
        """Forces and targets to begin with."""
        if any(self.starts.values()):
            SubElement(self.parts["keyframe"], "key", name="start", ctrl=text(self.starts.values()))


def _place(pose: Pose) -> dict[str, str]:
    return {"pos": text(pose[0]), "quat": text(pose[1])}
