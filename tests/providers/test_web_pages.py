"""Web pages over a real connection: limits, redirects, and forbidden addresses."""

from __future__ import annotations

import gzip
import ipaddress
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.policy.web_address import may_lead_to, web_address
from indwell.providers.http.web_pages import PAGE_B, WebPages
from indwell.sandbox.proxy.hosts import Address, HostPort
from support.certificates import Authority
from support.page_server import ENDLESS, moved, page, page_server
from support.platforms import posix_only


async def test_a_page_is_fetched_with_its_type_and_without_cookies_or_keys() -> None:
    async with page_server({"/a?b=c": page("<p>hi", "Text/HTML; charset=ISO-8859-1")}) as server:
        address = web_address(f"http://localhost:{server.port}/a?b=c#part")
        found = await WebPages().fetch(address, is_named=False)
    assert (found.kind, found.charset, found.body) == ("text/html", "iso-8859-1", b"<p>hi")
    (head,) = server.asked
    names = {line.partition(":")[0].lower() for line in head.splitlines()[1:] if line}
    assert names == {"host", "accept", "accept-encoding", "connection", "user-agent"}
    assert f"Host: localhost:{server.port}\r\n" in head


async def test_an_endless_page_is_cut_at_the_limit() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    async with page_server({"/": head + ENDLESS}) as server:
        address = web_address(f"http://localhost:{server.port}/")
        found = await WebPages().fetch(address, is_named=False)
    assert (len(found.body), found.is_cut) == (PAGE_B, True)


async def test_compressed_bytes_count_after_unpacking() -> None:
    bomb = page(gzip.compress(b"\0" * (200 << 20)), "text/plain", "Content-Encoding: gzip")
    async with page_server({"/": bomb}) as server:
        address = web_address(f"http://localhost:{server.port}/")
        found = await WebPages().fetch(address, is_named=False)
    assert (len(found.body), found.is_cut) == (PAGE_B, True)


async def of_localhost(_place: HostPort) -> Sequence[Address]:
    return (ipaddress.ip_address("127.0.0.1"),)


async def test_redirects_within_one_host_are_followed_and_others_are_returned() -> None:
    pages = {
        "/1": moved("/2"),
        "/2": page("there"),
        "/out": moved("http://169.254.169.254/latest/meta-data/"),
        "/away": moved("https://example.org/x"),
        "/file": moved("file:///etc/passwd"),
        "/round": moved("/round"),
    }
    async with page_server(pages) as server:
        # The server listens on one address; another program may listen at the same port of ::1.
        only = WebPages(of_localhost)

        async def fetched(path: str):
            address = web_address(f"http://localhost:{server.port}{path}")
            return await only.fetch(address, is_named=False)

        assert (await fetched("/1")).body == b"there"
        out = (await fetched("/out")).leads_to
        assert out is not None
        assert out.text == "http://169.254.169.254/latest/meta-data/"
        with pytest.raises(ToolError, match="not the internet"):
            await WebPages().fetch(out, is_named=True)
        away = (await fetched("/away")).leads_to
        assert away is not None
        assert away.text == "https://example.org/x"
        with pytest.raises(ToolError, match="is not an address"):
            await fetched("/file")
        with pytest.raises(ToolError, match="again and again"):
            await fetched("/round")


@pytest.mark.parametrize(
    "number",
    ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "::1", "fd00::1", "0.0.0.0"],  # noqa: S104
)
async def test_a_name_that_resolves_to_this_machine_or_network_is_refused(number: str) -> None:
    asked: list[HostPort] = []

    async def resolve(place: HostPort) -> Sequence[Address]:
        asked.append(place)
        return (ipaddress.ip_address(number),)

    pages = WebPages(resolve)
    with pytest.raises(ToolError, match="not the internet"):
        await pages.fetch(web_address("https://evil.example/"), is_named=False)
    assert asked == [HostPort("evil.example", 443)], "resolved once, and then never again"


def test_a_host_in_the_settings_may_be_in_the_users_network_but_not_on_this_machine() -> None:
    wiki = web_address("https://wiki.example/")
    reached = {
        number: may_lead_to(wiki, ipaddress.ip_address(number), is_named=True)
        for number in ("10.0.0.1", "8.8.8.8", "127.0.0.1", "169.254.169.254", "::1")
    }
    assert [number for number, good in reached.items() if good] == ["10.0.0.1", "8.8.8.8"]


@posix_only("openssl")
async def test_the_certificate_must_belong_to_the_named_host(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(*authority.sign("127.0.0.1"))
    trusting = ssl.create_default_context(cafile=str(authority.file))
    async with page_server({"/": page("good")}, own) as server:
        number = web_address(f"https://127.0.0.1:{server.port}/")
        found = await WebPages(verify=trusting).fetch(number, is_named=False)
        assert found.body == b"good"
        name = web_address(f"https://localhost:{server.port}/")
        with pytest.raises(ToolError, match="does not answer: .*ertificate"):
            await WebPages(verify=trusting).fetch(name, is_named=False)
        with pytest.raises(ToolError, match="ertificate"):
            await WebPages().fetch(number, is_named=False)


async def test_errors_of_the_server_are_reported_in_plain_words() -> None:
    async with page_server({"/broken": b"nonsense\r\n\r\n"}) as server:
        address = f"http://localhost:{server.port}"
        with pytest.raises(ToolError, match="answers 404 Not Found"):
            await WebPages().fetch(web_address(f"{address}/no"), is_named=False)
        with pytest.raises(ToolError, match="gave no page"):
            await WebPages().fetch(web_address(f"{address}/broken"), is_named=False)
    with pytest.raises(ToolError, match="does not answer"):
        await WebPages().fetch(web_address(f"{address}/"), is_named=False)
