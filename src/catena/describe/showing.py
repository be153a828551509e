"""What mechanisms, states and trajectories have in common: they can be seen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..results.trajectory import Trajectory
    from ..view.viewer.server import PoseView, RunView


def has_screen() -> bool:
    """Whether a window of a browser could open: notebooks show by themselves."""
    return "ipykernel" not in sys.modules and (
        sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    )


class Viewable:
    """What can be seen, at one moment or over time."""

    def _seen(self) -> Trajectory:
        """What is to be seen, as a trajectory of one node or many."""
        raise NotImplementedError

    def save_html(self, folder: str | os.PathLike[str], *, traces: Iterable[str] | None = ()) -> Path:
        """Write it as a page, index.html in a folder, that plays in any browser without Python; returns its path.

        The page needs no other file and no network. `traces` names bodies and frames whose way is drawn.
        """
        from ..view.viewer.page import save_html
        from ..view.viewer.scene import scene_of

        return save_html(scene_of(self._seen(), traces), folder)

    def save_gltf(self, path: str | os.PathLike[str], *, traces: Iterable[str] | None = ()) -> None:
        """Write a glTF 2.0 file (.glb, or .gltf as text), which 3D tools open; a trajectory is its animation.

        `traces` names bodies and frames whose way is drawn.
        """
        from ..view.viewer.gltf import save_gltf
        from ..view.viewer.scene import scene_of

        save_gltf(scene_of(self._seen(), traces), path)


class Posable(Viewable):
    """What can be seen at one moment, and posed."""

    def show(self, *, port: int = 8080, browser: bool = True) -> PoseView:
        """Show it in a browser, with viser (catena[view]), and a slider for every joint coordinate; loops follow.

        The page is at the `url` of what is returned, on `port` or the next that is free, as long as this process lives;
        `browser` opens it, where there is a screen. `state` of what is returned is where the sliders have brought it.
        """
        from ..view.viewer.server import show_pose

        return show_pose(self._seen(), port, browser)


class Playable(Viewable):
    """What can be seen over time."""

    def show(self, *, traces: Iterable[str] | None = (), port: int = 8080, browser: bool = True) -> RunView:
        """Play it in a browser, with viser (catena[view]).

        `traces` names bodies and frames whose way is drawn. The page is at the `url` of what is returned, on `port` or
        the next that is free, as long as this process lives; `browser` opens it, where there is a screen.
        """
        from ..view.viewer.server import show_run

        return show_run(self._seen(), traces, port, browser)
