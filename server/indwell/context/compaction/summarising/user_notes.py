"""Extracts what the user said once and meant to last: rules, choices, facts, tasks put off. Pure.

No model is needed. The unit is the user's own sentence, word for word. A sentence is a rule if it
has a word that forbids or demands, and a choice if it has a word of deciding. Tables list these
words for each language. A word that plain statements also use (such as *not*) counts only in short
requests. Other statements are facts, unless they begin as a plain task or describe a passing state.

A later sentence that takes a choice back, and shares rare words with an earlier sentence, changes
the earlier sentence. The card no longer shows a changed sentence as valid, but quotes it beside
the newer sentence.

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
from typing import Literal, NamedTuple, TypeAlias

from indwell.context.compaction.cuts import spill_path, stamp
from indwell.context.compaction.step import SpilledText
from indwell.context.compaction.summarising import note_words as words_of
from indwell.context.compaction.transcripts import Files, named_files
from indwell.context.work_record import UserPrompt
from indwell.lazy_pattern import lazy_pattern

LOOKED_AT = 20_000  # the limit of characters that are searched in one text of the user
LONG = 2_000  # in a text with more characters, such as a pasted log, only words of ``STRICT`` count
MOST_OF_RULE, LEAST_OF_RULE = 240, 8  # the limits of a rule's length, in Latin characters
MOST_OF_FACTS = 800  # A longer text is mostly pasted, so its plain statements do not count.
LEAST_OF_FACT = 14  # a shorter statement is chat, such as "Looks good."
EARLY_TURNS = 3  # a task in one of these first turns states the aim of the conversation
# A word is rare if at most 4 sentences, or 1 % of the sentences (at most 12), have the word.
RARE, RARE_SHARE, MOST_RARE = 4, 0.01, 12
MOST_OF_TASK = 160  # the limit of characters for a task that is not finished
# A later request finishes a task if they share 70 % of the task's words, and at least 2 words. A
# word of over 40 requests does not count.
CLOSED_SHARE, COMMON_REQUESTS = 0.7, 40
# Two sentences are alike if they share 40 % of their words, and nearly the same from 50 % on.
ALIKE_SHARE, SAME_SHARE = 0.4, 0.5
MOST_CHANGED = 4  # the limit of earlier sentences that one sentence changes

NoteKind: TypeAlias = Literal["rule", "choice", "later", "loose", "fact"]
"""The kinds of notes.

``rule`` forbids or demands; ``loose`` has only a weak word of a demand; ``later`` is a task that is
put off or not done yet.
"""


class _Sentence(NamedTuple):
    text: str
    kind: NoteKind
    weight: int
    is_early_task: bool
    has_change: bool
    has_shift: bool
    terms: frozenset[str]


class UserNote(NamedTuple):
    """A sentence of the user that should survive.

    Attributes:
        turn: The turn of the sentence.
        kind: The kind of the sentence.
        text: The sentence, on one line.
        weight: The order among the notes of a card; 0 comes first.
        terms: The words that tell the subject.
        has_change: Whether the sentence certainly takes something back.
        changes: The indices of earlier notes that this note changes.
        changed_in: The turn of the newest later note that changes this note, or 0.
    """

    turn: int
    kind: NoteKind
    text: str
    weight: int = 0
    terms: frozenset[str] = frozenset()
    has_change: bool = False
    changes: tuple[int, ...] = ()
    changed_in: int = 0


def _pattern(
    words: Mapping[str, str], anywhere: Mapping[str, str], not_before: str = ""
) -> re.Pattern[str]:
    by_word = rf"(?<!\w)(?:{'|'.join(words.values())})(?![\w{not_before}])"
    return lazy_pattern("|".join((by_word, *anywhere.values())), re.IGNORECASE)


_STRICT = _pattern(words_of.STRICT, words_of.STRICT_ANYWHERE)
_LOOSE = _pattern(words_of.LOOSE, words_of.LOOSE_ANYWHERE)
_CHOICE = _pattern(words_of.CHOICE, words_of.CHOICE_ANYWHERE)
_LATER = _pattern(words_of.LATER, words_of.LATER_ANYWHERE)
_CHANGE = _pattern(words_of.CHANGES, words_of.CHANGES_ANYWHERE)
_STANDING = _pattern(words_of.STANDING, words_of.STANDING_ANYWHERE)
_LOCAL = _pattern(words_of.LOCAL, words_of.LOCAL_ANYWHERE)
_SHIFT = _pattern(words_of.SHIFTS, words_of.SHIFTS_ANYWHERE)
_TASK = _pattern(words_of.TASKS, words_of.TASKS_ANYWHERE, "-")
_PASSING = _pattern(words_of.PASSING, words_of.PASSING_ANYWHERE)
_WORD = lazy_pattern(r"\w+")
_LEAST_WORDS = 3  # A sentence with "!" is a demand if it has 3 or more words; "Good work!" has 2.
_END_WIDE = lazy_pattern(r"\w{4}！")
# The lookahead keeps a German date such as ``3. Juni`` together.
_SENTENCE = lazy_pattern(
    r"(?<=[.!?;؟।])\s+(?!(?<=\d\.\s)(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"
    r"|(?<=[。！？；])|\n+"
)
_ASKS = ("?", "？", "؟")
_WIDE = "\u2e80"  # characters from this one on count as two Latin characters
_TERM = lazy_pattern(r"[\u3400-\u9fff]+|[^\W_]+(?:[.:/_+-][^\W_]+)*")
_DIGIT = lazy_pattern(r"\d")
_STEM = 6  # Two words are the same if their first 6 letters are equal.
_PASTED = frozenset("<[|{}#=$>`~+❯⏺⎿")  # No sentence of the user begins so.
_GO_ON = lazy_pattern(
    r"\s*(?:/?continue|go (?:on|ahead)|please (?:continue|go on)|proceed|resume|carry on"
    r"|(?:mach |bitte )?weiter|继续|接着|continue[rz]?|sigue|continúa|продолжай)\b.{0,30}\s*\Z",
    re.IGNORECASE,
)
_LEAST_TERM = 2  # a shorter word says nothing, unless it has a digit


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
    if not in_short or sentence.endswith(_ASKS):
        return False
    return bool(_LOOSE.search(sentence)) or _is_emphatic(sentence)


def _is_emphatic(sentence: str) -> bool:
    if sentence.endswith("!"):
        return len(list(islice(_WORD.finditer(sentence), _LEAST_WORDS))) == _LEAST_WORDS
    return bool(_END_WIDE.fullmatch(sentence[-5:]))


def user_notes(requests: Sequence[UserPrompt]) -> tuple[UserNote, ...]:
    """Return the notes of all requests, oldest first, with the changes between the notes."""
    found: dict[str, tuple[int, _Sentence]] = {}
    for number, request in enumerate(requests):
        for one in _sentences(request.words):
            if one.is_early_task and number >= EARLY_TURNS:
                continue
            found.pop(one.text, None)
            found[one.text] = (request.turn, one)
    return _linked(list(found.values()))


def _linked(found: Sequence[tuple[int, _Sentence]]) -> tuple[UserNote, ...]:
    counts = Counter(term for _, one in found for term in one.terms)
    rare = max(RARE, min(MOST_RARE, int(RARE_SHARE * len(found))))
    notes: list[UserNote] = []
    places: dict[str, list[int]] = {}
    for turn, one in found:
        known = [term for term in one.terms if 1 < counts[term] <= rare]
        changes = _changed(one, turn, known, notes, places)
        for at in changes:
            notes[at] = notes[at]._replace(changed_in=turn)
        notes.append(
            UserNote(
                turn,
                one.kind,
                one.text,
                min(one.weight, 1) if changes else one.weight,
                one.terms,
                one.has_change,
                changes,
            )
        )
        for term in known:
            places.setdefault(term, []).append(len(notes) - 1)
    return tuple(notes)


def _changed(
    one: _Sentence,
    turn: int,
    rare: Sequence[str],
    notes: Sequence[UserNote],
    places: Mapping[str, Sequence[int]],
) -> tuple[int, ...]:
    """Return the earlier notes that the sentence changes, by the rare words in common."""
    shared = Counter(at for term in rare for at in places.get(term, ()))
    hits = [
        at for at, n in shared.items() if notes[at].turn != turn and _takes_back(one, notes[at], n)
    ]
    best = sorted(hits, key=lambda at: (-shared[at], -at))[:MOST_CHANGED]
    return tuple(sorted(best))


def _takes_back(new: _Sentence, old: UserNote, n_shared: int) -> bool:
    """Return whether a sentence that shares ``n_shared`` rare words with a note changes the note.

    A certain word of a change needs one rare word in common. A weak word needs many words in
    common, or another number. Without such a word, almost the same sentence with another number
    counts.
    """
    if new.has_change:
        return True
    numbers, before = (
        {term for term in terms if term[0].isdigit()} for terms in (new.terms, old.terms)
    )
    has_other = bool(numbers - before and before - numbers)
    share = len(new.terms & old.terms) / max(1, min(len(new.terms), len(old.terms)))
    if new.has_shift and (has_other or (n_shared > 1 and share >= ALIKE_SHARE)):
        return True
    return has_other and n_shared > 1 and share >= SAME_SHARE


class OpenTask(NamedTuple):
    """A request that is not finished, or a task that the user put off.

    Attributes:
        turn: The turn of the user's words.
        state: ``open``, ``asked back`` or ``for later``.
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
        OpenTask(one.turn, "for later", one.text)
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
    return _terms(_TASK.sub("", _flat(words), 1))


def _flat(words: str) -> str:
    flat = " ".join(words[: 4 * MOST_OF_TASK].split())
    return flat if len(flat) <= MOST_OF_TASK else flat[: MOST_OF_TASK - 1] + "…"


@lru_cache(maxsize=4096)
def _sentences(words: str) -> tuple[_Sentence, ...]:
    """Return the sentences of a text that are worth remembering."""
    return tuple(_recognised(words))


def _recognised(words: str) -> Iterator[_Sentence]:
    in_short = len(words) <= LONG
    prose = re.sub(r"```.*?(?:```|\Z)", "\n", words[:LOOKED_AT], flags=re.DOTALL)
    for raw in _SENTENCE.split(prose):
        text = " ".join(raw.split()).lstrip("-*• >").strip()
        if not LEAST_OF_RULE <= _width(text) <= MOST_OF_RULE or text[0] in _PASTED:
            continue
        has_change = in_short and bool(_CHANGE.search(text))
        is_task = bool(_TASK.match(text))
        kind = _kind(
            text,
            in_short=in_short,
            has_facts=len(words) <= MOST_OF_FACTS,
            has_change=has_change,
            is_task=is_task,
        )
        if kind is None:
            continue
        yield _Sentence(
            text,
            kind,
            _weight(text, kind),
            is_early_task=kind == "fact" and is_task,
            has_change=has_change and not (is_task and kind == "fact"),
            has_shift=in_short and bool(_SHIFT.search(text)),
            terms=_terms(text),
        )


def _kind(
    text: str, *, in_short: bool, has_facts: bool, has_change: bool, is_task: bool
) -> NoteKind | None:
    is_question = text.endswith(_ASKS)
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
    is_chat = _width(text) < LEAST_OF_FACT and not _DIGIT.search(text)
    return None if is_chat or not has_facts or _PASSING.search(text) else "fact"


def _weight(text: str, kind: NoteKind) -> int:
    """Return the order of a note: standing rules, then other sentences with a subject of their own.

    A sentence that points at the current step (*in that loop*) tells little without this step.
    """
    if _LOCAL.search(text):
        return 4
    if kind in {"rule", "loose"} and _STANDING.search(text):
        return 0
    return {"rule": 1, "choice": 1, "later": 1, "loose": 2, "fact": 3}[kind]


def _width(sentence: str) -> int:
    return len(sentence) + sum(one >= _WIDE for one in sentence)


def _terms(sentence: str) -> frozenset[str]:
    """Return the words of a sentence that tell its subject, shortened to their beginnings."""
    found: set[str] = set()
    for match in _TERM.finditer(sentence.lower()):
        word = match[0]
        if word[0] >= _WIDE:
            pairs = (word[at : at + 2] for at in range(len(word) - 1))
            found.update(one for one in pairs if not words_of.EMPTY_WIDE & set(one))
        elif word not in words_of.EMPTY and (
            len(word) >= _LEAST_TERM or any(map(str.isdigit, word))
        ):
            found.add(word.removesuffix("s")[:_STEM] if word.isalpha() else word)
    return frozenset(found)


NOTES_LENGTH = 16_000  # A new file of notes begins after 16,000 characters.
MOST_FILES = 8  # With more files, a card names only the first and the last file.
_HEAD = (
    "Words of the user that may still hold, from all turns so far, oldest first. A line with"
    " `changed in turn N` no longer holds: the line of turn N does. If"
    " two lines contradict, the later turn counts."
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
        if one.state != "for later"
    ]
    spills: list[SpilledText] = []
    part, length = [_HEAD], 0
    for _, line in sorted(lines, key=lambda one: one[0]):
        if length + len(line) > NOTES_LENGTH:
            spills.append(_note_spill(len(spills) + 1, part))
            part, length = [_HEAD], 0
        part.append(line)
        length += len(line)
    if length:
        spills.append(_note_spill(len(spills) + 1, part))
    names = [one.name for one in spills]
    if len(names) > MOST_FILES:
        return Files(named_files(folder, names), tuple(spills))
    named = ", ".join((spill_path(folder, names[0]), *names[1:])) if names else ""
    return Files(named, tuple(spills))


def _note_line(note: UserNote) -> str:
    changed = f", changed in turn {note.changed_in}" if note.changed_in else ""
    return f"- turn {note.turn}{', for later' * (note.kind == 'later')}{changed}: {note.text}"


def _note_spill(number: int, lines: Sequence[str]) -> SpilledText:
    text = "\n".join(lines) + "\n"
    return SpilledText(f"notes-{number:04d}-{stamp(text)}.txt", text)
