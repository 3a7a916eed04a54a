"""Plans a summary: the messages that it replaces, and the blocks to keep. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple, TypeGuard

from indwell.context.compaction.cuts import (
    ResultCut,
    ResultPlace,
    called,
    cut_step,
    head_and_tail,
    results_of,
    spill_name,
    spill_path,
    stamp,
)
from indwell.context.compaction.digesting.digest import KeptLines, short_use
from indwell.context.compaction.presets import Collapse, Regions, Summarise
from indwell.context.compaction.step import (
    Action,
    CompactionStep,
    SpilledFile,
    SpilledText,
    SummarySpan,
    View,
)
from indwell.context.compaction.transcripts import FILE_LENGTH, Files, is_note, named_files
from indwell.context.history import (
    MessageSplice,
    freed,
    group_start,
    group_stop,
    is_boundary,
    last_exchange,
    place_of,
    snapped,
    tail_start,
    tokens_of,
)
from indwell.context.injections import inject
from indwell.context.pairing import tool_uses
from indwell.context.tokens import BLOCK_OVERHEAD
from indwell.messages import Block, Message, Source, Text, ToolResult

SUMMARY_SHARE = 5  # a summary should have a fifth of the replaced tokens
WORDS_SHARE = 8  # the user's text may take an eighth of the window, word for word
HEAD_TOKENS = 60  # the tokens of the tag with its attributes
_LEAST_TARGET = 100  # the tokens of the shortest useful summary
_MOST_RUNS = 12  # the limit of turn numbers and ranges in one line
_LEAST_GAIN_SHARE = 50  # a summary that frees less than 1/50 of the budget is not written


class KeptBlocks(NamedTuple):
    """The blocks to keep, and texts that are written to files for lack of space."""

    blocks: tuple[Block, ...]
    spills: tuple[SpilledFile, ...] = ()


def summary_span(
    layer: str,
    view: View,
    start: int,
    stop: int,
    *,
    keep_replies: bool = False,
    most_characters: int = 0,
    most_of_message: int = 0,
) -> SummarySpan | None:
    """Plan one summary of the live messages from ``start`` to ``stop``, both at boundaries.

    Args:
        layer: The layer that asks for the summary.
        view: The inputs of the decision.
        start: The first message.
        stop: The index after the last message.
        keep_replies: Whether to keep the assistant's text, except at the conversation's beginning.
        most_characters: The limit that ``SummarySpan`` explains.
        most_of_message: The limit that ``SummarySpan`` explains.

    Returns:
        The plan, or None if the conversation would not become clearly shorter.
    """
    stop = min(stop, view.changeable)
    start, stop = _with_originals(view, start), group_stop(view.conversation.history, stop)
    source = view.originals(start, stop) if start < stop else ()
    if not source:
        return None
    later = [one for message in view.messages[stop:] for one in message.blocks]
    kept = kept_blocks(source, view, keep_replies=keep_replies and start > 0, later=later)
    kept = KeptBlocks((*_notes(view.messages, start, stop), *kept.blocks), kept.spills)
    foldable = tokens_of(view.messages[start:stop]) - block_tokens(kept.blocks)
    target = max(_LEAST_TARGET, foldable // SUMMARY_SHARE)
    gain = foldable - target - HEAD_TOKENS
    is_needed = view.facts.force or view.tokens > view.budget
    if gain <= 0 or (gain < view.budget // _LEAST_GAIN_SHARE and not is_needed):
        return None
    return SummarySpan(
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


def kept_blocks(
    source: Sequence[Message], view: View, *, keep_replies: bool, later: Sequence[Block]
) -> KeptBlocks:
    """Return the user's text within its budget, pinned blocks, and replies if requested.

    User's text for which there is no space is written to files. A line among the blocks names the
    files, so no text is lost. The files contain all such text of the source, even if an earlier
    summary has already put it into a file. Of the pinned blocks from one source, only the newest is
    kept.

    Args:
        source: The original messages.
        view: The inputs of the decision.
        keep_replies: Whether the assistant's text is kept.
        later: Blocks after the source; a pinned block among them replaces an older pinned block.
    """
    pinned: dict[Source, Block] = {}
    said: list[Text] = []
    for message in source:
        for block in message.blocks:
            if view.facts.keeps(block) and block.meta.source != "task_card":
                pinned[block.meta.source] = block
            elif is_users_words(block) or (
                keep_replies and message.role == "assistant" and isinstance(block, Text)
            ):
                said.append(block)
    for block in later:
        pinned.pop(block.meta.source, None)
    words = [one for one in said if is_users_words(one)]
    # An endpoint may accept less than its window, so the user's text must not fill the budget.
    budget = min(view.conversation.config.window // WORDS_SHARE, view.budget // 2)
    task: tuple[int, ...] = ()
    # Otherwise the turn is over, and the next prompt may be a different task.
    if view.messages[-1].role == "user":
        task = _task(words, [one for one in later if is_users_words(one)])
    gone = _without_room(words, budget, task)
    if not gone:
        return KeptBlocks((*pinned.values(), *said))
    hidden = [words[at] for at in gone]
    files = _word_files(words, gone, view.facts.spill_folder)
    turns = dict.fromkeys(one.meta.turn for one in hidden)
    pointer = inject(
        "reminder",
        f"Earlier words of the user ({len(hidden)}, of {_turns(list(turns))}) are in "
        f"{files.named}; read_file reads them.",
        turn=hidden[-1].meta.turn,
    )
    left_out = set(map(id, hidden))
    shown = (one for one in said if id(one) not in left_out)
    return KeptBlocks((*pinned.values(), pointer, *shown), files.spills)


def _word_files(words: Sequence[Text], gone: Sequence[int], folder: str) -> Files:
    """Return files with the user's texts ``gone``, and with some texts around them.

    The texts are split from the beginning, always at the same messages, and a file's name depends
    on its text. Later summaries therefore use the same files, and only the newest file is written.
    """
    spills: list[SpilledText] = []
    wanted = set(gone)
    texts, length, is_named = list[str](), 0, False
    number, last = 1, max(gone)
    for at, one in enumerate(words):
        texts.append(f"[turn {one.meta.turn}]\n{one.text}")
        length += len(texts[-1])
        is_named = is_named or at in wanted
        is_full = length >= FILE_LENGTH
        if is_named and (is_full or at == last):
            text = "\n\n".join(texts)
            spills.append(SpilledText(f"words-{number:04d}-{stamp(text)}.txt", text))
        if at >= last:
            break
        if is_full:
            texts, length, is_named, number = [], 0, False, number + 1
    return Files(named_files(folder, [one.name for one in spills]), tuple(spills))


def _notes(messages: Sequence[Message], start: int, stop: int) -> tuple[Block, ...]:
    """Return the notes on omitted content that name files in addition to the span's files."""
    blocks = (block for message in messages[start:stop] for block in message.blocks)
    return tuple(filter(is_note, blocks))[-1:] if start else ()


def is_users_words(block: Block) -> TypeGuard[Text]:
    """Return whether the block is the user's text, which no compaction changes."""
    return isinstance(block, Text) and block.meta.source == "user"


def block_tokens(blocks: Sequence[Block]) -> int:
    """Return the tokens of blocks, counted as in a message."""
    return sum(block.meta.tokens + BLOCK_OVERHEAD for block in blocks)


def _with_originals(view: View, start: int) -> int:
    """Return ``start``, or the first message that has the same originals as this message.

    Without this, an older summary's content would be lost, because summaries are never summarised.
    The user's text next to the older summary is also taken from the originals.
    """
    messages, history = view.messages, view.conversation.history
    start = group_start(history, start)
    while 0 < start < len(history.places) and not (
        place_of(messages, history, start) < place_of(messages, history, start + 1)
        and is_boundary(messages, start)
    ):
        start = group_start(history, start - 1)
    return start


def _task(words: Sequence[Text], later: Sequence[Text]) -> tuple[int, ...]:
    """Return the indices of the current task: the newest prompt, and the user's last text."""
    if not words:
        return ()
    turn = (*words, *later)[-1].meta.turn
    prompt = next((at for at, one in enumerate(words) if one.meta.turn == turn), None)
    last = () if later else (len(words) - 1,)
    return last if prompt is None else (prompt, *last)


def _without_room(words: Sequence[Text], budget: int, task: Sequence[int]) -> list[int]:
    """Return which texts do not fit; the task comes first, then newer texts before older ones.

    If a long pasted text does not fit, earlier short texts get the space.
    """
    order = dict.fromkeys((*task, *range(len(words) - 1, -1, -1)))
    left, gone = budget, list[int]()
    for at in order:
        tokens = words[at].meta.tokens + BLOCK_OVERHEAD
        if tokens <= left or at in task:
            left -= tokens
        else:
            gone.append(at)
    return sorted(gone)


def _turns(turns: Sequence[int]) -> str:
    """Name turns briefly, such as ``turns 2, 5 to 7``."""
    runs: list[list[int]] = []
    for turn in turns:
        if runs and turn == runs[-1][-1] + 1:
            runs[-1][1:] = [turn]
        else:
            runs.append([turn])
    shown = [" to ".join(map(str, run)) for run in runs[:_MOST_RUNS]]
    more = ["and others"] if len(runs) > _MOST_RUNS else []
    return f"turn{'s' if len(turns) > 1 else ''} " + ", ".join((*shown, *more))


def _range(source: Sequence[Message]) -> str:
    first, last = source[0].turn, source[-1].turn
    return f"turns {first} to {last}" if first < last else f"part of turn {last}"


# The numbers of characters that a result may keep, in decreasing order.
_ROOMS = (16_000, 8_000, 4_000, 2_000, 1_000, 400)
_SUMMARY_SHARE = 4  # a summary must free at least 1/4 of the tokens that have to be removed
_FORCED_SHARE = 10  # a forced step frees at least 1/10, even if the prompt seems to fit


def collapse(layer: Collapse, view: View) -> Action | None:
    """Plan a summary of all but the newest messages; if that saves too little, cut results."""
    messages = view.messages
    if not messages:
        return None
    keep = layer.keep if len(messages) > layer.over else layer.least
    stop = min(snapped(messages, len(messages) - keep), last_exchange(messages))
    span = summary_span("collapse", view, 0, stop)
    if span is None:
        return cut_results(view)
    if tokens_of(messages[:stop]) < view.to_free // _SUMMARY_SHARE:
        return cut_results(view) or span
    return span


def cut_results(view: View, layer: str = "collapse") -> CompactionStep | None:
    """Cut the longest results until the goal is reached; return None if no result can be cut."""
    places = results_of(view.messages, 0, len(view.messages))
    wanted = max(view.to_free, view.tokens // _FORCED_SHARE if view.facts.force else 0)
    best: CompactionStep | None = None
    for room in _ROOMS:
        step = cut_step(
            layer,
            view,
            (
                ResultCut(place, partial(_shortened, place, room))
                for place in places
                if len(place.result.text) > room * 5 // 4
            ),
        )
        best = step or best
        if step and freed(view.messages, step.splices) >= wanted:
            return step
    return _cut_call(view, layer) or best


def _cut_call(view: View, layer: str) -> CompactionStep | None:
    """Shorten the largest call if its arguments alone take over half of the budget.

    The digest does not change the newest exchange, so a call could otherwise fill the window.
    """
    calls = (
        (one.meta.tokens, at, one)
        for at, message in enumerate(view.messages)
        for one in tool_uses(message)
        if one.meta.tokens > view.budget // 2
    )
    tokens, at, use = max(calls, key=itemgetter(0), default=(0, 0, None))
    if use is None:
        return None
    spill = SpilledText(spill_name(use.id, use.arguments), use.arguments)
    path = spill_path(view.facts.spill_folder, spill.name)
    shorter = short_use(use, KeptLines(), path)
    if shorter.meta.tokens >= tokens:
        return None
    message = view.messages[at]
    blocks = tuple(shorter if one is use else one for one in message.blocks)
    splice = MessageSplice(at, at + 1, (Message(message.role, blocks, message.turn),))
    return CompactionStep(layer, (splice,), (spill,))


def _shortened(place: ResultPlace, room: int, path: str) -> str:
    more = f" of {called(place.use)}; all of it is in {path}"
    return head_and_tail(place.result.text, room, more)


_SMALL, _LARGE = 1_000, 10_000  # the characters to keep of results with low and with high priority
_FEWEST = 4  # a summary that frees less than 1/4 of the missing tokens is not worth a model call
_TRIED = 3  # the number of message ranges that are tried, the largest first


class _BlockRun(NamedTuple):
    start: int
    stop: int
    weight: float


def regions(layer: Regions, view: View) -> Action | None:
    """Summarise the largest range of messages, or all before the tail if all ranges are small.

    A range lies between the user's texts and older summaries. The assistant's text is kept.
    """
    if not view.to_free and not view.facts.force:
        return None
    messages = view.messages
    stop = tail_start(
        messages,
        turns=layer.tail_turns,
        tokens=layer.tail_tokens,
        window=view.budget,
    )
    runs = sorted(_runs(messages, stop), key=lambda run: (-run.weight, run.start))
    wanted = view.to_free // _FEWEST
    for run in runs[:_TRIED]:
        span = summary_span("regions", view, run.start, run.stop, keep_replies=True)
        if span and (SUMMARY_SHARE - 1) * span.target >= wanted:
            return span
    start = next((at for at in range(stop) if messages[at].role == "assistant"), stop)
    return summary_span("regions", view, start, stop, keep_replies=True)


def _runs(messages: tuple[Message, ...], stop: int) -> list[_BlockRun]:
    """Return ranges of messages that begin with a reply and end before the user's text."""
    ends = [at for at in range(stop) if any(map(_divides, messages[at].blocks))]
    edges = [*(at + 1 for at in ends), stop]
    runs = ((start, snapped(messages, end)) for start, end in pairwise(edges))
    weighed = (
        _BlockRun(start, end, sum(map(_weight, messages[start:end])))
        for start, end in runs
        if start < end and messages[start].role == "assistant"
    )
    return [run for run in weighed if run.weight]


def _divides(block: Block) -> bool:
    return is_users_words(block) or block.meta.source == "compactor"


def _weight(message: Message) -> float:
    return sum(map(_block_weight, message.blocks))


def _block_weight(block: Block) -> float:
    tokens = block.meta.tokens + BLOCK_OVERHEAD
    match block:
        case ToolResult(text=text) if len(text) > _LARGE:
            return tokens * 2.0
        case ToolResult(text=text) if len(text) < _SMALL:
            return tokens * 0.5
        case Text(meta=meta) if meta.source == "assistant":
            return 0.0
        case _:
            return float(tokens)


def summarise(layer: Summarise, view: View) -> Action | None:
    """Plan a summary of the messages before the newest ``keep``, up to the end of an exchange."""
    n = len(view.messages)
    if n <= layer.over:
        return None
    return summary_span(
        "summarise",
        view,
        0,
        snapped(view.messages, n - layer.keep),
        most_characters=layer.most_characters,
        most_of_message=layer.most_of_message,
    )
