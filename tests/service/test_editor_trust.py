"""The user trusts a folder in the editor: edits are allowed, its own files have no effect."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from indwell.bounds.folder_trust import FolderTrust
from indwell.policy.trust import LEAVE, STAY, TRUST, USE, TrustStanding
from indwell.settings.model import Settings

AGENTS = b"USE-TABS\n"
BY = "your answer in the editor"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root.resolve()


def trust_of(root: Path, *opened: Path) -> FolderTrust:
    """Return the trust of a new process, in whose editor the user trusts the ``opened`` folders."""
    trust = FolderTrust({"INDWELL_STATE": str(root.parent / "state")})
    trust.let_edit(opened, BY)
    return trust


def look(trust: FolderTrust, *roots: Path) -> tuple[TrustStanding, ...]:
    return trust.look(roots, Settings())


def hook(root: Path) -> None:
    """Give the folder a repository with a hook."""
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    (root / ".git" / "hooks" / "pre-commit").write_bytes(b"#!/bin/sh\ntouch PWN\n")


def test_a_folder_that_the_editor_trusts_may_be_changed_but_its_own_files_have_no_effect(
    root,
) -> None:
    (root / "AGENTS.md").write_bytes(AGENTS)
    trust = trust_of(root, root)
    (standing,) = look(trust, root)
    assert (standing.state, standing.by) == ("trusted", BY)
    assert trust.now((root,)).trusted == (root,)
    assert trust.now((root,)).restricted == ()
    assert not trust.obeys(root, "AGENTS.md", AGENTS)
    assert not trust.may_start(root)
    assert not trust.is_whole(root)
    assert standing.undecided == "1 file of instructions"
    assert standing.titles == (LEAVE, USE)


def test_a_folder_without_files_of_its_own_leaves_nothing_to_decide(root) -> None:
    trust = trust_of(root, root)
    (standing,) = look(trust, root)
    assert trust.may_start(root)
    assert standing.undecided == ""


def test_the_decision_to_use_the_files_is_by_content(root) -> None:
    (root / "AGENTS.md").write_bytes(AGENTS)
    trust = trust_of(root, root)
    trust.answer(look(trust, root)[0], trusted=True)
    (standing,) = look(trust, root)
    assert trust.obeys(root, "AGENTS.md", AGENTS)
    assert trust.may_start(root)
    assert (standing.titles, standing.undecided) == ((STAY, TRUST), "")
    (root / "AGENTS.md").write_bytes(b"OBEY-ME\n")  # as a pull could do
    (standing,) = look(trust, root)
    assert trust.is_trusted(root)
    assert not trust.obeys(root, "AGENTS.md", b"OBEY-ME\n")
    assert not trust.obeys(root, "AGENTS.md", AGENTS)
    assert standing.undecided == "1 file of instructions"
    assert "Changed: AGENTS.md\n" in standing.question
    assert "+ OBEY-ME\n" in standing.question


def test_the_decision_to_leave_files_out_lasts_until_they_change(root) -> None:
    (root / "AGENTS.md").write_bytes(AGENTS)
    trust = trust_of(root, root)
    trust.answer(look(trust, root)[0], trusted=False)
    again = trust_of(root, root)
    (standing,) = look(again, root)
    assert standing.undecided == ""
    assert again.is_trusted(root)
    assert not again.obeys(root, "AGENTS.md", AGENTS)
    (root / ".mcp.json").write_bytes(b"{}")
    assert look(again, root)[0].undecided == "1 file of instructions and 1 file of servers"


def nested(root: Path) -> tuple[str, bytes]:
    """Give the folder no file of instructions but one in a subfolder; return its name and bytes."""
    (root / "api").mkdir()
    (root / "api" / "AGENTS.md").write_bytes(AGENTS)
    return "api/AGENTS.md", AGENTS


def test_a_nested_instruction_file_waits_for_a_decision_from_the_moment_it_is_met(root) -> None:
    name, data = nested(root)
    trust = trust_of(root, root)
    assert look(trust, root)[0].undecided == ""
    assert not trust.obeys(root, name, data)
    trust.leave_out(root, name)
    (standing,) = look(trust, root)
    assert standing.undecided == "1 file of instructions"
    assert trust.may_start(root)  # as before the agent met the file
    trust.answer(trust.shown(standing), trusted=True)
    assert look(trust, root)[0].undecided == ""
    assert trust.obeys(root, name, data)


def test_a_nested_file_that_changed_since_the_decision_waits_again(root) -> None:
    name, _ = nested(root)
    for trusted in (False, True):
        (root / name).write_bytes(AGENTS)
        trust = trust_of(root, root)
        trust.answer(trust.shown(look(trust, root)[0]), trusted=trusted)
        trust.leave_out(root, name)
        assert look(trust, root)[0].undecided == ""
        (root / name).write_bytes(b"OBEY-ME\n")  # as a pull could do
        (standing,) = look(trust, root)
        assert standing.undecided == "1 file of instructions"
        assert not trust.obeys(root, name, b"OBEY-ME\n")
        (root / name).unlink()
        assert look(trust, root)[0].undecided == ""


def test_a_met_file_that_the_search_does_not_visit_is_part_of_the_decision(root) -> None:
    (root / "dist").mkdir()
    (root / "dist" / "AGENTS.md").write_bytes(AGENTS)
    trust = trust_of(root, root)
    look(trust, root)
    trust.leave_out(root, "dist/AGENTS.md")
    shown = trust.shown(look(trust, root)[0])
    assert "dist/AGENTS.md" in shown.question
    trust.answer(shown, trusted=False)
    assert look(trust, root)[0].undecided == ""


def test_only_an_editor_that_asks_about_trust_remembers_met_files(root) -> None:
    name, _ = nested(root)
    trust = trust_of(root)
    trust.answer(look(trust, root)[0], trusted=True)
    look(trust, root)
    trust.leave_out(root, name)
    assert look(trust, root)[0].undecided == ""


def test_the_decision_to_leave_files_out_does_not_answer_the_question_in_another_editor(
    root,
) -> None:
    (root / "AGENTS.md").write_bytes(AGENTS)
    trust = trust_of(root, root)
    trust.answer(look(trust, root)[0], trusted=False)
    (root / "AGENTS.md").unlink()  # an answer without files would be a yes to an empty folder
    other = trust_of(root)
    (standing,) = look(other, root)
    assert standing.state == "open"
    assert not other.is_trusted(root)


def test_an_unanswered_question_about_the_files_changes_nothing(root) -> None:
    (root / "AGENTS.md").write_bytes(AGENTS)
    trust = trust_of(root, root)
    trust.answer(look(trust, root)[0], trusted=False, keep=False)
    (standing,) = look(trust, root)
    assert (standing.state, standing.undecided) == ("trusted", "1 file of instructions")


def test_a_no_to_indwell_wins_over_the_editor(root) -> None:
    before = trust_of(root)
    before.answer(look(before, root)[0], trusted=False)
    trust = trust_of(root, root)
    assert look(trust, root)[0].state == "restricted"
    assert not trust.is_trusted(root)


def test_a_no_to_a_parent_folder_wins_over_the_editor(root) -> None:
    before = trust_of(root)
    before.answer(look(before, root.parent)[0], trusted=False)
    trust = trust_of(root, root)
    assert look(trust, root)[0].state == "restricted"


def test_a_declined_folder_stays_restricted_inside_a_folder_that_the_editor_trusts(root) -> None:
    inner = root / "vendor"
    inner.mkdir()
    before = trust_of(root)
    before.answer(look(before, inner)[0], trusted=False)
    trust = trust_of(root, root)
    look(trust, root)
    assert trust.now((root,)).trusted == (root,)
    assert trust.now((root,)).restricted == (str(inner),)


def test_tru_10_an_editors_claim_of_trust_covers_only_the_folders_that_it_names(root) -> None:
    other = root.parent / "other"
    other.mkdir()
    trust = trust_of(root, root)
    assert [one.state for one in look(trust, root, other)] == ["trusted", "open"]
    assert trust.now((root, other)).trusted == (root,)
    assert str(other) in trust.now((root, other)).restricted


@pytest.mark.skipif(sys.platform == "win32", reason="Wine removes no link to a folder")
def test_tru_09_a_link_that_leads_to_another_folder_later_is_not_trusted(root) -> None:
    link, evil = root.parent / "link", root.parent / "evil"
    evil.mkdir()
    link.symlink_to(root)
    trust = trust_of(root, link)
    assert look(trust, link)[0].state == "trusted"
    link.unlink()
    link.symlink_to(evil)
    assert look(trust, link)[0].state == "open"
    assert not trust.is_trusted(link)


def test_a_restricted_editor_wins_over_an_earlier_claim(root) -> None:
    trust = trust_of(root, root)
    look(trust, root)
    trust.hold_back("the editor is in restricted mode")
    assert look(trust, root)[0].state == "restricted"
    assert trust.now((root,)).trusted == ()


def test_tru_07_a_broken_store_of_answers_restricts_the_folder(root) -> None:
    store = root.parent / "state" / "trust" / "answers.json"
    store.parent.mkdir(parents=True)
    store.parent.chmod(0o700)
    store.write_bytes(b"{broken")
    store.chmod(0o600)
    trust = trust_of(root, root)
    assert look(trust, root)[0].state == "restricted"


def test_git_needs_a_question_where_it_would_run_files_that_the_user_has_not_seen(root) -> None:
    hook(root)
    trust = trust_of(root, root)
    (standing,) = look(trust, root)
    assert trust.now((root,)).unknown_git == (str(root),)
    trust.answer(standing, trusted=True)
    look(trust, root)
    assert trust.now((root,)).unknown_git == ()


def test_a_tasks_file_of_the_editor_causes_no_question_about_git(root) -> None:
    (root / ".vscode").mkdir()
    (root / ".vscode" / "tasks.json").write_bytes(b"{}")
    trust = trust_of(root, root)
    assert look(trust, root)[0].undecided == "1 file that tools run"
    assert trust.now((root,)).unknown_git == ()
