"""Lenses over the hunks of a document and at its top, as plain JSON. Pure."""

from __future__ import annotations

from typing import Any

from indwell.lsp.review.hints import MOST
from indwell.lsp.review.offers import Shown, diff_command, verdict_command
from indwell.lsp.review.places import lines_of
from indwell.lsp.review.words import changes, described
from indwell.review.hunk import Hunk


def lenses_of(shown: Shown) -> list[dict[str, Any]]:
    """Three lenses at the top and three over each hunk, of very many the first; else none."""
    if not shown.hunks:
        return []
    every = {"hunks": [hunk.id for hunk in shown.hunks], "uri": shown.uri}
    found = [
        _lens(0, diff_command(f"{changes(len(shown.hunks))} by Indwell", shown.uri)),
        _lens(0, verdict_command("accept", "Accept all in this file", every)),
        _lens(0, verdict_command("reject", "Reject all in this file", every)),
    ]
    for hunk in shown.hunks[:MOST]:
        found += _of_hunk(hunk, shown)
    return found


def _of_hunk(hunk: Hunk, shown: Shown) -> list[dict[str, Any]]:
    line = lines_of(hunk, shown.n_lines).first
    only = {"hunks": [hunk.id], "uri": shown.uri}
    words = described(hunk, shown.session)
    return [
        _lens(line, verdict_command("accept", "Accept", only)),
        _lens(line, verdict_command("reject", "Reject", only)),
        _lens(line, diff_command(words[0].upper() + words[1:], shown.uri)),
    ]


def _lens(line: int, command: dict[str, Any]) -> dict[str, Any]:
    place = {"line": line, "character": 0}
    return {"range": {"start": place, "end": place}, "command": command}
