"""Where every scene of the work-precision plots ends: catena of order 6 with small steps, checked by other equations.

The check never meets catena's code: SciPy's DOP853 at its tightest on equations of motion written down here, in
absolute angular velocities for open chains and in plane angles with Lagrange multipliers for the four-bar.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catena_engine import make
from measure import distance
from scenes import GRAVITY, SCENES, Array, Bodies, Scene
from scipy.integrate import solve_ivp

# steps of the reference in s, and of the run it is compared with: far into the region where only rounding is left
STEPS = {"double_ball": (5e-4, 1e-3), "chain": (1e-3, 2e-3), "four_bar": (5e-4, 1e-3), "heavy_top": (1e-4, 2e-4)}


def rows(name: str, size: int, joint: str, times: list[float]) -> Iterator[dict[str, Any]]:
    """One row per time: the poses, and how closely the reference agrees with itself and with the check."""
    scene = SCENES[name](size, joint)
    for end in times:
        fine, coarse = (_run(scene, dt, end) for dt in STEPS[name])
        tight, loose = (_check(scene, end, rtol) for rtol in (2.3e-14, 1e-13))
        own = distance(coarse, fine.position, fine.rotation)
        theirs = distance(loose, tight.position, tight.rotation)
        apart = distance(tight, fine.position, fine.rotation)
        # the rounding of 900 000 small steps of a fast top adds up: there the check is the better reference
        truth = fine if apart < 1e-9 else tight
        yield {
            "scene": name,
            "time": end,
            "reference": "catena" if truth is fine else "scipy",
            "catena_dt": STEPS[name][0],
            "catena_against_twice_the_step": own,
            "scipy_against_looser": theirs,
            "catena_against_scipy": apart,
            "uncertainty": apart if truth is fine else theirs,
            "position": truth.position.tolist(),
            "rotation": truth.rotation.tolist(),
        }


def _run(scene: Scene, dt: float, end: float) -> Bodies:
    sim = make(scene, "order 6", dt)
    sim.run(round(end / dt))
    return sim.bodies()


def _check(scene: Scene, end: float, rtol: float) -> Bodies:
    rate, start, poses = _plane_loop(scene) if scene.loops else _open_chain(scene)
    run = solve_ivp(rate, (0, end), start, method="DOP853", rtol=rtol, atol=1e-14)
    return Bodies(*poses(run.y[:, -1]), np.zeros(0), np.zeros(0))


def _cross(a: Array) -> Array:
    """Matrices (..., 3, 3) of the products a x."""
    x, y, z = np.moveaxis(a, -1, 0)
    o = np.zeros_like(x)
    return np.moveaxis(np.array(((o, -z, y), (z, o, -x), (-y, x, o))), (0, 1), (-2, -1))


def _open_chain(scene: Scene) -> tuple[Any, Array, Any]:
    """Links one below the other on ball joints: y is the rotations (by rows) and the angular velocities in the world.

    The center of link k is the sum of arms r_ki fixed in the links i <= k, so its velocity is the sum of w_i x r_ki, or
    J w; d'Alembert with every w_i free gives 3 n equations. A plane chain stays plane without the hinges.
    """
    links, n = scene.links, len(scene.links)
    begin = scene.start()
    mass, moments = np.repeat([k.mass for k in links], 3), np.array([k.moments for k in links])
    grips = np.array([k.grip for k in links])
    spans = np.array([k.hook for k in links[1:]] + [(0, 0, 0)]) - grips
    own, above = np.eye(n)[:, :, None], np.tril(np.ones((n, n)), -1)[:, :, None]
    weight = np.tile((0, 0, -GRAVITY), n)

    def arms(r: Array) -> Array:
        return own * -np.einsum("nij,nj->ni", r, grips) + above * np.einsum("nij,nj->ni", r, spans)

    def rate(_: float, y: Array) -> Array:
        r, w = y[: 9 * n].reshape(n, 3, 3), y[9 * n :].reshape(n, 3)
        turn, reach = _cross(w), arms(r)
        jacobian = -_cross(reach).transpose(0, 2, 1, 3).reshape(3 * n, 3 * n)
        drift = np.einsum("iab,kib->ka", turn @ turn, reach).ravel()
        inertia = r * moments[:, None, :] @ r.transpose(0, 2, 1)
        full = jacobian.T @ (mass[:, None] * jacobian)
        for i in range(n):
            full[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] += inertia[i]
        force = jacobian.T @ (mass * (weight - drift))
        force -= np.einsum("iab,ibc,ic->ia", turn, inertia, w).ravel()
        return np.concatenate([(turn @ r).ravel(), np.linalg.solve(full, force)])

    def poses(y: Array) -> tuple[Array, Array]:
        # what little the integrator lost of orthogonality is given back
        u, _, vt = np.linalg.svd(y[: 9 * n].reshape(n, 3, 3))
        return arms(u @ vt).sum(axis=1), u @ vt

    return rate, np.concatenate([begin.rotation.ravel(), begin.angular_velocity.ravel()]), poses


def _plane_loop(scene: Scene) -> tuple[Any, Array, Any]:
    """A plane chain from the origin to a fixed point: y is absolute angles and rates, two multipliers close it."""
    links, n = scene.links, len(scene.links)
    begin = scene.start()
    angle = np.arctan2(begin.rotation[:, 2, 1], begin.rotation[:, 1, 1])
    mass, inertia = np.array([k.mass for k in links]), np.array([k.moments[0] for k in links])
    length = 2 * np.array([k.grip[2] for k in links])
    # lever[k, i]: how far link i's direction carries the center of link k
    lever = np.tril(np.ones((n, n)), -1) * length + np.diag(length / 2)

    def rate(_: float, y: Array) -> Array:
        t, w = y[:n], y[n:]
        along, across = np.array((np.sin(t), -np.cos(t))), np.array((np.cos(t), np.sin(t)))
        weight = lever.T @ (mass[:, None] * lever)
        full = weight * (across.T @ across) + np.diag(inertia)
        force = -(weight * (across.T @ -along)) @ w**2 - GRAVITY * (mass @ lever) * across[1]
        row = across * length
        kkt = np.block([[full, row.T], [row, np.zeros((2, 2))]])
        a = np.linalg.solve(kkt, np.concatenate([force, along * length @ w**2]))[:n]
        return np.concatenate([w, a])

    def poses(y: Array) -> tuple[Array, Array]:
        t = y[:n]
        x = np.stack([0 * t, lever @ np.sin(t), -lever @ np.cos(t)], axis=1)
        c, s, o = np.cos(t), np.sin(t), 0 * t
        return x, np.array(((1 + o, o, o), (o, c, -s), (o, s, c))).transpose(2, 0, 1)

    return rate, np.concatenate([angle, np.zeros(n)]), poses
