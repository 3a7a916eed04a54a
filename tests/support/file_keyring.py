"""A working keyring for a separate process, in the JSON file that ``TEST_KEYRING`` names."""

from __future__ import annotations

import json
import os
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

FOLDER = str(Path(__file__).resolve().parents[1])


class FileKeyring(KeyringBackend):
    """A keyring without protection, only for tests."""

    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self._write({**self._read(), f"{service} {username}": password})

    def delete_password(self, service: str, username: str) -> None:
        entries = self._read()
        if entries.pop(f"{service} {username}", None) is None:
            raise PasswordDeleteError("not there")
        self._write(entries)

    def _read(self) -> dict[str, str]:
        path = Path(os.environ["TEST_KEYRING"])
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}

    def _write(self, entries: dict[str, str]) -> None:
        Path(os.environ["TEST_KEYRING"]).write_bytes(json.dumps(entries).encode())


def variables(folder: Path) -> dict[str, str]:
    """Return the variables with which a process uses this keyring, with a file in ``folder``."""
    return {
        "PYTHON_KEYRING_BACKEND": "support.file_keyring.FileKeyring",
        "PYTHONPATH": os.pathsep.join([FOLDER, os.environ.get("PYTHONPATH", "")]).rstrip(
            os.pathsep
        ),
        "TEST_KEYRING": str(folder / "keyring.json"),
    }


def held(folder: Path) -> dict[str, str]:
    """Return the stored keys by service and origin."""
    path = folder / "keyring.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
