"""The letters of a permission question at a terminal: y means yes once, Enter means no."""

from __future__ import annotations

import json

import pytest

from support.editing import USAGE, Home
from support.loopback_endpoint import endpoint_in_thread, say
from support.terminal_screen import Terminal

FACT = ("remember", json.dumps({"fact": "Prices are kept in cents."}))
EDIT = ("write_file", json.dumps({"path": "new.txt", "content": "x\n"}))


@pytest.mark.parametrize(
    ("call", "choices", "typed", "answer"),
    [
        (FACT, "[N]o (Enter), [Y]es: remember it? ", "y", "once"),
        (FACT, "[N]o (Enter), [Y]es: remember it? ", "", "no"),
        (EDIT, "[N]o (Enter), [O]nce", "yes", "once"),
    ],
)
def test_y_means_yes_once_and_enter_means_no(tmp_path, call, choices, typed, answer) -> None:
    home = Home(tmp_path)
    with (
        endpoint_in_thread([say(calls=[call], usage=USAGE), say("Well.")]) as endpoint,
        Terminal(
            "run",
            "--mode",
            "ask",
            "go",
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        ) as terminal,
    ):
        terminal.answer(choices, "?")
        terminal.answer(f"y means yes once, Enter means no.\r\n{choices}", typed)
        terminal.until(f"answered: {answer}")
        assert terminal.ends() == 0
