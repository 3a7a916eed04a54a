"""The tables of programs and their harmless options; ``programs.json`` holds the data."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping

import msgspec

from indwell.policy.shell.items import Options
from indwell.prepared_types import prepared


class Program(Options, frozen=True):
    """A program with its harmless options.

    Attributes:
        most_operands: The largest number of operands, if there is a limit.
        n_before: For a program that runs another program: the number of words before the other
            program.
        with_names: For a git command, the options with which the command only reads its operands.
    """

    most_operands: int | None = None
    n_before: int = 0
    with_names: tuple[str, ...] = ()


class Tables(msgspec.Struct, frozen=True):
    """The tables of ``programs.json``.

    Attributes:
        lists: Lists of programs or words that share a property, by that property.
        readers: Programs that only read with these options.
        languages: Programs that interpret their own language, such as ``sed``.
        wrappers: Programs that run another program.
        git_log: The options of ``git log`` and of the commands that compare commits.
        git_looks: Git commands that only read with these options.
        git_listing: Git commands that only read with these options and without operands.
        git_second: Git commands that only read with these second words.
        git_takes_up_unless: Git commands that replace files, except with these second words.
    """

    lists: Mapping[str, frozenset[str]]
    readers: Mapping[str, Program]
    languages: Mapping[str, Program]
    wrappers: Mapping[str, Program]
    git_log: Program
    git_looks: Mapping[str, Program]
    git_listing: Mapping[str, Program]
    git_second: Mapping[str, frozenset[str]]
    git_takes_up_unless: Mapping[str, frozenset[str]]


TABLES = msgspec.json.decode(
    pkgutil.get_data(__name__, "programs.json") or b"", type=prepared(Tables)
)
LISTS = TABLES.lists
