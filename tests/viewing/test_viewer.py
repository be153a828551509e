"""What is seen of mechanisms: scenes, pages, glTF files, films, and joints that are moved with sliders."""

import http.client
import itertools
import json
import re
import socket
import struct
import sys
import time
from base64 import b64decode
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catena as ct
from catena import plot
from catena.results.analysis import keeps_energy
from catena.view.viewer import solids
from catena.view.viewer.looks import GROUND, Looks, inertia_box, rgb
from catena.view.viewer.page import page
from catena.view.viewer.posing import Poser, input_sliders, joint_sliders
from catena.view.viewer.scene import WORLD, scene_of


def linkage() -> ct.Mechanism:
    """A four-bar linkage of rods, with a tool on its coupler."""
    a, b, c, d = (0, 0, 0), (0.3, 0, 0), (1.2, 0, 0.4), (0.9, 0, 0)
    m = ct.Mechanism()
    for name, start, end in (("crank", a, b), ("coupler", b, c), ("rocker", c, d)):
        m.add_body(name, ct.rod(start, end, mass=0.5))
    hinges = (("world", "crank", a), ("crank", "coupler", b), ("coupler", "rocker", c), ("rocker", "world", d))
    for name, (one, other, place) in zip(("motor", "elbow", "knee", "foot"), hinges, strict=True):
        m.add_joint(ct.Revolute(one, other, axis=(0, 1, 0), at=place, name=name))
    m.add_frame("tool", "coupler", position=(0.1, 0, 0.2))
    return m


def run_of(m: ct.Mechanism, duration: float = 0.5) -> ct.Trajectory:
    return ct.Simulator(m, dt=0.02).run(duration=duration)


# ---- triangles


def volume(mesh: solids.Mesh) -> float:
    """By the divergence theorem: negative where triangles are seen from inside."""
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    return float(np.einsum("ti,ti->t", a, np.cross(b, c)).sum() / 6)


def edges(mesh: solids.Mesh) -> dict[tuple[int, int], int]:
    """How often every edge is passed, vertices at one place being one."""
    _, one = np.unique(mesh.vertices.round(9), axis=0, return_inverse=True)
    triangles = one.reshape(-1)[mesh.triangles]
    found: dict[tuple[int, int], int] = {}
    for triangle in triangles.tolist():
        for k in range(3):
            edge = triangle[k], triangle[(k + 1) % 3]
            found[edge] = found.get(edge, 0) + 1
    return found


SHAPES = {
    "box": (0.3, 0.5, 0.7),
    "cylinder": (0.2, 0.6),
    "sphere": (0.4,),
    "capsule": (0.2, 0.6),
    "ellipsoid": (0.1, 0.2, 0.3),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_shapes_are_closed_and_as_large_as_they_are(kind):
    m = ct.Mechanism()
    size = SHAPES[kind]
    shape = m.add_body("a", ct.Inertia(1.0, (1, 1, 1))).add_shape(
        kind, size, position=(1, 2, 3), orientation=(0.5, 0.5, 0.5, 0.5)
    )
    ((mesh, color),) = solids.solid(shape)
    assert color is None
    true = {
        "box": np.prod(size),
        "cylinder": np.pi * size[0] ** 2 * size[-1],
        "sphere": 4 / 3 * np.pi * size[0] ** 3,
        "capsule": np.pi * size[0] ** 2 * size[-1] + 4 / 3 * np.pi * size[0] ** 3,
        "ellipsoid": 4 / 3 * np.pi * np.prod(size),
    }[kind]
    # corners lie on the surface, so a round one of 28 sides is smaller by some percent
    assert 0.97 * true < volume(mesh.placed(-shape.position)) < (1 + 1e-12) * true
    passed = edges(mesh)
    assert all(count == 1 and passed[b, a] == 1 for (a, b), count in passed.items())
    np.testing.assert_allclose(mesh.vertices.mean(axis=0), shape.position, atol=1e-9)
    normals = mesh.normals()
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    assert np.einsum("vi,vi->v", normals, mesh.vertices - shape.position).min() > 0


def test_a_mirrored_mesh_is_still_seen_from_outside():
    assert volume(solids.box((1, 2, 3)).scaled((-1, 1, 1))) == pytest.approx(6.0)


@settings(deadline=None)
@given(st.tuples(*[st.floats(0.1, 2.0)] * 3))
def test_a_body_without_shapes_is_seen_as_the_box_of_its_inertia(edges):
    shape = ct.box(edges, mass=2.0)
    m = ct.Mechanism()
    body = m.add_body("a", shape.inertia)
    np.testing.assert_allclose(np.sort(np.ptp(inertia_box(body).vertices, axis=0)), np.sort(edges), rtol=1e-6)
    (mesh, color), *others = Looks(m).of(body)[0]
    assert color is None
    assert not others
    assert volume(mesh) == pytest.approx(np.prod(edges), rel=1e-6)


@settings(deadline=None)
@given(st.tuples(*[st.floats(-0.1, 0.1)] * 3))
def test_a_body_without_shapes_reaches_its_joints(place):
    m = ct.Mechanism()
    m.add_body("a", ct.Inertia(1.0, (1, 1, 1)))
    m.add_joint(ct.Ball("world", "a", at=place))
    m.add_joint(ct.Ball("world", "a", at=(0.3, 0, 0.1)))
    m.add_force(ct.PointSpring("world", "a", 1.0, points=((1, 1, 1), (0, -0.2, 0))))
    ((mesh, _),), _ = Looks(m).of(m.bodies["a"])
    # within the bar's own radius
    assert np.linalg.norm(mesh.vertices - place, axis=1).min() < 0.02
    assert np.linalg.norm(mesh.vertices - (0.3, 0, 0.1), axis=1).min() < 0.02
    assert np.linalg.norm(mesh.vertices - (0, -0.2, 0), axis=1).min() < 0.02


# ---- scenes


def test_bodies_are_where_the_run_has_them():
    m = linkage()
    m.bodies["crank"].add_shape("box", (0.1, 0.2, 0.3), position=(0, 0, 0.2), color=(1, 0, 0, 0.5), name="flag")
    m.bodies["crank"].add_shape("sphere", (5.0,), visible=False)
    run = run_of(m)
    scene = scene_of(run, ["tool", "rocker"])
    assert scene.bodies == tuple(m.bodies)
    np.testing.assert_array_equal(scene.position, run.position)
    assert "frames" not in scene.hidden
    flag = next(part for part in scene.parts if part.color == (1, 0, 0, 0.5))
    assert (flag.name, flag.kind, flag.body) == ("crank", "bodies", 0)
    np.testing.assert_allclose(np.ptp(flag.mesh.vertices, axis=0), (0.1, 0.2, 0.3))
    assert max(np.abs(part.mesh.vertices).max() for part in scene.parts) < 2

    # a frame leaves the trace that the state knows, a body that of its center
    tool, rocker = scene.traces
    np.testing.assert_allclose(scene.places(tool)[-1], run[-1].frame("tool")[0], atol=1e-14)
    np.testing.assert_allclose(scene.places(rocker), run.body("rocker").position, atol=1e-14)

    # all that moves stays within the box
    places = np.concatenate([scene.places(label) for label in scene.labels])
    assert (places > scene.low - 1e-9).all()
    assert (places < scene.high + 1e-9).all()


def test_shapes_of_the_world_stand_still(tmp_path):
    m = linkage()
    m.world.add_shape("box", (0.9, 0.03, 0.03), position=(0.45, 0, 0))
    m.world.add_shape("sphere", (0.1,), position=(0, 0, -0.5), color=(1, 0, 0, 0.5))
    m.world.add_shape("sphere", (5.0,), visible=False)
    m.world.add_shape("mesh", mesh="nowhere.stl")
    scene = scene_of(run_of(m))
    bar, ball = (part for part in scene.parts if part.body == WORLD and part.kind == "bodies")
    assert (bar.name, bar.color, ball.color) == ("world", rgb(GROUND), (1, 0, 0, 0.5))
    np.testing.assert_allclose(np.ptp(bar.mesh.vertices, axis=0), (0.9, 0.03, 0.03))
    np.testing.assert_allclose(ball.mesh.vertices.mean(axis=0), (0, 0, -0.5), atol=1e-12)
    assert scene.notes == ["the world: its mesh is not drawn: there is no file 'nowhere.stl'."]

    # in pages and in files for other tools they belong to what does not move
    found = json.loads(re.search(r'id="scene">(.*?)</script>', page(scene), re.DOTALL)[1])
    assert [part["body"] for part in found["parts"] if part["name"] == "world"] == [WORLD, WORLD]
    run_of(m).save_gltf(tmp_path / "run.glb")
    document, _ = glb(tmp_path / "run.glb")
    node = next(node for node in document["nodes"] if node["name"] == "world")
    assert [document["nodes"][k]["name"] for k in node["children"]][:2] == ["bodies of world"] * 2
    moved = {channel["target"]["node"] for channel in document["animations"][0]["channels"]}
    assert document["nodes"].index(node) not in moved


@pytest.mark.parametrize("floor", [(100, 100, 0.1), (0.1, 0.1, 40)])
def test_what_is_vast_does_not_make_the_mechanism_a_dot(floor):
    m = linkage()
    bare = scene_of(run_of(m))
    m.world.add_shape("box", floor, position=(0, 0, -1))
    m.world.add_shape("sphere", (0.1,), position=(70, 0, 0))
    scene = scene_of(run_of(m))
    assert len(scene.parts) == len(bare.parts) + 2
    np.testing.assert_array_equal((scene.low, scene.high), (bare.low, bare.high))


@settings(deadline=None)
@given(st.tuples(*[st.floats(0.01, 100)] * 3), st.tuples(*[st.floats(-100, 100)] * 3))
def test_the_view_holds_what_is_no_more_than_three_times_as_large(size, position):
    """A shape is in it altogether or does not count; either way the mechanism fills a third of it or more."""
    m = linkage()
    bare = scene_of(m.state()._seen())
    m.world.add_shape("box", size, position=position)
    scene = scene_of(m.state()._seen())
    corners = np.array(position) + 0.5 * np.outer((-1, 1), size)
    low, high = np.minimum(bare.low, corners[0]), np.maximum(bare.high, corners[1])
    assert scene.size <= 3 * bare.size
    if np.linalg.norm(high - low) <= (3 - 1e-9) * bare.size:
        np.testing.assert_allclose((scene.low, scene.high), (low, high))
    else:
        np.testing.assert_array_equal((scene.low, scene.high), (bare.low, bare.high))


def test_a_world_without_bodies_is_seen_as_large_as_it_is():
    m = ct.Mechanism()
    m.world.add_shape("box", (100, 50, 1))
    scene = scene_of(m.state()._seen())
    np.testing.assert_allclose((scene.low, scene.high), ((-50, -25, -0.5), (50, 25, 0.5)))


def test_a_frame_for_every_link_is_shown_only_if_asked_for():
    m = linkage()
    m.add_frame("crank", "crank", position=(0, 0, 0.1))
    scene = scene_of(m.state()._seen())
    assert "frames" in scene.hidden
    assert {part.name for part in scene.parts if part.kind == "frames"} == {"crank", "tool"}
    assert [label.name for label in scene.labels if label.kind == "frames"] == ["tool"]


def test_a_link_that_its_file_does_not_show_is_not_seen():
    m = linkage()
    m.add_body("mount", ct.Inertia(0.1, (1, 1, 1)))
    m.add_joint(ct.Fixed("crank", "mount", at=(0, 0, 0)))
    assert "mount" in {part.name for part in scene_of(m.state()._seen()).parts}
    m.add_frame("mount", "mount")
    assert "mount" not in {part.name for part in scene_of(m.state()._seen()).parts if part.kind == "bodies"}


def test_members_of_a_batch_are_seen_without_reactions():
    batch = ct.Simulator(linkage(), dt=0.01).run_batch(states=[linkage().state()], duration=0.1)
    assert scene_of(batch[0]).arrows == []


def test_arrows_are_reactions_and_plots_are_those_of_the_run():
    run = run_of(linkage())
    scene = scene_of(run)
    for arrow in scene.arrows:
        sign = -1 if run.mechanism.joints[arrow.joint].b.is_world else 1
        np.testing.assert_allclose(arrow.force, sign * run.joint(arrow.joint).force)
    energy, error, gap, steps = scene.plots
    np.testing.assert_array_equal(dict(energy.curves)["total"], run.energy())
    np.testing.assert_array_equal(error.curves[0][1], run.energy_error())
    assert gap.logarithmic
    assert (gap.curves[0][1] > 0).all()
    np.testing.assert_array_equal(steps.curves[0][1][1:], np.maximum(run.error, 1e-18))


def lifted(t: float) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
    return (0.0, 0.0, 0.1 * t), (1.0, 0.0, 0.0, 0.0)


# what feeds or takes energy, and what only moves it around
WORK = {
    "damper": lambda m: m.add_force(ct.Damper("motor", 0.1)),
    "damped spring": lambda m: m.add_force(ct.Spring("motor", 1.0, damping=0.1)),
    "friction": lambda m: m.add_force(ct.Friction("motor", 0.1)),
    "servo": lambda m: m.add_force(ct.Servo("motor", kp=1.0)),
    "motor": lambda m: m.add_force(ct.Motor("motor", 0.1)),
    "motor over time": lambda m: m.add_force(ct.Motor("motor", lambda t: t)),
    "drive": lambda m: m.add_coupling(ct.PrescribedMotion("motor", lambda t: 0.1 * t)),
    "moving ground": lambda m: [setattr(m.joints[name], "ground", lifted) for name in ("motor", "foot")],
    "asked velocity": lambda m: m.add_joint(
        ct.VelocityRows("world", "crank", lambda a, b: np.eye(12)[10], value=(0.1,), name="led")
    ),
}
NO_WORK = {
    "spring": lambda m: m.add_force(ct.PointSpring("crank", "rocker", 1.0, anchors=np.zeros((2, 3)))),
    "rotor": lambda m: m.add_force(ct.Armature("motor", 0.1)),
    "idle motor": lambda m: m.add_force(ct.Motor("motor", 0.0)),
    "gear": lambda m: m.add_coupling(ct.Gear("motor", "foot", 1.0)),
    "held velocity": lambda m: m.add_joint(
        ct.VelocityRows("world", "crank", lambda a, b: np.eye(12)[10], value=(0.0,), name="held")
    ),
}


@pytest.mark.parametrize("what", [*WORK, *NO_WORK])
def test_energy_has_an_error_only_where_it_should_be_kept(what):
    m = linkage()
    (WORK | NO_WORK)[what](m)
    assert keeps_energy(m.state()._seen()) == (what in NO_WORK)


def test_energy_has_no_error_where_a_control_acts():
    pytest.importorskip("matplotlib")
    m = linkage()
    m.add_force(ct.Motor("motor", 0.0, name="torque"))
    simulator = ct.Simulator(m, dt=0.02)
    error = "energy error / energy in motion"
    for control, is_shown in (
        (lambda t, live: {"crank": (0, 0, 1)}, False),
        (lambda t, live: live.set(torque=1.0), False),
        (lambda t, live: None, True),
    ):
        run = simulator.run(0.1, control=control)
        assert (error in [plot.title for plot in scene_of(run).plots]) == is_shown
        assert len(plot.overview(run).axes) == 3 + is_shown


def test_a_live_mechanism_that_is_driven_has_no_energy_error():
    pytest.importorskip("viser", reason="no viser")
    for control, titles in ((None, 3), (lambda live: None, 2)):
        live = ct.Simulator(linkage(), dt=0.01).start()
        with live.show(browser=False, control=control) as view:
            assert len(view._scene.plots) == titles


def test_small_numbers_of_a_plot_are_told_in_powers_of_ten():
    """The axes of its plots have three digits behind the point."""
    pytest.importorskip("viser", reason="no viser")
    run = run_of(linkage())
    with run.show(browser=False) as view:
        error = view._charts[1]._handle
        power = int(error.title.removeprefix("energy error / energy in motion, in 1e"))
        assert 1 <= error.data[1].max() < 10
        np.testing.assert_allclose(error.data[1] * 10.0**power, run.energy_error())
        energy = view._charts[0]._handle
        assert energy.title == "energy [J]"
        np.testing.assert_array_equal(energy.data[3], run.energy())


def test_nodes_that_are_far_apart_are_seen_to_move():
    """A run with an accuracy has nodes every tenth of a second, and is no jumble of pictures."""
    run = ct.Simulator(linkage(), accuracy=1e-4).run(5.0)
    assert np.diff(run.time).max() > 1 / 30
    scene = scene_of(run)
    assert np.diff(scene.time).max() < 1 / 30
    exact = ct.Simulator(linkage(), accuracy=1e-8).run(t_eval=scene.time)
    assert np.abs(scene.position - exact.position).max() < 1e-3
    assert len(scene.arrows[0].force) == len(scene.plots[2].curves[0][1]) == len(scene.time)
    # gaps are those of nodes
    assert scene.plots[2].curves[0][1].max() < 1e-12


@pytest.mark.parametrize("dt", [0.001, 0.01])
def test_no_more_nodes_are_shown_than_a_screen_has_pictures(dt):
    run = ct.Simulator(ct.scenes.pendulum(1), dt=dt).run(duration=1.0)
    scene = scene_of(run)
    assert 30 <= len(scene.time) - 1 <= 60
    assert np.isin(scene.time, run.time).all()


def test_springs_and_rods_are_lines():
    m = linkage()
    m.add_force(ct.PointSpring("crank", "rocker", 10.0, anchors=((0, 0, 0.1), (0, 0, 0)), name="spring"))
    m.add_body("bob", ct.sphere(0.1, mass=1.0), position=(0, 1, -1))
    m.add_joint(ct.Distance("world", "bob", points=((0, 1, 0), (0, 1, -1)), name="string"))
    run = run_of(m)
    scene = scene_of(run)
    assert {line.name for line in scene.lines} == {"spring", "string"}
    string = next(line for line in scene.lines if line.name == "string")
    assert string.a.body == WORLD
    np.testing.assert_allclose(np.linalg.norm(scene.places(string.b) - scene.places(string.a), axis=1), 1.0)


def test_meshes_are_read_and_what_cannot_be_read_is_said(tmp_path):
    pytest.importorskip("trimesh")
    lines = ["solid a"]
    for triangle in solids.box((2, 2, 2)).vertices[solids.box((2, 2, 2)).triangles]:
        corners = [f"vertex {' '.join(map(str, corner))}" for corner in triangle]
        lines += ["facet normal 0 0 0", "outer loop", *corners, "endloop", "endfacet"]
    (tmp_path / "cube.stl").write_text("\n".join([*lines, "endsolid a"]))
    (tmp_path / "broken.stl").write_text("solid nothing\nendsolid nothing")
    m = ct.Mechanism()
    body = m.add_body("a", ct.Inertia(1.0, (1, 1, 1)))
    body.add_shape("mesh", (0.5, 1, 2), mesh=str(tmp_path / "cube.stl"))
    (mesh, _), *_ = Looks(m).of(body)[0]
    np.testing.assert_allclose(np.ptp(mesh.vertices, axis=0), (1, 2, 4))
    assert mesh.flat

    # a file with colors has one part for each
    (tmp_path / "cube.mtl").write_text("newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n")
    faces = "usemtl red\nf 1 2 3\nusemtl blue\nf 1 3 4\nusemtl red\nf 1 4 2\n"
    (tmp_path / "cube.obj").write_text("mtllib cube.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n" + faces)
    body.clear_shapes()
    body.add_shape("mesh", mesh=str(tmp_path / "cube.obj"))
    colors = {color: len(mesh.triangles) for mesh, color in Looks(m).of(body)[0]}
    assert colors == {(1, 0, 0, 1): 2, (0, 0, 1, 1): 1}
    body.clear_shapes()
    body.add_shape("mesh", mesh=str(tmp_path / "cube.obj"), color=(0, 1, 0))
    assert {color for _, color in Looks(m).of(body)[0]} == {(0, 1, 0, 1)}

    body.clear_shapes()
    body.add_shape("mesh", mesh=str(tmp_path / "none.stl"))
    body.add_shape("mesh", mesh=str(tmp_path / "broken.stl"))
    missing, broken = scene_of(m.state()._seen()).notes
    assert re.match(r"body 'a': its mesh is not drawn: there is no file '.*none.stl'", missing)
    assert re.match(r"body 'a': its mesh is not drawn: '.*broken.stl' (has no triangles|cannot be read)", broken)


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match=r"'page\.html' is called like a file"):
        linkage().save_html("page.html")
    m = linkage()
    run = run_of(m)
    (tmp_path / "file").write_text("")
    for make, message in (
        (lambda: run[:0].save_html(tmp_path), "nothing to show: the trajectory has no nodes"),
        (lambda: run.save_html(tmp_path, traces=["tol"]), "there is no frame called 'tol'; did you mean 'tool'"),
        (lambda: run.save_html(tmp_path / "file"), "a page is index.html in a folder, and '.*file' is a file"),
        (lambda: run.save_gltf(tmp_path / "run.obj"), "end in .glb or .gltf, got 'run.obj'"),
        (lambda: run.save_video(tmp_path / "run.txt"), "end in .mp4, .*, got 'run.txt'"),
        (lambda: run.save_video(tmp_path / "run.mp4", fps=0), "fps and speed must be positive, got 0"),
        (lambda: run[:0].save_video(tmp_path / "run.mp4"), "nothing to show"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize(
    ("library", "see", "extra"),
    [
        ("viser", lambda run, path: run.show(browser=False), r"catena\[view\]"),
        ("imageio_ffmpeg", lambda run, path: run.save_video(path / "run.mp4"), r"catena\[video\]"),
    ],
)
def test_what_is_not_installed_is_said(library, see, extra, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"which is not installed: pip install .*{extra}"):
        see(run_of(linkage()), tmp_path)


# ---- pages and files


def test_a_page_needs_nothing_else_and_names_cannot_break_it(tmp_path):
    m = linkage()
    m.add_body("</script><b>\u2028", ct.sphere(0.1, mass=1.0))
    run = run_of(m)
    written = run.save_html(tmp_path / "new" / "folder", traces=["tool"])
    assert written == tmp_path / "new" / "folder" / "index.html"
    text = written.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=\"(?!data:)|url\(|import ", text)
    data = re.search(r'<script type="application/json" id="scene">(.*?)</script>', text, re.DOTALL)
    found = json.loads(data[1])
    assert found["bodies"] == list(m.bodies)
    position = np.frombuffer(b64decode(found["position"]), dtype="<f4").reshape(run.position.shape)
    np.testing.assert_allclose(position, run.position, atol=1e-6)
    assert all(part["mesh"] < len(found["meshes"]) for part in found["parts"])


def test_links_that_are_alike_share_their_triangles(tmp_path):
    sizes = []
    for count in (3, 30):
        run = ct.Simulator(ct.scenes.pendulum(count), dt=0.01).run(steps=1)
        run.save_gltf(tmp_path / "run.glb")
        _, numbers = glb(tmp_path / "run.glb")
        sizes.append((page(scene_of(run)).count('"vertices"'), len(numbers)))
    (few, small), (many, large) = sizes
    # of every link the same shape and the same sign for its joint, and its own poses; of the first also the bearing
    assert many == few
    assert large - small < 27 * 200


def slanting(count: int, end: tuple[float, float, float]) -> ct.Mechanism:
    """Rods from the origin towards a point, alike but for the rounding of their ends."""
    m = ct.Mechanism()
    points = np.linspace((0, 0, 0), end, count + 1)
    for k, (a, b) in enumerate(itertools.pairwise(points)):
        m.add_body(f"rod{k}", ct.rod(a, b, mass=0.1))
        m.add_joint(ct.Revolute(f"rod{k - 1}" if k else "world", f"rod{k}", axis=(0, 1, 0), at=a))
    return m


@pytest.mark.parametrize("end", [(7, 0, 3), (2.9, 0, -4.4), (6, 0, 0), (0.6, 0, 0.8)])
def test_links_that_rounding_alone_tells_apart_share_their_triangles(tmp_path, end):
    still = slanting(60, end).state()._seen()
    # of the rods, of their pins, one less long at either end, of the bearing, of shaft and head of arrows
    assert page(scene_of(still)).count('"vertices"') <= 6
    still.save_gltf(tmp_path / "rods.glb")
    document, _ = glb(tmp_path / "rods.glb")
    used = {p["attributes"]["POSITION"] for mesh in document["meshes"] for p in mesh["primitives"]}
    assert len(used) <= 4


@settings(deadline=None)
@given(st.floats(1e-6, 1e6), st.floats(-1e-15, 1e-15))
def test_rounding_moves_a_mesh_by_less_than_is_seen(size, noise):
    mesh = solids.capsule(size, 3 * size)
    # it reaches 2.5 times as far as it is thick
    np.testing.assert_allclose(mesh.rounded().vertices, mesh.vertices, rtol=0, atol=1e-9 * 2.5 * size)
    other = solids.capsule(size * (1 + noise), 3 * size).placed((noise * size, 0, 0))
    near = np.abs(other.rounded().vertices - mesh.rounded().vertices)
    # what lies between two grid points may go to either
    assert (near > 0).mean() < 0.01


def test_a_still_page_has_no_plots():
    assert '"plots":[]' in page(scene_of(linkage().state()._seen()))


def glb(path) -> tuple[dict, bytes]:
    """The two chunks of a file."""
    data = path.read_bytes()
    magic, version, length = struct.unpack_from("<III", data)
    assert (magic, version, length) == (0x46546C67, 2, len(data))
    size, kind = struct.unpack_from("<II", data, 12)
    assert kind == 0x4E4F534A
    assert size % 4 == 0
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def accessor(document, numbers, index):
    found = document["accessors"][index]
    view = document["bufferViews"][found["bufferView"]]
    dtype = {5126: "<f4", 5125: "<u4"}[found["componentType"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[found["type"]]
    assert view["byteOffset"] % 4 == 0
    return np.frombuffer(numbers, dtype, found["count"] * width, view["byteOffset"]).reshape(-1, width)


def test_gltf_moves_bodies_as_the_run_does(tmp_path):
    run = run_of(linkage())
    run.save_gltf(tmp_path / "run.glb", traces=["tool"])
    document, numbers = glb(tmp_path / "run.glb")
    assert document["buffers"] == [{"byteLength": len(numbers)}]
    animation = document["animations"][0]
    seen = set()
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        name, path = document["nodes"][channel["target"]["node"]]["name"], channel["target"]["path"]
        time, values = (accessor(document, numbers, sampler[key]) for key in ("input", "output"))
        np.testing.assert_allclose(time[:, 0], run.time, atol=1e-6)
        body = run.body(name)
        if path == "translation":
            np.testing.assert_allclose(values, body.position, atol=1e-6)
        else:
            turns = np.roll(values, 1, axis=1)
            np.testing.assert_allclose(np.abs(np.einsum("sk,sk->s", turns, body.orientation)), 1.0, atol=1e-6)
            assert np.einsum("sk,sk->s", turns[1:], turns[:-1]).min() > 0
        seen.add((name, path))
    assert seen == {(name, path) for name in run.mechanism.bodies for path in ("translation", "rotation")}


def test_gltf_is_read_by_others(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    m = linkage()
    scene = scene_of(m.state()._seen())
    m.save_gltf(tmp_path / "still.glb")
    m.save_gltf(tmp_path / "still.gltf")
    for name in ("still.glb", "still.gltf"):
        found = trimesh.load(tmp_path / name)
        assert len(found.geometry) == len(scene.parts)
        # y is up there; frames reach beyond the box of what is seen
        low, high = found.bounds
        assert high[1] >= scene.high[2] - 1e-6
        assert low[0] <= scene.low[0] + 1e-6
    pygltflib = pytest.importorskip("pygltflib")
    assert pygltflib.GLTF2().load(str(tmp_path / "still.glb")).animations == []


def test_bodies_that_are_called_like_other_nodes_are_animated(tmp_path):
    m = ct.Mechanism()
    for name in ("catena", "a", "bodies of a"):
        m.add_body(name, ct.sphere(0.1, mass=1.0), velocity=(1, 0, 0))
    run_of(m).save_gltf(tmp_path / "run.glb")
    document, _ = glb(tmp_path / "run.glb")
    moved = {channel["target"]["node"] for channel in document["animations"][0]["channels"]}
    assert moved == set(document["nodes"][0]["children"])
    assert all("mesh" not in document["nodes"][node] for node in moved)


def test_a_gif_plays_for_ever(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("matplotlib")
    run = run_of(linkage())
    run.save_video(tmp_path / "run.gif", fps=10, pixels=120)
    with image.open(tmp_path / "run.gif") as film:
        seconds = run.time[-1] - run.time[0]
        assert film.n_frames == pytest.approx(10 * seconds + 1, abs=1)
        assert max(film.size) == pytest.approx(120, abs=2)
        assert film.info["loop"] == 0
        # the same colors from beginning to end
        colors = set()
        for frame in range(film.n_frames):
            film.seek(frame)
            colors |= {color for _, color in film.convert("RGB").getcolors()}
        assert len(colors) <= 32


def test_a_film_is_as_long_as_the_run(tmp_path):
    encoder = pytest.importorskip("imageio_ffmpeg")
    pytest.importorskip("matplotlib")
    run = run_of(linkage(), duration=0.4)
    run.save_video(tmp_path / "run.mp4", fps=10, speed=0.5, pixels=160)
    frames, seconds = encoder.count_frames_and_secs(str(tmp_path / "run.mp4"))
    assert frames == 9
    assert seconds == pytest.approx(0.9, abs=0.05)


# ---- sliders


@pytest.mark.parametrize(
    ("joint", "names", "extent"),
    [
        (lambda: ct.Universal("world", "a", axes=((1, 0, 0), (0, 1, 0)), at=(0, 0, 0)), ("first", "second"), (1, 1, 1)),
        (lambda: ct.Screw("world", "a", axis=(0, 0, 1), pitch=0.1, at=(0, 0, 0)), ("angle",), (0.2, 0.2, 1)),
    ],
)
def test_joints_whose_motion_turns_with_them_have_sliders_and_signs(joint, names, extent):
    m = ct.Mechanism()
    m.add_body("a", ct.box((0.1, 0.1, 0.1), mass=1.0))
    kind = m.add_joint(joint())
    sliders = joint_sliders(m, m.state(), 3.0)
    assert [slider.name for slider in sliders] == [f"{kind.name}.{name}" for name in names]
    assert all(slider.upper == pytest.approx(np.pi, abs=1e-3) for slider in sliders)
    # a cross is a ball, a thread a long pin
    sign, *_ = (part.mesh for part in scene_of(m.state()._seen()).parts if part.kind == "joints")
    size = np.ptp(sign.vertices, axis=0)
    np.testing.assert_allclose(size / size.max(), extent, atol=0.05)


def test_sliders_keep_to_limits_and_reach_all_coordinates():
    m = linkage()
    m.joints["motor"].limits = ct.Limits(-0.5, 1.5)
    m.joints["elbow"].limits = ct.Limits(lower=4.0)
    m.add_body("car", ct.box((0.1, 0.1, 0.1), mass=1.0))
    m.add_joint(ct.Prismatic("world", "car", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_force(ct.Servo("rail", kp=10.0, target=0.2, name="servo"))
    m.add_force(ct.Motor("motor", 1.0, name="torque"))
    sliders = joint_sliders(m, m.state(), 3.0)
    ends = {slider.name: (slider.lower, slider.upper) for slider in sliders}
    assert tuple(ends) == m.coordinates
    assert ends["motor.angle"] == (-0.5, 1.5)
    assert ends["rail.displacement"] == (-3.0, 3.0)
    assert ends["knee.angle"] == pytest.approx((-np.pi, np.pi), abs=1e-3)
    assert ends["elbow.angle"] == pytest.approx((4.0, 4.0 + np.pi), abs=1e-3)
    m.joints["elbow"].limits = ct.Limits(0.0, 0.0)
    state = Poser(m.snapshot()).moved(m.state(), "rail", 0, 7.0)
    ends = {slider.name: (slider.lower, slider.upper) for slider in joint_sliders(m, state, 3.0)}
    assert ends["rail.displacement"] == (4.0, 10.0)
    assert ends["elbow.angle"][0] < 0 < ends["elbow.angle"][1]
    servo, torque = input_sliders(m, np.array((0.2, 1.0)), {"torque": (-4.0, 4.0)})
    assert (torque.lower, torque.upper) == (-4.0, 4.0)
    assert servo.lower < 0.2 < servo.upper
    with pytest.raises(ValueError, match="no input called 'torqe'; did you mean 'torque'"):
        input_sliders(m, np.array((0.2, 1.0)), {"torqe": (-4.0, 4.0)})


# a loop is assembled in many strides, and a machine may have other things to do
@settings(deadline=None, max_examples=30)
@given(st.floats(-3.0, 3.0))
def test_a_loop_follows_the_joint_that_is_moved(angle):
    m = linkage().snapshot()
    state = Poser(m).moved(m.state(), "motor", 0, angle)
    assert state.joint("motor").angle == pytest.approx(angle, abs=1e-9)
    assert max(state.joint(name).gap for name in m.joints) < 1e-9


def test_what_hangs_on_a_joint_goes_along_and_the_rest_stays():
    m = linkage()
    names = m.add(ct.scenes.pendulum(3, "revolute"), prefix="arm ", at=(0, 1, 0))
    m = m.snapshot()
    joint = names.joints["joint2"]
    before = m.state()
    after = Poser(m).moved(before, joint, 0, 0.7)
    still = [name for name in m.bodies if name not in ("arm link2", "arm link3")]
    for name in still:
        np.testing.assert_array_equal(after.body(name).position, before.body(name).position)
    assert after.joint(joint).angle == pytest.approx(0.7)
    assert after.joint("arm joint3").angle == pytest.approx(before.joint("arm joint3").angle)

    # and a loop that moves leaves the arm where it is
    moved = Poser(m).moved(after, "motor", 0, 0.3)
    np.testing.assert_allclose(moved.body("arm link3").position, after.body("arm link3").position, atol=1e-9)


def test_gears_follow():
    m = ct.Mechanism()
    for name, x in (("a", 0.0), ("b", 1.0)):
        m.add_body(name, ct.cylinder(0.3, 0.1, mass=1.0), position=(x, 0, 0))
        m.add_joint(ct.Revolute("world", name, axis=(0, 0, 1), at=(x, 0, 0), name=f"axle {name}"))
    m.add_coupling(ct.Gear("axle a", "axle b", ratio=-2.0))
    m = m.snapshot()
    state = Poser(m).moved(m.state(), "axle a", 0, 0.5)
    assert state.joint("axle b").angle == pytest.approx(-1.0)


def test_where_a_joint_cannot_go_is_said():
    m = linkage().snapshot()
    with pytest.raises(ct.AssemblyError, match="knee"):
        Poser(m).moved(m.state(), "knee", 0, 2.5)


# ---- views; what is clicked on them is tested in a browser


@pytest.fixture
def viser():
    return pytest.importorskip("viser", reason="no viser")


def test_a_loop_of_ones_own_keeps_to_the_clock(viser, monkeypatch):
    from catena.view.viewer import server

    # a clock that goes on by 2 ms whenever it is read
    readings = itertools.count(1)
    monkeypatch.setattr(server, "time", SimpleNamespace(monotonic=lambda: 0.002 * next(readings)))
    live = ct.Simulator(linkage(), dt=0.01).start()
    with live.show(browser=False) as view:
        live.step()
        view.update()
        begun = next(readings)
        for _ in range(19):
            live.step()
            view.update()
        # never ahead of the clock by more than a step
        assert 0.002 * (next(readings) - begun) > 0.17
        assert live.time == pytest.approx(0.2)
        assert view.url.startswith("http://127.0.0.1:")
        assert "closed" not in repr(view)
    assert "closed" in repr(view)
    view.close()


def test_what_a_control_function_raises_comes_out_where_one_waits(viser):
    def control(live):
        raise ZeroDivisionError("of mine")

    with ct.Simulator(linkage(), dt=0.01).start().show(browser=False, control=control) as view:
        view._playing.set(True)
        with pytest.raises(ZeroDivisionError, match="of mine"):
            view.wait()
        assert view.message == "ZeroDivisionError: of mine"


def test_a_step_that_cannot_be_taken_is_said(viser):
    m = ct.scenes.pendulum(1, "revolute")
    m.add_force(ct.Motor("joint1", 0.0, name="motor"))
    live = ct.Simulator(m, dt=0.01, rescue=False).start()

    def control(live):
        live.inputs[:] = 1e9

    with live.show(browser=False, control=control) as view:
        view._playing.set(True)
        for _ in range(200):
            time.sleep(0.05)
            if view.message:
                break
        assert "t = " in view.message
        assert not view._playing.on


def test_views_of_single_nodes_and_names_with_slashes(viser):
    m = ct.Mechanism()
    for name in ("a/b", "a|b"):
        m.add_body(name, ct.sphere(0.1, mass=1.0))
    with m.show(browser=False) as view, ct.Simulator(m, dt=0.01).run(steps=0).show(browser=False) as other:
        assert view.url != other.url
        np.testing.assert_array_equal(view.state.position, m.state().position)
        assert other.time == 0
        assert view._repr_html_().startswith("<iframe srcdoc=")


# ---- who may see and move it


def answer(port: int, lines: list[str]) -> tuple[int, str]:
    """Status and body of what a server says to a request of these lines."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        response = http.client.HTTPResponse(line)
        response.begin()
        # a socket that is open says no more by itself
        return response.status, "" if response.status == 101 else response.read().decode("utf-8", "replace")


def upgrade(host: str | None, origin: str | None) -> list[str]:
    import viser

    lines = ["GET / HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", f"Sec-WebSocket-Protocol: viser-v{viser.__version__}"]
    return lines + [f"{name}: {value}" for name, value in (("Host", host), ("Origin", origin)) if value is not None]


def test_only_its_own_page_drives_a_view() -> None:
    pytest.importorskip("viser", reason="no viser")
    with ct.scenes.pendulum(2).show(port=8480, browser=False) as view:
        port = int(view.url.rsplit(":", 1)[1])
        here = f"127.0.0.1:{port}"
        # the page itself, under names that only this machine has, through a tunnel too
        for host in (here, f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "localhost:9000"):
            status, text = answer(port, ["GET / HTTP/1.1", f"Host: {host}"])
            assert (status, "<html" in text) == (200, True), host
            assert answer(port, upgrade(host, f"http://{host}"))[0] == 101, host
        # a page of somebody else, of another server on this machine, of a file, or no page at all
        strangers = (
            "http://evil.test",
            f"https://{here}",
            "http://127.0.0.1:3000",
            "http://127.0.0.1",
            "null",
            "",
            None,
        )
        for origin in (*strangers, f"http://{here}.evil.test", f"http://{here}@evil.test", f"http://localhost:{port}"):
            status, text = answer(port, upgrade(here, origin))
            assert (status, "accepts only its own page" in text) == (403, True), origin
        assert answer(port, [*upgrade(here, f"http://{here}"), "Origin: http://evil.test"])[0] == 403
        assert answer(port, ["GET / HTTP/1.1", f"Host: {here}", "Origin: http://evil.test"])[0] == 403
        # a name that somebody else has led here
        for host in (
            "evil.test",
            f"evil.test:{port}",
            f"127.0.0.1.evil.test:{port}",
            f"localhost@evil.test:{port}",
            "[::1",
            "",
        ):
            status, text = answer(port, ["GET / HTTP/1.1", f"Host: {host}"])
            assert (status, "available on its own machine" in text) == (403, True), host
            assert answer(port, upgrade(host, f"http://{host}"))[0] == 403, host
        # nor does another name for an upgrade let anybody in
        sly = [line.replace("Upgrade: websocket", "Upgrade: WebSocket") for line in upgrade(here, "http://evil.test")]
        assert answer(port, sly)[0] == 403
        # others on the network have no way at all
        sockets = view._server._websock_server
        assert sockets._host == "127.0.0.1"


def test_a_viser_that_cannot_be_guarded_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    viser = pytest.importorskip("viser", reason="no viser")
    stopped = []

    class Elsewhere:
        def __init__(self, **options: object) -> None:
            pass

        def stop(self) -> None:
            stopped.append(True)

    monkeypatch.setattr(viser, "ViserServer", Elsewhere)
    with pytest.raises(ImportError, match="cannot guard"):
        ct.scenes.pendulum(2).show(browser=False)
    assert stopped == [True]


def test_what_looks_alike_is_one_thing_in_a_view() -> None:
    """So views of many bodies are as quick to make and to move as those of few."""
    pytest.importorskip("viser", reason="no viser")
    counts = []
    for n in (20, 1500):
        m = ct.scenes.pendulum(n)
        with m.show(port=8490, browser=False) as view:
            counts.append(len(view._canvas._poses["bodies"]) + len(view._canvas._poses["joints"]))
            assert len(view._canvas._labels) <= 300
            assert len(view._joints._handles) <= 200
            assert ("Only 300 of 3000 names can be shown" in view.message) == (n > 100)
            # all of them are where they belong, and go there when the pose does
            ((bodies, handle),) = view._canvas._poses["bodies"]
            state = m.state()
            state.joint("joint1").coordinates = [1.0]
            view._canvas.put(state.position, state.orientation, [])
            np.testing.assert_array_equal(bodies, np.arange(n))
            np.testing.assert_allclose(handle.batched_positions, state.position, rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(handle.batched_wxyzs, state.orientation, atol=1e-6)
            # and within what the camera sees, however large it is
            assert view._server.initial_camera.far > 10 * n
            assert view._server.initial_camera.near < 0.1 * n
    assert counts[0] == counts[1] < 10


def test_what_is_too_large_to_be_drawn_says_so(tmp_path) -> None:
    m = ct.scenes.pendulum(2)
    m.gravity = (0, 0, 1e300)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="positions or forces are too large"):
        m.save_html(tmp_path)
