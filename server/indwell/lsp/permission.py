"""Asks the user through the editor: No (first and default) · Once · This session · Always (§9)."""

from __future__ import annotations

from time import monotonic

import msgspec

from indwell.lsp import protocol
from indwell.lsp.client import Client
from indwell.policy.approvals import Answer, Question, Said

NO = "No"
ONCE = "Once"
SESSION = "This session"
ALWAYS = "Always: "
BUTTON_LIMIT = 100  # characters of a button that editors still show whole

_ANSWERS: dict[str, Answer] = {"no": "no", "once": "once", "session": "session", "always": "always"}


class EditorApprover:
    """Implements ``Approver`` over the wire; no answer in time is no.

    Args:
        client: The editor.
        timeout_s: Seconds that the user has.
    """

    def __init__(self, client: Client, *, timeout_s: float) -> None:
        self._client = client
        self._timeout_s = timeout_s

    async def ask(self, question: Question) -> Said:
        """Ask, and say whether nobody answered in time."""
        began = monotonic()
        answer = await self._ask(question)
        late = monotonic() - began >= self._timeout_s
        return "unanswered" if answer == "no" and late else answer

    async def _ask(self, question: Question) -> Answer:
        """Ask in the rich form where the editor has it, else by ``showMessageRequest``."""
        if self._client.features.has("permission"):
            params = _params(question)
            said = await self._client.permission(params, self._timeout_s)
            answer = _ANSWERS.get(said or "", "no")
            return answer if question.rule or answer in {"no", "once"} else "no"
        return await self._ask_plainly(question)

    async def _ask_plainly(self, question: Question) -> Answer:
        always = f"{ALWAYS}{question.rule}"
        rule = ""
        if len(always) > BUTTON_LIMIT or "\n" in always:
            always, rule = f"{ALWAYS}the rule above", f"\n\nRule: {question.rule}"
        titles: tuple[str, ...] = (NO, ONCE)
        if question.rule:
            titles = (NO, ONCE, SESSION, always)
        # The mark in front of each line shows where the text ends, whatever it says of itself.
        marked = "\n".join(f"│ {line}" for line in question.detail.split("\n"))
        notes = "".join(f"\n{note}" for note in question.notes)
        message = f"{question.title} ({question.reason})\n{marked}{notes}{rule}"
        chosen = await self._client.choose(message, titles, self._timeout_s)
        if chosen is None or chosen not in titles:
            return "no"
        by_title: dict[str, Answer] = {ONCE: "once", SESSION: "session", always: "always"}
        return by_title.get(chosen, "no")


def _params(question: Question) -> protocol.PermissionParams:
    """What an editor is told of a question."""
    told = msgspec.structs.asdict(question)
    del told["uncovered"]
    return protocol.PermissionParams(**told)
