"""Runs a scenario in Neovim 0.7, whose API is older, set up as its documentation page says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

from editors.neovim import DOCUMENTED_COMMAND, lua_list
from editors.place import PAGES, Played, missing, put, run, serve, sessions
from indwell.service.demo_project import Project

SCRIPT = Path(__file__).resolve().parent / "neovim07_scenarios.lua"
PAGE = PAGES / "neovim-older.md"
OLD = re.compile(r"NVIM v0\.(?:7|8|9|10)\.")


def neovim07() -> str:
    """Return the path of Neovim 0.7 from the system's packages; skip the test without it."""
    found = shutil.which("nvim", path="/usr/bin:/usr/local/bin:/bin")
    if found is not None:
        told = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
        if OLD.match(told.stdout):
            return found
    return missing("there is no Neovim 0.7 to 0.10; on Debian 12: apt-get install neovim")


def play(scenario: str, project: Project, folder: Path, *, pace_s: float = 0.0) -> Played:
    """Write ``project`` into ``folder``, play the scenario, and return the report."""
    program = neovim07()
    root = put(project, folder)
    blocks = re.findall(r"^```lua\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    text = "".join(blocks)
    assert text.count(DOCUMENTED_COMMAND) == 1
    init = folder / "init.lua"
    init.write_text(text.replace(DOCUMENTED_COMMAND, lua_list(serve(pace_s))), "utf-8")
    report = folder / "report.json"
    place = {
        "path": str(root / project.path),
        "first": project.first_line,
        "last": project.last_line,
    }
    variables = {
        "INDWELL_SCENARIO": scenario,
        "INDWELL_PLACE": json.dumps(place),
        "INDWELL_REPORT": str(report),
    }
    options = ("--clean", "--headless", "-n", "-u", str(init), "-S", str(SCRIPT))
    said = run([program, *options], folder, report, variables)
    assert "failed" not in said, said["failed"]
    logs = sorted(path for path in folder.rglob("lsp.log") if "state" not in path.parts[:1])
    return Played(said, "".join(path.read_text("utf-8") for path in logs), sessions(folder))
