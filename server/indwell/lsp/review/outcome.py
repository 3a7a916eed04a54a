"""What became of a verdict, added up over files and put in words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from indwell.lsp.review.words import changes, files
from indwell.review.hunk import Hunk
from indwell.review.verdicts import Done

MOST_NAMED = 5  # files of a question, reasons of a sentence

Kept = tuple[Hunk, str]


class Outcome(msgspec.Struct, frozen=True):
    """Of several files.

    Attributes:
        hunks: Those that were settled.
        kept: Those that stay pending, and why.
        failed: Files that could not be changed, and why.
        gone: Ids of changes that are not pending any more.
    """

    hunks: tuple[Hunk, ...] = ()
    kept: tuple[Kept, ...] = ()
    failed: tuple[tuple[Path, str], ...] = ()
    gone: tuple[str, ...] = ()

    def with_done(self, done: Done) -> Outcome:
        """One more file is done."""
        return Outcome(
            (*self.hunks, *done.hunks),
            (*self.kept, *done.kept),
            (*self.failed, *done.failed),
            (*self.gone, *done.unknown),
        )

    def leaving(self, hunks: Iterable[Hunk], why: str) -> Outcome:
        """These were not come to."""
        kept = tuple((hunk, why) for hunk in hunks)
        return msgspec.structs.replace(self, kept=(*self.kept, *kept))


def sentence(verb: str, outcome: Outcome, display: Callable[[Path], str]) -> str:
    """All of it in one sentence for people."""
    parts = []
    if outcome.hunks:
        parts.append(f"{verb}ed {_where(outcome.hunks, display)}")
    if outcome.kept:
        why = "; ".join(dict.fromkeys(f"{display(one.path)}: {why}" for one, why in outcome.kept))
        stays = "1 change stays" if len(outcome.kept) == 1 else f"{changes(len(outcome.kept))} stay"
        parts.append(f"{stays} pending ({_short(why)})")
    parts += [
        f"{display(path)} was not changed: {why}" for path, why in outcome.failed[:MOST_NAMED]
    ]
    if outcome.gone:
        is_one = len(outcome.gone) == 1
        what = (
            "the change that was shown is" if is_one else f"{len(outcome.gone)} of those shown are"
        )
        parts.append(f"{what} not pending any more, and nothing was done for it")
    return "; ".join(parts) or "nothing is pending there"


def question(kept: Sequence[Kept], display: Callable[[Path], str]) -> str:
    """What the user is asked before lines go that not only this turn changed."""
    named = [f"{display(hunk.path)}, line {hunk.line}: {why}" for hunk, why in kept[:MOST_NAMED]]
    if len(kept) > MOST_NAMED:
        named.append(f"and {len(kept) - MOST_NAMED} more")
    what = "this change" if len(kept) == 1 else f"these {changes(len(kept))}"
    return "\n".join([f"Indwell: reject {what} all the same, and lose what came since?", *named])


def _where(hunks: Sequence[Hunk], display: Callable[[Path], str]) -> str:
    paths = list(dict.fromkeys(hunk.path for hunk in hunks))
    where = display(paths[0]) if len(paths) == 1 else files(len(paths))
    return f"{changes(len(hunks))} in {where}"


def _short(words: str) -> str:
    return words if len(words) <= 300 else f"{words[:300]}…"  # noqa: PLR2004 - a message's worth
