"""Converts the editor's context of a prompt to blocks for the model, without secrets."""

from __future__ import annotations

from indwell.agent.core.feature import Feature, Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.features.attachments.state_mentions import StateMentions, state_mentions
from indwell.context.attachments import (
    Selection,
    is_cut,
    listing_words,
    mention_words,
    opened_words,
    problem_lines,
    reported_words,
    selection_words,
)
from indwell.context.injections import Kind, inject
from indwell.errors import ToolError
from indwell.messages import Text
from indwell.workspace.text import split_lines


def attachments_feature(mentions: StateMentions | None = None) -> Feature[Session]:
    """Return the feature that sends the open file, selection, mentions and problems of a prompt.

    ``mentions`` reads git's changes and the editor's problems for ``@changes`` and ``@problems``.
    """
    state = mentions or StateMentions()

    async def prompt_blocks(moment: Moment[Session], prompt: Prompt) -> tuple[Text, ...]:
        return (*await _blocks(moment, prompt), *await state.blocks(moment, prompt))

    return Feature(
        name="attachments", door=state, labels=state_mentions, prompt_blocks=prompt_blocks
    )


async def _blocks(moment: Moment[Session], prompt: Prompt) -> tuple[Text, ...]:
    blocks: list[Text] = []

    async def add(kind: Kind, text: str) -> None:
        blocks.append(inject(kind, await moment.session.hidden(text), turn=moment.turn))

    if prompt.opened is not None:
        await add("ide_opened_file", opened_words(prompt.opened))
    if prompt.selection is not None:
        await add("ide_selection", selection_words(prompt.selection))
        await _count_as_read(moment.session, prompt.selection)
    for marked in prompt.mentioned:
        await add("mention", mention_words(marked))
        await _count_as_read(moment.session, marked)
    for folder in prompt.folders:
        await add("mention", listing_words(folder))
    if prompt.problems:
        await add("diagnostics", problem_lines(prompt.problems))
    if prompt.reported:
        await add("diagnostics", reported_words(prompt.reported))
    return tuple(blocks)


async def _count_as_read(session: Session, marked: Selection) -> None:
    """Let ``edit_file`` change the selected lines without an earlier call of ``read_file``.

    The method only applies to lines that the prompt quotes in full and unchanged.
    """
    if is_cut(marked) or await session.hidden(marked.text) != marked.text:
        return
    try:
        path = session.parts.workspace.resolve(marked.path)
        snapshot = await session.parts.workspace.read(path)
    except ToolError:
        return  # The file is binary or too large, so the model must read it with a tool.
    page = whole_lines(marked, snapshot.text)
    if page:
        session.seen.record_page(path, snapshot.stamp.digest, snapshot.text, page)


def whole_lines(marked: Selection, text: str) -> range:
    """Return the lines that a selection contains in full, or empty if the file has changed."""
    given = split_lines(marked.text)
    lines = split_lines(text)[marked.first_line - 1 : marked.last_line]
    if not given or len(lines) != len(given):
        return range(0)
    is_whole = [
        one.rstrip("\r\n") == other.rstrip("\r\n") for one, other in zip(given, lines, strict=True)
    ]
    if not all(is_whole[1:-1]):
        return range(0)
    first = marked.first_line + (not is_whole[0])
    last = marked.last_line - (len(given) > 1 and not is_whole[-1])
    return range(first, last + 1)
