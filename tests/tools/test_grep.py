from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from indwell.errors import ToolError
from indwell.tools.base import Outcome
from indwell.tools.searching.patterns import LINE_CHARS
from indwell.tools.searching.ripgrep import Hits
from indwell.workspace.disk import DiskWorkspace
from support.memory_workspace import MemoryWorkspace
from support.platforms import posix_only
from tools.calling import Agent
from tools.programs import programs, seen_running

BINARY = "a binary file matches too, or was searched only up to its first NUL byte"


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


@pytest.fixture
def agent(root: Path, tmp_path: Path) -> Agent:
    return Agent(DiskWorkspace([root]), tmp_path / "spill")


async def found(agent: Agent, pattern: str, **options: object) -> list[str]:
    return (await agent.call("grep", pattern=pattern, **options)).text.splitlines()


async def test_matches_are_listed_below_their_path(agent: Agent) -> None:
    assert await agent.call("grep", pattern="needle") == Outcome(
        text=(
            ".github/f.yml\n1: needle\na.py\n2: needle = 1\n"
            "src/b.py\n3: needle two\nsrc/c.ts\n1: needle"
        ),
        figure="4 matches",
    )


@pytest.mark.parametrize(
    ("options", "paths"),
    [
        ({"glob": "*.py"}, ["a.py", "src/b.py"]),
        ({"glob": "src/*.{py,ts}"}, ["src/b.py", "src/c.ts"]),
        ({"glob": "**/*.ts"}, ["src/c.ts"]),
        ({"glob": "!*.py"}, [".github/f.yml", "src/c.ts"]),
        ({"glob": "!**/src/**"}, [".github/f.yml", "a.py"]),
        ({"glob": "node_modules/*.py"}, ["node_modules/d.py"]),
        ({"path": "src", "glob": "src/*.ts"}, ["src/c.ts"]),
        ({"path": "src", "glob": "./*.ts"}, ["src/c.ts"]),
        ({"path": "src/c.ts", "glob": "*.ts"}, ["src/c.ts"]),
        ({"path": "src/c.ts", "glob": "*.py"}, []),
        ({"path": "src"}, ["src/b.py", "src/c.ts"]),
        ({"path": "src/c.ts"}, ["src/c.ts"]),
        ({"path": "node_modules"}, ["node_modules/d.py"]),
        ({"path": "src/dist/e.py"}, ["src/dist/e.py"]),
    ],
)
async def test_a_search_can_be_limited_to_paths_and_globs(
    agent: Agent, options: dict[str, str], paths: list[str]
) -> None:
    lines = await found(agent, "needle", **options)
    assert [line for line in lines if ":" not in line and "nothing" not in line] == paths


async def test_case_is_ignored_on_request(agent: Agent) -> None:
    assert await found(agent, "NEEDLE", path="src/b.py", ignore_case=True) == [
        "src/b.py",
        "2: Needle",
        "3: needle two",
    ]


async def test_a_glob_does_not_include_ignored_files(agent: Agent, root: Path) -> None:
    (root / ".gitignore").write_bytes(b"a.py\nb.py\n")
    for glob in ("*.py", "src/*.py", "**/*.py"):
        assert await found(agent, "needle", glob=glob) == [
            f"nothing in '.', in files {glob!r}, matches 'needle' (ignored files aside)"
        ]


@pytest.mark.parametrize("pattern", ["-needle", "--files", "-e", "--pre=id"])
async def test_a_pattern_is_never_parsed_as_an_option(
    agent: Agent, root: Path, pattern: str
) -> None:
    (root / "a.py").write_bytes(f"x {pattern} y\n".encode())
    assert await found(agent, pattern) == ["a.py", f"1: x {pattern} y"]


async def test_a_folder_is_never_parsed_as_an_option(agent: Agent, root: Path) -> None:
    (root / "--files").mkdir()
    (root / "--files" / "x").write_bytes(b"needle\n")
    assert await found(agent, "needle", path="--files") == ["--files/x", "1: needle"]


async def test_an_invalid_regular_expression_is_reported(agent: Agent) -> None:
    with pytest.raises(ToolError, match=r"(?s)'\(' is not a regular expression .*unclosed group"):
        await found(agent, "(")
    with pytest.raises(ToolError, match=r"not a regular expression .*not allowed in a regex"):
        await found(agent, "a\\nb")
    with pytest.raises(ToolError, match="'' is not a pattern"):
        await found(agent, "")


async def test_a_missing_folder_is_reported(agent: Agent) -> None:
    with pytest.raises(ToolError, match="'gone' does not exist"):
        await found(agent, "x", path="gone")


async def test_a_search_stops_at_200_matches_with_a_note(agent: Agent, root: Path) -> None:
    (root / "a.py").write_bytes(("many\n" * 1_000).encode())
    lines = await found(agent, "many")
    assert (len(lines), lines[-2:]) == (
        202,
        ["200: many", "[stopped at 200 matches, there are more; narrow the pattern, path or glob]"],
    )


async def test_a_long_line_is_cut(agent: Agent, root: Path) -> None:
    (root / "a.py").write_bytes(("needle" + "é" * 100_000 + "\n").encode())
    assert await found(agent, "needle", path="a.py") == ["a.py", f"1: needle{'é' * 294}…"]


@pytest.mark.parametrize("indent", [150, 1_000, 3_000])
async def test_the_part_of_a_long_line_around_its_first_match_is_shown(
    agent: Agent, root: Path, indent: int
) -> None:
    for line in ("é" * (indent // 2) + "needle" + "x" * 5_000, " " * indent + "needle"):
        (root / "a.py").write_bytes(f"{line}\n".encode())
        _, shown = await found(agent, "needle", path="a.py", context=1)
        assert "needle" in shown
        assert "\ufffd" not in shown
        assert len(shown) <= len("1: ") + LINE_CHARS + len("…")
        assert shown.startswith("1: …") == (indent > 200)


async def test_fs_11_grep_handles_one_huge_line_in_time(agent: Agent, root: Path) -> None:
    (root / "a.py").write_bytes(b"needle" + b"x" * 50_000_000)
    began = time.monotonic()
    lines = await found(agent, "needle", path="a.py")
    assert time.monotonic() - began < 60
    assert lines == ["a.py", f"1: needle{'x' * 294}…"]


async def test_fs_13_a_catastrophic_pattern_takes_little_time(agent: Agent, root: Path) -> None:
    began = time.monotonic()
    (root / "a.py").write_bytes(b"a" * 1_000_000 + b"b")
    assert len(await found(agent, "(a+)+$", path="a.py")) == 1
    (root / "a.py").write_bytes(b"a" * 1_000_000)
    assert len(await found(agent, "(a+)+$", path="a.py")) == 2
    assert time.monotonic() - began < 60


@posix_only("symlinks")
async def test_fs_03_links_are_not_followed(agent: Agent, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_bytes(b"needle\n")
    (root / "src" / "link").symlink_to(tmp_path / "outside")
    (root / "src" / "file").symlink_to(tmp_path / "outside" / "x")
    assert [line for line in await found(agent, "needle", path="src") if ":" not in line] == [
        "src/b.py",
        "src/c.ts",
    ]
    with pytest.raises(ToolError, match="outside the workspace"):
        await found(agent, "needle", path="src/link")


async def test_binary_files_are_skipped(agent: Agent, root: Path) -> None:
    (root / "src" / "bin").write_bytes(b"needle first\n" + b"x\n" * 100_000 + b"\0\nneedle\n")
    (root / "src" / "zip").write_bytes(b"\0needle\n")
    assert await found(agent, "needle", path="src") == [
        "src/b.py",
        "3: needle two",
        "src/bin",
        "1: needle first",
        "src/c.ts",
        "1: needle",
        f"[{BINARY}]",
    ]
    nothing = "nothing in 'src/zip' matches 'needle' (ignored files aside)"
    assert await found(agent, "needle", path="src/zip") == [nothing, f"[{BINARY}]"]


async def test_grep_reports_that_only_ascii_is_found_in_files_of_other_encodings(
    agent: Agent, root: Path
) -> None:
    (root / "old.txt").write_bytes("größe\n".encode("latin-1"))
    (said,) = await found(agent, "größe")
    assert said.endswith("; in files that are neither UTF-8 nor UTF-16 only ASCII is found")


@posix_only("names")
async def test_a_name_with_a_line_feed_is_shown_on_one_line(agent: Agent, root: Path) -> None:
    (root / "x\n9: forged").write_bytes(b"needle\n")
    assert await found(agent, "needle", glob="x*") == ["x\\n9: forged", "1: needle"]


async def test_a_spilled_result_can_be_searched(agent: Agent) -> None:
    path = await agent.context.spill("bash", "one\nneedle\n")
    assert await found(agent, "needle", path=str(path)) == [path.as_posix(), "2: needle"]


async def test_the_users_ripgrep_settings_are_ignored(
    agent: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rgrc").write_bytes(b"--invert-match\n")
    monkeypatch.setitem(os.environ, "RIPGREP_CONFIG_PATH", str(tmp_path / "rgrc"))
    assert await found(agent, "needle", path="src/c.ts") == ["src/c.ts", "1: needle"]


@posix_only("mkfifo")
async def test_a_pipe_is_not_searched(agent: Agent, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(ToolError, match="cannot be searched"):
        await agent.call("grep", pattern="x", path="pipe")


async def test_the_first_200_of_very_many_matches_are_shown_with_a_note(
    agent: Agent, root: Path
) -> None:
    for number in range(300):
        (root / "src" / f"{number:03}.txt").write_bytes(("many\n" * 10).encode())
    lines = await found(agent, "many")
    files = [line for line in lines if line.startswith("src")]
    assert (len(files), len(lines)) == (20, 221)
    assert files == sorted(files)
    assert lines[-1] == (
        "[stopped at 200 matches; there are more, also in other files; "
        "narrow the pattern, path or glob]"
    )
    (root / "src" / "000.txt").unlink()
    outcome = await agent.call("grep", pattern="many", glob="src/0[0-3]*.txt")
    assert outcome.figure == "390 matches"
    assert outcome.text.endswith(
        "[stopped at 200 of 390 matches in 39 files; narrow the pattern, path or glob]"
    )


async def test_lines_around_each_match_are_distinguished_from_matches(
    agent: Agent, root: Path
) -> None:
    (root / "a.py").write_bytes("".join(f"line {number}\n" for number in range(1, 13)).encode())
    assert await found(agent, "line (3|4|9)$", path="a.py", context=1) == [
        *("a.py", "2- line 2", "3: line 3", "4: line 4", "5- line 5"),
        *("8- line 8", "9: line 9", "10- line 10"),
    ]
    with pytest.raises(ToolError, match="context"):
        await found(agent, "x", context=6)


async def test_grep_can_return_only_files_or_counts(root: Path, tmp_path: Path) -> None:
    agent = Agent(MemoryWorkspace(unsaved={"a.py": "needle\n" * 3}, root=root), tmp_path / "spill")
    assert await agent.call("grep", pattern="needle", mode="files") == Outcome(
        text=".github/f.yml\na.py (not saved yet)\nsrc/b.py\nsrc/c.ts", figure="4 files"
    )
    assert await agent.call("grep", pattern="needle", mode="count", ignore_case=True) == Outcome(
        text=".github/f.yml: 1\na.py (not saved yet): 3\nsrc/b.py: 2\nsrc/c.ts: 1",
        figure="7 matches",
    )


async def test_an_invalid_regular_expression_is_searched_as_plain_text(
    agent: Agent, root: Path
) -> None:
    (root / "a.py").write_bytes(b"value = call(1)\n")
    assert await found(agent, "call(") == [
        "a.py",
        "1: value = call(1)",
        "[not a regular expression (unclosed group), so it was searched for as plain text]",
    ]


async def test_a_dollar_pattern_matches_before_a_carriage_return(agent: Agent, root: Path) -> None:
    assert await found(agent, "two$", path="src/b.py") == ["src/b.py", "3: needle two"]


async def test_without_a_path_every_root_is_searched(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "z.py").write_bytes(b"needle\n")
    agent = Agent(DiskWorkspace([root, other, root / "src"]), tmp_path / "spill")
    assert (await agent.call("grep", pattern="needle", glob="*.py")).text.splitlines() == [
        *(
            "a.py",
            "2: needle = 1",
            "src/b.py",
            "3: needle two",
            (other / "z.py").as_posix(),
            "1: needle",
        ),
    ]
    assert await found(agent, "nothing at all") == [
        "nothing in the workspace matches 'nothing at all' (ignored files aside)"
    ]


@posix_only("names")
async def test_fs_14_file_names_and_text_cannot_forge_other_grep_lines(
    agent: Agent, root: Path
) -> None:
    (root / "7: forged").write_bytes(b"needle\n")
    (root / "[stopped at 200 matches").write_bytes(b"needle\n")
    (root / "red\x1b[31m\u202e").write_bytes(b"needle\n")
    (root / "x").write_bytes("needle\rsrc/c.ts\r8: x\x0b\u2028y\x1b[2K\tz\n".encode())
    assert await found(agent, "needle", glob="[7[rx]*") == [
        *("./7: forged", "1: needle", "./[stopped at 200 matches", "1: needle"),
        *("red\\x1b[31m\\u202e", "1: needle"),
        *("x", "1: needle\\rsrc/c.ts\\r8: x\\x0b\\u2028y\\x1b[2K\tz"),
    ]


@posix_only("names")
async def test_fs_14_a_file_name_with_ripgrep_messages_stays_a_name(
    agent: Agent, root: Path
) -> None:
    name = 'a\nbinary file matches (found "x")\nsrc'
    (root / name).mkdir()
    (root / name / "b.py").write_bytes(b"needle forged\n")
    lines = await found(agent, "forged")
    assert lines == ['a\\nbinary file matches (found "x")\\nsrc/b.py', "1: needle forged"]


def test_a_file_name_with_ripgrep_messages_does_not_reveal_a_denied_file() -> None:
    warning = './b: WARNING: stopped searching binary file after match (found "\\0" byte)\n'
    stolen = f"{warning}./secrets/key"  # there is also a folder with the name "b: … byte)\n."
    hits = Hits(
        "lines",
        limit=9,
        wanted=lambda name: not name.startswith("secrets/"),
        is_file=lambda name: name == stolen,
    )
    hits.take(f"./b\0001:1:x\n{stolen}\0001:1:secret\n{warning}./c\0001:1:y\n".encode())
    assert hits.lines == {"b": [(1, b"x", True)], "c": [(1, b"y", True)]}


@posix_only("kernel")
async def test_a_cancelled_search_ends_ripgrep_at_once(agent: Agent, root: Path) -> None:
    (root / "large").write_bytes(b"\n".join([b"abcdefghij" * 8] * 500_000))
    search = {"pattern": "[a-j]{40}[0-9]", "path": "large"}
    call = await seen_running(root, lambda: agent.call("grep", **search))
    call.cancel()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - began < 60
    assert programs(root) == []
