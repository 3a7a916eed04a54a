"""Finds other names of files, as a server with default settings does."""

from __future__ import annotations

from pathlib import Path

from indwell.bounds.secrets import OtherNames


def names_in(*roots: Path) -> OtherNames:
    """Return the other names of the files in these folders."""
    return OtherNames(lambda: roots)
