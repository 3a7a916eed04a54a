"""The index of a transcript: built message by message, it equals an index built in one pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indwell.context.compaction.digesting.transcript_index import TranscriptIndex, Uses
from indwell.messages import Block, Message, Meta, Text, ToolResult, ToolUse

NAMES = ("cart_total", "shop/cart.py", "cart.py", "priceOf", "E4711")
WORDS = ("cart_total", "shop/cart.py", "priceOf", "E4711", "a word", "\n", "x" * 9_000)


def meta(source="tool") -> Meta:
    return Meta(tier=3, source=source, tokens=10, turn=1)


TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
IDS = st.sampled_from(("c1", "c2", "c3"))
PATHS = st.sampled_from(("a.py", "b.py"))
REPLIES = st.lists(
    TEXTS.map(lambda text: Text(text, meta("assistant")))
    | st.builds(
        lambda one, path: ToolUse(one, "read_file", f'{{"path": "{path}"}}', meta("assistant")),
        IDS,
        PATHS,
    ),
    min_size=1,
    max_size=3,
)
PROMPTS = st.lists(
    TEXTS.map(lambda text: Text(text, meta("user")))
    | st.builds(lambda one, text: ToolResult(one, text, meta()), IDS, TEXTS),
    min_size=1,
    max_size=3,
)
BLOCKS = st.lists(st.tuples(PROMPTS, REPLIES), min_size=1, max_size=6)
# An operation adds messages, adds blocks to the last message, or cuts the end off.
OPERATIONS = st.lists(
    st.tuples(st.just("append"), BLOCKS)
    | st.tuples(st.just("join"), PROMPTS)
    | st.tuples(st.just("cut"), st.integers(0, 12)),
    max_size=8,
)


def message(role, blocks: list[Block]) -> Message:
    return Message(role, tuple(blocks), 1)


def operated(whole: tuple[Message, ...], operation) -> tuple[Message, ...]:
    match operation:
        case "append", exchanges:
            more = [
                one
                for asked, replied in exchanges
                for one in (message("user", asked), message("assistant", replied))
            ]
            return (*whole, *more)
        case "join", blocks if whole:
            last = whole[-1]
            return (*whole[:-1], Message(last.role, (*last.blocks, *blocks), last.turn))
        case "cut", n:
            return whole[: max(0, len(whole) - n)]
        case _:
            return whole


def uses_by_name(uses: Uses):
    numbers = [uses.lines.numbers.number(name) for name in NAMES]
    uses.widen()
    columns = (uses.written, uses.seen, uses.spread)
    by_name = {name: [one[at] for one in columns] for name, at in zip(NAMES, numbers, strict=True)}
    return by_name, uses.n_calls, uses.reads, uses.read_last


def contents(index: TranscriptIndex, whole: tuple[Message, ...]):
    """Return all that the index tells about a transcript."""
    blocks = {id(one): one for part in whole for one in part.blocks}.values()
    n = len(whole)
    return (
        index.whole,
        uses_by_name(index.uses),
        index.parts.stops,
        index.parts.names,
        [index.has_text(text, at) for text in WORDS for at in (1, n // 2, n)],
        [index.original(one, start, n) for one in blocks for start in (0, n // 2)],
    )


@given(OPERATIONS)
def test_an_index_that_grew_equals_an_index_built_in_one_pass(operations):
    grown, whole = TranscriptIndex(), ()
    for operation in operations:
        whole = operated(whole, operation)
        grown.grow(whole)
        fresh = TranscriptIndex()
        fresh.grow(whole)
        assert contents(grown, whole) == contents(fresh, whole)


def test_a_replaced_message_in_the_middle_is_noticed():
    first = message("user", [Text("Look at cart_total", meta("user"))])
    replies = [message("assistant", [Text(f"I saw tax_{one}", meta("assistant"))]) for one in "ab"]
    last = message("user", [Text("Go on", meta("user"))])
    index = TranscriptIndex()
    index.grow((first, replies[0], last))
    index.grow((first, replies[1], last))
    number = index.uses.lines.numbers.number
    assert index.uses.written[number("tax_b")] == 1
    assert len(index.uses.written) == 2  # cart_total and tax_b, but not tax_a


def test_files_that_are_on_disk_are_named_but_not_written_again():
    whole = tuple(
        message("assistant" if at % 2 else "user", [Text(f"{at} " * 9_000, meta("user"))])
        for at in range(9)
    )
    index = TranscriptIndex()
    index.grow(whole)
    names, files = index.parts.spills(whole, 0, 6)
    assert [one.name for one in files] == names
    index.parts.keep(files)
    assert index.parts.spills(whole, 0, 6) == (names, [])
    later, new = index.parts.spills(whole, 0, 8)
    assert later[: len(names)] == names
    assert [one.name for one in new] == later[len(names) :]
