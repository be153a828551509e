"""Joint limits as they are seen: marks where a joint stops, lit while it does, in scenes, pages, files and plots."""

from __future__ import annotations

import json
import struct
from math import inf

import numpy as np
import pytest

import catena as ct
from catena import Limits, Mechanism
from catena._util.rotation import rotate
from catena.view.viewer.page import page
from catena.view.viewer.posing import Poser, joint_sliders
from catena.view.viewer.scene import WORLD, Part, Scene, scene_of


def hinged(kind: str) -> Mechanism:
    """A link on a joint of some kind, all of whose coordinates have limits."""
    m = Mechanism()
    m.add_body("link", ct.rod((0.1, 0.2, 0), (0.5, 0.3, 0.2), mass=1.0))
    at, ends = (0.1, 0.2, 0.0), ("world", "link")
    joint = {
        "hinge": lambda: ct.Revolute(*ends, axis=(0, 1, 1), at=at),
        "flipped hinge": lambda: ct.Revolute("link", "world", axis=(0, 1, 1), at=at),
        "slide": lambda: ct.Prismatic(*ends, axis=(1, 1, 0), at=at),
        "flipped slide": lambda: ct.Prismatic("link", "world", axis=(1, 1, 0), at=at),
        "cross": lambda: ct.Universal(*ends, axes=((0, 1, 0), (1, 0, 0)), at=at),
        "sleeve": lambda: ct.Cylindrical(*ends, axis=(0, 1, 1), at=at),
        "plane": lambda: ct.Planar(*ends, axis=(0, 0, 1), at=at),
    }[kind]()
    m.add_joint(joint)
    joint.limits = {name: Limits(-0.7, 0.4) for name in joint.names if name}
    return m


def seen_at(scene: Scene, part: Part) -> np.ndarray:
    """Vertices (v, 3) of a part in the world at the first moment."""
    if part.body == WORLD:
        return part.mesh.vertices
    return scene.position[0, part.body] + rotate(scene.orientation[0, part.body], part.mesh.vertices)


@pytest.mark.parametrize("kind", ["hinge", "flipped hinge", "slide", "flipped slide", "cross", "sleeve", "plane"])
def test_a_joint_at_its_limit_touches_the_mark(kind: str) -> None:
    """The needle or the block comes to the post of that end, and to no other of its coordinate, and the post is lit."""
    m = hinged(kind)
    joint = next(iter(m.joints.values()))
    names = [name for name in joint.names if name]
    for k, (name, bound) in enumerate((name, bound) for name in names for bound in (-0.7, 0.4)):
        coordinates = np.zeros(joint.dof)
        coordinates[joint.names.index(name)] = bound
        state = m.state()
        state.joint(joint).coordinates = coordinates
        scene = scene_of(state._seen())
        assert scene.lit[0].tolist() == [other == k for other in range(2 * len(names))]
        parts = [part for part in scene.parts if part.kind == "limits"]
        # of every end a half of the arc or rail, and a post
        ends = [[part for part in parts if part.mark == mark] for mark in range(scene.lit.shape[1])]
        assert [len(pair) for pair in ends] == [2] * len(ends)
        posts = [seen_at(scene, pair[-1]).mean(axis=0) for pair in ends[2 * (k // 2) : 2 * (k // 2) + 2]]
        if name in ("displacement", "x", "y"):
            places = [seen_at(scene, part) for part in scene.parts if part.kind == "joints" and part.body != WORLD]
            if kind not in ("slide", "flipped slide"):
                continue
            block = np.concatenate(places)
        else:
            needles = [seen_at(scene, part) for part in parts if part.mark < 0]
            block = needles[sum(other in ("angle", "first", "second") for other in names[: k // 2])]
        gaps = [np.linalg.norm(block - post, axis=1).min() for post in posts]
        reach = 0.5 * np.linalg.norm((0.4, 0.1, 0.2))
        assert gaps[k % 2] < 0.12 * reach < 0.3 * reach < gaps[1 - k % 2]


def test_marks_only_where_they_say_something() -> None:
    """Not of whole turns, nor of bounds far away; one end alone has its own."""

    def marks(kind: str, limits: Limits) -> int:
        m = hinged(kind)
        next(iter(m.joints.values())).limits = limits
        return scene_of(m.state()._seen()).lit.shape[1]

    assert marks("hinge", Limits(-np.pi, np.pi)) == marks("hinge", Limits(-7.0, 7.0)) == 0
    assert marks("hinge", Limits(-np.pi, 0.9 * np.pi)) == 2
    assert marks("hinge", Limits(lower=-1.0)) == marks("slide", Limits(upper=0.1)) == 1
    assert marks("slide", Limits(-1e3, 1e3)) == 0
    assert marks("hinge", Limits(effort=3.0)) == 0
    assert marks("hinge", Limits(0.0, 0.0)) == 2


def drop(restitution: float) -> ct.Trajectory:
    m = Mechanism()
    m.add_body("weight", ct.box((0.1, 0.1, 0.1), mass=2.0), position=(0, 0, 0.3))
    m.add_joint(ct.Prismatic("world", "weight", axis=(0, 0, 1), at=(0, 0, 0.3), name="slide"))
    m.joints["slide"].limits = Limits(-0.3, 0.4, restitution=restitution)
    return ct.Simulator(m, 0.01, on_inaccurate="ignore").run(1.2)


def test_stops_are_lit_while_they_act() -> None:
    """In the moment of an impact, a little longer so that it is seen, and as long as something lies there."""
    run = drop(0.6)
    scene = scene_of(run)
    lower, upper = scene.lit.T
    assert not upper.any()
    first = run.impacts[0].time
    assert not lower[scene.time < first].any()
    assert lower[(scene.time >= first) & (scene.time < first + 0.1)].all()
    assert not lower[(scene.time > first + 0.13) & (scene.time < run.impacts[1].time)].any()
    assert lower[-10:].all()
    # nodes far apart and slow motion see the same
    assert scene_of(run[::10]).lit[:, 0].any()


def test_pages_and_files_tell_when_stops_are_lit(tmp_path) -> None:
    run = drop(0.0)
    described = page(scene_of(run)).split('id="scene">')[1].split("</script>")[0]
    parts = [part for part in json.loads(described)["parts"] if part["kind"] == "limits"]
    spans = [part["lit"] for part in parts if "lit" in part]
    hit = run.impacts[0].time
    # two marks, of a half rail and a plate each
    assert len(spans) == 4
    assert sum(bool(span) for span in spans) == 2
    for ((start, end),) in filter(None, spans):
        assert hit <= start < hit + 0.02
        assert end > run.time[-1]

    run.save_gltf(tmp_path / "run.glb")
    data = (tmp_path / "run.glb").read_bytes()
    size = struct.unpack_from("<I", data, 12)[0]
    document, numbers = json.loads(data[20 : 20 + size]), data[28 + size :]
    shown = {}
    for channel in document["animations"][0]["channels"]:
        if channel["target"]["path"] != "scale":
            continue
        sampler = document["animations"][0]["samplers"][channel["sampler"]]
        assert sampler["interpolation"] == "STEP"
        view = document["bufferViews"][document["accessors"][sampler["output"]]["bufferView"]]
        values = np.frombuffer(numbers, "<f4", view["byteLength"] // 4, view["byteOffset"]).reshape(-1, 3)
        shown.setdefault(document["nodes"][channel["target"]["node"]]["name"], []).append(values[:, 0])
    (plain, glowing) = shown["limits of slide"], shown["limits of slide, acting"]
    assert len(plain) == len(glowing) == 2
    for off, on in zip(plain, glowing, strict=True):
        np.testing.assert_array_equal(off + on, 1.0)
        np.testing.assert_array_equal(on > 0, scene_of(run).time >= hit)


def test_impacts_that_take_energy_are_no_error() -> None:
    def titles(run: ct.Trajectory) -> list[str]:
        return [plot.title for plot in scene_of(run).plots]

    error = "energy error / energy in motion"
    assert error not in titles(drop(0.5))
    assert error in titles(drop(1.0))
    untouched = drop(0.5)[:20]
    assert error in titles(ct.Simulator(untouched.mechanism, 0.01).run(0.1))


def test_sliders_do_not_go_beyond_hard_limits() -> None:
    """Their ends are rounded to three digits, and one of a joint that cannot move has a way to go."""
    m = hinged("hinge")
    joint = next(iter(m.joints.values()))
    for limits in (Limits(-0.12344, 0.56789), Limits(0.0, 0.0)):
        joint.limits = limits
        (slider,) = joint_sliders(m, m.state(), 1.0)
        for value in (slider.lower, slider.upper):
            state = Poser(m).moved(m.state(), joint.name, 0, value)
            assert limits.beyond(state.joint(joint).angle) < 1e-12
            assert ct.Simulator(m, 0.01).run(steps=1, state=state).status.ok
    joint.limits = Limits(-0.1, 0.1, stiffness=10.0)
    assert Poser(m).moved(m.state(), joint.name, 0, 0.3).joint(joint).angle == pytest.approx(0.3)


def test_plots_of_coordinates_show_limits_nearby() -> None:
    pytest.importorskip("matplotlib")
    run = drop(0.5)
    lines = ct.plot.coordinates(run).axes[0].lines
    assert len(lines) == 2
    np.testing.assert_array_equal(lines[1].get_ydata(), -0.3)
    m = run.mechanism.copy()
    m.joints["slide"].limits = Limits(-inf, 0.2)
    assert len(ct.plot.coordinates(ct.Simulator(m, 0.01).run(0.1)).axes[0].lines) == 1
