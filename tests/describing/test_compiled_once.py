"""A mechanism is compiled once for each purpose, and anew when it was changed."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import catena.describe.mechanism as description
from catena import (
    Ball,
    CatenaWarning,
    Cylindrical,
    Gear,
    Mechanism,
    Motor,
    PointSpring,
    PrescribedMotion,
    Prismatic,
    Revolute,
    Simulator,
    Spring,
    VelocityRows,
    _core,
    box,
    scenes,
)
from catena.assemble import redundancy

Built = list[dict[str, Any]]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Built:
    """What cores were made of."""
    found: Built = []
    real = _core.Core

    def core(**arguments: Any) -> _core.Core:
        found.append(arguments)
        return real(**arguments)

    monkeypatch.setattr(_core, "Core", core)
    redundancy._found.clear()
    return found


def linkage() -> Mechanism:
    """A four-bar with a spring, a gear and a body on a slide."""
    m = scenes.four_bar()
    m.add_body("slider", box((0.1, 0.1, 0.1), mass=0.3), position=(0, 3, 0))
    m.add_joint(Prismatic(m.world, "slider", axis=(0, 0, 1), at=(0, 3, 0), name="slide"))
    m.add_force(PointSpring("slider", "link3", 2.0, anchors=((0, 0, 0), (0, 0, 0)), name="string"))
    m.add_force(Spring("joint4", 1.0, name="coil"))
    m.add_coupling(Gear("joint1", "slide", 0.1, name="rack"))
    return m


# ---- once


def test_a_four_bar_is_compiled_twice_whatever_is_asked_of_it(built: Built) -> None:
    """With all rows, to see which of them are needed, and with those."""
    m = scenes.four_bar()
    sim = Simulator(m, 0.01)
    run = sim.run(steps=5)
    for joint in m.joints:
        assert np.isfinite(run.joint(joint).force).all()
        assert np.isfinite(run.joint(joint).torque).all()
    run.drift(), run.misalignment(), run.loop_mismatch()
    for same in (m, sim.mechanism, run.mechanism):
        same.report()
        same.assemble()
    Simulator(m, 0.02)
    Simulator(sim.mechanism, 0.03, solver="ldu")
    assert len(built) == 2
    assert m.snapshot() is sim.mechanism


def test_forces_are_compiled_besides(built: Built) -> None:
    m = linkage()
    sim = Simulator(m, 0.01)
    assert np.isfinite(sim.run(steps=5).joint("joint1").force).all()
    m.report()
    m.assemble()
    m.assemble(m.state())
    assert [len(core["law_target"]) for core in built] == [0, 2, 0]


def test_a_tree_is_compiled_once_at_whatever_pose(built: Built) -> None:
    m = scenes.pendulum(3)
    state = m.state()
    state.joint(next(iter(m.joints))).angle = 0.3
    for _ in range(2):
        m.assemble(state)
        m.report(state)
        Simulator(m, 0.01).run(steps=2, state=state)
    assert len(built) == 1


def test_the_tree_of_what_cannot_change_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    look = description.find_tree

    def count(self: Mechanism, *costs: object, described: bool = False) -> object:
        found.append((self, described))
        return look(self, *costs, described=described)

    monkeypatch.setattr(description, "find_tree", count)
    sim = Simulator(scenes.four_bar(), 0.01)
    run = sim.run(steps=2)
    run.drift()
    assert np.isfinite(run.joint("joint1").force).all()
    sim.mechanism.report()
    sim.mechanism.assemble()
    # the solver's, and the one along which bodies are placed
    assert sorted(found, key=lambda one: one[1]) == [(sim.mechanism, False), (sim.mechanism, True)]


def test_what_is_welded_is_another_mechanism(built: Built) -> None:
    m = scenes.four_bar()
    m.assemble()
    count = len(built)
    m.assemble(fixed=["joint1"])
    assert len(built) == count + 1


def test_kernels_have_cores_of_their_own() -> None:
    m = scenes.four_bar()
    for kernel in _core.kernels():
        sim = Simulator(m, 0.01, kernel=kernel)
        assert sim.info()["kernel"] == kernel
        assert Simulator(m, 0.01, kernel=kernel).plan.compiled is sim.plan.compiled


# ---- anew


def _no_coil(m: Mechanism) -> None:
    m.remove_force("coil")


def _other_kind(m: Mechanism) -> None:
    """The same name, bodies and place."""
    joint, forces = m.joints["joint4"], dict(m.forces)
    m.remove_joint("joint4", cascade=True)
    at = joint.anchor_a
    m.add_joint(Cylindrical(m.world, "link3", axis=(1, 0, 0), at=at, name="joint4"))
    assert len(m.forces) < len(forces)


def _other_order(m: Mechanism) -> None:
    coil = m.remove_force("coil")
    string = m.remove_force("string")
    for force in (coil, string):
        twin = copy.copy(force)
        del twin.__dict__["parts"]
        m.add_force(twin)


def _swapped_ends(m: Mechanism) -> None:
    m.remove_joint("slide", cascade=True)
    m.add_joint(Prismatic("slider", m.world, axis=(0, 0, 1), at=(0, 3, 0), name="slide"))


CHANGES: dict[str, Callable[[Mechanism], object]] = {
    "mass": lambda m: setattr(m.bodies["link1"], "mass", 3.0),
    "pose": lambda m: setattr(m.bodies["slider"], "position", (0, 3, 0.01)),
    "pose in place": lambda m: m.bodies["slider"].position.__setitem__(2, 0.01),
    "velocity in place": lambda m: m.bodies["slider"].velocity.__setitem__(2, 0.01),
    "weight": lambda m: setattr(m.bodies["link1"], "has_gravity", False),
    "gravity": lambda m: setattr(m, "gravity", (0, 0, 0)),
    "gravity in place": lambda m: m.gravity.__setitem__(2, 0.0),
    "loop_tolerance": lambda m: setattr(m, "loop_tolerance", 1e-3),
    "anchor": lambda m: m.joints["slide"].anchor_b.__setitem__(0, 1e-3),
    "ground": lambda m: setattr(m.joints["joint1"], "ground", lambda t: (0, 0, 0)),
    "law": lambda m: m.forces["coil"].parts[0].law.__setitem__("stiffness", 2.0),
    "function": lambda m: m.forces["coil"].parts[0].functions.__setitem__("force", abs),
    "place of a force": lambda m: m.forces["string"].parts[0].measure.anchors.__setitem__((0, 0), 0.1),
    "offset": lambda m: setattr(m.couplings["rack"], "offset", 0.1),
    "coefficient": lambda m: setattr(m.couplings["rack"].terms[0], "coefficient", 2.0),
    "shape of a body": lambda m: m.bodies["link1"].add_shape("sphere", (0.1,)),
    "shape of the world": lambda m: m.world.add_shape("sphere", (0.1,)),
    "body": lambda m: m.add_body("other", box((1, 1, 1), mass=1.0)),
    "joint": lambda m: m.add_joint(Ball("slider", "link1", at=(0, 0, 0))),
    "no force": _no_coil,
    "force": lambda m: m.add_force(Motor("slide", 1.0)),
    "no coupling": lambda m: m.remove_coupling("rack"),
    "drive": lambda m: m.add_coupling(PrescribedMotion("slide", abs)),
    "kind": _other_kind,
    "order": _other_order,
    "ends": _swapped_ends,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("duplicate", [lambda m: m, Mechanism.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_changed_mechanism_is_another_one(change: str, duplicate: Callable[[Mechanism], Mechanism]) -> None:
    m = duplicate(linkage())
    before = m.snapshot()
    assert m.snapshot() is before
    CHANGES[change](m)
    after = m.snapshot()
    assert after is not before
    assert after._known.compiled == {}


def test_a_changed_mechanism_is_compiled_anew(built: Built) -> None:
    m = scenes.four_bar()
    sim = Simulator(m, 0.01)
    first = sim.run(steps=20)
    m.bodies["link1"].mass = 3.0
    heavy = Simulator(m, 0.01)
    assert heavy.plan.core is not sim.plan.core
    assert built[-1]["mass"][0] == 3.0
    fresh = m.copy()
    np.testing.assert_array_equal(heavy.run(steps=20).position, Simulator(fresh, 0.01).run(steps=20).position)
    # and the old one goes on as if nothing had happened
    with pytest.warns(CatenaWarning, match="'link1' was changed after"):
        np.testing.assert_array_equal(sim.run(steps=20).position, first.position)
    m.bodies["link1"].mass = 1.0
    np.testing.assert_array_equal(Simulator(m, 0.01).run(steps=20).position, first.position)


def test_what_functions_say_may_change_unseen() -> None:
    """A drive whose function reads a number that the user changes."""
    place = [0.0]
    m = Mechanism()
    m.add_body("door", box((1, 1, 1), mass=1.0))
    m.add_joint(Revolute(m.world, "door", axis=(0, 0, 1), at=(0, 0, 0), name="hinge"))
    m.add_coupling(PrescribedMotion("hinge", lambda t: place[0]))
    assert m.assemble().joint("hinge").angle == pytest.approx(0.0, abs=1e-12)
    place[0] = 0.4
    assert m.assemble().joint("hinge").angle == pytest.approx(0.4)
    assert m.snapshot() is not m.snapshot()


# ---- frozen


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_cores_are_not_copied(duplicate: Callable[[Mechanism], Mechanism]) -> None:
    m = scenes.four_bar()
    sim = Simulator(m, 0.01)
    for mechanism in (m, sim.mechanism):
        twin = duplicate(mechanism)
        assert twin._last is None
        assert twin._known.compiled == {}
        expected = sim.run(steps=5).position
        np.testing.assert_array_equal(Simulator(twin, 0.01).run(steps=5).position, expected)


def test_a_simulator_keeps_its_mechanism() -> None:
    sim = Simulator(linkage(), 0.01)
    with pytest.raises(AttributeError):
        sim.mechanism = scenes.four_bar()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        sim.mechanism.forces["coil"].parts.clear()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        sim.mechanism.couplings["rack"].terms.clear()  # type: ignore[attr-defined]


def test_numbers_that_a_constraint_was_given_are_its_own() -> None:
    rate = np.array([0.5])
    m = Mechanism(gravity=(0, 0, 0))
    m.add_body("sled", box((1, 1, 1), mass=1.0))
    row = np.zeros((1, 12))
    row[0, 6] = 1.0
    m.add_joint(VelocityRows(m.world, "sled", lambda a, b: row, value=rate))
    sim = Simulator(m, 0.01)
    rate[0] = 7.0
    assert sim.run(steps=3).velocity[-1, 0, 0] == pytest.approx(0.5)


def test_the_report_names_the_solver_that_a_run_uses() -> None:
    for scene in (scenes.four_bar, scenes.pendulum, scenes.ladder):
        m = scene()
        assert m.report().solver == Simulator(m, 0.01).solver
