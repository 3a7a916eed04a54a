"""``indwell review`` at a terminal, without a terminal, and beside an editor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from indwell.files.append_log import AppendLog
from indwell.review.hunk import Actor
from indwell.service.sessions.review_ledgers import open_ledger
from indwell.sessions.storage.store import folder_name
from support.editing import USAGE, Home, bash, mend
from support.loopback_endpoint import LoopbackEndpoint, say
from support.strict_chat import strictly
from support.terminal import indwell
from support.terminal_screen import Terminal

SESSION = "20261121-034012-123-9f3a1c7e2b4d"
BEFORE = "".join(f"line {number}\n" for number in range(1, 31))
AFTER = BEFORE.replace("line 3\n", "LINE 3\n").replace("line 15\n", "").replace("line 28", "l 28")


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


class Agent:
    """Changes files as an agent does, and records the changes in the folder's ledger."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._number = 0

    def edit(
        self, changes: Mapping[str, tuple[str | None, str]], *, turn: int = 1, on_disk: bool = True
    ) -> None:
        asyncio.run(self._edit(changes, turn, on_disk=on_disk))

    async def _edit(
        self, changes: Mapping[str, tuple[str | None, str]], turn: int, *, on_disk: bool
    ) -> None:
        ledger = await open_ledger(self.home.environment(), [self.home.workspace])
        for name, (before, after) in changes.items():
            self._number += 1
            path = self.home.workspace / name
            if before is not None and not path.exists():
                self.home.write(name, before)
            pending = await ledger.begin(
                Actor(SESSION, turn), f"call-{self._number}", path, before, after
            )
            if on_disk:
                self.home.write(name, after)
            await ledger.finish(pending, after, accepted=False)

    def pending(self) -> dict[str, list[str]]:
        """Return the new lines of pending changes, by file."""

        async def look() -> dict[str, list[str]]:
            ledger = await open_ledger(self.home.environment(), [self.home.workspace])
            return {
                path.name: ["".join(one.new) for one in ledger.hunks(path)]
                for path in ledger.paths()
            }

        return asyncio.run(look())


@pytest.fixture
def agent(home) -> Agent:
    return Agent(home)


def review(home: Home, *arguments: str) -> tuple[int, str, str]:
    done = asyncio.run(
        indwell("review", *arguments, environment=home.environment(), folder=home.workspace)
    )
    return done.code, done.stdout, done.stderr


def text(home: Home, name: str) -> str:
    return (home.workspace / name).read_text(encoding="utf-8")


def test_a_review_without_pending_changes_succeeds(home) -> None:
    assert review(home) == (0, "no change waits for review\n", "")
    code, out, _ = review(home, "--json")
    assert code == 0
    assert json.loads(out) == {
        "folder": str(home.workspace),
        "hunks": [],
        "accepted": [],
        "rejected": [],
        "kept": [],
        "unsaved": {},
        "copies": {},
    }
    assert review(home, "--reject", "--all")[0] == 0


def test_a_review_without_a_terminal_lists_hunks_and_json_has_every_detail(home, agent) -> None:
    agent.edit({"a.txt": (BEFORE, AFTER), "new.txt": (None, "fresh\n")}, turn=2)
    code, out, _ = review(home)
    lines = out.splitlines()
    assert (code, len(lines)) == (0, 4)
    assert f"a.txt:3  +1 −1 · turn 2 of {SESSION}" in lines[0]
    assert "new file" in lines[3]
    found = json.loads(review(home, "--json")[1])["hunks"]
    assert [(one["line"], one["kind"], one["old"], one["new"]) for one in found] == [
        (3, "change", "line 3\n", "LINE 3\n"),
        (15, "change", "line 15\n", ""),
        (27, "change", "line 28\n", "l 28\n"),
        (1, "create", "", "fresh\n"),
    ]
    assert [line.split()[0] for line in lines] == [one["id"] for one in found]
    assert found[0]["turns"] == [{"session": SESSION, "turn": 2}]
    code, out, _ = review(home, "--diff", "a.txt")
    assert code == 0
    assert "-line 3\n+LINE 3\n" in out
    assert "fresh" not in out


def test_each_key_takes_effect_at_once(home, agent) -> None:
    agent.edit({"a.txt": (BEFORE, AFTER), "b.txt": ("1\n", "2\n")})
    with Terminal(
        "review", environment=home.environment(), folder=home.workspace, columns=120
    ) as terminal:
        terminal.until("(1/4) a.txt:3")
        terminal.answer("[?]?", "?")
        terminal.answer("[?]?", "x")
        assert "not one of the letters" in terminal.until("?")
        terminal.answer("[?]?", "r")
        assert "(2/4) a.txt:15" in terminal.until("[?]?")
        assert text(home, "a.txt").startswith("line 1\nline 2\nline 3\n")
        terminal.press("a\n")
        terminal.until("(3/4) a.txt:27")
        assert agent.pending()["a.txt"] == ["l 28\n"]
        terminal.answer("[?]?", "n")
        terminal.until("(4/4) b.txt:1")
        terminal.answer("[?]?", "b")
        terminal.until("a.txt:27")
        terminal.answer("[?]?", "n")
        terminal.until("b.txt:1")
        terminal.answer("[?]?", "R")
        assert terminal.ends() == 0
    assert "1 accepted, 2 rejected, 1 left pending" in terminal.shown
    assert text(home, "b.txt") == "1\n"
    kept = terminal.shown.rpartition("is kept in ")[2].split("\r\n")[0]
    assert Path(kept).read_text(encoding="utf-8") == "2\n"
    assert agent.pending() == {"a.txt": ["l 28\n"]}


def test_ctrl_c_keeps_the_verdicts_given_so_far(home, agent) -> None:
    agent.edit({"a.txt": (BEFORE, AFTER)})
    with Terminal("review", environment=home.environment(), folder=home.workspace) as terminal:
        terminal.answer("[?]?", "r")
        terminal.until("(2/3)")
        terminal.interrupt("[?]?")
        assert terminal.ends() == 130
        assert terminal.echoes
    assert "Traceback" not in terminal.shown
    assert "1 rejected, 2 left pending" in terminal.shown
    assert "as it was: a.txt is kept in " in terminal.shown
    assert agent.pending() == {"a.txt": ["", "l 28\n"]}
    assert "line 3\n" in text(home, "a.txt")


def test_rejecting_lines_that_the_user_rewrote_needs_another_yes(home, agent) -> None:
    agent.edit({"a.txt": ("1\n2\n3\n4\n5\n", "1\nA\nB\nC\n5\n")})
    home.write("a.txt", "1\nA\nmine\nC\n5\n")
    code, out, err = review(home, "--reject", "a.txt")
    assert code == 1
    assert "not done: a.txt: " in out + err
    assert text(home, "a.txt") == "1\nA\nmine\nC\n5\n"
    with Terminal("review", environment=home.environment(), folder=home.workspace) as terminal:
        terminal.until("changed by you since")
        terminal.answer("[?]?", "r")
        terminal.answer("Reject it anyway", "")
        assert terminal.ends() == 0
    assert text(home, "a.txt") == "1\nA\nmine\nC\n5\n"
    with Terminal("review", environment=home.environment(), folder=home.workspace) as terminal:
        terminal.answer("[?]?", "r")
        terminal.answer("Reject it anyway", "y")
        assert terminal.ends() == 0
    assert text(home, "a.txt") == "1\n2\n3\n4\n5\n"


def test_the_lines_of_the_user_stay_when_a_change_is_reverted(home, agent) -> None:
    agent.edit({"a.txt": (BEFORE, AFTER), "new.txt": (None, "fresh\n")})
    home.write("a.txt", "mine\n" + AFTER)
    code, out, _ = review(home, "--reject", "--all", "--json")
    told = json.loads(out)
    assert (code, told["hunks"], told["kept"], len(told["rejected"])) == (0, [], [], 4)
    assert text(home, "a.txt") == "mine\n" + BEFORE
    assert not (home.workspace / "new.txt").exists()
    assert (
        Path(told["copies"][str(home.workspace / "a.txt")]).read_text(encoding="utf-8")
        == "mine\n" + AFTER
    )
    assert (
        Path(told["copies"][str(home.workspace / "new.txt")]).read_text(encoding="utf-8")
        == "fresh\n"
    )


def test_a_review_can_be_limited_to_a_turn_a_file_or_a_folder(home, agent) -> None:
    agent.edit({"a.txt": (BEFORE, AFTER), "sub/b.txt": ("1\n", "2\n")}, turn=1)
    agent.edit({"sub/c.txt": ("1\n", "2\n")}, turn=2)
    assert review(home, "--accept", "--turn", "2")[0] == 0
    assert set(agent.pending()) == {"a.txt", "b.txt"}
    assert review(home, "--reject", "sub")[0] == 0
    assert (text(home, "sub/b.txt"), text(home, "sub/c.txt")) == ("1\n", "2\n")
    assert review(home, "--accept", "--session", SESSION[:12])[0] == 0
    assert agent.pending() == {}
    assert text(home, "a.txt") == AFTER


def test_the_review_command_works_from_a_subfolder(home, agent) -> None:
    agent.edit({"sub/b.txt": ("1\n", "2\n")})
    folder = home.workspace / "sub"
    done = asyncio.run(indwell("review", "b.txt", environment=home.environment(), folder=folder))
    assert "sub/b.txt:1" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--accept",), "name FILE"),
        (("--accept", "--reject", "a.txt"), "not allowed with"),
        (("--reject", "--all", "a.txt"), "--all"),
        (("nothing.txt",), "no such file"),
        (("--turn", "0"), "not the number of a turn"),
        (("--session", "nope"), "--session"),
        (("--json", "--diff"), "not allowed with"),
    ],
)
def test_a_wrong_review_command_exits_with_2(home, agent, arguments, words) -> None:
    agent.edit({"a.txt": (BEFORE, AFTER)})
    code, out, err = review(home, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert text(home, "a.txt") == AFTER


def test_a_file_with_unsaved_edits_is_left_to_the_editor(home, agent) -> None:
    agent.edit({"a.txt": (BEFORE, AFTER)}, on_disk=False)
    agent.edit({"b.txt": ("1\n", "2\n")})
    sessions = home.state / "sessions" / folder_name(home.workspace)
    # opens the log, like an editor that has the session open
    log = AppendLog(sessions / SESSION / "log.jsonl")
    try:
        code, out, _ = review(home)
        assert code == 0
        assert "a.txt: 3 changes, not saved in your editor yet" in out
        assert "b.txt:1" in out
        code, out, err = review(home, "--reject", "--all")
        assert code == 1
        assert "not saved in your editor yet" in out + err
        told = json.loads(review(home, "--json")[1])
        assert told["unsaved"] == {str(home.workspace / "a.txt"): 3}
    finally:
        log.close()
    assert (text(home, "a.txt"), text(home, "b.txt")) == (BEFORE, "1\n")
    assert len(agent.pending()["a.txt"]) == 3  # no change was recorded as gone
    home.write("a.txt", AFTER)
    assert review(home, "--reject", "a.txt")[0] == 0
    assert text(home, "a.txt") == BEFORE


def test_rejecting_a_turn_reverts_only_that_turns_changes(home, agent) -> None:
    agent.edit({"a.txt": ("1\n2\n3\n", "1\nB\n3\n")}, turn=1)
    agent.edit({"a.txt": ("1\nB\n3\n", "1\nB\n3\nfour\n")}, turn=2)
    assert review(home, "--reject", "--turn", "2")[0] == 0
    assert text(home, "a.txt") == "1\nB\n3\n"
    agent.edit({"a.txt": ("1\nB\n3\n", "1\nBB\n3\n")}, turn=3)
    code, out, err = review(home, "--reject", "--turn", "1")
    assert code == 1
    assert "not done: a.txt: " in out + err
    assert text(home, "a.txt") == "1\nBB\n3\n"
    assert review(home, "--reject", "a.txt")[0] == 0
    assert text(home, "a.txt") == "1\n2\n3\n"


def test_a_reject_keeps_line_ends_and_bytes_outside_of_the_change(home, agent) -> None:
    before = "\ufeffa\r\nb\nc\r\nd"
    agent.edit({"a.txt": (before, before.replace("b\n", "B\n"))})
    (home.workspace / "a.txt").write_bytes("\ufeffa\r\nB\nc\r\nd".encode())
    assert review(home, "--reject", "--all")[0] == 0
    assert (home.workspace / "a.txt").read_bytes() == "\ufeffa\r\nb\nc\r\nd".encode()


def test_a_review_does_not_restore_a_deleted_file_unasked(home, agent) -> None:
    agent.edit({"a.txt": (BEFORE, AFTER)})
    (home.workspace / "a.txt").unlink()
    code, out, _ = review(home)
    assert code == 0
    assert "a.txt" not in out
    assert not (home.workspace / "a.txt").exists()


async def test_changes_by_indwell_run_can_be_reviewed_afterwards(home) -> None:
    made = bash("printf '\\0\\1' > p.bin; rm gone.txt; echo more >> shop.py")
    home.write("gone.txt", "still needed\n")
    home.write("p.bin", "\0\0\0")
    before = home.files
    async with LoopbackEndpoint(
        strictly([*mend()[:2], made, say("Done.", usage=USAGE)])
    ) as endpoint:
        environment = home.environment(endpoint.base_url)
        options = {"environment": environment, "folder": home.workspace}
        ran = await indwell("run", "Mend it", "--allow-commands", **options)
        assert ran.code == 0, ran.stdout + ran.stderr
        assert home.files != before
        listed = await indwell("review", "--json", **options)
        kinds = {
            (Path(one["path"]).name, one["kind"]) for one in json.loads(listed.stdout)["hunks"]
        }
        assert kinds == {
            ("shop.py", "change"), ("gone.txt", "delete"), ("p.bin", "opaque")
        }  # fmt: skip
        done = await indwell("review", "--reject", "--all", **options)
        assert (done.code, done.stderr) == (0, ""), done.stdout
    assert home.files == before
