"""The list of places in a folder that tools run or load unasked. Pure.

Trust is asked only for the names in this list: a new tool that runs a repository's files by itself
needs a new name in ``executable_places.json``.

The list is shorter than ``policy.protected_names``, and deliberately not derived from it. That list
protects whole folders such as ``.idea`` from the agent. This one identifies each file by its
content: a change makes the user decide on trust again, and editors write to such folders every day.
A test checks that every name here is protected too.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from indwell.settings.trusted_files import TrustedFile

Kind: TypeAlias = Literal["settings", "instructions", "servers", "programs"]


class _Places(msgspec.Struct, frozen=True):
    files: Mapping[Kind, tuple[str, ...]]
    folders: Mapping[Kind, tuple[str, ...]]
    instructions: frozenset[str]


_PLACES = msgspec.json.decode(
    pkgutil.get_data(__name__, "executable_places.json") or b"", type=_Places
)
INSTRUCTIONS = _PLACES.instructions
"""Names of instruction files for models, in any folder; case is ignored."""

FILES = tuple((kind, name) for kind, names in _PLACES.files.items() for name in names)
FOLDERS = tuple((kind, name) for kind, names in _PLACES.folders.items() for name in names)


class Executable(msgspec.Struct, frozen=True):
    """A file that tools execute or load.

    Attributes:
        name: Its path, relative to the folder; absolute in a repository around the folder.
        kind: The kind of its effect.
        seen: The digest of its content; an empty digest never matches again.
        lines: Its text, for a diff; empty if long, binary, or likely to hold a secret.
    """

    name: str
    kind: Kind
    seen: TrustedFile
    lines: tuple[str, ...] = ()
