"""The names of files that editors, shells, git, CI and other programs load unasked.

The module has only data, which is in ``protected_names.json``. ``name/`` is a folder with all its
contents; ``a/b`` is ``b`` directly in ``a``, with all its contents; a ``*`` means any characters of
a file's name. Each name applies at any depth and is written in lower case. A leading ``!`` marks a
folder whose new contents running editors and agents obey at once; see ``AT_ONCE``.
`indwell.policy.paths` compares paths with these names.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping, Sequence

import msgspec

from indwell.prepared_types import prepared

Names = Mapping[str, Sequence[str]]
"""The names, grouped by the programs that load them."""


class _Tables(msgspec.Struct, frozen=True):
    protected: Mapping[str, Names]
    installed: Names
    starters: Names
    harmless: Names


_TABLES = msgspec.json.decode(
    pkgutil.get_data(__name__, "protected_names.json") or b"", type=prepared(_Tables)
)
_MARKED: Names = {who: found for some in _TABLES.protected.values() for who, found in some.items()}

PROTECTED: Names = {who: [one.lstrip("!") for one in found] for who, found in _MARKED.items()}
"""The protected names, without the leading ``!``, by the programs that load the files."""

AT_ONCE = tuple(one[1:-1] for found in _MARKED.values() for one in found if one.startswith("!"))
"""The folders with a leading ``!``, which commands cannot even create at the workspace's top.

The list is short, because each folder exists as an empty folder while a command runs, which takes
0.3 ms.
"""

INSTALLED = _TABLES.installed
"""Programs that package managers install into the workspace, and that editors and shells start.

Only an installing command that the user has permitted may change these programs.
"""

STARTERS = _TABLES.starters
"""Wrappers of a tool in the workspace (``gradlew``): protected, but commands may run them."""

HARMLESS = _TABLES.harmless
"""Dot names at the root of a repository that need no question, by reason.

Any other unprotected dot name needs a question, because the name's effect is unknown.
"""
