"""A question waits until the user stops typing, and is never answered in the user's place."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic

import pytest

from indwell.lsp.editor.answering import NOTICE_S, WAITING, Stillness
from support.editing import Home, bash
from support.fake_editor.profiles import PLAIN
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say
from support.raw_client import HATCHED, RawClient, raw_client
from support.room import MENDED, SOURCE, Room

ASK_MESSAGE = "window/showMessageRequest"
COMMAND = "rm -rf build"
ASKING = say(calls=[("ask_user", '{"question": "Which?", "options": ["a", "b"]}')])
NO = {"title": "No"}
SHORT_S, LONG_S = 0.5, 60.0  # pauses of typing, in seconds; the second is the longest allowed


class Clock:
    """Time that passes only during sleeps; ``keys`` are pressed at given times."""

    def __init__(self, keys: tuple[float, ...] = ()) -> None:
        self.now = 0.0
        self.keys = list(keys)
        self.press: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        end = self.now + seconds
        while self.keys and self.keys[0] <= end:
            self.now = self.keys.pop(0)
            self.press()
        self.now = end


class Heard:
    """The progress that the user sees of a waiting question."""

    def __init__(self, keys: tuple[float, ...] = (), pause_s: float = 2.0) -> None:
        self.clock = Clock(keys)
        self.notices: list[str] = []
        self.held: list[bool] = []
        self.stillness = Stillness(
            self.clock.monotonic,
            lambda: pause_s,
            self.notices.append,
            self.held.append,
            self.clock.sleep,
        )
        self.clock.press = self.stillness.typed


async def test_a_question_is_shown_at_once_if_no_key_was_pressed() -> None:
    heard = Heard()
    await heard.stillness.wait()
    assert (heard.clock.now, heard.held, heard.notices) == (0.0, [], [])


async def test_a_question_is_shown_after_a_pause_since_the_last_key() -> None:
    heard = Heard(keys=(1.0, 2.5))
    heard.stillness.typed()
    await heard.stillness.wait()
    assert (heard.clock.now, heard.held, heard.notices) == (4.5, [True, False], [])


async def test_a_user_who_never_stops_typing_gets_one_notice_and_the_question_still_waits() -> None:
    heard = Heard(keys=tuple(float(second) for second in range(1, 601)))
    heard.stillness.typed()
    await heard.stillness.wait()
    assert heard.clock.now == 602.0
    assert heard.notices == [f"Indwell: {WAITING}."]
    assert heard.held == [True, False]


async def test_the_notice_of_a_waiting_question_is_not_shown_early() -> None:
    heard = Heard(keys=(1.0, 2.0, 3.0))
    heard.stillness.typed()
    await heard.stillness.wait()
    assert heard.clock.now < NOTICE_S
    assert heard.notices == []


async def test_a_pause_of_zero_delays_no_question() -> None:
    heard = Heard(pause_s=0.0)
    heard.stillness.typed()
    await heard.stillness.wait()
    assert heard.clock.now == 0.0


async def test_the_progress_line_of_a_withdrawn_question_disappears() -> None:
    heard = Heard()
    stillness = Stillness(
        heard.clock.monotonic, lambda: 2.0, heard.notices.append, heard.held.append
    )
    stillness.typed()
    waiting = asyncio.create_task(stillness.wait())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert heard.held == [True, False]


WINDOW = {"window": {"workDoneProgress": True}}
QUESTIONS: Mapping[str, tuple[tuple[str, ...], str, Answer, object]] = {
    "permission in a message": ((), ASK_MESSAGE, bash(COMMAND), NO),
    "permission in a card": (
        ("permission",),
        "indwell/permission",
        bash(COMMAND),
        {"answer": "no"},
    ),
    "a question of the model's": ((), ASK_MESSAGE, ASKING, {"title": "1. a"}),
}


class Typist:
    """The model's endpoint; just before each reply, a key is pressed in the document."""

    def __init__(self, wanted: Answer) -> None:
        self.client: RawClient | None = None
        self.uri = ""
        self.typed_at = 0.0
        self._wanted = wanted

    def __call__(self, seen: Seen) -> Answer:
        if seen.body["messages"][-1]["role"] == "tool":
            return say("Well.")
        assert self.client is not None
        self.typed_at = monotonic()
        document = {"uri": self.uri, "version": 2}
        changes = [{"text": f"{SOURCE}# mine\n"}]
        params = {"textDocument": document, "contentChanges": changes}
        self.client.notify("textDocument/didChange", params)
        return self._wanted


@asynccontextmanager
async def typed_before_a_question(
    folder: Path, kind: str, pause_s: float, own: tuple[str, ...] = ()
) -> AsyncIterator[tuple[RawClient, Typist, list[float]]]:
    """Yield a client, its typist, and the list of the times at which the client gets a question.

    Args:
        folder: The user's folder.
        kind: The kind of the question.
        pause_s: The setting ``question_pause_s``.
        own: The capabilities of a client that itself waits for a pause.
    """
    names, method, wanted, answer = QUESTIONS[kind]
    home = Home(folder)
    home.configure(f"question_pause_s = {pause_s}\n")
    typist = Typist(wanted)
    asked_at: list[float] = []

    def reply(_params: object) -> object:
        asked_at.append(monotonic())
        return answer

    async with (
        LoopbackEndpoint(typist) as endpoint,
        raw_client(
            home,
            command=HATCHED,
            environment=home.environment(endpoint.base_url),
            hello=False,
        ) as client,
    ):
        client.replies[method] = reply
        client.replies["window/workDoneProgress/create"] = lambda _params: None
        capabilities = {**WINDOW, "experimental": {"indwell": dict.fromkeys((*names, *own), True)}}
        await client.initialize(capabilities=capabilities)
        typist.client, typist.uri = client, client.open_shop(SOURCE)
        yield client, typist, asked_at


def progress_lines(client: RawClient) -> list[object]:
    return [one["value"].get("message") for one in client.of("$/progress")]


@pytest.mark.parametrize("kind", QUESTIONS)
async def test_every_kind_of_question_comes_after_the_pause(tmp_path: Path, kind: str) -> None:
    async with typed_before_a_question(tmp_path, kind, SHORT_S) as (client, typist, asked_at):
        await client.prompt("tidy up")
    assert len(asked_at) == 1
    assert asked_at[0] - typist.typed_at >= SHORT_S


@pytest.mark.parametrize("kind", QUESTIONS)
async def test_a_client_that_waits_itself_gets_every_kind_of_question_without_a_pause(
    tmp_path: Path, kind: str
) -> None:
    async with typed_before_a_question(tmp_path, kind, LONG_S, ("ownPause",)) as (
        client,
        _typist,
        asked_at,
    ):
        await client.prompt("tidy up")
        assert WAITING not in progress_lines(client)
    assert len(asked_at) == 1


async def test_the_progress_says_that_a_question_waits(tmp_path: Path) -> None:
    kind = "permission in a message"
    async with typed_before_a_question(tmp_path, kind, LONG_S) as (client, _typist, asked_at):
        prompting = client.ask("indwell/prompt", {"text": "tidy up"})
        await client.wait_until(lambda: WAITING in progress_lines(client))
        assert asked_at == []
        client.notify("$/cancelRequest", {"id": prompting})
        await client.answer(prompting)
        assert asked_at == []


async def test_the_agents_own_edits_do_not_count_as_typing(tmp_path: Path) -> None:
    room = Room(tmp_path, PLAIN)
    typed: list[str] = []
    room.editor.documents.on_typing = lambda: typed.append("key")
    await room.agent.read()
    assert await room.agent.tried() is None
    assert (room.text, typed) == (MENDED, [])
    room.type_text(0)
    room.editor.desk.tell()
    assert typed == ["key"]
