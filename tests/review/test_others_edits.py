"""Effects of edits by others on the agent's lines, with one example for each rule.

Lines are written ``a b c``; a hunk reads ``line:old>new``, with ``!`` if the user touched it.
"""

from __future__ import annotations

import pytest

from support.pure_ledger import PureLedger

ENDS = ("\n", "\r\n", "\r")


def text_of(words: str, end: str) -> str:
    return "".join(word.replace("_", " ") + end for word in words.split())


def shown(ledger: PureLedger) -> str:
    parts = []
    for one in ledger.hunks():
        old, new = (" ".join(line.strip() or "-" for line in side) for side in (one.old, one.new))
        parts.append(f"{one.line}:{old}>{new}{'!' if one.is_touched else ''}")
    return " | ".join(parts)


def check(before: str, agent: str, now: str, hunks: str, rejected: str) -> None:
    """Check the hunks after edits by the agent and others, and the text after rejecting all."""
    for end in ENDS:
        ledger = PureLedger(text_of(before, end))
        for turn, words in enumerate(agent.split("/"), 1):
            ledger.agent(turn, text_of(words, end))
        ledger.sync(text_of(now, end))
        assert ledger.weave.text == text_of(now, end)
        assert shown(ledger) == hunks
        ledger.reject([one.id for one in ledger.hunks()])
        assert ledger.text == text_of(rejected, end)
        assert ledger.weave.text == ledger.text


AGENT = "alpha BETA GAMMA delta"


@pytest.mark.parametrize(
    ("before", "agent", "now", "hunks", "rejected"),
    [
        ("a b c", "a B c", "a B c", "2:b>B", "a b c"),
        ("a b c", "a c", "a c", "2:b>", "a b c"),
        ("a b", "a b c d", "a b c d", "3:>c d", "a b"),
        ("a b c", "X a B c Y", "X a B c Y", "1:>X | 3:b>B | 5:>Y", "a b c"),
    ],
)
def test_an_edit_by_the_agent_is_one_hunk(
    before: str, agent: str, now: str, hunks: str, rejected: str
) -> None:
    check(before, agent, now, hunks, rejected)


def test_lines_typed_inside_a_hunk_split_the_hunk_and_are_kept() -> None:
    check("a z", "a p q z", "a p mine q z", "2:>p | 4:>q", "a mine z")


def test_a_replaced_line_is_paired_with_its_replacement() -> None:
    ledger = PureLedger("a\nfirst(1)\nsecond(2)\nz\n")
    ledger.agent(1, "a\nfirst(1, x)\nsecond(2, y)\nz\n")
    assert len(ledger.hunks()) == 1
    ledger.sync("a\nfirst(1, x)\nmine\nsecond(2, y)\nz\n")
    _, second = ledger.hunks()
    ledger.reject([second.id])
    assert ledger.text == "a\nfirst(1, x)\nmine\nsecond(2)\nz\n"


def test_lines_typed_next_to_a_hunk_are_not_part_of_the_hunk() -> None:
    check("a b z", "a B z", "a mine B z", "3:b>B", "a mine b z")
    check("a b z", "a B z", "a B mine z", "2:b>B", "a b mine z")


def test_lines_of_the_agent_that_the_user_deleted_are_removed_from_the_hunk() -> None:
    check("a z", "a p q z", "a q z", "2:>q", "a z")
    check("a z", "a p q z", "a z", "", "a z")


def test_an_undo_in_the_editor_removes_the_hunk() -> None:
    check("a b c", "a B c", "a b c", "", "a b c")
    check("a b c d e", "a B c D e", "a b c D e", "4:d>D", "a b c d e")


def test_a_restored_part_is_removed_from_the_hunk() -> None:
    check("one two three", "one", "one two", "3:three>", "one two three")
    check("one two three z", "one z", "one three z", "2:two>", "one two three z")


def test_a_line_that_is_restored_and_reformatted_is_removed_from_the_hunk() -> None:
    ledger = PureLedger("a\nf(1,  2)\nz\n")
    ledger.agent(1, "a\nz\n")
    ledger.sync("a\nf(1, 2)\nz\n")
    assert ledger.hunks() == ()


def test_a_typed_empty_line_does_not_count_as_a_removed_line_restored() -> None:
    ledger = PureLedger("a\nb\n\nc\nz\n")
    ledger.agent(1, "a\nz\n")
    ledger.sync("a\n\nz\n")
    assert [one.old for one in ledger.hunks()] == [("b\n", "\n", "c\n")]


def test_a_formatter_does_not_remove_hunks() -> None:
    ledger = PureLedger("a\nf(1,2)\nz\n")
    ledger.agent(1, "a\nf(1,2,3)\nnew( x )\nz\n")
    ledger.sync("a\nf(1, 2, 3)\nnew(\n    x\n)\nz\n")
    assert shown(ledger) == "2:f(1,2)>f(1, 2, 3) new( x )"
    ledger.reject([one.id for one in ledger.hunks()])
    assert ledger.text == "a\nf(1,2)\nz\n"


def test_rejecting_a_line_that_a_formatter_joined_with_another_restores_both() -> None:
    ledger = PureLedger("f(\n  1)\n")
    ledger.agent(1, "f(\n  2,\n  1)\n")
    ledger.sync("f(2, 1)\n")
    ledger.reject([one.id for one in ledger.hunks()])
    assert ledger.text == "f(\n  1)\n"


def test_agent_lines_that_the_user_rewrote_are_marked_and_stay() -> None:
    check("a b z", "a compute(b) z", "a compute(b,2) z", "2:b>compute(b,2)!", "a compute(b,2) z")


def test_a_hunk_that_the_user_changed_is_rejected_only_by_force() -> None:
    ledger = PureLedger("a\nb\nz\n")
    ledger.agent(1, "a\ncompute(b)\nz\n")
    ledger.sync("a\ncompute(b, 2)\nmine\nz\n")
    ids = [one.id for one in ledger.hunks()]
    assert ledger.reject(ids) == ["you have changed lines of it since"]
    ledger.reject(ids, force=True)
    assert ledger.text == "a\nb\nmine\nz\n"


def test_a_line_changed_in_two_turns_is_one_hunk() -> None:
    check("a b z", "a B z/a B2 z", "a B2 z", "2:b>B2", "a b z")


def test_hunk_line_numbers_refer_to_the_current_text() -> None:
    check("a b c", "a B c", "x y a B c", "4:b>B", "x y a b c")


def test_a_last_line_without_a_line_end_gets_one_if_lines_are_added_after_it() -> None:
    ledger = PureLedger("a\nz")
    ledger.agent(1, "a\nz\nnew")
    ledger.sync("a\nz\nnew\nmine")
    ledger.reject([one.id for one in ledger.hunks()])
    assert ledger.text == "a\nz\nmine"


@pytest.mark.parametrize(
    ("before", "after", "now"),
    [
        ("a\r\nb\rc\nd", "a\r\nB\rc\nd", "x\ra\r\nB\rc\nd\r\n"),
        ("a\x0cb\nc\u2028d\n", "a\x0cb\nC\u2028d\n", "a\x0cb\nC\u2028d\n\x0c\n"),
        ("a\r", "a\r\n", "a\r\n\r"),
        ("\r\n\r\n", "\r\n\n\r\n", "\n\r\r\n\n"),
        ("\udc80a\n\ud83d\n", "\udc80b\n\ud83d\n", "\udc80b\n\n\ud83d\n"),
        ("", "a", "a\nb"),
    ],
)
def test_unusual_line_endings_stay_byte_for_byte(before: str, after: str, now: str) -> None:
    ledger = PureLedger(before)
    ledger.agent(1, after)
    assert ledger.weave.text == after
    ledger.sync(now)
    assert ledger.weave.text == now
    again = ledger.reloaded()
    assert (again.weave.text, again.hunks()) == (now, ledger.hunks())
    ledger.sync(after)
    ledger.reject([one.id for one in ledger.hunks()])
    assert ledger.text == before


def test_a_hunk_keeps_its_id_when_moved_and_gets_a_new_id_when_changed() -> None:
    ledger = PureLedger("a\nb\nz\n")
    ledger.agent(1, "a\nB\nz\n")
    (first,) = ledger.hunks()
    ledger.sync("x\ny\na\nB\nz\n")
    (moved,) = ledger.hunks()
    assert (moved.id, moved.line) == (first.id, 4)
    ledger.sync("a\nB;\nz\n")
    (touched,) = ledger.hunks()
    assert touched.id != first.id


def test_two_equal_hunks_keep_different_ids() -> None:
    ledger = PureLedger("a\nb\nc\n")
    ledger.agent(1, "a\nnew\nb\nnew\nc\n")
    first, second = ledger.hunks()
    ledger.accept([first.id])
    assert [one.id for one in ledger.hunks()] == [second.id]
