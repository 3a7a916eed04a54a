"""The list of tasks: order, states, circles, and the file that several processes change."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from datetime import UTC, datetime
from functools import partial, reduce
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.errors import SessionError, UserError
from indwell.sessions.storage.task_store import TaskStore
from indwell.sessions.task_list import (
    MOST_TASKS,
    TaskList,
    added,
    change_of,
    changed,
    ended,
    removed,
    runnable,
    started,
    to_start,
)

NOW = datetime(2026, 11, 27, 9, 0, tzinfo=UTC)


def listed(*titles: str) -> TaskList:
    return reduce(added, titles, TaskList())


def test_tasks_may_not_wait_for_each_other_in_a_circle() -> None:
    tasks = changed(listed("a", "b", "c"), "t2", after=["t1"])
    tasks = changed(tasks, "t3", after=["t2"])
    with pytest.raises(UserError, match="t1 would wait for itself"):
        changed(tasks, "t1", after=["t3"])


def test_a_removed_task_holds_no_task_back_and_its_name_is_not_used_again() -> None:
    tasks = removed(changed(listed("a", "b"), "t2", after=["t1"]), ["t1"])
    assert [(one.id, one.after) for one in tasks.tasks] == [("t2", ())]
    assert added(tasks, "c").tasks[-1].id == "t3"


def test_a_running_task_can_be_neither_changed_nor_removed_nor_run() -> None:
    tasks = started(listed("a"), "t1")
    for change in (
        partial(changed, tasks, "t1", title="b"),
        partial(removed, tasks, ["t1"]),
        partial(runnable, tasks, ["t1"]),
    ):
        with pytest.raises(UserError, match="is running; stop it first"):
            change()


def test_an_empty_long_or_further_task_is_refused_with_advice() -> None:
    with pytest.raises(UserError, match="needs a title"):
        added(TaskList(), " ")
    with pytest.raises(UserError, match="put it into a file"):
        added(TaskList(), "a", "x" * 20_001)
    with pytest.raises(UserError, match="there is no task 't9'"):
        added(TaskList(), "a", after=["t9"])
    full = listed(*map(str, range(MOST_TASKS)))
    with pytest.raises(UserError, match="clear those that are done"):
        added(full, "one more")


@given(st.data())
def test_every_runnable_task_runs_once_after_the_tasks_before_it(data) -> None:
    n_tasks = data.draw(st.integers(1, 8))
    tasks = listed(*map(str, range(n_tasks)))
    for number in range(2, n_tasks + 1):
        before = data.draw(st.sets(st.integers(1, number - 1)))
        tasks = changed(tasks, f"t{number}", after=[f"t{one}" for one in before])
    wanted, done, most = set(runnable(tasks, ())), [], data.draw(st.integers(1, 3))
    running: list[str] = []
    while wanted or running:
        for one in to_start(tasks, wanted, most):
            assert set(one.after) <= set(done)
            tasks = started(tasks, one.id)
            wanted.remove(one.id)
            running.append(one.id)
        assert 1 <= len(running) <= most
        over = running.pop(data.draw(st.integers(0, len(running) - 1)))
        tasks = ended(tasks, over, "done", "")
        done.append(over)
    assert sorted(done) == sorted(one.id for one in tasks.tasks)


def test_unknown_commands_are_no_changes() -> None:
    for action, names in (("list", ()), ("done", ()), ("clear", ("t1",)), ("after", ())):
        assert change_of(action, names) is None


def test_two_stores_change_one_list(tmp_path) -> None:
    first, second = TaskStore(tmp_path, tmp_path), TaskStore(tmp_path, tmp_path)
    first.change(partial(added, title="a"))
    second.change(partial(added, title="b"))
    assert [one.title for one in first.read().tasks] == ["a", "b"]
    with pytest.raises(UserError):
        second.change(partial(changed, identifier="t9", state="done"))
    assert second.read() == first.read()


def test_a_task_of_a_killed_process_is_stopped_and_one_of_a_living_process_runs_on(
    tmp_path,
) -> None:
    store = TaskStore(tmp_path, tmp_path)
    store.change(lambda _: listed("killed", "alive"))
    store.hold(["t2"], now=NOW)
    store.change(partial(started, identifier="t2"))
    script = f"""
        import os
        from datetime import UTC, datetime
        from pathlib import Path
        from indwell.sessions.storage.task_store import TaskStore
        from indwell.sessions.task_list import started
        store = TaskStore(Path({str(tmp_path)!r}), Path({str(tmp_path)!r}))
        store.hold(["t1"], now=datetime.now(UTC))
        store.change(lambda tasks: started(tasks, "t1"))
        os._exit(9)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False, timeout=60)
    assert [one.state for one in store.read().tasks] == ["running", "running"]
    killed, alive = TaskStore(tmp_path, tmp_path).take_over().tasks
    assert (killed.state, killed.ending) == ("stopped", "Indwell ended while the task ran")
    assert alive.state == "running"


def test_a_damaged_or_newer_file_is_refused_and_stays(tmp_path) -> None:
    store = TaskStore(tmp_path, tmp_path)
    store.change(partial(added, title="a"))
    (path,) = tmp_path.glob("tasks/*/tasks.json")
    for text, words in (("{", "are damaged"), (json.dumps({"version": 99}), "update Indwell")):
        path.write_text(text, encoding="utf-8")
        for act in (store.read, lambda: store.change(partial(added, title="b"))):
            with pytest.raises(SessionError, match=words):
                act()
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.skipif(sys.platform == "win32", reason="looks at the bits of a POSIX mode")
def test_the_list_is_private(tmp_path) -> None:
    TaskStore(tmp_path, tmp_path).change(partial(added, title="a"))
    (path,) = tmp_path.glob("tasks/*/tasks.json")
    assert [Path(one).stat().st_mode & 0o077 for one in (path, path.parent)] == [0, 0]
