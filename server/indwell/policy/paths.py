"""Which paths are secret or protected: compared without case, in NFC, by component."""

from __future__ import annotations

import sys
import unicodedata
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from indwell.context.tags import shows_nothing

if TYPE_CHECKING:
    from wcmatch.glob import WcMatcher

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
        ".agent",
        ".agents",
        ".windsurf",
        ".devcontainer",
        ".github",
        ".husky",
        ".circleci",
        ".gemini",
        ".roo",
        ".helix",
        ".ssh",
        ".zed",
        ".fleet",
        ".amazonq",
        ".buildkite",
        ".cargo",
        ".clinerules",
        ".continue",
        ".forgejo",
        ".gitea",
        ".gitlab",
        ".junie",
        ".kiro",
        ".mvn",
        ".opencode",
        ".trae",
        ".augment",
        ".crush",
        ".emacs.d",
        ".factory",
        ".jj",
        ".mise",
        ".qwen",
        ".run",
        ".theia",
        ".vs",
        ".woodpecker",
    ]
)
"""Folders whose files editors, agents, git or CI act on without being asked."""

PROTECTED_FILES = frozenset(
    [
        ".mcp.json",
        ".gitconfig",
        ".gitlab-ci.yml",
        ".cursorrules",
        ".windsurfrules",
        ".lazy.lua",
        "mise.toml",
        "mcp.json",
        ".npmrc",
        ".pypirc",
        ".tool-versions",
        "package.json",
        ".gitmodules",
        ".gitattributes",
        ".pre-commit-config.yaml",
        ".bashrc",
        ".bash_profile",
        ".bash_login",
        ".zshrc",
        ".zshenv",
        ".zprofile",
        ".zlogin",
        ".profile",
        ".exrc",
        ".nvimrc",
        ".nvim.lua",
        ".vimrc",
        ".dir-locals.el",
        "agents.md",
        "claude.md",
        "gemini.md",
        "skill.md",
        ".aider.conf.yml",
        ".bash_aliases",
        ".bash_logout",
        ".bazelrc",
        ".cshrc",
        ".curlrc",
        ".drone.yml",
        ".gdbinit",
        ".goosehints",
        ".inputrc",
        ".kshrc",
        ".lldbinit",
        ".login",
        ".logout",
        ".mise.toml",
        ".netrc",
        ".pnpmfile.cjs",
        ".pre-commit-config.yml",
        ".rules",
        ".tcshrc",
        ".travis.yml",
        ".vimrc.local",
        ".wgetrc",
        ".xprofile",
        "azure-pipelines.yml",
        "bitbucket-pipelines.yml",
        "bunfig.toml",
        "jenkinsfile",
        "opencode.json",
        ".autoenv.zsh",
        ".crush.json",
        ".devcontainer.json",
        ".dir-locals-2.el",
        ".gitpod.yml",
        ".lvimrc",
        ".mise.local.toml",
        ".pnp.cjs",
        ".pnp.js",
        ".pnp.loader.mjs",
        ".pre-commit-hooks.yaml",
        ".screenrc",
        ".tmux.conf",
        ".zlogout",
        "agents.override.md",
        "claude.local.md",
        "crush.json",
        "crush.md",
        "lefthook-local.yaml",
        "lefthook-local.yml",
        "lefthook.yaml",
        "lefthook.yml",
        "mise.local.toml",
        "opencode.jsonc",
        "qwen.md",
        "warp.md",
    ]
)
"""Files that shells, editors, package managers or agents read and obey."""

PROTECTED_PAIRS = frozenset(
    [
        *((".yarn", "releases"), (".yarn", "plugins"), (".yarn", "sdks")),
        *((".config", "mise"), (".config", "mise.toml")),
    ]
)
"""A folder and a name right in it, where what stands beside it is written by builds."""

PROTECTED_BEGINNINGS = (".env", ".yarnrc", ".lefthook", ".woodpecker")
CHATS = ".chat.md"
"""What names of chat documents end with: words at their end may go out as the user's."""

PROTECTED_ENDINGS = (".code-workspace", ".sublime-project", CHATS)


def is_protected(path: str) -> bool:
    """Does changing this file change what runs or what is trusted?"""
    components = _folded(path)
    name = components[-1] if components else ""
    return (
        any(part in PROTECTED_FOLDERS for part in components)
        or name in PROTECTED_FILES
        or name.startswith(PROTECTED_BEGINNINGS)
        or name.endswith(PROTECTED_ENDINGS)
        or any(pair in PROTECTED_PAIRS for pair in pairwise(components))
    )


def is_chat(path: str) -> bool:
    """Does it name a chat document?"""
    components = _folded(path)
    return bool(components) and components[-1].endswith(CHATS)


def is_beneath(path: str, folders: tuple[str, ...]) -> bool:
    """Does an absolute path lie in one of these absolute folders, or is it one? By component."""
    parts = _folded(path)
    return any(parts[: len(own)] == own for own in map(_folded, folders))


def is_inside(path: str, folders: tuple[str, ...]) -> bool:
    """The same where a yes widens: exact, so a name that only looks alike lies elsewhere."""
    parts = exact_parts(path)
    return any(parts[: len(own)] == own for own in map(exact_parts, folders))


@lru_cache(maxsize=4096)
def exact_parts(path: str) -> tuple[str, ...]:
    r"""Components as the disk has them; on Windows alone ``\`` stands between them."""
    plain = path.replace("\\", "/") if sys.platform == "win32" else path
    return tuple(part for part in plain.split("/") if part not in {"", "."})


def matches_any(path: str, globs: tuple[str, ...]) -> bool:
    """Does a path match one of ``globs``?

    As in ignore files: a pattern is for any folder unless it begins with a slash, one that ends
    with a slash is for all that lies in that folder, and ``!`` in front takes a name out again,
    here whatever the order.
    """
    return bool(matching_glob(path, globs))


def matching_glob(path: str, globs: tuple[str, ...]) -> str:
    """The first of ``globs`` that a path matches, as in ``matches_any``; empty if it does not."""
    components = _folded(path)
    if not components or not globs:
        return ""
    at = _matches("/".join(components), _all_plain(globs))
    return globs[at] if at is not None else ""


@lru_cache(maxsize=4096)
def _matches(path: str, globs: tuple[str, ...]) -> int | None:
    """The place of the first glob that hits, if none takes the path out again."""
    hits = (at for at, one in enumerate(globs) if not one.startswith("!") and _hits(path, one))
    at = next(hits, None)
    if at is None or any(_hits(path, one[1:]) for one in globs if one.startswith("!")):
        return None
    return at


def _hits(path: str, pattern: str) -> bool:
    return _matcher(pattern).match(path)


@lru_cache(maxsize=1024)
def _matcher(pattern: str) -> WcMatcher[str]:
    from wcmatch import glob  # noqa: PLC0415 - a tenth of what the first code action waits for

    flags = glob.GLOBSTAR | glob.DOTGLOB | glob.FORCEUNIX
    return glob.compile(_anywhere(pattern), flags=flags)


def _anywhere(pattern: str) -> str:
    """The pattern for a path that has no slash in front."""
    whole = f"{pattern}**" if pattern.endswith("/") else pattern
    if whole.startswith("/"):
        return whole[1:]
    return f"**/{whole.removeprefix('./')}"


@lru_cache(maxsize=4096)
def _folded(path: str) -> tuple[str, ...]:
    """Components without case; macOS and Windows see ``.VSCode`` and ``.vscode`` as one folder."""
    parts = _plain(path).replace("\\", "/").split("/")
    return tuple(part.rstrip(". ") or part for part in parts if part not in {"", "."})


@lru_cache(maxsize=64)
def _all_plain(globs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_plain, globs))


def _plain(text: str) -> str:
    """Without case, composed, and without the invisible characters that some disks ignore."""
    seen = text if text.isascii() else "".join(one for one in text if not shows_nothing(one))
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", seen).casefold())
