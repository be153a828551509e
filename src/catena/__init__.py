"""catena: articulated rigid bodies with variational integrators in maximal coordinates.

It grew out of J. Brüdigam and Z. Manchester, "Linear-Time Variational Integrators in Maximal Coordinates", Algorithmic
Foundations of Robotics XIV (WAFR 2020), Springer 2021; order 1 with the solver "ldu" is the algorithm printed there.
"""

from . import scenes as scenes
from ._util.provenance import RunInfo as RunInfo
from ._util.status import CatenaError as CatenaError
from ._util.status import CatenaWarning as CatenaWarning
from ._util.status import SimulationError as SimulationError
from ._util.status import Status as Status
from ._util.words import not_there
from .assemble.assembly import AssemblyError as AssemblyError
from .assemble.assembly import AssemblyWarning as AssemblyWarning
from .assemble.placeholders import PlaceholderWarning as PlaceholderWarning
from .assemble.redundancy import LoopWarning as LoopWarning
from .describe.bodies import Body as Body
from .describe.constraints import ConstantVelocity as ConstantVelocity
from .describe.constraints import Distance as Distance
from .describe.constraints import FixedOrientation as FixedOrientation
from .describe.constraints import ParallelAxes as ParallelAxes
from .describe.constraints import PointOnLine as PointOnLine
from .describe.constraints import PointOnPlane as PointOnPlane
from .describe.couplings import Coupling as Coupling
from .describe.couplings import Differential as Differential
from .describe.couplings import Gear as Gear
from .describe.couplings import Mimic as Mimic
from .describe.couplings import PrescribedMotion as PrescribedMotion
from .describe.couplings import Rack as Rack
from .describe.custom import BodyPose as BodyPose
from .describe.custom import Custom as Custom
from .describe.custom import VelocityRows as VelocityRows
from .describe.forces import Armature as Armature
from .describe.forces import Bumper as Bumper
from .describe.forces import Bushing as Bushing
from .describe.forces import Cable as Cable
from .describe.forces import Damper as Damper
from .describe.forces import Drag as Drag
from .describe.forces import Friction as Friction
from .describe.forces import Motor as Motor
from .describe.forces import PointSpring as PointSpring
from .describe.forces import Servo as Servo
from .describe.forces import Spring as Spring
from .describe.frames import Frame as Frame
from .describe.inertia import Inertia as Inertia
from .describe.inertia import Solid as Solid
from .describe.inertia import box as box
from .describe.inertia import capsule as capsule
from .describe.inertia import cylinder as cylinder
from .describe.inertia import rod as rod
from .describe.inertia import sphere as sphere
from .describe.joint import Joint as Joint
from .describe.joints import Ball as Ball
from .describe.joints import Cylindrical as Cylindrical
from .describe.joints import Fixed as Fixed
from .describe.joints import Free as Free
from .describe.joints import PinInSlot as PinInSlot
from .describe.joints import Planar as Planar
from .describe.joints import Prismatic as Prismatic
from .describe.joints import Revolute as Revolute
from .describe.joints import Screw as Screw
from .describe.joints import Universal as Universal
from .describe.limits import Limits as Limits
from .describe.mechanism import Mechanism as Mechanism
from .describe.rolling import KnifeEdge as KnifeEdge
from .describe.rolling import RollingBall as RollingBall
from .describe.rolling import RollingDisk as RollingDisk
from .describe.shapes import Shape as Shape
from .io.models.notes import ModelWarning as ModelWarning
from .kinematics.state import State as State
from .kinematics.views import BodyView as BodyView
from .kinematics.views import JointView as JointView
from .results.accuracy import AccuracyWarning as AccuracyWarning
from .results.convergence import Convergence as Convergence
from .results.efforts import ForceHistory as ForceHistory
from .results.histories import BodyHistory as BodyHistory
from .results.histories import CouplingHistory as CouplingHistory
from .results.histories import JointHistory as JointHistory
from .results.report import Report as Report
from .results.run_warnings import LimitWarning as LimitWarning
from .results.run_warnings import StuckWarning as StuckWarning
from .results.trajectory import Trajectory as Trajectory
from .simulate.batch import Batch as Batch
from .simulate.batch import BatchError as BatchError
from .simulate.events import Event as Event
from .simulate.events import Occurrence as Occurrence
from .simulate.live import Live as Live
from .simulate.live_batch import LiveBatch as LiveBatch
from .simulate.loads import Load as Load
from .simulate.simulator import Simulator as Simulator
from .simulate.simulator import info as info
from .view import plot as plot


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(not_there(__name__, name, globals(), f"module {__name__!r}"))
    from ._util.provenance import version

    return version()
