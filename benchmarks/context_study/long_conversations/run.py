"""Measures which early statements of the user survive a conversation of 1,000 turns.

    .venv/bin/python benchmarks/context_study/long_conversations/run.py develop

The key turns and the questions (``develop.toml``, ``kept_back.toml``) are written by hand. Turns
between them are made from fixed lists, so each run is the same. The real engine replays the
conversation with extraction instead of a model. A question is answered in the *request* if a line
of the last request matches, in the *notes* if a line of a file of notes that the request names
matches. An answer is *doubted* if each of these lines says that it was perhaps changed. An answer
is in the *words* if only the files of the whole transcript have the line. A line that says that it
was changed is no answer. A revoked statement that is shown as valid is *stale*.
"""

from __future__ import annotations

# ruff: noqa: RUF001 -- words of other scripts are meant
import argparse
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from indwell.context.compaction.presets import PRESETS
from indwell.context.compaction.summarising.task_card import card_limit, task_card
from indwell.context.compaction.summarising.user_notes import note_files
from indwell.context.conversation import user_words
from indwell.context.tokens import estimate_tokens
from indwell.context.work_record import work_of
from indwell.messages import Message, Meta, Text, ToolResult, ToolUse
from indwell.replay.replayed_conversation import ReplayRules, points

HERE = Path(__file__).parent
TURNS = 1_000
SETS = ("develop", "kept_back", "third", "blind_a", "blind_b")
NOUNS = [
    "parser",
    "cart",
    "header",
    "footer",
    "table",
    "form",
    "search",
    "index",
    "worker",
    "queue",
    "client",
    "server",
    "router",
    "session",
    "upload",
    "export",
    "import",
    "report",
    "chart",
    "menu",
    "dialog",
    "editor",
    "filter",
    "sorter",
    "loader",
    "cache",
    "token",
    "hook",
    "script",
    "page",
    "view",
    "model",
    "store",
    "helper",
    "logger",
    "timer",
    "mapper",
    "reader",
    "writer",
]
PARTS = ["api", "core", "web", "jobs", "tools", "ui", "data"]
ENGLISH = (
    "Add a test for the {a} in src/{p}/{a}.py",
    "The {a} in src/{p}/{b}.py fails with an index error, have a look",
    "Rename {a}_{b} to {b}_{a}",
    "Why is the {a} called twice?",
    "Please use a helper for the {a} there",
    "Split the {a} out of {b}.py",
    "The {a} page still looks wrong on small screens.",
    "ok, go on",
    "Now the same for the {b}",
    "Don't recompute the {a} in that loop",
    "Run the tests again",
    "The button of the {a} must be disabled while the {b} loads.",
    "Thanks. Next: the {a} should return an empty list when there is nothing",
    "Explain what the {a} of the {b} does",
    "Keep the old {a} in this function, only change the {b}",
    "It takes {n} seconds now, what's slow?",
    "Remove the unused import in {p}/{a}.py",
    "The {a} has {n} rows in the example.",
    "That is not what I meant, the {b} comes first",
    "Let's try it with the {a} first",
)
GERMAN = (
    "Schreib einen Test für {a} in src/{p}/{a}.py",
    "Der {a} in {b}.py schlägt fehl",
    "Warum wird {a} zweimal aufgerufen?",
    "Benenne {a}_{b} um",
    "Bitte hier keine Schleife über {a}",
    "ok, weiter",
    "Das Beispiel mit {a} hat {n} Zeilen.",
    "Der Knopf für {a} muss gesperrt sein, solange {b} lädt.",
    "Jetzt dasselbe für {b}",
    "Lass die Tests laufen",
)
CHINESE = (
    "给 src/{p}/{a}.py 加一个测试",
    "{b}.py 里的 {a} 报错了，看一下",
    "为什么 {a} 被调用了两次？",
    "把 {a}_{b} 改个名字",
    "继续",
    "这里不要再遍历 {a}",
    "例子里的 {a} 有 {n} 行。",
    "{b} 加载时 {a} 的按钮必须禁用。",
    "{b} 也一样处理",
    "再跑一遍测试",
)


LANGUAGES = ("en", "de", "zh", "fr", "es")
PLACES = ("request", "notes", "doubted", "words", "nowhere")
GO_ON = ("ok, go on", "ok, weiter", "继续")


class Judged(NamedTuple):
    question: str
    place: str  # request, notes, doubted, words or nothing
    is_stale: bool


def conversations(name: str) -> list[dict[str, Any]]:
    with (HERE / f"{name}.toml").open("rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)["conversation"]
    return found


def language(name: str) -> str:
    """Return the code of the language of a conversation, which the name begins with."""
    first = name.split(maxsplit=1)[0].strip("：:")
    named = {"deutsch": "de", "français": "fr", "español": "es"}
    return named.get(first, "zh" if "中文" in name else first if first in LANGUAGES else "en")


def filler(name: str, turn: int, *, may_go_on: bool = True) -> str:
    texts = {"de": GERMAN, "zh": CHINESE}.get(language(name), ENGLISH)
    a, b = NOUNS[(turn * 7) % len(NOUNS)], NOUNS[(turn * 11 + 3) % len(NOUNS)]
    text = texts[(turn * 13 + turn // len(texts)) % len(texts)]
    if text in GO_ON and not may_go_on:
        text = texts[0]
    return text.format(a=a, b=b, p=PARTS[turn * 5 % len(PARTS)], n=turn * 17 % 900 + 2)


def meta(text: str, source: Any, turn: int) -> Meta:
    return Meta(tier=3, source=source, tokens=estimate_tokens(text), turn=turn)


@lru_cache(maxsize=TURNS)
def exchanged(turn: int) -> tuple[str, Message, Message]:
    """Return a path with the call that reads the file, and the result, of a turn."""
    path = f"src/{PARTS[turn % len(PARTS)]}/{NOUNS[turn % len(NOUNS)]}.py"
    arguments = f'{{"path": "{path}"}}'
    use = ToolUse(f"c{turn}", "read_file", arguments, meta(arguments, "assistant", turn))
    body = "\n".join(f"{at}\tvalue_{turn}_{at} = make({at})" for at in range(1, 9))
    result = ToolResult(f"c{turn}", body, meta(body, "tool", turn))
    return path, Message("assistant", (use,), turn), Message("user", (result,), turn)


def messages(one: dict[str, Any], turns: int) -> tuple[Any, ...]:
    """Return the messages of the conversation, in turns of a request, a call and an answer."""

    said = {turn: (text, *ends) for turn, text, *ends in one["said"]}
    made: list[Message] = []
    for turn in range(1, turns + 1):
        # "go on" after a broken turn would finish that turn
        made_up = filler(one["name"], turn, may_go_on=not said.get(turn - 1, ())[1:])
        words, *ends = said.get(turn, (made_up,))
        block = user_words(words, turn=turn)
        if made and made[-1].role == "user":
            made[-1] = Message("user", (*made[-1].blocks, block), turn)
        else:
            made.append(Message("user", (block,), turn))
        path, *exchange = exchanged(turn)
        made += exchange
        if ends != ["broken"]:
            answer = "Which of the two?" if ends else f"Done; see {path}."
            text = Text(answer, meta(answer, "assistant", turn))
            made.append(Message("assistant", (text,), turn))
    return tuple(made) if made[-1].role == "assistant" else tuple(made[:-1])


def replayed(one: dict[str, Any], window: int, turns: int) -> tuple[str, dict[str, str]]:
    """Return the text of the last request, and all files, of a replay by the real engine."""
    rules = ReplayRules(PRESETS["default"], window, ratio=0.0)
    files: dict[str, str] = {}
    last = None
    for last in points(messages(one, turns), rules):
        files.update((spill.name, spill.text) for spill in last.done.spills)
    assert last is not None
    blocks = (block for message in last.conversation.messages for block in message.blocks)
    return "\n".join(getattr(block, "text", "") for block in blocks), files


def carded(one: dict[str, Any], window: int, turns: int) -> tuple[str, dict[str, str]]:
    """Return the task card after all turns, and its files, without a replay."""
    whole = messages(one, turns)
    notes = note_files(work_of(whole).asked(), "spill")
    budget = card_limit(window)
    card = task_card(whole, budget_tokens=budget, notes_in=notes.named)
    assert card is not None
    return card.text, {spill.name: spill.text for spill in notes.spills}


def judged(one: dict[str, Any], request: str, files: dict[str, str]) -> Iterator[Judged]:
    """Answer the questions of a conversation from its last request and the files."""
    notes = "\n".join(t for n, t in files.items() if n in request and n.startswith("notes-"))
    whole = "\n".join(t for n, t in files.items() if not n.startswith("notes-"))
    for question, answer, revoked in one["asked"]:
        place = next(
            (
                where
                for where, text, part in (
                    ("request", request, valid),
                    ("notes", notes, valid),
                    ("doubted", request + "\n" + notes, unrevoked),
                    ("words", whole, unrevoked),
                )
                if any(re.search(answer, part(line), re.IGNORECASE) for line in text.splitlines())
            ),
            "",
        )
        is_stale = bool(revoked) and any(
            re.search(revoked, valid(line), re.IGNORECASE)
            for line in (request + "\n" + notes).splitlines()
        )
        yield Judged(question, place, is_stale)


def valid(line: str) -> str:
    """Return the part of a line that is shown as valid."""
    return "" if "perhaps changed in turn" in line else unrevoked(line)


def unrevoked(line: str) -> str:
    """Return the part of a line that is shown as valid, or as perhaps changed."""
    if re.match(r"- turn \d+(?:, [a-z ]+)?, changed in turn", line):
        return ""
    return re.split(r"; changes turn \d+:", line)[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("which", choices=SETS)
    parser.add_argument("--window", type=int, default=32_000)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--only", default="", help="a part of a conversation's name")
    parser.add_argument("--card", action="store_true", help="judge the card alone, in seconds")
    parser.add_argument("--misses", action="store_true", help="print what is not in the notes")
    given = parser.parse_args()
    tallies: dict[str, Counter[str]] = {}
    for one in conversations(given.which):
        if given.only not in one["name"]:
            continue
        counts = tallies.setdefault(language(one["name"]), Counter())
        made = (carded if given.card else replayed)(one, given.window, given.turns)
        for found in judged(one, *made):
            counts.update((found.place or "nowhere", *(("stale",) * found.is_stale)))
            if given.misses and (found.place not in {"request", "notes"} or found.is_stale):
                print(
                    f"{one['name']}: {found.question} -> {found.place}{' STALE' * found.is_stale}"
                )
        counts["revoked"] += sum(bool(revoked) for _, _, revoked in one["asked"])
    print(f"{given.which}, window {given.window:,}, {given.turns:,} turns")
    for name, counts in ("all", sum(tallies.values(), Counter())), *tallies.items():
        places = {where: counts[where] for where in PLACES}
        print(
            f"  {name}: {sum(places.values())} questions; in the request {places['request']}, in "
            f"the named notes {places['notes']}, only on lines that are perhaps changed "
            f"{places['doubted']}, only in the transcript {places['words']}, nowhere "
            f"{places['nowhere']}; {counts['stale']} of {counts['revoked']} revoked statements "
            "shown as valid"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
