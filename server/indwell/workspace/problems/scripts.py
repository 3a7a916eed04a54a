"""Does a script of ``package.json`` only look? Pure.

A list of what a script may consist of, not of what it may not: nobody knows all that writes files
or never ends. What is not in it is passed over; the user can name it as ``check_command``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

import msgspec

MOST_DEEP = 3  # scripts that run scripts
MOST_CHARACTERS = 2_000
_SHELL = re.compile(
    r"[;|<>`$()&\\\n\r#!]"
)  # what makes more of a line than a program and its words
_RUNNERS = frozenset({"npm", "pnpm", "yarn"})


class _Program(msgspec.Struct, frozen=True):
    """How a program is called that only looks.

    Attributes:
        needs: One of these words has to be there, if there are any.
        bare: Options without a value.
        valued: Options whose value is the next word, or stands behind ``=``.
        has_files: It may be given files and folders.
    """

    needs: frozenset[str] = frozenset()
    bare: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()
    has_files: bool = True


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TYPES = _Program(
    needs=_words("--noEmit"),
    bare=_words("--noEmit --strict --skipLibCheck --noErrorTruncation"),
    valued=_words("-p --project --pretty"),
)
_BIOME = _words("check lint ci")
_PROGRAMS: Mapping[str, _Program] = {
    "tsc": _TYPES,
    "vue-tsc": _TYPES,
    "svelte-check": _Program(
        bare=_words("--fail-on-warnings"),
        valued=_words("--tsconfig --threshold --workspace"),
        has_files=False,
    ),
    "eslint": _Program(
        bare=_words(
            "--quiet --report-unused-disable-directives --no-error-on-unmatched-pattern "
            "--no-warn-ignored"
        ),
        valued=_words("--ext --max-warnings"),
    ),
    "biome": _Program(needs=_BIOME, bare=_words("--error-on-warnings")),
    "oxlint": _Program(bare=_words("--quiet --deny-warnings")),
    "prettier": _Program(
        needs=_words("--check -c --list-different -l"),
        bare=_words("--check -c --list-different -l --ignore-unknown"),
    ),
}


def only_checks(scripts: Mapping[str, object], name: str) -> bool:
    """Is it known of all that ``npm run name`` does that it writes no file and ends?"""
    return _only_checks(scripts, name, MOST_DEEP)


def _only_checks(scripts: Mapping[str, object], name: str, depth: int) -> bool:
    """With what npm runs before and after a script."""
    if not depth or name not in scripts:
        return False
    around = [one for one in (f"pre{name}", name, f"post{name}") if one in scripts]
    return all(_is_known(scripts, scripts[one], depth) for one in around)


def _is_known(scripts: Mapping[str, object], text: object, depth: int) -> bool:
    if not isinstance(text, str) or not 0 < len(text) <= MOST_CHARACTERS:
        return False
    return all(_is_program(scripts, part, depth) for part in text.split("&&"))


def _is_program(scripts: Mapping[str, object], text: str, depth: int) -> bool:
    if _SHELL.search(text):
        return False
    try:
        program, *words = shlex.split(text)
    except ValueError:  # nothing, or an open quote
        return False
    if program in _RUNNERS:
        words = [word for word in words if word not in {"--silent", "-s"}]
        match words:
            case ["run", name]:
                return _only_checks(scripts, name, depth - 1)
        return False
    known = _PROGRAMS.get(program)
    return known is not None and _fits(known, program, words)


def _fits(known: _Program, program: str, words: list[str]) -> bool:
    if known.needs and not known.needs & set(words[:1] if program == "biome" else words):
        return False
    left = iter(words)
    for word in left:
        option, is_set, _ = word.partition("=")
        if word.startswith(("-", "@")):
            if option in known.valued:
                value = "" if is_set else next(left, "-")
                if value.startswith(("-", "@")):
                    return False
            elif word not in known.bare:
                return False
        elif not known.has_files:
            return False
    return True
