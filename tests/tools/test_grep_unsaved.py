from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from indwell.tools.base import Outcome
from indwell.tools.searching.grep import join, with_context
from support.editing import USAGE, Home, editing, results
from support.loopback_endpoint import LoopbackEndpoint, say
from support.memory_workspace import MemoryWorkspace
from tools.calling import Agent


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    files = {
        "a.py": "import os\nneedle = 1\n",
        "src/b.py": "x\r\nNeedle\r\nneedle two\r\n",
        "src/c.ts": "needle\n",
        "node_modules/d.py": "needle\n",
        "src/dist/e.py": "needle\n",
        ".github/f.yml": "needle\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


async def found(agent: Agent, pattern: str, **options: object) -> list[str]:
    return (await agent.call("grep", pattern=pattern, **options)).text.splitlines()


async def test_edt_09_unsaved_buffers_are_searched_instead_of_their_files(
    root: Path, tmp_path: Path
) -> None:
    unsaved = {
        "a.py": "new\nneedle unsaved\n",
        "src/b.py": "nothing any more\n",
        "src/untitled.py": "needle\n",
        "node_modules/g.py": "needle\n",
    }
    agent = Agent(MemoryWorkspace(unsaved=unsaved, root=root), tmp_path / "spill")
    assert await found(agent, "needle", glob="*.py") == [
        "a.py (not saved yet)",
        "2: needle unsaved",
        "src/untitled.py (not saved yet)",
        "1: needle",
    ]
    assert await found(agent, "needle", path="src/c.ts") == ["src/c.ts", "1: needle"]


async def test_edt_09_searches_find_unsaved_text_of_the_editor(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    home.write("other.py", "total = 1\n")
    asked = [
        ("grep", json.dumps({"pattern": "total|sum"})),
        ("grep", json.dumps({"pattern": "total|typed", "mode": "count", "glob": "shop.*"})),
        ("glob", json.dumps({"pattern": "*.py"})),
    ]
    script = [*(say(calls=[one], usage=USAGE) for one in asked), say("Done.", usage=USAGE)]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        buffer = editor.open(home.shop)
        editor.type_text(buffer, 0, len("def total"), "# typed\ndef amount")
        new = editor.open(home.write("new.py", ""))
        (home.workspace / "new.py").unlink()
        editor.type_text(new, 0, 0, "total = 2\n")
        finished = await editor.ask("look")
        assert (finished.ending, finished.answer) == ("done", "Done.")
        grep, count, glob = results(endpoint.seen[-1])
    assert grep.splitlines() == [
        *("new.py (not saved yet)", "1: total = 2", "other.py", "1: total = 1"),
        *("shop.py (not saved yet)", "3:     return sum(items) + 1"),
    ]
    assert count == "shop.py (not saved yet): 1"
    assert glob.splitlines() == ["new.py (not saved yet)", "other.py", "shop.py"]


async def test_unsaved_buffers_are_searched_with_context_and_crlf(
    root: Path, tmp_path: Path
) -> None:
    unsaved = {
        "a.py": "\ufeffone\r\nneedle\r\nthree",
        "b.py": "needle",
        "empty.py": "",
        "z.py": "x\0y\nneedle\n",
    }
    agent = Agent(MemoryWorkspace(unsaved=unsaved, root=root), tmp_path / "spill")
    assert await found(agent, "^needle$", glob="*.py", path=".", context=1) == [
        *("a.py (not saved yet)", "1- one", "2: needle", "3- three"),
        *("b.py (not saved yet)", "1: needle"),
        *("z.py (not saved yet)", "1- x\\x00y", "2: needle"),
    ]
    assert await found(agent, "^one", path="a.py") == ["a.py (not saved yet)", "1: one"]


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_context_lines_of_a_match_in_a_large_buffer_are_correct(end: str) -> None:
    lines = [f"line {number}" for number in range(1, 60_001)]  # several chunks hold them
    matches = [(number, b"it", True) for number in (1, 23_830, 40_000, 60_000)]
    n_lines = len(lines) + (end == "\n\n")
    around = with_context("\n".join(lines) + end, matches, 2)
    wanted = {one + by for one, _, _ in matches for by in range(-2, 3)}
    assert [number for number, _, _ in around] == sorted(wanted & {*range(1, n_lines + 1)})
    for number, data, is_match in around:
        text = lines[number - 1] if number <= len(lines) else ""
        assert data == (b"it" if is_match else text.encode())


async def test_a_thousand_unsaved_buffers_are_searched(root: Path, tmp_path: Path) -> None:
    unsaved = {f"src/{number:04}.txt": f"{number}\nword {number}\n" for number in range(1_000)}
    agent = Agent(MemoryWorkspace(unsaved=unsaved, root=root), tmp_path / "spill")
    assert await found(agent, "word 77\\d$") == [
        line
        for number in range(770, 780)
        for line in (f"src/{number:04}.txt (not saved yet)", f"2: word {number}")
    ]


def test_buffers_that_are_too_large_for_a_search_are_named() -> None:
    joined = join({"a": "one\ntwo", "b": "x" * 50, "c": "", "d": "four\n"}, room=20)
    assert (joined.names, joined.left_out, joined.data) == (
        ("a", "d"),
        ("b",),
        b"one\ntwo\nfour\n",
    )
    assert [joined.place_of(line) for line in (1, 2, 3)] == [("a", 1), ("a", 2), ("d", 1)]


async def test_a_denied_file_is_found_neither_on_disk_nor_in_a_buffer(
    root: Path, tmp_path: Path
) -> None:
    for name in (".env", "0.env", "1.env", "2.env"):  # more buffers than fit into the limit
        (root / name).write_bytes(("needle\n" * 2_000).encode())
    agent = Agent(MemoryWorkspace(unsaved={"x.env": "needle\n"}, root=root), tmp_path / "spill")
    agent.context = msgspec.structs.replace(agent.context, hidden=lambda path: ".env" in path)
    assert await agent.call("grep", pattern="needle", mode="files") == Outcome(
        text=".github/f.yml\na.py\nsrc/b.py\nsrc/c.ts", figure="4 files"
    )
    assert ".env" not in (await agent.call("grep", pattern="needle")).text
