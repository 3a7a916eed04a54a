"""Skills with the real server over stdio: listed, completed, called, loaded, read, changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from lsprotocol import types

from indwell.bounds.command_bounds import strength
from indwell.lsp.messages import status as told
from support.chatting import chat, is_over, send, write
from support.editing import USAGE, Editor, Home, bash, editing, results
from support.loopback_endpoint import LoopbackEndpoint, Seen, say

SHIPPED = ["explain-repository", "review-a-change", "write-tests"]
BODY = "---\nname: {name}\ndescription: {about}\n---\n# How to {name}\n\nSlowly.\n"


def put(folder: Path, name: str, about: str = "To do it well.") -> Path:
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(BODY.format(name=name, about=about).encode())
    return path


def own(home: Home) -> Path:
    return home.config / "indwell" / "skills"


def loading(name: str):
    return say(calls=[("load_skill", json.dumps({"name": name}))], usage=USAGE)


def reading(path: Path):
    return say(calls=[("read_file", json.dumps({"path": str(path)}))], usage=USAGE)


def system(seen: Seen) -> str:
    first = seen.body["messages"][0]
    assert first["role"] == "system"
    return first["content"]


def user(seen: Seen) -> str:
    return "\n".join(one["content"] for one in seen.body["messages"] if one["role"] == "user")


async def skills(editor: Editor) -> list[tuple[str, str]]:
    result = await editor.client.protocol.send_request_async("indwell/skills", told.SkillsParams())
    return [(one.name, one.source) for one in result.skills]


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def test_a_client_gets_all_available_skills(home):
    put(own(home), "deploy")
    put(home.workspace / ".agents" / "skills", "build")
    async with (
        LoopbackEndpoint([say("Hello.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        await editor.ask("hello")
        assert await skills(editor) == sorted(
            [
                ("build", "workspace"),
                ("deploy", "user"),
                *((name, "indwell") for name in SHIPPED),
            ]
        )
    (first,) = endpoint.seen
    assert "\n- deploy: To do it well.\n" in system(first)
    assert "build" not in system(first), "no text of a repository comes there"
    assert "<available-skills>\n" in user(first)
    assert "- build: To do it well." in user(first)


async def test_a_restricted_folder_has_no_skills(home):
    put(home.workspace / ".agents" / "skills", "build")
    home.trusted = ()
    async with (
        LoopbackEndpoint([say("Hello.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        refused = await editor.ask("/build hello")
        assert (refused.ending, refused.draft) == ("failed", "/build hello")
        assert "the skill '/build' is this folder's, which you have not trusted" in refused.message
        await editor.ask("hello")
        assert await skills(editor) == [(name, "indwell") for name in SHIPPED]
    (first,) = endpoint.seen
    assert "Slowly" not in user(first)
    assert "available-skills" not in user(first)


async def test_a_loaded_skill_s_files_can_be_read_and_never_written(home):
    folder = put(own(home), "deploy").parent
    (folder / "steps.md").write_bytes(b"Step one.\n")
    replies = [
        reading(folder / "steps.md"),
        loading("deploy"),
        reading(folder / "steps.md"),
        bash(f"cat {folder}/steps.md"),
        bash(f"echo x > {folder}/steps.md; ls {folder.parent.parent}"),
        say(
            calls=[("write_file", json.dumps({"path": str(folder / "a.md"), "content": "x"}))],
            usage=USAGE,
        ),
        say("Done.", usage=USAGE),
    ]
    (own(home).parent / "config.toml").write_bytes(b'mode = "auto"\n')
    async with (
        LoopbackEndpoint(replies) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        await editor.ask("go")
    before, loaded, read, shown, changed, written = results(endpoint.seen[-1])
    assert "Step one." not in before
    assert loaded.startswith('<skill name="deploy" from="user">\n# How to deploy\n')
    assert f"in {folder} (you may read them):\n- steps.md\n</skill>" in loaded
    assert "1\tStep one." in read
    if strength().level.startswith("S3"):
        assert "Step one." in shown
        assert "config.toml" not in changed
    assert "own" in written or "outside" in written
    assert (folder / "steps.md").read_text(encoding="utf-8") == "Step one.\n"
    assert {one.name for one in folder.iterdir()} == {"SKILL.md", "steps.md"}


async def test_a_skill_that_the_user_adds_is_reported_after_an_unchanged_prefix(home):
    put(own(home), "deploy")
    replies = [say("One.", usage=USAGE), say("Two.", usage=USAGE), say("Three.", usage=USAGE)]
    async with (
        LoopbackEndpoint(replies) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        await editor.ask("one")
        put(own(home), "release", "To release.")
        await editor.ask("two")
        await editor.ask("three")
    first, second, third = endpoint.seen
    before = first.body["messages"]
    assert second.body["messages"][: len(before)] == before
    assert second.body["tools"] == first.body["tools"]
    assert "New:\n- release: To release." in user(second)
    assert user(third).count("- release: To release.") == 1


async def test_a_resumed_session_gets_changed_skills_and_keeps_its_prefix(home):
    put(own(home), "deploy")
    replies = [say("One.", usage=USAGE), say("Two.", usage=USAGE)]
    async with LoopbackEndpoint(replies) as endpoint:
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            session = (await editor.ask("one")).session
        put(own(home), "release", "To release.")
        async with editing(home, endpoint.base_url, extensions=("events",)) as editor:
            resumed = await editor.execute("indwell.resume", {"session": session, "wait": True})
            await editor.ask("two")
    first, second = endpoint.seen
    assert system(second) == system(first)
    assert "New:\n- release: To release." in user(second)
    assert "system prompt" not in json.dumps(resumed["notices"])


async def test_a_chat_completes_and_calls_skills(home):
    put(own(home), "tidy", "To tidy up.")
    async with (
        LoopbackEndpoint([say("Tidy now.", usage=USAGE)]) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        buffer = await chat(editor)
        write(editor, buffer, "/ti")
        editor.desk.tell()
        line = buffer.text.count("\n")
        params = types.CompletionParams(
            text_document=types.TextDocumentIdentifier(uri=buffer.uri),
            position=types.Position(line=line, character=3),
        )
        found = await editor.client.text_document_completion_async(params)
        assert [(one.label, one.detail) for one in found.items] == [("/tidy", "To tidy up.")]
        write(editor, buffer, "dy")
        await send(editor, buffer)
        await editor.wait_until(lambda: is_over(buffer, 1))
    (asked,) = endpoint.seen
    assert '<skill name="tidy" from="user">\n# How to tidy\n' in user(asked)
    assert user(asked).endswith("/tidy")


async def test_a_word_that_is_neither_command_nor_skill_stays_in_the_draft(home):
    put(own(home), "tidy", "To tidy up.")
    async with LoopbackEndpoint([]) as endpoint, editing(home, endpoint.base_url) as editor:
        buffer = await chat(editor)
        write(editor, buffer, "/tidyup")
        await send(editor, buffer)
        await editor.wait_until(lambda: "Not sent: unknown command `/tidyup`" in buffer.text)
        assert buffer.text.rstrip().endswith("/tidyup")
