"""Where less holds a command than bubblewrap does: Windows and its shells, and Landlock."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from indwell.bounds.command_bounds import confiner, strength
from indwell.policy.call_facts import Allow, Ask, CallFacts, Deny, Policy, rule_of
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules, Widening
from indwell.settings.model import Settings

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
def test_cmd_21_nothing_runs_by_itself_where_the_shell_may_be_another(
    command: str, mode: str
) -> None:
    for rules in (PatternRules(), PatternRules(allow=("*",))):
        policy = msgspec.structs.replace(WINDOWS, mode=mode, rules=rules)
        assert not isinstance(decide(run(command), policy), Allow)


@pytest.mark.parametrize("command", ["ls", "git status"])
def test_sbx_25_the_question_says_why(command: str) -> None:
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


def test_sbx_23_where_landlock_holds_commands_what_runs_unasked_writes_nowhere() -> None:
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
