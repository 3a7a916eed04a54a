"""Trust from a terminal, and the answer that applies to a folder."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from types import FrameType

import pytest

from indwell.bounds.command_bounds import strength
from indwell.bounds.folder_trust import FolderTrust
from indwell.errors import SettingsError
from indwell.service.user_settings import UNTRUSTED, read_settings
from indwell.settings.model import Settings
from indwell.workspace.executable_files import MOST_FILES
from support.editing import EDIT, MENDED, READ, SOURCE, Home, results
from support.loopback_endpoint import LoopbackEndpoint, say
from support.terminal import Ended, indwell
from support.terminal_screen import Terminal

RESTRICTED = "not allowed: the user has not trusted this folder"


@pytest.fixture
def home(tmp_path) -> Home:
    made = Home(tmp_path)
    made.trusted = ()
    return made


async def call(home: Home, *arguments: str, base_url: str = "") -> Ended:
    return await indwell(*arguments, environment=home.environment(base_url), folder=home.workspace)


async def mend(home: Home, *arguments: str) -> tuple[Ended, str]:
    """Run a turn that wants to edit; return the last result for the model, and all it received."""
    script = [say(calls=[READ]), say(calls=[EDIT]), say("Well.")]
    async with LoopbackEndpoint(script) as endpoint:
        ended = await call(home, "run", "mend it", *arguments, base_url=endpoint.base_url)
        return ended, results(endpoint.seen[-1])[-1]


def looked(home: Home, *folders: Path, trusted: tuple[str, ...] = ()) -> list[str]:
    found = FolderTrust(home.environment()).look(folders, Settings(trusted=trusted))
    return [one.state for one in found]


def say_of(home: Home, folder: Path, *, trusted: bool) -> None:
    trust = FolderTrust(home.environment())
    (standing,) = trust.look((folder,), Settings())
    trust.answer(standing, trusted=trusted)


async def test_inj_08_without_a_terminal_a_folder_stays_restricted(home) -> None:
    home.write("AGENTS.md", "OBEY-ME\n")
    ended, result = await mend(home, "--json", "--allow-commands")
    assert result.startswith(RESTRICTED)
    assert (ended.code, home.shop.read_text(encoding="utf-8")) == (0, SOURCE)
    (told,) = [one["message"] for one in ended.events if "is restricted" in one.get("message", "")]
    assert "1 instruction file ignored (untrusted)" in told
    assert "run `indwell trust` in it" in told
    assert not (home.state / "trust").exists()  # the user has not answered


async def test_trust_from_the_command_line_applies_to_one_run(home) -> None:
    ended, _ = await mend(home, "--trust")
    assert (ended.code, home.shop.read_text(encoding="utf-8")) == (0, MENDED)
    home.shop.write_bytes(SOURCE.encode())
    _, result = await mend(home)
    assert result.startswith(RESTRICTED)


async def test_a_folder_can_be_trusted_listed_and_revoked(home) -> None:
    home.write(".mcp.json", "{}\n")
    home.write("web/AGENTS.md", "Use tabs.\n")
    asked = await call(home, "trust")
    assert (asked.code, "  web/AGENTS.md\n" in asked.stdout) == (2, True)
    assert "add --yes" in asked.stderr
    assert ".mcp.json" in asked.stdout
    done = await call(home, "trust", "--yes")
    assert done.code == 0
    assert done.stdout.startswith(f"trusted: {home.workspace} (your answer of ")
    listed = json.loads((await call(home, "trust", "--list", "--json")).stdout)
    assert [(one["folder"], one["state"], one["files"]) for one in listed] == [
        (str(home.workspace), "trusted", [".mcp.json", "web/AGENTS.md"])
    ]
    ended, _ = await mend(home)
    assert (ended.code, home.shop.read_text(encoding="utf-8")) == (0, MENDED)
    home.shop.write_bytes(SOURCE.encode())
    assert (await call(home, "trust", "--revoke")).code == 0
    assert (await call(home, "trust", "--revoke")).code == 1
    _, result = await mend(home)
    assert result.startswith(RESTRICTED)


async def test_tru_05_the_terminal_reports_files_changed_after_the_folder_was_trusted(home) -> None:
    home.write(".mcp.json", "{}\n")
    await call(home, "trust", "--yes")
    home.write(".mcp.json", '{"evil": 1}\n')
    told = json.loads((await call(home, "trust", "--json")).stdout)
    assert (told["state"], told["by"]) == ("open", "its files changed since you trusted it")
    _, result = await mend(home)
    assert result.startswith(RESTRICTED)


@pytest.mark.parametrize("mode", [0o600, 0o666])
async def test_tru_07_an_unreliable_trust_store_is_reported_and_unchanged(home, mode) -> None:
    await call(home, "trust", "--yes")
    path = home.state / "trust" / "answers.json"
    if mode == 0o600:
        path.write_bytes(b"{")
    path.chmod(mode)
    before = path.read_bytes()
    ended, result = await mend(home, "--json")
    assert ended.code == 0
    assert result.startswith(RESTRICTED)
    assert "cannot be used" in ended.stdout
    refused = await call(home, "trust", "--yes")
    assert refused.code == 1
    assert "fix it, or move it away" in refused.stderr
    assert path.read_bytes() == before


async def test_a_missing_folder_cannot_be_trusted(home) -> None:
    ended = await call(home, "trust", "nowhere")
    assert ended.code == 2
    assert "'nowhere' is not a folder" in ended.stderr


def test_tru_09_trust_applies_to_the_real_folder(home, tmp_path) -> None:
    other = tmp_path / "untrusted"
    other.mkdir()
    safe = tmp_path / "safe"
    safe.mkdir()
    (safe / "w").symlink_to(other)
    say_of(home, safe, trusted=True)
    assert looked(home, safe) == ["trusted"]
    assert looked(home, safe / "w") == ["open"]
    assert looked(home, safe / "w", trusted=(str(safe),)) == ["open"]
    say_of(home, safe / "w", trusted=True)
    assert looked(home, other) == ["trusted"]


def test_tru_06_the_nearest_answer_applies_and_a_yes_to_a_parent_covers_only_unchanged_files(
    home,
) -> None:
    source = home.workspace
    for name in ("evil/sub", "good", "own"):
        (source / name).mkdir(parents=True)
    home.write("own/AGENTS.md", "x\n")
    say_of(home, source, trusted=True)
    say_of(home, source / "evil", trusted=False)
    assert looked(home, source / "evil" / "sub", source / "good", source / "own") == [
        "restricted",
        "trusted",
        "open",
    ]
    home.write("AGENTS.md", "new\n")
    assert looked(home, source / "good") == ["open"]


def test_a_folder_named_in_the_settings_is_trusted_with_any_content(home) -> None:
    trust = FolderTrust(home.environment())
    settings = Settings(trusted=(str(home.folder),))
    trust.look((home.workspace,), settings)
    assert trust.obeys(home.workspace, "AGENTS.md", b"anything")
    # the user has not examined the files
    assert not trust.obeys(home.folder, "AGENTS.md", b"anything")
    trust.hold_back("the editor")
    trust.look((home.workspace,), settings)
    assert trust.now((home.workspace,)).restricted == (str(home.workspace),)


def test_only_instructions_with_the_trusted_content_are_used(home) -> None:
    home.write("AGENTS.md", "first\n")
    say_of(home, home.workspace, trusted=True)
    trust = FolderTrust(home.environment())
    trust.look((home.workspace,), Settings())
    assert trust.obeys(home.workspace, "AGENTS.md", b"first\n")
    assert not trust.obeys(home.workspace, "AGENTS.md", b"second\n")
    assert not trust.obeys(home.workspace, ".indwell/config.toml", b"")


def test_a_folder_with_too_many_files_to_scan_stays_restricted_without_a_question(home) -> None:
    for number in range(MOST_FILES + 1):
        home.write(f".indwell/{number}", "x\n")
    say_of(home, home.workspace, trusted=True)
    assert looked(home, home.workspace) == ["restricted"]
    assert looked(home, home.workspace, trusted=(str(home.workspace),)) == ["trusted"]


def test_a_trust_answer_that_cannot_be_stored_applies_to_this_process(home) -> None:
    home.state.write_bytes(b"no folder")
    trust = FolderTrust(home.environment())
    (standing,) = trust.look((home.workspace,), Settings())
    assert standing.state == "restricted"
    with pytest.raises(SettingsError, match="could not be stored"):
        trust.answer(standing, trusted=True)
    assert trust.look((home.workspace,), Settings())[0].state == "trusted"


@pytest.mark.parametrize(
    ("typed", "kept"), [("\n", False), ("r\n", False), ("t\n", True), ("Trust\n", True)]
)
def test_a_terminal_asks_about_trust_once_and_enter_means_no(home, typed, kept) -> None:
    home.write(".mcp.json", "{}\n")
    arguments = ("run", "hello", "--scripted")
    with Terminal(*arguments, environment=home.environment(), folder=home.workspace) as screen:
        question = screen.until("or [T]rust? ")
        assert "do you trust the files in" in question
        assert ".mcp.json" in question
        screen.press(typed)
        assert screen.ends() == 0
        assert ("is restricted (your answer of 20" in screen.shown) != kept
    with Terminal(*arguments, environment=home.environment(), folder=home.workspace) as screen:
        assert screen.ends() == 0
        assert "[T]rust" not in screen.shown
    assert looked(home, home.workspace) == ["trusted" if kept else "restricted"]


@pytest.mark.parametrize("word", ["2", "yes", "y", "x" * 300])
def test_an_unknown_word_does_not_answer_the_trust_question_which_is_repeated(home, word) -> None:
    arguments = ("run", "hello", "--scripted")
    home.write(".mcp.json", "{}\n")
    with Terminal(*arguments, environment=home.environment(), folder=home.workspace) as screen:
        screen.answer("or [T]rust? ", word)
        screen.until("Type t to trust the folder, or r (or Enter) to stay restricted.")
        assert looked(home, home.workspace) == ["open"]
        screen.answer("or [T]rust? ", "t")
        assert screen.ends() == 0
    assert looked(home, home.workspace) == ["trusted"]


@pytest.mark.parametrize("typed", [["\x04"], ["2\n"] * 5])
def test_a_trust_question_without_an_answer_stores_no_decision(home, typed) -> None:
    arguments = ("run", "hello", "--scripted")
    home.write(".mcp.json", "{}\n")
    with Terminal(*arguments, environment=home.environment(), folder=home.workspace) as screen:
        for keys in typed:
            screen.until("or [T]rust? ")
            screen.press(keys)
        assert screen.ends() == 0
        assert "is restricted (nobody answered)" in screen.shown
    assert looked(home, home.workspace) == ["open"]
    with Terminal(*arguments, environment=home.environment(), folder=home.workspace) as screen:
        screen.answer("or [T]rust? ", "r")
        assert screen.ends() == 0
    assert looked(home, home.workspace) == ["restricted"]


def test_the_trust_command_lists_the_files_to_trust_and_asks(home) -> None:
    home.write("AGENTS.md", "x\n")
    for typed, code in (("\n", 1), ("r\n", 1), ("2\nn\n", 1), ("2\nt\n", 0)):
        with Terminal("trust", environment=home.environment(), folder=home.workspace) as screen:
            assert "Instructions that would go to the model: AGENTS.md" in screen.until("[y/N] ")
            screen.press(typed)
            assert screen.ends() == code
    assert looked(home, home.workspace) == ["trusted"]


def test_l3_a_restricted_folder_stays_restricted_inside_a_trusted_folder(home) -> None:
    inner = home.workspace / "sub"
    inner.mkdir()
    say_of(home, inner, trusted=False)
    say_of(home, home.workspace, trusted=True)
    trust = FolderTrust(home.environment())
    trust.look((home.workspace,), Settings())
    assert trust.now((home.workspace,)).trusted == (home.workspace,)
    assert trust.now((home.workspace,)).restricted == (str(inner),)
    trust.look((home.workspace,), Settings(trusted=(str(home.workspace),)))
    # a folder that is trusted with any contents
    assert trust.now((home.workspace,)).restricted == ()


@pytest.mark.parametrize("data", [b"gitdir: a\0b\n", b"gitdir: \xff\xfe", b"gitdir:", b""])
async def test_h6_no_file_of_an_unknown_folder_ends_the_program(home, data) -> None:
    (home.workspace / ".git").write_bytes(data)
    ended, result = await mend(home)
    assert (ended.code, "Traceback" in ended.stderr) == (0, False)
    assert result.startswith(RESTRICTED)


def test_the_files_that_git_obeys_come_from_the_last_scan(home) -> None:
    home.write(".git/config", "[core]\n\thooksPath = .githooks\n")
    trust = FolderTrust(home.environment())
    assert trust.now((home.workspace,)).obeyed == ()
    trust.look((home.workspace,), Settings())
    assert str(home.workspace / ".githooks") in trust.now((home.workspace,)).obeyed


@pytest.mark.parametrize("text", [".".join("a" * 8_000) + " = 1", "x = 1\n" * 10_000])
def test_m1_reading_the_settings_of_an_unknown_folder_takes_little_time(home, text) -> None:
    home.write(".indwell/config.toml", text)
    started = time.process_time()
    loaded = read_settings(home.environment(), roots=(home.workspace,))
    # seconds; an earlier version took twelve seconds for 64 KB
    assert time.process_time() - started < 3
    assert UNTRUSTED in loaded.notices


@pytest.mark.parametrize("link", [os.link, os.symlink])
async def test_m6_a_secret_file_does_not_become_instructions_by_another_name(home, link) -> None:
    home.write(".env", "TOKEN_X: hunter2-plain-words\n")
    link(home.workspace / ".env", home.workspace / "AGENTS.md")
    await call(home, "trust", "--yes")
    async with LoopbackEndpoint([say("Well.")]) as endpoint:
        await call(home, "run", "go", base_url=endpoint.base_url)
        assert "hunter2-plain-words" not in str(endpoint.seen)
        assert endpoint.seen


async def test_h8_a_command_in_a_trusted_folder_cannot_change_a_restricted_subfolder(home) -> None:
    if strength().level != "S3":
        pytest.skip("no sandbox here that holds writes")
    inner = home.workspace / "sub"
    inner.mkdir()
    (inner / "keep.txt").write_bytes(b"k")
    home.write("Makefile", "test:\n\techo CHANGED > sub/keep.txt; touch new\n")
    say_of(home, inner, trusted=False)
    say_of(home, home.workspace, trusted=True)
    script = [say(calls=[("bash", json.dumps({"command": "make test"}))]), say("Well.")]
    async with LoopbackEndpoint(script) as endpoint:
        await call(home, "run", "go", base_url=endpoint.base_url)
    assert (inner / "keep.txt").read_text(encoding="utf-8") == "k"
    assert (home.workspace / "new").exists()


def test_during_a_scan_no_folder_is_trusted_without_its_git_files(home) -> None:
    git = home.workspace / ".git"
    for name in ("objects", "refs"):
        (git / name).mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text("[core]\n\thooksPath = hooks\n")
    trust, root = FolderTrust(home.environment(), is_given=True), home.workspace.resolve()
    unguarded: list[str] = []
    done = trust.now((root,))

    def watch(frame: FrameType, _event: str, _argument: object) -> None:
        sys.setprofile(None)  # the event loop makes the decision at this moment
        now = trust.now((root,))
        if now.trusted and not any(one.endswith("/hooks") for one in now.obeyed):
            unguarded.append(frame.f_code.co_qualname)
        sys.setprofile(watch)

    assert not done.trusted
    sys.setprofile(watch)
    try:
        trust.look((root,), Settings())
    finally:
        sys.setprofile(None)
    assert trust.now((root,)).trusted
    assert unguarded == []
