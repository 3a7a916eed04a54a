"""Answering hunk by hunk at a terminal (`h`, then a letter for each hunk; POL-22)."""

from __future__ import annotations

import json

from support.editing import USAGE, Home
from support.loopback_endpoint import LoopbackEndpoint, endpoint_in_thread, say
from support.terminal import indwell
from support.terminal_screen import Terminal

BEFORE = "".join(f"line {n}\n" for n in range(1, 41))
READ = ("read_file", json.dumps({"path": "long.txt"}))
EDITS = [{"old": f"line {n}\n", "new": f"changed {n}\n"} for n in (2, 20, 38)]
EDIT = ("edit_file", json.dumps({"path": "long.txt", "edits": EDITS}))


def test_pol_22_the_terminal_asks_for_each_hunk_and_enter_means_no(tmp_path) -> None:
    home = Home(tmp_path)
    path = home.write("long.txt", BEFORE)
    script = [say(calls=[READ], usage=USAGE), say(calls=[EDIT], usage=USAGE), say("Well.")]
    with (
        endpoint_in_thread(script) as endpoint,
        Terminal(
            "run",
            "--mode",
            "ask",
            "change it",
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        ) as terminal,
    ):
        terminal.answer("by [H]unk?", "h")
        terminal.answer("Hunk 1 of 3: [N]o, [Y]es?", "")
        terminal.answer("Hunk 2 of 3: [N]o, [Y]es?", "2")  # not a valid answer
        terminal.answer("Hunk 2 of 3: [N]o, [Y]es?", "y")
        terminal.answer("Hunk 3 of 3: [N]o, [Y]es?", "n")
        terminal.until("answered: some hunks of it")
        assert terminal.ends() == 0
        assert "change to review" not in terminal.shown  # the user reviewed the change already
    assert path.read_text(encoding="utf-8") == BEFORE.replace("line 20\n", "changed 20\n")


async def test_a_run_reports_pending_changes_and_keeps_the_changes_pending_for_the_next_run(
    tmp_path,
) -> None:
    home = Home(tmp_path)
    home.write("long.txt", BEFORE)
    again = (
        "edit_file",
        json.dumps({"path": "long.txt", "edits": [{"old": "line 9\n", "new": "x\n"}]}),
    )
    script = [say(calls=[READ], usage=USAGE), say(calls=[EDIT], usage=USAGE), say("Well.")]
    script += [say(calls=[READ], usage=USAGE), say(calls=[again], usage=USAGE), say("Well.")]
    async with LoopbackEndpoint(script) as endpoint:
        environment = home.environment(endpoint.base_url)
        ended = await indwell("run", "go", environment=environment, folder=home.workspace)
        assert "3 changes to review: indwell review\n" in ended.stderr, ended
        ended = await indwell(
            "run", "--mode", "auto", "--json", "go", environment=environment, folder=home.workspace
        )
    assert ended.events[-1]["toReview"] == 3  # changes of the first run
