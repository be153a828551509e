"""Frames of an SDF model: where its links, joints and frames stand, each relative to another that it names.

A pose is relative to the frame it names; where it names none, that of a link to the model, that of a joint to its child
link, that of a frame to what the frame is attached to.
"""

from __future__ import annotations

from math import radians
from xml.etree.ElementTree import Element

import numpy as np

from ...describe.joint import Pose
from .graph import WORLD, together
from .markup import from_rpy, identity_pose, numbers, unique

MODEL = "__model__"


class Frames:
    """The links, joints and explicit frames of a model by name, and their poses in the world."""

    def __init__(self, model: Element) -> None:
        self.model = model
        self.links = unique(self.model.findall("link"), "link")
        self.joints = unique(self.model.findall("joint"), "joint")
        self.explicit = unique(self.model.findall("frame"), "frame")
        for name in (self.links.keys() & self.explicit.keys()) | (self.joints.keys() & self.explicit.keys()):
            raise ValueError(f"there are two frames called {name!r}")
        self._poses: dict[str, Pose] = {WORLD: identity_pose()}

    def pose_of(self, name: str, asker: str) -> Pose:
        """The pose of a frame in the world, found along the frames it is relative to."""
        chain: list[str] = []
        while name not in self._poses:
            if name in chain:
                raise ValueError(f"the frames {', '.join(map(repr, chain[:6]))} form a cycle of references")
            chain.append(name)
            element = self._framed(name, asker)
            asker = f"frame {name!r}"
            name = self._relative_to(name, element)
        for frame in reversed(chain):
            own = pose_from(self._framed(frame, asker).find("pose"), f"frame {frame!r}")
            self._poses[frame] = together(self._poses[name], own)
            name = frame
        return self._poses[name]

    def host(self, name: str, element: Element) -> str:
        """The link, or the world, that a frame is attached to."""
        host, seen = element.get("attached_to") or MODEL, {name}
        while host not in self.links and host != WORLD:
            if host in seen:
                raise ValueError(f"frame {name!r} is attached to itself")
            seen.add(host)
            if host == MODEL:
                host = self.model.get("canonical_link") or next(iter(self.links))
            elif host in self.joints:
                host = text_of(self.joints[host], "child", f"joint {host!r}")
            elif host in self.explicit:
                host = self.explicit[host].get("attached_to") or MODEL
            else:
                raise ValueError(f"frame {name!r}: there is no frame called {host!r}")
        return host

    def _framed(self, name: str, asker: str) -> Element:
        """The element that a frame belongs to."""
        if name == MODEL:
            return self.model
        for frames in (self.links, self.explicit, self.joints):
            if name in frames:
                return frames[name]
        raise ValueError(f"{asker}: there is no frame called {name!r}")

    def _relative_to(self, name: str, element: Element) -> str:
        pose = element.find("pose")
        given = None if pose is None else pose.get("relative_to") or pose.get("frame")
        if given:
            return given
        if name == MODEL:
            return WORLD
        if element.tag == "joint":
            return text_of(element, "child", f"joint {name!r}")
        return element.get("attached_to") or MODEL


def text_of(element: Element, tag: str, where: str, default: str | None = None) -> str:
    """What a child element says."""
    found = element.find(tag)
    if found is None or found.text is None:
        if default is None:
            raise ValueError(f"{where}: <{element.tag}> has no {tag}")
        return default
    return found.text.strip()


def pose_from(element: Element | None, where: str) -> Pose:
    """What a pose element says: a place (m), and angles or a quaternion; the identity where it is missing."""
    if element is None or not (element.text or "").strip():
        return identity_pose()
    if element.get("rotation_format") == "quat_xyzw":
        found = numbers(element.text, 7, f"{where}: pose")
        length = np.linalg.norm(found[3:])
        if length < 1e-9:
            raise ValueError(f"{where}: the quaternion of a pose must not be zero")
        return found[:3], np.roll(found[3:], 1) / length
    found = numbers(element.text, 6, f"{where}: pose")
    angles = np.array([radians(angle) for angle in found[3:]]) if element.get("degrees") == "true" else found[3:]
    return found[:3], from_rpy(angles)
