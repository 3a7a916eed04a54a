"""Virtual documents of the real server, in editors that request texts and in other editors."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec
import pytest
from inline_snapshot import snapshot
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages.features import VIRTUAL_SCHEMES
from indwell.lsp.wire.base_protocol import Framer, framed
from indwell.lsp.wire.handshake import Opening
from support.editing import MENDED, SOURCE, USAGE, Home, editing, mend
from support.fake_editor.clients import VSCODE
from support.fake_editor.profiles import PLAIN
from support.loopback_endpoint import LoopbackEndpoint, say
from support.strict_chat import strictly
from support.terminal import indwell

TEXTS = msgspec.structs.replace(
    PLAIN,
    capabilities={
        **PLAIN.capabilities,
        "workspace": {**PLAIN.capabilities["workspace"], "textDocumentContent": {}},
    },
)
SILENT = msgspec.structs.replace(
    PLAIN, capabilities={**PLAIN.capabilities, "window": {"workDoneProgress": True}}
)


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def content(editor, uri: str) -> str:
    params = types.TextDocumentContentParams(uri=uri)
    return (await editor.client.workspace_text_document_content_async(params)).text


def file_of(uri: str) -> Path:
    assert uri.startswith("file:")
    return Path(unquote(urlsplit(uri).path))


def listening(editor) -> list[str]:
    """Record the URIs that the server asks the client to reload."""
    refreshed: list[str] = []

    @editor.client.feature(types.WORKSPACE_TEXT_DOCUMENT_CONTENT_REFRESH)
    async def refresh(params: types.TextDocumentContentRefreshParams) -> None:
        refreshed.append(params.uri)
        await editor._tell()

    return refreshed


def test_virtual_document_schemes_are_offered_only_to_clients_that_support_them() -> None:
    for profile, offered in ((TEXTS, VIRTUAL_SCHEMES), (VSCODE, VIRTUAL_SCHEMES), (PLAIN, None)):
        opening = Opening(Framer())
        params = {"processId": None, "capabilities": dict(profile.capabilities)}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        reply = opening.receive(framed(json.dumps(message).encode()))
        result = json.loads(reply.partition(b"\r\n\r\n")[2])["result"]
        told = get_converter().structure(result, types.InitializeResult).capabilities.workspace
        assert told is not None
        content_of = told.text_document_content
        assert (tuple(content_of.schemes) if content_of else None) == offered


async def test_request_and_transcript_are_shown_in_an_editor_that_asks_for_texts(home) -> None:
    answers = [say("It **adds**.\n```py\nx", usage=USAGE), say("again", usage=USAGE)]
    async with (
        LoopbackEndpoint(strictly(answers)) as endpoint,
        editing(home, endpoint.base_url, profile=TEXTS) as editor,
    ):
        refreshed = listening(editor)
        first = await editor.execute("indwell.open", {"what": "request"})
        assert first == {"uri": "indwell-request:next.md", "shown": True}
        assert "No session has begun" in await content(editor, "indwell-request:next.md")
        answer = await editor.ask("Why one too many?")
        await editor.wait_until(lambda: "indwell-request:next.md" in refreshed)
        request = await content(editor, "indwell-request:next.md")
        assert "Why one too many?" in request
        assert "| 1 | the user's own words; never compacted |"[-20:] in request
        opened = await editor.execute("indwell.open", {"what": "transcript"})
        assert opened["uri"] == f"indwell-transcript:{answer.session}.md"
        text = await content(editor, opened["uri"])
        assert "> Why one too many?" in text
        assert "It **adds**.\n```py\nx\n```\n" in text
        assert editor.shown == ["indwell-request:next.md", opened["uri"]]
        await editor.ask("And now?")
        await editor.wait_until(lambda: opened["uri"] in refreshed)
        assert "> And now?" in await content(editor, opened["uri"])
    assert not (home.state / "shown").exists()


async def test_other_editors_show_a_read_only_file(home) -> None:
    async with (
        LoopbackEndpoint(strictly([say("So.", usage=USAGE), say("Yes.", usage=USAGE)])) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        await editor.ask("Why?")
        first = await editor.execute("indwell.open", {"what": "transcript"})
        again = await editor.execute("indwell.open", {"what": "transcript"})
        assert first == again
        path = file_of(first["uri"])
        assert path.is_relative_to(home.state / "shown")
        assert stat.S_IMODE(path.stat().st_mode) == 0o444
        assert "> Why?" in path.read_text(encoding="utf-8")
        editor.open(path, "markdown")  # as the editor does when it shows the document
        await editor.ask("Sure?")
        other = await editor.execute("indwell.open", {"what": "transcript"})
        assert "> Sure?" in file_of(other["uri"]).read_text(encoding="utf-8")
        assert other["uri"] != first["uri"]  # a window with the old document shows old text
        assert editor.shown == [first["uri"], first["uri"], other["uri"]]
    # the user does not work in this document
    assert str(path) not in json.dumps(endpoint.seen[1].body)


async def test_an_editor_that_cannot_show_a_document_gets_its_path(home) -> None:
    async with editing(home, profile=SILENT) as editor:
        opened = await editor.execute("indwell.open", {"what": "request"})
        assert opened["shown"] is False
        assert str(file_of(opened["uri"])) in editor.messages[-1]


async def test_explain_request_gives_the_rows_and_opens_the_document_in_plain_editors(home) -> None:
    async with editing(home) as editor:
        rows = await editor.execute("indwell.explainRequest")
        assert (rows["session"], rows["blocks"]) == (None, [])
        assert "# The next request" in file_of(editor.shown[0]).read_text(encoding="utf-8")
    async with editing(home, extensions=("events",)) as editor:
        assert await editor.execute("indwell.explainRequest") == rows
        assert editor.shown == []


async def test_invalid_document_arguments_are_reported_in_plain_words(home) -> None:
    home.write(".env", "KEY=1\n")
    async with editing(home, profile=TEXTS) as editor:
        for uri, words in (
            ("file:///etc/passwd", "is not a document of Indwell"),
            ("indwell-base:/etc/passwd", "outside"),
            (f"indwell-base:{home.workspace}/.env", "deny rule"),
            (f"indwell-base:{home.shop}", "has changed nothing in 'shop.py'"),
            ("indwell-transcript:20990101-000000-000-abcdef.md", "20990101"),
        ):
            with pytest.raises(JsonRpcException, match=words):
                await content(editor, uri)
        assert await editor.execute("indwell.open", {"what": "base"}) is None
        assert "a base document shows one file" in editor.messages[-1]
        assert await editor.execute("indwell.open", {"what": "transcript"}) is None
        assert "no session has begun yet" in editor.messages[-1]
        other = {"what": "diff", "uri": "untitled:x"}
        assert await editor.execute("indwell.open", other) is None
        assert await editor.execute("indwell.open", {"what": "diff", "turn": -1}) is None
        for wrong in ({}, {"what": "passwd"}, {"what": "diff", "command": "ls"}):
            with pytest.raises(JsonRpcException):
                await editor.execute("indwell.open", wrong)
        with pytest.raises(JsonRpcException, match="needs one argument"):
            await editor.execute("indwell.open")


async def test_diff_and_base_follow_the_editors_buffer(home) -> None:
    async with (
        LoopbackEndpoint(strictly(mend())) as endpoint,
        editing(home, endpoint.base_url, profile=TEXTS) as editor,
    ):
        refreshed = listening(editor)
        buffer = editor.open(home.shop)
        answer = await editor.ask("Mend it")
        assert buffer.text == MENDED
        uri = home.shop.as_uri()
        diff = (await editor.execute("indwell.open", {"what": "diff", "uri": uri}))["uri"]
        base = (await editor.execute("indwell.open", {"what": "base", "uri": uri}))["uri"]
        assert (diff, base) == (f"indwell-diff:{home.shop}.diff", f"indwell-base:{home.shop}")
        assert await content(editor, diff) == snapshot("""\
--- a/shop.py
+++ b/shop.py
@@ -1,2 +1,2 @@
 def total(items):
-    return sum(items) + 1
+    return sum(items)
""")
        assert await content(editor, base) == SOURCE
        turn = (await editor.execute("indwell.open", {"what": "diff", "turn": 1}))["uri"]
        assert turn == f"indwell-diff:all.diff?session={answer.session}&turn=1"
        assert await content(editor, turn) == await content(editor, diff)
        before = {"what": "base", "uri": uri, "turn": 1, "session": answer.session}
        before_turn = (await editor.execute("indwell.open", before))["uri"]
        editor.type_text(buffer, 0, 0, "# mine\n")
        await editor.wait_until(lambda: base in refreshed)
        assert await content(editor, base) == "# mine\n" + SOURCE
        assert await content(editor, before_turn) == "# mine\n" + SOURCE
        other = before_turn.replace("turn=1", "turn=2")
        assert await content(editor, other) == "# mine\n" + MENDED
        editor.undo(buffer)
        editor.undo(buffer)
        await editor.heard()
        assert await content(editor, diff) == "# Nothing is pending.\n"
        assert await content(editor, "indwell-diff:all.diff") == "# Nothing is pending.\n"


async def test_hidden_characters_of_a_change_are_shown_in_its_diff(home) -> None:
    sly = ("write_file", json.dumps({"path": "sly.py", "content": "x = 1 # \u202e 2\n"}))
    answers = [say(calls=[sly], usage=USAGE), say("done", usage=USAGE)]
    async with (
        LoopbackEndpoint(strictly(answers)) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        await editor.ask("Write it")
        opened = await editor.execute("indwell.open", {"what": "diff"})
        text = file_of(opened["uri"]).read_text(encoding="utf-8")
        assert "+++ b/sly.py" in text
        assert "+x = 1 # \\u202e 2" in text


async def test_a_terminal_and_an_editor_see_the_same_changes(home) -> None:
    async def review(*arguments: str) -> tuple[int, str]:
        environment = home.environment()
        done = await indwell("review", *arguments, environment=environment, folder=home.workspace)
        return done.code, done.stdout + done.stderr

    async with (
        LoopbackEndpoint(strictly(mend())) as endpoint,
        editing(home, endpoint.base_url, profile=TEXTS) as editor,
    ):
        refreshed = listening(editor)
        buffer = editor.open(home.shop)
        await editor.ask("Mend it")
        diff = "indwell-diff:all.diff"
        assert "-    return sum(items) + 1" in await content(editor, diff)
        code, told = await review("--reject", "--all")
        assert code == 1
        assert "shop.py: not saved in your editor yet" in told
        assert "+    return sum(items)" in await content(editor, diff)
        editor.save(buffer)
        code, told = await review()
        assert code == 0
        assert "shop.py:2  +1 −1 · turn 1" in told
        code, told = await review("--reject", "--all")
        assert code == 0
        assert told.startswith("rejected: shop.py (1 change)\nas it was: shop.py is kept in ")
        assert home.shop.read_text(encoding="utf-8") == SOURCE
        editor.reopen(home.shop, SOURCE)  # as an editor does that reloads a changed file
        await editor.wait_until(lambda: diff in refreshed)
        assert await content(editor, diff) == "# Nothing is pending.\n"


async def test_the_log_opens_in_the_editor_once_the_server_has_reported_something(home) -> None:
    async with editing(home, "http://127.0.0.1:9/v1", profile=PLAIN) as editor:
        assert await editor.execute("indwell.showLog") is None
        assert "the log is empty" in editor.messages[-1]
        log = home.state / "diagnosis" / "server.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("WARNING something\n", encoding="utf-8")
        found = await editor.execute("indwell.showLog")
    assert found["uri"] == log.as_uri()
