"""Checks that Indwell refuses files of a newer version, and leaves every byte of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from indwell.batch.plan import BatchPlan, BatchTask
from indwell.batch.records import (
    FolderStore,
    TaskResult,
    all_results,
    begin_batch,
    has_begun,
    write_result,
)
from indwell.bounds.git.known_state import GitNote, KeptFile
from indwell.compatibility import (
    DEPRECATIONS,
    VERSIONS,
    Deprecation,
    StoredForm,
    current_options,
    refuse_newer_page,
    with_version_comment,
)
from indwell.context.memory import Fact
from indwell.errors import NewerVersion, SettingsError, UserError
from indwell.review.records import Began, Shift
from indwell.review.store import Planned, ReviewStore, pending_sessions
from indwell.service.endpoint.learned_wires import keep_wire, learned_wire
from indwell.service.sessions.worktrees.record import WorktreeStore
from indwell.sessions.storage import automatic_deletion
from indwell.sessions.storage.drafts import WaitingWords, left_behind
from indwell.sessions.storage.store import SessionStore
from indwell.sessions.storage.task_store import TaskStore
from indwell.sessions.task_list import added
from indwell.settings.credentials import Secret
from indwell.settings.keys import KeyringUnusable, KeyStore, Ring
from indwell.settings.load import load
from indwell.settings.memory_pages import MemoryPages
from indwell.settings.permission_rules import RuleBook
from indwell.settings.trust_store import TrustStore
from indwell.settings.trusted_files import FolderAnswer
from indwell.settings.values import check

NOW = datetime(2026, 11, 28, 9, 0, tzinfo=UTC)
PLAN = BatchPlan((BatchTask(repository=".", prompt="p"),))
NEWER = "newer Indwell"
YES = FolderAnswer(trusted=True, at="2026-11-28T09:00:00+00:00")
EDIT = Began("e", "/p/a.py", "", None, Shift(is_there=True), "s", 1, "c", NOW.isoformat())


def no_ring() -> Ring:
    raise KeyringUnusable("there is no keyring")


class Kind(NamedTuple):
    """How one kind of file is written, found and used.

    Attributes:
        write: Writes the file below a state folder.
        file: The glob of the file.
        uses: Calls that read or change the file; each returns what the user is told.
    """

    write: Callable[[Path], object]
    file: str
    uses: Sequence[Callable[[Path], object]]


def keys(state: Path) -> KeyStore:
    return KeyStore(state / "keys.json", no_ring)


def rules(state: Path) -> RuleBook:
    return RuleBook(state / "permissions" / "p.json")


async def grant(state: Path) -> None:
    await rules(state).grant("a", always=True)


def pages(state: Path) -> MemoryPages:
    return MemoryPages(state / "memory", "p")


def worktrees(state: Path) -> WorktreeStore:
    return WorktreeStore({"INDWELL_STATE": str(state)}, state)


def identifier(state: Path) -> str:
    return next(state.glob("worktrees/*/*/record.json")).parent.name


def note(state: Path) -> GitNote:
    return GitNote(state / "git")


def keep_note(state: Path) -> str:
    one = note(state)
    one.news()
    damaged = one.damaged
    one.keep(KeptFile(states={"/p": "x"}))
    one.forget_damaged()
    one.keep(KeptFile(states={"/p": "y"}))
    assert (damaged, one.damaged) == (str(state / "git" / "seen.json"), "")
    return NEWER


def keep_note_over_news(state: Path) -> str:
    note(state).keep(KeptFile(states={"/p": "x"}))
    return NEWER


def review(state: Path) -> ReviewStore:
    return ReviewStore(state / "review")


def append(state: Path) -> object:
    store = review(state)
    return store.append(store.opened(NOW), lambda _state: [Planned(EDIT)]).notices


def session(state: Path) -> None:
    _, writer = SessionStore(state, state).create(model="m", now=NOW)
    asyncio.run(writer.close())


def wait(state: Path) -> None:
    """Leave an unsent prompt behind, as a killed server does."""
    waiting = WaitingWords(state / "drafts" / "p")
    waiting.keep({"a": "words"}, now=NOW)
    assert waiting._log is not None
    waiting._log.close()


def resume(state: Path) -> object:
    store = SessionStore(state, state)
    (name,) = store.ids()
    return store.resume(name, now=NOW)


def read_session(state: Path) -> object:
    store = SessionStore(state, state)
    return store.open(*store.ids()).notices


def batch(state: Path) -> FolderStore:
    return FolderStore(state / "batch")


def sweep(state: Path) -> object:
    automatic_deletion.take_untold(state)
    try:
        return automatic_deletion._read(state)
    finally:
        assert automatic_deletion.record_of(state) == automatic_deletion.SweepRecord()


def silent(use: Callable[[Path], object]) -> Callable[[Path], object]:
    def called(state: Path) -> object:
        use(state)
        return NEWER

    return called


KINDS = {
    "trust": Kind(
        lambda state: TrustStore(state).keep(Path("/p"), YES),
        "trust/answers.json",
        (
            lambda state: TrustStore(state).read().problem,
            lambda state: TrustStore(state).keep(Path("/q"), YES),
            lambda state: TrustStore(state).forget(Path("/p")),
        ),
    ),
    "permissions": Kind(
        lambda state: rules(state).replace((), "old"),
        "permissions/p.json",
        (
            lambda state: rules(state).problem,
            lambda state: rules(state).replace(("old",), "new"),
            lambda state: rules(state).revoke(["old"]),
        ),
    ),
    "keys": Kind(
        lambda state: keys(state).put("https://a.example", Secret("k-1")),
        "keys.json",
        (
            lambda state: keys(state).get("https://a.example"),
            lambda state: keys(state).put("https://b.example", None),
            lambda state: keys(state).forget("https://a.example"),
        ),
    ),
    "memory": Kind(
        lambda state: pages(state).keep(Fact("old")),
        "memory/p.md",
        (
            lambda state: pages(state).problem,
            lambda state: pages(state).keep(Fact("new")),
            lambda state: pages(state).forget("workspace", frozenset({"old"})),
        ),
    ),
    "tasks": Kind(
        lambda state: TaskStore(state, state).change(partial(added, title="old")),
        "tasks/*/tasks.json",
        (
            lambda state: TaskStore(state, state).read(),
            lambda state: TaskStore(state, state).change(partial(added, title="new")),
            lambda state: TaskStore(state, state).take_over(),
        ),
    ),
    "worktree": Kind(
        lambda state: worktrees(state).create(state, made_at="2026-11-28", is_git=False),
        "worktrees/*/*/record.json",
        (
            lambda state: worktrees(state).find(identifier(state)),
            silent(lambda state: worktrees(state).listed()),
        ),
    ),
    "git": Kind(
        lambda state: note(state).keep(KeptFile(states={"/p": "z"})),
        "git/seen.json",
        (keep_note, keep_note_over_news),
    ),
    "swept": Kind(
        lambda state: automatic_deletion._write(state, automatic_deletion.SweepRecord()),
        "swept/record.json",
        (sweep,),
    ),
    "wires": Kind(
        lambda state: keep_wire(state, None, "m", "responses"),
        "wires.json",
        (
            silent(lambda state: learned_wire(state, None, "m")),
            silent(lambda state: keep_wire(state, None, "other", "responses")),
            silent(lambda state: keep_wire(state, None, "m", None)),
        ),
    ),
    "session": Kind(session, "sessions/*/*/log.jsonl", (resume, read_session)),
    "review": Kind(
        append,
        "review/changes.jsonl",
        (
            append,
            lambda state: review(state).opened(NOW).notices,
            lambda state: NEWER if pending_sessions(state / "review") is None else "",
        ),
    ),
    "waiting": Kind(
        wait,
        "drafts/p/waiting-*.jsonl",
        (silent(lambda state: left_behind(state / "drafts" / "p")),),
    ),
    "batch plan": Kind(
        lambda state: begin_batch(batch(state), PLAN),
        "batch/plan.json",
        (lambda state: has_begun(batch(state)),),
    ),
    "batch result": Kind(
        lambda state: write_result(
            batch(state), TaskResult(id="a", digest="d", repository=".", ending="done")
        ),
        "batch/results/a.json",
        (lambda state: all_results(batch(state)),),
    ),
}


def files_below(folder: Path) -> dict[str, bytes]:
    """Return all files with content; locks are empty."""
    found = ((path, path.read_bytes()) for path in folder.rglob("*") if path.is_file())
    return {path.name: data for path, data in found if data}


@pytest.mark.parametrize("name", KINDS)
def test_a_file_of_a_newer_version_is_refused_with_advice_and_stays(tmp_path, name) -> None:
    state, kind = tmp_path / "state", KINDS[name]
    state.mkdir()
    kind.write(state)
    (path,) = state.glob(kind.file)
    data, n_found = re.subn(
        rb'("version": ?|"format":|indwell: version )1\b', rb"\g<1>99", path.read_bytes(), count=1
    )
    assert n_found == 1
    path.write_bytes(data)
    before = files_below(state)
    for use in kind.uses:
        try:
            told = str(use(state))
        except UserError as error:
            told = str(error)
            assert "update Indwell" in told
        assert NEWER in told
        assert files_below(state) == before


def test_unsent_prompts_of_this_version_are_taken_over(tmp_path) -> None:
    wait(tmp_path)
    ((_, words),) = left_behind(tmp_path / "drafts" / "p")
    assert words == ("words",)


def test_the_settings_of_a_newer_version_are_refused_with_advice() -> None:
    with pytest.raises(SettingsError, match=r"config\.toml was written by a newer .* update Indw"):
        load({}, 'version = 2\nmode = "ask"\n')
    assert load({}, 'version = 1\nmode = "ask"\n').settings.mode == "ask"
    assert load({}, 'version = 1\nmode = "ask"\n').notices == ()


@pytest.mark.parametrize("gone", ["99.0.0", "0.1.0"])
def test_a_setting_that_went_away_is_told_with_its_new_name(gone) -> None:
    names = (Deprecation("setting", "tempo", "effort", "0.1.0", gone),)
    found = check({"tempo": "low"}, "config.toml", names)
    is_gone = gone == "0.1.0"
    assert found.values == ({} if is_gone else {"effort": "low"})
    verb = "went away" if is_gone else "goes away"
    (notice,) = found.notices
    assert notice == (
        f"config.toml: the setting 'tempo' {verb} in Indwell {gone}; use 'effort' instead"
    )


def test_a_deprecated_option_works_with_a_warning_and_later_only_names_the_new_one() -> None:
    names = (
        Deprecation("option", "--quick", "--fast", "0.1.0", "99.0.0"),
        Deprecation("option", "--tempo", "--speed", "0.1.0", "0.1.0"),
    )
    words = ["run", "--quick=1", "--tempo", "2", "--", "--quick"]
    assert current_options(words, names) == (
        ["run", "--fast=1", "--tempo", "2", "--", "--quick"],
        [
            "the option '--quick' goes away in Indwell 99.0.0; use '--fast' instead",
            "the option '--tempo' went away in Indwell 0.1.0; use '--speed' instead",
        ],
    )


def test_the_page_lists_each_deprecated_name() -> None:
    page = (Path(__file__).parents[2] / "docs" / "upgrading.md").read_text(encoding="utf-8")
    for one in DEPRECATIONS:
        assert f"| `{one.old}` | `{one.new}` | {one.since} | {one.removed_in} |" in page
    assert ("No name has gone away yet." in page) == (not DEPRECATIONS)


def test_a_safety_setting_that_went_away_is_an_error_and_never_ignored() -> None:
    names = (Deprecation("setting", "forbid", "deny", "0.1.0", "0.1.0"),)
    with pytest.raises(SettingsError, match="use 'deny' instead"):
        check({"forbid": ["*.pem"]}, "config.toml", names)


@pytest.mark.parametrize("data", [b"[]", b'{"version":1,"rules":[]}'])
def test_a_file_without_a_version_counts_as_version_0_and_is_upgraded(data) -> None:
    form: StoredForm[list[str]] = StoredForm("permissions", list[str], "it", member="rules")
    assert form.decode(data) == []


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b'{"version":"1"}', b'{"version":-1,"rules":[]}'),
        *(b'{"version":1,"rules":' + b"[" * 100_000, b'{"version":1,"rules":["\xff"]}'),
        b'{"version":' + b"9" * 5_000 + b',"rules":[]}',
        *(rb'{"version":"\ud800","rules":[]}', rb'{"version":1,"rules":[],"\ud800":0}'),
    ],
)
def test_a_damaged_version_is_an_error_and_not_an_old_version(data) -> None:
    form: StoredForm[list[str]] = StoredForm("permissions", list[str], "it", member="rules")
    with pytest.raises(msgspec.DecodeError):
        form.decode(data)


def test_a_check_of_the_version_alone_reports_deep_nesting_as_damage() -> None:
    form: StoredForm[list[str]] = StoredForm("permissions", list[str], "it", member="rules")
    with pytest.raises(msgspec.DecodeError):
        form.check(b'{"version":1,"rules":' + b"[" * 100_000)


def test_a_changed_page_gets_the_version_of_the_program_that_changed_it() -> None:
    old = "# Facts\n\n<!-- indwell: version 0 -->\n\n- a\n"
    assert with_version_comment("memory", old) == old.replace("version 0", "version 1")
    assert with_version_comment("memory", "- a\n") == "- a\n"


def test_a_fact_that_quotes_a_version_does_not_make_the_page_newer() -> None:
    page = "- We write <!-- indwell: version 999 --> into pages\n<!-- indwell: version 1 -->\n"
    refuse_newer_page("memory", page, "the page")
    with pytest.raises(NewerVersion):
        refuse_newer_page("memory", "- a\r\n<!-- indwell: version 999 -->\r\n", "the page")
    with pytest.raises(NewerVersion):
        refuse_newer_page("memory", f"<!-- indwell: version {'9' * 5_000} -->", "the page")


@pytest.mark.parametrize("version", ["-1", "1.0", "true", "\u0661"])
def test_a_page_of_facts_with_a_version_that_is_no_number_is_refused_and_stays(
    tmp_path, version
) -> None:
    memory, page = pages(tmp_path), tmp_path / "memory" / "p.md"
    memory.keep(Fact("old"))
    page.write_bytes(page.read_bytes().replace(b"version 1", f"version {version}".encode()))
    before = files_below(tmp_path)
    assert memory.problem.endswith("which is not a number); fix or delete the file")
    assert memory.facts("workspace") == ()
    with pytest.raises(SettingsError, match="is not a number"):
        memory.keep(Fact("new"))
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("version", ["-1", "0", "true", "1.0", "nan", '"1"', "[]"])
def test_settings_whose_version_is_no_number_from_1_on_are_refused(version) -> None:
    with pytest.raises(SettingsError, match="'version' is .*; write 1, or remove the line"):
        load({}, f'version = {version}\nmode = "ask"\n')


@pytest.mark.parametrize("version", [b"-1", b"0", b"1.5", b"true", b"null", b'"1"', b"9" * 5_000])
@pytest.mark.parametrize("name", ["session", "review"])
def test_a_log_whose_format_is_no_number_from_1_on_is_reported_as_damaged(
    tmp_path, name, version
) -> None:
    KINDS[name].write(tmp_path)
    (log,) = tmp_path.glob(KINDS[name].file)
    log.write_bytes(log.read_bytes().replace(b'"format":1', b'"format":' + version, 1))
    before = log.read_bytes()
    told = read_session(tmp_path) if name == "session" else review(tmp_path).opened(NOW).notices
    assert "damaged" in str(told)
    assert log.read_bytes() == before


def test_names_that_are_not_utf_8_survive_in_a_stored_file() -> None:
    form: StoredForm[list[str]] = StoredForm("permissions", list[str], "it", member="rules")
    assert form.decode(form.encode(["a\udcff"])) == ["a\udcff"]
    with pytest.raises(NewerVersion):
        form.decode(form.encode(["a\udcff"]).replace(b":1,", b":2,"))


def test_every_stored_thing_with_a_version_is_tested() -> None:
    derived = {
        *("models", "worktree files", "evaluation", "settings", "batch", "setup", "editors"),
    }
    assert {*KINDS, *derived} - {"batch plan", "batch result"} == {*VERSIONS}
