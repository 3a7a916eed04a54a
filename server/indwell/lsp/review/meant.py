"""What an argument of ``indwell.accept`` or ``indwell.reject`` means now: hunks, file by file."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

import attrs
import msgspec

from indwell.errors import UserError
from indwell.lsp.documents import path_of
from indwell.lsp.protocol_review import VerdictArguments
from indwell.review.hunk import Hunk
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope

Verb: TypeAlias = Literal["accept", "reject"]


class Meant(msgspec.Struct, frozen=True):
    """What a verdict is about: hunks by file, and which turn or session was named."""

    by_path: dict[Path, tuple[str, ...]]
    gone: tuple[str, ...] = ()
    session: str | None = None
    turn: int | None = None

    def scope(self, path: Path) -> Scope:
        """One file's part."""
        return Scope(hunks=self.by_path[path], path=path, session=self.session, turn=self.turn)


def meant_by(ledger: ReviewLedger, arguments: VerdictArguments, session: str | None) -> Meant:
    """What an argument means now.

    Raises:
        UserError: It names nothing, or a document that is no file.
    """
    if attrs.evolve(arguments, wait=False) == VerdictArguments():
        raise UserError("say which changes: `hunks`, `uri`, `turn`, `session`, or `all` for all")
    path = path_of(arguments.uri) if arguments.uri is not None else None
    if arguments.uri is not None and path is None:
        raise UserError(f"{arguments.uri!r} is no file, so nothing is pending there")
    turn, whose = arguments.turn, arguments.session
    if turn is not None and whose is None:
        if session is None:
            raise UserError("say whose turn: there is no current session")
        whose = session
    if arguments.hunks:
        # What was shown is what is meant; it may stand in other files than where it was offered.
        pending = {hunk.id: hunk for one in ledger.paths() for hunk in ledger.hunks(one)}
        hunks = [pending[id_] for id_ in dict.fromkeys(arguments.hunks) if id_ in pending]
        gone = tuple(id_ for id_ in dict.fromkeys(arguments.hunks) if id_ not in pending)
    else:
        paths = ledger.paths() if path is None else (path,)
        hunks, gone = [hunk for one in paths for hunk in ledger.hunks(one)], ()
    by_path: dict[Path, list[str]] = {}
    for hunk in hunks:
        if _is_of(hunk, whose, turn):
            by_path.setdefault(hunk.path, []).append(hunk.id)
    ids = {one: tuple(found) for one, found in by_path.items()}
    return Meant(ids, gone, whose, turn)


def _is_of(hunk: Hunk, session: str | None, turn: int | None) -> bool:
    return any(session in {None, one.session} and turn in {None, one.turn} for one in hunk.actors)
