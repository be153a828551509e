"""Where links stand by their file, found without catena: URDF along parents, SDF by its poses, MJCF by MuJoCo."""

from __future__ import annotations

from math import cos, sin
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

import catena as ct
from catena._util import rotation as rot


def _numbers(text: str | None, count: int) -> list[float]:
    return [float(word) for word in (text or "0 " * count).replace(",", " ").split()]


def _matrix(xyz: list[float], rpy: list[float]) -> np.ndarray:
    (cr, cp, cy), (sr, sp, sy) = ([f(angle) for angle in rpy] for f in (cos, sin))
    turn = (
        (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
        (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = turn, xyz
    return found


def of_urdf(path: Path) -> dict[str, np.ndarray]:
    """Poses (4, 4) by link, along the first joint that has the link as its child; the root is the identity."""
    robot = ElementTree.parse(path).getroot()
    carrier = {}
    for joint in robot.findall("joint"):
        parent, child = (joint.find(side).get("link") for side in ("parent", "child"))  # type: ignore[union-attr]
        origin = joint.find("origin")
        given = {} if origin is None else origin.attrib
        place = _matrix(_numbers(given.get("xyz"), 3), _numbers(given.get("rpy"), 3))
        carrier.setdefault(child, (parent, place))

    def pose(link: str | None) -> np.ndarray:
        if link not in carrier:
            return np.eye(4)
        parent, place = carrier[link]
        return pose(parent) @ place

    return {name: pose(name) for link in robot.findall("link") if (name := link.get("name"))}


def of_sdf(path: Path) -> dict[str, np.ndarray]:
    """Poses (4, 4) by link, of files whose poses are relative to the model."""
    model = ElementTree.parse(path).getroot().find(".//model")
    assert model is not None

    def own(element: ElementTree.Element) -> np.ndarray:
        found = element.find("pose")
        if found is not None and (found.get("relative_to") or found.get("frame")):
            raise ValueError("poses relative to other frames")
        six = _numbers(None if found is None else found.text, 6)
        return _matrix(six[:3], six[3:])

    return {name: own(model) @ own(link) for link in model.findall("link") if (name := link.get("name"))}


def of_mjcf(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """Poses (4, 4) by body in the pose qpos0."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    found = {}
    for k in range(1, model.nbody):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = data.xmat[k].reshape(3, 3), data.xpos[k]
        found[model.body(k).name or f"body{k}"] = pose
    return found


def difference(state: ct.State, poses: dict[str, np.ndarray]) -> float:
    """The largest difference of a place (m) or of an entry of a rotation matrix, over all links."""
    worst = 0.0
    for name, pose in poses.items():
        if name == "world":
            continue
        position, orientation = state.frame(name)
        worst = max(worst, float(np.abs(position - pose[:3, 3]).max()))
        worst = max(worst, float(np.abs(rot.to_matrix(orientation) - pose[:3, :3]).max()))
    return worst
