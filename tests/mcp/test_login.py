"""Logins at MCP servers: the flow, stored tokens, refreshes, and attacks by servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, build_opener

import pytest

from indwell.mcp.definition import HttpServer, OwnClient, ServerDefinition
from indwell.mcp.http import http_client
from indwell.mcp.login import _checked, is_logged_in, log_in, login_key, turn_auth
from indwell.mcp.offers import McpError, NeedsLogin
from indwell.mcp.servers import Servers
from indwell.mcp.surrounding import Surrounding
from indwell.settings.credentials import Secret
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring
from support.login_server import BASIC, POST, LoginServer, browse, login_server
from support.platforms import posix_only

HELLO = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


class Stay(HTTPRedirectHandler):
    """A browser that does not follow the redirect."""

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
    """Return the status of a turn's request with the stored login."""
    definition = vault(server)
    transport = definition.transport
    assert isinstance(transport, HttpServer)
    async with http_client(transport, turn_auth(definition, keys), lambda _why: None) as client:
        return (await client.post(server.url, json=HELLO)).status_code


async def test_a_login_in_the_browser_is_stored_and_used(server, keys) -> None:
    assert turn_auth(vault(server), keys) is None
    assert await log_in(vault(server), keys, browse)
    transport = vault(server).transport
    assert isinstance(transport, HttpServer)
    assert is_logged_in(transport, keys)
    assert await status(server, keys) == 200
    assert server.heard.count("POST /token") == 1


async def test_an_expired_token_is_refreshed_and_the_new_token_stored(server, keys) -> None:
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
    server.heard.clear()
    with pytest.raises(NeedsLogin, match="log in again with `indwell mcp login vault`"):
        await status(server, keys)
    assert server.heard == ["POST /token"]


async def test_a_turn_starts_no_login_when_its_token_is_refused(server, keys) -> None:
    assert await log_in(vault(server), keys, browse)
    server.token = "another"  # noqa: S105 - of this test
    server.heard.clear()
    with pytest.raises(NeedsLogin, match="log in again with `indwell mcp login vault`"):
        await status(server, keys)
    assert server.heard == ["POST /mcp"]


async def test_no_token_is_sent_unencrypted_to_another_machine(keys) -> None:
    far = ServerDefinition("far", HttpServer("http://far.example/mcp"))
    with pytest.raises(McpError, match="write https:// in its definition"):
        await log_in(far, keys, browse)
    transport = far.transport
    assert isinstance(transport, HttpServer)
    keys.put(login_key(transport), Secret("{}"))
    with pytest.raises(McpError, match="write https:// in its definition"):
        turn_auth(far, keys)


@pytest.mark.parametrize("step", ["metadata_at", "issuer_at", "registers_at"])
@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("http://localhost:{port}/there", "not an https address"),
        ("https://localhost:{port}/there", "is on this machine or on a network"),
        ("https://[::1]:{port}/there", "is on this machine or on a network"),
        ("https://169.254.169.254/there", "is on this machine or on a network"),
        ("https://10.0.0.1/there", "is on this machine or on a network"),
        ("https://nobody.invalid/there", "that host is not known"),
    ],
)
async def test_a_server_cannot_send_a_login_into_the_users_network(
    server, keys, step, place, why
) -> None:
    setattr(server, step, place.format(port=server.port))
    with pytest.raises(McpError, match=why):
        await log_in(vault(server), keys, browse)
    assert not [one for one in server.heard if one.startswith("POST /register") or "there" in one]


async def test_the_final_address_of_the_browser_can_be_pasted(server, keys) -> None:
    shown: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def show(address: str) -> None:
        shown.set_result(address)

    async def pasted() -> str:
        """Log in with a browser on another machine, which cannot reach the redirect's port."""
        address = await shown
        with pytest.raises(HTTPError) as led:
            await asyncio.to_thread(build_opener(Stay).open, address)
        with led.value:
            return str(led.value.headers["Location"])

    assert await log_in(vault(server), keys, show, pasted)
    assert await status(server, keys) == 200


async def test_a_login_that_the_user_declines_is_an_error(server, keys) -> None:
    server.gives = False
    with pytest.raises(McpError, match="the login was refused: access_denied"):
        await log_in(vault(server), keys, browse)
    assert keys.origins() == {}


async def test_no_browser_opens_an_address_that_is_not_encrypted(server, keys) -> None:
    server.leads_to = "http://far.example/login"
    shown: list[str] = []

    async def show(address: str) -> None:
        shown.append(address)

    with pytest.raises(McpError, match="is not an https address"):
        await log_in(vault(server), keys, show)
    assert shown == []


@pytest.mark.parametrize("address", ["file:///etc/passwd", "vscode://x/y", "https://a b"])
def test_an_address_that_is_not_a_web_page_is_not_opened(address) -> None:
    with pytest.raises(McpError, match="is not an https address"):
        _checked(address)


async def test_a_redirect_with_a_different_state_is_refused(server, keys) -> None:
    async def forge(address: str) -> None:
        await browse(address.replace("state=", "state=x"))

    with pytest.raises(McpError, match="the login failed: State parameter mismatch"):
        await log_in(vault(server), keys, forge)
    assert keys.origins() == {}


async def test_a_server_that_needs_no_login_is_reported(server, keys) -> None:
    server.token = server.url
    open_server = HttpServer(server.url, (("Authorization", f"Bearer {server.url}"),))
    assert not await log_in(ServerDefinition("vault", open_server), keys, browse)
    assert keys.origins() == {}


def own(server: LoginServer, **client: Any) -> ServerDefinition:
    """Return the definition of the server, with a client that the user registered by hand."""
    given = OwnClient("mine", client.pop("secret", server.secret), **client)
    return ServerDefinition("vault", HttpServer(server.url, client=given), timeout_s=20)


@asynccontextmanager
async def connected(definition: ServerDefinition, keys: KeyStore) -> AsyncIterator[Any]:
    """Connect as turns do, with the stored login."""
    servers = Servers()
    around = Surrounding((Path.cwd(),), auth=lambda one: turn_auth(one, keys))
    try:
        yield await servers.lease(definition, around).opened()
    finally:
        await servers.close()


@pytest.mark.parametrize("method", [BASIC, POST])
async def test_a_client_registered_by_the_user_is_used_with_its_secret(
    server, keys, method
) -> None:
    server.secret, server.methods = "hush", [method]
    assert await log_in(own(server), keys, browse)
    assert "POST /register" not in server.heard
    async with connected(own(server), keys) as vault_now:
        assert (await vault_now.call("secret", {})).pieces[0].text == "it is 42"
    kept = keys.get(login_key(HttpServer(server.url)))
    assert kept is not None
    assert "hush" not in str(kept.key and kept.key.reveal())


async def test_a_token_of_a_client_that_logs_in_without_a_person_is_not_stored(
    server, keys
) -> None:
    server.secret, server.methods, server.grants = "hush", [BASIC], ["client_credentials"]
    definition = own(server, grant="client_credentials")
    async with connected(definition, keys) as vault_now:
        assert (await vault_now.call("secret", {})).pieces[0].text == "it is 42"
    assert "GET /authorize" not in server.heard
    assert keys.origins() == {}
    assert not await log_in(definition, keys, browse)


async def test_the_error_about_a_refused_client_does_not_contain_its_secret(server, keys) -> None:
    server.secret, server.methods, server.grants = "hush", [BASIC], ["client_credentials"]
    definition = own(server, secret="wrong-hush", grant="client_credentials")
    async with connected(definition, keys) as vault_now:
        with pytest.raises(McpError, match="invalid_client") as refused:
            await vault_now.tools()
    assert not isinstance(refused.value, NeedsLogin)
    assert "wrong-hush" not in str(refused.value)


async def test_a_secret_is_only_sent_to_the_issuer_that_the_user_named(server, keys) -> None:
    server.secret, server.methods, server.grants = "hush", [BASIC], ["client_credentials"]
    definition = own(server, grant="client_credentials", issuer="https://login.example")
    async with connected(definition, keys) as vault_now:
        with pytest.raises(McpError, match="the server names another issuer"):
            await vault_now.tools()
    assert "POST /token" not in server.heard


async def test_a_secret_is_not_sent_to_an_address_without_encryption(server, keys) -> None:
    server.secret, server.methods, server.grants = "hush", [BASIC], ["client_credentials"]
    server.tells_at = "http://far.example/token"
    async with connected(own(server, grant="client_credentials"), keys) as vault_now:
        with pytest.raises(McpError, match="is not an https address"):
            await vault_now.tools()


async def test_the_next_login_asks_for_permissions_that_a_tool_lacked(server, keys) -> None:
    assert await log_in(vault(server), keys, browse)
    server.scopes = "read write"
    async with connected(vault(server), keys) as vault_now:
        with pytest.raises(NeedsLogin, match="more permissions .* run `indwell mcp login vault`"):
            await vault_now.call("secret", {})
        assert server.heard.count("GET /authorize") == 1
        assert [one.name for one in await vault_now.tools()] == ["secret"]
        assert await log_in(vault(server), keys, browse)
        assert server.asked == "read write"
        assert (await vault_now.call("secret", {})).pieces[0].text == "it is 42"


@posix_only("modes")
async def test_a_token_is_stored_where_only_the_user_can_read_it(server, keys, tmp_path) -> None:
    assert await log_in(vault(server), keys, browse)
    path = Path(tmp_path) / "keys.json"
    kept = json.loads(path.read_text("utf-8"))
    transport = vault(server).transport
    assert isinstance(transport, HttpServer)
    assert "token-1" in kept["keys"][login_key(transport)]["key"]
    assert path.stat().st_mode & 0o077 == 0
