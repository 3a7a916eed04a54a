from __future__ import annotations

import time
from collections import Counter

from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation
from indwell.policy.rules import PatternRules
from indwell.policy.shell.items import Simple
from indwell.policy.shell.parse import ShellReading
from indwell.settings.credentials import SECRETS
from tools.shared_data import shared_cases


def situation_of(policy: dict, **more) -> Situation:
    listed = policy.get("rules", [])
    rules = PatternRules(
        allow=tuple(policy.get("allow", ())) or _of(listed, "ALLOW"),
        deny=tuple(policy.get("deny", ())) or _of(listed, "DENY"),
    )
    plan = policy.get("mode") == "read_only_plan"
    return Situation(rules=rules, reads_only=plan, secrets=SECRETS, **more)


def _of(listed, decision: str) -> tuple[str, ...]:
    return tuple(one["allow"] for one in listed if one["decision"] == decision)


def test_commands_denied_by_other_agents_are_never_allowed_and_most_allowed_are() -> None:
    """Not allowed here: network, builds and tests without a sandbox, writing (see the report)."""
    outcomes = Counter()
    wrong = []
    for case in shared_cases("bash_safety.json"):
        decision = judge(case["command"], situation_of(case["policy"])).decision
        outcomes[case["expected"], decision] += 1
        if case["expected"] == "deny" and decision == "allow":
            wrong.append(case)
    assert wrong == []
    # At least 92 of 113; `ps aux` needs a question if it shows every process.
    assert outcomes["allow", "allow"] >= 92
    assert outcomes["allow", "deny"] == 0


def test_a_sandbox_allows_builds_and_tests_in_plan_mode() -> None:
    outcomes = Counter()
    for case in shared_cases("bash_safety.json"):
        if case["policy"].get("mode") == "read_only_plan":
            held = situation_of(case["policy"], writes_confined=True, cwd="/w", roots=("/w",))
            outcomes[case["expected"], judge(case["command"], held).decision == "allow"] += 1
    assert outcomes["deny", True] == 0
    assert outcomes["allow", False] <= 8  # these need the network, or are of Windows


def test_most_commands_of_real_sessions_need_no_question_in_a_sandbox_and_are_judged_in_time() -> (
    None
):
    outcomes, taken = Counter(), []
    situation = Situation(secrets=SECRETS, writes_confined=True)
    for case in shared_cases("bash_real_commands.jsonl.gz"):
        began = time.thread_time()
        outcomes[judge(case["command"], situation).decision] += 1
        taken.append(time.thread_time() - began)
    assert outcomes["deny"] == 0
    assert outcomes["allow"] > 0.7 * len(taken)
    assert sorted(taken)[int(len(taken) * 0.99)] < 0.02  # it is 0.7 ms on an idle one


def test_commands_are_split_as_in_other_agents() -> None:
    for case in shared_cases("bash_parse.json"):
        simple = [item for item in ShellReading(case["input"]).items if isinstance(item, Simple)]
        match case["function"]:
            case "getCommandRoots" if "@P" not in case["input"]:
                roots = [item.words[0].text for item in simple if item.words]
                assert sorted(roots) == sorted(case["expected"])
            case "hasRedirection":
                assert any(item.redirects for item in simple) is case["expected"]
            case "splitCommands" if "<<<" not in case["input"]:
                texts = [" ".join(word.source for word in item.words) for item in simple]
                assert texts == case["expected"]
