from __future__ import annotations

import pytest

from indwell.errors import SettingsError
from indwell.providers.endpoint import endpoint_address, is_openai, sendable_key, shown


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
        ("https://me:secret@host/v1?key=secret#x", "https://host/v1"),
        ("http://[::1]:8080/v1", "http://[::1]:8080/v1"),
    ],
)
def test_an_address_in_a_message_contains_no_secrets(url: str, address: str) -> None:
    assert endpoint_address(url) == address


@pytest.mark.parametrize(
    "url", ["127.0.0.1:11434", "ftp://host/v1", "http://", "http://host:port/v1", "http://[::1", ""]
)
def test_a_text_that_is_not_an_http_address_is_refused_with_an_example(url: str) -> None:
    sentence = (
        f"the endpoint {shown(url)!r} is not an http address; set OPENAI_BASE_URL to one such as"
    )
    with pytest.raises(SettingsError) as caught:
        endpoint_address(url)
    assert str(caught.value) == f"{sentence} 'http://127.0.0.1:11434/v1'"


@pytest.mark.parametrize(
    ("key", "sent"), [(None, ""), ("", ""), (" sk-1\n", "sk-1"), ("sk-1", "sk-1")]
)
def test_the_line_break_of_a_pasted_key_is_removed(key: str | None, sent: str) -> None:
    assert sendable_key(key) == sent


@pytest.mark.parametrize("key", ["sk-1\nsk-2", "sk 1", "sk-…"])
def test_a_key_that_no_header_can_contain_is_refused_without_showing_the_key(key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        sendable_key(key)
    assert str(caught.value) == (
        "the API key contains a character that no header can carry; set OPENAI_API_KEY again"
    )


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://api.openai.com/v1", True),
        ("https://us.api.openai.com/v1", True),
        ("https://api.openai.com.example/v1", False),
        ("https://example/api.openai.com", False),
    ],
)
def test_only_openais_own_hosts_count_as_openai(url: str, *, own: bool) -> None:
    assert is_openai(url) is own
