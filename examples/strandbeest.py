"""Four legs of a Strandbeest walk in the air: a crank at constant speed, twelve closed loops, and a video."""

import numpy as np
from matplotlib.image import imsave

import catena as ct
from catena import plot

beast = ct.scenes.strandbeest(4)
pace = 2 * np.pi / 3  # rad/s: a turn in 3 s
start = float(beast.state().joint("shaft").coordinates[0])
beast.add_coupling(ct.PrescribedMotion("shaft", lambda t: start + pace * t, name="drive"))

run = ct.Simulator(beast, dt=0.0025).run(duration=3, state=beast.assemble(), record_every=10)
print(f"largest gap {run.drift().max():.1e} m, torque up to {np.abs(run.coupling('drive').effort).max():.2f} N m")
assert run.drift().max() < 1e-12
# after one turn, all feet are back at their initial positions
assert np.abs(run.position[-1] - run.position[0]).max() < 1e-9

stage = plot.Stage(beast, window=(-1.2, 1.2, -1.05, 0.45), pixels=400)  # m: y from left to right, z upwards
poses = [stage.draw(state.position, state.orientation, title=f"{state.time:.1f} s") for state in run[:120:20]]
imsave("strandbeest.png", np.block([[[pose] for pose in poses[row : row + 3]] for row in (0, 3)]))
run.save_video("strandbeest.gif", fps=15, pixels=360)
run.save_html("strandbeest")  # a page that plays in any browser
