"""Leaves these tests out, and says so, where the integrators that they test are not built."""

from catena_paper.command import INSTALL, rivals_are_built

collect_ignore_glob = [] if rivals_are_built() else ["test_*.py"]


def pytest_report_header():
    return "" if rivals_are_built() else f"experiments/tests are left out: they need {INSTALL}"
