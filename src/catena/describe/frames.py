"""Frames: named places on bodies, such as a tool, a sensor, or the origin that a file gave a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from .._util.rotation import IDENTITY, Array, finite, multiply, normalised, rotate, unit_quaternion


@dataclass(frozen=True, eq=False)
class Frame:
    """A place on a body, or on the world: position (3,) m and orientation (4,) in the frame of the body.

    A body's own frame sits at its center of mass. A frame that is called like its body is the body's reference frame:
    readers of files give every link the origin that its file counts from.
    """

    name: str
    body: str
    position: Array
    orientation: Array

    def point(self, p: ArrayLike) -> Array:
        """Where the point p (3,) of this frame is in the frame of the body, for anchors and loads (m)."""
        return self.position + rotate(self.orientation, finite(p, (3,), f"frame {self.name!r}: point"))

    def turn(self, q: ArrayLike) -> Array:
        """What the orientation q (4,) in this frame is in the frame of the body."""
        return normalised(multiply(self.orientation, unit_quaternion(q, (4,), f"frame {self.name!r}: turn")))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

        # pickling and copying lose these flags
        self.position.flags.writeable = self.orientation.flags.writeable = False


def made(name: str, body: str, position: ArrayLike = (0.0, 0.0, 0.0), orientation: ArrayLike = IDENTITY) -> Frame:
    """A frame, checked."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"a frame's name must be a non-empty string, got {name!r}")
    place = finite(position, (3,), f"frame {name!r}: position")
    turn = unit_quaternion(orientation, (4,), f"frame {name!r}: orientation")
    place.flags.writeable = turn.flags.writeable = False
    return Frame(name, body, place, turn)
