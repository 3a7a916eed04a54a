"""Bases and diffs from the ledger: pending changes by session and turn, without secrets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from indwell.errors import UserError
from indwell.lsp.virtual.texts import Changes
from indwell.lsp.virtual.uris import Base, ChangeSpan, Diff
from indwell.policy.paths import matches_any
from indwell.review.hunk import Actor, Opaque
from indwell.review.ledger import ReviewLedger
from indwell.workspace.disk import DiskWorkspace

ONE, TWO = "20261121-034012-123-9f3a1c7e2b4d", "20261121-050000-000-aaaaaaaaaaaa"


class Desk:
    """A folder, its ledger, and the changes of an agent."""

    def __init__(self, folder: Path, ledger: ReviewLedger) -> None:
        self.folder = folder
        self.ledger = ledger
        workspace = DiskWorkspace([folder])
        self.changes = Changes(ledger, workspace, lambda name: matches_any(name, (".env*",)))

    def uri_path(self, name: str) -> str:
        return (self.folder / name).as_posix()

    async def edit(
        self, name: str, before: str | None, after: str, *, by: str = ONE, turn: int = 1
    ):
        path = self.folder / name
        pending = await self.ledger.begin(Actor(by, turn), "call", path, before, after)
        path.write_bytes(after.encode())
        await self.ledger.finish(pending, after, accepted=False)


@pytest.fixture
async def desk(tmp_path) -> AsyncIterator[Desk]:
    folder = (tmp_path / "work").resolve()
    folder.mkdir()
    ledger = await ReviewLedger.open(tmp_path / "ledger", [folder])
    yield Desk(folder, ledger)
    await ledger.close()


async def test_a_diff_covers_all_changes_or_those_of_a_session_or_turn(desk) -> None:
    await desk.edit("a.txt", "1\n2\n3\n4\n", "1\nB\n3\n4\n", turn=1)
    await desk.edit("a.txt", "1\nB\n3\n4\n", "1\nB\n3\nD\n", turn=2)
    await desk.edit("b.txt", None, "new\n", by=TWO)
    whole = await desk.changes.diff(Diff())
    assert [line for line in whole.splitlines() if line[0] in "+-"] == [
        "--- a/a.txt",
        "+++ b/a.txt",
        "-2",
        "+B",
        "-4",
        "+D",
        "--- /dev/null",
        "+++ b/b.txt",
        "+new",
    ]
    of_two = await desk.changes.diff(Diff(desk.uri_path("a.txt"), ChangeSpan(ONE, 2)))
    assert "+D" in of_two
    assert "+B" not in of_two
    assert "a.txt" not in await desk.changes.diff(Diff("", ChangeSpan(TWO)))
    a = desk.uri_path("a.txt")
    assert await desk.changes.base(Base(a)) == "1\n2\n3\n4\n"
    assert await desk.changes.base(Base(a, ChangeSpan(ONE, 2))) == "1\nB\n3\n4\n"
    assert await desk.changes.base(Base(a, ChangeSpan(TWO))) == "1\nB\n3\nD\n"
    assert await desk.changes.base(Base(desk.uri_path("b.txt"))) == ""


async def test_the_users_own_lines_are_on_both_sides_of_a_diff(desk) -> None:
    await desk.edit("a.txt", "1\n2\n3\n", "1\nB\n3\n")
    (desk.folder / "a.txt").write_bytes(b"mine\n1\nB\n3\n")
    assert await desk.changes.base(Base(desk.uri_path("a.txt"))) == "mine\n1\n2\n3\n"
    assert "+mine" not in await desk.changes.diff(Diff())


async def test_a_file_that_a_deny_rule_names_is_not_shown(desk) -> None:
    await desk.edit(".env", None, "KEY=1\n")
    assert await desk.changes.diff(Diff()) == "# .env: not shown, a deny rule names it\n"
    for document in (Base(desk.uri_path(".env")), Base(desk.uri_path("none"))):
        with pytest.raises(UserError):
            await desk.changes.base(document)
    with pytest.raises(UserError, match="deny rule"):
        await desk.changes.diff(Diff(desk.uri_path(".env")))


async def test_no_link_leads_out_of_the_workspace(desk, tmp_path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"secret\n")
    (desk.folder / "link").symlink_to(outside)
    for name in ("link", "../outside.txt"):
        with pytest.raises(UserError):
            await desk.changes.base(Base(desk.uri_path(name)))


async def test_a_diff_names_binary_changes(desk) -> None:
    (desk.folder / "p.bin").write_bytes(b"\0\1\2")
    await desk.ledger.made(
        Actor(ONE, 1),
        "call",
        desk.folder / "p.bin",
        None,
        None,
        accepted=False,
        opaque=Opaque("binary, 1 KB -> 3 bytes", None, "00"),
    )
    assert await desk.changes.diff(Diff()) == "# p.bin: binary, 1 KB -> 3 bytes\n"


async def test_a_diff_document_without_pending_changes_reports_none_pending(desk) -> None:
    assert await desk.changes.diff(Diff()) == "# Nothing is pending.\n"
    await desk.edit("a.txt", "1\n", "2\n")
    await desk.ledger.accept([one.id for one in desk.ledger.hunks(desk.folder / "a.txt")])
    assert await desk.changes.diff(Diff(desk.uri_path("a.txt"))) == "# Nothing is pending.\n"
    assert await desk.changes.base(Base(desk.uri_path("a.txt"))) == "2\n"
