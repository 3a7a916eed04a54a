"""``indwell.rewind`` with files: changes of turns are reverted, later changes of the user stay."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from indwell.lsp.editor.client import SURE
from support.editing import EDIT, READ, SOURCE, USAGE, Home, bash, editing
from support.fake_editor.clients import NEOVIM_11
from support.loopback_endpoint import LoopbackEndpoint, say
from support.strict_chat import strictly

GIT = {"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\tbare = false\n", "index": "DIRC"}


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


def once(_message: str, titles: Sequence[str]) -> str:
    """Say yes to a command, and give the first answer to any other question."""
    return next((one for one in ("Once", SURE) if one in titles), titles[0])


def digest_of(folder: Path) -> str:
    """Return a digest of all names, bytes and times in a folder."""
    hashed = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        stat = path.stat()
        hashed.update(repr((str(path), stat.st_mtime_ns, stat.st_mode)).encode())
        hashed.update(path.read_bytes() if path.is_file() else b"")
    return hashed.hexdigest()


async def test_edt_20_a_rewind_asks_before_the_users_edits_are_lost(home) -> None:
    """EDT-20: untracked and ignored files are restored, and git's data stays unchanged."""
    for name, text in GIT.items():
        home.write(f".git/{name}", text)
    home.write(".gitignore", "*.log\n")
    home.write("run.log", "ignored\n")
    home.write("notes.txt", "untracked\n")
    home.write("own.txt", "the user's\n")
    (home.workspace / "data.bin").write_bytes(b"\0\1\2")
    before = home.files
    command = "echo more >> run.log; rm notes.txt; printf '\\0\\7' > data.bin; echo new > made.txt"
    script = [
        say("I look.", calls=[READ], usage=USAGE),
        say(calls=[EDIT], usage=USAGE),
        say("Mended.", usage=USAGE),
        bash(command),
        say("Ran.", usage=USAGE),
    ]
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url) as editor,
    ):
        editor.answers.choose = once
        await editor.ask("mend it")
        await editor.ask("run it")
        assert (home.workspace / "made.txt").read_bytes() == b"new\n"
        assert not (home.workspace / "notes.txt").exists()
        buffer = editor.open(home.shop)
        end = len(buffer.text)
        editor.type_text(buffer, end, end, "# mine\n")
        # The user rewrites the line that the agent changed.
        at = buffer.text.index("sum(items)")
        editor.type_text(buffer, at, at + len("sum(items)"), "sum(items) + 2")
        home.write("own.txt", "the user's, later\n")
        git = digest_of(home.workspace / ".git")
        asked: list[str] = []

        def choose(message: str, titles: list[str]) -> str:
            asked.append(f"{message} {titles}")
            return titles[0]

        editor.answers.choose = choose
        back = await editor.execute("indwell.rewind", {"turn": 0, "files": True})
        assert back is not None, editor.messages
        assert len(asked) == 1
        assert "shop.py" in asked[0]
        assert "['Keep mine', 'Restore']" in asked[0]
        assert "# mine" in buffer.text
        assert "sum(items) + 2" in buffer.text
        await editor.heard()
        assert git == digest_of(home.workspace / ".git")
        expected = {**before, "own.txt": b"the user's, later\n", "shop.py": home.files["shop.py"]}
        assert home.files == expected
        editor.answers.choose = lambda _message, titles: titles[1]
        again = await editor.execute("indwell.rewind", {"turn": 0, "files": True})
        assert again is not None, editor.messages
        assert buffer.text == f"{SOURCE}# mine\n"
        assert git == digest_of(home.workspace / ".git")


@pytest.mark.parametrize("typed", ["", "# mine\n"])
async def test_files_reverted_by_a_rewind_are_saved_but_typed_text_stays_unsaved(
    home, typed
) -> None:
    script = [
        say("I look.", calls=[READ], usage=USAGE),
        say(calls=[EDIT], usage=USAGE),
        say("Mended.", usage=USAGE),
    ]
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, extensions=("events", "save")) as editor,
    ):
        buffer = editor.open(home.shop)
        await editor.ask("mend it")
        editor.save(buffer)
        changed = home.shop.read_text(encoding="utf-8")
        assert changed != SOURCE
        if typed:
            editor.type_text(buffer, 0, 0, typed)
        await editor.heard()
        await editor.execute("indwell.rewind", {"turn": 0, "files": True})
        assert buffer.text == typed + SOURCE
        assert home.shop.read_text(encoding="utf-8") == (changed if typed else SOURCE)


async def test_a_plain_editor_is_asked_about_files_with_no_as_first_answer(home) -> None:
    script = [bash("echo new > made.txt"), say("Done.", usage=USAGE)]
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, profile=NEOVIM_11) as editor,
    ):
        editor.answers.choose = once
        await editor.ask("make it")
        asked: list[str] = []

        def choose(message: str, titles: list[str]) -> str:
            asked.append(f"{message} {titles}")
            return titles[0]

        editor.answers.choose = choose
        await editor.execute("indwell.rewind", {"turn": 0})
        assert asked == [
            "Indwell: Restore the files too? (1 file: made.txt) ['No', 'Restore them']"
        ]
        assert (home.workspace / "made.txt").exists()
        editor.answers.choose = lambda _message, titles: SURE if SURE in titles else titles[1]
        await editor.execute("indwell.rewind", {"turn": 0})
        assert not (home.workspace / "made.txt").exists()
        assert "restored 1 file: made.txt" in editor.messages[-1]
    kept = list(home.state.rglob("made.txt-*.old"))
    assert [path.read_bytes() for path in kept] == [b"new\n"]


async def test_text_saved_by_the_user_during_a_command_is_not_rewound(home) -> None:
    home.write("mine.py", "a = 1\n")
    script = [
        bash("echo started; while ! test -e go; do sleep 0.02; done; rm go; echo x > theirs.txt"),
        say("Done.", usage=USAGE),
    ]
    async with (
        LoopbackEndpoint(strictly(script)) as endpoint,
        editing(home, endpoint.base_url, extensions=("events",)) as editor,
    ):
        buffer = editor.open(home.workspace / "mine.py")
        editor.answers.choose = once
        asking = asyncio.create_task(editor.ask("go"))
        await editor.wait_for_event("toolOutput")
        editor.type_text(buffer, 0, 0, "# typed\n")
        editor.save(buffer)
        await editor.heard()
        (home.workspace / "go").touch()
        await asking
        await editor.execute("indwell.rewind", {"turn": 0, "files": True})
    assert home.files["mine.py"] == b"# typed\na = 1\n"
    assert "theirs.txt" not in home.files


async def test_a_rewind_without_recorded_changes_keeps_the_files_and_reports_that(
    home,
) -> None:
    script = [
        say("I look.", calls=[READ], usage=USAGE),
        say(calls=[EDIT], usage=USAGE),
        say("Mended.", usage=USAGE),
    ]
    async with LoopbackEndpoint(strictly(script)) as endpoint:
        async with editing(home, endpoint.base_url) as editor:
            await editor.ask("mend it")
        (log,) = home.state.glob("sessions/*/*/log.jsonl")
        mended = home.shop.read_text(encoding="utf-8")
        assert mended != SOURCE
        shutil.rmtree(log.parents[1] / "_review")
        async with editing(home, endpoint.base_url) as editor:
            back = await editor.execute(
                "indwell.rewind", {"session": log.parent.name, "turn": 0, "files": True}
            )
            assert back is not None, editor.messages
            told = [one for one in back["notices"] if "no record" in one]
    (words,) = told
    assert words.startswith("1 file stays as now: shop.py. Indwell has no record of ")
    assert home.shop.read_text(encoding="utf-8") == mended
