"""Resolves paths from the model, and formats paths for the model."""

from __future__ import annotations

import difflib
import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from indwell.errors import ToolError
from indwell.files.beneath import check_path
from indwell.files.listing import list_folder, same_named
from indwell.files.spelling import plain_path, quoted

_HIDING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories whose characters can fake a line, a tag or an order: controls, separators."""


def parse(path: str, base: Path) -> Path:
    """Return the absolute path that ``path`` means, without access to the disk.

    Args:
        path: An absolute path, a path relative to ``base``, or a ``file://`` URI, in any form that
            the system accepts. Percent signs outside a URI are literal.
        base: The folder for relative paths.

    Raises:
        ToolError: The text is not a path, or is a URI of another kind or host; see ``plain_path``.
    """
    written = plain_path(path)
    check_path(written)
    return Path(os.path.normpath(base / written))


def respelled(path: Path, root: Path) -> tuple[Path, Path]:
    """Return two forms of a path, whose names below ``root`` are composed (NFC) or not (NFD).

    Both forms look the same, and disks and models may use either form; new files have NFC.
    """
    below = str(path.relative_to(root))
    composed, decomposed = (unicodedata.normalize(form, below) for form in ("NFC", "NFD"))
    return root / composed, root / decomposed


def display(path: Path, roots: Sequence[Path]) -> str:
    """Format a path for the model: with ``/``, and relative to the first root or absolute.

    Control, format and bidirectional characters are escaped, so that no name can look like another
    name.
    """
    root = roots[0]
    inside = path.parts[: len(root.parts)] == root.parts or path.is_relative_to(root)
    return visible(path.relative_to(root).as_posix() if inside else path.as_posix())


def visible(text: str) -> str:
    r"""Escape as ``\u…`` each character that could hide or forge text."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        char.encode("unicode_escape").decode() if unicodedata.category(char) in _HIDING else char
        for char in text
    )


FIND = "; find it with glob"
"""A hint for the model if no name is similar; the hint names a tool, so people do not get it."""


def missing(
    path: str, name: str, neighbours: Iterable[str], elsewhere: Iterable[str] = ()
) -> ToolError:
    """Return the error for a missing ``path``, with similar existing names.

    Args:
        path: The missing path, as people see it.
        name: The last name of the path.
        neighbours: Names in the same folder; those that resemble ``name`` are listed.
        elsewhere: Paths of the same name.
    """
    near = difflib.get_close_matches(name, list(neighbours)[:2_000], n=3, cutoff=0.6)
    near += [one for one in elsewhere if one not in near]
    hint = f"; close to it: {', '.join(map(visible, near))}" if near else ""
    return ToolError(f"{quoted(path)} does not exist{hint or FIND}")


NEAREST = 3  # At most three paths of the same name are listed.


def not_found(path: Path, roots: Sequence[Path]) -> ToolError:
    """Return the error for a missing file or folder in ``roots``, with similar names. Blocks."""
    try:
        neighbours = [entry.name for entry in list_folder(path.parent, roots)]
    except ToolError:  # The folder is missing, too.
        neighbours = []
    root = next((one for one in roots if path.is_relative_to(one)), None)
    found = () if root is None else same_named(path.name, root, NEAREST)
    elsewhere = [display(one, roots) for one in found]
    return missing(display(path, roots), path.name, neighbours, elsewhere)


def folder_said(path: str, names: Sequence[str], limit: int = 50) -> ToolError:
    """Return the error for a ``path`` that is a folder, with the folder's entries."""
    if not names:
        return ToolError(f"{quoted(path)} is an empty folder")
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    held = ", ".join(map(visible, names[:limit]))
    return ToolError(f"{quoted(path)} is a folder; it holds {held}{more}")
