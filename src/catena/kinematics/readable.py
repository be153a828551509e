"""What is read alike wherever there are poses and velocities: bodies, joints and frames by name, energy and momentum.

Leading axes (...) are those of the object: see readers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import numpy as np

from .._util.lookup import looked_up, name_of, no_such
from .._util.rotation import Array, conjugate, multiply, normalised, rotate
from ..describe.joint import Joint, Pose
from .readers import BodyReader, ContactReader, JointReader, Number

if TYPE_CHECKING:
    from ..describe.bodies import Body
    from ..describe.contacts import Contact
    from ..describe.mechanism import Mechanism
    from ..results.trajectory import Trajectory


class Readable(Generic[Number]):
    """Bodies, joints and frames by name, and mechanical quantities, of whatever has poses and velocities of bodies."""

    # the end of a sentence on a name that does not exist here
    _where: ClassVar[str] = ""
    # places of joints in the coordinates, if these are stored
    _joint_places: Mapping[str, slice] = MappingProxyType({})

    # what those that are readable have; written for type checkers only
    if TYPE_CHECKING:
        _rows: Any

        @property
        def mechanism(self) -> Mechanism:
            """The mechanism."""

        @property
        def time(self) -> Number:
            """Time (...,) in s."""

        @property
        def position(self) -> Array:
            """Positions (..., n, 3)."""

        @property
        def orientation(self) -> Array:
            """Orientations (..., n, 4)."""

        @property
        def velocity(self) -> Array:
            """Velocities (..., n, 3)."""

        @property
        def angular_velocity(self) -> Array:
            """Angular velocities (..., n, 3)."""

        @property
        def coordinates(self) -> Array:
            """Joint coordinates (..., coordinate)."""

        @property
        def rates(self) -> Array:
            """Joint rates (..., coordinate)."""

        @property
        def turned(self) -> Mapping[str, Array]:
            """Angles (..., k) by joint name, near which full turns are counted."""

    @property
    def _angles(self) -> Mapping[str, Array]:
        """Angles (..., k) by joint name, near which full turns are counted."""
        return self.turned

    def _seen(self, reactions: bool = False) -> Trajectory:
        """All nodes in one row, with their reactions if these are needed."""
        raise NotImplementedError

    def _of_nodes(self, law: Callable[[Trajectory], Array], *, reactions: bool = False) -> Any:
        """Values (..., k) of a function that gives (step, k) for a trajectory."""
        found = law(self._seen(reactions))
        found = found.reshape((*np.shape(self.time), *found.shape[1:]))
        return found if found.ndim else float(found)

    @property
    def _motion(self) -> tuple[Array, Array, Array, Array]:
        """Poses and velocities of all bodies, in the order in which a State takes them."""
        return self.position, self.orientation, self.velocity, self.angular_velocity

    def accelerations(self) -> tuple[Array, Array]:
        """Accelerations (..., n, 3) of all bodies, linear and angular, world frame, m/s^2 and rad/s^2.

        Those of a run are differences of recorded velocities, of second order in the distance between nodes. A State
        and a LiveBatch have none.
        """
        return self._accelerations(slice(None))

    def _accelerations(self, row: int | slice) -> tuple[Array, Array]:
        """Accelerations of bodies, linear and angular."""
        raise ValueError("accelerations follow from a motion: read them of a run, or of simulator.start(state)")

    @property
    def angular_velocity_body(self) -> Array:
        """Angular velocity (..., n, 3) in the body frames (rad/s)."""
        return rotate(conjugate(self.orientation), self.angular_velocity)

    # ---- by name

    def row(self, name: str | Body) -> int:
        """Index of a body, given by name or as an object, on the body axis."""
        known = name_of(name)
        if known not in self._rows:
            if known in self.mechanism.bodies:
                raise ValueError(f"there are no numbers of body {known!r}{self._where}")
            raise no_such("body", known, self.mechanism, after=self._where)
        row: int = self._rows[known]
        return row

    def body(self, name: str | Body) -> BodyReader:
        """One body, given by name or as an object."""
        return BodyReader(self, name_of(name), self.row(name))

    def joint(self, name: str | Joint) -> JointReader[Number]:
        """One joint, given by name or as an object."""
        return JointReader(self, self._known_joint(name))

    def contact(self, name: str | Contact) -> ContactReader[Number]:
        """One contact, given by name or as an object."""
        return ContactReader(self, looked_up("contact", name, self.mechanism, self._where))

    def _known_joint(self, name: str | Joint) -> Joint:
        joint: Joint = looked_up("joint", name, self.mechanism, self._where)
        return joint

    def frame(self, name: str) -> Pose:
        """World position (..., 3) in m and orientation (..., 4) of a frame, or of a body's reference frame."""
        frame = self.mechanism.frame(name)
        if frame.body == self.mechanism.world.name:
            nodes = np.shape(self.time)
            return np.tile(frame.position, (*nodes, 1)), np.tile(frame.orientation, (*nodes, 1))
        body = self.body(frame.body)
        return body.point(frame.position), normalised(multiply(body.orientation, frame.orientation))

    # ---- laws

    def kinetic_energy(self) -> Number:
        """Kinetic energy (...,) in J, including rotors."""
        found: Number = self._law("kinetic_energy")
        return found

    def potential_energy(self) -> Number:
        """Potential energy (...,) in J, of gravity, zero at the origin, and of springs."""
        found: Number = self._law("potential_energy")
        return found

    def energy(self) -> Number:
        """Kinetic plus potential energy (...,) in J."""
        found: Number = self._law("energy")
        return found

    def momentum(self) -> Array:
        """Linear momentum (..., 3) in kg m/s."""
        found: Array = self._law("momentum")
        return found

    def angular_momentum(self, about: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Array:
        """Angular momentum (..., 3) about a fixed world point, in kg m^2/s."""
        found: Array = self._law("angular_momentum", about)
        return found

    def drift(self) -> Array:
        """Gap of every joint (..., joint) in m."""
        found: Array = self._law("drift")
        return found

    def misalignment(self) -> Array:
        """Angular gap of every joint (..., joint) in rad."""
        found: Array = self._law("misalignment")
        return found

    def loop_mismatch(self) -> Array:
        """Violation of redundant constraint rows that are not enforced (..., joint, 2), in m and rad.

        It is zero, to rounding, if the dimensions of the loop are exact. Otherwise it is as large as their errors.
        """
        found: Array = self._law("loop_mismatch")
        return found

    def _law(self, name: str, *arguments: Any) -> Any:
        from ..results import analysis

        return self._of_nodes(lambda run: getattr(analysis, name)(run, *arguments))
