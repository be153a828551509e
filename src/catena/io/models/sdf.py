"""Reads SDF: a graph of links, each with a pose of its own, and joints between any two of them.

Axes are in the frame they name, otherwise in that of the joint. Where both links stand tells the joint's frame on the
parent, so that every joint, loops included, is closed in the pose of the file. A gearbox is a coupling of two hinges on
its reference body; a joint of two axes in a row has a massless link between them. Poses: sdf_frames.py.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import inf, pi
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from ..._util.rotation import Array, cross, from_matrix, normalised, rotate, z_to
from ...describe.couplings import Coupling
from ...describe.joint import Pose
from ...describe.limits import Limits
from ...describe.mechanism import Mechanism
from .common_elements import Entry, Shapes, geometry_of, joint_limits, not_negative, shapes_of, tensor
from .folders import Folders
from .graph import WORLD, Edge, Graph, Law, Link, inverse, together
from .markup import (
    direction,
    identity_pose,
    limit,
    note_others,
    number,
    numbers,
    parse,
    read_bytes,
    without_commas,
)
from .notes import Notes
from .sdf_frames import MODEL, Frames, pose_from, text_of
from .sdf_nested import flatten
from .sdf_surface import surface_of

_BALL = "drake:ball_constraint"
_KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "screw": "screw",
    "ball": "ball",
    "fixed": "fixed",
    "universal": "universal",
    "revolute2": "universal",
}
_COORDINATES = {
    "revolute": ("angle",),
    "prismatic": ("displacement",),
    "screw": ("angle",),
    "universal": ("first", "second"),
}
# what lengths of shapes are called
_WORDS = {
    **{"box": ("size",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)},
    **{"ellipsoid": ("radii",), "mesh": ("uri",)},
}
_MODEL_PARTS = ("pose", "link", "joint", "frame", "self_collide", "static", _BALL)
_JOINT_PARTS = (
    *("parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch"),
    *("gearbox_ratio", "gearbox_reference_body"),
)


def read(
    path: str | os.PathLike[str],
    *,
    merge_fixed: bool,
    packages: Mapping[str, str | os.PathLike[str]] | None,
    loop_tolerance: float,
    contacts: bool,
    model: str | None = None,
) -> Mechanism:
    """See Mechanism.from_sdf."""
    folders = Folders(path, packages)
    notes = Notes(str(folders.model))
    with notes:
        reader = _Reader(parse(read_bytes(folders.model)), folders, notes, model)
        mechanism = reader.mechanism(merge_fixed=merge_fixed, loop_tolerance=loop_tolerance)
        if contacts:
            mechanism.add_contacts(combine="smaller")
    return mechanism


def _is_static(model: Element) -> bool:
    return text_of(model, "static", "the model", "false").strip() in ("1", "true")


def _chosen(models: list[Element], name: str | None, notes: Notes) -> Element:
    """The model of that name, or the only one, or else the only one that is not static, as grounds and tables are."""
    found = models if name is None else [model for model in models if model.get("name") == name]
    if len(found) > 1 and name is None:
        found = [model for model in models if not _is_static(model)]
    if len(found) != 1:
        names = ", ".join(f"{model.get('name', '')!r:.60}" for model in models[:5]) + ", ..." * (len(models) > 5)
        wanted = "say which one to read, model=name" if name is None else f"none or several are called {name!r:.40}"
        raise ValueError(f"has {len(models)} models ({names}), and one is read: {wanted}")
    for other in models:
        if other is not found[0]:
            notes.skip("model", other.get("name", ""))
    return found[0]


class _Reader:
    def __init__(self, root: Element, folders: Folders, notes: Notes, model: str | None) -> None:
        if root.tag != "sdf":
            raise ValueError(f"is not SDF: its root element is <{root.tag:.40}>, not <sdf>")
        world = root.find("world")
        if world is not None:
            note_others(world, notes, "", ("model", "gravity"))
        note_others(root, notes, "", ("model", "world"))
        without_commas(root, notes)
        place = root if world is None else world
        if place.find("model") is None:
            elsewhere = place.find("include") is not None
            raise ValueError("has no model" + ("; those that it includes are not read" if elsewhere else ""))
        self.model = _chosen(place.findall("model"), model, notes)
        self.folders, self.notes = folders, notes
        self.is_static = _is_static(self.model)
        flatten(self.model, notes)
        note_others(self.model, notes, "", _MODEL_PARTS, ("name", "canonical_link"))
        down = None if world is None else world.find("gravity")
        self.gravity = None if down is None else numbers(down.text, 3, "gravity")
        # until version 1.5 axes were in the frame of the model
        version = root.get("version", "1.6").split(".")[:2]
        self.axes_in_model = version[0] == "1" and version[-1].isdigit() and int(version[-1]) < 5
        self.frames = Frames(self.model)
        self.collides_with_itself = text_of(self.model, "self_collide", "model", "false").strip() in ("1", "true")
        self.graph = Graph(notes)
        self.shapes = Shapes(_WORDS, folders, notes)

    def mechanism(self, *, merge_fixed: bool, loop_tolerance: float) -> Mechanism:
        graph = self.graph
        if not self.frames.links:
            raise ValueError("has no links")
        graph.links[WORLD] = Link(WORLD, pose=identity_pose())
        for name, element in self.frames.links.items():
            graph.links[name] = self._link(name, element)
        for name, element in self.frames.explicit.items():
            self._frame(name, element)
        gearboxes = []
        for name, element in self.frames.joints.items():
            if element.get("type") == "gearbox":
                gearboxes.append((name, element))
            else:
                graph.edges += self._joint(name, element)
        graph.edges += [self._ball(k, element) for k, element in enumerate(self.model.findall(_BALL), 1)]
        boxes = [self._gearbox(*gearbox) for gearbox in gearboxes]
        if self.is_static:
            self._hold()
        self._stand()
        if merge_fixed:
            graph.merge_fixed()
        mechanism = graph.build(self.gravity, loop_tolerance)
        for box in boxes:
            mechanism.add_coupling(box)
        for name, element in self.frames.joints.items():
            for tag in ("axis", "axis2"):
                for mimic in element.findall(f"{tag}/mimic"):
                    self._mimic(mechanism, name, tag, mimic)
        return mechanism

    def _hold(self) -> None:
        """Fix all joints, and what nothing carries to the world, as the file says that nothing moves."""
        graph = self.graph
        self.notes.flag("a static model, welded to the world", self.model.get("name", ""))
        for edge in graph.edges:
            edge.kind, edge.laws, edge.limits = "fixed", [], {}
        carried = {WORLD, *(edge.b for edge in graph.edges if not edge.closes)}
        graph.edges[:0] = [
            self._edge(f"{name} to world", "fixed", WORLD, name, self._placed(name))
            for name in graph.links
            if name not in carried
        ]

    def _stand(self) -> None:
        """Weld bases without a mass to the world, as others do who take no mass for no motion."""
        near: dict[str, list[Edge]] = {name: [] for name in self.graph.links}
        for edge in self.graph.edges:
            near[edge.a].append(edge)
            near[edge.b].append(edge)
        carried = {edge.b for edge in self.graph.edges if not edge.closes}
        for base in [link for link in self.graph.links.values() if link.mass == 0 and link.name not in carried]:
            robot, rigid = (self._reached(base.name, near, only) for only in ("", "fixed"))
            if WORLD in robot or any(self.graph.links[name].mass > 0 for name in rigid):
                continue
            self.notes.flag("a base without mass, welded to the world", base.name)
            self.graph.edges.insert(
                0, self._edge(f"{base.name} to world", "fixed", WORLD, base.name, self._placed(base.name))
            )

    @staticmethod
    def _reached(start: str, near: dict[str, list[Edge]], only: str) -> list[str]:
        """Links that joints, or those of one kind, lead to."""
        found = [start]
        for name in found:
            for edge in near[name]:
                other = edge.b if edge.a == name else edge.a
                if other not in found and edge.kind in (only or edge.kind,):
                    found.append(other)
        return found

    # ---- links and frames

    def _link(self, name: str, element: Element) -> Link:
        where = f"link {name!r}"
        note_others(element, self.notes, name, ("pose", "inertial", "visual", "collision", "gravity"), ("name",))
        link = Link(name, pose=self.frames.pose_of(name, where))
        link.gravity = text_of(element, "gravity", where, "true").strip() not in ("0", "false")
        inertial = element.find("inertial")
        if inertial is None:
            self.notes.flag("a link without inertial, which has 1 kg and 1 kg m^2 in SDF", name)
            link.mass, link.tensor = 1.0, np.eye(3)
        else:
            note_others(inertial, self.notes, name, ("pose", "mass", "inertia"), ())
            link.center, turn = pose_from(inertial.find("pose"), where)
            link.mass = number(text_of(inertial, "mass", where, "1"), f"{where}: mass")
            inertia = inertial.find("inertia")
            if inertia is not None:
                link.tensor = tensor(_texts(inertia, where), "1", turn, where)
        link.shapes += shapes_of(element, self.notes, lambda part: self._shape(part, name))
        return link

    def _shape(self, element: Element, link: str) -> dict[str, Any] | None:
        where = f"link {link!r}: {element.tag}"
        note_others(element, self.notes, link, ("pose", "geometry", "material", "surface"), ("name",))
        geometry = geometry_of(element, link, self.notes)
        if geometry is None:
            return None
        found = self.shapes.read(geometry.tag, _texts(geometry, where), link, where)
        if found is None:
            return None
        found["position"], found["orientation"] = pose_from(element.find("pose"), where)
        material = element.find("material")
        if material is not None:
            note_others(material, self.notes, link, ("diffuse", "ambient", "specular", "emissive"))
            tint = material.find("diffuse") if material.find("diffuse") is not None else material.find("ambient")
            if tint is not None:
                words = (tint.text or "").split()
                found["color"] = np.clip(numbers(tint.text, 3 if len(words) == 3 else 4, f"{where}: color"), 0, 1)
        visible = element.tag == "visual"
        found |= {"name": element.get("name", ""), "visible": visible, "collides": not visible}
        return (
            found
            if visible
            else found | surface_of(element.find("surface"), self.collides_with_itself, where, self.notes)
        )

    def _frame(self, name: str, element: Element) -> None:
        """A frame of the file becomes one of the link that it is attached to."""
        host = self.frames.host(name, element)
        of_host, of_frame = (self.frames.pose_of(which, f"frame {name!r}") for which in (host, name))
        self.graph.links[host].frames[name] = together(inverse(of_host), of_frame)

    # ---- joints

    def _ends(self, element: Element, where: str) -> tuple[str, str]:
        """Parent and child link; frames stand for the links they are attached to."""
        ends = []
        for side in ("parent", "child"):
            name = text_of(element, side, where).strip()
            for link in self.graph.links.values():
                if name in link.frames:
                    name = link.name
            ends.append(self.graph.link(name, where).name)
        if ends[0] == ends[1]:
            raise ValueError(f"{where} joins {ends[0]!r} to itself")
        return ends[0], ends[1]

    def _joint(self, name: str, element: Element) -> list[Edge]:
        where = f"joint {name!r}"
        note_others(element, self.notes, name, _JOINT_PARTS, ("name", "type"))
        given = element.get("type", "")
        if given not in _KINDS:
            raise ValueError(f"{where}: there is no joint type {given!r:.40}")
        kind = _KINDS[given]
        a, b = self._ends(element, where)
        place = self.frames.pose_of(name, where)
        count = {"universal": 2, "ball": 0, "fixed": 0}.get(kind, 1)
        axes = [self._axis(element, tag, name, where) for tag in ("axis", "axis2")[:count]]
        # the damping of a ball is read below, the same about all axes
        for tag in ("axis", "axis2")[max(count, kind == "ball") :]:
            if element.find(f"{tag}/dynamics") is not None:
                self.notes.skip(f"dynamics of a {given} joint", name)
        details = [self._along(element, tag, name) for tag in ("axis", "axis2")[:count]]
        if kind == "universal" and abs(axes[0] @ axes[1]) > 1e-9:
            return self._in_a_row(name, a, b, place[0], axes, details)
        turn = (
            from_matrix(np.column_stack((*axes, cross(*axes))))
            if kind == "universal"
            else z_to(axes[0])
            if axes
            else place[1]
        )
        edge = self._edge(name, kind, a, b, (place[0], turn))
        for coordinate, (limits, law) in zip(_COORDINATES.get(kind, ()), details, strict=True):
            law.coordinate = coordinate
            edge.laws.append(law)
            if limits != Limits():
                edge.limits[coordinate] = limits
        if kind == "ball":
            _, law = self._along(element, "axis", name)
            edge.laws = [Law(damping=law.damping)]
            for what in ("friction", "stiffness"):
                if getattr(law, what):
                    self.notes.skip(f"{what} of a ball joint", name)
        if kind == "screw":
            edge.pitch = self._pitch(element, where)
        return [edge]

    def _edge(self, name: str, kind: str, a: str, b: str, place: Pose) -> Edge:
        """A joint at a pose in the world."""
        on_a, on_b = (together(inverse(self._placed(link)), place) for link in (a, b))
        return Edge(name, kind, a, b, on_a, on_b)

    def _placed(self, link: str) -> Pose:
        pose = self.graph.links[link].pose
        assert pose is not None
        return pose

    def _in_a_row(
        self, name: str, a: str, b: str, at: Array, axes: list[Array], details: list[tuple[Limits, Law]]
    ) -> list[Edge]:
        """Two hinges with a massless link between them, whose axes need not be at right angles."""
        middle = f"{name} cross"
        if middle in self.graph.links:
            raise ValueError(f"there are two links called {middle!r}")
        self.graph.links[middle] = Link(middle, pose=(at, identity_pose()[1]))
        edges = []
        for ending, ends, axis, (limits, law) in zip(
            ("", " second"), ((a, middle), (middle, b)), axes, details, strict=True
        ):
            edge = self._edge(name + ending, "revolute", *ends, (at, z_to(axis)))
            edge.laws.append(law)
            edge.limits = {} if limits == Limits() else {"angle": limits}
            edges.append(edge)
        return edges

    def _axis(self, element: Element, tag: str, name: str, where: str) -> Array:
        """An axis of a joint in the world."""
        axis = element.find(tag)
        if axis is None:
            raise ValueError(f"{where} has no {tag}")
        note_others(axis, self.notes, name, ("xyz", "limit", "dynamics", "mimic", "use_parent_model_frame"))
        xyz = axis.find("xyz")
        vector = direction(None if xyz is None else xyz.text, f"{where}: {tag}", "0 0 1")
        in_model = text_of(axis, "use_parent_model_frame", where, "0").strip() in ("1", "true") or self.axes_in_model
        frame = (None if xyz is None else xyz.get("expressed_in")) or (MODEL if in_model else name)
        return normalised(rotate(self.frames.pose_of(frame, where)[1], vector))

    def _along(self, element: Element, tag: str, name: str) -> tuple[Limits, Law]:
        """Limits and dynamics along an axis."""
        where = f"joint {name!r}"
        kept, law = Limits(), Law()
        found = element.find(f"{tag}/limit")
        if found is not None:
            note_others(found, self.notes, name, ("lower", "upper", "effort", "velocity"))
            # of effort and velocity, minus one stands for none
            given = (("lower", "-inf"), ("upper", "inf"), ("effort", "-1"), ("velocity", "-1"))
            lower, upper, *most = (limit(text_of(found, key, where, default), where) for key, default in given)
            effort, speed = (inf if value < 0 else value for value in most)
            kept = joint_limits(lower, upper, effort, speed, name, self.notes)
        found = element.find(f"{tag}/dynamics")
        if found is not None:
            keys = ("damping", "friction", "spring_stiffness", "spring_reference")
            note_others(found, self.notes, name, keys)
            *values, rest = (number(text_of(found, key, where, "0"), f"{where}: {key}") for key in keys)
            damping, friction, stiffness = (
                not_negative(value, f"{where}: {key}") for key, value in zip(keys, values, strict=False)
            )
            law = Law(damping=damping, friction=friction, stiffness=stiffness, rest=rest)
        return kept, law

    def _pitch(self, element: Element, where: str) -> float:
        """Metres a turn; the older element counts radians a metre, the other way round."""
        if element.find("screw_thread_pitch") is not None or element.find("thread_pitch") is None:
            return number(text_of(element, "screw_thread_pitch", where, "1"), f"{where}: screw_thread_pitch")
        turns = number(text_of(element, "thread_pitch", where), f"{where}: thread_pitch")
        if turns == 0:
            raise ValueError(f"{where}: thread_pitch must not be zero")
        return -2 * pi / turns

    def _ball(self, k: int, element: Element) -> Edge:
        """A point of one link held on a point of another."""
        name = f"ball_constraint {k}"
        parts = [f"{_BALL}_{part}" for part in ("body_A", "body_B", "p_AP", "p_BQ")]
        note_others(element, self.notes, name, parts)
        a, b = (self.graph.link(text_of(element, part, name), name).name for part in parts[:2])
        if a == b:
            raise ValueError(f"{name!r} joins {a!r} to itself")
        spots = [numbers(text_of(element, part, name, "0 0 0"), 3, f"{name!r}: {part}") for part in parts[2:]]
        frames = [(spot, identity_pose()[1]) for spot in spots]
        return Edge(name, "ball", a, b, frames[0], frames[1], closes=True, points=True)

    def _mimic(self, mechanism: Mechanism, name: str, tag: str, element: Element) -> None:
        """The coordinate follows another: multiplier x (leader - reference) + offset."""
        where = f"joint {name!r}: mimic"
        note_others(element, self.notes, name, ("multiplier", "offset", "reference"), ("joint", "axis"))
        ends = []
        for joint, axis in ((name, tag), (element.get("joint", ""), element.get("axis", "axis"))):
            found = mechanism.joints.get(joint)
            which = 1 if axis == "axis2" else 0
            if found is None or which >= len(found.names):
                self.notes.skip("mimic of a joint that is not there, or has no coordinate", name)
                return
            ends.append((joint, found.names[which]))
        keys = (("multiplier", "1"), ("offset", "0"), ("reference", "0"))
        factor, offset, zero = (number(text_of(element, key, where, given), where) for key, given in keys)
        if ends[0] == ends[1]:
            raise ValueError(f"joint {name!r} mimics itself")
        terms = [(ends[0], 1.0), (ends[1], -factor)]
        title = f"{' '.join(ends[0])} mimics {' '.join(ends[1])}"
        mechanism.add_coupling(Coupling(terms[: 2 if factor else 1], offset=offset - factor * zero, name=title))

    def _gearbox(self, name: str, element: Element) -> Coupling:
        """The child turns by minus the ratio times what the parent turns, both against the reference body."""
        where = f"gearbox {name!r}"
        note_others(element, self.notes, name, _JOINT_PARTS, ("name", "type"))
        ratio = number(text_of(element, "gearbox_ratio", where, "1"), f"{where}: gearbox_ratio")
        reference = text_of(element, "gearbox_reference_body", where).strip()
        parent, child = self._ends(element, where)
        terms = []
        for link, tag, factor in ((parent, "axis", ratio), (child, "axis2", 1.0)):
            axis = self._axis(element, tag, name, where)
            edge = next((e for e in self.graph.edges if {e.a, e.b} == {reference, link} and e.kind == "revolute"), None)
            if edge is None:
                raise ValueError(f"{where}: no hinge joins {link!r} to its reference body {reference!r}")
            along = rotate(together(self._placed(edge.a), edge.frame_a)[1], np.array((0.0, 0.0, 1.0))) @ axis
            if abs(abs(along) - 1) > 1e-3:
                raise ValueError(f"{where}: the hinge {edge.name!r} is not along its axis")
            sign = np.sign(along) * (1.0 if edge.b == link else -1.0)
            terms.append((edge.name, float(factor * sign)))
        return Coupling(terms, name=name)


def _texts(element: Element, where: str) -> Entry:
    """Entries of an element that are the texts of its children."""
    return lambda key, given: text_of(element, key, where, given)
