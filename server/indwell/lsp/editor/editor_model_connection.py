"""The connection to the editor's own language models: asks for the list and for replies."""

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

LIST_S = 5.0  # seconds for the editor to list its models; extensions may have to start first

_Pieces: TypeAlias = Sequence[Mapping[str, Any]]


class _CompleteParams(msgspec.Struct, frozen=True):
    """``status.CompleteParams`` for sending; the request is encoded already."""

    id: str
    request: msgspec.Raw


class EditorModelConnection:
    """Implements ``ModelConnection`` by ``indwell/editorModels`` and ``indwell/complete``.

    Args:
        client: The editor.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._numbers = itertools.count(1)
        self._open: dict[str, asyncio.Queue[_Pieces | None]] = {}

    async def models(self) -> tuple[EditorModel, ...] | None:
        """Ask for the list; None without an answer in time."""
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
        """Send a request; yield the pieces until the editor has answered it.

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
        """Take pieces of a reply; drop the pieces of a reply that nothing waits for."""
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
