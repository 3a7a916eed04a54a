"""Checks in a real Neovim that a plan is shown, edited, approved and carried out."""

from __future__ import annotations

import json
from pathlib import Path

from editors import neovim
from editors.place import put_files, run, serve_model
from editors.scenarios import FILES, FIRST, LAST, MENDED, NEW, OLD, PATH, TEXT, tool
from indwell.cli.setup.configurations import CONFIGURATIONS
from support.editing import texts_of
from support.loopback_endpoint import endpoint_in_thread, say

SCRIPT = Path(__file__).resolve().parent / "neovim_plan.lua"
STEPS = "1. Mend the comparison\n2. Mend the price"
REPLIES = [
    tool("plan", text=STEPS),
    tool("read_file", path=PATH),
    tool("edit_file", path=PATH, edits=[{"old": OLD[0], "new": NEW[0]}]),
    say("Mended.", usage={"prompt_tokens": 10, "completion_tokens": 2}),
]


def test_the_agent_carries_out_the_plan_as_the_user_edited_it_in_its_window(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files(FILES, folder)
    place = {"path": str(root / PATH), "root": str(root), "first": FIRST, "last": LAST}
    init = folder / "init.lua"
    init.write_text(CONFIGURATIONS["nvim"].text(serve_model()), "utf-8")
    options = ("--clean", "--headless", "-n", "-u", str(init))
    with endpoint_in_thread(REPLIES) as endpoint:
        seen = run(
            [neovim.neovim(), *options, "-l", str(SCRIPT)],
            folder,
            folder / "report.json",
            {
                "INDWELL_PLACE": json.dumps(place),
                "INDWELL_REPORT": str(folder / "report.json"),
                "OPENAI_BASE_URL": endpoint.base_url,
                "INDWELL_MODEL": "loopback-model",
            },
        )
        sent = texts_of(endpoint.seen[1].body["messages"])
    assert "failed" not in seen, seen["failed"]
    assert (seen["before"], seen["after"]) == (TEXT, MENDED)
    assert seen["shown"] == f"{STEPS}\n"
    titles = ["Not now", "Approve", "Edit"]
    question = {
        "prompt": "Indwell: Plan ready. Carry it out?",
        "titles": titles,
    }
    assert seen["questions"] == [question] * 2
    assert "<approved-plan>\n1. Only the comparison\n</approved-plan>" in sent
    assert "change it there, then run `indwell.plan`" in seen["messages"].replace("\n", "")
