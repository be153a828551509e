"""Display methods that mechanisms, states and trajectories share."""

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
    """Whether a browser window can open; notebooks display without one."""
    return "ipykernel" not in sys.modules and (
        sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    )


class Viewable:
    """An object that can be displayed, at one time or over time."""

    def _seen(self) -> Trajectory:
        """The object as a trajectory of one or more nodes."""
        raise NotImplementedError

    def save_html(self, folder: str | os.PathLike[str], *, traces: Iterable[str] | None = ()) -> Path:
        """Write a page, index.html in a folder, that plays in any browser without Python; returns its path.

        The page needs no other file and no network. `traces` lists bodies and frames whose paths are drawn.
        """
        from ..view.viewer.page import save_html
        from ..view.viewer.scene import scene_of

        return save_html(scene_of(self._seen(), traces), folder)

    def save_gltf(self, path: str | os.PathLike[str], *, traces: Iterable[str] | None = ()) -> None:
        """Write a glTF 2.0 file (.glb, or .gltf as text) for 3D tools; a trajectory becomes its animation.

        `traces` lists bodies and frames whose paths are drawn.
        """
        from ..view.viewer.gltf import save_gltf
        from ..view.viewer.scene import scene_of

        save_gltf(scene_of(self._seen(), traces), path)


class Posable(Viewable):
    """An object that can be displayed at one time, and posed."""

    def show(self, *, port: int = 8080, browser: bool = True) -> PoseView:
        """Show the mechanism in a browser with viser (catena[view]), with a slider for every joint coordinate.

        Loops stay closed while you move a slider. The page is served at the `url` of the returned viewer, on `port` or
        the next free port, until this process ends. `browser` opens the page if there is a screen. `state` of the
        returned viewer is the pose set by the sliders.
        """
        from ..view.viewer.server import show_pose

        return show_pose(self._seen(), port, browser)


class Playable(Viewable):
    """An object that can be displayed over time."""

    def show(self, *, traces: Iterable[str] | None = (), port: int = 8080, browser: bool = True) -> RunView:
        """Play the motion in a browser with viser (catena[view]).

        `traces` lists bodies and frames whose paths are drawn. The page is served at the `url` of the returned viewer,
        on `port` or the next free port, until this process ends. `browser` opens the page if there is a screen.
        """
        from ..view.viewer.server import show_run

        return show_run(self._seen(), traces, port, browser)
