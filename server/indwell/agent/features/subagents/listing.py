"""Tells the model which sub-agents the workspace describes: once, and when they change.

The description of the tool stays the same for a whole session, and no text of a workspace may have
the system role. So the names come at the end of a request, as data of the workspace.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.session import Session
from indwell.agent.features.subagents.naming import NAME
from indwell.agent.features.subagents.tool import Subagents, make_agent
from indwell.agent.permission.redaction import hidden
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.messages import Text

_OF_FOLDER = "Sub-agents that this folder's files describe; call agent with a name if one fits:"
_NONE_LEFT = "This folder has no named sub-agents any more."
_FROM = {"from": "workspace"}


def subagents_feature(
    subagents: Subagents, find: Callable[[], Awaitable[tuple[str, ...]]]
) -> Feature[Session]:
    """Return sub-agents as a feature; ``find`` reads the workspace's, as one harmless line each."""
    listing = SubagentListing(find)
    return Feature(
        name="sub-agents",
        tools=(make_agent(subagents),),
        remind=listing.remind,
        for_child=lambda: None,
    )


class SubagentListing:
    """The sub-agents that the workspace describes, as they were at the first request of a turn."""

    def __init__(self, find: Callable[[], Awaitable[tuple[str, ...]]]) -> None:
        self._find = find
        self._lines: tuple[str, ...] = ()
        self._turn = 0

    async def remind(self, moment: Moment[Session]) -> Reminder:
        """Return the current list, which a compacted or resumed conversation may not show."""
        session, turn = moment.session, moment.turn
        if not session.parts.tools.has(NAME):
            return Reminder(())
        lines = self._lines if turn == self._turn else await self._find()

        def told() -> None:
            self._lines, self._turn = lines, turn

        return Reminder(await _blocks(session, turn, lines), told)


async def _blocks(session: Session, turn: int, lines: tuple[str, ...]) -> tuple[Text, ...]:
    if lines:
        words = await hidden(session, "\n".join((_OF_FOLDER, *lines)))
        return (inject("agent_list", words, turn=turn, attributes=_FROM),)
    newest, _ = talk.sent_texts(session.conversation)
    if "agent_list" in newest:
        return (inject("agent_list", _NONE_LEFT, turn=turn, attributes=_FROM),)
    return ()
