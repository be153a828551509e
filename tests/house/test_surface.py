"""The rules of docs/naming.md: what is recorded is an attribute, what is computed a method, by one name everywhere."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import catena as ct
import catena.gym

HOLDERS = (ct.State, ct.Live, ct.LiveBatch, ct.Trajectory, ct.Batch)

# of every node
RECORDED = {
    *("time", "position", "orientation", "velocity", "angular_velocity"),
    *("coordinates", "rates", "inputs", "efforts"),
}
OF_RUNS = {"error", "status", "failed", "warnings", "mechanism"}
# read of all of them alike
COMPUTED = {
    *("energy", "kinetic_energy", "potential_energy", "momentum", "angular_momentum"),
    *("drift", "misalignment", "loop_mismatch", "accelerations"),
}
BY_NAME = {"body", "joint", "frame", "row"}
# of all that is run, but a State
RUN = {"failed", "error", "status"}

# a live mechanism takes a step to find its multipliers; a member's tally is that of one of many
EXCEPT = {(ct.Live, "multipliers"), (ct.LiveBatch, "tally")}


def kinds(holder: type) -> dict[str, bool]:
    """Public names, and whether each is a method."""
    names = {name for name in dir(holder) if not name.startswith("_")}
    names |= {name for base in holder.__mro__ for name in vars(base).get("__annotations__", {})}
    return {name: callable(inspect.getattr_static(holder, name, None)) for name in names if not name.startswith("_")}


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_recorded_is_an_attribute(holder: type) -> None:
    found = kinds(holder)
    assert {name for name in RECORDED | OF_RUNS if found.get(name)} == set()
    wanted = RECORDED | {"mechanism"} | (set() if holder is ct.State else RUN)
    assert {name for name in wanted if name not in found} == set()


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_computed_or_found_by_name_is_a_method(holder: type) -> None:
    found = kinds(holder)
    assert {name for name in COMPUTED | BY_NAME if found.get(name) is not True} == set()


def lever(stiffness: float = 3.0) -> ct.Mechanism:
    """Two links with a spring and a motor."""
    m = ct.scenes.pendulum(2, "revolute", angle=0.4)
    m.add_force(ct.Spring("joint1", stiffness, name="spring"))
    m.add_force(ct.Motor("joint2", 0.1, name="motor"))
    return m


def read(holder: Any, *, reactions: bool) -> dict[str, Any]:
    """What is read by these names, as arrays."""
    joint, body = holder.joint("joint2"), holder.body("link2")
    found = {name: getattr(holder, name)() for name in sorted(COMPUTED - {"accelerations"})}
    found |= {name: getattr(holder, name) for name in ("coordinates", "rates", "efforts", "angular_velocity_body")}
    found |= {f"joint {name}": getattr(joint, name) for name in ("wrapped", "coordinates", "angle", "rate", "gap")}
    found |= {f"body {name}": getattr(body, name) for name in ("position", "orientation", "angular_velocity_body")}
    found |= {"point": body.point((0, 0, 0.1)), "its velocity": body.point_velocity((0, 0, 0.1))}
    found |= {"frame": holder.frame("link1")[0], "about": holder.angular_momentum(about=(1, 2, 3))}
    if reactions:
        found |= {"force": joint.force, "torque": joint.torque}
    return {name: np.asarray(value) for name, value in found.items()}


def test_all_that_is_read_says_the_same_whether_of_states_runs_or_batches() -> None:
    simulator = ct.Simulator(lever(), 0.01)
    run = simulator.run(steps=7)
    live, many = simulator.start(), simulator.start_batch(2)
    live.step(7)
    many.step(7)
    batch = simulator.run_batch(steps=7, states=[lever().state()] * 2)
    wanted = read(run, reactions=True)
    # a step that a Live takes to find its reactions differs by rounding
    for holder, place in ((run[-1], ()), (live, ()), (many, (1,)), (batch, (1, slice(None)))):
        for name, value in read(holder, reactions=isinstance(holder, ct.State | ct.Live)).items():
            expected = wanted[name] if holder is batch else wanted[name][-1]
            assert value.shape[: len(np.shape(holder.time))] == np.shape(holder.time), name
            np.testing.assert_allclose(value[place], expected, rtol=1e-9, atol=1e-9, err_msg=f"{type(holder)} {name}")
    assert isinstance(run[-1].energy(), float)
    assert isinstance(live.joint("joint1").angle, float)


def test_members_are_read_with_their_own_numbers() -> None:
    simulator = ct.Simulator(lever(), 0.01)
    own = {"masses": {"link2": np.array([1.0, 2.5])}, "force_parameters": {"spring": {"stiffness": [3.0, 7.0]}}}
    batch, many = simulator.run_batch(steps=5, states=[lever().state()] * 2, **own), simulator.start_batch(2, **own)
    many.step(5)
    for k in range(2):
        for name in sorted(COMPUTED - {"accelerations"}):
            alone = getattr(batch[k], name)()
            np.testing.assert_array_equal(getattr(batch, name)()[k], alone)
            np.testing.assert_allclose(getattr(many, name)()[k], alone[-1], rtol=1e-12, atol=1e-12)
    heavier = lever(7.0)
    heavier.bodies["link2"].mass = 2.5
    assert batch.energy()[1] == pytest.approx(ct.Simulator(heavier, 0.01).run(steps=5).energy(), rel=1e-9)


def test_inputs_of_a_batch_are_those_of_its_members() -> None:
    own = {"motor": {"effort": np.array([0.2, 0.7])}}
    batch = ct.Simulator(lever(), 0.01).run_batch(steps=3, states=[lever().state()] * 2, force_parameters=own)
    np.testing.assert_array_equal(batch.inputs[..., 0], [[0.2] * 4, [0.7] * 4])
    np.testing.assert_array_equal(batch.efforts, batch.inputs)


def test_a_force_of_a_live_mechanism_stays_at_its_node() -> None:
    live = ct.Simulator(lever(), 0.01).start()
    here = live.force("spring")
    effort = here.effort.copy()
    live.step(20)
    np.testing.assert_array_equal(here.effort, effort)
    assert live.force("spring").effort != effort


def test_accelerations_of_a_batch_are_those_of_its_members() -> None:
    simulator = ct.Simulator(lever(), 0.01)
    batch = simulator.run_batch(steps=5, states=[lever().state()] * 2)
    for which in range(2):
        np.testing.assert_array_equal(batch.accelerations()[which][1], batch[1].accelerations()[which])
    np.testing.assert_array_equal(batch.body("link2").acceleration[0], batch[0].body("link2").acceleration)
    for still in (lever().state(), simulator.start_batch(1)):
        with pytest.raises(ValueError, match="accelerations follow from a motion"):
            still.body("link2").point_acceleration((0, 0, 0))


@pytest.mark.parametrize("holder", [lambda s: s.start(), lambda s: s.run(steps=2), lambda s: s.start_batch(2)])
def test_only_views_of_a_state_can_be_assigned(holder: Callable[[ct.Simulator], Any]) -> None:
    found = holder(ct.Simulator(lever(), 0.01))
    with pytest.raises(AttributeError, match="revolute joint 'joint1': angle cannot be set"):
        found.joint("joint1").angle = 0.1
    with pytest.raises(AttributeError, match="body 'link1': position cannot be set"):
        found.body("link1").position = (0, 0, 0)


def test_what_a_stop_exerts_is_read_of_a_live_mechanism_too() -> None:
    m = ct.Mechanism()
    m.add_body("mass", ct.box((0.1, 0.1, 0.1), mass=2.0))
    m.add_joint(ct.Prismatic("world", "mass", axis=(0, 0, 1), at=(0, 0, 0), name="slide")).limits = ct.Limits(0.0, 1.0)
    live = ct.Simulator(m, 0.01).start()
    live.step(3)
    assert live.joint("slide").stop == pytest.approx(2.0 * 9.81, rel=1e-9)
    with pytest.raises(ValueError, match="efforts of stops were not recorded"):
        m.state().joint("slide").stop  # noqa: B018


def test_bodies_of_a_batch_may_be_recorded_in_another_order() -> None:
    simulator, states = ct.Simulator(lever(), 0.01), [lever().state()]
    batch = simulator.run_batch(steps=3, states=states)
    other = simulator.run_batch(steps=3, states=states, bodies=["link2", "link1"])
    for name in ("coordinates", "rates"):
        np.testing.assert_array_equal(getattr(other, name), getattr(batch, name))
    np.testing.assert_array_equal(other.energy(), batch.energy())
    np.testing.assert_array_equal(other.body("link1").position, batch.body("link1").position)


def test_only_what_was_recorded_of_a_batch_is_read() -> None:
    batch = ct.Simulator(lever(), 0.01).run_batch(steps=2, states=[lever().state()], bodies=["link2"])
    assert batch.body("link2").position.shape == (1, 3, 3)
    with pytest.raises(ValueError, match="there are no numbers of body 'link1' in this batch"):
        batch.body("link1")
    with pytest.raises(ValueError, match="joint 'joint2': its body 'link1' was not recorded"):
        batch.joint("joint2")
    with pytest.raises(ValueError, match="only 1 of 2 bodies were recorded"):
        batch.energy()


def test_a_name_is_of_one_kind_everywhere() -> None:
    found: dict[str, dict[str, bool]] = {}
    for holder in HOLDERS:
        for name, is_method in kinds(holder).items():
            if (holder, name) not in EXCEPT:
                found.setdefault(name, {})[holder.__name__] = is_method
    assert {name: where for name, where in found.items() if len(set(where.values())) > 1} == {}


def test_what_runs_takes_its_arguments_in_one_order() -> None:
    run, batch = (inspect.signature(way).parameters for way in (ct.Simulator.run, ct.Simulator.run_batch))
    for parameters in (run, batch):
        places = [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
        assert places == ["self", "duration"]
    for start, state in ((ct.Simulator.start, "state"), (ct.Simulator.start_batch, "states")):
        assert list(inspect.signature(start).parameters)[:2] == ["self", state]
    for force in (ct.Spring, ct.Damper, ct.Motor, ct.Servo, ct.Friction, ct.Armature):
        names = list(inspect.signature(force).parameters)
        assert names[0] == "joint"
        assert names[-2:] == ["coordinate", "name"]
        # members of a batch have the arguments of the force
        assert set(force.parameters) <= set(names)


@pytest.mark.parametrize("module", [ct, ct.scenes, ct.plot, catena.gym])
def test_modules_show_their_public_names_alone(module: ModuleType) -> None:
    assert {name for name in dir(module) if not name.startswith("_")} == set(module.__all__)
    missing = [name for name in module.__all__ if not hasattr(module, name)]
    assert missing == []


def test_every_public_name_is_in_the_reference() -> None:
    pages = "\n".join(page.read_text() for page in (Path(__file__).parents[2] / "docs/api").glob("*.md"))
    assert [name for name in ct.__all__ if not re.search(rf"\bcatena\.{name}\b", pages)] == []


def test_documented_modules_can_be_imported_by_name() -> None:
    for name in ("plot", "scenes"):
        assert importlib.import_module(f"catena.{name}") is getattr(catena, name)
