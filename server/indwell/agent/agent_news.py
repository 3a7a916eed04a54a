"""What the model hears of the sub-agents that the workspace names: once, and when they change.

The tool's description is the same for a whole session, and no text of a workspace may have the
system's role; so they stand at the end of a request, as data of the workspace.
"""

from __future__ import annotations

from indwell.agent.roster import TOOL
from indwell.agent.secrecy import hidden
from indwell.agent.session import Session
from indwell.context import conversation as talk
from indwell.context.injections import inject
from indwell.messages import Text

_OF_FOLDER = "Sub-agents that this folder's files describe; call agent with a name if one fits:"
_NONE_LEFT = "This folder has no named sub-agents any more."
_FROM = {"from": "workspace"}


async def look_at_agents(session: Session) -> None:
    """Look which there are, as a turn begins."""
    if _may_begin(session):
        await session.parts.roster.look()


async def remind_of_agents(session: Session, turn: int) -> None:
    """Let the next request end with those of the workspace, if that is news."""
    blocks = await agent_blocks(session, turn)
    session.conversation = talk.queue(session.conversation, blocks)


async def agent_blocks(session: Session, turn: int) -> tuple[Text, ...]:
    """What the request is to say of them; what it says already is among it.

    The list of the moment: so a conversation that was compacted, resumed or taken back is told
    again what it does not show any more.
    """
    if not _may_begin(session):
        return ()
    lines = session.parts.roster.lines
    if lines:
        words = await hidden(session, "\n".join((_OF_FOLDER, *lines)))
        return (inject("agent_list", words, turn=turn, attributes=_FROM),)
    newest, _ = talk.sent_texts(session.conversation)
    if "agent_list" in newest:
        return (inject("agent_list", _NONE_LEFT, turn=turn, attributes=_FROM),)
    return ()


def _may_begin(session: Session) -> bool:
    """Can the model begin sub-agents at all? A sub-agent cannot."""
    return any(one.name == TOOL for one in session.parts.tools.specs)
