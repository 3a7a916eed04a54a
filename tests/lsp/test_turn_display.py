"""Messages and offers for the user of a plain editor when a turn failed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from indwell.agent.core.events import TurnFinished
from indwell.agent.core.prompt import Prompt
from indwell.errors import RequestRejected, Unreachable, UserError
from indwell.lsp.editor.turn_display import AnswerDocument, TurnDisplay
from indwell.lsp.messages.features import ClientFeatures
from indwell.service.chores import Chores
from indwell.service.sessions.stored_sessions import StoredSessions, Unsent
from indwell.service.turns.queue import (
    Queue,
    Ticket,
    WaitingPrompt,
    held,
    never_started,
    why_held,
)
from indwell.settings.model import Settings
from support.front_door import NotingDoor
from support.session import a_world

ONE = WaitingPrompt("p1", Prompt(words="first"))
TWO = WaitingPrompt("p2", Prompt(words="second"))
FAILED = msgspec.structs.replace(
    never_started(ONE.prompt), ending="failed", message="nothing answers at X"
)
OUTGROWN = msgspec.structs.replace(FAILED, message="it does not fit", outgrown=True)
OFFLINE = msgspec.structs.replace(FAILED, retryable=True)


class Screen:
    """An editor whose user chooses a certain title, if the title is offered."""

    def __init__(self, wanted: str | None = None, *extensions: str) -> None:
        self.features = ClientFeatures(experimental=frozenset(extensions))
        self.shown: list[str] = []
        self.offered: list[tuple[str, tuple[str, ...]]] = []
        self._wanted = wanted

    def show(self, _level: object, message: str, data: str = "") -> None:
        message += data
        self.shown.append(message)

    async def show_document(self, _uri: str) -> bool:
        return False

    async def choose(self, message: str, titles: tuple[str, ...], _timeout_s: float) -> str | None:
        self.offered.append((message, titles))
        return self._wanted


class WithSpill:
    """A session that keeps a text in one file."""

    def __init__(self, folder: Path) -> None:
        self.parts = self.spill = self
        self._folder = folder

    async def keep(self, name: str, _text: str) -> Path:
        return self._folder / name


class Line:
    """A stub of the queue of ``Turns``."""

    def __init__(self, *waiting: WaitingPrompt) -> None:
        self.queue = held(Queue(0, waiting), "why")

    def change(self, change: Callable[[Queue], Queue]) -> None:
        self.queue = change(self.queue)


async def afterwards(
    screen: Screen, line: Line, end: TurnFinished | UserError, *, by_prompt: bool = False
) -> list[WaitingPrompt]:
    """Return which prompts are sent again after a turn with this end."""
    display = TurnDisplay(screen, Settings)
    ticket = Ticket(ONE, display.nothing if by_prompt else display.summary)
    if isinstance(end, UserError):
        ticket.error = end
    else:
        ticket.finished = end
    again: list[WaitingPrompt] = []

    async def again_in_new_session(one: Ticket, _on_end: object) -> None:
        screen.shown.append("(a new session)")
        again.append(one.waiting)

    await display.afterwards(
        ticket, line, lambda one, _on_end: again.append(one.waiting), again_in_new_session
    )
    return again


@pytest.mark.parametrize(("chosen", "sent"), [("Try again", [ONE]), ("Not now", []), (None, [])])
async def test_a_turn_that_reached_no_endpoint_can_be_retried_unchanged(chosen, sent) -> None:
    screen = Screen(chosen)
    assert await afterwards(screen, Line(), OFFLINE) == sent
    assert screen.offered == [("Indwell: nothing answers at X", ("Try again", "Not now"))]


@pytest.mark.parametrize(
    ("chosen", "sent"), [("Go on in a new session", [ONE]), ("Not now", []), (None, [])]
)
async def test_a_prompt_too_large_for_its_session_is_offered_a_new_session(chosen, sent) -> None:
    screen = Screen(chosen)
    assert await afterwards(screen, Line(), OUTGROWN) == sent
    assert screen.shown == ["(a new session)"] * len(sent)
    titles = ("Go on in a new session", "Not now")
    assert screen.offered == [("Indwell: it does not fit", titles)]


async def test_a_permanent_failure_is_not_offered_a_retry() -> None:
    screen = Screen("Try again")
    assert await afterwards(screen, Line(), FAILED) == []
    assert screen.offered == []


async def test_a_client_that_sent_the_prompt_itself_is_offered_no_retry() -> None:
    screen = Screen("Try again")
    assert await afterwards(screen, Line(), OFFLINE, by_prompt=True) == []
    assert screen.offered == []


@pytest.mark.parametrize(
    ("end", "reason"),
    [(FAILED, "nothing answers at X"), (UserError("no model is set"), "no model is set")],
)
async def test_after_a_failed_turn_waiting_prompts_continue_only_if_the_user_agrees(
    end, reason
) -> None:
    for chosen, why in (("Go on with the next", ""), ("Not now", "why"), (None, "why")):
        screen, line = Screen(chosen), Line(TWO)
        await afterwards(screen, line, end)
        assert (line.queue.held, [one.id for one in line.queue.waiting]) == (why, ["p2"])
        titles = ("Go on with the next", "Not now")
        assert screen.offered == [(f"Indwell: {reason}; 1 prompt still waits", titles)]


async def test_after_a_stop_waiting_prompts_are_reported_without_a_question() -> None:
    screen = Screen()
    await afterwards(screen, Line(ONE, TWO), never_started(ONE.prompt))
    sentence = "Indwell: stopped; 2 prompts still wait, and go on with your next one"
    assert (screen.shown, screen.offered) == ([sentence], [])


async def test_an_editor_that_shows_events_itself_gets_no_message_or_offer() -> None:
    screen = Screen("Try again", "events")
    assert await afterwards(screen, Line(TWO), OFFLINE) == []
    assert (screen.shown, screen.offered) == ([], [])


@pytest.mark.parametrize(("extension", "shown"), [("stream", 0), ("save", 1)])
async def test_only_an_editor_that_streams_answers_gets_no_document_of_an_answer(
    extension: str, shown: int, tmp_path: Path
) -> None:
    screen = Screen(None, extension)
    answered = msgspec.structs.replace(FAILED, ending="done", message="", answer="It sums.")
    await TurnDisplay(screen, Settings).answer(WithSpill(tmp_path), answered)
    assert len(screen.shown) == shown


async def test_prompts_that_were_never_sent_are_reported_with_their_folder(tmp_path) -> None:
    door, chores = NotingDoor(), Chores()
    stored = StoredSessions({"INDWELL_STATE": str(tmp_path / "state")}, lambda: (tmp_path,))
    unsent = Unsent(stored, door, chores)
    await unsent.leave(("one",))
    await unsent.leave(("one", "two"))
    one, two = door.told
    folder = tmp_path / "state"
    assert one.startswith(f"1 prompt that waited: kept in {folder}")
    assert two.startswith(f"2 prompts that waited: kept in {folder}")
    assert Path(two.rpartition(" kept in ")[2]).read_text(encoding="utf-8").count("two") == 1


@pytest.mark.parametrize(
    ("ending", "reason"),
    [("done", ""), ("cancelled", "the previous turn was stopped"), ("limit", "m"), ("budget", "m")],
)
def test_the_next_prompt_starts_by_itself_only_after_a_successful_turn(ending, reason) -> None:
    ticket = Ticket(ONE, TurnDisplay(Screen(), Settings).nothing)
    ticket.finished = msgspec.structs.replace(FAILED, ending=ending, message="m")
    assert why_held(ticket) == reason


@pytest.mark.parametrize(
    ("error", "retryable"), [(Unreachable("nobody"), True), (RequestRejected("no"), False)]
)
async def test_only_an_endpoint_out_of_reach_makes_a_turn_worth_a_retry(
    tmp_path, error, retryable
) -> None:
    async with a_world(tmp_path, [error]) as world:
        finished = await world.turn("go")
    assert (finished.ending, finished.draft, finished.retryable) == ("failed", "go", retryable)


async def test_an_answer_is_a_short_harmless_message_if_no_document_can_be_shown(
    tmp_path,
) -> None:
    async with a_world(tmp_path, []) as world:
        for answer in ("\x1b[2Jhi\u202e\nthere", "x" * 1_000_000):
            screen = Screen()
            done = msgspec.structs.replace(FAILED, ending="done", answer=answer)
            await TurnDisplay(screen, Settings).answer(world.session, done)
            (shown,) = screen.shown
            if len(answer) < 100:
                assert shown == "\\u001b[2Jhi\\u202e\nthere"
            else:
                assert shown.startswith("x" * 2_000 + "…\n[all of it is in ")
                assert len(shown) < 2_500


async def test_an_answer_is_shown_together_with_the_note_of_no_changed_file(
    tmp_path,
) -> None:
    screen = Screen()
    finished = msgspec.structs.replace(
        OFFLINE,
        ending="done",
        message="no file was changed",
        answer="Nothing is wrong there.",
        retryable=False,
    )
    async with a_world(tmp_path, []) as world:
        await TurnDisplay(screen, Settings).summary(world.session, finished)
    answer, sentence = screen.shown
    assert "Nothing is wrong there." in answer
    assert sentence.startswith("Indwell: no file was changed")


async def test_the_reason_of_a_failed_turn_is_shown_on_one_short_line() -> None:
    screen = Screen("Not now")
    evil = msgspec.structs.replace(OFFLINE, message="\x1b[2J\n" + "x" * 10_000)
    await afterwards(screen, Line(), evil)
    ((words, _),) = screen.offered
    assert words.startswith("Indwell: \\u001b[2J xxx")
    assert len(words) < 400


async def test_answers_of_one_session_share_a_document_with_the_newest_answer_first(
    tmp_path,
) -> None:
    document = AnswerDocument()
    async with a_world(tmp_path / "a", []) as one, a_world(tmp_path / "b", []) as two:
        first = await document.add(one.session, "first\n")
        second = await document.add(one.session, "second\n")
        assert (second, second.read_text(encoding="utf-8")) == (first, "second\n\n---\n\nfirst\n")
        other = await document.add(two.session, "third")
        assert (other != first, other.read_text(encoding="utf-8")) == (True, "third\n")
