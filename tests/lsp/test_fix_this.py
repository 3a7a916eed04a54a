from __future__ import annotations

import asyncio
import json
import re

import pytest
from lsprotocol import types
from lsprotocol.types import Position, PositionEncodingKind, Range

from indwell.lsp.messages import methods as protocol
from support.editing import EDIT, MENDED, MODEL, READ, SOURCE, USAGE, Home, editing, mend, texts_of
from support.fake_editor.buffer import lines_range
from support.loopback_endpoint import LoopbackEndpoint, refuse, say

RICH = ("events", "permission", "save")
WRONG = types.Diagnostic(
    range=Range(start=Position(line=1, character=11), end=Position(line=1, character=25)),
    message="adds one",
    severity=types.DiagnosticSeverity.Warning,
    source="lint",
    data={"any": [{"thing": 1}]},
)


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def test_fix_this_from_the_code_action_to_the_applied_edit(home) -> None:
    home.write("README.md", "REPOSITORY-TEXT-1\n")
    home.write("NOTES.md", "REPOSITORY-TEXT-2\n")
    async with (
        LoopbackEndpoint(mend()) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        buffer = editor.open(home.shop)
        finished = await editor.fix(buffer, wait=True, diagnostics=[WRONG])

        # The buffer has the edit, for the version that was read, and one undo step reverts it.
        (edit,) = editor.edits
        assert edit == types.WorkspaceEdit(
            document_changes=(
                types.TextDocumentEdit(
                    text_document=types.OptionalVersionedTextDocumentIdentifier(
                        uri=buffer.uri, version=1
                    ),
                    edits=(
                        types.TextEdit(
                            range=Range(
                                start=Position(line=1, character=21),
                                end=Position(line=1, character=25),
                            ),
                            new_text="",
                        ),
                    ),
                ),
            )
        )
        assert (buffer.text, buffer.undo, home.shop.read_text(encoding="utf-8")) == (
            MENDED,
            [SOURCE],
            SOURCE,
        )
        await editor.wait_for_event("turnFinished")
        session = finished["session"]
        assert finished == {
            "session": session,
            "turn": 1,
            "ending": "done",
            "message": "",
            "answer": "It added one too many.",
            "draft": "",
            "rounds": 3,
            "usage": {"input": 30, "cached": 0, "output": 6, "cost": None},
            "changes": [{"path": "shop.py", "added": 1, "removed": 1}],
            "verified": "not verified",
        }

        # A rich client receives all events, numbered without a gap, and no message.
        numbers = [number for _, number, _ in editor.numbered]
        assert numbers == list(range(1, len(numbers) + 1))
        assert {one for one, _, _ in editor.numbered} == {session}
        assert editor.kinds() == [
            "turnStarted",
            "notice",  # the window of a made-up model is unknown
            "text",
            "usageReported",
            "toolStarted",
            "toolFinished",
            "usageReported",
            "toolStarted",
            "editApplied",
            "hunksChanged",
            "toolFinished",
            "text",
            "usageReported",
            "turnFinished",
        ]
        assert editor.messages == []

        body = endpoint.seen[0].body
        system, asked = body["messages"]
        assert body["model"] == MODEL
        assert [tool["function"]["name"] for tool in body["tools"]] == [
            "read_file",
            "edit_file",
            "write_file",
            "glob",
            "grep",
            "bash",
            "compact",
            "todo",
            "load_skill",
            "agent",
            "ask_user",
            "plan",
            "commands",
            "remember",
            "navigate",
        ]
        assert tags(asked["content"]) == {
            "ide_selection": "The user selected lines 1-2 of shop.py:\n"
            f"{SOURCE}\nProblems reported there:\n- line 2: warning: adds one [lint]",
            "ide_opened_file": "The user looks at shop.py (python, 44 bytes). "
            "It may or may not matter for the task.",
        }
        assert "Fix this: shop.py, lines 1-2." in asked["content"]
        assert system["role"] == "system"
        for secret in ("def total", "shop.py", "REPOSITORY-TEXT", str(home.workspace)):
            assert secret not in system["content"]
        assert "REPOSITORY-TEXT" not in endpoint.seen[-1].raw.decode()
        # The three requests of the turn have the same beginning, and contain the selection once.
        first, second, third = (one.body["messages"] for one in endpoint.seen)
        assert (second[: len(first)], third[: len(second)]) == (first, second)
        assert texts_of(third).count("<ide_selection>") == 1
    assert home.endings() == [("done", "")]


def tags(text: str) -> dict[str, str]:
    """Return the bodies of the editor's tags."""
    return dict(re.findall(r"<(ide_\w+)>\n(.*?)\n</\1>", text, re.DOTALL))


async def test_the_editors_state_is_sent_with_a_prompt_and_never_twice(home) -> None:
    other = home.write("other.py", "OTHER = 1\n")
    async with (
        LoopbackEndpoint([say("One."), say("Two."), say("Three.")]) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        buffer = editor.open(home.shop)
        editor.open(other)
        editor.client.protocol.notify("indwell/didFocus", protocol.DidFocusParams(buffer.uri))
        editor.select(buffer, lines_range(1, 1))
        await editor.ask("one?")
        await editor.ask("two?")
        editor.type_text(buffer, 0, 0, "# new\n")
        editor.select(buffer, lines_range(1, 2))
        await editor.ask("three?")
        contents = [one.body["messages"][-1]["content"] for one in endpoint.seen]
    assert [tags(content) for content in contents] == [
        {
            "ide_opened_file": "The user looks at shop.py (python, 44 bytes). "
            "It may or may not matter for the task.",
            "ide_selection": "The user selected line 1 of shop.py:\ndef total(items):",
        },
        {},
        {
            "ide_opened_file": "The user looks at shop.py (python, 50 bytes, not saved yet). "
            "It may or may not matter for the task.",
            "ide_selection": "The user selected lines 1-2 of shop.py (not saved yet):\n"
            "# new\ndef total(items):",
        },
    ]
    assert [content.rpartition("\n\n")[2] for content in contents] == ["one?", "two?", "three?"]


async def test_edits_are_applied_at_the_right_position_in_every_position_encoding(tmp_path) -> None:
    before = 'a = "😀é\u2028" + sum(items) + 1  # 😀\r\nb = 2\r\n'

    async def mended(encoding: PositionEncodingKind) -> str:
        (tmp_path / encoding.value).mkdir()
        home = Home(tmp_path / encoding.value)
        home.shop.write_bytes(before.encode())
        script = [say(calls=[READ]), say(calls=[EDIT]), say("Done.")]
        async with (
            LoopbackEndpoint(script) as endpoint,
            editing(home, endpoint.base_url, extensions=RICH, encoding=encoding) as editor,
        ):
            buffer = editor.open(home.shop)
            editor.type_text(buffer, len(before) - 3, len(before) - 2, "3")  # an incremental change
            await editor.ask("mend it")
        return buffer.text

    after = before.replace(" + 1", "").replace("b = 2", "b = 3")
    assert await asyncio.gather(*map(mended, PositionEncodingKind)) == [after] * 3


async def test_palette_commands_with_an_empty_argument_list_work(home) -> None:
    async with (
        LoopbackEndpoint([say("Done.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        buffer = editor.open(home.shop)
        editor.select(buffer, lines_range(2, 2))
        for command in ("indwell.fix", "indwell.cancel", "indwell.newSession"):
            params = types.ExecuteCommandParams(command=command, arguments=[])
            await editor.client.workspace_execute_command_async(params)
            if command == "indwell.fix":
                await editor.wait_for_event("turnFinished")
    asked = endpoint.seen[0].body["messages"][-1]["content"]
    assert "Fix this: shop.py, line 2." in asked
    assert tags(asked)["ide_selection"] == (
        "The user selected line 2 of shop.py:\n    return sum(items) + 1"
    )


async def test_the_conversation_is_shortened_by_command_and_by_prompt(home) -> None:
    async with (
        LoopbackEndpoint([say("Told. " * 4_000), say("Told."), say("Sums: none.")]) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        none_yet = types.ExecuteCommandParams(command="indwell.compact", arguments=[])
        assert await editor.client.workspace_execute_command_async(none_yet) is None
        await editor.ask("tell me of the shop")
        await editor.ask("and now?")
        await editor.client.workspace_execute_command_async(none_yet)
        told = await editor.wait_for_event("compacted")
        assert told["after"] < told["before"]
        assert len(endpoint.seen) == 3


async def test_a_new_session_inherits_the_task_of_an_outgrown_session(home) -> None:
    no = refuse(400, "too long", code="context_length_exceeded")
    async with (
        LoopbackEndpoint([say("Ok."), no, say("Yes.")]) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        await editor.ask("rename the shop to store")
        second = await editor.ask("now its tests")
        assert "start a new session" in second.message
        await editor.ask("go on", session="new")
    assert "rename the shop to store" in str(endpoint.seen[-1].body["messages"])


async def test_two_parallel_prompts_become_two_turns_of_one_session_in_order(home) -> None:
    async with (
        LoopbackEndpoint([say("One."), say("Two.")]) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        first, second = await asyncio.gather(editor.ask("one?"), editor.ask("two?"))
    assert (first.answer, second.answer) == ("One.", "Two.")
    assert (second.session, first.turn, second.turn) == (first.session, 1, 2)
    assert len(home.logs()) == 1


async def test_a_small_model_fixes_selected_code_without_a_read_call(home) -> None:
    home.configure('profile = "lean"\n')
    flat = ("edit_file", json.dumps({"path": "shop.py", "old_string": " + 1", "new_string": ""}))
    script = [say(calls=[flat], usage=USAGE), say("Mended.", usage=USAGE)]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, extensions=RICH) as editor,
    ):
        buffer = editor.open(home.shop)
        finished = await editor.fix(buffer, wait=True, diagnostics=[WRONG])
        assert (finished["ending"], buffer.text) == ("done", MENDED)
        first = endpoint.seen[0].body
        assert len(first["tools"]) == 6
        assert "<ide_selection>" in str(first["messages"])
        assert "<system-reminder>\n" not in str(first["messages"][1:])
