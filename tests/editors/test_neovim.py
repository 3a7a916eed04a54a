"""Tests Neovim with the page's configuration, real keys, and Neovim's own reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from editors.neovim import ROOT, lua_blocks, play
from indwell.providers.scripted import CHECK
from indwell.service.demo_project import Project, make_project

TITLES = {
    "Fix this": "quickfix.indwell",
    "Explain this": "source.indwell",
    "Document this": "refactor.indwell",
    "Write tests for this": "source.indwell",
    "Refactor this…": "refactor.indwell",
    "Ask about this…": "source.indwell",
}
FIX_ALL = {"Fix all problems in this file": "source.indwell"}
SHIPPING = make_project(1)  # the project's fault is `amount > limit`
WRONG, RIGHT = "amount > limit", "amount >= limit"
BEFORE = SHIPPING.files[SHIPPING.path]
AFTER = BEFORE.replace(WRONG, RIGHT)
PASSED = "· `python3 -B -m unittest -q` passed"  # the report of the scripted model's test run
UMLAUTS = Project(
    files={
        "lädchen/__init__.py": "",
        "lädchen/größe.py": (
            '"""Kleine Helfer: é 🙂 \N{COMBINING ACUTE ACCENT}."""\n\n\n'
            "def groß(größe, grenze=50):\n"
            '    """Say whether größe is at least grenze, é 🙂."""\n'
            '    return "é🙂" != "🙂" and größe > grenze  # 🙂\n'
        ),
        "test_größe.py": (
            "import unittest\n\nfrom lädchen.größe import groß\n\n\n"
            "class Check(unittest.TestCase):\n"
            "    def test_groß(self):\n        self.assertTrue(groß(50))\n"
        ),
    },
    path="lädchen/größe.py",
    function="groß",
    first_line=4,
    last_line=6,
)


def menu(*parts: dict[str, str]) -> dict[str, Any]:
    titles = {title: kind for part in parts for title, kind in part.items()}
    return {
        "kind": "codeaction",
        "prompt": "Code actions:",
        "titles": list(titles),
        "kinds": list(titles.values()),
    }


def untouched(report: dict[str, Any]) -> bool:
    return (report["buffer"], report["disk"], report["modified"]) == (BEFORE, BEFORE, False)


def test_diagnostics_without_a_document_version_do_not_verify_an_edit(tmp_path: Path) -> None:
    """Our own hints change the buffer's diagnostics long before the linter's diagnostics arrive."""
    played = play("slow_linter", SHIPPING, tmp_path)
    assert "verified by" not in played.report["messages"]
    assert "stays" not in played.report["messages"]


@pytest.mark.parametrize(
    ("slow", "words"),
    [
        ("rechecks", "verified by quick and slow"),
        ("rechecks late", "verified by quick and slow"),
        ("finds an error", "1 new error stays"),
        ("speaks of the old text", PASSED),
        ("names no version", PASSED),
        ("is silent", PASSED),
        ("is not there", PASSED),
    ],
)
def test_a_turn_is_verified_only_by_servers_that_checked_the_current_text(
    slow: str, words: str, tmp_path: Path
) -> None:
    said = play("two_servers", SHIPPING, tmp_path, slow=slow).report["messages"]
    assert words in said
    if words == PASSED:
        assert "verified by" not in said
        assert "stays" not in said


def test_the_progress_line_is_cut_between_characters_to_the_window_width(
    tmp_path: Path,
) -> None:
    seen = play("progress_line", SHIPPING, tmp_path).report
    assert seen["echoed"].startswith("é: 🙂")
    assert set(seen["echoed"][3:]) == {"🙂"}, "no half of a letter"
    assert seen["room"] - 1 <= seen["width"] <= seen["room"]


def test_the_configuration_in_the_documentation_has_ten_lines() -> None:
    lines = [line for line in lua_blocks()[0].splitlines() if line.strip()]
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 128


def test_selections_and_problems_of_other_servers_have_code_actions(tmp_path: Path) -> None:
    played = play("actions", SHIPPING, tmp_path)
    assert played.report == {
        "selection": menu(TITLES),
        "line": menu(TITLES, FIX_ALL),
        "automatic": menu({"Fix this": "quickfix.indwell"}),
        "mapped": True,
    }


@pytest.mark.parametrize(
    ("project", "wrong", "right", "newline"),
    [
        (SHIPPING, WRONG, RIGHT, "\n"),
        (SHIPPING, WRONG, RIGHT, "\r\n"),
        (UMLAUTS, "größe > grenze", "größe >= grenze", "\n"),
    ],
    ids=["plain", "dos", "umlauts"],
)
def test_fix_this_is_one_edit_reverted_by_one_undo(
    project: Project, wrong: str, right: str, newline: str, tmp_path: Path
) -> None:
    played = play("mend", project, tmp_path, newline=newline)
    seen = played.report
    before = project.files[project.path]
    after = before.replace(wrong, right)
    assert (seen["original"], seen["buffer"], seen["undone"]) == (before, after, before)
    assert seen["written"] == after.replace("\n", newline)
    assert (seen["steps"], seen["check"], seen["encoding"], seen["clients"]) == (1, 0, "utf-8", 1)
    assert seen["warning"] == ""
    assert "changed since" not in seen["messages"]
    assert f"Indwell: done · {Path(project.path).name} +1 −1" in seen["messages"]
    place = f"{project.path}, lines {project.first_line}-{project.last_line}"
    assert {step["title"] for step in seen["progress"]} == {f"Indwell: Fix this: {place}"}
    kinds = [step["kind"] for step in seen["progress"]]
    assert kinds == ["begin", *["report"] * (len(kinds) - 2), "end"]
    told = [step["message"] for step in seen["progress"]]
    steps = [f"running {CHECK}", f"changed {project.path} +1 −1"]
    # Neovim reports no progress that came before it accepted the token.
    assert [step for step in told if step in steps][-2:] == [steps[1], steps[0]]
    assert played.log == ""


def test_edits_of_a_file_in_another_window_are_undone_one_by_one(tmp_path: Path) -> None:
    seen = play("edited_elsewhere", SHIPPING, tmp_path).report
    original = seen["original"]
    assert seen["edited"] == f"# two\n# one\n{original}"
    assert seen["undone"] == [f"# one\n{original}", original]


def test_the_permission_question_for_a_command_lists_no_first(tmp_path: Path) -> None:
    played = play("refuse", SHIPPING, tmp_path)
    seen = played.report
    assert len(seen["questions"]) == 1
    question = seen["questions"][0]
    assert question["titles"] == ["No", "Once"]  # a rule of the user asks each time
    root = tmp_path / ROOT
    assert question["prompt"].startswith(f"Run a command in '{root}'? (")
    assert f")\n│ {CHECK}\n" in question["prompt"]
    assert untouched(seen)
    assert seen["answer"] == (
        f"Without running `{CHECK}` I cannot see what fails, so I changed nothing.\n"
    )
    assert (seen["clients"], played.log) == (1, "")


def test_the_model_reads_the_problems_that_another_server_reported(tmp_path: Path) -> None:
    played = play("diagnostic", SHIPPING, tmp_path)
    assert played.report["buffer"] == AFTER
    selection = played.sessions.split("<ide_selection>\\n")[1].split("</ide_selection>")[0]
    assert "it is wrong 🙂" in selection
    assert played.log == ""


def test_fix_all_includes_every_problem_of_the_file_at_any_cursor_position(tmp_path: Path) -> None:
    played = play("fix_all", SHIPPING, tmp_path)
    problems = played.sessions.split("<ide_diagnostics>\\n")[1].split("</ide_diagnostics>")[0]
    reported = [name for name in ("one thing", "another thing") if name in problems]
    assert reported == ["one thing", "another thing"]
    assert played.log == ""


def test_each_way_of_stopping_a_turn_is_immediate_and_allows_another_turn(tmp_path: Path) -> None:
    played = play("cancel", SHIPPING, tmp_path, pace_s=0.1)
    seen = played.report
    assert len(seen["took"]) == 5
    assert max(seen["took"]) < 1_000
    assert [words.split(" · ")[0] for words in seen["ends"]] == ["stopped"] * 4
    kinds = [step["kind"] for step in seen["progress"]]
    assert (kinds.count("begin"), kinds.count("end")) == (5, 5)
    assert untouched(seen)
    assert played.log == ""


def test_text_typed_during_a_question_is_not_overwritten(tmp_path: Path) -> None:
    played = play("edited_while_asked", SHIPPING, tmp_path)
    seen = played.report
    assert seen["buffer"] == BEFORE.replace(WRONG, f"{RIGHT}  # mine")
    assert seen["ending"].startswith("Indwell: done · shipping.py")
    assert played.log == ""


MINE = BEFORE.replace(':\n    """Say whether an order', ':  # mine\n    """Say whether an order')
FIRST_LINE = BEFORE.split("\n", 1)[0]


@pytest.mark.parametrize(
    ("touched", "buffer", "ending"),
    [
        pytest.param(
            "first",
            MINE.replace(WRONG, RIGHT),
            "Indwell: done · shipping.py",
            id="beside the edit",
        ),
        pytest.param(
            "last",
            BEFORE.replace(WRONG, f"{WRONG}  # mine"),
            "The edit was not taken: 'lib/shipping.py' has changed since it was read (by the user, "
            "a sub-agent, a formatter or a command), in lines that this edit changes too; nothing "
            "was edited.",
            id="on the edited line",
        ),
    ],
)
def test_text_typed_at_the_moment_of_the_edit_stays(
    touched: str, buffer: str, ending: str, tmp_path: Path
) -> None:
    played = play(
        "edited_at_the_same_moment", SHIPPING, tmp_path, touched=touched, typed_before=True
    )
    seen = played.report
    assert seen["buffer"] == buffer.replace(FIRST_LINE, f"{FIRST_LINE}  # mine")
    # Neovim nevertheless answers that it applied the edit
    assert "newer than edits" in seen["messages"]
    assert seen["ending"].startswith(ending)
    assert played.log == ""


def test_an_unchanged_buffer_receives_both_edits_and_the_model_is_informed(tmp_path: Path) -> None:
    played = play("edited_at_the_same_moment", SHIPPING, tmp_path, touched="first")
    assert played.report["buffer"] == MINE.replace(WRONG, RIGHT)
    assert "the text now differs from the proposal" in played.sessions


def test_the_answer_to_a_question_opens_beside_the_file(tmp_path: Path) -> None:
    played = play("ask", SHIPPING, tmp_path)
    seen = played.report
    # the user closed the first input box with <Esc>
    assert seen["inputs"] == ["Ask about this: "] * 2
    assert played.sessions.count('"type":"turnStarted"') == 1
    assert "Why is this so?" in played.sessions
    assert seen["answer"].startswith("This is the scripted model that ships with Indwell")
    assert seen["focus_stayed"]
    assert untouched(seen)
    assert (seen["clients"], seen["messages"], played.log) == (1, "", "")


def test_a_second_answer_appears_in_the_same_window_above_the_first(tmp_path: Path) -> None:
    played = play("two_answers", SHIPPING, tmp_path)
    seen = played.report
    assert (seen["windows"], seen["focus_stayed"]) == (2, True)
    assert seen["second"].endswith(f"\n\n---\n\n{seen['first']}")
    assert untouched(seen)
    assert (seen["messages"], played.log) == ("", "")
