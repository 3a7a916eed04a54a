"""Cases LLM-39 and LLM-40: unreachable endpoints, and cancellations at any moment."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
import time
from pathlib import Path

import pytest

from indwell.errors import BadReply, ProviderError, RequestRejected, SettingsError, Unreachable
from indwell.providers.base import StreamEvent, TextDelta
from indwell.providers.client import EndpointClient
from indwell.providers.http.http_client import certificates
from support.asking import ASKED, KEY, connected, fail, failure, of_the_answer
from support.certificates import Authority
from support.fault_endpoint import (
    END,
    HANG,
    HEAD,
    FaultEndpoint,
    Step,
    answer,
    broken,
    chunked,
    data,
    streamed,
)
from support.loopback_endpoint import chunk
from support.platforms import posix_only

HALF = chunked(data(chunk({"content": "half"})))
CALL = {"index": 0, "id": "a", "function": {"name": "read_file", "arguments": '{"pa'}}
SAID = streamed(chunk({"content": "hello"}, finish="stop"))


@pytest.fixture
def self_signed(tmp_path: Path) -> ssl.SSLContext:
    """Return a TLS context with a self-signed server certificate for 127.0.0.1."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1"
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *files], capture_output=True, check=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    return tls


async def asked_at(url: str, *, timeout_s: float = 5.0) -> tuple[type[ProviderError], str]:
    provider = EndpointClient(base_url=url, api_key=KEY, timeout_s=timeout_s)
    began = time.monotonic()
    try:
        error = await failure(provider)
    finally:
        await provider.aclose()
    assert time.monotonic() - began < 60
    return type(error), str(error).replace(url, "ADDRESS")


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


async def test_llm_39_a_refused_connection_is_reported() -> None:
    assert await asked_at(f"http://127.0.0.1:{free_port()}/v1") == (
        Unreachable,
        "nothing answers at ADDRESS; start the endpoint or set OPENAI_BASE_URL",
    )


async def test_llm_39_a_host_without_an_address_is_reported() -> None:
    kind, said = await asked_at("https://no-such-host.invalid/v1")
    assert (kind, said) == (
        Unreachable,
        "no address for the host 'no-such-host.invalid'; check the network and OPENAI_BASE_URL",
    )


@posix_only("openssl")
async def test_llm_39_an_untrusted_certificate_is_reported(
    self_signed: ssl.SSLContext,
) -> None:
    async with FaultEndpoint([SAID], tls=self_signed) as endpoint:
        kind, said = await asked_at(endpoint.base_url)
        assert endpoint.bodies == []
    assert kind is ProviderError
    assert said == (
        "the certificate of ADDRESS is not trusted here; check the address,"
        " or add its authority to this machine's certificates"
    )


async def test_llm_39_a_server_without_tls_is_reported() -> None:
    async def shout(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(shout, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        kind, said = await asked_at(f"https://127.0.0.1:{port}/v1")
    assert kind is ProviderError
    assert said == (
        "ADDRESS does not speak a supported version of TLS; check whether the address should begin"
        " with http://, and any proxy on the way"
    )


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_llm_39_a_proxy_that_requires_a_password_is_reported(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = answer(407, "who are you?", kind="text/plain")
    async with FaultEndpoint([refusing]) as proxy:
        monkeypatch.setenv(f"{scheme.upper()}_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        kind, said = await asked_at(f"{scheme}://model.example/v1")
    assert kind is RequestRejected
    assert said.startswith("the proxy on the way to ADDRESS needs a name and password; set them in")


async def test_llm_39_an_unreachable_proxy_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{free_port()}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    kind, said = await asked_at("https://model.example/v1")
    assert kind is Unreachable
    assert "ADDRESS" in said


async def test_llm_39_a_captive_portal_page_is_reported_as_a_bad_reply() -> None:
    page = answer(200, "<html>Log in to the hotel</html>", kind="text/html")
    error = await fail(page)
    assert type(error) is BadReply
    assert str(error) == (
        "ADDRESS answered with text/html instead of a stream; check OPENAI_BASE_URL, it often ends"
        " in /v1 or a network that wants you to log in: <html>Log in to the hotel</html>"
    )


@pytest.mark.parametrize(
    "steps",
    [
        (HANG,),
        (HEAD[:30], HANG),
        (b"HTTP/1.1 500 X\r\nContent-Length: 90\r\n\r\n{", HANG),
        (b"HTTP/1.1 200 X\r\nContent-Type: application/json\r\n\r\n{", HANG),
        (HEAD, HANG),
        (HEAD, HALF, HANG),
        (HEAD, HALF, b"40\r\ndata: {", HANG),
        (HEAD, chunked(data(chunk({"tool_calls": [CALL]}))), HANG),
        (HEAD, chunked(b"data: [DO"), HANG),
    ],
    ids=[
        "before the head", "in the head", "in a refusal", "in a json body", "before a word",
        "after a word", "in an event", "in a call's arguments", "before the end",
    ],
)  # fmt: skip
async def test_llm_40_cancelling_a_request_is_quick_and_leaves_no_task(
    steps: tuple[Step, ...],
) -> None:
    async with connected(broken(*steps)) as (provider, endpoint):
        before = asyncio.all_tasks()
        task = asyncio.ensure_future(provider.complete(ASKED, lambda _: None))
        await endpoint.arrived.wait()
        await asyncio.sleep(0.03)  # all sent data has arrived, and no more will be sent
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=60)
        assert done == {task}
        assert task.cancelled()
        await asyncio.wait_for(endpoint.gone.wait(), 60)
        await asyncio.sleep(0)
        assert {one for one in asyncio.all_tasks() - before if not _is_server(one)} == set()


async def test_llm_40_cancelling_while_connecting_is_quick() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        provider = EndpointClient(base_url=f"http://127.0.0.1:{deaf.getsockname()[1]}/v1")
        task = asyncio.ensure_future(provider.complete(ASKED, lambda _: None))
        await asyncio.sleep(0.05)
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=60)
        assert done == {task}
        await provider.aclose()


async def test_the_provider_works_after_a_cancelled_request() -> None:
    async with connected(broken(HEAD, HALF, HANG), SAID) as (provider, _):
        heard = asyncio.Event()
        task = asyncio.ensure_future(provider.complete(ASKED, of_the_answer(lambda _: heard.set())))
        await heard.wait()
        task.cancel()
        await asyncio.wait({task})
        assert (await provider.complete(ASKED, lambda _: None)).text == "hello"


async def test_requests_share_a_connection() -> None:
    async with connected(*[SAID] * 3) as (provider, endpoint):
        for _ in range(3):
            await provider.complete(ASKED, lambda _: None)
        assert (len(endpoint.bodies), endpoint.n_connections) == (3, 1)


async def test_the_text_of_one_network_read_is_reported_at_once_in_one_event() -> None:
    """On a busy machine, events may be reported earlier, after 3 ms of work or waiting."""
    words = b"".join(chunked(data(chunk({"content": "word "}))) for _ in range(50))
    told: list[StreamEvent] = []

    def hear(event: StreamEvent) -> None:
        told.append(event)
        heard.set()

    for _attempt in range(20):
        told.clear()
        async with connected(broken(HEAD + words, HANG)) as (provider, _):
            heard = asyncio.Event()
            task = asyncio.ensure_future(provider.complete(ASKED, of_the_answer(hear)))
            await heard.wait()
            task.cancel()
            await asyncio.wait({task})
        if told == [TextDelta("word " * 50)]:
            break
    assert told == [TextDelta("word " * 50)]


async def test_ten_thousand_chunks_do_not_block_the_event_loop() -> None:
    words = b"".join(chunked(data(chunk({"content": f"{n:5}"}))) for n in range(10_000))
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            began = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - began)

    async with connected(broken(HEAD, words, chunked(b"data: [DONE]\n\n"), END)) as (provider, _):
        watching = asyncio.ensure_future(watch())
        reply = await provider.complete(ASKED, lambda _: None)
        watching.cancel()
    assert len(reply.text) == 50_000
    assert longest < 0.5  # processor time of this thread, which other programs do not affect


def _is_server(task: asyncio.Task[object]) -> bool:
    """Is the task a part of the endpoint? On Windows, ``accept_coro`` is asyncio's own listener."""
    names = ("FaultEndpoint", "_left", "_send", "accept_coro")
    return any(name in repr(task) for name in names)


@posix_only("openssl")
def test_the_certificates_of_ssl_cert_file_are_used_for_every_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Authority(tmp_path).file
    try:
        for name, expected in ((str(own), 1), (str(tmp_path / "missing.pem"), None)):
            certificates.cache_clear()
            monkeypatch.setenv("SSL_CERT_FILE", name)
            if expected is not None:
                assert len(certificates().get_ca_certs()) == expected
                continue
            with pytest.raises(SettingsError, match=r"missing\.pem' cannot be used \(No such file"):
                certificates()
    finally:
        certificates.cache_clear()
