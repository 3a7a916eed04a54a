"""The proxy with a made-up internet: the test has names and addresses; connections are real."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import ipaddress
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator

import pytest

from indwell.errors import ToolError
from indwell.sandbox.program import run_program
from indwell.sandbox.proxy.handover import Way, _is_door, way_by_port, way_to
from indwell.sandbox.proxy.service import MOST_CONNECTIONS

PUBLIC = ipaddress.ip_address("93.184.216.34")
BWRAP = shutil.which("bwrap")


def can_wall() -> bool:
    argv = [BWRAP or "", "--ro-bind", "/", "/", "--unshare-net", "true"]
    return bool(BWRAP) and subprocess.run(argv, check=False).returncode == 0


walled = pytest.mark.skipif(not can_wall(), reason="bubblewrap does not work here")


class Internet:
    """A web server on loopback with every public address, and a table of names."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {"allowed.example": [str(PUBLIC)]}
        self.reached: list[str] = []
        self.heard: list[bytes] = []
        self.asked: list[str] = []
        self.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
        self.port = 0

    async def resolve(self, place):
        self.asked.append(place.host)
        if place.host not in self.names:
            raise OSError("no such name")
        return [ipaddress.ip_address(one) for one in self.names[place.host]]

    async def reach(self, address, port):
        self.reached.append(f"{address}:{port}")
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def serve(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            if b"content-length: " in head:
                size = int(head.partition(b"content-length: ")[2].split()[0])
                head += await reader.readexactly(size)
            self.heard.append(head)
            writer.write(self.answer)
            await writer.drain()
        writer.close()


@pytest.fixture
async def internet() -> AsyncIterator[Internet]:
    one = Internet()
    server = await asyncio.start_server(one.serve, "127.0.0.1", 0)
    one.port = server.sockets[0].getsockname()[1]
    yield one
    server.close()


@contextlib.asynccontextmanager
async def proxied(internet: Internet, *hosts: str) -> AsyncIterator[Way]:
    async with way_by_port(hosts, resolve=internet.resolve, reach=internet.reach) as way:
        yield way


async def say(way: Way, text: bytes, *, credentials: bool = True) -> bytes:
    """Return the proxy's whole answer to these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
    word = way.env["http_proxy"].partition("//")[2].partition("@")[0]
    if credentials:
        header = b"Proxy-Authorization: Basic " + base64.b64encode(word.encode())
        text = text.replace(b"\r\n", b"\r\n" + header + b"\r\n", 1)
    writer.write(text)
    with contextlib.suppress(OSError):
        writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), 60)
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def test_plain_http_reaches_the_named_host(internet) -> None:
    async with proxied(internet, "allowed.example") as way:
        answer = await say(
            way,
            b"GET http://allowed.example/a?b=c HTTP/1.1\r\nHost: attacker.example\r\n"
            b"Proxy-Connection: keep-alive\r\nAccept: */*\r\n\r\n",
        )
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b"hello\n")
    assert internet.reached == [f"{PUBLIC}:80"]
    (heard,) = internet.heard
    assert heard.startswith(b"GET /a?b=c HTTP/1.1\r\nHost: allowed.example\r\n")
    assert b"attacker" not in heard
    assert b"roxy" not in heard
    assert b"Connection: close" in heard


async def test_the_proxy_forwards_the_body_of_a_request(internet) -> None:
    async with proxied(internet, "allowed.example") as way:
        await say(
            way,
            b"POST http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n"
            b"Content-Length: 4\r\n\r\nbody",
        )
    assert internet.heard[0].endswith(b"\r\n\r\nbody")


async def test_the_proxy_refuses_a_second_request_on_one_connection(internet) -> None:
    async with proxied(internet, "allowed.example") as way:
        one = b"GET http://allowed.example/ HTTP/1.1\r\nHost: allowed.example\r\n\r\n"
        two = b"GET http://attacker.example/ HTTP/1.1\r\nHost: attacker.example\r\n\r\n"
        await say(way, one + two)
    assert len(internet.heard) == 1


async def test_a_tunnel_carries_bytes_both_ways(internet) -> None:
    async with proxied(internet, "allowed.example") as way:
        answer = await say(
            way,
            b"CONNECT allowed.example:443 HTTP/1.1\r\nHost: attacker.example\r\n\r\n"
            b"GET / HTTP/1.1\r\n\r\n",
        )
    assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n" + internet.answer
    assert internet.reached == [f"{PUBLIC}:443"]


REFUSED = [
    b"CONNECT attacker.example:443",
    b"CONNECT allowed.example:22",
    b"CONNECT allowed.example",
    b"CONNECT allowed.example.:443",
    b"CONNECT user@allowed.example:443",
    b"CONNECT attacker.example%00.allowed.example:443",
    b"CONNECT attacker.example\x00.allowed.example:443",
    b"CONNECT 93.184.216.34:443",
    b"CONNECT [::ffff:93.184.216.34]:443",
    b"CONNECT [2606:4700::1111]:443",
    b"CONNECT 127.0.0.1:80",
    b"CONNECT 2130706433:80",
    b"CONNECT 169.254.169.254:80",
    b"CONNECT localhost:80",
    b"GET http://attacker.example/",
    b"GET http://allowed.example@attacker.example/",
    b"GET http://attacker.example#@allowed.example/",
    b"GET http://attacker.example\\@allowed.example/",
    b"GET http://allowed.example:22/",
    b"GET http://169.254.169.254/latest/meta-data/",
    b"GET https://allowed.example/",
    b"GET file:///etc/passwd",
    b"GET gopher://allowed.example/",
    b"GET ftp://allowed.example/",
    b"GET /",
    b"GET *",
    b"\x16\x03\x01\x02\x00",
    b"SSH-2.0-x",
    b"\x05\x01\x00",
]


@pytest.mark.parametrize("line", REFUSED)
async def test_sbx_19_a_host_outside_the_list_gets_no_connection(internet, line) -> None:
    async with proxied(internet, "allowed.example") as way:
        answer = await say(way, line + b" HTTP/1.1\r\nHost: allowed.example\r\n\r\n")
    assert not answer.startswith(b"HTTP/1.1 2")
    assert internet.reached == []
    assert internet.asked == []  # even looking up a name would send data


@pytest.mark.parametrize(
    "addresses",
    [["127.0.0.1"], ["10.0.0.1"], [str(PUBLIC), "192.168.1.1"], ["::ffff:127.0.0.1"], ["::1"], []],
)
async def test_sbx_19_a_name_with_a_private_address_is_refused_after_its_lookup(
    internet, addresses
) -> None:
    internet.names["allowed.example"] = addresses
    async with proxied(internet, "*") as way:
        answer = await say(way, b"CONNECT allowed.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert way.refused == ("allowed.example:443",)
    assert answer.startswith(b"HTTP/1.1 403")
    assert internet.reached == []


async def test_sbx_19_a_name_is_looked_up_once_and_that_address_is_used(internet) -> None:
    """A second look-up could return another address (DNS rebinding)."""
    async with proxied(internet, "allowed.example") as way:
        await say(way, b"CONNECT allowed.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert internet.asked == ["allowed.example"]
    assert internet.reached == [f"{PUBLIC}:443"]


async def test_sbx_20_an_empty_list_of_hosts_blocks_every_connection(internet) -> None:
    async with proxied(internet) as way:
        answer = await say(way, b"CONNECT allowed.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert way.refused == ("allowed.example:443",)
    assert answer.startswith(b"HTTP/1.1 403 Refused by the sandbox")
    assert internet.asked == []


async def test_a_process_outside_the_command_cannot_use_its_proxy(internet) -> None:
    async with proxied(internet, "allowed.example") as way:
        answer = await say(
            way, b"GET http://allowed.example/ HTTP/1.1\r\nHost: x\r\n\r\n", credentials=False
        )
    assert answer.startswith(b"HTTP/1.1 407")
    assert internet.asked == []


async def test_a_name_without_an_address_is_reported(internet) -> None:
    async with proxied(internet, "nowhere.example") as way:
        answer = await say(way, b"CONNECT nowhere.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert answer.endswith(b"no address was found for nowhere.example\n")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nraw",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 3 + b"HTTP/1.1 204 No\r\n\r\nrest",
        b"HTTP/1.1 999 \r\n\r\n",
    ],
)
async def test_a_host_that_violates_http_does_not_break_the_proxy(internet, answer, caplog) -> None:
    internet.answer = answer
    async with proxied(internet, "allowed.example") as way:
        await say(way, b"GET http://allowed.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
        internet.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n"
        after = await say(way, b"GET http://allowed.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
    assert after.endswith(b"hello\n")
    assert caplog.records == []


async def test_the_connections_of_a_command_end_with_the_command(internet) -> None:
    async with proxied(internet, "allowed.example") as way:
        reader, writer = await asyncio.open_connection("127.0.0.1", way.port)
        word = way.env["http_proxy"].partition("//")[2].partition("@")[0]
        auth = base64.b64encode(word.encode())
        writer.write(
            b"CONNECT allowed.example:443 HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic "
            + auth + b"\r\n\r\n"
        )  # fmt: skip
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    assert await asyncio.wait_for(reader.read(), 60) == b""
    writer.close()


async def test_connections_over_the_limit_are_closed(internet) -> None:
    async with proxied(internet, "allowed.example") as way:
        held = [
            await asyncio.open_connection("127.0.0.1", way.port) for _ in range(MOST_CONNECTIONS)
        ]
        one_more = await say(way, b"CONNECT allowed.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
        for _, writer in held:
            writer.close()
    assert one_more == b""


# A confined command speaks to the proxy itself, as curl would.
FETCH = """
import os, urllib.request
opened = urllib.request.urlopen("http://allowed.example/x", timeout=20)
print(opened.read().decode().strip(), os.environ["HTTPS_PROXY"] == os.environ["http_proxy"])
"""
CONNECT_OUT = """
import socket
for host in ("1.1.1.1", "127.0.0.1"):
    try:
        socket.create_connection((host, {port}), timeout=5)
        print("connected to", host)
    except OSError as error:
        print("no", type(error).__name__)
"""
INSIDE = (
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--unshare-net",
    "--unshare-pid",
)


async def walled_in(tmp_path, way: Way, *argv: str):
    assert BWRAP
    return await run_program(
        [BWRAP, *INSIDE, *way.argv, *argv],
        cwd=tmp_path,
        timeout_s=30,
        env=way.env,
        pass_fds=way.pass_fds,
        merge_errors=True,
    )


@walled
async def test_a_confined_command_reaches_the_named_host(internet, tmp_path) -> None:
    hosts = ["allowed.example"]
    async with way_to(hosts, resolve=internet.resolve, reach=internet.reach) as way:
        finished = await walled_in(tmp_path, way, sys.executable, "-c", FETCH)
    assert finished.output == "hello True\n"
    assert internet.reached == [f"{PUBLIC}:80"]


@walled
async def test_a_confined_command_reaches_no_other_host(internet, tmp_path) -> None:
    async with way_to([], resolve=internet.resolve, reach=internet.reach) as way:
        finished = await walled_in(tmp_path, way, sys.executable, "-c", FETCH)
        assert "403" in finished.output
        assert way.refused == ("allowed.example:80",)
        direct = CONNECT_OUT.format(port=internet.port)
        finished = await walled_in(tmp_path, way, sys.executable, "-c", direct)
    assert "connected" not in finished.output
    assert finished.output.count("no ") == 2
    assert internet.reached == []


@walled
async def test_the_proxy_does_not_change_inherited_signals_and_descriptors(
    internet, tmp_path
) -> None:
    show = "grep SigIgn /proc/self/status; ls /proc/self/fd | wc -l"
    async with way_to([], resolve=internet.resolve, reach=internet.reach) as way:
        with_way = await walled_in(tmp_path, way, "bash", "-c", show)
        bare = Way((), way.fd, {}, 0, way.proxy)
        without = await walled_in(tmp_path, bare, "bash", "-c", show)
    (ignored, n_with), (ignored_without, n_without) = (
        one.output.splitlines() for one in (with_way, without)
    )
    assert ignored == ignored_without
    # the pair's end is closed; otherwise it would be inherited
    assert int(n_with) == int(n_without) - 1


async def test_only_a_listening_socket_can_be_handed_over() -> None:
    """The program inside is untrusted, so only a listening socket is served."""
    left, right = socket.socketpair()
    with (
        left,
        right,
        socket.socket() as plain,
        socket.socket(type=socket.SOCK_DGRAM) as datagrams,
        socket.create_server(("127.0.0.1", 0)) as door,
    ):
        assert [_is_door(one) for one in (plain, datagrams, left, door)] == [False] * 3 + [True]


async def test_a_file_handed_over_in_place_of_a_socket_is_not_served(internet) -> None:
    async with way_to(["*"], resolve=internet.resolve, reach=internet.reach) as way:
        with (
            socket.socket(fileno=os.dup(way.fd)) as inside,
            tempfile.TemporaryFile() as file,
        ):
            socket.send_fds(inside, [b"."], [file.fileno()])
        await asyncio.wait(way_tasks(), timeout=60)
    assert internet.reached == []


def way_tasks() -> set[asyncio.Task[None]]:
    return {one for one in asyncio.all_tasks() if "_serve_handed_over" in repr(one)}


async def test_a_missing_python_for_the_proxy_is_reported() -> None:
    with pytest.raises(ToolError, match="path of Python"):
        async with way_to(["*"], python=""):
            pass
