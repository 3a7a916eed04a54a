"""Reads the files that each release wrote, and compares outputs with those of the last release."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indwell.batch.records import FolderStore, all_results, has_begun
from indwell.bounds.git.known_state import GitNote
from indwell.cli.interactive.history import LineHistory
from indwell.evaluation.report import REPORT_FORM
from indwell.review.ledger_replay import LedgerState
from indwell.review.store import LedgerReading, ReviewStore, pending_sessions
from indwell.service.endpoint import model_list
from indwell.service.endpoint.learned_wires import learned_wire
from indwell.service.sessions.worktrees.record import WorktreeStore
from indwell.sessions.storage.automatic_deletion import record_of
from indwell.sessions.storage.drafts import DraftStore, left_behind
from indwell.sessions.storage.spending import SpendingLedger
from indwell.sessions.storage.store import SessionStore, folder_name, review_folder
from indwell.sessions.storage.task_store import TaskStore
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring
from indwell.settings.load import load
from indwell.settings.memory_pages import MemoryPages
from indwell.settings.permission_rules import RuleBook
from indwell.settings.trust_store import TrustStore
from stored.forms import forms
from stored.scenario import (
    EVALUATION,
    HERE,
    PROJECT,
    READING,
    ROOT,
    WORKING,
    Schema,
    breaks,
    schema_breaks,
    schema_of,
    title,
    write_project,
)
from support.terminal import indwell

RELEASES = sorted(path.name for path in HERE.iterdir() if (path / "state").is_dir())
LAST = HERE / RELEASES[-1]
NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="written on Linux")
posix_paths = pytest.mark.skipif(sys.platform == "win32", reason="the files have POSIX paths")


def no_ring() -> Ring:
    raise KeyringUnusable("there is no keyring")


def restored(release: str, root: Path) -> Path:
    """Restore the files of a release below ``root``; return the project's folder."""
    project, kept = write_project(root), HERE / release
    for path in kept.rglob("*"):
        if path.is_file() and path.parent != kept:
            name = str(path.relative_to(kept)).replace("project-HASH", folder_name(project))
            place = root / name
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            place.write_bytes(path.read_bytes().replace(ROOT.encode(), str(root).encode()))
            place.chmod(0o600)
    return project


@pytest.fixture(params=RELEASES)
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return the project of a release, with that release's files beside it."""
    return restored(request.param, tmp_path.resolve())


@posix_paths
async def test_answers_and_settings_of_each_release_are_read(project: Path) -> None:
    root, state = project.parent, project.parent / "state"
    answers = TrustStore(state).read()
    assert answers.problem == ""
    assert answers.folders[str(project)].trusted
    book = RuleBook(state / "permissions" / f"{folder_name(project)}.json")
    assert (book.always, book.problem) == ((f"bash in {project}: make test",), "")
    asked = RuleBook(state / "mcp" / f"{folder_name(project)}.json")
    assert (len(asked.always), asked.problem) == (1, "")
    key = KeyStore(root / "config/indwell/keys.json", no_ring).get("https://models.example")
    assert key is not None
    assert key.key is not None
    assert key.key.reveal() == "made-up-key"
    text = (root / "config/indwell/config.toml").read_text(encoding="utf-8")
    assert load({}, text).settings.budget_day == 5.0
    assert load({}, text).notices == ()
    pages = MemoryPages(state / "memory", folder_name(project))
    (fact,) = pages.facts("workspace")
    assert (fact.text, pages.problem) == ("The tests run with unittest", "")


@posix_paths
async def test_work_of_each_release_is_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = project.parent / "state"
    (task,) = TaskStore(state, project).read().tasks
    assert (task.id, task.title) == ("t1", "Write a page of help")
    worktrees = WorktreeStore({"INDWELL_STATE": str(state)}, project)
    (worktree,) = worktrees.listed()
    assert set(worktrees.files(worktree)) == {"invoice.py", "test_invoice.py", ".mcp.json"}
    assert ReviewStore(worktrees.ledger(worktree)).opened(NOW).notices == ()
    note = GitNote(state / "git" / folder_name(project))
    seen = note.news()
    assert seen is not None
    assert (str(project) in seen.states, note.damaged) == (True, "")
    assert record_of(state).believed == NOW.isoformat()
    assert learned_wire(state, "https://models.example/v1", "house-model") == "responses"
    monkeypatch.setenv("INDWELL_STATE", str(state))
    (told,) = model_list._kept().values()
    assert told.model is not None
    assert told.model.window == 64_000
    (draft,) = DraftStore(state, project).untold()
    assert draft.read_text(encoding="utf-8") == "An unsent prompt\n"
    ((_, words),) = left_behind(state / "drafts" / folder_name(project))
    assert words == ("A waiting prompt",)
    assert LineHistory(state).lines() == ["Fix the bug"]
    ledger = SpendingLedger(state, lambda: NOW)
    assert await ledger.today() == pytest.approx(0.25)
    await ledger.close()


@posix_paths
async def test_sessions_and_reviews_of_each_release_are_read(project: Path) -> None:
    state = project.parent / "state"
    store = SessionStore(state, project)
    for name in store.ids():
        reading, writer = store.resume(name, now=NOW)
        assert (len(reading.records) > 10, reading.notices) == (True, ())
        await writer.close()
    folder = review_folder(state, project)
    reading = ReviewStore(folder).read_on(LedgerReading(LedgerState()))
    assert reading.notices == ()
    assert list(reading.state.files) == [str(project / "invoice.py")]
    assert pending_sessions(folder) == {store.ids()[0]}


@pytest.mark.parametrize("release", RELEASES)
def test_batches_and_evaluations_of_each_release_are_read(release: str) -> None:
    for name, task in (("batch", "fix"), ("eval", "fix.a1.s1")):
        store = FolderStore(HERE / release / name)
        assert has_begun(store)
        result = all_results(store)[task]
        assert (result.ending, result.patch.files) == ("done", ("invoice.py",))
    report = REPORT_FORM.decode((HERE / release / "eval" / "report.json").read_bytes())
    assert [(one.n, one.n_passed) for one in report.arms] == [(1, 1)]
    kept = json.loads((LAST / "outputs.schema.json").read_text(encoding="utf-8"))
    shape = schema_of(REPORT_FORM.encode(report).decode())[""]
    assert breaks(kept[title(EVALUATION)][""], shape, "eval --json") == []


def environment(project: Path) -> Mapping[str, str]:
    """Return the variables for the program beside a project."""
    root = project.parent
    inherited = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {
        **inherited,
        "HOME": str(root),
        "XDG_CONFIG_HOME": str(root / "config"),
        "INDWELL_STATE": str(root / "state"),
        "INDWELL_PROVIDER": "scripted",
    }


async def outputs(project: Path, commands: Iterable[Sequence[str]]) -> dict[str, Schema]:
    """Run the commands in a project; return the shapes of their outputs."""
    session = SessionStore(project.parent / "state", project).ids()[0]
    found = {}
    for command in commands:
        words = [session if word == "SESSION" else word for word in command]
        ended = await indwell(*words, environment=environment(project), folder=project)
        assert ended.code in {0, 1}, ended
        found[title(command)] = schema_of(ended.stdout)
    return found


def broken(found: Mapping[str, Schema]) -> list[str]:
    """Compare outputs with those of the last release; a kind of event may be missing."""
    kept = json.loads((LAST / "outputs.schema.json").read_text(encoding="utf-8"))
    return [
        problem
        for command, schemas in found.items()
        for kind, schema in schemas.items()
        if kind in kept[command]
        for problem in breaks(kept[command][kind], schema, f"{command} {kind}")
    ]


@linux_only
async def test_outputs_about_kept_files_keep_their_fields(project: Path) -> None:
    assert broken(await outputs(project, READING)) == []


@linux_only
async def test_outputs_of_work_on_kept_files_keep_their_fields(project: Path) -> None:
    shutil.rmtree(project.parent / "batch")
    shutil.rmtree(project.parent / "state" / "memory")
    assert broken(await outputs(project, WORKING)) == []


@linux_only
async def test_a_kept_session_goes_back_to_its_beginning_with_its_files(project: Path) -> None:
    edited = PROJECT["invoice.py"].replace("total = item", "total += item")
    (project / "invoice.py").write_bytes(edited.encode())
    session = SessionStore(project.parent / "state", project).ids()[0]
    words = ("run", "--resume", session, "--turn", "0", "--files", "--scripted")
    ended = await indwell(*words, environment=environment(project), folder=project)
    assert ended.code == 0, ended
    assert (project / "invoice.py").read_text(encoding="utf-8") == PROJECT["invoice.py"]


def test_the_protocol_keeps_the_fields_of_the_last_release() -> None:
    kept = json.loads((LAST / "protocol.schema.json").read_text(encoding="utf-8"))
    page = HERE.parents[1] / "docs" / "protocol.schema.json"
    present = json.loads(page.read_text(encoding="utf-8"))
    assert schema_breaks(kept, present) == []


def test_a_file_that_is_written_again_gets_a_new_version_with_each_new_field() -> None:
    """An older Indwell would drop a field that it does not know."""
    kept = json.loads((LAST / "forms.schema.json").read_text(encoding="utf-8"))
    present = json.loads(json.dumps(forms()))
    assert kept.keys() <= present.keys()
    for name, old in kept.items():
        new = present[name]
        if old["is_rewritten"] and new["version"] == old["version"]:
            assert new == old, f"{name} changed: raise its version in compatibility.VERSIONS"
        else:
            assert schema_breaks(old["schema"], new["schema"]) == []


def test_a_removed_field_and_a_changed_type_are_breaks_and_a_new_field_is_none() -> None:
    old = schema_of('{"type": "a", "n": 1, "rows": [{"id": "x"}]}')
    assert breaks(old["a"], schema_of('{"type": "a", "n": 2, "m": 1, "rows": []}')["a"]) == []
    new = schema_of('{"type": "a", "n": "1", "rows": [{}]}')
    assert sorted(breaks(old["a"], new["a"], "x")) == [
        "x.n was number and is string now",
        "x.rows[].id went away",
    ]


def test_a_definition_that_loses_a_field_or_changes_a_type_is_a_break() -> None:
    old = {"$defs": {"A": {"properties": {"x": {"type": "string"}, "y": {"type": "null"}}}}}
    new = {"$defs": {"A": {"properties": {"x": {"type": "integer"}, "z": {"type": "null"}}}}}
    assert sorted(schema_breaks(old, new)) == ["A.x changed", "A.y went away"]
    assert schema_breaks(old, old) == []
