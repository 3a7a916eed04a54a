"""Prepares a replay: imports, a temporary home folder with the recorded files, the environment."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from indwell.cli.cassette.tape import Cassette, Places, unpacked
from indwell.files.append_log import make_private_folder
from indwell.files.private import remove_own_tree, replace_own, scratch_folder
from indwell.lsp.wire.language_server import Server
from indwell.providers.facts import facts_for
from indwell.sessions.storage.store import folder_name
from indwell.settings.model import Settings
from indwell.settings.paths import user_file
from indwell.wiring import preload


def load_server() -> None:
    """Import all that a session needs.

    A server that imports while a session runs is slow at random moments, and messages overtake
    each other. Therefore both the recorded and the replayed server import everything first.
    """
    settings = Settings(provider="scripted")
    preload.warm_up(settings)
    preload.load_rest()
    server = Server()
    server.load_types()
    server.warm_up()
    facts_for("", None, now=datetime.now(UTC))


@contextmanager
def stage(cassette: Cassette) -> Iterator[tuple[Places, Mapping[str, str]]]:
    """Create the user's folders and files in a temporary folder, and the environment."""
    start = cassette.start
    scratch = scratch_folder()
    places = Places(
        {
            name: _folder(scratch, number, length)
            for number, (name, length) in enumerate(start.places.items())
        }
    )
    home = places.unfold(start.home)
    sign, minutes = ("-" if start.zone >= 0 else "+"), abs(start.zone)
    environment = {
        **{name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ},
        **{name: places.unfold(value) for name, value in start.variables.items()},
        "HOME": home,
        "INDWELL_STATE": places.unfold(start.state),
        "TZ": f"REC{sign}{minutes // 60}:{minutes % 60:02}",
        "LC_ALL": "C.UTF-8",
    }
    if start.trusted:
        environment["INDWELL_TRUSTED"] = os.pathsep.join(map(places.unfold, start.roots))
    before = dict(os.environ)
    try:
        os.environ.clear()
        os.environ.update(environment)
        _take_zone()
        for folder in (*places.folders.values(), *map(places.unfold, start.roots)):
            make_private_folder(Path(folder))
        _put_files(cassette, places)
        yield places, environment
    finally:
        os.environ.clear()
        os.environ.update(before)
        _take_zone()
        remove_own_tree(scratch)
        for folder in places.folders.values():
            with suppress(OSError):
                remove_own_tree(Path(folder))


def _folder(scratch: Path, number: int, length: int) -> str:
    """Return a new folder whose path has this length, if that is possible."""
    short = f"{tempfile.gettempdir()}/{scratch.name[-6:]}{number}"
    return short + "x" * max(0, length - len(short))


def _put_files(cassette: Cassette, places: Places) -> None:
    start = cassette.start
    for event in cassette.events:
        if event.kind == "files":
            for name, size in event.body.items():
                put_file(Path(places.unfold(name)), b" " * size)
        elif event.kind == "file":
            put_file(Path(places.unfold(event.name)), unpacked(places.unfold(event.body)))
    if start.settings is not None:
        put_file(user_file(), places.unfold(start.settings).encode())
    if start.allowed is not None:
        root = Path(places.unfold(start.roots[0]))
        rules = Path(places.unfold(start.state), "permissions", f"{folder_name(root)}.json")
        put_file(rules, places.unfold(start.allowed).encode())


def _take_zone() -> None:
    """Let Python read the variable TZ; Windows always uses the user's zone."""
    if sys.platform != "win32":
        time.tzset()


def put_file(path: Path, data: bytes) -> None:
    """Write a file and its missing folders."""
    make_private_folder(path.parent)
    replace_own(path, data)
