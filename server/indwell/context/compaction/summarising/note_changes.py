"""Finds which earlier statement of the user a later statement changes, or perhaps changes. Pure.

Two statements belong together if they share a rare word. A change is certain if the later statement
takes a shared word back (*no longer MySQL*, *forget Redis*), and the earlier statement is short and
the best match. A change is possible with less: a weak word of a change, another value of the same
kind (another date, number of days or database), or another value for the same subject.

A certain change replaces the earlier statement on the task card. A possible change only marks the
earlier statement, because the earlier statement may still be valid.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from indwell.context.compaction.summarising import note_words as words_of
from indwell.context.compaction.summarising.note_subjects import PlainStatement, stem, term_list

# A word is rare if at most 4 sentences, or 1 % of the sentences (at most 12), have the word.
RARE, RARE_SHARE, MOST_RARE = 4, 0.01, 12
# Two sentences are alike if they share 40 % of their words, and nearly the same from 50 % on.
ALIKE_SHARE, SAME_SHARE = 0.4, 0.5
NEAR_SHARE, MOST_FEW = 0.6, 2  # more than 2 rare words and 60 % of the words: the same subject
FEW_SHARE = 0.3  # With a word of a change elsewhere in the sentence, 30 % are enough for a doubt.
MOST_CHANGED = 4  # the limit of earlier sentences that one sentence changes
MOST_OF_SIMPLE = 120  # A longer sentence may tell several things, so a change is never certain.
MOST_OF_ANAPHOR = 120  # the limit of a sentence that is read with the words of the sentence before
NEAR = 3  # a word of a change takes back the 3 words before and after it
WEAKEST = 4  # the weight of a sentence that concerns the current step

NoteKind: TypeAlias = Literal["rule", "choice", "later", "loose", "fact"]
"""The kinds of notes.

``rule`` forbids or demands; ``loose`` has only a weak word of a demand; ``later`` is a task that is
put off or not done yet.
"""


class Sentence(NamedTuple):
    """A sentence of the user that is worth remembering.

    Attributes:
        text: The sentence, on one line.
        kind: The kind of the sentence.
        weight: The order among the notes of a card; 0 comes first.
        is_early_task: Whether the sentence counts only in the first turns.
        has_change: Whether the sentence certainly takes something back.
        has_revision: Whether the sentence has a word that often takes something back.
        has_shift: Whether the sentence has a weak word of a change.
        terms: The words that tell the subject.
        taken_back: The terms near a word that certainly takes something back.
        borrowed: The terms of the sentence before, if this sentence points at that sentence.
        values: The values with their kinds, such as ``("day", "90")``.
        statements: The plain statements of the sentence.
    """

    text: str
    kind: NoteKind
    weight: int
    is_early_task: bool = False
    has_change: bool = False
    has_revision: bool = False
    has_shift: bool = False
    terms: frozenset[str] = frozenset()
    taken_back: frozenset[str] = frozenset()
    borrowed: frozenset[str] = frozenset()
    values: frozenset[tuple[str, str]] = frozenset()
    statements: tuple[PlainStatement, ...] = ()


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
        doubts: The indices of earlier notes that this note perhaps changes.
        doubted_in: The turn of the newest later note that perhaps changes this note, or 0.
    """

    turn: int
    kind: NoteKind
    text: str
    weight: int = 0
    terms: frozenset[str] = frozenset()
    has_change: bool = False
    changes: tuple[int, ...] = ()
    changed_in: int = 0
    doubts: tuple[int, ...] = ()
    doubted_in: int = 0


def linked(found: Sequence[tuple[int, Sentence]]) -> tuple[UserNote, ...]:
    """Return the sentences, given with their turns, as notes with the changes between the notes."""
    keys = [_keys(one) for _, one in found]
    counts = Counter(key for some in keys for key in some)
    rare = max(RARE, min(MOST_RARE, int(RARE_SHARE * len(found))))
    notes: list[UserNote] = []
    places: dict[str, list[int]] = {}
    for (turn, one), some in zip(found, keys, strict=True):
        known = [key for key in some if 1 < counts[key] <= rare]
        changes, doubts = _changed(turn, one, known, found, places)
        for at in changes:
            notes[at] = notes[at]._replace(changed_in=turn)
        for at in doubts:
            notes[at] = notes[at]._replace(doubted_in=turn)
        notes.append(
            UserNote(
                turn,
                one.kind,
                one.text,
                min(one.weight, 1) if changes or doubts else one.weight,
                one.terms,
                one.has_change,
                changes,
                doubts=doubts,
            )
        )
        for key in known:
            places.setdefault(key, []).append(len(notes) - 1)
    return tuple(notes)


def _keys(one: Sentence) -> frozenset[str]:
    """Return the keys of a sentence in the index: its words, and the kinds of its values."""
    kinds = {f"={kind}" for kind, _ in one.values if kind not in one.terms}
    return one.terms | one.borrowed | kinds


def _changed(
    turn: int,
    one: Sentence,
    rare: Sequence[str],
    found: Sequence[tuple[int, Sentence]],
    places: Mapping[str, Sequence[int]],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the earlier sentences that the sentence changes, and those it perhaps changes."""
    shared: dict[int, set[str]] = {}
    for key in rare:
        for at in places.get(key, ()):
            if found[at][0] != turn:
                shared.setdefault(at, set()).add(key)
    hits = [at for at, some in shared.items() if _may_change(one, found[at][1], some)]
    best = sorted(hits, key=lambda at: (-len(shared[at]), -at))[:MOST_CHANGED]
    most = len(shared[best[0]]) if best else 0
    tied = [at for at in best if len(shared[at]) == most]
    is_sure = len(tied) == 1 and _takes_back(one, found[tied[0]][1], shared[tied[0]])
    sure = tuple(tied) if is_sure else ()
    return sure, tuple(sorted(at for at in best if at not in sure))


def _takes_back(new: Sentence, old: Sentence, shared: set[str]) -> bool:
    """Return whether the new sentence certainly changes an old sentence that tells one thing."""
    versions = {stem(value) for _, value in old.values}
    kinds = {kind for kind, _ in old.values} - versions
    is_simple = len(old.text) <= MOST_OF_SIMPLE and len(kinds) <= 1
    own = shared & old.terms & new.terms
    if not own or not is_simple or old.weight == WEAKEST:
        return False
    if new.has_change:
        return bool(own & new.taken_back) or _share(new, old) >= SAME_SHARE
    has_word = new.has_shift or new.has_revision
    return has_word and _has_other_value(new, old) and _share(new, old) >= SAME_SHARE


def _may_change(new: Sentence, old: Sentence, shared: set[str]) -> bool:
    """Return whether the new sentence perhaps changes an old sentence with these keys in common."""
    has_other, share = _has_other_value(new, old), _share(new, old)
    has_word = new.has_change or new.has_revision
    is_near = bool(shared & new.taken_back) or len(shared) > 1 or share >= FEW_SHARE
    if has_word and (is_near or has_other):
        return True
    if new.has_shift and len(shared) > 1 and share >= ALIKE_SHARE:
        return True
    if WEAKEST in {old.weight, new.weight}:
        return False
    are_choices = {new.kind, old.kind} <= {"choice", "loose", "rule"}
    if new.has_shift and (has_other or (are_choices and "choice" in {new.kind, old.kind})):
        return True
    has_subject = not all(one[0].isdigit() for one in shared)
    if has_other and has_subject and (len(shared) > 1 or share >= SAME_SHARE):
        return True
    if len(shared) > MOST_FEW and share >= NEAR_SHARE:
        return True
    return any(
        a.verb == b.verb and a.subject & b.subject & shared and not a.value & b.value
        for a in new.statements
        for b in old.statements
    )


def _has_other_value(new: Sentence, old: Sentence) -> bool:
    """Return whether the new sentence has another value of a kind that both sentences have."""
    kinds = {kind for kind, _ in old.values}
    return any(kind in kinds and (kind, value) not in old.values for kind, value in new.values)


def _share(new: Sentence, old: Sentence) -> float:
    return len(new.terms & old.terms) / max(1, min(len(new.terms), len(old.terms)))


_CHANGE = words_of.pattern(words_of.CHANGES, words_of.CHANGES_ANYWHERE)
_REVISION = words_of.pattern(words_of.REVISES, words_of.REVISES_ANYWHERE)
_ANAPHOR = words_of.pattern(words_of.ANAPHORS, words_of.ANAPHORS_ANYWHERE)


def taken_back(text: str) -> frozenset[str]:
    """Return the terms near the words of the sentence that certainly take something back."""
    found: set[str] = set()
    for match in (*_CHANGE.finditer(text), *_REVISION.finditer(text)):
        found.update(list(term_list(text[: match.start()]))[-NEAR:])
        found.update(list(term_list(text[match.end() :]))[:NEAR])
        found.update(term_list(match[0]))
    return frozenset(found)


def points_back(text: str) -> bool:
    """Return whether a short sentence has a pronoun for something of the sentence before."""
    return len(text) <= MOST_OF_ANAPHOR and bool(_ANAPHOR.search(text))
