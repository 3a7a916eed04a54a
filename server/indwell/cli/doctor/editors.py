"""What the doctor looks at among editors: which are here, and which of them know Indwell."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
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
NEWER_NEOVIM = (0, 11)  # has `vim.lsp.config`
_NEOVIM = re.compile(r"NVIM v(\d+)\.(\d+)")


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
    return finding_of(editor, version, await asyncio.to_thread(_naming_us, editor, home))


def finding_of(editor: Editor, version: str, ours: Sequence[bytes]) -> Finding:
    """What to say of an editor with this first line of ``--version``; pure.

    Args:
        editor: Which.
        version: The line.
        ours: The files of its configuration that name Indwell.
    """
    setup = "nvim-older" if is_older_neovim(version) else editor.setup
    if setup == "nvim-older" and ours and _is_newer_neovims(ours):
        return Finding(
            editor.title,
            "warn",
            f"{version}; its configuration of Indwell is for Neovim 0.11 or later",
            f"`indwell setup {setup} --write` makes one for yours; or install a newer Neovim",
        )
    if ours:
        return Finding(editor.title, "ok", f"{version}; its configuration names Indwell")
    return Finding(
        editor.title,
        "skipped",
        f"{version}; its configuration does not name Indwell",
        f"`indwell setup {setup}` says how",
    )


def is_older_neovim(version: str) -> bool:
    """Does this first line of ``nvim --version`` name one that has no ``vim.lsp.config``?"""
    found = _NEOVIM.match(version)
    return found is not None and (int(found[1]), int(found[2])) < NEWER_NEOVIM


def _is_newer_neovims(ours: Sequence[bytes]) -> bool:
    """Do the files that name us begin it as only newer ones can?"""
    whole = b"\n".join(ours)
    return b"vim.lsp.config" in whole and b"start_client" not in whole


def _naming_us(editor: Editor, home: Path) -> list[bytes]:
    texts = map(_text, islice(_files(editor, home), MOST_FILES))
    return [text for text in texts if b"indwell" in text]


def _files(editor: Editor, home: Path) -> Iterator[Path]:
    for place in editor.places:
        yield from home.glob(place)


def _text(path: Path) -> bytes:
    try:
        return read_own(path, LIMIT_B)
    except (OSError, ToolError):
        return b""
