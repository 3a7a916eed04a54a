"""Texts for the editor's dialogs: complete in questions, harmless everywhere."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types

from indwell.agent.core.events import TextAdded, TodoChanged
from indwell.lsp.editor.client import MESSAGE_LIMIT, WAKE, WAKE_S, Client
from indwell.lsp.messages.features import ClientFeatures
from indwell.lsp.messages.methods import SaveParams, SaveResult
from indwell.translation import ENGLISH

EVIL = "\x1b]0;evil\x07\u202e\x9b\ud800"
HARMLESS = "\\u001b]0;evil\\u0007\\u202e\\u009b\\ud800"


class Line:
    """The sending part of a server; the user always chooses the first title."""

    translation = ENGLISH

    def __init__(self) -> None:
        self.sent: list[object] = []

    def notify(self, _method: str, params: object, **_options: bool) -> None:
        self.sent.append(params)

    async def send_request_async(
        self, method: str, params: types.ShowMessageRequestParams
    ) -> types.MessageActionItem:
        assert method == "window/showMessageRequest"
        self.sent.append(params)
        assert params.actions is not None
        return params.actions[self.choice()]

    def choice(self) -> int:
        return 0


class Asked:
    """The asking part of a server: the sent requests, whose answers a test gives."""

    translation = ENGLISH

    def __init__(self) -> None:
        self.sent: list[tuple[str, object, str | None]] = []
        self.answers: list[asyncio.Future[object]] = []

    def send_request_async(self, method: str, params: object, identifier: str | None = None):
        self.sent.append((method, params, identifier))
        self.answers.append(asyncio.get_running_loop().create_future())
        return self.answers[-1]

    def notify(self, method: str, params: object) -> None:
        self.sent.append((method, params, None))


class OpenChat:
    """A chat document that shows the running turn of the session ``s1``."""

    def is_open(self, session: str) -> bool:
        return session == "s1"

    async def lead_to(self, _question: object) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("extension", "heard"),
    [
        ("stream", ["s1 todo", "s2 text"]),
        ("events", ["s1 text", "s1 todo", "s2 text"]),
        ("ask", []),
    ],
)
def test_an_editor_that_streams_answers_gets_no_text_that_its_chat_shows(
    extension: str, heard: list[str]
) -> None:
    line = Line()
    client = Client(line)
    client.features = ClientFeatures(experimental=frozenset({extension}))
    client.chat = OpenChat()
    text, todo = TextAdded(turn=1, text="It sums."), TodoChanged(turn=1, items=())
    for number, (session, event) in enumerate((("s1", text), ("s1", todo), ("s2", text)), 1):
        client.event(session, number, event)
    names = {text: "text", todo: "todo"}
    assert [f"{one.session} {names[one.event]}" for one in line.sent] == heard


async def test_an_edit_is_sent_at_once_and_withdrawn_by_the_id_of_its_request() -> None:
    line = Asked()
    client = Client(line)
    edits = [types.WorkspaceEdit(), types.WorkspaceEdit()]
    waiting = [client.apply_edit(edit, "Indwell: edit a.py") for edit in edits]
    asked = [
        (method, params.edit is edit)
        for (method, params, _), edit in zip(line.sent, edits, strict=True)
    ]
    assert asked == [("workspace/applyEdit", True)] * 2
    ids = [identifier for _, _, identifier in line.sent]
    assert len(set(ids)) == 2
    client.withdraw(edits[1])
    assert line.sent[2:] == [("$/cancelRequest", types.CancelParams(id=ids[1]), None)]
    assert not any(one.done() for one in waiting)  # the editor has not reported the result yet


async def test_an_edit_that_was_answered_is_not_withdrawn() -> None:
    line = Asked()
    client, edit = Client(line), types.WorkspaceEdit()
    waiting = client.apply_edit(edit, "x")
    line.answers[0].set_result(types.ApplyWorkspaceEditResult(applied=True))
    assert (await waiting).applied
    await asyncio.sleep(0)
    client.withdraw(edit)
    assert len(line.sent) == 1


def test_a_message_shows_hidden_characters_and_is_cut() -> None:
    line = Line()
    client = Client(line)
    client.show(types.MessageType.Info, f"{EVIL}\nmore")
    client.show(types.MessageType.Info, "x" * 1_000_000)
    assert line.sent == [
        types.ShowMessageParams(type=types.MessageType.Info, message=f"{HARMLESS}\nmore"),
        types.ShowMessageParams(type=types.MessageType.Info, message="x" * MESSAGE_LIMIT + "…"),
    ]


class Numbers(Line):
    """An editor whose user types numbers, one for each question."""

    def __init__(self, *numbers: int) -> None:
        super().__init__()
        self._numbers = list(numbers)

    def choice(self) -> int:
        return self._numbers.pop(0) - 1


@pytest.mark.parametrize(
    ("numbers", "chosen", "n_asked"),
    [
        ((1,), "No", 1),
        ((2, 7), "Once", 2),
        ((2, 6, 3, 7), "This session", 4),
        *(((number, again), None, 2) for number in range(2, 6) for again in range(1, 6)),
    ],
)
async def test_a_bare_number_grants_no_permission(numbers, chosen, n_asked) -> None:
    """The user types ``b = 2`` for a file, and Enter answers a list of Neovim's."""
    line = Numbers(*numbers)
    client = Client(line)
    client.features = ClientFeatures(numbers=True)
    titles = ("No", "Once", "This session", "Always: make", "Hunk by hunk…")
    assert await client.allow("Run?", titles, 1.0) == chosen
    assert len(line.sent) == n_asked


class Lying(Line):
    """An editor that does not process a request until another message arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.woken = asyncio.Event()
        self.heard: list[str] = []

    def notify(self, method: str, params: object) -> None:
        assert params == {}
        self.heard.append(method)
        self.woken.set()

    async def send_request_async(
        self, method: str, params: object, _request: str | None = None
    ) -> object:
        await self.woken.wait()
        if isinstance(params, SaveParams):
            return SaveResult(saved=params.uris)
        assert isinstance(params, types.ShowMessageRequestParams)
        return await super().send_request_async(method, params)


async def test_an_editor_that_ignores_a_question_gets_wake_up_messages() -> None:
    """eglot ignores a request that arrives in one read with the answer to a command."""
    line = Lying()
    assert await Client(line).choose("Run?", ("No", "Once"), 60.0) == "No"
    assert line.heard == [WAKE]


async def test_an_editor_that_ignores_a_request_to_save_gets_wake_up_messages() -> None:
    line = Lying()
    assert await Client(line).save(("file:///shop.py",)) == ("file:///shop.py",)
    assert line.heard == [WAKE]


async def test_an_editor_with_progress_gets_no_wake_up_messages() -> None:
    line = Lying()
    client = Client(line)
    client.features = ClientFeatures(progress=True)
    assert await client.choose("Run?", ("No", "Once"), WAKE_S[0] + 0.5) is None
    assert line.heard == []


async def test_a_question_with_a_long_text_returns_the_original_title_of_the_answer() -> None:
    line = Line()
    long = "x" * (2 * MESSAGE_LIMIT)
    assert await Client(line).choose(f"{EVIL}\n{long}", (f"Use {EVIL}\n", "Not now"), 1.0) == (
        f"Use {EVIL}\n"
    )
    assert line.sent == [
        types.ShowMessageRequestParams(
            type=types.MessageType.Warning,
            message=f"{HARMLESS}\n{long}",
            actions=[
                types.MessageActionItem(title=f"Use {HARMLESS}\\u000a"),
                types.MessageActionItem(title="Not now"),
            ],
        )
    ]
