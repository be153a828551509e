"""Registered tasks: a cart-pole, a swing-up of a double pendulum, a standing leg, a four-bar that tracks a point.

Every episode starts near the same pose, with small random velocities of all bodies.
"""

from __future__ import annotations

from collections.abc import Callable
from math import acos, pi
from typing import NamedTuple

import numpy as np

from .. import scenes
from .._util.rotation import Array
from ..describe.couplings import PrescribedMotion
from ..describe.joint_forces import Damper, Motor, Servo
from ..describe.mechanism import Mechanism
from ..kinematics.state import State
from ..simulate.simulator import Simulator
from ..view.film import Stage
from .tasks import Task, View


class Ready(NamedTuple):
    """A function that makes a task, and the number of steps after which gymnasium truncates an episode."""

    make: Callable[[], Task]
    steps: int


def cart_pole() -> Task:
    """Return the task of balancing a pole on a cart with a force of at most 10 N.

    Parameters are those of Barto, Sutton and Anderson (1983), with a continuous force up to theirs: a cart of 1 kg, a
    pole of 1 m and 0.1 kg. Reward: 1 per step. The episode terminates if the cart is 2.4 m from the center, or the pole
    tilts by 12 degrees. Observation: position of the cart (m), tilt (rad), and their rates.
    """
    m = scenes.cart_pole()
    m.add_force(Motor("rail", 0.0, name="push"))
    return Task(
        Simulator(m, dt=0.01, on_inaccurate="ignore"),
        inputs={"push": (-10.0, 10.0)},
        observe=lambda s: np.concatenate((s.coordinates, s.rates), axis=-1),
        reward=lambda s: 1.0,
        terminate=lambda s: (np.abs(s.coordinates) > (2.4, pi / 15)).any(axis=-1),
        start=_pushed(m.state()),
        bounds=((-3, -0.5, -10, -10), (3, 0.5, 10, 10)),
        skip=2,
        stage=Stage(m, window=(-2.7, 2.7, -0.4, 1.3), paths=[[(0, -2.6, 0), (0, 2.6, 0)]], pixels=640),
    )


def double_pendulum_swing_up() -> Task:
    """Return the task of swinging up two links with motors that are too weak to lift them: 4 N m and 2 N m.

    Links have 0.5 m and 1 kg; held horizontally, they require 9.8 N m at the shoulder and 2.5 N m at the elbow. Reward
    per step: the height of the tip from 0 (hanging) to 1 (upright), minus 0.01 per (rad/s)^2 of both hinges while it is
    up. Observation: sine and cosine of the first link's angle from hanging and of the second's relative to the first,
    and their rates.
    """
    m = scenes.pendulum(2, "revolute", angle=0.0, length=0.5, width=0.05)
    for joint, name in zip(m.joints, ("shoulder", "elbow"), strict=True):
        m.add_force(Motor(joint, 0.0, name=name))
        m.add_force(Damper(joint, 0.01))

    def observe(s: View) -> Array:
        return np.concatenate((np.sin(s.coordinates), np.cos(s.coordinates), s.rates), axis=-1)

    def reward(s: View) -> Array:
        first, second = s.coordinates[..., 0], s.coordinates[..., 0] + s.coordinates[..., 1]
        height = 0.5 - 0.25 * (np.cos(first) + np.cos(second))
        return height - 0.01 * height**4 * (s.rates**2).sum(axis=-1)  # type: ignore[no-any-return]

    return Task(
        Simulator(m, dt=0.01, on_inaccurate="ignore"),
        inputs={"shoulder": (-4.0, 4.0), "elbow": (-2.0, 2.0)},
        observe=observe,
        reward=reward,
        start=_pushed(m.state()),
        bounds=(np.repeat((-1, -1, -40), 2), np.repeat((1, 1, 40), 2)),
        skip=2,
        stage=Stage(m, window=(-1.2, 1.2, -1.2, 1.2)),
    )


def leg() -> Task:
    """Return the task of moving a body on one leg up and down by 4 cm once a second, with the foot below it.

    The leg is a closed loop, that of the Minitaur. The mean height is 0.2 m. Actions set the target angles of its two
    motors, within 0.6 rad of those at the mean height; the motors are servos with 5 N m/rad and at most 3.5 N m, and
    the foot slides. Reward per step: exp(-d), where d is the sum of the squared distances of the body from its target
    and of the foot from the point below it, divided by (2 cm)^2. The episode terminates if the leg is nearly stretched
    or folded, or the foot is 0.1 m away. Observation: height minus 0.2 m, foot (m), angles of both motors (rad), the
    rates of these, distance to the target (m), sine and cosine of its phase.
    """
    middle, most = 0.2, 0.04
    # bars of 0.1 and 0.2 m between hip and foot
    m = scenes.standing_leg(acos((0.1**2 + middle**2 - 0.2**2) / (2 * 0.1 * middle)))
    for side in ("front", "rear"):
        m.add_force(Servo(f"leg {side} motor", kp=5.0, kd=0.15, effort_limit=3.5, name=side))
    m.add_force(Damper("ground", 2.0))
    places = m.coordinate_places()
    seen = [places[joint].start for joint in ("rail", "ground", "leg front motor", "leg rear motor")]

    def target(s: View) -> Array:
        return most * np.sin(2 * pi * np.asarray(s.time))

    def observe(s: View) -> Array:
        phase = 2 * pi * np.asarray(s.time)
        wanted = np.stack((target(s) - s.coordinates[..., 0], np.sin(phase), np.cos(phase)), axis=-1)
        return np.concatenate((s.coordinates[..., seen], s.rates[..., seen], wanted), axis=-1)

    def reward(s: View) -> Array:
        height, foot = s.coordinates[..., 0], s.coordinates[..., 1]
        return np.exp(-((target(s) - height) ** 2 + foot**2) / 0.02**2)

    def marks(s: View) -> Array:
        none = np.zeros_like(target(s))
        return np.stack((none, none, middle + target(s)), axis=-1)[..., None, :]

    near = np.linspace(-0.02, 0.02, 5)
    high = np.repeat((0.2, pi, 10.0, 100.0, 0.3, 1.0), (2, 2, 2, 2, 1, 2))
    return Task(
        Simulator(m, dt=0.005, on_inaccurate="ignore"),
        inputs={"front": (-0.6, 0.6), "rear": (-0.6, 0.6)},
        observe=observe,
        reward=reward,
        terminate=lambda s: (np.abs(s.coordinates[..., :2]) > (0.08, 0.1)).any(axis=-1),
        start=_pushed(*(m.assemble(coordinates={"rail": height, "ground": foot}) for height in near for foot in near)),
        bounds=(-high, high),
        skip=4,
        stage=Stage(
            m,
            window=(-0.25, 0.25, -0.05, 0.35),
            paths=[[(0, -0.24, -0.012), (0, 0.24, -0.012)], [(0, 0, 0), (0, 0, 0.34)]],
        ),
        marks=marks,
    )


def four_bar_tracking() -> Task:
    """Return the task of turning the crank of a four-bar so that its coupler follows a point on the coupler's path.

    The crank has 0.4 m, the coupler 1.2 m, the rocker 1 m, and the pivots are 1.2 m apart; bars have 1 kg per m. The
    motor has at most 15 N m against gravity. The point moves as if the crank turned at 2 rad/s. Reward per step:
    exp(-d), where d is the squared distance over (0.2 m)^2. The episode terminates if the distance is 0.8 m.
    Observation: sine and cosine of the crank's angle, its rate (rad/s), sine and cosine of the point's phase, and the
    vector from the coupler to the point (m, y and z).
    """
    speed = 2.0
    m = _crank_and_rocker()
    m.add_force(Motor("joint4", 0.0, name="crank"))
    m.add_force(Damper("joint4", 0.1))

    # the path is what the coupler does when a drive turns the crank once round
    driven = _crank_and_rocker()
    driven.add_coupling(PrescribedMotion("joint4", lambda t: t))
    turn = Simulator(driven, dt=2 * pi / 360).run(steps=360, state=driven.assemble())
    angles, path = turn.time, turn.body("link2").position

    def target(s: View) -> Array:
        phase = s.time * speed % (2 * pi)
        return np.stack([np.interp(phase, angles, path[:, k]) for k in range(3)], axis=-1)

    def away(s: View) -> Array:
        return target(s) - s.position[..., 1, :]

    def observe(s: View) -> Array:
        crank, phase = s.coordinates[..., 3], np.asarray(s.time) * speed
        turned = np.stack((np.sin(crank), np.cos(crank), s.rates[..., 3], np.sin(phase), np.cos(phase)), axis=-1)
        return np.concatenate((turned, away(s)[..., 1:]), axis=-1)

    return Task(
        Simulator(m, dt=0.01, on_inaccurate="ignore"),
        inputs={"crank": (-15.0, 15.0)},
        observe=observe,
        reward=lambda s: np.exp(-(away(s) ** 2).sum(axis=-1) / 0.04),
        terminate=lambda s: (away(s) ** 2).sum(axis=-1) > 0.64,
        start=_pushed(*(m.assemble(coordinates={"joint4": angle}) for angle in np.linspace(-0.3, 0.3, 31))),
        bounds=((-1, -1, -40, -1, -1, -2, -2), (1, 1, 40, 1, 1, 2, 2)),
        skip=4,
        stage=Stage(m, window=(-0.7, 1.9, -0.7, 1.25), paths=[path]),
        marks=lambda s: np.stack((target(s), s.position[..., 1, :]), axis=-2),
    )


READY = {
    "CartPole": Ready(cart_pole, 500),
    "DoublePendulumSwingUp": Ready(double_pendulum_swing_up, 300),
    "Leg": Ready(leg, 300),
    "FourBarTracking": Ready(four_bar_tracking, 300),
}


# ---- how


def _pushed(*states: State) -> Callable[[np.random.Generator], State]:
    """One of some states with a random push of every body, of which the joints leave what they allow: soon drawn."""

    def start(random: np.random.Generator) -> State:
        state = states[random.integers(len(states))].copy()
        state.velocity = random.normal(scale=0.1, size=state.velocity.shape)
        return state

    return start


def _crank_and_rocker() -> Mechanism:
    return scenes.four_bar((1.0, 1.2, 0.4), ground=1.2, angle=0.0)
