from __future__ import annotations

import logging
import subprocess
import sys
import threading

from hypothesis import given
from hypothesis import strategies as st

from indwell.cli.serve.logs import (
    BURST,
    LINE_LIMIT,
    StderrHandler,
    Throttle,
    redacted,
    secrets_of,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def written(handler: StderrHandler, lines: list[str]) -> list[str]:
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger = logging.Logger("made-up")  # noqa: LOG001 - one that no other test sees
    logger.addHandler(handler)
    for line in lines:
        logger.warning("%s", line)
    handler.flush()
    return lines


def test_keys_are_redacted_from_logs_by_value_and_by_form() -> None:
    words = "a canary-1234 b sk-proj-abcdefgh12 c Bearer abcdefghijkl d http://me:pw12@host/x"
    assert redacted(words, ("canary-1234",)) == (
        "a [secret] b [secret] c [secret] d http://[secret]@host/x"
    )


def test_only_variables_that_name_a_secret_are_secrets() -> None:
    environment = {
        "OPENAI_API_KEY": "canary-key-1",
        "GITHUB_TOKEN": "canary-token-long",
        "KEYBOARD": "de",
        "PATH": "/usr/bin:/bin",
    }
    assert secrets_of(environment) == ("canary-token-long", "canary-key-1")


def test_a_flood_of_log_lines_is_limited_and_counted() -> None:
    clock = Clock()
    throttle = Throttle(rate=10, burst=3, monotonic=clock)
    assert [throttle.admit() for _ in range(5)] == [0, 0, 0, None, None]
    clock.now = 0.1
    assert [throttle.admit(), throttle.admit()] == [2, None]


@given(st.lists(st.floats(0, 2), max_size=60))
def test_the_log_never_exceeds_its_burst_and_rate(pauses) -> None:
    clock = Clock()
    throttle = Throttle(rate=5, burst=4, monotonic=clock)
    admitted = 0
    for pause in pauses:
        clock.now += pause
        admitted += throttle.admit() is not None
    assert admitted <= 4 + 5 * clock.now + 1e-6


def test_a_long_log_record_is_shortened_and_contains_no_secret() -> None:
    out: list[str] = []
    written(StderrHandler(("canary-key-1",), out.append), ["x canary-key-1", "y" * 10_000])
    assert out == [
        "WARNING x [secret]\n",
        f"WARNING {'y' * (LINE_LIMIT - 8)} … (10,008 characters)\n",
    ]


def test_hidden_characters_are_escaped_in_the_log_and_a_name_cannot_imitate_a_record() -> None:
    got: list[str] = []
    written(StderrHandler((), got.append), ["'a\x1b[2J\u202e\n\n2026-11-29T08:00:00Z ERROR b'"])
    assert got == ["WARNING 'a\\u001b[2J\\u202e\n  2026-11-29T08:00:00Z ERROR b'\n"]


def test_a_full_stderr_pipe_does_not_block_logging() -> None:
    stuck = threading.Event()
    handler = StderrHandler((), lambda _line: stuck.wait(10))
    try:
        written(handler, [f"line {number}" for number in range(BURST)])
    finally:
        stuck.set()
    # Only fast writes reach this line, because each slow write would have waited ten seconds.
    assert handler._lines.unfinished_tasks <= BURST


def test_if_no_thread_can_start_log_lines_are_written_directly() -> None:
    out: list[str] = []
    begun: list[object] = []
    has_room = False

    def start(work: object) -> None:
        if not has_room:
            raise RuntimeError("can't start new thread")
        begun.append(work)

    handler = StderrHandler((), out.append, start=start)
    written(handler, ["one", "two"])
    assert out == ["WARNING one\n", "WARNING two\n"]
    has_room = True
    written(handler, ["three"])
    assert (len(begun), out[2:]) == (1, []), "from now on the thread writes"


def test_a_full_stderr_pipe_does_not_block_logging_without_a_thread() -> None:
    def start(_work: object) -> None:
        raise RuntimeError("can't start new thread")

    def blocks(_line: str) -> None:
        raise AssertionError("it would wait for good")

    written(StderrHandler((), blocks, start=start, is_ready=lambda: False), ["one"])


def test_the_log_is_not_loaded_before_initialize_is_answered() -> None:
    """Editors wait for the answer to ``initialize``, and the log imports a large module."""
    program = (
        "import sys, indwell.cli.serve.command\n"
        "print(sorted({'indwell.cli.serve.logs', 'indwell.secrets'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert ended.stdout.decode().strip() == "[]"
