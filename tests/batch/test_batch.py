"""``indwell batch``: one result for each task, whatever dies; one budget over all workers."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import msgspec
import pytest

from indwell import __version__
from indwell.batch.attempt import AttemptJob, attempt, clear
from indwell.batch.child_run import BatchOptions
from indwell.batch.driver import (
    BatchEvent,
    BatchRun,
    LocalPurse,
    TaskEnded,
    TaskWaits,
    WorkerLost,
    no_room_words,
)
from indwell.batch.on_ray import check_reached, store_at
from indwell.batch.plan import BatchPlan, BatchTask, WrongTasks, left_over, read_plan
from indwell.batch.purse import AskAgain, Grant, NoMoney, NoRoom, Purse, PurseState
from indwell.batch.records import (
    AttemptEnd,
    BatchStore,
    FolderStore,
    SpendingBound,
    TaskResult,
    all_results,
    begin_attempt,
    begin_batch,
    has_begun,
    note_end,
    spent_before,
    write_result,
)
from indwell.batch.warm_start import OWN_PROGRAM, WarmStart
from indwell.batch.workspace import AttemptPlace, patch_between, prepare, snapshot
from indwell.errors import ToolError, UserError
from indwell.files.append_log import make_private_folder
from indwell.sandbox.capture import Feed
from indwell.sandbox.leftovers.processes import processes
from indwell.sandbox.program import Finished, run_program
from indwell.sandbox.starting import start_plainly
from indwell.service.endpoint.learned_wires import keep_wire, learned_wire, share_wires
from support.editing import EDIT, READ, SOURCE, USAGE, Home
from support.forging import hostile_repository
from support.loopback_endpoint import Seen, endpoint_in_thread, say
from support.terminal import indwell


def task(name: str, **more: object) -> BatchTask:
    return BatchTask(repository=f"/made-up/{name}", prompt="Fix it.", id=name, **more)


def result_of(one: BatchTask) -> TaskResult:
    return TaskResult(id=one.id, digest=one.digest, repository=one.repository, ending="done")


# The file of tasks


def test_a_matrix_gives_a_task_for_each_combination_with_its_values_in_the_texts() -> None:
    plan = read_plan(
        """
        [defaults]
        prompt = "Move to {{version}}."
        max_rounds = 9
        [matrix]
        repository = ["a", "b"]
        version = ["1.0", 2]
        """,
        is_toml=True,
        folder="/lists",
    )
    assert [(one.repository, one.prompt, one.max_rounds) for one in plan.tasks] == [
        ("/lists/a", "Move to 1.0.", 9),
        ("/lists/a", "Move to 2.", 9),
        ("/lists/b", "Move to 1.0.", 9),
        ("/lists/b", "Move to 2.", 9),
    ]
    assert len({one.id for one in plan.tasks}) == 4
    assert plan.tasks[1].labels == {"repository": "a", "version": "2"}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"repository": "a"}, "missing required field `prompt`"),
        ({"repository": "a", "prompt": "x", "cost": 1}, "unknown field `cost`"),
        ({"repository": "https://me:word@host/r.git", "prompt": "x"}, "a user or a password"),
        ({"repository": "ext::sh -c x://y", "prompt": "x"}, "only addresses with https and ssh"),
        ({"repository": "a", "prompt": "x", "revision": "--upload-pack=x"}, "hyphen"),
        ({"repository": "a", "prompt": "x", "max_cost": 0}, "more than 0"),
    ],
)
def test_a_wrong_task_is_refused_with_its_line(row, words) -> None:
    with pytest.raises(WrongTasks, match=rf"line 1: .*{words}"):
        read_plan(json.dumps(row), is_toml=False, folder="/lists")


def test_two_tasks_of_one_id_are_refused() -> None:
    row = json.dumps({"repository": "a", "prompt": "x"})
    with pytest.raises(WrongTasks, match="2 tasks have the id"):
        read_plan(f"{row}\n{row}\n", is_toml=False, folder="/lists")


def test_a_task_that_changed_after_its_result_is_refused() -> None:
    plan = read_plan('{"repository": "a", "prompt": "x", "id": "one"}', is_toml=False, folder="/")
    assert left_over(plan, {"one": plan.tasks[0].digest}) == []
    with pytest.raises(WrongTasks, match="'one' has changed"):
        left_over(plan, {"one": "another digest"})


# Money and tokens


def test_held_and_spent_money_together_never_exceed_the_budget() -> None:
    purse = Purse(1.0, None)
    grants = [purse.ask(f"w{n}", 10, 0.4, 0.0) for n in range(3)]
    assert [type(one) for one in grants] == [Grant, Grant, AskAgain]
    purse.settle(grants[0].id, 5, 0.1)
    third = purse.ask("w2", 10, 0.4, 0.0)
    assert isinstance(third, Grant)
    purse.close_calls("w1")  # A dead worker's call counts in full.
    purse.settle(third.id, 5, 0.3)
    assert purse.state == PurseState(pytest.approx(0.8), 20, 0, 3)
    assert isinstance(purse.ask("w3", 10, 0.4, 0.0), NoMoney)


def test_a_budget_needs_a_price() -> None:
    assert isinstance(Purse(1.0, None).ask("w", 10, None, 0.0), NoMoney)
    assert isinstance(Purse(None, None).ask("w", 10, None, 0.0), Grant)


def test_tokens_of_a_minute_are_handed_out_as_time_passes() -> None:
    purse = Purse(None, 600)
    assert purse.ask("a", 600, None, 0.0) == Grant(1)
    assert purse.ask("b", 100, None, 0.0) == AskAgain(10.0)
    assert purse.ask("b", 100, None, 10.0) == Grant(2)
    purse.settle(1, 100, None)  # The first call used 500 tokens less than it held.
    assert purse.ask("c", 500, None, 10.0) == Grant(3)
    assert purse.ask("d", 10_000, None, 70.0) == Grant(4)  # A larger call than a minute allows.


async def test_a_killed_batch_leaves_a_bound_that_no_granted_call_exceeds(tmp_path) -> None:
    """Nothing is closed, as after a kill; each call of a cent is granted, and few are settled."""
    store = FolderStore(tmp_path)
    purse = LocalPurse(Purse(1.0, None), SpendingBound(store))
    for number in range(50):
        grant = await purse.ask(f"w{number}", 10, 0.01)
        assert spent_before(store, {}) >= purse.purse.state.most
        if number % 2:
            await purse.settle(grant.id, 10, 0.005)
    assert 0.375 <= spent_before(store, {}) <= 0.375 * 1.01 + 0.02
    assert len(list((tmp_path / "spent").iterdir())) < 50

    await purse.close()
    assert spent_before(store, {}) == pytest.approx(0.375)
    resumed = LocalPurse(Purse(0.38, None, spent=spent_before(store, {})), SpendingBound(store))
    assert isinstance(await resumed.ask("w", 10, 0.01), NoMoney)


async def test_a_call_whose_bound_cannot_be_written_is_not_granted(tmp_path) -> None:
    purse = LocalPurse(Purse(1.0, None), SpendingBound(FolderStore(tmp_path)))
    (tmp_path / "spent").write_text("a file where a folder has to be")
    assert isinstance(await purse.ask("w", 10, 0.01), NoRoom)
    assert purse.purse.state.most == 0.0


def test_a_full_disk_and_a_refused_permission_are_told_apart() -> None:
    told = [no_room_words(OSError(number, "reason")) for number in (errno.ENOSPC, errno.EACCES)]
    full = "the disk of --to is full, so the cost of the batch cannot be written; make room"
    refused = "the cost of the batch may not be written to --to (reason); check the permissions of "
    assert told == [full, f"{refused}that folder"]


# Records


@pytest.fixture(params=["folder", "file", "memory"])
def store(request, tmp_path) -> BatchStore:
    """A folder, or an address of fsspec."""
    if request.param == "folder":
        return FolderStore(tmp_path / "out")
    return store_at(f"{request.param}://{tmp_path}/out")


def test_each_store_writes_a_name_once_and_lists_only_records(store) -> None:
    assert (store.names("results"), store.read("results/a.json")) == ((), None)
    assert store.write_new("results/a.json", b"first")
    assert not store.write_new("results/a.json", b"second")
    assert store.write_new("results/b.json", b"")
    assert store.write_new("results/a.tmp", b"unfinished")
    assert store.names("results") == ("a.json", "b.json")
    assert [store.read(f"results/{one}.json") for one in "ab"] == [b"first", b""]


def test_each_store_keeps_a_batch_for_its_next_run(store) -> None:
    one, plan = task("one"), BatchPlan((task("one"), task("two")))
    assert not has_begun(store)
    begin_batch(store, plan)
    assert has_begun(store)
    assert [begin_attempt(store, "one", {}) for _ in range(2)] == [1, 2]
    assert write_result(store, result_of(one))
    assert not write_result(store, result_of(one))
    note_end(store, "two", 1, AttemptEnd("lost", cost=0.25))
    results = all_results(store)
    assert results == {"one": result_of(one)}
    assert spent_before(store, results) == 0.25
    SpendingBound(store).cover(1.0)
    SpendingBound(store).cover(2.0)
    assert spent_before(store, results) == pytest.approx(2.02)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_exactly_one_of_many_writers_writes_a_result(scheme: str, tmp_path) -> None:
    store = store_at(f"{scheme}{tmp_path}/out")
    one, won = task("one"), []
    start = threading.Barrier(8)

    def write(number: int) -> None:
        start.wait()
        mine = msgspec.structs.replace(result_of(one), attempt=number)
        if write_result(store, mine):
            won.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(won) == 1
    assert all_results(store)["one"].attempt == won[0]
    assert store.names("results") == ("one.json",)


def test_each_attempt_gets_a_number_of_its_own(tmp_path) -> None:
    store = FolderStore(tmp_path)
    assert [begin_attempt(store, "a.1", {}) for _ in range(3)] == [1, 2, 3]
    assert begin_attempt(store, "a", {}) == 1


@pytest.mark.parametrize(
    "name", ["../secret", "files/../../secret", "/etc/passwd", "..\\secret", ""]
)
def test_a_foreign_record_leads_to_no_file_outside_of_the_batchs_folder(
    tmp_path, name: str
) -> None:
    (tmp_path / "secret").write_text("of the user")
    with pytest.raises(UserError, match="outside of the batch's folder"):
        FolderStore(tmp_path / "batch").read(name)


def test_only_workspaces_of_dead_processes_are_removed(tmp_path) -> None:
    work = tmp_path / "work"
    for name in ("dead.1", "alive.1"):
        make_private_folder(work / name / "tree")
        (work / f"{name}.lock").touch()
    held = subprocess.Popen(
        ["flock", str(work / "alive.1.lock"), "sh", "-c", "echo held; read wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with held:
        assert held.stdout.readline() == b"held\n"
        assert clear(work) == 1
        assert sorted(path.name for path in work.iterdir()) == ["alive.1", "alive.1.lock"]
        held.stdin.close()
    assert clear(work) == 1
    assert not work.exists()


async def test_a_machine_without_a_secret_begins_no_attempt(tmp_path) -> None:
    store = FolderStore(tmp_path)
    job = AttemptJob(task("one"), BatchOptions(secrets=("MADE_UP",)))
    with pytest.raises(UserError, match="lacks the variable MADE_UP"):
        await attempt(
            job,
            store=store,
            work=tmp_path / "work",
            purse=LocalPurse(Purse(None, None), SpendingBound(store)),
            environment={"MADE_UP": ""},
            start=start_plainly,
            stop=asyncio.Event(),
        )
    assert not list(tmp_path.iterdir())


def test_the_api_that_an_endpoint_asked_for_is_shared_by_attempts(tmp_path) -> None:
    first, user, second = (tmp_path / name for name in ("first", "user", "second"))
    keep_wire(user, "http://other", "m", "chat")
    keep_wire(first, "http://one", "m", "responses")
    share_wires(first, user)
    share_wires(user, second)
    assert learned_wire(second, "http://one", "m") == "responses"
    assert learned_wire(second, "http://other", "m") == "chat"


# The process that starts runs


def forking_processes() -> list[int]:
    own = [one.pid for one in processes() if one.parent == os.getpid()]
    return [one for one in own if b"forking" in Path(f"/proc/{one}/cmdline").read_bytes()]


@pytest.mark.skipif(sys.platform != "linux", reason="forks are only for Linux")
async def test_forked_runs_are_apart_and_end_with_the_process_that_forks_them(tmp_path) -> None:
    start, feed, lines = WarmStart(hidden=("MADE_UP",)), Feed(), []
    asked = asyncio.Event()

    def heard(data: bytes) -> None:
        lines.append(data)
        if b"callAsked" in data:
            asked.set()

    async def run(*words: str, stdin: Feed | None = None, **more: object) -> Finished:
        env = {"INDWELL_STATE": str(tmp_path / "state"), "OPENAI_API_KEY": "k", "MADE_UP": "s"}
        argv = (*OWN_PROGRAM, *words)
        return await run_program(
            argv,
            cwd=tmp_path,
            timeout_s=None,
            env=env,
            pool=None,
            start=start,
            stdin=stdin or Feed(),
            **more,
        )

    try:
        waiting = asyncio.create_task(
            run("run", "--scripted", "--metered", "--json", "x", stdin=feed, on_chunk=heard)
        )
        await asyncio.wait(
            {waiting, asyncio.create_task(asked.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        version, wrong = await asyncio.gather(run("--version"), run("--no-such-option"))
        assert (version.exit_code, version.output) == (0, f"indwell {__version__}\n")
        assert (wrong.exit_code, wrong.output) == (2, "")
        assert b"--no-such-option" in wrong.errors

        (forking,) = forking_processes()
        if not os.geteuid():  # The kernel shows the variables of the process only to root.
            given = Path(f"/proc/{forking}/environ").read_bytes().split(b"\0")
            names = {one.partition(b"=")[0] for one in given}
            assert b"PATH" in names
            assert not names & {b"OPENAI_API_KEY", b"MADE_UP"}

        os.kill(forking, signal.SIGKILL)
        assert (await run("--version")).exit_code == 0  # begun while the killed process ends
        assert (await waiting).exit_code == -signal.SIGKILL
    finally:
        await asyncio.to_thread(start.close)
    assert not forking_processes()


# Order, retries, stop


class MadeUpEngine:
    """Ends each attempt as a script says, and counts attempts."""

    def __init__(self, script: Callable[[str, int], AttemptEnd | Exception]) -> None:
        self.n_workers = 2
        self.attempts: list[str] = []
        self.running = asyncio.Event()
        self._script = script

    async def attempt(self, job: AttemptJob, stop: asyncio.Event) -> AttemptEnd:
        self.attempts.append(job.task.id)
        end = self._script(job.task.id, self.attempts.count(job.task.id))
        if end is None:
            self.running.set()
            await stop.wait()
            return AttemptEnd("stopped")
        if isinstance(end, Exception):
            raise end
        return end

    async def spent(self) -> PurseState:
        return PurseState(0.0, 0, 0.0, 0)

    async def close_orphans(self) -> int:
        return 0

    async def close(self) -> None:
        pass


async def driven(tmp_path, script, tasks) -> tuple[str, MadeUpEngine, list[BatchEvent]]:
    engine, told = MadeUpEngine(script), []
    store = FolderStore(tmp_path)
    run = BatchRun(
        tasks, BatchOptions(), engine, store, told.append, sleep=lambda _s: asyncio.sleep(0)
    )
    return await run.run(), engine, told


async def test_failures_are_retried_by_their_kind(tmp_path) -> None:
    good, down, dead, bad = (task(name) for name in ("good", "down", "dead", "bad"))
    done = {one.id: AttemptEnd("result", result=result_of(one)) for one in (good, down, dead, bad)}
    failed = msgspec.structs.replace(done["bad"].result, ending="failed")

    def script(name: str, number: int) -> AttemptEnd | Exception:
        if name == "down" and number < 3:
            return AttemptEnd("unreachable", "nobody answers")
        if name == "dead":
            return WorkerLost("killed")
        return AttemptEnd("result", result=failed) if name == "bad" else done[name]

    ending, engine, told = await driven(tmp_path, script, [good, down, dead, bad])
    counts = {name: engine.attempts.count(name) for name in ("good", "down", "dead", "bad")}
    assert counts == {"good": 1, "down": 3, "dead": 2, "bad": 1}
    ended = {one.result.id: one.result.ending for one in told if isinstance(one, TaskEnded)}
    assert ended == {"good": "done", "down": "done", "dead": "lost", "bad": "failed"}
    assert [one.seconds for one in told if isinstance(one, TaskWaits) and one.id == "down"] == [
        5.0,
        10.0,
    ]
    assert ending == "done"
    assert all_results(FolderStore(tmp_path))["dead"].ending == "lost"


async def test_used_up_money_begins_no_more_tasks_and_leaves_them_open(tmp_path) -> None:
    tasks = [task(f"t{n}") for n in range(9)]
    ending, engine, _ = await driven(tmp_path, lambda *_: AttemptEnd("budget", "used up"), tasks)
    assert (ending, engine.attempts) == ("budget", ["t0"])
    assert all_results(FolderStore(tmp_path)) == {}


async def test_a_cancellation_stops_the_attempts_in_order(tmp_path) -> None:
    tasks = [task("t0"), task("t1"), task("t2")]
    engine = MadeUpEngine(lambda *_: None)
    run = BatchRun(tasks, BatchOptions(), engine, FolderStore(tmp_path), lambda _event: None)
    running = asyncio.create_task(run.run())
    await engine.running.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert engine.attempts == ["t0", "t1"]


# Workspaces


GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", f"core.hooksPath={os.devnull}")


def git(folder: Path, *words: str, stdin: bytes = b"") -> None:
    subprocess.run([*GIT, *words], cwd=folder, input=stdin, check=True)


@pytest.fixture
def source(tmp_path) -> Path:
    """A repository with a commit, a later change, a hook and a setting that run a program."""
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "one")
    (folder / "a.txt").write_text("not committed\n")
    hook = folder / ".git/hooks/post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git(folder, "config", "core.fsmonitor", str(hook))
    return folder


async def test_a_workspace_is_a_clean_copy_whose_patch_applies_to_the_source(
    tmp_path, source
) -> None:
    place = AttemptPlace(tmp_path / "attempt")
    place.folder.mkdir()

    commit = await prepare(BatchTask(repository=str(source), prompt="x", id="x"), place, {})
    before = await snapshot(place)
    assert (place.tree / "a.txt").read_text() == "one\n"
    assert "origin" not in (place.tree / ".git/config").read_text()
    (place.tree / "a.txt").write_text("two\n")
    (place.tree / "new.bin").write_bytes(bytes(range(256)))
    patch, facts = await patch_between(place, before, await snapshot(place))

    assert not (tmp_path / "ran").exists()
    assert len(commit) == 40
    assert (facts.files, facts.added, facts.removed) == (("a.txt", "new.bin"), 1, 1)
    git(source, "config", "--unset", "core.fsmonitor")
    git(source, "checkout", "-q", "a.txt")
    git(source, "apply", "-", stdin=patch)
    assert (source / "a.txt").read_text() == "two\n"
    assert (source / "new.bin").read_bytes() == bytes(range(256))


async def test_a_nested_repository_runs_no_program(tmp_path) -> None:
    hostile_repository(tmp_path / "source" / "part", tmp_path / "ran")
    place = AttemptPlace(tmp_path / "attempt")
    place.folder.mkdir()
    await prepare(BatchTask(repository=str(tmp_path / "source"), prompt="x", id="x"), place, {})
    os.utime(place.tree / "part" / "a.txt", (2, 2))
    before = await snapshot(place)
    (place.tree / "b.txt").write_text("one\n")
    _, facts = await patch_between(place, before, await snapshot(place))
    assert facts.files == ("b.txt",)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["code.tar.gz", "code.zip"])
async def test_an_archive_becomes_a_workspace_and_nothing_leaves_it(tmp_path, name) -> None:
    (tmp_path / "in/project").mkdir(parents=True)
    (tmp_path / "in/project/a.txt").write_text("one\n")
    kind = "zip" if name.endswith("zip") else "gztar"
    archive = shutil.make_archive(str(tmp_path / "code"), kind, tmp_path / "in")
    place = AttemptPlace(tmp_path / "attempt")
    place.folder.mkdir()
    task = BatchTask(repository=archive, prompt="x", id="x")
    if kind == "gztar" and not hasattr(tarfile, "data_filter"):  # Python before 3.11.4
        with pytest.raises(ToolError, match="give a .zip archive or a folder"):
            await prepare(task, place, {})
        return
    await prepare(task, place, {})
    assert (place.tree / "a.txt").read_text() == "one\n"

    evil = tmp_path / "evil.tar"
    with tarfile.open(evil, "w") as packed:
        packed.add(tmp_path / "in/project/a.txt", "../../escaped.txt")
    other = AttemptPlace(tmp_path / "other")
    other.folder.mkdir()
    with pytest.raises(ToolError, match="cannot be unpacked|cannot check"):
        await prepare(BatchTask(repository=str(evil), prompt="x", id="x"), other, {})
    assert not (tmp_path / "escaped.txt").exists()


# The whole command


async def test_a_batch_gives_each_task_one_result_and_keeps_its_budget(tmp_path) -> None:
    """Each task costs $0.06; the budget allows one, and a resumed batch runs the other."""
    home = Home(tmp_path)
    home.configure("price_in = 1.0\nprice_out = 10000.0\nmax_output = 2\n")
    rows = [
        {"repository": ".", "prompt": f"Fix {n}.", "id": f"t{n}", "check": "grep -q + shop.py"}
        for n in range(2)
    ]
    tasks = home.write("tasks.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    out = tmp_path / "out"

    def answers(seen: Seen):
        n_calls = sum(one["role"] == "tool" for one in seen.body["messages"])
        if n_calls < 2:
            return say("", calls=[(READ, EDIT)[n_calls]], usage=USAGE)
        return say("Done.", usage=USAGE)

    async def batch(
        base_url: str, *more: str, key: str = "made-up-key-of-a-batch", model: str = "made-up"
    ):
        return await indwell(
            *("batch", str(tasks), "--to", str(out), "--jobs", "1", "--trust"),
            *("--secret", "OPENAI_API_KEY", *more),
            environment={
                **home.environment(base_url),
                "OPENAI_API_KEY": key,
                "INDWELL_MODEL": model,
            },
            folder=home.workspace,
        )

    with endpoint_in_thread(answers) as endpoint:
        aimless = await batch(endpoint.base_url, model="")
        assert (aimless.code, "no model is set" in aimless.stderr) == (1, True)
        assert not out.exists()
        first = await batch(endpoint.base_url, "--max-cost", "0.1")
        assert first.code == 3, first.stderr
        assert first.stderr.endswith(f"results: {out}\n")
        store = FolderStore(out)
        results = all_results(store)
        assert list(results) == ["t0"]
        assert 0.06 < spent_before(store, results) <= 0.1
        assert endpoint.seen[0].headers["authorization"] == "Bearer made-up-key-of-a-batch"
        again = await batch(endpoint.base_url)
        assert (again.code, "--resume" in again.stderr) == (2, True)
        second = await batch(endpoint.base_url, "--resume", "--json")
    assert second.code == 1, second.stderr  # The check fails after the edit.
    results = all_results(store)
    assert [results[f"t{n}"].ending for n in range(2)] == ["done"] * 2
    one = results["t0"]
    assert (one.before.exit_code, one.after.exit_code) == (0, 1)
    assert one.patch.files == ("shop.py",)
    assert b"-    return sum(items) + 1" in store.read(one.files["patch.diff"])
    assert b'"turnFinished"' in store.read(one.files["session.jsonl"])
    ended = [one["result"]["id"] for one in second.events if one["type"] == "taskEnded"]
    assert ended == ["t1"]
    assert home.shop.read_text() == SOURCE
    written = [path.read_bytes() for path in out.rglob("*") if path.is_file()]
    shown = f"{first}{again}{second}".encode()
    assert not [one for one in (*written, shown) if b"made-up-key-of-a-batch" in one]
    assert not (tmp_path / "state-batches").exists() or not any(
        (tmp_path / "state-batches").iterdir()
    )


def test_an_address_of_a_cluster_that_nothing_listens_at_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        check_reached(f"ray://{address}", uses_tls=True)
    with pytest.raises(OSError, match="refused"):
        check_reached(address)
    check_reached("auto")


@pytest.mark.parametrize(
    ("answer", "is_refused"),
    [
        pytest.param(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]), False, id="grpc"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", True, id="web server"),
        pytest.param(b"", True, id="closes"),
    ],
)
def test_only_a_server_that_answers_like_grpc_is_taken_for_a_cluster(answer, is_refused) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def serve() -> bytes:
            connection, _ = server.accept()
            with connection:
                heard = connection.recv(33, socket.MSG_WAITALL)
                connection.sendall(answer)
                return heard

        heard = pool.submit(serve)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        refused = pytest.raises(OSError, match=f"{address} does not answer like a Ray cluster")
        with refused if is_refused else nullcontext():
            check_reached(address)
        assert heard.result().startswith(b"PRI * HTTP/2.0\r\n")
