"""Sandboxes that confine less than bubblewrap does: Windows and its shells, and Landlock."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec
import pytest

from indwell.bounds.command_bounds import confiner, policy_under, strength
from indwell.policy.approvals import UNHELD
from indwell.policy.call_facts import Allow, Ask, CallFacts, Deny, Policy, rule_of
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules, Widening
from indwell.sandbox.confinement import Level, Strength
from indwell.settings.credentials import SECRETS
from indwell.settings.model import Mode, Settings

WINDOWS = Policy("auto", roots=("/w",), asks_for_all=True, sandbox="not sandboxed")


def run(command: str) -> CallFacts:
    return CallFacts("bash", "run", command=command, cwd="/w", arguments=command)


@pytest.mark.parametrize("mode", ["ask", "review", "auto"])
@pytest.mark.parametrize(
    "command",
    [
        "ls", "git status", "cat a.py | head", "echo @(calc)", "echo a & calc", "echo a; calc",
        "echo a | calc", "echo `calc`", "echo $(calc)", "powershell -c ls", "cmd /c dir", "type x",
        "pwsh -EncodedCommand AAAA", "dir & del x", "echo %PATH%", "echo ^& calc", "iex 'calc'",
    ],
)  # fmt: skip
def test_cmd_21_every_command_needs_a_question_if_the_shell_is_unknown(
    command: str, mode: str
) -> None:
    for rules in (PatternRules(), PatternRules(allow=("*",))):
        policy = msgspec.structs.replace(WINDOWS, mode=mode, rules=rules)
        assert not isinstance(decide(run(command), policy), Allow)


@pytest.mark.parametrize("command", ["ls", "git status"])
def test_sbx_25_the_question_names_the_missing_sandbox(command: str) -> None:
    asked = decide(run(command), WINDOWS)
    assert isinstance(asked, Ask)
    assert "no sandbox confines commands on this system" in asked.reason
    assert isinstance(decide(run(command), msgspec.structs.replace(WINDOWS, mode="plan")), Deny)
    assert isinstance(
        decide(run(command), msgspec.structs.replace(WINDOWS, asks_for_all=False)), Allow
    )


def test_sbx_25_a_deny_rule_and_an_exact_answer_of_the_user_still_count() -> None:
    asked = run("git status")
    denied = msgspec.structs.replace(WINDOWS, rules=PatternRules(deny=("git *",)))
    assert isinstance(decide(asked, denied), Deny)
    given = msgspec.structs.replace(WINDOWS, granted=frozenset([rule_of(asked)]))
    assert isinstance(decide(asked, given), Allow)


def test_sbx_23_an_unasked_command_cannot_write_under_landlock() -> None:
    policy = Policy("auto", roots=("/w",))
    read = decide(run("cat a.py | head"), policy)
    assert isinstance(read, Allow)
    assert read.widening == Widening(reads_only=True)
    assert read.widening.words == ""
    allowed = msgspec.structs.replace(policy, rules=PatternRules(allow=("make *",)))
    built = decide(run("make all"), allowed)
    assert isinstance(built, Allow)
    assert not built.widening.reads_only
    bounds = confiner((Path("/w"),), Settings)
    if strength().holds_writers:
        (held, free) = (bounds(one.widening) for one in (read, built))
        assert held is not None
        assert free is not None
        assert (held.writable, held.readable) == ((), ("/w",))
        assert free.writable == ("/w",)


WRITERS = (
    "touch a.py", "echo x > a.py", "cat a.py | tee b.py", "make", "npm test", "python x.py",
    "git commit -m x", "git checkout .", "sed -i s/a/b/ a.py", "rm a.py", "mkdir d", "cp a b",
    "mv a b", "cargo build", "unheard-of --flag", "find . -delete", "sort -o a.py a.py",
    "git diff --output=a.py", "ls; touch a.py", "$(touch a.py)", "bash -c 'touch a.py'",
)  # fmt: skip


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("level", get_args(Level))
def test_every_writing_command_needs_a_question_without_a_full_sandbox(
    level: Level, mode: Mode
) -> None:
    """On every platform, a command that a level does not fully confine needs a question."""
    held = Strength(level)
    policy = policy_under(Policy(mode, roots=("/w",)), held)
    for command in WRITERS:
        decision = decide(run(command), policy)
        if isinstance(decision, Allow):
            assert held.is_whole, (level, mode, command)
            assert mode != "ask"
        elif mode != "plan":
            assert isinstance(decision, Ask | Deny), (level, mode, command)


POWERSHELL_WRITERS = (
    "Set-Content a.py x", "'x' > a.py", "ni a.py", "del a.py", "rm -r src", "make", "npm test",
    "python x.py", "git commit -m x", "Get-ChildItem | Remove-Item", "Out-File a.py", "iex 'del a'",
    "[IO.File]::WriteAllText('a.py', 'x')", "Start-Process notepad", "unheard-of --flag",
    "copy a b", "move a b", "mkdir d", "cmd /c del a.py", "& { Set-Content a.py x }",
)  # fmt: skip


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("level", ["S2w", "S1", "S0"])
def test_every_writing_powershell_command_needs_a_question(level: Level, mode: Mode) -> None:
    held = policy_under(Policy(mode, roots=("C:\\w",)), Strength(level))
    policy = msgspec.structs.replace(held, language="powershell")
    unasked = [one for one in POWERSHELL_WRITERS if isinstance(decide(run(one), policy), Allow)]
    assert unasked == []
    read = decide(msgspec.structs.replace(run("Get-Content a.py"), cwd="C:\\w"), policy)
    assert isinstance(read, Allow) == (level != "S0")
    assert not isinstance(read, Allow) or read.widening.reads_only


@pytest.mark.parametrize("level", get_args(Level))
def test_a_command_without_a_question_gets_the_bounds_of_its_level(level: Level) -> None:
    held = Strength(level)
    bounds = confiner((Path("/w"),), Settings, held=lambda: held)
    read, build = (bounds(Widening(reads_only=one)) for one in (True, False))
    assert (read is None) == (level in {"S1", "S0"})
    assert (build is None) == (level in {"S1", "S0", "S2w"})
    assert read is None or read.writable == ()
    assert build is None or build.writable == (str(Path("/w").resolve()),)
    assert bounds(Widening(unconfined=True)) is None


@pytest.mark.parametrize("level", get_args(Level))
def test_even_a_reader_needs_a_question_without_any_sandbox(level: Level) -> None:
    policy = policy_under(Policy("auto", roots=("/w",)), Strength(level))
    assert isinstance(decide(run("cat a.py"), policy), Ask if level == "S0" else Allow)


def test_a_reader_on_windows_runs_without_write_permission_and_others_only_after_a_yes() -> None:
    policy = policy_under(Policy("review", roots=("/w",)), Strength("S2w"))
    read = decide(run("git log --oneline | head"), policy)
    assert isinstance(read, Allow)
    assert read.widening == Widening(reads_only=True)
    assert isinstance(decide(run("curl https://example.org"), policy), Ask)
    assert isinstance(decide(run("cat .env"), msgspec.structs.replace(policy, deny=SECRETS)), Ask)


def test_a_question_on_windows_says_that_the_command_will_not_be_sandboxed() -> None:
    """On Windows, only reading commands are confined; others run with the user's permissions."""
    held = Strength("S2w", words="partly sandboxed (low integrity)")
    policy = policy_under(Policy("review", roots=("/w",)), held)
    assert (policy.sandbox, policy.readers_sandbox) == (UNHELD, held.words)
    for level in ("S3", "S3m", "S2"):
        whole = policy_under(policy, Strength(level, words="sandboxed"))
        assert (whole.sandbox, whole.readers_sandbox) == ("sandboxed", "sandboxed")
    for level in ("S1", "S0"):
        bare = policy_under(policy, Strength(level, words=UNHELD))
        assert (bare.sandbox, bare.readers_sandbox) == (UNHELD, "")
