from __future__ import annotations

import pytest

from indwell.errors import SettingsError
from indwell.settings.credentials import (
    name_or_nothing,
    origin_of,
    plain_address,
    redacted,
    told_address,
)
from indwell.settings.values import convert

KEY = "plainsecretvalue987654"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://api.openai.com/v1", "https://api.openai.com/v1"),
        ("https://me:pw@host:8/v1?key=1#f", "https://host:8/v1"),
        (f"http://127.0.0.1:9/v1/{KEY}?x={KEY}", "http://127.0.0.1:9/v1/[secret]"),
        ("https://host/accounts/0123456789abcdef0123456789abcdef/v1",
         "https://host/accounts/[secret]/v1"),
        ("https://host/openai/deployments/gpt-4o-2024-08-06/chat",
         "https://host/openai/deployments/gpt-4o-2024-08-06/chat"),
        ("https://a1b2c3d4e5f6a7b8c9.us-east-1.example.cloud/v1",
         "https://a1b2c3d4e5f6a7b8c9.us-east-1.example.cloud/v1"),
        ("http://h:99999", ""),
    ],
)  # fmt: skip
def test_an_address_is_shown_without_anything_that_may_be_a_key(url, shown) -> None:
    assert plain_address(url) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("localhost:8080", "localhost:8080"),
        ("http://h:99999", "http://h:99999"),
        ("http://[::1", "http://[::1"),
        (f"http://[::1/{KEY}?k={KEY}", "http://[::1/[secret]"),
        (f"host/v1?key={KEY}", "host/v1"),
        (f"x://me:{KEY}@host", "x://host"),
        ("sk-canary-0123456", "[secret]"),
        (KEY, "[secret]"),
    ],
)
def test_an_invalid_endpoint_address_is_redacted_like_a_valid_address(text, shown) -> None:
    assert told_address(text) == shown


@pytest.mark.parametrize("url", [f"http://h/v1?key={KEY}", f"ftp://h/{KEY}", f"h?{KEY}", KEY])
def test_an_error_about_an_invalid_address_does_not_repeat_the_key_in_the_address(url) -> None:
    for refuse in (lambda: convert("base_url", url), lambda: origin_of(url.replace("http", "x"))):
        with pytest.raises(SettingsError) as caught:
            refuse()
        assert KEY not in str(caught.value)


def test_an_error_about_another_setting_does_not_repeat_a_key() -> None:
    with pytest.raises(SettingsError) as caught:
        convert("mode", "sk-canary-0123456789")
    assert str(caught.value).startswith("mode = '[secret]' is not valid")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("opnai", "'opnai'"),
        ("lm studio", "'lm studio'"),
        ("sk-canary-0123456", ""),
        (KEY, ""),
        ("x" * 25, ""),
        ("abc1234", ""),
        ("a\n", ""),
    ],
)
def test_an_error_repeats_a_typed_name_only_if_the_name_is_not_a_key(name, shown) -> None:
    assert name_or_nothing(name) == shown


def test_keys_are_redacted_from_logs_by_value_and_by_form() -> None:
    assert redacted("a hunter2 b sk-proj-abcdefgh12", ("hunter2",)) == "a [secret] b [secret]"
