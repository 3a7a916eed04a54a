from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from keyring.backend import KeyringBackend
from keyring.backends import fail, macOS, null
from keyring.errors import InitError, KeyringLocked, PasswordDeleteError

from indwell.settings.keys import KeyringUnusable
from indwell.settings.system_keyring import SystemRing

ORIGIN, KEY = "https://one.example", "sk-canary-2"


class Memory(KeyringBackend):
    """A working keyring backend."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[str, str], str] = {}

    def get_password(self, service, username):
        return self.held.get((service, username))

    def set_password(self, service, username, password):
        self.held[service, username] = password

    def delete_password(self, service, username):
        if self.held.pop((service, username), None) is None:
            raise PasswordDeleteError("not there")


class Failing(Memory):
    """A keyring backend that raises an error in every call."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def set_password(self, _service, _username, _password):
        raise self.error


class Waiting(Memory):
    """A keyring backend that waits for ever, like an open password window."""

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()

    def get_password(self, _service, _username):
        self.release.wait()


def test_a_key_is_stored_and_read_under_the_name_of_indwell() -> None:
    backend = Memory()
    ring = SystemRing(backend)
    ring.set(ORIGIN, KEY)
    assert (ring.get(ORIGIN), backend.held) == (KEY, {("indwell", ORIGIN): KEY})
    ring.delete(ORIGIN)
    ring.delete(ORIGIN)  # deleting a missing key raises no error
    assert (ring.get(ORIGIN), backend.held) == (None, {})


@pytest.mark.parametrize(
    ("backend", "sentence"),
    [
        (fail.Keyring(), "this system has no keyring that works without a desktop"),
        (null.Keyring(), "the keyring is switched off (its backend is the empty one)"),
    ],
)
def test_a_keyring_backend_that_stores_nothing_is_reported(backend, sentence) -> None:
    with pytest.raises(KeyringUnusable) as caught:
        SystemRing(backend)
    assert str(caught.value) == sentence


def test_a_backend_that_only_writes_a_file_does_not_count_as_a_keyring() -> None:
    plain = type("PlaintextKeyring", (Memory,), {"__module__": "keyrings.alt.file"})
    with pytest.raises(KeyringUnusable, match="PlaintextKeyring only writes a file of its own"):
        SystemRing(plain())


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (KeyringLocked("dismissed"), "the keyring is locked, or access was refused; unlock it"),
        (InitError(f"D-Bus: {KEY}"), "the keyring does not work here (InitError)"),
        (
            ConnectionRefusedError("no bus"),
            "the keyring does not work here (ConnectionRefusedError)",
        ),
        (RuntimeError(KEY), "the keyring does not work here (RuntimeError)"),
    ],
)
def test_a_keyring_backend_error_is_one_sentence_without_the_key(error, sentence) -> None:
    with pytest.raises(KeyringUnusable) as caught:
        SystemRing(Failing(error)).set(ORIGIN, KEY)
    assert str(caught.value) == sentence


class SecurityFrameworkError(Exception):
    """An error with a status of macOS, as in ``macOS.api``, which only macOS can load."""


class KeychainDenied(SecurityFrameworkError):
    pass


class NotFound(SecurityFrameworkError):
    pass


@pytest.fixture
def keychain(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception], SystemRing]:
    """Return the package's Keychain backend, with a framework that fails in every call."""

    def made(error: Exception) -> SystemRing:
        def fail(*_given: object) -> None:
            raise error

        calls = ("find_generic_password", "set_generic_password", "delete_generic_password")
        errors = {"Error": SecurityFrameworkError, "KeychainDenied": KeychainDenied}
        api = SimpleNamespace(**errors, NotFound=NotFound, **dict.fromkeys(calls, fail))
        monkeypatch.setattr(macOS, "api", api, raising=False)
        return SystemRing(macOS.Keyring())

    return made


def test_a_keychain_without_a_stored_key_returns_no_key(keychain) -> None:
    assert keychain(NotFound(-25300, "Item not found")).get(ORIGIN) is None


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (KeychainDenied(-128, KEY), "the keyring is locked, or access was refused; unlock it"),
        (
            SecurityFrameworkError(-25308, KEY),
            (
                "the Keychain is locked, and you cannot be asked for its password here (as over "
                "SSH); run `security unlock-keychain` in this terminal"
            ),
        ),
        (SecurityFrameworkError(-25293, KEY), "the keyring does not work here (KeyringError)"),
    ],
)
def test_a_keychain_refusal_is_one_sentence_without_the_key(keychain, error, sentence) -> None:
    with pytest.raises(KeyringUnusable) as caught:
        keychain(error).get(ORIGIN)
    assert str(caught.value) == sentence


def test_waiting_for_a_keyring_that_never_answers_ends() -> None:
    backend = Waiting()
    with pytest.raises(KeyringUnusable, match="did not answer in 0.05 s; unlock it and try again"):
        SystemRing(backend, answer_s=0.05).get(ORIGIN)
    backend.release.set()
