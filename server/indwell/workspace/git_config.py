"""What in a ``.git/config`` makes git run something, or look for it elsewhere. Pure.

By a list of harmless keys: whatever is not on it counts (``core.fsmonitor``, ``core.hooksPath``,
``core.sshCommand``, ``filter.*``, ``alias.*``, ``credential.helper``, ``include.path`` …), so that
``git switch -c`` or a name for commits asks nobody again.
"""

from __future__ import annotations

import re

import msgspec

_SECTION = re.compile(r'\[\s*([a-z0-9.-]+)\s*(?:"(?:[^"\\]|\\.)*"\s*)?\]', re.IGNORECASE)
_ENTRY = re.compile(r"([a-z][a-z0-9-]*)\s*(?:=\s*(.*))?", re.IGNORECASE)

_ADDRESS = re.compile(
    r"(?:https?|ssh|git)://\w[\w.@:/~%+-]*|\w[\w.-]*@\w[\w.-]*:[\w./~+-]+|/[\w./~+-]+", re.ASCII
)
"""An address that git only connects to: no ``ext::``, no option in the place of a host."""

_HARMLESS = {
    "core": {
        *("repositoryformatversion", "filemode", "bare", "logallrefupdates", "ignorecase"),
        *("precomposeunicode", "symlinks", "autocrlf", "eol", "safecrlf", "sharedrepository"),
        *("untrackedcache", "preloadindex", "longpaths", "abbrev", "commitgraph"),
    },
    "branch": {"remote", "merge", "rebase", "description", "vscode-merge-base", "pushremote"},
    "remote": {"fetch", "url", "pushurl", "push", "prune", "tagopt", "promisor", "gh-resolved"},
    "user": {"name", "email", "signingkey"},
    "submodule": {"active", "url", "branch"},
    "extensions": {"objectformat", "refstorage", "worktreeconfig", "partialclone"},
    "pull": {"rebase", "ff"},
    "push": {"default", "autosetupremote", "followtags"},
    "fetch": {"prune", "prunetags", "parallel"},
    "init": {"defaultbranch"},
    "gc": {"auto", "autodetach", "autopacklimit"},
    "maintenance": {"auto", "strategy"},
    "lfs": {"repositoryformatversion"},
    "merge": {"conflictstyle", "ff"},
    "rebase": {"autostash", "autosquash", "updaterefs"},
    "rerere": {"enabled", "autoupdate"},
    "color": {"ui", "diff", "status", "branch"},
}
_ADDRESSES = {"url", "pushurl"}


class Executing(msgspec.Struct, frozen=True):
    """The part of a ``.git/config`` that counts.

    Attributes:
        lines: ``section.key = value``, or a line that is not understood, as it stands.
        hooks: Value of ``core.hooksPath``; empty if there is none.
        includes: Values of ``include.path`` and the like.
    """

    lines: tuple[str, ...] = ()
    hooks: str = ""
    includes: tuple[str, ...] = ()


def executing(text: str) -> Executing:
    """Leave out what cannot make git run anything."""
    lines: list[str] = []
    includes: list[str] = []
    section, hooks, goes_on = "", "", False
    for raw in text.split("\n"):
        line = raw.strip()
        was_inside, goes_on = goes_on, raw.rstrip("\r").endswith("\\")
        if was_inside or goes_on:
            lines.append(line)  # a value over several lines: as it stands
        elif not line or line[0] in "#;":
            continue
        elif header := _SECTION.fullmatch(line):
            section = header[1].lower()
        elif (entry := _ENTRY.fullmatch(line)) is None or not section:
            lines.append(line)
        elif not _is_harmless(section, entry[1].lower(), entry[2]):
            key, value = entry[1].lower(), (entry[2] or "").strip().strip('"')
            lines.append(f"{section}.{key} = {value}")
            if (section, key) == ("core", "hookspath"):
                hooks = value
            elif key == "path" and section.startswith("include"):
                includes.append(value)
    return Executing(tuple(lines), hooks, tuple(includes))


def _is_harmless(section: str, key: str, value: str | None) -> bool:
    if key not in _HARMLESS.get(section, ()):
        return False
    return key not in _ADDRESSES or _ADDRESS.fullmatch((value or "").strip()) is not None
