"""Numbers that others have published, each with its source."""

from __future__ import annotations

import numpy as np
import pytest

import catena as ct
from catena import Mechanism
from catena._util.rotation import from_matrix

PI = np.pi
EXCESS = 0.0075 + 1e-12
LINK_3 = (0.066, 0.086 - EXCESS, 0.0125)


def puma() -> Mechanism:
    """A Puma 560: a, d, alpha of Denavit and Hartenberg, mass, center of mass, moments of inertia, rotors.

    The numbers are those of B. Armstrong, O. Khatib and J. Burdick, The explicit dynamic model and inertial parameters
    of the PUMA 560 arm, ICRA 1986, as P. Corke, Robotics, Vision and Control, 2nd edition 2017, uses them. The moments
    of link 3 are impossible for a rigid body: one exceeds the sum of the others by 0.0075, about the axis of joints 2
    and 3. It is left out here, and added to what is compared.
    """
    table = (
        (0.0, 0.0, PI / 2, 0.0, (0, 0, 0), (0, 0.35, 0), 200e-6 * 62.6111**2),
        (0.4318, 0.0, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539), 200e-6 * 107.815**2),
        (
            0.0203,
            0.15005,
            -PI / 2,
            4.8,
            (-0.0203, -0.0141, 0.070),
            (0.066, 0.086 - EXCESS, 0.0125),
            200e-6 * 53.7063**2,
        ),
        (0.0, 0.4318, PI / 2, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3), 33e-6 * 76.0364**2),
        (0.0, 0.0, -PI / 2, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3), 33e-6 * 71.923**2),
        (0.0, 0.0, 0.0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3), 33e-6 * 76.686**2),
    )
    m, at, last = Mechanism(gravity=(0, 0, -9.81)), np.eye(4), "world"
    for k, (a, d, alpha, mass, center, moments, rotor) in enumerate(table, 1):
        axis, point = at[:3, 2].copy(), at[:3, 3].copy()
        c, s = np.cos(alpha), np.sin(alpha)
        at = at @ np.array(((1, 0, 0, a), (0, c, -s, 0), (0, s, c, d), (0, 0, 0, 1)))
        # the first link has no mass, and turns about its y axis alone: its moment is one more of the rotor
        inertia = ct.Inertia(mass, np.diag(moments)) if mass else ct.Inertia.massless()
        name = f"link{k}"
        m.add_body(
            name, inertia, position=at[:3, 3] + at[:3, :3] @ np.array(center), orientation=from_matrix(at[:3, :3])
        )
        m.add_joint(ct.Revolute(last, name, axis=axis, at=point, name=f"joint{k}"))
        m.add_force(ct.Armature(f"joint{k}", rotor + (0 if mass else moments[1])))
        last = name
    return m


def test_puma() -> None:
    """Corke 2017, section 9.2: gravity torques and mass matrix in the nominal pose, four decimals."""
    m = puma()
    state, d = m.state(), ct.Dynamics(m)
    state.coordinates = (0, PI / 4, PI, 0, PI / 4, 0)
    assert d.gravity(state) == pytest.approx((0, 31.6399, 6.0351, 0, 0.0283, 0), abs=5e-5)
    mass = (
        (3.6594, -0.4044, 0.1006, -0.0025, 0.0000, -0.0000),
        (-0.4044, 4.4137, 0.3509, 0.0000, 0.0024, 0.0000),
        (0.1006, 0.3509, 0.9378, 0.0000, 0.0015, 0.0000),
        (-0.0025, 0.0000, 0.0000, 0.1925, 0.0000, 0.0000),
        (0.0000, 0.0024, 0.0015, 0.0000, 0.1713, 0.0000),
        (-0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.1941),
    )
    found = d.mass_matrix(state)
    found[1:3, 1:3] += EXCESS
    assert found == pytest.approx(np.array(mass), abs=5.1e-5)


@pytest.mark.parametrize("count", [2, 5, 9])
def test_weights_on_a_string(count: int) -> None:
    """Equal weights at equal distances, hanging: w^2 l / g are the zeros of the Laguerre polynomial of degree n.

    E. J. Routh, Dynamics of a System of Rigid Bodies, Advanced Part, 6th edition 1905.
    """
    m = Mechanism()
    length, ball = 0.3, ct.sphere(1e-5, mass=0.7)
    last = "world"
    for k in range(count):
        m.add_body(f"ball{k}", ball, position=(0, 0, -(k + 1) * length))
        m.add_joint(ct.Revolute(last, f"ball{k}", axis=(1, 0, 0), at=(0, 0, -k * length), name=f"hinge{k}"))
        last = f"ball{k}"
    zeros = np.polynomial.laguerre.lagroots([0] * count + [1])
    found = (2 * PI * ct.Dynamics(m).modes(m.state()).frequencies) ** 2 * length / 9.81
    assert found == pytest.approx(np.sort(zeros), rel=1e-8)


def cart_and_pole() -> Mechanism:
    """Cart of 0.5 kg with friction 0.1 N s/m, pole of 0.2 kg and 0.006 kg m^2 whose center is at 0.3 m."""
    m = Mechanism(gravity=(0, 0, -9.8))
    m.add_body("cart", ct.box((0.2, 0.2, 0.1), mass=0.5))
    m.add_body("pole", ct.Inertia(0.2, np.diag((0.006, 0.006, 1e-4))), position=(0, 0, 0.3))
    m.add_joint(ct.Prismatic("world", "cart", axis=(1, 0, 0), at=(0, 0, 0), name="rail"))
    m.add_joint(ct.Revolute("cart", "pole", axis=(0, 1, 0), at=(0, 0, 0), name="hinge"))
    m.add_force(ct.Damper("rail", 0.1))
    m.add_force(ct.Motor("rail", 0.0, name="push"))
    return m


def test_a_cart_pole_of_a_control_course() -> None:
    """Control Tutorials for MATLAB and Simulink, University of Michigan: inverted pendulum, state space and LQR.

    Their angle turns the other way round; Q is 1 for the position of the cart and the angle, R is 1.
    """
    linalg = pytest.importorskip("scipy.linalg")
    m = cart_and_pole()
    model = ct.Dynamics(m).linearize(m.state())
    # theirs: cart, its rate, angle, its rate
    turned = np.diag((1.0, -1.0, 1.0, -1.0))[[0, 2, 1, 3]]
    a, b = turned @ model.A @ turned.T, turned @ model.B
    assert a[1] == pytest.approx((0, -0.1818, 2.6727, 0), abs=5.1e-5)
    assert a[3] == pytest.approx((0, -0.4545, 31.1818, 0), abs=5.1e-5)
    assert b[:, 0] == pytest.approx((0, 1.8182, 0, 4.5455), abs=5.1e-5)
    solution = linalg.solve_continuous_are(a, b, np.diag((1.0, 0, 1.0, 0)), np.eye(1))
    assert (b.T @ solution)[0] == pytest.approx((-1.0, -1.6567, 18.6854, 3.4594), abs=5.1e-5)


@pytest.mark.parametrize("spin", [20.0, 60.0])
def test_a_sleeping_top(spin: float) -> None:
    """H. Goldstein, Classical Mechanics, 3rd edition 2001, section 5.7: it sleeps if C^2 w^2 > 4 A m g l.

    The tilt z = x + i y obeys A z'' - i C w z' - m g l z = 0, A about the point.
    """
    about, along, mass, height = 0.02, 0.01, 1.0, 0.1
    m = Mechanism(gravity=(0, 0, -9.81))
    m.add_body("top", ct.Inertia(mass, np.diag((about, about, along))), position=(0, 0, height))
    m.add_joint(ct.Ball("world", "top", at=(0, 0, 0), name="tip"))
    state = m.state()
    state.rates = (0, 0, spin)
    poles = np.linalg.eigvals(ct.Dynamics(m).linearize(state).A)
    whole = about + mass * height**2
    root = np.sqrt(complex((along * spin) ** 2 - 4 * whole * mass * 9.81 * height))
    expected = [1j * (along * spin + sign * root) / (2 * whole) for sign in (1, -1)]
    for value in expected:
        for pole in (value, np.conj(value)):
            assert np.abs(poles - pole).min() < 1e-7 * np.abs(value)
    assert (np.abs(poles.real).max() < 1e-5) == ((along * spin) ** 2 > 4 * whole * mass * 9.81 * height)
