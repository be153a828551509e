"""Frames: named poses on bodies, such as a tool, a sensor, or the origin of a link in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from .._util.rotation import IDENTITY, Array, finite, multiply, normalised, rotate, unit_quaternion


@dataclass(frozen=True, eq=False)
class Frame:
    """A named pose on a body, or on the world: position (3,) m and orientation (4,) in the body frame.

    The origin of the body frame is the center of mass. A frame with the name of its body is the reference frame of the
    body. File readers set it to the link origin in the file.
    """

    name: str
    body: str
    position: Array
    orientation: Array

    def point(self, p: ArrayLike) -> Array:
        """Return the point p (3,) of this frame in the body frame (m), for use as an anchor or with loads."""
        return self.position + rotate(self.orientation, finite(p, (3,), f"frame {self.name!r}: point"))

    def turn(self, q: ArrayLike) -> Array:
        """Return the orientation q (4,) of this frame in the body frame."""
        return normalised(multiply(self.orientation, unit_quaternion(q, (4,), f"frame {self.name!r}: turn")))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

        # pickling and copying lose these flags
        self.position.flags.writeable = self.orientation.flags.writeable = False


def made(name: str, body: str, position: ArrayLike = (0.0, 0.0, 0.0), orientation: ArrayLike = IDENTITY) -> Frame:
    """Check the arguments and make a frame."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"a frame's name must be a non-empty string, got {name!r}")
    place = finite(position, (3,), f"frame {name!r}: position")
    turn = unit_quaternion(orientation, (4,), f"frame {name!r}: orientation")
    place.flags.writeable = turn.flags.writeable = False
    return Frame(name, body, place, turn)
