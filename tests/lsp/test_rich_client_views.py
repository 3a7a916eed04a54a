"""A rich client reads sessions, missed events, context and models, all valid by the schema."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import pytest_asyncio
from pygls.exceptions import JsonRpcException

from indwell.lsp.messages import context as next_request
from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages import views
from support.editing import Editor, Home, Playlist, bash, editing, mend, texts_of
from support.fake_editor.buffer import lines_range
from support.loopback_endpoint import LoopbackEndpoint, refuse, say
from support.model_server import answering, listed

pytestmark = pytest.mark.asyncio(loop_scope="module")
SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs" / "protocol.schema.json").read_text("utf-8")
)


def check(value: object, type_: str) -> None:
    """Check that ``value`` is valid for ``type_`` in the schema."""
    schema = {"$ref": f"#/$defs/{type_}", "$defs": SCHEMA["$defs"]}
    jsonschema.Draft202012Validator(schema).validate(value)


@dataclass
class Desk:
    home: Home
    editor: Editor
    playlist: Playlist
    endpoint: LoopbackEndpoint
    session: str = ""
    answers: list[tuple[str, Any]] = field(default_factory=list)

    async def ask(self, method: str, params: object) -> Any:
        """Send a request; check its params and its result by the schema."""
        wire = self.editor.client.protocol
        row = SCHEMA["methods"][method]
        check(wire._converter.unstructure(params), row["params"]["$ref"].removeprefix("#/$defs/"))
        result = await wire.send_request_async(method, params)
        check(wire._converter.unstructure(result), row["result"]["$ref"].removeprefix("#/$defs/"))
        return result

    async def refused(self, method: str, params: object) -> str:
        with pytest.raises(JsonRpcException) as caught:
            await self.ask(method, params)
        assert caught.value.code == -32803
        return caught.value.message


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory) -> AsyncIterator[Desk]:
    """Yield a session of two turns: one edits, the other wants to run a refused command."""
    home, playlist = Home(tmp_path_factory.mktemp("back")), Playlist()
    home.configure('models = ["other"]\n')
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(home, endpoint.base_url, extensions=("events", "permission")) as editor,
    ):
        editor.open(home.shop)
        playlist.play(*mend(), bash("rm x"), say("Denied."))
        desk = Desk(home, editor, playlist, endpoint)
        first = await desk.ask("indwell/prompt", protocol.PromptParams("mend it"))
        await desk.ask("indwell/prompt", protocol.PromptParams("list it", mode="ask"))
        desk.session = first.session
        yield desk


async def test_every_event_of_a_session_fits_the_schema(desk) -> None:
    assert {"editApplied", "permissionAsked", "turnFinished"} <= set(desk.editor.kinds())
    for event in desk.editor.events:
        check(event, "Event")


async def test_the_list_of_sessions_has_the_expected_content(desk) -> None:
    listed = await desk.ask("indwell/sessions", views.SessionsParams())
    (row,) = listed.sessions
    assert row == views.SessionRow(
        id=desk.session,
        at=row.at,
        model="loopback-model",
        title="mend it",
        preview="mend it",
        turns=2,
        usage=views.UsageResult(row.usage.input, 0, row.usage.output, None),
        open=True,
        notices=(),
    )
    assert (listed.more, row.usage.input > 0, row.at[:2]) == (False, True, "20")
    empty = await desk.ask("indwell/sessions", views.SessionsParams(before=desk.session))
    assert empty == views.SessionsResult((), more=False)


async def test_events_reported_for_turns_and_calls_are_in_the_session(desk) -> None:
    whole = await desk.ask("indwell/session", views.SessionParams())
    for kind in ("turnStarted", "toolStarted", "editApplied", "usageReported"):
        live = [one for one in desk.editor.events if one["type"] == kind]
        read_back = [one for turn in whole.turns for one in turn.events if one["type"] == kind]
        assert [{**one, "arguments": ""} for one in read_back] == [
            {**one, "arguments": ""} for one in live
        ], kind
    ended = [one for one in desk.editor.events if one["type"] == "turnFinished"]
    no_record = {"figures": {}, "to_review": 0, "toReview": 0, "verified": ""}
    assert [{**turn.events[-1], **no_record} for turn in whole.turns] == [
        {**one, **no_record} for one in ended
    ]
    assert (whole.title, whole.todo) == ("mend it", ())


async def test_a_past_session_with_tool_calls_is_read_page_by_page(desk) -> None:
    whole = await desk.ask("indwell/session", views.SessionParams())
    assert (whole.session, whole.total, whole.more) == (desk.session, 2, False)
    first, second = whole.turns
    beside = {"attached", "usageReported", "editApplied"}
    shown = [one for one in first.events if one["type"] not in beside]
    assert [(one["type"], one.get("name", "")) for one in shown] == [
        ("turnStarted", ""),
        ("text", ""),
        ("toolStarted", "read_file"),
        ("toolFinished", "read_file"),
        ("toolStarted", "edit_file"),
        ("toolFinished", "edit_file"),
        ("text", ""),
        ("turnFinished", ""),
    ]
    assert "def total" in shown[3]["result"]
    begin, end = [one for one in second.events if "name" in one]
    assert (begin["name"], begin["arguments"]) == ("bash", '{"command": "rm x"}')
    assert (end["isError"], end["result"]) == (True, end["message"])
    last = await desk.ask("indwell/session", views.SessionParams(desk.session, limit=1))
    assert (last.turns, last.more) == ((second,), True)
    before = await desk.ask("indwell/session", views.SessionParams(desk.session, before=2))
    assert (before.turns, before.more) == ((first,), False)


async def test_a_missing_session_is_reported_to_the_client(desk) -> None:
    sentence = await desk.refused("indwell/session", views.SessionParams("20200101-no"))
    assert sentence.startswith("there is no session '20200101-no' in this workspace")
    assert "no session id" in (
        await desk.refused("indwell/session", views.SessionParams("../../etc"))
    ) or "'../../etc'" in (await desk.refused("indwell/session", views.SessionParams("../../etc")))


async def test_a_broken_session_is_listed_with_what_could_be_read(desk) -> None:
    log = next((desk.home.state / "sessions").rglob("log.jsonl"))
    folder = log.parent.parent / "20200101-000000-000-0123456789ab"
    folder.mkdir()
    lines = log.read_bytes().split(b"\n")
    (folder / "log.jsonl").write_bytes(b"\n".join([*lines[:3], b'{"type": "said", "mes']))
    try:
        *_, broken = (await desk.ask("indwell/sessions", views.SessionsParams())).sessions
        assert (broken.preview, broken.turns, broken.open) == ("mend it", 1, False)
        assert [one[:35] for one in broken.notices] == ["line 4 of the session's log is cut "]
    finally:
        (folder / "log.jsonl").unlink()
        shutil.rmtree(folder)


async def test_a_reconnected_client_gets_the_missed_events(desk) -> None:
    numbers = [number for _, number, _ in desk.editor.numbered]
    assert numbers == list(range(1, len(numbers) + 1))
    missed = await desk.ask("indwell/events", views.EventsParams(desk.session, after=2))
    assert (missed.complete, missed.next) == (True, len(numbers))
    heard = dict(zip(numbers, desk.editor.events, strict=True))
    whole = [one for one in missed.events if one.event["type"] not in {"text", "toolOutput"}]
    assert {one.seq: one.event for one in whole} == {
        number: event
        for number, event in heard.items()
        if number > 2 and event["type"] not in {"text", "toolOutput"}
    }
    again = await desk.ask("indwell/events", views.EventsParams(desk.session, after=missed.next))
    assert again.events == ()
    sentence = await desk.refused("indwell/events", views.EventsParams("never"))
    assert sentence == "no events of session 'never' are kept; indwell/session shows its turns"


async def test_a_client_can_inspect_the_next_request_and_remove_one_part_once(desk) -> None:
    buffer = desk.editor.reopen(desk.home.shop, "def fresh():\n    return 1\n")
    desk.editor.select(buffer, lines_range(2, 2))
    context = await desk.ask("indwell/context", next_request.ContextParams())
    marked, opened = context.attached
    assert (marked.kind, marked.label, opened.kind, opened.label) == (
        "selection", "shop.py:2-2", "opened", "shop.py",
    )  # fmt: skip
    assert [one.role for one in context.blocks[:2]] == ["tools", "system"]
    assert [(one.source, one.tier) for one in context.blocks[-2:]] == [
        ("ide_selection", 2),
        ("changed_file", 2),  # the user's other text, which the next request reports
    ]
    # The endpoint's own count (10) is implausible and has no effect; separators count.
    total = sum(one.tokens for one in context.blocks)
    assert total < context.used <= total + 4 * (len(context.blocks) + 1)
    assert context.share == round(context.used / context.budget, 4)
    assert any(one.anchor for one in context.blocks)
    assert context.health.session["indwell.requests"] >= context.health.turn["indwell.requests"] > 0
    finished = [one for one in desk.editor.events if one["type"] == "turnFinished"][-1]
    assert context.health.turn == finished["figures"]

    left = await desk.ask("indwell/detach", next_request.DetachParams(marked.id))
    assert left == next_request.DetachResult((opened,))
    assert "no attachment has the id" in await desk.refused(
        "indwell/detach", next_request.DetachParams(marked.id)
    )
    desk.playlist.play(say("One."), say("Two."))
    await desk.ask("indwell/prompt", protocol.PromptParams("without"))
    selected = "The user selected line 2 of shop.py"
    assert selected not in texts_of(desk.endpoint.seen[-1].body["messages"])
    await desk.ask("indwell/prompt", protocol.PromptParams("with"))
    assert selected in texts_of(desk.endpoint.seen[-1].body["messages"])


async def test_a_chosen_model_continues_the_conversation_from_the_next_turn(desk) -> None:
    gate = asyncio.Event()
    answer = say("One.")
    desk.playlist.play(type(answer)((gate, *answer.parts)), say("Two."))
    running = asyncio.create_task(desk.editor.ask("one"))
    await desk.playlist.asked.wait()
    chosen = await desk.ask("indwell/setModel", views.SetModelParams("other"))
    gate.set()
    await running
    two = await desk.editor.ask("two")
    assert chosen == views.SetModelResult("other")
    assert [one.body["model"] for one in desk.endpoint.seen[-2:]] == ["loopback-model", "other"]
    assert two.session == desk.session
    asked = texts_of(desk.endpoint.seen[-1].body["messages"])
    assert "mend it" in asked
    assert "The model is other." in asked.rpartition("<system-reminder>")[2]
    assert "'stranger' is not among the models" in await desk.refused(
        "indwell/setModel", views.SetModelParams("stranger")
    )


async def test_a_failed_login_shows_no_key(desk) -> None:
    params = views.LoginParams("no-such-provider", "sk-canary-123456")
    sentence = await desk.refused("indwell/login", params)
    assert "'no-such-provider'" in sentence
    assert "canary" not in sentence + repr(params) + str(desk.editor.messages + desk.editor.events)
    for file in desk.home.folder.rglob("*"):
        assert not file.is_file() or b"canary" not in file.read_bytes()


async def test_a_login_without_a_model_lists_the_available_models(desk) -> None:
    async with LoopbackEndpoint(
        answering(listed("a", "b"), chat=lambda _seen: refuse(400))
    ) as several:
        params = views.LoginParams("", None, several.base_url)
        unnamed = await desk.ask("indwell/login", params)
        params = views.LoginParams("", None, several.base_url, "c")
        named = await desk.ask("indwell/login", params)
    assert (unnamed.ok, unnamed.model, unnamed.models) == (False, "", ("a", "b"))
    step = unnamed.steps[-1]
    assert (step.sentence, step.fix) == ("no model was chosen of a, b", "name one")
    assert (named.ok, named.models) == (False, ("a", "b"))
    assert "'c' is not in its list" in [one.sentence for one in named.steps]


async def test_arguments_that_are_not_an_object_are_refused_with_a_message(desk) -> None:
    for command, arguments in (
        ("indwell.mode", ()),
        ("indwell.mode", ("plan",)),
        ("indwell.mode", ({"mode": "careful"},)),
        ("indwell.fix", ("x",)),
        ("indwell.fix", ({"range": 7},)),
    ):
        with pytest.raises(JsonRpcException) as caught:
            await desk.editor.execute(command, *arguments)
        assert (caught.value.code, "\n" in caught.value.message) == (-32602, False)
