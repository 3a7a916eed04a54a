"""The answers of the fake editor's user to the server's questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.methods import AskParams, AskResult


async def _say_no(_params: protocol.PermissionParams) -> str:
    return "no"


@dataclass(slots=True)
class Answers:
    """The functions that answer for the fake editor's user; a test may replace each.

    Attributes:
        choose: A message and the titles of its buttons → the title chosen, or None.
        permission: A rich permission question → the answer, or the names of hunks that are allowed.
        ask: A question → the text typed, or None.
        question: A question of the model → the answer; with None, ``ask`` answers.
        refuse_edits: Answer every edit with this failure reason, if the reason is not empty.
    """

    choose: Callable[[str, Sequence[str]], str | Awaitable[str | None] | None] = (
        lambda _message, titles: titles[0]
    )
    permission: Callable[[protocol.PermissionParams], Awaitable[str | tuple[str, ...]]] = _say_no
    ask: Callable[[str], str | None] = lambda _prompt: None
    question: Callable[[AskParams], Awaitable[AskResult]] | None = None
    refuse_edits: str = ""
