"""The line endings of new files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.line_ends import MOST_READ, eol_of, line_end_for, most_used
from tools.calling import Agent

CRLF, LF = "\r\n", "\n"
LIKE_WINDOWS = {"old.py": "a\r\nb\r\n"}
REPOSITORY = {".git/HEAD": "ref: refs/heads/main\n"}


def laid_out(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(text.encode())
    return root.resolve()


@pytest.mark.parametrize(
    ("files", "name", "end"),
    [
        # the project declares a line ending
        ({".gitattributes": "*.py eol=crlf\n"}, "x.py", CRLF),
        ({".gitattributes": "*.py eol=crlf\n"}, "x.js", LF),
        ({".gitattributes": "* text eol=lf\n", **LIKE_WINDOWS}, "x.py", LF),
        ({".gitattributes": "*.py eol=crlf\nx.py eol=lf\n"}, "x.py", LF),
        ({".gitattributes": "* eol=lf", "src/.gitattributes": "*.py eol=crlf"}, "src/x.py", CRLF),
        ({".gitattributes": "* eol=crlf", ".editorconfig": "[*]\nend_of_line=lf"}, "x.py", CRLF),
        ({".editorconfig": "[*.py]\nend_of_line = CRLF\n"}, "src/x.py", CRLF),
        ({".editorconfig": "[*]\nend_of_line = lf\n", **LIKE_WINDOWS}, "x.py", LF),
        ({".editorconfig": "[*]\nend_of_line = cr\n", **LIKE_WINDOWS}, "x.py", CRLF),
        # the program needs a line ending
        (LIKE_WINDOWS, "x.bat", CRLF),
        ({"old.cmd": "a\nb\n"}, "x.CMD", CRLF),
        ({".editorconfig": "[*.bat]\nend_of_line = lf\n"}, "x.bat", LF),
        # the files in the same folder have a line ending
        (LIKE_WINDOWS, "x.py", CRLF),
        (LIKE_WINDOWS, "x.PY", CRLF),
        (LIKE_WINDOWS, "x.js", LF),
        (LIKE_WINDOWS, "src/new/x.py", CRLF),
        ({"src/a.py": "a\n", **LIKE_WINDOWS}, "src/x.py", LF),
        ({"a.py": "a\n", "b.py": "b\n", **LIKE_WINDOWS}, "x.py", LF),
        ({"a.py": "a\r\nb\n", **LIKE_WINDOWS}, "x.py", CRLF),
        ({"a.py": "one line", **LIKE_WINDOWS}, "x.py", CRLF),
        ({"LICENSE": "a\r\n"}, "Makefile", LF),
        ({".gitattributes": "* -text\n", **LIKE_WINDOWS}, "x.py", CRLF),
        # git's configuration decides
        ({".git/config": "[core]\n\tautocrlf = true\n", **REPOSITORY}, "x.py", CRLF),
        ({".git/config": "[core]\n\tautocrlf = true\n", **REPOSITORY}, "src/x.py", CRLF),
        ({".git/config": "[core]\n\tautocrlf = input\n", **REPOSITORY}, "x.py", LF),
        ({".git/config": "[core]\n\teol = crlf\n", **REPOSITORY}, "x.py", CRLF),
        ({".git/config": "[core]\n\tautocrlf=true\n", "a.py": "a\n", **REPOSITORY}, "x.py", LF),
        (
            {".git/config": "[core]\nautocrlf=true\n", ".gitattributes": "* -text", **REPOSITORY},
            "x.py",
            LF,
        ),
        # The case in which no file decides.
        ({}, "x.py", LF),
    ],
)
def test_the_line_ending_of_a_new_file_follows_project_folder_and_git(
    files: Mapping[str, str], name: str, end: str, tmp_path: Path
) -> None:
    root = laid_out(tmp_path, files)
    assert line_end_for(root / name, "a\n", [root]) == end


def test_a_script_of_unix_has_no_carriage_returns_unless_the_project_asks(tmp_path: Path) -> None:
    root = laid_out(tmp_path, LIKE_WINDOWS)
    assert line_end_for(root / "x.py", "#!/usr/bin/env python\n", [root]) == LF
    (root / ".gitattributes").write_bytes(b"* eol=crlf\n")
    assert line_end_for(root / "x.py", "#!/usr/bin/env python\n", [root]) == CRLF


def test_only_a_few_files_of_a_folder_are_read_for_the_line_ending(tmp_path: Path) -> None:
    few = {f"a{number}.py": "a\r\n" for number in range(MOST_READ)}
    root = laid_out(tmp_path, few | {f"b{number}.py": "b\n" for number in range(2 * MOST_READ)})
    assert line_end_for(root / "x.py", "a\n", [root]) == CRLF


def test_files_above_the_workspace_are_not_read_for_the_line_ending(tmp_path: Path) -> None:
    root = laid_out(tmp_path, {".editorconfig": "[*]\nend_of_line = crlf", **LIKE_WINDOWS})
    (root / "inner").mkdir()
    assert line_end_for(root / "inner" / "x.py", "a\n", [root / "inner"]) == LF


@pytest.mark.parametrize(
    ("line", "path", "eol"),
    [
        ("*.c eol=crlf", "a/b.c", "crlf"),
        ("/*.c eol=crlf", "a/b.c", ""),
        ("a/*.c eol=crlf", "a/b.c", "crlf"),
        ("**/a/*.c eol=crlf", "a/b.c", "crlf"),
        ("a/**/b.c eol=crlf", "a/b.c", "crlf"),
        ("a/**/b.c eol=crlf", "a/x/y/b.c", "crlf"),
        ("[^x].c eol=crlf", "b.c", "crlf"),
        ("*.{c,h} eol=crlf", "b.c", ""),
        ("# * eol=crlf", "b.c", ""),
        ("[attr]odd eol=crlf", "b.c", ""),
        ("* crlf=input", "b.c", "lf"),
        ("* binary", "b.c", "as is"),
        ("* -text", "b.c", "as is"),
        ("* text=auto", "b.c", ""),
        ("* eol=lf\nb.c !eol", "b.c", ""),
        ("* -text\nb.c text", "b.c", ""),
    ],
)
def test_gitattributes_are_interpreted_as_by_git(line: str, path: str, eol: str) -> None:
    assert eol_of([(path, line)]) == eol


@pytest.mark.parametrize(
    ("heads", "end"),
    [
        ([b"a\r\n", b"a\r\n", b"a\n"], CRLF),
        ([b"a\r\n", b"a\n"], None),
        ([b"a\r\nb\n"], None),
        ([b"a\0\n"], None),
        ([b"a\r\0\n\0"], None),
        ([b"a\rb\r"], None),
        ([], None),
    ],
)
def test_the_majority_of_files_decides_and_mixed_files_do_not_count(
    heads: list[bytes], end: str | None
) -> None:
    assert most_used(heads) == end


async def test_write_file_shows_and_writes_the_line_ends_of_the_folder(tmp_path: Path) -> None:
    root = laid_out(tmp_path / "work", {**LIKE_WINDOWS, "empty.py": ""})
    agent = Agent(DiskWorkspace([root]), tmp_path / "spill")
    assert "+a\r\n+b\r\n" in await agent.preview("write_file", path="new.py", content="a\nb\n")
    await agent.call("write_file", path="new.py", content="a\nb\n")
    assert (root / "new.py").read_bytes() == b"a\r\nb\r\n"
    await agent.call("edit_file", path="new.py", edits=[{"old": "a\nb", "new": "a\nc\nb"}])
    assert (root / "new.py").read_bytes() == b"a\r\nc\r\nb\r\n"
    await agent.call("read_file", path="empty.py")
    await agent.call("write_file", path="empty.py", content="a\nb\n")
    assert (root / "empty.py").read_bytes() == b"a\r\nb\r\n"
    await agent.call("write_file", path="own.py", content="a\r\nb\n")
    assert (root / "own.py").read_bytes() == b"a\r\nb\n"


async def test_an_edit_in_a_mixed_file_changes_no_other_line_end(tmp_path: Path) -> None:
    root = laid_out(tmp_path / "work", {"mixed.py": "one\r\ntwo\nthree\r\nfour\n"})
    agent = Agent(DiskWorkspace([root]), tmp_path / "spill")
    await agent.call("read_file", path="mixed.py")
    await agent.call("edit_file", path="mixed.py", edits=[{"old": "three", "new": "3"}])
    assert (root / "mixed.py").read_bytes() == b"one\r\ntwo\n3\r\nfour\n"
