"""Offers skills to the model: the tool that loads a skill, the catalogues, calls by name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import msgspec

from indwell.agent.core.events import Notice
from indwell.agent.core.feature import Feature, Moment, Reminder
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.bounds.rules import ReadableFolders
from indwell.context import conversation as talk
from indwell.context.conversation import Conversation
from indwell.context.injections import Frame, Kind, framed, inject
from indwell.context.untrusted_text import short_line
from indwell.errors import ToolError, UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Message, Text, ToolResult, ToolUse
from indwell.skills.skill import (
    BODY_CHARACTERS,
    FILE_NAME,
    Ranked,
    Skill,
    bounded_body,
    difference,
    lines_in,
    listed,
    ranked,
)
from indwell.tools.base import Outcome, Tool, ToolContext, ToolFacts

NO_TOOLS = "(`allowed-tools` of a skill allows nothing here: permissions are the user's.)"

_CALLED = lazy_pattern(r"\s*/([A-Za-z0-9][\w.-]{0,63})(?!\S)")
_MOST_NAMED = 40  # the limit of skills that an error message lists
_NAME_CHARACTERS = 64


class FoundSkills(msgspec.Struct, frozen=True):
    """The result of a scan of the skill folders.

    Attributes:
        skills: The skills; if names are equal, the first takes precedence.
        problems: Sentences about unusable skills.
        withheld: Names of folders with untrusted skills; no file in these folders was read.
    """

    skills: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()

    @property
    def ranked(self) -> Ranked:
        """The skills in use, at most one skill for each name."""
        return ranked(self.skills)._replace(withheld=self.withheld)


class SkillNotice(NamedTuple):
    """A notice for the user about skills; the turn continues."""

    level: Literal["info", "warning"]
    words: str


class Content(msgspec.Struct, frozen=True):
    """The content of a loaded skill.

    Attributes:
        body: The skill's whole text.
        folder: The skill's folder, as the model names the folder.
        file: The name of the file with the text, in the folder.
        files: Paths of further files, relative to the folder.
        asks_for_tools: Whether the skill asks to allow tools.
    """

    body: str
    folder: str
    files: tuple[str, ...] = ()
    asks_for_tools: bool = False
    file: str = FILE_NAME


class SkillPlaces(Protocol):
    """Finds and reads skills; the methods ``look`` and ``content`` block."""

    def look(self) -> FoundSkills:
        """Scan the folders; this method never raises."""
        ...

    def content(self, skill: Skill) -> Content:
        """Read a skill.

        Raises:
            ToolError: The skill can no longer be read, or is not trusted.
        """
        ...

    def may_have_changed(self) -> bool:
        """Return at once whether a file in the skill folders has changed since the last scan."""
        ...

    def close(self) -> None:
        """Stop watching the folders."""
        ...


class SkillCatalogue:
    """The skills of one session.

    Attributes:
        known: The skills in use since the last scan.
    """

    def __init__(self, places: SkillPlaces) -> None:
        self.known = Ranked()
        self._places = places
        self._notices: tuple[SkillNotice, ...] = ()
        self._told: set[SkillNotice] = set()

    def look_now(self) -> None:
        """Scan the folders; blocks for some milliseconds."""
        found = self._places.look()
        self.known = found.ranked
        problems = (SkillNotice("warning", one) for one in found.problems)
        names = (SkillNotice("info", one) for one in self.known.notices)
        self._notices = (*problems, *names)

    async def look(self, *, again: bool = False) -> None:
        """Scan the folders if a file may have changed; with ``again``, scan always."""
        if again or self._places.may_have_changed():
            await asyncio.to_thread(self.look_now)

    def take_notices(self) -> tuple[SkillNotice, ...]:
        """Return the notices that the user has not read yet."""
        new = tuple(one for one in self._notices if one not in self._told)
        self._told.update(new)
        return new

    def called(self, words: str) -> Skill | None:
        """Return the skill that the user calls by ``/name`` at the text's beginning, or None."""
        match = _CALLED.match(words)
        return self.known.by_name.get(match[1].lower()) if match else None

    def not_trusted(self, words: str) -> str:
        """Return why a text that calls an untrusted folder's skill may not be sent, or no text."""
        match = _CALLED.match(words)
        if match is None or match[1].lower() not in self.known.withheld or self.called(words):
            return ""
        return (
            f"the skill '/{match[1]}' is this folder's, which you have not trusted with its "
            f"present files, "
            "so nothing was sent; trust the folder (`indwell trust`, in an editor the command "
            "`indwell.trust`) and send the prompt again"
        )

    def labels(self, words: str) -> tuple[str, ...]:
        """Return the label of the skill that the user's text calls, if the text calls a skill."""
        skill = self.called(words)
        return () if skill is None else (f"skill {skill.name}",)

    async def load(
        self,
        name: str,
        readable: ReadableFolders,
        room: int = BODY_CHARACTERS,
        *,
        by_user: bool = False,
    ) -> tuple[Skill, str]:
        """Load a skill; return the text for the model, of about ``room`` characters at most.

        The skill's folder is added to ``readable``.

        Raises:
            ToolError: The skill does not exist, cannot be read, or may not be loaded by the caller:
                the user (``by_user``) or the model.
        """
        known = self.known.by_name
        may_load = {key: one for key, one in known.items() if by_user or one.is_offered}
        skill = may_load.get(name.strip().removeprefix("/").lower())
        if skill is None:
            names = list(may_load)
            shown = ", ".join(names[:_MOST_NAMED]) or "(none)"
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            wanted = short_line(name, _NAME_CHARACTERS)
            near = [one.name for one in may_load.values() if wanted in one.tags]
            hint = f"; for {wanted!r} there is {', '.join(near[:_MOST_NAMED])}" if near else ""
            raise ToolError(f"there is no skill {wanted!r}{hint}; the skills are: {shown}{more}")
        content = await asyncio.to_thread(self._places.content, skill)
        _open(skill, readable)
        return skill, skill_text(content, room)

    def open_again(self, names: Iterable[str], readable: ReadableFolders) -> None:
        """Make the folders of skills that were loaded before a restart readable again."""
        for name in names:
            if skill := self.known.by_name.get(name):
                _open(skill, readable)

    def close(self) -> None:
        """Stop watching the folders."""
        self._places.close()


def _open(skill: Skill, readable: ReadableFolders) -> None:
    if skill.origin != "workspace":
        readable.open(Path(skill.folder))


def skill_text(content: Content, room: int = BODY_CHARACTERS) -> str:
    """Return a skill as text for the model, with the paths of the skill's files."""
    whole = f"{content.folder}/{content.file}"
    parts = [bounded_body(content.body.strip("\n"), whole, room)]
    if content.files:
        names = "\n".join(f"- {one}" for one in content.files)
        parts.append(f"Files of this skill, in {content.folder} (you may read them):\n{names}")
    if content.asks_for_tools:
        parts.append(NO_TOOLS)
    return "\n\n".join(parts)


NAME = "load_skill"
CHARACTERS = 3  # A token has at least 3 characters; a skill may take a quarter of the window.

_OPENS = lazy_pattern(r'<skill name="([\w.-]+)" from="(?:user|indwell)">')
_OF_FOLDER = "Skills of this folder; load one with load_skill if it fits the task:"
_OWN = "Skills; load one with load_skill if it fits the task:"
_NONE_LEFT = "This folder has no skills any more."
_CHANGED = "The user's skills are not as listed at the beginning any more."
_AS_BEFORE = "The user's skills are as listed at the beginning again."


def skills_feature(skill_catalogue: SkillCatalogue) -> Feature[Session]:
    """Return the feature for the skills of one session."""

    async def begin(moment: Moment[Session]) -> None:
        """Scan the folders, and tell the user about each problem once."""
        await skill_catalogue.look(again=True)
        readable = moment.session.parts.readable
        # This process has loaded no skill, but an earlier process may have loaded some.
        if not readable.opened:
            skill_catalogue.open_again(_loaded(moment.session.conversation), readable)
        for level, words in skill_catalogue.take_notices():
            moment.emit(Notice(moment.turn, level, words))

    async def prompt_blocks(moment: Moment[Session], prompt: Prompt) -> tuple[Text, ...]:
        return await _called(skill_catalogue, moment.session, prompt.words, moment.turn)

    async def remind(moment: Moment[Session]) -> Reminder:
        await skill_catalogue.look()
        return Reminder(skill_blocks(skill_catalogue, moment.session, moment.turn))

    async def close() -> None:
        skill_catalogue.close()

    return Feature(
        name="skills",
        tools=(make_load_skill(skill_catalogue),),
        commands=lambda: skill_catalogue.known.by_name,
        labels=skill_catalogue.labels,
        refuse_words=skill_catalogue.not_trusted,
        begin=begin,
        prompt_blocks=prompt_blocks,
        remind=remind,
        result=not_again,
        close=close,
    )


class SkillArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of the tool that loads a skill."""

    name: str


def make_load_skill(skill_catalogue: SkillCatalogue) -> Tool[SkillArguments]:
    """Make the tool with which the model loads a skill."""

    async def run(arguments: SkillArguments, context: ToolContext) -> Outcome:
        skill, text = await skill_catalogue.load(
            arguments.name, context.readable, context.most_chars
        )
        frame = Frame("skill", {"name": skill.name, "from": skill.origin})
        n_lines = len(text.splitlines())
        figure = "1 line" if n_lines == 1 else f"{n_lines} lines"
        return Outcome(text, figure=figure, frame=frame)

    return Tool(
        name=NAME,
        description="Load a skill's instructions.",
        arguments=SkillArguments,
        effect="read",
        facts=lambda given: ToolFacts(tool=NAME, effect="read", subject=given.name),
        run=run,
    )


def not_again(
    outcome: Outcome, messages: Iterable[Message], results: Iterable[ToolResult]
) -> Outcome:
    """Replace a skill's text with a reference if the conversation already shows the text.

    A text that compaction has cut, or a skill that has changed, is sent again.

    Args:
        outcome: The result of any tool.
        messages: The conversation.
        results: The results of the same reply, which are not in the conversation yet.
    """
    frame = outcome.frame
    if frame is None or frame.kind != "skill":
        return outcome
    text, name = framed(frame, outcome.text), frame.attributes["name"]
    blocks = (*(block for one in messages for block in one.blocks), *results)
    if not any(isinstance(one, Text | ToolResult) and one.text == text for one in blocks):
        return outcome
    pointer = f"The skill {name!r} is loaded: its text is above, unchanged; follow it."
    return Outcome(pointer, figure=outcome.figure)


def skill_blocks(skill_catalogue: SkillCatalogue, session: Session, turn: int) -> tuple[Text, ...]:
    """Return the catalogues that the next request should show.

    The blocks are complete lists, not changes. A compacted, resumed or rewound conversation
    therefore gets each list that it no longer shows.
    """
    if not session.parts.tools.has(NAME):
        return ()  # the session is a sub-agent's, and lacks the tool
    known = skill_catalogue.known
    newest, _ = talk.sent_texts(session.conversation)
    blocks: list[Text] = []
    lines = listed(known.workspace)
    if lines:
        blocks.append(_block("skill_list", "\n".join((_OF_FOLDER, *lines.values())), turn))
    elif "skill_list" in newest:
        blocks.append(_block("skill_list", _NONE_LEFT, turn))
    prompt = "\n\n".join(block.text for block in session.conversation.system)
    before, now = lines_in(prompt), listed(known.own)
    if not before and now:  # The session is a sub-agent's, or began without skills.
        blocks.append(_block("own_skill_list", "\n".join((_OWN, *now.values())), turn))
    elif changes := difference(before, now):
        blocks.append(_block("own_skill_list", f"{_CHANGED}\n{changes}", turn))
    elif "own_skill_list" in newest:
        blocks.append(_block("own_skill_list", _AS_BEFORE, turn))
    return tuple(blocks)


async def _called(
    skill_catalogue: SkillCatalogue, session: Session, words: str, turn: int
) -> tuple[Text, ...]:
    """Return a block with the skill that the user's text calls.

    Raises:
        UserError: The skill cannot be read.
    """
    wanted = skill_catalogue.called(words)
    if wanted is None:
        return ()
    try:
        room = session.conversation.config.window // 4 * CHARACTERS
        skill, text = await skill_catalogue.load(
            wanted.name, session.parts.readable, room, by_user=True
        )
    except ToolError as error:
        raise UserError(f"the skill {wanted.name!r} cannot be loaded: {error}") from error
    kind: Kind = "skill" if skill.origin == "workspace" else "own_skill"
    attributes = {"name": skill.name, "from": skill.origin}
    return (inject(kind, await session.hidden(text), turn=turn, attributes=attributes),)


def _loaded(conversation: Conversation) -> Iterator[str]:
    """Return the names of the skills whose texts are in a conversation."""
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
