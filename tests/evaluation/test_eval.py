"""``indwell eval``: the shipped suite, hidden checks, SWE-bench's format, own sessions, the report."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from indwell.batch.plan import WrongTasks, read_plan
from indwell.batch.records import CheckOutcome, TaskReceipt, TaskResult
from indwell.evaluation.page import eval_page
from indwell.evaluation.report import EvalRun, difference_words, report_of, run_of, table_rows
from indwell.evaluation.suites import (
    EvalArm,
    batch_tasks,
    expanded,
    is_swe_bench,
    predictions,
    resolved_tasks,
    shipped_tasks,
    swe_bench_rows,
    swe_bench_tasks,
)
from indwell.evaluation.tasks import EvalTask
from support.editing import USAGE, Home
from support.loopback_endpoint import Seen, endpoint_in_thread, say
from support.terminal import indwell

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="the tasks run Node (26)")


# The shipped suite


def test_the_shipped_suite_has_40_tasks_of_each_kind_and_language() -> None:
    tasks = shipped_tasks(1)
    assert len({task.id for task in tasks}) == 40
    kinds = [(task.kind, task.language) for task in tasks]
    assert {one: kinds.count(one) for one in kinds} == {
        (kind, language): 4
        for kind in ("fix", "refactor", "document", "test", "navigate")
        for language in ("python", "javascript")
    }
    assert all(len(task.mutants) >= 2 for task in tasks)


def test_a_seed_gives_the_same_tasks_again_and_another_seed_gives_others() -> None:
    assert shipped_tasks(1) == shipped_tasks(1)
    first, second = ({task.id: task.files for task in shipped_tasks(seed)} for seed in (1, 2))
    assert first.keys() == second.keys()
    assert sum(first[name] != second[name] for name in first) > 20


def passes(task: EvalTask, tree: Path, changes: dict[str, str]) -> bool:
    for name, text in {**task.files, **changes, **task.hidden}.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    ran = subprocess.run(task.check, shell=True, cwd=tree, capture_output=True, check=False)
    return ran.returncode == 0


@needs_node
@pytest.mark.parametrize("task", shipped_tasks(7)[::4], ids=lambda task: task.id)
def test_a_shipped_check_passes_for_the_reference_and_fails_before_and_for_a_mutant(
    tmp_path, task
) -> None:
    """Every second template is checked; `benchmarks/eval_suite.py` checks all tasks and mutants."""
    found = {
        name: passes(task, tmp_path / name, changes)
        for name, changes in (
            ("before", {}),
            ("reference", task.reference),
            ("mutant", task.mutants[-1]),
        )
    }
    assert found == {"before": False, "reference": True, "mutant": False}


# The whole command


@needs_node
async def test_the_reference_solutions_pass_and_an_idle_model_fails(tmp_path) -> None:
    """The regression guard: two models, of which one plays the reference solutions."""
    home = Home(tmp_path)
    tasks = [task for task in shipped_tasks(1) if task.id in {"fix-python-pages-1", "navigate-javascript-unused-1"}]

    def answers(seen: Seen):
        messages = seen.body["messages"]
        assert CHECK not in seen.raw
        n_calls = sum(one["role"] == "tool" for one in messages)
        if seen.body["model"] == "idle":
            return say("Done.", usage=USAGE)
        (task,) = (one for one in tasks if json.dumps(one.prompt)[1:-1].encode() in seen.raw)
        known = [path for path in task.reference if path in task.files]
        calls = [("read_file", json.dumps({"path": path})) for path in known]
        if n_calls >= len(calls):
            calls = [
                ("write_file", json.dumps({"path": path, "content": text}))
                for path, text in task.reference.items()
            ]
            n_calls -= len(known)
        return say("Done.", usage=USAGE) if n_calls else say("", calls=calls, usage=USAGE)

    with endpoint_in_thread(answers) as endpoint:
        ended = await indwell(
            *("eval", "shipped", "--to", str(tmp_path / "out"), "--only", "*-[pu][an]*s*-1"),
            *("--model", "idle", "--model", "good", "--jobs", "2", "--json"),
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        )
    assert ended.code == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert [(one["arm"], one["n_passed"], one["n"]) for one in report["arms"]] == [
        ("idle", 0, 2),
        ("good", 2, 2),
    ]
    assert report["differences"][0]["rate"]["estimate"] == 1
    assert json.loads((tmp_path / "out/report.json").read_bytes()) == report
    assert "<svg" in (tmp_path / "out/report.html").read_text("utf-8")


CHECK = b".eval-check"
