"""Runs a scenario in a real, headless Neovim that is set up as the documentation page says."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from indwell.demo.project import CHECK, Project

HERE = Path(__file__).resolve().parent
SCRIPT = HERE / "neovim_scenarios.lua"
PAGE = HERE.parents[1] / "docs" / "editors" / "neovim.md"
DOCUMENTED_COMMAND = "{ 'indwell', 'serve', '--stdio' }"
ROOT = "my projéct"  # editors write such a path percent-encoded
TIMEOUT_S = 60.0  # each wait inside has its own, shorter one


class Played(NamedTuple):
    """What Neovim reported, and what it and the server left behind."""

    report: dict[str, Any]
    log: str
    sessions: str


def lua_blocks() -> tuple[str, ...]:
    """The Lua of the page, block by block; the first is the configuration."""
    return tuple(re.findall(r"^```lua\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE))


def neovim() -> str:
    """The program; without it a test is skipped, but never where all must be checked."""
    beside = Path(sys.executable).parent / "nvim"
    found = str(beside) if beside.exists() else shutil.which("nvim")
    if found is None:
        reason = "there is no nvim; `scripts/setup` installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def play(
    scenario: str,
    project: Project,
    folder: Path,
    *,
    pace_s: float = 0.0,
    newline: str = "\n",
    **wishes: str | bool,
) -> Played:
    """Put ``project`` into ``folder``, play the scenario there, give what was seen."""
    program = neovim()
    root = folder / ROOT
    for name, text in {".git/HEAD": "ref: refs/heads/main\n", **project.files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline=newline)
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
    finished = subprocess.run(
        [program, *options, scenario, json.dumps(place), str(report)],
        cwd=root,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=False,
        text=True,
        encoding="utf-8",
    )
    assert (finished.returncode, report.exists()) == (0, True), finished.stdout
    logs = sorted((folder / "xdg").rglob("lsp.log"))
    return Played(
        report=json.loads(report.read_text(encoding="utf-8")),
        log="".join(path.read_text(encoding="utf-8") for path in logs),
        sessions="".join(
            path.read_text(encoding="utf-8") for path in (folder / "state").rglob("*.jsonl")
        ),
    )


def _init(folder: Path, pace_s: float) -> Path:
    """All Lua of the page as an init.lua; only the server's command is the test's own."""
    text = "".join(lua_blocks())
    assert text.count(DOCUMENTED_COMMAND) == 1
    command = [sys.executable, "-m", "indwell", "serve", "--stdio", "--scripted"]
    command += ["--pace", str(pace_s)]
    ours = "{ " + ", ".join(f"[[{word}]]" for word in command) + " }"
    path = folder / "init.lua"
    path.write_text(text.replace(DOCUMENTED_COMMAND, ours), encoding="utf-8")
    return path


def _environment(folder: Path) -> Mapping[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("INDWELL_", "OPENAI_", "XDG_", "NVIM", "VIM"))
    }
    xdg = {
        f"XDG_{name}_HOME": str(folder / "xdg" / name.lower())
        for name in ("CONFIG", "DATA", "STATE", "CACHE")
    }
    return {
        **kept,
        **xdg,
        "HOME": str(folder),
        "INDWELL_STATE": str(folder / "state"),
        "LC_ALL": "C.UTF-8",
    }
