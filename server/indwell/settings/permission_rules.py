"""The user's permanent permissions for each workspace, in the state folder.

The rules are never in the repository, because the repository's authors must not grant permissions.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import msgspec

from indwell.compatibility import StoredForm
from indwell.errors import NewerVersion, SettingsError, ToolError, reason
from indwell.files.append_log import make_private_folder
from indwell.files.contents.atomic import write_atomic
from indwell.files.locks import locked
from indwell.files.private import read_own
from indwell.files.spelling import quoted
from indwell.lazy_pattern import lazy_pattern

LIMIT_B = 1 << 20  # Indwell never writes a file with more bytes.
LOCK_TIMEOUT_S = 5.0  # The unit is seconds to wait for other servers that write the same file.
# The comma is left over if the user deletes the last line.
_LAST_COMMA = lazy_pattern(rb",(\s*\](?:\s*\})?\s*)$")
FORM: StoredForm[list[str]] = StoredForm(
    "permissions", list[str], "the file of permissions", member="rules"
)

_Mark: TypeAlias = tuple[int, int, int] | None


class RuleBook:
    """Exact permission rules: permanent rules on disk, session rules in memory.

    A changed file is read again, so that a revoked rule ends at once. An unreadable file grants
    nothing, and is not overwritten, because users edit the file.

    Args:
        path: A JSON file with the rules; may be missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mark = _mark(path)
        self._always, self._problem = _load(path)
        self._session: frozenset[str] = frozenset()

    @property
    def granted(self) -> frozenset[str]:
        """Return all rules in force."""
        self._look()
        return self._always | self._session

    @property
    def always(self) -> tuple[str, ...]:
        """Return the permanent rules, sorted."""
        self._look()
        return tuple(sorted(self._always))

    @property
    def problem(self) -> str:
        """Explain why the file grants nothing, with advice, or return an empty text."""
        self._look()
        return self._problem

    async def grant(self, rule: str, always: bool) -> None:  # noqa: FBT001 - the answer's two kinds
        """Add a rule.

        Raises:
            SettingsError: The rule cannot be stored, and applies to this session only.
        """
        if not always:
            self._session |= {rule}
            return
        try:
            await asyncio.to_thread(self._change, lambda rules: rules | {rule})
        except SettingsError as error:
            self._session |= {rule}
            raise SettingsError(f"{error}; the rule applies to this session only") from error

    def replace(self, old: Iterable[str], new: str) -> None:
        """Replace permanent rules by another permanent rule. Blocks.

        Raises:
        SettingsError: The rule cannot be stored; nothing has changed.
        """
        gone = frozenset(old)
        self._change(lambda known: (known - gone) | {new})

    def revoke(self, rules: Iterable[str]) -> int:
        """Revoke permanent rules; return the number of revoked rules. Blocks.

        Raises:
            SettingsError: The file cannot be read or written; nothing was revoked.
        """
        gone = frozenset(rules)
        before = self._change(lambda known: known - gone)
        return len(before & gone)

    def _change(self, change: Callable[[frozenset[str]], frozenset[str]]) -> frozenset[str]:
        """Change the rules on disk, including those of other processes; return the former rules."""
        try:
            make_private_folder(self._path.parent)
            with locked(self._path.with_suffix(".lock"), timeout_s=LOCK_TIMEOUT_S):
                before, problem = _load(self._path)
                if problem:
                    raise SettingsError(problem)
                after = change(before)
                if after != before:
                    data = FORM.encode(sorted(after), is_for_people=True)
                    write_atomic(self._path, data, [self._path.parent])
                # another session may write right after the lock is released
                self._always, self._mark = after, _mark(self._path)
        except (ToolError, OSError) as error:
            raise SettingsError(f"the permissions could not be stored ({reason(error)})") from error
        return before

    def _look(self) -> None:
        mark = _mark(self._path)
        if mark != self._mark:
            always, problem = _load(self._path)
            # The mark is older than the rules, so rules stored meanwhile are read again.
            self._always, self._problem, self._mark = always, problem, mark


def _mark(path: Path) -> _Mark:
    """Return stat values that change with the file; takes a few microseconds."""
    try:
        kind = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - Path.stat makes a longer way
    except OSError:
        return None
    return kind.st_mtime_ns, kind.st_size, kind.st_ino


def _load(path: Path) -> tuple[frozenset[str], str]:
    """Read the rules on disk; return an explanation if reading fails."""
    try:
        text = _LAST_COMMA.sub(rb"\1", read_own(path, LIMIT_B))
        return frozenset(FORM.decode(text, quoted(path))), ""
    except FileNotFoundError:
        return frozenset(), ""
    except NewerVersion as error:
        return frozenset(), f"{error}; until then, Indwell asks about everything again"
    except (ToolError, OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        return frozenset(), (
            f"the file of permissions {quoted(path)} cannot be read ({reason(error)}), so "
            "Indwell asks about everything again; fix or delete it"
        )
