"""Shows Indwell's own messages in the terminal, in the language of LC_ALL, LC_MESSAGES or LANG.

What a program may read stays English: ``--json``, tables of data, and the model's text are printed
without this module.
"""

from __future__ import annotations

import argparse
import os
from functools import cache
from typing import NoReturn, TextIO

from indwell.context.untrusted_text import visible
from indwell.translation import Translation, translation_from_environment


@cache
def terminal_translation() -> Translation:
    """Return the translation for this terminal, which does not change while Indwell runs."""
    return translation_from_environment(os.environ)


def told(text: str) -> str:
    """Return a message of Indwell in the language of the terminal."""
    return terminal_translation().of(text)


def tell(text: str, *, file: TextIO | None = None) -> None:
    """Print a message of Indwell with hidden characters escaped; ``file`` is stdout by default."""
    print(told(visible(text)), file=file)


class TellingParser(argparse.ArgumentParser):
    """A parser whose errors are in the language of the terminal."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong with the command line, and exit with code 2."""
        super().error(told(message))


def tell_help(parser: argparse.ArgumentParser) -> None:
    """Translate the help of a parser and its commands; names and formats stay as they are."""
    translation = terminal_translation()
    if not translation.language:
        return
    parser.description = translation.of(parser.description or "") or None
    parser.epilog = translation.of(parser.epilog or "") or None
    for group in parser._action_groups:  # noqa: SLF001 - argparse has no other access
        group.title = translation.of(group.title or "")
    for action in parser._actions:  # noqa: SLF001 - as above
        if action.help and action.help is not argparse.SUPPRESS:
            action.help = translation.of(action.help)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for one in action._choices_actions:  # noqa: SLF001 - as above
                one.help = translation.of(one.help or "")
            for command in set(action.choices.values()):
                tell_help(command)
