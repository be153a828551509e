"""Drawings of joints and couplings for the catalogue; `python docs/drawings.py` writes them into docs/pictures/joints.

Body a, or the world, is gray; arrows show how the other bodies can move; a pale body is the same one elsewhere. The
bodies are mechanisms of catena, posed by it, and their meshes are those of its viewer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import matplotlib.image
import numpy as np
from numpy.typing import ArrayLike

import catena as ct
from catena._util.rotation import z_to
from catena.view.viewer.looks import COLORS, GROUND, INK, rgb, shape_meshes
from catena.view.viewer.solids import Mesh, bone, cone, joined

FOLDER = Path(__file__).parent / "pictures" / "joints"
X, Y, Z = np.eye(3)
MOVES = "#c0392b"
WIDTH, HEIGHT, FINER = 300, 220, 3


@dataclass
class Drawing:
    """A mechanism, the coordinates of its pose and of a second one that is drawn pale, and arrows."""

    mechanism: ct.Mechanism
    pose: dict[str, object] = field(default_factory=dict)
    pale: list[dict[str, object]] = field(default_factory=list)
    arrows: list[Mesh] = field(default_factory=list)


# ---- pictures


def picture(drawing: Drawing) -> np.ndarray:
    """Pixels (height, width, 4) on a transparent ground."""
    solid = [*_parts(drawing, drawing.pose), *((mesh, rgb(MOVES)) for mesh in drawing.arrows)]
    pale = [part for pose in drawing.pale for part in _parts(drawing, pose, fixed=False)]
    across, up, towards = _camera()
    points = np.concatenate([mesh.vertices for mesh, _ in solid + pale])
    flat = points @ np.stack((across, up), axis=1)
    low, high = flat.min(axis=0), flat.max(axis=0)
    scale = FINER * min(0.94 * WIDTH / (high - low)[0], 0.94 * HEIGHT / (high - low)[1])
    middle = 0.5 * FINER * np.array((WIDTH, HEIGHT)) - 0.5 * scale * (low + high)

    def layer(parts: list[tuple[Mesh, tuple[float, ...]]]) -> tuple[np.ndarray, np.ndarray]:
        return _rasterize(parts, np.stack((across, up, towards), axis=1), scale, middle)

    front, depth = layer(solid)
    behind, pale_depth = layer(pale)
    seen = (pale_depth > depth) & (behind[..., 3] > 0)
    # pale bodies let what stands behind them be seen
    tint = 0.72 * (behind[..., 3] > 0) * seen
    opaque = front[..., 3]
    alpha = tint * 0.5 + (1 - tint * 0.5) * opaque
    color = (tint[..., None] * 0.5 * behind[..., :3] + ((1 - tint * 0.5) * opaque)[..., None] * front[..., :3]) / (
        np.maximum(alpha, 1e-9)[..., None]
    )
    whole = np.concatenate((color * alpha[..., None], alpha[..., None]), axis=-1)
    small = whole.reshape(HEIGHT, FINER, WIDTH, FINER, 4).mean(axis=(1, 3))
    small[..., :3] /= np.maximum(small[..., 3:], 1e-9)
    return np.clip(small, 0, 1)[::-1]


def _camera() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    towards = np.array((0.62, -1.0, 0.55))
    towards /= np.linalg.norm(towards)
    across = np.cross(Z, towards)
    across /= np.linalg.norm(across)
    return across, np.cross(towards, across), towards


def _parts(drawing: Drawing, pose: dict[str, object], fixed: bool = True) -> list[tuple[Mesh, tuple[float, ...]]]:
    m = drawing.mechanism
    state = m.assemble(coordinates=pose) if pose else m.state()
    parts = []
    if fixed:
        parts += [(mesh, tint or rgb(GROUND)) for mesh, tint in shape_meshes(m.world)[0]]
    for row, body in enumerate(m.bodies.values()):
        at = state.body(body)
        for mesh, tint in shape_meshes(body)[0]:
            parts.append((mesh.placed(at.position, at.orientation), tint or rgb(COLORS[row % len(COLORS)])))
    return parts


def _rasterize(parts: list, axes: np.ndarray, scale: float, middle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Colors (h, w, 4) and depth (h, w) of lit triangles; edges between parts and in depth are inked."""
    height, width = HEIGHT * FINER, WIDTH * FINER
    color, depth = np.zeros((height, width, 4)), np.full((height, width), -np.inf)
    owner = np.full((height, width), -1)
    light = np.array((-0.35, 0.62, 0.70))
    for number, (mesh, tint) in enumerate(parts):
        corners = mesh.vertices @ axes
        corners[:, :2] = scale * corners[:, :2] + middle
        normals = mesh.normals() @ axes
        for a, b, c in mesh.triangles:
            p, q, r = corners[a], corners[b], corners[c]
            area = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
            if area <= 0:
                continue
            x0, x1 = int(max(min(p[0], q[0], r[0]), 0)), int(min(max(p[0], q[0], r[0]) + 2, width))
            y0, y1 = int(max(min(p[1], q[1], r[1]), 0)), int(min(max(p[1], q[1], r[1]) + 2, height))
            x, y = np.meshgrid(np.arange(x0, x1) + 0.5, np.arange(y0, y1) + 0.5)
            v = ((x - p[0]) * (r[1] - p[1]) - (y - p[1]) * (r[0] - p[0])) / area
            w = ((q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0])) / area
            z = p[2] + v * (q[2] - p[2]) + w * (r[2] - p[2])
            spot = np.s_[y0:y1, x0:x1]
            inside = (v >= 0) & (w >= 0) & (v + w <= 1) & (z > depth[spot])
            if not inside.any():
                continue
            v, w = v[inside][:, None], w[inside][:, None]
            normal = (1 - v - w) * normals[a] + v * normals[b] + w * normals[c]
            normal /= np.linalg.norm(normal, axis=1, keepdims=True)
            shade = 0.55 + 0.5 * np.clip(normal @ light, 0, 1)
            color[spot][inside] = np.concatenate((np.clip(shade[:, None] * tint[:3], 0, 1), np.ones_like(v)), axis=1)
            depth[spot][inside] = z[inside]
            owner[spot][inside] = number
    ink = np.array(rgb(INK)[:3])
    for step in ((0, 1), (1, 0), (0, 2), (2, 0)):
        differs = np.zeros((height, width), dtype=bool)
        here, there = np.s_[step[0] :, step[1] :], np.s_[: height - step[0], : width - step[1]]
        with np.errstate(invalid="ignore"):
            jump = np.abs(depth[here] - depth[there]) > 0.05
        differs[here] = (owner[here] != owner[there]) | jump & (owner[here] >= 0) & (owner[there] >= 0)
        color[differs] = np.append(ink, 1.0)
    return color, depth


# ---- arrows


def _unit(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector, dtype=float) / np.linalg.norm(vector)


def along(start: ArrayLike, direction: np.ndarray, length: float, both: bool = True) -> Mesh:
    """An arrow for a translation."""
    unit = _unit(direction)
    ends = np.asarray(start) - 0.5 * length * unit, np.asarray(start) + 0.5 * length * unit
    heads = [cone(0.055, 0.14).placed(ends[1], z_to(unit))]
    if both:
        heads.append(cone(0.055, 0.14).placed(ends[0], z_to(-unit)))
    return joined([bone(*ends, 0.02), *heads])


def around(center: ArrayLike, axis: np.ndarray, radius: float, start: float = -0.6, end: float = 2.2) -> Mesh:
    """An arrow for a rotation, from one angle to another about an axis."""
    unit = _unit(axis)
    u = _unit(np.cross(unit, X if abs(unit[0]) < 0.8 else Y))
    v = np.cross(unit, u)
    angles = np.linspace(start, end, 22)
    points = np.asarray(center) + radius * (np.cos(angles)[:, None] * u + np.sin(angles)[:, None] * v)
    tubes = [bone(p, q, 0.02) for p, q in pairwise(points)]
    return joined([*tubes, cone(0.055, 0.14).placed(points[-1], z_to(_unit(points[-1] - points[-2])))])


# ---- what is drawn: shapes are (kind, size, place, direction of their z axis) in the world

Shapes = tuple[tuple[str, tuple[float, ...], tuple[float, float, float], np.ndarray], ...]
BALL = ("sphere", (0.13,), (0, 0, 0), Z)


def _scene(world: Shapes, **bodies: Shapes) -> ct.Mechanism:
    m = ct.Mechanism()
    for kind, size, place, direction in world:
        m.world.add_shape(kind, size, position=place, orientation=z_to(_unit(direction)))
    for name, shapes in bodies.items():
        body = m.add_body(name, ct.Inertia(1.0, np.eye(3)))
        for kind, size, place, direction in shapes:
            body.add_shape(kind, size, position=place, orientation=z_to(_unit(direction)))
    return m


def _joint(
    world: Shapes,
    b: Shapes,
    joint: type,
    arrows: list[Mesh],
    pale: list[object] = (),
    pose: object = None,
    **kind: object,
) -> Drawing:
    m = _scene(world, b=b)
    place = {} if "anchors" in kind else {"at": (0, 0, 0)}
    m.add_joint(joint("world", "b", name="joint", **{**place, **kind}))
    return Drawing(
        m,
        {} if pose is None else {"joint": pose},
        [{"joint": values} for values in pale],
        arrows,
    )


FORK = (
    ("box", (0.34, 0.07, 0.36), (0, -0.15, -0.12), Z),
    ("box", (0.34, 0.07, 0.36), (0, 0.15, -0.12), Z),
    ("box", (0.6, 0.5, 0.08), (0, 0, -0.33), Z),
)
ARM = (("cylinder", (0.12, 0.2), (0, 0, 0), Y), ("box", (0.8, 0.13, 0.13), (0.42, 0, 0), Z))
RAIL = (("box", (1.7, 0.14, 0.14), (0, 0, 0), Z),)
SHAFT = (("cylinder", (0.07, 1.7), (0, 0, 0), X), ("box", (0.1, 0.4, 0.4), (-0.85, 0, 0), Z))
SLEEVE = (("cylinder", (0.16, 0.42), (0, 0, 0), X), ("box", (0.12, 0.1, 0.34), (0, 0, 0.28), Z))
CARRIAGE = (("box", (0.4, 0.34, 0.34), (0, 0, 0), Z),)
TABLE = (("box", (1.5, 1.1, 0.08), (0, 0, -0.1), Z),)
BLOCK = (("box", (0.42, 0.3, 0.12), (0, 0, 0), Z),)
SOCKET = (("box", (0.5, 0.5, 0.08), (0, 0, -0.32), Z), ("cylinder", (0.1, 0.25), (0, 0, -0.2), Z))
STICK = (BALL, ("capsule", (0.06, 0.62), (0, 0, 0.45), Z))
SLOT = (
    ("box", (1.5, 0.06, 0.12), (0, 0, 0.13), Z),
    ("box", (1.5, 0.06, 0.12), (0, 0, -0.13), Z),
    ("box", (0.06, 0.06, 0.38), (0.78, 0, 0), Z),
    ("box", (0.06, 0.06, 0.38), (-0.78, 0, 0), Z),
)
ROD_B = (("capsule", (0.07, 0.6), (0.3, 0, 0), X),)


def _gears(ratio: float) -> Drawing:
    m = _scene(
        (("box", (1.9, 0.08, 0.2), (0.2, 0.14, 0), Z),),
        driver=(("cylinder", (0.3, 0.12), (-0.32, 0, 0), Y), ("box", (0.07, 0.13, 0.5), (-0.32, 0, 0), Z)),
        driven=(("cylinder", (0.6, 0.12), (0.6, 0, 0), Y), ("box", (0.07, 0.13, 1.1), (0.6, 0, 0), Z)),
    )
    m.add_joint(ct.Revolute("world", "driver", axis=Y, at=(-0.32, 0, 0), name="one"))
    m.add_joint(ct.Revolute("world", "driven", axis=Y, at=(0.6, 0, 0), name="two"))
    m.add_coupling(ct.Gear("one", "two", ratio=ratio))
    arrows = [around((-0.32, -0.1, 0), Y, 0.2), around((0.6, -0.1, 0), Y, 0.42, 2.2, -0.2)]
    return Drawing(m, {"one": 0.5}, [], arrows)


def _rack() -> Drawing:
    m = _scene(
        (),
        pinion=(("cylinder", (0.32, 0.14), (0, 0, 0.32), Y), ("box", (0.07, 0.15, 0.54), (0, 0, 0.32), Z)),
        rack=(("box", (1.6, 0.2, 0.12), (0, 0, -0.06), Z),),
    )
    m.add_joint(ct.Revolute("world", "pinion", axis=Y, at=(0, 0, 0.32), name="one"))
    m.add_joint(ct.Prismatic("world", "rack", axis=X, at=(0, 0, 0), name="two"))
    m.add_coupling(ct.Rack("one", "two", radius=-0.32))
    arrows = [around((0, -0.12, 0.32), Y, 0.2), along((0.1, -0.16, -0.06), X, 0.9)]
    return Drawing(m, {"one": 0.4}, [{"one": 1.3}], arrows)


def _differential() -> Drawing:
    axle = ("cylinder", (0.05, 0.36))
    m = _scene(
        (),
        carrier=(("box", (0.5, 0.3, 0.5), (0, 0, 0), Z),),
        left=(
            ("cylinder", (0.34, 0.12), (-0.7, 0, 0), X),
            (*axle, (-0.45, 0, 0), X),
            ("box", (0.13, 0.07, 0.6), (-0.71, 0, 0), Z),
        ),
        right=(
            ("cylinder", (0.34, 0.12), (0.7, 0, 0), X),
            (*axle, (0.45, 0, 0), X),
            ("box", (0.13, 0.07, 0.6), (0.71, 0, 0), Z),
        ),
    )
    for name in ("carrier", "left", "right"):
        m.add_joint(ct.Revolute("world", name, axis=X, at=(0, 0, 0), name=f"axle of {name}"))
    m.add_coupling(ct.Differential("axle of carrier", "axle of left", "axle of right"))
    arrows = [around((x, 0, 0), X, r) for x, r in ((-0.82, 0.24), (0, 0.46), (0.82, 0.24))]
    return Drawing(m, {"axle of left": 0.3, "axle of right": -0.2}, [], arrows)


def _mimic() -> Drawing:
    finger = (0.09, 0.12, 0.62)
    m = _scene(
        (("box", (0.9, 0.3, 0.16), (0, 0, -0.12), Z),),
        left=(("box", finger, (-0.3, 0, 0.28), Z), ("cylinder", (0.09, 0.2), (-0.3, 0, 0), Y)),
        right=(("box", finger, (0.3, 0, 0.28), Z), ("cylinder", (0.09, 0.2), (0.3, 0, 0), Y)),
    )
    for name, x in (("left", -0.3), ("right", 0.3)):
        m.add_joint(ct.Revolute("world", name, axis=Y, at=(x, 0, 0), name=name))
    m.add_coupling(ct.Mimic("left", "right", factor=-1.0))
    arrows = [around((-0.3, -0.1, 0), Y, 0.72, 3.0, 2.3), around((0.3, -0.1, 0), Y, 0.72, 3.28, 3.98)]
    return Drawing(m, {"left": -0.1}, [{"left": -0.6}], arrows)


def _prescribed() -> Drawing:
    m = _scene(
        (("box", (0.5, 0.4, 0.5), (0, 0.3, 0), Z),),
        crank=(("cylinder", (0.1, 0.3), (0, 0, 0), Y), ("box", (0.75, 0.09, 0.12), (0.3, -0.1, 0), Z)),
    )
    m.add_joint(ct.Revolute("world", "crank", axis=Y, at=(0, 0, 0), name="shaft"))
    return Drawing(m, {"shaft": -0.5}, [{"shaft": -1.4}], [around((0, -0.2, 0), Y, 0.4, 3.6, 0.2)])


def _wheel(kind: str) -> Drawing:
    up = np.array((0, 0, 0.34))
    shapes = {
        "ball": (("sphere", (0.34,), up, Z),),
        "disk": (("cylinder", (0.34, 0.07), up, Y), ("box", (0.07, 0.08, 0.6), up, Z)),
        "edge": (("box", (0.5, 0.02, 0.16), (0, 0, 0.08), Z), ("box", (0.9, 0.16, 0.1), (0, 0, 0.21), Z)),
    }[kind]
    m = _scene((("box", (1.8, 1.0, 0.06), (0, 0, -0.03), Z),), b=shapes)
    arrows = [along((-0.1, -0.42, 0.03), X, 0.9)]
    if kind != "edge":
        arrows.append(around(up - (0, 0.36 if kind == "ball" else 0.06, 0), Y, 0.2))
    if kind != "disk":
        arrows.append(around((0, 0, 0.72 if kind == "ball" else 0.3), Z, 0.2))
    return Drawing(m, {}, [], arrows)


DRAWINGS = {
    "Fixed": lambda: _joint(SOCKET, (("box", (0.3, 0.3, 0.34), (0, 0, 0.09), Z),), ct.Fixed, []),
    "Revolute": lambda: _joint(FORK, ARM, ct.Revolute, [around((0, -0.25, 0), Y, 0.3)], [-0.9], -0.15, axis=Y),
    "Prismatic": lambda: _joint(RAIL, CARRIAGE, ct.Prismatic, [along((0, 0, 0.3), X, 0.7)], [0.55], -0.3, axis=X),
    "Cylindrical": lambda: _joint(
        SHAFT,
        SLEEVE,
        ct.Cylindrical,
        [along((0.3, 0, 0.5), X, 0.6), around((0.55, 0, 0), X, 0.26)],
        [(0.4, 0.9)],
        (-0.25, 0.0),
        axis=X,
    ),
    "Screw": lambda: _joint(
        (*SHAFT, *(("cylinder", (0.1, 0.03), (x, 0, 0), X + 0.2 * Z) for x in np.arange(-0.7, 0.85, 0.1))),
        SLEEVE,
        ct.Screw,
        [along((0.3, 0, 0.5), X, 0.6), around((0.5, 0, 0), X, 0.26)],
        [4.0],
        -2.0,
        axis=X,
        pitch=0.4,
    ),
    "Universal": lambda: _joint(
        (
            ("box", (0.1, 0.1, 0.3), (-0.2, 0, -0.2), Z),
            ("box", (0.1, 0.1, 0.3), (0.2, 0, -0.2), Z),
            ("box", (0.5, 0.14, 0.08), (0, 0, -0.36), Z),
            ("cylinder", (0.08, 0.3), (0, 0, -0.52), Z),
        ),
        (
            ("cylinder", (0.035, 0.5), (0, 0, 0), X),
            ("cylinder", (0.035, 0.5), (0, 0, 0), Y),
            ("box", (0.1, 0.08, 0.3), (0, -0.2, 0.18), Z),
            ("box", (0.1, 0.08, 0.3), (0, 0.2, 0.18), Z),
            ("box", (0.14, 0.48, 0.08), (0, 0, 0.34), Z),
            ("cylinder", (0.08, 0.4), (0, 0, 0.55), Z),
        ),
        ct.Universal,
        [around((0.36, 0, 0), X, 0.18), around((0, -0.36, 0), Y, 0.18)],
        [(-0.2, 0.55)],
        (0.1, 0.1),
        axes=(X, Y),
    ),
    "Ball": lambda: _joint(
        SOCKET,
        STICK,
        ct.Ball,
        [around((0, 0, 0.95), Z, 0.22), around((0, 0, 0), Y, 0.95, 3.4, 4.1)],
        [(0.25, 0.75, 0.0)],
        (0.0, -0.25, 0.0),
    ),
    "Planar": lambda: _joint(
        TABLE,
        BLOCK,
        ct.Planar,
        [along((0, -0.42, 0.02), X, 0.6), along((-0.6, 0, 0.02), Y, 0.6), around((0, 0, 0.16), Z, 0.2)],
        [(0.35, 0.25, 0.7)],
        (-0.1, -0.05, 0.0),
        axis=Z,
    ),
    "PinInSlot": lambda: _joint(
        SLOT,
        (("cylinder", (0.06, 0.4), (0, 0, 0), Y), ("box", (0.1, 0.07, 0.6), (0, -0.16, -0.25), Z)),
        ct.PinInSlot,
        [along((0.1, 0, 0.36), X, 0.7), around((0, -0.26, 0), Y, 0.2)],
        [(0.5, 0.6)],
        (-0.35, 0.0),
        axes=(X, Y),
    ),
    "Free": lambda: _joint(
        TABLE,
        (("box", (0.4, 0.28, 0.2), (0, 0, 0.4), Z),),
        ct.Free,
        [
            along((0, 0, 0.4), X, 1.1),
            along((0, 0, 0.4), Y, 1.0),
            along((0, 0, 0.42), Z, 0.9),
            around((0, 0, 0.66), Z, 0.2),
            around((0.36, 0, 0.4), X, 0.2),
        ],
        [],
        at=(0, 0, 0.4),
    ),
    "Distance": lambda: _joint(
        (("sphere", (0.07,), (-0.5, 0, 0), Z), ("box", (0.1, 0.5, 0.5), (-0.6, 0, 0), Z)),
        (
            ("sphere", (0.07,), (0.25, 0, 0), Z),
            ("box", (0.4, 0.3, 0.3), (0.45, 0, 0), Z),
            ("cylinder", (0.02, 0.75), (-0.125, 0, 0), X),
        ),
        ct.Distance,
        [around((-0.5, 0, 0), Y, 1.28, 4.45, 4.97), around((0.45, 0, 0.16), Z, 0.26)],
        [],
        None,
        anchors=((-0.5, 0, 0), (0.25, 0, 0)),
    ),
    "PointOnLine": lambda: _joint(
        (("cylinder", (0.03, 1.7), (0, 0, 0), X),),
        (("sphere", (0.09,), (0, 0, 0), Z), ("box", (0.1, 0.1, 0.5), (0, 0, 0.32), Z)),
        ct.PointOnLine,
        [along((0.25, 0, -0.2), X, 0.8), around((0, 0, 0.62), Z, 0.18)],
        [],
        axis=X,
    ),
    "PointOnPlane": lambda: _joint(
        TABLE,
        (("sphere", (0.06,), (0, 0, 0), Z), ("capsule", (0.07, 0.45), (0.12, 0, 0.3), Z + 0.4 * X)),
        ct.PointOnPlane,
        [along((0, -0.42, 0), X, 0.7), along((-0.55, 0, 0), Y, 0.7)],
        [],
        axis=Z,
    ),
    "ParallelAxes": lambda: _joint(
        (("cylinder", (0.05, 0.7), (-0.5, 0, 0), Z), ("box", (0.4, 0.4, 0.06), (-0.5, 0, -0.35), Z)),
        (("cylinder", (0.05, 0.7), (0.3, 0, 0), Z), ("box", (0.34, 0.26, 0.3), (0.3, 0, 0), Z)),
        ct.ParallelAxes,
        [along((0.3, 0, 0.1), X, 1.0), along((0.3, 0, 0.5), Z, 0.35), around((0.3, 0, 0.3), Z, 0.2)],
        [],
        axis=Z,
    ),
    "FixedOrientation": lambda: _joint(
        TABLE,
        (("box", (0.34, 0.28, 0.24), (0, 0, 0.35), Z),),
        ct.FixedOrientation,
        [along((0, 0, 0.35), X, 1.0), along((0, 0, 0.35), Y, 0.9), along((0, 0, 0.38), Z, 0.8)],
        [],
    ),
    "ConstantVelocity": lambda: _joint(
        (("cylinder", (0.09, 0.6), (-0.45, 0, 0), X), ("sphere", (0.2,), (0, 0, 0), Z)),
        (
            ("cylinder", (0.09, 0.6), (0.42, 0, 0.15), X + 0.36 * Z),
            ("cylinder", (0.22, 0.08), (0.17, 0, 0.06), X + 0.36 * Z),
        ),
        ct.ConstantVelocity,
        [around((-0.5, 0, 0), X, 0.22), around((0.55, 0, 0.2), X + 0.36 * Z, 0.22)],
        [],
        axis=X,
    ),
    "RollingBall": lambda: _wheel("ball"),
    "RollingDisk": lambda: _wheel("disk"),
    "KnifeEdge": lambda: _wheel("edge"),
    "Gear": lambda: _gears(-0.5),
    "Rack": _rack,
    "Differential": _differential,
    "Mimic": _mimic,
    "PrescribedMotion": _prescribed,
}

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, make in DRAWINGS.items():
        matplotlib.image.imsave(FOLDER / f"{name}.png", picture(make()))
