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


def parted(folder: Path) -> tuple[Path, Path]:
    """In such a folder, one for others' temporary files, and beside it an empty unreadable file."""
    temporary, mask = folder / "tmp", folder / "hidden"
    temporary.mkdir(mode=0o700, exist_ok=True)
    mask.touch(mode=0, exist_ok=True)
    return temporary, mask
