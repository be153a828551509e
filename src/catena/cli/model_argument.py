"""What the command line calls MODEL: a file of one of the kinds that are read, or a scene by name."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from math import isfinite
from pathlib import Path
from typing import Any

from .. import scenes
from .._util.lookup import did_you_mean, how_many
from ..describe.mechanism import Mechanism
from ..results.trajectory import Trajectory

_SCENE = "scene:"
_SCENES = {name: getattr(scenes, name) for name in scenes.__all__}

# readers by the ending of a file's name
_READERS: dict[str, Callable[[str], Mechanism]] = {
    ".urdf": Mechanism.from_urdf,
    ".sdf": Mechanism.from_sdf,
    ".xml": Mechanism.from_mjcf,
    ".mjcf": Mechanism.from_mjcf,
    ".json": Mechanism.load,
}


def load(model: str) -> Mechanism:
    """The mechanism of a file, or of "scene:NAME" with what the scene takes, as in "scene:pendulum:10:joint=ball"."""
    if model.startswith(_SCENE):
        return _scene(model.removeprefix(_SCENE))
    ending = Path(model).suffix.lower()
    if ending == ".npz":
        raise ValueError(f"{model}: is the name of a saved run, not of a model; `catena view` shows it")
    if ending not in _READERS:
        raise ValueError(f"{model}: a model is a file that ends in {', '.join(_READERS)}, or {_SCENE}NAME")
    return _READERS[ending](model)


def load_seen(file: str) -> Mechanism | Trajectory:
    """What can be seen: a saved run, or a model."""
    return Trajectory.load(file) if file.lower().endswith(".npz") else load(file)


def numbers(text: str, what: str) -> tuple[float, ...]:
    """Numbers that are separated by commas."""
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(map(isfinite, found)):
        raise ValueError(f"{what} must be numbers, separated by commas where there are several, got {text!r}")
    return found


def _scene(text: str) -> Mechanism:
    name, *given = text.split(":")
    if name not in _SCENES:
        wrong = f"there is no scene called {name!r}{did_you_mean(name, _SCENES) or ';'}" if name else "which scene?"
        raise ValueError(f"{wrong} there are {', '.join(_SCENES)}")
    build = _SCENES[name]
    known = signature(build).parameters
    takes = f"it takes {', '.join(known)}" if known else "it takes nothing"
    in_order = [key for key, parameter in known.items() if parameter.kind is not Parameter.KEYWORD_ONLY]
    values: dict[str, Any] = {}
    for place, item in enumerate(given):
        key, equals, value = item.partition("=")
        if not equals:
            if place >= len(in_order):
                raise ValueError(
                    f"scene {name!r}: {item!r} needs a name before it, as in {_SCENE}{name}:KEY=1; {takes}"
                )
            key, value = in_order[place], item
        if key not in known:
            raise ValueError(f"scene {name!r} has no {key!r}{did_you_mean(key, known)}; {takes}")
        if key in values:
            raise ValueError(f"scene {name!r}: {key} is given twice")
        values[key] = _like(known[key].default, value, f"scene {name!r}: {key}")
    return build(**values)  # type: ignore[no-any-return]


def _like(usual: Any, text: str, what: str) -> Any:
    """A value of the kind that is taken where none is given."""
    if isinstance(usual, str):
        return text
    if isinstance(usual, bool):
        if text not in ("true", "false"):
            raise ValueError(f"{what} must be true or false, got {text!r}")
        return text == "true"
    found = numbers(text, what)
    count = len(usual) if isinstance(usual, tuple) else 1
    if len(found) != count:
        raise ValueError(f"{what} must be {how_many(count, 'number', 'numbers')}, got {text!r}")
    if isinstance(usual, tuple):
        return found
    if isinstance(usual, int) and found[0] != int(found[0]):
        raise ValueError(f"{what} must be a whole number, got {text!r}")
    return int(found[0]) if isinstance(usual, int) else found[0]
