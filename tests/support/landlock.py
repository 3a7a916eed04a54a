"""Skips tests that need Landlock where the kernel has no Landlock."""

from __future__ import annotations

import pytest

from indwell.sandbox.confine import landlock

needs_landlock = pytest.mark.skipif(bool(landlock.why_not()), reason=landlock.why_not())
