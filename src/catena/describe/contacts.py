"""Contacts: points and balls of bodies that stay on one side of a plane of the world or of another body.

The gap of a contact is the distance of the point from the plane along the normal, less the radius. A hard stop keeps it
from becoming negative. The normal force and the friction force act on both bodies at the same point, so momentum and
angular momentum are conserved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._util.rotation import IDENTITY, Array, conjugate, finite, rotate, z_to
from .._util.strict import Named
from .joint import into
from .limits import Limits, limits_of
from .measures import Measure

if TYPE_CHECKING:
    from .bodies import Body
    from .joint import BodyLike


class Contact(Named):
    """A contact of a body with a plane, with or without friction; created by Mechanism.add_contact.

    The contact pushes and never pulls: it keeps the gap from becoming negative. The attributes `restitution` and
    `friction` can be set.
    """

    measure: Measure

    _kind = "contact"
    _radius: float
    _limits: Limits
    _friction: float
    _added = False

    def __init__(
        self, measure: Measure, radius: float, restitution: float, name: str | None = None, *, friction: float = 0.0
    ) -> None:
        self.measure = measure
        self.name = name if name is not None else f"contact {measure.b}-{measure.a}"
        self.named = name is not None
        size = float(finite(radius, (), f"{self.label}: radius"))
        if size < 0:
            raise ValueError(f"{self.label}: radius must not be negative, got {radius!r}")
        self._radius = size
        self.restitution = restitution
        self.friction = friction

    @property
    def label(self) -> str:
        """Kind and name, for use in messages."""
        return f"contact {self.name!r}"

    @property
    def body(self) -> str:
        """Name of the body that has the point or the ball."""
        return self.measure.b

    @property
    def other(self) -> str:
        """Name of the body that has the plane, or of the world."""
        return self.measure.a

    @property
    def at(self) -> Array:
        """The point, or the center of the ball (3,) in m, in the frame of its body."""
        found: Array = self.measure.anchors[1]
        return found

    @property
    def radius(self) -> float:
        """Radius of the ball in m, 0 for a point."""
        return self._radius

    @property
    def normal(self) -> Array:
        """Unit vector (3,) out of the plane, in the frame of the other body."""
        found: Array = rotate(self.measure.frames[0], np.array((0.0, 0.0, 1.0)))
        return found

    @property
    def point(self) -> Array:
        """A point of the plane (3,) in m, in the frame of the other body."""
        found: Array = self.measure.anchors[0] - self._radius * self.normal
        return found

    @property
    def restitution(self) -> float:
        """Coefficient of restitution: the fraction of the approach speed that remains after an impact, from 0 to 1."""
        return self._limits.restitution

    @restitution.setter
    def restitution(self, value: float) -> None:
        self._limits = limits_of(self.label, lower=0.0, restitution=value)

    @property
    def friction(self) -> float:
        """Coefficient of friction, 0 for none: the largest friction force, as a multiple of the normal force."""
        return self._friction

    @friction.setter
    def friction(self, value: float) -> None:
        number = float(finite(value, (), f"{self.label}: friction"))
        if number < 0:
            raise ValueError(f"{self.label}: friction must not be negative, got {value!r}")
        self._friction = number

    @property
    def law(self) -> dict[str, float]:
        """Parameters of its law, for the core."""
        return self._limits.law() | {"grip": self._friction, "ball": self._radius if self._friction else 0.0}

    @property
    def limits(self) -> Limits:
        """Limits of its gap."""
        return self._limits

    def __repr__(self) -> str:
        ball = f", radius={self._radius:g}" if self._radius else ""
        bounces = f", restitution={self.restitution:g}" if self.restitution else ""
        rubs = f", friction={self.friction:g}" if self.friction else ""
        return f"Contact({self.name!r}, {self.body!r} on {self.other!r}{ball}{bounces}{rubs})"


def contact_between(
    body: Body,
    other: BodyLike,
    at: ArrayLike | None,
    radius: float,
    point: ArrayLike,
    normal: ArrayLike,
    restitution: float,
    friction: float,
    name: str | None,
) -> Contact:
    """See Mechanism.add_contact; positions and the normal are in the world frame, in the described pose."""
    what = f"contact {name!r}" if name is not None else f"contact of {body.name!r}"
    size = finite(radius, (), f"{what}: radius")
    along = finite(normal, (3,), f"{what}: normal")
    if not (length := float(np.linalg.norm(along))) > 0:
        raise ValueError(f"{what}: normal must not be zero")
    frame = z_to(rotate(conjugate(other.orientation), along / length))
    out = rotate(frame, np.array((0.0, 0.0, 1.0)))
    plane = into(other, finite(point, (3,), f"{what}: point")) + size * out
    own = np.zeros(3) if at is None else into(body, finite(at, (3,), f"{what}: at"))
    frames = np.array((frame, IDENTITY))
    measure = Measure("measured_slide", other.name, body.name, np.array((plane, own)), frames)
    return Contact(measure, radius, restitution, name, friction=friction)
