"""Closed-loop scenes, with their equations and degrees of freedom counted by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from catena import Mechanism, scenes
from catena._util import rotation as rot

TURN = rot.normalised(np.array((0.3, 0.5, -0.2, 0.7)))


# scene, step (s), equations, degrees of freedom; counted by hand: the plane linkages from their plane mobility,
# the others from bodies and joints (a bar between two balls spins freely: one more)
SCENES: dict[str, tuple[Callable[[], Mechanism], float, int, int]] = {
    "four_bar": (scenes.four_bar, 0.01, 20, 1),
    "four_bar turned": (lambda: scenes.four_bar(plane=TURN), 0.01, 20, 1),
    "four_bar sideways": (lambda: scenes.four_bar(gravity=(5.0, 3.0, -6.0)), 0.01, 20, 1),
    "closed_chain": (lambda: scenes.closed_chain(11), 0.01, 60, 9),
    "closed_chain ball": (lambda: scenes.closed_chain(11, "ball"), 0.01, 36, 30),
    "closed_chain asymmetric": (lambda: scenes.closed_chain(7, asymmetric=True), 0.01, 40, 5),
    "catenary_chain": (lambda: scenes.catenary_chain(10), 0.01, 55, 8),
    "segmented_chain 1": (lambda: scenes.segmented_chain(1), 0.01, 25, 2),
    "segmented_chain 4": (lambda: scenes.segmented_chain(4), 0.01, 100, 8),
    "segmented_chain elbow": (lambda: scenes.segmented_chain(4, "elbow"), 0.01, 100, 8),
    "n_four_bar 1": (lambda: scenes.n_four_bar(1), 0.01, 20, 1),
    "n_four_bar 5": (lambda: scenes.n_four_bar(5), 0.01, 80, 1),
    "bricard": (scenes.bricard, 0.01, 30, 1),
    "slider_crank": (scenes.slider_crank, 0.01, 20, 1),
    "slider_crank turning": (lambda: scenes.slider_crank(offset=0.05, rate=10.0), 0.001, 20, 1),
    "scissor 1": (lambda: scenes.scissor(1), 0.01, 35, 1),
    "scissor 4": (lambda: scenes.scissor(4), 0.01, 80, 1),
    "ladder": (lambda: scenes.ladder(5), 0.01, 100, 5),
    "ladder ball": (lambda: scenes.ladder(5, "ball"), 0.01, 60, 30),
    "net": (lambda: scenes.net(3, 4), 0.01, 90, 36),
    "strandbeest 1": (lambda: scenes.strandbeest(1), 0.01, 56, 1),
    "strandbeest 3": (lambda: scenes.strandbeest(3, angle=1.0, rate=3.0), 0.01, 146, 1),
    "strandbeest 12": (lambda: scenes.strandbeest(12, rate=5.0), 0.01, 551, 1),
    "strandbeest floating": (lambda: scenes.strandbeest(4, rate=5.0, floating=True), 0.01, 185, 7),
    "delta_robot": (scenes.delta_robot, 0.01, 51, 9),
    "stewart_platform": (scenes.stewart_platform, 0.01, 66, 12),
    "stewart_platform turned": (
        lambda: scenes.stewart_platform((0.1, -0.1, 0.7), rot.from_axis_angle((1, 2, 3), 0.3)),
        0.01,
        66,
        12,
    ),
    "minitaur_leg": (scenes.minitaur_leg, 0.01, 25, 2),
    "minitaur_leg apart": (lambda: scenes.minitaur_leg((1.5, 1.0), hips=0.04), 0.001, 25, 2),
    "standing_leg": (scenes.standing_leg, 0.001, 40, 2),
    "minitaur": (scenes.minitaur, 0.01, 100, 14),
}
