"""The setup for every real editor of the tests: a project, its own folders, and our server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

from indwell.cli.demo.project import Project
from indwell.providers.scripted import CHECK

PAGES = Path(__file__).resolve().parents[2] / "docs" / "editors"
ROOT = "my projéct"  # editors write such a path percent-encoded
ASKING = f'[rules]\nask = ["{CHECK}"]\n'  # where there is a sandbox, it would run unasked
TIMEOUT_S = 200.0  # of a whole run; each wait in it has a limit of a minute


class Played(NamedTuple):
    """The editor's report, and the files that it and the server left."""

    report: dict[str, Any]
    log: str
    sessions: str


def missing(reason: str) -> NoReturn:
    """Skip a test whose editor is not here; but never on CI, where only Windows lacks some."""
    if os.environ.get("CI") == "true" and sys.platform != "win32":
        pytest.fail(reason)
    pytest.skip(reason)


def put(project: Project, folder: Path, newline: str = "\n") -> Path:
    """Write the project into ``folder``; gives its root."""
    root = folder / ROOT
    for name, text in {".git/HEAD": "ref: refs/heads/main\n", **project.files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8", newline=newline)
    settings = folder / "xdg" / "config" / "indwell" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(ASKING)
    return root


def put_files(files: Mapping[str, str], folder: Path) -> Path:
    """Write a project of the shared scenarios into ``folder``; gives its root."""
    return put(Project(dict(files), "", "", 0, 0), folder)


def serve_model() -> tuple[str, ...]:
    """The command of the server with the model of the settings."""
    return (sys.executable, "-m", "indwell", "serve", "--stdio")


def serve(pace_s: float = 0.0) -> tuple[str, ...]:
    """The command of the server with the scripted model."""
    own = (sys.executable, "-m", "indwell", "serve", "--stdio", "--scripted")
    return (*own, "--pace", str(pace_s))


def environment(folder: Path) -> Mapping[str, str]:
    """Variables of a user who has nothing but ``folder``."""
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


SHOWN = 8_000  # characters at the end of the session's log that a failure shows


def run(argv: Sequence[str], folder: Path, report: Path, more: Mapping[str, str]) -> dict[str, Any]:
    """Run an editor to its end in the project; gives the report that it wrote."""
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
    """All session logs, one after the other."""
    return "".join(path.read_text(encoding="utf-8") for path in (folder / "state").rglob("*.jsonl"))
