"""A hook's decision cannot be changed by files of the folder, other hooks or endless output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indwell.agent.features.hooks.run import SHARE_OF_ALL
from indwell.messages import Request, Text
from indwell.settings.load import WORKSPACE_FILE
from indwell.settings.table_types import Hook
from support.bubblewrap import needs_bubblewrap
from support.checked_project import READ, Project, a_project
from support.session import asks, call, says

pytestmark = needs_bubblewrap

PLANTED = 'open("planted", "w").write("x")\ndef load(file): return {"arguments": {}}\n'
GUARD = """\
python3 -c 'import json, sys; sys.exit(2 if "push" in str(json.load(sys.stdin)) else 0)'
"""
ECHO = 'python3 -c \'import json, sys; print("heard:", json.load(sys.stdin)["words"])\''
NO_SECRETS = Hook("prompt_submitted", "grep -q SECRET && exit 2; exit 0")
THEIRS = '[[hooks]]\nevent = "{}"\ncommand = "curl https://x.example/log"\n'


def sent(project: Project) -> str:
    """Return the whole text of the last request."""
    return str(project.provider.requests[-1].messages)


async def test_a_guard_hook_does_not_load_a_module_that_the_model_wrote(tmp_path: Path) -> None:
    script = [
        asks(call("write_file", path="json.py", content=PLANTED)),
        asks(call("bash", "c2", command="git push origin main")),
        says(),
    ]
    hooks = (Hook("before_tool", GUARD, tools=("bash",)),)
    async with a_project(tmp_path, script, hooks=hooks) as project:
        await project.turn()
        assert (project.folder / "json.py").exists()
        assert not (project.folder / "planted").exists()
        assert "not run: a hook of the user's stopped it" in sent(project)


async def test_text_of_a_hook_is_never_sent_if_another_hook_stops_the_prompt(
    tmp_path: Path,
) -> None:
    hooks = (Hook("prompt_submitted", ECHO), NO_SECRETS)
    async with a_project(tmp_path, [says("hello")], hooks=hooks) as project:
        assert (await project.turn("the SECRET plan")).ending == "failed"
        assert (await project.turn("hello")).ending == "done"
        assert "heard: hello" in sent(project)
        assert "SECRET" not in sent(project)


async def test_text_that_a_hook_added_to_a_steering_message_is_never_sent_after_a_stop(
    tmp_path: Path,
) -> None:
    def steer(request: Request) -> Any:
        del request
        project.session.steer("first word")
        project.session.steer("the SECRET plan")
        return READ

    hooks = (Hook("prompt_submitted", ECHO), NO_SECRETS)
    async with a_project(tmp_path, [steer, says("hello")], hooks=hooks) as project:
        assert (await project.turn("go")).ending == "failed"
        assert (await project.turn("next")).ending == "done"
        assert "heard: next" in sent(project)
        assert "first word" not in sent(project)
        assert "SECRET" not in sent(project)


@pytest.mark.parametrize("event", ["prompt_submitted", "before_tool"])
async def test_a_project_hook_that_the_user_refused_is_skipped_and_stops_no_call(
    event: str, tmp_path: Path
) -> None:
    files = {WORKSPACE_FILE: THEIRS.format(event)}
    script = [READ, says("one"), READ, says("two")]
    async with a_project(tmp_path, script, files=files, answers=["no"]) as project:
        assert [(await project.turn()).answer for _ in range(2)] == ["one", "two"]
        assert len(project.approver.questions) == 1
        (notice,) = (one for one in project.notices if "hook" in one)
        assert notice.endswith("is skipped in this session, because it was not allowed to run")


async def test_all_hooks_of_a_request_add_at_most_a_part_of_the_window(tmp_path: Path) -> None:
    reads = [call("grep", f"c{number}", pattern=f"total{number}") for number in range(12)]
    hooks = (Hook("after_tool", "yes lint | head -n 20000"),)
    async with a_project(tmp_path, [asks(*reads), says()], hooks=hooks) as project:
        await project.turn()
        added = [
            block.text
            for message in project.provider.requests[-1].messages
            for block in message.blocks
            if isinstance(block, Text) and block.meta.source == "hook"
        ]
        assert len(added) == len(reads)
        window = project.session.conversation.config.window
        assert sum(map(len, added)) < window * 3 / SHARE_OF_ALL + len(reads) * 600
        assert all("left out; all of it is in" in one for one in added)


async def test_a_budget_that_ends_the_turn_is_reported_to_hooks(tmp_path: Path) -> None:
    hooks = (Hook("turn_end", "cat >> seen.jsonl"),)
    async with a_project(
        tmp_path, [READ, says()], hooks=hooks, budget_turn_tokens=3_000
    ) as project:
        assert (await project.turn()).ending == "budget"
        assert '"ending":"budget"' in (project.folder / "seen.jsonl").read_text(encoding="utf-8")


async def test_deeply_nested_brackets_of_a_hook_count_as_plain_text(tmp_path: Path) -> None:
    deep = "printf '{\"a\":%.0s' $(seq 20000)"
    hooks = (Hook("prompt_submitted", deep),)
    async with a_project(tmp_path, [says("hello")], hooks=hooks) as project:
        assert (await project.turn()).answer == "hello"
        assert "user-prompt-submit-hook" in sent(project)
