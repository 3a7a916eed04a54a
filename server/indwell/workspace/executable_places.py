"""Lists the paths in a folder that tools run or load automatically. Pure.

The trust question covers only the names in this list. A new tool that runs a repository's files by
itself needs a new name in ``executable_places.json``.

The list is shorter than ``policy.protected_names``, and deliberately not derived from it.
``protected_names`` protects whole folders such as ``.idea`` from the agent. ``executable_places``
identifies each file by its content, so each change leads to a new trust question; editors write to
``.idea`` every day. A test checks that every name in this list is protected, too.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from typing import Literal, TypeAlias

import msgspec

from indwell.prepared_types import prepared
from indwell.settings.trusted_files import TrustedFile

Kind: TypeAlias = Literal["settings", "instructions", "servers", "programs"]


class _Places(msgspec.Struct, frozen=True):
    files: Mapping[Kind, tuple[str, ...]]
    folders: Mapping[Kind, tuple[str, ...]]
    instructions: frozenset[str]


_PLACES = msgspec.json.decode(
    pkgutil.get_data(__name__, "executable_places.json") or b"", type=prepared(_Places)
)
INSTRUCTIONS = _PLACES.instructions
"""Names of instruction files for models, in any folder; case is ignored."""

FILES = tuple((kind, name) for kind, names in _PLACES.files.items() for name in names)
FOLDERS = tuple((kind, name) for kind, names in _PLACES.folders.items() for name in names)


class Executable(msgspec.Struct, frozen=True):
    """A file that tools execute or load.

    Attributes:
        name: The path, relative to the folder; absolute in a repository around the folder.
        kind: The kind of effect.
        seen: The digest of the content; an empty digest never matches again.
        lines: The text, for a diff, or empty if long, binary, or likely to contain a secret.
    """

    name: str
    kind: Kind
    seen: TrustedFile
    lines: tuple[str, ...] = ()
