"""Where an editor reads its configuration, on each platform. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Literal

import msgspec

How = Literal["own file", "marked", "toml", "json"]
"""A file of ours; between marks in the user's; merged into TOML or JSON."""


class Target(msgspec.Struct, frozen=True):
    """A file, and how the configuration goes into it."""

    path: Path
    how: How


def target(
    name: str,
    home: Path,
    environment: Mapping[str, str],
    platform: str,
    exists: Callable[[Path], bool],
) -> Target:
    """The file of an editor.

    Args:
        name: As in ``CONFIGURATIONS``.
        home: Of the user.
        environment: For ``XDG_CONFIG_HOME`` and, on Windows, ``APPDATA``.
        platform: As ``sys.platform`` names it.
        exists: Is there a file or folder?
    """
    config = _absolute(environment.get("XDG_CONFIG_HOME", "")) or home / ".config"
    roaming = _absolute(environment.get("APPDATA", "")) or home / "AppData" / "Roaming"
    local = _absolute(environment.get("LOCALAPPDATA", "")) or home / "AppData" / "Local"
    support = home / "Library" / "Application Support"
    is_windows, is_mac = platform == "win32", platform == "darwin"
    match name:
        case "nvim" | "nvim-older":
            folder = (local if is_windows else config) / "nvim"
            return Target(folder / "plugin" / "indwell.lua", "own file")
        case "vim":
            folder = home / ("vimfiles" if is_windows else ".vim")
            return Target(folder / "plugin" / "indwell.vim", "own file")
        case "emacs" | "emacs-lsp-mode":
            return Target(_emacs(roaming if is_windows else home, config, exists), "marked")
        case "helix":
            return Target((roaming if is_windows else config) / "helix" / "languages.toml", "toml")
        case "kate":
            folder = local if is_windows else support if is_mac else config
            return Target(folder / "kate" / "lspclient" / "settings.json", "json")
        case "sublime":
            folder = roaming / "Sublime Text" if is_windows else config / "sublime-text"
            folder = support / "Sublime Text" if is_mac else folder
            return Target(folder / "Packages" / "User" / "LSP.sublime-settings", "json")
        case _:
            folder = roaming / "Zed" if is_windows else config / "zed"
            return Target(folder / "settings.json", "json")


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
