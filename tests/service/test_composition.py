"""The service's answers about models, endpoints and sessions, in the folders of a test."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from indwell.agent.core.events import TurnFinished
from indwell.agent.core.prompt import Prompt
from indwell.agent.core.session import Session
from indwell.agent.core.session_parts import Log
from indwell.agent.loop.turn import run_turn
from indwell.bounds.git.known_state import GitEntry
from indwell.cli.terminal.front_door import AllowingApprover
from indwell.errors import UserError
from indwell.providers.offered_models import OfferedModel
from indwell.service.endpoint.connecting import page, provider_table
from indwell.service.service import Service
from indwell.service.sessions.review_ledgers import open_ledger
from indwell.sessions.records import Record, TurnEndRecord
from indwell.sessions.storage.store import SessionStore, folder_name
from indwell.settings.model import Settings
from indwell.wiring.service import Composition
from support import file_keyring
from support.editing import Home
from support.fault_endpoint import FaultEndpoint, streamed
from support.front_door import NotingDoor
from support.loopback_endpoint import LoopbackEndpoint, chunk, say
from support.model_server import answering, listed
from support.raw_wire import PATIENCE_S

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def home(tmp_path, monkeypatch) -> Home:
    """Set the process's folders to those of the test, for platformdirs and keyring."""
    home = Home(tmp_path)
    for name, value in {**home.environment(), **file_keyring.variables(home.folder)}.items():
        if name not in {"PATH", "PYTHONPATH"}:
            monkeypatch.setenv(name, value)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "INDWELL_MODEL", "INDWELL_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    return home


async def nothing(_session: Session, _finished: TurnFinished) -> None:
    """Show no end of a turn."""


async def service_of(home: Home, *, scripted: bool = False) -> Service:
    """Return the service in the workspace of the test, with all settings read."""
    composition = Composition(home.environment(), scripted=scripted)
    service = composition.service(NotingDoor())
    service.start((home.workspace,), {})
    service.sessions.workspace = composition.disk((home.workspace,))
    await service.configuration.ask()  # A session waits 5 s for this answer.
    return service


async def test_a_connected_local_server_is_stored_in_the_settings(home) -> None:
    async with LoopbackEndpoint(answering(listed("q"))) as endpoint:
        service = await service_of(home)
        made = service.endpoint
        assert (await made.lacking()).startswith("no model is set; run `indwell login`")
        outcome = await made.connect(endpoint.base_url, None, "q")
        assert (outcome.ok, outcome.model, outcome.notes) == (True, "q", ())
        assert await made.lacking() == ""
        await service.configuration.read_again()
        settings = service.settings
        assert (settings.model, settings.base_url) == ("q", endpoint.base_url)
        assert await made.models() == (OfferedModel("q"),)


async def test_logging_in_with_several_models_keeps_the_model_in_use(home) -> None:
    async with LoopbackEndpoint(answering(listed("a", "b"))) as endpoint:
        home.configure('model = "b"\n')
        outcome = await (await service_of(home)).endpoint.login("", None, endpoint.base_url)
        assert (outcome.ok, outcome.model) == (True, "b")
        other = await (await service_of(home)).endpoint.login("", None, endpoint.base_url, "a")
        assert (other.ok, other.model) == (True, "a")


async def test_if_an_endpoint_has_several_models_all_are_named_and_none_is_chosen(home) -> None:
    async with LoopbackEndpoint(answering(listed("a", "b"))) as endpoint:
        outcome = await (await service_of(home)).endpoint.login("", None, endpoint.base_url)
        step = outcome.steps[-1]
        assert (outcome.ok, outcome.model, [one.name for one in outcome.offered]) == (
            False,
            "",
            ["a", "b"],
        )
        assert step.words == "no model was chosen of a, b; name one"
        again = await (await service_of(home)).endpoint.login("", None, outcome.base_url, "b")
    assert (again.ok, again.model, again.offered) == (True, "b", ())


async def test_the_users_settings_for_the_current_model_apply(home) -> None:
    async with LoopbackEndpoint(answering(listed("a", "b", max_model_len=9_000))) as endpoint:
        home.configure(
            f'model = "b"\nbase_url = "{endpoint.base_url}"\nwindow = 50000\nprice_out = 2.5\n'
        )
        assert await (await service_of(home)).endpoint.models() == (
            OfferedModel("a", 9_000),
            OfferedModel("b", 50_000, price_out=2.5, source="settings"),
        )


async def test_without_an_endpoint_listing_models_fails_without_a_request(home) -> None:
    with pytest.raises(UserError, match=r"no model is set; run `indwell login`"):
        await (await service_of(home)).endpoint.models()


async def test_a_broken_permissions_file_is_reported_once_and_stops_no_session(home) -> None:
    path = home.state / "permissions" / f"{folder_name(home.workspace)}.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"not json")
    service = await service_of(home, scripted=True)
    said = []
    for _ in range(2):
        session = await service.sessions.get("new")
        said.append(session.notice)
        assert session.parts.rules().policy.granted == frozenset()
    await service.stop()
    # Without a sandbox, a notice about the missing sandbox comes each time.
    assert [path.as_posix() in one for one in said] == [True, False]


async def test_the_rules_of_a_session_follow_its_git_state_and_folders(home) -> None:
    service = await service_of(home, scripted=True)
    parts = (await service.sessions.get("new")).parts
    before = parts.rules()
    assert parts.rules() is before
    parts.changes.git.waiting = (GitEntry("file", ".envrc", "b1", "the index", "/w", ".envrc"),)
    waits = parts.rules()
    assert (before.policy.in_git, len(waits.policy.in_git)) == ((), 1)
    other = home.workspace / "other"
    parts.workspace.roots = (*parts.workspace.roots, other)
    assert parts.rules() is not waits
    await service.stop()


async def test_a_failed_login_stores_no_key(home) -> None:
    script = answering(listed("q"), chat=lambda _seen: say("x", finish="length"), key="right")
    async with LoopbackEndpoint(script) as endpoint:
        outcome = await (await service_of(home)).endpoint.login("", "wrong", endpoint.base_url)
    assert (outcome.ok, outcome.steps[-1].name, outcome.steps[-1].state) == (False, "key", "fail")
    assert not (home.config / "indwell").exists()
    with pytest.raises(UserError, match="'nobody' is not a provider"):
        await (await service_of(home)).endpoint.login("nobody", None, None)


async def test_only_the_users_own_models_can_be_chosen(home) -> None:
    home.configure('model = "a"\nmodels = ["b"]\n')
    configuration = (await service_of(home)).configuration
    assert [configuration.allowed_model(name) for name in ("b", "a")] == ["b", "a"]
    with pytest.raises(UserError) as caught:
        configuration.allowed_model("c")
    config = home.config / "indwell" / "config.toml"
    assert str(caught.value) == (
        f"'c' is not among the models of your settings ('a', 'b'); add it to `models` in {config}, "
        "or run `indwell login --model c`"
    )


async def test_a_new_session_deletes_expired_sessions(home) -> None:
    home.configure("keep_sessions_days = 30\n")
    store = SessionStore(home.state, home.workspace)
    for days in (60, 1):
        at = datetime.now(UTC) - timedelta(days=days)
        name, writer = store.create(model="m", now=at)
        await writer.close()
        os.utime(store.spill(name).parent / "log.jsonl", (at.timestamp(), at.timestamp()))
    service = await service_of(home, scripted=True)
    # opening the second session waits for the first deletion
    opened = [await service.sessions.get("new") for _ in range(2)]
    await service.stop()
    assert set(store.ids()) == {name, *(session.id for session in opened)}
    told = "Indwell deleted 1 old session (`keep_sessions_days`): 0.0 MB, on "
    assert [told in session.notice for session in opened] == [False, True]


async def test_a_session_that_cannot_be_opened_is_released(home) -> None:
    composition = Composition(home.environment(), scripted=True)
    answers = [Settings(provider="scripted")]

    def settings() -> Settings:
        if not answers:
            raise UserError("a setting cannot be used")
        return answers.pop()

    workspace = composition.disk((home.workspace,))
    review = await open_ledger(home.environment(), (home.workspace,), Settings)
    with pytest.raises(UserError) as caught:
        await composition.begin(workspace, AllowingApprover(), settings, review)
    await review.close()
    store = SessionStore(home.state, home.workspace)
    (begun,) = store.ids()
    _, log = store.resume(begun, now=datetime.now(UTC))  # no process has the session open
    await log.close()
    assert str(caught.value) == "a setting cannot be used"


async def test_the_model_can_be_changed_within_a_session(home) -> None:
    async with LoopbackEndpoint(lambda _seen: say("Well.")) as endpoint:
        home.configure(
            f'model = "a"\nmodels = ["b"]\nbase_url = "{endpoint.base_url}"\n'
            "window = 32000\nprice_in = 1\nprice_out = 1\n"
        )
        service = await service_of(home)
        session = await service.sessions.get(None)
        await run_turn(session, Prompt("one"), lambda _event: None)
        service.configuration.choose_model("b")
        assert await service.sessions.get(None) is session
        await run_turn(session, Prompt("two"), lambda _event: None)
        await service.stop()
        assert [seen.body["model"] for seen in endpoint.seen] == ["a", "b"]
        first, second = (seen.body["messages"] for seen in endpoint.seen)
        assert second[: len(first)] == first


class HeldLog:
    """A log that does not commit the end of a turn before ``released`` is set."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.reached, self.released = asyncio.Event(), asyncio.Event()
        self._has_end = False

    def append(self, record: Record) -> None:
        self._has_end = isinstance(record, TurnEndRecord)
        self._log.append(record)

    def commit_soon(self) -> None:
        self._log.commit_soon()

    async def commit(self) -> None:
        if self._has_end:
            self.reached.set()
            await self.released.wait()
        await self._log.commit()

    async def close(self) -> None:
        await self._log.close()


async def with_held_log(home: Home, base_url: str) -> tuple[Service, HeldLog]:
    """Return the service, and the log of its current session."""
    home.configure(f'model = "a"\nbase_url = "{base_url}"\nwindow = 32000\n')
    service = await service_of(home)
    session = await service.sessions.get(None)
    log = HeldLog(session.parts.log)
    session.parts = dataclasses.replace(session.parts, log=log)
    return service, log


async def test_a_message_to_a_turn_whose_end_is_being_stored_is_refused_after_that_end(
    home,
) -> None:
    """A client sends a refused message as a prompt, but only if it knows that the turn ended."""
    async with LoopbackEndpoint(lambda _seen: say("Well.")) as endpoint:
        service, log = await with_held_log(home, endpoint.base_url)
        ticket = await service.prompt(Prompt("one"), None, None, nothing)
        await log.reached.wait()
        steering = asyncio.create_task(service.steer("two", None))
        await asyncio.sleep(0.05)
        assert (steering.done(), ticket.finished) == (False, None)
        log.released.set()
        with pytest.raises(UserError, match="no turn is running"):
            await steering
        assert ticket.finished is not None
        await service.stop()


async def test_a_prompt_sent_after_a_stop_is_not_held_while_the_turn_still_ends(home) -> None:
    """Only prompts that waited before the stop are held, because the user sent this one later."""
    async with LoopbackEndpoint(lambda _seen: say("Well.")) as endpoint:
        service, log = await with_held_log(home, endpoint.base_url)
        first = await service.prompt(Prompt("one"), None, None, nothing)
        await first.begun.wait()
        assert service.turns.cancel()
        await log.reached.wait()
        second = await service.prompt(Prompt("two"), None, None, nothing)
        log.released.set()
        assert (await first.wait()).ending == "cancelled"
        async with asyncio.timeout(PATIENCE_S):
            assert (await second.wait()).ending == "done"
        await service.stop()


async def test_a_prompt_sent_while_its_session_is_left_is_held(home) -> None:
    async with LoopbackEndpoint(lambda _seen: say("Well.")) as endpoint:
        service, log = await with_held_log(home, endpoint.base_url)
        first = await service.prompt(Prompt("one"), None, None, nothing)
        await first.begun.wait()
        leaving = asyncio.create_task(service.turns.drain("the session is left"))
        await log.reached.wait()
        await service.prompt(Prompt("two"), None, None, nothing)
        log.released.set()
        await leaving
        (waiting,) = service.turns.queue.waiting
        assert (waiting.prompt.words, waiting.is_held) == ("two", True)
        await service.stop()


async def test_a_session_that_ends_closes_its_connections_for_every_model(home) -> None:
    """Each session has its own connections, and an endpoint may keep them open for hours."""
    reply = streamed(chunk({"content": "Well."}, finish="stop"))
    async with FaultEndpoint([reply, reply]) as endpoint:
        home.configure(
            f'model = "a"\nmodels = ["b"]\nbase_url = "{endpoint.base_url}"\n'
            "window = 32000\nprice_in = 1\nprice_out = 1\n"
        )
        service = await service_of(home)
        session = await service.sessions.get(None)
        await run_turn(session, Prompt("one"), lambda _event: None)
        service.configuration.choose_model("b")
        assert await service.sessions.get(None) is session
        await run_turn(session, Prompt("two"), lambda _event: None)
        assert (endpoint.n_connections, endpoint.n_open) == (2, 2)
        await service.stop()
        async with asyncio.timeout(60):
            while endpoint.n_open:  # noqa: ASYNC110 - the endpoint looks for the end as often
                await asyncio.sleep(0.005)


async def test_the_scripted_model_needs_no_setup(home) -> None:
    endpoint = (await service_of(home, scripted=True)).endpoint
    assert await endpoint.lacking() == ""
    assert [model.source for model in await endpoint.models()] == ["demo"]


async def test_the_saved_welcome_page_is_in_the_state_folder(home) -> None:
    path = await (await service_of(home)).endpoint.first_run_page()
    assert path == home.state / "first-run.md"
    assert path.read_text(encoding="utf-8") == page(str(home.config / "indwell" / "config.toml"))


def test_the_documentation_contains_the_table_of_providers() -> None:
    assert provider_table() in (DOCS / "getting-started.md").read_text(encoding="utf-8")


def test_a_starting_server_loads_no_module_that_is_needed_later() -> None:
    """Keyring, TOML writer and HTTP client take a third of a second, and few starts need them."""
    late = (
        "keyring",
        "tomlkit",
        "httpx2",
        "openai",
        "genai_prices",
        "indwell.service.endpoint.connect",
    )
    code = (
        "import sys, indwell.wiring.service, indwell.lsp.server\n"
        f"print([name for name in {late!r} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"
