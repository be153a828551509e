"""(j) Constraints on velocities, which the paper claims and does not show: a sleigh on a blade, and a rolling disk."""

from __future__ import annotations

from collections.abc import Iterator
from math import asinh, atan, cosh, sinh, sqrt
from typing import TYPE_CHECKING

import numpy as np

import catena as ct
from catena._util.rotation import Array, rotate

from .. import drawing
from ..figure import Curves, Figure, Finding, Row, Rows, Sizes, column, curve, pick, power, values
from ..progress import Progress
from ..setups import simulator

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

# the sleigh: mass (kg), moment about its center of mass (kg m^2), how far that lies ahead of the blade (m), and its
# first speed along the blade (m/s) and turning rate (rad/s)
MASS, MOMENT, AHEAD, SPEED, TURNING = 1.0, 0.5, 0.3, -1.0, 2.0
ORDERS = (2, 4)
RADIUS = 0.3  # of the disk, m


def sleigh() -> ct.Mechanism:
    """Chaplygin's sleigh: a body on a plane that slides along its blade only, at first backwards."""
    m = ct.Mechanism()
    m.add_body(
        "sleigh",
        ct.Inertia(MASS, (0.3, 0.4, MOMENT)),
        position=(AHEAD, 0, 0),
        velocity=(SPEED, AHEAD * TURNING, 0),
        angular_velocity=(0, 0, TURNING),
    )
    m.add_joint(ct.Planar("world", "sleigh", axis=(0, 0, 1), at=(0, 0, 0), name="plane"))
    m.add_joint(ct.KnifeEdge("world", "sleigh", at=(0, 0, 0), along=(1, 0, 0), name="blade"))
    return m


def heading(time: Array) -> Array:
    """The closed form of the sleigh's heading (rad)."""
    b = MOMENT / MASS + AHEAD**2
    top = sqrt(SPEED**2 + b * TURNING**2)
    rate, phase = AHEAD * top / b, asinh(SPEED / (sqrt(b) * TURNING))
    gudermann = 2 * np.arctan(np.tanh(0.5 * (rate * time + phase)))
    first = atan(sinh(phase)) if cosh(phase) > 0 else 0.0
    result: Array = sqrt(b) / AHEAD * (gudermann - first)
    return result


def disk(spin: float) -> ct.Mechanism:
    """An upright thin disk that rolls along x with so many rad/s and begins to lean, slowly."""
    m = ct.Mechanism()
    lean_rate = 1e-3
    m.add_body(
        "disk",
        ct.Inertia(1.0, (0.25 * RADIUS**2, 0.5 * RADIUS**2, 0.25 * RADIUS**2)),
        position=(0, 0, RADIUS),
        velocity=(RADIUS * spin, -RADIUS * lean_rate, 0),
        angular_velocity=(lean_rate, spin, 0),
    )
    m.add_joint(ct.RollingDisk("world", "disk", radius=RADIUS, axis=(0, 1, 0), name="rim"))
    return m


def wobble(spin: float) -> float:
    """The angular frequency (rad/s) of a small lean, squared; negative where an upright disk falls over."""
    return (12 * spin**2 - 4 * 9.81 / RADIUS) / 5


CRITICAL = sqrt(9.81 / (3 * RADIUS))  # rad/s


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """The sleigh's path and its error by step and order; the disk's wobble by spin."""
    for order in ORDERS:
        for dt in sizes["dt"]:
            run = simulator(sleigh(), dt=dt, order=order, tolerance=1e-13).run(sizes["seconds"])
            error = np.abs(run.joint("plane").coordinates[:, 2] - heading(run.time)).max()
            energy = run.energy()
            yield {
                "kind": "sleigh",
                "order": order,
                "dt": dt,
                "heading_error_rad": float(error),
                "energy_error": float(np.abs(energy / energy[0] - 1).max()),
                "slip_m_per_s": _slip(run),
                "turned_rad": float(run.joint("plane").coordinates[-1, 2]),
                "end_speed_m_per_s": float(run[-1].body("sleigh").velocity @ _ahead(run)),
            }
            progress.step()
    fine = simulator(sleigh(), dt=min(sizes["dt"])).run(min(sizes["seconds"], 4.0))
    every = max(1, len(fine) // 200)
    for time, place in zip(fine.time[::every], fine.body("sleigh").point((-AHEAD, 0, 0))[::every], strict=True):
        yield {"kind": "path", "time": float(time), "x": float(place[0]), "y": float(place[1])}
    for ratio in sizes["spins"]:
        spin = ratio * CRITICAL
        run = simulator(disk(spin), dt=sizes["disk_dt"], tolerance=1e-13).run(sizes["disk_seconds"])
        lean = rotate(run.orientation[:, 0], np.tile((0.0, 1.0, 0.0), (len(run), 1)))[:, 2]
        yield {
            "kind": "disk",
            "spin_ratio": ratio,
            "wanted_rad2_per_s2": wobble(spin),
            "found_rad2_per_s2": _squared_rate(run.time, lean),
            "energy_error": float(run.energy_error().max()),
            "largest_lean": float(np.abs(lean).max()),
        }
        progress.step()


def _ahead(run: ct.Trajectory) -> Array:
    """Where the blade points at the end."""
    return rotate(run.orientation[-1, 0], np.array((1.0, 0.0, 0.0)))


def _slip(run: ct.Trajectory) -> float:
    """The largest speed of the blade across itself."""
    body = run.body("sleigh")
    across = rotate(body.orientation, np.tile((0.0, 1.0, 0.0), (len(run), 1)))
    return float(np.abs((body.point_velocity((-AHEAD, 0, 0)) * across).sum(axis=1)).max())


def _squared_rate(time: Array, lean: Array) -> float:
    """K of lean'' = -k lean while the lean is small, by least squares over second differences."""
    dt = time[1] - time[0]
    small = np.flatnonzero(np.abs(lean) > 0.05)
    end = int(small[0]) if len(small) else len(lean)
    middle, second = lean[1 : end - 1], np.diff(lean[:end], 2) / dt**2
    return float(-(middle @ second) / (middle @ middle))


def weight(sizes: Sizes) -> int:
    """Runs."""
    return len(ORDERS) * len(sizes["dt"]) + len(sizes["spins"])


# ---- what it shows


def plot(rows: Rows, published: Curves) -> Picture:
    """The sleigh's path, its error against the step, and the disk."""
    figure, (path, error, disks) = drawing.page(3)
    some = pick(rows, kind="path")
    path.plot(column(some, "x"), column(some, "y"), color=drawing.OURS, linewidth=1.6)
    path.plot(0, 0, marker="o", color=drawing.RIVAL)
    path.annotate("start", (0, 0), textcoords="offset points", xytext=(6, 4), fontsize=8)
    path.set_aspect("equal", adjustable="datalim")
    drawing.name_axes(path, "x (m)", "y (m)", "path of the sleigh's blade, pushed backwards")
    for order, color in zip(ORDERS, (drawing.OURS, drawing.OURS_TOO), strict=True):
        dt, size = curve(rows, "dt", "heading_error_rad", kind="sleigh", order=order)
        drawing.ours(error, 1e3 * dt, size, f"order {order}", color=color)
    error.set_xscale("log")
    drawing.ticks(error, 1e3 * column(pick(rows, kind="sleigh", order=2), "dt"))
    error.set_yscale("log")
    drawing.name_axes(error, "time step (ms)", "largest error of the heading (rad)", "against the closed form")
    drawing.legend(error)
    ratio, found = curve(rows, "spin_ratio", "found_rad2_per_s2", kind="disk")
    spins = np.linspace(ratio.min(), ratio.max(), 100)
    wanted = np.array([wobble(x * CRITICAL) for x in spins])
    disks.plot(spins, wanted, color=drawing.PAPER, linestyle="--", label="linear theory")
    drawing.ours(disks, ratio, found, "catena", linestyle="none", markersize=5)
    disks.axhline(0, color="#444444", linewidth=0.8)
    drawing.name_axes(disks, "spin, in parts of the critical one", "frequency squared (rad²/s²)", "a disk's small lean")
    drawing.legend(disks)
    return figure


def table(rows: Rows, published: Curves) -> Rows:
    """The sleigh by order and step."""
    return [
        {
            "order": row["order"],
            "step (ms)": 1e3 * row["dt"],
            "error of the heading (rad)": row["heading_error_rad"],
            "relative error of the energy": row["energy_error"],
            "speed across the blade (m/s)": row["slip_m_per_s"],
        }
        for row in pick(rows, kind="sleigh")
    ]


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """The closed form is met with the order promised; the disk keeps to its theory."""
    result = []
    orders = {
        order: power(*curve(rows, "dt", "heading_error_rad", kind="sleigh", order=order))
        for order in values(pick(rows, kind="sleigh"), "order")
    }
    slip = column(pick(rows, kind="sleigh"), "slip_m_per_s").max()
    best = column(pick(rows, kind="sleigh"), "heading_error_rad").min()
    met = orders[2] > 1.8 and slip < 1e-9
    last = pick(rows, kind="sleigh")[-1]
    told = ", ".join(f"{found:.1f} at order {order}" for order, found in orders.items())
    result.append(
        Finding(
            "new" if met else "not reproduced",
            f"the sleigh's heading {'agrees' if met else 'does not agree'} with its closed form: the error "
            f"decreases with the step to the power {told}, down to {best:.1g} rad. Pushed backward, it has "
            f"turned by {last['turned_rad']:.2f} rad at the end and moves at {last['end_speed_m_per_s']:+.2f} m/s "
            f"along its blade, which slips sideways by {slip:.0e} m/s at most.",
        )
    )
    disks = pick(rows, kind="disk")
    wanted, found = column(disks, "wanted_rad2_per_s2"), column(disks, "found_rad2_per_s2")
    off = np.abs(found - wanted).max() / np.abs(wanted).max()
    signs = bool((np.sign(found) == np.sign(wanted)).all())
    turns = "falls over below and stays up above" if signs else "does not turn stable at"
    good = off < 0.01 and signs
    result.append(
        Finding(
            "new" if good else "not reproduced",
            f"a rolling disk {'agrees' if good else 'does not agree'} with the linear theory of its tilt: squared "
            f"frequencies are within {100 * off:.1g} % of the largest, and it {turns} the critical spin of "
            f"{CRITICAL:.2f} rad/s.",
        )
    )
    return result


FIGURE = Figure(
    letter="j",
    title="Nonholonomic: a sleigh and a disk",
    setup="The paper mentions velocity constraints but shows no example. Chaplygin's sleigh: 1 kg, 0.5 kg m², its "
    "center "
    "of mass 0.3 m ahead of a blade that cannot slip sideways, pushed backward at 1 m/s while turning at 2 rad/s; its "
    "heading has a closed form. And a thin upright disk of 0.3 m that rolls without slipping: below the spin (g/3r)^½ "
    "it falls over; above, it wobbles with the square of the frequency (12 spin² - 4 g/r)/5.",
    sizes={
        "full": {
            "dt": [0.02, 0.01, 0.005, 0.0025, 0.00125],
            "seconds": 10.0,
            "spins": [0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 2.0],
            "disk_dt": 0.001,
            "disk_seconds": 5.0,
        },
        "quick": {
            "dt": [0.02, 0.01, 0.005, 0.0025],
            "seconds": 10.0,
            "spins": [0.5, 0.8, 1.2, 1.5, 2.0],
            "disk_dt": 0.001,
            "disk_seconds": 3.0,
        },
        "tiny": {
            "dt": [0.02, 0.01],
            "seconds": 2.0,
            "spins": [0.8, 1.5],
            "disk_dt": 0.002,
            "disk_seconds": 1.0,
        },
    },
    measure=measure,
    weight=weight,
    plot=plot,
    table=table,
    findings=findings,
    contestants=("catena",),
)
