"""Tests an endpoint: its address, key, models and tool calls.

The test sends requests as the agent does: by the same HTTP client, with a real tool.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Iterator

import msgspec

from indwell.context.conversation import Config, Conversation, system_block, with_input
from indwell.context.request.assemble import assemble
from indwell.errors import (
    IndwellError,
    NotAuthorised,
    ProviderError,
    SettingsError,
    ToolsUnsupported,
    Unreachable,
)
from indwell.messages import BROKEN_OFF, Reply, Request, ToolSpec
from indwell.providers.base import Provider
from indwell.providers.catalogue import LOOPBACK, row_of, title_of
from indwell.providers.endpoint import NO_EXTRAS, EndpointStep, Extras, host_of
from indwell.providers.offered_models import MAX_MODELS, OfferedModel
from indwell.providers.wires.dialect import Dialect

TALK_S = 60.0  # A request may take 60 s, because a local model may have to be loaded first.
MAX_OUTPUT = 1_024  # The limit is in tokens; a reasoning model needs some before it calls a tool.
WORD = "ready"
NAME_ONE = "name one"
"""Advice if no model was chosen; the command line adds the name of the option."""

_TOOL = ToolSpec(
    name="report",
    description="Report one word to the user.",
    parameters='{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}',
)
_WORDS = f"Call the tool `report` once, with the word {WORD!r}. Say nothing else."


class EndpointAnswer(msgspec.Struct, frozen=True):
    """The endpoint's answers about its models; ``models`` is empty if there is no list."""

    steps: tuple[EndpointStep, ...]
    models: tuple[OfferedModel, ...] = ()


async def look(
    base_url: str,
    key: str | None,
    *,
    timeout_s: float | None = None,
    extras: Extras = NO_EXTRAS,
) -> EndpointAnswer:
    """Request the list of models, to test whether the endpoint is reachable and accepts the key."""
    from indwell.providers.listing import LIST_S, list_models

    title = title_of(base_url)
    began = time.monotonic()
    answers = EndpointStep("reachable", "ok", f"{title} answers")
    try:
        models = await list_models(base_url, key, timeout_s=timeout_s or LIST_S, extras=extras)
    except SettingsError as error:
        return EndpointAnswer((EndpointStep("reachable", "fail", str(error)),))
    except NotAuthorised as error:
        return EndpointAnswer(
            (answers, EndpointStep("key", "fail", str(error), _key_mend(base_url, key)))
        )
    except Unreachable as error:
        return EndpointAnswer(
            (EndpointStep("reachable", "fail", str(error), _reach_mend(base_url, error)),)
        )
    except ProviderError as error:
        return EndpointAnswer((answers, EndpointStep("models", "warn", str(error), NAME_ONE)))
    seconds = time.monotonic() - began
    key_words = "the key is accepted" if key else "it asks for no key"
    steps = (
        EndpointStep("reachable", "ok", f"{title} answers ({seconds:.1f} s)"),
        EndpointStep("key", "ok", key_words),
        _models_step(base_url, models),
    )
    return EndpointAnswer(steps, models)


async def talk(
    base_url: str,
    key: str | None,
    model: str,
    *,
    timeout_s: float = TALK_S,
    extras: Extras = NO_EXTRAS,
    dialect: Dialect | None = None,
) -> tuple[EndpointStep, ...]:
    """Let the model call a tool in a streamed reply; after a failure, find out what works."""
    from indwell.providers.client import EndpointClient
    from indwell.providers.quirks import dialect_for

    try:
        chat = await asyncio.to_thread(
            lambda: EndpointClient(
                base_url=base_url,
                api_key=key,
                timeout_s=timeout_s,
                dialect=dialect or dialect_for(base_url, model),
                extras=extras,
            )
        )
    except SettingsError as error:
        return (EndpointStep("streaming", "fail", str(error)),)
    try:
        async with asyncio.timeout(timeout_s):
            return await _talk(chat, model)
    except TimeoutError:
        return (
            EndpointStep(
                "streaming",
                "fail",
                f"{model!r} did not finish a short answer in {timeout_s:g} s",
                "choose a smaller model, or try again when it is loaded",
            ),
        )
    finally:
        await chat.aclose()


async def _talk(chat: Provider, model: str) -> tuple[EndpointStep, ...]:
    try:
        reply = await _ask(chat, _request(model, (_TOOL,)))
    except ToolsUnsupported as error:
        streaming = await _without_tools(chat, model)
        fix = "choose a model that supports tool calls"
        return (EndpointStep("tools", "fail", str(error), fix), streaming)
    except NotAuthorised as error:
        return (EndpointStep("key", "fail", str(error), "check the key and its permissions"),)
    except IndwellError as error:
        return (EndpointStep("streaming", "fail", str(error)),)
    if reply.finish in BROKEN_OFF:
        return (
            EndpointStep("streaming", "fail", reply.problem or "the reply broke off", "try again"),
        )
    streaming = EndpointStep("streaming", "ok", f"{model} answers in a stream")
    return (streaming, *_tools_steps(model, reply))


def _tools_steps(model: str, reply: Reply) -> Iterator[EndpointStep]:
    if any(call.name == _TOOL.name and WORD in call.arguments for call in reply.calls):
        written = ", as text, which is read" if reply.written else ""
        yield EndpointStep("tools", "ok", f"{model} calls tools{written}")
    elif reply.written == "unread":
        yield EndpointStep(
            "tools",
            "warn",
            f"{model} writes tool calls as text, in a form that cannot be read",
            "choose a model that is made for tools, or start the server with its chat template",
        )
    elif reply.calls:
        yield EndpointStep(
            "tools",
            "warn",
            f"{model} calls tools, but not as it was asked to",
            "a larger model works better",
        )
    else:
        yield EndpointStep(
            "tools",
            "warn",
            f"{model} was asked to call a tool and did not",
            "if it never does, choose a model that is made for tools",
        )


async def _without_tools(chat: Provider, model: str) -> EndpointStep:
    try:
        await _ask(chat, _request(model, ()))
    except IndwellError as error:
        return EndpointStep("streaming", "fail", str(error))
    return EndpointStep("streaming", "ok", f"{model} answers in a stream")


async def _ask(chat: Provider, request: Request) -> Reply:
    return await chat.complete(request, lambda _event: None)


def _request(model: str, tools: tuple[ToolSpec, ...]) -> Request:
    conversation = Conversation(
        config=Config(model, 32_000, MAX_OUTPUT),
        system=(system_block("You test whether tools work."),),
        tools=tools,
    )
    return assemble(with_input(conversation, words=_WORDS if tools else "Say hello.", turn=1))


def _models_step(base_url: str, models: tuple[OfferedModel, ...]) -> EndpointStep:
    if models:
        number = "1 model" if len(models) == 1 else f"{len(models)} models"
        if len(models) >= MAX_MODELS:
            number += " or more; only these are shown"
        return EndpointStep("models", "ok", f"it offers {number}")
    row = row_of(base_url)
    fix = row.begin if row is not None and row.begin else "load a model there"
    return EndpointStep("models", "fail", "it offers no model", fix)


def _key_mend(base_url: str, key: str | None) -> str:
    row = row_of(base_url)
    if row is not None and row.key_page:
        return f"make or copy a key at {row.key_page}"
    if key:
        return "copy the key again, or ask whoever runs the endpoint for one"
    return "get a key from whoever runs the endpoint"


def _reach_mend(base_url: str, error: BaseException) -> str:
    row = row_of(base_url)
    if base_url.startswith("https:") and _is_plain_http(error):
        return f"it speaks plain HTTP: write http{base_url.removeprefix('https')}"
    if row is not None and row.port is not None:
        return f"start {row.title}"
    if host_of(base_url) in LOOPBACK:
        return "check that the server runs on this machine, and its port"
    return "check the address, the network and the proxy variables"


def _is_plain_http(error: BaseException | None) -> bool:
    """Return whether the server does not use TLS; OpenSSL has two names for this error."""
    while error is not None:
        if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLCertVerificationError):
            return error.reason in {"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"}
        error = error.__cause__ or error.__context__
    return False
