"""``indwell purge``: deletes all data of Indwell on this machine, and if asked the settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import platformdirs

from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.stdin import is_typed, yes_or_no
from indwell.cli.terminal.telling import tell
from indwell.errors import UserError
from indwell.files.append_log import list_names
from indwell.files.private import (
    remove_empty_folders,
    remove_own,
    remove_own_tree,
    size_b,
    unused_scratch,
)
from indwell.service.stored_keys import key_store
from indwell.sessions.storage.retention import delete, stored
from indwell.settings.keys import LOCK_NAME, KeyStore
from indwell.settings.paths import batches_folder, state_folder, user_file, worktrees_folder

OURS = (
    *(
        "sessions",
        "permissions",
        "trust",
        "drafts",
        "tasks",
        "worktrees",
        "terminal",
        "spending",
        "undo",
        "shown",
        "memory",
        "swept",
        "mcp",
        "setup",
        "diagnosis",
    ),
    *("quarantine", "git", "wires.json", "models.json"),
    *("first-run.md", "terminal-history.jsonl"),
)
"""Indwell's files in a state folder that the user chose; other files there are kept."""


class PurgeItem(msgspec.Struct, frozen=True):
    """An item to delete: a path with its size, or the key of an origin; ``kind`` names it."""

    kind: str
    name: str
    size_b: int = 0

    @property
    def words(self) -> str:
        """The item as a line of the list."""
        size = f" ({self.size_b / 1_000_000:.1f} MB)" if self.kind != "key" else ""
        return f"{self.kind}: {self.name}{size}"


def purge(*, is_sure: bool, as_json: bool, with_settings: bool = False) -> int:
    """List items, ask, delete; return 0 if all are deleted, 1 if not, 2 without a terminal.

    Raises:
        UserError: The stored files cannot be listed.
    """
    store = key_store()
    items = tuple(_items(store, with_settings=with_settings))
    if not as_json:
        tell("\n".join(item.words for item in items) or "there is nothing to delete")
    _tell_others()
    if items and not is_sure and not as_json:
        if not is_typed():
            tell("to delete this, add --yes", file=sys.stderr)
            return 2
        stays = "" if with_settings else f" The settings in {user_file()} stay."
        code = yes_or_no(f"Delete all of this for good?{stays}")
        if code:
            tell("nothing was deleted")
            return code
        is_sure = True
    if as_json and not is_sure:
        sys.stdout.write(json_line({"would_delete": items}) + "\n")
        return 0
    failed = _delete(items, store)
    if as_json:
        answer = {"deleted": items, "failed": failed}
        sys.stdout.write(json_line(answer) + "\n")
    for sentence in failed:
        tell(sentence, file=sys.stderr)
    if items and not failed and not as_json:
        tell("all of this is deleted")
    return 1 if failed else 0


def _items(store: KeyStore, *, with_settings: bool) -> Iterator[PurgeItem]:
    for path in _paths():
        if (path.exists() or path.is_symlink()) and not why_not_ours(path):
            yield PurgeItem("folder" if path.is_dir() else "file", str(path), size_b(path))
    for path in unused_scratch():  # of servers that were killed
        yield PurgeItem("folder", str(path), size_b(path))
    for origin in store.origins():
        yield PurgeItem("key", origin)
    settings = user_file()
    if with_settings and (settings.exists() or settings.is_symlink()):
        yield PurgeItem("settings", str(settings), size_b(settings))


def _tell_others() -> None:
    for path in _paths():
        if why := why_not_ours(path):
            tell(f"{path} stays: {why}; delete it yourself if it is Indwell's", file=sys.stderr)


def why_not_ours(path: Path) -> str:
    """Explain why Indwell did not make a folder, or return no text; blocks for a moment.

    In a folder that the user named, others may have a folder with one of our names, such as `git`.
    """
    if path.is_symlink() or not path.is_dir():
        return ""
    if (path / ".git").exists():
        return "it is a git repository"
    is_named = bool(os.environ.get("INDWELL_STATE", "").strip())
    beside = (worktrees_folder(os.environ), batches_folder(os.environ))
    is_by_name = is_named and (path.parent == state_folder(os.environ) or path in beside)
    if is_by_name and sys.platform != "win32" and path.stat().st_mode & 0o077:
        return "other users may read it, and Indwell makes only private folders"
    return ""


def _paths() -> Iterator[Path]:
    state = state_folder(os.environ)
    yield worktrees_folder(os.environ)
    yield batches_folder(os.environ)
    # The folders have Python environments and caches of editor extensions; see docs/privacy.md.
    others = (
        platformdirs.user_cache_path("indwell", appauthor=False),
        platformdirs.user_data_path("indwell", appauthor=False),
    )
    is_named = bool(os.environ.get("INDWELL_STATE", "").strip())
    yield from places(state, others, user_file(), is_named=is_named)


def places(
    state: Path, others: Sequence[Path], settings: Path, *, is_named: bool
) -> tuple[Path, ...]:
    """Return the paths to delete: folders of Indwell, or files in shared folders. Pure.

    On macOS and Windows, settings, state and data share one folder; the settings are kept.

    Args:
        state: The state folder.
        others: Other folders of Indwell.
        settings: The user's settings file.
        is_named: Whether the user chose the state folder, so that it may contain other files.
    """
    is_shared = is_named or settings.is_relative_to(state)
    own = tuple(state / name for name in OURS) if is_shared else (state,)
    more = (path for path in others if not settings.is_relative_to(path) and path != state)
    return (*own, *dict.fromkeys(more))


def _delete(items: Sequence[PurgeItem], store: KeyStore) -> tuple[str, ...]:
    """Delete the items; return a sentence for each item that was not deleted."""
    state = state_folder(os.environ)
    failed = []
    for session in stored(state):
        try:
            delete(state, session.id)
        except UserError as error:
            failed.append(str(error))
    for item in items:
        try:
            if not (failed and _holds_sessions(Path(item.name), state)):
                _delete_one(item, store)
        except (UserError, OSError) as error:
            failed.append(f"{item.words} stays ({error})")
    try:
        if not store.origins():
            remove_own(store.path)
            remove_own(store.path.with_name(LOCK_NAME))
            if not list_names(store.path.parent):
                remove_own_tree(store.path.parent)
    except (UserError, OSError) as error:
        failed.append(f"{store.path} stays ({error})")
    _remove_parents((*_paths(), user_file(), store.path))
    return tuple(failed)


def _remove_parents(paths: Sequence[Path]) -> None:
    """Remove the empty folders above: Indwell creates a missing ``~/.local/state``."""
    if not os.environ.get("INDWELL_STATE", "").strip():
        for path in paths:
            remove_empty_folders(path, Path.home())


def _delete_one(item: PurgeItem, store: KeyStore) -> None:
    if item.kind == "key":
        store.forget(item.name)
    elif item.kind == "settings":
        remove_own(Path(item.name))
    else:
        remove_own_tree(Path(item.name))


def _holds_sessions(path: Path, state: Path) -> bool:
    sessions = state / "sessions"
    return bool(list_names(sessions)) and sessions.is_relative_to(path)
