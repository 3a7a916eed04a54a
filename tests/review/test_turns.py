"""Changes of two turns, created and removed files, and rewinds, with one example per rule."""

from __future__ import annotations

from indwell.review.hunk import Actor
from indwell.review.hunk_groups import BUILT_ON, TOUCHED, rewound
from support.pure_ledger import NAME, PATH, PureLedger

ONE, TWO = Actor("s", 1), Actor("s", 2)


def entangled() -> PureLedger:
    ledger = PureLedger("a\nb\nz\n")
    ledger.agent(1, "a\nfirst\nz\n")
    ledger.agent(2, "a\nsecond\nz\n")
    return ledger


def ids(ledger: PureLedger) -> list[str]:
    return [one.id for one in ledger.hunks()]


def test_lines_changed_by_a_later_turn_are_rejected_only_by_force() -> None:
    ledger = entangled()
    (hunk,) = ledger.hunks()
    assert hunk.actors == (ONE, TWO)
    assert ledger.reject(ids(ledger), only=[ONE]) == [BUILT_ON]
    assert ledger.text == "a\nsecond\nz\n"
    ledger.reject(ids(ledger), only=[ONE], force=True)
    assert (ledger.text, ledger.hunks()) == ("a\nb\nz\n", ())


def test_rejecting_the_later_turn_restores_the_lines_of_the_earlier_turn() -> None:
    ledger = entangled()
    ledger.reject(ids(ledger), only=[TWO])
    (hunk,) = ledger.hunks()
    assert (ledger.text, hunk.actors) == ("a\nfirst\nz\n", (ONE,))


def test_rejecting_the_whole_hunk_restores_the_original_text() -> None:
    ledger = entangled()
    ledger.reject(ids(ledger))
    assert (ledger.text, ledger.hunks()) == ("a\nb\nz\n", ())


def test_a_rejected_hunk_never_returns() -> None:
    ledger = PureLedger("a\nz\n")
    ledger.agent(1, "a\nnew\nz\n")
    ledger.reject(ids(ledger))
    ledger.sync("a\nnew\nz\n")
    assert ledger.hunks() == ()


def test_a_rewind_reverts_an_accepted_hunk() -> None:
    ledger = entangled()
    ledger.accept(ids(ledger))
    assert ledger.hunks() == ()
    ledger.sync("a\nsecond\nmine\nz\n")
    back = rewound(ledger.weave, NAME, "s", 1, force=False)
    assert (back.weave.text, back.kept) == ("a\nfirst\nmine\nz\n", ())
    back = rewound(ledger.weave, NAME, "s", 0, force=False)
    assert (back.weave.text, back.kept) == ("a\nb\nmine\nz\n", ())


def test_a_rewind_keeps_lines_that_the_user_rewrote_unless_forced() -> None:
    ledger = entangled()
    ledger.accept(ids(ledger))
    ledger.sync("a\nsecond!\nz\n")
    back = rewound(ledger.weave, NAME, "s", 0, force=False)
    assert back.weave.text == "a\nsecond!\nz\n"
    assert [reason for _, reason in back.kept] == [TOUCHED]
    assert rewound(ledger.weave, NAME, "s", 0, force=True).weave.text == "a\nb\nz\n"


def test_a_rewind_keeps_the_changes_of_other_sessions() -> None:
    ledger = PureLedger("a\nb\nc\nd\n")
    ledger.agent(1, "a\nB\nc\nd\n")
    ledger.agent(1, "a\nB\nc\nD\n", session="other")
    assert rewound(ledger.weave, NAME, "s", 0, force=False).weave.text == "a\nb\nc\nD\n"


def test_an_automatically_accepted_change_is_not_pending_and_can_be_rewound() -> None:
    ledger = PureLedger("a\nb\n")
    ledger.agent(1, "a\nB\n", ok=True)
    assert ledger.hunks() == ()
    assert rewound(ledger.weave, NAME, "s", 0, force=False).weave.text == "a\nb\n"


def test_an_automatically_accepted_change_on_pending_lines_stays_pending() -> None:
    ledger = PureLedger("a\nb\nc\nd\n")
    ledger.agent(1, "a\nB\nc\nd\n")
    ledger.agent(2, "a\nB2\nc\nD\n", ok=True)
    (hunk,) = ledger.hunks()
    assert (hunk.old, hunk.new) == (("b\n",), ("B2\n",))
    ledger.reject([hunk.id])
    assert ledger.text == "a\nb\nc\nD\n"


def test_a_created_file_is_one_hunk_and_is_rejected_whole() -> None:
    for text in ("a\nb\n", ""):
        ledger = PureLedger(None)
        ledger.agent(1, text)
        (hunk,) = ledger.hunks()
        assert (hunk.kind, hunk.old, "".join(hunk.new)) == ("create", (), text)
        ledger.reject([hunk.id])
        assert (ledger.text, ledger.hunks()) == (None, ())


def test_rejecting_a_created_file_keeps_the_users_lines() -> None:
    ledger = PureLedger(None)
    ledger.agent(1, "a\nb\n")
    ledger.sync("a\nmine\nb\n")
    first, second = ledger.hunks()
    assert (first.kind, second.kind) == ("change", "change")
    ledger.reject([first.id])
    assert ledger.text == "mine\nb\n"
    ledger.reject(ids(ledger))
    assert ledger.text == "mine\n"


def test_a_created_file_is_removed_when_its_last_hunk_is_rejected() -> None:
    ledger = PureLedger(None)
    ledger.agent(1, "a\nb\n")
    ledger.sync("a\nmine\nb\n")
    ledger.reject([ledger.hunks()[0].id])
    ledger.sync("b\n")
    ledger.reject(ids(ledger))
    assert ledger.text is None


def test_rejecting_a_removal_restores_the_file() -> None:
    for text in ("a\nb\n", ""):
        ledger = PureLedger(text)
        ledger.agent(1, None)
        (hunk,) = ledger.hunks()
        assert (hunk.kind, "".join(hunk.old), hunk.new) == ("delete", text, ())
        assert ledger.reloaded().hunks() == (hunk,)
        ledger.reject([hunk.id])
        assert (ledger.text, ledger.hunks()) == (text, ())


def test_a_file_that_was_changed_and_then_removed_is_restored_turn_by_turn() -> None:
    ledger = PureLedger("a\nb\n")
    ledger.agent(1, "a\nB\n")
    ledger.agent(2, None)
    ledger.reject(ids(ledger), only=[TWO])
    assert ledger.text == "a\nB\n"
    ledger.reject(ids(ledger))
    assert ledger.text == "a\nb\n"


def test_a_file_that_was_created_and_removed_needs_no_review() -> None:
    ledger = PureLedger(None)
    ledger.agent(1, "a\n")
    ledger.agent(2, None)
    assert ledger.hunks() == ()


def test_a_file_removed_by_the_user_has_no_hunks_even_when_created_again() -> None:
    ledger = PureLedger("a\nb\n")
    ledger.agent(1, "a\nB\n")
    ledger.sync(None)
    assert ledger.hunks() == ()
    ledger.agent(2, "other\n")
    (hunk,) = ledger.hunks()
    assert hunk.kind == "create"


def test_a_new_file_in_place_of_a_removed_file_belongs_to_the_user() -> None:
    ledger = PureLedger("a\nb\nc\n")
    ledger.agent(1, None)
    ledger.sync("something\nelse\n")
    assert ledger.hunks() == ()
    ledger.sync("a\nb\n")
    assert [one.old for one in ledger.hunks()] == [("c\n",)]


def test_a_refused_edit_leaves_no_hunk() -> None:
    ledger = PureLedger("a\nb\n")
    ledger.agent(1, "a\nB\n")
    name = ledger.begins(2, "x\na\nB2\n")
    ledger.withdraws(name, may_come=False)
    assert [(one.old, one.new) for one in ledger.hunks()] == [(("b\n",), ("B\n",))]
    ledger.sync("x\na\nB2\n")
    assert [one.actors for one in ledger.hunks()] == [(ONE,)]


def test_a_late_edit_belongs_to_the_agent_only_if_the_text_matches_exactly() -> None:
    ledger = PureLedger("a\nb\n")
    name = ledger.begins(1, "a\nB\n")
    ledger.withdraws(name, may_come=True)
    assert ledger.hunks() == ()
    ledger.sync("a\nB\n")
    ledger.sync("a\nB\nmine\n")
    assert [(one.old, one.new) for one in ledger.hunks()] == [(("b\n",), ("B\n",))]


def test_changes_that_an_editor_adds_to_an_edit_belong_to_the_user() -> None:
    ledger = PureLedger("a\nb\n")
    name = ledger.begins(1, "a\nB\n")
    ledger.finishes(name, "a\nB\nmine\n")
    assert [(one.old, one.new) for one in ledger.hunks()] == [(("b\n",), ("B\n",))]


def test_only_the_written_part_of_an_unfinished_edit_counts() -> None:
    ledger = PureLedger("a\nb\n")
    ledger.begins(1, "a\nB\nC\n")
    again = ledger.reloaded()
    again.sync("a\nb\n")
    assert again.hunks() == ()
    again = ledger.reloaded()
    again.sync("a\nB\nC\nmine\n")
    assert [(one.path, one.old, one.new) for one in again.hunks()] == [
        (PATH, ("b\n",), ("B\n", "C\n"))
    ]
