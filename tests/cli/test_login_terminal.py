"""Logging in at a terminal: questions, hidden keys, further tries, and Ctrl-C at each question."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from indwell.cli.connections.login import NO_SERVER, choose_address
from indwell.providers.endpoint import LocalServer
from support import file_keyring
from support.editing import Home
from support.loopback_endpoint import HANG, Answer, endpoint_in_thread, refuse, say
from support.model_server import CALL, answering, listed
from support.terminal_screen import Terminal

CANARY = "sk-canary-30d7"


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


def at_terminal(home: Home, *arguments: str) -> Terminal:
    environment = {**home.environment(), **file_keyring.variables(home.folder)}
    return Terminal(*arguments, environment=environment, folder=home.workspace)


def config(home: Home) -> str:
    path = home.config / "indwell" / "config.toml"
    return path.read_text(encoding="utf-8") if path.exists() else ""


@pytest.mark.parametrize("is_found", [True, False])
def test_login_tells_whether_a_model_server_runs_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, *, is_found: bool
) -> None:
    server = LocalServer("ollama", "Ollama", "http://127.0.0.1:11434/v1")
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n"))
    console = Console(file=io.StringIO(), soft_wrap=True)
    address = choose_address((server,) if is_found else (), console)
    shown = console.file.getvalue()
    assert (NO_SERVER in shown) is not is_found
    assert (address == server.base_url) is is_found


def test_login_asks_for_every_value_and_hides_the_key(home) -> None:
    with (
        endpoint_in_thread(answering(listed("one", "two"), key=CANARY)) as endpoint,
        at_terminal(home, "login", endpoint.base_url) as terminal,
    ):
        terminal.answer("Key (not shown", CANARY)
        terminal.answer("Which model?", "nine")
        terminal.answer("nine", "tw")
        assert "Asking two to call a tool" in terminal.until("answers from now on")
        assert terminal.ends() == 0
        assert CANARY not in terminal.shown
        assert "There is no model named 'nine'" in terminal.shown
    assert 'model = "two"' in config(home)


def test_one_ctrl_c_ends_login_with_one_sentence_and_restores_terminal_echo(home) -> None:
    def interrupted(prompt: str, *arguments: str, hidden: bool = False) -> str:
        with at_terminal(home, "login", *arguments) as terminal:
            terminal.interrupt(prompt, hidden=hidden)
            assert terminal.ends() == 130, terminal.shown
            assert terminal.echoes
            return terminal.shown

    with endpoint_in_thread(answering(listed("one", "two"))) as endpoint:
        url = endpoint.base_url
        keyed = interrupted("Key (not shown", url, hidden=True)
        asked = interrupted("> ")
        with at_terminal(home, "login", url) as terminal:
            terminal.answer("Key (not shown", "")
            terminal.interrupt("a part of one > ")
            assert (terminal.ends(), terminal.echoes) == (130, True)
    for shown in (keyed, asked, terminal.shown):
        assert "Traceback" not in shown
        assert shown.rstrip().endswith("stopped; nothing was stored")
    assert config(home) == ""


def test_ctrl_c_ends_login_while_the_endpoint_is_silent(home) -> None:
    with (
        endpoint_in_thread(answering(listed("q"), chat=lambda _seen: Answer((HANG,)))) as there,
        at_terminal(home, "login", there.base_url) as terminal,
    ):
        terminal.answer("Key (not shown", "")
        terminal.interrupt("Asking q to call a tool")
        assert terminal.ends() == 130
        assert terminal.shown.rstrip().endswith("stopped; nothing was stored")
        assert "Traceback" not in terminal.shown


def test_a_wrong_key_is_asked_for_again(home) -> None:
    with (
        endpoint_in_thread(answering(listed("q"), key=CANARY)) as endpoint,
        at_terminal(home, "login", endpoint.base_url) as terminal,
    ):
        terminal.answer("Key (not shown; Enter: none)", "sk-mistyped")
        terminal.until("the key is not accepted")
        terminal.answer("Key (not shown; Enter: stop)", CANARY)
        terminal.until("q calls tools")
        assert terminal.ends() == 0
    origin = endpoint.base_url.removesuffix("/v1")
    assert file_keyring.held(home.folder) == {f"indwell {origin}": CANARY}


def test_enter_instead_of_another_key_stops(home) -> None:
    with (
        endpoint_in_thread(answering(listed("q"), key=CANARY)) as endpoint,
        at_terminal(home, "login", endpoint.base_url) as terminal,
    ):
        terminal.answer("Enter: none)", "sk-mistyped")
        terminal.answer("Enter: stop)", "")
        assert terminal.ends() == 1
        assert "does not work yet; nothing was stored" in terminal.shown
    assert config(home) == ""


def test_login_asks_for_another_model_if_one_has_no_tools(home) -> None:
    def chat(seen):
        plain = seen.body["model"] == "plain"
        if not plain:
            return say(calls=[CALL])
        return refuse(400, "plain does not support tools") if "tools" in seen.body else say("hi")

    with (
        endpoint_in_thread(answering(listed("embed-1", "plain", "able", "bold"), chat=chat)) as end,
        at_terminal(home, "login", end.base_url) as terminal,
    ):
        terminal.answer("Key (not shown", "")
        table = terminal.until("a part of one > ")
        assert table.index("able") < table.index("plain") < table.index("embed-1")
        terminal.answer("", "plain")
        terminal.until("does not support tool calls")
        terminal.answer("a part of one > ", "able")
        terminal.until("able calls tools")
        assert terminal.ends() == 0
    assert 'model = "able"' in config(home)


def test_an_address_that_does_not_answer_is_asked_for_again(home) -> None:
    with (
        endpoint_in_thread(answering(listed("q"))) as endpoint,
        at_terminal(home, "login") as terminal,
    ):
        terminal.answer("> ", "127.0.0.1:9")
        terminal.answer("Enter: none)", "")
        terminal.until("check that the server runs on this machine, and its port")
        terminal.answer("> ", endpoint.base_url.removeprefix("http://").removesuffix("/v1"))
        terminal.answer("Enter: none)", "")
        terminal.until("q calls tools")
        assert terminal.ends() == 0
    assert config(home) == f'model = "q"\nbase_url = "{endpoint.base_url}"\n'


def test_login_asks_for_a_name_of_a_second_endpoint_and_keeps_both(home) -> None:
    with (
        endpoint_in_thread(answering(listed("one"))) as first,
        endpoint_in_thread(answering(listed("two"), key=CANARY)) as second,
    ):
        home.configure(f'model = "one"\nbase_url = "{first.base_url}"\n')
        with at_terminal(home, "login", second.base_url) as terminal:
            terminal.answer("keep both (Enter: use the new one instead)", "Not a name")
            terminal.answer("'Not a name' is not a name for an endpoint", "work")
            terminal.answer("Key (not shown", CANARY)
            terminal.until("two@work at")
            assert terminal.ends() == 0
            assert "You already use one at" in terminal.shown
    assert config(home) == (
        f'model = "two@work"\nbase_url = "{first.base_url}"\n\n'
        f'[endpoints.work]\nbase_url = "{second.base_url}"\n'
    )


def test_enter_in_place_of_a_name_uses_the_new_endpoint_alone(home) -> None:
    with (
        endpoint_in_thread(answering(listed("one"))) as first,
        endpoint_in_thread(answering(listed("two"))) as second,
    ):
        home.configure(f'model = "one"\nbase_url = "{first.base_url}"\n')
        with at_terminal(home, "login", second.base_url) as terminal:
            terminal.answer("keep both (Enter: use the new one instead)", "")
            terminal.answer("Key (not shown", "")
            terminal.until("answers from now on")
            assert terminal.ends() == 0
    assert config(home) == f'model = "two"\nbase_url = "{second.base_url}"\n'
