"""Remembered facts, kept in two Markdown pages in the state folder.

One page belongs to this workspace, the other page to the user in all workspaces. Neither files of
the workspace nor the agent's tools can write to the pages, because the state folder is reserved for
the user (``policy.decide``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from indwell.compatibility import refuse_newer_page, with_version_comment
from indwell.context.memory import PAGE_LIMIT_B, Fact, Scope, entries, new_page, with_fact, without
from indwell.errors import NewerVersion, SettingsError, ToolError, reason
from indwell.files.append_log import make_private_folder
from indwell.files.contents.atomic import write_atomic
from indwell.files.contents.reading import read_guarded
from indwell.files.locks import locked
from indwell.files.private import write_private
from indwell.files.spelling import quoted
from indwell.files.system import calls

LOCK_TIMEOUT_S = 5.0  # The unit is seconds to wait for other processes that write the same page.

_Mark: TypeAlias = tuple[int, ...] | None
_Change: TypeAlias = Callable[[str], str]

_TOO_LARGE = f"it may have {PAGE_LIMIT_B >> 20} MB; remove facts that are not needed"


class MemoryPages:
    """Reads and writes both pages; a page is read again after a change. All methods block.

    Users edit the pages, too. An unreadable page has no facts, and is never overwritten.

    Args:
        folder: ``memory`` in the state folder; may be missing.
        workspace: The name of the workspace's page.
    """

    def __init__(self, folder: Path, workspace: str) -> None:
        self._paths: dict[Scope, Path] = {
            "workspace": folder / f"{workspace}.md",
            "user": folder / "user.md",
        }
        self._known: dict[Scope, tuple[_Mark, tuple[Fact, ...], str]] = {}

    def path(self, scope: Scope) -> Path:
        """Return the path of a page, which may not exist yet."""
        return self._paths[scope]

    def facts(self, scope: Scope) -> tuple[Fact, ...]:
        """Return the facts of a page, newest last."""
        return self._look(scope)[0]

    @property
    def problem(self) -> str:
        """Explain why a page cannot be read, with advice, or return an empty text."""
        return "; ".join(filter(None, (self._look(scope)[1] for scope in self._paths)))

    def page(self, scope: Scope) -> Path:
        """Return the file of a page, created if missing, so that the user can edit it.

        Raises:
            SettingsError: The file cannot be created.
        """
        path = self._paths[scope]
        try:
            make_private_folder(path.parent)
            with locked(path.with_suffix(".lock"), timeout_s=LOCK_TIMEOUT_S):
                if not path.exists():
                    write_private(path, new_page(scope).encode())
        except OSError as error:
            raise _unwritable(path, error) from error
        return path

    def keep(self, fact: Fact, instead_of: str = "") -> None:
        """Add a fact, or replace the fact with the text ``instead_of``.

        Raises:
            SettingsError: The page cannot be read or written; nothing was stored.
        """
        self._write(fact.scope, lambda page: with_fact(page, fact, instead_of))

    def forget(self, scope: Scope, texts: frozenset[str]) -> None:
        """Delete the facts with these texts.

        Raises:
            SettingsError: The page cannot be read or written; nothing was deleted.
        """
        self._write(scope, lambda page: without(page, scope, texts))

    def _write(self, scope: Scope, change: _Change) -> None:
        path = self.page(scope)
        try:
            with locked(path.with_suffix(".lock"), timeout_s=LOCK_TIMEOUT_S):
                before = _read(path)
                refuse_newer_page("memory", before.decode(), f"the page of facts {quoted(path)}")
                changed = change(before.decode())
                after = _bounded(with_version_comment("memory", changed).encode())
                if after != before:
                    write_atomic(path, after, [path.parent], expected=before)
        except (ToolError, NewerVersion, OSError, UnicodeDecodeError) as error:
            raise _unwritable(path, error) from error

    def _look(self, scope: Scope) -> tuple[tuple[Fact, ...], str]:
        path = self._paths[scope]
        mark = _mark(path)
        known = self._known.get(scope)
        if known is None or known[0] != mark:
            known = self._known[scope] = (mark, *_load(path, scope))
        return known[1], known[2]


def _load(path: Path, scope: Scope) -> tuple[tuple[Fact, ...], str]:
    try:
        page = _read(path).decode()
        refuse_newer_page("memory", page, f"the page of facts {quoted(path)}")
    except FileNotFoundError:
        return (), ""
    except NewerVersion as error:
        return (), str(error)
    except (ToolError, OSError, UnicodeDecodeError) as error:
        return (
            (),
            f"the facts in {quoted(path)} cannot be read ({reason(error)}); fix or delete the file",
        )
    return tuple(one.fact for one in entries(page, scope)), ""


def _bounded(page: bytes) -> bytes:
    if len(page) > PAGE_LIMIT_B:
        raise ToolError(_TOO_LARGE)
    return page


def _read(path: Path) -> bytes:
    if os.lstat(path).st_size > PAGE_LIMIT_B:
        raise ToolError(_TOO_LARGE)
    return read_guarded(path, PAGE_LIMIT_B)


def _mark(path: Path) -> _Mark:
    """Return stat values that change with the file or its permissions; takes microseconds."""
    try:
        kind = calls.stat(path, follow_symlinks=False)
        folder = calls.stat(path.parent)
    except OSError:
        return None
    whose = (kind.st_mode, kind.st_uid, folder.st_mode, folder.st_uid)
    return kind.st_mtime_ns, kind.st_ctime_ns, kind.st_size, kind.st_ino, *whose


def _unwritable(path: Path, error: Exception) -> SettingsError:
    return SettingsError(f"the facts in {quoted(path)} cannot be changed ({reason(error)})")
