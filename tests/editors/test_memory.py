"""Checks the model's questions and remembered facts in a real Neovim: keys, input box, page."""

from __future__ import annotations

from pathlib import Path

from editors import neovim
from editors.place import put_files
from editors.scenarios import FILES, PATH, Model, tool
from support.editing import texts_of
from support.loopback_endpoint import say

SCRIPT = Path(__file__).resolve().parent / "neovim_memory.lua"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}
FACT = "Prices are kept in cents."
REPLIES = [
    tool("ask_user", question="Which unit?", options=["pence", "cents"]),
    tool("ask_user", question="How many digits?"),
    tool("remember", fact=FACT),
    *(say("Fine.", usage=USAGE) for _ in range(3)),
]


def test_questions_are_answered_and_a_fact_is_kept_edited_and_reported(tmp_path: Path) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files(FILES, folder)
    place = {"path": str(root / PATH), "root": str(root)}
    model = Model(REPLIES)
    seen = neovim.run_script(SCRIPT, folder, model, place)
    assert "failed" not in seen, seen["failed"]
    assert seen["endings"] == ["done"] * 3
    question, permission = seen["questions"]
    assert question["titles"] == ["1. pence", "2. cents", "Answer in other words", "No answer"]
    assert "the model asks (an answer permits nothing)" in question["prompt"]
    assert permission["titles"] == ["No", "Remember it"]
    assert f"│ + {FACT}" in permission["prompt"]
    assert seen["inputs"] == ["How many digits?: "]
    said = [texts_of(body["messages"]) for body in model.bodies]
    assert "two digits, é 🙂" in said[2], "typed words are the user's"
    assert f"- {FACT} <!-- " in seen["page"]
    assert "Discounts come before taxes, é 🙂." in said[-2], "what was written by hand counts"
    assert "remembered-facts" not in said[-1], "what does not fit is not sent"
