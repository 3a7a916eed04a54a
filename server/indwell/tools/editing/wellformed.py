"""Checks whether an edited JSON or TOML file still parses, within a size limit."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping
from pathlib import PurePath

LIMIT = 1_000_000  # characters; parsing them takes about 20 ms

_READERS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    ".json": ("JSON", json.loads),
    ".ipynb": ("JSON", json.loads),
    ".toml": ("TOML", tomllib.loads),
    ".lock": ("TOML", tomllib.loads),
}


def damage(name: str, before: str | None, after: str) -> str:
    """A sentence if the file could be read before and cannot be now; else empty (ENC-15).

    A file that was none before, such as JSON with comments, or that is new, is not judged.
    """
    suffix = PurePath(name).suffix.lower()
    if before is None or suffix not in _READERS or max(len(before), len(after)) > LIMIT:
        return ""
    kind, read = _READERS[suffix]
    problem = _problem(read, after)
    if not problem or _problem(read, before):
        return ""
    return f"{name} was valid {kind} before and is not now ({problem})"


def _problem(read: Callable[[str], object], text: str) -> str:
    try:
        read(text)
    except (ValueError, RecursionError) as error:
        return str(error)[:200]
    return ""
