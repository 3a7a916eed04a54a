from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="folders that may not be read are of Unix")
def test_fs_12_searches_end_in_hostile_folder_trees() -> None:
    """Searches many files, a loop of links and a closed folder, and cancels a search."""
    script = Path(__file__).with_name("search_faults.py")
    done = subprocess.run(
        [sys.executable, str(script), "3000"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
