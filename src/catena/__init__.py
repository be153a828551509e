"""catena: articulated rigid bodies with variational integrators in maximal coordinates."""

from importlib.metadata import version as _version

from . import plot as plot
from . import scenes as scenes
from .assembly import AssemblyError as AssemblyError
from .forces import Load as Load
from .inertia import Inertia as Inertia
from .inertia import Shape as Shape
from .inertia import box as box
from .inertia import capsule as capsule
from .inertia import cylinder as cylinder
from .inertia import rod as rod
from .inertia import sphere as sphere
from .joints import Ball as Ball
from .joints import ConstantVelocity as ConstantVelocity
from .joints import Cylindrical as Cylindrical
from .joints import Distance as Distance
from .joints import Fixed as Fixed
from .joints import FixedOrientation as FixedOrientation
from .joints import Free as Free
from .joints import Joint as Joint
from .joints import ParallelAxes as ParallelAxes
from .joints import Planar as Planar
from .joints import PointOnLine as PointOnLine
from .joints import PointOnPlane as PointOnPlane
from .joints import Prismatic as Prismatic
from .joints import Revolute as Revolute
from .joints import Screw as Screw
from .joints import Universal as Universal
from .laws import Damper as Damper
from .laws import Friction as Friction
from .laws import Motor as Motor
from .laws import PointSpring as PointSpring
from .laws import Servo as Servo
from .laws import Spring as Spring
from .mechanism import Body as Body
from .mechanism import Mechanism as Mechanism
from .report import Report as Report
from .simulator import SimulationError as SimulationError
from .simulator import Simulator as Simulator
from .simulator import Status as Status
from .simulator import info as info
from .state import State as State
from .trajectory import Trajectory as Trajectory

__version__ = _version("catena")
