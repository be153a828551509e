"""A clock with a gravity escapement: two arms fall onto a pendulum in turn and keep it swinging.

Each arm rests on a stop. The pendulum meets an arm at its upper stop and carries it outward, which withdraws that stop;
on the way back the arm follows the pendulum down to its lower stop, and gives it the energy of that fall. The other arm
is meanwhile lifted by the train. Stops are joint limits that move while the clock runs, and arms push the pendulum
through limits of sums of coordinates.
"""

import numpy as np
from matplotlib.figure import Figure

import catena as ct

LOW, HIGH, UNLOCK = 0.02, 0.06, 0.01  # rad: where arms rest and are picked up; how far beyond they withdraw their stop

m = ct.Mechanism()
m.add_body("pendulum", ct.sphere(0.04, mass=1.0), position=(0, 0, -0.25))
m.bodies["pendulum"].add_shape("cylinder", (0.004, 0.25), position=(0, 0, 0.125))
m.add_joint(ct.Revolute("world", "pendulum", axis=(0, -1, 0), at=(0, 0, 0), name="swing"))
m.add_force(ct.Damper("swing", 0.0125))
for side, sign in (("right", 1), ("left", -1)):
    m.add_body(side, ct.sphere(0.02, mass=0.1), position=(0.1 * sign, 0.03 * sign, -0.02))
    m.bodies[side].add_shape("box", (0.1, 0.005, 0.005), position=(-0.05 * sign, 0, 0.01))
    arm = m.add_joint(ct.Revolute("world", side, axis=(0, -sign, 0), at=(0, 0, 0), name=side))
    arm.limits = ct.Limits(LOW, 0.5)
    # positive outward; the pendulum cannot pass the arm
    terms = [(side, 1.0), ("swing", -float(sign))]
    m.add_force(ct.SumLimits(terms, ct.Limits(lower=0.0), name=f"{side} pallet"))
    m.add_force(ct.Motor(side, 0.0, name=f"lift {side}"))


class Train:
    """What the wheels of the clock do: they withdraw the stop of one arm, and lift the other one onto its own."""

    def __init__(self) -> None:
        self.locked = {"right": False, "left": False}
        self.lifted = "right"

    def turn(self, t: float, live: ct.Live) -> None:
        """Look at both arms, at every node."""
        for side, other in (("right", "left"), ("left", "right")):
            angle = live.joint(side).angle
            if self.lifted == side:
                live.set_limits(side, upper=HIGH)
                if angle >= HIGH - 1e-9:
                    live.set_limits(side, lower=HIGH, upper=0.5)
                    self.locked[side], self.lifted = True, ""
            elif self.locked[side] and angle > HIGH + UNLOCK:
                live.set_limits(side, lower=LOW)
                self.locked[side], self.lifted = False, other
            live.set(**{f"lift {side}": 0.2 if self.lifted == side else 0.0})


def clock(amplitude: float, duration: float) -> ct.Trajectory:
    """Released from so far to the left (rad)."""
    state = m.state()
    state.joint("swing").angle = -amplitude
    for side in ("right", "left"):
        state.joint(side).angle = max(LOW, amplitude if side == "left" else 0.0)
    return ct.Simulator(m, dt=0.002, on_inaccurate="ignore").run(duration=duration, state=state, control=Train().turn)


run, other = clock(0.11, 60), clock(0.25, 60)
angle = run.joint("swing").angle
print(run)

# whatever the start, the amplitude becomes that at which the arms give what damping and impacts take
swings = [np.abs(each.joint("swing").angle[-1000:]).max() for each in (run, other)]
print(f"amplitude after a minute: {swings[0]:.4f} and {swings[1]:.4f} rad, from 0.11 and 0.25 rad")
up = np.flatnonzero((angle[:-1] < 0) & (angle[1:] >= 0))
ticks = np.diff(run.time[up] - run.dt * angle[up] / (angle[up + 1] - angle[up]))
print(f"period {ticks[-1]:.5f} s, the same to {np.ptp(ticks[-10:]):.0e} s over the last ten")

# no arm passes its stops, no pallet the pendulum; lifting puts in what damping and impacts take out
arms = np.stack([run.joint(side).angle for side in ("right", "left")])
pallets = arms - np.array(((1.0,), (-1.0,))) * angle
print(f"stops passed by {max(LOW - arms.min(), 0):.0e} rad, pallets by {max(-pallets.min(), 0):.0e} rad")
assert abs(swings[0] - swings[1]) < 1e-3
assert np.ptp(ticks[-10:]) < 1e-5
assert arms.min() >= LOW - 1e-12
assert pallets.min() >= -1e-12

figure = Figure(figsize=(7, 3.5), layout="constrained")
axis = figure.add_subplot(xlabel="time [s]", ylabel="angle outward [rad]", xlim=(57, 60))
axis.plot(run.time, angle, color="0.3", label="pendulum")
for values, sign, name in zip(arms, (1, -1), ("right arm", "left arm"), strict=True):
    axis.plot(run.time, sign * values, label=name)
for bound in (LOW, HIGH):
    axis.hlines((-bound, bound), 57, 60, color="0.5", linewidth=0.8, linestyle="--")
axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
figure.savefig("escapement.png", dpi=130)
run[-1500:].save_html("escapement")  # a page that plays in any browser
