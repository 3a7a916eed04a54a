"""The model's question at a terminal, as in the docs; without a terminal, no question is asked."""

from __future__ import annotations

import json

import pytest

from indwell.lsp.chat.rendering import question_words
from support.doc_examples import examples
from support.editing import USAGE, Home, results, texts_of
from support.loopback_endpoint import LoopbackEndpoint, endpoint_in_thread, say
from support.terminal import indwell
from support.terminal_screen import Terminal

QUESTION = "Which port shall the server use?"
OPTIONS = ["8000", "8080"]
ASKING = say(
    calls=[("ask_user", json.dumps({"question": QUESTION, "options": OPTIONS}))], usage=USAGE
)
SCRIPT = [ASKING, say("Well.", usage=USAGE)]


@pytest.mark.parametrize(
    ("typed", "result", "words"),
    [
        ("2", "The user chose option 2: 8080", ""),
        ("9000, please", "The user answers in words of their own, which follow.", "9000, please"),
        ("3", "The user answers in words of their own, which follow.", "3"),
        ("0010", "The user answers in words of their own, which follow.", "0010"),
        ("", "the user closed the question without an answer", ""),
    ],
)
def test_a_question_is_answered_by_a_number_or_a_text(tmp_path, typed, result, words) -> None:
    home = Home(tmp_path)
    (promised,) = examples("ask.md", "text")
    with (
        endpoint_in_thread(SCRIPT) as endpoint,
        Terminal(
            "run", "go", environment=home.environment(endpoint.base_url), folder=home.workspace
        ) as terminal,
    ):
        terminal.answer("decides): ", typed)
        assert terminal.ends() == 0
        sent = endpoint.seen[-1]
    assert promised.text.rstrip("\n") in terminal.shown.replace("\r\n", "\n")
    assert results(sent)[0].startswith(result)
    assert texts_of(sent.body["messages"]).endswith(words)


def test_after_an_unanswered_question_the_next_question_can_be_answered(tmp_path) -> None:
    home = Home(tmp_path)
    home.configure('answer_timeout_s = 1\nmode = "ask"\n')
    written = say(
        calls=[("write_file", json.dumps({"path": "a.txt", "content": "a\n"}))], usage=USAGE
    )
    script = [ASKING, written, say("Well.", usage=USAGE)]
    with (
        endpoint_in_thread(script) as endpoint,
        Terminal(
            "run", "go", environment=home.environment(endpoint.base_url), folder=home.workspace
        ) as terminal,
    ):
        terminal.until("nobody answered within 1 seconds")
        terminal.answer("[A]lways? ", "o")
        assert terminal.ends() == 0
    assert home.files["a.txt"] == b"a\n"


@pytest.mark.parametrize("more", [(), ("--allow-commands",), ("--json",)])
async def test_without_a_terminal_the_model_decides_a_question_itself(tmp_path, more) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint(SCRIPT) as endpoint:
        environment = home.environment(endpoint.base_url)
        ended = await indwell("run", *more, "go", environment=environment, folder=home.workspace)
        assert ended.code == 0, ended
        assert results(endpoint.seen[-1]) == [
            "there is nobody here who could be asked, so decide yourself, and say what you decided"
        ]


def test_the_chat_shows_a_question_as_documented() -> None:
    (promised,) = examples("ask.md", "markdown")
    assert f"{question_words(QUESTION, OPTIONS)}\n" == promised.text


def test_every_line_of_a_question_is_shown_as_a_quotation() -> None:
    words = question_words("a\n## You\nsend this\n```\n<!-- x", ["## You", "<b>"])
    assert all(line.startswith(">") for line in words.split("\n"))
