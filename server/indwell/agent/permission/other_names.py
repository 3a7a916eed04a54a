"""Finds hard links of files, as far as possible, because a rule may name any of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indwell.files import names_of_file, same_file
from indwell.policy.paths import matches_any
from indwell.workspace.paths import display


def other_names(
    paths: Sequence[Path], roots: Sequence[Path], secret: Sequence[str]
) -> tuple[Path, ...]:
    """Hard links in a file's folder and those above, and to secret files anywhere; blocks.

    Args:
        paths: Resolved paths of files with several names.
        roots: The workspace roots.
        secret: Absolute paths in the workspace that lead to secret files.
    """
    hidden = tuple(map(Path, secret))
    found: list[Path] = []
    for path in paths:
        found += names_of_file(path, folders_above(path, roots))
        found += (one for one in hidden if same_file(path, one))
    return tuple(found)


def denied_name(
    path: Path, roots: Sequence[Path], secret: Sequence[str], deny: tuple[str, ...]
) -> str:
    """The hard link of a file that one of the globs ``deny`` matches, for people; else empty.

    Blocks; see ``other_names``.
    """
    for other in other_names([path], roots, secret):
        shown = display(other, tuple(roots))
        if any(matches_any(one, deny) for one in (shown, other.as_posix())):
            return shown
    return ""


def folders_above(path: Path, roots: Sequence[Path]) -> list[Path]:
    """The folders of the workspace that contain a path."""
    inside = [root for root in roots if path.is_relative_to(root)]
    return [one for one in path.parents if any(map(one.is_relative_to, inside))]
