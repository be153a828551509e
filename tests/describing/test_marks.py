"""Shapes, frames and limits: kept with bodies, joints and the world wherever a mechanism goes, and moving nothing."""

from __future__ import annotations

import copy
import json
import pickle
from math import inf, sqrt
from pathlib import Path

import numpy as np
import pytest

import catena as ct
from catena.describe.shapes import Shaped

HALF = sqrt(0.5)


def marked() -> ct.Mechanism:
    """A pendulum of two links with a tool, a look and limits, above a table."""
    m = ct.scenes.pendulum(2, "revolute", angle=0.3)
    link = m.bodies["link2"]
    link.add_shape("box", (0.1, 0.2, 0.3), position=(0, 0, 0.1), color=(1, 0, 0), name="cover")
    link.add_shape("mesh", mesh="arm.stl", orientation=(HALF, HALF, 0, 0), visible=False, collides=True)
    m.world.add_shape("box", (2, 1, 0.1), position=(0, 3, -2), color=(0.5, 0.5, 0.5, 0.9), name="table", collides=True)
    m.world.add_shape("mesh", mesh="room.stl", position=(1, 0, 0), orientation=(HALF, 0, HALF, 0), visible=False)
    m.add_frame("link2", link, position=(0, 0, 0.5))
    m.add_frame("tool", "link2", position=(0, 0, -0.5), orientation=(HALF, 0, 0, HALF))
    m.add_frame("door", m.world, position=(1, 2, 3))
    m.joints["joint1"].limits = ct.Limits(-1, 1, effort=5)
    return m


def same_shapes(a: Shaped, b: Shaped) -> None:
    assert len(a.shapes) == len(b.shapes)
    for mine, theirs in zip(a.shapes, b.shapes, strict=True):
        for key, value in vars(mine).items():
            np.testing.assert_array_equal(value, getattr(theirs, key))
        assert not theirs.position.flags.writeable


def same_marks(a: ct.Mechanism, b: ct.Mechanism, prefix: str = "") -> None:
    for name, body in a.bodies.items():
        same_shapes(body, b.bodies[prefix + name])
    for name, frame in a.frames.items():
        other_frame = b.frames[prefix + name]
        assert other_frame.body == (prefix + frame.body if frame.body != "world" else "world")
        if frame.body != "world":
            np.testing.assert_array_equal(frame.position, other_frame.position)
            np.testing.assert_array_equal(frame.orientation, other_frame.orientation)
    for name, joint in a.joints.items():
        assert dict(joint.limits) == dict(b.joints[prefix + name].limits)


def test_marks_survive_copies_files_and_pickles(tmp_path: Path) -> None:
    m = marked()
    m.save(tmp_path / "m.json")
    ct.Simulator(m, dt=0.01).run(steps=2).save(tmp_path / "run.npz")
    for other in (
        m.copy(),
        copy.deepcopy(m),
        m.snapshot(),
        pickle.loads(pickle.dumps(m)),
        pickle.loads(pickle.dumps(m.snapshot())),
        ct.Mechanism.load(tmp_path / "m.json"),
        ct.Trajectory.load(tmp_path / "run.npz").mechanism,
    ):
        same_marks(m, other)
        same_shapes(m.world, other.world)
        assert not other.frames["tool"].position.flags.writeable


def test_every_mechanism_has_a_world_of_its_own(tmp_path: Path) -> None:
    """Which its joints hold on to, and what is added to one of them is seen nowhere else."""
    m = marked()
    m.save(tmp_path / "m.json")
    for other in (m.copy(), copy.deepcopy(m), pickle.loads(pickle.dumps(m)), ct.Mechanism.load(tmp_path / "m.json")):
        assert other.world is not m.world
        assert other.joints["joint1"].a is other.world
        other.world.add_shape("sphere", (1,))
        assert (len(other.world.shapes), len(m.world.shapes)) == (3, 2)
        other.add_body("more", ct.sphere(0.1, mass=1.0))
        other.add_joint(ct.Ball(other.world, "more", at=(0, 0, 0)))
        with pytest.raises(ValueError, match="'world' belongs to another mechanism"):
            other.add_joint(ct.Ball(m.world, "link2", at=(0, 0, 0)))
    frozen = m.snapshot()
    m.world.clear_shapes()
    assert m.world.shapes == ()
    assert len(frozen.world.shapes) == 2
    assert frozen.joints["joint1"].a is frozen.world is frozen.spanning_tree().branches[0].parent


def test_documents_from_before_the_world_had_shapes_are_read(tmp_path: Path) -> None:
    ct.scenes.pendulum(2).save(tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    del document["world"]
    (tmp_path / "m.json").write_text(json.dumps(document))
    assert ct.Mechanism.load(tmp_path / "m.json").world.shapes == ()
    for world, message in (
        (3, "world must be names and values, got 3"),
        ({"shapes": 3}, "the world: shapes must be numbers, got 3"),
        ({"shapes": [{"kind": "box"}]}, "incomplete, a shape of the world has no position"),
    ):
        (tmp_path / "m.json").write_text(json.dumps(document | {"world": world}))
        with pytest.raises(ValueError, match=message):
            ct.Mechanism.load(tmp_path / "m.json")


def test_marks_go_with_a_mechanism_that_is_put_into_another() -> None:
    m, whole = marked(), ct.Mechanism()
    turn = np.array((HALF, 0, 0, HALF))
    names = whole.add(m, prefix="left ", at=((1, 0, 0), turn))
    same_marks(m, whole, "left ")
    assert names.frames["tool"] == "left tool"
    # a place in the other's world is moved with it: a quarter turn about z, then one metre along x
    np.testing.assert_allclose(whole.frames["left door"].position, (-1, 1, 3), atol=1e-15)
    table, room = whole.world.shapes
    np.testing.assert_allclose(table.position, (-2, 0, -2), atol=1e-15)
    np.testing.assert_allclose(table.orientation, turn, atol=1e-15)
    np.testing.assert_allclose(room.position, (1, 1, 0), atol=1e-15)
    assert (table.name, table.color, table.collides, room.mesh, room.visible) == (
        *("table", (0.5, 0.5, 0.5, 0.9), True, "room.stl", False),
    )
    assert not room.orientation.flags.writeable
    with pytest.raises(ValueError, match="already a body called 'left link1'"):
        whole.add(m, prefix="left ")
    assert len(whole.world.shapes) == 2
    whole.add(whole, prefix="again ")
    assert len(whole.world.shapes) == 4


def test_marks_move_nothing() -> None:
    plain = ct.scenes.pendulum(2, "revolute", angle=0.3)
    runs = [ct.Simulator(m, dt=0.01).run(duration=0.2) for m in (plain, marked())]
    np.testing.assert_array_equal(runs[0].position, runs[1].position)


def test_the_solid_a_body_is_made_of_is_the_first_of_its_shapes() -> None:
    m = ct.Mechanism()
    body = m.add_body("ball", ct.sphere(0.1, mass=1.0))
    assert [(shape.kind, shape.size) for shape in body.shapes] == [("sphere", (0.1,))]
    assert m.add_body("dark", ct.Inertia(1.0, (1, 1, 1))).shapes == ()
    body.add_shape("ellipsoid", (0.1, 0.2, 0.3), color=(0, 0, 1, 0.5))
    assert body.shapes[1].color == (0, 0, 1, 0.5)
    body.clear_shapes()
    assert len(body.shapes) == 1


def test_a_frame_is_carried_by_its_body() -> None:
    m = marked()
    state = m.state()
    state.joint("joint1").angle = 1.1
    position, orientation = state.frame("tool")
    np.testing.assert_allclose(position, state.body("link2").point((0, 0, -0.5)), atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(orientation), 1.0)
    np.testing.assert_array_equal(state.frame("door")[0], (1, 2, 3))
    # a body's reference frame goes by the body's name; without one it is the body's own
    np.testing.assert_allclose(state.frame("link2")[0], state.body("link2").point((0, 0, 0.5)), atol=1e-15)
    np.testing.assert_array_equal(state.frame("link1")[0], state.body("link1").position)
    np.testing.assert_allclose(m.frames["tool"].point((1, 0, 0)), (0, 1, -0.5), atol=1e-15)
    np.testing.assert_allclose(m.frames["tool"].turn((HALF, 0, 0, HALF)), (0, 0, 0, 1), atol=1e-15)


def test_frames_over_time_and_of_a_live_mechanism() -> None:
    m = ct.scenes.pendulum(2, "revolute", angle=0.7)
    m.add_frame("tip", "link2", position=(0.1, 0, -0.5), orientation=(0.6, 0.8, 0, 0))
    m.add_frame("wall", m.world, position=(1, 2, 3))
    simulator = ct.Simulator(m, 0.01)
    run, live = simulator.run(steps=10), simulator.start()
    live.step(10)
    for name in ("tip", "wall"):
        for over_time, at_the_end, now in zip(run.frame(name), run[-1].frame(name), live.frame(name), strict=True):
            assert len(over_time) == 11
            np.testing.assert_allclose(over_time[-1], at_the_end, rtol=0, atol=1e-15)
            np.testing.assert_allclose(now, at_the_end, rtol=0, atol=1e-15)


def test_frames_go_with_their_body() -> None:
    m = marked()
    m.remove_body("link2", cascade=True)
    assert list(m.frames) == ["door"]
    assert m.remove_frame("door").body == "world"
    with pytest.raises(ValueError, match="there is no frame called 'door'"):
        m.remove_frame("door")


def test_limits_are_listed() -> None:
    m = marked()
    assert m.joints["joint1"].limits["angle"] == ct.Limits(-1.0, 1.0, 5.0, inf)
    report = m.report()
    assert report.limited == ("joint1",)
    assert "joint limits: 1 (joint1 -1 to 1 rad)" in str(report)


def test_refusals() -> None:
    m = marked()
    link, joint = m.bodies["link1"], m.joints["joint1"]
    for make, message in (
        (lambda: link.add_shape("bxo", (1, 1, 1)), "there is no kind of shape 'bxo'; did you mean 'box'"),
        (lambda: link.add_shape("box", (1, 1)), r"size of a box must have shape \(3,\)"),
        (lambda: link.add_shape("sphere", (0,)), "size of a sphere must be positive"),
        (lambda: m.world.add_shape("sphere", (0,)), "the world: shape: size of a sphere must be positive"),
        (lambda: link.add_shape("mesh"), "a mesh needs mesh=, the path of its file"),
        (lambda: link.add_shape("mesh", (0, 1, 1), mesh="a"), "factors of a mesh must not be zero"),
        (lambda: link.add_shape("box", (1, 1, 1), mesh="a"), "mesh= is only for shapes of kind 'mesh'"),
        (lambda: link.add_shape("box", (1, 1, 1), color=(2, 0, 0)), "color must be three or four numbers"),
        (lambda: link.add_shape("box", (1, 1, 1), visible=1), "visible must be True or False"),
        (lambda: link.add_shape("box", (1, 1, 1), name=1), "name must be a string"),
        (lambda: m.add_frame("tool", "link1"), "already a frame called 'tool'"),
        (lambda: m.add_frame("link1", "link2"), "only a frame on that body can have it"),
        (lambda: m.add_frame("", "link2"), "a frame's name must be a non-empty string"),
        (lambda: m.add_frame("x", "link3"), "frame 'x': there is no body called 'link3'; did you mean"),
        (lambda: m.frame("tol"), "there is no frame called 'tol'; did you mean 'tool'"),
        (lambda: ct.Limits(1, 0), "lower 1 is above upper 0"),
        (lambda: ct.Limits(effort=-1), "effort must be a non-negative number"),
        (lambda: ct.Limits(lower=float("nan")), "lower must be a number"),
        (lambda: ct.Limits(lower="low"), "lower must be a number"),
        (lambda: setattr(joint, "limits", 3), "limits must be Limits"),
        (lambda: setattr(joint, "limits", {"x": ct.Limits()}), "has no coordinate 'x'; its named coordinates: 'angle'"),
        (lambda: m.snapshot().bodies["link1"].add_shape("sphere", (1,)), "belongs to a simulator"),
        (lambda: m.snapshot().bodies["link1"].clear_shapes(), "belongs to a simulator"),
        (lambda: m.snapshot().world.add_shape("sphere", (1,)), "belongs to a simulator"),
        (lambda: m.snapshot().world.clear_shapes(), "belongs to a simulator"),
        (lambda: m.snapshot().add_frame("x", "link1"), "belongs to a simulator"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(AttributeError, match="belongs to a simulator"):
        m.snapshot().joints["joint1"].limits = ct.Limits()


def test_a_changed_mark_is_seen_by_the_next_snapshot() -> None:
    m = marked()
    for thing in (lambda m: m.bodies["link1"], lambda m: m.world):
        first = m.snapshot()
        assert m.snapshot() is first
        thing(m).add_shape("sphere", (0.1,))
        second = m.snapshot()
        assert second is not first
        assert len(thing(second).shapes) == len(thing(first).shapes) + 1
