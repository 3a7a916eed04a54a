"""Commands that an attacker got past the analysis, and similar ones that must stay possible."""

from __future__ import annotations

import time

import msgspec
import pytest

from indwell.policy.call_facts import CallFacts, Deny, Policy
from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation
from indwell.policy.commands.verdict import CommandVerdict
from indwell.policy.decide import decide
from indwell.policy.rules import PatternRules, Widening
from indwell.settings.credentials import SECRETS

OPEN = Situation(secrets=SECRETS, cwd="/w/p", roots=("/w/p",))
CONFINED = msgspec.structs.replace(OPEN, writes_confined=True)
PLAN = msgspec.structs.replace(OPEN, reads_only=True)
ALL = (OPEN, CONFINED, PLAN, msgspec.structs.replace(CONFINED, reads_only=True))


def under(situation: Situation, **rules: tuple[str, ...]) -> Situation:
    return msgspec.structs.replace(situation, rules=PatternRules(**rules))


def confined(command: str, **rules: tuple[str, ...]) -> CommandVerdict:
    return judge(command, under(CONFINED, **rules))


def decided(command: str, situation: Situation = CONFINED) -> str:
    return judge(command, situation).decision


@pytest.mark.parametrize(
    "command",
    [
        *("git fetch x; python3 -c 'print(1)'", "python3 x.py && git fetch x", "x=1 git fetch x"),
        *("git fetch x > out", "git fetch x | ./x", "git fetch x & ./x", "git fetch x && touch y"),
        *("timeout 9 ./x; git fetch x", "git fetch x; for f in a; do make; done"),
    ],
)
def test_pol_11_a_pattern_for_one_part_covers_no_other_part(command: str) -> None:
    verdict = confined(command, allow=("git fetch *",))
    assert not verdict.by_user
    assert not verdict.rule.startswith("allow:")


def test_pol_11_a_pattern_also_allows_its_command_among_readers() -> None:
    for command in ("git fetch x", "git fetch x && git log | head", "timeout 5 git fetch x"):
        verdict = confined(command, allow=("git fetch *",))
        assert (verdict.by_user, verdict.rule) == (True, "allow: git fetch *"), command
        assert verdict.widening == Widening(hosts=("*",)), command
    assert not confined("git log").by_user


def test_pol_11_a_wildcard_within_a_word_does_not_reach_the_next() -> None:
    allow = ("curl -s https://api.example.com/*", "make te*t", "echo *")
    assert confined("curl -s https://api.example.com/a", allow=allow).by_user
    for more in ("https://evil.example/?x", "-o x"):
        command = f"curl -s https://api.example.com/ {more}"
        assert confined(command, allow=allow).decision == "ask"
    assert confined("make te x t", allow=allow).decision == "ask"
    assert confined("echo a b 'c d' *", allow=allow).by_user


@pytest.mark.parametrize(
    "command",
    [
        *("./nice true", "src/timeout 1 ls", "./env", "/w/p/xargs ls", "bin/command ls"),
        *("for PATH in src; do ls; done", "for HOME in src; do cd; ls; done"),
        *("for BASH_ENV in x; do ls; done", "for path in src; do ls; done"),
        "for c in ls; do :; done; for x in 1 2; do $c .; for c in ./evil; do :; done; done",
        *("(for c in ls; do :; done); $c ./evil", "false && for c in ls; do :; done; $c ./evil"),
        *(
            r"printf '%2n' PATH; ls",
            r"printf '%-5.3ln' PATH",
            "for f in x '%n'; do printf $f A; done",
        ),
        *('printf "$(cat f)" PATH', "echo ./x | xargs -I echo nice echo", "xargs -Ils nice ls"),
        *("xargs --replace ./evil ls", "xargs --max-lines ./evil ls"),
        *(
            "/usr/bin/time -f evil -o x true",
            "command time -ox true",
            "command time --output=x true",
        ),
        *("xxd -ps src/a out", "xxd -bc src/a out", "xxd -p -r a b", "arch -arm64 ./x", "arch ./x"),
        *("getconf -v ../../x Y", "cat <<E\n`touch x`\nE", "cat <<-E\n\ta`touch x`b\n\tE"),
        *("cat <<E\n\\\\`./x`\nE", "sed -n '/[/p;s,]/w out,x,' a", "sed 's/[/w x;s/]/x/' a"),
    ],
)
def test_cmd_03_a_command_that_runs_or_writes_never_counts_as_reading(command: str) -> None:
    for situation in ALL:
        verdict = judge(command, situation)
        assert not (verdict.decision == "allow" and verdict.reads_only), situation
    assert decided(command, OPEN) == "ask"
    assert decided(command, PLAN) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *(
            "printf '%s\\n' \"$x\"",
            "printf '%%n' a",
            "printf '%5d items\\n' 3",
            "arch",
            "xxd -l 9 a",
        ),
        *("for f in a b; do cat $f; done", "xxd a | head", "getconf PAGE_SIZE", "yes | head"),
        *("sed -n '/[a-z]/p' a", "sed 's/[[:space:]]*$//' a", "sed 's,[^/]*$,,' a"),
        *("grep -rn --include=*.py x .", "grep -A3 -e x a", "grep -vn x a b", "xxd -c16 -g1 a"),
    ],
)
def test_cmd_02_a_command_that_only_reads_still_runs(command: str) -> None:
    assert judge(command, OPEN).reads_only
    assert decided(command, OPEN) == "allow"


def test_cmd_03_commands_in_backticks_are_judged_by_the_users_rules() -> None:
    command = "cat <<E\nx `touch a; curl y` z\nE"
    assert confined(command, deny=("curl",)).decision == "deny"
    assert decided(command) == "ask"
    quoted = ("cat <<'E'\n`x`\nE", "cat <<\\E\n`x`\nE", "cat <<E\na \\`x\\`\nE")
    assert [decided(one) for one in quoted] == ["allow"] * 3


def test_cmd_03_a_variable_set_in_a_subshell_or_a_condition_is_unknown() -> None:
    for command in ("(c=echo); $c curl x", "false && c=echo; $c curl x", "c=echo & $c curl x"):
        assert confined(command, deny=("curl",)).decision != "allow"
    for command in ("c=echo; while $c curl x; do read c < f; done", "c=ls | cat; $c ./evil"):
        assert confined(command, deny=("curl",)).decision != "allow"
    assert decided("c=src; ls $c") == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("grep -ee .env", "grep -vfe ~/.ssh/id_rsa", "grep -f.env x", "grep -nf .env x"),
        *("grep -e x -- .env", "grep -n x --fil .env a", "grep --exclude-from=.env x a"),
        *("grep $x -e .env", "git grep -f .env", "git grep -ee .env", "xargs -a .env echo"),
        *("grep -- x .env", "grep -e -f .env", "jq -n -- . .env", "grep -c -m1 x .env"),
    ],
)
def test_sec_01_a_secret_file_is_recognised_in_every_spelling_of_options(command: str) -> None:
    assert all(judge(command, situation).rule == "secret" for situation in ALL)


@pytest.mark.parametrize(
    "command",
    [
        *("grep -v -- -e /etc/shadow", "jq -R . -- --arg x /etc/shadow", "grep -ee /etc/shadow"),
        *("awk 'BEGIN{for(i in SYMTAB)print i}'", "awk 'BEGIN{print FUNCTAB[1]}'"),
    ],
)
def test_fs_01_without_a_sandbox_no_option_hides_a_file_outside(command: str) -> None:
    assert decided(command, OPEN) == "ask"
    assert decided(command, PLAN) == "ask"


@pytest.mark.parametrize(
    ("command", "is_seen"),
    [
        *(("git show HEAD:.env", True), ("git show ':/.env'", True), ("git show :./.env", True)),
        *(("git show ':(glob)**/.env'", True), ("git log -p -- '*.env'", True)),
        *(("git cat-file -p HEAD:a/.env", True), ("git archive HEAD .env", True)),
        *(("git show HEAD:a.py", False), ("git log -- '*.py'", False), ("git diff -- '*'", False)),
        *(("git show 'HEAD@{1}'", False), ("git diff a..b -- src", False)),
    ],
)
def test_sec_01_a_committed_secret_needs_a_question_by_its_name(
    command: str,
    is_seen: bool,  # noqa: FBT001 - a column
) -> None:
    for situation in (OPEN, CONFINED):
        assert (judge(command, situation).rule == "secret") is is_seen


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git switch feat",
            "git switch -c x origin/main",
            "git checkout -b x y",
            "git rebase main",
        ),
        *(
            "git merge x",
            "git cherry-pick x",
            "git revert x",
            "git stash pop",
            "git apply p",
            "git am p",
        ),
        *(
            "git -C . merge x",
            "git -c a=b rebase x",
            "git --no-pager switch x",
            "git rebase --abort",
        ),
        *("npm version patch", "git worktree add x", "git bisect start", "/usr/bin/git switch x"),
    ],
)
def test_git_commands_that_switch_files_need_a_question(command: str) -> None:
    verdict = judge(command, CONFINED)
    assert verdict.decision == "ask"
    assert verdict.widening == Widening(writes_protected=True)
    assert not judge(command, OPEN).widening.writes_protected
    assert confined(command, allow=("git *", "npm *")).widening.writes_protected


@pytest.mark.parametrize("command", ["git checkout main", "git reset --hard", "git restore x"])
def test_a_git_command_that_discards_work_may_write_protected_files(command: str) -> None:
    verdict = judge(command, CONFINED)
    assert (verdict.rule, verdict.widening.writes_protected) == ("removes", True)


def test_installing_a_package_by_name_writes_package_json() -> None:
    for command in (
        "npm install x",
        "yarn add x",
        "pnpm remove x",
        "npm --silent i x",
        "npm update",
    ):
        verdict = judge(command, CONFINED)
        wanted = Widening(hosts=("*",), writes_protected=True, installs=True)
        assert verdict.widening == wanted, command
    for command in ("npm install", "npm ci", "pip install x", "uv sync", "poetry install"):
        wanted = Widening(hosts=("*",), installs=True)
        assert judge(command, CONFINED).widening == wanted, command
    assert judge("npm view x", CONFINED).widening == Widening(hosts=("*",))


@pytest.mark.parametrize("command", ["npm rebuild", "uv venv", "python3 -m venv .venv"])
def test_a_command_that_installs_programs_for_editors_needs_a_question(command: str) -> None:
    verdict = judge(command, CONFINED)
    assert (verdict.decision, verdict.widening.installs) == ("ask", True)


def test_git_commands_that_change_no_working_file_are_allowed() -> None:
    for command in (
        *("git add -A && git commit -m x", "git switch -c x", "git checkout -b x", "git reset x"),
        *("git restore --staged x", "git apply --check p", "git branch -d x", "git clean -n"),
    ):
        assert decided(command) == "allow", command


@pytest.mark.parametrize(
    "command",
    [
        *(
            "git -C . commit",
            "git -c a=b commit -m push",
            "git --no-pager commit",
            "git -P -C . commit",
        ),
        *("git --git-dir .git commit", "git --git-dir=.git commit", "sudo git -C . commit"),
        *(
            "npm --prefix . publish",
            "npm -s publish",
            "yarn --cwd . publish",
            "NPM --prefix . publish",
        ),
        *("cargo --color always publish", "cargo +nightly publish", "poetry -C . publish"),
    ],
)
def test_pol_13_options_before_a_subcommand_avoid_no_rule(command: str) -> None:
    rules = ("git commit", *(f"{one} publish" for one in ("npm", "yarn", "cargo", "poetry")))
    assert confined(command, deny=rules, allow=("*",)).decision == "deny"
    assert confined(command, ask=rules, allow=("*",)).rule.startswith("ask: ")


def test_pol_13_a_rule_for_a_subcommand_does_not_match_an_argument_of_that_name() -> None:
    for command in (
        "git -c a=b log --grep commit",
        "git --no-pager log commit",
        "git -C commit log",
    ):
        assert confined(command, deny=("git commit",)).decision == "allow"


@pytest.mark.parametrize(
    "command",
    [
        *("touch p" + "?" * 22 + "X", "touch p" + "?" * 4_000 + "X", "c" + "?" * 300 + "X y"),
        *("npm p" + "?" * 3_000 + "X", "touch " + "/p*" * 2_500, "touch " + "a*" * 3_900 + "X"),
        *(
            "ab" * 3_900,
            "git " + "a b " * 990,
            "git " + "-C a " * 490,
            "npm " + "-x " * 1_900 + "b",
        ),
        *("cat config/" + "*?" * 300 + "*X", "cat " + "e?" * 99 + "X", "printf " + "%5" * 2_000),
        *("sed " + "s/[" * 2_000 + " a", "grep " + "-e " * 2_500, "xargs -I a " + "a " * 400),
    ],
    ids=lambda command: command[:16],
)
def test_cmd_17_every_word_is_judged_fast(command: str) -> None:
    rules = {
        "deny": ("curl", "npm publish", "git * * * x", "a*b*a*b*a*b*c"),
        "allow": ("git * a * b * c", "a*b*a*b*a*b*c *"),
    }
    known = msgspec.structs.replace(OPEN, secret_files=("/w/p/config/credentials.production.json",))
    for situation in (under(CONFINED, **rules), known):
        taken = []
        for _ in range(2):
            began = time.thread_time()
            judge(command, situation)
            taken.append(time.thread_time() - began)
        assert min(taken) < 0.5  # an idle machine takes 0.02 s


@pytest.mark.parametrize(
    "command",
    [
        *("mv a /tmp/b", "mv -t /tmp a", ": > f", "> f", "true >| f", "cp /dev/null f"),
        *("truncate -s0 f", "rm a", "rm /tmp/x a", "rm /tmp/../w/p/x", "git branch -D x"),
    ],
)
def test_a_command_that_loses_a_file_of_the_workspace_needs_a_question(command: str) -> None:
    assert judge(command, CONFINED).rule == "removes"


@pytest.mark.parametrize(
    "command",
    [
        *("source <(echo x)", ". /dev/stdin <<< x", "BASH_ENV=<(echo x) bash -c :", "ENV=x sh a"),
        *("cp x -t.git/hooks", "cp x --target-dir=.git/hooks", "cp -ft .git/hooks x"),
        *("[[ 'a[$(x)]' -gt 1 ]]", "[[ -v 'a[$(x)]' ]]", "echo $((a[$(x)]))", "kill 1"),
    ],
)
def test_cmd_03_a_reader_that_also_runs_or_writes_needs_a_question(command: str) -> None:
    assert decided(command) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *("rm -f /tmp/x", "cd /tmp && rm x", "kill %1", "[[ $x -gt 3 ]]", "i=$((i+1))", "umask"),
        *("pushd src && ls && popd", "bc < x", "nm a.o", "dpkg -l", "ulimit -a", "[[ -f x ]]"),
        *("bundle exec rspec", "rails test", "source .venv/bin/activate", "mv a b", "echo x > f"),
    ],
)
def test_cmd_02_a_command_that_is_harmless_in_the_sandbox_needs_no_question(command: str) -> None:
    assert decided(command) == "allow"


@pytest.mark.parametrize(
    ("command", "widening"),
    [
        ("curl http://localhost:38123/", Widening(hosts=("localhost:38123",))),
        ("curl localhost:3000", Widening(hosts=("localhost:3000",))),
        ("curl https://a.b:443/ http://a.b:81/z", Widening(hosts=("a.b", "a.b:81"))),
        ("git clone https://h.x:8443/a/b", Widening(hosts=("h.x:8443",))),
        ("git fetch origin a:b", Widening(hosts=("*",))),
        ("git push", Widening(unconfined=True)),
        ("git fetch git@github.com:a/b", Widening(unconfined=True)),
        ("git clone ssh://g/x", Widening(unconfined=True)),
    ],
)
def test_net_the_access_that_a_command_needs_is_named_precisely(
    command: str, widening: Widening
) -> None:
    assert judge(command, CONFINED).widening == widening


def test_a_part_of_a_command_names_the_folders_in_which_the_part_runs() -> None:
    parts = judge("cd docs && echo x > y; cat z", CONFINED).parts
    assert [part.folders for part in parts] == [("",), ("docs",), ("docs",), ("", "docs")]


def test_files_that_git_is_configured_to_obey_are_protected() -> None:
    own = msgspec.structs.replace(CONFINED, obeyed=("/w/p/tools/hooks", "/w/p/extra.cfg"))
    for command in ("touch tools/hooks/pre-commit", "echo x > extra.cfg", "cd tools && cp a hooks"):
        assert judge(command, own).rule == "protected"
        assert decided(command) == "allow"


def test_git_needs_a_question_in_an_unapproved_repository() -> None:
    own = msgspec.structs.replace(OPEN, repositories=("/w/p/sub",))
    unknown = ("cd sub && git status", "git -C sub log", "cd $X; git log", "cd sub/a && git diff")
    for command in (*unknown, "git --git-dir sub/.git log", "timeout 5 git -C sub log"):
        assert decided(command, own) == "ask", command
    assert decided("git status", own) == "allow"
    assert decided("git -C sub log", msgspec.structs.replace(own, writes_confined=True)) == "allow"
    closed = msgspec.structs.replace(CONFINED, restricted=("/w/q",))
    assert judge("git -C /w/q log", closed).rule == "restricted folder"
    assert decided("git -C ../q log", closed) == "deny"
    assert decided("git log", closed) == "allow"


def test_pol_11_a_pattern_grants_network_only_in_the_folder_of_the_whole_command() -> None:
    """In another folder, another repository's settings run programs, as do settings on the line."""
    allow = ("git *", "npm *")
    assert confined("git fetch x", allow=allow).by_user
    assert confined("cd sub && npm test", allow=allow).by_user
    for command in ("cd sub && git fetch x", "git -C sub fetch x", "cd sub; npm install"):
        assert not confined(command, allow=allow).by_user, command
    assert not confined("echo x | xargs git fetch", allow=allow).by_user
    for command in ("git -c core.sshCommand=./x fetch x", "git --git-dir=sub/.git fetch x"):
        assert not confined(command, allow=allow).by_user, command


def test_the_sandboxs_own_folders_do_not_cover_the_workspace() -> None:
    own = msgspec.structs.replace(CONFINED, cwd="/tmp/p", roots=("/tmp/p",))
    assert [decided(one, own) for one in ("rm -rf /tmp", "rm -rf /tmp/q")] == ["ask", "allow"]
    assert [decided(one, own) for one in ("mv a /tmp/q", "mv a /tmp/p/b")] == ["ask", "allow"]


def test_a_redirect_with_output_does_not_count_as_emptying_a_file() -> None:
    commands = ["(ls) > f", "{ ls; } > f", "for i in 1; do ls; done > f", "cat <<'E' > f\na\nE"]
    assert [decided(one) for one in [*commands, "cat > f <<E\na\nE"]] == ["allow"] * 5
    assert [decided(one) for one in ("ls; > f", "> f < g", "ls && > f")] == ["ask"] * 3


def test_pol_12_the_command_behind_bundle_exec_is_judged_too() -> None:
    assert confined("bundle exec curl x", deny=("curl",)).decision == "deny"
    assert decided("bundle exec curl x") == "ask"
    assert decided("grep -r x $(pwd)/*/ a") == "ask"


def test_cmd_03_a_variable_that_a_program_may_set_is_unknown() -> None:
    for setting in ("read c", "read 'c'", "read $n", "printf -vc %s ls", "unset c", "read -r a c"):
        command = f"c=echo; while $c curl x; do {setting}; done"
        assert confined(command, deny=("curl",)).decision != "allow", command
    assert decided("value=src; read alue; ls $value") == "allow"
    assert decided('source "/dev/stdin" <<< x') == "ask"
    assert not judge("xxd a -u", OPEN).reads_only


def test_pol_12_a_file_rule_also_applies_to_committed_content() -> None:
    policy = Policy(mode="auto", roots=("/w/p",), rules=PatternRules(deny=("read: private/**",)))
    for command in ("git show HEAD:private/x", "git show :private/x", "git log -p -- private/x"):
        asked = CallFacts("bash", "run", command=command, cwd="/w/p")
        assert isinstance(decide(asked, policy), Deny), command
