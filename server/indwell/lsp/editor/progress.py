"""Shows a turn as work-done progress: the present step in one line, and a stop button."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from indwell.agent.core import events
from indwell.agent.core.events import (
    FileChanged,
    compaction_words,
    prompt_read_words,
    to_review_words,
)
from indwell.agent.features.checks.turn_checks import NOT_VERIFIED
from indwell.agent.features.subagents.definition import SubagentNames
from indwell.context.untrusted_text import short_line
from indwell.lazy_pattern import lazy_pattern
from indwell.lsp.editor.answering import WAITING
from indwell.lsp.editor.client import Client
from indwell.lsp.messages.lsprotocol_types import types

LINE_LIMIT = 120  # the limit of characters for a progress line
_STOPPED = "stopped"
REASON_LIMIT = 300  # the limit of characters for the reason why a turn ended
# The limit of characters for the sentence after success; Neovim asks for Enter after longer ones.
SENTENCE_LIMIT = 90
PATH_LIMIT = 24


class TurnProgress:
    """Shows the events of one turn as progress, if the editor supports progress.

    Args:
        client: The editor.
        token: The progress token, which Indwell created.
    """

    def __init__(self, client: Client, token: str) -> None:
        self._client = client
        self.token = token
        self._shown = False
        self._is_over = False
        # The end message of a turn that ended before the editor accepted the progress.
        self._ending = ""
        self._last = ""
        self._is_held = False
        self._agents = SubagentNames()

    async def begin(self, title: str) -> None:
        """Begin the progress; if the editor refuses, send nothing.

        A short turn may end before a busy editor answers. The server then sends begin and end
        together, and the user can still read how the turn ended.
        """
        is_taken = await self._client.create_progress(self.token)
        if not is_taken or (self._is_over and not self._ending):
            return
        self._shown = True
        begin = types.WorkDoneProgressBegin(
            title=short_line(f"Indwell: {title}", LINE_LIMIT),
            cancellable=True,
            message="thinking",
        )
        self._client.progress(self.token, begin)
        if self._is_over:
            self._end(self._ending)
        else:
            self._report()  # a step may have begun in the meantime

    def follow(self, event: events.Event) -> None:
        """Show the step that an event begins, if the event begins a step."""
        line = describe(event)
        if not line:
            return
        agent = self._agents.of(event)
        if line and agent:
            line = short_line(f"agent {agent}: {line}", LINE_LIMIT)
        if line and line != self._last:
            self._last = line
            self._report()

    def hold(self, *, is_held: bool) -> None:
        """Show that a question waits until the user stops typing; then show the last step again."""
        self._is_held = is_held
        self._report()

    def end(self, finished: events.TurnFinished) -> None:
        """Show how the turn ended, with the sentence of ``summary``."""
        self._end(summary(finished))

    def _end(self, message: str) -> None:
        """End the progress now, or as soon as the editor accepts the progress."""
        is_first, self._is_over = not self._is_over, True
        if self._shown:
            self._shown = False
            self._client.progress(self.token, types.WorkDoneProgressEnd(message=message))
        elif not is_first:
            return
        elif message.startswith(_STOPPED) and self._is_owed():
            self._client.show(types.MessageType.Info, f"Indwell: {message}")
        else:
            self._ending = message

    def _is_owed(self) -> bool:
        """Return whether the editor shows progress but did not show the progress of this turn.

        The turn was too short, or the editor lost the request for the token. lsp-mode 8.0 loses a
        request that arrives together with an answer.
        """
        features = self._client.features
        return features.progress and not features.has("events")

    def _report(self) -> None:
        words = WAITING if self._is_held else self._last
        if self._shown and words:
            report = types.WorkDoneProgressReport(message=words, cancellable=True)
            self._client.progress(self.token, report)


def describe(event: events.Event) -> str:
    """Return one line for an event, with control characters made visible; may be empty."""
    return short_line(_words_of(event), LINE_LIMIT)


def _words_of(event: events.Event) -> str:  # noqa: C901 - one flat table of events
    match event:
        case events.ToolStarted(name=name, target=target):
            return f"{_VERBS.get(name, name)} {target}"
        case events.ToolFinished(is_error=True, name=name):
            return f"{_VERBS.get(name, name)}: failed"
        case events.EditApplied(path=path, added=added, removed=removed):
            return f"changed {path} +{added} −{removed}"
        case events.PermissionAsked(title=asked) | events.QuestionAsked(question=asked):
            return f"waiting for an answer: {asked}"
        case events.Checking(what=what):
            return f"checking: {what}"
        case events.Compacted(before=before, after=after, note=note):
            return compaction_words(before, after, note)
        case events.Notice(message=message):
            return message
        case events.PromptRead(share=share):
            return prompt_read_words(share)
        case events.UsageReported():
            return "thinking"
        case events.TextAdded(text=text) if text.strip():
            return "writing"
        case _:
            return ""


_VERBS = {
    "read_file": "reading",
    "edit_file": "editing",
    "write_file": "writing",
    "glob": "looking for",
    "grep": "searching",
    "bash": "running",
    "todo": "planning",
    "load_skill": "loading the skill",
    "ask_user": "asking",
    "remember": "proposing to remember",
    "plan": "proposing a plan",
    "navigate": "looking up",
    "web_fetch": "fetching",
}


_SUBSTANCE = lazy_pattern(r"\bverified\b|^checked with |\bpassed\b|\bnew errors?\b")
_AFTER = " after the last edit"


def summary(finished: events.TurnFinished) -> str:
    """Return one sentence for the end of a turn: changes, cost and verification.

    After success, the sentence fits on one line. The summary always says which check passed, or why
    nothing is verified; the other parts are shortened first.
    """
    if finished.ending != "done":
        return full_summary(finished)
    head, verdict = _head(finished), _verdict(finished)
    substance = "; ".join(one for one in verdict.split("; ") if _SUBSTANCE.search(one)) or verdict
    terse = substance.replace(_AFTER, "")
    changed, by_name, lines = (_changed(finished.changes, form) for form in _FORMS)
    review, short_review = _to_review(finished)
    price, short_price = _price(finished)
    tokens = short_price.split(", $")[0]
    forms = (
        (head, changed, review, price, verdict),
        (head, changed, review, short_price, verdict),
        (head, changed, short_review, short_price, verdict),
        (head, changed, short_price, verdict),
        (head, changed, short_review, short_price, substance),
        (head, changed, short_price, substance),
        (head, by_name, short_price, substance),
        (head, by_name, tokens, substance),
        (head, by_name, short_price, terse),
        (head, by_name, tokens, terse),
        (head, lines, tokens, terse),
    )
    sentences = [_joined(*form) for form in forms]
    fitting = next((one for one in sentences if len(one) <= SENTENCE_LIMIT), "")
    if fitting or not terse:
        return fitting or sentences[-1]
    room = SENTENCE_LIMIT - len(_joined(head, by_name, tokens, " "))
    clauses = sorted(terse.split("; "), key=lambda one: NOT_VERIFIED not in one)
    return _joined(head, by_name, tokens, _words_within("; ".join(clauses), room))


def full_summary(finished: events.TurnFinished) -> str:
    """Return the sentence of ``summary`` without shortening."""
    review, price = _to_review(finished)[0], _price(finished)[0]
    parts = (_head(finished), _changed(finished.changes), review, price, _verdict(finished))
    return _joined(*parts)


def _joined(*parts: str) -> str:
    return " · ".join(filter(None, parts))


def _head(finished: events.TurnFinished) -> str:
    reason = short_line(finished.message, REASON_LIMIT)
    return {"done": reason or "done", "cancelled": _STOPPED}.get(finished.ending, reason)


def _verdict(finished: events.TurnFinished) -> str:
    return short_line(finished.verified, REASON_LIMIT)


def _to_review(finished: events.TurnFinished) -> tuple[str, str]:
    """Return the number of changes to review, in full and in short, or empty for no changes."""
    number = finished.to_review if finished.changes else 0
    if not number:
        return "", ""
    return f"{to_review_words(number)}{' in all' if number > 1 else ''}", f"{number:,} to review"


def _price(finished: events.TurnFinished) -> tuple[str, str]:
    """Return the cost of the turn, with and without rounds, or empty if no model was called."""
    if not finished.rounds:
        return "", ""
    cost = "" if finished.cost is None else f", ${finished.cost:.4f}"
    short = f"{finished.usage.input + finished.usage.output:,} tokens{cost}"
    rounds = "1 round" if finished.rounds == 1 else f"{finished.rounds} rounds"
    return f"{rounds}, {short}", short


_ONE_PASSED = lazy_pattern(r"`([^`]*)` passed")
_LEAST_NAME = 8  # At least 8 characters of a command's name are kept.


def _words_within(verdict: str, room: int) -> str:
    """Cut a sentence on checks to the available space; keep one word, and never cut "passed"."""
    if (one := _ONE_PASSED.fullmatch(verdict)) is not None:
        return f"`{short_line(one[1], max(_LEAST_NAME, room - len('`` passed')))}` passed"
    if verdict.endswith("` passed") and verdict.startswith("`"):
        return f"{verdict.count('`') // 2} checks passed"
    first, *others = verdict.split(" ")
    for one_word in others:
        if len(first) + 1 + len(one_word) + len(" …") > room:
            return f"{first.rstrip(';')} …"
        first = f"{first} {one_word}"
    return first


_FORMS = ("path", "name", "lines")


def _changed(changes: Sequence[FileChanged], form: str = "path") -> str:
    """Name the changed file with its line counts; for several files, return only their number."""
    if not changes:
        return ""
    path = changes[0].path if form == "path" else PurePath(changes[0].path).name
    what = short_line(path, PATH_LIMIT) if len(changes) == 1 else f"{len(changes)} files"
    added, removed = sum(one.added for one in changes), sum(one.removed for one in changes)
    lines = f"+{added} −{removed}"
    return lines if form == "lines" else f"{what} {lines}"
