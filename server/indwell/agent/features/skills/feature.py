"""Skills as a feature: the tool that loads one, the catalogues, and skills the user calls (H53)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from indwell.agent.core.events import Notice
from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.features.skills.shelf import Shelf
from indwell.agent.permission.redaction import hidden
from indwell.context import conversation as talk
from indwell.context.conversation import Conversation
from indwell.context.injections import Frame, Kind, framed, inject
from indwell.errors import ToolError, UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Message, Text, ToolResult, ToolUse
from indwell.skills.catalogue import difference, lines_in, listed
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

NAME = "load_skill"
CHARACTERS = 3  # characters per token, at least; a skill takes a quarter of the window

_OPENS = lazy_pattern(r'<skill name="([\w.-]+)" from="(?:user|indwell)">')
_OF_FOLDER = "Skills of this folder; load one with load_skill if it fits the task:"
_OWN = "Skills; load one with load_skill if it fits the task:"
_NONE_LEFT = "This folder has no skills any more."
_CHANGED = "The user's skills are not as listed at the beginning any more."
_AS_BEFORE = "The user's skills are as listed at the beginning again."


def skills_feature(shelf: Shelf) -> Feature[Session]:
    """Return the skills of one session as a feature."""

    async def begin(moment: Moment[Session]) -> None:
        """Look at the folders, and tell the user once what is wrong with them."""
        await shelf.look(again=True)
        if not shelf.readable:  # nothing was loaded in this process, perhaps before a restart
            shelf.open_again(_loaded(moment.session.conversation))
        for level, words in shelf.take_notices():
            moment.emit(Notice(moment.turn, level, words))

    async def prompt_blocks(moment: Moment[Session], prompt: Prompt) -> tuple[Text, ...]:
        return await _called(shelf, moment.session, prompt.words, moment.turn)

    async def remind(moment: Moment[Session]) -> Reminder:
        await shelf.look()
        return Reminder(skill_blocks(shelf, moment.session, moment.turn))

    async def close() -> None:
        shelf.close()

    return Feature(
        name="skills",
        tools=(make_load_skill(shelf),),
        commands=lambda: shelf.known.by_name,
        labels=shelf.labels,
        readable=lambda: shelf.readable,
        refuse_words=shelf.not_trusted,
        begin=begin,
        prompt_blocks=prompt_blocks,
        remind=remind,
        result=not_again,
        close=close,
    )


class SkillArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of the tool."""

    name: str


def make_load_skill(shelf: Shelf) -> Tool[SkillArguments]:
    """Make the tool by which the model loads a skill."""

    async def run(arguments: SkillArguments, context: ToolContext) -> Outcome:
        skill, text = await shelf.load(arguments.name, context.most_chars)
        frame = Frame("skill", {"name": skill.name, "from": skill.origin})
        return Outcome(text, figure=f"{len(text.splitlines())} lines", frame=frame)

    return Tool(
        name=NAME,
        description="Load a skill: instructions for one kind of task.",
        arguments=SkillArguments,
        effect="read",
        facts=lambda given: ToolFacts(tool=NAME, effect="read", subject=given.name),
        run=run,
    )


def not_again(
    outcome: Outcome, messages: Iterable[Message], results: Iterable[ToolResult]
) -> Outcome:
    """Replace a skill's text by a pointer if the conversation shows the same text already.

    A text that a compaction has cut, or a skill that was changed, is not the same text.

    Args:
        outcome: The result of any tool.
        messages: The conversation.
        results: Results of the same reply, which are in no message yet.
    """
    frame = outcome.frame
    if frame is None or frame.kind != "skill":
        return outcome
    text, name = framed(frame, outcome.text), frame.attributes["name"]
    blocks = (*(block for one in messages for block in one.blocks), *results)
    if not any(isinstance(one, Text | ToolResult) and one.text == text for one in blocks):
        return outcome
    pointer = f"The skill {name!r} is loaded: its text stands above, unchanged; follow it."
    return Outcome(pointer, figure=outcome.figure)


def skill_blocks(shelf: Shelf, session: Session, turn: int) -> tuple[Text, ...]:
    """Return the catalogues that the next request should show.

    The blocks are the current lists and not the changes to them, so a conversation that was
    compacted, resumed or rewound gets again what it no longer shows.
    """
    if not session.parts.tools.has(NAME):
        return ()  # a sub-agent without the tool
    known = shelf.known
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


async def _called(shelf: Shelf, session: Session, words: str, turn: int) -> tuple[Text, ...]:
    """Return the skill that the user called by its name, as a block to go with the words.

    Raises:
        UserError: It cannot be read.
    """
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
    """Return the names of the skills in a conversation."""
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
