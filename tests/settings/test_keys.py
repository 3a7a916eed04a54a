from __future__ import annotations

import stat
import sys
from pathlib import Path

import pytest

from indwell.errors import SettingsError
from indwell.files.spelling import quoted
from indwell.settings.credentials import Secret
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring, StoredKey, known_secrets
from indwell.settings.paths import user_file

ONE, OTHER = "https://one.example", "https://one.example:8443"
KEY = Secret("sk-canary-1")


class DictRing:
    """A keyring in memory that records the requested origins."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.asked: list[str] = []

    def get(self, origin: str) -> str | None:
        self.asked.append(origin)
        return self.held.get(origin)

    def set(self, origin: str, key: str) -> None:
        self.held[origin] = key

    def delete(self, origin: str) -> None:
        self.held.pop(origin, None)


class EmptyRing(DictRing):
    """A keyring that accepts keys but stores nothing."""

    def set(self, origin: str, key: str) -> None:
        pass


def no_ring() -> Ring:
    raise KeyringUnusable("this system has no keyring")


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "config" / "keys.json"


def test_a_stored_key_is_only_in_the_keyring(path) -> None:
    ring = DictRing()
    store = KeyStore(path, lambda: ring)
    kept = store.put(ONE, KEY)
    assert kept == StoredKey("keyring", KEY, "the key is in the system's keyring")
    assert store.get(ONE) == StoredKey("keyring", KEY)
    assert (ring.held, store.origins()) == ({ONE: KEY.reveal()}, {ONE: "keyring"})
    assert KEY.reveal() not in path.read_text(encoding="utf-8")


def test_a_key_is_used_only_for_its_own_origin(path) -> None:
    ring = DictRing()
    store = KeyStore(path, lambda: ring)
    store.put(ONE, KEY)
    ring.asked.clear()
    assert [store.get(other) for other in (OTHER, "http://one.example", "https://example")] == [
        None,
        None,
        None,
    ]
    assert ring.asked == []  # the keyring is not asked about an origin without a stored key


@pytest.mark.parametrize("open_ring", [no_ring, EmptyRing])
def test_without_a_working_keyring_the_key_goes_to_a_private_file_with_a_note(
    path, open_ring
) -> None:
    store = KeyStore(path, open_ring)
    kept = store.put(ONE, KEY)
    assert kept.where == "file"
    assert f"so the key is in {quoted(path)}, which only you can read" in kept.note
    assert KeyStore(path, no_ring).get(ONE) == StoredKey("file", KEY)
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o600
    store.put(OTHER, Secret("second"))
    assert sys.platform == "win32" or stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_origin_that_needs_no_key_is_known_without_a_keyring(path) -> None:
    store = KeyStore(path, no_ring)
    store.put(ONE, None)
    assert (store.get(ONE), store.origins()) == (StoredKey("none", None), {ONE: "none"})


def test_forgetting_a_key_removes_the_key_from_its_store(path) -> None:
    ring = DictRing()
    store = KeyStore(path, lambda: ring)
    store.put(ONE, KEY)
    store.put(OTHER, Secret("second"))
    assert (store.forget(ONE), store.forget(ONE)) == (True, False)
    assert (ring.held, store.origins()) == ({OTHER: "second"}, {OTHER: "keyring"})


def test_marking_an_origin_as_keyless_removes_its_stored_key(path) -> None:
    ring = DictRing()
    store = KeyStore(path, lambda: ring)
    store.put(ONE, KEY)
    store.put(ONE, None)
    assert (ring.held, store.get(ONE)) == ({}, StoredKey("none", None))


def test_a_key_missing_from_the_keyring_is_reported_in_one_sentence(path) -> None:
    ring = DictRing()
    store = KeyStore(path, lambda: ring)
    store.put(ONE, KEY)
    ring.held.clear()
    with pytest.raises(KeyringUnusable, match=f"no longer has a key for {ONE}; run `indwell login"):
        store.get(ONE)


@pytest.mark.parametrize("damage", ["{", '{"x": 1}', '{"x": {"where": "moon"}}', "\xff"])
def test_the_error_about_a_broken_key_file_contains_no_keys(path, damage) -> None:
    path.parent.mkdir()
    path.write_bytes((damage + KEY.reveal()).encode("latin-1"))
    with pytest.raises(
        SettingsError, match=r"cannot be read .* run `indwell login` again"
    ) as caught:
        KeyStore(path, no_ring).get(ONE)
    assert KEY.reveal() not in str(caught.value)


def test_an_impossible_key_file_path_is_reported_in_one_sentence(tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SettingsError, match="cannot be (read|stored)"):
        KeyStore(tmp_path / "file" / "keys.json", no_ring).put(ONE, KEY)


SETTINGS = """
headers = { Authorization = "Basic canary-header", X-Team = "blue-team" }
endpoints.mine.api_key = "canary-dotted"
endpoints.other = { base_url = "https://one.example", api_key = "canary-inline" }
mcp.x = { command = "run", env = { MY_TOKEN = "canary-variable", PLAIN = "ordinary" } }
api_key_variable = "TEAM_KEY"
"""


def test_secrets_are_known_in_every_form_of_the_settings(tmp_path, monkeypatch, path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text(SETTINGS, "utf-8")
    environment = {"INDWELL_KEYS": f'{{"{ONE}": "canary-passed"}}'}
    known = known_secrets(environment, KeyStore(path, DictRing))
    names = ("dotted", "inline", "variable", "passed", "header")
    assert {f"canary-{name}" for name in names} <= set(known)
    assert not {"TEAM_KEY", "blue-team", "ordinary", "run"} & set(known)
