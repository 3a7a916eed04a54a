"""An edit of a file too large for hunks is undone completely, or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from indwell.policy.call_facts import Policy
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.review.verdicts import Scope, accept, reject, rewind_files
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.large import ByteSplice, Large
from indwell.workspace.line_index import index_of
from support.session import World, a_world, asks, call, says, with_parts

MIDDLE = 300_000
LINES = [
    "line 1\n",
    *["a line of many\n"] * MIDDLE,
    "in the middle\n",
    *["a line of many\n"] * MIDDLE,
]
TEXT = "".join([*LINES, "the end"])
READ = asks(call("read_file", "r1", path="big.txt"))


def edit(id_: str, *pairs: tuple[str, str]) -> Any:
    edits = [{"old": old, "new": new} for old, new in pairs]
    return asks(call("edit_file", id_, path="big.txt", edits=edits))


MANY = edit("e1", ("line 1\n", "one\n"), ("in the middle", ""), ("the end", "the very end\n"))
AGAIN = edit("e2", ("one\n", "1\n0\n"), ("very", "Very"))


@asynccontextmanager
async def reviewing(folder: Path, *script: Any) -> AsyncIterator[tuple[World, ReviewLedger, Path]]:
    root = folder / "work"
    root.mkdir()
    path = root / "big.txt"
    path.write_bytes(TEXT.encode())
    workspace = DiskWorkspace([root])
    ledger = await ReviewLedger.open(folder / "review", workspace.roots)
    async with a_world(
        folder, [READ, *script], workspace=workspace, policy=Policy("review")
    ) as world:
        with_parts(world.session, review=ledger)
        yield world, ledger, path


@pytest.mark.parametrize("seed", range(30))
def test_the_inverse_edits_are_right_for_any_sequence_of_edits(seed: int) -> None:
    random = Random(seed)
    data = bytes(random.choices(b"ab\n", k=random.randrange(40)))
    index = index_of(lambda at, size: data[at : at + size], len(data), lambda: None)
    large = Large(Path("a"), lambda at, size: data[at : at + size], index)
    for _ in range(random.randrange(4)):
        cuts = sorted(random.choices(range(large.size_b + 1), k=2 * random.randrange(4)))
        large = large.spliced(
            [
                ByteSplice(start, stop, bytes(random.choices(b"xyz", k=random.randrange(4))))
                for start, stop in zip(cuts[::2], cuts[1::2], strict=True)
            ]
        )
    now, at, parts = large.read(0, large.size_b), 0, []
    for one in large.back():
        parts += [now[at : one.start], one.data]
        at = one.stop
    assert b"".join([*parts, now[at:]]) == data


async def test_an_edit_of_a_large_file_is_one_change_and_can_be_accepted(tmp_path: Path) -> None:
    async with reviewing(tmp_path, MANY, says()) as (world, ledger, path):
        finished = await world.turn()
        assert not world.results[-1].is_error
        (hunk,) = ledger.hunks(path)
        assert (hunk.kind, hunk.actors) == ("opaque", (Actor(world.session.id, 1),))
        assert finished.to_review == 1
        await accept(ledger, world.workspace, Scope())
        assert ledger.n_pending == 0


@pytest.mark.parametrize("is_rewind", [True, False])
async def test_several_edits_are_reverted_byte_for_byte(tmp_path: Path, *, is_rewind: bool) -> None:
    async with reviewing(tmp_path, MANY, AGAIN, says()) as (world, ledger, path):
        await world.turn()
        text = path.read_text(encoding="utf-8")
        assert (text[:6], text[-13:]) == ("1\n0\na ", "the Very end\n")
        kept = sum(one.stat().st_size for one in (tmp_path / "review" / "copies").iterdir())
        assert kept < 10_000
        if is_rewind:
            done = await rewind_files(ledger, world.workspace, world.session.id, 0)
        else:
            done = await reject(ledger, world.workspace, Scope())
        assert (done.kept, done.failed, len(done.hunks)) == ((), (), 1)
        assert path.read_text(encoding="utf-8") == TEXT
        assert ledger.n_pending == 0


async def test_a_large_file_changed_by_the_user_is_not_reverted(tmp_path: Path) -> None:
    async with reviewing(tmp_path, MANY, says()) as (world, ledger, path):
        await world.turn()
        theirs = path.read_text(encoding="utf-8").replace("a line of many", "a line of MANY", 1)
        path.write_bytes(theirs.encode())
        done = await reject(ledger, world.workspace, Scope())
        assert [reason for _, reason in done.kept] == ["it was changed since"]
        assert path.read_text(encoding="utf-8") == theirs
        assert ledger.n_pending == 1


@pytest.mark.parametrize("is_secret", [True, False])
async def test_missing_earlier_content_is_reported_in_plain_words(
    tmp_path: Path, *, is_secret: bool
) -> None:
    """The content may contain a secret, or its patch may be lost or damaged."""
    async with reviewing(tmp_path, MANY, says()) as (world, ledger, path):
        if is_secret:
            hide = lambda text: text.replace("in the middle", "[secret]")  # noqa: E731
            with_parts(world.session, hide=hide)
        await world.turn()
        for one in tmp_path.glob("review/copies/*"):
            assert not is_secret
            one.write_bytes(one.read_bytes().replace(b"[0,", b"[1,"))
        after = path.read_text(encoding="utf-8")
        assert after != TEXT
        done = await reject(ledger, world.workspace, Scope())
        said = [reason for _, reason in (*done.kept, *done.failed)]
        assert said == ["its earlier content is not kept, so it cannot be restored"]
        assert path.read_text(encoding="utf-8") == after
