"""Whether a text in which the user typed includes an edit that was sent."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

from indwell.lsp.wire import sync
from indwell.lsp.workspace.documents import Documents
from indwell.lsp.workspace.edits import MOST, QUICK, SentEdit, Unanswered, was_taken

BEFORE = "def total(items):\n    return sum(items) + 1\n\nprint(1)\n"
EXPECTED = BEFORE.replace(" + 1", "")


def asked_of(before: str = BEFORE, expected: str = EXPECTED) -> SentEdit:
    documents = Documents()
    document = documents.open(sync.OpenedDocument("file:///w/a.py", "python", 1, before))
    answer = asyncio.get_running_loop().create_future()
    path = Path("/w/a.py")
    return SentEdit(document, path, types.WorkspaceEdit(), 1, before, expected, answer)


@pytest.mark.parametrize(
    ("now", "taken"),
    [
        (EXPECTED, True),
        ("# mine\n" + EXPECTED, True),
        (EXPECTED.replace("items)\n", "items)  # mine\n"), True),
        (EXPECTED.replace("(items)", "( items )"), True),  # a formatter changed the text
        (BEFORE, False),
        ("# mine\n" + BEFORE, False),
        (BEFORE.replace("+ 1", "+ mine1"), False),  # the user typed at the position of the edit
        (BEFORE.replace("sum", "mysum"), False),
        ("x = 1\n", False),  # the text allows no decision
    ],
)
async def test_an_unanswered_edit_counts_as_applied_if_the_text_is_closer_to_the_proposal(
    now, taken
) -> None:
    assert await was_taken(asked_of(), now) is taken


@pytest.mark.parametrize("taken", [True, False])
async def test_long_texts_are_compared_in_a_thread(taken) -> None:
    rest = "".join(f"line {number}\n" for number in range(QUICK // 8))
    asked = asked_of(BEFORE + rest, EXPECTED + rest)
    now = "# mine\n" + (EXPECTED if taken else BEFORE) + rest
    assert await was_taken(asked, now) is taken


async def test_the_number_of_remembered_edits_is_limited() -> None:
    unanswered = Unanswered(Documents())
    for _ in range(MOST + 10):
        unanswered.add(asked_of())
    assert len(unanswered._asked) == MOST
