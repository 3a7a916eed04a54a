"""The short forms of ``edit_kills.py`` and ``edit_faults.py``."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

SHORT = {
    "write": "ENOSPC", "copy_file_range": "ENOSPC", "fsync": "EIO", "renameat": "EDQUOT",
    "linkat": "EIO", "unlink": "EIO", "flock": "EINTR", "openat2": "EIO",
}  # fmt: skip


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def traced() -> ModuleType:
    edit_faults = script("edit_faults")
    if edit_faults.strace() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI has to have strace, and may trace")
        pytest.skip("strace is not installed, or may not trace here")
    return edit_faults


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is Unix's")
def test_per_13_a_kill_in_the_middle_of_an_edit_leaves_the_old_or_the_new_bytes(
    base: Path,
) -> None:
    ends = script("edit_kills").run(base, 16, seed=11)
    assert sum(ends.values()) == 16


def test_fs_18_a_failed_system_call_in_an_edit_gives_one_error_and_keeps_the_file(
    base: Path,
) -> None:
    edit_faults = traced()
    for call, error in SHORT.items():
        ends = edit_faults.run(base, call, error, cycles=6)
        assert sum(ends.values()) == 30
        was_hit = any("refused" in end or "tidied" in end for end in ends)
        assert was_hit != (error == "EINTR"), (call, ends)


@pytest.mark.parametrize("error", ["EPERM", "EOPNOTSUPP", "EINVAL"])
def test_a_file_system_that_sets_no_modes_takes_every_edit_and_each_file_keeps_its_mode(
    base: Path, error: str
) -> None:
    ends = traced().run(base, "fchmod", error, cycles=2, every=1)
    assert ends == {
        f"{kind}: done": 2 for kind in ("rename", "in place", "stream", "create", "parents")
    }
