"""Names that are not known, attributes that do not exist, and mechanisms that belong to a run."""

import copy
import pickle
from math import nan

import numpy as np
import pytest

import catena as ct
from catena._util.lookup import did_you_mean


def pair(m, **settings):
    return ct.Simulator(m, 0.01).run_batch(states=2, steps=1, **settings)


def rig() -> ct.Mechanism:
    """A crank and a slider with one of everything."""
    m = ct.Mechanism()
    m.add_body("crank", ct.rod((0, 0, 0), (0.3, 0, 0), mass=0.3))
    m.add_body("slider", ct.box((0.1, 0.1, 0.1), mass=1.0), position=(1, 0, 0))
    m.add_joint(ct.Revolute("world", "crank", axis=(0, 1, 0), at=(0, 0, 0), name="motor"))
    m.add_joint(ct.Prismatic("world", "slider", axis=(1, 0, 0), at=(1, 0, 0), name="rail"))
    m.add_force(ct.Spring("motor", 2.0, damping=0.1, name="coil"))
    m.add_coupling(ct.Rack("motor", "rail", 0.2, name="rack"))
    return m


# ---- names


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda m: m.state().body("crnak"), "no body called 'crnak' in this state; did you mean 'crank'?"),
        (lambda m: m.state().body("motor"), "no body called 'motor' in this state: 'motor' is a joint, not a body"),
        (lambda m: m.state().body("world"), "'world' is the world, not a body"),
        (lambda m: m.state().joint("Motor"), "no joint called 'Motor' in this state; did you mean 'motor'?"),
        (lambda m: m.state().joint("rack"), "'rack' is a coupling, not a joint"),
        (
            lambda m: m.assemble(coordinates={"moter": 1}),
            "coordinates: there is no joint called 'moter'; did you mean 'motor'?",
        ),
        (lambda m: m.assemble(fixed=["moter"]), "no joint called 'moter' in this state; did you mean 'motor'?"),
        (lambda m: m.add_force(ct.Spring("rial", 1.0)), "'spring on rial': there is no joint called 'rial'; did you"),
        (lambda m: m.add_coupling(ct.PrescribedMotion("coil", abs)), "'coil' is a force, not a joint"),
        (lambda m: m.add_joint(ct.Ball("slidr", "crank", at=(0, 0, 0))), "'slidr'; did you mean 'slider'?"),
        (lambda m: ct.Simulator(m, 0.01).run(steps=1).body("slidder"), "in this trajectory; did you mean 'slider'?"),
        (lambda m: ct.Simulator(m, 0.01).run(steps=1).joint("crank"), "'crank' is a body, not a joint"),
        (lambda m: ct.Simulator(m, 0.01).run(steps=1).coupling("rak"), "did you mean 'rack'?"),
        (lambda m: ct.Simulator(m, 0.01).run(steps=1, loads={"crnk": (0, 0, 1)}), "did you mean 'crank'?"),
        (
            lambda m: pair(m, masses={"crnk": (1, 2)}),
            "did you mean 'crank'?",
        ),
        (
            lambda m: pair(m, bodies=["motor"]),
            "'motor' is a joint, not a body",
        ),
        (
            lambda m: ct.Simulator(m, 0.01).run_batch(
                states=2, steps=1, force_parameters={"coi": {"rest_length": (1, 2)}}
            ),
            "did you mean 'coil'?",
        ),
    ],
)
def test_a_misspelt_name_is_told_what_it_resembles_or_is(ask, sentence):
    with pytest.raises(ValueError, match=sentence.replace("?", r"\?")):
        ask(rig())


def test_a_name_like_no_other_gets_the_list():
    assert did_you_mean("zebra", ["crank", "slider"]) == ""
    assert did_you_mean(3, ["crank"]) == ""
    with pytest.raises(ValueError, match=r"called 'zebra' in this state; there are 'crank', 'slider'$"):
        rig().state().body("zebra")


# ---- attributes


@pytest.mark.parametrize(
    ("find", "name", "sentence"),
    [
        (lambda m: m, "gravty", "Mechanism has no 'gravty' to set; did you mean 'gravity'?"),
        (lambda m: m, "bodies", "Mechanism: bodies cannot be set"),
        (lambda m: m.world, "position", "the world: position cannot be set"),
        (lambda m: m.bodies["crank"], "positon", "body 'crank' has no 'positon' to set; did you mean 'position'?"),
        (lambda m: m.bodies["crank"], "name", "body 'crank': name cannot be set"),
        (
            lambda m: m.joints["motor"],
            "gruond",
            "revolute joint 'motor' has no 'gruond' to set; did you mean 'ground'?",
        ),
        (lambda m: m.joints["motor"], "dof", "revolute joint 'motor': dof cannot be set"),
        (lambda m: m.joints["motor"], "a", "revolute joint 'motor': a cannot be set"),
        (lambda m: m.joints["motor"], "name", "revolute joint 'motor' is part of a mechanism and keeps its name"),
        (lambda m: m.forces["coil"], "stifness", "spring 'coil' has no 'stifness' to set"),
        (lambda m: m.couplings["rack"], "ofset", "rack 'rack' has no 'ofset' to set; did you mean 'offset'?"),
        (lambda m: m.couplings["rack"].terms[0], "coeficient", "Term has no 'coeficient' to set; did you mean"),
        (lambda m: m.state(), "velocty", "State has no 'velocty' to set; did you mean 'velocity'?"),
        (lambda m: m.state(), "mechanism", "State: mechanism cannot be set"),
        (
            lambda m: m.state().body("crank"),
            "velcity",
            "body 'crank' has no 'velcity' to set; did you mean 'velocity'?",
        ),
        (lambda m: m.state().joint("motor"), "agnle", "joint 'motor' has no 'agnle' to set; did you mean 'angle'?"),
        (lambda m: m.state().joint("motor"), "gap", "revolute joint 'motor': gap cannot be set"),
        (lambda m: ct.Simulator(m, 0.01).run(steps=1), "tiem", "Trajectory has no 'tiem' to set; did you mean 'time'?"),
        (
            lambda m: ct.Simulator(m, 0.01).run(steps=1).joint("motor"),
            "rates",
            "joint 'motor': rates cannot be set",
        ),
        (lambda m: ct.Simulator(m, 0.01).run(steps=1).body("crank"), "x", "body 'crank' has no 'x' to set"),
        (lambda m: ct.Simulator(m, 0.01).run(steps=1), "position", "Trajectory: position cannot be set: it is a"),
        (
            lambda m: ct.Simulator(m, 0.01).run(steps=1).body("crank"),
            "velocity",
            "'crank': velocity cannot be set",
        ),
        (
            lambda m: pair(m),
            "postion",
            "Batch has no 'postion' to set; did you",
        ),
        (
            lambda m: pair(m),
            "time",
            "Batch: time cannot be set: it is a computed",
        ),
    ],
)
def test_an_attribute_that_does_not_exist_cannot_be_set(find, name, sentence):
    item = find(rig())
    before = dict(vars(item))
    with pytest.raises(AttributeError, match=sentence.replace("?", r"\?")):
        setattr(item, name, 0.3)
    assert vars(item) == before


@pytest.mark.parametrize(
    ("find", "name", "value"),
    [
        (lambda m: m, "gravity", (0, 0)),
        (lambda m: m.bodies["crank"], "inertia", "heavy"),
        (lambda m: m.bodies["crank"], "shape", 3),
        (lambda m: m.bodies["crank"], "mass", -1),
        (lambda m: m.bodies["crank"], "mass", nan),
        (lambda m: m.bodies["crank"], "has_gravity", "no"),
        (lambda m: m.bodies["crank"], "orientation", (1, 1, 0, 0)),
        (lambda m: m.joints["motor"], "anchor_a", (0, 0)),
        (lambda m: m.joints["motor"], "frame_b", (2, 0, 0, 0)),
        (lambda m: m.joints["motor"], "parameter", nan),
        (lambda m: m.couplings["rack"], "offset", "far"),
        (lambda m: m.couplings["rack"], "function", 3),
        (lambda m: m.state(), "time", nan),
        (lambda m: m.state(), "multipliers", ("a",)),
    ],
)
def test_an_attribute_takes_only_what_it_can_be(find, name, value):
    item = find(rig())
    before = getattr(item, name)
    with pytest.raises(ValueError, match=r"must|need"):
        setattr(item, name, value)
    np.testing.assert_equal(getattr(item, name), before)


def test_a_body_takes_another_mass_inertia_or_shape():
    m = rig()
    body, before = m.bodies["crank"], m.bodies["crank"].inertia
    body.mass = 3.0
    assert body.mass == body.inertia.mass == body.shape.mass == 3.0
    np.testing.assert_allclose(body.inertia.tensor, 10 * before.tensor, rtol=1e-14)
    body.inertia = ct.Inertia(2.0, (1, 2, 2))
    assert body.mass == body.shape.mass == 2.0
    body.inertia = ct.sphere(0.1, mass=0.5)
    assert body.shape.kind == "sphere"
    assert body.mass == 0.5
    body.shape = ct.box((1, 1, 1), mass=7.0)
    assert body.mass == 7.0


# ---- a mechanism that belongs to a run


def changed(m: ct.Mechanism) -> None:
    """Changes everything of a mechanism that can be changed."""
    m.gravity = (0, 0, -1.62)
    m.bodies["crank"].inertia = ct.Inertia(9.0, (1, 1, 1))
    m.bodies["slider"].position[0] = 7.0
    m.bodies["slider"].has_gravity = False
    m.joints["motor"].anchor_b[2] = 5.0
    m.joints["motor"].ground = lambda t: (t, 0, 0)
    m.forces["coil"].parts[0].law["stiffness"] = 100.0
    m.couplings["rack"].offset = 3.0
    m.couplings["rack"].terms[0].coefficient = -5.0
    m.add_body("late", ct.sphere(0.1, mass=1.0))


def test_what_happens_to_a_mechanism_later_does_not_reach_its_simulator():
    m, same = rig(), rig()
    simulator = ct.Simulator(m, 0.01)
    state = simulator.mechanism.state()
    state.velocity[0] = (0, 0, 0.3)
    run = simulator.run(steps=5, state=state)
    energy, drift, forces = run.energy(), run.drift(), run.joint("motor").force
    changed(m)
    with pytest.warns(ct.CatenaWarning, match="was changed after this Simulator was created"):
        after = simulator.run(steps=5, state=state)
    fresh = ct.Simulator(same, 0.01).run(steps=5, state=state)
    for again in (run, after, fresh):
        np.testing.assert_array_equal(again.energy(), energy)
        np.testing.assert_array_equal(again.drift(), drift)
        np.testing.assert_array_equal(again.joint("motor").force, forces)


def owned(tmp_path):
    """Mechanisms that belong to a simulator, a trajectory, one read from a file, a batch's member, and pickled ones."""
    simulator = ct.Simulator(rig(), 0.01)
    run = simulator.run(steps=1)
    run.save(tmp_path / "run.npz")
    batch = simulator.run_batch(states=2, steps=1, masses={"crank": (1.0, 2.0)})
    return {
        "simulator": simulator.mechanism,
        "run": run.mechanism,
        "state": run[-1].mechanism,
        "file": ct.Trajectory.load(tmp_path / "run.npz").mechanism,
        "member": batch[1].mechanism,
        "pickled": pickle.loads(pickle.dumps(run)).mechanism,
        "deep copy": copy.deepcopy(run).mechanism,
    }


def test_a_mechanism_that_belongs_to_a_run_cannot_be_changed(tmp_path):
    sentence = r"this mechanism belongs to a (simulator|trajectory); change a copy: mechanism\.copy\(\)"
    for m in owned(tmp_path).values():
        for item, name, value in (
            (m, "gravity", (0, 0, 0)),
            (m.bodies["crank"], "inertia", ct.Inertia(9.0, (1, 1, 1))),
            (m.bodies["crank"], "mass", 3.0),
            (m.bodies["crank"], "position", (0, 0, 0)),
            (m.joints["motor"], "ground", None),
            (m.joints["motor"], "anchor_a", (0, 0, 0)),
            (m.forces["coil"], "parts", []),
            (m.forces["coil"].parts[0], "law", {}),
            (m.couplings["rack"], "offset", 1.0),
            (m.couplings["rack"].terms[0], "coefficient", 1.0),
        ):
            with pytest.raises(AttributeError, match=sentence):
                setattr(item, name, value)
        for add in (
            lambda m=m: m.add_body("new", ct.sphere(1, mass=1)),
            lambda m=m: m.add_joint(ct.Ball("crank", "slider", at=(0, 0, 0))),
            lambda m=m: m.add_force(ct.Damper("motor", 1.0)),
            lambda m=m: m.add_coupling(ct.PrescribedMotion("motor", abs)),
        ):
            with pytest.raises(ValueError, match=sentence):
                add()
        for array in (m.gravity, m.bodies["crank"].position, m.joints["motor"].frame_a, m.world.position):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0
        with pytest.raises(TypeError):
            m.forces["coil"].parts[0].law["stiffness"] = 3.0
        assert m.snapshot() is m


def test_a_copy_of_what_belongs_to_a_run_can_be_changed(tmp_path):
    for m in owned(tmp_path).values():
        own = m.copy()
        before = m.bodies["crank"].mass
        changed(own)
        assert own.bodies["crank"].mass == 9.0
        assert m.bodies["crank"].mass == before
        assert list(m.bodies) == ["crank", "slider"]


# ---- small kindnesses


def test_bodies_joints_and_couplings_can_be_asked_for_by_themselves():
    m = rig()
    state = m.state()
    state.joint(m.joints["motor"]).angle = 0.0
    assert state.body(m.bodies["crank"]).name == "crank"
    run = ct.Simulator(m, 0.01).run(steps=3)
    np.testing.assert_array_equal(run.body(m.bodies["slider"]).position, run.body("slider").position)
    np.testing.assert_array_equal(run.joint(m.joints["rail"]).rates, run.joint("rail").rates)
    np.testing.assert_array_equal(run.coupling(m.couplings["rack"]).gap, run.coupling("rack").gap)
    with pytest.raises(ValueError, match=r"there is no body called '\[1\]'"):
        state.body([1])


def test_a_joint_with_one_coordinate_takes_and_gives_a_number():
    m = ct.scenes.pendulum(2, "revolute")
    state = m.state()
    state.joint("joint1").coordinates = 0.3
    state.joint("joint1").rates = -2
    assert (state.joint("joint1").angle, state.joint("joint1").rate) == pytest.approx((0.3, -2.0))
    run = ct.Simulator(m, 0.01).run(steps=3, state=state)
    hinge = run.joint("joint1")
    np.testing.assert_array_equal(hinge.angle, hinge.coordinates[:, 0])
    np.testing.assert_array_equal(hinge.rate, hinge.rates[:, 0])
    rail = ct.Simulator(rig(), 0.01).run(steps=3).joint("rail")
    np.testing.assert_array_equal(rail.displacement, rail.coordinates[:, 0])
    with pytest.raises(AttributeError, match=r"revolute joint 'joint1' has no displacement; use coordinates"):
        _ = hinge.displacement
    ball = ct.Simulator(ct.scenes.pendulum(1, "ball"), 0.01).run(steps=1).joint("joint1")
    with pytest.raises(
        AttributeError, match=r"ball joint 'joint1' has no rate; use coordinates and rates \(3 numbers\)"
    ):
        _ = ball.rate


def test_mistaken_keys_and_values_are_answered_with_sentences():
    m = rig()
    for things, name, sentence in (
        (m.bodies, "crnk", "there is no body called 'crnk'; did you mean 'crank'?"),
        (m.joints, "moto", "there is no joint called 'moto'; did you mean 'motor'?"),
        (m.copy().forces, "coli", "there is no force called 'coli'; did you mean 'coil'?"),
        (m.snapshot().couplings, "rak", "there is no coupling called 'rak'; did you mean 'rack'?"),
        (pickle.loads(pickle.dumps(m)).bodies, "slide", "there is no body called 'slide'; did you mean 'slider'?"),
    ):
        with pytest.raises(KeyError) as failure:
            things[name]
        assert failure.value.args == (sentence,)
    with pytest.raises(TypeError, match=r"indexed by node, as in run\[-1\] or run\[::10\]; try run\.body\('crank'\)"):
        ct.Simulator(m, 0.01).run(steps=1)["crank"]
    for mistake, sentence in (
        (
            lambda: m.assemble(rates=[1.0]),
            r"rates must be a mapping from joint names, such as {'motor': 0.3}, got \[1.0\]",
        ),
        (lambda: m.assemble(coordinates=0.3), r"coordinates must be a mapping from joint names, such as .*, got 0.3"),
        (lambda: m.assemble(fixed="motor"), r"fixed takes a list of names, such as \['motor'\], got 'motor'"),
        (lambda: m.add_force(ct.Spring(3, 1.0)), "there is no joint called '3'"),
        (lambda: m.add_force(ct.PointSpring(None, "crank", 1.0, anchors=np.eye(3)[:2])), "no body called 'None'"),
        (lambda: m.add_force(ct.Damper("motor", 1.0, name=3)), "a force's name must be a non-empty string, got 3"),
        (lambda: ct.Coupling("abc"), "takes pairs of a coordinate and its coefficient, got 'abc'"),
        (lambda: m.add_coupling(ct.Gear(1, "rail", 2)), "there is no joint called '1'"),
    ):
        with pytest.raises(ValueError, match=sentence):
            mistake()
    with pytest.raises(AttributeError, match="its parameters cannot be changed: remove it and add another"):
        m.forces["coil"].stiffness = 3.0
    with pytest.raises(ValueError, match="there is already a joint called 'rail'"):
        m.add_coupling(ct.PrescribedMotion("motor", abs, name="rail"))
    with pytest.raises(ValueError, match=r"got Shape\('sphere', size=\(0.1,\), mass=1\)$"):
        m.add_joint(ct.sphere(0.1, mass=1.0))
    assert (
        repr(ct.Inertia(2, (1, 1, 1))) == "Inertia(mass=2, tensor=[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])"
    )


def test_errors_have_one_base() -> None:
    """Whoever catches CatenaError catches all that catena raises of its own; they stay what they were besides."""
    for error, kind in ((ct.SimulationError, RuntimeError), (ct.BatchError, RuntimeError)):
        assert issubclass(error, ct.CatenaError)
        assert issubclass(error, kind)
    assert issubclass(ct.AssemblyError, ct.CatenaError)
    assert issubclass(ct.AssemblyError, ValueError)


def test_few_names_are_told() -> None:
    state = ct.scenes.pendulum(2).state()
    with pytest.raises(ValueError, match="no joint called 'shoulder' in this state; there are 'joint1', 'joint2'"):
        state.joint("shoulder")
