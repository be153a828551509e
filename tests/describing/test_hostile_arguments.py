"""Arguments that make no sense: a ValueError with a sentence, whatever they are; no internal error, no hang."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena as ct

NAN, INF = float("nan"), float("inf")
ODD = (
    *(None, 0, -1, 1.5, 1e300, NAN, INF, True, "", "nothing", "\ud800", b"x", 1j, 10**400, object(), float),
    *((), [], {}, [[]], [None], {"nothing": 1}, (1, 2), (NAN, 0, 0), (1e200, "a", 0), range(2), slice(None)),
    *(np.zeros((2, 2)), np.full(3, NAN), np.array("x"), np.array([object()])),
)


def calls(folder: str) -> dict[str, Callable[[Any], object]]:
    """Doors of the public side that take one argument."""
    m = ct.scenes.pendulum(2)
    simulator = ct.Simulator(m, 0.01)
    run, state, live = simulator.run(steps=4), m.state(), simulator.start()
    name, joint = next(iter(m.bodies)), next(iter(m.joints))
    two = dict(points=((0, 0, 0), (0, 0, 1)))
    return {
        "point": state.body(name).point,
        "point_velocity": state.body(name).point_velocity,
        "run point": run.body(name).point,
        "run point_velocity": run.body(name).point_velocity,
        "run point_acceleration": run.body(name).point_acceleration,
        "remove_body": m.remove_body,
        "remove_joint": m.remove_joint,
        "remove_force": m.remove_force,
        "remove_coupling": m.remove_coupling,
        "remove_frame": m.remove_frame,
        "frame": m.frame,
        "run frame": run.frame,
        "state body": state.body,
        "state joint": state.joint,
        "at": run.at,
        "turned": lambda value: setattr(state.copy(), "turned", value),
        "coordinates": lambda value: setattr(state.joint(joint), "coordinates", value),
        "loop_tolerance": lambda value: setattr(m, "loop_tolerance", value),
        "gravity": lambda value: setattr(m, "gravity", value),
        "length": lambda value: ct.PointSpring("world", name, 1.0, rest_length=value, **two),
        "dt": lambda value: ct.Simulator(m, value, on_inaccurate="ignore").run(steps=1),
        "state": lambda value: simulator.run(steps=1, state=value),
        "steps": lambda value: simulator.run(steps=value),
        "restart": live.restart,
        "traces": lambda value: run.save_html(folder, traces=value),
        "folder": lambda value: run.save_html(value if not isinstance(value, str) else "\0"),
        "report": m.report,
        "seed": lambda value: ct.scenes.pendulum(value),
    }


# what is taken, because it makes sense after all: nothing, everything at once, counts, short times, no traces
FINE: dict[str, Callable[[Any], bool]] = {
    "at": lambda value: np.size(value) == 0 or value == 0 or value is True,
    "turned": lambda value: isinstance(value, dict),
    "coordinates": lambda value: isinstance(value, int | float | bool),
    "loop_tolerance": lambda value: value == 0,
    "length": lambda value: value is None or (isinstance(value, int | float) and 0 <= value < 1e308),
    "dt": lambda value: value is None or value is True or isinstance(value, float),
    "state": lambda value: value is None,
    "steps": lambda value: isinstance(value, int) and value >= 0,
    "restart": lambda value: value is None,
    "report": lambda value: value is None,
    "traces": lambda value: value is None or (isinstance(value, tuple | list | dict) and not value),
    "seed": lambda value: value is True,
}


# names alone: parameters live as long as the interpreter, and what they hold of the core would be leaked
@pytest.mark.parametrize("door", list(calls("")))
def test_odd_arguments_are_refused_with_a_sentence(door: str, tmp_path: Path) -> None:
    call = calls(str(tmp_path))[door]
    for value in ODD:
        said = ""
        try:
            call(value)
        except (ValueError, ct.CatenaError) as error:
            said = str(error)
        # what numpy and the core say of what they are given is no sentence of ours
        assert not any(word in said for word in ("ufunc", "incompatible function", "truth value")), (door, value, said)
        assert len(said) > 8 or FINE.get(door, bool)(value), (door, value)
