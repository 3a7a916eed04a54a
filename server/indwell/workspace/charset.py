"""What the .editorconfig files of a project say of one file's encoding. Blocks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from indwell.errors import ToolError
from indwell.files import read_bytes
from indwell.workspace.encoding.editorconfig import LIMIT_B, charset_of


def charset_at(path: Path, roots: Sequence[Path]) -> str | None:
    """The charset of ``path``, by the files from its folder up to the root; None if none is set."""
    found: list[tuple[str, str]] = []
    for folder in path.parents:
        if not any(folder == root or root in folder.parents for root in roots):
            break
        try:
            data = read_bytes(folder / ".editorconfig", roots, LIMIT_B)
        except ToolError:  # there is none, or it is none
            continue
        found.append((path.relative_to(folder).as_posix(), data.decode("utf-8", "replace")))
    return charset_of(found)
