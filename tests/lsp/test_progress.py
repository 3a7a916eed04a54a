from __future__ import annotations

import asyncio

import msgspec
import pytest
from lsprotocol import types

from indwell.agent.core import events
from indwell.agent.core.events import FileChanged
from indwell.lsp.editor.progress import LINE_LIMIT, REASON_LIMIT, TurnProgress, describe, summary
from indwell.messages import Usage

CHANGED = events.EditApplied(
    turn=1, id="c1", path="a.py", added=2, removed=1, diff="", created=False, verified=True
)
TOKENS = Usage(input=1_200, output=34)


def started(name: str, target: str) -> events.ToolStarted:
    return events.ToolStarted(1, "c1", name, target)


def finished(
    name: str = "bash", *, is_error: bool = False, message: str = ""
) -> events.ToolFinished:
    return events.ToolFinished(1, "c1", name, "x", is_error, "ok", 0.1, message)


def ended(ending: str = "done", message: str = "", **more: object) -> events.TurnFinished:
    fields = {"rounds": 3, "usage": TOKENS, "cost": None, "seconds": 1.0} | more
    return events.TurnFinished(1, ending, message, "answer", "", **fields)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (events.TurnStarted(1, "t", "w", "m"), ""),
        (events.TextAdded(1, "hello"), "writing"),
        (events.TextAdded(1, " \n"), ""),
        (events.ThinkingAdded(1, "hm"), ""),
        (started("read_file", "a.py"), "reading a.py"),
        (started("bash", "cd x\n  make"), "running cd x make"),
        (started("grep", "needle"), "searching needle"),
        (started("glob", "*.py"), "looking for *.py"),
        (started("edit_file", "a.py"), "editing a.py"),
        (started("write_file", "a.py"), "writing a.py"),
        (started("something", "a"), "something a"),
        (events.ToolOutput(1, "c1", "text"), ""),
        (finished(), ""),
        (finished("edit_file", is_error=True, message="no"), "editing: failed"),
        (CHANGED, "changed a.py +2 −1"),
        (
            events.PermissionAsked(1, "c1", "q", "Run a command in .?", "ls", "asked"),
            "waiting for an answer: Run a command in .?",
        ),
        (events.PermissionAnswered(1, "c1", "q", "no"), ""),
        (events.HunksChanged(1, 2, ("a.py",)), ""),
        (events.Checking(1, "mypy"), "checking: mypy"),
        (events.UsageReported(1, 1, TOKENS, None, TOKENS, None), "thinking"),
        (
            events.Compacted(1, "regions", 48_000, 12_000, "turns 1 to 3 summarised"),
            "earlier parts were shortened: 48,000 → 12,000 tokens; turns 1 to 3 summarised",
        ),
        (events.Notice(1, "warning", "trying again in 2 s"), "trying again in 2 s"),
        (ended(), ""),
    ],
)
def test_an_event_is_described_on_one_line(event, line) -> None:
    assert describe(event) == line


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (ended(), "done · 3 rounds, 1,234 tokens"),
        (ended(verified="not verified"), "done · 3 rounds, 1,234 tokens · not verified"),
        (ended(cost=0.01234, rounds=1), "done · 1 round, 1,234 tokens, $0.0123"),
        (
            ended(changes=(FileChanged("a.py", 1, 2), FileChanged("b.py", 3, 0))),
            "done · 2 files +4 −2 · 3 rounds, 1,234 tokens",
        ),
        (
            ended(changes=(FileChanged("a.py", 1, 2),), to_review=2),
            "done · a.py +1 −2 · 2 changes to review in all · 3 rounds, 1,234 tokens",
        ),
        (
            ended(changes=(FileChanged("a.py", 1, 2),), to_review=1),
            "done · a.py +1 −2 · 1 change to review · 3 rounds, 1,234 tokens",
        ),
        (ended(to_review=2), "done · 3 rounds, 1,234 tokens"),
        (ended("cancelled", "stopped", rounds=0), "stopped"),
        (ended("failed", "no credit left", rounds=0), "no credit left"),
        (
            ended("limit", "stopped after 3 rounds"),
            "stopped after 3 rounds · 3 rounds, 1,234 tokens",
        ),
    ],
)
def test_the_end_of_a_turn_is_described_in_one_sentence(end, sentence) -> None:
    assert summary(end) == sentence


EVIL = "\x1b]0;evil\x07\u202e\x9b\ud800\r\n" + "n" * 1_000_000
HARMLESS = "\\u001b]0;evil\\u0007\\u202e\\u009b\\ud800 nnn"


@pytest.mark.parametrize(
    "event",
    [
        started(EVIL, "a.py"),
        started("bash", EVIL),
        finished(EVIL, is_error=True),
        msgspec.structs.replace(CHANGED, path=EVIL),
        events.PermissionAsked(1, "c1", "q", EVIL, "ls", "asked"),
        events.Notice(1, "warning", EVIL),
    ],
)
def test_text_of_a_model_in_an_event_becomes_one_short_harmless_line(event) -> None:
    line = describe(event)
    assert HARMLESS in line
    assert (len(line), line[-1]) == (LINE_LIMIT, "…")


def test_model_text_in_the_summary_of_a_turn_is_escaped() -> None:
    sentence = summary(ended("failed", EVIL, changes=(FileChanged(EVIL, 1, 2),)))
    assert sentence.count(HARMLESS[:20]) == 2
    assert sentence.endswith("… +1 −2 · 3 rounds, 1,234 tokens")
    assert len(sentence) < REASON_LIMIT + 100


def test_the_end_of_a_good_turn_fits_in_a_line_of_a_hundred_columns() -> None:
    changed = tuple(FileChanged(f"server/deep/down/{one}.py", 10, 9) for one in range(40))
    for files in (changed, (FileChanged("server/" + "deep/" * 20 + "x.py", 100, 90),)):
        end = ended(changes=files, to_review=12, verified="verified: " + "uv run pytest " * 9)
        sentence = summary(end)
        assert len(f"Indwell: {sentence}") <= 100, sentence
        assert sentence.endswith(" · 1,234 tokens · verified: uv run pytest uv run pytest uv run …")


class Screen:
    """An editor that shows progress, or refuses progress."""

    def __init__(self, *, takes: bool) -> None:
        self._takes = takes
        self.shown: list[tuple[str, object]] = []

    async def create_progress(self, _token: str) -> bool:
        return self._takes

    def progress(self, token: str, value: object) -> None:
        self.shown.append((token, value))


def play(progress: TurnProgress) -> None:
    progress.follow(started("read_file", "a.py"))
    progress.follow(started("read_file", "a.py"))
    progress.follow(started("bash", "x" * 500))
    progress.follow(events.TextAdded(1, ""))
    progress.end(ended(rounds=0))
    progress.follow(started("read_file", "too late"))
    progress.end(ended(message="done twice", rounds=0))


async def test_a_turn_is_shown_from_begin_to_end_and_no_line_twice() -> None:
    screen = Screen(takes=True)
    progress = TurnProgress(screen, "t")
    await progress.begin("Fix this")
    play(progress)
    assert screen.shown == [
        (
            "t",
            types.WorkDoneProgressBegin(
                title="Indwell: Fix this", cancellable=True, message="thinking"
            ),
        ),
        ("t", types.WorkDoneProgressReport(message="reading a.py", cancellable=True)),
        (
            "t",
            types.WorkDoneProgressReport(
                message=f"running {'x' * 500}"[: LINE_LIMIT - 1] + "…", cancellable=True
            ),
        ),
        ("t", types.WorkDoneProgressEnd(message="done")),
    ]


async def test_an_editor_without_progress_support_gets_no_progress() -> None:
    screen = Screen(takes=False)
    progress = TurnProgress(screen, "t")
    await progress.begin("Fix this")
    play(progress)
    assert screen.shown == []


async def test_a_turn_that_ends_before_a_busy_editor_answers_is_shown_with_its_end() -> None:
    is_answered = asyncio.Event()

    class Busy(Screen):
        async def create_progress(self, token: str) -> bool:
            await is_answered.wait()
            return await super().create_progress(token)

    screen = Busy(takes=True)
    progress = TurnProgress(screen, "t")
    begun = asyncio.ensure_future(progress.begin("Ask"))
    await asyncio.sleep(0)
    progress.follow(started("read_file", "a.py"))
    progress.end(ended(rounds=0))
    progress.end(ended(message="done twice", rounds=0))
    assert screen.shown == []
    is_answered.set()
    await begun
    assert [type(value) for _, value in screen.shown] == [
        types.WorkDoneProgressBegin,
        types.WorkDoneProgressEnd,
    ]
    assert screen.shown[-1][1].message == "done"


async def test_a_progress_title_is_one_short_escaped_line() -> None:
    screen = Screen(takes=True)
    await TurnProgress(screen, "t").begin(EVIL)
    ((_, begin),) = screen.shown
    assert begin.title.startswith(f"Indwell: {HARMLESS}")
    assert len(begin.title) == LINE_LIMIT
