"""The facts that go with a prompt: few, and none that the conversation shows already. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from indwell.context.conversation import Conversation
from indwell.context.injections import inject
from indwell.context.memory.page import Fact
from indwell.context.memory.ranking import Query, ranked
from indwell.messages import Text

MOST = 5  # facts with one prompt
MOST_TOKENS = 300  # of the block that carries them

_HEAD = "Kept from earlier sessions because they may matter here; they may be out of date:"


def recalled(
    facts: Sequence[Fact],
    query: Query,
    conversation: Conversation,
    *,
    turn: int,
    hide: Callable[[str], str],
) -> Text | None:
    """The block for the next request; None if nothing fits, or all that fits stands there.

    Args:
        facts: All that are known.
        query: What the user asks for.
        conversation: What was said before.
        turn: The turn that begins.
        hide: Takes secrets out of a text: people write pages by hand, too.
    """
    standing = _standing(conversation)
    found = (_hidden(one, hide) for one in ranked(facts, query))
    fitting = [one for one in found if _line(one) not in standing][:MOST]
    block = None
    for n_facts in range(1, len(fitting) + 1):
        longer = _block(fitting[:n_facts], turn)
        if longer.meta.tokens > MOST_TOKENS:
            break
        block = longer
    return block


def _block(facts: Sequence[Fact], turn: int) -> Text:
    return inject("memory", "\n".join((_HEAD, *(f"- {one.text}" for one in facts))), turn=turn)


def _hidden(fact: Fact, hide: Callable[[str], str]) -> Fact:
    return msgspec.structs.replace(fact, text=hide(fact.text))


def _line(fact: Fact) -> str:
    """A fact as it reads in a block: neutralised."""
    return _block([fact], 0).text.split("\n")[2]


def _standing(conversation: Conversation) -> frozenset[str]:
    """The lines of facts that the conversation shows, or will with the next request."""
    return frozenset(line for text in _memories(conversation) for line in text.split("\n"))


def _memories(conversation: Conversation) -> Iterator[str]:
    for message in conversation.messages:
        if message.role == "user":
            for block in message.blocks:
                if isinstance(block, Text) and block.meta.source == "memory":
                    yield block.text
    yield from (one.text for one in conversation.pending if one.meta.source == "memory")
