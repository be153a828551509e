"""An LQR controller balances two poles, one on top of the other, on a cart, starting from tilts of 10 degrees."""

import numpy as np
from matplotlib.figure import Figure

import catena as ct
from catena import plot

m = ct.scenes.cart_pole()  # 1 kg, and a bar of 1 m, 0.1 kg
m.add_body("second pole", ct.box((0.05, 0.05, 1.0), mass=0.1), position=(0, 0, 1.5))
m.add_joint(ct.Revolute("pole", "second pole", axis=(1, 0, 0), at=(0, 0, 1), name="elbow"))
m.add_force(ct.Motor("rail", 0.0, name="push"))
live = ct.Simulator(m, dt=0.02, order=4).start()

# x -> A x + B u in one step about the upright pose at rest: x are coordinates and rates, u is the force (N) on the cart
model = live.linearize()
A, B = model.A, model.B

# without control, the poles fall; compare with the linearized equations of motion
inertia = 0.1 * (1 + 0.05**2) / 12
masses = np.array(((1.2, 0.15, 0.05), (0.15, inertia + 0.125, 0.05), (0.05, 0.05, inertia + 0.025)))
falls = np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(masses, 9.81 * np.diag((0, 0.15, 0.05))))))
grows = np.exp(0.02 * np.sort(falls)[1:])
print("growth of the tilts in a step of 20 ms, without control:", grows)
assert np.allclose(np.sort(np.abs(np.linalg.eigvals(A)))[-2:], grows, rtol=1e-5)  # order 4

# gains that minimize the sum of x'Qx + u'Ru over all steps, by iterating the Riccati equation
Q, R = np.diag((10.0, 10.0, 10.0, 1.0, 1.0, 1.0)), np.array([[0.1]])
S = Q
for _ in range(2000):
    K = np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A)
    S = Q + A.T @ S @ (A - B @ K)
slowest = np.abs(np.linalg.eigvals(A - B @ K)).max()
assert slowest < 1


def control(t, now):
    """Apply the force given by the gains and the current state."""
    now.set(push=-(K @ np.concatenate((now.coordinates, now.rates)))[0])


lean = m.state()
lean.joint("hinge").angle = np.radians(10)
run = live.simulator.run(duration=6, state=lean, control=control)
rest = np.abs(run.coordinates[-1]).max()
print(f"largest closed-loop eigenvalue {slowest:.3f}; deviation after 300 steps {rest:.0e} m or rad")
assert rest < 100 * slowest**300  # a hundred, because parts that cancel at first shrink at different rates

figure = Figure(figsize=(10, 4.5), layout="constrained")
left, right = figure.subplots(1, 2)
plot.motion(run[:150], ax=left)
plot.coordinates(run, ax=right)
figure.savefig("lqr.png")
run.save_html("lqr")  # a page that plays in any browser
