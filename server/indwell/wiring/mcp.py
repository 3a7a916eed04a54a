"""Creates the MCP servers of a session: permission to run, sandbox, and questions."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from indwell.agent.core.feature import Moment
from indwell.agent.core.session import Session
from indwell.agent.features.mcp.asking import AskUser
from indwell.agent.features.mcp.feature import AskLine, McpInputs
from indwell.agent.features.questions import Answer, Asker, QuestionBoard, UserQuestion, put
from indwell.bounds.command_bounds import confiner
from indwell.bounds.folder_trust import FolderTrust
from indwell.files.listing import exists
from indwell.mcp.definition import ServerDefinition
from indwell.mcp.server_book import ServerBook
from indwell.mcp.server_files import PROJECT_FILES
from indwell.mcp.servers import Lease, Servers
from indwell.mcp.surrounding import Confine, Surrounding
from indwell.secrets import Secrecy
from indwell.service.stored_keys import key_store
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder, user_file
from indwell.tools.base import ToolContext
from indwell.workspace.base import Workspace

_numbers = itertools.count(1)  # The numbers identify questions at the beginning of turns.


@cache
def running_servers() -> Servers:
    """Return the servers that run in this process."""
    return Servers()


def _auth(definition: ServerDefinition) -> object:
    """Return the object that adds a login's token; used only while a server starts."""
    from indwell.mcp.login import turn_auth

    return turn_auth(definition, key_store())


def surrounding_of(
    roots: Sequence[Path],
    settings: Callable[[], Settings],
    trust: FolderTrust,
    environment: Mapping[str, str],
) -> Surrounding:
    """Return the parts of the machine that servers may see, by the current trust in folders."""
    state = state_folder(environment)

    def open_bounds() -> tuple[Confine, Callable[[], None]]:
        now = trust.now(roots)
        bounds = confiner(
            now.trusted,
            lambda: msgspec.structs.replace(settings(), mode="review"),
            own=(str(state.resolve()), str(user_file().parent.resolve())),
            restricted=tuple(map(Path, now.restricted)),
            quarantine=state / "quarantine",
        )
        return bounds, bounds.close

    trusted = tuple(one.resolve() for one in trust.now(roots).trusted)
    book = ServerBook(lambda: roots, settings, trust, environment)

    def inspect(definition: ServerDefinition) -> str:
        return book.inspect(definition, trusted[0] if trusted else None)

    hide = Secrecy(settings, (), environment).hide
    return Surrounding(trusted, open_bounds, lambda: environment, _auth, inspect, hide)


def mcp_inputs(
    workspace: Workspace,
    settings: Callable[[], Settings],
    trust: FolderTrust,
    environment: Mapping[str, str],
    *,
    board: QuestionBoard,
    asker: Asker,
    session: str,
) -> McpInputs:
    """Create the inputs of the feature for a session.

    Args:
        workspace: The workspace.
        settings: Returns the settings in force.
        trust: Knows which folders are trusted.
        environment: The variables of the process, for ``${NAME}`` in definitions.
        board: Holds the session's pending question.
        asker: Reaches the user.
        session: The session's id.
    """
    book = ServerBook(lambda: workspace.roots, settings, trust, environment)

    async def definitions() -> Sequence[ServerDefinition]:
        files = (root / file for root in workspace.roots for file in PROJECT_FILES)
        if not settings().mcp and not any(map(exists, files)):
            return ()
        return await asyncio.to_thread(book.usable)

    def lease(definition: ServerDefinition, on_change: Callable[[], None]) -> Lease:
        around = surrounding_of(workspace.roots, settings, trust, environment)
        return running_servers().lease(definition, around, on_change)

    folder = workspace.roots[0].resolve().as_posix()
    asking = (board, asker, session, lambda: settings().answer_timeout_s)
    return McpInputs(definitions, lease, folder, user_asker(*asking), line_asker(*asking))


def user_asker(
    board: QuestionBoard, asker: Asker, session: str, timeout_s: Callable[[], float]
) -> AskUser:
    """Return the function by which a server asks the user as the model asks."""

    async def ask(words: str, options: Sequence[str], context: ToolContext) -> str | None:
        question = UserQuestion(context.call_id, words, tuple(options), session)
        answer = await put(
            board, asker, question, turn=context.turn, tell=context.tell, timeout_s=timeout_s()
        )
        if not isinstance(answer, Answer) or answer.is_nobody:
            return None
        if answer.chosen is not None:
            return question.options[answer.chosen]
        return answer.words or None

    return ask


def line_asker(
    board: QuestionBoard, asker: Asker, session: str, timeout_s: Callable[[], float]
) -> AskLine:
    """Return the function that asks the user for a line at the beginning of a turn.

    A message that the user sends to the turn meanwhile, as in a chat, is an answer, too.
    """

    async def ask(words: str, moment: Moment[Session]) -> str | None:
        number = next(_numbers)
        question = UserQuestion(f"mcp-{moment.turn}-{number}", words, (), session, is_line=True)
        answer = await put(
            board, asker, question, turn=moment.turn, tell=moment.emit, timeout_s=timeout_s()
        )
        return answer.words or None if isinstance(answer, Answer) else None

    return ask
