"""Creates the memory and the questions to the user of a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from indwell import edges
from indwell.agent.features.memory import NoPages, Pages, make_remember
from indwell.agent.features.questions import Asker, Nobody, QuestionBoard, make_ask_user
from indwell.policy.approvals import Approver
from indwell.sessions.storage.store import folder_name
from indwell.settings.memory_pages import MemoryPages
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder
from indwell.tools.base import Tool

FOLDER = "memory"  # The folder is in the state folder.


class Companion(NamedTuple):
    """Two features that need the user: questions and memory pages, each with its tools.

    ``remember`` is empty if the memory is off; ``asker`` reaches the user.
    """

    questions: QuestionBoard
    memory: Pages
    ask_user: Tool[Any]
    remember: Sequence[Tool[Any]]
    asker: Asker


def companion_of(
    session: str,
    approver: Approver,
    settings: Callable[[], Settings],
    root: Path,
    environment: Mapping[str, str],
) -> Companion:
    """Create both features for a session in ``root``; the approver may also answer questions."""
    board = QuestionBoard()
    asker = approver if isinstance(approver, Asker) else Nobody()
    asking = make_ask_user(board, asker, session, lambda: settings().answer_timeout_s)
    if not settings().memory:
        return Companion(board, NoPages(), asking, (), asker)
    pages = memory_pages(environment, root)
    remember = make_remember(pages, session, edges.now)
    return Companion(board, pages, asking, (remember,), asker)


def memory_pages(environment: Mapping[str, str], root: Path) -> MemoryPages:
    """Return the pages of a workspace and of the user."""
    return MemoryPages(state_folder(environment) / FOLDER, folder_name(root.resolve()))
