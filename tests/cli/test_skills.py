"""Skills at a terminal: the example of the docs, the doctor, unknown names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from indwell.cli.doctor.project import skills
from support.doc_examples import examples
from support.editing import USAGE, Home
from support.loopback_endpoint import Answer, Seen, endpoint_in_thread, say


def run(home: Home, script: str, base_url: str) -> subprocess.CompletedProcess[str]:
    """Run a user's shell script in the workspace; ``indwell`` runs the code under test."""
    beside = str(Path(sys.executable).parent)
    environment = home.environment(base_url)
    environment["PATH"] = os.pathsep.join((beside, environment["PATH"]))
    return subprocess.run(
        ["bash", "-euc", script],
        cwd=home.workspace,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def user_text(seen: Seen) -> str:
    return "\n".join(one["content"] for one in seen.body["messages"] if one["role"] == "user")


def answering(seen: Seen) -> Answer:
    assert seen.path.endswith("/chat/completions")
    return say("Version 2.0 is out.", usage=USAGE)


def test_the_documented_skill_example_works(tmp_path):
    home = Home(tmp_path)
    (example,) = examples("skills.md", "sh")

    with endpoint_in_thread(answering) as endpoint:
        done = run(home, example.text, endpoint.base_url)

    assert done.returncode == 0, done.stderr + done.stdout
    assert "Version 2.0 is out." in done.stdout
    asked = user_text(endpoint.seen[-1])
    assert '<skill name="release-notes" from="user">\n# Release notes\n' in asked
    assert asked.endswith("/release-notes for version 2.0")
    system = endpoint.seen[-1].body["messages"][0]["content"]
    assert "\n- release-notes: Write release notes from the commits since the last tag." in system


def test_a_word_that_is_not_a_skill_is_refused_before_anything_is_sent(tmp_path):
    home = Home(tmp_path)

    with endpoint_in_thread(answering) as endpoint:
        done = run(home, 'indwell run "/nothing"', endpoint.base_url)
        shown = run(home, 'indwell run "/context"', endpoint.base_url)

    assert done.returncode == 1
    assert "unknown command '/nothing'" in done.stdout + done.stderr
    assert "`/write-tests`" in done.stdout + done.stderr
    assert "`/context` works in an interactive session" in shown.stdout + shown.stderr
    assert endpoint.seen == []


def test_a_skill_of_one_word_is_not_an_unknown_command(tmp_path):
    home = Home(tmp_path)
    skill = home.write(".agents/skills/tidy/SKILL.md", "# Tidy\n\nTidy up.\n")

    with endpoint_in_thread(answering) as endpoint:
        done = run(home, 'indwell run --json "/tidy"', endpoint.base_url)

    assert done.returncode == 0, done.stdout
    assert skill.read_text(encoding="utf-8").strip() in user_text(endpoint.seen[-1])
    started = next(
        one for one in map(json.loads, done.stdout.splitlines()) if one["type"] == "turnStarted"
    )
    assert started["attached"] == ["skill tidy"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("good", "---\ndescription: x\n---\n", ""),
        ("bad", "---\nname: [x\n---\n", "the front matter is not YAML"),
        ("twice", "---\nname: a\nname: b\n---\n", "occurs twice"),
    ],
)
def test_the_doctor_lists_loaded_skills_and_why_others_were_rejected(
    tmp_path, monkeypatch, name, text, words
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / ".agents" / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode())

    first, *others = skills({"INDWELL_STATE": str(tmp_path / "state")}, tmp_path)

    assert first.sentence == f"{0 if words else 1} yours, 0 of this folder, 3 of Indwell"
    assert [one.state for one in others] == (["warn"] if words else [])
    assert all(words in one.sentence and one.fix for one in others)
