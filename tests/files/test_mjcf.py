"""MJCF: what is read moves as MuJoCo moves it, to the order of the scheme; loops close; what is not read is said."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.describe.joint import pose_between

pytest.importorskip("mujoco", reason="MJCF is compiled by MuJoCo")

from mujoco_reference import Reference

MODELS = Path(__file__).parents[1] / "models"


def quietly(path: Path, **options: bool) -> ct.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ModelWarning)
        return ct.Mechanism.from_mjcf(path, **options)


def gym_models() -> Path:
    gymnasium = pytest.importorskip("gymnasium", reason="the models are in gymnasium")
    return Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"


def written(tmp_path: Path, text: str) -> Path:
    (tmp_path / "model.xml").write_text(f"<mujoco>{text}</mujoco>")
    return tmp_path / "model.xml"


def errors(path: Path, duration: float, control: float, steps: tuple[float, ...]) -> list[dict[str, float]]:
    m = quietly(path)
    reference, rng = Reference(path, m), np.random.default_rng(7)
    state = reference.start(rng, angle=0.3, rate=1.0)
    # where they begin they agree to rounding
    assert max(reference.differences(state).values()) < 1e-14
    inputs = reference.control(rng, control)
    reference.run(duration)
    found = []
    for dt in steps:
        # those of the reference are off
        live = ct.Simulator(m, dt=dt, limits="ignore").start(state)
        live.set(inputs)
        for _ in range(round(duration / dt)):
            live.step()
        found.append(reference.differences(live.state()))
    return found


def agree_to_second_order(path: Path, duration: float, control: float) -> None:
    coarse, fine = errors(path, duration, control, (0.004, 0.002))
    for name, error in coarse.items():
        # joints that hardly err at all have nothing to be halved: RK4 at 0.1 ms leaves 1e-9
        assert fine[name] < max(error / 3.6, 1e-7), name
    assert max(fine.values()) < 1e-3
    assert max(coarse.values()) > 3.6 * max(fine.values())


def test_every_law_of_a_joint_moves_as_in_mujoco() -> None:
    agree_to_second_order(MODELS / "servos.xml", 0.5, 0.5)


@pytest.mark.parametrize(
    ("name", "control"), [("ant", 0.2), ("humanoid", 0.2), ("half_cheetah", 0.2), ("walker2d_v5", 0.01)]
)
def test_models_of_gymnasium_move_as_in_mujoco(name: str, control: float) -> None:
    agree_to_second_order(gym_models() / f"{name}.xml", 0.4, control)


def test_merged_bodies_move_as_before() -> None:
    whole, merged = (quietly(MODELS / "servos.xml", merge_fixed=merge) for merge in (False, True))
    assert "plate" in whole.bodies
    assert "plate" not in merged.bodies
    assert merged.frames["plate"].body == "arm"
    ends = [ct.Simulator(m, dt=0.002).run(duration=0.4)[-1].frame("plate")[0] for m in (whole, merged)]
    np.testing.assert_allclose(*ends, atol=1e-9)


def test_a_gripper_closes_its_loops_and_stays_closed() -> None:
    m = ct.Mechanism.from_mjcf(MODELS / "gripper.xml")
    assert [type(joint).__name__ for joint in m.spanning_tree().loops] == ["Ball", "Ball"]
    assert list(m.couplings) == ["mirror"]
    report = m.report()
    # each finger turns in its plane by one angle, and the mirror makes one of two; the rest of each loop is redundant
    assert report.freedom == 1
    live = ct.Simulator(m, dt=0.002).start()
    live.set(squeeze=0.4)
    for _ in range(1000):
        live.step()
    state = live.state()
    angles = [state.joint(f"{side} driver").angle for side in ("left", "right")]
    assert angles[0] == pytest.approx(0.4, abs=0.05)
    assert angles[0] + angles[1] == pytest.approx(0, abs=1e-12)
    gaps = [np.sum(state.joint(name).gap) for name in m.joints]
    assert max(gaps) < 1e-12


def test_loops_move_as_in_mujoco() -> None:
    """With stiff constraints and short steps, of first order there: 1e-4 rad in 0.1 s."""
    m = ct.Mechanism.from_mjcf(MODELS / "gripper.xml")
    reference = Reference(MODELS / "gripper.xml", m, dt=5e-5)
    reference.model.opt.integrator = 0
    reference.model.eq_solref[:] = (5e-4, 1.0)
    reference.model.eq_solimp[:, :3] = (0.9999, 0.9999, 0.001)
    reference.data.ctrl[0] = 0.4
    reference.run(0.1)
    live = ct.Simulator(m, dt=5e-4).start()
    live.set(squeeze=0.4)
    for _ in range(200):
        live.step()
    assert live.state().joint("left driver").angle > 0.3
    assert max(reference.differences(live.state()).values()) < 1e-4


def bars(held: str) -> str:
    """A crank that carries a rod that carries a rocker, whose end is held in the world."""
    return f"""
        <worldbody><site name="pivot" pos="0.95 0.35 0"/><body name="crank" euler="0 0 30">
        <joint name="a" axis="0 0 1"/><geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/>
        <body name="rod" pos="0.3 0 0" euler="0 0 -40"><joint name="b" axis="0 0 1" pos="0.01 0 0"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.5 0 0"/>
        <body name="rocker" pos="0.5 0 0" euler="0 0 60"><joint name="c" axis="0 0 1"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0.45 0 0"/><site name="end" pos="0.45 0 0"/>
        </body></body></body></worldbody>
        <equality><connect name="loop" {held}/></equality>
        """


def as_in_mujoco(path: Path, state: ct.State) -> None:
    """Every body's origin and axes are where MuJoCo has them in the file's pose."""
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for k in range(1, model.nbody):
        position, orientation = state.frame(model.body(k).name)
        np.testing.assert_allclose(position, data.xpos[k], atol=1e-12)
        assert abs(orientation @ data.xquat[k]) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    "held", ['body1="rocker" anchor="0.45 0 0"', 'body1="world" body2="rocker" anchor="1.1 0.1 0"']
)
def test_loops_leave_bodies_in_the_pose_of_the_file(tmp_path: Path, held: str) -> None:
    path = written(tmp_path, bars(held))
    m = ct.Mechanism.from_mjcf(path)
    as_in_mujoco(path, m.state())
    np.testing.assert_allclose(m.state().coordinates, 0, atol=1e-12)
    as_in_mujoco(path, m.assemble())
    assert m.joints["loop"].closes_loop


def test_an_open_loop_is_measured_where_the_file_has_it(tmp_path: Path) -> None:
    path = written(tmp_path, bars('site1="end" site2="pivot"'))
    m = ct.Mechanism.from_mjcf(path)
    state = m.state()
    as_in_mujoco(path, state)
    gap = np.linalg.norm(state.frame("end")[0] - (0.95, 0.35, 0))
    assert state.joint("loop").gap == pytest.approx(gap)
    assert gap > 0.05
    np.testing.assert_allclose(state.coordinates, 0, atol=1e-12)
    # closed from there by a small motion
    closed = m.assemble()
    assert closed.joint("loop").gap < 1e-10
    assert np.abs(closed.position - state.position).max() < 2 * gap
    m.save(tmp_path / "again.json")
    again = ct.Mechanism.load(tmp_path / "again.json")
    np.testing.assert_array_equal(again.state().position, state.position)


def test_free_bodies_stand_where_the_file_has_them_with_coordinates_zero(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        <worldbody><body name="b" pos="0 1 2" euler="0 30 0"><freejoint name="root"/><geom size="0.1" pos="0.1 0 0"/>
        <body name="c" pos="0.3 0 0" euler="0 0 20"><joint name="k" type="ball" pos="0 0.1 0"/><geom size="0.1"/></body>
        </body></worldbody>
        """,
    )
    m = ct.Mechanism.from_mjcf(path)
    as_in_mujoco(path, m.state())
    np.testing.assert_allclose(m.state().coordinates, 0, atol=1e-15)


def test_a_site_may_have_the_name_of_a_body(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        <worldbody><site name="arm" pos="0 0 5"/><body name="arm" pos="1 0 0"><joint name="j"/>
        <geom size="0.1" pos="0.2 0 0"/><site name="hand" pos="0.4 0 0"/>
        <body name="hand" pos="0 0.3 0"><geom size="0.1" pos="0 0.1 0"/><site name="finger" pos="0 0 0.1"/>
        <body name="finger" pos="0 0.5 0"><geom size="0.1"/></body></body></body></worldbody>
        """,
    )
    for merge in (False, True):
        m = ct.Mechanism.from_mjcf(path, merge_fixed=merge)
        as_in_mujoco(path, m.state())
        for site, place in (("arm of world", (0, 0, 5)), ("hand of arm", (1.4, 0, 0))):
            np.testing.assert_allclose(m.state().frame(site)[0], place, atol=1e-15)
        assert ("finger of arm" if merge else "finger of hand") in m.frames


def test_what_a_body_has_is_kept() -> None:
    with pytest.warns(ct.ModelWarning, match=r"not read: range of a motor, .* but not enforced \(push\)$"):
        m = ct.Mechanism.from_mjcf(MODELS / "servos.xml")
    assert list(m.bodies) == [
        *("carriage before tilt", "carriage", "arm before pitch", "arm before roll", "arm", "tail", "plate"),
    ]
    assert m.report().massless == ("carriage before tilt", "arm before pitch", "arm before roll")
    assert [shape.kind for name in ("carriage", "arm", "tail", "plate") for shape in m.bodies[name].shapes] == [
        *("box", "capsule", "ellipsoid", "cylinder"),
    ]
    np.testing.assert_allclose(m.bodies["carriage"].shapes[0].size, (0.2, 0.16, 0.1))
    assert m.joints["yaw"].limits["angle"] == ct.Limits(-2.0, 2.0)
    assert m.joints["slide"].limits["displacement"].effort == pytest.approx(6)  # 2 times the gear
    assert m.frames["tip"].body == "tail"
    assert m.inputs == ("push", "hold tilt", "turn", "hold pitch", "twist")


def test_meshes_and_includes_come_from_the_folders_of_the_model(tmp_path: Path) -> None:
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
    faces = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "corner.obj").write_text("\n".join(lines))
    (tmp_path / "rest.xml").write_text('<mujoco><asset><mesh file="corner.obj" scale="0.1 0.1 0.1"/></asset></mujoco>')
    path = written(
        tmp_path,
        '<compiler meshdir="parts"/><include file="rest.xml"/>'
        '<worldbody><body name="b" pos="0 0 1"><freejoint/>'
        '<geom type="mesh" mesh="corner" pos="0.5 0 0"/></body></worldbody>',
    )
    body = ct.Mechanism.from_mjcf(path).bodies["b"]
    (shape,) = body.shapes
    assert shape.mesh == str((tmp_path / "parts" / "corner.obj").resolve())
    np.testing.assert_allclose(shape.size, 0.1)
    # the file's origin is where the geom was put: a quarter of the tetrahedron's edge from the center of mass
    np.testing.assert_allclose(body.position, (0.525, 0.025, 1.025), atol=1e-7)
    np.testing.assert_allclose(shape.position, -0.025, atol=1e-7)
    np.testing.assert_allclose(np.abs(shape.orientation), (1, 0, 0, 0), atol=1e-6)


def test_geoms_of_the_world_are_its_shapes(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        <worldbody><geom name="floor" type="plane" size="0 0 1"/>
        <geom name="table" type="box" size="1 0.5 0.05" pos="1 2 -0.05" euler="0 0 90" rgba="1 0 0 0.5"/>
        <geom name="shield" type="sphere" size="3" group="3" contype="0" conaffinity="0"/>
        <body name="a"><joint/><geom size="0.1"/></body></worldbody>
        """,
    )
    m = ct.Mechanism.from_mjcf(path)
    floor, table, shield = m.world.shapes
    assert (floor.name, floor.kind, floor.size, floor.collides) == ("floor", "plane", (), True)
    assert (table.name, table.kind, table.color, table.visible, table.collides) == (
        *("table", "box", (1, 0, 0, 0.5), True, True),
    )
    np.testing.assert_allclose(table.size, (2, 1, 0.1))
    np.testing.assert_allclose(table.position, (1, 2, -0.05))
    np.testing.assert_allclose(table.orientation, (np.sqrt(0.5), 0, 0, np.sqrt(0.5)))
    assert (shield.kind, shield.size, shield.visible, shield.collides) == ("sphere", (3,), False, False)
    assert len(m.bodies["a"].shapes) == 1


def test_what_is_not_read_is_said_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        <option density="1.2"/>
        <worldbody><light pos="0 0 3"/><geom type="plane" size="1 1 1"/>
        <body name="a"><joint name="h"/><joint name="s" type="slide"/><geom size="0.1"/><site name="p"/></body>
        <body name="b"><joint name="k" type="ball" frictionloss="1"/><geom size="0.1"/>
        <site name="q" pos="1 0 0"/></body>
        </worldbody>
        <tendon><spatial name="rope" stiffness="3"><site site="p"/><site site="q"/></spatial></tendon>
        <equality><joint name="curve" joint1="h" joint2="s" polycoef="0 1 2 0 0"/></equality>
        <actuator><motor name="muscle" tendon="rope"/></actuator>
        <sensor><gyro site="p"/></sensor>
        """,
    )
    with pytest.warns(ct.ModelWarning) as said:
        m = ct.Mechanism.from_mjcf(path)
    assert len(said) == 1
    text = str(said[0].message)
    for part in (
        *("light", "friction of a ball joint (k)", "stiffness of a tendon (rope)", "sensor"),
        *(
            "nonlinear equality (curve)",
            "other than a motor or servo of one coordinate (muscle)",
            "option@density",
        ),
    ):
        assert part in text
    assert not m.couplings


def test_tendons_tie_joints(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        <worldbody>
        <body name="a"><joint name="one" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body>
        <body name="b" pos="0 1 0"><joint name="two" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body>
        <body name="c" pos="0 2 0"><joint name="three" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body></worldbody>
        <tendon><fixed name="sum"><joint joint="one" coef="1"/><joint joint="two" coef="2"/></fixed>
        <fixed name="single"><joint joint="three" coef="3"/></fixed></tendon>
        <equality><tendon name="tie" tendon1="sum" tendon2="single" polycoef="0.1 0.5 0 0 0"/></equality>
        """,
    )
    m = ct.Mechanism.from_mjcf(path)
    state = m.assemble()
    one, two, three = (state.joint(name).angle for name in ("one", "two", "three"))
    assert one + 2 * two - 0.1 - 0.5 * 3 * three == pytest.approx(0, abs=1e-10)


def test_forces_on_a_joint_are_limited_as_in_mujoco(tmp_path: Path) -> None:
    """A servo's by the range of all that acts on its joint, if that is less than its own."""
    path = written(
        tmp_path,
        """
        <compiler angle="radian"/>
        <worldbody><body name="a"><joint name="h" axis="0 1 0" actuatorfrcrange="-2 2"/><geom size="0.1" pos="0.3 0 0"/>
        <body name="b"><joint name="k" axis="0 1 0" actuatorfrcrange="-9 9"/><geom size="0.1" pos="0.5 0 0"/></body>
        </body></worldbody><actuator><position name="hold" joint="h" kp="1000" kv="1" forcerange="-5 5"/>
        <position name="bend" joint="k" kp="10" kv="1" gear="2" forcerange="-3 3"/></actuator>
        """,
    )
    m = ct.Mechanism.from_mjcf(path)
    assert [m.forces[name].parts[0].law["effort_limit"] for name in ("hold", "bend")] == [2, 6]
    reference = Reference(path, m)
    state = m.state()
    inputs = reference.control(np.random.default_rng(3), 1.0)
    reference.run(0.3)
    live = ct.Simulator(m, dt=5e-4).start(state)
    live.set(inputs)
    for _ in range(600):
        live.step()
    assert max(reference.differences(live.state()).values()) < 1e-4


def test_gravity_may_be_switched_off(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        <option><flag gravity="disable" equality="disable" damper="disable"/></option>
        <worldbody><body name="a"><joint name="h" damping="1"/><geom size="0.1"/></body></worldbody>
        <equality><joint joint1="h" name="tie"/></equality>
        """,
    )
    with pytest.warns(ct.ModelWarning, match=r"not read: equality that is not active \(tie\), flag@damper$"):
        m = ct.Mechanism.from_mjcf(path)
    np.testing.assert_array_equal(m.gravity, 0)


def test_includes_and_colours_and_commas_as_others_take_them(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "leg.xml").write_text('<mujocoinclude><include file="foot.xml"/></mujocoinclude>')
    (tmp_path / "parts" / "foot.xml").write_text(
        '<mujocoinclude><body name="foot" pos="0.07, 0 0,"><joint/><geom size="0.1" rgba=""/></body></mujocoinclude>'
    )
    path = written(tmp_path, '<worldbody><include file="parts/leg.xml"/></worldbody>')
    with pytest.warns(ct.ModelWarning, match=r"color without a value.*commas between numbers.*\(body@pos\)"):
        m = ct.Mechanism.from_mjcf(path)
    np.testing.assert_allclose(m.bodies["foot"].position, (0.07, 0, 0))


def test_meshes_that_are_not_there_are_left_out_unless_something_weighs_by_them(tmp_path: Path) -> None:
    def model(inside: str) -> Path:
        mesh = '<asset><mesh name="hull" file="elsewhere/hull.stl"/></asset>'
        return written(tmp_path, f'{mesh}<worldbody><body name="a"><joint/>{inside}</body></worldbody>')

    given = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="hull"/>'
    with pytest.warns(ct.ModelWarning, match="not read: missing file"):
        m = ct.Mechanism.from_mjcf(model(given))
    assert not m.bodies["a"].shapes
    with pytest.raises(ValueError, match="mesh 'hull', by which a body weighs: its file is missing"):
        ct.Mechanism.from_mjcf(model('<geom type="mesh" mesh="hull"/><geom size="0.1"/>'))


def test_files_beside_the_folder_of_the_model_are_read_if_the_user_says_so(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "robots").mkdir()
    (tmp_path / "parts" / "leg.xml").write_text(
        '<mujocoinclude><body name="leg"><joint/><geom size="0.1"/></body></mujocoinclude>'
    )
    path = written(tmp_path / "robots", '<worldbody><include file="../parts/leg.xml"/></worldbody>')
    with pytest.raises(ValueError, match=r"lies outside .*; if you trust it, add packages={'parts': '.*/parts'}"):
        ct.Mechanism.from_mjcf(path)
    assert "leg" in ct.Mechanism.from_mjcf(path, packages={"parts": tmp_path / "parts"}).bodies


def test_welds_hold_frames(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        <worldbody><body name="a"><joint axis="0 1 0"/><geom size="0.1" pos="0.2 0 0"/></body>
        <body name="b" pos="0 0 1"><freejoint name="free"/><geom size="0.1" pos="0.1 0 0"/></body></worldbody>
        <equality><weld name="glue" body1="a" body2="b" relpose="0.5 0 0 1 0 1 0"/></equality>
        """,
    )
    m = ct.Mechanism.from_mjcf(path)
    assert isinstance(m.joints["glue"], ct.Fixed)
    state = m.assemble()
    origin = np.zeros(3), np.array((1.0, 0, 0, 0))
    relative = pose_between(state.frame("a"), state.frame("b"), origin, origin)
    np.testing.assert_allclose(relative[0], (0.5, 0, 0), atol=1e-9)
    np.testing.assert_allclose(np.abs(relative[1]), (0.5**0.5, 0, 0.5**0.5, 0), atol=1e-9)


def test_without_mujoco_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ImportError, match=r"pip install 'catena\[mjcf\]'"):
        ct.Mechanism.from_mjcf(MODELS / "gripper.xml")


def test_dampers_of_balls_move_as_in_mujoco(tmp_path: Path) -> None:
    """One torque against the turn of the child against its parent, or the world; read, written and read back."""
    path = written(
        tmp_path,
        """
        <worldbody><body name="a"><joint name="hook" type="ball" damping="0.3"/>
        <geom type="box" size="0.2 0.1 0.1" pos="0.3 0 0" mass="1"/>
        <body name="b" pos="0.5 0 0"><joint name="k" type="ball" damping="0.1"/>
        <geom type="box" size="0.2 0.05 0.1" pos="0.2 0 0" mass="0.5"/></body></body></worldbody>
        """,
    )
    agree_to_second_order(path, 0.5, 0.0)
    m = ct.Mechanism.from_mjcf(path)
    m.to_mjcf(tmp_path / "again.xml")
    for read in (m, ct.Mechanism.from_mjcf(tmp_path / "again.xml")):
        assert [repr(force) for force in read.forces.values()] == [
            "Damper('damping of hook', damping=0.3)",
            "Damper('damping of k', damping=0.1)",
        ]


def test_damping_of_free_bodies_is_drag(tmp_path: Path) -> None:
    """MuJoCo damps all six velocities of a free joint alike, at the origin of the body's frame."""
    free = '<body name="a" pos="0 0 1"><joint name="f" type="free" damping="0.3"/><geom type="box" {} mass="1"/></body>'
    free = f"<worldbody>{free}</worldbody>"
    path = written(tmp_path, free.format('size="0.2 0.1 0.1"'))
    agree_to_second_order(path, 0.5, 0.0)
    (drag,) = ct.Mechanism.from_mjcf(path).forces.values()
    assert repr(drag) == "Drag('damping of f', linear=0.3, angular=0.3)"
    # elsewhere than at the center of mass it is another force
    beside = written(tmp_path, free.format('size="0.2 0.1 0.1" pos="0.3 0 0"'))
    with pytest.warns(ct.ModelWarning, match="damping of a free joint"):
        assert not ct.Mechanism.from_mjcf(beside).forces
