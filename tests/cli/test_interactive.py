"""The interactive session in a pseudo-terminal: prompts, questions, steering, stops, resuming."""

from __future__ import annotations

import re
import signal
import stat
import time

import pytest

from support.editing import EDIT, MENDED, READ, SOURCE, USAGE, Home, texts_of
from support.loopback_endpoint import HANG, Answer, chunk, endpoint_in_thread, say, sse, stream
from support.terminal_screen import INTERRUPT, Terminal

ENTER = "\r"
ESCAPE = "\x1b"
CHOICES = "[N]o (Enter), [O]nce"
SLOW = Answer(
    (sse(chunk({"content": "I think\n\nabout"})), HANG),
    headers={"Content-Type": "text/event-stream"},
)
FIX = [
    say("I look.", calls=[READ], usage=USAGE),
    say(calls=[EDIT], usage=USAGE),
    say("**Done.**"),
]


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


def started(home: Home, base_url: str, *arguments: str, columns: int = 100) -> Terminal:
    return Terminal(
        *arguments,
        environment=home.environment(base_url, NO_COLOR="1"),
        folder=home.workspace,
        kind="xterm",
        columns=columns,
    )


def left(terminal: Terminal) -> int:
    """Leave by two presses of Ctrl-C."""
    terminal.press(INTERRUPT)
    terminal.until("Press Ctrl-C again to leave.")
    terminal.press(INTERRUPT)
    return terminal.ends()


def test_a_prompt_is_answered_and_two_presses_of_ctrl_c_leave(home) -> None:
    with (
        endpoint_in_thread([say("# Well\n\nIt is **so**.\x1b]0;evil\x07")]) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"hello{ENTER}")
        terminal.until("It is so.\\u001b]0;evil\\u0007")
        terminal.until("1 round")
        assert left(terminal) == 0
    assert "indwell --continue" in terminal.shown
    assert "\x1b[?1049h" not in terminal.shown, "the whole screen was taken over"
    (history,) = home.state.glob("terminal-history.jsonl")
    assert history.read_text(encoding="utf-8") == '"hello"\n'
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


def test_lines_that_were_sent_before_the_start_is_over_are_answered(home) -> None:
    with (
        endpoint_in_thread([say("Well.")]) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.press(f"early words{ENTER}")
        terminal.until("1 round")
    assert "early words" in texts_of(endpoint.seen[0].body["messages"])


@pytest.mark.parametrize(
    ("typed", "answer", "text"), [("o", "once", MENDED), ("", "no", SOURCE), ("no", "no", SOURCE)]
)
def test_an_edit_is_made_only_after_a_yes(home, typed, answer, text) -> None:
    home.configure('mode = "ask"\n')
    with (
        endpoint_in_thread(FIX) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"fix it{ENTER}")
        terminal.until(CHOICES)
        terminal.reply(f"{typed}{ENTER}", f"answered: {answer}")
        terminal.until("3 rounds")
    assert home.shop.read_text(encoding="utf-8") == text


def test_keys_typed_ahead_answer_no_question(home) -> None:
    home.configure('mode = "ask"\n')
    with (
        endpoint_in_thread(FIX) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"fix it{ENTER}")
        for _ in range(60):  # the user types while the question waits and appears
            terminal.press(f"o{ENTER}yes{ENTER}a{ENTER}")
            time.sleep(0.03)
        terminal.until(CHOICES)
        for _ in range(10):
            terminal.press(f"o{ENTER}yes{ENTER}a{ENTER}")
            time.sleep(0.05)
        assert "answered" not in terminal.shown
        terminal.reply(f"n{ENTER}", "answered: no")
    assert home.shop.read_text(encoding="utf-8") == SOURCE


def test_keys_typed_while_the_program_was_stopped_answer_no_question(home) -> None:
    home.configure('mode = "ask"\n')
    with (
        endpoint_in_thread(FIX) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"fix it{ENTER}")
        terminal.until(CHOICES)
        terminal.send(signal.SIGSTOP)
        time.sleep(1.0)  # After 0.6 s without a key, a running program would take keys.
        terminal.press(f"o{ENTER}")
        terminal.send(signal.SIGCONT)
        terminal.reply(f"n{ENTER}", "answered: no")
    assert home.shop.read_text(encoding="utf-8") == SOURCE


def test_text_sent_during_a_turn_steers_the_turn(home) -> None:
    slow = stream(
        chunk({"content": "Hm. "}), 1.5, chunk({"content": "Go."}), chunk({}, finish="stop")
    )
    with (
        endpoint_in_thread([slow, say("With tabs.")]) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"go{ENTER}")
        terminal.until("Hm.")
        terminal.press(f"use tabs{ENTER}")
        terminal.until("taken: use tabs")
        terminal.until("With tabs.")
    assert "use tabs" in texts_of(endpoint.seen[1].body["messages"])


@pytest.mark.parametrize("key", [ESCAPE, INTERRUPT], ids=["escape", "ctrl-c"])
def test_a_turn_is_stopped_by_a_key_and_the_session_continues(home, key) -> None:
    with (
        endpoint_in_thread([SLOW, say("Well.")]) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"go{ENTER}")
        terminal.until("I think")
        terminal.press(key)
        terminal.until("stopped")
        terminal.press(f"again{ENTER}")
        terminal.until("Well.")
        terminal.until("1 round")


def test_a_rewind_returns_the_prompt_to_the_input_line(home) -> None:
    with (
        endpoint_in_thread([say("One."), say("Two.")]) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        for words, answer in (("first words", "One."), ("second words", "Two.")):
            terminal.press(f"{words}{ENTER}")
            terminal.until(answer)
            terminal.until("1 round")
        terminal.press(f"/context{ENTER}")
        terminal.until("newest exchange")
        terminal.until("25.0%  room for the reply")
        terminal.until("by source: ")
        terminal.press(f"/rewind 1{ENTER}")
        terminal.until("back at the end of turn 1")
        terminal.until("second words")


def test_a_killed_session_continues_where_it_was(home) -> None:
    with endpoint_in_thread([say("One."), say("Two.")]) as endpoint:
        with started(home, endpoint.base_url) as terminal:
            terminal.until("/help lists commands")
            terminal.press(f"first words{ENTER}")
            terminal.until("1 round")
            terminal.kill()
        with started(home, endpoint.base_url) as terminal:
            terminal.until("> first words")
            terminal.until("One.")
            terminal.until("The session goes on.")
            terminal.press(f"and now{ENTER}")
            terminal.until("Two.")
            terminal.until("1 round")
            assert left(terminal) == 0
        with started(home, endpoint.base_url) as terminal:
            terminal.until("/help lists commands")  # after an orderly end, a new session begins
    assert "first words" in texts_of(endpoint.seen[1].body["messages"])


def test_a_session_fits_into_forty_columns(home) -> None:
    with (
        endpoint_in_thread([say("word " * 40)]) as endpoint,
        started(home, endpoint.base_url, columns=40) as terminal,
    ):
        terminal.until("/help")
        terminal.press(f"go{ENTER}")
        terminal.until("1 round")
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.shown).replace("\r", "\n").split("\n")
    assert max(len(line) for line in lines if line.startswith("word")) <= 40


def test_a_plain_session_uses_no_cursor_movements_and_no_colours(home) -> None:
    home.configure('mode = "ask"\n')
    with (
        endpoint_in_thread(FIX) as endpoint,
        started(home, endpoint.base_url, "--plain") as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"fix it{ENTER}")
        terminal.press(f"o{ENTER}")
        terminal.until(CHOICES)
        time.sleep(0.8)
        assert "answered" not in terminal.shown
        terminal.reply(f"o{ENTER}", "**Done.**")
        terminal.until("3 rounds")
        terminal.press(f"/quit{ENTER}")
        assert terminal.ends() == 0
    assert "\x1b" not in terminal.shown
    assert home.shop.read_text(encoding="utf-8") == MENDED


def test_the_users_own_command_is_attached_only_when_the_user_says_so(home) -> None:
    with (
        endpoint_in_thread([say("Zero."), say("One."), say("Two.")]) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"!yes{ENTER}")
        terminal.until("the rest is not shown; Esc stops it")
        terminal.press(ESCAPE)
        terminal.until("stopped")
        terminal.press(f"!touch ran{ENTER}two{ENTER}")
        terminal.until("Run it?")
        terminal.reply(ENTER, "the command did not run")
        assert not (home.workspace / "ran").exists()
        terminal.press(f"!echo own-$((20 + 3)){ENTER}")
        terminal.until("own-23")
        terminal.until("only you see this")
        terminal.press(f"first{ENTER}")
        terminal.until("1 round")
        terminal.press(f"/share{ENTER}")
        terminal.until("goes with your next prompt")
        terminal.press(f"second{ENTER}")
        terminal.until("Two.")
    first, second = (texts_of(one.body["messages"]) for one in endpoint.seen[-2:])
    assert ("own-23" in first, "own-23" in second) == (False, True)


def test_a_long_paste_is_folded_and_sent_whole(home) -> None:
    lines = "\r".join(f"line {number}" for number in range(40))
    with (
        endpoint_in_thread([say("One.")]) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"see \x1b[200~{lines}\x1b[201~")
        terminal.until("[paste 1: 40 lines]")
        terminal.press(ENTER)
        terminal.until("1 round")
    assert "line 38\nline 39" in texts_of(endpoint.seen[0].body["messages"])


def test_a_pasted_picture_of_markdown_is_a_prompt_and_no_command(home) -> None:
    with (
        endpoint_in_thread([say("One.")]) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press("\x1b[200~![badge](x)$(touch ran)\x1b[201~")
        terminal.until("[paste 1: 1 line]")
        terminal.press(ENTER)
        terminal.until("1 round")
    assert "![badge](x)$(touch ran)" in texts_of(endpoint.seen[0].body["messages"])
    assert not (home.workspace / "ran").exists()


def test_changes_are_reviewed_in_place(home) -> None:
    with (
        endpoint_in_thread(FIX) as endpoint,
        started(home, endpoint.base_url) as terminal,
    ):
        terminal.until("/help lists commands")
        terminal.press(f"fix it{ENTER}")
        terminal.until("1 change to review: /review")
        terminal.press(f"/review{ENTER}")
        terminal.until("[a]ccept, [r]eject")
        terminal.reply(f"r{ENTER}", "1 rejected")
    assert home.shop.read_text(encoding="utf-8") == SOURCE
