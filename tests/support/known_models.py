"""Models that others made, and some of our own: where their files are, and how each is set up to run.

Robots come from wheels, of which only the files are used: example-robot-data and pybullet, installed without what they
depend on, and gymnasium. A model whose wheel is not there is missing, with a reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from math import pi
from pathlib import Path

import catena as ct

OWN = Path(__file__).parents[1] / "models"
_WHEELS = {
    "example-robot-data": "cmeel.prefix/share/example-robot-data/robots",
    "pybullet": "pybullet_data",
    "gymnasium": "gymnasium/envs/mujoco/assets",
}


class MissingModelError(Exception):
    """A wheel is not installed."""


def wheel(name: str) -> Path:
    """The folder of a wheel in which its models are."""
    try:
        return Path(str(distribution(name).locate_file(_WHEELS[name])))
    except PackageNotFoundError:
        raise MissingModelError(f"{name} is not installed") from None


@dataclass(frozen=True)
class Model:
    """A model: its file, how it is read and set up, and the start of its run."""

    name: str
    path: Callable[[], Path]
    read: Callable[..., ct.Mechanism]
    set_up: Callable[[ct.Mechanism], ct.State]
    has_loops: bool = False
    dt: float = 0.002
    control: float = 0.0  # size of random inputs of motors and servos where it is compared with MuJoCo

    def load(self, merge_fixed: bool = False) -> ct.Mechanism:
        """The mechanism, without what is said of it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ct.ModelWarning)
            return self.read(self.path(), merge_fixed=merge_fixed)


def _robot(path: str) -> Callable[[], Path]:
    return lambda: wheel("example-robot-data") / path


def _gym(name: str) -> Callable[[], Path]:
    return lambda: wheel("gymnasium") / f"{name}.xml"


def _described(m: ct.Mechanism) -> ct.State:
    return m.assemble()


def _driven(joint: str, angle: float) -> Callable[[ct.Mechanism], ct.State]:
    """Out of balance, with all that follows of it."""
    return lambda m: m.assemble(coordinates={joint: angle})


def _hung_cassie(m: ct.Mechanism) -> ct.State:
    """The pelvis held, and every driven joint on a PD servo that keeps it where it is."""
    if "static" in m.joints:
        m.remove_joint("static", cascade=True)
    m.add_joint(ct.Fixed("world", "pelvis", name="hung"))
    for name in [name for name in m.joints if name.endswith("-op")]:
        m.add_force(ct.Servo(name, kp=100.0, kd=5.0, name=f"servo of {name}"))
    return m.assemble()


def _minitaur(m: ct.Mechanism) -> ct.State:
    """On a rack, its legs brought together and closed at the knees by four balls, motors on PD servos."""
    guess = m.state()
    legs = [f"{end}_{side}" for side in ("left", "right") for end in ("front", "back")]
    for leg in legs:
        sign = -1.0 if "left" in leg else 1.0
        for half in "LR":
            guess.joint(f"motor_{leg}{half}_joint").angle = sign * pi / 2
            guess.joint(f"knee_{leg}{half}_link").angle = -sign * 2.1834
    for leg in legs:
        right, left = (m.joints[f"knee_{leg}{half}_link"].b.name for half in "RL")
        anchors = (m.frame(right).point((0, 0.005, 0.2)), m.frame(left).point((0, 0.01, 0.2)))
        m.add_joint(ct.Ball(right, left, anchors=anchors, name=f"{leg} knees"))
        for half in "LR":
            target = guess.joint(f"motor_{leg}{half}_joint").angle
            servo = ct.Servo(f"motor_{leg}{half}_joint", kp=20.0, kd=2.0, target=target)
            m.add_force(servo)
    return m.assemble(guess)


def _cassie(file: str) -> Model:
    return Model(
        f"Cassie, {file}",
        _robot(f"cassie_description/robots/{file}"),
        ct.Mechanism.from_sdf,
        _hung_cassie,
        has_loops=True,
        dt=0.001,
    )


def _urdf(floating: bool = False) -> Callable[..., ct.Mechanism]:
    return lambda path, merge_fixed: ct.Mechanism.from_urdf(path, floating=floating, merge_fixed=merge_fixed)


MODELS = (
    Model(
        "Minitaur, on a rack",
        lambda: wheel("pybullet") / "quadruped" / "minitaur.urdf",
        _urdf(),
        _minitaur,
        has_loops=True,
        dt=0.001,
    ),
    _cassie("cassie.sdf"),
    _cassie("cassie_v2.sdf"),
    _cassie("cassie_wo_gearbox_spring.sdf"),
    # in these two the plantar rods are turned by 0.1 rad against their cranks, so that the feet cannot move
    _cassie("cassie_simple.sdf"),
    _cassie("cassie_reduced.sdf"),
    Model("ANYmal B, floating", _robot("anymal_b_simple_description/robots/anymal.urdf"), _urdf(True), _described),
    Model("Talos, floating", _robot("talos_data/robots/talos_reduced.urdf"), _urdf(True), _described),
    Model(
        "simple humanoid, hung",
        _robot("simple_humanoid_description/urdf/simple_humanoid.urdf"),
        _urdf(),
        _described,
    ),
    Model("UR5", _robot("ur_description/urdf/ur5_robot.urdf"), _urdf(), _described),
    Model("Panda, mimicking fingers", _robot("panda_description/urdf/panda.urdf"), _urdf(), _described),
    Model("four-bar, loop_joint", lambda: OWN / "four_bar.urdf", _urdf(), _described, has_loops=True),
    Model("four-bar, SDF", lambda: OWN / "four_bar.sdf", ct.Mechanism.from_sdf, _driven("a", 0.5), has_loops=True),
    Model(
        "gripper, two connects",
        lambda: OWN / "gripper.xml",
        ct.Mechanism.from_mjcf,
        _driven("left driver", 0.3),
        has_loops=True,
    ),
    Model("servos and springs", lambda: OWN / "servos.xml", ct.Mechanism.from_mjcf, _described, control=0.5),
    Model("ant, in the air", _gym("ant"), ct.Mechanism.from_mjcf, _described, control=0.2),
    Model("humanoid, in the air", _gym("humanoid"), ct.Mechanism.from_mjcf, _described, control=0.2),
    Model("half-cheetah, in the air", _gym("half_cheetah"), ct.Mechanism.from_mjcf, _described, control=0.2),
    Model("walker, in the air", _gym("walker2d_v5"), ct.Mechanism.from_mjcf, _described, control=0.01),
)
