"""Reads past sessions as runs, with the user's verdicts on the changes as outcomes; blocks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from indwell.evaluation.report import EvalRun
from indwell.files.append_log import pieces_of
from indwell.review.store import verdicts_in
from indwell.sessions.overview import scanned_figures
from indwell.sessions.storage.retention import logs
from indwell.sessions.storage.store import REVIEW_FOLDER

KIND = "session"


def session_runs(state: Path) -> tuple[EvalRun, ...]:
    """Return a run for each session whose changes the user judged.

    A run has passed if the user accepted each judged hunk (adjacent changed lines) of the session.
    A rewind is no verdict. A hunk of several sessions counts for each of them.

    Args:
        state: A state folder, which has the folder ``sessions``.

    Raises:
        SessionError: The sessions cannot be listed.
    """
    found, judged = [], dict[Path, tuple[Counter[str], Counter[str]]]()
    for session, log in reversed(logs(state)):
        folder = log.parent.parent / REVIEW_FOLDER
        if folder not in judged:
            judged[folder] = _counted(folder)
        n_accepted, n_rejected = (one[session] for one in judged[folder])
        if not n_accepted + n_rejected:
            continue
        figures = scanned_figures(session, pieces_of(log), lambda _at: "")
        usage = figures.total.usage
        found.append(
            EvalRun(
                task=session,
                kind=KIND,
                arm=figures.model or "unknown model",
                seed=1,
                passed=not n_rejected,
                why=f"{n_rejected} of {n_accepted + n_rejected} hunks rejected"
                if n_rejected
                else "",
                tokens_in=usage.input,
                tokens_out=usage.output,
                cost=figures.total.cost,
                rounds=figures.total.requests,
            )
        )
    return tuple(found)


def _counted(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Count the accepted and the rejected hunks of each session."""
    accepted, rejected = Counter[str](), Counter[str]()
    for verdict in verdicts_in(folder):
        for hunks, counts in ((verdict.accepted, accepted), (verdict.rejected, rejected)):
            for hunk in hunks:
                counts.update({actor.session for actor in hunk.actors})
    return accepted, rejected
