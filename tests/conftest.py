"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# the same examples every time; HYPOTHESIS_PROFILE=explore looks for others
settings.register_profile("repeatable", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))
