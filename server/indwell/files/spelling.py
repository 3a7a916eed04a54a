r"""Interprets the spelling of paths on Linux, macOS and Windows. Pure.

One file has many spellings. Windows ignores case, trailing dots and blanks, and accepts ``/`` and
``\``. Windows also knows streams (``x.txt::$DATA``), 8.3 names (``GIT~1``) and devices
(``nul.txt``). macOS ignores case, the form of accents and invisible characters. Linux reaches disks
of the other systems (WSL, network shares), so rules about names apply to all ``readings`` of a path
on every system. The target of a path depends on the system, so ``plain_path`` takes the system as
an argument.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from indwell.context.untrusted_text import shows_nothing
from indwell.errors import ToolError
from indwell.lazy_pattern import lazy_pattern

System: TypeAlias = Literal["linux", "darwin", "win32"]
HERE: System = (
    "win32" if sys.platform == "win32" else "darwin" if sys.platform == "darwin" else "linux"
)
"""The system that this process runs on; other Unix systems count as Linux."""

Components: TypeAlias = tuple[str, ...]


_DOTLESS = str.maketrans("\u0131\u0130", "ii")
"""Turkish letters that some disks treat like ``i``, unlike Python's case folding."""


def folded(name: str) -> str:
    """Return a name in lower case, in composed form, without characters that disks ignore."""
    if name.isascii():
        return name.lower()
    seen = "".join(one for one in name if not shows_nothing(one)).translate(_DOTLESS)
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", seen).casefold())


@lru_cache(maxsize=4096)
def components(path: str) -> Components:
    """Split a path at both slashes; return folded names without trailing dots and blanks.

    A name with only dots and blanks stays unchanged.
    """
    parts = folded(path).replace("\\", "/").split("/")
    return tuple(part.rstrip(". ") or part for part in parts if part not in {"", "."})


def has_more_readings(path: str) -> bool:
    """Return whether the path could have more ``readings`` than its ``components``; fast."""
    return ":" in path or "~" in path


@lru_cache(maxsize=1024)
def readings(path: str) -> tuple[Components, ...]:
    """Return possible meanings of a path: unchanged, without streams, without a drive letter.

    ``.env:x`` and ``.git::$INDEX_ALLOCATION/config`` are ``.env`` and ``.git/config`` on Windows,
    and ``C:.env`` is ``.env`` in the current folder of the drive.
    """
    whole = components(path)
    if ":" not in path:
        return (whole,)
    drive, colon, rest = (whole[0] if whole else "").partition(":")
    on_drive = (rest, *whole[1:]) if colon and rest and len(drive) == 1 else whole
    found = (whole, *(_without_streams(one) for one in (whole, on_drive)))
    return tuple(dict.fromkeys(found))


def _without_streams(names: Components) -> Components:
    """Cut each name at its colon, except a drive's colon; drop empty names."""
    start = names[:1] if names[:1] and _DRIVE.fullmatch(names[0]) else ()
    bases = (name.partition(":")[0].rstrip(". ") for name in names[len(start) :])
    return (*start, *(base for base in bases if base))


_SHORT = lazy_pattern(r"([^. ]{1,6})~([0-9]{1,6}|[a-z])(?:\.([^. ]{1,3}))?")
_HASHED = lazy_pattern(r"(.{1,2})[0-9a-f]{4}")
_LONGEST_STEM = 8
# the limit of combinations; a path with more 8.3 names counts as every possible path
_MOST_STAND_INS = 256


def is_short_name(name: str) -> bool:
    """Return whether a case-folded name has the form of Windows' 8.3 names, such as ``git~1``."""
    found = _SHORT.fullmatch(name) if "~" in name else None
    return found is not None and len(found[1]) + 1 + len(found[2]) <= _LONGEST_STEM


def stand_ins(names: Components, patterns: tuple[str, ...]) -> Iterator[Components] | None:
    """Return the paths that a path with 8.3 names could mean, by the names in ``patterns``.

    Args:
        names: The folded names of a path.
        patterns: Names in lower case, with ``*`` and ``?`` as in globs.

    Returns:
        The paths, or None if there are too many.
    """
    choices = [
        (name, *_could_be(name, patterns)) if is_short_name(name) else (name,) for name in names
    ]
    n = 1
    for one in choices:
        n *= len(one)
    return None if n > _MOST_STAND_INS else islice(product(*choices), 1, None)


@lru_cache(maxsize=256)
def _could_be(short: str, patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Return a name for each pattern that the long form of an 8.3 name could match."""
    found = _SHORT.fullmatch(short)
    assert found is not None, "the caller has checked is_short_name"
    wanted = _long_names(found[1], found[2], found[3] or "")
    return tuple(
        dict.fromkeys(
            _example(one) for one in patterns if one.strip("*?") and _meet(wanted, _tokens(one))
        )
    )


def _example(pattern: str) -> str:
    """Return the shortest name that a pattern matches."""
    return pattern.replace("*", "").replace("?", "x")


_ANY, _NO_DOT = "any", "no dot"
_Token: TypeAlias = tuple[str | frozenset[str], bool]
"""The possible characters at one position of a name, and whether any number may follow."""


def _long_names(stem: str, number: str, ending: str) -> tuple[_Token, ...]:
    """Return the long names from which Windows makes an 8.3 name.

    Windows drops blanks and all dots but the last, and replaces ``+,;=[]`` and letters outside its
    code page with ``_``. A stem of six letters was cut. From the fifth equal name on, Windows keeps
    two letters and adds four digits of a hash. Samba keeps one letter or none, and its names end
    with a letter.
    """
    is_cut = len(stem) + 1 + len(number) == _LONGEST_STEM
    if number.isalpha():
        stem = ""
    elif hashed := _HASHED.fullmatch(stem):
        stem, is_cut = hashed[1], True
    gap: _Token = (frozenset(". " if ending else " "), True)
    tokens: list[_Token] = [(frozenset(". "), True)]
    for letter in stem:
        tokens += [_kept(letter), gap]
    if is_cut:
        tokens.append((_ANY if ending else _NO_DOT, True))
    if ending:
        tokens.append((frozenset("."), False))
        for letter in ending:
            tokens += [_kept(letter), (frozenset(" "), True)]
        if len(ending) == 3:  # noqa: PLR2004 - it may have been cut
            tokens.append((_NO_DOT, True))
    return tuple(tokens)


def _kept(letter: str) -> _Token:
    return (_ANY if letter == "_" else frozenset(letter), False)


@lru_cache(maxsize=2048)
def _tokens(pattern: str) -> tuple[_Token, ...]:
    return tuple((_ANY, one == "*") if one in "*?" else (frozenset(one), False) for one in pattern)


def _meet(one: Sequence[_Token], other: Sequence[_Token]) -> bool:
    """Return whether some name matches both sequences."""
    seen: set[tuple[int, int]] = set()
    todo = [(0, 0)]
    while todo:
        at = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        a, b = at
        if a == len(one) and b == len(other):
            return True
        if a < len(one) and one[a][1]:
            todo.append((a + 1, b))
        if b < len(other) and other[b][1]:
            todo.append((a, b + 1))
        if a < len(one) and b < len(other) and _share(one[a][0], other[b][0]):
            todo.append((a if one[a][1] else a + 1, b if other[b][1] else b + 1))
    return False


def _share(one: str | frozenset[str], other: str | frozenset[str]) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        sets = [each for each in (one, other) if not isinstance(each, str)]
        return _NO_DOT not in (one, other) or not sets or sets[0] != {"."}
    return not one.isdisjoint(other)


_MOST_QUOTED = 200  # the limit of characters for a quoted path that a model may have made up
_DRIVE = lazy_pattern(r"([A-Za-z]):")
_UNIX_DRIVE = lazy_pattern(r"/(?:(?:mnt|cygdrive)/)?([A-Za-z])(?=/|\Z)")
"""Matches Matches Matches ``/c/…`` of Git Bash, ``/mnt/c/…`` of WSL, ``/cygdrive/c/…`` of Cygwin.
"""
_VERBATIM = lazy_pattern(r"//[?.]/|/\?\?/|///")
_DEVICE = lazy_pattern(
    r"(?:con|prn|aux|nul|clock\$|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])"
)
_FORBIDDEN = lazy_pattern(r'[<>"|?*\x00-\x1f\ud800-\udfff]')
"""Matches characters that names may not have.

Windows itself allows half a surrogate pair, which no log can represent.
"""


def plain_path(written: str, system: System = HERE) -> str:
    r"""Return the path that a written path means on a system, in a single spelling.

    On Windows, the result has the form of ``slashed``, without ``\\?\`` and without trailing dots
    and blanks. ``file:`` URIs are decoded on every system.

    Raises:
        ToolError: The path is a URI of another kind or host, or leads to no file: a device, a
            stream, a path relative to a drive, a name that Windows forbids.
    """
    is_uri = "://" in written or written.startswith("file:/")
    path = _of_uri(written, system) if is_uri else written
    if system != "win32":
        return path
    plain = slashed(path, system)
    if _VERBATIM.match(plain):
        raise ToolError(f"{_said(written, system)} names a device, not a file; write a path")
    if _DRIVE.match(plain) and plain[2:3] != "/":
        raise ToolError(
            f"{_said(written, system)} depends on the current folder of drive "
            f"{plain[:2]}; write {plain[:2]}/… or a path from the workspace"
        )
    start, names = _anchored(plain)
    return start + "/".join(_usable(name, written) for name in names)


def _anchored(plain: str) -> tuple[str, list[str]]:
    """Split a path into a drive, a share or nothing, and the names after it."""
    if plain.startswith("//"):
        _, _, *names = plain.split("/")
        return "//", names
    if _DRIVE.match(plain):
        return plain[:3], plain[3:].split("/")
    return "", plain.split("/")


def _usable(name: str, written: str) -> str:
    """Return a name as Windows keeps it.

    Raises:
        ToolError: Windows has no file of this name.
    """
    if name in {"", ".", ".."}:
        return name
    kept = name.rstrip(". ")
    said = _said(written, "win32")
    if ":" in name:
        base = name.partition(":")[0]
        raise ToolError(f"{said} names a stream of {base!r}; name the file itself")
    if found := _FORBIDDEN.search(name):
        raise ToolError(f"{said} holds {found[0]!r}, which no name on Windows can hold")
    if not kept or is_device(name):
        raise ToolError(f"{said} holds {name!r}, which is not a name of a file on Windows")
    return kept


def is_device(name: str) -> bool:
    """Return whether Windows reserves the name for a device, with any suffix (``nul.txt``)."""
    stem = re.split(r"[.:]", name, maxsplit=1)[0].rstrip(" ").lower()
    return _DEVICE.fullmatch(stem) is not None


def _of_uri(written: str, system: System) -> str:
    """Return the path of a ``file:`` URI, as VS Code and other editors write it.

    Raises:
        ToolError: The URI has another scheme, or names a host on a system without shares.
    """
    no_file = ToolError(f"{_said(written, system)} is not a file of this machine; write a path")
    try:
        uri = urlsplit(written)
    except ValueError as error:  # the URI is invalid, for example with an open bracket in the host
        raise no_file from error
    host = "" if uri.netloc.lower() == "localhost" else unquote(uri.netloc)
    is_drive = _DRIVE.fullmatch(host) is not None  # some programs write `file://C:/x`
    if uri.scheme != "file" or (host and system != "win32"):
        raise no_file
    path = unquote(uri.path)
    if host:
        return f"{host}{path}" if is_drive else f"//{host}{path}"
    if system == "win32" and _DRIVE.match(path, 1):
        return path[1:]
    return path


def slashed(path: str, system: System = HERE) -> str:
    r"""Return a path in the form for rules and the model, such as ``C:/x`` or ``//host/x``.

    On Windows ``\\?\C:\x``, ``c:\x``, ``/c/x`` and ``/mnt/c/x`` become ``C:/x``. Windows also
    accepts the form with ``/``. On other systems, the path is unchanged.
    """
    if system != "win32":
        return path
    plain = path.replace("\\", "/")
    if plain[:4] in {"//?/", "//./"}:
        if plain[4:8].lower() == "unc/":
            plain = f"//{plain[8:]}"
        elif _DRIVE.match(plain, 4) and plain[6:7] == "/":
            plain = plain[4:]
    elif found := _UNIX_DRIVE.match(plain):
        plain = f"{found[1]}:{plain[found.end() :] or '/'}"
    return plain[0].upper() + plain[1:] if _DRIVE.match(plain) else plain


def slashed_glob(pattern: str, system: System = HERE) -> str:
    """Return a glob with ``/`` between names; on Windows a backslash escapes nothing."""
    return pattern.replace("\\", "/") if system == "win32" else pattern


def without_drive(path: str, system: System = HERE) -> str:
    """Return a path without its drive, for rules that apply to every drive."""
    plain = slashed(path, system)
    has_drive = system == "win32" and _DRIVE.match(plain) is not None
    return (plain[2:] or "/") if has_drive else plain


def is_absolute(path: str, system: System = HERE) -> bool:
    """Return whether a path in the form of ``slashed`` begins at a root."""
    if path.startswith("/"):
        return True
    return system == "win32" and _DRIVE.match(path) is not None and path[2:3] == "/"


@lru_cache(maxsize=4096)
def exact_parts(path: str, system: System = HERE) -> Components:
    """Return an absolute path's names in a form for comparisons that decide on access.

    On Windows, the form ignores case. A drive differs from a folder with the drive's letter.
    """
    if system != "win32":
        return tuple(part for part in path.split("/") if part not in {"", "."})
    plain = _in_one_case(slashed(path, system))
    parts = tuple(part for part in plain.split("/") if part not in {"", "."})
    if any(not part.strip(". ") or part[1:2] == ":" for part in parts[1:]):
        # On Windows, ``.. `` depends on its position, and ``c:x`` on the current folder of c:.
        return ("..", plain)
    return ("//", *parts) if plain.startswith("//") else parts


def _in_one_case(text: str) -> str:
    """Return a text in lower case, computed letter by letter as Windows does."""
    if text.isascii():
        return text.lower()
    return "".join(
        small if len(small := one.lower()) == 1 and small.isascii() == one.isascii() else one
        for one in text
    )


def compared(path: str, system: System = HERE) -> str:
    """Return an absolute path in a form for comparisons; Windows mixes slashes and cases."""
    return path if system != "win32" else _in_one_case(slashed(path, system))


def relative(path: str, root: str, system: System = HERE) -> str | None:
    """Return a path relative to a root, with ``/``: ``.`` for the root, None outside of it."""
    if system != "win32":
        if path == root:
            return "."
        front = root if root.endswith("/") else f"{root}/"
        return path[len(front) :] if path.startswith(front) else None
    own, whole = exact_parts(root, system), exact_parts(path, system)
    if whole[: len(own)] != own or ".." in whole:
        return None
    names = [part for part in slashed(path, system).split("/") if part not in {"", "."}]
    return "/".join(names[len(names) - (len(whole) - len(own)) :]) or "."


LONG = 248
"""Old programs of Windows cannot create folders with paths of this length (files: 260)."""


def long_form(path: str, system: System = HERE) -> str:
    r"""Return an absolute path in the form that may exceed 260 characters: ``\\?\C:\…``.

    Only long paths change, because Windows does not normalise paths in this form.
    """
    if system != "win32" or len(path) < LONG or path.startswith("\\\\?\\"):
        return path
    plain = slashed(path, system).replace("/", "\\")
    return f"\\\\?\\UNC{plain[1:]}" if plain.startswith("\\\\") else f"\\\\?\\{plain}"


def _said(written: str, system: System) -> str:
    return quoted(written[:_MOST_QUOTED], system)


def quoted(path: object, system: System = HERE) -> str:
    """Return a path in quotes for display, with ``/`` and with unusual characters escaped.

    Args:
        path: A path as text, or a ``Path``.
        system: The system to which the path belongs.
    """
    return repr(slashed(str(path), system))
