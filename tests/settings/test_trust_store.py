"""The user's trust answers are stored completely, or no folder is trusted."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from indwell.errors import SettingsError
from indwell.files.locks import locked
from indwell.settings.trust_store import LIMIT_B, MOST_LINES, Answers, TrustStore
from indwell.settings.trusted_files import FolderAnswer, TrustedFile, line_digest, seen
from support.platforms import posix_only

YES = FolderAnswer(
    trusted=True, at="2026-11-21T19:00:00+00:00", files={"AGENTS.md": TrustedFile("d", ("l",))}
)
NO = FolderAnswer(trusted=False, at="2026-11-21T19:00:00+00:00")
A = str(Path("/a"))  # contains a backslash on Windows
N_WRITERS, N_PROCESSES = 100, 10

WRITER = """
import sys, threading
from pathlib import Path
from indwell.settings.trust_store import TrustStore
from indwell.settings.trusted_files import FolderAnswer
store, first, n = TrustStore(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3])
def write(number):
    store.keep(Path(f"/work/{number}"), FolderAnswer(trusted=True, at="now"))
threads = [threading.Thread(target=write, args=(number,)) for number in range(first, first + n)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


@pytest.fixture
def store(tmp_path) -> TrustStore:
    return TrustStore(tmp_path / "state")


def test_a_missing_trust_file_gives_no_answers_and_no_problem(store) -> None:
    assert store.read() == Answers()


def test_trust_answers_are_stored_and_deleted(store) -> None:
    store.keep(Path("/a"), YES)
    store.keep(Path("/a/b"), NO)
    assert store.read() == Answers({A: YES, str(Path("/a/b")): NO})
    assert store.forget(Path("/a"))
    assert not store.forget(Path("/a"))
    assert store.read() == Answers({str(Path("/a/b")): NO})
    if sys.platform != "win32":
        modes = (store.path.stat().st_mode & 0o777, store.path.parent.stat().st_mode & 0o777)
        assert modes == (0o600, 0o700)


def test_the_trust_file_stores_no_text_of_a_file(store) -> None:
    kept = seen(b"export KEY=hunter2\n", lines=("export KEY=hunter2",))
    store.keep(Path("/a"), FolderAnswer(trusted=True, at="now", files={".envrc": kept}))
    assert b"hunter2" not in store.path.read_bytes()
    assert kept.lines == (line_digest("export KEY=hunter2"),)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"version": 1, "folders": {"/a": {"trusted": "yes", "at": ""}}}',
        b'{"folders": {}}',
        b'{"version": 1, "folders": {"/a": {"trusted": true, "at": ""}}',
    ],
)
def test_tru_07_a_broken_trust_file_trusts_no_folder_and_stays_unchanged(store, text) -> None:
    store.keep(Path("/a"), YES)
    store.path.write_bytes(text)
    answers = store.read()
    assert answers.folders == {}
    assert "cannot be used" in answers.problem
    assert store.path.as_posix() in answers.problem
    assert answers.remedy == "fix that file"
    with pytest.raises(SettingsError, match="fix it, or move it away"):
        store.keep(Path("/b"), NO)
    with pytest.raises(SettingsError, match="fix it, or move it away"):
        store.forget(Path("/a"))
    assert store.path.read_bytes() == text


def test_a_trust_file_of_a_newer_indwell_advises_an_update(store) -> None:
    store.keep(Path("/a"), YES)
    store.path.write_bytes(b'{"version": 999, "folders": {}}')
    answers = store.read()
    assert "update Indwell" in answers.problem
    assert answers.remedy == "update Indwell"


@posix_only("modes")
def test_tru_07_a_trust_file_writable_by_others_trusts_no_folder_and_stays_unchanged(store) -> None:
    store.keep(Path("/a"), YES)
    before = store.path.read_bytes()
    store.path.chmod(0o666)
    answers = store.read()
    assert answers.folders == {}
    assert "others may write" in answers.problem
    with pytest.raises(SettingsError, match="others may write"):
        store.keep(Path("/b"), YES)
    assert store.path.read_bytes() == before


def test_a_folder_in_place_of_the_trust_file_trusts_no_folder(store) -> None:
    store.path.mkdir(parents=True, mode=0o700)
    assert "cannot be used" in store.read().problem


def test_tru_08_a_hundred_writers_at_once_lose_no_answer(store) -> None:
    each = N_WRITERS // N_PROCESSES
    state = str(store.path.parent.parent)
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, state, str(first), str(each)])
        for first in range(0, N_WRITERS, each)
    ]
    while any(writer.poll() is None for writer in writers):
        assert store.read().problem == ""  # the file is complete at every moment
    assert {writer.returncode for writer in writers} == {0}
    assert set(store.read().folders) == {str(Path(f"/work/{n}")) for n in range(N_WRITERS)}
    assert json.loads(store.path.read_bytes())["version"] == 1


def test_a_reader_of_a_half_written_file_waits_for_the_writer(store) -> None:
    store.keep(Path("/a"), YES)
    whole = store.path.read_bytes()
    with ThreadPoolExecutor(1) as threads:
        with locked(store.path.parent / "lock", timeout_s=60):
            store.path.write_bytes(whole[:-9])
            reader = threads.submit(store.read)
            with pytest.raises(TimeoutError):
                reader.result(0.2)
            store.path.write_bytes(whole)
        assert reader.result(60) == Answers({A: YES})


def test_m2_a_trust_answer_about_very_many_lines_stores_only_a_few_lines(store) -> None:
    files = {str(number): TrustedFile("d" * 64, ("l" * 12,) * 999) for number in range(500)}
    store.keep(Path("/evil"), FolderAnswer(trusted=True, at="now", files=files))
    store.keep(Path("/a"), YES)
    kept = store.read().folders
    assert kept[A] == YES
    assert {name: one.digest for name, one in kept[str(Path("/evil"))].files.items()} == {
        name: one.digest for name, one in files.items()
    }
    assert sum(len(one.lines) for one in kept[str(Path("/evil"))].files.values()) <= MOST_LINES
    assert store.path.stat().st_size < LIMIT_B / 100


def test_m2_a_trust_answer_too_large_to_store_is_refused_and_other_answers_are_kept(store) -> None:
    store.keep(Path("/a"), YES)
    before = store.path.read_bytes()
    files = {"n" * 200 + str(number): TrustedFile("d" * 64) for number in range(70_000)}
    with pytest.raises(SettingsError, match="is full; revoke"):
        store.keep(Path("/evil"), FolderAnswer(trusted=True, at="now", files=files))
    assert store.path.read_bytes() == before
    assert store.read() == Answers({A: YES})
