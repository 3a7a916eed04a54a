"""MCP servers over streamable HTTP on the loopback interface: a real server, and faulty servers."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from indwell.mcp.definition import HttpServer, ServerDefinition
from indwell.mcp.offers import McpError, NeedsLogin
from indwell.mcp.servers import Servers
from indwell.mcp.surrounding import Surrounding
from support.certificates import Authority
from support.platforms import posix_only

SERVER = Path(__file__).parents[1] / "support" / "mcp_server.py"
Answer = tuple[str, dict[str, str], bytes]
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "odd", "version": "1"},
}


@asynccontextmanager
async def connected(url: str, **more: Any) -> AsyncIterator[Any]:
    servers = Servers()
    definition = ServerDefinition("odd", HttpServer(url, **more), timeout_s=20)
    try:
        yield await servers.lease(definition, Surrounding((Path.cwd(),))).opened()
    finally:
        await servers.close()


@asynccontextmanager
async def odd_server(
    answer: Callable[[dict[str, Any], dict[str, str]], Answer],
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[str]:
    """Run a server that answers each POST by ``answer``, and refuses GET and DELETE."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        status, more, data = "405 Method Not Allowed", {}, b""
        if first.startswith("POST"):
            message = json.loads(body)
            if "id" in message:
                status, more, data = answer(message, headers)
            else:
                status = "202 Accepted"
        more = {"Content-Length": str(len(data)), "Connection": "close", **more}
        lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in more.items())]
        writer.write("\r\n".join((*lines, "", "")).encode() + data)
        with suppress(OSError):  # the client has closed the connection
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        scheme = "http" if tls is None else "https"
        yield f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


def said(message: dict[str, Any], result: Any) -> Answer:
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    return "200 OK", {"Content-Type": "application/json"}, json.dumps(reply).encode()


def usual(message: dict[str, Any]) -> Answer:
    """Answer as a server with one tool does."""
    match message["method"]:
        case "initialize":
            return said(message, GREETING)
        case "tools/list":
            return said(message, {"tools": [{"name": "go", "inputSchema": {"type": "object"}}]})
        case "tools/call":
            return said(message, {"content": [{"type": "text", "text": "gone"}]})
    error = {"code": -32601, "message": "Method not found"}
    reply = {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return "200 OK", {"Content-Type": "application/json"}, json.dumps(reply).encode()


async def test_a_server_of_the_sdk_is_used_over_http() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(SERVER), "--http", str(port)), stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        while b"running on" not in await process.stderr.readline():
            assert process.returncode is None
        async with connected(f"http://127.0.0.1:{port}/mcp") as paper:
            assert (await paper.call("add", {"a": 2, "b": 3})).structured == {"result": 5}
            assert (await paper.resources())[0].uri == "note://today"
    finally:
        process.terminate()
        await process.communicate()


async def test_the_headers_of_a_definition_go_to_its_server() -> None:
    seen: list[str] = []

    def answer(message: dict[str, Any], headers: dict[str, str]) -> Answer:
        seen.append(headers.get("x-team", ""))
        return usual(message)

    async with odd_server(answer) as url, connected(url, headers=(("X-Team", "blue"),)) as odd:
        await odd.call("go", {})
    assert set(seen) == {"blue"}


async def test_a_redirect_to_another_origin_gets_no_message_and_no_header() -> None:
    seen: list[str] = []

    def elsewhere(message: dict[str, Any], headers: dict[str, str]) -> Answer:
        seen.append(message["method"])
        return usual(message)

    async with odd_server(elsewhere) as other:

        def answer(_message: dict[str, Any], _headers: dict[str, str]) -> Answer:
            return "307 Temporary Redirect", {"Location": other}, b""

        async with odd_server(answer) as url, connected(url, headers=(("X-Key", "k"),)) as odd:
            with pytest.raises(McpError):
                await odd.tools()
    assert seen == []


@pytest.mark.parametrize(
    ("name", "more", "data"),
    [
        ("large", {"Content-Type": "application/json"}, b'"' + b"x" * (9 << 20) + b'"'),
        ("compressed", {"Content-Type": "application/json", "Content-Encoding": "gzip"}, b"x"),
        ("a page", {"Content-Type": "text/html"}, b"<p>Hello"),
        ("no JSON", {"Content-Type": "application/json"}, b"{"),
    ],
)
async def test_an_answer_that_is_not_a_message_ends_the_call_with_a_plain_error(
    name: str, more: dict[str, str], data: bytes
) -> None:
    def answer(message: dict[str, Any], _headers: dict[str, str]) -> Answer:
        return ("200 OK", more, data) if message["method"] == "tools/call" else usual(message)

    async with odd_server(answer) as url, connected(url) as odd:
        with pytest.raises(McpError, match="MCP server 'odd'"):
            await asyncio.wait_for(odd.call("go", {}), 60)


async def test_a_server_that_requires_a_login_gives_a_plain_error() -> None:
    def answer(_message: dict[str, Any], _headers: dict[str, str]) -> Answer:
        return "401 Unauthorized", {}, b""

    async with odd_server(answer) as url, connected(url) as odd:
        with pytest.raises(NeedsLogin, match="run `indwell mcp login odd`"):
            await odd.tools()
        assert odd.state == "needs login"


async def test_an_address_without_a_server_gives_a_plain_error() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    async with connected(f"http://127.0.0.1:{port}/mcp") as odd:
        with pytest.raises(McpError, match="'odd' does not run: it could not be started"):
            await odd.tools()


async def test_a_result_of_very_many_parts_is_cut_with_a_note() -> None:
    piece = {"type": "text", "text": "x"}

    def answer(message: dict[str, Any], headers: dict[str, str]) -> Answer:
        del headers
        if message["method"] == "tools/call":
            return said(message, {"content": [piece] * 1_500})
        return usual(message)

    async with odd_server(answer) as url, connected(url) as odd:
        pieces = (await odd.call("go", {})).pieces
    assert len(pieces) == 1_001
    assert pieces[-1].text == "[500 more pieces of this result were left out]"


async def test_a_message_with_too_many_values_only_fails_the_call() -> None:
    def answer(message: dict[str, Any], headers: dict[str, str]) -> Answer:
        del headers
        if message["method"] == "tools/call":
            return said(message, {"structuredContent": {"a": [1] * 1_100_000}, "content": []})
        return usual(message)

    async with odd_server(answer) as url, connected(url) as odd:
        with pytest.raises(McpError):
            await odd.call("go", {})
        assert [one.name for one in await odd.tools()] == ["go"]


@posix_only("openssl")
async def test_the_certificates_of_ssl_cert_file_are_used_for_a_server_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = await asyncio.to_thread(Authority, tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*await asyncio.to_thread(authority.sign, "127.0.0.1"))
    async with odd_server(lambda message, _: usual(message), tls) as url:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
        async with connected(url) as connection:
            assert [one.name for one in await connection.tools()] == ["go"]
