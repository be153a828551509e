"""Pictures of mechanisms and runs, and stages for films."""

import numpy as np
import pytest

import catena
from catena import plot
from catena._util.rotation import from_rotation_vector, rotate
from catena.assemble.core import build_core
from catena.scenes.walkers import HolyNumbers
from catena.view.film import skeleton
from catena.view.viewer.looks import Looks

PNG = b"\x89PNG"


OF_RUNS = (
    plot.motion,
    plot.energy,
    plot.energy_error,
    plot.momentum,
    plot.angular_momentum,
    plot.drift,
    plot.error,
    plot.coordinates,
    plot.reactions,
    lambda run, **place: plot.convergence(run, 3, **place),
)
OF_MECHANISMS = (plot.mechanism, plot.graph, plot.sparsity)


@pytest.mark.parametrize("draw", [*OF_RUNS, plot.overview, *OF_MECHANISMS])
@pytest.mark.parametrize("scene", ["heavy_top", "free_body", "tree", "four_bar", "flyball_governor", "humanoid"])
def test_pictures_of_any_mechanism(draw, scene, tmp_path):
    pytest.importorskip("matplotlib")
    run = catena.Simulator(getattr(catena.scenes, scene)(), dt=0.001).run(steps=20, increments=True)
    draw(run.mechanism if draw in OF_MECHANISMS else run).savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(PNG)


def test_pictures_are_drawn_into_axes_that_are_given():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    run = catena.Simulator(catena.scenes.four_bar(), dt=0.001).run(steps=20, increments=True)
    joint = next(iter(run.mechanism.joints))
    draws = [*OF_RUNS, lambda run, **place: plot.phase_portrait(run, joint, **place)]
    axes = figure.subplots(len(draws) + 2)
    for draw, axis in zip(draws, axes, strict=False):
        assert draw(run, ax=axis) is figure
        assert axis.has_data()
    assert plot.sparsity(run.mechanism, ax=axes[-2:]) is figure
    graph, space = figure.add_subplot(), figure.add_subplot(projection="3d")
    assert plot.graph(run.mechanism, ax=graph) is figure
    assert plot.mechanism(run[-1], ax=space) is figure
    assert {text.get_text() for text in space.texts} >= {*run.mechanism.bodies, *run.mechanism.joints}
    assert len(figure.axes) == len(axes) + 2


@pytest.mark.parametrize(("turn", "thin"), [(0, 0), (90, 1), (None, 2)])
def test_flat_mechanisms_are_seen_from_their_flat_side(turn, thin):
    pytest.importorskip("matplotlib")
    # in the plane of y and z, then turned into another
    about = (0.0, 1.0, 0.0) if turn is None else (0.0, 0.0, 1.0)
    angle = np.pi / 2 if turn is None else np.radians(turn)
    m = catena.Mechanism()
    for name, where in (("a", (0, 0.5, 0)), ("b", (0, 1, 0.5))):
        place = rotate(from_rotation_vector(angle * np.array(about)), np.array(where, dtype=float))
        m.add_body(name, catena.sphere(0.05, mass=1.0), position=place)
    m.add_body("c", catena.sphere(0.05, mass=1.0))
    (axis,) = plot.mechanism(m).axes
    elevation, azimuth = np.radians((axis.elev, axis.azim))
    towards = (np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation))
    assert np.argmax(np.abs(towards)) == thin
    limits, ticks = ([getattr(axis, f"get_{name}{what}")() for name in "xyz"] for what in ("lim", "ticks"))
    shown = [sum(low <= tick <= high for tick in those) for (low, high), those in zip(limits, ticks, strict=True)]
    assert shown[thin] <= 2
    assert min(count for k, count in enumerate(shown) if k != thin) >= 2


def test_blocks_of_a_tree_have_no_fill_and_a_graph_shows_what_closes_loops():
    pytest.importorskip("matplotlib")
    _, after = plot.sparsity(catena.scenes.tree()).axes
    assert after.get_title() == "as eliminated: 0 more by fill"
    m = catena.scenes.four_bar()
    before, after = plot.sparsity(m).axes
    # three bodies, four joints, each with itself and with the two or one that it joins, from either side
    assert before.get_title() == f"as described: {3 + 4 + 2 * 6} blocks"
    kinds = after.images[0].get_array()
    assert (kinds == kinds.T).all()
    assert (kinds.diagonal() == 1).all()
    figure = plot.graph(m)
    assert figure.axes[0].get_title() == "3 bodies, 4 joints, 1 closes a loop"


@pytest.mark.parametrize("scene", ["tree", "four_bar", "ladder", "stewart_platform", "net"])
def test_fill_is_what_elimination_in_this_order_leaves(scene):
    m = getattr(catena.scenes, scene)().snapshot()
    nodes, touched, later = build_core(m).core.elimination()
    assert sorted(body for body, _ in nodes if body >= 0) == list(range(m.body_count))
    assert sorted(joint for _, joint in nodes if joint >= 0) == list(range(m.joint_count))
    # whoever goes ties together all that it still touches
    ties = [set(others) - {k} for k, others in enumerate(touched)]
    for k in range(len(nodes)):
        rest = {other for other in ties[k] if other > k}
        assert set(later[k]) == rest
        for other in rest:
            ties[other] |= rest - {other}


def test_pictures_that_cannot_be_drawn_are_refused():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    run = catena.Simulator(catena.scenes.spinning_chain(2), dt=0.001).run(steps=2)
    ball = next(iter(run.mechanism.joints))
    for draw, message in (
        (lambda: plot.mechanism(run.mechanism, ax=figure.add_subplot()), "ax must be three-dimensional"),
        (lambda: plot.sparsity(run.mechanism, ax=[figure.add_subplot()]), "draws into two axes, got 1"),
        (lambda: plot.phase_portrait(run, ball), "choose the coordinate to draw, one of '0', '1', '2'"),
        (lambda: plot.coordinates(run, ball), "joints takes a list of names"),
        (lambda: plot.reactions(run, ["joint0"]), "there is no joint called 'joint0'"),
        (lambda: plot.convergence(run, 0), "did not record increments"),
    ):
        with pytest.raises((ValueError, KeyError), match=message):
            draw()


def test_a_stage_shows_the_shapes_that_were_added():
    pytest.importorskip("matplotlib")
    m = catena.scenes.pendulum(1)
    state = m.state()
    bare = plot.Stage(m).draw(state.position, state.orientation)
    m.bodies["link1"].add_shape("sphere", (0.3,), color=(1, 0, 0))
    window = (-1.5, 1.5, -1.5, 1.5)
    pixels = plot.Stage(m, window=window).draw(state.position, state.orientation).astype(int)
    red = (pixels[..., 0] > 200) & (pixels[..., 1] < 50)
    # a disk of radius 0.3 m in a window of 3 m, but for the rim, the link and the pins in front of it
    assert 0.015 < red.mean() < np.pi * 0.3**2 / 9
    assert (bare[..., 0] > 200).mean() > 0.5


def red(pixels):
    return (pixels[..., 0].astype(int) > 200) & (pixels[..., 1] < 50)


def test_a_stage_shows_the_world_behind_the_mechanism():
    pytest.importorskip("matplotlib")
    m = catena.scenes.pendulum(1)
    state = m.state()
    bare = plot.Stage(m).draw(state.position, state.orientation)
    m.world.add_shape("box", (0.1, 0.5, 0.5), color=(1, 0, 0))
    near = plot.Stage(m).draw(state.position, state.orientation)
    assert near.shape == bare.shape
    # half a metre in a window of 2.2 m around all that the link of one metre reaches, but for the link in front of it
    assert 0.02 < red(near).mean() < (0.5 / 2.2) ** 2
    m.world.clear_shapes()
    m.world.add_shape("box", (0.1, 0.5, 0.5), position=(0, 2, 0), color=(1, 0, 0))
    beside = plot.Stage(m).draw(state.position, state.orientation)
    assert beside.shape[1] > beside.shape[0]
    assert red(beside).mean() > 0.02
    m.world.clear_shapes()
    m.world.add_shape("box", (100, 100, 1), position=(0, 0, -1.4), color=(1, 0, 0))
    floor = plot.Stage(m).draw(state.position, state.orientation)
    assert floor.shape == bare.shape
    assert red(floor)[-5:].mean() > 0.9


def test_a_picture_of_a_mechanism_shows_the_world_unless_it_is_vast():
    pytest.importorskip("matplotlib")
    m = catena.scenes.pendulum(1)
    axis = plot.mechanism(m).axes[0]
    bare, many = axis.get_zlim(), len(axis.collections)
    m.world.add_shape("box", (0.5, 0.5, 0.1), position=(0, 0, -2))
    axis = plot.mechanism(m).axes[0]
    assert axis.get_zlim()[0] < -2 < bare[0]
    assert len(axis.collections) == many + 1
    m.world.clear_shapes()
    m.world.add_shape("box", (100, 100, 0.1), position=(0, 0, -2))
    axis = plot.mechanism(m).axes[0]
    assert axis.get_zlim() == bare
    assert len(axis.collections) == many


@pytest.mark.parametrize("plane", ["yz", "xz", "xy"])
@pytest.mark.parametrize("name", ["free_body", "heavy_top", "pendulum", "strandbeest", "humanoid", "flyball_governor"])
def test_a_stage_shows_where_the_bodies_are(name, plane):
    pytest.importorskip("matplotlib")
    m = getattr(catena.scenes, name)()
    state = m.state()
    stage = plot.Stage(m, plane=plane, pixels=200)
    pixels = stage.draw(state.position, state.orientation)
    assert pixels.shape == (200, 200, 3)
    assert pixels.dtype == np.uint8
    # the same pose is the same picture, whatever was drawn between
    moved = stage.draw(state.position + 0.1, state.orientation, title="moved", marks=state.position[:1])
    assert (moved != pixels).any()
    assert (stage.draw(state.position, state.orientation) == pixels).all()


def test_a_foot_is_seen_where_no_joint_is():
    """Sides of a triangle are drawn, and no lines to joints that lie on them."""
    beast = catena.scenes.strandbeest(1)
    lower = beast.bodies["leg1 lower"]
    corners = {tuple(corner) for side in skeleton(beast, lower).round(9).tolist() for corner in side}
    assert len(corners) == 3
    knee, heel = (beast.joints[f"leg1 {name}-lower"].anchor_b for name in ("k", "f"))
    (foot,) = [corner for corner in corners if min(np.linalg.norm(corner - end) for end in (knee, heel)) > 1e-6]
    numbers = HolyNumbers()
    assert np.linalg.norm(foot - heel) == pytest.approx(0.01 * numbers.h)
    assert np.linalg.norm(foot - knee) == pytest.approx(0.01 * numbers.i)
    # on pages as well, to within the thickness of a side
    seen = np.concatenate([mesh.vertices for mesh, _ in Looks(beast).of(lower)[0]])
    assert np.linalg.norm(seen - foot, axis=1).min() < 0.02


def test_a_stage_shows_massless_bodies_as_their_joints():
    pytest.importorskip("matplotlib")
    m = catena.scenes.pendulum(1)
    m.add_body("cross", catena.Inertia.massless(), position=m.bodies["link1"].position)
    lonely = plot.Stage(m).draw(m.state().position, m.state().orientation)
    m.add_joint(catena.Fixed("link1", "cross", at=(0, 0, 0)))
    assert (plot.Stage(m).draw(m.state().position, m.state().orientation) != lonely).any()


def test_all_that_a_chain_reaches_is_on_its_stage():
    pytest.importorskip("matplotlib")
    for angle in (0.0, 1.0, 3.0):
        m = catena.scenes.pendulum(3, angle=angle)
        state = m.state()
        pixels = plot.Stage(m).draw(state.position, state.orientation)
        edge = np.concatenate((pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]))
        # nothing but paper and its grid, both of which are pale
        assert edge.min() > 200
        assert pixels.min() < 100


def test_a_stage_refuses_what_it_cannot_show():
    m = catena.scenes.pendulum(1)
    for plane in ("x", "zz", "xyz", "ab"):
        with pytest.raises(ValueError, match="plane must name two axes"):
            plot.Stage(m, plane=plane)
    with pytest.raises(ValueError, match=r"window must be \(left, right, bottom, top\)"):
        plot.Stage(m, window=(1, 0, 0, 1))


def test_picture_of_a_single_node(tmp_path):
    pytest.importorskip("matplotlib")
    run = catena.Simulator(catena.scenes.pendulum(2), dt=0.01).run(steps=0)
    plot.overview(run).savefig(tmp_path / "picture.png")


def test_few_nodes_are_drawn_without_corners():
    pytest.importorskip("matplotlib")
    m = catena.scenes.pendulum(1, "revolute", angle=1.0)
    run = catena.Simulator(m).run(4)
    assert len(run) < 100
    (line,) = plot.coordinates(run).axes[0].lines
    assert len(line.get_xdata()) >= 400
    assert np.isin(run.time, line.get_xdata()).all()
    fine = catena.Simulator(m, accuracy=1e-8).run(t_eval=line.get_xdata())
    # the accuracy
    np.testing.assert_allclose(line.get_ydata(), fine.joint("joint1").angle, atol=1e-4)
    # what happened between nodes that were left out is not known
    (line,) = plot.coordinates(run[::4]).axes[0].lines
    assert len(line.get_xdata()) == len(run[::4])
