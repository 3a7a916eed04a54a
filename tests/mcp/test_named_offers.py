"""Resources and prompts of MCP servers in the user's prompt, with arguments."""

from __future__ import annotations

import pytest

from indwell.agent.features.mcp.named_offers import (
    CalledPrompt,
    NamedResource,
    arguments_in,
    called_prompt,
    named_resources,
)

SERVERS = ("docs", "git-hub")


@pytest.mark.parametrize(
    ("words", "uris"),
    [
        ("see @docs:file:///a/b.md.", ["file:///a/b.md"]),
        ("(@docs:x://1) and @docs:x://1, @docs:x://2?", ["x://1", "x://2"]),
        ("@docs:screen://(main)", ["screen://(main"]),
        ("@other:x://1 me@docs:x://1 `@docs:x://1` @docs: x", []),
    ],
)
def test_a_resource_is_named_by_its_server_and_address(words, uris) -> None:
    assert named_resources(words, SERVERS) == tuple(NamedResource("docs", one) for one in uris)


@pytest.mark.parametrize(
    ("words", "called"),
    [
        ("/git-hub:review", CalledPrompt("git-hub", "review", "")),
        ("  /docs:sum-up  a b\nc ", CalledPrompt("docs", "sum-up", "a b\nc")),
        ("/other:review", None),
        ("please /docs:review", None),
        ("/docs:", None),
        ("/docs/review", None),
    ],
)
def test_a_servers_prompt_is_called_at_the_beginning_of_the_text(words, called) -> None:
    assert called_prompt(words, SERVERS) == called


@pytest.mark.parametrize(
    ("rest", "given"),
    [
        ("", {}),
        ("the whole rest", {"topic": "the whole rest"}),
        ('length=short topic="a b"', {"length": "short", "topic": "a b"}),
        ("length=short the rest", {"length": "short", "topic": "the rest"}),
        ("x=1 y", {"topic": "x=1 y"}),
        ('topic="" more', {"topic": "", "length": "more"}),
    ],
)
def test_arguments_of_a_prompt_are_given_by_name_or_in_order(rest, given) -> None:
    assert arguments_in(rest, ["topic", "length"]) == given
