"""Tests that the start neither imports modules nor compiles patterns for later work."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys

import indwell
from indwell.lazy_pattern import lazy_pattern

RUN = """
import sys
from indwell.cli.run.command import run
late = ("genai_prices", "httpx2", "lsprotocol", "openai", "pydantic", "rich.syntax")
late += ("opentelemetry.sdk", "pyarrow", "tomlkit", "yaml")
print([name for name in late if name in sys.modules])
"""


def test_a_run_starts_without_importing_optional_modules() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")


def test_every_pattern_that_is_compiled_late_can_be_compiled() -> None:
    n_patterns = 0
    for module in pkgutil.walk_packages(indwell.__path__, "indwell."):
        if module.name == "indwell.__main__":
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, lazy_pattern):
                assert value.flags >= 0
                n_patterns += 1
    assert n_patterns > 200


def test_a_lazy_pattern_behaves_like_a_compiled_pattern() -> None:
    late = lazy_pattern(r"(\d+)-(\d+)")
    assert late.sub(r"\2-\1", "1-2 3-4") == "2-1 4-3"
    assert [one[0] for one in late.finditer("1-2 3-4")] == ["1-2", "3-4"]
    assert late.search("a") is None
    assert (late.pattern, late.groups) == (r"(\d+)-(\d+)", 2)
