from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="no command is held on Windows")
def test_no_planted_file_remains_whatever_its_name_mode_number_link_or_moment() -> None:
    """Makes 300 random plants as an ordinary user; the script makes 10,000."""
    script = Path(__file__).with_name("plants.py")
    done = subprocess.run(
        [sys.executable, str(script), "300"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
