"""Other names (hard links) of files, as far as they can be found: a rule may speak of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indwell.files import names_of_file, same_file
from indwell.policy.paths import matches_any
from indwell.workspace.paths import display


def other_names(
    paths: Sequence[Path], roots: Sequence[Path], secret: Sequence[str]
) -> tuple[Path, ...]:
    """Those in a file's own folder and the ones above, and of secret files anywhere; blocks.

    Args:
        paths: Files with several names, resolved.
        roots: Of the workspace.
        secret: Names in the workspace that lead to secret files, absolute.
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
    """The other name by which one of the globs ``deny`` keeps a file back, as people read it.

    Empty if none does. Blocks; see ``other_names``.
    """
    for other in other_names([path], roots, secret):
        shown = display(other, tuple(roots))
        if any(matches_any(one, deny) for one in (shown, other.as_posix())):
            return shown
    return ""


def folders_above(path: Path, roots: Sequence[Path]) -> list[Path]:
    """The folders of the workspace that a path lies in."""
    inside = [root for root in roots if path.is_relative_to(root)]
    return [one for one in path.parents if any(map(one.is_relative_to, inside))]
