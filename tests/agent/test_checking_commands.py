"""Commands of the model that check the project, and passed after the last edit, verify a turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from indwell.agent.features.checks.checking_commands import MOST, CheckPart, checks_in
from support.bubblewrap import needs_bubblewrap
from support.checked_project import a_project
from support.session import asks, call, says

HERE = Path("/w")


def names(command: str, *declared: str) -> list[str]:
    return [check.name for check in checks_in(command, HERE, declared)]


@pytest.mark.parametrize(
    "command",
    [
        *("python -m unittest", "python3.12 -m pytest -q tests", ".venv/bin/pytest -k name"),
        *("ruff check .", "mypy", "npm test", "npm run typecheck", "pnpm lint", "yarn test:unit"),
        *("npx tsc --noEmit", "uv run pytest", "poetry run mypy .", "bundle exec rspec"),
        *("cargo test", "go vet ./...", "make check -j4", "cmake --build out", "./gradlew test"),
        *("python manage.py test", "python tests/test_shop.py", "node --test", "just test"),
        *("timeout 60 pytest", "prettier --check .", "dotnet test"),
    ],
)
def test_known_checkers_with_a_meaningful_exit_status_count_as_checks(command: str) -> None:
    assert names(command) == [command]


@pytest.mark.parametrize(
    "command",
    [
        *("ls", "echo pytest", "python shop.py", "python -c 'import pytest'", "npm run dev"),
        *("npm install", "git diff", "cargo run", "make", "make clean", "ruff format ."),
        *("pytest --collect-only", "ruff check --exit-zero", "make -n check", "make -k test"),
        *("cargo test --no-run", "pytest --help", "bash -c pytest", "$RUN pytest", "tsc --watch"),
    ],
)
def test_other_programs_and_checks_with_disabling_options_do_not_count(command: str) -> None:
    assert names(command) == []


@pytest.mark.parametrize(
    "command",
    [
        *("pytest || true", "pytest; true", "pytest | tail", "pytest 2>&1 | tee log", "! pytest"),
        *("pytest &", "pytest && true &", "pytest; echo exit $?", "pytest\necho done"),
        *("if pytest; then true; fi", "for one in a b; do pytest $one; done", "(pytest || true)"),
        *("trap 'exit 0' EXIT; pytest", "pytest() { true; }; pytest", "alias pytest=true\npytest"),
        *("set -o pipefail; set +o pipefail; pytest | tail", "(set -o pipefail); pytest | tail"),
        *(
            "eval x; pytest",
            ". ./env; pytest",
            "pytest; exit 0",
            "pytest && (",
            "x" * MOST + "\npytest",
        ),
    ],
)
def test_a_check_whose_exit_status_may_be_lost_has_no_effect(command: str) -> None:
    assert names(command) == []


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("pytest -q && ruff check . && mypy", ["pytest -q", "ruff check .", "mypy"]),
        ("set -o pipefail; pytest | tail -5", ["pytest"]),
        ("set -euo pipefail\npytest 2>&1 | tee log", ["pytest"]),
        ("git status; pytest", ["pytest"]),
        ("pytest > log 2>&1", ["pytest"]),
        ("TOKEN=abc pytest -q", ["pytest -q"]),
        ("{ pytest; }", ["pytest"]),
        ("pytest # all of them", ["pytest"]),
    ],
)
def test_a_check_whose_exit_status_is_that_of_the_command_is_named(
    command: str, found: list[str]
) -> None:
    assert names(command) == found


def test_the_check_command_from_the_settings_counts_as_a_check() -> None:
    assert names("./verify.sh --all") == []
    assert names("./verify.sh  --all", "./verify.sh --all") == ["./verify.sh  --all"]
    assert names("./verify.sh --all || true", "./verify.sh --all") == []


def test_a_check_covers_the_files_of_its_kind_below_its_folder() -> None:
    (there,) = checks_in("cd shop && pytest", HERE)
    assert there == CheckPart("pytest", HERE / "shop", there.suffixes)
    assert there.is_about(HERE / "shop" / "a.py")
    assert not there.is_about(HERE / "a.py")
    assert not there.is_about(HERE / "shop" / "README.md")
    assert checks_in("(cd shop; npm test) && cargo test", HERE)[1].folder == HERE
    assert checks_in("cd $SHOP && pytest", HERE) == ()
    (root,) = checks_in("make test", HERE)
    assert root.is_about(HERE / "README.md")


def in_powershell(command: str, *declared: str) -> list[str]:
    return [check.name for check in checks_in(command, HERE, declared, "powershell")]


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("python -m pytest -q", ["python -m pytest -q"]),
        (r".\.venv\Scripts\pytest.exe -q", [r".\.venv\Scripts\pytest.exe -q"]),
        (
            r"& 'C:\Program Files\nodejs\npm.cmd' test",
            [r"& 'C:\Program Files\nodejs\npm.cmd' test"],
        ),
        (r".\gradlew.bat test", [r".\gradlew.bat test"]),
        ("NPX tsc --noEmit", ["NPX tsc --noEmit"]),
        ("pytest -q && ruff check . && mypy", ["pytest -q", "ruff check .", "mypy"]),
        ("git status; pytest", ["pytest"]),
        ("Get-ChildItem | Select-Object -First 3\n# all\npytest", ["pytest"]),
        ("pytest > log.txt 2>&1", ["pytest"]),
        ("$env:CI = '1'; pytest", ["pytest"]),
        (r"& .\verify.ps1", [r"& .\verify.ps1"]),
    ],
)
def test_a_check_in_powershell_is_named(command: str, found: list[str]) -> None:
    assert in_powershell(command, r"& .\verify.ps1") == found


@pytest.mark.parametrize(
    "command",
    [
        *("pytest; Write-Output done", "pytest | Select-Object -Last 5", "pytest || $true"),
        *("pytest\nexit 0", "if (pytest) { 1 }", "try { pytest } catch { }", "pytest; ls"),
        *(
            "Set-Alias pytest true; pytest",
            "function pytest { }; pytest",
            "$env:PATH = '.'; pytest",
        ),
        *(". .\\env.ps1; pytest", "Invoke-Expression $x; pytest", "$done = pytest", "pytest &"),
        *("Import-Module x; pytest", "& $tool", "Start-Process pytest", "ls | pytest", "pytest ("),
        *(
            "npm run dev",
            "pytest --collect-only",
            "echo pytest",
            "$?; pytest -eq 0",
            "-not (pytest)",
        ),
        *("iex x\npytest", "pytest; $LASTEXITCODE = 0", "set -o pipefail; pytest | tail -5"),
        *(
            "Write-Output pytest",
            "TOKEN=abc pytest",
            "! pytest",
            "{ pytest; }",
            "Unknown-Verb; pytest",
        ),
    ],
)
def test_a_text_of_powershell_that_may_hide_a_failure_is_not_a_check(command: str) -> None:
    assert in_powershell(command) == []


def test_a_check_in_powershell_covers_the_folder_in_which_it_surely_runs() -> None:
    (there,) = checks_in("cd shop; pytest", HERE, (), "powershell")
    assert (there.name, there.folder) == ("pytest", HERE / "shop")
    (there,) = checks_in(r"Set-Location shop\a && pytest", HERE, (), "powershell")
    assert there.folder == HERE / "shop" / "a"
    assert in_powershell("cd $shop; pytest") == []
    # If `cd` fails, pytest does not check `other`.
    assert in_powershell("cd ../other; pytest") == []


def test_a_folder_that_bash_goes_up_to_is_known() -> None:
    (there,) = checks_in("cd .. && pytest", HERE / "shop")
    assert there.folder == HERE


TESTS = """\
import unittest
from shop import total
class Check(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total, 1)
"""
FILES = {"shop.py": "total = 1\n", "test_shop.py": TESTS}
READ = asks(call("read_file", path="shop.py"))


def edit(old: str, new: str, id_: str = "c2", path: str = "shop.py") -> object:
    return asks(call("edit_file", id_, path=path, edits=[{"old": old, "new": new}]))


def run(command: str, id_: str = "c3") -> object:
    return asks(call("bash", id_, command=command))


CHECK = "python3 -m unittest"
SAFE = edit("total = 1", "total = 1 + 0")


async def verdict(folder: Path, *script: object) -> str:
    steps = [READ, *script, says()]
    async with a_project(folder, steps, files=FILES, is_reviewed=True) as project:  # type: ignore[arg-type]
        return (await project.turn()).verified


@needs_bubblewrap
async def test_a_test_run_that_passed_after_the_last_edit_is_named(tmp_path: Path) -> None:
    assert await verdict(tmp_path, SAFE, run(CHECK)) == f"`{CHECK}` passed after the last edit"


@needs_bubblewrap
@pytest.mark.parametrize(
    "script",
    [
        pytest.param((run(CHECK), SAFE), id="before the edit"),
        pytest.param((SAFE, run(CHECK), edit("1 + 0", "0 + 1", "c4")), id="edited again"),
        pytest.param((SAFE, run(CHECK), run("sed -i s/0/2/ shop.py", "c4")), id="changed by sed"),
        pytest.param(
            (SAFE, run(CHECK), run("echo 'import os' >> test_shop.py", "c4")),
            id="another file of its kind changed",
        ),
        pytest.param((edit("= 1", "= 2"), run(CHECK)), id="failed"),
        pytest.param((edit("= 1", "= 2"), run(f"{CHECK} || true")), id="its failure hidden"),
        pytest.param((SAFE, run(f"{CHECK} -k nothing")), id="no test ran"),
        pytest.param(
            (SAFE, run(f"{CHECK} && sed -i s/0/2/ shop.py")), id="changed by the command itself"
        ),
    ],
)
async def test_a_check_that_failed_or_is_outdated_does_not_count(
    tmp_path: Path, script: tuple[object, ...]
) -> None:
    assert await verdict(tmp_path, *script) == "not verified"


@needs_bubblewrap
async def test_a_later_command_that_changes_no_checked_file_keeps_the_proof(tmp_path: Path) -> None:
    script = (SAFE, run(CHECK), run("echo note > notes.txt", "c4"))
    assert await verdict(tmp_path, *script) == f"`{CHECK}` passed after the last edit"


@needs_bubblewrap
async def test_a_file_that_the_check_does_not_cover_stays_unverified(tmp_path: Path) -> None:
    script = (SAFE, asks(call("write_file", "c5", path="README.md", content="a\n")), run(CHECK))
    said = f"`{CHECK}` passed after the last edit; 1 file not verified"
    assert await verdict(tmp_path, *script) == said
