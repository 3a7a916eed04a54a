"""Sessions in worktrees at a terminal: a run, tasks side by side, and a killed process."""

from __future__ import annotations

import json

import pytest

from support.editing import EDIT, MENDED, READ, SOURCE, Home, bash
from support.git_shell import run as shell
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say
from support.terminal import Ended, indwell


@pytest.fixture
def home(tmp_path) -> Home:
    made = Home(tmp_path)
    shell(made.workspace, "git init -q -b main . && git add -A && git commit -qm one")
    return made


async def called(home: Home, *arguments: str, base_url: str = "") -> Ended:
    return await indwell(*arguments, environment=home.environment(base_url), folder=home.workspace)


def said(seen: Seen) -> str:
    """Return all texts of a request, with the results of tools."""
    return "\n".join(str(one["content"]) for one in seen.body["messages"][1:])


async def test_a_run_works_apart_and_its_changes_come_back_for_review(home) -> None:
    home.write("notes.txt", "not committed\n")
    status = bash("git status --short && git diff --stat && pwd")
    script = [say(calls=[READ]), say(calls=[EDIT]), status, say("Done.")]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await called(home, "run", "Fix it", "--worktree", base_url=endpoint.base_url)
    assert (ended.code, ended.stdout) == (0, "Done.\n"), ended.stderr
    assert home.shop.read_text() == SOURCE, "the folder is as it was"
    seen = said(endpoint.seen[-1])
    assert " M shop.py\n?? notes.txt\n" in seen, "git works in the worktree"
    assert "has changes: M 'shop.py'" in ended.stderr
    (log,) = home.logs()
    assert log, "the session belongs to the folder"
    rows = json.loads((await called(home, "worktrees", "--json")).stdout)["worktrees"]
    assert [one["changes"] for one in rows] == [{"shop.py": "M"}]
    merged = await called(home, "worktrees", "merge", rows[0]["name"])
    assert (merged.code, home.shop.read_text()) == (0, MENDED)
    assert "shop.py:2  +1 −1" in (await called(home, "review")).stdout
    assert not list(home.folder.glob("state-worktrees/*"))
    rejected = await called(home, "review", "--reject", "--all")
    assert (rejected.code, home.shop.read_text()) == (0, SOURCE)


async def test_two_tasks_change_one_file_at_once_and_both_changes_are_merged(home) -> None:
    lines = [f"line {number}\n" for number in range(20)]
    home.write("long.txt", "".join(lines))
    for title in ("First", "Last"):
        await called(home, "tasks", "add", title)

    def answer(seen: Seen) -> Answer:
        texts = said(seen)
        which, line = ("First", "line 0") if "First" in texts else ("Last", "line 19")
        if "edited long.txt" in texts:
            return say("Done.")
        if "line 19" not in texts:
            return say(calls=[("read_file", json.dumps({"path": "long.txt"}))])
        edit = {"old": f"{line}\n", "new": f"{line}, by {which}\n"}
        return say(calls=[("edit_file", json.dumps({"path": "long.txt", "edits": [edit]}))])

    async with LoopbackEndpoint(answer) as endpoint:
        ended = await called(home, "tasks", "run", "--worktree", base_url=endpoint.base_url)
    assert ended.code == 0, ended.stderr
    assert home.files["long.txt"].decode() == "".join(lines)
    rows = json.loads((await called(home, "worktrees", "--json")).stdout)["worktrees"]
    assert {one["title"] for one in rows} == {"First", "Last"}
    for one in rows:
        assert (await called(home, "worktrees", "merge", one["name"])).code == 0
    lines[0], lines[19] = "line 0, by First\n", "line 19, by Last\n"
    assert home.files["long.txt"].decode() == "".join(lines)
