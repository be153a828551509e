"""The server: scenes in a browser while the process lives; the only file that imports viser.

Whatever is clicked is only noted down; one thread per view, or the user's own loop, does all that follows from it.
"""

from __future__ import annotations

import atexit
import threading
import time
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..._util.rotation import Array
from ..._util.status import CatenaError
from ...describe.showing import has_screen
from ...results.analysis import energy_error, keeps_energy
from .guard import guarded
from .looks import reach_of
from .page import embedded
from .posing import input_sliders
from .scene import Plot, Scene, arrows_of, scene_of
from .stops import StopMarks
from .widgets import MOST_NAMES, MOST_SLIDERS, Canvas, Chart, JointSliders, PlayButton, Sliders, printable

if TYPE_CHECKING:
    from ...kinematics.state import State
    from ...results.impacts import Impact
    from ...results.trajectory import Trajectory
    from ...simulate.live import Live

# seen from this machine alone
_HOST = "127.0.0.1"

# pictures per second, and how often the plots beside them are marked
_RATE, _MARKS = 30.0, 6.0

# most moments of a live mechanism that its plots and traces keep
_MOST_MOMENTS = 1500

AnyView = TypeVar("AnyView", bound="View")

_SPEEDS = ("0.1 x", "0.25 x", "0.5 x", "1 x", "2 x", "5 x", "10 x")


def show_run(run: Trajectory, traces: Iterable[str] | None, port: int, browser: bool) -> RunView:
    """Return a view of a run."""
    view = RunView(scene_of(run, traces), port)
    view.open(browser)
    return view


def show_pose(still: Trajectory, port: int, browser: bool) -> PoseView:
    """Return a view of one state whose joints can be moved."""
    view = PoseView(scene_of(still), still[0], port)
    view.open(browser)
    return view


def show_live(
    live: Live,
    traces: Iterable[str] | None,
    port: int,
    browser: bool,
    control: Callable[[Live], None] | None,
    inputs: Mapping[str, tuple[float, float]],
) -> LiveView:
    """Return a view of a live mechanism."""
    none = np.zeros(0)
    node = live._seen(reactions=True)
    plots = [Plot("energy [J]", (("kinetic", none), ("potential", none), ("total", none)))]
    # what has inputs or a control is there to be driven
    if control is None and not live.mechanism.inputs and keeps_energy(node):
        plots.append(Plot("energy error / energy in motion", (("error", none),)))
    plots.append(Plot("largest joint gap [m]", (("gap", none),), logarithmic=True))
    view = LiveView(live, replace(scene_of(node, traces), plots=plots), port, control, inputs)
    view.open(browser)
    return view


class View:
    """A view in a browser at `url`, until `close()` is called or the process ends.

    Call `wait()` in a script that has nothing else to do. `notes` are sentences about shapes that could not be drawn. A
    notebook displays the view in its output.
    """

    def __init__(self, scene: Scene, port: int) -> None:
        viser = _viser()
        self._scene = scene
        self._server = guarded(lambda: viser.ViserServer(host=_HOST, port=port, label="catena", verbose=False))
        self._server.gui.configure_theme(control_width="large", show_share_button=False)
        self._server.gui.main_panel.dock_right()
        self._canvas = Canvas(self._server, scene)
        self._message = self._server.gui.add_html("")
        more = len(scene.notes) - 4
        said = [*scene.notes[:4], f"... and {more} more."] if more > 0 else [*scene.notes]
        if len(scene.labels) > MOST_NAMES:
            said.append(f"Only {MOST_NAMES} of {len(scene.labels)} names can be shown, {MOST_SLIDERS} joints moved.")
        self._say(" ".join(said))
        self._charts: list[Chart] = []
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def open(self, browser: bool) -> None:
        """Start the view; called by the function that creates it."""
        self._canvas.add_choices()
        self._add_plots()
        self._thread = threading.Thread(target=self._work, name="catena view", daemon=True)
        self._thread.start()
        # a thread that still steps must not meet an interpreter that goes away
        atexit.register(self.close)
        if browser and has_screen():
            webbrowser.open(self.url)

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{_HOST}:{self._server.get_port()}"

    @property
    def notes(self) -> list[str]:
        """Sentences about what could not be drawn, and why."""
        return list(self._scene.notes)

    @property
    def message(self) -> str:
        """The message shown on the page, for example why a slider could not move further, or why a step failed."""
        return self._said

    def close(self) -> None:
        """Close the view and its page."""
        if not self._closed.is_set():
            self._closed.set()
            atexit.unregister(self.close)
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join()
            self._server.stop()

    def wait(self) -> None:
        """Wait until `close()` is called or Ctrl-C is pressed; raises the exception of a control function."""
        try:
            while not self._closed.wait(0.2):
                if self._error is not None:
                    raise self._error
        except KeyboardInterrupt:
            self.close()

    def __enter__(self: AnyView) -> AnyView:
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
            self._charts.append(Chart(self._server.gui, plot))
            self._charts[-1].put(self._scene.time, [values for _, values in plot.curves])

    def _say(self, sentence: str) -> None:
        self._said = sentence
        # names are the model's: none of them may be taken for markup
        self._message.content = f"<b>{escape(printable(sentence))}</b>" if sentence else ""


class RunView(View):
    """A view that plays a run, with play, pause, a time slider and speed."""

    def __init__(self, scene: Scene, port: int) -> None:
        super().__init__(scene, port)
        gui = self._server.gui
        self._playing = PlayButton(gui)
        first, last = float(scene.time[0]), float(scene.time[-1])
        ends = {"min": first, "max": max(last, first + 1e-3), "step": max(last - first, 1e-3) / 1000}
        self._slider = gui.add_slider("time [s]", **ends, initial_value=first, disabled=first == last)
        self._speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1 x")
        self._now, self._wall = first, time.monotonic()
        self._marked, self._marked_at = -np.inf, -np.inf
        self._wanted: list[float] = []
        self._slider.on_update(lambda event: self._wanted.append(event.target.value) if event.client else None)
        self._canvas.trace([scene.places(trace) for trace in scene.traces])
        self._draw()

    @property
    def time(self) -> float:
        """The time shown (s)."""
        return self._now

    def _turn(self) -> None:
        wall, before = time.monotonic(), self._wall
        self._wall = wall
        self._mark(wall)
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

    def _mark(self, wall: float) -> None:
        """The moment that is shown, in the plots, which browsers build anew for it: not with every picture."""
        if self._now != self._marked and wall - self._marked_at > 1 / _MARKS:
            self._marked, self._marked_at = self._now, wall
            for chart in self._charts:
                chart.mark(self._now)

    def _draw(self) -> None:
        node = int(np.argmin(np.abs(self._scene.time - self._now)))
        forces = [arrow.force[node] for arrow in self._scene.arrows]
        self._canvas.put(self._scene.position[node], self._scene.orientation[node], forces, self._scene.lit[node])


class PoseView(View):
    """A view of a state whose joints can be moved with sliders; loops and couplings stay closed."""

    def __init__(self, scene: Scene, state: State, port: int) -> None:
        super().__init__(scene, port)
        self._state = state
        self._joints = JointSliders(self._server.gui, state, scene.size)
        self._marks = StopMarks(state.mechanism, reach_of(state.mechanism))
        self._canvas.put(state.position, state.orientation, [arrow.force[0] for arrow in scene.arrows], scene.lit[0])

    @property
    def state(self) -> State:
        """The state set by the sliders, at rest once a slider has moved; a simulator can start from it."""
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
            self._canvas.put(moved.position, moved.orientation, [], self._marks.now(moved))


class LiveView(View):
    """A view of a live mechanism while it runs, with sliders for its inputs and joint coordinates.

    The play button runs it in real time. Alternatively, a loop in Python runs it and calls `update()` after its steps;
    pause and speed then delay the loop.
    """

    def __init__(
        self,
        live: Live,
        scene: Scene,
        port: int,
        control: Callable[[Live], None] | None,
        inputs: Mapping[str, tuple[float, float]],
    ) -> None:
        ranges = input_sliders(live.mechanism, live.inputs, inputs)
        super().__init__(scene, port)
        self._live, self._control = live, control
        self._marks = StopMarks(live.mechanism, reach_of(live.mechanism))
        self._impacts: list[Impact] = []
        gui = self._server.gui
        self._playing = PlayButton(gui)
        self._speed = gui.add_dropdown("speed", _SPEEDS, initial_value="1 x")
        self._clock = gui.add_text("time [s]", initial_value="0", disabled=True)
        self._again = False
        gui.add_button("restart").on_click(lambda _: setattr(self, "_again", True))
        self._inputs = Sliders(gui, "inputs", ranges, live.inputs)
        # to which the page returns
        self._start = live.state()
        self._joints = JointSliders(gui, self._start, scene.size)
        self._drawn, self._mark = 0.0, (0.0, 0.0, 0.0)
        self._begin()

    def _add_plots(self) -> None:
        self._charts += [Chart(self._server.gui, plot) for plot in self._scene.plots]
        self._draw()

    def update(self) -> None:
        """Show the current node; called from your own loop after its steps.

        Waits while the page is paused, and until real time, multiplied by the selected speed, has caught up.
        """
        if self._closed.is_set():
            return
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
                    self._impacts += self._live.impacts
            except CatenaError as error:
                self._say(str(error))
            if not self._live.status.ok:
                self._say(self._live.status.message)
                self._playing.set(False)
        if moved or self._playing.on or self._canvas.chosen:
            self._draw()

    def _obey(self) -> bool:
        """Take over what was chosen on the page; whether the mechanism now stands elsewhere."""
        live = self._live
        if self._again:
            self._again = False
            live.restart(self._start)
            self._inputs.put(live.inputs)
            self._say("")
            self._begin()
            return True
        for slider, value in self._inputs.taken():
            live.set({slider.name: value})
        try:
            state = self._joints.moved(live.state())
        except (CatenaError, ValueError) as error:
            self._say(str(error))
            self._joints.put(live.coordinates)
            return False
        if state is not None:
            held = live.inputs.copy()
            fresh = live.time == self._start.time
            live.restart(state)
            live.inputs[:] = held
            if fresh:
                self._start = live.state()
            self._say("")
            self._mark = (0.0, 0.0, 0.0)
            # energies and ways from here on are those of another motion
            self._begin()
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
        self._impacts.clear()
        self._moments: list[list[float]] = []
        self._ways: list[list[Array]] = [[] for _ in self._scene.traces]

    def _draw(self) -> None:
        live, canvas = self._live, self._canvas
        self._drawn = time.monotonic()
        forces = []
        if canvas.shows("forces") and live.status.ok:
            forces = [arrow.force[0] for arrow in arrows_of(live._seen(reactions=True))]
        canvas.put(live.position, live.orientation, forces, self._marks.now(live, self._impacts[-50:]))
        self._clock.value = f"{live.time:.3f}"
        self._joints.put(live.coordinates)
        if self._moments and live.time <= self._moments[-1][0]:
            return
        node = live._seen()
        energies = [node.kinetic_energy()[0], node.potential_energy()[0], node.energy()[0]]
        gap = max(float(node.drift().max(initial=0.0)), 1e-18)
        self._moments = [*self._moments[-_MOST_MOMENTS:], [live.time, *energies, gap]]
        moments = np.array(self._moments)
        instants, kinetic, potential, total, gaps = moments.T
        curves = {"kinetic": kinetic, "potential": potential, "total": total, "gap": gaps}
        curves["error"] = energy_error(kinetic, potential)
        for plot, chart in zip(self._scene.plots, self._charts, strict=True):
            chart.put(instants, [curves[label] for label, _ in plot.curves])
        for way, trace in zip(self._ways, self._scene.traces, strict=True):
            way.append(canvas.place(trace))
            del way[:-_MOST_MOMENTS]
        canvas.trace([np.array(way) for way in self._ways])


def _viser() -> Any:
    try:
        return import_module("viser")
    except ImportError:
        raise ImportError(
            'a view in the browser needs viser, which is not installed: pip install "catena[view]"'
        ) from None


def _factor(speed: str) -> float:
    return float(speed.split()[0])
