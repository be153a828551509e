"""Two motors lift a hanging arm and hold it: a control function in Python reads the angles and returns torques."""

import numpy as np

import catena as ct
from catena import plot

arm = ct.scenes.pendulum(2, "revolute", angle=0.0)
target = np.array((2.0, -1.0))  # rad: shoulder, elbow
axis = np.array((1.0, 0.0, 0.0))


def motors(t: float, live: ct.Live) -> dict[str, ct.Load]:
    """PD control of both joints toward their targets, with gravity compensation."""
    joints = [live.joint("joint1"), live.joint("joint2")]
    angle = np.array([joint.angle for joint in joints])
    rate = np.array([joint.rate for joint in joints])
    shoulder, elbow = 60 * (target - angle) - 20 * rate

    # gravity compensation: 9.81 N per link, with the lever arm along y
    y1, y2 = live.position[:, 1]
    elbow_y = live.body("link1").point((0, 0, -0.5))[1]
    shoulder += 9.81 * (y1 + y2)
    elbow += 9.81 * (y2 - elbow_y)

    # a motor acts on its link, and with the opposite torque on the body before
    return {"link1": ct.Load(torque=(shoulder - elbow) * axis), "link2": ct.Load(torque=elbow * axis)}


run = ct.Simulator(arm, dt=0.002).run(duration=8, control=motors)
reached = np.array([run.joint(name).coordinates[-1, 0] for name in ("joint1", "joint2")])
print("reached", reached.round(4), "of", target)
assert np.abs(reached - target).max() < 1e-3  # what is left of motions that die out with 60/20 = 3 per second

plot.motion(run[:1000]).savefig("control_callback.png")
run.save_html("control_callback")  # a page that plays in any browser
