"""Hunk by hunk over stdio: a plain editor with buttons, a rich editor with names (POL-22)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from indwell.lsp.messages import methods as protocol_permission
from support.editing import USAGE, Editor, Home, editing, results
from support.loopback_endpoint import LoopbackEndpoint, say

BEFORE = "".join(f"line {n}\n" for n in range(1, 41))
AFTER = BEFORE.replace("line 20\n", "twenty\n")
READ = ("read_file", json.dumps({"path": "long.txt"}))
EDITS = [{"old": f"line {n}\n", "new": f"{word}\n"} for n, word in ((2, "two"), (38, "x"))]
EDIT = (
    "edit_file",
    json.dumps({"path": "long.txt", "edits": [*EDITS, {"old": "line 20\n", "new": "twenty\n"}]}),
)


def choose_with_buttons(editor: Editor) -> None:
    answers = iter(("Hunk by hunk…", "No", "Yes", "No"))
    editor.answers.choose = lambda _message, _titles: next(answers)


def choose_by_name(editor: Editor) -> None:
    async def second(params: protocol_permission.PermissionParams) -> tuple[str, ...]:
        assert len(params.hunks) == 3
        return (params.hunks[1].id,)

    editor.answers.permission = second


@pytest.mark.parametrize("is_rich", [False, True])
async def test_pol_22_only_the_second_of_three_hunks_is_applied(
    tmp_path: Path, *, is_rich: bool
) -> None:
    home = Home(tmp_path)
    path = home.write("long.txt", BEFORE)
    script = [say(calls=[READ], usage=USAGE), say(calls=[EDIT], usage=USAGE), say("Well.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(
            home,
            endpoint.base_url,
            options={"mode": "ask"},
            extensions=("events", "permission") if is_rich else ("events",),
        ) as editor,
    ):
        buffer = editor.open(path)
        (choose_by_name if is_rich else choose_with_buttons)(editor)
        finished = await editor.ask("change three lines")
        assert (finished.ending, finished.answer) == ("done", "Well."), finished
        assert buffer.text == AFTER
        told = results(endpoint.seen[-1])[-1]
        assert told.startswith("edited long.txt: +1 −1\n")
        assert "1 of 3 hunks of this edit were allowed" in told
        applied, refused = told.split("\nThe user was asked hunk by hunk")
        assert ("+twenty" in applied, "+two\n" in applied, "+x" in applied) == (True, False, False)
        assert ("+twenty" in refused, "+two\n" in refused, "+x" in refused) == (False, True, True)
        answered = [one for one in editor.events if one["type"] == "permissionAnswered"]
        assert [(one["answer"], len(one["hunks"])) for one in answered] == [("hunks", 1)]
