"""Tests that the search for processes that tests leave finds such a process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.strays import strays


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_stray_process_with_a_test_folder_is_found_until_the_process_ends(tmp_path) -> None:
    variables = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, env=variables)
    try:
        # Wait until the child runs `cat` instead of Indwell's program.
        while not (found := strays(tmp_path)):
            assert process.poll() is None
        assert found == {process.pid: "cat"}
    finally:
        process.communicate()
    assert strays(tmp_path) == {}
