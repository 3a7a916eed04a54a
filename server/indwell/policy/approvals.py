"""Questions about permission to a person, and the answers: once, always, no, or given in advance.

``run --allow-commands`` is an answer in advance. It covers commands, and what a yes lets a command
do. It never covers what a person must have seen: other changes of files, secrets, protected files,
what would leave a sandbox, and what the user wants to be asked about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from indwell.context.untrusted_text import shows_nothing
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.call_facts import Ask, CallFacts
from indwell.policy.commands.verdict import CommandPart
from indwell.policy.paths import is_program, is_protected
from indwell.policy.widening import NOTHING_MORE
from indwell.secrets.hiding import kinds_in
from indwell.workspace.comparing.hunks import DiffHunk

MOST_RISKY = 8  # parts of a command that are named as the reason; then their number is told
PART_LIMIT = 200  # characters of such a part, and of the model's words
UNHELD = "not sandboxed"  # as ``Strength.words`` has it
LONG_LINES = 15  # a dialog shows about as many
LONG_CHARACTERS = 1_200
_READ = 4  # times the length of a line: blanks are folded, and a huge text is not read to its end
_CONTROL = lazy_pattern(r"[\x00-\x08\x0b-\x1f\x7f]")
_BLANK = r"[ \t\r\v\f\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800\u3000]"
_EMPTY_LINES = lazy_pattern(rf"\n(?:{_BLANK}*\n){{3,}}")
_BLANKS = lazy_pattern(rf"{_BLANK}{{41,}}")

Answer: TypeAlias = Literal["no", "once", "session", "always"]
Said: TypeAlias = Answer | Literal["hunks", "unanswered", "beforehand", "uncovered"]
"""An answer, or that there was none: in time, or because nobody can be asked. Then it is no.

``hunks`` is a yes for once to some hunks of an edit. ``beforehand`` is a yes for once that ``run
--allow-commands`` gave, ``uncovered`` a no: that does not cover it, and nobody is asked."""


class ShownHunk(msgspec.Struct, frozen=True):
    """A part of a diff that may be answered alone.

    Attributes:
        id: Names it in the question.
        header: Where it stands, such as ``@@ -1,4 +1,5 @@``.
        text: Its lines, escaped, whole.
    """

    id: str
    header: str
    text: str


class Chosen(msgspec.Struct, frozen=True):
    """A yes for once to some hunks of an edit, and a no to its others.

    Attributes:
        hunks: Names of those with a yes.
        of: Names of all that were shown; whoever asks need not fill it in.
    """

    hunks: tuple[str, ...]
    of: tuple[str, ...] = ()


AskedKind: TypeAlias = Literal["command", "edit", "read", "other"]
"""What is asked for, so that nobody has to guess it from the words."""

Reply: TypeAlias = Said | Chosen
"""What an approver gives back."""


class Question(msgspec.Struct, frozen=True):
    """A permission to be asked for.

    Attributes:
        id: Binds the answer to the call: a hash of call id, arguments and folder.
        title: One line: what would happen.
        detail: The exact text that would run, or the diff; escaped, whole.
        reason: Why it is asked.
        rule: What ``session`` and ``always`` would store; empty if only ``once`` is possible.
        cwd: Where a command would run; empty for all else.
        sandbox: How a command is held if the answer is yes, in words.
        more: What a yes allows beyond the sandbox, for this one call, in words.
        why: The model's words for wanting more; nobody else has said them.
        wanted: Does the model itself ask for more than it has?
        risky: The parts of a command that are the reason, each with why.
        uncovered: Why a yes given beforehand is none to this; empty if it is. For no screen.
        hunks: Of an edit with several: each may be answered alone. Together they are ``detail``.
        kind: What is asked for.
        keeps: Would a yes keep something for later sessions? For the words of the answer.
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
        """What a person should know besides, a line each, for where there is only text."""
        once = "" if self.rule else ", for this one call"  # else as long as the answer stands
        told = [f"Because of: {one}" for one in self.risky]
        told += [f"The model asks for more: {self.more}, for this one call"] if self.wanted else []
        told += [f"The model says: {self.why}"] if self.wanted and self.why else []
        told += [f"A yes allows{once}: {self.more}"] if self.more and not self.wanted else []
        return (*told, f"Commands here: {self.sandbox}") if self.sandbox else tuple(told)


class Approver(Protocol):
    """Somebody who can be asked; where nobody can, nothing is allowed."""

    async def ask(self, question: Question) -> Reply:
        """Ask, and wait for the answer; an error or a closed dialog is ``no``."""
        ...


def question_for(  # noqa: PLR0917 - all that a question is made of
    tool_use_id: str,
    asked: CallFacts,
    ask: Ask,
    preview: str,
    sandbox: str = "",
    hunks: Sequence[DiffHunk] = (),
) -> Question:
    """Word a question; what is shown is what the hash binds.

    Args:
        tool_use_id: Of the call.
        asked: The call.
        ask: Why it is asked.
        preview: The diff of an edit, if there is one.
        sandbox: How commands are held here, in words.
        hunks: Of the preview, if each may be answered alone; a single one is answered with it.
    """
    # Not as JSON: a name on disk may hold half a surrogate pair, which only ``repr`` can write.
    bound = repr((tool_use_id, asked, preview, ask.widening, sandbox)).encode()
    identifier = hashlib.blake2b(bound, digest_size=16).hexdigest()
    kinds = ", ".join(kinds_in(asked.command or asked.arguments))
    held = f"; it holds what looks like a secret ({kinds})" if kinds else ""
    reason, rule = visible(ask.reason) + held, narrow(visible(ask.rule))
    uncovered = why_uncovered(asked, ask, is_held=sandbox != UNHELD)
    if asked.keeps:
        title, detail = f"Remember this {one_line(asked.keeps)}?", folded(visible(preview))
        return Question(identifier, title, detail, reason, rule, uncovered=uncovered, keeps=True)
    if asked.effect != "run":
        verb = "Read" if asked.effect == "read" else "Change"
        paths = tuple(dict.fromkeys(asked.paths))
        title = f"{verb} {one_line(', '.join(paths))}?"
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
        reason += f"; it runs {one_line(', '.join(asked.programs))}, of the workspace"
    if others := len({part.reason for part in ask.risky if part.reason} - {ask.reason}):
        reason = f"{reason}; and {others} more, below"
    if sandbox and sandbox != UNHELD and ask.widening.unconfined:
        sandbox = f"{sandbox}; this one: {ask.widening.words}"
    how = "in the background, " if asked.background else ""
    return Question(
        id=identifier,
        title=f"Run a command {how}in {one_line(asked.cwd) or '.'}?",
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


def chosen_of(question: Question, reply: Reply) -> Reply:
    """An answer hunk by hunk in the plain word that it comes to, if it comes to one.

    Names that the question does not have count for nothing.
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
    """The parts that are the reason; none for a command that is nothing else."""
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


def visible(text: str) -> str:
    """Show every character that could hide, reorder or fake text as its code point."""
    if text.isascii() and not _CONTROL.search(text):
        return text
    return "".join(
        character if character in "\n\t" or not _hides(character) else _code_point(character)
        for character in text
    )


def folded(text: str) -> str:
    """Say in words what would push a text's end out of sight: empty lines, blanks, its length."""
    short = narrow(text)
    lines = text.count("\n") + 1
    if lines <= LONG_LINES and len(text) <= LONG_CHARACTERS:
        return short
    return f"[{lines:,} lines, {len(text):,} characters; look at all of them]\n{short}"


def narrow(text: str) -> str:
    """Without long runs of nothing, told in words."""
    short = _EMPTY_LINES.sub(lambda run: f"\n[… {run[0].count(chr(10)) - 1} empty lines …]\n", text)
    return _BLANKS.sub(lambda run: f" [… {len(run[0])} blanks …] ", short)


def one_line(text: str) -> str:
    """``visible``, and nothing that begins a new line or column."""
    return visible(text).replace("\n", _code_point("\n")).replace("\t", _code_point("\t"))


def short_line(text: str, most: int) -> str:
    """A text of whoever as a line of at most ``most`` characters: ``visible``, blanks folded.

    For what names or reports something; what is asked for is never cut.
    """
    shown = visible(" ".join(text[: _READ * most].split()))
    is_whole = len(shown) <= most and len(text) <= _READ * most
    return shown if is_whole else f"{shown[: most - 1]}…"


def _code_point(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"  # noqa: PLR2004 - planes


def _hides(character: str) -> bool:
    return shows_nothing(character) or (character.isspace() and character not in " \n\t")


_USERS = ("ask:", "deny:")
_GUARDED = frozenset({"protected", "secret"})


def why_uncovered(asked: CallFacts, ask: Ask, *, is_held: bool) -> str:
    """Why such a yes is none to this question, in half a sentence; empty if it is one.

    Args:
        asked: The call.
        ask: Why it is asked.
        is_held: A sandbox of whatever kind holds commands here, so that one could leave it.
    """
    if asked.effect != "run":
        return "it is no command"
    if asked.wants != NOTHING_MORE:
        return "the model asks for more than commands have"
    if ask.by.startswith(_USERS) or any(part.rule.startswith(_USERS) for part in ask.risky):
        return "a rule of the user's asks about it each time"
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
