"""Names on a mounted disk that ignores case and the form of accents, as on macOS."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from indwell.bounds.guarded_scan import FolderGuard
from indwell.errors import ToolError
from indwell.files.beneath import find, locate, open_beneath
from indwell.files.disk_names import as_on_disk, folds_case, is_same_folder, true_path
from indwell.lsp.workspace.documents import path_of
from indwell.policy.guarded_paths import is_guarded
from indwell.workspace.disk import DiskWorkspace
from indwell.workspace.paths import display, not_found
from support.folding_disk import folding_disk
from support.platforms import posix_only


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("folding").resolve()
    try:
        with folding_disk(folder) as mounted:
            yield mounted
    except OSError as error:
        pytest.skip(f"no file system can be mounted here: {error}")


@pytest.fixture
def project(disk: Path, request: pytest.FixtureRequest) -> Path:
    """Create a project of this test on the disk."""
    root = disk / f"Project{abs(hash(request.node.name))}"
    (root / "Src").mkdir(parents=True)
    (root / "Src" / "Main.py").write_text("x = 1\n", "utf-8")
    (root / "Caf\u00e9.py").write_text("y = 2\n", "utf-8")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]\n", "utf-8")
    (root / ".env").write_text("KEY=1\n", "utf-8")
    return root


def other_case(path: Path) -> Path:
    return Path(str(path).replace(path.name, path.name.swapcase()))


def test_case_folding_is_detected_for_each_folder(project: Path, tmp_path: Path) -> None:
    assert folds_case(str(project))
    assert folds_case(str(project / "Src"))
    (tmp_path / "a").touch()
    assert not folds_case(str(tmp_path))
    assert not folds_case(str(tmp_path / "missing"))


def test_an_empty_folder_is_judged_by_its_own_name(project: Path, tmp_path: Path) -> None:
    (project / "Empty").mkdir()
    (tmp_path / "Empty").mkdir()
    (project / "12").mkdir()
    (project / "12" / "34").touch()
    assert folds_case(str(project / "Empty"))
    assert not folds_case(str(tmp_path / "Empty"))
    assert not folds_case(str(project / "12"))  # without a letter, the case of names counts


@posix_only("case")
def test_two_hard_links_in_two_cases_are_two_names(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    os.link(tmp_path / "a", tmp_path / "A")
    assert not folds_case(str(tmp_path))
    assert as_on_disk(str(tmp_path), ("A",)) == ("A",)


def test_a_path_gets_the_names_of_the_disk(project: Path) -> None:
    assert as_on_disk(str(project), ("SRC", "main.PY")) == ("Src", "Main.py")
    assert as_on_disk(str(project), ("SRC", "New.py")) == ("Src", "New.py")
    assert as_on_disk(str(project), ("New", "SRC")) == ("New", "SRC")
    assert as_on_disk(str(project), ("caf\u00c9.PY",)) == ("Cafe\u0301.py",)
    assert true_path(str(other_case(project) / "SRC" / "main.py")) == str(project / "Src/Main.py")


def test_a_root_contains_its_files_in_any_letter_case(project: Path) -> None:
    for root, path in (
        (project, other_case(project) / "SRC/MAIN.PY"),
        (other_case(project), project / "src/main.py"),
    ):
        place = locate(path, [root])
        assert (place.root, place.parts) == (root, ("Src", "Main.py"))
        assert find(place.path, [root], resolved=True) == place
        os.close(open_beneath(path, [root], os.O_RDONLY))
    assert is_same_folder(str(project), str(other_case(project)))


def test_a_path_outside_the_workspace_stays_outside_in_any_letter_case(project: Path) -> None:
    beside = project.parent / f"{project.name}2"
    beside.mkdir()
    (beside / "a.py").touch()
    (project / "Out").symlink_to(beside)
    for path in (beside / "a.py", other_case(beside) / "A.PY", project / "OUT/a.py"):
        with pytest.raises(ToolError, match="outside the workspace"):
            locate(path, [project])


@posix_only("case")
def test_on_a_case_sensitive_disk_another_case_is_another_folder(tmp_path: Path) -> None:
    for name in ("Work", "wORK"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").touch()
    with pytest.raises(ToolError, match="outside the workspace"):
        locate(tmp_path / "wORK" / "a", [tmp_path / "Work"])


async def test_a_file_has_one_path_whatever_the_model_writes(project: Path) -> None:
    workspace = DiskWorkspace([project])
    written = ("Src/Main.py", "src/main.py", "SRC/MAIN.PY", f"{other_case(project)}/sRC/Main.py")
    assert {workspace.resolve(one) for one in written} == {project / "Src/Main.py"}
    composed, decomposed = (workspace.resolve(f"caf{one}.py") for one in ("\u00e9", "e\u0301"))
    assert composed == decomposed == project / "Cafe\u0301.py"
    assert (await workspace.read(composed)).text == "y = 2\n"
    snapshot = await workspace.read(workspace.resolve("SRC/main.py"))
    await workspace.write(workspace.resolve("src/MAIN.py"), snapshot, "x = 3\n", label="")
    assert (project / "Src/Main.py").read_text("utf-8") == "x = 3\n"
    assert os.listdir(project / "Src") == ["Main.py"]  # noqa: PTH208 - as the disk lists it


def test_an_open_document_is_the_file_that_the_model_names(project: Path) -> None:
    workspace = DiskWorkspace([other_case(project)])
    uri = f"{other_case(project).as_uri()}/SRC/main.py"
    assert path_of(uri) == workspace.resolve("src/MAIN.PY") == project / "Src/Main.py"


@pytest.mark.parametrize(
    "written",
    [
        ".GIT/config", ".Git/Config", ".g\u200cit/config", ".GIT/CONFIG", "src/../.gIT/config",
        ".g\u0131t/config",
    ],
)  # fmt: skip
def test_no_spelling_hides_a_protected_file(project: Path, written: str) -> None:
    workspace = DiskWorkspace([project])
    found = display(workspace.resolve(written), workspace.roots)
    assert is_guarded(written)
    assert is_guarded(found)
    # on this disk, the two spellings name different files
    assert found == ".git/config" or "\u0131" in written


@pytest.mark.parametrize("written", [".ENV", ".Env", "SRC/../.eNV", ".e\u200dnv"])
def test_no_spelling_hides_a_secret_file(project: Path, written: str) -> None:
    workspace = DiskWorkspace([project])
    assert display(workspace.resolve(written), workspace.roots) == ".env"


def test_a_missing_file_is_reported_with_similar_names(project: Path) -> None:
    error = not_found(locate(project / "SRC/Mian.py", [project]).path, [project])
    assert str(error) == "'Src/Mian.py' does not exist; close to it: Main.py"


def bare_repository(folder: Path) -> Path:
    for name in ("objects", "refs"):
        (folder / "bare" / name).mkdir(parents=True)
    for name in ("head", "config"):
        (folder / "bare" / name).write_bytes(b"[core]\n")
    return folder


def test_git_obeys_a_bare_repository_in_another_case_only_where_the_disk_ignores_case(
    project: Path, tmp_path: Path
) -> None:
    assert "bare/config" in FolderGuard(bare_repository(project), ()).seen().git
    if not folds_case(str(tmp_path)):
        assert FolderGuard(bare_repository(tmp_path), ()).seen().git == frozenset()
