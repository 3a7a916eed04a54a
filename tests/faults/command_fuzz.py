"""Judges random texts as commands: no error, no slow judgement, no hidden command allowed.

The long form takes some minutes:

    python tests/faults/command_fuzz.py 1000000
"""

from __future__ import annotations

import random
import string
import sys
import time

from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation
from indwell.policy.rules import PatternRules

PIECES = [
    "ls",
    "cat",
    "rm",
    "git",
    "-n",
    "a.txt",
    " ",
    " ",
    " ",
    "|",
    "&&",
    ";",
    "\n",
    "&",
    "(",
    ")",
]
PIECES += [
    "$(",
    "`",
    "${",
    "}",
    "$x",
    "'",
    '"',
    "\\",
    "{",
    "[",
    "]",
    "[[",
    "]]",
    "((",
    "))",
    "$((",
    "<<E",
]
PIECES += [
    "\nE\n",
    "<<<",
    ">",
    "<",
    ">>",
    "&>",
    "2>&1",
    "/dev/null",
    "#",
    "=",
    "x=1",
    "for i in",
    "do",
]
PIECES += [
    "done",
    "if",
    "then",
    "fi",
    "case",
    "esac",
    "in",
    "*",
    "?",
    "~",
    "!",
    "@",
    "\t",
    "\r",
    "\x00",
]
PIECES += [
    "\u200b",
    "\ud800",
    "é",
    "🚀",
    "$'",
    "f()",
    "function",
    "echo",
    "find",
    "-exec",
    "sed",
    "awk",
]
PIECES += [
    "{a,b}",
    "xargs",
    "sudo",
    "env",
    "bash -c",
    "eval",
    "a" * 300,
    "\\\n",
    "<(",
    ">(",
    "${x@P}",
]
SITUATIONS = [
    Situation(),
    Situation(writes_confined=True, cwd="/w/p", roots=("/w/p",), secrets=(".env", "*.pem")),
    Situation(
        rules=PatternRules(deny=("rm *",), ask=("git push *",), allow=("git *", "ls")), cwd="/w/p"
    ),
    Situation(reads_only=True, writes_confined=True, roots=("/w",)),
]
SLOW_S = 0.05


def text(chance: random.Random) -> str:
    """Return a text of any characters, of the shell's characters, or of parts of commands."""
    kind = chance.random()
    if kind < 0.1:
        return "".join(chr(chance.randrange(0x110000)) for _ in range(chance.randint(0, 30)))
    if kind < 0.4:
        return "".join(chance.choices(string.printable, k=chance.randint(0, 40)))
    n = 400 if kind > 0.999 else 16
    return "".join(chance.choices(PIECES, k=chance.randint(0, n)))


def run(n: int, seed: int) -> dict[str, float]:
    """Judge ``n`` texts; return the counts of verdicts and the longest time in milliseconds."""
    chance = random.Random(seed)
    tally: dict[str, float] = {"allow": 0, "ask": 0, "deny": 0, "slow": 0, "longest ms": 0}
    for number in range(n):
        if number and number % 100_000 == 0:
            print(f"{number:,}: {tally}", file=sys.stderr, flush=True)
        command = text(chance)
        began = time.thread_time()
        verdict = judge(command, SITUATIONS[number % len(SITUATIONS)])
        taken = time.thread_time() - began
        tally[verdict.decision] += 1
        tally["slow"] += taken > SLOW_S
        tally["longest ms"] = max(tally["longest ms"], taken * 1e3)
        if verdict.decision == "allow":
            assert not any(one in command for one in ("\x00", "\u200b", "\ud800")), command
            # Otherwise the word may be part of a text or a comment.
            is_plain = not any(one in command for one in "#'\\")
            assert not (is_plain and "${x@P}" in command), command
    return tally


if __name__ == "__main__":
    started = time.monotonic()
    found = run(int(sys.argv[1]), int(sys.argv[2] if sys.argv[2:] else 1))
    print(", ".join(f"{value:,.0f} {name}" for name, value in found.items()),
          f"in {time.monotonic() - started:.0f} s")  # fmt: skip
