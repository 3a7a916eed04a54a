"""Connects to the editor's own language models: asks for the list and for replies."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from indwell.lsp.editor.client import Client
from indwell.lsp.messages.status import (
    CompleteResult,
    EditorModelsResult,
    ModelPiecesParams,
)
from indwell.lsp.wire.base_protocol import RequestError
from indwell.providers.base import EditorModel, EditorRefusal
from indwell.settings.endpoints import editor_name

# the time limit, in seconds, for the editor to list its models; extensions may have to start first
LIST_S = 5.0

_Pieces: TypeAlias = Sequence[Mapping[str, Any]]


class _CompleteParams(msgspec.Struct, frozen=True):
    """The fields of ``status.CompleteParams`` for sending; the request is already encoded."""

    id: str
    request: msgspec.Raw


class EditorModelConnection:
    """Implements ``ModelConnection`` with ``indwell/editorModels`` and ``indwell/complete``.

    Args:
        client: The editor.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._numbers = itertools.count(1)
        self._open: dict[str, asyncio.Queue[_Pieces | None]] = {}

    async def models(self) -> tuple[EditorModel, ...] | None:
        """Ask the editor for its models; return None if there is no answer in time."""
        try:
            async with asyncio.timeout(LIST_S):
                answer = await self._client.request("indwell/editorModels", {})
        except (TimeoutError, RequestError):
            return None
        assert isinstance(answer, EditorModelsResult)
        return tuple(
            EditorModel(
                editor_name(one.vendor, one.id),
                window=one.window,
                pictures=one.pictures,
                tools=one.tools,
            )
            for one in answer.models
        )

    async def answer(self, request: bytes) -> AsyncGenerator[_Pieces, None]:
        """Send a request; yield the parts of the reply until the editor has answered the request.

        Raises:
            EditorRefusal: The editor refused the request, or the reply broke off.
        """
        id_ = f"reply-{next(self._numbers)}"
        waiting: asyncio.Queue[_Pieces | None] = asyncio.Queue()
        self._open[id_] = waiting
        params = _CompleteParams(id_, msgspec.Raw(request))
        answer = self._client.request("indwell/complete", params)
        answer.add_done_callback(lambda _answer: waiting.put_nowait(None))
        try:
            while (pieces := await waiting.get()) is not None:
                yield pieces
            _check(answer)
        finally:
            del self._open[id_]
            answer.cancel()

    def take(self, params: ModelPiecesParams) -> None:
        """Receive parts of a reply; drop the parts if no caller awaits the reply."""
        waiting = self._open.get(params.id)
        if waiting is not None:
            waiting.put_nowait(params.pieces)


def _check(answer: asyncio.Future[Any]) -> None:
    """Check that the reply is complete.

    Raises:
        EditorRefusal: The reply is not complete.
    """
    try:
        result = answer.result()
    except RequestError as error:
        raise EditorRefusal("", error.message) from error
    assert isinstance(result, CompleteResult)
    if result.code or result.message:
        raise EditorRefusal(result.code, result.message)
