"""The URIs of virtual documents, and their strict parsing. Pure.

A URI names only a path, a session and a turn. The code that creates the text checks whether the
file exists and may be shown. The suffix of a URI tells the editor which syntax to highlight.
"""

from __future__ import annotations

from typing import TypeAlias
from urllib.parse import quote, unquote

import msgspec

from indwell.context.untrusted_text import short_line
from indwell.errors import UserError
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.messages.features import VIRTUAL_SCHEMES
from indwell.sessions.ids import is_id

LONGEST = 8_192  # the limit of characters for a URI; a path has at most 4,096 bytes
_SHOWN = 120  # the limit of characters for a refused URI in an error message
# The characters of a path that stay unchanged; others are written as %XX.
_SAFE = "/-._~!$'()*+,;=:@"
_URI = lazy_pattern(r"(?P<scheme>[a-z-]+):(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?")
_TURN = lazy_pattern(r"[1-9][0-9]{0,8}")
_DRIVE = lazy_pattern(r"/[A-Za-z]:")
_ALL = "all"
_DIFF = ".diff"
_MARKDOWN = ".md"
_REQUEST = "next.md"


class ChangeSpan(msgspec.Struct, frozen=True):
    """Selects the changes that a document shows, by session and turn.

    Attributes:
        session: The session's id, or empty for all sessions.
        turn: The turn of the session, or 0 for all turns.
    """

    session: str = ""
    turn: int = 0


class Base(msgspec.Struct, frozen=True):
    """A file without the pending changes, or before a turn.

    Attributes:
        path: The absolute path, as in the URI, with ``/`` between the components.
        span: The changes that the text leaves out: all pending changes, or those of a turn and of
            later turns.
    """

    path: str
    span: ChangeSpan = ChangeSpan()


class Diff(msgspec.Struct, frozen=True):
    """Pending changes as a unified diff; ``path`` is as in ``Base``, or empty for all files."""

    path: str = ""
    span: ChangeSpan = ChangeSpan()


class NextRequest(msgspec.Struct, frozen=True):
    """The request that the next prompt would send."""


class Transcript(msgspec.Struct, frozen=True):
    """The transcript of a session."""

    session: str


Virtual: TypeAlias = Base | Diff | NextRequest | Transcript


def uri_of(document: Virtual) -> str:
    """Return the only URI of a document; ``parsed`` does the inverse."""
    match document:
        case Base(path=path, span=span):
            return f"indwell-base:{_quoted(path)}{_query(span)}"
        case Diff(path=path, span=span):
            return f"indwell-diff:{_quoted(path) if path else _ALL}{_DIFF}{_query(span)}"
        case NextRequest():
            return f"indwell-request:{_REQUEST}"
        case Transcript(session=session):
            return f"indwell-transcript:{session}{_MARKDOWN}"


def parsed(uri: str) -> Virtual:
    """Parse a URI; an editor may have encoded ``=`` and ``&`` in its query as ``%XX``.

    Raises:
        UserError: The URI names no document.
    """
    found = _URI.fullmatch(uri) if len(uri) <= LONGEST else None
    if found is None or found["scheme"] not in VIRTUAL_SCHEMES:
        raise _refused(
            uri, f"it begins with one of {', '.join(f'{one}:' for one in VIRTUAL_SCHEMES)}"
        )
    path, span = _path(uri, found["path"]), _span(uri, found["query"] or "")
    match found["scheme"]:
        case "indwell-base":
            return Base(_absolute(uri, path), span)
        case "indwell-diff" if path in {_ALL, f"{_ALL}{_DIFF}"}:
            return Diff("", span)
        case "indwell-diff" if path.endswith(_DIFF):
            return Diff(_absolute(uri, path.removesuffix(_DIFF)), span)
        case "indwell-diff":
            raise _refused(uri, f"a diff is named all{_DIFF}, or a path followed by {_DIFF}")
    if span != ChangeSpan():
        raise _refused(uri, "it takes no session and no turn after a question mark")
    if found["scheme"] == "indwell-request":
        if path not in {"", _REQUEST}:
            raise _refused(uri, f"there is only one, indwell-request:{_REQUEST}")
        return NextRequest()
    session = path.removesuffix(_MARKDOWN)
    if not is_id(session):
        raise _refused(uri, f"it names a session, such as indwell-transcript:ID{_MARKDOWN}")
    return Transcript(session)


def _quoted(path: str) -> str:
    return quote(path, safe=_SAFE, errors="surrogateescape")


def _query(span: ChangeSpan) -> str:
    if not span.session:
        return ""
    return f"?session={span.session}" + (f"&turn={span.turn}" if span.turn else "")


def _path(uri: str, quoted: str) -> str:
    path = unquote(quoted, errors="surrogateescape")
    if any(ord(one) < ord(" ") or one == "\x7f" for one in path):
        raise _refused(uri, "no path contains such characters")
    return path


def _absolute(uri: str, path: str) -> str:
    """Check that a path is absolute, without ``..`` and without empty components."""
    parts = path.split("/")
    if parts[0] or len(parts) == 1 or any(one in {"", ".", ".."} for one in parts[1:]):
        raise _refused(uri, "it takes an absolute path without . and ..")
    return path[1:] if _DRIVE.match(path) else path


def _span(uri: str, query: str) -> ChangeSpan:
    """Parse ``session`` and ``turn`` in a query, which may be percent-encoded."""
    fields = [one.partition("=") for one in unquote(query).split("&")] if query else []
    given = {name: value for name, _, value in fields}
    if len(given) < len(fields) or not set(given) <= {"session", "turn"}:
        raise _refused(uri, "after the question mark, write session=ID and turn=N, each once")
    session, turn = given.get("session", ""), given.get("turn", "")
    if fields and not is_id(session):
        raise _refused(uri, "session=ID names whose turns are meant")
    if "turn" in given and not _TURN.fullmatch(turn):
        raise _refused(uri, "turn=N is a number from 1 on")
    return ChangeSpan(session, int(turn or 0))


def _refused(uri: str, hint: str) -> UserError:
    return UserError(f"{short_line(uri, _SHOWN)!r} is not a document of Indwell: {hint}")
