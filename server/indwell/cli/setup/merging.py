"""Adds a configuration to an editor's file, and removes it again byte for byte. Pure.

TOML and JSON are merged. In other files, two marked comments enclose the added part.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Literal

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError

from indwell.cli.setup.configurations import How
from indwell.files.spelling import quoted


class CannotMerge(Exception):
    """The configuration cannot be added or removed without losing text."""


_BEGIN = "{} >>> indwell setup (this part is written by `indwell setup`; --remove takes it out)"
_END = "{} <<< indwell setup"


def marked_block(text: str, comment: str) -> str:
    """Return the configuration between its two marker comments."""
    return f"{_BEGIN.format(comment)}\n{text.rstrip()}\n{_END.format(comment)}\n"


def find_block(whole: str, comment: str) -> tuple[int, int] | None:
    """Return the range of the configuration, with its last line end, or None if it is absent.

    Raises:
        CannotMerge: The marker comments are not exactly one start line with one end line below.
    """
    begin, end = _BEGIN.format(comment), _END.format(comment)
    if begin not in whole and end not in whole:
        return None
    lines = whole.splitlines(keepends=True)
    begins = [number for number, line in enumerate(lines) if begin in line]
    ends = [number for number, line in enumerate(lines) if end in line]
    is_whole = len(begins) == len(ends) == 1 and begins < ends
    if not is_whole or (lines[begins[0]].rstrip(), lines[ends[0]].rstrip()) != (begin, end):
        raise CannotMerge("the marks of an earlier setup are damaged or duplicated")
    start = sum(map(len, lines[: begins[0]]))
    return start, start + sum(map(len, lines[begins[0] : ends[0] + 1]))


def gap_before(before: str) -> str:
    """Return the separator between the user's text and the configuration: an empty line."""
    if not before or before.endswith("\n\n"):
        return ""
    return "\n" if before.endswith("\n") else "\n\n"


def without_block(whole: str, start: int, end: int, added: str) -> str:
    """Remove the configuration from a text, and the ``added`` line ends before it."""
    head, tail = whole[:start], whole[end:]
    if added and head.endswith("\n\n"):  # otherwise, the user has removed the empty line
        head = head[: -len(added)]
    needs_end = head and tail and not head.endswith("\n")
    return f"{head}\n{tail}" if needs_end else head + tail


_AROUND = 80  # the number of characters on each side that distinguish two positions
_BY_CHARACTER = 4_000  # longer texts are compared by lines, not by characters
_LONG_LINES = 3  # A text of 3 or more lines occurs only once, unless a person copied the text.


class InsertedText(msgspec.Struct, frozen=True):
    """An inserted text, and digests of the text before and after the insertion."""

    text: str
    before: str
    behind: str


def pieces(before: str, after: str) -> tuple[InsertedText, ...]:
    """Return the texts that are in ``after`` in addition to ``before``.

    Raises:
        CannotMerge: A part of ``before`` is missing in ``after``.
    """
    found = []
    for start, end in _insertions(before, after):
        found.append(InsertedText(after[start:end], *_around(after, start, end)))
    if cut(after, found) != before:
        raise CannotMerge("its formatting would be lost by a change")
    return tuple(found)


def cut(text: str, found: Sequence[InsertedText]) -> str:
    """Return the text without the inserted texts.

    Raises:
        CannotMerge: An inserted text is missing, changed, or there more than once.
    """
    kept, done = [], 0
    for piece in found:
        start = _place(text, piece, done)
        kept.append(text[done:start])
        done = start + len(piece.text)
    return "".join(kept) + text[done:]


def _place(text: str, piece: InsertedText, begin: int) -> int:
    places = list(_places(text, piece.text))
    if len(places) == 1 and piece.text.count("\n") >= _LONG_LINES:
        exact = places
    else:
        wanted = (piece.before, piece.behind)
        exact = [at for at in places if _around(text, at, at + len(piece.text)) == wanted]
    if len(exact) != 1 or exact[0] < begin:
        raise CannotMerge("the part that setup wrote was changed since")
    return exact[0]


def _places(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    return _digest(text[max(0, start - _AROUND) : start]), _digest(text[end : end + _AROUND])


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _insertions(before: str, after: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges that ``after`` adds: a single range if possible, or one for each change."""
    whole = _one(before, after, 0)
    if whole is not None:
        yield from whole
        return
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in new:
        starts.append(starts[-1] + len(line))
    lines = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, old_from, old_to, new_from, new_to in lines.get_opcodes():
        if kind != "equal":
            parts = "".join(old[old_from:old_to]), "".join(new[new_from:new_to])
            yield from _within(*parts, starts[new_from])


def _within(before: str, after: str, at: int) -> Iterator[tuple[int, int]]:
    whole = _one(before, after, at)
    if whole is None and len(before) + len(after) <= _BY_CHARACTER:
        match = difflib.SequenceMatcher(None, before, after, autojunk=False)
        codes = match.get_opcodes()
        if {code[0] for code in codes} <= {"equal", "insert"}:
            whole = [(at + one[3], at + one[4]) for one in codes if one[0] == "insert"]
    if whole is None:
        raise CannotMerge("its formatting would be lost by a change")
    yield from whole


def _one(before: str, after: str, at: int) -> list[tuple[int, int]] | None:
    """Return the only range that ``after`` adds, or None if there are several."""
    if len(after) < len(before):
        return None
    head = _alike(before, after)
    tail = len(before) - head
    if tail and not after.endswith(before[head:]):
        return None
    return [] if len(after) == len(before) else [(at + head, at + len(after) - tail)]


def _alike(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    for count, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return count
    return min(len(one), len(other))


SERVER = "indwell"
Data = Literal["toml", "json"]
_ODD = (TOMLKitError, ValueError, TypeError, AttributeError, LookupError, RecursionError)


def merged(how: Data, before: str, text: str) -> str:
    """Return the text with the configuration; equal to ``before`` if it is already there.

    Raises:
        CannotMerge: The configuration cannot be added or removed.
    """
    return _put_toml(before, text) if how == "toml" else _put_json(before, text)


def check(how: Data, text: str) -> None:
    """Check that the text can be parsed; an empty text is valid.

    Raises:
        CannotMerge: The text cannot be parsed.
    """
    if not text.strip():
        return
    if how == "toml":
        _toml(text)
        return
    try:
        json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotMerge("the rest would not be valid JSON") from error


def _put_toml(before: str, text: str) -> str:
    wanted, ours = _toml(before), tomllib.loads(text)
    if _is_in_helix(wanted, ours):
        return before
    _put_helix(wanted, ours)
    try:
        ended = before if not before or before.endswith("\n") else before + "\n"
        document = tomlkit.parse(ended)
        _put_helix(document, tomlkit.parse(text))
        after = tomlkit.dumps(document)
        is_right = tomllib.loads(after) == wanted
    except _ODD as error:  # tomlkit cannot change some forms of TOML
        raise CannotMerge("setup cannot add to a list of languages in this form") from error
    if not is_right:
        raise CannotMerge("setup cannot add to a list of languages in this form")
    return after


def _is_in_helix(there: Mapping[str, Any], ours: Mapping[str, Any]) -> bool:
    copied = json.loads(json.dumps(there, default=str))
    _put_helix(copied, ours)
    return bool(copied == json.loads(json.dumps(there, default=str)))


def _put_helix(document: MutableMapping[str, Any], ours: Mapping[str, Any]) -> None:
    """Add the server, and its name to the languages' servers; checks the existing entries."""
    if "language-server" not in document:
        is_parsed = isinstance(document, tomlkit.TOMLDocument)
        document["language-server"] = tomlkit.table(is_super_table=True) if is_parsed else {}
    servers = document["language-server"]
    if not isinstance(servers, MutableMapping):
        raise CannotMerge("its 'language-server' is not a table")
    wanted = ours["language-server"][SERVER]
    if SERVER not in servers:
        servers[SERVER] = wanted
    elif servers[SERVER] != wanted:
        raise CannotMerge(f"it has a language server {SERVER!r} of its own already")
    if "language" not in document:
        document["language"] = tomlkit.aot() if isinstance(document, tomlkit.TOMLDocument) else []
    languages = document["language"]
    if not isinstance(languages, list) or not all(isinstance(it, Mapping) for it in languages):
        raise CannotMerge("its languages are not written as [[language]]")
    for language in ours["language"]:
        _put_language(languages, language)


def _put_language(languages: list[Any], wanted: Mapping[str, Any]) -> None:
    found = [one for one in languages if one.get("name") == wanted["name"]]
    if not found:
        languages.append(wanted)
        return
    servers = found[0].get("language-servers")
    if servers is None:
        found[0]["language-servers"] = wanted["language-servers"]
    elif not isinstance(servers, list):
        raise CannotMerge(f"the 'language-servers' of {quoted(wanted['name'])} are not a list")
    elif SERVER not in _names(servers):
        servers.append(SERVER)


def _names(listed: Iterable[object]) -> list[str]:
    """Return the names in a list of Helix, whose entries are names or tables with a name."""
    return [str(one.get("name")) if isinstance(one, Mapping) else str(one) for one in listed]


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotMerge(f"it is not valid TOML ({error})") from error


def _put_json(before: str, text: str) -> str:
    ours = json.loads(text)
    if not before.strip():
        return before + json.dumps(ours, indent=2, ensure_ascii=False) + "\n"
    value, indent, tail = _json(before)
    _add(value, ours, ())
    return json.dumps(value, indent=indent, ensure_ascii=False) + tail


def _json(text: str) -> tuple[dict[str, Any], int | str, str]:
    """Return the value and its format, if the text can be written exactly from both."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotMerge("it has comments or trailing commas, or is not valid JSON") from error
    if not isinstance(value, dict):
        raise CannotMerge("it is not a JSON object")
    tail = text[len(text.rstrip()) :]
    for indent in (2, 4, "\t"):
        if json.dumps(value, indent=indent, ensure_ascii=False) + tail == text:
            return value, indent, tail
    raise CannotMerge("writing it again would change its formatting")


def _add(value: dict[str, Any], ours: Mapping[str, Any], within: tuple[str, ...]) -> None:
    """Merge objects; raise an error for any other value that exists and differs."""
    for key, wanted in ours.items():
        there = value.get(key)
        if isinstance(wanted, Mapping) and isinstance(there, dict):
            _add(there, wanted, (*within, key))
        elif key in value and there != wanted:
            raise CannotMerge(f"it has another {'.'.join((*within, key))!r} already")
        else:
            value[key] = wanted


class Record(msgspec.Struct, frozen=True):
    """The record of what ``setup`` added to one file.

    Attributes:
        path: The file.
        text: The configuration.
        pieces: The inserted texts, with LF line ends.
        is_made: Whether setup created the file.
    """

    path: str
    text: str
    pieces: tuple[InsertedText, ...]
    is_made: bool


class WantedConfiguration(msgspec.Struct, frozen=True):
    """A configuration, its language's comment sign, and its place in the file."""

    path: str
    how: How
    text: str
    comment: str


class Placed(msgspec.Struct, frozen=True):
    """The file's new text (None to delete the file), and the record to store."""

    text: str | None
    record: Record | None


def put(wanted: WantedConfiguration, now: str | None, record: Record | None) -> Placed:
    """Add the configuration; return ``now`` if it already contains the configuration.

    Raises:
        CannotMerge: The configuration cannot be added or removed.
    """
    ends, plain = _plain(now or "")
    is_made = now is None
    match wanted.how:
        case "own file" | "marked":
            after, noted = _put_marked(wanted, plain, record, is_made=is_made)
        case _:
            after, noted = _put_merged(wanted, plain, record, is_made=is_made)
    if after == plain and now is not None:
        return Placed(now, record)
    return Placed(after.replace("\n", ends), noted)


def take(wanted: WantedConfiguration, now: str, record: Record | None) -> Placed:
    """Remove the configuration; return ``now`` if it lacks the configuration.

    Raises:
        CannotMerge: The text that setup wrote is unknown.
    """
    ends, plain = _plain(now)
    match wanted.how:
        case "own file" | "marked":
            span = find_block(plain, wanted.comment)
            if span is None:
                if wanted.how == "own file":
                    raise CannotMerge("it was not written by `indwell setup`")
                return Placed(now, None)
            gap = _check_known(wanted, plain[slice(*span)], record)
            after = without_block(plain, *span, gap)
        case "toml" | "json" as how:
            try:
                after = cut(plain, _pieces(record))
            except CannotMerge:
                if SERVER not in plain:  # the configuration was removed by hand, or never added
                    return Placed(now, None)
                raise
            check(how, after)
    is_made = record is None or record.is_made
    return Placed(None if not after.strip() and is_made else after.replace("\n", ends), None)


def _pieces(record: Record | None) -> tuple[InsertedText, ...]:
    if record is None:
        raise CannotMerge("there is no record that setup changed it")
    return record.pieces


def _put_marked(
    wanted: WantedConfiguration, plain: str, record: Record | None, *, is_made: bool
) -> tuple[str, Record]:
    block = marked_block(wanted.text, wanted.comment)
    span = find_block(plain, wanted.comment)
    if span is None:
        if wanted.how == "own file" and plain.strip():
            raise CannotMerge("it is your own file, not written by `indwell setup`")
        gap = gap_before(plain)
        after = plain + gap + block
    elif plain[slice(*span)] == block:
        return plain, _record(wanted, block, is_made=is_made)
    else:
        gap = _check_known(wanted, plain[slice(*span)], record)
        is_made = record is not None and record.is_made
        after = plain[: span[0]] + block + plain[span[1] :]
    return after, _record(wanted, gap + block, is_made=is_made)


def _record(wanted: WantedConfiguration, added: str, *, is_made: bool) -> Record:
    return Record(wanted.path, wanted.text, (InsertedText(added, "", ""),), is_made)


def _check_known(wanted: WantedConfiguration, there: str, record: Record | None) -> str:
    """Check that the configuration is unchanged; return the line ends before it."""
    written = record.pieces[0].text if record is not None and record.pieces else ""
    known = written.lstrip("\n") or marked_block(wanted.text, wanted.comment)
    if there.rstrip("\n") != known.rstrip("\n"):
        raise CannotMerge("the text between setup's marks was changed, or setup did not write it")
    return written[: len(written) - len(written.lstrip("\n"))]


def _put_merged(
    wanted: WantedConfiguration, plain: str, record: Record | None, *, is_made: bool
) -> tuple[str, Record]:
    how: Data = "toml" if wanted.how == "toml" else "json"
    base = plain
    if record is not None:
        try:
            base = cut(plain, record.pieces)
        # the configuration was changed by hand, so the rest belongs to the user
        except CannotMerge:
            pass
        else:
            if record.text == wanted.text:
                return plain, record
            is_made = record.is_made
    after = merged(how, base, wanted.text)
    return after, Record(wanted.path, wanted.text, pieces(base, after), is_made)


def _plain(text: str) -> tuple[str, str]:
    """Return a file's line end, and the text with LF; leave mixed line ends unchanged."""
    n_windows = text.count("\r\n")
    if n_windows and n_windows == text.count("\n"):
        return "\r\n", text.replace("\r\n", "\n")
    return "\n", text
