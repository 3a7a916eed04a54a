"""The system's keyring through the package ``keyring``, with time limits and clear errors.

Importing this module takes 0.1 s, and a keyring may ask the user for its password. Callers must
therefore import and use this module in a thread, and only when a key is needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import keyring
import keyring.errors
from keyring.backend import KeyringBackend

from indwell.settings.keys import KeyringUnusable

SERVICE = "indwell"
ANSWER_S = 30.0  # A locked keyring opens a password window, and a person needs time.

_NO_DESKTOP = -25_308  # The constant is errSecInteractionNotAllowed of macOS.

T = TypeVar("T")


class SystemRing:
    """The system's keyring; implements ``keys.Ring``.

    Args:
        backend: A backend of the package.
        answer_s: The time limit of one call in seconds.

    Raises:
        KeyringUnusable: The backend stores nothing, or stores keys unprotected.
    """

    def __init__(self, backend: KeyringBackend, *, answer_s: float = ANSWER_S) -> None:
        module = type(backend).__module__
        if module.startswith("keyring.backends.fail"):
            raise KeyringUnusable("this system has no keyring that works without a desktop")
        if module.startswith("keyring.backends.null"):
            raise KeyringUnusable("the keyring is switched off (its backend is the empty one)")
        if module.startswith("keyrings.alt"):
            raise KeyringUnusable(
                f"the keyring {type(backend).__name__} only writes a file of its own"
            )
        self._backend = backend
        self._answer_s = answer_s

    def get(self, origin: str) -> str | None:
        """Return the key of an origin; see ``keys.Ring``."""
        return self._bounded(lambda: self._backend.get_password(SERVICE, origin))

    def set(self, origin: str, key: str) -> None:
        """Store a key; see ``keys.Ring``."""
        self._bounded(lambda: self._backend.set_password(SERVICE, origin, key))

    def delete(self, origin: str) -> None:
        """Delete a key; see ``keys.Ring``."""

        def delete() -> None:
            if self._backend.get_password(SERVICE, origin) is not None:
                self._backend.delete_password(SERVICE, origin)

        self._bounded(delete)

    def _bounded(self, call: Callable[[], T]) -> T:
        return _bounded(call, self._answer_s)


def system_ring(*, answer_s: float = ANSWER_S) -> SystemRing:
    """Open this system's keyring.

    Args:
        answer_s: The time limit in seconds for opening the keyring, and for each later call.

    Raises:
        KeyringUnusable: There is no usable keyring.
    """
    return SystemRing(_bounded(keyring.get_keyring, answer_s), answer_s=answer_s)


def _bounded(call: Callable[[], T], answer_s: float) -> T:
    """Run ``call`` in a thread that may be abandoned; D-Bus has no reliable time-out."""
    answers: list[T] = []
    faults: list[Exception] = []

    def run() -> None:
        try:
            answers.append(call())
        except Exception as error:  # noqa: BLE001 -- each backend raises what its library does
            faults.append(error)

    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(answer_s)
    if answers:
        return answers[0]
    if faults:
        raise _unusable(faults[0]) from faults[0]
    raise KeyringUnusable(f"the keyring did not answer in {answer_s:g} s; unlock it and try again")


def _unusable(error: Exception) -> KeyringUnusable:
    """Describe only the type of an error, because a backend's message may contain the key."""
    if isinstance(error, keyring.errors.KeyringLocked):
        return KeyringUnusable("the keyring is locked, or access was refused; unlock it")
    if error.__cause__ is not None and error.__cause__.args[:1] == (_NO_DESKTOP,):
        return KeyringUnusable(
            "the Keychain is locked, and you cannot be asked for its password here (as over "
            "SSH); run `security unlock-keychain` in this terminal"
        )
    if isinstance(error, keyring.errors.NoKeyringError):
        return KeyringUnusable("this system has no keyring that works without a desktop")
    return KeyringUnusable(f"the keyring does not work here ({type(error).__name__})")
