"""Writes the message of a git commit by one small request without tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from indwell import edges
from indwell.agent.core.budget import Outlay, expected_usage
from indwell.agent.requests.sending import allowance
from indwell.bounds.folder_trust import FolderTrust
from indwell.bounds.git.changes import RepositoryChanges, read_changes
from indwell.context.conversation import system_block
from indwell.context.injections import inject
from indwell.context.tokens import BLOCK_OVERHEAD
from indwell.context.untrusted_text import scalar_text, seen
from indwell.errors import UserError
from indwell.messages import BROKEN_OFF, Message, Request, Usage
from indwell.policy.paths import matches_any
from indwell.prompt.system import COMMIT_WORDS
from indwell.secrets import Secrecy
from indwell.sessions.storage.spending import SpendingLedger
from indwell.settings.model import Settings
from indwell.settings.paths import state_folder
from indwell.wiring.model import Model, budgets_of
from indwell.workspace.base import Workspace
from indwell.workspace.paths import display

MOST_CHARACTERS = 4_000  # The limit is in characters of a message.
MOST_OUTPUT = 4_000  # The limit in tokens is enough for a reasoning model.
CHARS = 3  # One token has at least 3 characters.


class CommitMessage(NamedTuple):
    """A commit message, and whether it is about the index or the working tree."""

    text: str
    is_staged: bool


async def write_commit_message(
    workspace: Workspace,
    settings: Settings,
    model: Model,
    *,
    trust: FolderTrust,
    environment: Mapping[str, str],
    folder: Path | None = None,
) -> CommitMessage:
    """Ask the small model, or the main model if there is none, for a commit message.

    Args:
        workspace: The user's files.
        settings: The settings in force.
        model: Models for this one request.
        trust: The trust in folders, as last examined.
        environment: Variables of the process, which name the state folder.
        folder: A folder of the repository; by default the first one of the workspace.

    Raises:
        UserError: There is nothing to commit, or the model sent no message.
    """
    try:
        changes = await _changes(workspace, settings, trust, folder)
        secrecy = Secrecy(lambda: settings, model.secrets, environment)
        text = await asyncio.to_thread(secrecy.hide, _about(changes))
        ledger = SpendingLedger(state_folder(environment), edges.now)
        answer = await _asked(model, settings, ledger, text)
    finally:
        await model.hang_up()
    return CommitMessage(_plain(answer), changes.is_staged)


async def _changes(
    workspace: Workspace, settings: Settings, trust: FolderTrust, folder: Path | None
) -> RepositoryChanges:
    roots = workspace.roots
    trusted = tuple(one.resolve() for one in trust.now(roots).trusted)
    wanted = (folder or roots[0]).resolve()
    root = next((one for one in trusted if wanted.is_relative_to(one)), None)
    if root is None:  # The repository may be above the folders of the workspace.
        wanted = next((one for one in trusted if one.is_relative_to(wanted)), wanted)
    if not any(wanted.is_relative_to(one) for one in trusted):
        raise UserError("nothing runs in a folder that you have not trusted, not even git")

    def named(path: Path) -> str | None:
        shown = display(path, roots)
        is_inside = any(path.is_relative_to(one) for one in trusted)
        return shown if is_inside and not matches_any(shown, settings.deny) else None

    return await read_changes(wanted, named=named, never_in=roots)


def _about(changes: RepositoryChanges) -> str:
    if not changes.subjects:
        return changes.words
    subjects = "\n".join(f"- {one}" for one in changes.subjects)
    return f"Subjects of the last commits:\n{subjects}\n\n{changes.words}"


async def _asked(model: Model, settings: Settings, ledger: SpendingLedger, text: str) -> str:
    """Make the request within the budgets.

    Raises:
        UserError: A budget does not allow the request, or the model sent no complete message.
    """
    small = model.small
    name, provider, window = model.name, model.provider, model.window
    cost: Callable[[Usage], float | None] = model.cost
    if small is not None:
        name, provider, window, cost = small.name, small.provider, small.window, small.cost
    block = inject("attached", text[: window // 2 * CHARS], turn=1, attributes={"name": "changes"})
    system = system_block(COMMIT_WORDS)
    request = Request(
        model=name,
        system=(system,),
        tools=(),
        messages=(Message("user", (block,), 1),),
        max_output=min(MOST_OUTPUT, window // 4),
        tokens=system.meta.tokens + block.meta.tokens + 2 * BLOCK_OVERHEAD,
        effort=model.effort if small is None else "",
    )
    usage = expected_usage(request.tokens, Usage(), request.max_output)
    async with allowance(budgets_of(settings), Outlay(), usage, cost(usage), ledger):
        reply = await provider.complete(request, lambda _event: None)
        if spent := cost(reply.usage):
            ledger.add(spent)
    if not reply.text.strip() or reply.finish in {*BROKEN_OFF, "filtered", "length"}:
        raise UserError(f"the model {name!r} wrote no whole message; try again")
    return reply.text


def _plain(answer: str) -> str:
    """Return the message without a code fence and without characters that hide text."""
    lines = scalar_text(answer).strip().splitlines()
    if len(lines) > 2 and lines[0].startswith("```") and lines[-1].startswith("```"):  # noqa: PLR2004
        lines = lines[1:-1]
    text = "\n".join(seen(line).text.rstrip() for line in lines).strip()
    return text[:MOST_CHARACTERS]
