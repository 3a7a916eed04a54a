"""``indwell memory``: lists, adds and deletes remembered facts."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from indwell.agent.features.memory import MemoryToolArguments, fact_of, replaced
from indwell.cli.terminal.json_line import json_line
from indwell.cli.terminal.telling import tell
from indwell.context.memory import Fact, Scope
from indwell.context.untrusted_text import visible
from indwell.errors import ToolError, UserError
from indwell.settings.memory_pages import MemoryPages
from indwell.wiring.memory_and_questions import memory_pages

SCOPES: tuple[Scope, ...] = ("workspace", "user")


class NumberedFact(msgspec.Struct, frozen=True):
    """A fact in the list, with the number for ``forget``."""

    number: int
    scope: Scope
    fact: str
    day: str = ""
    session: str = ""
    is_cut: bool = False


def memory(options: argparse.Namespace) -> int:
    """Run the command; return 0 for success, otherwise 1.

    Raises:
        UserError: A file cannot be read or written, or no fact has the given number.
    """
    pages = memory_pages(os.environ, Path.cwd())
    if pages.problem:
        raise UserError(pages.problem)
    scope: Scope = "user" if getattr(options, "user", False) else "workspace"
    match options.action:
        case "add":
            return _add(pages, scope, " ".join(options.words), as_json=options.json)
        case "forget":
            return _forget(pages, options.which, as_json=options.json)
        case "path":
            path = pages.page(scope)
            print(json_line({"path": str(path)}) if options.json else path)
            return 0
        case _:
            return _list(pages, as_json=options.json)


def _list(pages: MemoryPages, *, as_json: bool) -> int:
    known = _numbered(pages)
    if as_json:
        sys.stdout.write(json_line({"facts": known}) + "\n")
        return 0
    for one in known:
        kept = f"  ({one.day})" if one.day else ""
        whose = "  [you]" if one.scope == "user" else ""
        more = "…" if one.is_cut else ""
        print(f"{one.number:3}  {visible(one.fact)}{more}{whose}{kept}")
    if not known:
        tell("there are no facts here; add one with `indwell memory add`")
    return 0


def _add(pages: MemoryPages, scope: Scope, words: str, *, as_json: bool) -> int:
    try:
        text = fact_of(MemoryToolArguments(words, scope), lambda text: text)
        old = replaced(pages, text, scope)
    except ToolError as error:
        raise UserError(str(error)) from error
    # A similar fact is kept, because the user who adds a fact probably wants both.
    pages.keep(Fact(text, scope, day=datetime.now(UTC).date().isoformat()))
    if as_json:
        print(json_line({"kept": text, "scope": scope, "alike": old}))
        return 0
    alike = f"; a similar fact exists: {visible(old)}" if old else ""
    tell(f"kept: {visible(text)}{alike}")
    return 0


def _forget(pages: MemoryPages, which: list[str], *, as_json: bool) -> int:
    known = {str(one.number): one for one in _numbered(pages)}
    wrong = next((one for one in which if one not in known), None)
    if wrong is not None or not which:
        said = f"there is no fact {wrong!r}" if which else "say which"
        raise UserError(f"{said}; `indwell memory` lists them with their numbers")
    for scope in SCOPES:
        texts = frozenset(known[one].fact for one in which if known[one].scope == scope)
        if texts:
            pages.forget(scope, texts)
    gone = [known[one].fact for one in dict.fromkeys(which)]
    if as_json:
        print(json_line({"forgot": gone}))
        return 0
    for fact in gone:
        tell(f"forgot: {visible(fact)}")
    return 0


def _numbered(pages: MemoryPages) -> tuple[NumberedFact, ...]:
    facts = [one for scope in SCOPES for one in pages.facts(scope)]
    return tuple(
        NumberedFact(number, one.scope, one.text, one.day, one.session, one.is_cut)
        for number, one in enumerate(facts, 1)
    )
