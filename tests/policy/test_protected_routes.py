"""Files that tools execute or trust need a question on every route: over 40 paths, 13 routes."""

from __future__ import annotations

from shlex import quote

import pytest

from indwell.policy.call_facts import Allow, Ask, CallFacts, Decision, Deny, Policy, rule_of
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules, Widening
from indwell.settings.credentials import SECRETS
from indwell.settings.model import Mode

PATHS = (
    ".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".gitmodules", ".gitattributes",
    ".vscode/settings.json", ".vscode/tasks.json", ".idea/workspace.xml", ".zed/tasks.json",
    "my.code-workspace", ".cursor/mcp.json", ".claude/settings.json", ".agent/rules.md",
    "AGENTS.md", "docs/CLAUDE.md", "skills/x/SKILL.md", ".mcp.json", ".env", ".env.local",
    ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".envrc", ".tool-versions", "package.json",
    ".github/workflows/ci.yml", ".bashrc", ".zshrc", ".profile", ".husky/pre-push",
    ".devcontainer/devcontainer.json", ".indwell/config.toml", ".pre-commit-config.yaml",
    ".VSCode/Settings.JSON", ".Git/hooks/pre-commit", ".mCp.json", "./x/../.vscode/a.json",
)  # fmt: skip
"""The list of POL-02 and more of their kind; the last ones are POL-03."""

TOOLS = ("edit_file", "write_file", "apply_patch", "rename_file")
COMMANDS = (
    "echo x > {path}",
    "echo x >> {path}",
    "cat a.txt | tee {path}",
    "cp a.txt {path}",
    "mv a.txt {path}",
    "ln -sf a.txt {path}",
    "sed -i s/a/b/ {path}",
    "touch {path}",
    "true && ls -la; install -m 755 a.txt {path}",
)
ALLOWED = PatternRules(allow=("*", "echo *", "tee *", "cp *", "edit: **", "tool: *"))


def decided(asked: CallFacts, mode: Mode, *, confined: bool, rules: PatternRules) -> Decision:
    granted = frozenset(rule_of(asked, confined=one) for one in (False, True))
    return decide(
        asked,
        Policy(mode, SECRETS, granted, rules=rules, roots=("/w",), writes_confined=confined),
    )


def is_asked_anew(decision: Decision) -> bool:
    """Return whether the user is asked each time, or the call is denied without a question."""
    return isinstance(decision, Deny) or (isinstance(decision, Ask) and not decision.rule)


@pytest.mark.parametrize("rules", [PatternRules(), ALLOWED], ids=["", "all allowed"])
@pytest.mark.parametrize("mode", ["ask", "review", "auto"])
def test_pol_01_pol_02_pol_03_every_protected_path_needs_a_question_by_every_tool(
    mode: Mode, rules: PatternRules
) -> None:
    for tool in TOOLS:
        for path in PATHS:
            for paths in ((path,), ("a.txt", path), (path, "a.txt")):
                asked = CallFacts(tool, "edit", paths)
                decision = decided(asked, mode, confined=True, rules=rules)
                assert is_asked_anew(decision), (tool, paths)


@pytest.mark.parametrize("rules", [PatternRules(), ALLOWED], ids=["", "all allowed"])
@pytest.mark.parametrize("confined", [False, True])
@pytest.mark.parametrize("mode", ["ask", "auto"])
def test_pol_01_pol_02_pol_03_every_protected_path_needs_a_question_by_every_command(
    mode: Mode,
    confined: bool,  # noqa: FBT001 - with and without a sandbox
    rules: PatternRules,
) -> None:
    unasked = [
        command
        for pattern in COMMANDS
        for path in PATHS
        for command in (pattern.format(path=path), pattern.format(path=quote(f"/w/{path}")))
        if not is_asked_anew(
            decided(
                CallFacts("bash", "run", command=command, cwd="/w"),
                mode,
                confined=confined,
                rules=rules,
            )
        )
    ]
    assert unasked == []


def test_pol_02_a_folder_of_protected_files_is_protected_from_within_and_by_its_name() -> None:
    commands = [
        "cd .git && echo x > config",
        "cd .git/hooks; cp /tmp/x pre-commit",
        "mv .git .git2",
        "rm -r .vscode",
        "mkdir .vscode",
        "cp -r evil .git",
        "mv evil .github",
    ]
    for command in commands:
        asked = CallFacts("bash", "run", command=command, cwd="/w")
        assert is_asked_anew(decided(asked, "auto", confined=True, rules=ALLOWED)), command
    inside = CallFacts("bash", "run", command="echo x > config", cwd="/w/.git")
    assert is_asked_anew(decided(inside, "auto", confined=True, rules=ALLOWED))


def test_pol_18_plan_mode_denies_every_change_of_a_protected_path() -> None:
    for path in PATHS:
        assert isinstance(
            decided(CallFacts("write_file", "edit", (path,)), "plan", confined=True, rules=ALLOWED),
            Deny,
        )
        for pattern in COMMANDS:
            asked = CallFacts("bash", "run", command=pattern.format(path=path), cwd="/w")
            assert isinstance(decided(asked, "plan", confined=True, rules=ALLOWED), Deny)


@pytest.mark.parametrize("mode", ["plan", "ask", "review", "auto"])
@pytest.mark.parametrize("confined", [False, True])
def test_pol_13_the_users_deny_and_ask_rules_take_precedence_in_every_mode(
    mode: Mode,
    confined: bool,  # noqa: FBT001 - with and without a sandbox
) -> None:
    rules = PatternRules(allow=("*",), ask=("git log",), deny=("curl", "git push"))
    for command in ("curl x", "ls; /usr/bin/curl -s x", "timeout 9 CURL x", "git  push -f"):
        asked = CallFacts("bash", "run", command=command, cwd="/w")
        assert isinstance(decided(asked, mode, confined=confined, rules=rules), Deny), command
    log = CallFacts("bash", "run", command="git log -3 | head", cwd="/w")
    assert is_asked_anew(decided(log, mode, confined=confined, rules=rules))


def test_pol_12_a_deny_rule_is_found_behind_any_number_of_harmless_parts() -> None:
    rules = PatternRules(allow=("*",), deny=("curl",))
    for count in (1, 51, 1_000):
        asked = CallFacts("bash", "run", command=f"{':;' * count} curl evil", cwd="/w")
        assert isinstance(decided(asked, "auto", confined=True, rules=rules), Deny)
    many = CallFacts("bash", "run", command="true;" * 5_000 + "curl evil", cwd="/w")
    assert isinstance(decided(many, "auto", confined=True, rules=rules), Deny)


def test_pol_18_no_rule_lets_a_command_change_anything_in_plan_mode() -> None:
    everything = PatternRules(allow=("*", "touch *", "npm *", "git *"))
    for command in ("touch x", "git commit -m x", "echo x > y", "npm install", "npm run fix"):
        asked = CallFacts("bash", "run", command=command, cwd="/w")
        assert isinstance(decided(asked, "plan", confined=True, rules=everything), Deny), command
    for command in ("npm test", "python3 a.py", "git log > /tmp/x"):
        asked = CallFacts("bash", "run", command=command, cwd="/w")
        assert isinstance(decided(asked, "plan", confined=False, rules=everything), Deny), command
        for rules in (everything, PatternRules()):
            held = decided(asked, "plan", confined=True, rules=rules)
            assert isinstance(held, Allow), command
            # the sandbox lets the command write nowhere
            assert held.widening == Widening(reads_only=True)
    reads = CallFacts("bash", "run", command="git log --oneline | head -3", cwd="/w")
    assert decided(reads, "plan", confined=True, rules=PatternRules()).by == "read-only"
