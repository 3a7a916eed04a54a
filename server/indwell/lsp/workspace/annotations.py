"""Names the kind of a change for the editor, which may ask the user; finds what the user left out.

An editor that supports change annotations groups changes by their label. If an annotation needs
confirmation, the editor shows the changes first, and the user can leave some of them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import msgspec

from indwell.lsp.editor.client import Client
from indwell.lsp.messages.lsprotocol_types import types
from indwell.settings.model import ChangeKind
from indwell.translation import ENGLISH, Translation
from indwell.workspace.base import ChangeMarks
from indwell.workspace.comparing.diff import TextEdit

_Choice: TypeAlias = "tuple[bool, _Choice] | None"
MOST_TRIED = 50_000  # This many tries take a fraction of a second.
ANNOTATION = "indwell"
LABEL = "Indwell"
LEAST_LINES = 10  # In a shorter file, a small edit already changes more than half of the text.

NOT_CONFIRMED = (
    "the editor asked the user, who did not confirm the change; repeat the change only if the user "
    "wants it"
)

_WORDS: Mapping[ChangeKind, tuple[str, str]] = {
    "delete": ("Delete a file", "Indwell keeps a copy of the text."),
    "rename": (
        "Rename a symbol in several files",
        "Without one of the places, nothing is renamed.",
    ),
    "rewrite": ("Change more than half of a file", "You can leave out some of the places."),
    "unnamed": (
        "Change a file that your prompt does not name",
        "Your prompt names other files.",
    ),
}
"""The label and the explanation of each kind, with the gravest kind first."""


class AnswerLimits(msgspec.Struct, frozen=True):
    """The time limits for the editor's answer to an edit, in seconds.

    Attributes:
        plain_s: The limit for an edit that the editor applies at once.
        asking_s: The limit for an edit that the editor asks the user about.
    """

    plain_s: float
    asking_s: float

    def of(self, *, asks: bool) -> float:
        """Return how many seconds the editor has to apply an edit; ``asks`` is for asked edits."""
        return self.asking_s if asks else self.plain_s


class Annotation(NamedTuple):
    """A change annotation, and the id by which edits name the annotation."""

    id: str
    value: types.ChangeAnnotation

    @property
    def asks(self) -> bool:
        """Whether the editor asks the user before it applies the change."""
        return bool(self.value.needs_confirmation)

    @property
    def table(self) -> dict[types.ChangeAnnotationIdentifier, types.ChangeAnnotation]:
        """Return the annotation as a workspace edit lists it."""
        return {self.id: self.value}


def annotation_of(marks: ChangeMarks, label: str, translation: Translation = ENGLISH) -> Annotation:
    """Return the annotation of a change: the gravest kind that the editor asks about, or of all.

    Args:
        marks: All kinds of the change, and the kinds to ask about.
        label: The label of the edit, such as ``Indwell: edit a.py (turn 1)``.
        translation: The translation into the user's language.
    """
    label = translation.of(label)
    kinds = [one for one in _WORDS if one in marks.kinds]
    asked = [one for one in kinds if one in marks.asks]
    kind = next(iter(asked or kinds), None)
    if kind is None:
        return Annotation(ANNOTATION, types.ChangeAnnotation(label=label, needs_confirmation=False))
    title, explanation = _WORDS[kind]
    value = types.ChangeAnnotation(
        label=translation.of(title),
        needs_confirmation=bool(asked),
        description=f"{label}. {translation.of(explanation)}",
    )
    return Annotation(f"{ANNOTATION}.{kind}", value)


def annotated(client: Client, marks: ChangeMarks, label: str) -> Annotation | None:
    """Return the annotation of a change, or None if the editor does not support annotations."""
    if not client.features.annotations:
        return None
    return annotation_of(marks, label, client.translation)


def changes_most(text: str, edits: Sequence[TextEdit]) -> bool:
    """Return whether edits replace more than half of a text that is not very short."""
    if text.count("\n") < LEAST_LINES:
        return False
    return 2 * sum(stop - start for start, stop, _ in edits) > len(text)


def applied_edits(before: str, edits: Sequence[TextEdit], now: str) -> tuple[bool, ...] | None:
    """Return for each edit whether a text contains it, or None if the text has other changes.

    The answer is also None if too many choices of edits could explain the text.

    Args:
        before: The text before the edits.
        edits: The edits, in ascending order and without overlap.
        now: The text after the user chose edits.
    """
    # The offsets in ``now`` up to which the text can be explained, each with one choice of edits:
    # the last edit of the choice, and the choice before the last edit.
    found: dict[int, _Choice] = {0: None}
    at = n_tried = 0
    for start, stop, new in edits:
        kept, old = before[at:start], before[start:stop]
        longer: dict[int, _Choice] = {}
        n_tried += len(found)
        if n_tried > MOST_TRIED:
            return None
        for offset, choice in found.items():
            if not now.startswith(kept, offset):
                continue
            behind = offset + len(kept)
            for text, is_applied in ((new, True), (old, False)):
                if now.startswith(text, behind):
                    longer.setdefault(behind + len(text), (is_applied, choice))
        found, at = longer, stop
    rest = before[at:]
    whole = len(now) - len(rest)
    if whole not in found or not now.endswith(rest):
        return None
    chosen: list[bool] = []
    last = found[whole]
    while last is not None:
        is_applied, last = last
        chosen.append(is_applied)
    return tuple(reversed(chosen))
