"""Four legs of a Strandbeest walk in the air: a crank turned at a steady pace, twelve loops that follow, and a film."""

import numpy as np

import catena as ct

beast = ct.scenes.strandbeest(4)
pace = 2 * np.pi / 3  # rad/s: a turn in 3 s
start = float(beast.state().joint("shaft").coordinates[0])
beast.add_coupling(ct.Drive("shaft", lambda t: start + pace * t, name="drive"))

run = ct.Simulator(beast, dt=0.0025).run(duration=3, state=beast.assemble(), record_every=10)
print(f"largest gap {run.drift().max():.1e} m, torque up to {np.abs(run.coupling('drive').effort).max():.2f} N m")
assert run.drift().max() < 1e-12
# after a turn all feet are where they were
assert np.abs(run.position[-1] - run.position[0]).max() < 1e-9

try:
    run.save_video("strandbeest.gif", fps=15, pixels=360)
except ImportError as missing:
    print(missing)
