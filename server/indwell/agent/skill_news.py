"""What the model and the user hear of skills: which there are, what changed, what was called."""

from __future__ import annotations

import re
from collections.abc import Iterator

from indwell.agent import events
from indwell.agent.events import Listener
from indwell.agent.secrecy import hidden
from indwell.agent.session import Session
from indwell.agent.skills.load_tool import NAME
from indwell.context import conversation as talk
from indwell.context.conversation import Conversation
from indwell.context.injections import Kind, inject
from indwell.errors import ToolError, UserError
from indwell.messages import Text, ToolResult, ToolUse
from indwell.skills.catalogue import difference, lines_in, listed

CHARACTERS = 3  # of a token of instructions, at least; a skill takes a quarter of the window

_OPENS = re.compile(r'<skill name="([\w.-]+)" from="(?:user|indwell)">')
_OF_FOLDER = "Skills of this folder; load one with load_skill if it fits the task:"
_OWN = "Skills; load one with load_skill if it fits the task:"
_NONE_LEFT = "This folder has no skills any more."
_CHANGED = "The user's skills are not as listed at the beginning any more."
_AS_BEFORE = "The user's skills are as listed at the beginning again."


async def tell_skills(session: Session, turn: int, emit: Listener) -> None:
    """Look at the skills as a turn begins, and tell the user what is wrong with them, once."""
    shelf = session.parts.skills
    await shelf.look(again=True)
    if not shelf.readable:  # as long as nothing was loaded: perhaps the session was resumed
        shelf.open_again(_loaded(session.conversation))
    for level, words in shelf.take_notices():
        emit(events.Notice(turn, level, words))


async def remind_of_skills(session: Session, turn: int) -> None:
    """Let the next request end with what is new of skills, if something is."""
    await session.parts.skills.look()
    session.conversation = talk.queue(session.conversation, skill_blocks(session, turn))


def skill_blocks(session: Session, turn: int) -> tuple[Text, ...]:
    """What the request is to say of skills; what it says already is among it.

    The lists of the moment, and not what was done to them: so a conversation that was compacted,
    resumed or taken back is told again what it does not show any more.
    """
    if all(one.name != NAME for one in session.parts.tools.specs):
        return ()  # a sub-agent that has no use for them
    known = session.parts.skills.known
    newest, _ = talk.sent_texts(session.conversation)
    blocks: list[Text] = []
    lines = listed(known.workspace)
    if lines:
        blocks.append(_block("skill_list", "\n".join((_OF_FOLDER, *lines.values())), turn))
    elif "skill_list" in newest:
        blocks.append(_block("skill_list", _NONE_LEFT, turn))
    prompt = "\n\n".join(block.text for block in session.conversation.system)
    before, now = lines_in(prompt), listed(known.own)
    if not before and now:  # a sub-agent, or a session that is older than its skills
        blocks.append(_block("own_skill_list", "\n".join((_OWN, *now.values())), turn))
    elif changes := difference(before, now):
        blocks.append(_block("own_skill_list", f"{_CHANGED}\n{changes}", turn))
    elif "own_skill_list" in newest:
        blocks.append(_block("own_skill_list", _AS_BEFORE, turn))
    return tuple(blocks)


async def called_skill(session: Session, words: str, turn: int) -> tuple[Text, ...]:
    """The skill that the user called by its name, as a block to go with the words.

    Raises:
        UserError: It cannot be read.
    """
    shelf = session.parts.skills
    wanted = shelf.called(words)
    if wanted is None:
        return ()
    try:
        room = session.conversation.config.window // 4 * CHARACTERS
        skill, text = await shelf.load(wanted.name, room, by_user=True)
    except ToolError as error:
        raise UserError(f"the skill {wanted.name!r} cannot be loaded: {error}") from error
    kind: Kind = "skill" if skill.origin == "workspace" else "own_skill"
    attributes = {"name": skill.name, "from": skill.origin}
    return (inject(kind, await hidden(session, text), turn=turn, attributes=attributes),)


def _loaded(conversation: Conversation) -> Iterator[str]:
    """The names of the skills that stand in a conversation."""
    by_model: set[str] = set()
    for message in conversation.messages:
        for block in message.blocks:
            match block:
                case ToolUse(name=tool) if tool == NAME:
                    by_model.add(block.id)
                    text = ""
                case ToolResult(text=text) if block.tool_use_id in by_model:
                    pass
                case Text(text=text) if block.meta.source == "skill":
                    pass
                case _:
                    text = ""
            if found := _OPENS.match(text):
                yield found[1]


def _block(kind: Kind, text: str, turn: int) -> Text:
    return inject(kind, text, turn=turn)
