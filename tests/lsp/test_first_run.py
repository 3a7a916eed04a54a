"""The first minutes in an editor, with a small editor and a backend that answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from indwell.providers.endpoint import EndpointStep, LocalServer, LoginOutcome
from indwell.providers.offered_models import OfferedModel
from indwell.service.endpoint.first_run import (
    BACK,
    DESKTOP,
    DONE,
    IN_TERMINAL,
    NOT_NOW,
    OPEN_PAGE,
    TYPE_ADDRESS,
    TYPE_MODEL,
    FirstRun,
)

OLLAMA = LocalServer("ollama", "Ollama", "http://127.0.0.1:11434/v1", (OfferedModel("q"),))
TWO = LocalServer(
    "vllm",
    "vLLM",
    "http://127.0.0.1:8000/v1",
    (OfferedModel("plain", 8_000, tools=False), OfferedModel("able", 32_000, tools=True)),
)
SMALL = LocalServer(
    "ollama", "Ollama", "http://127.0.0.1:11434/v1", (OfferedModel("q"),), warning="too small"
)
LACKING = "no model is set"


class Person:
    """A client interface that answers questions from a list, and records the questions."""

    def __init__(self, *answers: str | None, typed: str | None = None, asks: bool = False) -> None:
        self.answers = list(answers)
        self.typed = typed
        self.asked: list[tuple[str, tuple[str, ...]]] = []
        self.shown: list[str] = []
        self.opened: list[str] = []
        self.can_type = asks
        self.leads_to_model = False
        self.on_question: Callable[[int], None] = lambda _number: None
        self.was_asked = asyncio.Event()
        self.thinks = asyncio.Event()
        self.thinks.set()

    async def choose(self, message: str, titles: tuple[str, ...], timeout_s: float) -> str | None:
        assert timeout_s > 60
        self.asked.append((message, titles))
        self.on_question(len(self.asked))
        self.was_asked.set()
        await self.thinks.wait()
        answer = self.answers.pop(0)
        assert answer is None or answer in titles, (answer, titles)
        return answer

    async def type_line(self, _prompt: str, _placeholder: str, _timeout_s: float) -> str | None:
        return self.typed

    def tell(self, words: str) -> None:
        self.shown.append(f"Indwell: {words}")

    async def show_page(self, page: Path) -> bool:
        self.opened.append(page.as_uri())
        return True


class Machine:
    """Replaces the backend; a connection works if its model is in ``working``."""

    def __init__(
        self,
        *servers: LocalServer,
        working: Sequence[str | None] = (),
        offered: tuple[OfferedModel, ...] = (),
    ) -> None:
        self.servers = servers
        self.offered = offered
        self.working = working
        self.connected: list[tuple[str, str | None, str | None]] = []
        self.reason = LACKING

    async def lacking(self) -> str:
        return self.reason

    async def local_servers(self) -> tuple[LocalServer, ...]:
        return self.servers

    async def connect(self, base_url: str, key: str | None, model: str | None) -> LoginOutcome:
        self.connected.append((base_url, key, model))
        if model is None and len(self.offered) > 1:
            return LoginOutcome(
                ok=False,
                base_url=base_url,
                model="",
                steps=(),
                message="none",
                offered=self.offered,
            )
        if model not in self.working:
            steps = (EndpointStep("tools", "fail", "it takes no tools", "choose another"),)
            return LoginOutcome(ok=False, base_url=base_url, model="", steps=steps, message="no")
        self.reason = ""
        return LoginOutcome(
            ok=True,
            base_url=base_url,
            model=model or "",
            steps=(),
            message="q answers",
            notes=("n",),
        )

    async def first_run_page(self) -> Path:
        return Path("/state/first-run.md").absolute()


async def test_the_first_run_asks_no_question_if_a_model_is_set() -> None:
    person, machine = Person(), Machine()
    machine.reason = ""
    assert await FirstRun(person, machine).run()
    assert (person.asked, person.shown) == ([], [])


async def test_the_first_run_offers_a_running_server_first() -> None:
    person, machine = Person("Use Ollama: q"), Machine(OLLAMA, working=["q"])
    assert await FirstRun(person, machine).run()
    ((message, titles),) = person.asked
    assert titles == ("Use Ollama: q", IN_TERMINAL, OPEN_PAGE, NOT_NOW)
    assert message == (
        f"Indwell: which model should answer? ({LACKING})\n"
        f"Found on this machine: Ollama.\n{DESKTOP}"
    )
    assert machine.connected == [(OLLAMA.base_url, None, "q")]
    assert person.shown == ["Indwell: q answers\nn"]


async def test_the_first_run_lists_models_that_support_tools_first() -> None:
    person, machine = Person("Use vLLM", "able, 32 k"), Machine(TWO, working=["able"])
    assert await FirstRun(person, machine).run()
    assert person.asked[1] == (
        "Indwell: Which model of vLLM? It must support tool calls.",
        ("able, 32 k", "plain, 8 k, no tools", BACK),
    )
    assert machine.connected == [(TWO.base_url, None, "able")]


async def test_a_failed_choice_is_reported_with_the_next_question() -> None:
    person, machine = Person("Use Ollama: q", NOT_NOW), Machine(OLLAMA)
    assert not await FirstRun(person, machine).run()
    assert person.asked[1][0] == "Indwell: it takes no tools; choose another."


async def test_going_back_in_the_first_run_asks_again() -> None:
    person, machine = Person("Use vLLM", BACK, IN_TERMINAL, BACK, None), Machine(TWO)
    assert not await FirstRun(person, machine).run()
    assert (len(person.asked), machine.connected) == (5, [])


async def test_the_first_run_continues_after_a_login_in_a_terminal() -> None:
    person, machine = Person(IN_TERMINAL, DONE, IN_TERMINAL, DONE), Machine()

    def logs_in(number: int) -> None:
        if number == 4:
            machine.reason = ""

    person.on_question = logs_in
    assert await FirstRun(person, machine).run()
    assert "Run this in a terminal, and come back:\nindwell login\n" in person.asked[1][0]
    assert person.asked[2][0] == f"Indwell: Not yet: {LACKING}."


async def test_the_first_run_reports_a_servers_warning() -> None:
    person = Person(None)
    assert not await FirstRun(person, Machine(SMALL)).run()
    assert "\ntoo small.\n" in person.asked[0][0]


async def test_opening_the_setup_page_keeps_the_question_open() -> None:
    person = Person(OPEN_PAGE, NOT_NOW)
    assert not await FirstRun(person, Machine()).run()
    assert (person.opened, len(person.asked)) == (
        [Path("/state/first-run.md").absolute().as_uri()],
        2,
    )


@pytest.mark.parametrize("typed", ["http://10.0.0.7:8000/v1", "  ", None])
async def test_the_first_run_accepts_a_typed_address_if_the_editor_can_ask(typed) -> None:
    person = Person(TYPE_ADDRESS, NOT_NOW, typed=typed, asks=True)
    machine = Machine(working=[None])
    is_address = typed is not None and "://" in typed
    assert await FirstRun(person, machine).run() == is_address
    assert machine.connected == ([(typed, None, None)] if is_address else [])


async def test_the_user_chooses_among_several_models_at_a_typed_address() -> None:
    url = "http://10.0.0.7:8000/v1"
    person = Person(TYPE_ADDRESS, "able, 32 k", typed=url, asks=True)
    machine = Machine(working=["able"], offered=TWO.models)
    assert await FirstRun(person, machine).run()
    assert person.asked[1] == (
        f"Indwell: Which model of {url}? It must support tool calls.",
        ("able, 32 k", "plain, 8 k, no tools", BACK),
    )
    assert machine.connected == [(url, None, None), (url, None, "able")]


async def test_a_model_can_be_typed_if_there_are_more_models_than_buttons() -> None:
    many = tuple(OfferedModel(f"m{number}") for number in range(20))
    server = LocalServer("vllm", "vLLM", "http://127.0.0.1:8000/v1", many)
    person = Person("Use vLLM", TYPE_MODEL, typed=" m17 ", asks=True)
    machine = Machine(server, working=["m17"])
    assert await FirstRun(person, machine).run()
    assert person.asked[1][1] == (*(f"m{number}" for number in range(6)), TYPE_MODEL, BACK)
    assert machine.connected == [(server.base_url, None, "m17")]


async def test_parallel_requests_wait_for_one_answer_of_the_first_run() -> None:
    person, machine = Person("Use Ollama: q"), Machine(OLLAMA, working=["q"])
    person.thinks.clear()
    flow = FirstRun(person, machine)
    waiting = [asyncio.create_task(flow.run()) for _ in range(3)]
    await person.was_asked.wait()
    waiting[0].cancel()
    person.thinks.set()
    assert await asyncio.gather(*waiting[1:]) == [True, True]
    assert (waiting[0].cancelled(), len(person.asked)) == (True, 1)


async def test_after_not_now_the_next_prompt_asks_again() -> None:
    person, machine = Person(NOT_NOW, NOT_NOW), Machine()
    flow = FirstRun(person, machine)
    assert not await flow.run()
    assert not await flow.run()
    assert len(person.asked) == 2


async def test_a_server_shutdown_closes_the_first_run() -> None:
    person = Person(NOT_NOW)
    person.thinks.clear()
    flow = FirstRun(person, Machine())
    waiting = asyncio.create_task(flow.run())
    await person.was_asked.wait()
    await flow.stop()
    with pytest.raises(asyncio.CancelledError):
        await waiting
