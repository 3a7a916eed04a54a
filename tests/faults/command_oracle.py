"""Runs allowed commands in real bash with stub programs; only analysed programs may run.

Each stub records its arguments, and the analysis must have seen each of these commands. A stub's
output would run further stubs if bash evaluated the output. The long form:

    python tests/faults/command_oracle.py 10000
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation
from indwell.policy.shell.items import Simple
from indwell.policy.shell.parse import ShellReading
from indwell.policy.shell.words import HOME, STAR, UNKNOWN, Word

READERS = ["ls", "cat", "rg", "grep", "wc", "head", "tail", "sort", "uniq", "cut", "tr", "git"]
READERS += ["find", "sed", "echo", "printf", "pwd", "stat", "basename", "true", "diff", "jq", "awk"]
READERS += ["test", "xargs", "nl", "date", "base64", "[", "which", "env", "timeout", "nice"]
EVIL = ["PWN", "evil", "rm", "touch", "sh", "bash", "curl", "x", "a", "b", "c", "f", "E"]
BUILTINS = "echo printf test [ true false pwd type kill"

TOKENS = [*READERS, *READERS, *EVIL, "-n", "-l", "-la", "--", "-", "a.txt", "b.py", "src", "*.py"]
TOKENS += [" "] * 60
TOKENS += [
    "|",
    "||",
    "&&",
    ";",
    "&",
    "\n",
    "|&",
    ";;",
    "(",
    ")",
    "{",
    "}",
    "!",
    "{ ",
    " }",
    "((",
    "))",
]
TOKENS += [
    ">",
    ">>",
    "<",
    "<<",
    "<<<",
    ">&",
    "<&",
    ">|",
    "&>",
    "<>",
    "2>&1",
    ">/dev/null",
    "2>/dev/null",
]
TOKENS += [
    "</dev/null",
    "&>/dev/null",
    "<<E",
    "<<'E'",
    "\nE\n",
    ">&2",
    "1>&2",
    "{fd}>/dev/null",
    "3>&-",
]
TOKENS += [
    "$x",
    "${x}",
    "$(",
    "`",
    "$((",
    "${x:-",
    "${!x}",
    "${x@P}",
    "${#x}",
    "$'a\\'b'",
    '$"a"',
    "$@",
    "$",
]
TOKENS += [
    "'",
    '"',
    "\\",
    "\\\n",
    "#",
    " #",
    "''",
    '""',
    "'a b'",
    '"a b"',
    "'$(PWN)'",
    '"$x"',
    "\\;",
    "\\|",
]
TOKENS += [
    "=",
    "a=b",
    "x=1 ",
    "for f in a b; do",
    "for c in echo; do ",
    "done; ",
    "$c PWN",
    "`PWN`",
    "cat <<E\n",
    "-I echo ",
    "nice echo ",
    "printf %2n PATH; ",
    "done",
    "do",
    "if true; then",
    "fi",
    "else",
    "while",
    "f()",
]
TOKENS += [
    "case a in",
    "esac",
    "a)",
    "[[",
    "]]",
    "function",
    "time",
    "coproc",
    "select",
    "until",
    "then",
    "in",
]
TOKENS += [
    "{a,b}",
    "~",
    "~root",
    "?",
    "[ab]",
    "[",
    "]",
    "+(a)",
    "@(a)",
    "!(a)",
    "-exec",
    "-name",
    "-e",
    "p",
    "1,5p",
]
TOKENS += [
    "é",
    "\t",
    "\r",
    "\v",
    "\f",
    "\u00a0",
    "%s",
    "\\n",
    "$RANDOM",
    "<(",
    ">(",
    "=(",
    "^",
    ",",
    ":",
    "@",
    "%",
]

SEEDS = [
    "ls -la | wc -l", "cat a.txt b.py 2>/dev/null | sort | uniq -c", "rg -n foo src && echo done",
    "git log --oneline -5 | head", "for f in a.txt *.py; do echo $f; done", "echo $(pwd) done",
    "find . -name '*.py' | head -3; pwd", "if [ -f a.txt ]; then cat a.txt; else echo no; fi",
    "echo \"a $(git status | wc -l) b\" 'c'", "(cd src && ls) | cat", "! grep -q x a.txt || echo y",
    "sed -n '1,5p' a.txt | tr a b >/dev/null 2>&1", "head -n 3 a.txt # note", "{ pwd; ls; } | wc",
    "while false; do echo a; done < /dev/null", "printf '%s\\n' a \"b c\" | nl", "cat <<< 'a b'",
    "timeout 5 ls src", "echo a.txt | xargs -n1 echo", "LC_ALL=C sort a.txt | head", "ls src/{a,b}",
    "grep -rn 'x y' --include=*.py . | cut -d: -f1", "awk '{print $1}' a.txt",
    "echo ${HOME} ~ a\\ b",
]  # fmt: skip

STUB = """#!/bin/sh
printf '%s\\0' "${0##*/}" "$@" > "$ORACLE_LOG.$$"
printf '%s\\n' '$(PWN) `PWN` ; PWN | PWN' '-exec PWN' '*' 'a.txt'
"""
RUN = """shift; enable -n BUILTINS; n=0
for one in "$@"; do
  n=$((n + 1)); builtin eval 'ORACLE_LOG=$ORACLE_BASE.$n'; export ORACLE_LOG
  ( eval "$one" ) </dev/null >/dev/null 2>&1
done
""".replace("BUILTINS", BUILTINS)
BATCH = 40
PLAN = Situation(reads_only=True)  # all commands that run by default, and substitutions (CMD-13)


def generated(chance: random.Random) -> str:
    """Return a command: random tokens, or an ordinary line with random changes of tokens."""
    if chance.random() < 0.25:
        return "".join(chance.choice(TOKENS) for _ in range(chance.randint(1, 14)))
    line = chance.choice(SEEDS)
    if chance.random() < 0.3:
        line += chance.choice([" | ", "; ", " && ", "\n", " || "]) + chance.choice(SEEDS)
    pieces = re.findall(r"\w+|\s+|.", line, re.DOTALL)
    for _ in range(chance.randint(0, 4)):
        at = chance.randrange(len(pieces) + 1)
        match chance.randrange(4):
            case 0:
                pieces[at : at + 1] = []
            case 1:
                pieces[at : at + 1] = [chance.choice(TOKENS)]
            case _:
                pieces.insert(at, chance.choice(TOKENS))
    return "".join(pieces)


def escapes(allowed: list[str], folder: Path) -> tuple[int, list[str]]:
    """Run commands with stub programs; return their number, and the unexpected programs."""
    bin_, work, logs = folder / "bin", folder / "work", folder / "logs"
    for one in (bin_, work, work / "src", logs):
        one.mkdir(parents=True, exist_ok=True)
    for name in {*READERS, *EVIL, "PWN", "false", "type", "kill", "sleep"}:
        path = bin_ / name
        path.write_text(STUB + ("exit 1\n" if name == "false" else ""))
        path.chmod(0o755)
    for name in ("a.txt", "b.py", "src/c.py", "-n", "--pre=PWN"):
        (work / name).write_text("x\n")
    before = sorted(one.name for one in work.iterdir())
    found = []
    n_ran = 0
    environment = {"PATH": str(bin_), "HOME": str(work), "ORACLE_BASE": str(logs / "log")}
    for begin in range(0, len(allowed), BATCH):
        batch = allowed[begin : begin + BATCH]
        for one in logs.iterdir():
            one.unlink()
        process = subprocess.Popen(
            ["/bin/bash", "--norc", "-c", RUN, "bash", "-", *batch],
            cwd=work, env=environment, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(20)
        # The command has an endless loop; the programs that ran before it count.
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for number, command in enumerate(batch, start=1):
            ran = [log.read_bytes()[:-1] for log in logs.glob(f"log.{number}.*")]
            n_ran += len(ran)
            found += unread(command, [one.decode("utf-8", "surrogateescape") for one in ran])
        if sorted(one.name for one in work.iterdir()) != before:
            found.append(
                f"files changed by one of {batch!r}: {sorted(one.name for one in work.iterdir())}"
            )
            break
    return n_ran, found


def unread(command: str, ran: list[str]) -> list[str]:
    """Return the programs that ran although the analysis had not found them."""
    simple = [item for item in ShellReading(command).items if isinstance(item, Simple)]
    seen = [re.compile(_pattern(item.words[at:]), re.DOTALL) for item in simple
            for at in range(min(3, len(item.words)))]  # fmt: skip
    return [
        f"{command!r} ran {one.split(chr(0))!r}"
        for one in ran
        if not any(each.fullmatch(f"{one}\0") for each in seen)
    ]


def _pattern(words: tuple[Word, ...]) -> str:
    ways = ["|".join(_word(one, word.splits) for one in word.options) for word in words]
    return "".join(f"(?:{way}){'*' * word.splits}" for way, word in zip(ways, words, strict=True))


def _word(text: str, splits: bool) -> str:  # noqa: FBT001 - a word has two kinds
    marks = f"[{UNKNOWN}{STAR}{HOME}]"
    body = (
        re.sub(r"(?:\\?[\0\1\2])+", "[^\\0]*", re.escape(text))
        if re.search(marks, text)
        else re.escape(text)
    )
    if splits and UNKNOWN in text:
        return "(?:[^\\0]*\\0)*"
    return f"(?:{body}\\0)*" if splits or STAR in text else f"{body}\\0"


def run(n: int, seed: int, folder: Path) -> tuple[int, int, list[str]]:
    """Generate until ``n`` commands are allowed; run them. Return counts and the escapes."""
    chance = random.Random(seed)
    allowed: list[str] = []
    n_generated = 0
    while len(allowed) < n:
        command = generated(chance)
        n_generated += 1
        if judge(command, PLAN).decision == "allow" and command.strip():
            allowed.append(command)
    return n_generated, *escapes(allowed, folder)


if __name__ == "__main__":
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        made, let, escaped = run(
            int(sys.argv[1]), int(sys.argv[2] if sys.argv[2:] else 1), Path(place)
        )
    print(f"{made:,} made, {sys.argv[1]} allowed, {let:,} programs run, {len(escaped)} escapes, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip
    print("\n".join(escaped[:40]))
