"""A chain of ten hinged links swings for a minute: joints stay closed, and energy is conserved."""

import catena as ct
from catena import plot

mechanism = ct.scenes.pendulum(10, "revolute")
run = ct.Simulator(mechanism, dt=0.01).run(duration=60)

gap, error = run.drift().max(), run.energy_error().max()
print(f"largest gap of a joint {gap:.1e} m, energy error {error:.1e} of the energy in motion")
assert gap < 1e-12
assert error < 2e-3

plot.overview(run).savefig("pendulum_chain.png")
run[:1001].save_html("pendulum_chain")  # its first ten seconds, as a page that plays in any browser
