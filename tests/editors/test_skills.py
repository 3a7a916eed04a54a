"""Checks in a real Neovim that the user calls a skill in a chat, and the model loads another."""

from __future__ import annotations

import json
from pathlib import Path

from editors import neovim
from editors.place import put_files
from editors.scenarios import FILES, PATH, Model
from support.loopback_endpoint import say

SCRIPT = Path(__file__).resolve().parent / "neovim_skills.lua"
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}
TIDY = "---\nname: tidy\ndescription: Tidy up, é 🙂.\n---\n# Tidy\n\nOne thing at a time.\n"


def test_the_user_completes_and_calls_a_skill_and_the_model_loads_another(tmp_path: Path) -> None:
    folder = tmp_path / "user"
    folder.mkdir()
    root = put_files(FILES, folder)
    skill = folder / "xdg" / "config" / "indwell" / "skills" / "tidy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(TIDY, "utf-8")
    place = {"path": str(root / PATH), "root": str(root)}
    load = ("load_skill", json.dumps({"name": "write-tests"}))
    shell = ("bash", json.dumps({"command": "echo one; echo two"}))
    model = Model([say(calls=[load, shell], usage=USAGE), say("Tidied.", usage=USAGE)])
    seen = neovim.run_script(SCRIPT, folder, model, place)
    assert seen["items"] == [["/tidy", "Tidy up, é 🙂."]]
    asked = "\n".join(
        one["content"] for one in model.bodies[0]["messages"] if one["role"] == "user"
    )
    assert '<skill name="tidy" from="user">\n# Tidy\n\nOne thing at a time.\n</skill>' in asked
    assert asked.endswith("/tidy the shop")
    loaded, *_ = model.results()
    assert loaded.startswith('<skill name="write-tests" from="indwell">\n# Write tests for this')
    assert "/tidy the shop" in seen["chat"]
    assert "write-tests" in seen["chat"], "the user sees what was loaded"
    tool, *others = seen["folded"]
    assert tool.startswith("Run echo one; echo two · ")
    assert "<" not in tool, "a tool is a folded line without its tags"
    assert others == [-1, -1], "the answer and the question to it are not folded"
