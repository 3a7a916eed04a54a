"""Tests the plugin of Neovim with the keys of its page: review, daily actions and plans."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from editors import neovim
from editors.place import put_files
from editors.scenarios import (
    CHANGED,
    DONE,
    FILES,
    FIRST,
    LAST,
    LINES,
    MENDED,
    NEW,
    OLD,
    PATH,
    READ,
    STUCK,
    TEXT,
    USAGE,
    Model,
    edits,
    tool,
)
from indwell.lsp.messages.features import COMMAND_NAMES
from support.loopback_endpoint import Answer, Seen, raw, say

SCRIPT = Path(__file__).resolve().parent / "neovim_plugin.lua"
OTHER_MODEL = "another-model"
THREE = (READ, edits(*zip(OLD, NEW, strict=True)), DONE)
OLD_LINES = [line for line in TEXT.splitlines() if line.endswith(OLD)]


class Catalogue(Model):
    """A model whose endpoint lists two models."""

    def __call__(self, seen: Seen) -> Answer:
        if seen.path == "/v1/models":
            models = [{"id": name, "object": "model"} for name in ("loopback-model", OTHER_MODEL)]
            return raw(200, json.dumps({"object": "list", "data": models}))
        return super().__call__(seen)


def play(
    scene: str, folder: Path, replies: Sequence[Answer] = ()
) -> tuple[dict[str, Any], Catalogue]:
    """Play a scene in a Neovim with the plugin; return its report and the model."""
    user = folder / "user"
    user.mkdir()
    root = put_files(FILES, user)
    place = {"scene": scene, "path": str(root / PATH), "root": str(root)}
    place |= {"first": FIRST, "last": LAST, "lines": LINES}
    model = Catalogue(replies)
    seen = neovim.run_script(SCRIPT, user, model, place, gets=True)
    assert "failed" not in seen, seen["failed"]
    assert "the plugin failed" not in seen["messages"]
    assert "traceback" not in seen["messages"]
    return seen, model


def test_old_lines_are_drawn_above_new_ones_and_keys_decide_about_each_change(
    tmp_path: Path,
) -> None:
    seen, _ = play("review", tmp_path, THREE)
    assert seen["drawn"] == {
        "signs": [[line, "~"] for line in LINES],
        "old": [[line, old, True] for line, old in zip(LINES, OLD_LINES, strict=True)],
        "words": ["= 50  # as promised 🙂", "0", "0"],
    }
    assert seen["lines"] == [*LINES, LINES[0], LINES[2]]
    assert [line for line, _ in seen["list"]] == list(LINES)
    assert seen["list"][1][1] == "turn 1, +1 −1: return weight * 20"
    assert [line for line, *_ in seen["accepted"]["old"]] == list(LINES[1:])
    assert [line for line, *_ in seen["rejected"]["old"]] == [LINES[2]]
    assert seen["buffer"] == CHANGED.replace(NEW[1], OLD[1])
    assert seen["nothing"].endswith("`:Indwell next` goes to the next one.")
    before, after = seen["status"]
    assert before.startswith("Indwell review · done · 3 to review · context ")
    assert after.startswith("Indwell review · done · context ")


def test_each_daily_action_works_by_the_keys_of_the_page(tmp_path: Path) -> None:
    replies = (
        say("Because.", usage=USAGE),
        say("It explains.", usage=USAGE),
        *(READ, edits((OLD[0], NEW[0])), DONE),
        *(READ, edits((OLD[1], NEW[1])), DONE),
        say("It is right.", usage=USAGE),
    )
    seen, model = play("daily", tmp_path, replies)
    place = f"Ask about this: {PATH}, lines {FIRST}-{LAST}"
    assert seen["asked"] == {
        "answers": f"# Why is\nthis so?\n\n*{place}*\n\nBecause.\n",
        "focus_stayed": True,
        "mode": "n",
    }
    explained = f"\n---\n\n# Explain this: {PATH}, line {FIRST}\n\nIt explains.\n"
    assert seen["explained"].endswith(explained)
    assert "Free from 50 on" in str(model.bodies[2]["messages"])
    assert [old for _, old, _ in seen["edited"]["old"]] == OLD_LINES[:1]
    assert seen["buffer"] == MENDED.replace(OLD[1], NEW[1])
    assert "It is right." in seen["chat"]
    assert "It is right." not in seen["answers"], "the chat shows it already"


def test_the_keys_choose_the_next_model_stop_a_turn_and_list_the_sessions(tmp_path: Path) -> None:
    seen, model = play("model_and_stop", tmp_path, (STUCK,))
    assert seen["model"].endswith("the next turn uses another-model.")
    assert model.bodies[0]["model"] == OTHER_MODEL
    assert seen["running"].startswith("Indwell review · running")
    assert seen["streamed"].endswith("I am thinking\n"), "while the turn runs"
    assert " stopped " in seen["sessions"][0]


def test_a_plan_has_its_code_action_in_its_window(tmp_path: Path) -> None:
    replies = (tool("plan", text="1. Mend it"), READ, edits((OLD[0], NEW[0])), DONE)
    seen, _ = play("plan", tmp_path, replies)
    assert seen["titles"] == ["Approve the plan as written here"]
    assert seen["after"] == MENDED


def test_without_a_file_each_command_works_or_says_what_it_needs(tmp_path: Path) -> None:
    seen, model = play("everywhere", tmp_path, (say("All of them.", usage=USAGE),))
    wanted = (
        "chat ask fix plan mode model review next prev accept reject rewind sessions trust stop"
    )
    assert set(wanted.split()) <= set(seen["completed"])
    modes = ["plan", "ask", "review", "auto"]
    assert seen["arguments"] == [modes, ["file"], ["approve"], []]
    assert (seen["clients"], seen["outside"]) == (1, 0), "a server of the folder, none elsewhere"
    assert seen["turns"] == ["0", "1"]
    assert seen["answers"] == "# Which things?\n\nAll of them.\n"
    sent = json.dumps(model.bodies[0]["messages"][-1])
    assert "of things" in sent
    assert "a list" not in sent, "the range is one line"
    needs_file = "this buffer has no file of a project. `:Indwell fix` needs one"
    assert seen["said"][0].startswith(f"Indwell: {needs_file}")
    assert seen["said"][6].startswith(f"Indwell: {needs_file}")
    assert all(line.startswith("Indwell: ") for line in seen["said"])
    assert "The model is loopback-model." in seen["health"]
    assert "The folder is trusted." in seen["health"]
    assert "ERROR" not in seen["health"]
    assert seen["subjects"] == [], "each subcommand has its help"
    assert seen["help"] == "indwell.txt"
    written, shipped = seen["tags"]
    assert written == shipped, "write the tags again: `:helptags` of the plugin's folder `doc`"


def test_the_plugin_names_only_commands_that_the_server_has() -> None:
    modules = Path(neovim.PLUGIN, "lua", "indwell").glob("*.lua")
    text = "".join(path.read_text("utf-8") for path in modules)
    named = set(re.findall(r"run\('(indwell\.\w+)'", text))
    assert named
    assert named <= set(COMMAND_NAMES)
