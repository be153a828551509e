"""The rules of docs/naming.md: what is recorded is an attribute, what is computed a method, by one name everywhere."""

from __future__ import annotations

import inspect

import pytest

import catena as ct

HOLDERS = (ct.State, ct.Live, ct.LiveBatch, ct.Trajectory, ct.Batch)

# of every node
RECORDED = {
    *("time", "position", "orientation", "velocity", "angular_velocity"),
    *("coordinates", "rates", "inputs", "efforts"),
}
# of every run
OF_RUNS = {"error", "status", "warnings", "mechanism"}
COMPUTED = {
    *("energy", "kinetic_energy", "potential_energy", "momentum", "angular_momentum"),
    *("drift", "misalignment", "loop_mismatch", "accelerations"),
}
BY_NAME = {"body", "joint", "force", "frame", "coupling"}

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
    missing = {name for name in RECORDED if name not in found}
    # of a batch, inputs are those described
    assert missing <= ({"inputs"} if holder is ct.Batch else set())


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_computed_or_found_by_name_is_a_method(holder: type) -> None:
    found = kinds(holder)
    assert {name for name in COMPUTED | BY_NAME if found.get(name) is False} == set()


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
