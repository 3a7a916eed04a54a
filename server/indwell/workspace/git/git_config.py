"""Finds the entries of a ``.git/config`` that make git run programs or read other paths. Pure."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator

import msgspec

from indwell.lazy_pattern import lazy_pattern

_SECTION = lazy_pattern(r'\[\s*([a-z0-9.-]+)\s*(?:"(?:[^"\\]|\\.)*"\s*)?\]', re.IGNORECASE)
_ENTRY = lazy_pattern(r"([a-z][a-z0-9-]*)\s*(?:=\s*(.*))?", re.IGNORECASE)

_ADDRESS = lazy_pattern(
    r"(?:https?|ssh|git)://\w[\w.@:/~%+-]*|\w[\w.-]*@\w[\w.-]*:[\w./~+-]+|/[\w./~+-]+", re.ASCII
)
"""Matches an address to which git only connects: no ``ext::``, no option in place of a host."""

_HARMLESS = msgspec.json.decode(
    pkgutil.get_data(__name__, "harmless_settings.json") or b"", type=dict[str, frozenset[str]]
)
_ADDRESSES = {"url", "pushurl"}
_HARMLESS_SECTIONS = frozenset({"advice", "gui"})
_HARMLESS_BEGINNINGS = {"branch": "gk-"}  # An editor extension writes notes with these beginnings.

_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


class Executing(msgspec.Struct, frozen=True):
    """The relevant part of a ``.git/config``.

    Attributes:
        lines: ``section.key = value``, or an unparsed line as written.
        hooks: All values of ``core.hooksPath``.
        includes: Values of ``include.path`` and similar, for any condition.
        values: The values of the relevant lines as git reads them; some name programs.
    """

    lines: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def executing(text: str) -> Executing:
    """Keep only entries that could make git run a program."""
    lines: list[str] = []
    section, goes_on = "", False
    for raw in text.split("\n"):
        line = raw.strip()
        was_inside, goes_on = goes_on, raw.rstrip("\r").endswith("\\")
        if was_inside or goes_on:
            lines.append(line)  # The value has several lines and is stored as written.
        elif not line or line[0] in "#;":
            continue
        elif line[0] == "[":
            *_, (section, rest) = _headers(line)
            if rest:
                lines.append(line)
        elif (entry := _ENTRY.fullmatch(line)) is None or not section:
            lines.append(line)
        elif not _is_harmless(section, entry[1].lower(), entry[2]):
            key, value = entry[1].lower(), (entry[2] or "").strip().strip('"')
            lines.append(f"{section}.{key} = {value}")
    if not lines:
        return Executing()
    # Both readings are tried, because they differ if a value continues on the next line.
    found = dict.fromkeys((*entries(text), *entries(re.sub(r"\\\r?\n", "", text))))
    return Executing(
        lines=tuple(lines),
        hooks=tuple(value for name, key, value in found if (name, key) == ("core", "hookspath")),
        includes=tuple(
            value for name, key, value in found if key == "path" and name.startswith("include")
        ),
        values=tuple(
            dict.fromkeys(value for name, key, value in found if not _is_harmless(name, key, value))
        ),
    )


def value_of(written: str) -> str:
    """Parse a value as git does: without comment, quotes and escapes."""
    kept, text, is_quoted, at = [""], written.strip(), False, 0
    while at < len(text):
        one = text[at]
        if one in "#;" and not is_quoted:
            return "".join(kept).rstrip()
        if one == '"':
            is_quoted = not is_quoted
        elif one == "\\" and at + 1 < len(text):
            at += 1
            kept.append(_ESCAPES.get(text[at], text[at]))
        else:
            kept.append(one)
        at += 1
    return "".join(kept) if text.endswith('"') else "".join(kept).rstrip()


def entries(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value of each line, also after a section header on the same line."""
    section = ""
    for raw in text.removeprefix("\ufeff").split("\n"):
        line = raw.strip()
        for name, rest in _headers(line):
            section, line = name, rest
        if entry := _ENTRY.fullmatch(line):
            yield section, entry[1].lower(), value_of(entry[2] or "")


def _headers(line: str) -> Iterator[tuple[str, str]]:
    """Yield each section header at the beginning of a line, with the rest of the line."""
    while line.startswith("["):
        header = _SECTION.match(line)
        if header is None:
            yield "[", line  # An unparsed header counts as a section without harmless entries.
            return
        line = line[header.end() :].strip()
        yield header[1].lower(), line


def _is_harmless(section: str, key: str, value: str | None) -> bool:
    if section in _HARMLESS_SECTIONS:
        return True
    if section in _HARMLESS_BEGINNINGS and key.startswith(_HARMLESS_BEGINNINGS[section]):
        return True
    if key not in _HARMLESS.get(section, ()):
        return False
    return key not in _ADDRESSES or _ADDRESS.fullmatch((value or "").strip()) is not None
