"""``indwell record`` serves an editor and records; ``indwell replay-cassette`` replays the file."""

from __future__ import annotations

import errno
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from indwell import __version__, edges
from indwell.bounds.folder_trust import FolderTrust
from indwell.cli.cassette.file_format import (
    FORMAT,
    CassetteEvent,
    CassetteStart,
    Places,
    WrongCassette,
    each_text,
    is_kept,
    line_of,
    plain,
    read_cassette,
    recorded_roots,
)
from indwell.cli.cassette.player import replay
from indwell.cli.cassette.recorder import RecordedFiles, Recorder, started_now
from indwell.cli.cassette.staging import load_server
from indwell.cli.serve.command import serve_opened
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell, told
from indwell.context.untrusted_text import visible
from indwell.errors import SettingsError, ToolError, UserError
from indwell.files.private import append_own, read_own, write_private
from indwell.lsp.server import roots_of
from indwell.lsp.wire.handshake import ClientIdentity
from indwell.lsp.wire.stdio import claim_stdio, open_line
from indwell.policy.paths import matches_any
from indwell.sandbox.confine.landlock import keep_writes_in
from indwell.sandbox.environment import own_environment
from indwell.secrets import Hider, is_secret, secrets_of
from indwell.service.stored_keys import key_store
from indwell.service.user_settings import read_settings
from indwell.sessions.storage.store import folder_name
from indwell.settings.keys import known_secrets
from indwell.settings.model import Settings
from indwell.settings.paths import read_user_file, state_folder, user_file

_RULES_B = 1 << 20


class RecordOptions(msgspec.Struct, frozen=True):
    """The options of ``indwell record``."""

    to: str
    scripted: bool = False
    editor_trust: bool = False


def record(options: RecordOptions) -> int:
    """Serve one editor, and record the session; return the exit code of ``indwell serve``.

    Raises:
        UserError: The file exists, or cannot be written.
    """
    path = Path(options.to).absolute()  # a link at the name itself is refused
    try:
        write_private(path, b"")
    except OSError as error:
        raise UserError(f"{path} cannot be written ({error.strerror}); name a new file") from error
    load_server()
    exchange: list[bytes] = []

    def keep_exchange(request: bytes, answer: bytes) -> None:
        exchange[:] = request, answer

    try:
        opened = open_line(claim_stdio(), on_initialize=keep_exchange)
    except KeyboardInterrupt:
        return 130
    if isinstance(opened, int):
        return opened
    environment = own_environment()
    recorder = _recorder(opened.opened, exchange, options, environment, path)
    tell(
        f"indwell: recording to {path}; the file will contain your code and prompts",
        file=sys.stderr,
    )
    with edges.installed(recorder):
        try:
            return serve_opened(
                opened,
                scripted=options.scripted,
                pace_s=0.0,
                editor_asks_trust=options.editor_trust,
            )
        finally:
            recorder.finish()
            _tell(path, recorder)


def _tell(path: Path, recorder: Recorder) -> None:
    words = [f"indwell: recorded {path}"]
    if recorder.n_hidden:
        words.append(
            f"{recorder.n_hidden} texts that look like keys are hidden; a replay can differ there"
        )
    if recorder.unrecordable:
        words.append(f"it cannot be replayed: {', '.join(recorder.unrecordable)}")
    print("; ".join(map(told, words)), file=sys.stderr)


def _recorder(
    identity: ClientIdentity,
    exchange: Sequence[bytes],
    options: RecordOptions,
    environment: Mapping[str, str],
    path: Path,
) -> Recorder:
    """Create the recorder, and write the first line of the cassette."""
    roots = tuple(root.resolve() for root in roots_of(identity) or (Path.cwd(),))
    state = state_folder(environment)
    folders = {"home": str(Path.home())}
    if not state.is_relative_to(Path.home()):
        folders["state"] = str(state)
    for number, root in enumerate(roots):
        if not any(str(root).startswith(f"{one}{os.sep}") for one in folders.values()):
            folders[f"root{number}"] = str(root.parent)
    places = Places(folders)
    hider = Hider(own=known_secrets(environment, key_store()), known=secrets_of(environment))
    started = started_now()

    def keep(event: CassetteEvent) -> None:
        append_own(path, line_of(event))

    own, deny = recorded_roots(roots, Path.home().resolve()), _settings(environment).deny

    def is_hidden(path: Path) -> bool:
        near = (path.relative_to(root) for root in own if path.is_relative_to(root))
        return any(matches_any(one.as_posix(), deny) for one in near)

    recorder = Recorder(keep, places, hider, RecordedFiles(own, is_hidden), started)

    def clean(text: str) -> str:
        return places.fold(hider.hide(text))

    start = CassetteStart(
        cassette=FORMAT,
        indwell=__version__,
        system=f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        started=started,
        seed=recorder.seed,
        zone=-(time.altzone if time.localtime().tm_isdst else time.timezone) // 60,
        places={name: len(folder) for name, folder in folders.items()},
        home="«home»",
        state=places.fold(str(state)),
        roots=tuple(places.fold(str(root)) for root in roots),
        trusted=_are_trusted(environment, roots),
        variables={
            name: "hidden" if is_secret(name) else clean(value)
            for name, value in environment.items()
            if is_kept(name)
        },
        settings=_text_of(lambda: read_user_file(user_file()), clean),
        allowed=_text_of(lambda: _rules(state, roots[0]), clean),
        options={"scripted": options.scripted, "editor_trust": options.editor_trust},
        opening=(
            each_text(plain(exchange[0]), clean),
            each_text(plain(exchange[1]), clean),
        ),
    )
    append_own(path, line_of(start))
    recorder.begin()
    return recorder


def _settings(environment: Mapping[str, str]) -> Settings:
    """Return the user's settings, or the defaults if the settings cannot be read."""
    try:
        return read_settings(environment).settings
    except SettingsError:  # the server reports the error
        return Settings()


def _are_trusted(environment: Mapping[str, str], roots: tuple[Path, ...]) -> bool:
    try:
        standings = FolderTrust(environment).look(roots, _settings(environment))
    except SettingsError:  # the server reports the error
        return False
    return all(one.state == "trusted" for one in standings)


def _rules(state: Path, root: Path) -> str | None:
    path = state / "permissions" / f"{folder_name(root)}.json"
    try:
        return read_own(path, _RULES_B).decode("utf-8", "replace")
    except (OSError, ToolError):
        return None


def _text_of(read: Callable[[], str | None], clean: Callable[[str], str]) -> str | None:
    text = read()
    return None if text is None else clean(text)


CONTACTS = frozenset({
    *("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"),
    *("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"),
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile"),
    *("os.fork", "os.forkpty", "webbrowser.open"),
})  # fmt: skip
"""Python's audit events of what a replay must not do; ``keep_writes_in`` works only on Linux."""


def refuse_contact(event: str, _arguments: object) -> None:
    """Refuse to connect, to look up a host, and to start a program; a hook of ``sys``.

    Raises:
        PermissionError: The event is one of ``CONTACTS``.
    """
    if event in CONTACTS:
        raise PermissionError(errno.EACCES, f"a replay refuses {event}")


def replay_cassette(file: str, *, as_json: bool) -> int:
    """Replay a cassette; return 0 if the output is the same, 1 if not, 2 if it cannot be replayed.

    Raises:
        WrongCassette: The file is not a cassette.
    """
    cassette = read_cassette(Path(file))
    keep_writes_in(tempfile.gettempdir())
    sys.addaudithook(refuse_contact)
    try:
        outcome = replay(cassette)
    except RecursionError as error:
        raise WrongCassette(f"the messages in {file} are nested too deep") from error
    if as_json:
        sys.stdout.write(json_line(outcome) + "\n")
    else:
        tell(visible(outcome.words))
    return outcome.code
