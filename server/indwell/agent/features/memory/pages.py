"""Reads and writes the pages of remembered facts for a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from indwell.context.memory import Fact, Scope
from indwell.errors import SettingsError


class Pages(Protocol):
    """Pages of facts; everything blocks, so it is called in a thread."""

    def facts(self, scope: Scope) -> Sequence[Fact]:
        """Those of one page; none if it cannot be read."""
        ...

    @property
    def problem(self) -> str:
        """Why a page could not be read; empty if all could."""
        ...

    def keep(self, fact: Fact, instead_of: str = "") -> None:
        """Write a fact down, in the place of the one that reads ``instead_of``.

        Raises:
            SettingsError: It cannot be.
        """
        ...


class NoPages:
    """Where nothing is remembered."""

    problem = ""

    def facts(self, scope: Scope) -> Sequence[Fact]:
        """There are none."""
        del scope
        return ()

    def keep(self, fact: Fact, instead_of: str = "") -> None:
        """There is no page.

        Raises:
            SettingsError: Always.
        """
        del fact, instead_of
        raise SettingsError("nothing is remembered here: `memory` is off in the settings")
