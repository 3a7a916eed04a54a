"""Versions of everything that Indwell stores and sends, and deprecated names. Pure.

Each stored thing has a version in ``VERSIONS``. A newer Indwell reads every earlier version. An
older Indwell refuses a newer version with ``NewerVersion``, and never writes to that file
(``docs/decisions/0049-stored-versions.md``).

A file of JSON is an object whose first member is the version, and has a ``StoredForm``. The first
record of a log of lines has the version. A page of Markdown has the version in a comment. A plain
text file has no place for a version: a new form gets a new file name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from indwell import __version__
from indwell.errors import NewerVersion, ToolError
from indwell.prepared_types import prepared

VERSIONS: Mapping[str, int] = {
    "session": 1,
    "review": 1,
    "trust": 1,
    "permissions": 1,
    "memory": 1,
    "settings": 1,
    "keys": 1,
    "tasks": 1,
    "worktree": 1,
    "worktree files": 1,
    "waiting": 1,
    "git": 1,
    "swept": 1,
    "models": 1,
    "wires": 1,
    "batch": 1,
    "evaluation": 1,
    "setup": 1,
    "editors": 1,
}
"""The version that this Indwell writes, for each kind of stored thing.

A field that an older Indwell may leave out when it writes the file again needs a new version. A
new kind of record in a log needs a new version only if a reader must not skip the record.
"""

PROTOCOL = 1
"""The version of Indwell's own messages; it rises when a field goes away or changes its type."""

_Content = TypeVar("_Content")
_Upgrade: TypeAlias = Callable[[Any], Any]
# The comment is alone on its line, so a fact that quotes a comment does not change the version.
_DIGITS = 18  # More digits of a version are not read; converting a thousand takes long.
_COMMENT = re.compile(r"^<!-- indwell: version (\S+) -->(?=[ \t\r]*$)", re.MULTILINE)


def refuse_newer(kind: str, found: int, what: str) -> None:
    """Check that this Indwell knows the version of a stored thing.

    Args:
        kind: A key of ``VERSIONS``.
        found: The version that the stored thing names.
        what: The subject of the message, with the path.

    Raises:
        NewerVersion: The version is newer.
    """
    if found > VERSIONS[kind]:
        raise NewerVersion(
            f"{what} was written by a newer Indwell (version {found}, this one reads up to "
            f"{VERSIONS[kind]}) and stays unchanged; update Indwell to use it"
        )


class _Head(msgspec.Struct, frozen=True):
    version: int | None = None


class StoredForm(Generic[_Content]):
    """The form of one kind of JSON file: an object with ``version``, and its content.

    Args:
        kind: A key of ``VERSIONS``.
        content: The type of the content.
        what: What the file is, in messages, such as ``the file of permissions``.
        member: The member that holds the content. If empty, the content is a struct, and its
            fields are members beside ``version``.
        older: For each earlier version from 0 on, the function that turns its content, as plain
            JSON values, into the next version's content. Version 0 is a file without a version: the
            content alone.
    """

    def __init__(
        self,
        kind: str,
        content: Any,  # noqa: ANN401 -- a type or a generic alias such as `list[str]`
        what: str,
        *,
        member: str = "",
        older: Sequence[_Upgrade] = (lambda content: content,),
    ) -> None:
        self.kind = kind
        self.content = content
        self._what = what
        self._member = member
        self._older = older
        assert len(older) == VERSIONS[kind], "each earlier version needs its function"

    def encode(self, content: _Content, *, is_for_people: bool = False) -> bytes:
        """Return the bytes of the file; with ``is_for_people``, indented."""
        value = {self._member: content} if self._member else content
        try:
            data = msgspec.json.encode(value)
        except UnicodeEncodeError:  # Names that are not UTF-8 have lone surrogates.
            data = json.dumps(msgspec.to_builtins(value)).encode("ascii")
        assert data.startswith(b"{")
        rest = data[1:]
        comma = b"" if rest == b"}" else b","
        data = b'{"version":%d%b%b' % (VERSIONS[self.kind], comma, rest)
        return msgspec.json.format(data) if is_for_people else data

    def check(self, data: bytes, path: str = "") -> None:
        """Check the version of a file without decoding the content; raises as ``decode`` does."""
        with _as_damage():
            self._found(data, path)

    def decode(self, data: bytes, path: str = "") -> _Content:
        """Return the content of a file of this version or an earlier one.

        Args:
            data: The bytes of the file.
            path: The file's path, quoted, for the message.

        Raises:
            NewerVersion: A newer Indwell wrote the file.
            msgspec.DecodeError: The file is damaged.
        """
        with _as_damage():
            try:
                return self._decode(data, path)
            except msgspec.ValidationError:
                raise
            except msgspec.DecodeError as error:
                return self._decode_surrogates(data, path, error)

    def _decode(self, data: bytes, path: str) -> _Content:
        found = 0 if data.lstrip()[:1] == b"[" else self._found(data, path)
        if found == VERSIONS[self.kind]:
            content: _Content = msgspec.json.decode(data, type=prepared(self._shape))
            return content.content if isinstance(content, _Holder) else content
        return self._upgraded(msgspec.json.decode(data), found)

    def _found(self, data: bytes, path: str) -> int:
        found = msgspec.json.decode(data, type=prepared(_Head)).version or 0
        refuse_newer(self.kind, found, f"{self._what} {path}".rstrip())
        return found

    def _decode_surrogates(self, data: bytes, path: str, problem: msgspec.DecodeError) -> _Content:
        """Decode JSON with lone surrogates, which msgspec refuses."""
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise problem from None
        found = (
            msgspec.convert(value, prepared(_Head)).version or 0 if isinstance(value, dict) else 0
        )
        refuse_newer(self.kind, found, f"{self._what} {path}".rstrip())
        return self._upgraded(value, found)

    def _upgraded(self, value: Any, found: int) -> _Content:  # noqa: ANN401 -- any JSON
        if found < 0:
            raise msgspec.ValidationError(f"`version` is {found}")
        if found and self._member:
            value = msgspec.convert(value, dict[str, Any]).get(self._member)
        for upgrade in self._older[found:]:
            value = upgrade(value)
        content: _Content = msgspec.convert(value, prepared(self.content))
        return content

    @cached_property
    def _shape(self) -> Any:  # noqa: ANN401 -- a type that is made here
        """The type of the whole file; made late, because making a type takes 0.1 ms."""
        if not self._member:
            return self.content
        field = msgspec.field(name=self._member)
        return msgspec.defstruct("_Held", [("content", self.content, field)], bases=(_Holder,))


@contextmanager
def _as_damage() -> Iterator[None]:
    """Report data that is nested too deep, is no UTF-8, or has lone surrogates as other damage."""
    try:
        yield
    except (RecursionError, UnicodeError) as error:
        raise msgspec.DecodeError(str(error)) from error


class _Holder(msgspec.Struct):
    content: Any


def version_comment(kind: str) -> str:
    """Return the comment with the version, for a page of Markdown."""
    return f"<!-- indwell: version {VERSIONS[kind]} -->"


def refuse_newer_page(kind: str, page: str, what: str) -> None:
    """Check the version in a page's comment; a page without a comment has the first version.

    Raises:
        NewerVersion: A newer Indwell wrote the page.
        ToolError: The version is not a number from 0 on.
    """
    found = _COMMENT.search(page)
    if found and not (found[1].isascii() and found[1].isdigit()):
        raise ToolError(f"its version is {found[1][:_DIGITS]!r}, which is not a number")
    refuse_newer(kind, int(found[1][:_DIGITS]) if found else 0, what)


def with_version_comment(kind: str, page: str) -> str:
    """Return a changed page with this Indwell's version in the page's comment.

    A page without a comment gets one at its end, unless the first version is still current.
    """
    if _COMMENT.search(page):
        return _COMMENT.sub(version_comment(kind), page, count=1)
    return page if VERSIONS[kind] == 1 else f"{page.rstrip()}\n\n{version_comment(kind)}\n"


class Deprecation(NamedTuple):
    """A name that a later release no longer accepts.

    Attributes:
        kind: A ``setting``, an ``option`` of a command, or a ``field`` of the protocol.
        old: The deprecated name, such as ``--old`` for an option.
        new: The new name, or empty if nothing replaces it.
        since: The release that began to warn, such as ``0.2.0``.
        removed_in: The first release without the old name, one minor version later or more.
    """

    kind: Literal["setting", "option", "field"]
    old: str
    new: str
    since: str
    removed_in: str

    def is_removed(self, release: str = __version__) -> bool:
        """Return whether a release no longer accepts the old name."""
        return _numbers(release) >= _numbers(self.removed_in)

    def warning(self, release: str = __version__) -> str:
        """Return the warning for the user, without the source."""
        use = f"use {self.new!r} instead" if self.new else "remove it"
        if self.is_removed(release):
            return f"the {self.kind} {self.old!r} went away in Indwell {self.removed_in}; {use}"
        return f"the {self.kind} {self.old!r} goes away in Indwell {self.removed_in}; {use}"


DEPRECATIONS: tuple[Deprecation, ...] = ()
"""All deprecated names; ``docs/upgrading.md`` lists them."""


def deprecation_of(
    kind: Literal["setting", "option", "field"],
    name: str,
    known: Iterable[Deprecation] = DEPRECATIONS,
) -> Deprecation | None:
    """Return the deprecation of a name, or None."""
    return next((one for one in known if one.kind == kind and one.old == name), None)


def current_options(
    arguments: Sequence[str], known: Iterable[Deprecation] = DEPRECATIONS
) -> tuple[list[str], list[str]]:
    """Return a command line with current options, and a warning for each deprecated option.

    A removed option stays in the command line, so that the parser refuses it.
    """
    given, warnings = list(arguments), list[str]()
    end = given.index("--") if "--" in given else len(given)
    for at, word in enumerate(given[:end]):
        option, equals, value = word.partition("=")
        one = deprecation_of("option", option, known)
        if one is not None:
            warnings.append(one.warning())
            given[at] = word if one.is_removed() or not one.new else f"{one.new}{equals}{value}"
    return given, warnings


def _numbers(release: str) -> tuple[int, ...]:
    """Return the numbers of a release; of `0.2.0.dev1`, the first three."""
    return tuple(int(one) for one in re.findall(r"\d+", release)[:3])
