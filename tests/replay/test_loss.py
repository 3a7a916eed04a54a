"""Lost, kept and recoverable text; each case is small enough to count by hand."""

from __future__ import annotations

import json

import pytest

from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.step import SpilledText
from indwell.context.conversation import Config, Conversation, tool_result, user_words
from indwell.context.injections import inject
from indwell.context.tokens import estimate_tokens
from indwell.messages import Block, Message, Meta, Request, Text, ToolResult, ToolUse
from indwell.replay.loss import Loss, LossMeter, Reader, line_key, names_in, said_in, words_of
from indwell.replay.replayed_conversation import DoneBefore, Point, ReplayRules, points
from support.replay_sessions import session

SOURCE = "total_price = 3\nnothing of note here\n"
FILE = "/srv/shop/cart.py"
TALK = Conversation(Config("m", 10_000, 0), ())


def use(identifier: str, name: str, **arguments: str) -> ToolUse:
    text = json.dumps(arguments)
    return ToolUse(identifier, name, text, Meta(3, "assistant", estimate_tokens(text), 1))


def said(text: str) -> Text:
    return Text(text, Meta(3, "assistant", estimate_tokens(text), 1))


def result(text: str, identifier: str = "r1") -> ToolResult:
    return tool_result(use(identifier, "Read"), text, is_error=False)


READ = use("r1", "Read", file_path=FILE)
WORDS = user_words("what does it cost?", turn=1)
MENTION = said("I change total_price now.")
EDIT = use("e1", "Edit", file_path=FILE, old_string="total_price = 3", new_string="x")
PLAIN_SPILL = SpilledText("r1-0a.txt", SOURCE)


def point(
    shown: tuple[Block, ...], reply: Block, arrived: tuple[Block, ...], *spills: SpilledText
) -> Point:
    """Return a request that shows the call and ``shown``, with the answer ``reply``."""
    messages = (
        Message("user", (WORDS,), 1),
        Message("assistant", (READ,), 1),
        Message("user", shown, 1),
    )
    return Point(
        conversation=TALK,
        request=Request("m", (), (), messages, 1),
        reply=Message("assistant", (reply,), 1),
        tokens=100,
        arrived=arrived,
        done=DoneBefore(spills=spills),
    )


def after_a_cut(shown: Block, reply: Block, *spills: SpilledText) -> Loss:
    """Show the whole source first, and then ``shown`` instead of it."""
    meter = LossMeter(Reader())
    source = result(SOURCE)
    first = meter.at(point((source,), said("I see."), (WORDS, READ, source)))
    assert first == Loss()
    return meter.at(point((shown,), reply, (said("I see."),), *spills))


def test_an_unaltered_text_is_not_counted_as_a_change() -> None:
    meter = LossMeter(Reader())
    source = result(SOURCE)
    assert meter.at(point((source,), MENTION, (WORDS, READ, source))) == Loss()


@pytest.mark.parametrize(
    ("left", "is_kept", "is_recoverable"),
    [
        ("total_price = 3", True, False),
        (
            "[shortened: 1 of 2 lines left out; all of it: s/r1-0a.txt]\ntotal_price = 3",
            True,
            False,
        ),
        ("[shortened: 2 of 2 lines left out; all of it: s/r1-0a.txt]", False, True),
        ("total_price, unit_price, other_name", False, False),
        ("[names: total_price; all of it: s/r1-0a.txt]", False, True),
        ("[earlier result of Read /srv/shop/cart.py: 36 characters]", False, True),
        ("see /srv/shop/cart.py", False, False),  # text of a result, without a marker
        ("[shortened; all of it: s/other-0b.txt]", False, False),
        ("nothing", False, False),
    ],
)
def test_a_name_counts_as_kept_by_its_line_and_as_recoverable_by_its_file_mark(
    left: str, *, is_kept: bool, is_recoverable: bool
) -> None:
    loss = after_a_cut(result(left), MENTION, PLAIN_SPILL)
    assert (loss.pairs, loss.kept, loss.recoverable) == (1, is_kept, is_recoverable)
    assert loss.pieces == (() if is_kept else (result(SOURCE).meta.tokens,))


@pytest.mark.parametrize(
    ("words", "is_kept", "is_recoverable"),
    [
        ("The total_price must stay above three.", True, False),
        ("Names: total_price, unit_price.", False, False),
        ("Read /srv/shop/cart.py.", False, True),
        ("It is in s/transcript-0001-0c.txt to transcript-0009-0e.txt.", False, False),
        ("Earlier calls were left out; all of them: s/left-out-0d.txt", False, False),
    ],
)
def test_a_summary_keeps_facts_by_a_statement_or_a_named_file_but_no_transcript(
    words: str, *, is_kept: bool, is_recoverable: bool
) -> None:
    summary = inject("summary", words, turn=1, attributes={"range": "turn 1"})
    whole = (SpilledText("transcript-0001-0c.txt", SOURCE), SpilledText("left-out-0d.txt", SOURCE))
    loss = after_a_cut(summary, MENTION, *whole)
    assert (loss.pairs, loss.kept, loss.recoverable) == (1, is_kept, is_recoverable)


@pytest.mark.parametrize(
    ("line", "is_recoverable"),
    [("[shortened: 2 of 2 lines left out; all of it: s/r1-0a.txt]", True), ("s/r1-0a.txt", False)],
)
def test_a_shortened_injected_text_is_recoverable_by_its_mark(
    line: str, *, is_recoverable: bool
) -> None:
    shorter = inject("skill", f"Words.\n{line}\nMore words.", turn=1)
    loss = after_a_cut(shorter, MENTION, PLAIN_SPILL)
    assert (loss.kept, loss.recoverable) == (0, is_recoverable)


def test_the_lines_of_an_edit_are_kept_verbatim_or_not_at_all() -> None:
    assert _lines(after_a_cut(result("total_price = 3\n…"), EDIT)) == (1, 1)
    assert _lines(after_a_cut(result("total_price = 3 # so"), EDIT)) == (1, 0)
    # with a line number
    assert _lines(after_a_cut(result("     1→total_price = 3"), EDIT)) == (1, 1)
    lost = after_a_cut(result("nothing"), EDIT)
    assert (lost.pairs, lost.kept) == (1, 0), "the edit names total_price as well"
    assert len(lost.pieces) == 1, "one piece is read again, however much of it is missing"


def test_a_lost_text_is_charged_once_until_it_is_altered_again() -> None:
    meter = LossMeter(Reader())
    source = result(SOURCE)
    meter.at(point((source,), said("I see."), (WORDS, READ, source)))
    charged = [
        len(meter.at(point((result(left),), MENTION, ())).pieces)
        for left in ("gone", "gone", "gone again", "gone again")
    ]
    assert charged == [1, 0, 1, 0]


def test_a_result_that_is_shown_whole_again_no_longer_counts_as_lost() -> None:
    meter = LossMeter(Reader())
    source = result(SOURCE)
    meter.at(point((source,), said("I see."), (WORDS, READ, source)))
    assert meter.at(point((result("gone"),), MENTION, ())).pairs == 1
    assert meter.at(point((source,), MENTION, ())).pairs == 0


def test_paths_snake_camel_and_dotted_names_and_errors_are_recognised_as_names() -> None:
    text = "In src/io/read_file.py the ValueError of os.path.join, getName, E0308; not word, 1.2.3"
    assert names_in(text) == {
        "src/io/read_file.py", "read_file.py", "read_file", "ValueError", "os.path.join",
        "getName", "E0308",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ("value_one = 1", True),
        ("value_one, value_two, value_three", False),
        ("value_one", False),
        ("The setting value_one must stay above zero.", True),
    ],
)
def test_a_name_in_a_bare_list_is_not_kept(line: str, *, is_kept: bool) -> None:
    said = said_in(line, {"value_one = 1"})
    assert ("value_one" in said.names) == is_kept


@pytest.mark.parametrize("preset", PRESETS)
def test_an_incremental_loss_report_equals_a_full_one_for_each_request(preset: str) -> None:
    meter = LossMeter(Reader())
    sources: dict[str, None] = {}
    n_pairs = 0
    for here in points(session(n=24, lines=60).messages, ReplayRules(PRESETS[preset], 12_000)):
        sources |= dict.fromkeys(filter(None, map(words_of, here.arrived)))
        loss = meter.at(here)
        assert (loss.pairs, loss.kept) == _anew(here, sources)
        n_pairs += loss.pairs
    assert bool(n_pairs) == (preset != "none")


def _anew(here: Point, sources: dict[str, None]) -> tuple[int, int]:
    """Return pairs and kept pairs of one request, computed without earlier requests."""
    shown = {words_of(one) for message in here.request.messages for one in message.blocks}
    altered = {name for text in sources if text not in shown for name in names_in(text)}
    used = {name for one in here.reply.blocks for name in names_in(words_of(one))} & altered
    originals = {line_key(line) for text in sources for line in text.splitlines()}
    visible = {
        name
        for text in shown
        for name in (names_in(text) if text in sources else said_in(text, originals).names)
    }
    return len(used), len(used & visible)


def _lines(loss: Loss) -> tuple[int, int]:
    return loss.lines, loss.lines_kept
