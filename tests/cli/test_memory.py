"""``indwell memory`` at a terminal: the example of the docs, and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indwell.cli.stored.purge import OURS
from indwell.context.memory import Fact, entries
from indwell.wiring.memory_and_questions import FOLDER
from support.doc_examples import examples
from support.editing import Home


def run(home: Home, script: str) -> subprocess.CompletedProcess[str]:
    """Run a user's shell script in the workspace; ``indwell`` runs the code under test."""
    beside = str(Path(sys.executable).parent)
    environment = home.environment()
    environment["PATH"] = os.pathsep.join((beside, environment["PATH"]))
    return subprocess.run(
        ["bash", "-uc", script],
        cwd=home.workspace,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_documented_memory_example_prints_the_documented_output(tmp_path) -> None:
    home = Home(tmp_path)
    (example,) = examples("memory.md", "sh")
    promised = examples("memory.md", "text")[1].text
    done = run(home, f"set -e\n{example.text}")
    assert done.stderr == ""
    assert done.stdout == promised.replace("TODAY", datetime.now(UTC).date().isoformat())


def test_the_documented_memory_page_is_a_valid_memory_page(tmp_path) -> None:
    (example,) = examples("memory.md", "markdown")
    assert [one.fact for one in entries(example.text, "workspace")] == [
        Fact("Tests run with `just test`.", "workspace", "2026-11-22", "01kx2m"),
        Fact("Written by hand: prices are kept in cents."),
    ]
    home = Home(tmp_path)
    path = Path(run(home, "indwell memory path").stdout.strip())
    path.write_bytes(example.text.encode())
    told = json.loads(run(home, "indwell memory --json").stdout)
    assert [one["number"] for one in told["facts"]] == [1, 2]
    assert told["facts"][0] == {
        "number": 1,
        "scope": "workspace",
        "fact": "Tests run with `just test`.",
        "day": "2026-11-22",
        "session": "01kx2m",
        "is_cut": False,
    }


def test_every_memory_action_prints_json_on_request(tmp_path) -> None:
    home = Home(tmp_path)
    path = run(home, "indwell memory path").stdout.strip()
    lines = {
        "path --json": {"path": path},
        "add one --json": {"kept": "one", "scope": "workspace", "alike": ""},
        "--json add --user two": {"kept": "two", "scope": "user", "alike": ""},
        "forget 2 1 --json": {"forgot": ["two", "one"]},
        "--json list": {"facts": []},
    }
    said = run(home, "; ".join(f"indwell memory {line}" for line in lines)).stdout
    assert [json.loads(line) for line in said.splitlines()] == list(lines.values())


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("indwell memory forget", "say which"),
        ("indwell memory forget 1", "there is no fact '1'"),
        ("indwell memory add ' '", "no words"),
        ("indwell memory add 'x\x1by'", "do not show"),
        ("indwell memory add same; indwell memory add SAME", "remembered already"),
    ],
)
def test_an_invalid_fact_is_refused(tmp_path, line, why) -> None:
    done = run(Home(tmp_path), line)
    assert (done.returncode, why in done.stderr) == (2, True)


def test_a_memory_page_that_others_can_write_is_named_and_ignored(tmp_path) -> None:
    home = Home(tmp_path)
    path = Path(run(home, "indwell memory path").stdout.strip())
    path.chmod(0o666)
    for line in ("indwell memory", "indwell memory add new"):
        done = run(home, line)
        assert (done.returncode, "chmod go-w" in done.stderr) == (2, True)
    assert "new" not in path.read_text(encoding="utf-8").splitlines()


def test_the_memory_is_empty_and_has_no_folder_at_first(tmp_path) -> None:
    home = Home(tmp_path)
    empty = "there are no facts here; add one with `indwell memory add`\n"
    assert run(home, "indwell memory").stdout == empty
    assert not (home.state / FOLDER).exists()


def test_purge_deletes_memory_with_the_other_folders() -> None:
    assert FOLDER in OURS
