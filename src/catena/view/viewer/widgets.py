"""What stands on the pages of the server: the scene as nodes of viser, and buttons, sliders and plots beside it.

They are made from what the server hands over, `server` and its `gui`; what is clicked is only noted down.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log10
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._util.rotation import IDENTITY, Array, rotate
from ...describe.shapes import Color
from .looks import FORCE, INK, rgb
from .posing import Poser, Slider, joint_sliders
from .scene import WORLD, Part, Plot, Point, Scene
from .stops import LIT, Lit

if TYPE_CHECKING:
    from ...kinematics.state import State

# most sliders that are unfolded from the beginning, that there are, and names that are shown
_MOST_SLIDERS, MOST_SLIDERS, MOST_NAMES = 12, 200, 300


class Canvas:
    """A scene among the nodes of a server.

    Parts that look alike are one node with a pose for each of them, so that ten thousand bodies are few nodes.
    """

    def __init__(self, server: Any, scene: Scene) -> None:
        self._server, self._scene, nodes = server, scene, server.scene
        self._roots = {kind: nodes.add_frame(f"/{kind}", show_axes=False) for kind in self._kinds()}
        for kind, root in self._roots.items():
            root.visible = kind not in scene.hidden
        alike: dict[tuple[str, bytes, bytes, bool, float], list[Part]] = {}
        for part in scene.parts:
            mesh = part.mesh.rounded()
            look = mesh.vertices.tobytes(), mesh.triangles.tobytes(), mesh.flat, part.color[3]
            alike.setdefault((part.kind, *look), []).append(part)
        self._poses: dict[str, list[tuple[NDArray[np.intp], Any]]] = {}
        # stops that light up: their marks, colors and node
        self._marked: list[tuple[list[int], list[tuple[int, int, int]], Any]] = []
        self._lit = np.zeros(scene.lit.shape[1], dtype=bool)
        for k, ((kind, *_, alpha), parts) in enumerate(alike.items()):
            bodies = np.array([part.body for part in parts])
            handle = nodes.add_batched_meshes_simple(
                f"/{kind}/{k} {_plain(parts[0].name)}",
                parts[0].mesh.vertices,
                parts[0].mesh.triangles,
                *self._placed(bodies, scene.position[0], scene.orientation[0]),
                batched_colors=np.array([_bytes_of(part.color) for part in parts], dtype=np.uint8),
                opacity=None if alpha == 1 else alpha,
                flat_shading=parts[0].mesh.flat,
                side="double",
                lod="off",
            )
            self._poses.setdefault(kind, []).append((bodies, handle))
            if any(part.mark >= 0 for part in parts):
                self._marked.append(([part.mark for part in parts], [_bytes_of(part.color) for part in parts], handle))
        self._labels = [
            nodes.add_label(f"/names/{k} {_plain(label.name)}", printable(label.name), font_screen_scale=0.8)
            for k, label in enumerate(scene.labels[:MOST_NAMES])
        ]
        nothing = np.zeros((0, 2, 3))
        thick = 0.006 * scene.size
        self._lines = self._arrows = None
        if scene.lines:
            self._lines = nodes.add_line_segments("/lines/all", nothing, _bytes(INK), thickness=thick)
        if scene.arrows:
            shape = {"shaft_radius": thick, "head_radius": 2.6 * thick, "head_length": 5 * thick}
            self._arrows = nodes.add_arrows("/forces/all", nothing, _bytes(FORCE), **shape)
        self._traces = [
            nodes.add_line_segments(
                f"/traces/{k} {_plain(trace.name)}", nothing, _bytes(scene.color_of(trace.body)), thickness=0.5 * thick
            )
            for k, trace in enumerate(scene.traces)
        ]
        cell = 10 ** np.floor(np.log10(0.5 * scene.size))
        x, y, _ = scene.center
        nodes.add_grid(
            "/grid/floor",
            2 * scene.size,
            2 * scene.size,
            cell_size=cell,
            section_size=10 * cell,
            position=(x, y, scene.low[2]),
        )
        self._position, self._orientation = scene.position[0], scene.orientation[0]

        # whether something else is to be shown since the last picture
        self.chosen = False
        turn = np.arctan2(scene.sight[1], scene.sight[0]) + 0.35
        away = np.array((np.cos(turn) * np.cos(0.3), np.sin(turn) * np.cos(0.3), np.sin(0.3)))
        server.initial_camera.position = tuple(scene.center + 1.75 * scene.size * away)
        server.initial_camera.look_at = tuple(scene.center)
        server.initial_camera.fov = 0.7
        # what is nearer or further is not drawn
        server.initial_camera.near = 0.002 * scene.size
        server.initial_camera.far = 50 * scene.size

    def _kinds(self) -> list[str]:
        scene = self._scene
        there = {
            "joints": any(part.kind == "joints" for part in scene.parts),
            "limits": any(part.kind == "limits" for part in scene.parts),
            "names": bool(scene.labels),
            "frames": any(part.kind == "frames" for part in scene.parts),
            "traces": bool(scene.traces),
            "forces": bool(scene.arrows),
        }
        return ["bodies", *(kind for kind, is_there in there.items() if is_there), "grid"]

    def add_choices(self) -> None:
        """Boxes to tick for what is shown."""
        with self._server.gui.add_folder("shown"):
            for kind, root in self._roots.items():
                box = self._server.gui.add_checkbox(kind, initial_value=root.visible)
                box.on_update(lambda event, kind=kind: self._choose(kind, event.target.value))

    def _choose(self, kind: str, visible: bool) -> None:
        self._roots[kind].visible = visible
        self._move(kind)
        self.chosen = True

    def shows(self, kind: str) -> bool:
        """Whether a kind of thing is shown."""
        return kind in self._roots and bool(self._roots[kind].visible)

    def place(self, point: Point) -> Array:
        """Where a point is in the world."""
        if point.body == WORLD:
            return point.place
        place: Array = self._position[point.body] + rotate(self._orientation[point.body], point.place)
        return place

    def put(self, position: Array, orientation: Array, forces: list[Array], lit: Lit | None = None) -> None:
        """Bodies at position (n, 3), orientation (n, 4), forces (3,) in N of joints if known, and stops (mark,) lit."""
        self.chosen = False
        self._position, self._orientation = np.array(position), np.array(orientation)
        with self._server.atomic():
            self._light(self._lit if lit is None else lit)
            for kind in ("names", *self._poses):
                self._move(kind)
            if self._lines is not None:
                lines = [(self.place(line.a), self.place(line.b)) for line in self._scene.lines]
                self._lines.points = np.array(lines, dtype=np.float32)
            if self._arrows is not None:
                scale = self._scene.size / self._scene.newtons
                tails = [self.place(arrow.at) for arrow in self._scene.arrows[: len(forces)]]
                ends = [(tail, tail + scale * force) for tail, force in zip(tails, forces, strict=True)]
                self._arrows.points = np.reshape(ends, (-1, 2, 3)).astype(np.float32)

    def _light(self, lit: Lit) -> None:
        """Stops that act, in another color."""
        if (lit == self._lit).all():
            return
        self._lit = np.array(lit)
        glow = _bytes(LIT)
        for marks, colors, handle in self._marked:
            found = [glow if mark >= 0 and lit[mark] else color for mark, color in zip(marks, colors, strict=True)]
            handle.batched_colors = np.array(found, dtype=np.uint8)

    def _move(self, kind: str) -> None:
        """Things of a kind to where their bodies are; what is hidden stays behind."""
        if not self.shows(kind):
            return
        for bodies, handle in self._poses.get(kind, ()):
            if (bodies != WORLD).any():
                turns, places = self._placed(bodies, self._position, self._orientation)
                handle.batched_wxyzs, handle.batched_positions = turns, places
        if kind == "names":
            for point, label in zip(self._scene.labels, self._labels, strict=False):
                label.position = self.place(point)

    @staticmethod
    def _placed(bodies: NDArray[np.intp], position: Array, orientation: Array) -> tuple[Array, Array]:
        """Orientations (k, 4) and positions (k, 3) of bodies, of which the world is one."""
        still = (bodies == WORLD)[:, None]
        if not len(position):
            return np.tile(IDENTITY, (len(bodies), 1)), np.zeros((len(bodies), 3))
        return np.where(still, IDENTITY, orientation[bodies]), np.where(still, 0.0, position[bodies])

    def trace(self, ways: list[Array]) -> None:
        """The ways (k, 3) of all traces."""
        for handle, way in zip(self._traces, ways, strict=True):
            if len(way) > 1:
                handle.points = np.stack((way[:-1], way[1:]), axis=1).astype(np.float32)


class PlayButton:
    """A button that says play or pause; `on` is whether it plays."""

    def __init__(self, gui: Any) -> None:
        self.on = False
        self._button = gui.add_button("play")
        self._button.on_click(lambda _: self.set(not self.on))

    def set(self, on: bool) -> None:
        """Play, or pause."""
        self.on = on
        self._button.label = "pause" if on else "play"


class Sliders:
    """Sliders in a folder; what the user chose is kept until it is taken."""

    def __init__(self, gui: Any, title: str, sliders: list[Slider], values: Array) -> None:
        self._sliders = sliders
        self._chosen: dict[int, float] = {}
        self._handles: list[Any] = []
        if not sliders:
            return
        with gui.add_folder(title, expand_by_default=len(sliders) <= _MOST_SLIDERS):
            for k, (slider, value) in enumerate(zip(sliders, values.tolist(), strict=True)):
                ends = {"min": slider.lower, "max": slider.upper, "step": slider.step}
                handle = gui.add_slider(printable(slider.name), **ends, initial_value=slider.within(value))
                handle.on_update(lambda event, k=k: self._choose(k, event))
                self._handles.append(handle)

    def _choose(self, k: int, event: Any) -> None:
        if event.client is not None:
            self._chosen[k] = event.target.value

    def taken(self) -> list[tuple[Slider, float]]:
        """What was chosen since the last time."""
        found = []
        while self._chosen:
            k, value = self._chosen.popitem()
            found.append((self._sliders[k], value))
        return found

    def put(self, values: Array) -> None:
        """Show these values."""
        # of joints that have some
        for handle, slider, value in zip(self._handles, self._sliders, values.tolist(), strict=False):
            handle.value = slider.within(value)


class JointSliders(Sliders):
    """Sliders of joint coordinates."""

    def __init__(self, gui: Any, state: State, size: float) -> None:
        self._poser = Poser(state.mechanism)
        sliders = joint_sliders(state.mechanism, state, size)[:MOST_SLIDERS]
        super().__init__(gui, "joints", sliders, state.coordinates[: len(sliders)])

    def moved(self, state: State) -> State | None:
        """The state with what was chosen, if something was."""
        chosen = self.taken()
        for slider, value in chosen:
            state = self._poser.moved(state, slider.joint, slider.index, value)
        return state if chosen else None


class Chart:
    """A plot beside the scene."""

    _TINTS = ("#d98a3d", "#4c78a8", "#2f3640")

    def __init__(self, gui: Any, plot: Plot) -> None:
        tints = self._TINTS if len(plot.curves) > 1 else self._TINTS[2:]
        curves = [{"label": label, "stroke": tints[k % len(tints)]} for k, (label, _) in enumerate(plot.curves)]
        self._title = f"{plot.title}, power of ten" if plot.logarithmic else plot.title
        self._handle = gui.add_uplot(
            data=(np.zeros(0),) * (1 + len(plot.curves)),
            series=({"label": "t [s]"}, *curves),
            title=self._title,
            scales={"x": {"time": False}},
            aspect=2.0,
        )
        # its logarithmic axes have no room for numbers as small as gaps
        self._scaled: Callable[[Array], Array] = np.log10 if plot.logarithmic else np.asarray

    def mark(self, moment: float) -> None:
        """A line at a moment (s): the grid of an axis that has no other place, so that no curve is sent again."""
        plain = {"ticks": {"width": 1, "size": 5}}
        line = {"scale": "x", "side": 0, "size": 0, "splits": (moment,), "values": ("",)}
        line |= {"ticks": {"show": False}, "grid": {"stroke": FORCE, "width": 1.5}}
        self._handle.axes = (plain, plain, line)

    def put(self, moments: Array, curves: list[Array]) -> None:
        """Draw these curves over time."""
        scaled = [np.array(self._scaled(values)) for values in curves]
        # its numbers have three digits behind the point
        most = max(float(np.abs(values).max(initial=0.0)) for values in scaled)
        power = floor(log10(most)) if 0 < most < 0.1 else 0
        title = f"{self._title}, in 1e{power}" if power else self._title
        if self._handle.title != title:
            self._handle.title = title
        self._handle.data = (np.array(moments), *(values / 10.0**power for values in scaled))


def printable(name: str) -> str:
    """A name that every page can show: what is no text in it is a question mark."""
    return name.encode("utf-8", "replace").decode()


def _plain(name: str) -> str:
    """A name without the slash that would make two of it."""
    return printable(name).replace("/", "|")


def _bytes(color: str) -> tuple[int, int, int]:
    return _bytes_of(rgb(color))


def _bytes_of(color: Color) -> tuple[int, int, int]:
    red, green, blue, _ = color
    return round(255 * red), round(255 * green), round(255 * blue)
