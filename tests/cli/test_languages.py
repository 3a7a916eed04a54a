"""The terminal in another language: a question, the end of a turn, errors, help; never JSON."""

from __future__ import annotations

import json

import pytest

from support.editing import USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, endpoint_in_thread, say
from support.terminal import indwell
from support.terminal_screen import Terminal

EDIT = ("write_file", json.dumps({"path": "new.txt", "content": "x\n"}))
GERMAN = {"LANG": "de_DE.UTF-8"}


def test_a_german_terminal_asks_and_reports_in_german(tmp_path) -> None:
    home = Home(tmp_path)
    with (
        endpoint_in_thread([say(calls=[EDIT], usage=USAGE), say("Well.")]) as endpoint,
        Terminal(
            "run",
            "--mode",
            "ask",
            "go",
            environment=home.environment(endpoint.base_url, **GERMAN),
            folder=home.workspace,
        ) as terminal,
    ):
        terminal.until("new.txt ändern? (der Modus ist `ask`: Jede Bearbeitung wird bestätigt)")
        terminal.answer("[N] nein (Eingabe), [O] einmal", "o")
        terminal.until("beantwortet: einmal")
        terminal.until("nicht geprüft: nichts hat die Änderungen geprüft")
        assert terminal.ends() == 0


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de_DE.UTF-8", "indwell sessions: in diesem Arbeitsbereich gibt es keine Sitzung 'nine'"),
        ("zh_CN.UTF-8", "indwell sessions: 此工作区中没有会话 'nine'"),
    ],
)
async def test_an_error_is_shown_in_the_terminals_language(tmp_path, language, words) -> None:
    home = Home(tmp_path)
    environment = home.environment(LANG=language)
    ended = await indwell(
        "sessions", "show", "nine", environment=environment, folder=home.workspace
    )
    assert ended.code == 2
    assert ended.stderr.startswith(words)


async def test_help_is_german_and_json_stays_english(tmp_path) -> None:
    home = Home(tmp_path)
    told = await indwell(
        "trust", "--help", environment=home.environment(**GERMAN), folder=home.workspace
    )
    assert "das Vertrauen entziehen" in told.stdout
    async with LoopbackEndpoint([say(calls=[EDIT], usage=USAGE), say("Well.")]) as endpoint:
        environment = home.environment(endpoint.base_url, **GERMAN)
        arguments = ("run", "--json", "--mode", "ask", "go")
        ended = await indwell(*arguments, environment=environment, folder=home.workspace)
    (asked,) = [one for one in ended.events if one["type"] == "permissionAsked"]
    assert asked["title"] == "Change new.txt?"
    assert asked["reason"] == "the mode is `ask`: each edit is confirmed"
