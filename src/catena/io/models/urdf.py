"""Reads URDF: a tree of links, and the loops that files add to it.

A joint's origin is the pose of its child in its parent where its coordinate is zero; its axis is in the child's frame.
Loops are <loop_joint>s with a frame on either link, links with two parents, ball and weld constraints of Drake, or
pairs of frames given beside the file (loops.py).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import inf
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from ..._util.rotation import Array, multiply, z_to
from ...describe.couplings import Coupling, Mimic
from ...describe.joint import Pose
from ...describe.limits import Limits
from ...describe.mechanism import Mechanism
from .common_elements import Entry, Shapes, geometry_of, joint_limits, not_negative, shapes_of, tensor
from .folders import Folders
from .graph import WORLD, Edge, Graph, Law, Link
from .loops import Loops, close
from .markup import (
    direction,
    from_rpy,
    identity_pose,
    limit,
    note_others,
    number,
    numbers,
    parse,
    read_bytes,
    required,
    unique,
    without_commas,
)
from .notes import Notes

# types of joints, Drake's among them, and what they are here
_KINDS = {
    "fixed": "fixed",
    "weld": "fixed",
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "floating": "free",
    "planar": "planar",
    "ball": "ball",
    "spherical": "ball",
    "universal": "universal",
    "cylindrical": "cylindrical",
    "screw": "screw",
}
# what lengths of shapes are called
_WORDS = {
    **{"box": ("size",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"), "sphere": ("radius",)},
    **{"ellipsoid": ("a", "b", "c"), "mesh": ("filename",)},
}
_JOINT_PARTS = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "drake:screw_thread_pitch")


def read(
    path: str | os.PathLike[str],
    *,
    floating: bool,
    merge_fixed: bool,
    loops: Loops | None,
    packages: Mapping[str, str | os.PathLike[str]] | None,
    loop_tolerance: float,
    contacts: bool,
) -> Mechanism:
    """See Mechanism.from_urdf."""
    folders = Folders(path, packages)
    notes = Notes(str(folders.model))
    with notes:
        mechanism = _Reader(parse(read_bytes(folders.model)), folders, notes).mechanism(
            floating=floating, merge_fixed=merge_fixed, loops=loops, loop_tolerance=loop_tolerance
        )
        if contacts:
            mechanism.add_contacts()
    return mechanism


class _Reader:
    def __init__(self, robot: Element, folders: Folders, notes: Notes) -> None:
        if robot.tag != "robot":
            raise ValueError(f"is not URDF: its root element is <{robot.tag:.40}>, not <robot>")
        if any(element.tag.startswith("xacro:") for element in robot.iter()):
            raise ValueError("is a xacro file: expand it to URDF first")
        known = (
            "link",
            "joint",
            "drake:joint",
            "material",
            "loop_joint",
            "drake:ball_constraint",
            "drake:weld_constraint",
        )
        note_others(robot, notes, "", known)
        self.robot, self.folders, self.notes = without_commas(robot, notes), folders, notes
        self.colors = {
            required(element, "name", "a material"): self._color(element) for element in robot.findall("material")
        }
        self.graph = Graph(notes)
        self.shapes = Shapes(_WORDS, folders, notes)
        self.joints = unique((e for e in robot if e.tag in ("joint", "drake:joint")), "joint")

    def mechanism(self, *, floating: bool, merge_fixed: bool, loops: Loops | None, loop_tolerance: float) -> Mechanism:
        graph = self.graph
        for name, element in unique(self.robot.findall("link"), "link").items():
            graph.links[name] = self._link(name, element)
        if not graph.links:
            raise ValueError("has no links")
        if WORLD not in graph.links and any(parent.get("link") == WORLD for parent in self.robot.iter("parent")):
            self.notes.flag("joints to a link 'world' that is not there, read as the world")
            graph.links[WORLD] = Link(WORLD)
        edges = [self._joint(name, element) for name, element in self.joints.items()]
        carried: set[str] = set()
        for edge in edges:
            # a link with two parents hangs on the first
            edge.closes = edge.b in carried
            carried.add(edge.b)
        roots = [name for name in graph.links if name not in carried]
        if len(roots) != 1:
            found = (
                "every link is the child of a joint"
                if not roots
                else f"{', '.join(map(repr, roots[:4]))} have no parent"
            )
            raise ValueError(f"one link must be the root, but {found}")
        graph.links.setdefault(WORLD, Link(WORLD)).pose = identity_pose()
        if roots[0] == WORLD and floating:
            self.notes.flag("a root that is the world, which cannot float")
        if roots[0] != WORLD and not floating:
            graph.edges.append(Edge(f"{roots[0]} to world", "fixed", WORLD, roots[0]))
        graph.edges += edges
        for kind in ("loop_joint", "drake:ball_constraint", "drake:weld_constraint"):
            for k, element in enumerate(self.robot.findall(kind), 1):
                graph.edges.append(self._loop_joint(element) if kind == "loop_joint" else self._constraint(element, k))
        if loops is not None:
            close(graph, loops, {edge.name: edge for edge in edges})
        if merge_fixed:
            graph.merge_fixed()
        mechanism = graph.build(None, loop_tolerance)
        for name, element in self.joints.items():
            for mimic in element.findall("mimic"):
                self._mimic(mechanism, name, mimic)
        return mechanism

    # ---- links

    def _link(self, name: str, element: Element) -> Link:
        note_others(element, self.notes, name, ("inertial", "visual", "collision"), ("name",))
        link = Link(name)
        inertial = element.find("inertial")
        if inertial is not None:
            note_others(inertial, self.notes, name, ("origin", "mass", "inertia"))
            self._inertial(link, inertial)
        link.shapes += shapes_of(element, self.notes, lambda part: self._shape(part, name))
        return link

    def _inertial(self, link: Link, element: Element) -> None:
        where = f"link {link.name!r}"
        mass, inertia = element.find("mass"), element.find("inertia")
        link.mass = 0.0 if mass is None else number(mass.get("value"), f"{where}: mass")
        link.center, turn = self._origin(element, f"{where}: inertial")
        if inertia is not None:
            link.tensor = tensor(_attributes(inertia, where), "0", turn, where)

    def _shape(self, element: Element, link: str) -> dict[str, Any] | None:
        where = f"link {link!r}: {element.tag}"
        note_others(element, self.notes, link, ("origin", "geometry", "material"), ("name",))
        geometry = geometry_of(element, link, self.notes)
        if geometry is None:
            return None
        found = self.shapes.read(geometry.tag.removeprefix("drake:"), _attributes(geometry, where), link, where)
        if found is None:
            return None
        found["position"], found["orientation"] = self._origin(element, where)
        material = element.find("material")
        if material is not None:
            color = self._color(material)
            found["color"] = self.colors.get(material.get("name", "")) if color is None else color
        visible = element.tag == "visual"
        return found | {"name": element.get("name", ""), "visible": visible, "collides": not visible}

    def _color(self, element: Element) -> Array | None:
        note_others(element, self.notes, element.get("name", ""), ("color",))
        color = element.find("color")
        if color is None:
            return None
        try:
            rgba = numbers(color.get("rgba"), 4, f"material {element.get('name', '')!r}: rgba")
        except ValueError as error:
            self.notes.skip("color that cannot be read", str(error))
            return None
        return np.clip(rgba, 0.0, 1.0)

    def _origin(self, element: Element, where: str) -> Pose:
        return _pose(element.find("origin"), where)

    # ---- joints

    def _joint(self, name: str, element: Element) -> Edge:
        where = f"joint {name!r}"
        note_others(element, self.notes, name, _JOINT_PARTS, ("name", "type"))
        kind = required(element, "type", where)
        if kind not in _KINDS:
            raise ValueError(f"{where}: there is no joint type {kind!r:.40}")
        ends = [element.find(side) for side in ("parent", "child")]
        a, b = ("" if end is None else required(end, "link", where) for end in ends)
        for link in (a, b):
            self.graph.link(link, where)
        if a == b:
            raise ValueError(f"{where} joins {a!r} to itself")
        axis = _turn(element, where, _KINDS[kind])
        place = self._origin(element, where)
        edge = Edge(name, _KINDS[kind], a, b, (place[0], multiply(place[1], axis)), (np.zeros(3), axis))
        if edge.kind == "screw":
            edge.pitch = _pitch(element, where)
        law = self._dynamics(element, where)
        if edge.kind in ("revolute", "prismatic", "screw"):
            edge.limits = self._limits(element, name, kind)
            edge.laws = [law]
        else:
            if edge.kind in ("ball", "universal") and law.damping:
                edge.laws = [Law(damping=law.damping)]
            if law.friction or (law.damping and not edge.laws):
                self.notes.skip(f"dynamics of a {kind} joint", name)
            if element.find("limit") is not None and edge.kind != "fixed":
                self.notes.skip(f"limit of a {kind} joint", name)
        return edge

    def _dynamics(self, element: Element, where: str) -> Law:
        dynamics = element.find("dynamics")
        if dynamics is None:
            return Law()
        note_others(dynamics, self.notes, element.get("name", ""), (), ("damping", "friction"))
        damping, friction = (
            not_negative(number(dynamics.get(key, "0"), f"{where}: {key}"), f"{where}: {key}")
            for key in ("damping", "friction")
        )
        return Law(damping=damping, friction=friction)

    def _limits(self, element: Element, name: str, kind: str) -> dict[str, Limits]:
        found = element.find("limit")
        if found is None:
            return {}
        note_others(found, self.notes, name, (), ("lower", "upper", "effort", "velocity"))
        where = f"joint {name!r}: limit"
        lower, upper = -inf, inf
        if kind != "continuous" and found.attrib.keys() & {"lower", "upper"}:
            lower, upper = (limit(found.get(key, "0"), where) for key in ("lower", "upper"))
        effort, speed = (abs(limit(found.get(key, "inf"), where)) for key in ("effort", "velocity"))
        kept = joint_limits(lower, upper, effort, speed, name, self.notes)
        return {} if kept == Limits() else {"displacement" if kind == "prismatic" else "angle": kept}

    def _mimic(self, mechanism: Mechanism, name: str, element: Element) -> None:
        where = f"joint {name!r}: mimic"
        note_others(element, self.notes, name, (), ("joint", "multiplier", "offset"))
        leader = required(element, "joint", where)
        if leader == name:
            raise ValueError(f"joint {name!r} mimics itself")
        factor, offset = (
            number(element.get(key, given), where) for key, given in (("multiplier", "1"), ("offset", "0"))
        )
        for joint in (leader, name):
            found = mechanism.joints.get(joint)
            if found is None or not found.names:
                kind = "is not there" if joint not in self.joints else "has no coordinate"
                self.notes.skip(f"mimic of a joint that {kind}", f"{name} of {leader}")
                return
        mechanism.add_coupling(
            Mimic(leader, name, factor=factor, offset=offset, name=f"{name} mimics {leader}")
            if factor
            else Coupling([(name, 1.0)], offset=offset, name=f"{name} held")
        )

    # ---- loops

    def _loop_joint(self, element: Element) -> Edge:
        name = required(element, "name", "a loop_joint")
        where = f"loop_joint {name!r}"
        note_others(element, self.notes, name, ("link1", "link2", "axis", "drake:screw_thread_pitch"), ("name", "type"))
        kind = required(element, "type", where)
        if kind not in _KINDS:
            raise ValueError(f"{where}: there is no joint type {kind!r:.40}")
        axis = _turn(element, where, _KINDS[kind])
        links, frames = [], []
        for side in ("link1", "link2"):
            end = element.find(side)
            if end is None:
                raise ValueError(f"{where} has no {side}")
            links.append(self.graph.link(required(end, "link", where), where).name)
            place = _pose(end, f"{where}: {side}")
            frames.append((place[0], multiply(place[1], axis)))
        if links[0] == links[1]:
            raise ValueError(f"{where} joins {links[0]!r} to itself")
        if name in self.joints:
            raise ValueError(f"there are two joints called {name!r}")
        pitch = _pitch(element, where) if kind == "screw" else 0.0
        return Edge(name, _KINDS[kind], links[0], links[1], frames[0], frames[1], pitch, closes=True)

    def _constraint(self, element: Element, k: int) -> Edge:
        """A point of one body held on a point of another, or a frame on a frame."""
        tag = element.tag
        name = element.get("name") or f"{tag.removeprefix('drake:')} {k}"
        places = ("p_AP", "p_BQ") if tag == "drake:ball_constraint" else ("X_AP", "X_BQ")
        parts = [f"{tag}_{part}" for part in ("body_A", "body_B", *places)]
        note_others(element, self.notes, name, parts)
        links, frames = [], []
        for side, place in ((0, 2), (1, 3)):
            body, spot = element.find(parts[side]), element.find(parts[place])
            if body is None:
                raise ValueError(f"{name!r} has no {parts[side]}")
            links.append(self.graph.link(required(body, "name", name), name).name)
            if places[0] == "p_AP":
                value = "0 0 0" if spot is None else spot.get("value")
                frames.append((numbers(value, 3, f"{name!r}: {parts[place]}"), identity_pose()[1]))
            else:
                frames.append(_pose(spot, f"{name!r}: {parts[place]}"))
        if links[0] == links[1]:
            raise ValueError(f"{name!r} joins {links[0]!r} to itself")
        points = places[0] == "p_AP"
        kind = "ball" if points else "fixed"
        return Edge(name, kind, links[0], links[1], frames[0], frames[1], closes=True, points=points)


def _attributes(element: Element, where: str) -> Entry:
    """Entries of an element that are its attributes."""
    return lambda key, given: required(element, key, where) if given is None else element.get(key, given)


def _pose(element: Element | None, where: str) -> Pose:
    if element is None:
        return identity_pose()
    place = numbers(element.get("xyz", "0 0 0"), 3, f"{where}: xyz")
    return place, from_rpy(numbers(element.get("rpy", "0 0 0"), 3, f"{where}: rpy"))


def _turn(element: Element, where: str, kind: str) -> Array:
    """The turn that puts z on the axis of a joint; the axes of a universal one are x and y of its frame."""
    found = element.find("axis")
    if kind in ("fixed", "ball", "free", "universal"):
        return identity_pose()[1]
    return z_to(direction(None if found is None else found.get("xyz"), f"{where}: axis", "1 0 0"))


def _pitch(element: Element, where: str) -> float:
    """Metres a turn."""
    thread = element.find("drake:screw_thread_pitch")
    return number(None if thread is None else thread.get("value"), f"{where}: drake:screw_thread_pitch")
