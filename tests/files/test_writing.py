"""Files that are written and read again move as the mechanism did; what a file cannot hold is said."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from math import sqrt
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catena as ct

# steps are coarse on purpose
pytestmark = pytest.mark.filterwarnings("ignore::catena.AccuracyWarning")

MODELS = Path(__file__).parents[1] / "models"
X, Y, Z = np.eye(3)


def zoo(reverse: bool) -> ct.Mechanism:
    """A chain of all joints that a file can hold, each set in motion, in one direction or the other."""
    m = ct.Mechanism()
    kinds: tuple[Callable[..., ct.Joint], ...] = (
        lambda a, b, **at: ct.Revolute(a, b, axis=(0.6, 0, 0.8), **at),
        lambda a, b, **at: ct.Prismatic(a, b, axis=(0, 0.6, 0.8), **at),
        lambda a, b, **at: ct.Cylindrical(a, b, axis=X, **at),
        lambda a, b, **at: ct.Universal(a, b, axes=(X, Y), **at),
        lambda a, b, **at: ct.Ball(a, b, **at),
        lambda a, b, **at: ct.Fixed(a, b, **at),
        lambda a, b, **at: ct.PinInSlot(a, b, axes=(X, Z), **at),
        lambda a, b, **at: ct.Planar(a, b, axis=(0, 0.8, 0.6), **at),
    )
    rng = np.random.default_rng(3)
    before: ct.Body | str = "world"
    for k, kind in enumerate(kinds):
        turn = rng.normal(size=4)
        body = m.add_body(
            f"body{k}",
            ct.box((0.2, 0.3, 0.4), mass=1.0 + k),
            position=(k, 0.1 * k, 0),
            orientation=turn / np.linalg.norm(turn),
        )
        body.add_shape("capsule", (0.05, 0.2), position=(0, 0, 0.1), color=(0, 1, 0), collides=True)
        ends = (body, before) if reverse else (before, body)
        m.add_joint(kind(*ends, at=(k - 0.4, 0.1, 0.2), name=f"joint{k}"))
        before = body
    m.joints["joint0"].limits = ct.Limits(-2, 2, 30, 4)
    m.add_force(ct.Damper("joint0", 0.3))
    m.add_force(ct.Damper("joint2", 0.2, coordinate="displacement"))
    m.add_frame("tool", "body7", position=(0, 0.1, 0))
    return m


def moving(m: ct.Mechanism, seed: int = 1) -> dict[tuple[str, str], float]:
    """Random rates of single coordinates, by joint and coordinate."""
    rng = np.random.default_rng(seed)
    return {(name, c): rng.uniform(-1, 1) for name, joint in m.joints.items() for c in joint.names if c}


def ends(m: ct.Mechanism, rates: dict[tuple[str, str], float], duration: float) -> ct.State:
    """Where a run ends from those rates, by whatever names its joints have."""
    state = m.state()
    given: dict[str, dict[str, float]] = {}
    for (name, coordinate), rate in rates.items():
        split = f"{name} {coordinate}"
        joint, key = (split, m.joints[split].names[0]) if split in m.joints else (name, coordinate)
        given.setdefault(joint, {})[key] = rate
    for name, values in given.items():
        state.joint(name).rates = [values.get(c, 0.0) for c in m.joints[name].names]
    return ct.Simulator(m, dt=0.005).run(duration=duration, state=state)[-1]


def same_places(m: ct.Mechanism, one: ct.State, other: ct.State, atol: float) -> None:
    for name in m.bodies:
        np.testing.assert_allclose(one.body(name).position, other.body(name).position, atol=atol, err_msg=name)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("file", ["urdf", "mjcf"])
def test_all_joints_survive(tmp_path: Path, reverse: bool, file: str) -> None:
    m, again = zoo(reverse), written(zoo(reverse), tmp_path, file)
    rates = moving(m)
    # a joint that is the same motion by other names leaves the scheme as it is, up to what massless bodies round
    same_places(m, ends(m, rates, 0.5), ends(again, rates, 0.5), 1e-8)
    assert again.joints["joint0"].limits["angle"].lower == -2
    assert {shape.kind for shape in again.bodies["body3"].shapes} == {"box", "capsule"}
    np.testing.assert_allclose(again.state().frame("tool")[0], m.state().frame("tool")[0], atol=1e-12)


@pytest.mark.parametrize("file", ["urdf", "mjcf"])
def test_shapes_of_the_world_survive(tmp_path: Path, file: str) -> None:
    m = zoo(reverse=False)
    m.world.add_shape("box", (2, 1, 0.1), position=(1, 2, -0.05), orientation=(0.8, 0, 0, 0.6), color=(1, 0, 0, 0.5))
    m.world.add_shape("cylinder", (0.2, 3), position=(0, 1, 0), color=(0.5, 0.5, 0.5), visible=False, collides=True)
    for mine, theirs in zip(m.world.shapes, written(m, tmp_path, file).world.shapes, strict=True):
        for key in ("size", "position", "orientation", "color"):
            np.testing.assert_allclose(getattr(theirs, key), getattr(mine, key), atol=1e-7, err_msg=key)
        assert (theirs.kind, theirs.visible, theirs.collides) == (mine.kind, mine.visible, mine.collides)


def test_shapes_of_the_world_of_what_floats_are_said_to_be_left_out(tmp_path: Path) -> None:
    """A URDF file of a floating robot has no world; an MJCF file always has one."""
    m = ct.Mechanism()
    m.add_body("bird", ct.box((0.2, 0.3, 0.4), mass=1.0))
    m.world.add_shape("box", (2, 2, 0.1))
    with pytest.warns(ct.ModelWarning, match="not written: shapes of the world$"):
        m.to_urdf(tmp_path / "m.urdf")
    pytest.importorskip("mujoco")
    m.to_mjcf(tmp_path / "m.xml")
    assert len(ct.Mechanism.from_mjcf(tmp_path / "m.xml").world.shapes) == 1


def random_tree(seed: int) -> ct.Mechanism:
    """Bodies on joints of random kinds, directions and places, some of them on the world, one perhaps floating."""
    rng = np.random.default_rng(seed)
    m = ct.Mechanism()
    names = ["world"]
    for k in range(rng.integers(1, 7)):
        turn, axes = rng.normal(size=4), np.linalg.qr(rng.normal(size=(3, 3)))[0]
        name = f"body{k}"
        place = {"position": rng.normal(size=3), "orientation": turn / np.linalg.norm(turn)}
        m.add_body(name, ct.Inertia(rng.uniform(0.5, 2), rng.uniform(0.02, 0.03, 3)), **place)
        if rng.random() < 0.5:
            m.add_frame(name, name, position=rng.normal(size=3), orientation=np.roll(turn, 1) / np.linalg.norm(turn))
        ends = (str(rng.choice(names)), name)
        ends = ends if rng.random() < 0.5 else ends[::-1]
        at = {"at": rng.normal(size=3), "name": f"joint{k}"}
        kind = rng.integers(8)
        if kind < 4:
            m.add_joint((ct.Revolute, ct.Prismatic, ct.Cylindrical, ct.Planar)[kind](*ends, axis=axes[0], **at))
        elif kind < 6:
            m.add_joint((ct.Universal, ct.PinInSlot)[kind - 4](*ends, axes=axes[:2], **at))
        elif kind == 6 or names == ["world"]:
            m.add_joint((ct.Ball, ct.Fixed)[rng.integers(2)](*ends, **at))
        else:
            # a body that floats carries none: rates of a joint do not tell which of two bodies moves
            continue
        names.append(name)
    return m


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), file=st.sampled_from(("urdf", "mjcf")))
def test_random_trees_survive(seed: int, file: str) -> None:
    m = random_tree(seed)
    with tempfile.TemporaryDirectory() as folder:
        again = written(m, Path(folder), file)
    assert again.report().freedom == m.report().freedom
    rates = moving(m, seed)
    same_places(m, ends(m, rates, 0.05), ends(again, rates, 0.05), 1e-8)


def written(m: ct.Mechanism, folder: Path, file: str, **options: bool) -> ct.Mechanism:
    path = folder / f"model.{file}"
    if file == "mjcf":
        pytest.importorskip("mujoco", reason="MJCF is compiled by MuJoCo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ModelWarning)
        getattr(m, f"to_{file}")(path)
        again: ct.Mechanism = getattr(ct.Mechanism, f"from_{file}")(path, **options)
    return again


@pytest.mark.parametrize("file", ["urdf", "mjcf"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: ct.scenes.four_bar(),
        lambda: ct.scenes.closed_chain(7),
        lambda: ct.scenes.n_four_bar(2),
        lambda: ct.scenes.minitaur_leg(),
        lambda: ct.scenes.closed_chain(7, "ball"),
    ],
)
def test_loops_survive(tmp_path: Path, file: str, make: Callable[[], ct.Mechanism]) -> None:
    m = make()
    for body in m.bodies.values():
        body.velocity, body.angular_velocity = np.zeros((2, 3))
    again = written(m, tmp_path, file)
    assert again.report().freedom == m.report().freedom
    runs = [ct.Simulator(one, dt=0.005).run(duration=0.5, state=one.assemble()) for one in (m, again)]
    same_places(m, runs[0][-1], runs[1][-1], 1e-7)
    assert runs[1].drift().max() < 1e-11


@pytest.mark.parametrize("file", ["urdf", "mjcf"])
def test_robots_survive(tmp_path: Path, file: str) -> None:
    m = ct.scenes.quadruped(hung=True)
    again = written(m, tmp_path, file)
    assert (again.body_count, len(again.joints)) == (m.body_count, len(m.joints))
    if file == "mjcf":
        same_motion(m, again)


def same_motion(m: ct.Mechanism, again: ct.Mechanism) -> None:
    """Servos and all: inputs of the same names, set to what they were, lead to the same places."""
    assert again.inputs == m.inputs
    starts = {name: m.forces[name].parts[0].law[m.forces[name].input or ""] for name in m.inputs}
    live = [ct.Simulator(one, dt=0.002).start(one.assemble()) for one in (m, again)]
    for one in live:
        one.set(starts)
        for _ in range(200):
            one.step()
    same_places(m, live[0].state(), live[1].state(), 1e-8)


@pytest.mark.parametrize("file", ["urdf", "mjcf"])
def test_floating_robots_float_again(tmp_path: Path, file: str) -> None:
    """URDF does not say that a root floats: whoever reads it does."""
    m = ct.scenes.quadruped()
    again = written(m, tmp_path, file, **({"floating": True} if file == "urdf" else {}))
    assert again.report().freedom == m.report().freedom == 6 + len(m.joints)


@pytest.mark.parametrize("name", ["servos.xml", "gripper.xml"])
def test_what_mujoco_wrote_is_written_for_it_again(tmp_path: Path, name: str) -> None:
    pytest.importorskip("mujoco", reason="MJCF is compiled by MuJoCo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ModelWarning)
        m = ct.Mechanism.from_mjcf(MODELS / name)
    again = written(m, tmp_path, "mjcf")
    assert list(again.bodies) == list(m.bodies)
    assert list(again.couplings) == list(m.couplings)
    assert set(again.frames) >= set(m.frames)
    same_motion(m, again)


def test_a_urdf_is_written_as_it_was_read(tmp_path: Path) -> None:
    m = ct.Mechanism.from_urdf(MODELS / "four_bar.urdf")
    (tmp_path / "meshes").mkdir()
    m.to_urdf(tmp_path / "again.urdf")
    again = ct.Mechanism.from_urdf(tmp_path / "again.urdf", packages={"meshes": MODELS})
    for name, frame in m.frames.items():
        np.testing.assert_allclose(again.frames[name].position, frame.position, atol=1e-15)
        np.testing.assert_allclose(again.frames[name].orientation, frame.orientation, atol=1e-15)
    for name, joint in m.joints.items():
        assert dict(again.joints[name].limits) == dict(joint.limits)
        assert type(again.joints[name]) is type(joint)
    assert set(again.forces) == set(m.forces)
    assert again.bodies["rocker"].shapes[0].mesh == m.bodies["rocker"].shapes[0].mesh


def test_screws_and_couplings_survive(tmp_path: Path) -> None:
    m = ct.Mechanism()
    for k in range(4):
        m.add_body(f"body{k}", ct.box((0.1, 0.2, 0.3), mass=1.0), position=(k, 0, 0))
    m.add_joint(ct.Screw("world", "body0", axis=Z, pitch=0.2, at=(0, 0, 0), name="screw"))
    for k in range(1, 4):
        m.add_joint(ct.Revolute("world", f"body{k}", axis=Y, at=(k, 0, 0.3), name=f"hinge{k}"))
    m.add_coupling(ct.Gear("hinge1", "hinge2", ratio=-2.0, name="gear"))
    for file in ("urdf", "mjcf"):
        again = written(m, tmp_path, file)
        rates = {("hinge3", "angle"): 1.0}
        same_places(m, ends(m, rates, 0.5), ends(again, rates, 0.5), 1e-9)
    m.add_coupling(ct.Differential("hinge3", "hinge1", "hinge2", balance=0.3, name="differential"))
    again = written(m, tmp_path, "mjcf")
    assert set(again.couplings) >= {"gear", "differential"}
    state = again.assemble(coordinates={"hinge1": 0.5})
    assert state.joint("hinge3").angle == pytest.approx(0.3 * 0.5 + 0.7 * -1.0)


def test_mujoco_moves_what_is_written_as_catena_does(tmp_path: Path) -> None:
    """The zoo in MuJoCo itself, at 0.1 ms, against steps of 4 and 2 ms."""
    pytest.importorskip("mujoco", reason="MJCF is compiled by MuJoCo")
    from mujoco_reference import Reference

    with pytest.warns(ct.ModelWarning, match="limit of speed"):
        zoo(True).to_mjcf(tmp_path / "zoo.xml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.ModelWarning)
        again = ct.Mechanism.from_mjcf(tmp_path / "zoo.xml")
    reference = Reference(tmp_path / "zoo.xml", again)
    state = reference.start(np.random.default_rng(2), angle=0.2, rate=0.5)
    reference.run(0.4)
    coarse, fine = (
        max(reference.differences(ct.Simulator(again, dt=dt).run(duration=0.4, state=state)[-1]).values())
        for dt in (0.004, 0.002)
    )
    assert fine < 1e-4
    assert coarse / fine == pytest.approx(4, rel=0.1)


def test_robots_whose_meshes_lie_elsewhere_are_read_back(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MJCF is compiled by MuJoCo")
    corners = ("v 0 0 0", "v 1 0 0", "v 0 1 0", "v 0 0 1", "f 1 3 2", "f 1 2 4", "f 1 4 3", "f 2 3 4")
    for folder in ("meshes", "out"):
        (tmp_path / folder).mkdir()
    mesh = tmp_path / "meshes" / "corner.obj"
    mesh.write_text("\n".join(corners))
    m = ct.scenes.pendulum(2, "revolute")
    m.bodies["link1"].add_shape("mesh", mesh=str(mesh))
    m.to_mjcf(tmp_path / "out" / "m.xml")
    mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "m.xml"))
    with pytest.warns(ct.ModelWarning, match="file outside the folders of the model"):
        again = ct.Mechanism.from_mjcf(tmp_path / "out" / "m.xml")
    same_places(m, m.state(), again.state(), 1e-12)
    whole = ct.Mechanism.from_mjcf(tmp_path / "out" / "m.xml", packages={"meshes": tmp_path / "meshes"})
    assert [shape.mesh for shape in whole.bodies["link1"].shapes if shape.mesh] == [str(mesh)]


def test_placeholders_of_exporters_are_written_for_mujoco(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MJCF is compiled by MuJoCo")
    m = ct.Mechanism()
    m.add_body("arm", ct.box((0.1, 0.1, 1.0), mass=1.0), position=(0, 0, 0.5))
    m.add_body("dummy", ct.Inertia(1e-9, (1e-15, 1e-15, 1e-15)), position=(0, 0, 1))
    m.add_body("thin", ct.Inertia(0.1, (1e-3, 1e-3, 5e-3), physical=False), position=(0, 0, 1))
    m.add_joint(ct.Revolute("world", "arm", axis=Y, at=(0, 0, 0), name="j"))
    m.add_joint(ct.Revolute("arm", "dummy", axis=Y, at=(0, 0, 1), name="k"))
    m.add_joint(ct.Revolute("dummy", "thin", axis=Y, at=(0, 0, 1), name="l"))
    with pytest.warns(ct.ModelWarning, match=r"written as 2e-14 \(dummy\); .* uses the mean \(thin\)"):
        m.to_mjcf(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    assert model.body("dummy").mass[0] == 1e-9


def test_springs_between_points_become_tendons(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco", reason="MJCF is compiled by MuJoCo")
    m = ct.scenes.pendulum(2)
    m.add_force(
        ct.PointSpring(
            "link1", "link2", 30.0, anchors=((0, 0, 0.1), (0, 0, -0.1)), rest_length=0.4, damping=0.2, name="rope"
        )
    )
    m.to_mjcf(tmp_path / "m.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    assert (model.tendon_stiffness[0], model.tendon_damping[0]) == (30.0, 0.2)
    np.testing.assert_allclose(model.tendon_lengthspring[0], 0.4)


def test_what_a_file_cannot_hold_is_said(tmp_path: Path) -> None:
    m = ct.scenes.pendulum(2, "revolute")
    m.add_force(ct.Bushing("link1", "link2", at=(0, 0, 0), stiffness=3.0, name="rubber"))
    m.add_force(ct.Motor("joint1", lambda t: t, name="ramp"))
    for file, words in (
        ("urdf", ("bushing (rubber)", "motor (ramp)")),
        ("mjcf", ("bushing (rubber)", "function of time (ramp)")),
    ):
        with pytest.warns(ct.ModelWarning, match="not written") as said:
            getattr(m, f"to_{file}")(tmp_path / "m.xml")
        assert len(said) == 1
        assert all(word in str(said[0].message) for word in words)
    m.add_joint(ct.Distance("world", "link2", anchors=((0, 0, 0), (0, 0, 0)), length=sqrt(2), name="rod"))
    for file in ("urdf", "mjcf"):
        with pytest.raises(ValueError, match="'rod' closes a loop in a way that"):
            getattr(m, f"to_{file}")(tmp_path / "n.xml")
    assert not (tmp_path / "n.xml").exists()
    driven = ct.scenes.pendulum(1, "revolute")
    driven.add_coupling(ct.PrescribedMotion("joint1", lambda t: t))
    with pytest.raises(ValueError, match="function of time, which a file cannot represent"):
        driven.to_mjcf(tmp_path / "n.xml")


@pytest.mark.parametrize("odd", ["\0", "\x1b", "\ud800", "\uffff"])
def test_names_that_no_file_can_hold_are_refused(odd: str, tmp_path: Path) -> None:
    m = ct.Mechanism()
    m.add_body(f"a{odd}b", ct.box((1, 1, 1), mass=1.0))
    for write in (m.to_urdf, m.to_mjcf):
        with pytest.raises(ValueError, match="character that XML files cannot contain"):
            write(tmp_path / "robot")
    assert list(tmp_path.iterdir()) == []


def test_laws_of_joints_that_close_loops_are_said_to_be_lost(tmp_path: Path) -> None:
    m = ct.scenes.closed_chain(7, "ball")
    closing = m.described_tree().loops[0]
    m.add_force(ct.Damper(closing, 0.1))
    with pytest.warns(ct.ModelWarning, match=f"damping, .* of a joint that closes a loop.*{closing.name}"):
        m.to_mjcf(tmp_path / "chain.xml")


def test_efforts_are_limited_both_ways(tmp_path: Path) -> None:
    m = ct.scenes.pendulum(1, "revolute")
    m.add_force(ct.Servo("joint1", kp=2.0, effort_limit=3.0, name="servo"))
    path = tmp_path / "m.xml"
    m.to_mjcf(path)
    (actuator,) = (element for element in ElementTree.parse(path).iter() if "forcerange" in element.attrib)
    assert [float(number) for number in actuator.attrib["forcerange"].split()] == [-3.0, 3.0]
