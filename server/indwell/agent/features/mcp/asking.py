"""Answers requests of an MCP server during a tool call: progress, forms, and model calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

from indwell.context.untrusted_text import one_line, short_line, visible
from indwell.errors import ToolError
from indwell.mcp.offers import (
    FieldValue,
    FormField,
    McpError,
    Sample,
    SampleRequest,
    ServerAnswer,
    ServerQuestion,
)
from indwell.tools.base import ToolContext

AskUser: TypeAlias = Callable[[str, Sequence[str], ToolContext], Awaitable[str | None]]
"""Asks the user a question with options; returns the answer, or None."""

AskModel: TypeAlias = Callable[[SampleRequest], Awaitable[Sample]]
"""Lets the session's model answer, at the turn's cost. Raises ``McpError`` after a failure."""

DECLINE = "Decline"
OPENED = "I have opened it"
YES, NO = "Yes", "No"
LEAVE_OUT = "(leave it out)"
# The limit of a form's options on buttons; further options are listed in the question.
MOST_OPTIONS = 4
_WORDS = 600  # the limit of characters for a server's text in a question
_OPTION = 90
_CANCELLED = ServerAnswer("cancel")
_DECLINED = ServerAnswer("decline")


class ToolCaller:
    """The tool call that a server is handling; implements ``Caller``.

    Args:
        context: The context of the tool call.
        ask_user: Asks the user.
        ask_model: Sends a request to the model.
    """

    def __init__(self, context: ToolContext, ask_user: AskUser, ask_model: AskModel) -> None:
        self._context = context
        self._ask_user = ask_user
        self._ask_model = ask_model

    def progress(self, words: str) -> None:
        """Show the server's progress as output of the tool call."""
        self._context.on_output(f"{words}\n")

    async def answer(self, question: ServerQuestion) -> ServerAnswer:
        """Ask the user for each field of a form, or ask whether to open an address."""
        try:
            if question.url:
                return await self._opened(question)
            return await self._filled_in(question)
        except ToolError:  # the turn has asked too many questions, or there is no user to ask
            return _CANCELLED

    async def sample(self, request: SampleRequest) -> Sample:
        """Send a server's request to the model, and return the answer."""
        return await self._ask_model(request)

    async def _opened(self, question: ServerQuestion) -> ServerAnswer:
        address = urlsplit(question.url)
        if address.scheme != "https" or not address.hostname or not address.netloc.isascii():
            raise McpError("only an https:// address with a plain ASCII host is shown to the user")
        words = (
            f"{_intro(question)}\nIt asks you to open this address of {address.hostname!r} in a "
            f"browser. Open it only if you expect it:\n{one_line(question.url)}"
        )
        said = await self._ask_user(words, (OPENED, DECLINE), self._context)
        if said is None:
            return _CANCELLED
        return ServerAnswer("accept") if said == OPENED else _DECLINED

    async def _filled_in(self, question: ServerQuestion) -> ServerAnswer:
        values: dict[str, FieldValue] = {}
        if not question.fields:
            said = await self._ask_user(_intro(question), (YES, DECLINE), self._context)
            if said is None:
                return _CANCELLED
            return ServerAnswer("accept") if said == YES else _DECLINED
        for field in question.fields:
            words, options = _field_question(field)
            said = await self._ask_user(
                f"{_intro(question)}\n{words}", (*options, DECLINE), self._context
            )
            if said is None:
                return _CANCELLED
            if said == DECLINE:
                return _DECLINED
            value = _value(field, said)
            if value is not None:
                values[field.name] = value
        return ServerAnswer("accept", values)


def _intro(question: ServerQuestion) -> str:
    """Return a sentence which says that the question comes from the server."""
    return (
        f"The MCP server {question.server!r} asks (never tell it a password): "
        f"{short_line(question.message, _WORDS)}"
    )


def _field_question(field: FormField) -> tuple[str, tuple[str, ...]]:
    words = short_line(field.title or field.name, _OPTION)
    if field.description:
        words += f": {short_line(field.description, _WORDS)}"
    names = [short_line(shown, _OPTION) for _, shown in field.options]
    if field.kind == "choices":
        return f"{words}\nSeveral of these, with commas: {', '.join(names)}", _usual(field)
    if len(names) > MOST_OPTIONS:
        return f"{words}\nOne of: {', '.join(names)}", _usual(field)
    if names:
        return words, tuple(dict.fromkeys((*_usual(field), *names)))
    if field.kind == "yes or no":
        return words, (YES, NO)
    kind = {"number": " (a number)", "integer": " (a whole number)"}.get(field.kind, "")
    return f"{words}{kind}", _usual(field)


def _usual(field: FormField) -> tuple[str, ...]:
    """Return the option with the field's default, or the option that leaves the field out."""
    if field.default is not None:
        return (_shown_value(field, field.default),)
    return () if field.is_required else (LEAVE_OUT,)


def _shown_value(field: FormField, value: FieldValue) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    names = dict(field.options)
    return short_line(names.get(str(value), str(value)), _OPTION)


def _value(field: FormField, said: str) -> FieldValue:
    """Return the field's value in the user's answer, or None if the field is left out.

    Raises:
        McpError: The value does not fit the field.
    """
    if said == LEAVE_OUT and not field.is_required:
        return None
    if field.default is not None and said == _shown_value(field, field.default):
        return field.default
    said = visible(said).strip()
    values = {short_line(shown, _OPTION): value for value, shown in field.options}
    values |= {value: value for value, _ in field.options}
    try:
        match field.kind:
            case "integer":
                return int(said)
            case "number":
                return float(said)
            case "yes or no":
                return {"yes": True, "no": False, "true": True, "false": False}[said.lower()]
            case "choice":
                return values[said]
            case "choices":
                return [values[one.strip()] for one in said.split(",") if one.strip()]
            case "text":
                return said
    except (KeyError, ValueError):
        raise McpError(f"the user's answer does not fit the field {field.name!r}") from None
