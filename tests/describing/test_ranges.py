"""What reports say of joint limits: their ranges, starts beyond them, and limits that couplings put out of reach."""

from __future__ import annotations

import pytest

import catena as ct
from catena import Limits, Mechanism


def gripper(first: Limits, second: Limits, ratio: float = 1.0, offset: float = 0.0) -> Mechanism:
    """Two fingers, of which the second goes `ratio` times as far as the first."""
    m = Mechanism()
    for k, name in enumerate(("first", "second")):
        m.add_body(f"{name} finger", ct.box((0.02, 0.02, 0.1), mass=0.1), position=(0.1 * k, 0, 0))
        m.add_joint(ct.Prismatic("world", f"{name} finger", axis=(1, 0, 0), at=(0.1 * k, 0, 0), name=name))
    m.joints["first"].limits, m.joints["second"].limits = first, second
    m.add_coupling(ct.Gear("first", "second", ratio, offset=offset, name="mimic"))
    return m


def test_ranges_and_units() -> None:
    m = gripper(Limits(0.0, 0.05), Limits(lower=-0.1))
    m.add_body("lid", ct.box((0.1, 0.1, 0.01), mass=0.1), position=(0, 1, 0))
    m.add_joint(ct.Cylindrical("world", "lid", axis=(0, 0, 1), at=(0, 1, 0), name="lid"))
    m.joints["lid"].limits = {"angle": Limits(upper=1.0, stiffness=10.0)}
    text = str(m.report())
    assert "joint limits: 3 (first 0 to 0.05 m, second at least -0.1 m, lid.angle at most 1 rad, soft)" in text
    assert "assemble" not in text
    assert "contradict" not in text
    # the lower limit of the second finger cannot be reached: the first stops at 0
    assert "second lower -0.1 (stops at 0 m)" in text


def test_coordinates_beyond_their_limits() -> None:
    m = gripper(Limits(0.0, 0.05), Limits())
    state = m.state()
    state.joint("first").displacement = 0.08
    report = m.report(state)
    assert report.ranges[0].beyond == report.ranges[0].value - 0.05 > 0.02
    assert "beyond their limits: first at 0.08 by 0.03 m; assemble() moves them" in str(report)
    # by default those of the described pose, where runs start
    m.joints["first"].limits = Limits(0.01, 0.05)
    assert "beyond their limits: first at 0 by 0.01 m" in str(m.report())
    # soft limits may be exceeded, and are told too
    m.joints["first"].limits = Limits(0.0, 0.05, stiffness=1e3)
    assert "first at 0.08 by 0.03 m" in str(m.report(state))


def test_the_tighter_of_coupled_limits_is_told() -> None:
    """And the run stops there: with a ratio of -2 the second finger stops the first at 0.03 m."""
    m = gripper(Limits(-0.1, 0.1), Limits(-0.06, 0.5), ratio=-2.0)
    first, second = m.report().ranges
    assert (first.unreachable, second.unreachable) == (("upper",), ("upper",))
    assert (round(first.highest, 12), round(second.highest, 12)) == (0.03, 0.2)
    text = str(m.report())
    assert "first upper 0.1 (stops at 0.03 m), second upper 0.5 (stops at 0.2 m)" in text
    m.add_force(ct.Motor("first", effort=1.0))
    run = ct.Simulator(m, 0.01, on_inaccurate="ignore").run(2.0)
    assert abs(run.joint("first").displacement.max() - 0.03) < 1e-12


def test_limits_without_a_common_value() -> None:
    m = gripper(Limits(0.01, 0.05), Limits(-0.05, -0.01))
    with pytest.warns(ct.AssemblyWarning, match="only with joint limits exceeded"):
        report = m.report()
    assert any(item.contradicts for item in report.ranges)
    assert "limits that contradict each other through couplings: " in str(report)


def test_what_time_drives_and_what_is_free_puts_nothing_out_of_reach() -> None:
    m = gripper(Limits(-0.1, 0.1), Limits())
    assert [item.unreachable for item in m.report().ranges] == [()]
    m.remove_coupling("mimic")
    m.joints["second"].limits = Limits(0.0, 0.01)
    m.add_coupling(ct.PrescribedMotion("second", lambda t: 0.005 * t))
    assert [item.unreachable for item in m.report().ranges] == [(), ()]
