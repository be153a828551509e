"""catena: articulated rigid bodies with variational integrators in maximal coordinates.

It grew out of J. Brüdigam and Z. Manchester, "Linear-Time Variational Integrators in Maximal Coordinates", Algorithmic
Foundations of Robotics XIV (WAFR 2020), Springer 2021; order 1 with the solver "ldu" is the algorithm printed there.
"""

from . import plot as plot
from . import scenes as scenes
from ._provenance import RunInfo as RunInfo
from .accuracy import AccuracyWarning as AccuracyWarning
from .assembly import AssemblyError as AssemblyError
from .assembly import AssemblyWarning as AssemblyWarning
from .batch import Batch as Batch
from .batch import BatchError as BatchError
from .bodies import Body as Body
from .constraints import ConstantVelocity as ConstantVelocity
from .constraints import Distance as Distance
from .constraints import FixedOrientation as FixedOrientation
from .constraints import ParallelAxes as ParallelAxes
from .constraints import PointOnLine as PointOnLine
from .constraints import PointOnPlane as PointOnPlane
from .convergence import Convergence as Convergence
from .couplings import Coupling as Coupling
from .couplings import Differential as Differential
from .couplings import Drive as Drive
from .couplings import Gear as Gear
from .couplings import Mimic as Mimic
from .couplings import Rack as Rack
from .custom import BodyPose as BodyPose
from .custom import Custom as Custom
from .custom import VelocityRows as VelocityRows
from .doubts import LimitWarning as LimitWarning
from .doubts import StuckWarning as StuckWarning
from .efforts import ForceHistory as ForceHistory
from .events import Event as Event
from .events import Occurrence as Occurrence
from .forces import Load as Load
from .frames import Frame as Frame
from .histories import BodyHistory as BodyHistory
from .histories import CouplingHistory as CouplingHistory
from .histories import JointHistory as JointHistory
from .inertia import Inertia as Inertia
from .inertia import Shape as Shape
from .inertia import box as box
from .inertia import capsule as capsule
from .inertia import cylinder as cylinder
from .inertia import rod as rod
from .inertia import sphere as sphere
from .joint import Joint as Joint
from .joints import Ball as Ball
from .joints import Cylindrical as Cylindrical
from .joints import Fixed as Fixed
from .joints import Free as Free
from .joints import PinInSlot as PinInSlot
from .joints import Planar as Planar
from .joints import Prismatic as Prismatic
from .joints import Revolute as Revolute
from .joints import Screw as Screw
from .joints import Universal as Universal
from .laws import Armature as Armature
from .laws import Bumper as Bumper
from .laws import Bushing as Bushing
from .laws import Cable as Cable
from .laws import Damper as Damper
from .laws import Drag as Drag
from .laws import Friction as Friction
from .laws import Motor as Motor
from .laws import PointSpring as PointSpring
from .laws import Servo as Servo
from .laws import Spring as Spring
from .limits import Limits as Limits
from .live import Live as Live
from .live_batch import LiveBatch as LiveBatch
from .mechanism import Mechanism as Mechanism
from .models.notes import ModelWarning as ModelWarning
from .placeholders import PlaceholderWarning as PlaceholderWarning
from .redundancy import LoopWarning as LoopWarning
from .report import Report as Report
from .rolling import KnifeEdge as KnifeEdge
from .rolling import RollingBall as RollingBall
from .rolling import RollingDisk as RollingDisk
from .shapes import PlacedShape as PlacedShape
from .simulator import Simulator as Simulator
from .simulator import info as info
from .state import State as State
from .status import CatenaError as CatenaError
from .status import CatenaWarning as CatenaWarning
from .status import SimulationError as SimulationError
from .status import Status as Status
from .trajectory import Trajectory as Trajectory
from .views import BodyView as BodyView
from .views import JointView as JointView
from .words import not_there


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(not_there(__name__, name, globals(), f"module {__name__!r}"))
    from ._provenance import version

    return version()
