from __future__ import annotations

import time

import pytest

from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation
from indwell.policy.commands.verdict import CommandVerdict
from indwell.policy.rules import PatternRules, Widening
from indwell.settings.credentials import SECRETS
from policy.commands.labelled import READ_ONLY, dangerous, dangerous_outside, lines

OPEN = Situation(secrets=SECRETS, cwd="/w/p", roots=("/w/p",))
CONFINED = Situation(secrets=SECRETS, cwd="/w/p", roots=("/w/p",), writes_confined=True)
PLAN = Situation(secrets=SECRETS, cwd="/w/p", roots=("/w/p",), reads_only=True)
HELD = Situation(
    secrets=SECRETS, cwd="/w/p", roots=("/w/p",), reads_only=True, writes_confined=True
)


def judged(command: str, situation: Situation = OPEN) -> str:
    return judge(command, situation).decision


def allowed(commands: list[str], situation: Situation = OPEN) -> list[str]:
    return [command for command in commands if judged(command, situation) == "allow"]


def under(allow: str = "", deny: str = "", ask: str = "") -> Situation:
    return Situation(
        rules=PatternRules(*(tuple(filter(None, [one])) for one in (allow, ask, deny)))
    )


def test_cmd_01_none_of_a_thousand_dangerous_commands_runs_without_a_question() -> None:
    commands = list(dict.fromkeys(dangerous()))
    assert len(commands) > 1_000
    assert allowed(commands) == []
    assert allowed(commands, Situation(secrets=SECRETS)) == []


def test_cmd_01_a_sandbox_does_not_excuse_commands_that_reach_beyond_it() -> None:
    commands = dangerous_outside()
    assert len(commands) > 1_000
    assert allowed(commands, CONFINED) == []


def test_cmd_01_plan_mode_allows_no_dangerous_command_as_reading() -> None:
    """In plan mode, nobody is asked, so output of read-only commands is allowed (CMD-13)."""
    passed = allowed(list(dict.fromkeys(dangerous())), PLAN)
    assert [one for one in passed if one != "FOO=bar ls"] == []


def test_cmd_01_in_plan_mode_a_sandbox_allows_no_more_commands_than_otherwise() -> None:
    assert allowed(dangerous_outside(), HELD) == []
    passed = allowed(list(dict.fromkeys(dangerous())), HELD)
    assert allowed(passed, CONFINED) == passed


@pytest.mark.parametrize(
    "command",
    [
        *("go test ./...", "cargo build 2>&1 | tee /tmp/cargo.log", "make check | tail -n 50"),
        *("python3 -m json.tool data.json", "npm test", "bun run test", "./run.sh", "bash run.sh"),
        *("FOO=1 make", "timeout 60 pytest -q", "source .venv/bin/activate && pytest", "make &"),
        *("bash -c 'make'", "python3 - <<'E'\nprint(1)\nE", "black --check .", "xargs make"),
        *("mkdir -p /tmp/o && gcc a.c -o /tmp/o/a", "git log > /tmp/x", "sed -i s/a/b/ /tmp/x"),
    ],
)
def test_in_plan_mode_builds_and_tests_run_only_in_a_sandbox(command: str) -> None:
    verdict = judge(command, HELD)
    assert (verdict.decision, verdict.rule, verdict.is_held) == ("allow", "held read-only", True)
    assert not verdict.reads_only
    assert judged(command, PLAN) == "ask"
    assert not judge(command, CONFINED).is_held


@pytest.mark.parametrize(
    "command",
    [
        *("rm a", "mv a /tmp/b", "cp /tmp/a b", "touch a", "mkdir a", "ln -s a b"),
        *(
            "truncate -s0 a",
            "sed -i s/a/b/ a",
            "perl -pi -e s/a/b/ a",
            "sort -o a b",
            "ls | tee a",
            "make > a",
        ),
        *("git add .", "git commit -m x", "git stash", "git restore a", "git apply a", "git clean"),
        *("git push", "npm install", "pip install x", "go get x", "cargo fmt", "ruff check --fix"),
        *("make install", "black .", "go mod tidy", "patch -p1 < a", "tar xf a.tar", "./a > b"),
        *("tee /tmp/../w/p/a", "tee /tmp/$X", "cp .env /tmp/a", "make; rm a", "bash -c 'rm a'"),
        *("nohup mv a b", "FOO=1 mv a b", "xargs rm", "curl x", "sudo make", "docker ps", "nope"),
        *("cat > x.py <<'E'\nx\nE", "echo a > tmp/a", "echo $(rm a)", "python3 -m pip install x"),
    ],
)
def test_in_plan_mode_commands_meant_to_change_files_never_run(command: str) -> None:
    assert judged(command, HELD) == "ask"


def test_a_workspace_in_tmp_is_not_a_scratch_folder() -> None:
    held = Situation(cwd="/tmp/p", roots=("/tmp/p",), reads_only=True, writes_confined=True)
    assert allowed(["make > a", "make > /tmp/p/a", "make > /tmp/a"], held) == ["make > /tmp/a"]


def test_cmd_02_ordinary_reading_runs_without_a_question() -> None:
    commands = lines(READ_ONLY)
    assert len(commands) > 100
    asked = [one for one in commands if judged(one) != "allow"]
    # CMD-13; moreover, no sandbox hides other programs in this test.
    assert sorted(asked) == ["echo $(git rev-parse HEAD)", "ps aux | grep node"]
    assert allowed(commands, CONFINED) == commands
    planned = [one for one in commands if not judge(one, PLAN).reads_only]
    assert planned == ["ps aux | grep node"]


@pytest.mark.parametrize(
    "command",
    [
        *(
            "npm test",
            "make",
            "go build ./...",
            "pytest -q",
            "python3 x.py",
            "cargo check",
            "./run.sh",
        ),
        *(
            "mkdir a",
            "touch a",
            "cp a b",
            "mv a b",
            "git add .",
            "git commit -m x",
            "tsc",
            "ruff .",
        ),
        *(
            "echo x > a",
            "sed -i s/a/b/ f",
            "git commit -m \"$(cat <<'E'\na\nE\n)\"",
            "x=1; echo $x",
        ),
    ],
)
def test_cmd_02_workspace_commands_need_a_question_unless_a_sandbox_confines_them(
    command: str,
) -> None:
    assert (judged(command), judged(command, CONFINED)) == ("ask", "allow")
    assert judged(command, PLAN) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *("printf -v 'a[$(touch PWN)]' x", "test -v 'a[$(touch PWN)]'", "[ -v 'a[$(touch PWN)]' ]"),
        *("[[ -v a[$(touch PWN)] ]]", "[[ 'a[$(touch x)]' -eq 1 ]]", "echo $((a[$(touch PWN)]))"),
        *("read 'a[$(touch x)]'", "unset 'a[$(touch x)]'", 'printf "$x" a', "printf %n PATH"),
    ],
)
def test_cmd_03_a_command_with_a_running_subscript_is_never_allowed(command: str) -> None:
    assert allowed([command]) == []
    assert allowed([command], CONFINED) == []


@pytest.mark.parametrize(
    "command",
    [
        *("rg >/dev/null a $(evil)", "cat >/dev/null `evil`", "ls 2>/dev/null $(evil) x | wc"),
        *("cat <<< a $(evil)", "{ ls; } >/dev/null; ls </dev/null >/dev/null $(evil)"),
    ],
)
def test_cmd_05_words_after_a_redirect_are_judged(command: str) -> None:
    verdict = judge(command, OPEN)
    assert verdict.decision == "ask"
    assert ("evil",) in [part.words for part in verdict.parts]


def test_cmd_07_find_without_actions_only_reads() -> None:
    ways = ["-exec rm {} ;", "-execdir x", "-ok rm {} \\;", "-okdir x +", "-delete", "-fls f"]
    ways += ["-fprint f", "-fprint0 f", "-fprintf f x", "-exec", "-exec ;", "-files0-from f"]
    assert allowed([f"find . {way}" for way in ways]) == []
    assert allowed([f"find . {way}" for way in ways[:5]], CONFINED) == []
    assert judged("find . -name '*.py' -not -path './x/*' -printf '%p\\n'") == "allow"


def test_cmd_09_sed_that_only_prints_and_replaces_output_is_reading() -> None:
    """The shared case allows only ``-n N,Mp``, but plain replacing also only prints."""
    scripts = [
        "s/a/b/e",
        "s/a/b/w f",
        "w f",
        "1e id",
        "e",
        "r /etc/passwd",
        "1,2w f",
        "s/[/]/x/w f/",
    ]
    assert allowed([f"sed -n '{one}' f" for one in scripts]) == []
    flags = ["-i", "-i.bak", "--in-place", "-n -i", "-f x", "--expression=1e", '-e "$x"']
    assert allowed([f"sed {one} s/a/b/ f" for one in flags]) == []
    safe = ["sed -n 1,5p f", "sed -n '1,$p' f", "sed 's/a/b/g' f", "sed -n '/a/,/b/p' f"]
    assert allowed(safe) == safe


def test_cmd_10_options_that_write_or_run_need_a_question() -> None:
    commands = ["base64 -o f", "sort -o f", "sort --compress-program=x f", "sort --comp=x f"]
    commands += [
        "ls | xargs rm",
        "ls | xargs",
        "ls | tee f",
        "tar --checkpoint-action=exec=x -cf a b",
    ]
    commands += ["awk 'BEGIN{system(1)}'", "awk '{print > \"f\"}'", "date -s 1", "file -C"]
    commands += ["uniq a b", "tree -o f", "xxd -r a b", "jq -nf .env", "rg --pre x y", "man -P x y"]
    assert [one for one in allowed(commands) if one != "ls | xargs"] == []
    assert judged("ls | xargs -n1 echo") == "allow"
    assert judged("ls | xargs -n1 cat") == "ask"


@pytest.mark.parametrize(
    "command",
    [
        *('echo "${x@P}"', "echo ${x=y}", "echo ${x:=y}", "echo ${!x}", "cat <(ls)", "ls >(cat)"),
        *(
            "echo $(ls)",
            "echo `ls`",
            "echo $((1 + 2))",
            "ls {a,b}",
            "ls ~root",
            "cat <<E\n$(ls)\nE",
        ),
        *("coproc ls", "f() { ls; }", "function f { ls; }", "alias ls=x", "cat <<E\nplain\nE"),
    ],
)
def test_cmd_13_expansions_need_a_question_by_default(command: str) -> None:
    assert judged(command) == "ask"


def test_cmd_13_in_plan_mode_expansions_in_reading_commands_are_allowed() -> None:
    assert allowed(["echo $(ls) done", "echo $((3 > 2))"], PLAN) == [
        "echo $(ls) done",
        "echo $((3 > 2))",
    ]
    assert allowed(["echo $(rm x)", "echo ${x@P}", "cat <(rm x)", "cat $(ls)"], PLAN) == []


@pytest.mark.parametrize(
    "command",
    [
        *(
            "FOO=bar ls",
            "FOO=bar cmd",
            "export PAGER=x",
            "declare x=1",
            "typeset x=1",
            "readonly x=1",
        ),
        *("unset x", "set -x", "shopt -s x", "trap ls EXIT", "source x", ". x", "x=1", "PATH=. ls"),
        *("LD_PRELOAD=./x ls", "GIT_PAGER=sh git log", "LC_ALL=$(x) ls", "IFS=x", "x+=(a)"),
    ],
)
def test_cmd_14_assignments_and_state_need_a_question(command: str) -> None:
    assert judged(command) == "ask"


def test_cmd_14_in_plan_mode_only_harmless_variables_may_be_set() -> None:
    assert allowed(["FOO=bar ls"], PLAN) == ["FOO=bar ls"]
    names = [
        "PATH",
        "LD_PRELOAD",
        "BASH_ENV",
        "GIT_PAGER",
        "PAGER",
        "IFS",
        "ENV",
        "X_OPTIONS",
        "foo",
    ]
    assert allowed([f"{name}=bar ls" for name in names], PLAN) == []
    assert allowed(["FOO=bar git log", "FOO=$x ls", "FOO=bar"], PLAN) == []


@pytest.mark.parametrize(
    "command",
    [
        *("/proc/self/root/usr/bin/curl x", "./ls", "../ls", "/lib64/ld-linux-x86-64.so.2 ./x"),
        *(
            "busybox sh",
            "env sh",
            "nice sh",
            "nohup x",
            "timeout 5 x",
            "xargs x",
            "command x",
            "exec x",
        ),
        *("sudo ls", "env -S 'sh -c id'", "/usr/bin/../../tmp/x", "stdbuf -o0 x", "setsid x"),
    ],
)
def test_cmd_15_programs_are_recognised_behind_paths_and_wrappers(command: str) -> None:
    assert judged(command) == "ask"
    assert allowed(["/usr/bin/ls", "env ls", "timeout 5 ls", "nice -n 5 cat a", "command -v x"])


def test_cmd_15_a_denied_command_is_denied_behind_any_wrapper() -> None:
    ways = [
        "rm x",
        "/bin/rm x",
        "r\\m x",
        "r''m x",
        "RM x",
        "env rm x",
        "env -i A=b rm x",
        "nice rm x",
    ]
    ways += [
        "timeout 5 rm x",
        "timeout -s 9 5 rm x",
        "ls | xargs -n1 rm",
        "command rm x",
        "sudo rm x",
    ]
    ways += ["sudo -u a rm x", "nohup rm x", "exec -a y rm x", "busybox rm x", "bash -c 'rm x'"]
    ways += [
        "bash -c \"sh -c 'rm x'\"",
        "eval rm x",
        "eval 'rm x'",
        "x=rm; $x y",
        "(rm x)",
        "f() { rm x; }",
    ]
    ways += [
        "echo $(rm x)",
        "echo `rm x`",
        "cat <(rm x)",
        "if a; then rm x; fi",
        "ls & rm x",
        "rm x &",
    ]
    ways += [
        "case a in b) rm x;; esac",
        "find . -exec rm {} +",
        "bash <<E\nrm x\nE",
        "! rm x",
        "rm>/dev/null x",
    ]
    ways += [
        "cat <<E\n$(rm x)\nE",
        "trap 'rm x' EXIT",
        "ssh h rm x",
        "su -c 'rm x'",
        "(rm x",
        "rm x \u200b",
    ]
    for rules in (under(deny="rm *"), under(allow="*", deny="rm")):
        assert [one for one in ways if judged(one, rules) != "deny"] == []


def test_cmd_16_cd_affects_the_following_commands() -> None:
    asked = [
        'cd "$(evil)" && ls',
        "cd ~ && cat x",
        "cd .. && cat x",
        "cd sub && cat ../../x",
        "cd - && ls",
    ]
    asked += ["cd sub; cat ../x", "cd /etc && cat x", "cd && ls", "cd $x && ls", "pushd / && ls"]
    assert allowed(asked) == []
    assert judged("cd sub && rm ../../x", CONFINED) == "ask"
    assert judge("cd sub && touch ../../x", CONFINED).widening == Widening(unconfined=True)
    fine = [
        "cd sub && cat ../x",
        "cd /w/p/sub && ls",
        "(cd sub) && cat x",
        "cd sub && cd .. && cat x",
    ]
    assert allowed(fine) == fine


@pytest.mark.parametrize(
    "command",
    [
        *(
            "a" * 10_000_000,
            "(" * 10_000,
            "ls;" * 5_000,
            "<<E\n" * 1_500,
            "a|" * 4_000,
            "$(" * 3_900,
        ),
        *(
            "env " * 1_900,
            "-a " * 2_600,
            "[ " * 3_900,
            "{ " * 3_900,
            "git log;" * 990,
            "\\\n" * 3_900,
        ),
        *("{a,b}" * 1_500, '"$(' * 2_600, "cd a;cd b;" * 790, "ls *.pem " * 880, "eval " * 1_500),
    ],
    ids=lambda command: command[:9],
)
def test_cmd_17_every_command_is_judged_fast_at_any_depth(command: str) -> None:
    """The time is below 50 ms on an idle machine; the limit here allows for a busy machine."""
    rules = PatternRules(deny=("rm *", "git push *"), ask=("a *",), allow=("git *",))
    situation = Situation(rules=rules, secrets=SECRETS, cwd="/w/p", roots=("/w/p",))
    taken = []
    for _ in range(3):
        began = time.thread_time()
        verdict = judge(command, situation)
        taken.append(time.thread_time() - began)
    assert min(taken) < 0.6
    assert verdict.decision != "allow" or command.startswith(("git log", "cd"))


def test_cmd_17_a_command_too_long_to_read_is_denied_if_a_deny_rule_exists() -> None:
    command = "ls;" * 5_000 + "rm x"
    assert judged(command) == "ask"
    assert judged(command, under(deny="rm *")) == "deny"


@pytest.mark.parametrize(
    "command", ["ls (", "if ls", "ls 'a", "for", "ls )", "a=(", "ls <<E", "((("]
)
def test_cmd_20_a_command_that_cannot_be_parsed_needs_a_question(command: str) -> None:
    assert judged(command) == judged(command, CONFINED) == "ask"
    assert judged(command, under(allow="*")) == "ask"


def test_hidden_characters_in_a_command_need_a_question_that_names_them() -> None:
    verdict = judge("ls \u200bx", CONFINED)
    assert (verdict.decision, verdict.reason) == ("ask", "contains the invisible character U+200B")
    assert allowed(["echo 'é – 🚀'"]) == ["echo 'é – 🚀'"]


def test_a_verdict_names_the_deciding_rule_reason_and_position() -> None:
    verdict = judge("ls é && git push origin", OPEN)
    ls, push = verdict.parts
    assert (ls.text, ls.decision, ls.rule) == ("ls é", "allow", "read-only")
    assert (push.text, push.start, push.words) == ("git push origin", 8, ("git", "push", "origin"))
    assert (verdict.decision, verdict.rule) == ("ask", "network")
    # no sandbox offers keys to the command (U11)
    assert verdict.widening == Widening(unconfined=True)
    assert verdict.reason == "'git push' sends your work to another machine"


def test_an_empty_command_and_comments_are_allowed() -> None:
    assert judge("", OPEN) == CommandVerdict("allow", "read-only", reads_only=True)
    assert allowed(["  \n", "# ls", "ls # > f"]) == ["  \n", "# ls", "ls # > f"]


@pytest.mark.parametrize(
    ("command", "widening"),
    [
        ("curl -s https://example.com/x", Widening(hosts=("example.com",))),
        ("curl -x http://p https://example.com/x", Widening(hosts=("*",))),
        ("git clone https://github.com/a/b", Widening(hosts=("github.com",))),
        ("git fetch", Widening(hosts=("*",))),
        ("sudo ls", Widening(unconfined=True)),
        ("touch /etc/x", Widening(unconfined=True)),
        ("cat .env", Widening(shows_secrets=True)),
        ("rm x", Widening()),
    ],
)
def test_a_question_names_what_the_command_needs_beyond_the_sandbox(
    command: str, widening: Widening
) -> None:
    verdict = judge(command, CONFINED)
    assert (verdict.decision, verdict.widening) == ("ask", widening)


def test_pol_01_protected_files_need_a_question_by_every_command_that_writes() -> None:
    names = [".git/hooks/pre-commit", ".vscode/tasks.json", ".github/workflows/x.yml", ".envrc"]
    names += ["package.json", "sub/.git/config", ".GIT/config", "./x/../.husky/y", "AGENTS.md"]
    ways = ["echo x > {}", "echo x >> {}", "tee {}", "cp x {}", "mv x {}", "touch {}", "ln -s x {}"]
    ways += [
        "sed -i s/a/b/ {}",
        "chmod +x {}",
        "mkdir -p {}",
        "install x {}",
        "ls 2> {}",
        "mv {} y",
    ]
    commands = [way.format(name) for way in ways for name in names]
    assert allowed(commands, CONFINED) == []
    loose = Situation(
        rules=PatternRules(allow=("*",)), writes_confined=True, cwd="/w/p", roots=("/w/p",)
    )
    assert allowed(commands, loose) == []
    assert {judge(one, CONFINED).rule for one in commands} <= {"protected", "secret"}


def test_sec_without_a_sandbox_searching_beside_a_secret_file_needs_a_question() -> None:
    known = Situation(
        secrets=SECRETS, cwd="/w/p", roots=("/w/p",), secret_files=("/w/p/a/.env", "/w/p/k")
    )
    asked = [
        "grep -r x .",
        "grep -r x a",
        "cat *",
        "cat k",
        "cat k/id",
        "rg -uuu x",
        "diff -r . a",
        "cat */.e*",
    ]
    assert allowed(asked, known) == []
    fine = ["grep -r x b", "grep -rn --include=*.py x .", "ls -la", "cat b/*", "rg x a", "find ."]
    assert allowed(fine, known) == fine


def test_in_a_sandbox_outside_files_may_be_read_but_folders_not_searched() -> None:
    fine = ["cat /etc/hosts", "cat ../x", "grep -r x /usr/include", "ls /home", "head ~/x"]
    assert allowed(fine, CONFINED) == fine
    assert allowed(["grep -r x ..", "rg x ~", "cat ../*/x", "rg x /home"], CONFINED) == []
