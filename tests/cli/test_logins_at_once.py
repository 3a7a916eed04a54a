"""Two logins at once keep both keys, and no login reverts another login's key."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from indwell.errors import SettingsError
from indwell.service.endpoint.connect import Endpoint, EndpointPlaces, _keep_all, connect
from indwell.settings.credentials import Secret
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring
from support.editing import Home
from support.loopback_endpoint import LoopbackEndpoint
from support.model_server import answering, listed
from support.terminal import indwell

ONE, OTHER = "sk-canary-one-1", "sk-canary-two-2"
NO_RING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}


def no_ring() -> Ring:
    raise KeyringUnusable("this system has no keyring")


def keys(folder: Path) -> dict[str, str]:
    entries = json.loads((folder / "keys.json").read_text(encoding="utf-8"))
    return {origin: entry["key"] for origin, entry in entries["keys"].items()}


def origin(url: str) -> str:
    return url.removesuffix("/v1")


async def test_two_logins_of_one_process_keep_both_keys(tmp_path) -> None:
    """Each login waits a moment between reading and writing the keys, so that both overlap."""
    both = threading.Barrier(2)

    def slow_ring() -> Ring:
        # the lock prevents the other login from starting
        with suppress(threading.BrokenBarrierError):
            both.wait(0.3)
        return no_ring()

    (tmp_path / "config.toml").write_bytes(b'model = "old" # mine\n')
    async with (
        LoopbackEndpoint(answering(listed("q"), key=ONE)) as one,
        LoopbackEndpoint(answering(listed("q"), key=OTHER)) as other,
    ):
        wanted = {one.base_url: ONE, other.base_url: OTHER}
        outcomes = await asyncio.gather(
            *(
                connect(
                    Endpoint(url, Secret(key)),
                    EndpointPlaces(
                        tmp_path / "config.toml", KeyStore(tmp_path / "keys.json", slow_ring), {}
                    ),
                )
                for url, key in wanted.items()
            )
        )
    assert [outcome.ok for outcome in outcomes] == [True, True], outcomes
    assert keys(tmp_path) == {origin(url): key for url, key in wanted.items()}
    assert "# mine" in (tmp_path / "config.toml").read_text(encoding="utf-8")


async def test_two_logins_of_two_processes_keep_both_keys(tmp_path) -> None:
    home = Home(tmp_path)
    home.configure('model = "old"\n')
    async with (
        LoopbackEndpoint(answering(listed("q"), key=ONE)) as one,
        LoopbackEndpoint(answering(listed("q"), key=OTHER)) as other,
    ):
        wanted = {one.base_url: ONE, other.base_url: OTHER}
        ended = await asyncio.gather(
            *(
                indwell(
                    *("login", url, "--key-stdin"),
                    environment=home.environment(**NO_RING),
                    folder=home.workspace,
                    stdin=f"{key}\n".encode(),
                )
                for url, key in wanted.items()
            )
        )
    assert [one.code for one in ended] == [0, 0], ended
    assert keys(home.config / "indwell") == {origin(url): key for url, key in wanted.items()}


def test_a_login_that_cannot_be_stored_reverts_its_own_key_only(tmp_path) -> None:
    store = KeyStore(tmp_path / "keys.json", no_ring)
    store.put("https://mine.example", Secret("before"))

    def fail() -> None:
        assert keys(tmp_path) == {"https://mine.example": ONE, "https://new.example": ONE}
        KeyStore(tmp_path / "keys.json", no_ring).put("https://late.example", Secret(OTHER))
        raise SettingsError("the disk is full")

    wanted = {"https://mine.example": Secret(ONE), "https://new.example": Secret(ONE)}
    with pytest.raises(SettingsError, match="disk is full"):
        _keep_all(wanted, store, fail)
    assert keys(tmp_path) == {"https://late.example": OTHER, "https://mine.example": "before"}
