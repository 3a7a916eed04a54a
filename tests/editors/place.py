"""Sets up each real editor of the tests: a project, separate folders, and Indwell's server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

from indwell.providers.scripted import CHECK
from indwell.service.demo_project import Project

PAGES = Path(__file__).resolve().parents[2] / "docs" / "editors"
ROOT = "my projéct"  # the editors percent-encode this path in URIs
# asks even with a sandbox, where the command would otherwise run without a question
ASKING = f'[rules]\nask = ["{CHECK}"]\n'
TIMEOUT_S = 200.0  # limit of a whole run in seconds; each wait within a run has a limit of a minute


class Played(NamedTuple):
    """The editor's report, and the files that the editor and the server left."""

    report: dict[str, Any]
    log: str
    sessions: str


def missing(reason: str) -> NoReturn:
    """Skip a test whose editor is missing; on CI, skip only on Windows."""
    if os.environ.get("CI") == "true" and sys.platform != "win32":
        pytest.fail(reason)
    pytest.skip(reason)


def put(project: Project, folder: Path, newline: str = "\n") -> Path:
    """Write the project into ``folder``; return its root."""
    root = folder / ROOT
    for name, text in {".git/HEAD": "ref: refs/heads/main\n", **project.files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline=newline)
    settings = folder / "xdg" / "config" / "indwell" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(ASKING)
    return root


def put_files(files: Mapping[str, str], folder: Path) -> Path:
    """Write a project of the shared scenarios into ``folder``; return its root."""
    return put(Project(dict(files), "", "", 0, 0), folder)


def serve_model() -> tuple[str, ...]:
    """Return the server's command with the model of the settings.

    If ``TEST_CASSETTE`` names a new file, the server records the session there.
    """
    if cassette := os.environ.get("TEST_CASSETTE"):
        return (sys.executable, "-m", "indwell", "record", "--to", cassette)
    return (sys.executable, "-m", "indwell", "serve", "--stdio")


def serve(pace_s: float = 0.0) -> tuple[str, ...]:
    """Return the server's command with the scripted model."""
    own = (sys.executable, "-m", "indwell", "serve", "--stdio", "--scripted")
    return (*own, "--pace", str(pace_s))


def environment(folder: Path) -> Mapping[str, str]:
    """Return the environment of a user whose only folder is ``folder``."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("INDWELL_", "OPENAI_", "XDG_", "NVIM", "VIM", "EMACS"))
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
        "INDWELL_TRUSTED": str(folder / ROOT),
        "LC_ALL": "C.UTF-8",
    }


def forked_environment(folder: Path) -> Mapping[str, str]:
    """Return the environment of a process that is forked from a loaded process, if possible."""
    names = ("LANG", "LC_ALL")  # Python reads these variables only at its start.
    return {name: value for name, value in environment(folder).items() if name not in names}


SHOWN = 8_000  # characters at the end of the session's log that a failure shows


def run(argv: Sequence[str], folder: Path, report: Path, more: Mapping[str, str]) -> dict[str, Any]:
    """Run an editor in the project until it ends; return its report."""
    finished = subprocess.run(
        argv,
        cwd=folder / ROOT,
        env={**environment(folder), **more},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE,
        timeout=TIMEOUT_S,
        check=False,
        text=True,
        encoding="utf-8",
    )
    if (finished.returncode, report.exists()) != (0, True):
        logs = "".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.log"))
        pytest.fail(f"{finished.stdout}\n{logs}\n{sessions(folder)[-SHOWN:]}")
    return json.loads(report.read_text(encoding="utf-8"))


def sessions(folder: Path) -> str:
    """Return all session logs as one text."""
    return "".join(path.read_text(encoding="utf-8") for path in (folder / "state").rglob("*.jsonl"))
