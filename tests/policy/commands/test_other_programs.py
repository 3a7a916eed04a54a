"""Indwell asks about commands that show other programs if no sandbox hides them."""

from __future__ import annotations

import pytest

from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation

TELLING = (
    *("ps", "ps aux", "ps -ef", "pgrep -a python", "lsof -n", "lsof -i", "ss -tulpn", "ss"),
    *(
        "netstat -tulpn",
        "echo a | xargs ps",
        "env ps aux",
        "sh -c 'ps aux'",
        "/bin/ps",
        "top -b -n1",
    ),
    *("w", "pstree -a", "pidof x", "cd src && ps"),
)


@pytest.mark.parametrize("command", TELLING)
def test_a_program_that_lists_processes_needs_a_question_without_a_sandbox_that_hides_them(
    command: str,
) -> None:
    assert judge(command, Situation(cwd="/w", roots=("/w",))).decision == "ask"
    plan = Situation(cwd="/w", roots=("/w",), reads_only=True)
    assert judge(command, plan).decision == "ask"


@pytest.mark.parametrize("command", ["ps", "ps aux", "pgrep -a python", "lsof -n", "ss -tulpn"])
def test_a_program_that_lists_processes_runs_without_a_question_if_the_sandbox_hides_them(
    command: str,
) -> None:
    held = Situation(cwd="/w", roots=("/w",), writes_confined=True)
    assert judge(command, held).decision == "allow"


@pytest.mark.parametrize("command", ["uptime", "id", "free -m", "who"])
def test_commands_that_only_report_on_the_machine_are_allowed(command: str) -> None:
    assert judge(command, Situation(cwd="/w", roots=("/w",))).decision == "allow"
