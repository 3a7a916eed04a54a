"""Turns the editor's context of a prompt into blocks for the model, with secrets removed."""

from __future__ import annotations

from indwell.agent.core.feature import Feature, Moment
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.permission.redaction import hidden
from indwell.context.attachments import (
    listing_words,
    mention_words,
    opened_words,
    problem_lines,
    reported_words,
    selection_words,
)
from indwell.context.injections import Kind, inject
from indwell.messages import Text


def attachments_feature() -> Feature[Session]:
    """Return the feature that sends the open file, selection, mentions and problems of a prompt."""
    return Feature(name="attachments", prompt_blocks=_blocks)


async def _blocks(moment: Moment[Session], prompt: Prompt) -> tuple[Text, ...]:
    blocks: list[Text] = []

    async def add(kind: Kind, text: str) -> None:
        blocks.append(inject(kind, await hidden(moment.session, text), turn=moment.turn))

    if prompt.opened is not None:
        await add("ide_opened_file", opened_words(prompt.opened))
    if prompt.selection is not None:
        await add("ide_selection", selection_words(prompt.selection))
    for marked in prompt.mentioned:
        await add("mention", mention_words(marked))
    for folder in prompt.folders:
        await add("mention", listing_words(folder))
    if prompt.problems:
        await add("diagnostics", problem_lines(prompt.problems))
    if prompt.reported:
        await add("diagnostics", reported_words(prompt.reported))
    return tuple(blocks)
