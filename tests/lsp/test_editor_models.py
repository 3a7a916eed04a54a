"""The editor's own models over a real connection: the list, and replies in chunks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages import status, views
from indwell.sessions.records import Spent
from support.editing import EDIT, MENDED, READ, Editor, Home, editing

NAME = "copilot/small@vscode"
ROWS = (
    status.EditorModelRow("copilot", "small", 64_000, pictures=False, tools=True),
    status.EditorModelRow("other", "a/b@c d", 8_000),
)
EVENTS = ("events", "permission", "models")
DONE = status.CompleteResult()

Piece = dict[str, Any]
Answering = Callable[[status.CompleteParams], Awaitable[status.CompleteResult]]


def text(words: str) -> Piece:
    return {"kind": "text", "text": words}


def call(number: int, name_and_arguments: tuple[str, str]) -> Piece:
    name, arguments = name_and_arguments
    return {"kind": "call", "id": f"c{number}", "name": name, "arguments": arguments}


class Models:
    """The editor's side, which answers each request with the next reply.

    Attributes:
        seen: The requests.
        n_listed: How often the list was requested.
        n_cancelled: The number of requests that the server cancelled.
        rows: The list; with None, the editor never answers.
    """

    def __init__(self, editor: Editor, *replies: Sequence[Sequence[Piece]] | Answering) -> None:
        self.seen: list[status.ModelRequest] = []
        self.n_listed = 0
        self.n_cancelled = 0
        self.rows: Sequence[status.EditorModelRow] | None = ROWS
        self.replies = list(replies)
        self.came = asyncio.Event()
        self._editor = editor
        editor.client.feature("indwell/editorModels")(partial(self._list()))
        editor.client.feature("indwell/complete")(partial(self._complete()))

    def send(self, id_: str, *pieces: Piece) -> None:
        params = status.ModelPiecesParams(id_, pieces)
        self._editor.client.protocol.notify("indwell/modelPieces", params)

    def _list(self) -> Callable[[object], Awaitable[status.EditorModelsResult]]:
        async def answer(_params: object) -> status.EditorModelsResult:
            self.n_listed += 1
            if self.rows is None:
                await asyncio.Event().wait()
            return status.EditorModelsResult(tuple(self.rows or ()))

        return answer

    def _complete(self) -> Answering:
        async def answer(params: status.CompleteParams) -> status.CompleteResult:
            self.seen.append(params.request)
            reply = self.replies.pop(0)
            try:
                if callable(reply):
                    return await reply(params)
                for pieces in reply:
                    self.send(params.id, *pieces)
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                self.n_cancelled += 1
                self.came.set()
                raise
            return DONE

        return answer


@asynccontextmanager
async def chatting(
    folder: Path,
    *replies: Sequence[Sequence[Piece]] | Answering,
    config: str = f'model = "{NAME}"\n',
    extensions: Sequence[str] = EVENTS,
    **more: str,
) -> AsyncIterator[tuple[Home, Editor, Models]]:
    home = Home(folder)
    if config:
        home.configure(config)
    async with editing(
        home, environment=home.environment(**more), extensions=tuple(extensions)
    ) as editor:
        yield home, editor, Models(editor, *replies)


async def ask(editor: Editor, method: str, params: object = None) -> Any:
    async with asyncio.timeout(30):
        return await editor.client.protocol.send_request_async(method, params)


async def test_the_editors_models_are_listed_and_a_chosen_one_answers_without_a_key(
    tmp_path,
) -> None:
    async with chatting(tmp_path, [[text("We")], [text("ll.")]], config="") as (_, editor, models):
        listed = await ask(editor, "indwell/models")
        told = [(one.name, one.window, one.input, one.tools) for one in listed.models]
        assert told == [
            (NAME, 64_000, None, True),
            ("other/a/b@c d@vscode", 8_000, None, None),
        ]
        await ask(editor, "indwell/setModel", views.SetModelParams(NAME))
        turn = await editor.ask("hello")
        assert (turn.ending, turn.answer) == ("done", "Well.")
        assert models.n_listed == 1
        (request,) = models.seen
        assert request.model == "copilot/small"
        assert request.messages[0].role == "user"
        # the first message is the system prompt
        assert "Indwell" in request.messages[0].parts[0]["text"]
        assert "hello" in request.messages[-1].parts[-1]["text"]
        assert {"read_file", "edit_file"} <= {one.name for one in request.tools}


async def test_the_editors_model_reads_and_edits_a_file_by_tool_calls(tmp_path) -> None:
    replies = (
        [[text("I look "), text("first."), call(1, READ)]],
        [[call(2, EDIT)], [text("Done so.")]],
        [[text("Fixed.")]],
    )
    config = f'model = "{NAME}"\nmode = "review"\n'
    async with chatting(tmp_path, *replies, config=config) as (home, editor, models):
        turn = await editor.ask("fix shop.py")
        assert (turn.ending, turn.answer) == ("done", "Fixed.")
        assert home.shop.read_text(encoding="utf-8") == MENDED
        said, results = models.seen[1].messages[-2:]
        assert [(part["kind"], part.get("text") or part["name"]) for part in said.parts] == [
            ("text", "I look first."),
            ("call", "read_file"),
        ]
        assert [(part["kind"], part["id"]) for part in results.parts] == [("result", "c1")]
        assert "def total" in results.parts[0]["text"]
        (log,) = home.logs()
        usages = [one.usage for one in log if isinstance(one, Spent)]
        assert len(usages) == 3
        assert all(one.input > 1_000 and not one.reported for one in usages)
        finished = await editor.wait_for_event("turnFinished")
        assert finished["cost"] is None  # the cost of a subscription is unknown


@pytest.mark.parametrize(
    ("code", "words", "told"),
    [
        ("NoPermissions", "no", "send the prompt again and allow the access, or choose another"),
        ("NotFound", "gone", "has no model 'copilot/small' any more; choose another model: gone"),
        ("Blocked", "used up", "the quota of your subscription may be used up"),
        ("", "Premium request quota exceeded", "the quota of your subscription may be used up"),
        ("", "prompt is too long: 9 tokens", "too long"),
        ("Odd", "a riddle \x1b[1m", "VS Code refused the request: a riddle [1m"),
    ],
)
async def test_an_error_of_the_editors_model_tells_the_user_what_to_do(
    tmp_path, code: str, words: str, told: str
) -> None:
    async def refuse(_params: status.CompleteParams) -> status.CompleteResult:
        return status.CompleteResult(code, words)

    async with chatting(tmp_path, refuse) as (_, editor, models):
        turn = await editor.ask("hello")
        assert turn.ending == "failed"
        assert told in turn.message
        assert turn.draft == "hello"
        assert len(models.seen) == 1


async def test_a_temporary_failure_is_tried_again(tmp_path) -> None:
    async def fail(params: status.CompleteParams) -> status.CompleteResult:
        models.send(params.id, text("Half of "))
        return status.CompleteResult("", "fetch failed")

    async with chatting(tmp_path, fail, [[text("All of it.")]]) as (_, editor, models):
        turn = await editor.ask("hello")
        assert (turn.ending, turn.answer) == ("done", "All of it.")
        assert len(models.seen) == 2


async def test_a_filtered_reply_is_not_retried_and_keeps_its_first_part(tmp_path) -> None:
    async def fail(params: status.CompleteParams) -> status.CompleteResult:
        models.send(params.id, text("Half of "), call(1, READ))
        return status.CompleteResult("Blocked", "filtered")

    async with chatting(tmp_path, fail) as (_, editor, models):
        turn = await editor.ask("hello")
        assert "VS Code blocked the request to 'copilot/small'" in turn.message
        assert (len(models.seen), editor.kinds().count("toolStarted")) == (1, 0)


async def test_a_reply_with_too_many_calls_runs_none(tmp_path) -> None:
    async def flood(params: status.CompleteParams) -> status.CompleteResult:
        models.send(params.id, *(call(number, READ) for number in range(300)))
        return DONE

    async with chatting(tmp_path, flood, [[text("Well.")]]) as (_, editor, models):
        turn = await editor.ask("hello")
        assert "it held over 256 tool calls" in turn.message
        assert "toolStarted" not in editor.kinds()


async def test_an_editor_that_refuses_a_model_request_is_reported(tmp_path) -> None:
    async def fail(_params: status.CompleteParams) -> status.CompleteResult:
        raise JsonRpcException("the window closes", -32803)

    async with chatting(tmp_path, fail) as (_, editor, _models):
        turn = await editor.ask("hello")
        assert "VS Code refused the request: the window closes" in turn.message


@pytest.mark.parametrize("before", [[], [text("Some words")], [call(1, READ)]])
async def test_a_stopped_turn_cancels_the_request_at_every_moment(
    tmp_path, before: list[Piece]
) -> None:
    begun = asyncio.Event()

    async def hang(params: status.CompleteParams) -> status.CompleteResult:
        if before:
            models.send(params.id, *before)
        begun.set()
        await asyncio.Event().wait()
        return DONE

    async with chatting(tmp_path, hang, [[text("Again.")]]) as (home, editor, models):
        asking = asyncio.create_task(editor.ask("hello"))
        async with asyncio.timeout(30):
            await begun.wait()
            await editor.heard()
            await editor.execute("indwell.cancel")
            assert (await asking).ending == "cancelled"
            await models.came.wait()
        assert models.n_cancelled == 1
        assert (await editor.ask("once more")).answer == "Again."
        home.logs()


async def test_a_request_to_an_unresponsive_editor_times_out(tmp_path) -> None:
    async def hang(_params: status.CompleteParams) -> status.CompleteResult:
        await asyncio.Event().wait()
        return DONE

    config = f'model = "{NAME}"\nfirst_token_timeout_s = 1\n'
    async with chatting(tmp_path, hang, config=config) as (_, editor, models):
        turn = await editor.ask("hello")
        assert turn.ending == "failed"
        assert "VS Code began no reply within 1 s; answer its question about access" in turn.message
        assert len(models.seen) == 1


async def test_a_stalled_model_of_the_editor_keeps_the_partial_reply(tmp_path) -> None:
    async def hang(params: status.CompleteParams) -> status.CompleteResult:
        models.send(params.id, text("Half of "))
        await asyncio.Event().wait()
        return DONE

    config = f'model = "{NAME}"\nstall_timeout_s = 1\n'
    replies = [hang] * 5
    async with chatting(tmp_path, *replies, config=config) as (_, editor, models):
        asking = asyncio.create_task(editor.ask("hello"))
        async with asyncio.timeout(30):
            waited = await editor.wait_for_event("notice")
            await editor.execute("indwell.cancel")
            await asking
        assert "VS Code sent nothing for 1 s" in waited["message"]
        assert models.n_cancelled >= 1


async def test_an_editor_that_does_not_list_its_models_is_reported(tmp_path) -> None:
    async with chatting(tmp_path) as (_, editor, models):
        models.rows = None
        with pytest.raises(JsonRpcException, match="did not say whether it has the model"):
            await editor.ask("hello")
        models.rows = ()
        with pytest.raises(JsonRpcException, match="has no model 'copilot/small' now; sign in"):
            await editor.ask("hello")


async def test_a_changed_model_list_is_requested_again(tmp_path) -> None:
    async with chatting(tmp_path, config="") as (_, editor, models):
        assert len((await ask(editor, "indwell/models")).models) == 2
        models.rows = ROWS[:1]
        assert len((await ask(editor, "indwell/models")).models) == 2
        editor.client.protocol.notify(
            "indwell/didChangeEditorModels", status.DidChangeEditorModelsParams()
        )
        assert len((await ask(editor, "indwell/models")).models) == 1
        assert models.n_listed == 2


async def test_an_editor_without_models_gets_no_model_request(tmp_path) -> None:
    async with chatting(tmp_path, extensions=("events",)) as (_, editor, models):
        with pytest.raises(JsonRpcException, match="only the Indwell extension of VS Code can ask"):
            await editor.ask("hello")
        assert (models.n_listed, models.seen) == (0, [])


async def test_a_model_of_the_editor_is_stored_by_a_login_without_a_request(tmp_path) -> None:
    async with chatting(tmp_path, [[text("Well.")]], config="") as (home, editor, models):
        assert (await ask(editor, "indwell/status")).lacking != ""
        providers = await ask(editor, "indwell/providers")
        assert providers.editor == (NAME, "other/a/b@c d@vscode")
        unclear = await ask(editor, "indwell/login", views.LoginParams("vscode"))
        assert (unclear.ok, unclear.models) == (False, providers.editor)
        login = views.LoginParams("vscode", model=NAME)
        outcome = await ask(editor, "indwell/login", login)
        assert (outcome.ok, outcome.model, outcome.origin) == (True, NAME, "")
        assert models.seen == []
        assert (await ask(editor, "indwell/status")).model == NAME
        assert (await editor.ask("hello")).answer == "Well."
        path = home.config / "indwell" / "config.toml"
        assert path.read_text(encoding="utf-8") == f'model = "{NAME}"\n'


async def test_the_users_api_key_is_not_sent_to_a_model_of_the_editor(tmp_path) -> None:
    key = "sk-canary-abcdefgh12345678"
    async with chatting(tmp_path, [[text("Well.")]], OPENAI_API_KEY=key) as (_, editor, models):
        assert (await editor.ask("hello")).answer == "Well."
        assert key not in repr(models.seen)


async def test_an_endless_reply_is_cut_off_and_its_request_cancelled(tmp_path) -> None:
    async def flood(params: status.CompleteParams) -> status.CompleteResult:
        for number in range(30):
            models.send(params.id, text(f"{number} " + "abcdefghij klmnop " * 5_000 + str(number)))
            await asyncio.sleep(0)
        await asyncio.Event().wait()
        return DONE

    async with chatting(tmp_path, flood) as (_, editor, models):
        turn = await editor.ask("hello")
        assert "the reply from VS Code" in turn.message
        assert "cut off" in turn.message
        async with asyncio.timeout(30):
            await models.came.wait()
