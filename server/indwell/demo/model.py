"""The scripted model of the demo: acts on what the tools return, as a model would, without one.

A pure function from a request to a reply. It reads the file and the tests, runs the check, tries
the most likely repair, runs the check again, and goes on until the check passes. Everything it
knows stands in the request.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from indwell.demo.project import CHECK
from indwell.demo.repairs import Repair, repairs
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import Message, Reply, Request, Text, ToolCall, ToolResult, ToolUse

NAME = "scripted-demo"
"""The model's name wherever a model is named."""

WHAT_IT_IS = (
    "This is the scripted model that ships with Indwell, not a language model: it can mend one "
    "small fault in a Python function that has a test. For anything else set OPENAI_API_KEY (or "
    "OPENAI_BASE_URL for a local endpoint) and choose a model with INDWELL_MODEL."
)

_SELECTION = lazy_pattern(r"The user selected lines? (\d+)(?:-(\d+))? of (\S+?)(?: \(|:)")
_MOST_TRIES = 12


class _Exchange(NamedTuple):
    """A call of this turn and what came back."""

    call: ToolUse
    result: ToolResult


def answer(request: Request) -> Reply:
    """The next reply of the scripted model."""
    turn = request.messages[-1].turn
    words = _last(request, turn, "user")
    marked = _SELECTION.search(_last(request, turn, "ide_selection") or _any_selection(request))
    if not words.lower().startswith("fix") or marked is None:
        return Reply(text=WHAT_IT_IS)
    path = marked[3]
    first, last = int(marked[1]), int(marked[2] or marked[1])
    return _mend(_exchanges(request.messages, turn), path, first, last)


def _mend(done: list[_Exchange], path: str, first: int, last: int) -> Reply:
    """Look, check, try a repair, check again."""
    reading = next((one for one in done if one.call.name == "read_file"), None)
    if reading is None:
        return _say(
            "I read the function and look for its tests.",
            _call(done, "read_file", path=path),
            _call(done, "glob", pattern="**/test*.py"),
        )
    checks = [one for one in done if one.call.name == "bash"]
    if not checks:
        return _say("Now the check, to see it fail.", _call(done, "bash", command=CHECK))
    if _refused(checks[-1]):
        return Reply(
            text=f"Without running `{CHECK}` I cannot see what fails, so I changed nothing."
        )
    edits = [one for one in done if one.call.name == "edit_file"]
    passed = _passes(checks[-1])
    if passed and not edits:
        return Reply(text="The check passes already; there is nothing to mend here.")
    if passed:
        return Reply(text=_closing(edits[-1], len(edits)))
    if done[-1].call.name == "edit_file" and not done[-1].result.is_error:
        return _say("And the check again.", _call(done, "bash", command=CHECK))
    if edits and edits[-1].result.is_error:
        return Reply(text=f"The edit was not taken: {edits[-1].result.text}")
    return _try(done, _function(reading.result.text, first, last), path, len(edits))


def _try(done: list[_Exchange], function: str, path: str, tried: int) -> Reply:
    candidates = repairs(function)[:_MOST_TRIES]
    if tried >= len(candidates):
        return Reply(text=f"I tried {tried} repairs and the check still fails. {WHAT_IT_IS}")
    lines = function.split("\n")
    now = _applied(lines, candidates[tried - 1]) if tried else lines
    old, new = _smallest(now, _applied(lines, candidates[tried]))
    said = "That was not it. Next:" if tried else "The docstring and the code disagree:"
    wanted = candidates[tried]
    return _say(
        f"{said} `{wanted.old.strip()}` should be `{wanted.new.strip()}`.",
        _call(done, "edit_file", path=path, edits=[{"old": old, "new": new}]),
    )


def _applied(lines: list[str], repair: Repair) -> list[str]:
    return [*lines[: repair.number], repair.new, *lines[repair.number + 1 :]]


def _smallest(now: list[str], then: list[str]) -> tuple[str, str]:
    """From the function's head to the last line that differs: unique, as the name is."""
    last = max(index for index, line in enumerate(now) if line != then[index])
    return "\n".join(now[: last + 1]), "\n".join(then[: last + 1])


def _function(listing: str, first: int, last: int) -> str:
    """The source of the function that the selected lines are of, from what read_file gives."""
    numbered = re.findall(r"^\s*(\d+)\t(.*)$", listing, re.MULTILINE)
    first, last = _enclosing([text for _, text in numbered], first, last)
    lines = [text for number, text in numbered if first <= int(number) <= last]
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def _enclosing(lines: list[str], first: int, last: int) -> tuple[int, int]:
    """First and last line, 1-based, of the function around a line: one line is enough to mark."""
    head = next(
        (
            at
            for at in range(min(first, len(lines)), 0, -1)
            if lines[at - 1].lstrip().startswith("def ")
        ),
        first,
    )
    if head == first:
        return first, last
    indent = len(lines[head - 1]) - len(lines[head - 1].lstrip())
    end = head
    for at in range(head + 1, len(lines) + 1):
        line = lines[at - 1]
        if line.strip() and len(line) - len(line.lstrip()) <= indent:
            break
        end = at if line.strip() else end
    return head, max(end, last)


def _closing(edit: _Exchange, tries: int) -> str:
    arguments = msgspec.json.decode(edit.call.arguments)
    old, new = (arguments["edits"][0][key].split("\n")[-1].strip() for key in ("old", "new"))
    attempts = "" if tries == 1 else f" (at the {tries}. attempt)"
    return f"It was `{old}`; it is now `{new}`{attempts}. The check passes: `{CHECK}`."


def _passes(check: _Exchange) -> bool:
    return re.search(r"^OK\b", check.result.text, re.MULTILINE) is not None


def _refused(check: _Exchange) -> bool:
    return check.result.is_error


def _say(text: str, *calls: ToolCall) -> Reply:
    return Reply(text=text, calls=calls, finish="tool_calls")


def _call(done: list[_Exchange], name: str, **arguments: object) -> ToolCall:
    return ToolCall(
        id=f"call_{len(done) + 1}_{name}",
        name=name,
        arguments=msgspec.json.encode(arguments).decode(),
    )


def _exchanges(messages: tuple[Message, ...], turn: int) -> list[_Exchange]:
    uses: dict[str, ToolUse] = {}
    done: list[_Exchange] = []
    for message in messages:
        if message.turn != turn:
            continue
        for block in message.blocks:
            if isinstance(block, ToolUse):
                uses[block.id] = block
            elif isinstance(block, ToolResult) and block.tool_use_id in uses:
                done.append(_Exchange(uses[block.tool_use_id], block))
    return done


def _last(request: Request, turn: int, source: str) -> str:
    """The newest text of a source in this turn; empty if there is none."""
    texts = [
        block.text
        for message in request.messages
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == source and block.meta.turn == turn
    ]
    return texts[-1] if texts else ""


def _any_selection(request: Request) -> str:
    """The newest selection of earlier turns: the same text is never sent twice."""
    texts = [
        block.text
        for message in request.messages
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "ide_selection"
    ]
    return texts[-1] if texts else ""
