"""Adds the configuration to an editor's file and removes it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Literal

import msgspec

from indwell.cli.setup import merging as marks
from indwell.cli.setup.merging import (
    SERVER,
    CannotMerge,
    Data,
    InsertedText,
    check,
    cut,
    merged,
    pieces,
)

How = Literal["own file", "marked", "toml", "json"]
"""A file of ours; between marks in the user's; merged into TOML or JSON."""


class SetupTarget(msgspec.Struct, frozen=True):
    """A file, and the way to add the configuration."""

    path: Path
    how: How


def target(
    name: str,
    home: Path,
    environment: Mapping[str, str],
    platform: str,
    exists: Callable[[Path], bool],
) -> SetupTarget:
    """The file of an editor.

    Args:
        name: As in ``CONFIGURATIONS``.
        home: The user's home folder.
        environment: For ``XDG_CONFIG_HOME`` and, on Windows, ``APPDATA``.
        platform: As ``sys.platform`` names it.
        exists: Tells whether a path exists.
    """
    config = _absolute(environment.get("XDG_CONFIG_HOME", "")) or home / ".config"
    roaming = _absolute(environment.get("APPDATA", "")) or home / "AppData" / "Roaming"
    local = _absolute(environment.get("LOCALAPPDATA", "")) or home / "AppData" / "Local"
    support = home / "Library" / "Application Support"
    is_windows, is_mac = platform == "win32", platform == "darwin"
    match name:
        case "nvim" | "nvim-older":
            folder = (local if is_windows else config) / "nvim"
            return SetupTarget(folder / "plugin" / "indwell.lua", "own file")
        case "vim":
            folder = home / ("vimfiles" if is_windows else ".vim")
            return SetupTarget(folder / "plugin" / "indwell.vim", "own file")
        case "emacs" | "emacs-lsp-mode":
            return SetupTarget(_emacs(roaming if is_windows else home, config, exists), "marked")
        case "helix":
            return SetupTarget(
                (roaming if is_windows else config) / "helix" / "languages.toml", "toml"
            )
        case "kate":
            folder = local if is_windows else support if is_mac else config
            return SetupTarget(folder / "kate" / "lspclient" / "settings.json", "json")
        case "sublime":
            folder = roaming / "Sublime Text" if is_windows else config / "sublime-text"
            folder = support / "Sublime Text" if is_mac else folder
            return SetupTarget(folder / "Packages" / "User" / "LSP.sublime-settings", "json")
        case _:
            folder = roaming / "Zed" if is_windows else config / "zed"
            return SetupTarget(folder / "settings.json", "json")


def _emacs(home: Path, config: Path, exists: Callable[[Path], bool]) -> Path:
    """In Emacs' own order (Info node "Find Init"); the XDG folder only if there is no older one."""
    for path in (home / ".emacs.el", home / ".emacs", home / ".emacs.d" / "init.el"):
        if exists(path):
            return path
    folder = config / "emacs"
    if exists(folder) and not exists(home / ".emacs.d"):
        return folder / "init.el"
    return home / ".emacs.d" / "init.el"


def _absolute(text: str) -> Path | None:
    return Path(text) if text and PurePath(text).is_absolute() else None


class Record(msgspec.Struct, frozen=True):
    """The record of what setup added to one file.

    Attributes:
        path: The file.
        text: The configuration.
        pieces: The inserted texts, with LF line ends.
        is_made: Did setup create the file?
    """

    path: str
    text: str
    pieces: tuple[InsertedText, ...]
    is_made: bool


class WantedConfiguration(msgspec.Struct, frozen=True):
    """A configuration, its comment sign, and its place in a file."""

    path: str
    how: How
    text: str
    comment: str


class Placed(msgspec.Struct, frozen=True):
    """The file's new text, None for no file, and the record to keep."""

    text: str | None
    record: Record | None


def put(wanted: WantedConfiguration, now: str | None, record: Record | None) -> Placed:
    """Add the configuration; the text is ``now`` if it is there already.

    Raises:
        CannotMerge: See there.
    """
    ends, plain = _plain(now or "")
    is_made = now is None
    match wanted.how:
        case "own file" | "marked":
            after, noted = _put_marked(wanted, plain, record, is_made=is_made)
        case _:
            after, noted = _put_merged(wanted, plain, record, is_made=is_made)
    if after == plain and now is not None:
        return Placed(now, record)
    return Placed(after.replace("\n", ends), noted)


def take(wanted: WantedConfiguration, now: str, record: Record | None) -> Placed:
    """Remove the configuration; the text is ``now`` if it is not there.

    Raises:
        CannotMerge: It is not known which part setup wrote.
    """
    ends, plain = _plain(now)
    match wanted.how:
        case "own file" | "marked":
            span = marks.find(plain, wanted.comment)
            if span is None:
                if wanted.how == "own file":
                    raise CannotMerge("it was not written by `indwell setup`")
                return Placed(now, None)
            gap = _check_known(wanted, plain[slice(*span)], record)
            after = marks.take(plain, *span, gap)
        case "toml" | "json" as how:
            try:
                after = cut(plain, _pieces(record))
            except CannotMerge:
                if SERVER not in plain:  # removed by hand, or never added
                    return Placed(now, None)
                raise
            check(how, after)
    is_made = record is None or record.is_made
    return Placed(None if not after.strip() and is_made else after.replace("\n", ends), None)


def _pieces(record: Record | None) -> tuple[InsertedText, ...]:
    if record is None:
        raise CannotMerge("there is no record that setup changed it")
    return record.pieces


def _put_marked(
    wanted: WantedConfiguration, plain: str, record: Record | None, *, is_made: bool
) -> tuple[str, Record]:
    block = marks.block(wanted.text, wanted.comment)
    span = marks.find(plain, wanted.comment)
    if span is None:
        if wanted.how == "own file" and plain.strip():
            raise CannotMerge("it is your own file, not written by `indwell setup`")
        gap = marks.gap(plain)
        after = plain + gap + block
    elif plain[slice(*span)] == block:
        return plain, _record(wanted, block, is_made=is_made)
    else:
        gap = _check_known(wanted, plain[slice(*span)], record)
        is_made = record is not None and record.is_made
        after = plain[: span[0]] + block + plain[span[1] :]
    return after, _record(wanted, gap + block, is_made=is_made)


def _record(wanted: WantedConfiguration, added: str, *, is_made: bool) -> Record:
    return Record(wanted.path, wanted.text, (InsertedText(added, "", ""),), is_made)


def _check_known(wanted: WantedConfiguration, there: str, record: Record | None) -> str:
    """The line ends that setup added before its part, if the part is unchanged."""
    written = record.pieces[0].text if record is not None and record.pieces else ""
    known = written.lstrip("\n") or marks.block(wanted.text, wanted.comment)
    if there.rstrip("\n") != known.rstrip("\n"):
        raise CannotMerge("the text between setup's marks was changed, or setup did not write it")
    return written[: len(written) - len(written.lstrip("\n"))]


def _put_merged(
    wanted: WantedConfiguration, plain: str, record: Record | None, *, is_made: bool
) -> tuple[str, Record]:
    how: Data = "toml" if wanted.how == "toml" else "json"
    base = plain
    if record is not None:
        try:
            base = cut(plain, record.pieces)
        except CannotMerge:  # removed or changed by hand; the rest now belongs to the user
            pass
        else:
            if record.text == wanted.text:
                return plain, record
            is_made = record.is_made
    after = merged(how, base, wanted.text)
    return after, Record(wanted.path, wanted.text, pieces(base, after), is_made)


def _plain(text: str) -> tuple[str, str]:
    """The file's line end, and its text with LF; mixed line ends stay."""
    n_windows = text.count("\r\n")
    if n_windows and n_windows == text.count("\n"):
        return "\r\n", text.replace("\r\n", "\n")
    return "\n", text
