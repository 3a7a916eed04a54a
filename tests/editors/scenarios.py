"""Lists the scenarios that each real editor plays, with a loopback server as the model.

One run of an editor plays several scenarios, since starting the editor takes most of the time. The
editor's script reports observations under common names. Functions of this module check the reported
observations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from support.loopback_endpoint import HANG, Answer, Seen, chunk, refuse, say, sse

PATH = "lib/shop.py"
FIRST, LAST = 4, 6  # the first function has these lines
OLD = ("and amount > 50", "weight * 2", "length - 3")
NEW = ("and amount >= 50  # as promised 🙂", "weight * 20", "length - 30")
LINES = (6, 14, 22)  # the three faults are in these lines
TEXT = '''"""Helpers of the shop, é 🙂."""


def is_free(amount):
    """Say whether an order ships free."""
    return "é🙂" != "🙂" and amount > 50


# ----------------------------------------------------------------


def price(weight):
    """Say what a parcel costs."""
    return weight * 2


# ----------------------------------------------------------------


def tape(length):
    """Say how much tape it takes."""
    return length - 3
'''
MENDED = TEXT.replace(OLD[0], NEW[0])
CHANGED = MENDED.replace(OLD[1], NEW[1]).replace(OLD[2], NEW[2])
FILES = {PATH: TEXT, "README.md": "# Shop\n"}
# a command that deletes needs permission, with and without a sandbox
ASKED = "rm -f gone; echo checked"
LOOKED = f"cat {PATH}"
ACTION = "Fix this"
COUNTED = f"{PATH} +1 −1"
MINE = "  # mine"
QUESTION = "What does is_free do?"
REPLY = "It says whether an order ships free. 🙂\n\nNothing else."
USAGE = {"prompt_tokens": 10, "completion_tokens": 2}


def tool(name: str, **arguments: Any) -> Answer:
    """Return a reply that uses one tool."""
    return say(calls=[(name, json.dumps(arguments))], usage=USAGE)


def edits(*pairs: tuple[str, str]) -> Answer:
    """Return a reply that edits the project's file."""
    return tool("edit_file", path=PATH, edits=[{"old": old, "new": new} for old, new in pairs])


READ = tool("read_file", path=PATH)
DONE = say("Done.", usage=USAGE)
STUCK = Answer(
    (sse(chunk({"content": "I am thinking"})), HANG), headers={"Content-Type": "text/event-stream"}
)


class Model:
    """Answers with each reply in turn, and records the requests.

    Attributes:
        bodies: The bodies of the requests for a completion, oldest first.
    """

    def __init__(self, replies: Sequence[Answer]) -> None:
        self.bodies: list[dict[str, Any]] = []
        self._replies = list(replies)

    def __call__(self, seen: Seen) -> Answer:
        """Answer a request, as the script of a ``LoopbackEndpoint``."""
        if seen.path != "/v1/chat/completions":
            return refuse(404, "no such page")
        self.bodies.append(seen.body)
        return self._replies.pop(0) if self._replies else refuse(400, "nothing more to say")

    def results(self) -> list[str]:
        """Return the results of the tools without repeats, oldest first."""
        last = self.bodies[-1]["messages"] if self.bodies else []
        return [_text(one["content"]) for one in last if one["role"] == "tool"]


def _asked(model: Model, number: int) -> str:
    """Return the user's text in a request."""
    messages = model.bodies[number]["messages"]
    return "\n".join(_text(one["content"]) for one in messages if one["role"] == "user")


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


Check = Callable[[Mapping[str, Any], Model], None]


@dataclass(frozen=True)
class Run:
    """One start of an editor.

    Attributes:
        replies: The model's replies, in order.
        checks: The check of each scenario, which raises an error for a wrong report.
    """

    replies: tuple[Answer, ...]
    checks: Mapping[str, Check]


# --- fixing a problem, with a formatter that runs when the user saves


def formatted(text: str) -> str:
    """Return a text as the formatter of the scenarios saves it."""
    return text.replace(NEW[0], NEW[0].replace("  #", " #")).replace("é 🙂.", "É 🙂.")


def _fix(seen: Mapping[str, Any], model: Model) -> None:
    if "titles" in seen:
        assert seen["titles"][0] == ACTION
    else:  # the user writes a prompt
        assert all(part in _asked(model, 0) for part in (ACTION, f"{PATH}#L{FIRST}-{LAST}", OLD[0]))
    assert seen["buffer"] == MENDED
    shown = json.dumps(seen, ensure_ascii=False)
    assert seen.get("receipt", f"Indwell: done · {COUNTED}") in shown, "the turn says what changed"


def _formatter(seen: Mapping[str, Any], model: Model) -> None:
    assert seen["saved"] == seen["disk"] == formatted(MENDED)
    assert seen["again"] == formatted(MENDED).replace(OLD[1], NEW[1])
    assert "É 🙂" in model.results()[2], "the model reads what the formatter made"


def _one_undo(seen: Mapping[str, Any], _model: Model) -> None:
    assert seen.get("undone") == TEXT
    assert seen.get("redone") == MENDED


FIX = Run(
    (READ, edits((OLD[0], NEW[0])), DONE, READ, edits((OLD[1], NEW[1])), DONE),
    {"fix": _fix, "one undo per edit": _one_undo, "formatter on save": _formatter},
)

# --- a permission question, and unsaved text before a command


def _permission(seen: Mapping[str, Any], model: Model) -> None:
    first, second = seen["questions"][:2]
    for question in (first, second):
        assert question["titles"][:2] == ["No", "Once"]
        assert f"{seen.get('mark', '│ ')}{ASKED}" in question["prompt"]
    refused, allowed = model.results()[:2]
    assert "checked" not in refused.replace(ASKED, "")
    assert "checked" in allowed
    assert seen["refused"] == {"buffer": TEXT, "disk": TEXT}


def _unsaved(seen: Mapping[str, Any], model: Model) -> None:
    _kept(seen, model)
    assert "# mine" in seen["disk"]
    assert "# mine" in model.results()[3], "the command sees what the user sees"


def _kept(seen: Mapping[str, Any], model: Model) -> None:
    """Check that the agent reads the user's typed text and does not overwrite it."""
    assert seen["buffer"] == TEXT.replace(OLD[0], f"{OLD[0]}{MINE}")
    assert f"{OLD[0]}{MINE}" in model.results()[2]


ASK = Run(
    (
        *(tool("bash", command=ASKED), DONE),
        *(tool("bash", command=ASKED), DONE),
        *(READ, tool("bash", command=LOOKED), DONE),
    ),
    {
        "permission question": _permission,
        "unsaved text before a command": _unsaved,
        "unsaved text is kept": _kept,
    },
)

# --- cancel

MOST_STOPPED_S = 3.0  # most seconds that an editor waits for a command, on a slow machine


def _cancel(seen: Mapping[str, Any], _model: Model) -> None:
    assert seen["took"] < MOST_STOPPED_S * 1_000, "milliseconds; the model itself never ends"
    assert seen["buffer"] == seen["disk"] == TEXT


CANCEL = Run((STUCK,), {"cancel": _cancel})

# --- reviewing three hunks of one turn


def _accept(seen: Mapping[str, Any], _model: Model) -> None:
    if "by_hunk" in seen:  # the door asks about each hunk before the edit
        assert all(new in hunk for new, hunk in zip(NEW, seen["by_hunk"], strict=True))
        assert NEW[0] in seen["buffer"]
        return
    assert "Accept this change" in seen["offered"]
    assert seen["buffer_accepted"] == CHANGED
    assert "Accept this change" not in seen["offered_accepted"], "it is settled"
    assert "Accept this change" in seen["offered_other"], "the others are not"


def _reject(seen: Mapping[str, Any], _model: Model) -> None:
    if "by_hunk" in seen:
        assert seen["buffer"] == CHANGED.replace(NEW[1], OLD[1])
        return
    assert "Reject this change" in seen["offered"]
    assert seen["buffer_rejected"] == CHANGED.replace(NEW[1], OLD[1])
    assert "Reject this change" in seen["offered_last"]
    # Emacs waits for the command's answer, and sends no change meanwhile.
    assert seen.get("reject_took", 0) < MOST_STOPPED_S


def _rewind(seen: Mapping[str, Any], _model: Model) -> None:
    assert seen.get("buffer_rewound") == TEXT


REVIEW = Run(
    (READ, edits(*zip(OLD, NEW, strict=True)), DONE),
    {"hunk accept": _accept, "hunk reject": _reject, "rewind": _rewind},
)

# --- the chat document


def _chat(seen: Mapping[str, Any], model: Model) -> None:
    assert seen.get("chat_path", ".chat.md").endswith(".chat.md")
    chat = seen["chat"]
    assert chat.index(QUESTION) < chat.index("It says whether an order ships free. 🙂")
    assert QUESTION in json.dumps(model.bodies[0]["messages"][-1], ensure_ascii=False)


CHAT = Run((say(REPLY, usage=USAGE),), {"chat document": _chat})

RUNS = {"fix": FIX, "ask": ASK, "cancel": CANCEL, "review": REVIEW, "chat": CHAT}
SCENARIOS = {name: run for run, one in RUNS.items() for name in one.checks}
