"""Words that are a command of the chat and no prompt. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Literal, NamedTuple, TypeAlias, get_args

from indwell.errors import UserError
from indwell.lsp.chat.completion import COMMANDS
from indwell.settings.model import Mode

Name: TypeAlias = Literal["new", "stop", "mode"]

_COMMAND = re.compile(r"/([a-z]+)(?:[ \t]+([a-z]+))?")
_PROMPTS = frozenset({"compact"})  # that the session itself understands


class Command(NamedTuple):
    """What is wanted; ``mode`` only of ``/mode``."""

    name: Name
    mode: Mode | None = None


def command_of(words: str, skills: Collection[str] = ()) -> Command | None:
    """The command that the words are; None if they are a prompt, or call one of ``skills``.

    Raises:
        UserError: They look like a command, and are none.
    """
    match = _COMMAND.fullmatch(words)
    if match is None or match[1] in _PROMPTS:
        return None
    name, value = match[1], match[2]
    if name == "mode":
        if value not in get_args(Mode):
            modes = ", ".join(f"`/mode {one}`" for one in get_args(Mode))
            raise UserError(f"there are {modes}")
        return Command("mode", value)  # type: ignore[arg-type] # see the test above
    if name in {"new", "stop"} and value is None:
        return Command(name)  # type: ignore[arg-type] # see the test above
    if value is not None:
        return None  # a sentence that begins with a slash
    if name in skills:
        return None
    known = ", ".join(f"`{one}`" for one, _ in COMMANDS)
    raise UserError(f"there is no command `/{name[:40]}`; there are {known}")
