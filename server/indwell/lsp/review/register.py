"""Wires review to the server: its commands, ``indwell/changes``. Nothing is decided here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from indwell.errors import UserError
from indwell.lsp import protocol_review as protocol
from indwell.lsp.host import Host
from indwell.lsp.review.meant import Verb
from indwell.lsp.review.review import Review
from indwell.lsp.wire.envelope import INVALID_PARAMS

_VERBS: tuple[Verb, ...] = ("accept", "reject")
_Command: TypeAlias = Callable[..., Awaitable[protocol.VerdictResult | None]]


def register_review(server: LanguageServer, host: Host) -> Review:
    """Verdicts and the list of changes."""
    review = Review(host)

    @server.feature("indwell/changes")
    async def changes(params: protocol.ChangesParams) -> msgspec.Raw:
        return await review.changes(params)

    @server.feature(types.WORKSPACE_DID_RENAME_FILES)
    async def renamed(params: types.RenameFilesParams) -> None:
        await review.renamed(tuple((one.old_uri, one.new_uri) for one in params.files))

    for verb in _VERBS:
        server.command(f"indwell.{verb}")(_verdict_command(host, review, verb))
    return review


def _verdict_command(host: Host, review: Review, verb: Verb) -> _Command:
    async def judge(
        arguments: protocol.VerdictArguments | None = None,
    ) -> protocol.VerdictResult | None:
        if arguments is None:
            words = f"indwell.{verb} needs one argument: an object that says which changes"
            raise JsonRpcException(words, INVALID_PARAMS)
        try:
            return await review.judge(verb, arguments)
        except UserError as error:
            host.client.show(types.MessageType.Error, f"Indwell: {error}")
            return None

    return judge
