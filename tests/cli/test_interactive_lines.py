"""What an interactive session shows and which keys answer its questions, without a terminal."""

from __future__ import annotations

import asyncio
import io
import random

import pytest
from rich.console import Console

from indwell.agent.core.events import PlanChanged
from indwell.cli.interactive.desk import (
    LOOK_S,
    PASTE_S,
    PAUSE_S,
    AnswerGate,
    Line,
    Status,
    live_tail,
    status_line,
)
from indwell.cli.interactive.history import MOST, LineHistory
from indwell.cli.interactive.markdown_lines import rendered
from indwell.cli.interactive.plain_desk import PlainDesk
from indwell.cli.interactive.terminal_talk import (
    LAST_LINES,
    SHARED_CHARACTERS,
    SHOWN_CHARACTERS,
    SHOWN_LINES,
    UserCommandOutput,
)
from indwell.cli.interactive.view import InteractiveView, MarkdownBlocks

STATUS = Status("some-model", "review", 12_000, 100_000, 0.0123, "working 3 s (Esc stops)")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def blocks(text: str, size: int) -> list[str]:
    made = MarkdownBlocks()
    found: list[str] = []
    for at in range(0, len(text), size):
        found += made.add(text[at : at + size])
    return [*found, *made.end()]


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_streamed_markdown_is_split_at_empty_lines_outside_of_fences_and_lists(size) -> None:
    text = "# A\n\nwords\nmore\n\n```py\na\n\nb\n```\n\n- one\n\n- two\n\n  inner\n\nend"
    assert blocks(text, size) == [
        "# A",
        "words\nmore",
        "```py\na\n\nb\n```",
        "- one\n\n- two\n\n  inner",
        "end",
    ]


def test_an_unfinished_paragraph_is_shown_by_its_last_lines() -> None:
    assert live_tail("a" * 25, 10) == "aaaaaaaaaa\naaaaaaaaaa\naaaaa"
    assert live_tail("\n".join("abcdefgh"), 10, most=2) == "g\nh"
    assert live_tail("\x1b[2J", 40) == "\\u001b[2J"


@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (100, "working 3 s (Esc stops) · review · some-model · 12% context · $0.0123"),
        (60, "working 3 s (Esc stops) · review · 12% context · $0.0123"),
        (48, "working 3 s (Esc stops) · review · 12% context"),
        (40, "working 3 s (Esc stops) · review"),
        (10, "working 3 "),
    ],
)
def test_a_status_line_leaves_out_what_does_not_fit(columns, line) -> None:
    assert status_line(STATUS, columns) == line


def test_links_of_markdown_show_their_address() -> None:
    console = Console(force_terminal=True, color_system="truecolor", width=60)
    shown = rendered(console, "see [here](https://example.org/x)")
    assert "https://example.org/x" in shown
    assert "\x1b]8" not in shown


@pytest.mark.parametrize(
    ("written", "seen"),
    [
        ("one <!-- two -->", "one <!-- two -->"),
        ("<p hidden>\ntwo\n</p>", "<p hidden> two </p>"),
        ("[//]: # (two)", "[//]: # (two)"),
        ("a Vec<String>", "a Vec<String>"),
        ("![one](http://two/x.png)", "![one](http://two/x.png)"),
        ("&#x202e;two&#x200b;", "\\u202etwo\\u200b"),
        ("**&#x202e;**", "\\u202e"),
        ('see [here](http://two "three")', 'see here (http://two "three")'),
        ('![one](http://two "three")', '![one](http://two "three")'),
        ("```py two\nthree\n```", "py two\n\n three"),
        ("| a |\n|---|\n| b | two |", "| a |\n|---|\n| b | two |"),
    ],
)
def test_markdown_hides_no_text_and_no_character(written, seen) -> None:
    console = Console(force_terminal=True, color_system=None, width=60)
    lines = [line.rstrip() for line in rendered(console, written).strip().split("\n")]
    assert lines == seen.split("\n")


def test_a_plan_is_shown_as_it_is_written_because_it_is_approved_so() -> None:
    desk = Screen()
    view = InteractiveView(desk, is_plain=False)
    view(PlanChanged(1, "proposed", "1. Fix it.\n\n``` 2. Push it.\n```"))
    assert "``` 2. Push it." in desk.console.export_text()


class Screen(PlainDesk):
    """A desk whose console records its text."""

    def __init__(self) -> None:
        super().__init__(take=lambda _line: None, keep=lambda _line: None)
        self._console = Console(record=True, file=io.StringIO(), width=60)


async def test_a_line_that_came_with_other_lines_is_not_alone() -> None:
    taken: asyncio.Queue[Line] = asyncio.Queue()
    desk = PlainDesk(take=taken.put_nowait, keep=lambda _line: None)
    desk._read(b"!echo first\n")
    desk._read(b"words\n!echo second\n")
    lines = [await taken.get() for _ in range(3)]
    assert [(one.words, one.is_alone) for one in lines if one.words != "words"] == [
        ("!echo first", False),
        ("!echo second", False),
    ]
    desk._last_line -= PASTE_S
    desk._read(b"!echo typed\n")
    assert await taken.get() == Line("!echo typed")


def test_an_endless_output_is_shown_and_kept_within_limits() -> None:
    output, shown = UserCommandOutput(), 0
    for _ in range(100):
        shown += output.add(b"y\n" * 30_000).count("\n")
    assert (shown, len(output.tail)) == (SHOWN_LINES + 1, SHARED_CHARACTERS)
    assert output.end() == "\n".join(("… the last lines:", *["y"] * LAST_LINES, ""))
    endless = UserCommandOutput()
    assert sum(len(endless.add(b"y" * 60_000)) for _ in range(100)) < SHOWN_CHARACTERS + 100


def test_a_short_output_is_shown_whole_with_its_empty_lines() -> None:
    output = UserCommandOutput()
    parts = ["one\r\n\ntw", "o\n\n", "é".encode()[:1], "é".encode()[1:]]
    data = [one if isinstance(one, bytes) else one.encode() for one in parts]
    assert "".join(map(output.add, data)) + output.end() == "one\n\ntwo\n\né\n"
    assert output.tail == "one\n\ntwo\n\né"


@pytest.mark.parametrize("seed", range(30))
def test_typing_that_goes_on_while_a_question_appears_never_answers_it(seed) -> None:
    clock, chance = Clock(), random.Random(seed)
    gate = AnswerGate(clock, lambda: False)
    for _ in range(20):
        gate.key()
        clock.now += chance.uniform(0.01, PAUSE_S * 0.9)
    assert gate.pause_left > 0, "the question waits for a pause"
    clock.now += gate.pause_left
    with gate.drawn():
        taken = []
        for _ in range(50):
            clock.now += chance.uniform(0.01, LOOK_S * 0.99)
            assert gate.look() > 0
            taken.append(gate.key())
        assert not any(taken)
        clock.now += LOOK_S + 0.001
        assert gate.look() == 0
        assert gate.key(), "a key after a moment answers"
        clock.now += 0.01
        assert gate.key(), "the rest of the word, too"
    assert gate.key(), "without a question, every key is typed"


def test_a_key_that_waited_while_the_program_was_busy_answers_no_question() -> None:
    clock, waiting = Clock(), [True]
    gate = AnswerGate(clock, lambda: waiting[0])
    with gate.drawn():
        clock.now += 10 * LOOK_S
        assert not gate.key(), "the key is read before the first look"
        clock.now += 10 * LOOK_S
        assert gate.look() > 0, "another key waits"
        assert not gate.key()
        waiting[0] = False
        clock.now += LOOK_S + 0.001
        assert gate.look() == 0
        assert gate.key()


def test_lines_of_earlier_sessions_are_kept_within_limits(tmp_path) -> None:
    history = LineHistory(tmp_path / "state")
    assert history.lines() == []
    for number in range(2 * MOST + 5):
        history.keep(f"line {number}\nwith two")
    history.keep("x" * 100_000)
    lines = LineHistory(tmp_path / "state").lines()
    assert len(lines) == MOST
    assert lines[-1] == f"line {2 * MOST + 4}\nwith two"
    assert len(LineHistory(tmp_path / "state").lines()) == MOST
    key = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bD1fG3hJ5"
    history.keep(f"!curl -H 'Authorization: token {key}' x")
    assert key not in (tmp_path / "state" / "terminal-history.jsonl").read_text("utf-8")
    (tmp_path / "state" / "terminal-history.jsonl").write_bytes(b'broken\n"fine"\n')
    assert LineHistory(tmp_path / "state").lines() == ["fine"]
