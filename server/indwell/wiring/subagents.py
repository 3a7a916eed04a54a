"""Provides sub-agents to sessions: definitions from files, logs, and tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from indwell.agent.compaction.fit import make_compact
from indwell.agent.core.session import Session
from indwell.agent.core.session_parts import CompactionWish, Log
from indwell.agent.features.subagents.child import OwnTools, SubagentLimits
from indwell.agent.features.subagents.definition import (
    Definition,
    Origin,
    known_by_name,
    read_definition,
    workspace_catalogue,
)
from indwell.agent.features.subagents.feature import Subagents
from indwell.bounds.folder_trust import FolderTrust
from indwell.bounds.secrets import visible_place
from indwell.errors import ToolError
from indwell.files.append_log import AppendLog, list_names
from indwell.files.contents.reading import read_bytes
from indwell.files.private import read_own
from indwell.prompt.system import EXPLORE
from indwell.sessions.log_lines import FORMAT
from indwell.sessions.records import SessionStarted
from indwell.sessions.storage.store import AGENTS
from indwell.sessions.storage.writer import LogWriter, MemoryLog
from indwell.settings.model import Settings
from indwell.settings.paths import user_file
from indwell.skills.front_matter import BadFrontMatter
from indwell.tools.commands.bash import Shell, make_bash

USER_FOLDER = "agents"  # The folder is beside the user's settings file.
WORKSPACE_FOLDERS = (".indwell/agents", ".claude/agents")
MOST_FILES = 50  # One folder has at most 50 files.
MOST_FILE_B = 65_536
SUFFIX = ".md"

_logger = logging.getLogger(__name__)


class FoundSubagents(NamedTuple):
    """Named sub-agents, and sentences on invalid files."""

    known: Mapping[str, Definition]
    problems: tuple[str, ...] = ()


def subagents_of(
    settings: Callable[[], Settings],
    roots: Sequence[Path],
    trust: FolderTrust,
    folder: Path | None,
) -> Subagents:
    """Create a session's sub-agents; ``folder`` is the session's folder, or None without one.

    The function reads a few small files.
    """
    logs = AgentLogs(folder, roots[0])

    def limits() -> SubagentLimits:
        now = settings()
        return SubagentLimits(now.agent_rounds, now.agent_budget_tokens)

    def own_tools() -> OwnTools:
        wish = CompactionWish()
        shell = Shell(roots[0], timeout_s=settings().command_timeout_s)
        return OwnTools(wish, (make_bash(shell), make_compact(wish)))

    async def known() -> Mapping[str, Definition]:
        return (await asyncio.to_thread(find_agents, roots, trust, settings().deny)).known

    return Subagents(
        listed=tuple(find_agents().known.values()),
        known=known,
        limits=limits,
        model=lambda: settings().agent_model,
        own_tools=own_tools,
        logs=logs,
    )


def lines_of(subagents: Subagents) -> Callable[[], Awaitable[tuple[str, ...]]]:
    """Return a function that reads the workspace's sub-agents: one line each, for the model."""

    async def lines() -> tuple[str, ...]:
        return workspace_catalogue(await subagents.known())

    return lines


def find_agents(
    roots: Sequence[Path] = (), trust: FolderTrust | None = None, deny: tuple[str, ...] = ()
) -> FoundSubagents:
    """Read all definitions; a workspace's definitions are used only with trusted text. Blocks.

    Args:
        roots: The workspace's folders, or empty for the user's own and shipped definitions only.
        trust: The trust in the folders; without it, no definition in the folders is read.
        deny: Globs of files that no model may see.
    """
    known = [_defined(EXPLORE, "explore", "indwell", "")]
    problems: list[str] = []
    files = list(_of_user())
    if trust is not None:
        files += [
            one for root in trust.now(roots).trusted for one in _of_workspace(root, trust, deny)
        ]
    for one in files:
        if one.problem:
            problems.append(f"{one.shown}: {one.problem}")
            continue
        try:
            text = one.data.decode("utf-8")
            stem = one.shown.rpartition("/")[2].removesuffix(SUFFIX)
            found = _defined(text, stem, one.origin, one.shown)
        except UnicodeDecodeError:
            problems.append(f"{one.shown}: it is not UTF-8 text")
        except BadFrontMatter as error:
            problems.append(f"{one.shown}: {error}")
        else:
            known.append(found)
    return FoundSubagents(known_by_name(known), tuple(problems))


# The result is cached, because a file takes 1 ms and each new session needs the files on the event
# loop.
@lru_cache(maxsize=256)
def _defined(text: str, stem: str, origin: Origin, path: str) -> Definition:
    return read_definition(text, stem=stem, origin=origin, path=path)


class _SubagentFile(NamedTuple):
    """The content of a sub-agent's file, or the reason why the file could not be read."""

    shown: str
    origin: Origin
    data: bytes = b""
    problem: str = ""


def _of_user() -> Iterator[_SubagentFile]:
    folder = user_file().parent / USER_FOLDER
    for name in _names(folder):
        path = folder / name
        try:
            yield _SubagentFile(path.as_posix(), "user", read_own(path, MOST_FILE_B))
        except OSError as error:
            yield _SubagentFile(
                path.as_posix(), "user", problem=error.strerror or "it cannot be read"
            )
        except ToolError as error:
            yield _SubagentFile(path.as_posix(), "user", problem=str(error))


def _of_workspace(root: Path, trust: FolderTrust, deny: tuple[str, ...]) -> Iterator[_SubagentFile]:
    """Return the definitions of a trusted folder in their trusted text; links must stay inside."""
    for place in WORKSPACE_FOLDERS:
        for name in _names(root / place):
            shown = f"{place}/{name}"
            real = visible_place(root / shown, (root,), deny)
            if real is None:
                continue
            try:
                data = read_bytes(real, [root], MOST_FILE_B)
            except ToolError as error:
                yield _SubagentFile(shown, "workspace", problem=str(error))
                continue
            if trust.obeys(root, shown, data):
                yield _SubagentFile(shown, "workspace", data)


def _names(folder: Path) -> tuple[str, ...]:
    try:
        names = list_names(folder)
    except OSError:
        return ()
    return tuple(name for name in names if name.endswith(SUFFIX))[:MOST_FILES]


class AgentLogs:
    """The logs of a session's sub-agents, beside the session's own: ``agents/0001.jsonl``.

    Args:
        folder: The session's folder, or None if the session is not saved.
        workspace: The workspace, for the first record of each log.
    """

    def __init__(self, folder: Path | None, workspace: Path) -> None:
        self._folder = None if folder is None else folder / AGENTS
        self._workspace = workspace
        self._number: int | None = None

    async def __call__(self, session: Session, model: str) -> tuple[int, Log]:
        """Create the next log; if nothing can be written, create a log in memory."""
        if self._number is None:
            known = await asyncio.to_thread(self._highest)
            # Another sub-agent that began at the same time already has this log.
            if self._number is None:
                self._number = known
        self._number = number = self._number + 1
        log = await asyncio.to_thread(self._opened, number)
        log.append(
            SessionStarted(
                session=f"{session.id}-a{number}",
                workspace=str(self._workspace),
                model=model,
                at=session.timestamp(),
                format=FORMAT,
            )
        )
        return number, log

    def _opened(self, number: int) -> Log:
        if self._folder is None:
            return MemoryLog()
        try:
            return LogWriter(AppendLog(self._folder / f"{number:04d}.jsonl"))
        except OSError as error:
            _logger.warning("the log of a sub-agent is not kept: %s", error)
            return MemoryLog()

    def _highest(self) -> int:
        """Return the number of existing logs, from earlier processes."""
        try:
            names = () if self._folder is None else list_names(self._folder)
        except OSError:
            return 0
        heads = (name.partition(".")[0] for name in names)
        return max((int(head) for head in heads if head.isascii() and head.isdecimal()), default=0)
