"""Texts that are secrets by their form, and texts that only resemble them."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.secrets import KNOWN, Hider, find, has_mark, kinds_in, mark, values_in
from support.made_secrets import made_secrets
from support.platforms import posix_only

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(made_secrets())


@pytest.mark.parametrize("name", NAMES)
def test_each_kind_of_secret_is_found_in_any_surrounding_text(name: str) -> None:
    for seed in range(10):
        text, secret = made_secrets(seed)[name]
        for around in (text, f"x = 1\n{text}\ny = 2\n", f'{{"a": "{text}"}}', f"   12\t{text}"):
            hidden = Hider().hide(around)
            assert secret not in hidden
            assert has_mark(hidden)
            assert kinds_in(around)


def test_a_private_key_is_found_in_numbered_and_in_truncated_text() -> None:
    text, _ = made_secrets()["private key"]
    lines = text.splitlines()
    numbered = "\n".join(f"{n:>6}\t{line}" for n, line in enumerate(lines, 1))
    cut = "\n".join(lines[:8])
    for seen in (numbered, cut, text.replace("\n", "\\n")):
        hidden = Hider().hide(seen)
        assert not any(line[:40] in hidden for line in lines[1:7])


NO_SECRETS = [
    'if text.startswith("-----BEGIN RSA PRIVATE KEY-----"): raise ValueError',
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ghp_" + "a" * 36,
    'curl -H "Authorization: Bearer $TOKEN" https://api.example.com',
    'headers = {"Authorization": f"Bearer {self._access_token_2}"}',
    "postgres://user:password@localhost/db",
    "https://user:${PASSWORD_2}@host/x",
    "postgres://app:%(password1)s@localhost/db",
    "https://docs.example.com:8080/a2/b@v1.2",
    "//npm.example.com/:_authToken=${NPM_TOKEN_2026_FOR_CI}",
    'headers["X-Api-Key"] = settings.api_key_of_service_2',
    "x-api-key: process.env.SERVICE_KEY_NUMBER_2",
    "Authorization: Basic <base64 of user:password1>",
    "def check_authorization(basic_authentication_2: str) -> None:",
    "docker://alpine:3.19.1-rc2@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0",
    "git@github.com:owner/repo.git",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
    "0e1f0e5a-7a5d-4f0e-9a52-1c9b8d5a7f21",
    "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ" * 3,
    "task_completed_successfully_with_id_1234567890",
    "const skeleton = 'sk-loading-skeleton-item-placeholder-2x'",
]


@pytest.mark.parametrize("text", NO_SECRETS)
def test_a_text_without_secrets_stays_unchanged(text: str) -> None:
    assert Hider().hide(text) is text


@posix_only("slow")
def test_no_source_file_of_indwell_contains_a_false_alarm() -> None:
    """Code, pages and tests: hundreds of files without a single false alarm."""
    files = [path for folder in ("server", "docs", "tests") for path in (ROOT / folder).rglob("*")]
    found = {
        str(path): find(path.read_text("utf-8", "replace"))
        for path in files
        if path.suffix in {".py", ".md"} and "node_modules" not in path.parts and path.is_file()
    }
    assert {path: one for path, one in found.items() if one} == {}


@given(st.text(), st.sampled_from([text for text, _ in made_secrets().values()]), st.text())
def test_a_redacted_text_is_not_redacted_again(before: str, secret: str, after: str) -> None:
    hidden = Hider().hide(f"{before} {secret} {after}")
    assert Hider().hide(hidden) == hidden


def test_a_secret_across_two_chunks_of_a_long_text_is_found() -> None:
    text, secret = made_secrets()["anthropic"]
    for n in range(99_850, 100_100, 7):
        assert secret not in Hider().hide("x " * (n // 2) + text + "y " * 60_000)


def test_known_values_are_hidden_unless_they_are_words_or_paths() -> None:
    known = ["postgres", "production-database", "/home/user/project-2", "n0-C4nary-8f31", "true"]
    hider = Hider(own=["canary-key"], known=known)
    text = "postgres production-database /home/user/project-2 n0-C4nary-8f31 canary-key true"
    assert (
        hider.hide(text).split("[secret")[0] == "postgres production-database /home/user/project-2 "
    )
    assert "n0-C4nary" not in hider.hide(text)
    assert "canary-key" not in hider.hide(text)


@pytest.mark.parametrize(
    "text",
    ["A" * 400_000, "AKIA" * 100_000, "a1_" * 130_000, "://a:" * 80_000, "eyJ." * 100_000,
     "-----BEGIN PRIVATE KEY-----" * 15_000, "sk-a1" * 80_000, ("x1" * 15 + " ") * 12_000,
     "Bearer " * 60_000, "://a:b1" * 60_000, "://u:" + "a1" * 200_000,
     "Authorization: Basic " * 20_000, "x-api-key: a1" * 30_000, "://" * 130_000,
     "xoxb-" * 80_000, "secret_access_key=" * 22_000],
)  # fmt: skip
def test_every_text_is_scanned_in_bounded_time(text: str) -> None:
    began = time.process_time()
    find(text)
    assert time.process_time() - began < 1.0


def test_values_of_a_secret_file_exclude_words_numbers_and_paths() -> None:
    text = (
        "NODE_ENV=production\nPORT=12345678\nURL=https://api.example.com\nHOME=/home/user/x\n"
        "PASS='horse-battery'\nkey: \"aB3dE5gH\"\nSHORT=abc\n"
    )
    address = "postgres://u:" + "horse-pw1@host/db"
    text += f"DB={address}\n"
    assert values_in(text) >= {"horse-battery", "aB3dE5gH", address}
    assert not values_in(text) & {"production", "12345678", "https://api.example.com", "abc"}


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("after", ["", "x", "xy"])
def test_a_known_key_is_hidden_in_base64_and_in_addresses(before: str, after: str) -> None:
    key = 'own/key+"of?no~form'
    text = f"{before}{key}{after}".encode()
    hider = Hider(own=[key])
    encoded = (base64.b64encode(text), base64.urlsafe_b64encode(text))
    for one in (*encoded, quote(key, safe="").encode(), json.dumps(key).encode()):
        hidden = hider.hide(f"a {one.decode()} b")
        kept = hidden.replace(mark(KNOWN), "").removeprefix("a ").removesuffix(" b")
        assert mark(KNOWN) in hidden
        assert len(kept) <= len(before) * 2 + 10
    assert hider.hide("another text") == "another text"
