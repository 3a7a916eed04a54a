"""The format of a cassette: one JSON object a line, with names in place of the user's folders.

A cassette holds what went into the server and what came out, in one order. Texts are kept without
the user's folders and without secrets, so that the file can be sent and replayed elsewhere. Pure,
except for reading and writing the file.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

import msgspec

from indwell.errors import UserError
from indwell.files.append_log import read_bytes_private
from indwell.lsp.wire.base_protocol import parsed
from indwell.prepared_types import prepared

FORMAT = 1
MOST_B = 64 << 20  # the limit of bytes of a cassette
MEMORY_B = 128 << 20  # the limit of bytes of memory to decompress it
LONGEST_S = 7 * 24 * 3_600.0  # the limit of seconds for a recorded session
_BYTES = "bytes:"
_KEPT_VARIABLES = ("INDWELL_", "OPENAI_", "ANTHROPIC_")
_NOT_KEPT = frozenset({"INDWELL_STATE", "INDWELL_TRUSTED", "INDWELL_TOKEN"})

EventKind: TypeAlias = Literal[
    "in",
    "out",
    "ask",
    "head",
    "part",
    "closed",
    "run",
    "chunk",
    "ran",
    "value",
    "disk",
    "unrecorded",
    "files",
    "file",
]
INPUTS = frozenset({"in", "head", "part", "closed", "chunk", "ran", "disk"})
OUTPUTS = frozenset({"out", "ask", "run"})


class WrongCassette(UserError):
    """A file is not a cassette, or a cassette of another format."""


class CassetteStart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line of a cassette.

    Attributes:
        cassette: The version of the format.
        indwell: The version of Indwell that recorded.
        system: The operating system and Python, in words.
        started: The time of the first message (ISO 8601, UTC).
        seed: The seed of all random ids, hexadecimal.
        zone: Minutes from UTC to local time.
        places: The length of each folder that has a name in the cassette, by name.
        home: The home folder, with names in place of folders.
        state: The state folder, likewise.
        roots: The folders of the workspace, likewise.
        trusted: Whether the user trusted all folders of the workspace.
        variables: Variables of the environment that are settings.
        settings: The user's settings file, without keys, or None if missing.
        allowed: The file of permanent permissions, or None if missing.
        options: Options of ``indwell serve``, such as ``scripted``.
        opening: The params of ``initialize``, with its answer.
    """

    cassette: int
    indwell: str
    system: str
    started: datetime
    seed: str
    zone: int
    places: Mapping[str, int]
    home: str
    state: str
    roots: tuple[str, ...]
    trusted: bool
    variables: Mapping[str, str]
    settings: str | None
    allowed: str | None
    options: Mapping[str, Any]
    opening: tuple[Any, Any]


class CassetteEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A later line of a cassette.

    Attributes:
        kind: What happened.
        at: For an input: seconds since the start.
        busy: For an input: whether a thread of the server worked when the input came.
        n: The number of the exchange or of the program.
        name: The method and address, the program, the kind of value, or the path.
        body: The message, the answer or the text.
    """

    kind: EventKind
    at: float = 0.0
    n: int = 0
    name: str = ""
    body: Any = None
    busy: bool = False


class Cassette(NamedTuple):
    """A whole cassette."""

    start: CassetteStart
    events: Sequence[CassetteEvent]


class Places:
    """Exchanges the user's folders and their names in a cassette.

    Args:
        folders: The absolute folders, by the name that replaces each.
    """

    def __init__(self, folders: Mapping[str, str]) -> None:
        self.folders = dict(folders)
        longest = sorted(folders.items(), key=lambda one: -len(one[1]))
        self._pairs: list[tuple[str, str]] = []
        for name, folder in longest:
            self._pairs.append((folder, f"«{name}»"))
            if quote(folder) != folder:  # as in the address of a file
                self._pairs.append((quote(folder), f"«{name}%»"))
                self._pairs.append((quote(folder).replace("%", "%25"), f"«{name}%%»"))

    def fold(self, text: str) -> str:
        """Replace folders by names."""
        for folder, name in self._pairs:
            text = text.replace(folder, name)
        return text

    def unfold(self, text: str) -> str:
        """Replace names by folders."""
        if "«" not in text:
            return text
        for name, folder in self.folders.items():
            text = text.replace(f"«{name}»", folder).replace(f"«{name}%»", quote(folder))
            text = text.replace(f"«{name}%%»", quote(folder).replace("%", "%25"))
        return text

    def path(self, name: str) -> Path:
        """Return the path of a name in a cassette.

        Raises:
            WrongCassette: The name leads out of the folders; a cassette of others may do that.
        """
        path = Path(os.path.normpath(self.unfold(name)))
        if not self.contain(path):
            raise WrongCassette(
                f"the cassette names {name!r}, which is outside its folders; do not trust the file"
            )
        return path

    def contain(self, path: Path) -> bool:
        """Return whether a path is in one of the folders."""
        normal = Path(os.path.normpath(path))
        return "\0" not in str(path) and any(map(normal.is_relative_to, self.folders.values()))


def recorded_roots(roots: Sequence[Path], home: Path) -> tuple[Path, ...]:
    """Return the folders whose files belong to a cassette: not the home folder, nor one above.

    A home folder has private files, and in a replay, other programs' files of settings.
    """
    return tuple(root for root in roots if not home.is_relative_to(root))


def is_kept(variable: str) -> bool:
    """Return whether a cassette may set this variable of the environment."""
    is_one = variable.startswith(_KEPT_VARIABLES) and variable.isidentifier()
    return is_one and variable not in _NOT_KEPT


def each_text(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - plain JSON
    """Return plain JSON data with ``change`` applied to every text, also to the names of fields."""
    match value:
        case str():
            return change(value)
        case list() | tuple():
            return [each_text(one, change) for one in value]
        case dict():
            return {change(name): each_text(one, change) for name, one in value.items()}
        case _:
            return value


def packed(data: bytes) -> str:
    """Return bytes as text: UTF-8 unchanged, other bytes as one character each.

    A secret in other bytes stays readable, so that it is found and hidden.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = _BYTES
    return _BYTES + data.decode("latin-1") if text.startswith(_BYTES) else text


def unpacked(text: str) -> bytes:
    """Return the bytes of ``packed``."""
    if text.startswith(_BYTES):
        return text.removeprefix(_BYTES).encode("latin-1", "replace")
    return text.encode("utf-8", "surrogatepass")


def plain(body: bytes) -> Any:  # noqa: ANN401 - JSON comes in here
    """Return a message as JSON data, or as text if it is not JSON."""
    try:
        return parsed(body)
    except ValueError:
        return packed(body)


def bytes_of(value: Any) -> bytes:  # noqa: ANN401 - plain JSON
    """Return the canonical bytes of JSON data: fields in order, no blanks."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def drawn(seed: str, purpose: str, number: int, n_bytes: int) -> bytes:
    """Return the bytes of the random id with this number, for a purpose."""
    words = f"{seed}\0{purpose}\0{number}".encode()
    return hashlib.blake2b(words, digest_size=n_bytes).digest()


def line_of(entry: CassetteStart | CassetteEvent) -> bytes:
    """Return a line of a cassette."""
    return msgspec.json.encode(entry) + b"\n"


def read_cassette(path: Path) -> Cassette:
    """Read a cassette, which may be compressed (``.xz``).

    Raises:
        WrongCassette: The file cannot be read, or is not a cassette of this format.
    """
    try:
        data = read_bytes_private(path, follow_link=True, limit_b=MOST_B)
        if path.suffix == ".xz":
            data = lzma.LZMADecompressor(memlimit=MEMORY_B).decompress(data, MOST_B)
    except OSError as error:
        raise WrongCassette(f"{path} cannot be read ({error.strerror})") from error
    except lzma.LZMAError as error:
        raise WrongCassette(f"{path} is not a whole .xz file ({error})") from error
    first, _, rest = data.partition(b"\n")
    try:
        start = msgspec.json.decode(first, type=prepared(CassetteStart))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WrongCassette(f"{path} is not a cassette of `indwell record` ({error})") from error
    if start.cassette != FORMAT:
        raise WrongCassette(
            f"{path} has format {start.cassette}, and Indwell {start.indwell!r} recorded it; this "
            f"Indwell reads format {FORMAT}: replay it with that version"
        )
    events: list[CassetteEvent] = []
    numbers: set[int] = set()
    for at, line in enumerate(rest.splitlines(), start=2):
        try:
            event = msgspec.json.decode(line, type=prepared(CassetteEvent))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            break  # the recorder was killed; the events before are whole
        if not _is_ours(event, numbers):
            raise WrongCassette(f"`indwell record` does not write such a line: line {at} of {path}")
        events.append(event)
    return Cassette(start, events)


def _is_ours(event: CassetteEvent, numbers: set[int]) -> bool:
    """Return whether a recorder writes such an event; ``numbers`` has the numbers before it."""
    if not 0 <= event.at <= LONGEST_S:
        return False
    match event.kind, event.body:
        case (("run" | "ask"), _):
            is_new = event.n not in numbers
            numbers.add(event.n)
            return is_new
        case "files", dict() as sizes:
            return all(type(size) is int for size in sizes.values())
        case (("file" | "value" | "chunk" | "part" | "disk" | "closed" | "ran"), str()):
            return True
        case "head", [int(), dict()]:
            return True
        case kind, body:
            is_ended = kind == "ran" and event.name != "failed" and isinstance(body, dict)
            is_empty = kind in {"disk", "closed"} and body is None
            return is_ended or is_empty or kind in {"in", "out", "unrecorded"}
