"""A real Neovim: a sub-agent's edit in the buffer, and the sub-agent's name in questions."""

from __future__ import annotations

from pathlib import Path

from editors import neovim
from editors.place import put_files
from editors.scenarios import (
    ASKED,
    COUNTED,
    FILES,
    FIRST,
    LAST,
    MENDED,
    NEW,
    OLD,
    PATH,
    edits,
    tool,
)
from support.loopback_endpoint import Answer, Seen, say

SCRIPT = Path(__file__).resolve().parent / "neovim_subagents.lua"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}


class TwoModels:
    """A model with one list of replies for the agent and one for the sub-agent."""

    def __init__(self) -> None:
        self.main = [
            tool("agent", task=f"mend is_free in {PATH}"),
            say("It is mended.", usage=USAGE),
        ]
        self.child = [
            tool("read_file", path=PATH),
            edits((OLD[0], NEW[0])),
            tool("bash", command=ASKED),
            say("Mended; the check was refused.", usage=USAGE),
        ]
        self.results: list[str] = []

    def __call__(self, seen: Seen) -> Answer:
        messages = seen.body["messages"]
        told = "".join(one["content"] for one in messages if one["role"] == "system")
        if "# You are a sub-agent" in told:
            return self.child.pop(0)
        self.results = [one["content"] for one in messages if one["role"] == "tool"]
        return self.main.pop(0)


def test_a_sub_agents_edit_belongs_to_the_turn_and_its_questions_name_the_sub_agent(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files(FILES, folder)
    place = {"path": str(root / PATH), "root": str(root), "first": FIRST, "last": LAST}
    model = TwoModels()
    seen = neovim.run_script(SCRIPT, folder, model, place)
    assert seen["buffer"] == MENDED
    assert seen["undone"], "as one step"
    assert f"agent general: changed {PATH} +1 −1" in seen["lines"]
    (question,) = seen["questions"]
    assert question["prompt"].startswith("Sub-agent general: Run a command in ")
    assert model.results == ["Mended; the check was refused."]
    assert f"Indwell: done · {COUNTED}" in seen["messages"]
