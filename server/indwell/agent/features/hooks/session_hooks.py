"""Finds the hooks of a session, and decides whether a hook may run.

A hook is subject to the same rules as a command of the agent. If the rules demand a question, the
user's own hooks still run without a question. For a project's hook, the user is asked once in a
session. A hook never runs a command that the policy denies to the agent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from indwell.agent.core.events import Listener, Notice
from indwell.agent.core.session import Session
from indwell.agent.features.hooks.hook_io import EventName
from indwell.agent.permission.decision import (
    FAULT,
    FAULT_OF_COMMAND,
    OWN_RULE,
    VERDICTS,
    Consent,
    EvaluatedPolicy,
    Permit,
    Permitted,
    RefusedPermission,
    command_facts,
    permission,
    put_question,
    still_allowed,
)
from indwell.context.untrusted_text import short_line
from indwell.policy.approvals import Reply, Said, question_for
from indwell.policy.call_facts import Allow, Ask, Decision, Deny, covers_later_calls, rule_of
from indwell.policy.decide import decide, judged
from indwell.policy.rules import NOTHING_MORE, Widening
from indwell.sessions.records import Decided
from indwell.settings.table_types import Hook
from indwell.tools.base import ToolFacts

_SHOWN = 60  # A hook is named by the first 60 characters of its command.


class FoundHook(msgspec.Struct, frozen=True):
    """A hook with its owner.

    Attributes:
        hook: The hook as the settings define it.
        is_own: Whether the hook is the user's own; otherwise the hook belongs to a trusted project.
    """

    hook: Hook
    is_own: bool

    @property
    def name(self) -> str:
        """The hook's displayed name: the event, and the beginning of the command."""
        whose = "the hook" if self.is_own else "the project's hook"
        return f"{whose} {self.hook.event} ({short_line(self.hook.command, _SHOWN)})"


class MatchingHooks(msgspec.Struct, frozen=True):
    """The hooks for one event.

    Attributes:
        hooks: The hooks, in the order in which the hooks run.
        folder: The folder in which the hooks run, or None if no hook matches.
    """

    hooks: tuple[FoundHook, ...] = ()
    folder: Path | None = None


def none_found() -> MatchingHooks:
    """Return an empty list of hooks."""
    return MatchingHooks()


@dataclass(slots=True)
class HookBook:
    """The hooks of a session.

    Attributes:
        look: Finds the hooks; blocks. Called once in a turn, so that a turn has the same hooks
            throughout.
        answers: The user's answers for this session: exact rules that may run, and commands that
            may not run.
        running: The lock that is held while a hook runs, so that each change of a file has one
            author.
        n_runs: The number of runs so far, which is part of each run's id.
        asked_in: The turn in which a hook continued the turn, which hooks may do once.
        told_in: The last turn in which hooks ran because the model wanted to end the turn.
    """

    look: Callable[[], MatchingHooks] = none_found
    answers: dict[str, bool] = field(default_factory=dict)
    running: asyncio.Lock = field(default_factory=asyncio.Lock)
    n_runs: int = 0
    asked_in: int = 0
    told_in: int = 0
    _of: tuple[str, int] = ("", 0)
    _found: MatchingHooks = MatchingHooks()  # noqa: RUF009 - a frozen value, safe to share

    async def found(self, session: str, turn: int) -> MatchingHooks:
        """Return the hooks of this turn."""
        if self.look is none_found:
            return self._found
        if self._of != (session, turn):
            self._found = await asyncio.to_thread(self.look)
            self._of = session, turn
        return self._found

    async def has(self, session: str, turn: int, event: EventName, tool: str = "") -> bool:
        """Return whether there is a hook for this event, before a payload is prepared."""
        found = await self.found(session, turn)
        return found.folder is not None and bool(wanted(found, event, tool))

    def next_id(self, turn: int) -> str:
        """Return an id for one run; the id is unique in the session's process."""
        self.n_runs += 1
        return f"hook-{turn}-{self.n_runs}"


def wanted(found: MatchingHooks, event: EventName, tool: str = "") -> tuple[FoundHook, ...]:
    """Return the hooks for an event; events of a tool also match by the tool's name."""
    return tuple(
        one
        for one in found.hooks
        if one.hook.event == event
        and (not one.hook.tools or any(fnmatchcase(tool, glob) for glob in one.hook.tools))
    )


HOOK = "hook"  # the tool name of hooks in the log
RESTRICTED = "restricted folder"  # the rule that denies commands of a restricted folder
_FOR_PEOPLE = {
    RESTRICTED: "its folder is not trusted, and nothing runs there until you trust it",
    "plan": "the mode is `plan`, and no sandbox keeps the hook from changing files",
    FAULT: FAULT_OF_COMMAND,
}
"""For people, why a rule denies a hook; the policy's own reasons are worded for models."""
_YES: frozenset[Said] = frozenset({"once", "session", "always", "beforehand"})
_CHANGED = "its program or its sandbox changed while you were asked"


class RefusedHook(msgspec.Struct, frozen=True):
    """A hook that may not run.

    Attributes:
        why: The reason, as a clause.
        by_user: Whether the user was asked and did not agree.
    """

    why: str
    by_user: bool = False


async def hook_permit(  # noqa: PLR0917 - what runs where, and who is told
    session: Session,
    turn: int,
    run_id: str,
    found: FoundHook,
    folder: Path,
    emit: Listener,
) -> Permit | RefusedHook:
    """Return the permit of a hook, with its bounds; the decision is recorded for the audit."""
    facts, arguments = command_facts(found.hook.command, folder)
    request = HookRequest(session, turn, run_id, found, emit, facts, arguments)
    return _worded(await permission(session, request))


async def still_permitted_hook(session: Session, permit: Permit) -> Permit | RefusedHook:
    """Check the permit of a hook again under the current rules, just before the hook starts."""
    return _worded(await still_allowed(session, permit))


def _worded(found: Permitted) -> Permit | RefusedHook:
    """Return the permit, or the refusal in words for people."""
    if isinstance(found, Permit):
        return found
    match found.kind:
        case "answered":
            return RefusedHook(found.why, by_user=True)
        case "changed" | "sandbox":
            return RefusedHook(_CHANGED)
        case "denied" | "rules":
            decision = found.evaluated.decision
            rule = "" if isinstance(decision, Ask) else decision.by
            return RefusedHook(_FOR_PEOPLE.get(rule, found.why))


@dataclass(frozen=True, slots=True)
class HookRequest:
    """A request to run a hook; see ``Requester``."""

    session: Session
    turn: int
    id: str
    found: FoundHook
    emit: Listener
    facts: ToolFacts
    arguments: str

    def settled(self, evaluated: EvaluatedPolicy) -> Decision:
        """Return the decision; the user's own hook needs no question, but may be read-only."""
        decision = evaluated.by_policy
        match decision:
            case Deny(by=by) if self.found.is_own and _only_reads(evaluated, by):
                return Allow(by="hooks", widening=Widening(reads_only=True))
            case Ask(by=by) if self.found.is_own and not by.startswith(OWN_RULE):
                return Allow(by="hooks", widening=NOTHING_MORE)
            case _:
                return decision

    def record(self, evaluated: EvaluatedPolicy, answer: str = "") -> None:
        """Record a decision for ``indwell audit``."""
        decision, of_policy = evaluated.decision, evaluated.by_policy
        verdict = VERDICTS[type(decision)]
        self.session.parts.log.append(
            Decided(
                turn=self.turn,
                tool_use_id=self.id,
                tool=HOOK,
                what=self.found.hook.command,
                cwd=evaluated.asked.cwd,
                decision=verdict,
                rule=decision.by,
                reason="" if isinstance(decision, Allow) else decision.reason,
                answer=answer,
                widening="" if isinstance(of_policy, Deny) else of_policy.widening.words,
                sandbox="" if verdict == "deny" else evaluated.rules.policy.sandbox,
                at=self.session.timestamp(),
            )
        )

    async def ask(self, evaluated: EvaluatedPolicy, ask: Ask) -> Consent | RefusedPermission:
        """Ask the user; store a no for the command's text, and a yes for its text and scripts."""
        answers = self.session.parts.features.door(HookBook).answers
        command, rule = self.found.hook.command, rule_of(evaluated.asked, widening=ask.widening)
        yes = answers.get(command, answers.get(rule))
        if yes is None:
            yes = await self._put(evaluated, ask)
            if not yes and not self.found.is_own:
                name = self.found.name
                words = f"{name} is skipped in this session, because it was not allowed to run"
                self.emit(Notice(self.turn, "info", words))
            if not yes or covers_later_calls(evaluated.asked, ask.widening):
                answers[rule if yes else command] = yes
        else:
            self.record(evaluated, "session" if yes else "no")
        if not yes:
            why = "you did not allow it to run in this session"
            return RefusedPermission(why, "answered", evaluated)
        return Consent()

    async def shows_the_same(self, evaluated: EvaluatedPolicy) -> bool:
        """Return True, because the question shows the command and no change."""
        del evaluated
        return True

    async def keep(self, ask: Ask) -> None:
        """Store nothing, because the hook book stores the answers for the session."""

    async def _put(self, evaluated: EvaluatedPolicy, ask: Ask) -> bool:
        whose = "a hook of yours" if self.found.is_own else "a hook of this project"
        reason = f"{whose} for {self.found.hook.event}, asked once a session; {ask.reason}"
        worded = msgspec.structs.replace(ask, reason=reason, rule="")
        question = question_for(
            self.id, evaluated.asked, worded, "", evaluated.rules.policy.sandbox
        )

        def understood(reply: Reply) -> Reply:
            return reply if isinstance(reply, str) else "no"

        # Record the question before the answer, because the question may never be answered.
        self.record(evaluated)
        reply = await put_question(
            self.session, self.turn, self.id, question, self.emit, understood
        )
        assert isinstance(reply, str)
        self.record(evaluated, reply)
        return reply in _YES


def _only_reads(evaluated: EvaluatedPolicy, by: str) -> bool:
    """Return whether a hook is denied only for possible writes, which the sandbox prevents.

    In an untrusted folder, the command must also be known to only read, because another command
    might start a program of the folder.
    """
    policy = evaluated.rules.policy
    if not policy.writes_confined:
        return False
    if by != RESTRICTED:
        return by == "plan"
    anywhere = msgspec.structs.replace(policy, restricted=())
    allowed = decide(evaluated.asked, anywhere)
    return isinstance(allowed, Allow) and judged(evaluated.asked, policy).reads_only


def note_ending(session: Session, turn: int, run_id: str, found: FoundHook, words: str) -> None:
    """Record how a permitted hook ended."""
    session.parts.log.append(
        Decided(
            turn=turn,
            tool_use_id=run_id,
            tool=HOOK,
            what=found.hook.command,
            decision="allow",
            at=session.timestamp(),
            ending=words,
        )
    )
