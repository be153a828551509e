"""Films: a run drawn with matplotlib (film.py) and encoded with ffmpeg, which imageio-ffmpeg brings, or as a GIF."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...results.interpolation import resampled
from ..film import Stage, plane_axes
from .scene import scene_of

if TYPE_CHECKING:
    from ...results.trajectory import Trajectory

Picture: TypeAlias = NDArray[np.uint8]

_ENDINGS = (".mp4", ".mov", ".mkv", ".gif")
_GIF_COLOURS = 32


def save_video(
    run: Trajectory, path: str | os.PathLike[str], *, plane: str | None, fps: float, speed: float, pixels: int
) -> None:
    """See Trajectory.save_video."""
    target = Path(path)
    if target.suffix.lower() not in _ENDINGS:
        raise ValueError(f"save_video writes files that end in {', '.join(_ENDINGS)}, got {target.name!r}")
    if not (np.isfinite(fps) and fps > 0 and np.isfinite(speed) and speed > 0):
        raise ValueError(f"fps and speed must be positive, got {fps} and {speed}")
    if not len(run):
        raise ValueError("nothing to show: the trajectory has no nodes")
    plane = plane or _plane(run)
    stage = Stage(run.mechanism, plane=plane, window=_window(run, plane), pixels=pixels)
    write = _write_gif if target.suffix.lower() == ".gif" else _write_film
    write(target, _pictures(run, stage, speed / fps), fps)


def _pictures(run: Trajectory, stage: Stage, pace: float) -> Iterator[Picture]:
    """One every so many seconds of the motion."""
    first, last = run.time[[0, -1]].tolist()
    moments = np.minimum(np.arange(first, last + 0.5 * pace, pace), last)
    shown = resampled(run, moments) if len(run) > 1 else run
    for position, orientation, time in zip(shown.position, shown.orientation, shown.time, strict=True):
        yield stage.draw(position, orientation, title=f"{time:.2f} s")


def _write_film(target: Path, pictures: Iterator[Picture], fps: float) -> None:
    try:
        encoder = import_module("imageio_ffmpeg")
    except ImportError:
        raise ImportError(
            'a video needs imageio-ffmpeg, which is not installed: pip install "catena[video]"; a .gif does not'
        ) from None
    writer: Any = None
    try:
        for picture in pictures:
            # encoders want even numbers
            height, width = (2 * (n // 2) for n in picture.shape[:2])
            if writer is None:
                writer = encoder.write_frames(str(target), (width, height), fps=fps, macro_block_size=2)
                writer.send(None)
            writer.send(np.ascontiguousarray(picture[:height, :width]))
    finally:
        if writer is not None:
            writer.close()


def _write_gif(target: Path, pictures: Iterator[Picture], fps: float) -> None:
    """Pillow comes with matplotlib, which has drawn the pictures."""
    image = import_module("PIL.Image")
    drawn = [image.fromarray(picture) for picture in pictures]
    # one choice of colors for all, or they would flicker; rare ones count as much as the background's
    some = np.concatenate([np.asarray(picture) for picture in drawn[:: max(1, len(drawn) // 4)]])
    palette = image.fromarray(some).quantize(_GIF_COLOURS, method=image.Quantize.MAXCOVERAGE)
    first, *rest = [picture.quantize(palette=palette, dither=image.Dither.NONE) for picture in drawn]
    first.save(target, save_all=True, append_images=rest, duration=round(1000 / fps), loop=0)


def _window(run: Trajectory, plane: str) -> tuple[float, float, float, float]:
    """Around all that is seen, with a margin, and not too narrow."""
    scene = scene_of(run)
    axes = plane_axes(plane)
    middle, half = scene.center[axes], 0.55 * (scene.high - scene.low)[axes]
    x, y = np.maximum(half, 0.4 * half.max())
    return middle[0] - x, middle[0] + x, middle[1] - y, middle[1] + y


def _plane(run: Trajectory) -> str:
    """The two axes along which the most happens, z upwards if it is one of them."""
    spread = np.ptp(run.position, axis=(0, 1))
    across, up = sorted(np.argsort(spread, kind="stable")[1:].tolist())
    return "xyz"[across] + "xyz"[up]
