"""Judges a shell text: ``deny > ask > allow`` over all of its parts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from indwell.context.untrusted_text import shows_nothing
from indwell.lazy_pattern import lazy_pattern
from indwell.policy.commands.judge_command import Judging
from indwell.policy.commands.path_rules import Situation
from indwell.policy.commands.verdict import (
    READ_ONLY,
    CommandPart,
    CommandVerdict,
    PartFinding,
    joined,
)
from indwell.policy.shell.items import AT_START, Oddity, Simple
from indwell.policy.shell.parse import ShellReading, Tangle
from indwell.policy.shell.second_reader import runs_of
from indwell.policy.shell.words import Word

if TYPE_CHECKING:
    from indwell.policy.shell.powershell import PowerShellReading

# The limit is in characters; users do not read longer texts in a question, and parsing takes too
# long.
LONGEST = 8_000
# More occurrences cost more than 6 ms, because the parser's time grows with their square.
_MOST = {"|": 400, "<<": 100}
_DEEPEST = 4  # At most 4 texts are nested, as in `bash -c "bash -c …"`.
_ORDER = {"deny": 0, "ask": 1, "allow": 2}
_ASCII = lazy_pattern(r"[\t\n\x20-\x7e]*")
_TOKEN = lazy_pattern(r"[^\s;&|<>()`\"'$]+")


def judge(command: str, situation: Situation) -> CommandVerdict:
    """Judge a command; never raises for any command text."""
    if len(command) > LONGEST or any(command.count(one) > most for one, most in _MOST.items()):
        return _too_long(situation, "is too long to be analysed")
    return _judge(command, situation, _DEEPEST)


def _too_long(situation: Situation, reason: str) -> CommandVerdict:
    """Judge a text that is too long, whose unread part may contain denied commands."""
    return CommandVerdict("deny" if situation.rules.deny else "ask", "limits", reason)


def _judge(command: str, situation: Situation, depth: int) -> CommandVerdict:
    if not command.strip(" \t\n"):
        return CommandVerdict("allow", READ_ONLY, reads_only=True)
    if not depth:
        return _too_long(situation, "contains texts nested too deeply")
    try:
        reading = _reading(command, situation)
    except (Tangle, RecursionError):
        return _too_long(situation, "is too long or nested too deeply to be analysed")
    is_certain = not reading.is_broken and _two_agree(reading, situation)
    judging = Judging(situation, is_certain=is_certain)
    chars = _Characters(command, reading.data)
    found: list[tuple[CommandPart, PartFinding]] = []
    nested: list[PartFinding] = []
    for item in reading.items:
        if isinstance(item, Oddity):
            finding = judging.oddity(item.reason, is_hard=item.is_hard)
            found.append((chars.part(item.start, item.end, (), finding), finding))
            place = (item.start, item.end)
            found += [_inner(text, place, chars, situation, depth) for text in item.texts]
        else:
            parts = _simple(item, judging, chars, situation, depth)
            found += parts
            nested += [finding for _, finding in parts if item.is_nested]
    general = [*_unseen(command, reading, judging), *_patterns_reach(reading, found, nested)]
    general += _as_written(reading, judging)
    if reading.expands and not _is_any(found):
        general += _expands(situation)
    return _combined(found, general)


def _reading(command: str, situation: Situation) -> ShellReading | PowerShellReading:
    if situation.language == "bash":
        return ShellReading(command)
    from indwell.policy.shell.powershell import PowerShellReading  # noqa: PLC0415 - for Windows

    return PowerShellReading(command)


def _as_written(
    reading: ShellReading | PowerShellReading, judging: Judging
) -> Iterator[PartFinding]:
    """Return findings of deny and ask patterns for an alias as written, such as ``rm``."""
    if isinstance(reading, ShellReading) or not judging.patterns.can_forbid:
        return
    for item in reading.items:
        if isinstance(item, Simple) and item.words:
            yield from filter(None, [judging.patterns.forbidding(item.words)])


def _unseen(
    command: str, reading: ShellReading | PowerShellReading, judging: Judging
) -> Iterator[PartFinding]:
    """Return objections to the whole text: invisible characters, or parts that were not parsed."""
    hidden = _hidden(command)
    if hidden:
        yield PartFinding("ask", "hidden", hidden)
    # A reading of PowerShell has an oddity instead.
    if reading.is_broken and isinstance(reading, ShellReading):
        yield PartFinding("ask", "not understood", "cannot be parsed completely")
    if (hidden or reading.is_broken) and judging.patterns.can_forbid:
        yield from filter(None, [judging.patterns.forbidding_anywhere(_tokens(command))])


def _is_any(found: list[tuple[CommandPart, PartFinding]]) -> bool:
    """Return whether a pattern of the user allows any part of the command."""
    return any(finding.by_user for _, finding in found)


def _patterns_reach(
    reading: ShellReading | PowerShellReading,
    found: list[tuple[CommandPart, PartFinding]],
    nested: list[PartFinding],
) -> Iterator[PartFinding]:
    """Return findings for further lines and substitutions, which user's patterns never cover."""
    if not _is_any(found):
        return
    if _has_lines(reading):
        yield PartFinding("ask", "lines", "has several lines, and your pattern is for one")
    if not all(one.by_user for one in nested):
        yield PartFinding("ask", "substitution", "contains a command that no pattern covers")


def _expands(situation: Situation) -> Iterator[PartFinding]:
    """Without a sandbox, ask about words from commands, arithmetic or braces (CMD-13).

    In ``plan`` mode, the user is never asked; a command that only reads is allowed.
    """
    if not (situation.writes_confined or situation.reads_only):
        yield PartFinding("ask", "substitution", "contains words that are known only at run time")


def _two_agree(reading: ShellReading | PowerShellReading, situation: Situation) -> bool:
    """Return whether a second parser finds the same words; in a sandbox the answer is always yes.

    PowerShell has one parser, which refuses unsupported parts of the language.
    """
    if situation.writes_confined or not isinstance(reading, ShellReading):
        return True
    second = runs_of(reading.data)
    return second is not None and second == reading.runs


def _simple(
    item: Simple, judging: Judging, chars: _Characters, situation: Situation, depth: int
) -> list[tuple[CommandPart, PartFinding]]:
    item = judging.named(item)
    words = tuple(word.text for word in item.words)
    found = []
    findings = judging.simple(item)
    n_before = len(item.assignments)
    for at, finding in enumerate(findings):
        start, end = item.start, item.end
        is_redirect = at >= n_before + bool(item.words)
        if is_redirect:
            redirect = item.redirects[at - n_before - bool(item.words)]
            start, end = redirect.start, redirect.end
            words = redirect.target.options if redirect.target else ()
        shown = () if at < n_before else words
        found.append((chars.part(start, end, shown, finding, item.folders), finding))
        place = (start, end)
        found += [_inner(text, place, chars, situation, depth) for text in finding.texts]
        for text in finding.hints:
            inner = _judge(text, situation, depth - 1)
            if inner.rule.startswith(("deny: ", "ask: ")):
                more = PartFinding(inner.decision, inner.rule, inner.reason)
                found.append((chars.part(start, end, (text,), more), more))
    return found


def _inner(
    text: str, place: tuple[int, int], chars: _Characters, situation: Situation, depth: int
) -> tuple[CommandPart, PartFinding]:
    """Judge a text within the text, such as that of ``bash -c``."""
    inner = _judge(text, situation, depth - 1)
    return chars.part(*place, (text,), inner), inner


def _has_lines(reading: ShellReading | PowerShellReading) -> bool:
    """Return whether the text has commands on several lines, of which users may overlook one."""
    own = [item for item in reading.items if isinstance(item, Simple) and not item.is_nested]
    return any(b"\n" in reading.data[one.end : other.start] for one, other in pairwise(own))


def _combined(
    found: list[tuple[CommandPart, PartFinding]], general: list[PartFinding]
) -> CommandVerdict:
    findings = [*general, *(finding for _, finding in found)]
    if not findings:  # The text has only comments.
        return CommandVerdict("allow", READ_ONLY, reads_only=True)
    worst = min(findings, key=_strictness)
    rule = worst.rule
    if worst.decision == "allow":
        # Parts covered by a pattern of the user are not named, because each pattern applies to one
        # part.
        known = sorted(findings, key=lambda one: one.by_user)
        rule = next((one.rule for one in known if one.rule != READ_ONLY), READ_ONLY)
    return CommandVerdict(
        worst.decision,
        rule,
        worst.reason,
        parts=tuple(part for part, _ in found),
        reads_only=all(one.reads_only for one in findings),
        is_held=any(one.is_held for one in findings)
        and all(one.reads_only or one.is_held for one in findings),
        by_user=any(one.by_user for one in findings)
        and all(one.by_user or one.reads_only for one in findings),
        widening=joined([one.widening for one in findings]),
    )


def _strictness(one: PartFinding) -> tuple[int, int]:
    """Return a sort key: denials first, then questions that no approval covers."""
    firm = one.rule in {"protected", "secret"} or one.rule.startswith("ask: ")
    return _ORDER[one.decision], 0 if firm else 1


class _Characters:
    """Converts byte offsets to character offsets."""

    def __init__(self, command: str, data: bytes) -> None:
        self._command = command
        self._data = data
        self._is_ascii = len(command) == len(data)

    def part(
        self,
        start: int,
        end: int,
        words: tuple[str, ...],
        finding: PartFinding,
        folders: tuple[str, ...] = AT_START,
    ) -> CommandPart:
        begin, stop = self._at(start), self._at(end)
        return CommandPart(
            self._command[begin:stop],
            begin,
            stop,
            words,
            finding.decision,
            finding.rule,
            finding.reason,
            folders,
        )

    def _at(self, place: int) -> int:
        if self._is_ascii:
            return place
        return len(self._data[:place].decode("utf-8", "replace"))


def _hidden(command: str) -> str:
    """Describe invisible characters in a command; Windows line ends are accepted within quotes."""
    if _ASCII.fullmatch(command):
        return ""
    for character in command.replace("\r\n", "\n"):
        if character not in "\n\t " and (
            shows_nothing(character) or character.isspace() or "\ud800" <= character <= "\udfff"
        ):
            return f"contains the invisible character U+{ord(character):04X}"
    return ""


def _tokens(command: str) -> list[Word]:
    return [Word(one, (one,)) for one in _TOKEN.findall(command)]
