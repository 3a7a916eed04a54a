"""What a summary is to be made of, and what stays word for word beside it (H23, H25, H26)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

from indwell.context.compaction.cuts import spill_name, spill_path
from indwell.context.compaction.exchanges import is_boundary, tokens_of
from indwell.context.compaction.step import Spill, SummaryPlan
from indwell.context.compaction.view import View
from indwell.context.history import place_of
from indwell.context.injections import inject
from indwell.context.tokens import BLOCK_OVERHEAD
from indwell.messages import Block, Message, Source, Text

SUMMARY_SHARE = 5  # a summary is asked for in a fifth of the tokens that it stands for (H25)
WORDS_SHARE = 8  # the user's words stay word for word in an eighth of the window
HEAD_TOKENS = 60  # the tag with its attributes
_LEAST_TARGET = 100  # tokens; no summary says anything in less
_LEAST_GAIN_SHARE = 50  # of the budget; a model is not asked for less than 2 % of it


class Kept(NamedTuple):
    """Blocks that stay, and what stood in their way and goes to a file."""

    blocks: tuple[Block, ...]
    spills: tuple[Spill, ...] = ()


def plan_summary(
    layer: str,
    view: View,
    start: int,
    stop: int,
    *,
    keep_replies: bool = False,
    most_characters: int = 0,
    most_of_message: int = 0,
) -> SummaryPlan | None:
    """Plan one summary of the live messages from ``start`` to ``stop``; both are boundaries.

    Args:
        layer: That wants it.
        view: Of the conversation.
        start: First message.
        stop: The one behind the last.
        keep_replies: The assistant's words stay, unless the conversation would begin with them.
        most_characters: See ``SummaryPlan``.
        most_of_message: See ``SummaryPlan``.

    Returns:
        None if the summary would not make the conversation clearly smaller.
    """
    start = _with_originals(view, start)
    source = view.originals(start, stop) if start < stop else ()
    if not source:
        return None
    kept = kept_blocks(source, view, keep_replies=keep_replies and start > 0)
    foldable = tokens_of(view.messages[start:stop]) - block_tokens(kept.blocks)
    target = max(_LEAST_TARGET, foldable // SUMMARY_SHARE)
    gain = foldable - target - HEAD_TOKENS
    if gain <= 0 or (gain < view.budget // _LEAST_GAIN_SHARE and not view.facts.force):
        return None
    return SummaryPlan(
        layer=layer,
        start=start,
        stop=stop,
        source=source,
        kept=kept.blocks,
        range=_range(source),
        target=target,
        most_characters=most_characters,
        most_of_message=most_of_message,
        spills=kept.spills,
    )


def kept_blocks(source: Sequence[Message], view: View, *, keep_replies: bool) -> Kept:
    """The user's words within their budget, the newest of each pinned source, and replies if asked.

    Older words of the user go to a file that a line among the blocks names: never lost.
    """
    pinned: dict[Source, Block] = {}
    said: list[Text] = []
    for message in source:
        for block in message.blocks:
            if block.meta.pinned and block.meta.source != "task_card":
                pinned[block.meta.source] = block
            elif is_users_words(block) or (
                keep_replies and message.role == "assistant" and isinstance(block, Text)
            ):
                said.append(block)
    words = [one for one in said if is_users_words(one)]
    older = words[: _n_older(words, view.conversation.config.window // WORDS_SHARE)]
    if not older:
        return Kept((*pinned.values(), *said))
    text = "\n\n".join(f"[turn {one.meta.turn}]\n{one.text}" for one in older)
    spill = Spill(spill_name("words", text), text)
    pointer = inject(
        "reminder",
        f"Earlier words of the user ({len(older)}, from turn {older[0].meta.turn} on) are in "
        f"{spill_path(view.facts.spill_folder, spill.name)}; read_file reads them.",
        turn=older[-1].meta.turn,
    )
    gone = set(map(id, older))
    newer = (one for one in said if id(one) not in gone)
    return Kept((*pinned.values(), pointer, *newer), (spill,))


def is_users_words(block: Block) -> TypeGuard[Text]:
    """Did the user say it? No compaction changes that."""
    return isinstance(block, Text) and block.meta.source == "user"


def block_tokens(blocks: Sequence[Block]) -> int:
    """Tokens of blocks, as they count in a message."""
    return sum(block.meta.tokens + BLOCK_OVERHEAD for block in blocks)


def _with_originals(view: View, start: int) -> int:
    """``start``, or the head of the rewritten messages that it belongs to: that has the originals.

    Else what an older summary says would be lost: it is no source (H26).
    """
    messages, history = view.messages, view.conversation.history
    while 0 < start < len(history.places) and not (
        place_of(messages, history, start) < place_of(messages, history, start + 1)
        and is_boundary(messages, start)
    ):
        start -= 1
    return start


def _n_older(words: Sequence[Text], budget: int) -> int:
    """How many of the oldest do not fit; the newest always stays: it is the current task."""
    left = budget
    for at in range(len(words) - 1, -1, -1):
        left -= words[at].meta.tokens + BLOCK_OVERHEAD
        if left < 0 and at < len(words) - 1:
            return at + 1
    return 0


def _range(source: Sequence[Message]) -> str:
    first, last = source[0].turn, source[-1].turn
    return f"turns {first} to {last}" if first < last else f"part of turn {last}"
