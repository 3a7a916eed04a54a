"""Decides on permissions for tool calls, hooks and checks.

The policy evaluates a request with a snapshot of the rules. If the policy demands a question, the
user is asked. After the question, the policy evaluates the request again with a new snapshot. Each
decision is recorded. Each source of requests implements ``Requester``. An error in an evaluation
counts as a denial.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.agent.core.events import Listener, PermissionAnswered, PermissionAsked
from indwell.agent.core.session import Session
from indwell.agent.permission.call_facts import call_facts, with_batch_files, with_scripts
from indwell.bounds.rules import Rules
from indwell.errors import ToolError
from indwell.policy.approvals import UNHELD, Chosen, Question, Reply
from indwell.policy.call_facts import BY_ANSWER, Allow, Ask, CallFacts, Decision, Deny, Policy
from indwell.policy.decide import decide
from indwell.policy.rules import NOTHING_MORE, Widening
from indwell.sessions.records import Verdict
from indwell.tools.base import ToolFacts

VERDICTS: Mapping[type, Verdict] = {Allow: "allow", Ask: "ask", Deny: "deny"}
"""The name of each decision in the log."""

FAULT = "fault"  # Records name this rule for a denial after an error in Indwell.
PLACE = "place"  # Records name this rule for a denial because tools may not access a path.
FAULT_OF_CALL = "Indwell could not decide on this call, through a fault of its own; tell the user"
FAULT_OF_COMMAND = (
    "Indwell could not decide on this command, through a fault of its own; see the log"
)
OWN_RULE = "ask:"  # A user's rule with this prefix asks about commands of any requester.
_log = logging.getLogger(__name__)


class EvaluatedPolicy(msgspec.Struct, frozen=True):
    """A request as the policy sees it, a snapshot of the rules, and the decision.

    Attributes:
        asked: The paths, the command and the effect of the request.
        decision: The decision, including the requester's own permissions.
        rules: The snapshot of the rules.
        by_policy: The decision by the policy alone, as for a command of the agent.
    """

    asked: CallFacts
    decision: Decision
    rules: Rules
    by_policy: Decision


class RefusedPermission(msgspec.Struct, frozen=True):
    """The refusal of a request.

    Attributes:
        why: The reason for the refusal, as a clause.
        kind: The cause of the refusal: the policy, the user, or a change of the request, its bounds
            or the rules.
        evaluated: The evaluation at the time of the refusal.
    """

    why: str
    kind: Literal["denied", "answered", "changed", "sandbox", "rules"]
    evaluated: EvaluatedPolicy


class Consent(msgspec.Struct, frozen=True):
    """The user's yes to a question.

    Attributes:
        chosen: The hunks that the user allowed, or None for all hunks.
        was_reviewed: Whether the user saw the diff of the change and allowed it.
    """

    chosen: Chosen | None = None
    was_reviewed: bool = False


class Permit(msgspec.Struct, frozen=True):
    """Permission for a request, with the bounds that apply to the request.

    Attributes:
        requester: The requester of the permission.
        evaluated: The evaluation that the permission is based on.
        widening: Access beyond the sandbox that the request may use.
        consent: The user's yes, or None if no question was needed.
    """

    requester: Requester
    evaluated: EvaluatedPolicy
    widening: Widening = NOTHING_MORE
    consent: Consent | None = None

    @property
    def rules(self) -> Rules:
        """The snapshot of the rules that allowed the request."""
        return self.evaluated.rules

    @property
    def surely_reads(self) -> bool:
        """True if the sandbox prevents the command from writing any file."""
        return self.widening.reads_only and self.rules.policy.writes_confined

    @property
    def judged(self) -> Mapping[str, Path]:
        """The resolved paths of the request at the time of the decision."""
        written, resolved = self.requester.facts.paths, self.evaluated.asked.resolved
        return dict(zip(written, map(Path, resolved), strict=True))

    @property
    def chosen(self) -> Chosen | None:
        """The hunks of the preview that the user allowed, or None for all hunks."""
        return None if self.consent is None else self.consent.chosen

    @property
    def was_reviewed(self) -> bool:
        """True if the user saw the diff of the change and allowed it."""
        return self.consent is not None and self.consent.was_reviewed


class Requester(Protocol):
    """The source of a request: gives facts, asks the user, and records decisions."""

    @property
    def facts(self) -> ToolFacts:
        """The effects of the request, such as its paths."""
        ...

    @property
    def arguments(self) -> str:
        """The complete request as JSON, to which the user's answer is bound."""
        ...

    def settled(self, evaluated: EvaluatedPolicy) -> Decision:
        """Return the policy's decision, adapted to the source of the request."""
        ...

    def record(self, evaluated: EvaluatedPolicy, answer: str = "") -> None:
        """Record a decision, for ``indwell audit``."""
        ...

    async def ask(self, evaluated: EvaluatedPolicy, ask: Ask) -> Consent | RefusedPermission:
        """Ask the user, and record the question and the answer."""
        ...

    async def shows_the_same(self, evaluated: EvaluatedPolicy) -> bool:
        """Return whether the question would show the same change again."""
        ...

    async def keep(self, ask: Ask) -> None:
        """Store the answer for later requests, if the user chose that."""
        ...


TOOL = "bash"  # rules for this tool also apply to commands of hooks and checks


def command_facts(command: str, folder: Path) -> tuple[ToolFacts, str]:
    """Return the facts and arguments of a hook's or check's command, like those of ``bash``."""
    arguments = msgspec.json.encode({"command": command}).decode()
    return ToolFacts(tool=TOOL, effect="run", command=command, cwd=str(folder)), arguments


Permitted: TypeAlias = Permit | RefusedPermission


async def permission(session: Session, requester: Requester) -> Permitted:
    """Decide on a request; ask the user if the policy demands a question.

    Only one question is open at a time in a session, so each answer belongs to one question.
    """
    now = await evaluate(session, requester)
    if isinstance(now.decision, Ask):
        async with session.asked.lock:
            # The answer to another question may have allowed this request.
            now = await evaluate(session, requester)
            if isinstance(now.decision, Ask):
                return await _by_question(session, requester, now, now.decision)
    return _without_question(requester, now)


async def still_allowed(session: Session, permit: Permit) -> Permitted:
    """Evaluate a permission again, after the request had to wait for something else.

    Call this function also right before the request starts; the call is fast if the rules are
    unchanged.

    Returns:
        The permit with the bounds of the current rules, or the refusal. A request that needs a new
        question is refused.
    """
    before, requester = permit.evaluated, permit.requester
    if _same_rules(session, before.rules):
        return permit
    now = await evaluate(session, requester, with_files=_binds_to_files(before.by_policy))
    match now.decision:
        case Deny():
            return _without_question(requester, now)
        case Allow(widening=widening) if permit.consent is None:
            return Permit(requester, now, widening)
        case Ask(by=by) if permit.consent is None:
            why = _changed_while_waiting(requester)
            requester.record(msgspec.structs.replace(now, decision=Deny(why, by=by)))
            return RefusedPermission(why, "rules", now)
        case _:
            refused = _changed(before, now, permit.widening)
            return refused or msgspec.structs.replace(permit, evaluated=now)


async def evaluate(
    session: Session, requester: Requester, *, with_files: bool = False
) -> EvaluatedPolicy:
    """Evaluate the current rules for a request; an error is a denial.

    Args:
        session: The session of the request.
        requester: The request.
        with_files: Whether to take digests of the scripts that the request runs, even if the
            decision needs none.
    """
    facts = requester.facts
    asked = CallFacts(facts.tool, facts.effect, facts.paths, command=facts.command, cwd=facts.cwd)
    rules = Rules(Policy("plan"))
    try:
        rules = session.parts.rules()
        asked = await call_facts(session, rules, requester.arguments, facts)
        found = await _by_policy(session, asked, rules, with_files=with_files)
        return msgspec.structs.replace(found, decision=requester.settled(found))
    except ToolError as error:
        deny = Deny(str(error), by=PLACE)
    except Exception:  # noqa: BLE001 - the boundary of the policy: an error is a denial
        _log.exception("a request could not be decided on")
        deny = Deny(FAULT_OF_CALL, by=FAULT)
    return EvaluatedPolicy(asked, deny, rules, deny)


async def put_question(  # noqa: PLR0917 - whose question it is, and who hears of it
    session: Session,
    turn: int,
    call_id: str,
    question: Question,
    emit: Listener,
    understood: Callable[[Reply], Reply],
) -> Reply:
    """Ask the user, and emit events for user interfaces; ``understood`` parses the reply."""
    shown = question.title, question.detail, question.reason
    emit(PermissionAsked(turn, call_id, question.id, *shown))
    reply: Reply = "unanswered"
    try:
        reply = understood(await session.parts.approver.ask(question))
    finally:  # The question disappears when the turn is stopped.
        if isinstance(reply, Chosen):
            told = PermissionAnswered(turn, call_id, question.id, "hunks", reply.hunks)
        else:
            told = PermissionAnswered(turn, call_id, question.id, reply)
        emit(told)
    return reply


def how_sandboxed(evaluated: EvaluatedPolicy) -> str:
    """Return a description of a command's sandbox, or an empty text for other calls."""
    decision = evaluated.decision
    if evaluated.asked.effect != "run" or isinstance(decision, Deny):
        return ""
    policy = evaluated.rules.policy
    if isinstance(decision, Allow) and decision.widening.reads_only and policy.readers_sandbox:
        return policy.readers_sandbox
    return UNHELD if decision.widening.unconfined else policy.sandbox


async def _by_question(
    session: Session, requester: Requester, before: EvaluatedPolicy, ask: Ask
) -> Permitted:
    """Ask the user; a yes allows exactly the shown request, if the rules still allow it."""
    answer = await requester.ask(before, ask)
    if isinstance(answer, RefusedPermission):
        return answer
    now = await evaluate(session, requester, with_files=True)
    if isinstance(now.decision, Deny):
        return _without_question(requester, now)
    refused = _changed(before, now, ask.widening)
    if refused is None and not await requester.shows_the_same(now):
        refused = RefusedPermission(_CHANGED, "changed", now)
    if refused is not None:
        return refused
    await requester.keep(ask)
    return Permit(requester, now, ask.widening, answer)


def _without_question(requester: Requester, now: EvaluatedPolicy) -> Permitted:
    requester.record(now)
    match now.decision:
        case Allow(widening=widening):
            return Permit(requester, now, widening)
        case Deny(reason=reason) | Ask(reason=reason):
            return RefusedPermission(reason, "denied", now)


_CHANGED = "what it would do changed while the user was asked; nothing was done"
_SANDBOX = "how commands are held changed while the user was asked; nothing was done"


def _changed(
    before: EvaluatedPolicy, now: EvaluatedPolicy, widening: Widening
) -> RefusedPermission | None:
    """Return why a yes is no longer valid, or None if the facts and bounds are unchanged."""
    if now.asked != before.asked:
        return RefusedPermission(_CHANGED, "changed", now)
    is_wider = isinstance(now.decision, Ask) and now.decision.widening != widening
    if is_wider or now.rules.policy.sandbox != before.rules.policy.sandbox:
        return RefusedPermission(_SANDBOX, "sandbox", now)
    return None


def _changed_while_waiting(requester: Requester) -> str:
    what = "commands" if requester.facts.effect == "run" else "this tool"
    return f"the rules for {what} changed while this one waited; nothing was done"


def _same_rules(session: Session, before: Rules) -> bool:
    """Return whether the current rules equal ``before``, without facts from the disk."""
    try:
        now = session.parts.rules().policy
    except Exception:  # noqa: BLE001 - the evaluation that follows logs the error, and denies
        return False
    return now is before.policy or now == msgspec.structs.replace(
        before.policy, secret_files=(), repositories=()
    )


async def _by_policy(
    session: Session, asked: CallFacts, rules: Rules, *, with_files: bool
) -> EvaluatedPolicy:
    """Decide by a snapshot of the rules, and read facts from the disk only if needed."""
    policy = rules.policy
    if asked.effect == "run" and not policy.writes_confined:
        policy = await asyncio.to_thread(_with_disk, rules)
    asked = await with_batch_files(session, rules, asked)
    decision = decide(asked, policy)
    if with_files or _binds_to_files(decision):
        asked = await with_scripts(session, rules, asked)
        decision = decide(asked, policy)
    return EvaluatedPolicy(asked, decision, replace(rules, policy=policy), decision)


def _binds_to_files(decision: Decision) -> bool:
    """Return whether an answer to the request only holds for the present contents of files."""
    return isinstance(decision, Ask) or (
        isinstance(decision, Allow) and decision.by.startswith(BY_ANSWER)
    )


def _with_disk(rules: Rules) -> Policy:
    """Return the policy with facts from the disk; blocks."""
    return msgspec.structs.replace(
        rules.policy, secret_files=rules.secret_files(), repositories=rules.repositories()
    )
