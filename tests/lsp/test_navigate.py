"""Questions about code over stdio: the editor answers, refuses, is silent, or has problems."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from lsprotocol import types

from indwell.lsp.messages.context import (
    DiagnosticsParams,
    DiagnosticsResult,
    DocumentDiagnostics,
    NavigateParams,
    NavigateReply,
    NavigateResult,
)
from support.editing import USAGE, Editor, Home, editing, results
from support.loopback_endpoint import LoopbackEndpoint, say

TEXT = "def total(items):\n    return '🙂', total\n"
AT = {"path": "shop.py", "line": 2, "symbol": "total"}


def place(home: Home, line: int) -> dict[str, Any]:
    at = {"line": line, "character": 0}
    return {"uri": home.shop.as_uri(), "range": {"start": at, "end": at}}


class LanguageServers:
    """The editor's other language servers; with None, they never answer."""

    def __init__(self, editor: Editor, result: NavigateResult | None) -> None:
        self.asked: list[NavigateParams] = []
        self.is_asked = asyncio.Event()
        self.is_cancelled = asyncio.Event()
        self._result = result

        async def answer(params: NavigateParams) -> NavigateResult:
            self.asked.append(params)
            self.is_asked.set()
            try:
                if self._result is None:
                    await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.is_cancelled.set()
                raise
            return self._result

        editor.client.feature("indwell/navigate")(partial(answer))


@asynccontextmanager
async def asking(
    home: Home, *, extensions: tuple[str, ...] = ("navigate", "events"), **arguments: Any
) -> AsyncIterator[tuple[Editor, LoopbackEndpoint]]:
    home.write("shop.py", TEXT)
    asks = say(calls=[("navigate", json.dumps(arguments))], usage=USAGE)
    async with (
        LoopbackEndpoint([asks, say("Fine.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=extensions) as editor,
    ):
        editor.open(home.shop)
        yield editor, endpoint


async def test_the_editor_is_asked_with_both_columns_and_its_answer_is_shown(tmp_path) -> None:
    home = Home(tmp_path)
    async with asking(home, action="references", **AT) as (editor, endpoint):
        reply = NavigateReply(result=[place(home, 0), place(home, 1)], name="a server")
        servers = LanguageServers(editor, NavigateResult((reply,)))
        await editor.ask("look")
    assert results(endpoint.seen[-1]) == [
        "shop.py\n1\tdef total(items):\n2\t    return '🙂', total"
    ]
    first, *_ = servers.asked
    assert first == NavigateParams(
        method="textDocument/references",
        uri=home.shop.as_uri(),
        line=1,
        character=17,
        byte=19,
    )


async def test_stopping_a_turn_cancels_the_question_about_code(tmp_path) -> None:
    async with asking(Home(tmp_path), action="definition", **AT) as (editor, _):
        servers = LanguageServers(editor, None)
        turn = asyncio.ensure_future(editor.ask("look"))
        await asyncio.wait_for(servers.is_asked.wait(), 60)
        assert await editor.execute("indwell.cancel")
        assert (await turn).ending == "cancelled"
        await asyncio.wait_for(servers.is_cancelled.wait(), 60)


async def test_an_editor_without_a_language_server_leaves_the_answer_to_others(tmp_path) -> None:
    async with asking(Home(tmp_path), action="definition", **AT) as (editor, endpoint):
        LanguageServers(editor, NavigateResult())
        await editor.ask("look")
    (found,) = results(endpoint.seen[-1])
    assert found.startswith("shop.py\n1\tdef total(items):")
    assert "found by name in syntax trees" in found


async def test_the_reason_for_a_refused_rename_reaches_the_model(tmp_path) -> None:
    refused = NavigateReply(error="this name cannot be changed")
    renaming = {"action": "rename", "new_name": "sum_up", **AT}
    async with asking(Home(tmp_path), **renaming) as (editor, endpoint):
        LanguageServers(editor, NavigateResult((refused,)))
        await editor.ask("look")
    (found,) = results(endpoint.seen[-1])
    assert found.endswith("the editor refuses the rename: this name cannot be changed")


async def test_the_problems_of_a_file_are_those_that_the_editor_shows(tmp_path) -> None:
    async def answer(params: DiagnosticsParams) -> DiagnosticsResult:
        wrong = types.Diagnostic(
            range=types.Range(types.Position(1, 4), types.Position(1, 10)),
            message="wrong",
            severity=types.DiagnosticSeverity.Warning,
            source="lint",
        )
        return DiagnosticsResult(
            tuple(
                DocumentDiagnostics(uri, (wrong,), editor.buffers[uri].version)
                for uri in params.uris
            )
        )

    asks = {"extensions": ("diagnostics",), "action": "problems", "path": "shop.py"}
    async with asking(Home(tmp_path), **asks) as (editor, endpoint):
        editor.client.feature("indwell/diagnostics")(partial(answer))
        await editor.ask("look")
    assert results(endpoint.seen[-1]) == ["line 2: warning: wrong [lint]"]


async def test_a_client_without_the_navigate_extension_is_not_asked(tmp_path) -> None:
    async with asking(Home(tmp_path), extensions=(), action="definition", **AT) as (editor, _):
        servers = LanguageServers(editor, NavigateResult())
        await editor.ask("look")
    assert servers.asked == []
