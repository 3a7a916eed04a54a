"""What the doctor looks at among editors: which are here, and which of them know Indwell."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from indwell.cli.doctor.check import Finding, Findings
from indwell.cli.doctor.programs import version_of
from indwell.errors import ToolError
from indwell.files import read_own
from indwell.sandbox import find_program

MOST_FILES = 300  # of one editor's configuration; a large Neovim set-up has a hundred
LIMIT_B = 1 << 20


class Editor(NamedTuple):
    """An editor: its program, where its configuration lies below the home folder, for `setup`."""

    title: str
    program: str
    places: tuple[str, ...]
    setup: str


EDITORS = (
    Editor(
        "Neovim",
        "nvim",
        (".config/nvim/*.lua", ".config/nvim/*.vim", ".config/nvim/**/*.lua"),
        "nvim",
    ),
    Editor(
        "Emacs",
        "emacs",
        (".emacs", ".emacs.d/*.el", ".config/emacs/*.el", ".config/doom/*.el", ".doom.d/*.el"),
        "emacs",
    ),
    Editor("Helix", "hx", (".config/helix/languages.toml",), "helix"),
    Editor("Kate", "kate", (".config/kate/lspclient/*.json",), "kate"),
    Editor("VS Code", "code", (".config/Code/User/settings.json",), "vscode"),
)


async def editors(home: Path, folder: Path | None = None) -> Findings:
    """One finding for each editor that is on PATH, but not in ``folder``; none is a warning."""
    never_in = () if folder is None or home.is_relative_to(folder) else (folder,)
    found = await asyncio.gather(*(_editor(editor, home, never_in) for editor in EDITORS))
    here = tuple(finding for finding in found if finding is not None)
    if here:
        return here
    return (Finding("editor", "warn", "no editor that speaks LSP was found on PATH"),)


async def _editor(editor: Editor, home: Path, never_in: tuple[Path, ...]) -> Finding | None:
    program = await asyncio.to_thread(find_program, editor.program, never_in)
    if program is None:
        return None
    version = await version_of(program) or "its version is not known"
    if await asyncio.to_thread(_mentions_us, editor, home):
        return Finding(editor.title, "ok", f"{version}; its configuration names Indwell")
    return Finding(
        editor.title,
        "skipped",
        f"{version}; its configuration does not name Indwell",
        f"`indwell setup {editor.setup}` says how",
    )


def _mentions_us(editor: Editor, home: Path) -> bool:
    return any(b"indwell" in _text(path) for path in islice(_files(editor, home), MOST_FILES))


def _files(editor: Editor, home: Path) -> Iterator[Path]:
    for place in editor.places:
        yield from home.glob(place)


def _text(path: Path) -> bytes:
    try:
        return read_own(path, LIMIT_B)
    except (OSError, ToolError):
        return b""
