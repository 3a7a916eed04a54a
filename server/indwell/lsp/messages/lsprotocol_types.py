"""Provides lsprotocol's types, and imports them only at the first use, which takes 200 ms.

The first ``codeAction`` of an editor needs no such type, so it does not wait for the import. Write
``from indwell.lsp.messages.lsprotocol_types import types``, and use ``types.Range`` as usual. At
the top of a module only annotations may name a type; a default value or a decorator would import
all types at once (``tests/wire/test_first_answer.py``).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lsprotocol import types as types  # noqa: PLC0414 - a re-export
else:

    class _TypesOnDemand(ModuleType):
        """Replaces the module ``lsprotocol.types``, and caches each name after its first use."""

        def __getattr__(self, name: str) -> object:
            value = getattr(import_module(self.__name__), name)
            setattr(self, name, value)
            return value

    types = _TypesOnDemand("lsprotocol.types")
