"""Searches hostile trees: very many files, a loop of links, a closed folder (FS-12).

    python tests/faults/search_faults.py [FILES]

Started by root, the script continues as ``nobody``, since root may read every folder. The tests run
a short form.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from indwell.tools.base import Outcome, ToolContext
from indwell.tools.commands.bash import Shell
from indwell.tools.known_texts import KnownTexts
from indwell.tools.searching.glob import MAX_LOOKED_AT
from indwell.wiring.features import standard_tools
from indwell.workspace.disk import DiskWorkspace

NOBODY = 65_534
FILES = 200_000
IN_FOLDER = 1_000
PARTIAL = f"[stopped after {MAX_LOOKED_AT:,} files, so newer ones may be missing]"
CLOSED = "[some folders could not be read, so files may be missing]"


def make_tree(folder: Path, n_files: int) -> None:
    """Make empty files, links in a circle and to outside, and a folder that only root can read."""
    for first in range(0, n_files, IN_FOLDER):
        inner = folder / f"d{first // 20_000}" / f"e{first}"
        inner.mkdir(parents=True)
        for number in range(first, min(first + IN_FOLDER, n_files)):
            os.close(os.open(inner / f"f{number}.txt", os.O_WRONLY | os.O_CREAT, 0o644))
    (folder / "loop").mkdir()
    (folder / "loop" / "again").symlink_to(folder)
    (folder / "loop" / "self").symlink_to("self")
    (folder / "closed").mkdir()
    (folder / "closed" / "needle.txt").write_text("needle\n")
    (folder / "open.txt").write_text("needle\n")
    (folder / "closed").chmod(0)


def become_nobody() -> None:
    """Change to the user nobody permanently."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


async def search(folder: Path) -> dict[str, object]:
    """Return the results of the searches, their durations, and the time to cancel a search."""
    tools = standard_tools(Shell(folder))

    async def nowhere(_label: str, _text: str) -> Path:
        raise AssertionError

    context = ToolContext(
        workspace=DiskWorkspace([folder]),
        seen=KnownTexts(),
        spill=nowhere,
        on_output=lambda _: None,
    )

    async def call(tool: str, **arguments: object) -> tuple[Outcome, float]:
        began = time.monotonic()
        outcome = await tools.bind(tool, json.dumps(arguments)).run(context)
        return outcome, time.monotonic() - began

    listed, listed_s = await call("glob", pattern="**/*")
    few, few_s = await call("glob", pattern="open.*")
    found, found_s = await call("grep", pattern="needle")
    going = asyncio.create_task(call("glob", pattern="**/*"))
    await asyncio.sleep(0.004)  # every search takes longer than this
    began = time.monotonic()
    going.cancel()
    await asyncio.wait({going})
    return {
        "listed": listed.text.splitlines(),
        "figure": listed.figure,
        "listed_s": listed_s,
        "few": few.text.splitlines(),
        "few_s": few_s,
        "found": found.text.splitlines(),
        "found_s": found_s,
        "cancelled": going.cancelled(),
        "cancelled_s": time.monotonic() - began,
    }


def main() -> None:
    """Create the tree, search it as a user who may not read everything, and check."""
    n_files = int(sys.argv[1]) if len(sys.argv) > 1 else FILES
    folder = Path(tempfile.mkdtemp(prefix="indwell-search-")).resolve()
    try:
        folder.chmod(0o755)
        make_tree(folder, n_files)
        if (child := os.fork()) == 0:
            as_nobody(folder, n_files)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    finally:
        (folder / "closed").chmod(0o700)
        shutil.rmtree(folder)
    sys.exit(ended)


def as_nobody(folder: Path, n_files: int) -> NoReturn:
    """Search and end this process."""
    try:
        # The modules are imported now, since the user nobody cannot import them.
        asyncio.run(search(folder / "loop"))
        become_nobody()
        said = asyncio.run(search(folder))
        print(json.dumps({name: said[name] for name in said if name != "listed"}, indent=1))
        check(said, n_files)
        sys.stdout.flush()
        os._exit(0)
    finally:  # also after an error, whose trace Python has printed
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type] # there is one
        os._exit(1)


def check(said: dict[str, object], n_files: int) -> None:
    """Check limits of count and time, loops, cancelling, and the note about partial results."""
    listed, few, found = said["listed"], said["few"], said["found"]
    assert isinstance(listed, list)
    assert isinstance(few, list)
    assert isinstance(found, list)
    if n_files > MAX_LOOKED_AT:
        assert listed[-1] == PARTIAL, listed[-2:]
        assert said["figure"] == f"{MAX_LOOKED_AT:,} files", said["figure"]
    else:
        assert listed[-1] == CLOSED, listed[-2:]
        assert said["figure"] == f"{n_files + 1:,} files"
    assert not any("again" in line or "needle" in line for line in listed)
    assert few == ["open.txt", CLOSED], few
    assert found == ["open.txt", "1: needle", "[some files could not be read]"], found
    assert said["cancelled"]
    for name, limit_s in (("listed_s", 10.0), ("found_s", 10.0), ("cancelled_s", 0.5)):
        took = said[name]
        assert isinstance(took, float)
        assert took < limit_s, (name, took)


if __name__ == "__main__":
    main()
