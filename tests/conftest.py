"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# the same examples every time; HYPOTHESIS_PROFILE=explore looks for others; a busy machine may take its time
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", PATIENT, derandomize=True)
settings.register_profile("explore", PATIENT)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
