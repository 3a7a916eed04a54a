"""SBX-19, SBX-20: a host is parsed in one way, and only named hosts are allowed."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.sandbox.proxy.hosts import HostPort, allowed, host_of, is_public, literal, place_of

TWO_READINGS = [
    "attacker.example\x00.allowed.com",
    "attacker.example%00.allowed.com",
    "allowed.com\x00",
    "allowed.com.",
    "allowed.com..",
    ".allowed.com",
    "user@allowed.com",
    "allowed.com@attacker.example",
    "user:pass@allowed.com",
    "allowed.com\\@attacker.example",
    "allowed.com/../attacker.example",
    "allowed.com#attacker.example",
    "allowed.com?attacker.example",
    "allowed.com attacker.example",
    "allowed.com\tattacker.example",
    "allowed.com\r\nHost: attacker.example",
    "allowed。com",
    "\u0430llowed.com",
    "\uff41llowed.com",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[fe80::1%eth0]",
    "[::1",
    "::1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "127.1",
    "127.0.0.1.",
    "1.2.3.4.5",
    "0x7f.0.0.1",
    "-allowed.com",
    "allowed-.com",
    "allowed..com",
    "a" * 64 + ".com",
    "a." * 130 + "com",
    "*",
    "*.allowed.com",
    "",
    ":443",
    "allowed.com:0443",
    "allowed.com:65536",
    "allowed.com:443:80",
    "allowed.com:",
    "allowed.com:+443",
    "allowed.com:\uff14\uff14\uff13",
]


@pytest.mark.parametrize("authority", TWO_READINGS)
def test_sbx_19_an_ambiguous_host_is_refused(authority: str) -> None:
    assert place_of(authority) is None


@pytest.mark.parametrize(
    ("authority", "place"),
    [
        ("GitHub.com:443", HostPort("github.com", 443)),
        ("a_b.example", HostPort("a_b.example")),
        ("xn--bcher-kva.example:80", HostPort("xn--bcher-kva.example", 80)),
        ("[2606:4700::0:1111]:443", HostPort("[2606:4700::1111]", 443)),
        ("1.1.1.1:80", HostPort("1.1.1.1", 80)),
    ],
)
def test_an_unambiguous_host_has_one_canonical_spelling(authority: str, place: HostPort) -> None:
    assert place_of(authority) == place


@given(st.text(max_size=40))
def test_a_canonical_host_parses_to_itself(text: str) -> None:
    host = host_of(text)
    assert host_of(host) == host or not host
    assert host.isascii()
    assert not set(host) & set("\0@%/\\?# \t\r\n")


def test_sbx_20_an_empty_list_of_hosts_allows_no_network() -> None:
    nothing = allowed(())
    for authority in ("github.com:443", "1.1.1.1:443", "localhost:80", "[::1]:80"):
        assert not nothing.lets(place_of(authority))


def test_an_unreadable_host_pattern_allows_no_host() -> None:
    odd = allowed(["*.com", "*.*", "**", "https://github.com", "git hub.com", "", "*.1.1.1.1"])
    assert odd == allowed(())


def lets(hosts: list[str], authority: str) -> bool:
    place = place_of(authority)
    assert place is not None
    return allowed(hosts).lets(place)


def test_a_host_name_does_not_match_its_subdomains() -> None:
    assert lets(["github.com"], "GITHUB.com:443")
    assert lets(["github.com"], "github.com:80")
    assert not lets(["github.com"], "github.com:22")
    assert not lets(["github.com"], "api.github.com:443")
    assert not lets(["github.com"], "notgithub.com:443")
    assert not lets(["github.com"], "github.com.attacker.example:443")


def test_a_star_matches_subdomains_only() -> None:
    assert lets(["*.github.com"], "a.b.github.com:443")
    assert not lets(["*.github.com"], "github.com:443")
    assert not lets(["*.github.com"], "notgithub.com:443")


def test_a_named_port_is_the_only_port_allowed() -> None:
    assert lets(["build.example:8443"], "build.example:8443")
    assert not lets(["build.example:8443"], "build.example:443")


def test_the_pattern_for_any_host_allows_every_name_and_no_address() -> None:
    assert lets(["*"], "github.com:443")
    assert not lets(["*"], "github.com:25")
    for authority in ("1.1.1.1:443", "127.0.0.1:80", "[::1]:80", "localhost:80"):
        assert not lets(["*"], authority)


NOT_OUTSIDE = [
    *("127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),  # noqa: S104
    *("169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "192.0.2.1"),
    *("::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254"),
    *("64:ff9b::7f00:1", "2002:7f00:1::", "::127.0.0.1", "2001:db8::1", "fec0::1", "fd00:ec2::254"),
]


@pytest.mark.parametrize("address", NOT_OUTSIDE)
def test_net_07_a_name_that_resolves_to_a_private_address_is_refused(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    assert not allowed(["*", "rebound.example"]).lets_address(
        "rebound.example", ipaddress.ip_address(address)
    )


def test_addresses_of_the_internet_are_public() -> None:
    assert all(map(is_public, map(ipaddress.ip_address, ("1.1.1.1", "2606:4700::1111"))))


def test_a_named_address_is_allowed_unless_it_is_link_local() -> None:
    hosts = allowed(["192.168.1.5", "169.254.169.254", "[::1]:8080", "localhost:3000"])
    near, link, loop = map(ipaddress.ip_address, ("192.168.1.5", "169.254.169.254", "::1"))
    assert hosts.lets(HostPort("192.168.1.5", 80))
    assert hosts.lets_address("192.168.1.5", near)
    assert not hosts.lets_address("169.254.169.254", link)
    assert hosts.lets(HostPort("[::1]", 8080))
    assert hosts.lets_address("[::1]", loop)
    assert hosts.lets(HostPort("localhost", 3000))
    assert hosts.lets_address("localhost", loop)
    assert not hosts.lets_address("localhost", near)


def test_an_ipv6_literal_in_brackets_is_read_and_a_name_is_not() -> None:
    assert literal("[::1]") == ipaddress.ip_address("::1")
    assert literal("github.com") is None
