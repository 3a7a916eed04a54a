"""NET-03 to NET-06: the hosts and proxies that get the prompt and the key."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from indwell.errors import SettingsError
from indwell.service.stored_keys import with_stored_key
from indwell.settings.credentials import Secret
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring
from indwell.settings.model import Settings
from indwell.settings.tighten import RULES
from support.certificates import Authority
from support.editing import Home, mend
from support.loopback_endpoint import LoopbackEndpoint, raw, say
from support.terminal import indwell

KEY = "sk-canary-0f1e2d3c4b5a"
FAR = "http://model.invalid/v1"


@pytest.mark.parametrize("status", [302, 307, 308])
async def test_net_03_a_redirect_sends_neither_prompt_nor_key_elsewhere(tmp_path, status) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint([say("Well.")]) as thief:
        away = raw(status, headers={"Location": f"{thief.base_url}/chat/completions"})
        async with LoopbackEndpoint([away]) as endpoint:
            environment = home.environment(endpoint.base_url, OPENAI_API_KEY=KEY)
            ran = await indwell(
                "run", "secret words", environment=environment, folder=home.workspace
            )
            assert len(endpoint.seen) == 1
        assert thief.seen == []
    assert ran.code == 1
    assert "redirects to" in ran.stdout + ran.stderr


async def test_net_04_only_the_users_environment_can_set_a_proxy(tmp_path) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint(lambda _seen: say("Well.")) as proxy:
        address = proxy.base_url.removesuffix("/v1")
        lines = "".join(
            f"{name}={address}\n" for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
        )
        home.write(".env", lines + lines.lower())
        home.write(".indwell/config.toml", f'proxy = "{address}"\nhttp_proxy = "{address}"\n')
        home.write(".vscode/settings.json", f'{{"http.proxy": "{address}"}}')
        home.write(".npmrc", f"proxy={address}\n")
        by_workspace = home.environment(FAR)
        ran = await indwell("run", "hi", environment=by_workspace, folder=home.workspace)
        assert (ran.code, proxy.seen) == (1, [])
        by_user = home.environment(FAR, HTTP_PROXY=address)
        ran = await indwell("run", "hi", environment=by_user, folder=home.workspace)
        assert (ran.code, [seen.path for seen in proxy.seen]) == (0, [f"{FAR}/chat/completions"])


async def test_net_05_a_key_is_not_sent_unencrypted(tmp_path) -> None:
    home = Home(tmp_path)
    async with LoopbackEndpoint(lambda _seen: say("Well.")) as proxy:
        # An unencrypted request would arrive at this proxy.
        address = proxy.base_url.removesuffix("/v1")
        environment = home.environment(FAR, HTTP_PROXY=address, OPENAI_API_KEY=KEY)
        for command in (("run", "hi"), ("models",)):
            ran = await indwell(*command, environment=environment, folder=home.workspace)
            said = " ".join((ran.stdout + ran.stderr).split())
            assert "the key would go to http://model.invalid unencrypted" in said, command
            assert KEY not in said
        assert KEY not in repr(proxy.seen)
        assert [seen for seen in proxy.seen if seen.raw] == []


def no_ring() -> Ring:
    raise KeyringUnusable("not here")


def test_net_05_a_key_stored_for_an_unencrypted_address_may_be_sent_there(tmp_path) -> None:
    store = KeyStore(tmp_path / "keys.json", no_ring)
    from_environment = Settings(base_url="http://10.0.0.5:8000/v1", api_key=Secret("other-key"))
    with pytest.raises(SettingsError, match="unencrypted"):
        with_stored_key(from_environment, store)
    store.put("http://10.0.0.5:8000", Secret("kept-key"))
    assert with_stored_key(from_environment, store).api_key == Secret("kept-key")
    for base_url in (
        "https://far.example/v1",
        "http://127.0.0.1:8000/v1",
        "http://localhost/v1",
        None,
    ):
        settings = Settings(base_url=base_url, api_key=Secret("other-key"))
        assert with_stored_key(settings, store) is settings
    without = Settings(base_url="http://10.0.0.6:8000/v1")
    assert with_stored_key(without, store).api_key is None


class Host:
    """A model server with TLS, at an address that counts as a different machine."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard.append(await reader.read(100))
        answer = b"".join(part for part in mend()[2].parts if isinstance(part, bytes))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        writer.write(head + answer)
        await writer.drain()
        writer.close()


@asynccontextmanager
async def hosting(tls: ssl.SSLContext) -> AsyncIterator[Host]:
    host = Host()
    server = await asyncio.start_server(host.serve, "127.0.0.2", 0, ssl=tls)
    host.port = server.sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        server.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def with_old_tls(tls: ssl.SSLContext) -> None:
    tls.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings(action="ignore"):
        tls.minimum_version = ssl.TLSVersion.TLSv1
        tls.maximum_version = ssl.TLSVersion.TLSv1


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes certificates with openssl")
@pytest.mark.parametrize("fault", ["none", "unknown authority", "expired", "wrong host", "TLS 1.0"])
async def test_net_06_only_valid_certificates_and_safe_tls_are_accepted(
    tmp_path, authority, fault
) -> None:
    home = Home(tmp_path)
    home.write(".indwell/config.toml", "verify = false\ninsecure = true\n")
    home.write(".env", "SSL_CERT_FILE=/dev/null\nPYTHONHTTPSVERIFY=0\n")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    address = "127.0.0.3" if fault == "wrong host" else "127.0.0.2"
    until = "20210101000000Z" if fault == "expired" else "20990101000000Z"
    certificate, key = await asyncio.to_thread(authority.sign, address, until=until)
    tls.load_cert_chain(certificate, key)
    if fault == "TLS 1.0":
        with_old_tls(tls)
    async with hosting(tls) as host:
        trusted = {} if fault == "unknown authority" else {"SSL_CERT_FILE": str(authority.file)}
        base_url = f"https://127.0.0.2:{host.port}/v1"
        environment = home.environment(base_url, OPENAI_API_KEY=KEY, **trusted)
        ran = await indwell("run", "hi", environment=environment, folder=home.workspace)
    said = ran.stdout + ran.stderr
    if fault == "none":
        chats = [one for one in host.heard if one.startswith(b"POST")]
        assert (ran.code, len(chats)) == (0, 1), said
        return
    assert (ran.code, host.heard) == (1, [])
    wanted = "TLS" if fault == "TLS 1.0" else "certificate"
    assert wanted in said
    assert KEY not in said


def test_net_06_no_setting_turns_the_certificate_check_off() -> None:
    names = {*Settings.__struct_fields__, *RULES}
    assert [
        one for one in names if any(word in one for word in ("verify", "insecure", "tls", "cert"))
    ] == []
