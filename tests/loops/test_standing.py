"""Loops that agree in directions that turn with the pose, with forces on their joints."""

import numpy as np
import pytest

from catena import Ball, Mechanism, Servo, Simulator, scenes
from catena._util.rotation import rotate

LEGS = ("front_left", "front_right", "back_left", "back_right")


def standing(feet: int) -> Mechanism:
    """A Minitaur on so many pinned feet, whose motors hold their angles."""
    m = scenes.minitaur((1.2, 1.2))
    for leg in LEGS[:feet]:
        shin = m.bodies[f"{leg} front shin"]
        m.add_joint(Ball("world", shin, at=shin.position + rotate(shin.orientation, np.array((0, 0, 0.1)))))
    for leg in LEGS:
        for end in ("front", "rear"):
            m.add_force(Servo(f"{leg} {end} motor", kp=40.0, kd=1.0))
    return m


@pytest.mark.filterwarnings("ignore::catena.LoopWarning")
@pytest.mark.parametrize("feet", [3, 4])
def test_forces_act_beside_loops_that_disagree(feet: int) -> None:
    """Pins left and right hold the body's axis twice; what is said twice is left out."""
    m = standing(feet)
    sim = Simulator(m, 0.002)
    assert (sim.plan.compiled.selection.rows >= 0).any()
    run = sim.run(steps=10)
    # three pins stand at the end of what the legs allow, where gaps are squares of what rounding leaves
    assert run.drift().max() < 1e-10
    # it sinks into its motors' springs
    assert run.body("body").position[-1, 2] < run.body("body").position[0, 2]
