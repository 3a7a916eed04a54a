"""What the files read now, and the hunks that follow from it; each worked out once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from indwell.review.folding import Followed, State, hunk_of
from indwell.review.groups import groups, is_pending
from indwell.review.hunk import Hunk
from indwell.review.weave import Weave


class _View(NamedTuple):
    of: Followed
    text: str | None
    weave: Weave


class Views:
    """The text of each file, as it was told last."""

    def __init__(self) -> None:
        self.version = 0
        """Grows when a text changes."""
        self._texts: dict[str, str | None] = {}
        self._meanwhile: dict[str, str | None] = {}
        self._views: dict[str, _View] = {}
        self._hunks: dict[str, tuple[Weave, tuple[Hunk, ...]]] = {}

    def put(self, name: str, text: str | None) -> None:
        """The file reads ``text``."""
        self.version += 1
        self._texts[name] = text

    def forget(self, name: str) -> None:
        """There is no such file any more."""
        self.version += 1
        for known in (self._texts, self._meanwhile, self._views, self._hunks):
            known.pop(name, None)

    def meanwhile(self, name: str, text: str | None) -> None:
        """The file read ``text`` while the agent was changing it."""
        self._meanwhile[name] = text

    def after(self, name: str, own: tuple[str | None, ...]) -> str | None:
        """What it reads after the agent's change: the last of ``own``, if nobody typed since."""
        text = self._meanwhile.pop(name, own[-1])
        return own[-1] if text in own else text

    def prepare(self, name: str, text: str | None, of: Followed, weave: Weave) -> None:
        """Keep what was worked out elsewhere for a text that is about to be told."""
        self._views[name] = _View(of, text, weave)

    def weave(self, name: str, state: State, *, is_busy: bool) -> Weave:
        """The file as it reads now; while the agent is changing it, as it was before."""
        of = state.files[name]
        view = self._views.get(name)
        if view is not None and is_busy:
            return view.weave
        if name not in self._texts or is_busy:
            return of.weave
        text = self._texts[name]
        if view is None or view.of is not of or not (view.text is text or view.text == text):
            view = self._views[name] = _View(of, text, state.seen(name, text))
        return view.weave

    def seen(self, name: str) -> frozenset[int]:
        """What of the agent's changes that nobody judged stands in the text that was told last."""
        view = self._views.get(name)
        has_text = view is not None and name in self._texts and view.text == self._texts[name]
        return view.weave.unjudged if view is not None and has_text else frozenset()

    def hunks(self, name: str, weave: Weave, path: Path) -> tuple[Hunk, ...]:
        """The pending hunks of a file."""
        known = self._hunks.get(name)
        if known is None or known[0] is not weave:
            found = tuple(hunk_of(one, path) for one in groups(weave, is_pending, name))
            known = self._hunks[name] = (weave, found)
        return known[1]
