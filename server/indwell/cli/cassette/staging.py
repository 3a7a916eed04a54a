"""Prepares a replay: imports, a temporary home folder with the recorded files, the environment."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from indwell.cli.cassette.file_format import (
    Cassette,
    Places,
    WrongCassette,
    is_kept,
    recorded_roots,
    unpacked,
)
from indwell.files.append_log import make_private_folder
from indwell.files.private import (
    new_private_folder,
    remove_own_tree,
    remove_scratch,
    replace_own,
    scratch_folder,
)
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.wire.language_server import Server
from indwell.providers.facts import facts_for
from indwell.sessions.storage.store import folder_name
from indwell.settings.model import Settings
from indwell.settings.paths import user_file
from indwell.wiring import preload

MOST_PUT_B = 1 << 30  # the limit of bytes of all files that a replay creates
_GIT_FOLDER = lazy_pattern(r'\["git","--git-dir=([^"\\]+)"')
LONGEST = 250  # the limit of characters for a folder's name


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
def stage(
    cassette: Cassette, settings_file: Callable[[], Path] = user_file
) -> Iterator[tuple[Places, Mapping[str, str]]]:
    """Create the user's folders and files in a temporary folder, and the environment.

    Args:
        cassette: The recorded session.
        settings_file: Returns the path of the user's settings in the environment of the replay.

    Raises:
        WrongCassette: The cassette names a place outside its folders, is too large, or would
            replace the settings of this machine's user.
    """
    start = cassette.start
    scratch = scratch_folder()
    places = Places(
        {
            name: _folder(scratch, number, length)
            for number, (name, length) in enumerate(start.places.items())
        }
    )
    try:
        home, state = places.path(start.home), places.path(start.state)
        roots = [places.path(one) for one in start.roots]
    except WrongCassette:
        remove_scratch(scratch)
        raise
    sign, minutes = ("-" if start.zone >= 0 else "+"), abs(start.zone)
    environment = {
        **{name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ},
        **{
            name: places.unfold(one).replace("\0", "")
            for name, one in start.variables.items()
            if is_kept(name)
        },
        "HOME": str(home),
        "INDWELL_STATE": str(state),
        "TZ": f"REC{sign}{minutes // 60}:{minutes % 60:02}",
        "LC_ALL": "C.UTF-8",
    }
    if start.trusted:
        environment["INDWELL_TRUSTED"] = os.pathsep.join(map(str, roots))
    before = dict(os.environ)
    made: list[Path] = []
    try:
        os.environ.clear()
        os.environ.update(environment)
        _take_zone()
        if not places.contain(settings_file()):
            raise WrongCassette(
                "this system keeps your settings outside of HOME, so a replay would change them; "
                "replay the cassette on Linux or macOS"
            )
        for folder in map(Path, places.folders.values()):
            new_private_folder(folder)  # another user may have guessed the name
            made.append(folder)
        for folder in roots:
            make_private_folder(folder)
        try:
            _put_files(cassette, places, recorded_roots(roots, home))
        except OSError as error:
            raise WrongCassette(f"the cassette's files cannot be created ({error})") from error
        yield places, environment
    finally:
        os.environ.clear()
        os.environ.update(before)
        _take_zone()
        remove_scratch(scratch)
        for one in made:
            with suppress(OSError):
                remove_own_tree(one)


def _folder(scratch: Path, number: int, length: int) -> str:
    """Return a new folder whose path has this length, if that is possible."""
    short = f"{tempfile.gettempdir()}/{scratch.name[-6:]}{number}"
    return short + "x" * max(0, min(length, LONGEST) - len(short))


def _put_files(cassette: Cassette, places: Places, roots: Sequence[Path]) -> None:
    start, n_bytes = cassette.start, 0
    for event in cassette.events:
        names = event.body if event.kind == "files" else (event.name,)
        if event.kind in {"files", "file", "disk"}:
            paths = [_in_workspace(name, places, roots) for name in names]
        if event.kind == "files":
            for path, size in zip(paths, event.body.values(), strict=True):
                n_bytes += max(size, 0)
                if n_bytes > MOST_PUT_B:
                    raise WrongCassette("the cassette has too many large files to replay it")
                put_file(path, b" " * size)
        elif event.kind == "file":
            put_file(paths[0], unpacked(places.unfold(event.body)))
        elif event.kind == "run":
            _put_repository(event.name, places)
    if start.settings is not None:
        put_file(user_file(), places.unfold(start.settings).encode())
    if start.allowed is not None:
        root = places.path(start.roots[0])
        rules = places.path(start.state) / "permissions" / f"{folder_name(root)}.json"
        put_file(rules, places.unfold(start.allowed).encode())


def _put_repository(words: str, places: Places) -> None:
    """Let git's later answers be believed: a repository is a folder with this subfolder."""
    found = _GIT_FOLDER.match(words)
    if found is not None and places.contain(folder := Path(places.unfold(found[1]))):
        make_private_folder(folder / "objects")


def _in_workspace(name: str, places: Places, roots: Sequence[Path]) -> Path:
    """Return the path of a file of the workspace; ``indwell record`` keeps no other file.

    Raises:
        WrongCassette: The path is elsewhere, as a file of settings for another program would be.
    """
    path = places.path(name)
    if not any(map(path.is_relative_to, roots)):
        raise WrongCassette(
            f"the cassette names {name!r}, which is outside its workspace; do not trust the file"
        )
    return path


def _take_zone() -> None:
    """Let Python read the variable TZ; Windows always uses the user's zone."""
    if sys.platform != "win32":
        time.tzset()


def put_file(path: Path, data: bytes) -> None:
    """Write a file and its missing folders."""
    make_private_folder(path.parent)
    replace_own(path, data)
