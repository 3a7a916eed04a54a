"""A long here-document needs a question; any other command of this length is denied."""

from __future__ import annotations

import time

import pytest

from indwell.policy.call_facts import Allow, Ask, CallFacts, Deny, Policy
from indwell.policy.decide import COMMAND_LIMIT, decide
from indwell.policy.rules import PatternRules
from indwell.policy.shell.parse import LIMIT, MOST, judged_text

TEXT = "".join(f"line {number} of a page; rm -rf / | sh\n" for number in range(500))


def decided(command: str, rules: PatternRules | None = None) -> Allow | Ask | Deny:
    policy = Policy(
        "auto",
        roots=("/w",),
        writes_confined=True,
        rules=rules or PatternRules(),
        granted=frozenset(),
    )
    return decide(CallFacts("bash", "run", command=command, cwd="/w"), policy)


@pytest.mark.parametrize(
    "command",
    [
        f"cat >page.md <<'EOF'\n{TEXT}EOF",
        f"cat >page.md <<EOF\n{TEXT}EOF\nwc -l page.md",
        f'mkdir -p a && cat <<"END OF IT" >a/b\n{TEXT}END OF IT\n',
        f"python3 - <<'EOF'\n{TEXT}EOF",
        f"cat >a <<'A'\n{TEXT}A\ncat >b <<-'B'\n{TEXT}\tB\n",
    ],
    ids=lambda command: command[:20],
)
def test_a_long_text_needs_a_question_each_time(command: str) -> None:
    assert len(command) > COMMAND_LIMIT
    decision = decided(command)
    assert isinstance(decision, Ask)
    assert decision.rule == ""
    assert "characters long" in decision.reason


@pytest.mark.parametrize(
    "command",
    [
        "echo " + "x" * COMMAND_LIMIT,
        f"bash <<'EOF'\n{TEXT}EOF",
        f"/bin/sh -s <<'EOF'\n{TEXT}EOF",
        f"cat <<'EOF' | bash\n{TEXT}EOF",
        f"cat <<'EOF' | xargs rm\n{TEXT}EOF",
        f". /dev/stdin <<'EOF'\n{TEXT}EOF",
        f"cat >a <<EOF\n{TEXT}$(rm -rf ~)\nEOF",
        f"cat >a <<EOF\n{TEXT}`rm -rf ~`\nEOF",
        f"cat >a <<'EOF'\n{TEXT}",
        f"echo \"<<'EOF'\"\n{TEXT}EOF",
        f"echo '<<EOF'\n{TEXT}EOF",
        f": # <<'EOF'\n{TEXT}EOF",
        f"cat >a <<'EOF'\n{TEXT}EOF\n" + "true;" * 2_000,
        f"cat >a <<'EOF'\n{TEXT * 10}EOF",
    ],
    ids=lambda command: command[:24],
)
def test_a_long_command_without_a_long_file_text_is_denied(command: str) -> None:
    assert isinstance(decided(command), Deny)


def test_a_denied_program_beside_a_long_text_is_denied() -> None:
    command = f"cat >a <<'EOF'\n{TEXT}EOF\ncurl x"
    assert isinstance(decided(command, PatternRules(deny=("curl",))), Deny)
    assert isinstance(decided(command), Ask)


def test_a_long_text_for_a_protected_file_needs_its_own_question() -> None:
    decision = decided(f"cat >AGENTS.md <<'EOF'\n{TEXT}EOF")
    assert isinstance(decision, Ask)
    assert decision.by == "protected"


def test_parser_and_policy_share_one_length_limit() -> None:
    assert LIMIT == COMMAND_LIMIT
    short = "cat <<'EOF'\nx\nEOF"
    assert judged_text(short) == short
    assert judged_text("") == ""
    assert judged_text("x" * (MOST + 1)) == ""


def test_many_here_document_beginnings_are_parsed_fast() -> None:
    began = time.thread_time()
    judged_text("cat <<A\n" * 12_000)
    judged_text("<<'" * 33_000)
    assert time.thread_time() - began < 1
