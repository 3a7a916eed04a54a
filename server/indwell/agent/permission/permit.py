"""Asks for permission for a tool call: the question, the meaning of answers, the records."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import msgspec

from indwell.agent.core.events import Listener, Notice
from indwell.agent.core.session import Session
from indwell.agent.permission.decision import (
    PLACE,
    VERDICTS,
    Consent,
    EvaluatedPolicy,
    Permit,
    Permitted,
    RefusedPermission,
    how_sandboxed,
    permission,
    put_question,
    still_allowed,
)
from indwell.context.untrusted_text import short_line
from indwell.errors import SettingsError, ToolError
from indwell.messages import ToolUse
from indwell.policy.approvals import (
    UNHELD,
    Chosen,
    Question,
    Reply,
    Said,
    chosen_of,
    question_for,
    why_uncovered,
)
from indwell.policy.call_facts import Allow, Ask, Decision, Deny
from indwell.policy.paths import matches_any
from indwell.secrets import MARK, has_mark, values_in
from indwell.sessions.records import Decided
from indwell.settings.credentials import SECRETS
from indwell.tools.base import Call, Outcome, Preview, ToolFacts
from indwell.workspace.comparing.diff import diff_hunks, is_same_change

# After this many consecutive questions without a yes, the turn asks no more questions.
MOST_REFUSED = 5
NO_MORE = (
    f"{MOST_REFUSED} questions in a row were not answered with yes, so no more questions are "
    f"asked in this turn; actions that need your permission are not done"
)
# The limit of characters of a secret file that are searched for values; a `.env` is shorter.
MOST_NOTED = 100_000
# the limit of characters for the name and arguments of an unknown tool in a record
NAME_LIMIT = 128

Previewing: TypeAlias = Callable[[Permit], Awaitable[Preview]]
"""Returns what a call would change, given a permit with its resolved paths and bounds."""


async def permitted(
    session: Session, use: ToolUse, call: Call, emit: Listener, preview: Previewing
) -> Permit:
    """Return the permit for a call; ask the user if the policy demands a question.

    Raises:
        ToolError: The call may not run; the model gets the reason.
    """
    return _granted(await permission(session, ToolCallRequest(session, use, call, emit, preview)))


async def check_still_permitted(session: Session, permit: Permit) -> Permit:
    """Check the permit of a call again under the current rules, right before the call starts.

    Raises:
        ToolError: The call may no longer run; the model gets the reason.
    """
    return _granted(await still_allowed(session, permit))


def _granted(found: Permitted) -> Permit:
    if isinstance(found, Permit):
        return found
    decision = found.evaluated.decision
    is_of_policy = found.kind == "denied" and isinstance(decision, Deny) and decision.by != PLACE
    raise ToolError(f"not allowed: {found.why}" if is_of_policy else found.why)


@dataclass(slots=True)
class ToolCallRequest:
    """A tool call that needs permission; see ``Requester``."""

    session: Session
    use: ToolUse
    call: Call
    emit: Listener
    preview: Previewing
    facts: ToolFacts = field(init=False)
    arguments: str = field(init=False)
    _shown: Preview = field(default_factory=Preview)
    _answer: Said = "no"

    def __post_init__(self) -> None:
        self.facts, self.arguments = self.call.facts, self.call.arguments

    def settled(self, evaluated: EvaluatedPolicy) -> Decision:
        """Return the policy's decision, unchanged."""
        return evaluated.by_policy

    def record(self, evaluated: EvaluatedPolicy, answer: str = "") -> None:
        """Record the decision and its rule, except for an allowed read."""
        asked, decision, session = evaluated.asked, evaluated.decision, self.session
        if asked.effect == "read" and isinstance(decision, Allow):
            return
        session.parts.log.append(
            Decided(
                turn=self.use.meta.turn,
                tool_use_id=self.use.id,
                tool=asked.tool,
                what=asked.command
                or ", ".join(asked.paths)
                or (asked.arguments if asked.keeps or asked.foreign else ""),
                cwd=asked.cwd,
                decision=VERDICTS[type(decision)],
                rule=decision.by,
                reason="" if isinstance(decision, Allow) else decision.reason,
                answer=answer,
                widening="" if isinstance(decision, Deny) else decision.widening.words,
                sandbox=how_sandboxed(evaluated),
                at=session.timestamp(),
                agent="" if session.helping is None else session.helping.name,
            )
        )

    async def ask(self, evaluated: EvaluatedPolicy, ask: Ask) -> Consent | RefusedPermission:
        """Ask the user, unless the user refused several consecutive questions of this turn."""
        asker = _asker(self.session)
        if asker.asked.refused >= MOST_REFUSED:
            return self._without_patience(evaluated)
        self._shown = shown = await self.preview(Permit(self, evaluated))
        # Record the question before the answer, because the question may never be answered.
        self.record(evaluated)
        reply = await self._put(evaluated, ask)
        self._answer = answer = "hunks" if isinstance(reply, Chosen) else reply
        self.record(evaluated, _answer_words(reply))
        asker.asked.refused = asker.asked.refused + 1 if answer in {"no", "unanswered"} else 0
        if asker.asked.refused == MOST_REFUSED:
            self.emit(Notice(self.use.meta.turn, "warning", NO_MORE))
        why = _why_refused(answer, evaluated, ask)
        if why:
            return RefusedPermission(why, "answered", evaluated)
        return Consent(
            chosen=reply if isinstance(reply, Chosen) else None,
            was_reviewed=bool(shown.diff) and answer != "beforehand",
        )

    async def shows_the_same(self, evaluated: EvaluatedPolicy) -> bool:
        """Return whether the change is still the same as when the user was asked."""
        again, shown = await self.preview(Permit(self, evaluated)), self._shown
        texts = shown.diff, shown.before, again.diff, again.before
        return await asyncio.to_thread(is_same_change, *texts)

    async def keep(self, ask: Ask) -> None:
        """Store a rule if the user said yes for the session or permanently."""
        if self._answer not in {"session", "always"} or not ask.rule:
            return
        try:
            await self.session.parts.grant(ask.rule, self._answer == "always")
        except SettingsError as error:  # the yes is still valid for this call
            self.emit(Notice(self.use.meta.turn, "warning", str(error)))

    def _without_patience(self, evaluated: EvaluatedPolicy) -> RefusedPermission:
        """Refuse without a question, because the user refused several times."""
        denied = Deny(f"{MOST_REFUSED} questions in a row got no yes", by="no more questions")
        self.record(msgspec.structs.replace(evaluated, decision=denied))
        why = (
            f"not allowed: the last {MOST_REFUSED} questions to the user got no yes, so nothing "
            "more is asked in this turn; go on with what needs no question, or end the turn and "
            "say what you would do"
        )
        return RefusedPermission(why, "answered", evaluated)

    async def _put(self, evaluated: EvaluatedPolicy, ask: Ask) -> Reply:
        session = self.session
        question = await asyncio.to_thread(self._question, evaluated, ask)
        question = _with_warning(session, question, evaluated.asked.arguments)
        if session.helping is not None:
            title = f"Sub-agent {session.helping.name}: {question.title}"
            question = msgspec.structs.replace(question, title=title)

        def understood(reply: Reply) -> Reply:
            answer = chosen_of(question, reply)
            if not ask.rule and answer in {"session", "always"}:
                return "no"  # The question offered only an answer for this call.
            return answer

        return await put_question(
            session, self.use.meta.turn, self.use.id, question, self.emit, understood
        )

    def _question(self, evaluated: EvaluatedPolicy, ask: Ask) -> Question:
        """Build the question; call this method in a thread, because a long diff takes a while."""
        shown, held = self._shown, evaluated.rules.policy.sandbox
        hunks = diff_hunks(shown.diff) if shown.by_hunk else ()
        return question_for(self.use.id, evaluated.asked, ask, shown.diff, held, hunks)


def check_no_marks(call: Call) -> None:
    """Refuse to write a placeholder for a hidden secret, which would overwrite the secret.

    Raises:
        ToolError: The arguments contain a placeholder.
    """
    if call.effect != "read" and has_mark(call.arguments):
        raise ToolError(
            f"the arguments hold {MARK + ' …]'!r}, which stands for a secret that you are not "
            "shown; it would be lost, so nothing was done. Leave those lines as they are and "
            "change only what is around them"
        )


def remember_secrets(session: Session, call: Call, permit: Permit, outcome: Outcome) -> None:
    """Remember the values of a secret file that the user let the model see."""
    is_read = any(matches_any(path, SECRETS) for path in call.facts.paths)
    if permit.widening.shows_secrets or (call.effect == "read" and is_read):
        session.asked.shown_secrets |= values_in(outcome.text[:MOST_NOTED])


def _with_warning(session: Session, question: Question, arguments: str) -> Question:
    """Return the question, with a warning if the call contains a secret file's value."""
    if not any(secret in arguments for secret in session.asked.shown_secrets):
        return question
    reason = f"{question.reason}; it contains a value from a secret file that the model has seen"
    uncovered = question.uncovered or "it contains a secret that the model has seen"
    return msgspec.structs.replace(question, reason=reason, uncovered=uncovered)


def record_not_given(session: Session, use: ToolUse, why: str) -> None:
    """Record that a sub-agent called a tool that the sub-agent does not have."""
    if session.helping is None or session.parts.tools.has(use.name):
        return
    session.parts.log.append(
        Decided(
            turn=use.meta.turn,
            tool_use_id=use.id,
            tool=short_line(use.name, NAME_LIMIT),
            what=short_line(use.arguments, NAME_LIMIT),
            decision="deny",
            rule="its list of tools",
            reason=why,
            at=session.timestamp(),
            agent=session.helping.name,
        )
    )


def _answer_words(reply: Reply) -> str:
    """Return the answer in the form that the log stores."""
    if isinstance(reply, Chosen):
        return f"{len(reply.hunks)} of {len(reply.of)} hunks"
    return reply


def _asker(session: Session) -> Session:
    """Return the session whose user is asked; for a sub-agent, the parent's session."""
    return session if session.helping is None else session.helping.session


def _why_refused(answer: Said, evaluated: EvaluatedPolicy, ask: Ask) -> str:
    """Return why an answer refuses the call, for the model, or empty if the answer is yes."""
    if answer == "no":
        return "the user did not allow this; go on without it, or say what it is needed for"
    if answer == "uncovered":
        is_held = evaluated.rules.policy.sandbox != UNHELD
        why = why_uncovered(evaluated.asked, ask, is_held=is_held)
        return (
            f"not allowed: the user allowed commands beforehand (--allow-commands), but that does "
            f"not cover this one, as {why or 'it is more than that'}; nobody can be asked, so go "
            "on without it"
        )
    if answer == "unanswered":
        return (
            "nobody answered whether this may run, so it did not; go on without it, or say what "
            "it is needed for"
        )
    return ""
