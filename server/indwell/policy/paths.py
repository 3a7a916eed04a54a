"""Which paths are secret or protected: compared without case, in NFC, by component."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from wcmatch import glob

PROTECTED_FOLDERS = frozenset(
    [
        ".git",
        ".hg",
        ".vscode",
        ".idea",
        ".indwell",
        ".cursor",
        ".claude",
        ".codex",
        ".devcontainer",
        ".github",
        ".husky",
        ".zed",
        ".fleet",
    ]
)
"""Folders whose files editors, agents, git or CI act on without being asked."""

PROTECTED_FILES = frozenset(
    [
        ".envrc",
        ".mcp.json",
        "mcp.json",
        ".npmrc",
        ".yarnrc",
        ".yarnrc.yml",
        ".pypirc",
        ".gitmodules",
        ".gitattributes",
        ".pre-commit-config.yaml",
        ".bashrc",
        ".zshrc",
        ".profile",
        ".exrc",
        ".nvimrc",
        ".nvim.lua",
        ".vimrc",
        ".dir-locals.el",
        "agents.md",
        "claude.md",
    ]
)
"""Files that shells, editors, package managers or agents read and obey."""

PROTECTED_ENDINGS = (".code-workspace",)

_FLAGS = glob.GLOBSTAR | glob.DOTGLOB | glob.FORCEUNIX


def is_protected(path: str) -> bool:
    """Does changing this file change what runs or what is trusted?"""
    components = _folded(path)
    return (
        any(part in PROTECTED_FOLDERS for part in components)
        or (bool(components) and components[-1] in PROTECTED_FILES)
        or any(components[-1].endswith(ending) for ending in PROTECTED_ENDINGS if components)
    )


def matches_any(path: str, globs: tuple[str, ...]) -> bool:
    """Does a path match one of ``globs``?

    A pattern without a slash is for names in any folder, as in ignore files; ``!`` in front takes
    a name out again, whatever the order.
    """
    components = _folded(path)
    if not components or not globs:
        return False
    return _matches("/".join(components), tuple(one.casefold() for one in globs))


@lru_cache(maxsize=4096)
def _matches(path: str, globs: tuple[str, ...]) -> bool:
    wanted = [one for one in globs if not one.startswith("!")]
    spared = [one[1:] for one in globs if one.startswith("!")]
    return _hits(path, wanted) and not _hits(path, spared)


def _hits(path: str, globs: list[str]) -> bool:
    return any(
        glob.globmatch(path, pattern if pattern.startswith("/") else f"**/{pattern}", flags=_FLAGS)
        for pattern in globs
    )


@lru_cache(maxsize=4096)
def _folded(path: str) -> tuple[str, ...]:
    """Components without case; macOS and Windows see ``.VSCode`` and ``.vscode`` as one folder."""
    plain = unicodedata.normalize("NFC", path).casefold().replace("\\", "/")
    return tuple(part.rstrip(". ") or part for part in plain.split("/") if part not in {"", "."})
