"""Renders turns as Markdown: the events of a running turn, and stored turns. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from indwell.agent.core import events
from indwell.agent.core.events import compaction_words, usage_words
from indwell.context.task_state import shown_lines
from indwell.context.untrusted_text import short_line
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.chat.layout import YOU, turn_line
from indwell.lsp.chat.markdown import Neutral, code, details, fence, quoted
from indwell.service.sessions.recorded_turns import RecordedTurn, spent

_OF_COMMANDS = frozenset({"bash", "commands"})
_OF_FILES = frozenset({"read_file", "edit_file", "write_file"})
_VERBS = {
    "read_file": "Read",
    "edit_file": "Edit",
    "write_file": "Write",
    "glob": "Look for",
    "grep": "Search",
    "bash": "Run",
    "todo": "Steps",
    "load_skill": "Skill",
    "plan": "Plan",
    "agent": "Sub-agent",
    "ask_user": "Ask",
    "remember": "Remember",
    "navigate": "Look up",
    "web_fetch": "Fetch",
}


def call_line(name: str, target: str, figure: str, seconds: float | None) -> str:
    """Describe a tool call: the tool, the target, the result, and the duration if known."""
    verb = _VERBS.get(name, name)
    is_plain = name in _OF_FILES or not (target and figure)
    # A command contains blanks, so a dot separates the command from the tool's name.
    between = " " if is_plain else " · "
    head = f"{verb} {target}{between}{figure}".rstrip()
    return head if seconds is None else f"{head} · {seconds_words(seconds)}"


def seconds_words(seconds: float) -> str:
    """Return a duration as a chat shows it."""
    return f"{seconds:.1f} s"


def question_words(question: str, options: Sequence[str]) -> str:
    """Return a question of the model as a block quote with the options and instructions."""
    parts = [f"> **The model asks:**\n{quoted(question)}"]
    if options:
        parts.append(quoted("\n".join(f"{at}. {one}" for at, one in enumerate(options, 1))))
    parts.append("> *Write your answer below and send it.*")
    return "\n>\n".join(parts)


Link = Callable[[str, int], str]
"""Returns a link to a line of a file, or an empty text if no link is possible."""

MOST_KEPT = 40_000  # the limit of characters for one output, or for the reasoning
MOST_RUNNING = 3  # the limit of running calls that are named in the line about them
MOST_LINKS = 12  # the limit of links to hunks of one edit
_REASON = 300  # the limit of characters for the reason why a turn ended
# This matches the start of a hunk in the new text, and the lines before the first change.
_HUNK = lazy_pattern(r"^@@ -\d+(?:,\d+)? \+(\d+)[^\n]*\n((?: [^\n]*\n)*)", re.MULTILINE)


class Rendering:
    """The text of one turn in a document.

    Args:
        turn: The number of the turn.
        link: Makes links to lines of files.

    """

    def __init__(self, turn: int, link: Link) -> None:
        self._pieces = [turn_line(turn)]
        self._link = link
        self._blanks = ""  # the blank lines between ``text`` and the next text
        self._reply = Neutral()
        self._is_reply = False
        self._thought: list[str] = []
        self._n_thought = 0
        self._diffs: dict[str, list[events.EditApplied]] = {}
        self._outputs: dict[str, list[str]] = {}
        self._of_agents: dict[str, list[str]] = {}
        self._open_of_agents: dict[str, events.ToolStarted] = {}
        self._n_output: dict[str, int] = {}
        self._running: dict[str, str] = {}  # the description of each running call, by its id
        self._todo = ""  # the model's newest to-do list, if it is not shown yet

    @property
    def text(self) -> str:
        """The text so far, from the heading on, without white space at the end."""
        self._pieces = ["".join(self._pieces)]
        return self._pieces[0]

    @property
    def running(self) -> str:
        """The calls that run now, as one line, or empty if none runs."""
        calls = [*self._running.values()]
        more = f" and {len(calls) - MOST_RUNNING} more" if len(calls) > MOST_RUNNING else ""
        return f"{', '.join(map(code, calls[:MOST_RUNNING]))}{more} …" if calls else ""

    def take(self, event: events.Event) -> None:  # noqa: C901 - one flat table of events
        """Add an event to the text."""
        if event.agent and not isinstance(event, events.Notice):
            self._take_of_agent(event)
            return
        match event:
            case events.TurnStarted(attached=attached) if attached:
                self._block(f"*with {', '.join(map(code, attached))}*")
            case events.TextAdded(text=text, restart=restart):
                self._words(text, restart=restart)
            case events.ThinkingAdded(text=text):
                self._think(text)
            case events.ToolStarted(id=call, name=name, target=target):
                self._running[call] = call_line(name, target, "", None)
            case events.ToolOutput(id=call, text=text):
                self._output(call, text)
            case events.EditApplied(id=call):
                self._diffs.setdefault(call, []).append(event)
            case events.ToolFinished(id=call):
                self._running.pop(call, None)
                self._close()
                self._block(self._tool(event))
            case events.TodoChanged(items=items):
                self._todo = "\n".join(shown_lines(items))
            case events.TurnFinished():
                self._running.clear()
                self._finish(event)
            case _:
                note = _note(event)
                if note:
                    self._close()
                    self._block(note)

    def _take_of_agent(self, event: events.Event) -> None:
        """Add an event of a sub-agent, whose work is shown within its call when the call ends."""
        match event:
            case events.EditApplied(id=call):
                self._diffs.setdefault(call, []).append(event)
            case events.ToolFinished():
                self._open_of_agents.pop(event.id, None)
                self._of_agents.setdefault(event.agent, []).append(self._tool(event))
            case events.ToolStarted():
                self._open_of_agents[event.id] = event
            case _:
                pass

    def _words(self, text: str, *, restart: bool) -> None:
        if restart and self._is_reply:
            self._close_reply()
            self._block("*(the reply was interrupted, and starts again)*")
        if not text:
            return
        self._close_thought()
        if not self._is_reply:
            self._is_reply, self._blanks = True, "\n\n"
        self._add(self._reply.feed(text))

    def _think(self, text: str) -> None:
        self._close_reply()
        if self._n_thought < MOST_KEPT:
            self._thought.append(text)
        self._n_thought += len(text)

    def _tool(self, done: events.ToolFinished) -> str:
        figure = "failed" if done.is_error else done.figure
        edits = self._diffs.pop(done.id, [])
        self._n_output.pop(done.id, None)
        output = "".join(self._outputs.pop(done.id, []))
        parts = [quoted(done.message)] if done.is_error and done.message else []
        for edit in edits:
            parts += [self._links(edit), fence(edit.diff, "diff")]
        if output.strip():
            parts.append(fence(output))
        parts += self._of_agents.pop(done.id, [])
        for one in [one for one in self._open_of_agents.values() if one.agent == done.id]:
            del self._open_of_agents[one.id]
            parts.append(details(call_line(one.name, one.target, "not ended", None)))
        if done.name == "todo" and self._todo:
            parts.append(fence(self._todo, "text"))
            self._todo = ""
        return details(call_line(done.name, done.target, figure, done.seconds), *parts)

    def _links(self, edit: events.EditApplied) -> str:
        lines = [int(found[1][:9]) + found[2].count("\n") for found in _HUNK.finditer(edit.diff)][
            :MOST_LINKS
        ] or [1]
        links = ((line, self._link(edit.path, line)) for line in lines)
        return " ".join(f"[{code(f'{edit.path}:{line}')}](<{to}>)" for line, to in links if to)

    def _output(self, call: str, text: str) -> None:
        known = self._n_output.get(call, 0)
        self._n_output[call] = known + len(text)
        pieces = self._outputs.setdefault(call, [])
        pieces.append(text)
        if known + len(text) > 2 * MOST_KEPT and len(pieces) > 1:
            whole = "".join(pieces)
            self._outputs[call] = [whole[: MOST_KEPT // 2], "\n[…]\n", whole[-MOST_KEPT // 2 :]]
            self._n_output[call] = MOST_KEPT

    def _finish(self, done: events.TurnFinished) -> None:
        self._close()
        message = short_line(done.message, _REASON)
        if done.ending == "cancelled":
            self._block("> Stopped.")
        elif message:
            self._block(quoted(message))
        self._block(f"*{_receipt(done)}*")

    def _close(self) -> None:
        self._close_reply()
        self._close_thought()

    def _close_reply(self) -> None:
        if self._is_reply:
            self._is_reply = False
            self._add(self._reply.finish())
            self._blanks = ""

    def _close_thought(self) -> None:
        if self._n_thought:
            n_words = sum(len(piece.split()) for piece in self._thought)
            words = "".join(self._thought)
            cut = "" if self._n_thought == len(words) else "more than "
            self._thought, self._n_thought = [], 0
            if words.strip():
                self._block(details(f"Thinking · {cut}{n_words} words", fence(words, "text")))

    def _block(self, text: str) -> None:
        self._blanks = "\n\n"
        self._add(text)

    def _add(self, text: str) -> None:
        words = text.rstrip()
        if words:
            self._pieces += (self._blanks, words)
            self._blanks = ""
        self._blanks += text[len(words) :]


def taken_line(words: Sequence[str]) -> str:
    """Return a line with messages that wait for the model's next request, or an empty text."""
    return f"> taken for the next step: {', '.join(map(code, words))}" if words else ""


def _words(text: str) -> str:
    """Return Markdown of the model, complete and safe for the document."""
    shown = Neutral()
    return (shown.feed(text) + shown.finish()).strip()


def _note(event: events.Event) -> str:
    """Add a note, usually as a quote; events about the queue, questions or usage add no note."""
    match event:
        case events.PlanChanged(state="proposed", text=text):
            return f"**The plan** (approve or edit it above your draft)\n\n{_words(text)}"
        case events.Steered(text=text, delivered=True):
            return f"> **You, meanwhile:**\n{quoted(text)}"
        case events.QuestionAsked(question=question, options=options):
            return question_words(question, options)
        case events.QuestionAnswered(answer=answer) if answer:
            return f"> **Answered:**\n{quoted(answer)}"
        case events.Compacted(before=before, after=after, note=note):
            return quoted(compaction_words(before, after, note))
        case events.Notice(message=message):
            return quoted(message)
        case _:
            return ""


def _receipt(done: events.TurnFinished) -> str:
    parts = []
    if done.changes:
        changed = (f"{one.path} +{one.added} −{one.removed}" for one in done.changes)
        parts.append(short_line("changed " + ", ".join(changed), _REASON).replace("*", "\\*"))
    rounds = "1 round" if done.rounds == 1 else f"{done.rounds} rounds"
    cost = "cost unknown" if done.cost is None else f"${done.cost:.4f}"
    if done.verified:
        parts.append(short_line(done.verified, _REASON).replace("*", "\\*"))
    parts += [rounds, usage_words(done.usage), cost, seconds_words(done.seconds or 0)]
    return " · ".join(parts)


# the limit of characters that are restored into a document; the transcript has the rest
MOST_CHARACTERS = 200_000
_RESULT = 4_000  # the limit of characters for a tool's result


def restored(turns: Sequence[RecordedTurn], session: str) -> str:
    """Return turns as Markdown, oldest first; if they are too long, only the newest turns."""
    shown: list[str] = []
    room = MOST_CHARACTERS
    for turn in reversed(turns):
        text = _turn(turn)
        room -= len(text)
        if room < 0 and shown:
            break
        shown.append(text)
    n_left = len(turns) - len(shown)
    note = ""
    if n_left:
        note = (
            f"> The session continues; {n_left} earlier turns are in its transcript "
            f"(`indwell sessions show {session}`).\n\n"
        )
    return note + "\n\n".join(reversed(shown))


def own_words(words: str) -> str:
    """Return the user's text in the form that is inserted into a document."""
    shown = Neutral()
    return (shown.feed(words.strip()) + shown.finish()).strip()


def _turn(turn: RecordedTurn) -> str:
    """Return a turn of the log as it looked when it ran."""
    began, *told = turn.events
    assert isinstance(began, events.TurnStarted)
    rendering = Rendering(turn.turn, lambda _path, _line: "")
    rendering.take(began)
    for event in told:
        if isinstance(event, events.ToolFinished) and event.name in _OF_COMMANDS and event.result:
            rendering.take(events.ToolOutput(turn.turn, event.id, event.result[:_RESULT]))
        rendering.take(event)
    parts = [YOU, own_words(began.words), rendering.text]
    if turn.finished is None:
        usage, dollars = spent(turn)
        cost = "cost unknown" if dollars is None else f"${dollars:.4f}"
        parts.append(f"*not ended · {usage.input:,} tokens in, {usage.output:,} out · {cost}*")
    if turn.left:
        parts.append("> The conversation was rewound, and continues without this turn.")
    return "\n\n".join(parts)
