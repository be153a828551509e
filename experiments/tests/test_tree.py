"""The arrays that rivals take: the same mechanism, the same poses, the same energy."""

import numpy as np
import pytest

import catena as ct
from catena_paper.tree import Poses, Tree

MECHANISMS = {
    "revolute pendulum": lambda: ct.scenes.pendulum(4, "revolute"),
    "ball pendulum": lambda: ct.scenes.pendulum(4, "ball"),
    "four-bar": ct.scenes.four_bar,
    "segmented chain": lambda: ct.scenes.segmented_chain(2),
    "backwards": lambda: backwards(),
}


def backwards() -> ct.Mechanism:
    """A crooked chain, described from its end, whose joints run from the child to the parent."""
    m = ct.Mechanism(gravity=(1.0, -2.0, -9.0))
    turn = np.array((0.5, 0.5, -0.5, 0.5))
    m.add_body("last", ct.box((0.1, 0.2, 0.3), mass=2.0), position=(1, 1, 0), orientation=turn)
    m.add_body("first", ct.box((0.3, 0.2, 0.5), mass=1.0), position=(0.5, 0, 0))
    m.add_joint(ct.Ball("last", "first", at=(1, 0.5, 0)))
    m.add_joint(ct.Revolute("first", "world", axis=(0, 1, 1), at=(0, 0, 0.1)))
    return m


def moving(m: ct.Mechanism) -> ct.State:
    """A state with every tree joint away from zero, as far as loops let them."""
    state = m.state()
    if not m.spanning_tree().loops:
        for k, joint in enumerate(m.joints.values()):
            view = state.joint(joint.name)
            view.coordinates = 0.3 * np.cos(np.arange(joint.dof) + k)
            view.rates = np.sin(np.arange(joint.dof) + k)
        return state
    return ct.Simulator(m, dt=0.01).run(steps=20)[-1]


@pytest.mark.parametrize("name", MECHANISMS)
def test_poses_and_velocities_are_the_mechanisms_own(name: str):
    m = MECHANISMS[name]()
    tree, state = Tree.of(m), moving(m)
    poses = tree.poses(tree.coordinates_of(state), tree.rates_of(state))
    for ours, theirs in zip(
        poses[:1] + poses[2:], (state.position, state.velocity, state.angular_velocity), strict=True
    ):
        assert np.abs(ours - theirs).max() < 1e-12
    assert np.abs(np.abs(np.sum(poses.orientation * state.orientation, axis=-1)) - 1).max() < 1e-12


@pytest.mark.parametrize("name", MECHANISMS)
def test_energy_and_gaps_of_a_run_are_catenas(name: str):
    m = MECHANISMS[name]()
    run = ct.Simulator(m, dt=0.01).run(steps=10, state=moving(m))
    tree = Tree.of(m)
    assert np.abs(tree.energy(Poses.of(run)) - run.energy()).max() < 1e-11
    assert tree.gaps(Poses.of(run)).shape == (11, m.joint_count)
    assert tree.gaps(Poses.of(run)).max() < 1e-12


def test_coordinates_of_revolute_joints_are_the_mechanisms_own():
    m = backwards()
    state = moving(m)
    tree = Tree.of(m)
    assert tree.name == ("first", "last")
    angle = state.joint("first-world").angle
    assert tree.coordinates_of(state)[0] == pytest.approx(angle, abs=1e-14)
    assert tree.rates_of(state)[0] == pytest.approx(state.joint("first-world").rate, abs=1e-14)


def test_poses_take_many_nodes_at_once():
    m = ct.scenes.pendulum(3, "ball")
    tree, state = Tree.of(m), moving(ct.scenes.pendulum(3, "ball"))
    q, v = tree.coordinates_of(state), tree.rates_of(state)
    many = tree.poses(np.array([q, q]), np.array([v, 0 * v]))
    once = tree.poses(q, 0 * v)
    for a, b in zip(many, once, strict=True):
        assert np.array_equal(a[1], b)


def test_loops_are_the_joints_left_or_asked_for():
    m = ct.scenes.four_bar()
    assert sorted(Tree.of(m).parent) == [-1, -1, 0]
    last = list(m.joints)[-1]
    for name in m.joints:
        tree = Tree.of(m, closing=[name])
        assert len(tree.loops) == 1
        joint = m.joints[name]
        assert np.array_equal(tree.loops.point_a[0], joint.anchor_a)
    assert list(Tree.of(m, closing=[last]).parent) == [-1, 0, 1]


def test_gaps_show_an_open_loop():
    m = ct.scenes.four_bar()
    tree, state = Tree.of(m), m.state()
    state.position[2] += (0.0, 0.3, 0.4)
    assert np.sort(tree.gaps(Poses.of(state)))[-2:] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda m: m.add_joint(ct.Prismatic("link1", "world", axis=(1, 0, 0), at=(0, 0, 0))), "revolute and ball"),
        (lambda m: m.add_force(ct.Spring("joint1", stiffness=1.0)), "no forces"),
        (lambda m: m.add_body("loose", ct.sphere(0.1, mass=1.0)), "'loose' hangs on nothing"),
        (lambda m: m.add_body("x", ct.sphere(0.1, mass=1.0), gravity=False), "'x' is not pulled"),
    ],
)
def test_what_rivals_do_not_know_is_refused_by_name(spoil, words: str):
    m = ct.scenes.pendulum(2)
    spoil(m)
    with pytest.raises(ValueError, match=words):
        Tree.of(m)


def test_a_loop_to_close_must_exist():
    with pytest.raises(ValueError, match="'nothing'"):
        Tree.of(ct.scenes.pendulum(2), closing=["nothing"])
