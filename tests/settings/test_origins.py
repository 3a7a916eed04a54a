from __future__ import annotations

import pytest

from indwell.errors import SettingsError
from indwell.settings.credentials import origin_of


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        (None, "https://api.openai.com"),
        ("https://api.openai.com/v1", "https://api.openai.com"),
        ("HTTPS://API.OpenAI.com:443/v1/", "https://api.openai.com"),
        ("https://api.openai.com./v1", "https://api.openai.com"),
        ("http://api.openai.com/v1", "http://api.openai.com"),
        ("https://api.openai.com:8443/v1", "https://api.openai.com:8443"),
        ("https://user:password@host/v1?key=1", "https://host"),
        ("https://api.openai.com@evil.example/v1", "https://evil.example"),
        ("http://[::1]:11434/v1", "http://[::1]:11434"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
    ],
)
def test_equal_origins_have_the_same_spelling(address, origin) -> None:
    assert origin_of(address) == origin


@pytest.mark.parametrize(
    "address", ["host/v1", "ftp://host", "https://", "http://host:port", "//x"]
)
def test_a_text_that_is_not_an_address_has_no_origin(address) -> None:
    with pytest.raises(SettingsError, match="is not an address; write one such as"):
        origin_of(address)
