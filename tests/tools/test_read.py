from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.tools.base import Outcome
from indwell.workspace.disk import DiskWorkspace
from support.memory_workspace import MemoryWorkspace
from support.platforms import posix_only
from tools.calling import Agent


def over(tmp_path: Path, files: dict[str, str], **options: dict[str, str]) -> Agent:
    return Agent(MemoryWorkspace(files, **options), tmp_path / "spill")


async def test_lines_are_numbered_and_only_real_line_ends_count(tmp_path: Path) -> None:
    agent = over(tmp_path, {"a": "one\r\ntwo\rthree\x0cstill\n\nfive"})
    assert await agent.call("read_file", path="a") == Outcome(
        text="1\tone\n2\ttwo\n3\tthree\x0cstill\n4\t\n5\tfive", figure="5 lines"
    )


async def test_a_partial_read_says_how_to_read_on(tmp_path: Path) -> None:
    agent = over(tmp_path, {"a": "".join(f"l{i}\n" for i in range(1, 11))})
    assert (await agent.call("read_file", path="a", offset=4, limit=2)).text == (
        "4\tl4\n5\tl5\n[lines 4 to 5 of 10; go on with offset=6]"
    )


async def test_one_read_returns_at_most_2_000_lines(tmp_path: Path) -> None:
    agent = over(tmp_path, {"a": "x\n" * 2_001})
    outcome = await agent.call("read_file", path="a", limit=10_000)
    assert outcome.text.endswith("\n2000\tx\n[lines 1 to 2000 of 2,001; go on with offset=2001]")


async def test_read_file_cuts_a_long_line_with_a_note(tmp_path: Path) -> None:
    agent = over(tmp_path, {"a": "x" * 2_500})
    assert (await agent.call("read_file", path="a")).text == (
        f"1\t{'x' * 2_000}[… 500 more characters]"
    )


async def test_one_read_file_result_has_a_size_limit(tmp_path: Path) -> None:
    agent = over(tmp_path, {"a": ("x" * 1_999 + "\n") * 1_000})
    text = (await agent.call("read_file", path="a")).text
    assert len(text) < 256_100
    assert text.endswith("[lines 1 to 127 of 1,000; go on with offset=128]")


async def test_an_empty_file_is_reported(tmp_path: Path) -> None:
    outcome = await over(tmp_path, {"a": ""}).call("read_file", path="a")
    assert outcome == Outcome(text="'a' is empty", figure="empty")


@pytest.mark.parametrize(("offset", "limit", "text"), [
    (60, 20, "the file has 30 lines, and line 60 is past its end: these are the last ones"),
    (25, 20, "the file has 30 lines, so line 44 is past its end"),
])  # fmt: skip
async def test_a_range_past_the_end_is_clamped_and_reported(tmp_path, offset, limit, text) -> None:
    agent = over(tmp_path, {"a": "".join(f"{number}\n" for number in range(1, 31))})
    shown = (await agent.call("read_file", path="a", offset=offset, limit=limit)).text
    first = 11 if offset == 60 else 25
    lines = [f"{number}\t{number}" for number in range(first, 31)]
    assert shown == "\n".join([*lines, f"[{text}]"])


async def test_an_offset_past_the_end_of_a_short_file_shows_the_whole_file(tmp_path: Path) -> None:
    shown = (await over(tmp_path, {"a": "x\n"}).call("read_file", path="a", offset=2)).text
    assert shown == (
        "1\tx\n[the file has 1 line, and line 2 is past its end: these are the last ones]"
    )


async def test_the_editors_unsaved_text_is_read_and_named(tmp_path: Path) -> None:
    agent = over(tmp_path, {"a": "disk"}, unsaved={"a": "buffer"})
    assert (await agent.call("read_file", path="a")).text == (
        "1\tbuffer\n[this is the editor's text, which is not saved yet]"
    )


async def test_undecodable_bytes_are_shown_as_escapes_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("caf\u00e9\n".encode() + b"\xe9 \\xe9\n")
    agent = Agent(DiskWorkspace([tmp_path]), tmp_path / "spill")
    assert (await agent.call("read_file", path="a")).text == (
        "1\tcaf\u00e9\n2\t\\xe9 \\xe9\n[1 byte that is no utf-8 is shown as \\xNN; leave it out of "
        "edits, and it stays]"
    )


async def test_a_file_that_cannot_be_written_back_is_read_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\xfea\0\n")
    agent = Agent(DiskWorkspace([tmp_path]), tmp_path / "spill")
    assert (await agent.call("read_file", path="a")).text == (
        "1\ta\\x0a\n[it is not valid utf-16-le throughout: undecodable bytes are shown as "
        "\\xNN]\n[edit_file cannot edit this file]"
    )


async def test_a_large_file_is_read_in_pages(tmp_path: Path) -> None:
    line = b"%07d some words\r\n"
    (tmp_path / "a").write_bytes(b"".join(line % number for number in range(500_000)))
    agent = Agent(DiskWorkspace([tmp_path]), tmp_path / "spill")
    first = (await agent.call("read_file", path="a")).text
    assert first.startswith("1\t0000000 some words\n2\t0000001 some words\n")
    assert first.endswith(
        "\n2000\t0001999 some words\n[lines 1 to 2000 of 500,000; go on with offset=2001]\n"
        "[a file of 10,000,000 bytes]"
    )
    assert (await agent.call("read_file", path="a", offset=499_999)).text == (
        "499999\t0499998 some words\n500000\t0499999 some words\n[a file of 10,000,000 bytes]"
    )
    past = (await agent.call("read_file", path="a", offset=500_001, limit=2)).text
    assert past.startswith("499999\t0499998 some words\n500000\t0499999 some words\n[the file has")


async def test_a_large_spilled_text_can_be_read_in_pages(tmp_path: Path) -> None:
    agent = over(tmp_path, {})
    path = await agent.context.spill("bash", "some words\n" * 800_000)
    told = (await agent.call("read_file", path=str(path), offset=800_000)).text
    assert told == "800000\tsome words\n[a file of 8,800,000 bytes]"


@posix_only("slow")
async def test_reading_a_long_file_does_not_block_the_event_loop(tmp_path: Path) -> None:
    text = "".join(f"def function_{i}(x): return x\n" for i in range(100_000))
    agent = over(tmp_path, {"a": text})
    loop = asyncio.get_running_loop()
    reading = asyncio.create_task(agent.call("read_file", path="a", offset=98_001))
    delays = []
    while not reading.done():
        before = loop.time()
        await asyncio.sleep(0)
        delays.append(loop.time() - before)
    assert (await reading).text.startswith("98001\tdef function_98000(x)")
    # Each delay is that of one turn of the loop; a busy machine may delay a few turns.
    assert sorted(delays)[-len(delays) // 20 - 1] < 0.01


async def test_a_spilled_result_can_be_read_and_other_outside_files_cannot(tmp_path: Path) -> None:
    agent = over(tmp_path, {})
    path = await agent.context.spill("bash", "kept\n")
    assert (await agent.call("read_file", path=str(path))).text == "1\tkept"
    (tmp_path / "secret").write_bytes(b"secret")
    for outside in (tmp_path / "secret", path.parent / ".." / "secret"):
        with pytest.raises(ToolError, match="outside the workspace"):
            await agent.call("read_file", path=str(outside))


async def test_line_zero_means_the_first_line(tmp_path) -> None:
    shown = await over(tmp_path, {"a": "x\ny\n"}).call("read_file", path="a", offset=0, limit=1)
    assert shown.text == "1\tx\n[lines 1 to 1 of 2; go on with offset=2]"


@pytest.mark.parametrize("arguments", [{"offset": -1}, {"limit": 0}, {"lines": 3}, {"offset": "x"}])
async def test_invalid_arguments_are_reported_with_the_schema(
    tmp_path: Path, arguments: dict[str, object]
) -> None:
    with pytest.raises(
        ToolError, match="bad arguments for read_file: .*it takes .path: string, offset.: integer"
    ):
        await over(tmp_path, {"a": "x"}).call("read_file", path="a", **arguments)


@pytest.mark.parametrize(("tool", "more"), [
    ("read_file", {}), ("edit_file", {"edits": [{"old": "a", "new": "b"}]}),
    ("grep", {"pattern": "x"}), ("glob", {"pattern": "*"}),
])  # fmt: skip
async def test_an_error_about_a_missing_path_names_similar_existing_paths(
    tmp_path, tool, more
) -> None:
    for name in ("src/shop/Invoice.py", "src/cart.py", "node_modules/x/invoice.py"):
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a\n")
    agent = Agent(DiskWorkspace([tmp_path / "work"]), tmp_path / "spill")
    with pytest.raises(ToolError) as elsewhere:
        await agent.call(tool, path="shop/invoice.py", **more)
    assert str(elsewhere.value) == (
        "'shop/invoice.py' does not exist; close to it: src/shop/Invoice.py"
    )
    with pytest.raises(ToolError, match=r"'src/crat.py' does not exist; close to it: cart.py"):
        await agent.call(tool, path="src/crat.py", **more)
