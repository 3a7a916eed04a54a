"""The output of a background command: stored up to a limit, cut for the model, without secrets."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from indwell.agent.features.background.board import seconds_words
from indwell.agent.features.background.output import (
    HELD_B,
    KEPT_CHARACTERS,
    MOST_WAITING_B,
    SHOWN_CHARACTERS,
    Output,
)
from indwell.sandbox import run_program
from indwell.secrets import Hider
from indwell.tools.truncate import OUTPUT_LIMIT, OUTPUT_TAIL
from support.made_secrets import made_secrets
from support.platforms import posix_only
from support.running_on import SOON_S


def hide_nothing(text: str) -> str:
    return text


async def test_output_is_kept_up_to_a_limit_and_its_end_stays_known() -> None:
    kept: list[str] = []

    async def keep(text: str) -> None:
        kept.append(text)

    output = Output(keep, hide_nothing)
    line = b"0123456789abcde\n" * 1_024
    for _ in range(KEPT_CHARACTERS // len(line) + 40):
        output.feed(line)
        await output.settle()
    output.feed(b"the end")
    await output.settle(is_end=True)
    news = await output.take_news(lambda: "; see the file")
    assert sum(map(len, kept)) == KEPT_CHARACTERS
    assert not output.is_whole
    assert len(output.tail) == SHOWN_CHARACTERS
    assert output.tail.endswith("\nthe end")
    assert len(news) < OUTPUT_LIMIT + OUTPUT_TAIL + 100
    assert "characters left out; see the file …]\n" in news
    assert news.endswith("\nthe end")
    assert await output.take_news(str) == ""


async def test_output_that_arrives_faster_than_it_is_stored_is_counted() -> None:
    output = Output(nothing_kept, hide_nothing)
    output.feed(b"x" * (MOST_WAITING_B + 7))
    assert "[… 7 bytes came too fast to be kept …]" in await output.take_news(str)


@posix_only("shell")
async def test_all_output_of_a_fast_command_is_kept(tmp_path: Path) -> None:
    output, kept = hiding()
    n_lines = 3 * MOST_WAITING_B // 8
    finished = await run_program(
        ["seq", "1000000", str(1_000_000 + n_lines)],
        cwd=tmp_path,
        timeout_s=SOON_S,
        on_chunk=output.feed,
        alone=True,
    )
    await output.settle(is_end=True)
    assert sum(map(len, kept)) == finished.total_b
    assert "".join(kept).count("\n") == n_lines + 1
    assert output.is_whole


@pytest.mark.parametrize(
    "piece",
    [b"y\n", b"x", b"-----BEGIN " + b"PRIVATE KEY-----" + b"A" * 9_000, b"a " * 20_000 + b"\n"],
    ids=["lines", "one line", "keys in one line", "long lines"],
)
async def test_the_output_queue_has_room_again_after_output_of_any_size(piece: bytes) -> None:
    output, _ = hiding()
    room = output.feed(piece * (HELD_B // len(piece) + 1))
    assert room is not None
    await asyncio.wait_for(room, SOON_S)
    assert output.feed(b"") is None


async def test_a_secret_across_two_chunks_of_a_long_line_is_hidden() -> None:
    secret = made_secrets()["github"][1]
    output, kept = hiding()
    for start in range(32_700, 32_780, 10):  # positions around the end of a chunk
        output.feed(b"a" + b" " * start + f"{secret} {'b ' * 5_000}\n".encode())
        await output.settle()
    shown = "".join(kept)
    assert shown.count("[secret hidden") == len(range(32_700, 32_780, 10))
    assert secret[-12:] not in shown


async def test_a_full_disk_does_not_stop_a_command() -> None:
    async def full(_text: str) -> None:
        raise OSError(28, "no space left on device")

    output = Output(full, hide_nothing)
    output.feed(b"one\n")
    await output.settle()
    output.feed(b"two\n")
    assert await output.take_news(str) == "one\ntwo\n"
    assert not output.is_whole


async def test_secrets_are_searched_in_whole_lines() -> None:
    seen: list[str] = []

    def hide(text: str) -> str:
        seen.append(text)
        return text.replace("hush-hush", "***")

    output = Output(nothing_kept, hide)
    for piece in (b"first\nhush", b"-", b"hush\n"):
        output.feed(piece)
        await output.settle()
    assert await output.take_news(str) == "first\n***\n"
    assert [one for one in seen if one] == ["first\n", "hush-hush\n"]


@pytest.mark.parametrize("end", [b"\n", b""])
async def test_half_a_secret_is_not_shown_when_output_is_read_early(end: bytes) -> None:
    secret = made_secrets()["github"][1]
    output, kept = hiding()
    output.feed(f"token {secret[:20]}".encode())
    first = await output.take_news(str)
    output.feed(secret[20:].encode() + end)
    await output.settle(is_end=not end)
    shown = [first, await output.take_news(str), *kept]
    assert first == "token "
    assert [secret[:20] in one or secret[20:] in one for one in shown] == [False] * len(shown)
    assert "".join(kept).startswith("token [secret hidden")


async def test_reading_output_line_by_line_shows_no_line_of_a_private_key() -> None:
    key = made_secrets()["private key"][0]
    output, kept = hiding()
    news = []
    for line in ("before", *key.splitlines(), "behind"):
        output.feed(f"{line}\n".encode())
        news.append(await output.take_news(str))
    shown = "".join(news)
    assert [line for line in key.splitlines()[1:-1] if line in shown] == []
    assert shown.startswith("before\n-----BEGIN")
    assert shown.endswith("-----\nbehind\n")
    assert "".join(kept) == shown


async def test_a_private_key_header_in_text_does_not_delay_other_output() -> None:
    output = Output(nothing_kept, hide_nothing)
    lines = made_secrets()["private key"][0].splitlines()[0] + "\n" + "just words\n" * 30
    output.feed(lines.encode())
    assert await output.take_news(str) == lines


async def test_an_unfinished_line_is_shown_and_shown_again_when_complete() -> None:
    output, kept = hiding()
    output.feed(b"one\nGo on? ")
    assert await output.take_news(str) == "one\nGo on? "
    assert kept == ["one\n"]
    output.feed(b"yes\n")
    assert await output.take_news(str) == "Go on? yes\n"


async def test_reading_output_does_not_wait_for_later_output() -> None:
    output = Output(nothing_kept, hide_nothing)

    async def flood() -> None:
        while True:
            output.feed(b"y\n" * 100_000)
            await asyncio.sleep(0)

    flooding = asyncio.create_task(flood())
    try:
        await asyncio.wait_for(output.take_news(str), SOON_S)
        assert (await asyncio.wait_for(output.take_news(str), SOON_S)).startswith("y\n")
    finally:
        flooding.cancel()


async def test_lost_output_does_not_split_a_secret() -> None:
    secret = made_secrets()["github"][1]
    output, kept = hiding()
    head = b"y\n" * ((MOST_WAITING_B - 30) // 2)
    output.feed(head + f"token {secret} {'z' * 40}".encode())
    output.feed(f"{secret[20:]}\nbehind\n".encode())
    await output.settle(is_end=True)
    whole = "".join(kept)
    assert secret[:12] not in whole
    assert secret[20:] not in whole
    assert "bytes came too fast to be kept …]\n" in whole


def hiding() -> tuple[Output, list[str]]:
    """Return an output that hides secrets, and the list of its stored chunks."""
    kept: list[str] = []

    async def keep(text: str) -> None:
        kept.append(text)

    return Output(keep, Hider().hide), kept


async def nothing_kept(_text: str) -> None:
    """Accept a write without storing the text."""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (99, "99 s"), (150, "2 min"), (5_940, "99 min"), (7_500, "2 h 5 min")],
)
def test_a_duration_is_formatted_for_people(seconds: float, words: str) -> None:
    assert seconds_words(seconds) == words


class SlowHider:
    """Hides secrets in one text only after a delay, as a busy thread does."""

    def __init__(self, slow: str) -> None:
        self._slow = slow
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, text: str) -> str:
        if text == self._slow and not self.begun.is_set():
            self.begun.set()
            assert self.go_on.wait(SOON_S)
        return text


async def test_a_line_completed_during_a_read_keeps_its_position() -> None:
    hider = SlowHider("half a ")
    output = Output(nothing_kept, hider)
    output.feed(b"half a ")
    looking = asyncio.ensure_future(output.take_news(str))
    await asyncio.to_thread(hider.begun.wait, SOON_S)
    output.feed(b"line\n")
    settling = asyncio.ensure_future(output.settle())
    # Decoding must not finish before the read has ended.
    await asyncio.wait({settling}, timeout=0.5)
    hider.go_on.set()
    await settling
    assert [await looking, await output.take_news(str)] == ["half a ", "half a line\n"]


async def test_reading_output_waits_for_bytes_that_are_being_decoded() -> None:
    hider = SlowHider("the end\n")
    output = Output(nothing_kept, hider)
    output.feed(b"the end\n")
    await asyncio.to_thread(hider.begun.wait, SOON_S)
    settling = asyncio.ensure_future(output.settle(is_end=True))
    for _ in range(10):
        await asyncio.sleep(0)
    hider.go_on.set()
    await settling
    assert output.tail == "the end\n"
