"""``indwell acp`` as a client of the protocol sees it: the SDK's client, a loopback endpoint."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from acp.exceptions import RequestError

from acp import schema, text_block
from indwell.acp.updates import changes_in
from indwell.sessions.storage.task_store import TaskStore
from indwell.sessions.task_list import TaskList, added
from support.acp_client import INDWELL, EditorClient, allow, connected, refuse
from support.editing import EDIT, MENDED, READ, SOURCE, Home, bash, texts_of
from support.loopback_endpoint import LoopbackEndpoint, say
from support.loopback_endpoint import refuse as refusing

SMALL_SERVER = Path(__file__).parents[1] / "support" / "small_mcp_server.py"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def begun(connection: Any, home: Home, **more: Any) -> str:
    """Begin a session in the workspace; returns its id."""
    new = await connection.new_session(cwd=str(home.workspace), mcp_servers=[], **more)
    return str(new.session_id)


async def test_a_prompt_streams_its_answer_its_calls_and_their_diffs(home: Home) -> None:
    client = EditorClient(allow)
    script = [say(calls=[READ]), say(calls=[EDIT]), say("It is mended.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        ended = await connection.prompt(session_id=session, prompt=[text_block("Mend it")])
    assert ended.stop_reason == "end_turn"
    assert home.shop.read_text() == MENDED
    assert "It is mended." in client.said(session)
    assert "Indwell: changes: not verified" in [
        one.title for one in client.of(schema.ToolCallStart)
    ]
    read, edit = (one for one in client.of(schema.ToolCallStart) if one.kind != "other")
    assert (read.kind, edit.kind) == ("read", "edit")
    assert read.locations[0].path == str(home.shop)
    diffs = [
        part
        for one in client.of(schema.ToolCallProgress)
        for part in one.content or []
        if isinstance(part, schema.FileEditToolCallContent)
    ]
    assert diffs[-1].path == str(home.shop)
    assert diffs[-1].old_text in SOURCE
    assert diffs[-1].new_text in MENDED
    states = {one.tool_call_id: one.status for one in client.of(schema.ToolCallProgress)}
    assert set(states.values()) == {"completed"}


@pytest.mark.parametrize("answer", ["no", "once", "closed"])
async def test_a_command_runs_only_after_a_yes_to_exactly_this_command(
    home: Home, answer: str
) -> None:
    client = EditorClient(lambda _call, _options: None if answer == "closed" else answer)
    script = [bash("touch made; rm -f shop.py"), say("Done.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        await connection.prompt(session_id=session, prompt=[text_block("Remove it")])
    call, options = client.asked[0]
    assert "touch made; rm -f shop.py" in call.content[0].content.text
    assert [(one.option_id, one.kind) for one in options][:2] == [
        ("no", "reject_once"),
        ("once", "allow_once"),
    ]
    assert call.tool_call_id in {one.tool_call_id for one in client.of(schema.ToolCallStart)}
    assert (home.workspace / "made").exists() is (answer == "once")


async def test_unsaved_text_of_the_client_is_read_and_edited_and_nothing_typed_is_lost(
    home: Home,
) -> None:
    client = EditorClient(allow)
    client.buffers[home.shop] = f"# typed just now\n{SOURCE}"
    script = [say(calls=[READ]), say(calls=[EDIT]), say("Done.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        await connection.prompt(session_id=session, prompt=[text_block("Mend it")])
    assert "# typed just now" in str(endpoint.seen[1].body)
    assert client.written == [home.shop]
    assert home.shop.read_text() == f"# typed just now\n{MENDED}"


async def test_a_session_in_a_worktree_changes_the_clients_text_only_by_a_merge(
    home: Home,
) -> None:
    client = EditorClient(allow)
    client.buffers[home.shop] = SOURCE
    script = [say(calls=[READ]), say(calls=[EDIT]), say("Done.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url, "--worktree") as connection,
    ):
        session = await begun(connection, home)
        await connection.prompt(session_id=session, prompt=[text_block("Mend it")])
        assert client.written == []
        client.buffers[home.shop] = f"# typed just now\n{SOURCE}"
        await connection.prompt(session_id=session, prompt=[text_block("/worktree merge")])
    told = [one.title for one in client.of(schema.ToolCallStart)]
    assert any("1 file awaits your review" in one for one in told)
    assert client.written == [home.shop]
    assert home.shop.read_text() == f"# typed just now\n{MENDED}"
    assert not list(home.folder.glob("state-worktrees/*")), "the worktree is empty now"


async def test_an_embedded_part_of_a_file_is_the_selection_and_a_link_a_mention(
    home: Home,
) -> None:
    home.write("notes.md", "Keep the cents.\n")
    client = EditorClient()
    first = SOURCE.splitlines(keepends=True)[0]
    part = schema.EmbeddedResourceContentBlock(
        type="resource",
        resource=schema.TextResourceContents(uri=f"{home.shop.as_uri()}#L1:1", text=first),
    )
    link = schema.ResourceContentBlock(
        type="resource_link", uri=(home.workspace / "notes.md").as_uri(), name="notes.md"
    )
    async with (
        LoopbackEndpoint([say("Yes.")]) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        blocks = [text_block("What does "), part, text_block(" do? See "), link]
        await connection.prompt(session_id=session, prompt=blocks)
    sent = texts_of(endpoint.seen[0].body["messages"])
    assert "<ide_selection>\nThe user selected line 1 of shop.py" in sent
    assert "What does @shop.py#L1-1 do? See @notes.md" in sent
    assert "Keep the cents." in sent


async def test_cancel_stops_a_running_command_and_the_session_continues(home: Home) -> None:
    client = EditorClient(lambda _call, _options: "once")
    script = [bash("echo begun; sleep 60"), say("Here I am.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        turn = asyncio.create_task(
            connection.prompt(session_id=session, prompt=[text_block("Wait")])
        )
        await client.until(lambda: "begun" in str(client.of(schema.ToolCallProgress)))
        listing = await connection.prompt(session_id=session, prompt=[text_block("/tasks")])
        assert listing.stop_reason == "end_turn"
        assert "there are no tasks" in str(client.updates)
        assert not turn.done(), "a command that needs no turn is answered while a turn runs"
        await connection.cancel(session_id=session)
        assert (await turn).stop_reason == "cancelled"
        ended = await connection.prompt(session_id=session, prompt=[text_block("Still there?")])
    assert ended.stop_reason == "end_turn"
    assert "Here I am." in client.said(session)


def _task_of(tasks: TaskList, *, session: str) -> TaskList:
    """Return the list with a task that a session has carried out."""
    with_task = added(tasks, "Say something", "")
    (task,) = with_task.tasks
    done = msgspec.structs.replace(task, session=session, state="done")
    return msgspec.structs.replace(with_task, tasks=(done,))


async def test_a_stored_session_is_listed_loaded_with_its_turns_forked_and_deleted(
    home: Home,
) -> None:
    script = [say("The first answer."), say("The second."), say("The third.")]
    async with LoopbackEndpoint(script) as endpoint:
        async with connected(EditorClient(), home, endpoint.base_url) as connection:
            session = await begun(connection, home)
            await connection.prompt(session_id=session, prompt=[text_block("My first words")])
        TaskStore(home.state, home.workspace).change(partial(_task_of, session=session))
        client = EditorClient()
        async with connected(client, home, endpoint.base_url) as connection:
            listed = await connection.list_sessions(cwd=str(home.workspace))
            assert [(one.session_id, one.title) for one in listed.sessions] == [
                (session, "t1 done: My first words")
            ]
            await connection.load_session(
                cwd=str(home.workspace), session_id=session, mcp_servers=[]
            )
            shown = [
                (type(one), one.content.text)
                for _, one in client.updates
                if isinstance(one, schema.UserMessageChunk | schema.AgentMessageChunk)
            ]
            assert shown == [
                (schema.UserMessageChunk, "My first words"),
                (schema.AgentMessageChunk, "The first answer."),
            ]
            await connection.prompt(session_id=session, prompt=[text_block("And then?")])
            fork = await connection.fork_session(
                cwd=str(home.workspace), session_id=session, mcp_servers=[]
            )
            assert fork.session_id != session
            await connection.prompt(session_id=fork.session_id, prompt=[text_block("Elsewhere")])
            asked = str(endpoint.seen[2].body)
            assert "My first words" in asked
            assert "And then?" in asked
            await connection._conn.send_request("session/delete", {"sessionId": session})
            left = await connection.list_sessions(cwd=str(home.workspace))
            assert [one.session_id for one in left.sessions] == [fork.session_id]


async def test_two_sessions_work_at_once_and_each_question_is_in_its_own(home: Home) -> None:
    client = EditorClient(refuse)

    def script(seen: Any) -> Any:
        words = "one" if "I am one" in str(seen.body) else "two"
        is_first = not any(one["role"] == "tool" for one in seen.body["messages"])
        return bash(f"touch {words}; rm -f shop.py") if is_first else say(words)

    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        first, second = await begun(connection, home), await begun(connection, home)
        await asyncio.gather(
            connection.prompt(session_id=first, prompt=[text_block("I am one")]),
            connection.prompt(session_id=second, prompt=[text_block("I am two")]),
        )
    assert client.said(first).endswith("one")
    assert client.said(second).endswith("two")
    assert len(client.asked) == 2


async def test_a_listed_session_says_that_it_asks_and_how_it_ended(home: Home) -> None:
    states: list[dict[str, Any]] = []

    class Looking(EditorClient):
        async def request_permission(
            self, session_id: str, tool_call: Any, options: list[Any], **meta: Any
        ) -> schema.RequestPermissionResponse:
            await look(self.agent)
            return await super().request_permission(session_id, tool_call, options, **meta)

    async def look(agent: Any) -> None:
        found = await agent.list_sessions(cwd=str(home.workspace))
        states.extend(one.field_meta["indwell"] for one in found.sessions)

    script = [bash("touch made; rm -f shop.py"), say("Done.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(Looking(refuse), home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        await connection.prompt(session_id=session, prompt=[text_block("Remove it")])
        await look(connection)
    assert states == [{"state": "asking"}, {"state": "done"}]


async def test_a_folder_without_trust_asks_once_and_stays_restricted_after_a_no(
    home: Home,
) -> None:
    home.trusted = ()
    client = EditorClient(refuse)
    script = [say(calls=[READ]), say(calls=[EDIT]), say("I may not."), say("Again.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        for words in ("Mend it", "And now?"):
            await connection.prompt(session_id=session, prompt=[text_block(words)])
    assert [call.title for call, _ in client.asked] == [
        f"Indwell: do you trust the files in {str(home.workspace)!r}?"
    ]
    assert home.shop.read_text() == SOURCE


async def test_without_a_model_the_client_is_told_to_log_in(home: Home) -> None:
    async with connected(EditorClient(), home) as connection:
        with pytest.raises(RequestError) as refused:
            await begun(connection, home)
    assert refused.value.code == -32000
    assert "indwell login" in str(refused.value)


async def test_modes_and_options_are_chosen_for_one_session(home: Home) -> None:
    async with (
        LoopbackEndpoint([say("Planned.")]) as endpoint,
        connected(EditorClient(), home, endpoint.base_url) as connection,
    ):
        new = await connection.new_session(cwd=str(home.workspace), mcp_servers=[])
        assert [one.id for one in new.modes.available_modes] == ["ask", "review", "auto", "plan"]
        await connection.set_session_mode(session_id=new.session_id, mode_id="plan")
        chosen = await connection.set_config_option(
            session_id=new.session_id, config_id="effort", value="high"
        )
        values = {one.id: one.current_value for one in chosen.config_options}
        assert values["effort"] == "high"
        await connection.prompt(session_id=new.session_id, prompt=[text_block("Plan it")])
        with pytest.raises(RequestError, match="there is no mode 'fast'"):
            await connection.set_session_mode(session_id=new.session_id, mode_id="fast")
    asked = str(endpoint.seen[0].body)
    assert "The mode is `plan`" in asked


async def test_a_failure_of_the_model_is_the_error_of_the_request(home: Home) -> None:
    async with (
        LoopbackEndpoint([refusing(401, "no such key")]) as endpoint,
        connected(EditorClient(), home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        with pytest.raises(RequestError, match="key"):
            await connection.prompt(session_id=session, prompt=[text_block("Hello")])


async def test_an_mcp_server_of_the_client_is_used_and_each_call_is_asked_about(home: Home) -> None:
    client = EditorClient(lambda _call, _options: "once")
    server = schema.McpServerStdio(
        name="Small One", command=sys.executable, args=[str(SMALL_SERVER)], env=[]
    )
    script = [
        say(calls=[("find_tools", json.dumps({"query": "tool_3"}))]),
        say(calls=[("small-one__tool_3", json.dumps({"field_0": "exactly this"}))]),
        say("Done."),
    ]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        new = await connection.new_session(cwd=str(home.workspace), mcp_servers=[server])
        await connection.prompt(session_id=new.session_id, prompt=[text_block("Use it")])
    ((asked, _options),) = client.asked
    assert "exactly this" in asked.content[0].content.text
    assert endpoint.seen[2].body["messages"][-1]["content"] == "done"


async def test_a_picture_reaches_the_model_and_a_broken_picture_is_refused_with_a_message(
    home: Home,
) -> None:
    home.configure("pictures = true\n")
    picture = base64.b64encode(PNG).decode()
    async with (
        LoopbackEndpoint([say("A dot.")]) as endpoint,
        connected(EditorClient(), home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        image = schema.ImageContentBlock(type="image", data=picture, mime_type="image/png")
        await connection.prompt(session_id=session, prompt=[text_block("What is it?"), image])
        broken = schema.ImageContentBlock(type="image", data="AAAA", mime_type="image/png")
        with pytest.raises(RequestError, match="is not a picture that models read"):
            await connection.prompt(session_id=session, prompt=[text_block("And this?"), broken])
    assert picture in str(endpoint.seen[0].body)


async def test_the_text_of_a_denied_file_is_not_sent(home: Home) -> None:
    client = EditorClient()
    secret = schema.EmbeddedResourceContentBlock(
        type="resource",
        resource=schema.TextResourceContents(
            uri=(home.workspace / ".env").as_uri(), text="TOKEN=hunter2hunter2"
        ),
    )
    async with (
        LoopbackEndpoint([say("No.")]) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        await connection.prompt(session_id=session, prompt=[text_block("Read "), secret])
    assert "hunter2" not in str(endpoint.seen[0].body)
    assert any("`deny`" in one.title for one in client.of(schema.ToolCallStart))


@pytest.mark.parametrize("kind", ["symlink", "hard link", "dots"])
async def test_another_name_of_a_denied_file_is_denied_too(home: Home, kind: str) -> None:
    secret = home.write(".env", "TOKEN=hunter2hunter2")
    other = home.workspace / "notes.txt"
    if kind == "symlink":
        other.symlink_to(secret)
    elif kind == "hard link":
        other.hardlink_to(secret)
    else:
        other = home.workspace / "x" / ".." / ".env"
    part = schema.EmbeddedResourceContentBlock(
        type="resource",
        resource=schema.TextResourceContents(uri=f"file://{other}", text="TOKEN=hunter2hunter2"),
    )
    async with (
        LoopbackEndpoint([say("No.")]) as endpoint,
        connected(EditorClient(), home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        await connection.prompt(session_id=session, prompt=[text_block("Read "), part])
    assert "hunter2" not in str(endpoint.seen[0].body)


async def test_a_cancel_before_the_turn_begins_is_heard_and_a_second_prompt_refused(
    home: Home,
) -> None:
    home.trusted = ()
    client = EditorClient()
    asked, answered = asyncio.Event(), asyncio.Event()

    async def slow(session_id: str, tool_call: Any, options: list[Any], **_meta: Any) -> Any:
        asked.set()
        await answered.wait()
        outcome = schema.DeniedOutcome(outcome="cancelled")
        return schema.RequestPermissionResponse(outcome=outcome)

    client.request_permission = slow  # type: ignore[method-assign]
    async with (
        LoopbackEndpoint([say("Here I am.")]) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        first = asyncio.create_task(
            connection.prompt(session_id=session, prompt=[text_block("Mend it")])
        )
        await asked.wait()
        with pytest.raises(RequestError, match="a turn is running in this session"):
            await connection.prompt(session_id=session, prompt=[text_block("And this")])
        await connection.cancel(session_id=session)
        answered.set()
        assert (await first).stop_reason == "cancelled"
        assert endpoint.seen == []
        ended = await connection.prompt(session_id=session, prompt=[text_block("Still there?")])
    assert ended.stop_reason == "end_turn"


async def test_unsaved_text_in_a_linked_folder_is_found_under_the_clients_name(home: Home) -> None:
    link = home.folder / "link"
    link.symlink_to(home.workspace)
    client = EditorClient(allow)
    client.buffers[link / "shop.py"] = f"# typed just now\n{SOURCE}"
    script = [say(calls=[READ]), say(calls=[EDIT]), say("Done.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        new = await connection.new_session(cwd=str(link), mcp_servers=[])
        await connection.prompt(session_id=new.session_id, prompt=[text_block("Mend it")])
    assert client.written == [link / "shop.py"]
    assert home.shop.read_text() == f"# typed just now\n{MENDED}"


async def test_a_stored_session_that_is_not_open_can_be_deleted(home: Home) -> None:
    async with LoopbackEndpoint([say("Yes.")]) as endpoint:
        async with connected(EditorClient(), home, endpoint.base_url) as connection:
            session = await begun(connection, home)
            await connection.prompt(session_id=session, prompt=[text_block("Hello")])
        async with connected(EditorClient(), home, endpoint.base_url) as connection:
            await connection._conn.send_request("session/delete", {"sessionId": session})
            listed = await connection.list_sessions(cwd=str(home.workspace))
            assert listed.sessions == []


async def test_a_line_that_is_no_message_gets_an_error_and_the_connection_stays_open(
    home: Home,
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", INDWELL, "acp", "--scripted"),
        env=home.environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    hello = {"id": 1, "method": "initialize", "params": {"protocolVersion": 1}, "jsonrpc": "2.0"}
    lines = [b"[]", b"5", b"{", json.dumps(hello).encode()]
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n".join(lines) + b"\n")
    answers = [json.loads(await process.stdout.readline()) for _ in lines]
    process.stdin.close()
    codes = [one["error"]["code"] for one in answers if "error" in one]
    assert codes == [-32600, -32600, -32700]
    assert [one["result"]["agentInfo"]["name"] for one in answers if "result" in one] == ["indwell"]
    assert await process.wait() == 0


def test_only_a_line_feed_ends_a_line_of_a_shown_diff() -> None:
    hidden = "OK = 1;\x0cimport os\u2028print(os)\n"
    parts, lines = changes_in(f"--- a\n+++ b\n@@ -1 +1 @@\n-OK = 1\n+{hidden}", is_new=False)
    assert (list(parts), list(lines)) == ([("OK = 1\n", hidden)], [1])


@pytest.mark.parametrize("is_saved", [True, False])
async def test_a_large_file_is_edited_only_if_the_client_has_no_other_text_of_it(
    home: Home, *, is_saved: bool
) -> None:
    text = "first = 1\n" + "other = 2\n" * 900_000
    path = home.write("large.py", text)
    client = EditorClient(allow)
    if not is_saved:
        client.buffers[path] = f"# typed just now\n{text}"
    edit = {"path": "large.py", "old_string": "first = 1", "new_string": "first = 3"}
    script = [
        say(calls=[("read_file", json.dumps({"path": "large.py", "limit": 3}))]),
        say(calls=[("edit_file", json.dumps(edit))]),
        say("Done."),
    ]
    async with (
        LoopbackEndpoint(script) as endpoint,
        connected(client, home, endpoint.base_url) as connection,
    ):
        session = await begun(connection, home)
        await connection.prompt(session_id=session, prompt=[text_block("Mend it")])
    result = endpoint.seen[2].body["messages"][-1]["content"]
    assert path.read_text().startswith("first = 3" if is_saved else "first = 1"), result
    assert is_saved or "unsaved text in the client" in result
