"""One resource operation that the editor is asked for: bounded in time, withdrawn when given up."""

from __future__ import annotations

import asyncio

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from indwell.lsp.buffer_edits import GRACE_S
from indwell.lsp.client import Client
from indwell.lsp.unanswered import seen


async def refusal(
    client: Client, edit: types.WorkspaceEdit, label: str, timeout_s: float
) -> str | None:
    """Why the editor said no, in parentheses or nothing; None if it said anything else, or nothing.

    What became of it is to be looked at on disk.
    """
    answer = asyncio.ensure_future(client.apply_edit(edit, label))
    answer.add_done_callback(seen)
    try:
        await asyncio.wait({answer}, timeout=timeout_s)
    except asyncio.CancelledError:
        client.withdraw(edit)
        await asyncio.wait({answer}, timeout=GRACE_S)
        raise
    if not answer.done():
        client.withdraw(edit)
        answer.cancel()
        return None
    try:
        result = answer.result()
    except JsonRpcException:
        return None
    if result is None or result.applied:
        return None
    return f" ({result.failure_reason})" if result.failure_reason else ""
