"""Files of a workspace that a model may see, whatever name they are reached by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indwell.files import has_other_names
from indwell.policy.paths import matches_any
from indwell.workspace.paths import display


def visible_place(path: Path, roots: Sequence[Path], deny: tuple[str, ...]) -> Path | None:
    """Where the file at ``path`` really lies, to be read there; None if no model may see it.

    Its own name counts and that of what it leads to. A file with several names (hard links) is
    kept back: one of the others could be that of a secret file. Blocks for a moment.

    Args:
        path: Absolute, as it was found.
        roots: Of the workspace.
        deny: Globs of what no model may see, secret files among them.
    """
    real = path.resolve()
    names = (display(one, tuple(roots)) for one in (path, real))
    if any(matches_any(name, deny) for name in names) or has_other_names(real):
        return None
    return real
