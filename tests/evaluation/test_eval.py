"""``indwell eval``: the suites, hidden checks, the report and its page."""

from __future__ import annotations

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from indwell.batch.attempt import _reveal
from indwell.batch.plan import BatchTask, WrongTasks, read_plan
from indwell.batch.records import (
    CheckOutcome,
    FolderStore,
    TaskReceipt,
    TaskResult,
    begin_batch,
    write_result,
)
from indwell.errors import SettingsError, ToolError, UserError
from indwell.evaluation.own_sessions import session_runs
from indwell.evaluation.page import eval_page
from indwell.evaluation.report import EvalRun, difference_words, report_of, run_of, table_rows
from indwell.evaluation.suites import (
    EvalArm,
    expanded,
    shipped_tasks,
)
from indwell.evaluation.swe_bench import (
    has_package,
    is_swe_bench,
    predictions,
    rows_of_package,
    swe_bench_report,
    swe_bench_rows,
    swe_bench_tasks,
)
from indwell.evaluation.tasks import EvalTask
from indwell.messages import Usage
from indwell.review.hunk import Actor
from indwell.review.ledger import ReviewLedger
from indwell.sessions.records import SessionStarted, Spent
from indwell.sessions.storage.store import REVIEW_FOLDER
from indwell.sessions.storage.writer import encode
from indwell.settings.load import load
from support.editing import Home
from support.loopback_endpoint import Seen, endpoint_in_thread
from support.reference_player import reference_player
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
    ran = subprocess.run(["sh", "-c", task.check], cwd=tree, capture_output=True, check=False)
    return ran.returncode == 0


@needs_node
@pytest.mark.parametrize("task", shipped_tasks(7)[::6], ids=lambda task: task.id)
def test_a_shipped_check_passes_for_the_reference_and_fails_before_and_for_a_mutant(
    tmp_path, task
) -> None:
    """Some tasks are checked; `benchmarks/eval_suite.py` checks all tasks and mutants."""
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


async def test_a_reference_solution_passes_and_an_idle_model_fails(tmp_path) -> None:
    """The regression guard; `benchmarks/eval_suite.py --play` runs all 40 tasks so."""
    home = Home(tmp_path)
    play = reference_player(shipped_tasks(1))

    def answers(seen: Seen):
        assert b"Answer in verse." in seen.raw
        return play(seen)

    (home.workspace / "shipped").mkdir()  # The name of the suite takes precedence over a folder.
    verse = home.write("verse.toml", 'instructions = "Answer in verse."\n')
    with endpoint_in_thread(answers) as endpoint:
        ended = await indwell(
            *("eval", "shipped", "--to", str(tmp_path / "out"), "--only", "fix-python-pages-1"),
            *("--model", "idle", "--model", "good", "--jobs", "2", "--json"),
            *("--settings", str(verse)),
            environment=home.environment(endpoint.base_url),
            folder=home.workspace,
        )
    assert ended.code == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert [(one["arm"], one["n_passed"], one["n"]) for one in report["arms"]] == [
        ("idle, verse", 0, 1),
        ("good, verse", 1, 1),
    ]
    assert report["differences"][0]["rate"]["estimate"] == 1
    assert json.loads((tmp_path / "out/report.json").read_bytes()) == report
    assert "<svg" in (tmp_path / "out/report.html").read_text("utf-8")


# Hidden files


@pytest.mark.parametrize(
    "name", ["../check.py", "/check.py", "a//b", ".git/hooks/x", "a\\b", "c:x"]
)
def test_a_hidden_file_outside_the_workspace_is_refused(name) -> None:
    row = {"repository": "a", "prompt": "x", "check": "true", "hidden": {name: ""}}
    with pytest.raises(WrongTasks, match="`hidden` .* is not a relative path"):
        read_plan(json.dumps(row), is_toml=False, folder="/lists")


def test_a_hidden_file_replaces_the_agents_file_and_follows_no_link(tmp_path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    tree.mkdir()
    outside.mkdir()
    (tree / "check.py").write_text("the agent's\n")
    task = BatchTask(repository="a", prompt="x", check="true", hidden={"check.py": "hidden\n"})
    _reveal(task, tree)
    assert (tree / "check.py").read_text() == "hidden\n"
    (tree / "linked").symlink_to(outside)
    with pytest.raises(ToolError):
        _reveal(msgspec.structs.replace(task, hidden={"linked/check.py": "hidden"}), tree)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("name", ["mode", "trusted", "rules_allow", "api_key", "base_url", "mcp"])
def test_a_task_cannot_set_what_decides_about_safety(name) -> None:
    row = {"repository": "a", "prompt": "x", "settings": f"{name} = 'auto'"}
    with pytest.raises(WrongTasks, match="`settings`"):
        read_plan(json.dumps(row), is_toml=False, folder="/lists")
    with pytest.raises(SettingsError, match="INDWELL_SETTINGS"):
        load({"INDWELL_SETTINGS": f"{name} = 'auto'"})


def test_the_variable_with_settings_overrides_the_users_file() -> None:
    found = load({"INDWELL_SETTINGS": "[compaction]\npreset = 'slide'"}, "compaction = 'auto-b'")
    assert (found.settings.compaction, found.notices) == ("slide", ())


# The report


def run(task: str, arm: str, passed, **more: object) -> EvalRun:
    return EvalRun(task=task, kind="fix", arm=arm, seed=1, passed=passed, **more)


def test_a_check_alone_decides_and_a_check_that_did_not_run_gives_no_outcome() -> None:
    labels = {"task": "t", "arm": "m", "kind": "fix", "seed": "2"}
    result = TaskResult(
        id="t.a1.s2", digest="", repository="", ending="limit", message="too many rounds",
        labels=labels, after=CheckOutcome(0, 1.0), receipt=TaskReceipt(3, 100, 20, None, 4.0),
    )  # fmt: skip
    assert run_of(result) == EvalRun(
        task="t", kind="fix", arm="m", seed=2, passed=True, tokens_in=100, tokens_out=20,
        cost=None, rounds=3, seconds=4.0,
    )  # fmt: skip
    for after, passed, why in (
        (CheckOutcome(1, 1.0), False, "too many rounds"),
        (CheckOutcome(None, 0.0, "not run: no sandbox"), None, "not run: no sandbox"),
        (CheckOutcome(None, 9.0, "over 9 s"), False, "too many rounds"),
        (None, None, "too many rounds"),
    ):
        found = run_of(msgspec.structs.replace(result, after=after))
        assert (found.passed, found.why) == (passed, why)
    unasked = msgspec.structs.replace(
        result, ending="failed", message="no key", receipt=TaskReceipt(), after=CheckOutcome(1, 1.0)
    )
    assert (run_of(unasked).passed, run_of(unasked).why) == (None, "no key")


def test_arms_are_compared_over_the_tasks_that_both_have() -> None:
    runs = [
        *(run(f"t{n}", "a", n < 2, cost=1.0, tokens_in=10) for n in range(4)),
        *(run(f"t{n}", "b", n < 3, cost=2.0, tokens_in=30) for n in range(3)),
        run("t3", "b", None, why="lost"),
    ]
    report = report_of("s", "2026-11-27", runs, arms=["a", "b"])
    (difference,) = report.differences
    assert (difference.n_tasks, difference.rate.estimate) == (3, pytest.approx(1 / 3))
    assert (difference.cost.low, difference.tokens.high) == (1.0, 20.0)
    assert [(one.n_passed, one.n, one.n_missing) for one in report.arms] == [(2, 4, 0), (3, 3, 1)]
    assert report.arms[0].cost_of_pass == 2.0
    assert "the interval includes 0, so no difference is shown" in difference_words(difference)
    assert table_rows(report)[0][:4] == ("a", "2/4", "50.0%", "15.0% to 85.0%")


@pytest.mark.parametrize(("n_better", "is_shown"), [(5, False), (6, True)])
def test_a_difference_of_fewer_than_6_groups_of_tasks_is_not_shown(n_better, is_shown) -> None:
    runs = [
        run(f"t{n}-{variant}", arm, arm == "b" and n < n_better, group=f"t{n}")
        for n in range(7)
        for variant in (1, 2)
        for arm in ("a", "b")
    ]
    (difference,) = report_of("s", "2026-11-27", runs, arms=["a", "b"]).differences
    assert difference.rate.excludes_zero
    assert (difference.n_tasks, difference.n_changed) == (14, n_better)
    assert difference.shows_difference is is_shown
    assert ("too few tasks or templates" in difference_words(difference)) is not is_shown


def test_two_variants_of_one_template_count_once_in_the_interval() -> None:
    rows = [(f"t{n}", arm, arm == "b" and n % 2 == 0) for n in range(8) for arm in "ab"]
    alone = [run(task, arm, passed, group=task) for task, arm, passed in rows]
    again = [run(f"{task}-2", arm, passed, group=task) for task, arm, passed in rows]
    found = [report_of("s", "d", runs, arms=["a", "b"]) for runs in (alone, alone + again)]
    assert found[0].differences[0].rate == found[1].differences[0].rate


class Tags(HTMLParser):
    """Collects the tags of a page, and checks that each is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in {"meta", "br"}:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_needs_no_network_and_escapes_texts() -> None:
    evil = '<script src="https://x.example/">&'
    runs = [
        run("t", evil, passed=True),
        run("t", "b", passed=False, why=evil),
        run(evil, "b", None, why=evil),
    ]
    page = eval_page(report_of(evil, "2026-11-27", runs, arms=[evil, "b"], notes=[evil]))
    tags = Tags(page)
    assert tags.open == []
    assert not {"script", "link", "img", "iframe"} & {tag for tag, _ in tags.seen}
    assert not {"src", "href"} & {name for _, found in tags.seen for name in found}
    assert "url(" not in page
    assert sum(tag == "svg" for tag, _ in tags.seen) == 3  # Two rates and a difference.
    assert "prefers-color-scheme: dark" in page


# SWE-bench's format


ROW = {
    "instance_id": "made__up-1",
    "repo": "made/up",
    "base_commit": "0" * 40,
    "problem_statement": "It fails.",
    "patch": "diff",
    "test_patch": "diff",
    "hints_text": "",
    "created_at": "2026-01-01T00:00:00Z",
    "version": "1.0",
    "FAIL_TO_PASS": '["tests/test_a.py::test_one"]',
    "PASS_TO_PASS": [],
    "environment_setup_commit": "1" * 40,
}


@pytest.mark.parametrize("text", [f"{json.dumps(ROW)}\n", json.dumps([ROW], indent=1)])
def test_a_data_set_of_swe_bench_gives_tasks_without_its_solutions(text) -> None:
    assert is_swe_bench(text)
    (task,) = swe_bench_tasks(swe_bench_rows(text))
    assert (task.id, task.revision, task.prompt) == ("made__up-1", "0" * 40, "It fails.")
    assert task.repository == "https://github.com/made/up.git"
    assert b"diff" not in msgspec.json.encode(task)
    plan = expanded({1: [task], 2: [task]}, [EvalArm("m"), EvalArm("m", "high")])
    assert [one.id.removeprefix(task.id) for one in plan.tasks] == [
        ".a1.s1", ".a2.s1", ".a1.s2", ".a2.s2",
    ]  # fmt: skip
    assert [one.effort for one in plan.tasks[:2]] == [None, "high"]


def test_a_row_of_another_format_is_refused() -> None:
    assert not is_swe_bench('{"repository": "a", "prompt": "instance_id"}')
    for wrong in ({"repo": 1}, {"FAIL_TO_PASS": "[not JSON"}):
        with pytest.raises(WrongTasks, match="format of SWE-bench"):
            swe_bench_rows(json.dumps({**ROW, **wrong}))
    with pytest.raises(WrongTasks, match="same `instance_id`"):
        swe_bench_rows(json.dumps([ROW, ROW]))
    for wrong in (
        {"instance_id": "../../outside"}, {"instance_id": ""}, {"base_commit": "--output=x"},
        {"repo": "a b"}, {"problem_statement": ""},
    ):  # fmt: skip
        with pytest.raises(WrongTasks, match="`|only addresses"):
            swe_bench_tasks(swe_bench_rows(json.dumps([{**ROW, **wrong}])))


def test_patches_and_reports_have_the_format_of_swe_benchs_package() -> None:
    line = json.loads(predictions({"made__up-1": "diff"}, "a1.s1"))
    assert line == {
        "instance_id": "made__up-1", "model_name_or_path": "a1.s1", "model_patch": "diff",
    }  # fmt: skip
    report = swe_bench_report(
        b'{"resolved_ids": ["a"], "empty_patch_ids": ["b"], "error_ids": ["c"], '
        b'"unresolved_ids": ["d", "e"], "infra_failure_ids": ["e"]}'
    )
    assert [report.outcome(one) for one in "abcde"] == [True, False, None, False, None]
    with pytest.raises(WrongTasks, match="no report"):
        swe_bench_report(b"{}")


@pytest.mark.skipif(not has_package(), reason="SWE-bench's package is not installed (26)")
@pytest.mark.parametrize("name", ["lite.json", "lite.jsonl"])
async def test_the_loader_of_swe_benchs_package_reads_the_same_tasks(tmp_path, name) -> None:
    """The package takes 490 MB, so CI does not install it; docs/eval.md has the version tried."""
    rows = [ROW, {**ROW, "instance_id": "made__up-2"}]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    text = lines if name.endswith("l") else json.dumps(rows)
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert await rows_of_package(str(tmp_path / name)) == swe_bench_rows(text)


@pytest.mark.skipif(has_package(), reason="SWE-bench's package is installed")
async def test_a_data_set_of_a_hub_needs_swe_benchs_package() -> None:
    with pytest.raises(UserError, match="pip install swebench"):
        await rows_of_package("SWE-bench/SWE-bench_Lite")


async def test_patches_go_to_swe_benchs_package_and_its_report_decides(tmp_path) -> None:
    """All tasks have results already, so nothing is fetched or run."""
    home, out = Home(tmp_path), tmp_path / "out"
    rows = [{**ROW, "instance_id": f"made__up-{n}"} for n in (1, 2)]
    data = home.write("lite.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    plan = expanded({1: swe_bench_tasks(swe_bench_rows(data.read_text()))}, [EvalArm("m")])
    store = FolderStore(out)
    begin_batch(store, plan)
    for task in plan.tasks:
        store.write_new(f"files/{task.id}.1/patch.diff", f"patch of {task.id}".encode())
        places = {"patch.diff": f"files/{task.id}.1/patch.diff"}
        result = TaskResult(
            id=task.id, digest=task.digest, repository="", ending="done", labels=task.labels,
            files=places,
        )  # fmt: skip
        write_result(store, result)
    graded = home.write(
        "a1.s1.indwell.json",
        '{"resolved_ids": ["made__up-2"], "error_ids": [], '
        '"unresolved_ids": ["made__up-1"], "schema_version": 2}',
    )

    async def again(*more: str):
        return await indwell(
            *("eval", str(data), "--to", str(out), "--model", "m", "--resume", "--json", *more),
            environment=home.environment("http://127.0.0.1:9/v1"),
            folder=home.workspace,
        )

    before = await again()
    assert before.code == 1, before.stderr
    assert "swebench.harness.run_evaluation" in before.stderr
    assert [one["passed"] for one in json.loads(before.stdout)["runs"]] == [None, None]
    lines = (out / "predictions.a1.s1.jsonl").read_text().splitlines()
    assert json.loads(lines[1])["model_patch"] == "patch of made__up-2.a1.s1"
    undone = await again("--grade")
    assert (undone.code, "--grade needs SWE-bench's package" in undone.stderr) == (1, True)
    after = await again("--graded", str(graded))
    assert (after.code, "swebench" in after.stderr) == (0, False)
    assert [one["passed"] for one in json.loads(after.stdout)["runs"]] == [False, True]


# Own sessions


async def test_a_session_passes_if_the_user_accepted_each_judged_change(tmp_path) -> None:
    folder = tmp_path / "sessions" / "work-1"
    ledger = await ReviewLedger.open(folder / REVIEW_FOLDER, [])
    names = [f"20261121-12000{n}-000-abc" for n in range(3)]
    for n, name in enumerate(names):
        log = folder / name / "log.jsonl"
        log.parent.mkdir(parents=True)
        at = f"2026-11-21T12:00:0{n}.000+00:00"
        spent = Spent(1, "m", Usage(input=100, output=5), 0.5, at)
        log.write_bytes(b"".join(map(encode, (SessionStarted(name, "/w", "m", at), spent))))
        path = Path(f"/project/{n}.py")
        pending = await ledger.begin(Actor(name, 1), "use", path, "a\nb\nc\n", "A\nb\nC\n")
        await ledger.finish(pending, "A\nb\nC\n", accepted=False)
    hunks = [ledger.hunks(Path(f"/project/{n}.py")) for n in range(3)]
    await ledger.accept([one.id for one in (*hunks[0], hunks[1][0])])
    await ledger.told(names[0], ledger.untold(names[0]))
    plan = ledger.rejection(Path("/project/1.py"), [hunks[1][1].id])
    await ledger.rejected(plan, plan.text)
    await ledger.close()
    assert [(one.task, one.passed, one.why) for one in session_runs(tmp_path)] == [
        (names[0], True, ""),
        (names[1], False, "1 of 2 hunks rejected"),
    ]
    assert session_runs(tmp_path)[0].cost == 0.5
    (tmp_path / "home").mkdir()
    home = Home(tmp_path / "home")
    ended = await indwell(
        *("eval", str(tmp_path), "--to", str(tmp_path / "out"), "--json"),
        environment=home.environment("http://127.0.0.1:9/v1"),
        folder=home.workspace,
    )
    assert ended.code == 0, ended.stderr
    (arm,) = json.loads(ended.stdout)["arms"]
    assert (arm["arm"], arm["n_passed"], arm["n"]) == ("m", 1, 2)
