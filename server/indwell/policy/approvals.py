"""Permission questions to the user, and the answers: once, always, no, or given in advance.

``run --allow-commands`` is an answer in advance. An approval covers commands, and the access that a
yes gives to a command. The approval never covers other changes of files, secrets, protected files,
commands outside the sandbox, or actions with an ask rule. The user must see these effects.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.context.untrusted_text import (
    folded,
    named,
    narrow,
    one_line,
    short_line,
    visible,
)
from indwell.policy.call_facts import Ask, CallFacts
from indwell.policy.commands.verdict import CommandPart
from indwell.policy.paths import is_program, is_protected
from indwell.policy.rules import NOTHING_MORE
from indwell.policy.web_address import web_address
from indwell.secrets import kinds_in
from indwell.workspace.comparing.diff import DiffHunk

MOST_RISKY = 8  # A reason names at most 8 parts of a command, and gives the number of the others.
# the limit of characters for a part of a command in a reason, or for the model's text
PART_LIMIT = 200
UNHELD = "not sandboxed"  # ``Strength.words`` uses the same text.

Answer: TypeAlias = Literal["no", "once", "session", "always"]
Said: TypeAlias = Answer | Literal["hunks", "unanswered", "beforehand", "uncovered"]
"""The outcome of a question.

``hunks`` approves some hunks of an edit once. ``unanswered`` denies, because no answer came in
time, or because nobody can be asked. ``beforehand`` approves once, by ``run --allow-commands``.
``uncovered`` denies, because that option does not cover the question.
"""


class ShownHunk(msgspec.Struct, frozen=True):
    """A part of a diff that can be answered separately.

    Attributes:
        id: The hunk's name in the question.
        header: The hunk's header line, such as ``@@ -1,4 +1,5 @@``.
        text: The hunk's lines, escaped and complete.
    """

    id: str
    header: str
    text: str


class Chosen(msgspec.Struct, frozen=True):
    """A single yes to some hunks of an edit, and a no to the others.

    Attributes:
        hunks: Ids of the hunks that the user accepts.
        of: Ids of all shown hunks; the approver may leave this empty.
    """

    hunks: tuple[str, ...]
    of: tuple[str, ...] = ()


AskedKind: TypeAlias = Literal["command", "edit", "read", "other"]
"""The kind of a question, so that no client has to guess the kind from the text."""

Reply: TypeAlias = Said | Chosen
"""The answer of an approver."""


class Question(msgspec.Struct, frozen=True):
    """A question to the user about a permission.

    Attributes:
        id: A hash of call id, arguments and folder, which binds the answer to the call.
        title: One line that says what happens after a yes.
        detail: The exact text that would run, or the diff; escaped and complete.
        reason: The reason for the question.
        rule: The rule that ``session`` and ``always`` store, or empty if only ``once`` is possible.
        cwd: The folder in which a command would run, or empty for other calls.
        sandbox: The confinement of a command after a yes, in words.
        more: The access beyond the sandbox that a yes allows for this one call, in words.
        why: The model's reason for requesting more access, in the model's words.
        wanted: Whether the model itself asks for more access.
        risky: The parts of the command that cause the question, each with the reason.
        uncovered: Why no earlier yes covers the call; not shown to the user, or empty if one covers
            the call.
        hunks: The hunks of an edit with several hunks, which together form ``detail``; the user can
            answer each hunk.
        kind: The kind of permission.
        keeps: Whether a yes stores something for later sessions; the answer's title then says so.
    """

    id: str
    title: str
    detail: str
    reason: str
    rule: str
    cwd: str = ""
    sandbox: str = ""
    more: str = ""
    why: str = ""
    wanted: bool = False
    risky: tuple[str, ...] = ()
    uncovered: str = ""
    hunks: tuple[ShownHunk, ...] = ()
    kind: AskedKind = "other"
    keeps: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Return further notes for the user, a line each, for clients that show plain text."""
        # Without a rule, a yes is valid only for one call.
        once = "" if self.rule else ", for this one call"
        told = [f"Because of: {one}" for one in self.risky]
        told += [f"The model requests more: {self.more}, for this one call"] if self.wanted else []
        told += [f"The model says: {self.why}"] if self.wanted and self.why else []
        told += [f"A yes allows{once}: {self.more}"] if self.more and not self.wanted else []
        return (*told, f"Commands here: {self.sandbox}") if self.sandbox else tuple(told)


class Approver(Protocol):
    """Asks the user; if there is no user to ask, nothing is allowed."""

    async def ask(self, question: Question) -> Reply:
        """Ask and wait for the answer; an error or a closed dialog counts as ``no``."""
        ...


def question_for(  # noqa: PLR0917 - all that a question is made of
    tool_use_id: str,
    asked: CallFacts,
    ask: Ask,
    preview: str,
    sandbox: str = "",
    hunks: Sequence[DiffHunk] = (),
) -> Question:
    """Create a question, whose id is a digest of exactly the shown text.

    Args:
        tool_use_id: The id of the call.
        asked: The call.
        ask: The decision with its reason.
        preview: The diff of an edit, if there is one.
        sandbox: The confinement of commands here, in words.
        hunks: The hunks of the preview, if the user can answer each hunk; with a single hunk, the
            user answers the call.
    """
    # JSON is unsuitable here, because only ``repr`` can write half a surrogate pair in a file name.
    bound = repr((tool_use_id, asked, preview, ask.widening, sandbox)).encode()
    identifier = hashlib.blake2b(bound, digest_size=16).hexdigest()
    kinds = ", ".join(kinds_in(asked.command or asked.arguments))
    held = f"; it contains what looks like a secret ({kinds})" if kinds else ""
    reason, rule = visible(ask.reason) + held, narrow(visible(ask.rule))
    uncovered = why_uncovered(asked, ask, is_held=sandbox != UNHELD)
    if asked.keeps:
        title, detail = f"Remember this {one_line(asked.keeps)}?", folded(visible(preview))
        return Question(identifier, title, detail, reason, rule, uncovered=uncovered, keeps=True)
    if asked.address:
        title = f"Fetch a page from {named(web_address(asked.address).place.host)}?"
        detail = folded(visible(asked.address))
        return Question(identifier, title, detail, reason, rule, uncovered=uncovered)
    if asked.foreign is not None:
        foreign = asked.foreign
        title = f"Use {named(foreign.name)} of the MCP server {named(foreign.server)}?"
        claims = ", ".join(foreign.claims)
        reason += f"; the server says of it: {claims}" if claims else ""
        detail = folded(visible(_indented(asked.arguments)))
        return Question(identifier, title, detail, reason, rule, uncovered=uncovered)
    if asked.effect != "run" and asked.effect != "external":  # noqa: PLR1714 - types
        verb = "Read" if asked.effect == "read" else "Change"
        paths = tuple(dict.fromkeys(asked.paths))
        title = f"{verb} {', '.join(map(named, paths))}?"
        if asked.effect == "read" and not preview:
            detail = "\n".join(map(one_line, paths)) or visible(asked.arguments)
        else:
            detail = folded(visible(preview or asked.arguments))
        parts = tuple(map(_shown_hunk, hunks)) if len(hunks) > 1 else ()
        return Question(
            identifier,
            title,
            detail,
            reason,
            rule,
            uncovered=uncovered,
            hunks=parts,
            kind=asked.effect,
        )
    if asked.programs:
        reason += f"; it runs {', '.join(map(named, asked.programs))} from the workspace"
    if others := len({part.reason for part in ask.risky if part.reason} - {ask.reason}):
        reason = f"{reason}; and {others} more, below"
    if sandbox and sandbox != UNHELD and ask.widening.unconfined:
        sandbox = f"{sandbox}; this one: {ask.widening.words}"
    how = "in the background, " if asked.background else ""
    return Question(
        id=identifier,
        title=f"Run a command {how}in {named(asked.cwd or '.')}?",
        detail=folded(visible(asked.command)),
        reason=reason,
        rule=rule,
        cwd=one_line(asked.cwd),
        sandbox=sandbox,
        more=one_line(ask.widening.words),
        why=short_line(asked.why, PART_LIMIT),
        wanted=asked.wants != NOTHING_MORE,
        risky=_risky(ask.risky, asked.command),
        uncovered=uncovered,
        kind="command",
    )


def _indented(arguments: str) -> str:
    """Return JSON with a line for each value, so that people can read it."""
    return msgspec.json.format(arguments or "{}", indent=2)


def chosen_of(question: Question, reply: Reply) -> Reply:
    """Reduce an answer by hunks to yes or no, if all hunks have the same answer.

    The function ignores ids that are not in the question.
    """
    if not isinstance(reply, Chosen):
        return reply
    known = tuple(hunk.id for hunk in question.hunks)
    wanted = tuple(one for one in known if one in set(reply.hunks))
    if not wanted:
        return "no"
    return "once" if wanted == known else Chosen(wanted, known)


def _shown_hunk(hunk: DiffHunk) -> ShownHunk:
    return ShownHunk(hunk.id, visible(hunk.header), folded(visible(hunk.text.rstrip("\n"))))


def _risky(parts: tuple[CommandPart, ...], command: str) -> tuple[str, ...]:
    """Return the parts of a command that cause the question; a command of one part has none."""
    if len(parts) == 1 and parts[0].text.strip() == command.strip():
        return ()
    named = [
        f"{short_line(one.text, PART_LIMIT)} ({short_line(one.reason, PART_LIMIT)})"
        if one.reason
        else short_line(one.text, PART_LIMIT)
        for one in parts[:MOST_RISKY]
    ]
    more = len(parts) - MOST_RISKY
    return (*named, f"and {more} more") if more > 0 else tuple(named)


_USERS = ("ask:", "deny:")
_GUARDED = frozenset({"protected", "secret"})


def why_uncovered(asked: CallFacts, ask: Ask, *, is_held: bool) -> str:
    """Return, as a clause, why no earlier yes covers this call; return "" if one covers the call.

    Args:
        asked: The call.
        ask: The decision with its reason.
        is_held: Whether a sandbox of any kind confines commands here, which the call could leave.
    """
    if asked.effect != "run":
        return "it is not a command"
    if asked.wants != NOTHING_MORE:
        return "the model requests more access than commands have"
    if ask.by.startswith(_USERS) or any(part.rule.startswith(_USERS) for part in ask.risky):
        return "a rule of the user asks about it each time"
    if any(map(_is_guarded, ask.risky)) or ask.by in _GUARDED:
        return "it touches protected files or secrets"
    if ask.widening.shows_secrets:
        return "it could read secret files"
    if ask.widening.writes_protected:
        return "it could change protected files"
    if is_held and ask.widening.unconfined:
        return "it would run outside the sandbox"
    return ""


def _is_guarded(part: CommandPart) -> bool:
    return part.decision == "ask" and (
        part.rule in _GUARDED
        or any(is_protected(word) and not is_program(word) for word in part.words)
    )
