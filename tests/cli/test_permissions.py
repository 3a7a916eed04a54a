"""``indwell permissions``: the list, revoking, and why a command needs a question."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from indwell.cli.commands import run_command
from indwell.cli.safety.permissions import rules_of_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a workspace, with its own user folders around it."""
    work = tmp_path / "work"
    work.mkdir()
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("INDWELL_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(work)
    return work


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return the output of a command, which must end with exit code 0."""
    assert run_command(["permissions", *words]) == 0
    return capsys.readouterr().out


async def test_permanent_permissions_are_listed_and_revoked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys) == f"Nothing is always allowed in {folder}.\n"
    book = rules_of_folder(folder)
    for rule in ("bash in /w: a\x1b[2K", "bash in /w: b", "edit_file: c"):
        await book.grant(rule, always=True)
    assert said(capsys).splitlines()[1:] == [
        "   1  bash in /w: a\\u001b[2K",
        "   2  bash in /w: b",
        "   3  edit_file: c",
    ]
    told = json.loads(said(capsys, "revoke", "3", "1", "--json"))
    assert told == {"folder": str(folder), "rules": ["bash in /w: b"], "revoked": 2}
    assert book.granted == frozenset({"bash in /w: b"})
    assert said(capsys, "revoke", "--all").startswith("1 revoked")
    assert book.granted == frozenset()


@pytest.mark.parametrize("line", ["--json", "--json list", "list --json", "--json revoke --all"])
def test_the_json_option_may_precede_an_action(
    line: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert json.loads(said(capsys, *line.split()))["folder"] == str(folder)


@pytest.mark.parametrize("words", [["revoke"], ["revoke", "7"], ["revoke", "x"], ["explain"]])
@pytest.mark.usefixtures("folder")
def test_a_permissions_command_without_arguments_is_wrong(words: list[str]) -> None:
    assert run_command(["permissions", *words]) != 0


def test_an_unreadable_permissions_file_is_named_and_unchanged(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = rules_of_folder(folder)._path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"[")
    assert run_command(["permissions", "revoke", "--all"]) == 1
    assert "cannot be read" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "["


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(said(capsys, "explain", "--json", *words))
    assert list(told)[:4] == ["decision", "rule", "reason", "parts"]
    assert all(set(one) == {"text", "decision", "rule", "reason"} for one in told["parts"])
    return told


@pytest.mark.usefixtures("folder")
def test_a_command_is_explained_with_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    told = explained(capsys, "--", "ls -la | head -3; rm -r build")
    assert (told["decision"], [one["decision"] for one in told["parts"]]) == (
        "ask",
        ["allow", "allow", "ask"],
    )
    assert told["parts"][2]["text"] == "rm -r build"
    assert explained(capsys, "--", "ls", "-la")["decision"] == "allow"
    assert explained(capsys, "--", "rm -rf /")["decision"] == "deny"
    assert explained(capsys, "--mode", "plan", "--", "rm x")["decision"] == "deny"
    plain = said(capsys, "explain", "--", "ls; rm x\x1b")
    assert plain.startswith("without a sandbox: ask (rule: ")
    assert "\x1b" not in plain


@pytest.mark.usefixtures("folder")
def test_explain_also_shows_the_decision_for_this_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    here, commands, trust = said(capsys, "explain", "--", "pytest -q").splitlines()[-3:]
    assert here == "in this folder: deny (rule: restricted folder)"
    assert commands.startswith("  commands here: ")
    assert trust == "  the folder is not trusted; `indwell trust` trusts it"
    assert "restricted" in said(capsys, "explain", "--cwd", "nowhere", "--", "ls")
    confined = said(capsys, "explain", "--sandboxed", "--", "pytest -q")
    assert confined.startswith("with a sandbox: allow ")
    assert "in this folder" not in confined


def test_explain_uses_rules_from_a_file_the_settings_and_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = folder.parent / "indwell" / "config.toml"
    config.parent.mkdir()
    config.write_bytes(b'[rules]\ndeny = ["git log"]\n')
    assert explained(capsys, "--", "git log")["rule"] == "deny: git log"
    rules = folder / "rules.json"
    rules.write_bytes(b'{"allow": ["make *"], "deny": ["ls"]}')
    assert explained(capsys, "--rules", str(rules), "--", "git log")["decision"] == "allow"
    assert explained(capsys, "--rules", str(rules), "--", "ls")["decision"] == "deny"
    assert explained(capsys, "--rules", str(rules), "--", "make all")["decision"] == "allow"
    lines = [
        {"command": "make all", "rules": {"allow": ["make *"]}},
        {"command": "make all"},
        {"command": "ls"},
        {"command": "ls", "rules": {"deny": ["ls"]}},
        {"command": "pytest -q", "sandboxed": True},
        {"command": "touch x", "mode": "plan"},
        {"command": 7},
        {"command": "ls", "rules": {"deny": [""]}},
        {"command": "cat ../secret", "cwd": "sub"},
    ]
    raw = "".join(f"{json.dumps(line)}\n" for line in lines) + "\nnonsense\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw.encode())))
    monkeypatch.setattr("sys.stdout", output := io.TextIOWrapper(io.BytesIO()))
    assert run_command(["permissions", "explain", "--stdin"]) == 0
    output.seek(0)
    answers = [json.loads(line) for line in output]
    assert [one["decision"] for one in answers] == [
        "allow", "ask", "allow", "deny", "allow", "deny", "deny", "deny", "allow", "deny"
    ]  # fmt: skip
    assert [one["rule"] for one in answers].count("unreadable") == 3
    assert not (folder.parent / "state").exists()  # explaining a command writes no file
