from __future__ import annotations

from pathlib import Path

import pytest

from indwell.errors import EditRefused, ToolError
from indwell.tools.base import Outcome, ToolFacts
from indwell.tools.editing.edit_large import planned
from indwell.tools.editing.replace import Replacement
from indwell.workspace.base import AppliedChange, Snapshot, TextStamp, digest
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.large import Large
from indwell.workspace.line_index import index_of
from indwell.workspace.text import LineEnd
from support.memory_workspace import ROOT, MemoryWorkspace
from tools.calling import Agent

EDIT = {"path": "a", "edits": [{"old": "two", "new": "2"}]}
DIFF = "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"


@pytest.fixture
def workspace() -> MemoryWorkspace:
    return MemoryWorkspace({"a": "one\ntwo\nthree\n"})


@pytest.fixture
def agent(workspace: MemoryWorkspace, tmp_path: Path) -> Agent:
    return Agent(workspace, tmp_path / "spill")


async def test_an_edit_of_a_read_file_is_reported_with_its_diff(agent: Agent) -> None:
    await agent.call("read_file", path="a")
    after = "one\n2\nthree\n"
    assert await agent.call("edit_file", **EDIT) == Outcome(
        text=f"edited a: +1 \N{MINUS SIGN}1\n{DIFF}".rstrip(),
        figure="+1 \N{MINUS SIGN}1",
        diff=DIFF,
        counts=(1, 1),
        changes=(AppliedChange(ROOT / "a", "one\ntwo\nthree\n", after, TextStamp(digest(after))),),
    )


async def test_a_second_edit_needs_no_second_read(agent: Agent, workspace: MemoryWorkspace) -> None:
    await agent.call("read_file", path="a")
    await agent.call("edit_file", **EDIT)
    await agent.call("edit_file", path="a", edits=[{"old": "2", "new": "II"}])
    assert workspace.files[ROOT / "a"] == "one\nII\nthree\n"


def in_memory(data: bytes) -> Large:
    """Return the bytes as a file that is too large to be read as one text."""

    def read(offset: int, size: int) -> bytes:
        return data[offset : offset + size]

    return Large(ROOT / "a", read, index_of(read, len(data), lambda: "utf-8"))


CRLF = "line1\r\nline2\r\n"


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        (CRLF, {"old": "line1\r\n", "new": "line1\n"}, "line1\nline2\r\n"),
        (CRLF, {"old": "line1\r\nline2\r\n", "new": "line1\nline2\n"}, "line1\nline2\n"),
        (CRLF, {"old": "\r\n", "new": "\n", "all": True}, "line1\nline2\n"),
        ("a\nb\n", {"old": "\n", "new": "\r\n", "all": True}, "a\r\nb\r\n"),
        ("a\r\nb\n", {"old": "\n", "new": "\r\n", "all": True}, "a\r\nb\r\n"),
        ("a\rb\n", {"old": "a\rb", "new": "a\nb"}, "a\nb\n"),
        ("a\nb\n", {"old": "a\nb", "new": "a\r\nb"}, "a\r\nb\n"),
    ],
)
async def test_an_edit_that_changes_only_line_ends_is_made(tmp_path, before, edit, after) -> None:
    workspace = MemoryWorkspace({"a": before})
    agent = Agent(workspace, tmp_path / "spill")
    await agent.call("read_file", path="a")
    told = await agent.call("edit_file", path="a", edits=[edit])
    assert workspace.files[ROOT / "a"] == after
    assert told.text.startswith("edited a: ")
    assert "changed only line endings" in told.text
    large, _ = planned(in_memory(before.encode()), [Replacement(**edit)], "a")
    assert large.read(0, large.size_b) == after.encode()


@pytest.mark.parametrize(
    ("before", "edits", "why"),
    [
        (CRLF, [("line1\n", "line1\r\n")], "does not have old with those of old"),
        ("line1\nline2\n", [("line1\r\n", "line1\n")], "does not have old with those of old"),
        (CRLF, [("line3\r\n", "line3\n")], "old text does not appear"),
        (CRLF, [("line1", "x"), ("x", "line1")], "would leave a as it is"),
    ],
)
async def test_an_edit_that_changes_nothing_is_refused_with_the_reason(
    tmp_path, before, edits, why
) -> None:
    workspace = MemoryWorkspace({"a": before})
    agent = Agent(workspace, tmp_path / "spill")
    await agent.call("read_file", path="a")
    listed = [{"old": old, "new": new} for old, new in edits]
    with pytest.raises(ToolError, match=why):
        await agent.call("edit_file", path="a", edits=listed)
    assert workspace.files[ROOT / "a"] == before
    if len(edits) == 1:
        with pytest.raises(ToolError, match=why):
            planned(in_memory(before.encode()), [Replacement(**one) for one in listed], "a")


async def test_a_write_that_differs_only_in_line_ends_reports_no_change(tmp_path) -> None:
    workspace = MemoryWorkspace({"a": CRLF})
    agent = Agent(workspace, tmp_path / "spill")
    await agent.call("read_file", path="a")
    told = await agent.call("write_file", path="a", content="line1\nline2\n")
    assert "already reads so (2 lines) but for its line endings: they are \\r\\n" in told.text
    assert workspace.files[ROOT / "a"] == CRLF


class EndsOfItsOwn(MemoryWorkspace):
    """An editor that opens a new file at once and chooses its line ends, in a CRLF folder."""

    async def line_end(self, path: Path, text: str) -> LineEnd:
        del path, text
        return "\r\n"

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        return await super().write(path, base, text.replace("\r\n", "\n"), label=label)


async def test_line_ends_that_an_editor_chose_do_not_count_as_a_change_by_others(tmp_path) -> None:
    agent = Agent(EndsOfItsOwn({}), tmp_path / "spill")
    told = await agent.call("write_file", path="a", content="one\ntwo\n")
    assert told.text == "created a (2 lines): +2 \N{MINUS SIGN}0"
    await agent.call("edit_file", **EDIT)


async def test_a_file_that_was_never_read_is_not_edited(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    with pytest.raises(
        ToolError,
        match="'a' has not been read yet: call read_file first, then make this call again",
    ):
        await agent.call("edit_file", **EDIT)
    assert workspace.files[ROOT / "a"] == "one\ntwo\nthree\n"


async def test_a_preview_shows_the_diff_and_changes_nothing(
    agent: Agent, workspace: MemoryWorkspace
) -> None:
    await agent.call("read_file", path="a")
    assert await agent.preview("edit_file", **EDIT) == DIFF
    assert workspace.files[ROOT / "a"] == "one\ntwo\nthree\n"


async def test_a_long_diff_is_cut_for_the_model_and_whole_for_the_user(tmp_path: Path) -> None:
    lines = "".join(f"line {i:4}\n" for i in range(500))
    agent = Agent(MemoryWorkspace({"a": lines}), tmp_path / "spill")
    await agent.call("read_file", path="a")
    outcome = await agent.call("edit_file", path="a", edits=[{"old": lines, "new": "short\n"}])
    assert outcome.text.endswith("more lines of diff …]")
    assert (len(outcome.text) < 3_000, len(outcome.diff) > 5_000) == (True, True)


async def test_bytes_around_an_edit_stay_unchanged(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\nthree\rfour")
    agent = Agent(DiskWorkspace([root]), tmp_path / "spill")
    await agent.call("read_file", path="a")
    await agent.call("edit_file", path="a", edits=[{"old": "one\ntwo", "new": "one\nx\ntwo"}])
    assert (root / "a").read_bytes() == b"\xef\xbb\xbfone\r\nx\r\ntwo\nthree\rfour"


async def test_a_file_of_another_encoding_is_not_edited(tmp_path: Path) -> None:
    half = "two\n".encode("utf-16")[:-1]  # the last character is incomplete
    (tmp_path / "a").write_bytes(half)
    agent = Agent(DiskWorkspace([tmp_path]), tmp_path / "spill")
    await agent.call("read_file", path="a")
    with pytest.raises(ToolError, match="bytes that are not text in its encoding"):
        await agent.call("edit_file", **EDIT)
    assert (tmp_path / "a").read_bytes() == half


class Formatting(MemoryWorkspace):
    """An editor that formats files on save."""

    n_writes = 0

    async def write(
        self, path: Path, base: Snapshot | None, text: str, *, label: str
    ) -> AppliedChange:
        self.n_writes += 1
        formatted = text.upper()
        await super().write(path, base, formatted, label=label)
        return AppliedChange(
            path=path,
            before=None if base is None else base.text,
            after=formatted,
            stamp=TextStamp(digest(formatted)),
            verified=False,
            note="formatted on save",
        )


async def test_edt_22_a_formatters_change_is_shown_and_the_next_edit_includes_the_change(
    tmp_path: Path,
) -> None:
    workspace = Formatting({"a": "one\ntwo\n"})
    agent = Agent(workspace, tmp_path / "spill")
    await agent.call("read_file", path="a")
    outcome = await agent.call("edit_file", **EDIT)
    assert outcome.text.splitlines()[0] == "edited a: +2 \N{MINUS SIGN}2; formatted on save"
    assert outcome.text.endswith(
        "right after the edit, this was changed:\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-one\n+ONE\n 2"
    )
    again = await agent.call("edit_file", path="a", edits=[{"old": "ONE", "new": "1"}])
    assert again.text.startswith("edited a: +1")
    # The agent does not change the formatted text again.
    assert (workspace.files[ROOT / "a"], workspace.n_writes) == ("1\n2\n", 2)


async def test_an_edit_names_its_path_for_the_policy(agent: Agent) -> None:
    call = agent.tools.bind("edit_file", '{"path": "../a", "edits": []}')
    assert (call.effect, call.facts) == ("edit", ToolFacts("edit_file", "edit", paths=("../a",)))


class TestWriteFile:
    async def test_a_new_file_is_created_with_its_folders(
        self, agent: Agent, workspace: MemoryWorkspace
    ) -> None:
        outcome = await agent.call("write_file", path="new/b", content="x\ny\n")
        assert (outcome.text, outcome.figure) == (
            "created new/b (2 lines): +2 \N{MINUS SIGN}0",
            "+2 \N{MINUS SIGN}0",
        )
        assert outcome.diff == "--- /dev/null\n+++ b/new/b\n@@ -0,0 +1,2 @@\n+x\n+y\n"
        assert workspace.files[ROOT / "new" / "b"] == "x\ny\n"

    async def test_the_model_may_edit_a_file_that_it_wrote(self, agent: Agent) -> None:
        await agent.call("write_file", path="b", content="two\n")
        outcome = await agent.call("edit_file", path="b", edits=[{"old": "two", "new": "2"}])
        assert outcome.text.startswith("edited b: +1")

    async def test_a_file_that_was_never_read_is_not_replaced(
        self, agent: Agent, workspace: MemoryWorkspace
    ) -> None:
        with pytest.raises(ToolError, match="has not been read yet"):
            await agent.call("write_file", path="a", content="gone\n")
        assert workspace.files[ROOT / "a"] == "one\ntwo\nthree\n"

    async def test_a_file_changed_since_the_read_is_shown_before_a_write_may_replace_the_file(
        self, agent: Agent, workspace: MemoryWorkspace
    ) -> None:
        await agent.call("read_file", path="a")
        workspace.files[ROOT / "a"] = "one\ntwo\nthe user's\n"
        with pytest.raises(ToolError) as caught:
            await agent.call("write_file", path="a", content="mine\n")
        assert str(caught.value) == (
            "'a' has changed since it was read (by the user, a sub-agent, a formatter or a "
            "command); nothing was written. Write it again with this change taken in:\n"
            "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n one\n two\n-three\n+the user's\n"
        )
        assert workspace.files[ROOT / "a"] == "one\ntwo\nthe user's\n"
        await agent.call("write_file", path="a", content="the user's and mine\n")
        assert workspace.files[ROOT / "a"] == "the user's and mine\n"

    async def test_a_change_too_long_to_show_requires_another_read(self, tmp_path: Path) -> None:
        workspace = MemoryWorkspace({"a": "one\n"})
        agent = Agent(workspace, tmp_path / "spill")
        await agent.call("read_file", path="a")
        workspace.files[ROOT / "a"] = "".join(f"line {i}\n" for i in range(500))
        for _ in range(2):
            with pytest.raises(ToolError, match="read_file it again. The difference begins:"):
                await agent.call("write_file", path="a", content="mine\n")
        await agent.call("read_file", path="a")
        await agent.call("write_file", path="a", content="mine\n")

    async def test_edt_14_an_existing_file_is_not_created_again(
        self, agent: Agent, workspace: MemoryWorkspace
    ) -> None:
        workspace.buffers[ROOT / "open"] = "unsaved\n"
        workspace._versions[ROOT / "open"] = 1
        for path in ("a", "open"):
            with pytest.raises(ToolError, match="has not been read yet"):
                await agent.call("write_file", path=path, content="gone\n")
        assert workspace.buffers[ROOT / "open"] == "unsaved\n"

    async def test_fs_15_a_file_deleted_after_a_read_is_not_written_again(
        self, agent: Agent, workspace: MemoryWorkspace
    ) -> None:
        await agent.call("read_file", path="a")
        del workspace.files[ROOT / "a"]
        with pytest.raises(ToolError, match="deleted or renamed meanwhile; nothing was edited"):
            await agent.call("write_file", path="a", content="back\n")
        assert ROOT / "a" not in workspace.files
        # The model knows now that the file was deleted.
        await agent.call("write_file", path="a", content="back\n")
        assert workspace.files[ROOT / "a"] == "back\n"

    async def test_a_file_that_was_read_can_be_replaced(self, agent: Agent) -> None:
        await agent.call("read_file", path="a")
        outcome = await agent.call("write_file", path="a", content="one\n2\nthree\n")
        assert outcome.text == f"wrote a (3 lines): +1 \N{MINUS SIGN}1\n{DIFF}".rstrip()

    async def test_writing_the_same_text_is_not_a_change(self, agent: Agent) -> None:
        await agent.call("read_file", path="a")
        outcome = await agent.call("write_file", path="a", content="one\ntwo\nthree\n")
        assert outcome == Outcome("a already reads so (3 lines); nothing changed", figure="same")

    async def test_writing_a_crlf_file_keeps_its_line_ends(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"one\r\ntwo\r\n")
        agent = Agent(DiskWorkspace([tmp_path]), tmp_path / "spill")
        await agent.call("read_file", path="a")
        await agent.call("write_file", path="a", content="1\n2\n3\n")
        assert (tmp_path / "a").read_bytes() == b"1\r\n2\r\n3\r\n"

    async def test_a_folder_is_not_replaced(self, agent: Agent) -> None:
        await agent.call("write_file", path="sub/b", content="x")
        with pytest.raises(ToolError, match="is a folder"):
            await agent.call("write_file", path="sub", content="x")

    async def test_a_file_that_cannot_be_read_is_not_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        agent = Agent(DiskWorkspace([tmp_path]), tmp_path / "spill")
        with pytest.raises(ToolError, match=r"is not a text but a PNG image .* was not replaced"):
            await agent.call("write_file", path="a.png", content="x")
        assert (tmp_path / "a.png").read_bytes() == b"\x89PNG\r\n\x1a\n"

    async def test_a_preview_of_a_new_file_shows_the_diff_and_writes_no_file(
        self, agent: Agent, workspace: MemoryWorkspace
    ) -> None:
        diff = await agent.preview("write_file", path="b", content="x\n")
        assert diff == "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n"
        assert ROOT / "b" not in workspace.files

    async def test_an_edit_outside_the_workspace_is_refused(self, agent: Agent) -> None:
        with pytest.raises(ToolError, match="outside the workspace"):
            await agent.call("write_file", path="../b", content="x")


async def test_a_refusal_of_the_editor_reaches_the_model(tmp_path: Path) -> None:
    class Refusing(MemoryWorkspace):
        async def write(self, *_: object, **__: object) -> AppliedChange:
            raise EditRefused("the editor refused the edit")

    agent = Agent(Refusing({"a": "one\ntwo\n"}), tmp_path / "spill")
    await agent.call("read_file", path="a")
    with pytest.raises(EditRefused, match="the editor refused"):
        await agent.call("edit_file", **EDIT)
