"""Long tool results keep their first and last lines (H20, design A)."""

from __future__ import annotations

from functools import partial

from indwell.context.compaction.cuts import Cut, Place, called, cut_step, results_of
from indwell.context.compaction.preset import Snip
from indwell.context.compaction.step import Action
from indwell.context.compaction.view import View


def snip(layer: Snip, view: View) -> Action | None:
    """Cut the results that are long in characters.

    Those of the last message stay: the model has not seen them yet, and would ask for them again.
    """
    return cut_step(
        "snip",
        view,
        (
            Cut(place, partial(_snipped, place, layer))
            for place in results_of(view.messages, 0, len(view.messages) - 1)
            if len(place.result.text) > layer.characters
        ),
    )


def first_and_last_lines(text: str, ends: int, more: str) -> str:
    """``text`` with ``ends`` lines at each side and, between them, how many were left out.

    Args:
        text: Of a result.
        ends: Lines that stay at the beginning, and as many at the end.
        more: What the marker says besides, such as where the rest is.
    """
    lines = text.splitlines()
    left_out = len(lines) - 2 * ends
    head, tail = "\n".join(lines[:ends]), "\n".join(lines[len(lines) - ends :])
    return f"{head}\n[… {left_out:,} lines left out{more} …]\n{tail}"


def head_and_tail(text: str, characters: int, more: str) -> str:
    """``text`` with about ``characters`` of it left, two thirds of them at its beginning.

    Args:
        text: Longer than ``characters``.
        characters: That stay; cut at the end of a line where one is near.
        more: What the marker says besides, such as where the rest is.
    """
    head, tail = text[: characters * 2 // 3], text[len(text) - characters // 3 :]
    if (end := head.rfind("\n")) > len(head) * 3 // 4:
        head = head[:end]
    if 0 <= (begin := tail.find("\n")) < len(tail) // 4:
        tail = tail[begin + 1 :]
    left_out = len(text) - len(head) - len(tail)
    return f"{head}\n[… {left_out:,} characters left out{more} …]\n{tail}"


def _snipped(place: Place, layer: Snip, path: str) -> str:
    text = place.result.text
    more = f" of {called(place.use)}; all of it is in {path}"
    if text.count("\n") + 1 > layer.lines:
        shorter = first_and_last_lines(text, layer.ends, more)
        if len(shorter) <= layer.characters:
            return shorter
    return head_and_tail(text, layer.characters * 2 // 3, more)
