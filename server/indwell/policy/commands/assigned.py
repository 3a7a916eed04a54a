"""Variables in front of a command that change nothing of what it does."""

from __future__ import annotations

import re

from indwell.policy.commands.items import Assignment, Simple

_HARMLESS_NAMES = re.compile(
    r"LC_[A-Z]+|LANG|LANGUAGE|TZ|NO_COLOR|CLICOLOR|COLUMNS|GIT_PAGER|PAGER"
)
_OWN_NAME = re.compile(
    r"(?!LD_|DYLD|BASH|GIT|GCONV|GLIBC|MALLOC|LC_|LOC|NLS|RES|HOST|TZ|IFS|ENV|HOME|PWD|OLDPWD|SHELL"
    r"|PS\d|POSIX|TMP|CDPATH|HIST|OPT|REPLY|UID|EUID|LESS|MAN|PAGER|EDITOR|VISUAL|COPROC|DIRSTACK"
    r"|FUNC|GLOB|PROMPT|READLINE|SECONDS|RANDOM|TIMEFORMAT|EXEC|CHILD|COMP|MAP|BLOCK|LS_|TABSIZE)"
    r"(?!.*(?:PATH|OPT|PRELOAD|CONF|RC$|CMD|COMMAND|FLAGS))[A-Z][A-Z0-9_]*"
)
_PLAIN = frozenset(["ls", "cat", "head", "tail", "wc", "echo", "pwd", "stat", "grep", "true", "nl"])
_HARMLESS_VALUE = re.compile(r"[\w.@+-]*")


def is_harmless(one: Assignment, of: Simple) -> bool:
    """Is it a setting of language, time or colour, for one command?"""
    if not (of.words and _HARMLESS_NAMES.fullmatch(one.name) and one.value):
        return False
    if not one.value.is_literal:
        return False
    if one.name.endswith("PAGER"):
        return one.value.text in {"cat", ""}
    return _HARMLESS_VALUE.fullmatch(one.value.text) is not None


def is_idle(one: Assignment, of: Simple) -> bool:
    """In ``plan``, where nobody is asked: a variable that means nothing to a plain program."""
    return (
        bool(of.words)
        and of.words[0].source in _PLAIN
        and one.value is not None
        and one.value.is_literal
        and _HARMLESS_VALUE.fullmatch(one.value.text) is not None
        and _OWN_NAME.fullmatch(one.name) is not None
    )
