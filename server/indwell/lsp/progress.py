"""A turn as work-done progress: what runs now in one line, and a way to stop it."""

from __future__ import annotations

from lsprotocol import types

from indwell.agent import events
from indwell.agent.receipt import compaction_words, to_review_words, usage_words
from indwell.lsp.client import Client
from indwell.policy.approvals import short_line

LINE_LIMIT = 120  # characters of a progress line
_STOPPED = "stopped"
REASON_LIMIT = 300  # characters of why a turn ended, and of what it changed


class TurnProgress:
    """Follows one turn's events; silent where the editor takes no progress.

    Args:
        client: The editor.
        token: Of the progress, made by us.
    """

    def __init__(self, client: Client, token: str) -> None:
        self._client = client
        self.token = token
        self._shown = False
        self._last = ""

    async def begin(self, title: str) -> None:
        """Announce it; the editor may refuse, and then nothing is sent."""
        self._shown = await self._client.create_progress(self.token)
        if self._shown:
            begin = types.WorkDoneProgressBegin(
                title=short_line(f"Indwell: {title}", LINE_LIMIT),
                cancellable=True,
                message="thinking",
            )
            self._client.progress(self.token, begin)
            self._report()  # what began while the editor was asked

    def follow(self, event: events.Event) -> None:
        """Show what an event means, if it means something to see."""
        line = describe(event)
        if line and line != self._last:
            self._last = line
            self._report()

    def end(self, message: str) -> None:
        """Take it away."""
        if self._shown:
            self._shown = False
            self._client.progress(self.token, types.WorkDoneProgressEnd(message=message))
        elif message.startswith(_STOPPED) and self._is_owed():
            self._client.show(types.MessageType.Info, f"Indwell: {message}")

    def _is_owed(self) -> bool:
        """It takes progress, and was shown none: too soon, or it lost our request for a token.

        lsp-mode 8.0 does, if the request comes in one piece with an answer.
        """
        features = self._client.features
        return features.progress and not features.has("events")

    def _report(self) -> None:
        if self._shown and self._last:
            report = types.WorkDoneProgressReport(message=self._last, cancellable=True)
            self._client.progress(self.token, report)


def describe(event: events.Event) -> str:
    """One line for an event, whatever a model or a tool put into it; empty if not worth one."""
    return short_line(_words_of(event), LINE_LIMIT)


def _words_of(event: events.Event) -> str:
    match event:
        case events.ToolStarted(name=name, target=target):
            return f"{_VERBS.get(name, name)} {target}"
        case events.ToolFinished(is_error=True, name=name):
            return f"{_VERBS.get(name, name)}: failed"
        case events.EditApplied(path=path, added=added, removed=removed):
            return f"changed {path} +{added} −{removed}"
        case events.PermissionAsked(title=title):
            return f"waiting for an answer: {title}"
        case events.Checking(what=what):
            return f"checking: {what}"
        case events.Compacted(before=before, after=after, note=note):
            return compaction_words(before, after, note)
        case events.Notice(message=message):
            return message
        case events.UsageReported():
            return "thinking"
        case events.Text(text=text) if text.strip():
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
}


def summary(finished: events.TurnFinished) -> str:
    """One sentence for the end of a turn: what changed, what it took."""
    reason = short_line(finished.message, REASON_LIMIT)
    head = {"done": reason or "done", "cancelled": _STOPPED}.get(finished.ending, reason)
    parts = [head]
    if finished.changes:
        changed = (f"{one.path} +{one.added} −{one.removed}" for one in finished.changes)
        parts.append(short_line(", ".join(changed), REASON_LIMIT))
        if finished.to_review:
            parts.append(to_review_words(finished.to_review))
    if finished.verified:
        parts.append(short_line(finished.verified, REASON_LIMIT))
    if finished.rounds:
        cost = "cost unknown" if finished.cost is None else f"${finished.cost:.4f}"
        rounds = "1 round" if finished.rounds == 1 else f"{finished.rounds} rounds"
        parts.append(f"{rounds}, {usage_words(finished.usage)}, {cost}")
    return " · ".join(parts)
