"""A page's address has one spelling, and settings may name hosts."""

from __future__ import annotations

import pytest

from indwell.errors import ToolError
from indwell.policy.call_facts import Allow, Ask, CallFacts, Deny, Policy
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules
from indwell.policy.web_address import web_address


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("https://Docs.Python.ORG", "https://docs.python.org/"),
        ("http://example.org/a", "https://example.org/a"),
        ("http://example.org:80/", "https://example.org/"),
        ("http://example.org:8080/", "https://example.org:8080/"),
        ("https://example.org:443/x?y=1#z", "https://example.org/x?y=1"),
        ("https://example.org/é ü".replace(" ", "%20"), "https://example.org/%C3%A9%20%C3%BC"),
        ("http://localhost:3000", "http://localhost:3000/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example/"),
    ],
)
def test_an_address_has_one_spelling(written: str, text: str) -> None:
    assert web_address(written).text == text
    assert web_address(text).text == text


@pytest.mark.parametrize(
    "written",
    [
        *("", "docs.python.org", "ftp://x.example/", "file:///etc/passwd", "javascript:alert(1)"),
        *("https://user:pw@example.org/", "https://example.org@evil.example/", "https:///x"),
        *("https://127.1/", "https://0x7f000001/", "https://2130706433/", "https://0177.0.0.1/"),
        *("https://example.org:0/", "https://example.org:99999/", "https://exa mple.org/"),
        *("https://bücher.example/", "https://evil\\@example.org/", "https://a.example/\nx"),
        *("https://[::ffff:127.0.0.1]/", "https://example.org./", "https://[::1/"),
        "https://example.org/" + "x" * 2_000,
    ],
)
def test_an_ambiguous_address_is_refused(written: str) -> None:
    with pytest.raises(ToolError):
        web_address(written)


def decided(address: str, *named: str, **more):
    asked = CallFacts("web_fetch", "read", address=web_address(address).text)
    return decide(asked, Policy("review", web_hosts=named, **more))


def test_a_page_is_asked_about_unless_its_host_is_named() -> None:
    ask = decided("https://docs.example/x")
    assert isinstance(ask, Ask)
    assert ask.rule == "web_fetch: https://docs.example"
    assert isinstance(decided("https://docs.example/x", "docs.example"), Allow)
    assert isinstance(decided("https://a.docs.example/x", "*.docs.example"), Allow)
    assert isinstance(decided("https://docs.example:8443/", "docs.example"), Ask)
    assert isinstance(decided("https://docs.example.evil/", "docs.example"), Ask)
    assert isinstance(decided("https://docs.example/", "*"), Ask), "no pattern for every host"
    assert isinstance(decided("http://localhost:8000/", "localhost:8000"), Allow)


def test_an_answer_for_a_host_covers_only_this_host() -> None:
    granted = frozenset({"web_fetch: https://docs.example"})
    assert isinstance(decided("https://docs.example/y", granted=granted), Allow)
    assert isinstance(decided("https://docs.example:444/y", granted=granted), Ask)
    assert isinstance(decided("https://evil.example/y", granted=granted), Ask)


def test_rules_by_name_and_secrets_in_the_address_outweigh_a_named_host() -> None:
    deny = PatternRules(deny=("tool: web_fetch",))
    assert isinstance(decided("https://docs.example/", "docs.example", rules=deny), Deny)
    ask = PatternRules(ask=("tool: web_fetch",))
    assert isinstance(decided("https://docs.example/", "docs.example", rules=ask), Ask)
    key = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3z01"
    leaking = decided(f"https://docs.example/?q={key}", "docs.example")
    assert isinstance(leaking, Ask)
    assert (leaking.rule, leaking.by) == ("", "secret")
