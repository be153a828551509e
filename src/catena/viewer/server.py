"""The server: scenes in a browser while the process lives; the only file that knows viser.

Whatever is clicked is only noted down; one thread per view, or the user's own loop, does all that follows from it.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .._rotation import Array, rotate
from ..status import CatenaError
from .page import embedded
from .posing import Poser, Slider, input_sliders, joint_sliders
from .scene import FORCE, INK, WORLD, Plot, Point, Scene, arrows_of, rgb, scene_of

if TYPE_CHECKING:
    from ..live import Live
    from ..state import State
    from ..trajectory import Trajectory

# seen from this machine alone
_HOST = "127.0.0.1"

# pictures per second
_RATE = 30.0

# most sliders that are unfolded from the beginning
_MOST_SLIDERS = 12

# most moments of a live mechanism that its plots and traces keep
_MOST_MOMENTS = 1500

_SPEEDS = ("0.1 x", "0.25 x", "0.5 x", "1 x", "2 x", "5 x", "10 x")


def show_run(run: Trajectory, traces: Iterable[str], port: int, browser: bool) -> RunView:
    """A view of a run."""
    view = RunView(scene_of(run, traces), port)
    view.open(browser)
    return view


def show_pose(still: Trajectory, port: int, browser: bool) -> PoseView:
    """A view of a single node, whose joints can be moved."""
    view = PoseView(scene_of(still), still[0], port)
    view.open(browser)
    return view


def show_live(
    live: Live,
    traces: Iterable[str],
    port: int,
    browser: bool,
    control: Callable[[Live], None] | None,
    inputs: Mapping[str, tuple[float, float]],
) -> LiveView:
    """A view of a live mechanism."""
    none = np.zeros(0)
    scene = scene_of(live.node(live.multipliers()), traces)
    scene.plots[:] = [
        Plot("energy [J]", (("kinetic", none), ("potential", none), ("total", none))),
        Plot("largest joint gap [m]", (("gap", none),), logarithmic=True),
    ]
    view = LiveView(live, scene, port, control, inputs)
    view.open(browser)
    return view


class View:
    """What is shown in a browser at `url`, until `close()` or the end of the process.

    A script that has nothing else to do calls `wait()`. `notes` are sentences about what could not be drawn. In a
    notebook it shows itself.
    """

    def __init__(self, scene: Scene, port: int) -> None:
        viser = _viser()
        self._scene = scene
        self._server = viser.ViserServer(host=_HOST, port=port, label="catena", verbose=False)
        self._server.gui.configure_theme(control_width="large", show_share_button=False)
        self._server.gui.main_panel.dock_right()
        self._canvas = _Canvas(self._server, scene)
        self._message = self._server.gui.add_markdown("")
        more = len(scene.notes) - 4
        self._say(" ".join(scene.notes[:4]) + (f" ... and {more} more." if more > 0 else ""))
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def open(self, browser: bool) -> None:
        """Begin; called by whoever makes one."""
        self._canvas.add_choices()
        self._add_plots()
        self._thread = threading.Thread(target=self._work, name="catena view", daemon=True)
        self._thread.start()
        # a thread that still steps must not meet an interpreter that goes away
        atexit.register(self.close)
        if browser and _has_screen():
            webbrowser.open(self.url)

    @property
    def url(self) -> str:
        """Where it is seen."""
        return f"http://{_HOST}:{self._server.get_port()}"

    @property
    def notes(self) -> list[str]:
        """What could not be drawn, and why."""
        return list(self._scene.notes)

    @property
    def message(self) -> str:
        """The sentence that is shown on the page: why a slider could not go on, or a step not be taken."""
        return self._said

    def close(self) -> None:
        """End it; the page stops."""
        if not self._closed.is_set():
            self._closed.set()
            atexit.unregister(self.close)
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join()
            self._server.stop()

    def wait(self) -> None:
        """Go on showing until `close()` is called from elsewhere, or Ctrl-C; raises what a control function raised."""
        try:
            while not self._closed.wait(0.2):
                if self._error is not None:
                    raise self._error
        except KeyboardInterrupt:
            self.close()

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}{', closed' if self._closed.is_set() else ''})"

    def _repr_html_(self) -> str:
        return f'{embedded(self._scene)}<p>as long as Python runs, also at <a href="{self.url}">{self.url}</a></p>'

    # ---- how

    def _work(self) -> None:
        try:
            while not self._closed.wait(1 / _RATE):
                self._turn()
        except Exception as error:
            # of the user's functions: there is nobody to raise it to but those who wait
            self._error = error
            self._say(f"{type(error).__name__}: {error}")

    def _turn(self) -> None:
        """Do what was asked for since the last picture, and draw the next."""
        raise NotImplementedError

    def _add_plots(self) -> None:
        """Those of the scene, beside it."""
        for plot in self._scene.plots:
            _Chart(self._server.gui, plot).put(self._scene.time, [values for _, values in plot.curves])

    def _say(self, sentence: str) -> None:
        self._said = sentence
        self._message.content = f"**{sentence}**" if sentence else ""


class RunView(View):
    """A run that is played: play, pause, scrub, speed."""

    def __init__(self, scene: Scene, port: int) -> None:
        super().__init__(scene, port)
        gui = self._server.gui
        self._playing = _PlayButton(gui)
        first, last = float(scene.time[0]), float(scene.time[-1])
        ends = {"min": first, "max": max(last, first + 1e-3), "step": max(last - first, 1e-3) / 1000}
        self._slider = gui.add_slider("time [s]", **ends, initial_value=first, disabled=first == last)
        self._speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1 x")
        self._now, self._wall = first, time.monotonic()
        self._wanted: list[float] = []
        self._slider.on_update(lambda event: self._wanted.append(event.target.value) if event.client else None)
        self._canvas.trace([scene.places(trace) for trace in scene.traces])
        self._draw()

    @property
    def time(self) -> float:
        """The moment that is shown (s)."""
        return self._now

    def _turn(self) -> None:
        wall, before = time.monotonic(), self._wall
        self._wall = wall
        first, last = self._scene.time[[0, -1]].tolist()
        if self._wanted:
            self._now = self._wanted[-1]
            self._wanted.clear()
            self._playing.set(False)
        elif self._playing.on:
            self._now += (wall - before) * _factor(self._speed.value)
            if self._now > last:
                self._now = first
            self._slider.value = self._now
        else:
            return
        self._draw()

    def _draw(self) -> None:
        node = int(np.argmin(np.abs(self._scene.time - self._now)))
        forces = [arrow.force[node] for arrow in self._scene.arrows]
        self._canvas.put(self._scene.position[node], self._scene.orientation[node], forces)


class PoseView(View):
    """A state whose joints are moved with sliders; what hangs on them, loops and couplings follow."""

    def __init__(self, scene: Scene, state: State, port: int) -> None:
        super().__init__(scene, port)
        self._state = state
        self._joints = _JointSliders(self._server.gui, state, scene.size)
        self._canvas.put(state.position, state.orientation, [])

    @property
    def state(self) -> State:
        """Where it stands now, at rest once a slider was moved: a simulator can start from it."""
        return self._state.copy()

    def _turn(self) -> None:
        try:
            moved = self._joints.moved(self._state)
        except (CatenaError, ValueError) as error:
            self._say(str(error))
            self._joints.put(self._state.coordinates)
            return
        if moved is not None:
            self._state = moved
            self._say("")
            self._joints.put(moved.coordinates)
            self._canvas.put(moved.position, moved.orientation, [])


class LiveView(View):
    """A live mechanism that is watched while it runs, with sliders for its inputs and joint coordinates.

    Played on the page it runs by itself, as fast as time goes. A loop that calls `update()` after its steps runs it
    instead, and is held up by pause and speed.
    """

    def __init__(
        self,
        live: Live,
        scene: Scene,
        port: int,
        control: Callable[[Live], None] | None,
        inputs: Mapping[str, tuple[float, float]],
    ) -> None:
        ranges = input_sliders(live.mechanism, live.input, inputs)
        super().__init__(scene, port)
        self._live, self._control = live, control
        gui = self._server.gui
        self._playing = _PlayButton(gui)
        self._speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1 x")
        self._clock = gui.add_text("time [s]", initial_value="0", disabled=True)
        self._again = False
        gui.add_button("restart").on_click(lambda _: setattr(self, "_again", True))
        self._inputs = _Sliders(gui, "inputs", ranges, live.input)
        self._joints = _JointSliders(gui, live.state(), scene.size)
        self._drawn, self._mark = 0.0, (0.0, 0.0, 0.0)
        self._begin()

    def _add_plots(self) -> None:
        self._charts = [_Chart(self._server.gui, plot) for plot in self._scene.plots]
        self._draw()

    def update(self) -> None:
        """Show where the mechanism stands, from a loop of your own.

        Waits while the page says pause, and as long as the loop is ahead of the clock, times the speed chosen.
        """
        if self._thread is not None:
            # from here on this loop does what the thread did
            self._closed.set()
            self._thread.join()
            self._closed.clear()
            self._thread = None
            self._playing.set(True)
        while True:
            self._obey()
            if time.monotonic() - self._drawn > 1 / _RATE:
                self._draw()
            ahead = -self._due() / _factor(self._speed.value)
            if self._playing.on and ahead <= 0:
                return
            if self._closed.wait(min(ahead, 1 / _RATE) if self._playing.on else 1 / _RATE):
                return

    def _repr_html_(self) -> str:
        return f'<iframe src="{self.url}" style="width:100%;height:600px;border:1px solid #dfe2e6"></iframe>'

    # ---- how

    def _turn(self) -> None:
        moved = self._obey()
        if self._playing.on:
            # what does not fit into the time of a picture is left out: it runs as fast as it can
            end = time.monotonic() + 0.8 / _RATE
            try:
                while self._due() >= 0 and time.monotonic() < end and self._live.status.ok:
                    if self._control is not None:
                        self._control(self._live)
                    self._live.step()
            except CatenaError as error:
                self._say(str(error))
            if not self._live.status.ok:
                self._say(self._live.status.message)
                self._playing.set(False)
        if moved or self._playing.on:
            self._draw()

    def _obey(self) -> bool:
        """Take over what was chosen on the page; whether the mechanism now stands elsewhere."""
        live = self._live
        if self._again:
            self._again = False
            live.restart()
            self._inputs.put(live.input)
            self._say("")
            self._begin()
            return True
        for slider, value in self._inputs.taken():
            live.inputs[slider.name] = value
        try:
            state = self._joints.moved(live.state())
        except (CatenaError, ValueError) as error:
            self._say(str(error))
            self._joints.put(live.coordinates)
            return False
        if state is not None:
            held = live.input.copy()
            live.restart(state)
            live.input[:] = held
            self._say("")
            self._mark = (0.0, 0.0, 0.0)
        return state is not None

    def _due(self) -> float:
        """How much of the mechanism's time (s) the clock is ahead of it; more than a moment is never caught up."""
        wall, factor = time.monotonic(), _factor(self._speed.value)
        then, begun, speed = self._mark
        due = (wall - then) * speed - (self._live.time - begun)
        if speed != factor or not -1.0 < due < 0.2 * speed or not self._playing.on:
            self._mark = (wall, self._live.time, factor)
            return 0.0
        return due

    def _begin(self) -> None:
        self._moments: list[list[float]] = []
        self._ways: list[list[Array]] = [[] for _ in self._scene.traces]

    def _draw(self) -> None:
        live, canvas = self._live, self._canvas
        self._drawn = time.monotonic()
        forces = []
        if canvas.shows("forces") and live.status.ok:
            forces = [arrow.force[0] for arrow in arrows_of(live.node(live.multipliers()))]
        canvas.put(live.position, live.orientation, forces)
        self._clock.value = f"{live.time:.3f}"
        self._joints.put(live.coordinates)
        if self._moments and live.time <= self._moments[-1][0]:
            return
        node = live.node()
        energies = [node.kinetic_energy()[0], node.potential_energy()[0], node.energy()[0]]
        gap = max(float(node.drift().max(initial=0.0)), 1e-18)
        self._moments = [*self._moments[-_MOST_MOMENTS:], [live.time, *energies, gap]]
        moments = np.array(self._moments)
        self._charts[0].put(moments[:, 0], list(moments.T[1:4]))
        self._charts[1].put(moments[:, 0], [moments[:, 4]])
        for way, trace in zip(self._ways, self._scene.traces, strict=True):
            way.append(canvas.place(trace))
            del way[:-_MOST_MOMENTS]
        canvas.trace([np.array(way) for way in self._ways])


# ---- on the page


class _Canvas:
    """A scene among the nodes of a server: one frame for each body and kind of part, moved as the body is."""

    def __init__(self, server: Any, scene: Scene) -> None:
        self._server, self._scene, nodes = server, scene, server.scene
        self._roots = {kind: nodes.add_frame(f"/{kind}", show_axes=False) for kind in self._kinds()}
        for kind, root in self._roots.items():
            root.visible = kind not in scene.hidden
        self._frames: dict[str, list[tuple[int, Any]]] = {}
        made: dict[tuple[str, int], int] = {}

        def under(kind: str, body: int) -> str:
            path = f"/{kind}/{body} {_plain(scene.bodies[body])}" if body != WORLD else f"/{kind}/world"
            if (kind, body) not in made:
                made[kind, body] = 0
                self._frames.setdefault(kind, []).append((body, nodes.add_frame(path, show_axes=False)))
            made[kind, body] += 1
            return f"{path}/{made[kind, body]}"

        for part in scene.parts:
            red, green, blue, alpha = part.colour
            nodes.add_mesh_simple(
                f"{under(part.kind, part.body)} {_plain(part.name)}",
                part.mesh.vertices,
                part.mesh.triangles,
                color=(red, green, blue),
                opacity=None if alpha == 1 else alpha,
                flat_shading=part.mesh.flat,
                side="double",
            )
        for label in scene.labels:
            path = f"{under('names', label.body)} {_plain(label.name)}"
            nodes.add_label(path, label.name, position=label.place, font_screen_scale=0.8)
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
                f"/traces/{k} {_plain(trace.name)}", nothing, _bytes(scene.colour_of(trace.body)), thickness=0.5 * thick
            )
            for k, trace in enumerate(scene.traces)
        ]
        cell = 10 ** np.floor(np.log10(0.5 * scene.size))
        x, y, _ = scene.centre
        nodes.add_grid(
            "/grid/floor",
            2 * scene.size,
            2 * scene.size,
            cell_size=cell,
            section_size=10 * cell,
            position=(x, y, scene.low[2]),
        )
        self._position, self._orientation = scene.position[0], scene.orientation[0]
        turn = np.arctan2(scene.sight[1], scene.sight[0]) + 0.35
        away = np.array((np.cos(turn) * np.cos(0.3), np.sin(turn) * np.cos(0.3), np.sin(0.3)))
        server.initial_camera.position = tuple(scene.centre + 1.5 * scene.size * away)
        server.initial_camera.look_at = tuple(scene.centre)
        server.initial_camera.fov = 0.7

    def _kinds(self) -> list[str]:
        scene = self._scene
        there = {
            "joints": any(part.kind == "joints" for part in scene.parts),
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

    def shows(self, kind: str) -> bool:
        """Whether a kind of thing is shown."""
        return kind in self._roots and bool(self._roots[kind].visible)

    def place(self, point: Point) -> Array:
        """Where a point is in the world."""
        if point.body == WORLD:
            return point.place
        place: Array = self._position[point.body] + rotate(self._orientation[point.body], point.place)
        return place

    def put(self, position: Array, orientation: Array, forces: list[Array]) -> None:
        """Bodies at position (n, 3), orientation (n, 4), and the forces (3,) in N of joints, if they are known."""
        self._position, self._orientation = np.array(position), np.array(orientation)
        with self._server.atomic():
            for kind in self._frames:
                self._move(kind)
            if self._lines is not None:
                ends = [[self.place(line.a), self.place(line.b)] for line in self._scene.lines]
                self._lines.points = np.array(ends, dtype=np.float32)
            if self._arrows is not None and forces:
                scale = self._scene.size / self._scene.newtons
                tails = [self.place(arrow.at) for arrow in self._scene.arrows]
                tips = [tail + scale * force for tail, force in zip(tails, forces, strict=True)]
                self._arrows.points = np.stack((tails, tips), axis=1).astype(np.float32)

    def _move(self, kind: str) -> None:
        """The frames of all bodies that hold things of a kind to where the bodies are; what is hidden stays behind."""
        if self.shows(kind):
            for body, frame in self._frames.get(kind, ()):
                if body != WORLD:
                    frame.position, frame.wxyz = self._position[body], self._orientation[body]

    def trace(self, ways: list[Array]) -> None:
        """The ways (k, 3) of all traces."""
        for handle, way in zip(self._traces, ways, strict=True):
            if len(way) > 1:
                handle.points = np.stack((way[:-1], way[1:]), axis=1).astype(np.float32)


class _PlayButton:
    def __init__(self, gui: Any) -> None:
        self.on = False
        self._button = gui.add_button("play")
        self._button.on_click(lambda _: self.set(not self.on))

    def set(self, on: bool) -> None:
        """Play, or pause."""
        self.on = on
        self._button.label = "pause" if on else "play"


class _Sliders:
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
                handle = gui.add_slider(slider.name, **ends, initial_value=slider.within(value))
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
        for handle, slider, value in zip(self._handles, self._sliders, values.tolist(), strict=True):
            handle.value = slider.within(value)


class _JointSliders(_Sliders):
    """Sliders of joint coordinates."""

    def __init__(self, gui: Any, state: State, size: float) -> None:
        self._poser = Poser(state.mechanism)
        super().__init__(gui, "joints", joint_sliders(state.mechanism, state, size), state.coordinates)

    def moved(self, state: State) -> State | None:
        """The state with what was chosen, if something was."""
        chosen = self.taken()
        for slider, value in chosen:
            state = self._poser.moved(state, slider.joint, slider.index, value)
        return state if chosen else None


class _Chart:
    """A plot beside the scene."""

    _TINTS = ("#d98a3d", "#4c78a8", "#2f3640")

    def __init__(self, gui: Any, plot: Plot) -> None:
        tints = self._TINTS if len(plot.curves) > 1 else self._TINTS[2:]
        curves = [{"label": label, "stroke": tints[k % len(tints)]} for k, (label, _) in enumerate(plot.curves)]
        self._handle = gui.add_uplot(
            data=(np.zeros(0),) * (1 + len(plot.curves)),
            series=({"label": "t [s]"}, *curves),
            title=plot.title,
            scales={"x": {"time": False}, "y": {"distr": 3 if plot.logarithmic else 1}},
            aspect=2.0,
        )

    def put(self, moments: Array, curves: list[Array]) -> None:
        """Draw these curves over time."""
        self._handle.data = tuple(np.ascontiguousarray(values, dtype=float) for values in (moments, *curves))


def _viser() -> Any:
    try:
        return import_module("viser")
    except ImportError:
        raise ImportError(
            'a view in the browser needs viser, which is not installed: pip install "catena[view]"'
        ) from None


def _has_screen() -> bool:
    """Whether a window of a browser could open: notebooks show by themselves."""
    return "ipykernel" not in sys.modules and (
        sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    )


def _factor(speed: str) -> float:
    return float(speed.split()[0])


def _plain(name: str) -> str:
    """A name without the slash that would make two of it."""
    return name.replace("/", "|")


def _bytes(colour: str) -> tuple[int, int, int]:
    red, green, blue, _ = rgb(colour)
    return round(255 * red), round(255 * green), round(255 * blue)
