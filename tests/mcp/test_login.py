"""Logins at MCP servers: the flow, stored tokens, refreshes, and attacks by servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, build_opener

import pytest

from indwell.mcp.definition import HttpServer, ServerDefinition
from indwell.mcp.http import http_client
from indwell.mcp.login import _checked, is_logged_in, log_in, login_key, turn_auth
from indwell.mcp.offers import McpError, NeedsLogin
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring
from support.login_server import LoginServer, browse, login_server
from support.platforms import posix_only

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class Stay(HTTPRedirectHandler):
    """A browser that stops where it is led."""

    def redirect_request(self, *_args: object) -> None:
        return None


def no_ring() -> Ring:
    raise KeyringUnusable("there is none in this test")


@pytest.fixture
def keys(tmp_path) -> KeyStore:
    return KeyStore(tmp_path / "keys.json", no_ring)


@pytest.fixture
async def server() -> AsyncIterator[LoginServer]:
    async with login_server() as made:
        yield made


def vault(server: LoginServer) -> ServerDefinition:
    return ServerDefinition("vault", HttpServer(server.url))


async def status(server: LoginServer, keys: KeyStore) -> int:
    """The status of a turn's request with the stored login."""
    definition = vault(server)
    transport = definition.transport
    assert isinstance(transport, HttpServer)
    async with http_client(transport, turn_auth(definition, keys), lambda: None) as client:
        return (await client.post(server.url, json=HELLO)).status_code


async def test_a_login_in_the_browser_is_kept_and_used(server, keys) -> None:
    assert turn_auth(vault(server), keys) is None
    assert await log_in(vault(server), keys, browse)
    transport = vault(server).transport
    assert isinstance(transport, HttpServer)
    assert is_logged_in(transport, keys)
    assert await status(server, keys) == 200
    assert server.heard.count("POST /token") == 1


async def test_a_token_that_ends_is_refreshed_and_the_new_one_kept(server, keys) -> None:
    server.life_s = 0
    assert await log_in(vault(server), keys, browse)
    server.life_s = 3_600
    assert [await status(server, keys), await status(server, keys)] == [200, 200]
    assert server.heard.count("POST /token") == 2
    assert server.token.endswith("-2")


async def test_only_the_server_that_gave_a_token_is_asked_to_refresh_it(server, keys) -> None:
    server.life_s, server.gives_at = 0, "/elsewhere/token"
    assert await log_in(vault(server), keys, browse)
    server.life_s = 3_600
    assert await status(server, keys) == 200
    asked = [one for one in server.heard if one.endswith("/token")]
    assert asked == ["POST /elsewhere/token"] * 2


async def test_a_turn_opens_no_browser_when_a_login_has_ended(server, keys) -> None:
    server.life_s = 0
    assert await log_in(vault(server), keys, browse)
    server.refreshes = False
    with pytest.raises(NeedsLogin, match="run `indwell mcp login vault`"):
        await status(server, keys)
    assert server.heard.count("GET /authorize") == 1


async def test_the_address_of_the_browser_can_be_pasted(server, keys) -> None:
    shown: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def show(address: str) -> None:
        shown.set_result(address)

    async def pasted() -> str:
        """The user logs in on another machine, which this one's port is not for."""
        address = await shown
        with pytest.raises(HTTPError) as led:
            await asyncio.to_thread(build_opener(Stay).open, address)
        with led.value:
            return str(led.value.headers["Location"])

    assert await log_in(vault(server), keys, show, pasted)
    assert await status(server, keys) == 200


async def test_a_login_that_the_user_declines_says_so(server, keys) -> None:
    server.gives = False
    with pytest.raises(McpError, match="the login was not given: access_denied"):
        await log_in(vault(server), keys, browse)
    assert keys.origins() == {}


async def test_nobody_is_led_to_an_address_that_is_not_encrypted(server, keys) -> None:
    server.leads_to = "http://far.example/login"
    shown: list[str] = []

    async def show(address: str) -> None:
        shown.append(address)

    with pytest.raises(McpError, match="is not an https address"):
        await log_in(vault(server), keys, show)
    assert shown == []


@pytest.mark.parametrize("address", ["file:///etc/passwd", "vscode://x/y", "https://a b"])
def test_an_address_that_is_no_web_page_is_not_opened(address) -> None:
    with pytest.raises(McpError, match="is not an https address"):
        _checked(address)


async def test_an_answer_with_another_state_is_refused(server, keys) -> None:
    async def forge(address: str) -> None:
        await browse(address.replace("state=", "state=x"))

    with pytest.raises(McpError, match="the login failed: State parameter mismatch"):
        await log_in(vault(server), keys, forge)
    assert keys.origins() == {}


async def test_a_server_that_lets_indwell_in_wants_no_login(server, keys) -> None:
    server.token = server.url
    open_server = HttpServer(server.url, (("Authorization", f"Bearer {server.url}"),))
    assert not await log_in(ServerDefinition("vault", open_server), keys, browse)
    assert keys.origins() == {}


@posix_only("modes")
async def test_the_token_is_kept_where_only_the_user_reads_it(server, keys, tmp_path) -> None:
    assert await log_in(vault(server), keys, browse)
    path = Path(tmp_path) / "keys.json"
    kept = json.loads(path.read_text("utf-8"))
    transport = vault(server).transport
    assert isinstance(transport, HttpServer)
    assert "token-1" in kept[login_key(transport)]["key"]
    assert path.stat().st_mode & 0o077 == 0
