"""The permissions that the user gave for always, by workspace, in the state folder (editor §9).

Never in the repository: a rule that travels with it would be the repository's, not the user's.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import msgspec

from indwell.errors import SettingsError, ToolError
from indwell.files import make_private_folder, read_own, write_atomic

LIMIT_B = 1 << 20  # a rule file larger than this is none of ours
_LAST_COMMA = re.compile(rb",\s*\]\s*$")  # what stays when somebody deletes the last line


class RuleBook:
    """Exact rules: those for always are kept on disk, those for the session in memory.

    A file that cannot be read grants nothing, and is not written over: people edit it.

    Args:
        path: A JSON list of rules; need not exist.

    Attributes:
        problem: Why the file grants nothing, and how to mend it; empty if it could be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._always, self.problem = _load(path)
        self._session: frozenset[str] = frozenset()

    @property
    def granted(self) -> frozenset[str]:
        """All rules in force."""
        return self._always | self._session

    async def grant(self, rule: str, always: bool) -> None:  # noqa: FBT001 - the answer's two kinds
        """Remember a rule.

        Raises:
            SettingsError: It cannot be written; then it counts for this session only.
        """
        self._session |= {rule}
        if not always:
            return
        if self.problem:
            raise SettingsError(f"{self.problem}; the rule counts for this session only")
        rules = sorted(self._always | {rule})
        try:
            data = msgspec.json.format(msgspec.json.encode(rules))
            await asyncio.to_thread(self._write, data)
        except (ToolError, OSError) as error:
            raise SettingsError(
                f"the rule could not be kept ({error}); it counts for this session only"
            ) from error
        self._always = frozenset(rules)

    def _write(self, data: bytes) -> None:
        make_private_folder(self._path.parent)
        write_atomic(self._path, data, [self._path.parent])


def _load(path: Path) -> tuple[frozenset[str], str]:
    """The rules on disk, and why there are none if the file cannot be read."""
    try:
        text = _LAST_COMMA.sub(b"]", read_own(path, LIMIT_B))
        return frozenset(msgspec.json.decode(text, type=list[str])), ""
    except FileNotFoundError:
        return frozenset(), ""
    except (ToolError, OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        return frozenset(), (
            f"the file of permissions {str(path)!r} cannot be read ({error}), so everything is "
            "asked for again; mend or delete it"
        )
