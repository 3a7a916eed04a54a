"""Resolves paths that the model wrote, and formats paths for it."""

from __future__ import annotations

import difflib
import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from indwell.errors import ToolError
from indwell.files.beneath import check_path

_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that can forge a line, a tag or an order: controls, marks, separators."""


def parse(path: str, base: Path) -> Path:
    """The absolute path that ``path`` means, without looking at the disk.

    Args:
        path: Absolute, relative to ``base``, or a ``file://`` URI. Percent signs outside of a URI
            stand for themselves.
        base: The folder that relative paths start from.

    Raises:
        ToolError: It is no path, or a URI of another kind or machine.
    """
    written = path
    if "://" in path:
        uri = urlsplit(path)
        if uri.scheme != "file" or uri.netloc not in {"", "localhost"}:
            raise ToolError(f"{path[:200]!r} is no file of this machine; write a path")
        written = unquote(uri.path)
        if os.name == "nt":
            written = written.lstrip("/")
    check_path(written)
    return Path(os.path.normpath(base / written))


def respelled(path: Path, root: Path) -> tuple[Path, Path]:
    """The names below ``root`` composed (NFC), as new files are named, and decomposed (NFD).

    They look the same, and disks and models write either.
    """
    below = str(path.relative_to(root))
    composed, decomposed = (unicodedata.normalize(form, below) for form in ("NFC", "NFD"))
    return root / composed, root / decomposed


def display(path: Path, roots: Sequence[Path]) -> str:
    """A path as the model may write it: relative to the first root, else absolute.

    Control, format and bidirectional characters are escaped, so that a name cannot pass for
    something else.
    """
    root = roots[0]
    inside = path.parts[: len(root.parts)] == root.parts
    return visible(path.relative_to(root).as_posix() if inside else path.as_posix())


def visible(text: str) -> str:
    r"""``text`` with everything that could hide or forge something as ``\u…``."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _HIDING else char
        for char in text
    )


FIND = "; find it with glob"
"""What the model can do where no name is close; the user has no such tool."""


def missing(path: str, name: str, neighbours: Iterable[str]) -> ToolError:
    """Say that ``path`` does not exist, with the names beside it that are close to ``name``."""
    near = difflib.get_close_matches(name, list(neighbours)[:2_000], n=3, cutoff=0.6)
    hint = f"; close to it: {', '.join(map(visible, near))}" if near else ""
    return ToolError(f"{path!r} does not exist{hint or FIND}")


def folder_said(path: str, names: Sequence[str], limit: int = 50) -> ToolError:
    """Say that ``path`` is a folder, and what it holds."""
    if not names:
        return ToolError(f"{path!r} is an empty folder")
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    held = ", ".join(map(visible, names[:limit]))
    return ToolError(f"{path!r} is a folder; it holds {held}{more}")
