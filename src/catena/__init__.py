"""catena: articulated rigid bodies with variational integrators in maximal coordinates.

It grew out of J. Brüdigam and Z. Manchester, "Linear-Time Variational Integrators in Maximal Coordinates", Algorithmic
Foundations of Robotics XIV (WAFR 2020), Springer 2021; order 1 with the solver "ldu" is the algorithm printed there.
"""

from . import plot, scenes
from ._util.calls import explain_calls as _explain_calls
from ._util.provenance import RunInfo
from ._util.status import CatenaError, CatenaWarning, SimulationError, Status
from ._util.words import not_there as _not_there
from .assemble.assembly import AssemblyError, AssemblyWarning
from .assemble.placeholders import PlaceholderWarning
from .assemble.reach import ReachError
from .assemble.redundancy import LoopWarning
from .describe.bodies import Body
from .describe.body_forces import Bumper, Bushing, Cable, Drag, PointSpring, Rope, SumLimits
from .describe.constraints import ConstantVelocity, Distance, FixedOrientation, ParallelAxes, PointOnLine, PointOnPlane
from .describe.contacts import Contact
from .describe.couplings import Coupling, Differential, Gear, Mimic, PrescribedMotion, Rack
from .describe.custom import BodyPose, Custom, VelocityRows
from .describe.forces import Force
from .describe.frames import Frame
from .describe.inertia import Inertia, Solid, box, capsule, cylinder, rod, sphere
from .describe.joint import Joint
from .describe.joint_forces import Armature, Damper, Friction, Motor, Servo, Spring
from .describe.joints import Ball, Cylindrical, Fixed, Free, PinInSlot, Planar, Prismatic, Revolute, Screw, Universal
from .describe.limits import Limits
from .describe.mechanism import Mechanism
from .describe.merge import AddedNames
from .describe.rolling import KnifeEdge, RollingBall, RollingDisk
from .describe.shapes import Shape
from .describe.spanning_tree import SpanningTree
from .dynamics.dynamics import Dynamics
from .dynamics.equilibrium import EquilibriumWarning
from .dynamics.linear import LinearModel
from .dynamics.modes import Modes
from .io.models.notes import ModelWarning
from .kinematics.clearances import Clearance
from .kinematics.readers import BodyReader, ContactReader, JointReader
from .kinematics.state import State
from .kinematics.views import BodyView, JointView
from .results.accuracy import AccuracyWarning
from .results.convergence import Convergence
from .results.efforts import ForceHistory
from .results.histories import CouplingHistory
from .results.impacts import Impact
from .results.ranges import CoordinateRange
from .results.report import Loop, Report
from .results.run_warnings import StuckWarning
from .results.shape_contacts import ContactRow
from .results.trajectory import Trajectory
from .simulate.batch import Batch, BatchError
from .simulate.events import AtLimit, Event, Occurrence, Touch
from .simulate.join import join
from .simulate.live import Live, LiveForce
from .simulate.live_batch import LiveBatch
from .simulate.loads import Load
from .simulate.simulator import Simulator, info
from .simulate.summaries import Summaries
from .sweep.folder import SweepError
from .sweep.opening import open_sweep
from .sweep.samples import sample
from .sweep.sweep import Sweep, SweepSummary

__all__ = [
    "AccuracyWarning",
    "AddedNames",
    "Armature",
    "AssemblyError",
    "AssemblyWarning",
    "AtLimit",
    "Ball",
    "Batch",
    "BatchError",
    "Body",
    "BodyPose",
    "BodyReader",
    "BodyView",
    "Bumper",
    "Bushing",
    "Cable",
    "CatenaError",
    "CatenaWarning",
    "Clearance",
    "ConstantVelocity",
    "Contact",
    "ContactReader",
    "ContactRow",
    "Convergence",
    "CoordinateRange",
    "Coupling",
    "CouplingHistory",
    "Custom",
    "Cylindrical",
    "Damper",
    "Differential",
    "Distance",
    "Drag",
    "Dynamics",
    "EquilibriumWarning",
    "Event",
    "Fixed",
    "FixedOrientation",
    "Force",
    "ForceHistory",
    "Frame",
    "Free",
    "Friction",
    "Gear",
    "Impact",
    "Inertia",
    "Joint",
    "JointReader",
    "JointView",
    "KnifeEdge",
    "Limits",
    "LinearModel",
    "Live",
    "LiveBatch",
    "LiveForce",
    "Load",
    "Loop",
    "LoopWarning",
    "Mechanism",
    "Mimic",
    "ModelWarning",
    "Modes",
    "Motor",
    "Occurrence",
    "ParallelAxes",
    "PinInSlot",
    "PlaceholderWarning",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "PointSpring",
    "PrescribedMotion",
    "Prismatic",
    "Rack",
    "ReachError",
    "Report",
    "Revolute",
    "RollingBall",
    "RollingDisk",
    "Rope",
    "RunInfo",
    "Screw",
    "Servo",
    "Shape",
    "SimulationError",
    "Simulator",
    "Solid",
    "SpanningTree",
    "Spring",
    "State",
    "Status",
    "StuckWarning",
    "SumLimits",
    "Summaries",
    "Sweep",
    "SweepError",
    "SweepSummary",
    "Touch",
    "Trajectory",
    "Universal",
    "VelocityRows",
    "box",
    "capsule",
    "cylinder",
    "info",
    "join",
    "open_sweep",
    "plot",
    "rod",
    "sample",
    "scenes",
    "sphere",
]

_explain_calls(globals(), __all__)


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(_not_there(__name__, name, globals(), f"module {__name__!r}"))
    from ._util.provenance import version

    return version()


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
