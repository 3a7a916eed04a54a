"""An editor without any Indwell support: pytest-lsp's client with VS Code's capabilities."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest_asyncio
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

from indwell.lsp.front_door import BUTTON_LIMIT
from support.editing import EDIT, MENDED, READ, SOURCE, USAGE, Home, bash
from support.fake_editor.buffer import edited, lines_range
from support.fake_editor.client_protocol import client_converter
from support.loopback_endpoint import LoopbackEndpoint, say

ANSWER = "It sums **items**.\n\nNothing else."
# a deleting command needs a question, with and without a sandbox
CHECK = "rm -f gone; echo checked"
SCRIPT = [
    bash(CHECK),
    say(calls=[READ], usage=USAGE),
    say(calls=[EDIT], usage=USAGE),
    say("Mended.", usage=USAGE),
    say(ANSWER, usage=USAGE),
]


@dataclass
class Screen:
    """What the plain client's user sees, and the only buffer."""

    uri: str
    text: str = SOURCE
    version: int = 1
    questions: list[types.ShowMessageRequestParams] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)


def make_client(screen: Screen) -> LanguageClient:
    """Create pytest-lsp's own client, which also applies edits and answers questions."""
    client = LanguageClient(converter_factory=client_converter)

    def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        (change,) = params.edit.document_changes or ()
        assert (change.text_document.uri, change.text_document.version) == (
            screen.uri,
            screen.version,
        )
        screen.text = edited(screen.text, change, "utf-16")
        screen.version += 1
        whole = types.TextDocumentContentChangeWholeDocument(text=screen.text)
        client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                text_document=types.VersionedTextDocumentIdentifier(
                    uri=screen.uri, version=screen.version
                ),
                content_changes=[whole],
            )
        )
        return types.ApplyWorkspaceEditResult(applied=True)

    def choose(params: types.ShowMessageRequestParams) -> types.MessageActionItem:
        screen.questions.append(params)
        return params.actions[1]

    def heed(_params: Any) -> None:
        """Ignore registrations and refreshed lenses, which VS Code supports."""

    def event(_params: Any) -> None:
        screen.foreign.append("indwell/event")

    features = {
        types.WORKSPACE_APPLY_EDIT: apply,
        types.WINDOW_SHOW_MESSAGE_REQUEST: choose,
        types.CLIENT_REGISTER_CAPABILITY: heed,
        types.WORKSPACE_CODE_LENS_REFRESH: heed,
        "indwell/event": event,
    }
    register_lsp_features(client, {**DEFAULT_CLIENT_FEATURES, **features})
    return client


@pytest_asyncio.fixture
async def home(tmp_path) -> Home:
    return Home(tmp_path)


@pytest_asyncio.fixture
async def screen(home) -> Screen:
    return Screen(home.shop.as_uri())


@pytest_asyncio.fixture
async def client(home, screen) -> AsyncIterator[LanguageClient]:
    """Does the same as ``pytest_lsp.fixture``; only here the endpoint's address is known."""
    async with LoopbackEndpoint(SCRIPT) as endpoint:
        config = ClientServerConfig(
            server_command=[sys.executable, "-m", "indwell", "serve", "--stdio"],
            client_factory=lambda: make_client(screen),
            server_env=home.environment(endpoint.base_url),
        )
        client = await config.start()
        await client.initialize_session(
            types.InitializeParams(
                capabilities=client_capabilities("visual-studio-code"),
                workspace_folders=[types.WorkspaceFolder(uri=home.workspace.as_uri(), name="work")],
            )
        )
        yield client
        await client.shutdown_session()
        await client.stop()
        client._server._transport.close()


async def execute(client: LanguageClient, screen: Screen, title: str) -> Any:
    """Choose a code action for the whole file, and wait for the end of its turn."""
    actions = await client.text_document_code_action_async(
        types.CodeActionParams(
            text_document=types.TextDocumentIdentifier(uri=screen.uri),
            range=lines_range(1, 2),
            context=types.CodeActionContext(diagnostics=[]),
        )
    )
    command = next(one.command for one in actions if one.title == title)
    (argument,) = command.arguments
    return await client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=command.command, arguments=[{**argument, "wait": True}])
    )


async def test_everything_essential_works_in_an_editor_without_a_plugin(
    client, screen, home
) -> None:
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            text_document=types.TextDocumentItem(
                uri=screen.uri, language_id="python", version=1, text=SOURCE
            )
        )
    )
    result = await execute(client, screen, "Fix this")
    assert (screen.text, home.shop.read_text(encoding="utf-8")) == (MENDED, SOURCE)

    # The permission question has No as its first answer.
    rule = f"Always: {home.rule(CHECK)}"
    if len(rule) > BUTTON_LIMIT:
        rule = "Always: the rule above"
    titles = [[action.title for action in one.actions] for one in screen.questions]
    assert titles == [["No", "Once", "This session", rule]]

    # The progress ends with one sentence.
    end = "done · shop.py +1 −1 · 1 change to review · 4 rounds, 48 tokens · not verified"
    ((token, reports),) = client.progress_reports.items()
    assert (reports[0], reports[-1]) == (
        types.WorkDoneProgressBegin(
            title="Indwell: Fix this: shop.py, lines 1-2", cancellable=True, message="thinking"
        ),
        types.WorkDoneProgressEnd(message=end),
    )
    lines = [report.message for report in reports]
    assert lines[lines.index(f"running {CHECK}") : -1] == [
        f"running {CHECK}",
        f"waiting for an answer: Run a command in {home.workspace}?",
        "thinking",
        "reading shop.py",
        "thinking",
        "editing shop.py",
        "changed shop.py +1 −1",
        "writing",
        "thinking",
    ]
    assert str(token).startswith("indwell-")
    assert client.messages == [
        types.ShowMessageParams(type=types.MessageType.Info, message=f"Indwell: {end}")
    ]
    assert (result["ending"], result["changes"]) == (
        "done",
        [{"path": "shop.py", "added": 1, "removed": 1}],
    )

    # A text answer opens as a document beside the work, outside of the workspace.
    await execute(client, screen, "Explain this")
    (shown,) = client.shown_documents
    path = Path(unquote(urlsplit(shown.uri).path))
    assert (path.read_text(encoding="utf-8"), path.is_relative_to(home.state)) == (ANSWER, True)
    assert shown.take_focus is False
    assert len(client.messages) == 1
    assert screen.foreign == []
    assert list(home.files) == ["shop.py"]
