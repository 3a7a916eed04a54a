"""A model that answers from a script, for tests and replays, and the script of the demo.

The scripted model is as strict as the strictest endpoint: a request that any endpoint would refuse
fails the test.
"""

from __future__ import annotations

import ast
import asyncio
import re
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, assert_never

import msgspec

from indwell.context.tokens import estimate_tokens, request_tokens
from indwell.errors import ProviderError
from indwell.lazy_pattern import lazy_pattern
from indwell.messages import (
    Image,
    Message,
    Reply,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolUse,
    Usage,
)
from indwell.providers.base import CallStarted, StreamEvent, TextDelta, ThinkingDelta

_WORD = lazy_pattern(r"\s*\S+\s*|\s+")


@dataclass(frozen=True, slots=True)
class Hang:
    """A step that streams ``text`` and then waits until it is cancelled."""

    text: str = ""


Answer: TypeAlias = Reply | ProviderError | Hang
Step: TypeAlias = Answer | Callable[[Request], Answer]


class ScriptedProvider:
    """A ``Provider`` that plays ``steps`` in order, one per call, or calls one function for all.

    Args:
        steps: Replies, errors to raise, hangs, or functions that take the request and return such a
            step.
        pace_s: Seconds between two deltas, for a lifelike demo.
        sleep: Waits between two deltas; with 0, other tasks can run.

    Attributes:
        requests: All requests, in order.
    """

    def __init__(
        self,
        steps: Sequence[Step] | Callable[[Request], Answer],
        *,
        pace_s: float = 0.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.requests: list[Request] = []
        self._steps = steps
        self._pace_s = pace_s
        self._sleep = sleep

    async def complete(self, request: Request, on_event: Callable[[StreamEvent], None]) -> Reply:
        """Play the next step.

        Raises:
            ProviderError: The step is this error.
            AssertionError: An endpoint would refuse the request, or no step is left.
        """
        check_legal(request)
        self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, ProviderError):
            raise answer
        for event in _events(answer):
            on_event(event)
            await self._sleep(self._pace_s)
        match answer:
            case Hang():
                await asyncio.Event().wait()
                raise AssertionError("a hang ends only by being cancelled")
            case Reply() if answer.usage == Usage():
                return msgspec.structs.replace(answer, usage=_estimate(request, answer))
            case Reply():
                return answer
            case _:
                assert_never(answer)

    def _answer(self, request: Request) -> Answer:
        number = len(self.requests)
        if callable(self._steps):
            return self._steps(request)
        assert number <= len(self._steps), (
            f"the script has {len(self._steps)} steps, and call {number} asks for one more;"
            f" its last message: {request.messages[-1]!r}"
        )
        step = self._steps[number - 1]
        return step(request) if callable(step) else step


def hang(text: str = "") -> Hang:
    """Return a step that streams ``text`` and then waits until it is cancelled."""
    return Hang(text)


def check_legal(request: Request) -> None:
    """Check a request as the strictest endpoint would: roles, pairs of calls and results, content.

    Raises:
        AssertionError: The message names the position and the reason.
    """
    assert request.messages, "no messages"
    assert request.messages[-1].role == "user", "the last message is not the user's"
    for block in request.system:
        assert block.text.strip(), "an empty system block"
    names = [tool.name for tool in request.tools]
    assert len(set(names)) == len(names), f"a tool appears twice in {names}"
    expected: list[str] = []
    for index, message in enumerate(request.messages):
        where = f"message {index}"
        role = "assistant" if index % 2 else "user"
        assert message.role == role, f"{where} is the {message.role}'s, not the {role}'s"
        _check_content(message, where)
        answered = [b.tool_use_id for b in message.blocks if isinstance(b, ToolResult)]
        assert sorted(answered) == sorted(expected), (
            f"{where} answers the calls {answered}, made were {expected}"
        )
        expected = [block.id for block in message.blocks if isinstance(block, ToolUse)]
        assert len(set(expected)) == len(expected), f"{where} has a call id twice: {expected}"


def _check_content(message: Message, where: str) -> None:
    sent = [block for block in message.blocks if not isinstance(block, Thinking)]
    assert sent, f"{where} holds nothing that is sent"
    allowed = Text | ToolUse if message.role == "assistant" else Text | Image | ToolResult
    for block in sent:
        kind = type(block).__name__
        assert isinstance(block, allowed), f"{where}: the {message.role} cannot send {kind}"
        if isinstance(block, Text | ToolResult):
            assert block.text.strip(), f"{where}: an empty {kind}"
        if isinstance(block, ToolUse):
            assert block.id, f"{where}: a tool use without an id"
            assert block.name, f"{where}: a tool use without a name"
    results_first = sorted(sent, key=lambda block: not isinstance(block, ToolResult))
    assert sent == results_first, f"{where}: a tool result after other blocks"


def _events(answer: Reply | Hang) -> Iterator[StreamEvent]:
    if isinstance(answer, Reply):
        yield from (ThinkingDelta(word) for word in _WORD.findall(answer.thinking))
    yield from (TextDelta(word) for word in _WORD.findall(answer.text))
    if isinstance(answer, Reply):
        yield from (CallStarted(call.name) for call in answer.calls)


def _estimate(request: Request, reply: Reply) -> Usage:
    said = reply.text + reply.thinking + "".join(c.name + c.arguments for c in reply.calls)
    return Usage(input=request_tokens(request), output=estimate_tokens(said), reported=False)


DEMO_MODEL = "scripted-demo"
"""The name of the demo's model."""

CHECK = f"{'python' if sys.platform == 'win32' else 'python3'} -B -m unittest -q"
"""The check of the demo's project.

The option ``-B`` is needed, because an old .pyc would hide an edit in the same second.
"""

WHAT_IT_IS = (
    "This is the scripted model that ships with Indwell, not a language model: it can fix one "
    "small fault in a Python function that has a test. For anything else set OPENAI_API_KEY (or "
    "OPENAI_BASE_URL for a local endpoint) and choose a model with INDWELL_MODEL."
)

_SELECTION = lazy_pattern(r"The user selected lines? (\d+)(?:-(\d+))? of (\S+?)(?: \(|:)")
_MOST_TRIES = 12


class _Exchange(NamedTuple):
    """A tool call of the running turn, and its result."""

    call: ToolUse
    result: ToolResult


def demo_reply(request: Request) -> Reply:
    """The next reply of the demo's model, which reacts to tool results like a real model.

    The model reads the file and the tests, runs the check, tries the most likely repair, and
    continues until the check passes. The reply depends only on the request. Pure.
    """
    turn = request.messages[-1].turn
    words = _last(request, turn, "user")
    marked = _SELECTION.search(_last(request, turn, "ide_selection") or _any_selection(request))
    if not words.lower().startswith("fix") or marked is None:
        return Reply(text=WHAT_IT_IS)
    path = marked[3]
    first, last = int(marked[1]), int(marked[2] or marked[1])
    return _repair(_exchanges(request.messages, turn), path, first, last)


def _repair(done: list[_Exchange], path: str, first: int, last: int) -> Reply:
    """Play one step of: read, run the check, try a repair, run the check again."""
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
    if edits and not edits[-1].result.is_error and _is_missing(checks[-1]):
        return Reply(text=_closing(edits[-1], len(edits), is_checked=False))
    passed = _passes(checks[-1])
    if passed and not edits:
        return Reply(text="The check passes already; there is nothing to fix here.")
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
    """Return the lines from the function's head to the last differing line.

    The returned text is unique in the file, because the function's name is unique.
    """
    last = max(index for index, line in enumerate(now) if line != then[index])
    return "\n".join(now[: last + 1]), "\n".join(then[: last + 1])


def _function(listing: str, first: int, last: int) -> str:
    """Return the source of the function with the selected lines, from the result of read_file."""
    numbered = re.findall(r"^\s*(\d+)\t(.*)$", listing, re.MULTILINE)
    first, last = _enclosing([text for _, text in numbered], first, last)
    lines = [text for number, text in numbered if first <= int(number) <= last]
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join(lines)


def _enclosing(lines: list[str], first: int, last: int) -> tuple[int, int]:
    """Return the first and last line, 1-based, of the function around a line."""
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


def _closing(edit: _Exchange, tries: int, *, is_checked: bool = True) -> str:
    arguments = msgspec.json.decode(edit.call.arguments)
    old, new = (arguments["edits"][0][key].split("\n")[-1].strip() for key in ("old", "new"))
    attempts = "" if tries == 1 else f" (at the {tries}. attempt)"
    words = f"It was `{old}`; it is now `{new}`{attempts}."
    if is_checked:
        return f"{words} The check passes: `{CHECK}`."
    return f"{words} No Python runs here, so `{CHECK}` could not check it."


def _passes(check: _Exchange) -> bool:
    return re.search(r"^OK\b", check.result.text, re.MULTILINE) is not None


def _is_missing(check: _Exchange) -> bool:
    """Return whether the machine has no Python for the check."""
    words = r"not found|not recognized|No such file or directory"
    return re.search(words, check.result.text) is not None


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
    """Return the newest text of a turn with the given source, or an empty text."""
    texts = [
        block.text
        for message in request.messages
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == source and block.meta.turn == turn
    ]
    return texts[-1] if texts else ""


def _any_selection(request: Request) -> str:
    """Return the newest selection of any turn, because the same text is never sent twice."""
    texts = [
        block.text
        for message in request.messages
        for block in message.blocks
        if isinstance(block, Text) and block.meta.source == "ide_selection"
    ]
    return texts[-1] if texts else ""


class Repair(NamedTuple):
    """A possible repair of one line of a function; line ``number`` counts from 0."""

    number: int
    old: str
    new: str


class _Swap(NamedTuple):
    """A pattern in a line and its replacement, if ``cue`` is in the docstring."""

    pattern: str
    replacement: str
    cue: str


_SWAPS = (
    _Swap(r"(?<=[\w\])] )>(?= )", ">=", r"at least|no less"),
    _Swap(r"<=", ">=", r"at least|no less"),
    _Swap(r"(?<=[\w\])] )<(?= )", "<=", r"at most|no more"),
    _Swap(r">=", "<=", r"at most|no more"),
    _Swap(r"(?<=[\w\])] )<(?= )", ">", r"highest|largest|greatest|most|best"),
    _Swap(r">=", ">", r"first one counts|more than|above"),
    _Swap(r"(?<=[\w\])] )>(?= )", "<", r"lowest|smallest|least|worst"),
    _Swap(r"(?<=^        )(\w+) = (?=\w+\[)", r"\1 += ", r"sum|total|count"),
    _Swap(r"(?<=\]) \+ (?=\w)", " * ", r"times|product"),
    _Swap(r"(?<=\w) \+ (?=percent|rate|factor)", " * ", r"percent|times"),
    _Swap(r"(?<=\w) \+ (?=\w)", " - ", r"minus|less|without|off"),
    _Swap(r"(?<=\w) - (?=\w)", " + ", r"plus|with|added"),
    _Swap(r"\((len\(\w+\)) [+-] 1\)", r"\1", r"mean|average|all|over"),
    _Swap(r"(len\(\w+\)) [+-] 1", r"\1", r"all|every|index"),
    _Swap(r"\bmax\(", "sum(", r"mean|average|sum|total"),
    _Swap(r"\bmin\(", "max(", r"highest|largest"),
    _Swap(r"(?<=, )0\)", "2)", r"cents|two places"),
    _Swap(r"(?<= = )1$", "0", r"sum|total|count"),
    _Swap(r"(?<= = )0$", "1", r"product|factor"),
)


def repairs(function: str) -> tuple[Repair, ...]:
    """Return small changes that could fix a function, most likely first by its docstring.

    Each change is valid Python.
    """
    lines = function.split("\n")
    docstring = _docstring(function).casefold()
    found = [
        (re.search(swap.cue, docstring) is None, order, repair)
        for order, swap in enumerate(_SWAPS)
        for repair in _candidates(lines, swap)
        if _parses(lines, repair)
    ]
    unique = dict.fromkeys(repair for _, _, repair in sorted(found))
    return tuple(unique)


def _candidates(lines: list[str], swap: _Swap) -> Iterator[Repair]:
    for index, line in enumerate(lines):
        if line.lstrip().startswith(("def ", '"""', "#", "raise ")):
            continue
        for match in re.finditer(swap.pattern, line):
            new = line[: match.start()] + match.expand(swap.replacement) + line[match.end() :]
            if new != line:
                yield Repair(index, line, new)


def _parses(lines: list[str], repair: Repair) -> bool:
    changed = [*lines[: repair.number], repair.new, *lines[repair.number + 1 :]]
    try:
        ast.parse("\n".join(changed))
    except SyntaxError:
        return False
    return True


def _docstring(function: str) -> str:
    try:
        tree = ast.parse(function)
    except SyntaxError:
        return ""
    first = tree.body[0] if tree.body else None
    return (ast.get_docstring(first) or "") if isinstance(first, ast.FunctionDef) else ""
