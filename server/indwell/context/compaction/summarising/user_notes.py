"""Extracts what the user said once and meant to last: rules, choices, facts, tasks put off. Pure.

No model is needed. The unit is the user's own sentence, word for word. A sentence is a rule if it
has a word that forbids or demands, and a choice if it has a word of deciding. Tables list these
words for each language. A word that plain statements also use (such as *not*) counts only in short
requests. Other statements are facts, unless they begin as a plain task or describe a passing state.

``note_changes`` finds which earlier sentence a later sentence changes. The card no longer shows a
changed sentence as valid, but quotes it beside the newer sentence. A sentence that is perhaps
changed stays on the card with a mark.

The time is linear in the text: each text is read once and cached, and an index of rare words finds
the earlier sentences.
"""

from __future__ import annotations

import re

# ruff: noqa: RUF001 -- words and marks of many scripts are meant
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from indwell.context.compaction.cuts import spill_path, stamp
from indwell.context.compaction.step import SpilledText
from indwell.context.compaction.summarising import note_words as words_of
from indwell.context.compaction.summarising.note_changes import (
    RARE,
    NoteKind,
    Sentence,
    UserNote,
    linked,
    points_back,
    taken_back,
)
from indwell.context.compaction.summarising.note_subjects import (
    MEASURES,
    statements_of,
    terms_of,
    values_of,
)
from indwell.context.compaction.summarising.note_words import pattern
from indwell.context.compaction.transcripts import Files, named_files
from indwell.context.work_record import UserPrompt
from indwell.lazy_pattern import lazy_pattern

LOOKED_AT = 20_000  # the limit of characters that are searched in one text of the user
LONG = 2_000  # in a text with more characters, such as a pasted log, only words of ``STRICT`` count
MOST_OF_RULE, LEAST_OF_RULE = 240, 8  # the limits of a rule's length, in Latin characters
MOST_OF_LONG_RULE = 480  # the limit in a request that the user typed, and did not paste
MOST_OF_FACTS = 800  # A longer text is mostly pasted, so its plain statements do not count.
LEAST_OF_FACT = 14  # a shorter statement is chat, such as "Looks good."
EARLY_TURNS = 3  # a task in one of these first turns states the aim of the conversation
MOST_OF_TASK = 160  # the limit of characters for a task that is not finished
# A later request finishes a task if they share 70 % of the task's words, and at least 2 words. A
# word of over 40 requests does not count.
CLOSED_SHARE, COMMON_REQUESTS = 0.7, 40

_STRICT = pattern(words_of.STRICT, words_of.STRICT_ANYWHERE)
_LOOSE = pattern(words_of.LOOSE, words_of.LOOSE_ANYWHERE)
_CHOICE = pattern(words_of.CHOICE, words_of.CHOICE_ANYWHERE)
_LATER = pattern(words_of.LATER, words_of.LATER_ANYWHERE)
_CHANGE = pattern(words_of.CHANGES, words_of.CHANGES_ANYWHERE)
_REVISION = pattern(words_of.REVISES, words_of.REVISES_ANYWHERE)
_STANDING = pattern(words_of.STANDING, words_of.STANDING_ANYWHERE)
_LOCAL = pattern(words_of.LOCAL, words_of.LOCAL_ANYWHERE)
_SHIFT = pattern(words_of.SHIFTS, words_of.SHIFTS_ANYWHERE)
_TASK = pattern(words_of.TASKS, words_of.TASKS_ANYWHERE, "-")
_PASSING = pattern(words_of.PASSING, words_of.PASSING_ANYWHERE)
_WORD = lazy_pattern(r"\w+")
_LEAST_WORDS = 3  # A sentence with "!" is a demand if it has 3 or more words; "Good work!" has 2.
_END_WIDE = lazy_pattern(r"\w{4}！")
# The lookahead keeps a German date such as ``3. Juni`` together.
_SENTENCE = lazy_pattern(
    r"(?<=[.!?;؟।])(?<!\b(?:Dr|Mr|Ms|Fr|Hr|St|Nr|ca)\.)(?<!\b(?:Mrs"
    r"|Sra)\.)(?<!\bProf\.)\s+(?!(?<=\d\.\s)(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"
    r"|(?<=[。！？；])|\n+"
)
# A polite request is no question.
_POLITE = lazy_pattern(
    r"(?:please |also |and )*(?:can|could|would|will) you\b|(?:kannst|könntest|würdest) du\b"
    r"|(?:peux|pourrais)-tu\b|(?:puedes|podrías)\b",
    re.IGNORECASE,
)
_ASKS = ("?", "？", "؟")
_WIDE = "\u2e80"  # characters from this one on count as two Latin characters
_DIGIT = lazy_pattern(r"\d")
_PASTED = frozenset("<[|{}#=$>`~+❯⏺⎿")  # No sentence of the user begins so.
_GO_ON = lazy_pattern(
    r"\s*(?:/?continue|go (?:on|ahead)|please (?:continue|go on)|proceed|resume|carry on"
    r"|(?:mach |bitte )?weiter|继续|接着|continue[rz]?|sigue|continúa|продолжай)\b.{0,30}\s*\Z",
    re.IGNORECASE,
)


def constraints(requests: Sequence[UserPrompt]) -> tuple[tuple[int, str], ...]:
    """Return the rules in requests, with their turns: strict rules first, then the newest.

    Sentences in code blocks are skipped.
    """
    found: dict[str, tuple[int, bool]] = {}
    for request in requests:
        for rule, is_strict in _rules(request.words):
            found.pop(rule, None)
            found[rule] = request.turn, is_strict
    newest = [(turn, rule, is_strict) for rule, (turn, is_strict) in reversed(found.items())]
    return tuple((turn, rule) for turn, rule, _ in sorted(newest, key=lambda one: not one[2]))


@lru_cache(maxsize=4096)
def _rules(words: str) -> tuple[tuple[str, bool], ...]:
    """Return the rules of a text, and whether each is strict."""
    in_short = len(words) <= LONG
    sentences = (one.text for one in _sentences(words))
    return tuple(
        (one, bool(_STRICT.search(one))) for one in sentences if is_rule(one, in_short=in_short)
    )


def is_rule(sentence: str, *, in_short: bool) -> bool:
    """Return whether the sentence is a rule; in a long text, only words of ``STRICT`` count."""
    if _STRICT.search(sentence):
        return True
    if not in_short or (sentence.endswith(_ASKS) and not _POLITE.match(sentence)):
        return False
    return bool(_LOOSE.search(sentence)) or _is_emphatic(sentence)


def _is_emphatic(sentence: str) -> bool:
    if sentence.endswith("!"):
        return len(list(islice(_WORD.finditer(sentence), _LEAST_WORDS))) == _LEAST_WORDS
    return bool(_END_WIDE.fullmatch(sentence[-5:]))


def user_notes(requests: Sequence[UserPrompt]) -> tuple[UserNote, ...]:
    """Return the notes of all requests, oldest first, with the changes between the notes."""
    found: dict[str, tuple[int, Sentence]] = {}
    for number, request in enumerate(requests):
        for one in _sentences(request.words):
            if one.is_early_task and number >= EARLY_TURNS:
                continue
            found.pop(one.text, None)
            found[one.text] = (request.turn, one)
    return linked(list(found.values()))


class OpenTask(NamedTuple):
    """A request that is not finished, or a task that the user put off.

    Attributes:
        turn: The turn of the user's words.
        state: ``open``, ``asked back`` or ``for later``; a turn that perhaps changes the task
            follows.
        text: The user's words, on one line.
    """

    turn: int
    state: str
    text: str


def open_tasks(requests: Sequence[UserPrompt], notes: Sequence[UserNote]) -> tuple[OpenTask, ...]:
    """Return what is not finished, oldest first, without what a later turn finished or dropped.

    The last request is the current request and is not returned.
    """
    subjects = [_subject(one.words) for one in requests]
    places: dict[str, list[int]] = {}
    for at, terms in enumerate(subjects):
        for term in terms:
            places.setdefault(term, []).append(at)
    drops = [one for one in notes if one.has_change]
    found = [
        OpenTask(one.turn, one.state, _flat(one.words))
        for at, one in enumerate(requests[:-1])
        if one.state != "finished"
        and not _is_continued(requests, at)
        and not _is_closed(one.turn, subjects[at], requests, places, drops)
    ]
    found += [
        OpenTask(one.turn, f"for later{_doubt(one)}", one.text)
        for one in notes
        if one.kind == "later"
        and not one.changed_in
        and not _is_closed(one.turn, one.terms, requests, places, drops)
    ]
    return tuple(sorted(found))


def _is_continued(requests: Sequence[UserPrompt], at: int) -> bool:
    """Return whether the user only told the agent to go on, and the agent then finished."""
    for later in requests[at + 1 : -1]:
        if not _GO_ON.match(later.words):
            return False
        if later.state == "finished":
            return True
    return False


def _is_closed(
    turn: int,
    terms: frozenset[str],
    requests: Sequence[UserPrompt],
    places: Mapping[str, Sequence[int]],
    drops: Sequence[UserNote],
) -> bool:
    """Return whether a later turn finished the task of these terms, or the user dropped it."""
    rare = {term for term in terms if len(places.get(term, ())) <= RARE}
    if any(one.turn > turn and 2 * len(one.terms & rare) >= len(terms) > 0 for one in drops):
        return True
    shared = Counter(
        at
        for term in terms
        if len(places.get(term, ())) <= COMMON_REQUESTS
        for at in places.get(term, ())
    )
    return any(
        n >= max(2, CLOSED_SHARE * len(terms))
        and requests[at].turn > turn
        and requests[at].state == "finished"
        for at, n in shared.items()
    )


@lru_cache(maxsize=4096)
def _subject(words: str) -> frozenset[str]:
    return terms_of(_TASK.sub("", _flat(words), 1))


def _flat(words: str) -> str:
    flat = " ".join(words[: 4 * MOST_OF_TASK].split())
    return flat if len(flat) <= MOST_OF_TASK else flat[: MOST_OF_TASK - 1] + "…"


@lru_cache(maxsize=4096)
def _sentences(words: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text that are worth remembering."""
    return tuple(_recognised(words))


def _recognised(words: str) -> Iterator[Sentence]:
    in_short = len(words) <= LONG
    prose = re.sub(r"```.*?(?:```|\Z)", "\n", words[:LOOKED_AT], flags=re.DOTALL)
    lines = (one.strip() for one in prose.splitlines())
    has_facts = sum(len(one) for one in lines if one[:1] not in _PASTED) <= MOST_OF_FACTS
    most = MOST_OF_LONG_RULE if in_short and has_facts else MOST_OF_RULE
    before: frozenset[str] = frozenset()
    for raw in _SENTENCE.split(prose):
        text = " ".join(raw.split()).lstrip("-*• >").strip()
        borrowed, before = before, frozenset()
        if not LEAST_OF_RULE <= _width(text) <= most or text[0] in _PASTED:
            continue
        before = terms = terms_of(text)
        has_change = in_short and bool(_CHANGE.search(text))
        has_revision = in_short and bool(_REVISION.search(text))
        is_task = bool(_TASK.match(text) or _POLITE.match(text))
        values = values_of(text) if in_short else frozenset()
        kind = _kind(
            text,
            values,
            in_short=in_short,
            has_facts=has_facts,
            has_change=has_change,
            is_task=is_task,
        )
        if kind is None:
            continue
        yield Sentence(
            text,
            kind,
            _weight(text, kind, is_task=is_task),
            is_early_task=kind == "fact"
            and is_task
            and MEASURES.isdisjoint(one for one, _ in values),
            has_change=has_change and not (is_task and kind == "fact"),
            has_revision=has_revision,
            has_shift=in_short and bool(_SHIFT.search(text)),
            terms=terms,
            taken_back=taken_back(text) if has_change or has_revision else frozenset(),
            borrowed=borrowed if points_back(text) else frozenset(),
            values=values,
            statements=statements_of(text) if in_short else (),
        )


def _kind(
    text: str,
    values: frozenset[tuple[str, str]],
    *,
    in_short: bool,
    has_facts: bool,
    has_change: bool,
    is_task: bool,
) -> NoteKind | None:
    is_question = text.endswith(_ASKS) and not _POLITE.match(text)
    if in_short and not is_question and not is_task and _LATER.search(text):
        return "later"
    if _STRICT.search(text):
        return "rule"
    if not in_short or is_question:
        return None
    if _CHOICE.search(text) or (has_change and not _PASSING.search(text)):
        return "choice"
    if is_rule(text, in_short=True):
        return "loose"
    is_chat = _width(text) < LEAST_OF_FACT and not values and not _DIGIT.search(text)
    return None if is_chat or not has_facts else "fact"


def _weight(text: str, kind: NoteKind, *, is_task: bool) -> int:
    """Return the order of a note: standing rules, then other sentences with a subject of their own.

    A sentence that points at the current step (*in that loop*), a task, and a passing state come
    last.
    """
    if _LOCAL.search(text) or (kind == "fact" and (is_task or _PASSING.search(text))):
        return 4
    if kind in {"rule", "loose"} and _STANDING.search(text):
        return 0
    return {"rule": 1, "choice": 1, "later": 1, "loose": 2, "fact": 3}[kind]


def _width(sentence: str) -> int:
    return len(sentence) + sum(one >= _WIDE for one in sentence)


NOTES_LENGTH = 16_000  # A new file of notes begins after 16,000 characters.
MOST_FILES = 8  # With more files, a card names only the first and the last file.
_HEAD = (
    "Words of the user that may still hold, from all turns so far, oldest first. A line with"
    " `changed in turn N` no longer holds: the line of turn N does. A line with `perhaps changed in"
    " turn N` holds unless turn N says something else. If two lines contradict, the later turn"
    " counts."
)


def note_files(requests: Sequence[UserPrompt], folder: str) -> Files:
    """Return files with all notes and all open tasks, and the names of the files.

    A file's name depends on its text, so only files with new or changed lines are written again.

    Args:
        requests: All requests of the user.
        folder: The folder of the files, as the model can name the folder.
    """
    notes = user_notes(requests)
    lines = [(one.turn, _note_line(one)) for one in notes]
    lines += [
        (one.turn, f"- turn {one.turn}, {one.state}: {one.text}")
        for one in open_tasks(requests, notes)
        if not one.state.startswith("for later")
    ]
    spills: list[SpilledText] = []
    part, length = [_HEAD], 0
    for _, line in sorted(lines, key=lambda one: one[0]):
        if length + len(line) > NOTES_LENGTH:
            spills.append(_note_spill(len(spills) + 1, part))
            part, length = [_HEAD], 0
        part.append(line)
        length += len(line) + 1
    if length:
        spills.append(_note_spill(len(spills) + 1, part))
    names = [one.name for one in spills]
    if len(names) > MOST_FILES:
        return Files(named_files(folder, names), tuple(spills))
    named = ", ".join((spill_path(folder, names[0]), *names[1:])) if names else ""
    return Files(named, tuple(spills))


def _note_line(note: UserNote) -> str:
    changed = f", changed in turn {note.changed_in}" if note.changed_in else _doubt(note)
    return f"- turn {note.turn}{', for later' * (note.kind == 'later')}{changed}: {note.text}"


def _doubt(note: UserNote) -> str:
    return f", perhaps changed in turn {note.doubted_in}" if note.doubted_in else ""


def _note_spill(number: int, lines: Sequence[str]) -> SpilledText:
    text = "\n".join(lines) + "\n"
    return SpilledText(f"notes-{number:04d}-{stamp(text)}.txt", text)
