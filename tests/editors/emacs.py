"""Runs a scenario in a real, headless Emacs with eglot, set up as its documentation page says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from editors.place import PAGES, Played, missing, put, run, serve, sessions
from indwell.service.demo_project import Project

SCRIPT = Path(__file__).resolve().parent / "emacs_scenarios.el"
PAGE = PAGES / "emacs-eglot.md"
# In a new home, Emacs 28 would compile every package that it loads, for as long as it runs. What it
# loads before it reads this option is compiled, but no window with warnings appears over the file.
UNCOMPILED = (
    "--eval",
    "(setq native-comp-deferred-compilation nil native-comp-async-report-warnings-errors nil)",
)
DOCUMENTED_COMMAND = '("indwell" "serve" "--stdio")'


def elisp() -> str:
    """Return the page's configuration."""
    block = re.search(r"^```elisp\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert block is not None
    return block.group(1)


def emacs(feature: str = "eglot") -> str:
    """Return the path of an Emacs with this client. Without it, skip the test, except in CI."""
    found = shutil.which("emacs")
    if found is not None and _has(found, feature):
        return found
    packages = f"emacs-nox elpa-{feature}"
    return missing(f"there is no Emacs with {feature}; on Debian: apt-get install {packages}")


@cache
def _has(program: str, feature: str) -> bool:
    told = subprocess.run([program, "--batch", "-l", feature], capture_output=True, check=False)
    return told.returncode == 0


def play(
    scenario: str, project: Project, folder: Path, *, pace_s: float = 0.0, setup: str | None = None
) -> Played:
    """Write ``project`` into ``folder``, play the scenario, and return the report."""
    program = emacs()
    root = put(project, folder)
    text = elisp() if setup is None else setup
    assert text.count(DOCUMENTED_COMMAND) == 1
    ours = "(" + " ".join(json.dumps(word) for word in serve(pace_s)) + ")"
    init = folder / "init.el"
    init.write_text(text.replace(DOCUMENTED_COMMAND, ours), "utf-8")
    report = folder / "report.json"
    place = {
        "path": str(root / project.path),
        "first": project.first_line,
        "last": project.last_line,
        "wanted": "Fix this",
    }
    variables = {
        "INDWELL_SCENARIO": scenario,
        "INDWELL_PLACE": json.dumps(place, ensure_ascii=False),
        "INDWELL_REPORT": str(report),
    }
    said = run(
        [program, "--batch", "-q", *UNCOMPILED, "-l", str(init), "-l", str(SCRIPT)],
        folder,
        report,
        variables,
    )
    assert "failed" not in said, said["failed"]
    return Played(said, "\n".join(said["said"]), sessions(folder))
