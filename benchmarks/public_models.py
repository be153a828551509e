"""Models that others made, where to find them, and how each is read; nothing of them is part of this project.

Wheels are installed for their files alone (`pip install --no-deps example-robot-data pybullet gymnasium dm_control`);
collections are checkouts of GitHub repositories, google-deepmind/mujoco_menagerie and Gepetto/example-parallel-robots,
in a folder that is given on the command line, each under its repository's name.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import catena as ct

_WHEELS = {
    "example-robot-data": "cmeel.prefix/share/example-robot-data/robots",
    "pybullet": "pybullet_data",
    "gymnasium": "gymnasium/envs/mujoco/assets",
    "dm_control": "dm_control/suite",
}
_READERS = {
    ".urdf": ct.Mechanism.from_urdf,
    ".sdf": ct.Mechanism.from_sdf,
    ".xml": ct.Mechanism.from_mjcf,
}


class MissingModelError(Exception):
    """A wheel is not installed, or a collection not there."""


@dataclass(frozen=True)
class Public:
    """A file of a wheel or collection: URDF, SDF or MJCF, perhaps with a file of loops beside it."""

    source: str
    file: str
    floating: bool = False
    loops: str = ""

    @property
    def name(self) -> str:
        """Where it is from, and its file."""
        return f"{self.source}: {self.file}" + (", floating" if self.floating else "")

    def path(self, collections: Path | None) -> Path:
        """The file; an error if it is not there."""
        if self.source in _WHEELS:
            try:
                path = Path(str(distribution(self.source).locate_file(_WHEELS[self.source]))) / self.file
            except PackageNotFoundError:
                raise MissingModelError(f"{self.source} is not installed") from None
        elif collections is None:
            raise MissingModelError(f"no folder of collections is given, which {self.source} would be in")
        else:
            path = collections / self.source / self.file
        if not path.is_file():
            raise MissingModelError(f"{path} is not there")
        return path

    def load(self, collections: Path | None, *, merge_fixed: bool = False) -> tuple[ct.Mechanism, str]:
        """The mechanism, and what is said of it."""
        path = self.path(collections)
        options: dict[str, object] = {"merge_fixed": merge_fixed}
        if self.floating:
            options["floating"] = True
        if self.loops:
            options["loops"] = path.parent / self.loops
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            mechanism = _READERS[path.suffix](path, **options)  # type: ignore[operator]
        text = " ".join(str(warning.message) for warning in said)
        return mechanism, text.replace(f"{path}: ", "").replace(str(path.parent), ".")


def _all(source: str, files: str, **options: object) -> list[Public]:
    return [Public(source, file, **options) for file in files.split()]  # type: ignore[arg-type]


_PARALLEL = """5bar_linkage 5bar_linkage_iso3d 5bar_linkage_iso6d battobot_6d cassie_like digit_like digit_like_2legs
digit_like_2legs_6D digit_like_2legs_old disney_like disney_robot kangaroo_like kangaroo_like_2legs robot_delta
talos_like wl16_like"""

PUBLIC = (
    *(
        Public("example-parallel-robots", f"robots/{robot}/robot.urdf", loops="robot.yaml")
        for robot in _PARALLEL.split()
    ),
    Public("example-parallel-robots", "robots/true_talos_2_legs/talos_full_v2.urdf", loops="robot.yaml"),
    *_all(
        "example-robot-data",
        """cassie_description/robots/cassie.sdf cassie_description/robots/cassie_v2.sdf
        cassie_description/robots/cassie_wo_gearbox_spring.sdf cassie_description/robots/cassie_simple.sdf
        cassie_description/robots/cassie_reduced.sdf""",
    ),
    *_all(
        "mujoco_menagerie",
        """agility_cassie/cassie.xml robotiq_2f85/2f85.xml robotiq_2f85_v4/2f85.xml iit_softfoot/softfoot.xml
        umi_gripper/umi_gripper.xml ufactory_xarm7/xarm7.xml franka_emika_panda/panda.xml aloha/aloha.xml
        agilex_piper/piper.xml google_robot/robot.xml unitree_go1/go1.xml pal_tiago_dual/tiago_dual.xml
        toddlerbot_2xc/toddlerbot_2xc.xml apptronik_apollo/apptronik_apollo.xml anybotics_anymal_c/anymal_c.xml
        berkeley_humanoid/berkeley_humanoid.xml bitcraze_crazyflie_2/cf2.xml booster_t1/t1.xml
        boston_dynamics_spot/spot_arm.xml dynamixel_2r/dynamixel_2r.xml flexiv_rizon4/flexiv_rizon4.xml
        fourier_n1/n1.xml franka_fr3/fr3.xml google_barkour_vb/barkour_vb.xml kinova_gen3/gen3.xml
        kuka_iiwa_14/iiwa14.xml leap_hand/right_hand.xml low_cost_robot_arm/low_cost_robot_arm.xml pal_talos/talos.xml
        rethink_robotics_sawyer/sawyer.xml robotis_op3/op3.xml shadow_dexee/shadow_dexee.xml
        shadow_hand/right_hand.xml skydio_x2/x2.xml stanford_tidybot/tidybot.xml trossen_vx300s/vx300s.xml
        trs_so_arm100/so_arm100.xml unitree_a1/a1.xml unitree_g1/g1_with_hands.xml unitree_go2/go2.xml unitree_h1/h1.xml
        unitree_z1/z1_gripper.xml universal_robots_ur10e/ur10e.xml wonik_allegro/right_hand.xml""",
    ),
    *_all(
        "example-robot-data",
        """a1_description/urdf/a1.urdf anymal_b_simple_description/robots/anymal.urdf bolt_description/robots/bolt.urdf
        centauro_description/urdf/centauro.urdf hyq_description/robots/hyq_no_sensors.urdf
        icub_description/robots/icub_reduced.urdf romeo_description/urdf/romeo.urdf
        simple_humanoid_description/urdf/simple_humanoid.urdf solo_description/robots/solo12.urdf
        talos_data/robots/talos_reduced.urdf""",
        floating=True,
    ),
    *_all(
        "example-robot-data",
        """allegro_hand_description/urdf/allegro_left_hand.urdf baxter_description/urdf/baxter.urdf
        kinova_description/robots/kinova.urdf panda_description/urdf/panda.urdf tiago_description/robots/tiago.urdf
        ur_description/urdf/ur5_robot.urdf xarm_description/urdf/xarm7.urdf""",
    ),
    *_all("pybullet", "laikago/laikago.urdf mini_cheetah/mini_cheetah.urdf quadruped/minitaur.urdf", floating=True),
    *_all(
        "pybullet",
        """kuka_iiwa/model.urdf franka_panda/panda.urdf husky/husky.urdf gripper/wsg50_one_motor_gripper.sdf
        xarm/xarm6_with_gripper.urdf""",
    ),
    *_all("gymnasium", "ant.xml half_cheetah.xml humanoid.xml walker2d_v5.xml"),
    *_all("dm_control", "acrobot.xml cheetah.xml dog.xml fish.xml humanoid_CMU.xml quadruped.xml swimmer.xml"),
)
