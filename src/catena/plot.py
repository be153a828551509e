"""Plots of mechanisms and runs, drawn with matplotlib: a short name for `catena.view.plot`."""

from .view.plot import *  # noqa: F403
from .view.plot import __all__ as __all__
