"""The log of a server: its output and what happened to it, with secrets hidden, within limits."""

from __future__ import annotations

import asyncio
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from indwell.mcp.connection import Connection
from indwell.mcp.definition import HttpServer, ServerDefinition, StdioServer
from indwell.mcp.offers import McpError
from indwell.mcp.server_log import MOST_CHARACTERS, MOST_LINES, ServerLog
from indwell.mcp.servers import Servers
from indwell.mcp.surrounding import Surrounding
from indwell.secrets import Hider

SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"
KEY = "sk-ant-" + "api03-" + "a1B2c3D4e5F6g7H8" * 3


def noisy(first: str, **more: object) -> ServerDefinition:
    """Return the SDK's example server, which first runs other Python code."""
    code = f"import os, runpy, sys\n{first}\nrunpy.run_path(sys.argv[1], run_name='__main__')"
    transport = StdioServer(
        sys.executable, ("-c", code, str(SERVER)), (("OWN_TOKEN", "pw-3141592"),)
    )
    return ServerDefinition("paper", transport, is_confined=False, **more)  # type: ignore[arg-type]


@asynccontextmanager
async def connected(folder: Path, definition: ServerDefinition) -> AsyncIterator[Connection]:
    servers = Servers()
    try:
        yield await servers.lease(definition, Surrounding((folder,))).opened()
    finally:
        await servers.close()


async def found(paper: Connection, is_there: Callable[[str], bool]) -> Sequence[str]:
    """Read the log until a line is there, because the pipes of a program are not in step."""
    async with asyncio.timeout(30):
        while not any(map(is_there, lines := await paper.log.read())):
            pass
    return lines


def has(part: str) -> Callable[[str], bool]:
    return lambda line: part in line


async def test_the_log_has_the_start_the_output_and_the_log_messages_of_a_server(
    tmp_path: Path,
) -> None:
    message = (
        '{"jsonrpc":"2.0","method":"notifications/message",'
        '"params":{"level":"warning","logger":"tray","data":"low\\\\non paper"}}'
    )
    errors = "sys.stderr.write('reading paper\\n'); sys.stderr.flush()"
    first = f"{errors}; print('Hello!\\n{message}', flush=True)"
    async with connected(tmp_path, noisy(first)) as paper:
        await paper.tools()
        await found(paper, has("[stderr] reading paper"))
        lines = await found(paper, has("[log] on paper"))
        start, *_, ready = [line for line in lines if "[indwell]" in line]
        assert start.startswith(time.strftime("%Y-%m-%d"))
        assert f"[indwell] starting outside of the sandbox: {sys.executable} -c" in start
        assert "[indwell] ready: paper 1.2 uses version 20" in ready
        assert any(line.endswith("[stdout] Hello!") for line in lines)
        assert any(line.endswith("[log] warning: tray: low") for line in lines)


async def test_the_log_has_the_end_of_a_program_the_next_start_and_a_restart(
    tmp_path: Path,
) -> None:
    async with connected(tmp_path, noisy("")) as paper:
        with pytest.raises(McpError, match="broke"):
            await paper.call("die", {})
        await paper.call("add", {"a": 1, "b": 1})
        await paper.restart()
        await paper.tools()
        steps = [
            *("starting", "ready: ", "tools/call die: ", "the program ended with exit code 3"),
            *("waiting: it ended with exit code 3", "starting", "ready: ", "Indwell stopped it"),
            *("Indwell starts it again", "starting", "ready: "),
        ]
        told = [line.partition("[indwell] ")[2] for line in await paper.log.read()]
        assert sum(line.startswith("ready: ") for line in told) == 3
        for step in steps:
            assert any(line.startswith(step) for line in told), (step, told)


async def test_the_log_names_a_request_that_was_refused_or_not_answered(tmp_path: Path) -> None:
    async with connected(tmp_path, noisy("", timeout_s=0.5)) as paper:
        with pytest.raises(McpError):
            await paper.read("note://gone")
        with pytest.raises(McpError):
            await paper.call("slow", {"seconds": 600})
        lines = await paper.log.read()
        assert any(
            "resources/read note://gone: the MCP server 'paper' refused" in line for line in lines
        )
        assert any(
            "tools/call slow: " in line and "did not answer within 0.5 s" in line for line in lines
        )


async def test_the_log_of_a_server_at_an_address_says_why_it_cannot_be_reached(
    tmp_path: Path,
) -> None:
    header = ("Authorization", "Bearer hunter2hunter2")
    server = HttpServer("http://127.0.0.1:9/mcp?token=hunter2hunter2", (header,))
    async with connected(tmp_path, ServerDefinition("docs", server)) as docs:
        with pytest.raises(McpError):
            await docs.tools()
        first, last = await docs.log.read()
        assert "[indwell] connecting to http://127.0.0.1:9/mcp" in first
        assert "[indwell] failed: it could not be started" in last
        assert "hunter2" not in first + last


async def test_secrets_are_hidden_and_10_mb_without_a_newline_are_one_short_line(
    tmp_path: Path,
) -> None:
    words = f"'\\x1b[32m' + '{KEY}' + '\\x1b[0m and ' + os.environ['OWN_TOKEN'] + ' end\\n'"
    long = "os.write(2, b'y' * (10 << 20)); os.write(2, b'z\\nlast\\n')"
    async with connected(tmp_path, noisy(f"os.write(2, ({words}).encode()); {long}")) as paper:
        await paper.tools()
        lines = await found(paper, has("[stderr] last"))
        first, long, _ = [line for line in lines if "[stderr]" in line]
        assert first.count("[secret hidden: ") == 2
        assert not any("pw-3141592" in line or KEY in line for line in lines)
        assert "yyy" in long
        assert long.endswith("more bytes are left out)")
        assert len(long) < 5_000


def plain() -> ServerLog:
    return ServerLog("paper", Hider().hide)


async def test_a_log_keeps_the_newest_lines_within_its_limits() -> None:
    log = plain()
    for number in range(100):
        log.take(b"".join(b"%d.%d\n" % (number, line) for line in range(1_000)))
    lines = await log.read()
    assert len(lines) == MOST_LINES + 1
    assert lines[0] == "(older lines are left out)"
    assert lines[-1].endswith("[stderr] 99.999")
    log.take(b"\n".join([b"w" * 3_000] * 100))
    lines = await log.read()
    assert 40_000 < sum(map(len, lines)) <= MOST_CHARACTERS + len(lines[0])


async def test_a_line_that_arrives_in_pieces_is_one_line_and_an_open_line_is_shown() -> None:
    log = plain()
    for piece in (b"one ", "zwö".encode()[:3], "zwö".encode()[3:], b"\r\n\n \nopen"):
        log.take(piece)
    first, last = await log.read()
    assert first.endswith("[stderr] one zwö")
    assert last.endswith("[stderr] open")
    assert log.last_words == "; its last words: one zwö"
    log.end()
    assert log.last_words == "; its last words: open"


async def test_control_characters_in_a_log_are_visible_and_colours_are_left_out() -> None:
    log = plain()
    log.take("\x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2J\0\u202eevil\rover\u2028next\n".encode())
    log.note("one\ntwo")
    (line, *notes) = await log.read()
    assert line.endswith(
        r"[stderr] red \u001b]0;title\u0007\u001b[2J\u0000\u202eevil\u000dover\u2028next"
    )
    assert [one.partition(" [")[2] for one in notes] == ["indwell] one", "indwell] two"]


async def test_a_key_that_is_cut_or_that_begins_in_a_dropped_line_is_hidden() -> None:
    log = plain()
    log.take(b"." * 3_980 + b" " + KEY.encode() + b"\n")
    assert "sk-ant" not in "".join(await log.read())
    body = "\n".join("Ab3/" * 16 for _ in range(200))
    private = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"
    for n_after in (0, MOST_LINES - 100, MOST_LINES):
        log = plain()
        for line in private.splitlines(keepends=True):
            log.take(line.encode())
        log.take(b"after\n" * n_after)
        assert "Ab3/Ab3/" not in "".join(await log.read())


async def test_a_flood_of_standard_error_does_not_block_the_event_loop() -> None:
    log = plain()
    began = time.process_time()
    for _ in range(100):
        log.take(b"\n" * 32_768 + b"a\n" * 16_384)
        log.take(b"x" * 65_536)
    assert time.process_time() - began < 2.0  # 10 ms for each part, on a slow machine


async def test_a_line_without_an_end_takes_little_memory() -> None:
    log, part = plain(), b"x" * 65_536
    tracemalloc.start()
    try:
        for _ in range(160):
            log.take(part)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    (line,) = await log.read()
    assert line.endswith(f"({160 * 65_536 - 3_000:,} more bytes are left out)")
