"""A folder of our own for texts that nobody keeps, where no other place can be written."""

from __future__ import annotations

import tempfile
from pathlib import Path

NOWHERE = Path("/nonexistent/indwell")


def scratch_folder() -> Path:
    """Make a private folder among the system's temporary ones; ``NOWHERE`` if none can be made."""
    try:
        return Path(tempfile.mkdtemp(prefix="indwell-"))
    except OSError:
        return NOWHERE
