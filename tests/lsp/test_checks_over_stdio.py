"""Checks with a real server: the editor answers or pushes; late, never, or for an old text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from functools import partial

import pytest
from lsprotocol import types
from lsprotocol.types import Position, Range

from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages.context import (
    DiagnosticsParams,
    DiagnosticsResult,
    DocumentDiagnostics,
)
from support.editing import READ, USAGE, Editor, Home, editing, results
from support.loopback_endpoint import LoopbackEndpoint, say

LINE = 'shop.py:2: undefined name "totl" [lint F821]'


def edit(old: str, new: str) -> object:
    call = json.dumps({"path": "shop.py", "edits": [{"old": old, "new": new}]})
    return say(calls=[("edit_file", call)], usage=USAGE)


SPOIL, MEND = edit("sum(items)", "totl(items)"), edit("totl(items)", "sum(items)")
LOOK, DONE = say(calls=[READ], usage=USAGE), say("Done.", usage=USAGE)


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


class Linter:
    """Another language server in the same editor, which reports each line with ``totl``."""

    def __init__(self, editor: Editor, *, late_s: float = 0.05) -> None:
        self.editor = editor
        self.late_s = late_s
        self.asked: list[DiagnosticsParams] = []
        self.is_mute = False

    def found(self, uri: str) -> list[types.Diagnostic]:
        buffer = self.editor.buffers[uri]
        return [
            types.Diagnostic(
                range=Range(
                    start=Position(line=number, character=0), end=Position(line=number, character=1)
                ),
                message='undefined name "totl"',
                severity=types.DiagnosticSeverity.Error,
                source="lint",
                code="F821",
            )
            for number, line in enumerate(buffer.text.splitlines())
            if "totl" in line
        ]

    def push(self, version: int | None = None) -> None:
        for uri in self.editor.buffers:
            of = self.editor.buffers[uri].version if version is None else version
            params = protocol.DidChangeDiagnosticsParams(uri, tuple(self.found(uri)), of)
            self.editor._notify("indwell/didChangeDiagnostics", params)

    def push_late(self, version: int | None = None) -> None:
        """Push diagnostics after each edit, like a language server that needs a while."""
        loop = asyncio.get_running_loop()
        before = len(self.editor.edits)

        def follow() -> None:
            nonlocal before
            if len(self.editor.edits) != before:
                before = len(self.editor.edits)
                loop.call_later(self.late_s, self.push, version)
            self._following = loop.call_later(0.01, follow)

        follow()

    def stop(self) -> None:
        self._following.cancel()

    def answer_requests(self) -> None:
        async def on_request(params: DiagnosticsParams) -> DiagnosticsResult:
            self.asked.append(params)
            if self.is_mute:
                await asyncio.Event().wait()
            return DiagnosticsResult(
                tuple(
                    DocumentDiagnostics(
                        uri, tuple(self.found(uri)), self.editor.buffers[uri].version
                    )
                    for uri in params.uris
                    if uri in self.editor.buffers
                )
            )

        self.editor.client.feature("indwell/diagnostics")(partial(on_request))


async def test_an_editor_that_is_asked_shows_what_an_edit_broke(home) -> None:
    script = [LOOK, SPOIL, DONE, MEND, DONE]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, extensions=("diagnostics", "events")) as editor,
    ):
        linter = Linter(editor)
        linter.answer_requests()
        editor.open(home.shop)
        finished = await editor.ask("rename it")
        assert finished.verified == "verified by the editor's problems"
        assert [params.wait for params in linter.asked] == [0, 2, 2, 2, 2]
        assert f"Problems: 1 new error: {LINE}" in results(endpoint.seen[2])[-1]
        repair = json.dumps(endpoint.seen[3].body["messages"])
        assert "are new since your changes" in repair
        assert results(endpoint.seen[4])[-1].endswith("Problems: 1 gone")
        assert editor.events[-1]["verified"] == finished.verified


async def test_an_editor_that_never_answers_a_diagnostics_request_delays_only_one_turn(
    home,
) -> None:
    async with (
        LoopbackEndpoint([LOOK, SPOIL, DONE, edit("totl", "tot"), DONE]) as endpoint,
        editing(home, endpoint.base_url, extensions=("diagnostics",)) as editor,
    ):
        linter = Linter(editor)
        linter.is_mute = True
        linter.answer_requests()
        editor.open(home.shop)
        first, second = await editor.ask("one"), await editor.ask("two")
        assert (first.verified, second.verified) == ("not verified",) * 2
        assert len(linter.asked) == 1


async def test_late_diagnostics_pushes_are_waited_for(home) -> None:
    async with (
        LoopbackEndpoint([LOOK, SPOIL, DONE, MEND, DONE]) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        editor.open(home.shop)
        linter = Linter(editor, late_s=0.2)
        linter.push()
        linter.push_late()
        finished = await editor.ask("rename it")
        linter.stop()
        assert finished.verified == "verified by the editor's problems"
        assert f"Problems: 1 new error: {LINE}" in results(endpoint.seen[2])[-1]
        assert results(endpoint.seen[4])[-1].endswith("Problems: 1 gone")


@pytest.mark.parametrize("pushes", ["of an old version", "nothing at all"])
async def test_without_a_report_on_the_new_text_nothing_is_verified(home, pushes: str) -> None:
    async with (
        LoopbackEndpoint([LOOK, SPOIL, DONE]) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        buffer = editor.open(home.shop)
        linter = Linter(editor)
        if pushes != "nothing at all":
            linter.push()
        if pushes == "of an old version":
            linter.push_late(buffer.version)
        finished = await editor.ask("rename it")
        if pushes == "of an old version":
            linter.stop()
        late = "not verified: the editor has not rechecked"
        verified = late if pushes == "of an old version" else "not verified"
        assert (finished.ending, finished.verified) == ("done", verified)
        assert "Problems" not in results(endpoint.seen[2])[-1]


async def test_the_summary_and_progress_in_a_plain_editor_report_the_verification(home) -> None:
    async with (
        LoopbackEndpoint([LOOK, edit(" + 1", ""), DONE]) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        buffer = editor.open(home.shop)
        await editor.fix(buffer, wait=True)
        assert _last_words(editor.messages) == ["not verified"]


def _last_words(messages: Sequence[str]) -> list[str]:
    return [part for part in messages[-1].split(" · ") if "verified" in part]
