"""The index of a transcript: built message by message, it equals an index built in one pass."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indwell.context.compaction.digesting.transcript_index import TranscriptIndex, Uses
from indwell.context.injections import inject
from indwell.context.work_record import WorkPart, work_of
from indwell.messages import Block, Message, Meta, Text, ToolResult, ToolUse

NAMES = ("cart_total", "shop/cart.py", "cart.py", "priceOf", "E4711")
WORDS = ("cart_total", "shop/cart.py", "priceOf", "E4711", "a word", "\n", "x" * 9_000)


def meta(source="tool") -> Meta:
    return Meta(tier=3, source=source, tokens=10, turn=1)


CHECKS = ('{"command": "pytest a.py"}', '{"command": "cd x && make test"}')
RUNS = ("exit code: 1\na.py:1: error", "exit code: 0", "Error: no such file")
TOLD = (
    inject("reminder", "Go on", turn=1),
    Text('<changed-file path="a.py" rejected="2">', meta("changed_file")),
    Text('<ide_diagnostics check="`tsc`" state="failing">\na.ts:1: error', meta("diagnostics")),
    Text('<ide_diagnostics check="`tsc`" state="passing">\nfine', meta("diagnostics")),
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
IDS = st.sampled_from(("c1", "c2", "c3"))
PATHS = st.sampled_from(("a.py", "b.py"))
REPLIES = st.lists(
    TEXTS.map(lambda text: Text(text, meta("assistant")))
    | st.builds(
        lambda one, name, path: ToolUse(one, name, f'{{"path": "{path}"}}', meta("assistant")),
        IDS,
        st.sampled_from(("read_file", "write_file", "edit_file")),
        PATHS,
    )
    | st.builds(
        lambda one, words: ToolUse(one, "bash", words, meta("assistant")),
        IDS,
        st.sampled_from(CHECKS),
    ),
    min_size=1,
    max_size=3,
)
PROMPTS = st.lists(
    TEXTS.map(lambda text: Text(text, meta("user")))
    | st.sampled_from(TOLD)
    | st.builds(
        lambda one, text: ToolResult(one, text, meta()), IDS, TEXTS | st.sampled_from(RUNS)
    ),
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


def message(role, blocks: list[Block], turn: int = 1) -> Message:
    return Message(role, tuple(blocks), turn)


def operated(whole: tuple[Message, ...], operation) -> tuple[Message, ...]:
    match operation:
        case "append", exchanges:
            more = [
                one
                for asked, replied in exchanges
                for turn in (len(whole) // 4,)
                for one in (message("user", asked, turn), message("assistant", replied, turn))
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
        [index.work.part(start, n) for start in range(n)],
    )


def told(work: WorkPart):
    return work.asked(), work.changed(), work.failing(), work.reviewed([("b.py", 1)])


@given(OPERATIONS)
def test_an_index_that_grew_equals_an_index_built_in_one_pass(operations):
    grown, whole = TranscriptIndex(), ()
    for operation in operations:
        whole = operated(whole, operation)
        if len(whole) % 2:
            grown.grow_work(whole)
        grown.grow(whole)
        fresh = TranscriptIndex()
        fresh.grow(whole)
        assert contents(grown, whole) == contents(fresh, whole)


@given(OPERATIONS, st.integers(0, 12), st.integers(0, 12))
def test_the_recorded_work_of_any_part_equals_what_the_messages_of_the_part_tell(
    operations, start, n_messages
):
    index, whole = TranscriptIndex(), ()
    for operation in operations:
        whole = operated(whole, operation)
        index.grow(whole)
    part = whole[start : start + n_messages]
    recorded = index.work_in(whole, start, start + n_messages)
    assert recorded is not None
    assert told(recorded) == told(work_of(part))
    assert index.work_in((*whole, message("user", [TOLD[0]])), start, n_messages) is None


def test_a_part_that_begins_after_a_call_does_not_tell_of_the_call():
    edit = ToolUse("c1", "edit_file", '{"path": "a.py"}', meta("assistant"))
    check = ToolUse("c2", "bash", CHECKS[0], meta("assistant"))
    answers = [ToolResult("c1", "Done", meta()), ToolResult("c2", RUNS[0], meta())]
    whole = (message("user", [TOLD[0]]), message("assistant", [edit, check]))
    whole = (*whole, message("user", answers))
    index = TranscriptIndex()
    index.grow(whole)
    work = index.work.part(1, 3)
    assert ([one.path for one in work.changed()], len(work.failing())) == (["a.py"], 1)
    assert told(index.work.part(2, 3)) == told(work_of(whole[2:])) == told(WorkPart())


def test_uses_are_counted_beyond_the_numbers_of_two_bytes():
    uses = Uses()
    text = Text("cart_total", meta())
    for _ in range(2):
        uses.add(message("user", [text] * 35_000))
    number = uses.lines.numbers.number("cart_total")
    assert uses.spread[number] == 70_000


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
