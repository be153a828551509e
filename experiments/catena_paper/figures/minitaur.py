"""(i) The Minitaur with closed-loop legs: a gait in the air, and standing on pinned and on rolling feet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import cos, pi, sin
from typing import TYPE_CHECKING

import numpy as np

import catena as ct
from catena._util.rotation import Array, rotate

from .. import drawing
from ..figure import Curves, Figure, Finding, Row, Rows, Sizes, column, curve, pick, power, values
from ..progress import Progress
from ..setups import simulator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

LEGS = ("front_left", "front_right", "back_left", "back_right")
CASES = {"air": "trotting in the air", "pinned": "swaying on pinned feet", "rolling": "swaying on rolling feet"}
COLORS = dict(zip(CASES, (drawing.OURS, drawing.OURS_TOO, drawing.OURS_THREE), strict=True))

PACE = 2.0  # gaits per second
FOOT = np.array((0.0, 0.0, 0.1))  # on the front shin
FOOT_RADIUS = 0.02  # m
FRAMES = 4


def robot(case: str) -> ct.Mechanism:
    """A Minitaur with a servo on each of its eight motors, which follow a gait."""
    m = ct.scenes.minitaur((1.2, 1.2))
    for leg in LEGS:
        # in the air diagonal legs move together; on its feet all do
        phase = pi if case == "air" and leg in ("front_right", "back_left") else 0.0
        for end, side in (("front", 1.0), ("rear", -1.0)):
            servo = ct.Servo(f"{leg} {end} motor", kp=40.0, kd=1.0, target=_gait(phase, side), name=f"{leg} {end}")
            m.add_force(servo)
        shin = m.bodies[f"{leg} front shin"]
        foot = shin.position + rotate(shin.orientation, FOOT)
        if case == "pinned":
            m.add_joint(ct.Revolute("world", shin, axis=(1, 0, 0), at=foot, name=f"{leg} pin"))
        elif case == "rolling":
            ground = (0.0, 0.0, foot[2] - FOOT_RADIUS)
            m.add_joint(
                ct.RollingBall("world", shin, radius=FOOT_RADIUS, at=ground, center=FOOT, name=f"{leg} contact")
            )
    return m


def _gait(phase: float, side: float) -> Callable[[float], float]:
    """Thighs swing together and spread in turn, after half a second to get there."""

    def target(t: float) -> float:
        begun = min(2 * t, 1.0)
        turn = 2 * pi * PACE * t + phase
        return begun * begun * (3 - 2 * begun) * (0.3 * sin(turn) + side * 0.15 * cos(turn))

    return target


def measure(sizes: Sizes, progress: Progress) -> Iterator[Row]:
    """Gaps, energy and the motors' work, by case and step; and some poses to look at."""
    for case in CASES:
        m = robot(case)
        for dt in sizes["dt"]:
            run = simulator(m, dt=dt).run(sizes["seconds"])
            power_in = np.sum([run.force(name).power for name in m.forces], axis=0)
            work = np.concatenate(((0.0,), np.cumsum(0.5 * dt * (power_in[1:] + power_in[:-1]))))
            gained = run.energy() - run.energy()[0]
            gap = run.drift().max(axis=1)
            every = max(1, len(run) // 100)
            for k in range(0, len(run), every):
                yield {
                    "kind": "trace",
                    "case": case,
                    "dt": dt,
                    "time_s": float(run.time[k]),
                    "gap_m": float(gap[k]),
                    "energy_gained_J": float(gained[k]),
                    "work_J": float(work[k]),
                }
            yield {
                "kind": "summary",
                "case": case,
                "dt": dt,
                "ok": int(run.status.ok),
                "halved": run.halved_count,
                "gap_m": float(gap.max()),
                "imbalance_J": float(np.abs(gained - work).max()),
                "work_J": float(np.abs(work).max()),
                "fall_error_m": _fall_error(run) if case == "air" else "",
                "spin_error": float(np.abs(_spin(run)).max()) if case == "air" else "",
            }
            progress.step()
        yield from _pictures(case, run)


def _fall_error(run: ct.Trajectory) -> float:
    """How far the center of mass is from its parabola (m)."""
    masses = np.array([body.mass for body in run.mechanism.bodies.values()])
    center = np.einsum("i,tij->tj", masses, run.position) / masses.sum()
    wanted = center[0] - np.outer(0.5 * run.time**2, (0.0, 0.0, 9.81))
    return float(np.abs(center - wanted).max())


def _spin(run: ct.Trajectory) -> Array:
    """Angular momentum about the center of mass, which begins with none."""
    masses = np.array([body.mass for body in run.mechanism.bodies.values()])
    center = np.einsum("i,tij->tj", masses, run.position) / masses.sum()
    orbit: Array = np.cross(center, run.momentum())
    return run.angular_momentum() - orbit


def _pictures(case: str, run: ct.Trajectory) -> Iterator[Row]:
    """Left legs and body in the plane (y, z) through a gait, the body's middle in the middle in the air."""
    gait = round(1 / PACE / run.dt)
    first = max(0, len(run) - 1 - gait)
    for frame in range(FRAMES):
        k = min(len(run) - 1, first + frame * gait // FRAMES)
        origin = run.body("body").position[k] if case == "air" else np.zeros(3)
        lines = {"body": [(0, -0.2, -0.05), (0, 0.2, -0.05), (0, 0.2, 0.05), (0, -0.2, 0.05), (0, -0.2, -0.05)]}
        for leg in ("front_left", "back_left"):
            for end in ("front", "rear"):
                lines[f"{leg} {end} thigh"] = [(0, 0, -0.05), (0, 0, 0.05)]
                lines[f"{leg} {end} shin"] = [(0, 0, -0.1), (0, 0, 0.1)]
        for name, points in lines.items():
            for point in points:
                place = run.body(name).point(point)[k] - origin
                yield {
                    "kind": "picture",
                    "case": case,
                    "frame": frame,
                    "part": name,
                    "y": float(place[1]),
                    "z": float(place[2]),
                }


def weight(sizes: Sizes) -> int:
    """Runs."""
    return len(CASES) * len(sizes["dt"])


# ---- what it shows


def plot(rows: Rows, published: Curves) -> Picture:
    """Poses of two cases, energy against work, gaps."""
    figure, (air, ground, energy, gaps) = drawing.page(4, height=2.6, ratios=(1, 2.8))
    for axis, case in ((air, "air"), (ground, "rolling")):
        _draw(axis, pick(rows, kind="picture", case=case))
        drawing.name_axes(axis, "y (m), poses side by side", "z (m)", f"{CASES[case]}: left legs through a gait")
    shortest = min(values(pick(rows, kind="trace"), "dt"))
    for case, color in COLORS.items():
        some = pick(rows, kind="trace", case=case, dt=shortest)
        time = column(some, "time_s")
        energy.plot(time, column(some, "energy_gained_J"), color=color, linewidth=1.6, label=CASES[case])
        label = "work of the motors" if case == "rolling" else None
        energy.plot(time, column(some, "work_J"), color="#222222", linewidth=0.9, linestyle=":", label=label)
        gaps.plot(time, np.maximum(column(some, "gap_m"), 1e-18), color=color, linewidth=1.4, label=CASES[case])
    gaps.set_yscale("log")
    gaps.set_ylim(1e-17, 1e-11)
    drawing.name_axes(energy, "time (s)", "energy gained (J)", "energy, and work of the motors")
    drawing.name_axes(gaps, "time (s)", "largest gap (m)", "gaps of all joints")
    drawing.legend(energy)
    drawing.legend(gaps)
    return figure


def _draw(axis: Axes, rows: Rows) -> None:
    for frame in values(rows, "frame"):
        shade = 0.35 + 0.65 * frame / max(1, FRAMES - 1)
        for part in values(rows, "part"):
            some = pick(rows, frame=frame, part=part)
            color = "#444444" if part == "body" else drawing.OURS if part.startswith("front") else drawing.RIVAL
            axis.plot(
                0.6 * frame + column(some, "y"),
                column(some, "z"),
                color=color,
                alpha=shade,
                linewidth=1.2 if part == "body" else 2.0,
                solid_capstyle="round",
            )
    axis.set_aspect("equal", adjustable="box")
    axis.set_ylim(-0.32, 0.14)


def table(rows: Rows, published: Curves) -> Rows:
    """The summaries."""
    return [
        {
            "case": CASES[row["case"]],
            "step (ms)": 1e3 * row["dt"],
            "largest gap (m)": row["gap_m"],
            "work of the motors (J)": row["work_J"],
            "energy less work (J)": row["imbalance_J"],
            "steps halved": row["halved"],
        }
        for row in pick(rows, kind="summary")
    ]


def findings(rows: Rows, published: Curves) -> list[Finding]:
    """Loops stay closed, the energy is the motors' work, the fall is Galilei's."""
    some = pick(rows, kind="summary")
    gap, ended = column(some, "gap_m").max(), all(row["ok"] for row in some)
    closed = ended and gap < 1e-11
    result = [
        Finding(
            "reproduced" if closed else "not reproduced",
            "the robot with its four closed legs, which the paper only shows in a picture, "
            f"{'runs' if ended else 'does not always run'} in the air, on pinned feet and on rolling ones; its "
            f"largest gap is {gap:.0e} m.",
        )
    ]
    orders = {case: power(*curve(rows, "dt", "imbalance_J", kind="summary", case=case)) for case in CASES}
    shortest = min(values(some, "dt"))
    parts = max(float(row["imbalance_J"]) / float(row["work_J"]) for row in pick(some, dt=shortest))
    balanced = parts < 0.05 and min(orders.values()) > 1.5
    result.append(
        Finding(
            "new" if balanced else "not reproduced",
            f"the energy {'increases' if balanced else 'does not increase'} by the work of the motors, with a "
            f"difference of {100 * parts:.1g} % at {1e3 * shortest:g} ms, which decreases with the step to the power "
            + ", ".join(f"{order:.1f} ({case})" for case, order in orders.items())
            + ".",
        )
    )
    air = pick(some, case="air")
    fall, spin = column(air, "fall_error_m").max(), column(air, "spin_error").max()
    kept = fall < 1e-9 and spin < 1e-9
    result.append(
        Finding(
            "new" if kept else "not reproduced",
            f"in the air the motors {'cannot' if kept else 'seem to'} move the robot as a whole: its center of mass is "
            f"{fall:.0e} m from its parabola at most, its angular momentum {spin:.0e} kg m²/s from zero.",
        )
    )
    return result


FIGURE = Figure(
    letter="i",
    title="Minitaur with closed-loop legs",
    setup="The quadruped shown in the paper: a floating body of 5 kg and four legs, each with two motors and four "
    "links that meet at the foot; 17 bodies, 20 hinges, 14 degrees of freedom. Servos (40 N m/rad, 1 N m s/rad) "
    "move the thighs at 2 Hz: in free fall with diagonal legs in phase, and standing with all legs in phase, on feet "
    "that hinges connect to the ground, and on round feet of 2 cm that roll on it.",
    sizes={
        "full": {"dt": [0.002, 0.001, 0.0005], "seconds": 4.0},
        "quick": {"dt": [0.002, 0.001], "seconds": 2.0},
        "tiny": {"dt": [0.004, 0.002], "seconds": 0.3},
    },
    measure=measure,
    weight=weight,
    plot=plot,
    table=table,
    findings=findings,
    contestants=tuple(CASES),
)
