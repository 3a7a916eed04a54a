r"""Paths in commands in other spellings: ``C:\…``, 8.3 names, streams, on each system."""

from __future__ import annotations

import pytest

from indwell.files.spelling import System
from indwell.policy.commands.judge import judge
from indwell.policy.commands.path_rules import Situation
from indwell.policy.shell.items import joined
from indwell.policy.shell.words import STAR, folder
from indwell.settings.credentials import SECRETS

WINDOWS = Situation(secrets=SECRETS, cwd="C:/w/p", roots=("C:/w/p",), system="win32")
LINUX = Situation(secrets=SECRETS, cwd="/w/p", roots=("/w/p",), system="linux")
MACOS = Situation(secrets=SECRETS, cwd="/w/p", roots=("/w/p",), system="darwin")

EVERYWHERE = (
    "cat .env:x", "cat '.env::$DATA'", "cat ENV~1", "cat 'ENV~1.LOC'", "cat C:.env", "cat .ENV",
    "cat 'SSH~1\\id_rsa'", "cat ~/SSH~1/config", "cat SSH~1/ID_RSA~1", "cat '.ssh::$I30/x'",
    "head -n1 ./sub/../ENV~1", "cat 'id_rsa::$DATA'", "cat ID_RSA~1.PUB", "cat CREDEN~1.JSO",
    "cat AWS~1/credentials", "cat 'sub\\.env'", "cat .e\u200cnv", "cat .\u017fsh/x",
    "cp a GIT~1/config", "echo x > 'GIT~1/hooks/pre-commit'", "echo x > .GIT/config",
    "echo x > '.git::$INDEX_ALLOCATION/config'", "tee PACKAG~1.JSO < x", "touch 'package.json:x'",
    "cp a 'C:.git\\config'", "cp a '.git \\config'", "cp a .git./hooks/x", "mv a AGENTS~1.MD",
    "ln -s a VSCODE~1/tasks.json", "cp a GI7EBA~1/config", "cp a pac\u212aage.json",
    "sed -i s/a/b/ PACKAG~1.JSO", "cp a .g\u0131t/config", "mkdir -p GITHUB~1/workflows",
    "dd if=a of=GIT~1/config", "cp --target-directory=GIT~1/hooks a", "cp -t GIT~1/hooks a",
    "cat --show-all ENV~1", "grep -f ENV~1 a",
)  # fmt: skip
"""Commands that reach a secret or protected file on Windows, or on a disk of Windows elsewhere."""


@pytest.mark.parametrize("situation", [WINDOWS, LINUX, MACOS], ids=["win32", "linux", "darwin"])
def test_no_spelling_of_a_secret_or_protected_file_avoids_a_question(situation: Situation) -> None:
    for confined in (False, True):
        held = Situation(
            secrets=SECRETS, cwd=situation.cwd, roots=situation.roots, system=situation.system,
            writes_confined=confined,
        )  # fmt: skip
        found = {one: judge(one, held) for one in EVERYWHERE}
        allowed = [one for one, verdict in found.items() if verdict.decision == "allow"]
        # In a sandbox, the names on the disk decide which secret files are hidden; names still need
        # a question.
        assert allowed == [], confined


@pytest.mark.parametrize(
    "command",
    [
        "cat 'C:\\w\\p\\src\\a.py'", "cat C:/w/p/a.py", "cat c:/W/p/a.py", "cat /c/w/p/a.py",
        "cat /mnt/c/w/p/a.py", "cat '\\\\?\\C:\\w\\p\\a.py'", "cat src/a.py", "cat 'src\\a.py'",
        "cd C:/w/p/src && cat a.py", "cd src && cat C:/w/p/a.py", "cat ../p/a.py", "ls ABCDEF~1",
    ],
)  # fmt: skip
def test_the_workspace_is_inside_in_every_spelling_on_windows(command: str) -> None:
    assert judge(command, WINDOWS).decision == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "cat 'C:\\Windows\\win.ini'", "cat D:/w/p/a.py", "cat C:/w/p2/a.py", "cat C:a.py",
        "cat D:a.py", "cat C:", "cat C:..\\..\\a", "cat '\\\\server\\share\\a.py'",
        "cat //server/share/a", "cat '\\\\.\\PhysicalDrive0'", "cat '\\\\?\\UNC\\s\\h\\a'",
        "cat '\\w\\p\\a.py'", "cat /w/p/a.py", "cd D: && cat a.py", "cd /d/x && cat a.py",
        "cat ../../a", "cat 'src\\..\\..\\..\\a'", "cat 'C:/w/p/.. /a'", "cat C:/w/p/../a",
    ],
)  # fmt: skip
def test_paths_outside_the_workspace_on_windows_need_a_question(command: str) -> None:
    assert judge(command, WINDOWS).decision == "ask"


def test_a_reason_shows_a_path_with_single_slashes() -> None:
    verdict = judge("cat 'D:/x'", WINDOWS)
    assert verdict.reason == "reads 'D:/x', outside the workspace"


def test_on_a_case_insensitive_disk_another_case_is_the_same_file() -> None:
    known = ("C:/w/p/notes.txt", "/w/p/notes.txt")
    for situation, decision in ((WINDOWS, "ask"), (MACOS, "ask"), (LINUX, "allow")):
        held = Situation(
            cwd=situation.cwd, roots=situation.roots, system=situation.system, secret_files=known
        )
        assert judge("cat NOTES.txt", held).decision == decision, situation.system
        assert judge("cat notes.txt", held).decision == "ask"


@pytest.mark.parametrize(
    ("start", "path", "system", "found"),
    [
        ("C:/w", "a", "win32", "C:/w/a"),
        ("C:/w", r"D:\x", "win32", "D:/x"),
        ("C:/w", "/c/x", "win32", "C:/x"),
        ("C:/w", r"\\s\h\x", "win32", "//s/h/x"),
        ("C:/w", r"..\x", "win32", "C:/x"),
        ("/w", r"D:\x", "linux", r"/w/D:\x"),
        ("/w", "//s/h", "linux", "/s/h"),
        ("/w", "../x", "darwin", "/x"),
    ],
)
def test_a_path_is_joined_as_its_system_does(
    start: str, path: str, system: System, found: str
) -> None:
    assert joined(start, path, system) == found


def test_removing_a_whole_drive_counts_as_destructive() -> None:
    for written in ("C:/", "C:\\", "/c/", "/c", "C:/*", "c:\\*", "\\\\?\\C:\\"):
        place = folder(written.replace("*", STAR), "", "win32")
        assert place == "/", written
    assert folder("C:/Users/me", "", "win32") == "/Users/me"
    assert folder("C:/", "", "linux") == "C:"
