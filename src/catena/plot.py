"""Plots of mechanisms and runs, drawn with matplotlib: a short name for `catena.view.plot`."""

from ._util.words import not_there as _not_there
from .view.plot import *  # noqa: F403
from .view.plot import __all__ as __all__


def __getattr__(name: str) -> None:
    raise AttributeError(_not_there(__name__, name, __all__, f"module {__name__!r}"))
