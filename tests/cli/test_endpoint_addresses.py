"""Texts that a user types as an address, and the addresses that result."""

from __future__ import annotations

import asyncio

import pytest

from indwell.errors import UserError
from indwell.service.endpoint.connect import address_of, spellings
from indwell.service.endpoint.connection_test import look
from support.editing import Home
from support.loopback_endpoint import LoopbackEndpoint
from support.model_server import answering, listed
from support.terminal import indwell

ADDRESSES = {
    "ollama": "http://127.0.0.1:11434/v1",
    "https://host/v1": "https://host/v1",
    "localhost:8471": "http://localhost:8471",
    "127.0.0.1:8471/v1": "http://127.0.0.1:8471/v1",
    "[::1]:8471": "http://[::1]:8471",
    "gpu:8000": "https://gpu:8000",
    "gateway.example/api": "https://gateway.example/api",
}


@pytest.mark.parametrize("typed", ADDRESSES)
def test_an_address_may_omit_its_scheme(typed) -> None:
    assert address_of(typed) == ADDRESSES[typed]


@pytest.mark.parametrize("typed", ["opnai", "", "two words", "host:99999", "ftp://host"])
def test_a_text_that_is_not_an_address_is_refused(typed) -> None:
    with pytest.raises(UserError):
        address_of(typed)


def test_a_bare_host_is_tried_with_v1_first() -> None:
    assert spellings("http://h:1/") == ("http://h:1/v1", "http://h:1/")
    assert spellings("http://h:1/api") == ("http://h:1/api",)


async def test_v1_is_found_if_the_user_does_not_type_it(tmp_path) -> None:
    home = Home(tmp_path)

    async def login(address: str):
        environment = {
            **home.environment(),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }
        return await indwell("login", address, environment=environment, folder=home.workspace)

    async with LoopbackEndpoint(answering(listed("q"))) as endpoint:
        host = endpoint.base_url.removeprefix("http://").removesuffix("/v1")
        bare = await login(host)
        port = host.rpartition(":")[2]
        await login(f"http://localhost:{port}/")
    assert bare.code == 0, bare
    assert (home.config / "indwell" / "config.toml").read_text(encoding="utf-8") == (
        f'model = "q"\nbase_url = "http://localhost:{port}/v1"\n'
    )


async def test_https_to_a_port_that_speaks_plain_http_is_reported() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(64)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        (step,) = (await look(f"https://127.0.0.1:{port}/v1", None)).steps
    assert (step.name, step.state) == ("reachable", "fail")
    assert step.fix == f"it speaks plain HTTP: write http://127.0.0.1:{port}/v1"
