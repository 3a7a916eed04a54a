"""The user's words survive hundreds of turns, on the task card or in files that the card names."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from indwell.context.compaction.summarising.task_card import task_card
from indwell.context.compaction.summarising.user_notes import (
    NOTES_LENGTH,
    UserNote,
    note_files,
    open_tasks,
    user_notes,
)
from indwell.context.work_record import State, UserPrompt
from indwell.messages import Message
from support.requests import assistant, user

STUDY = Path(__file__).parents[2] / "benchmarks" / "context_study" / "long_conversations"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    spec = importlib.util.spec_from_file_location("long_conversations", STUDY / "run.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # a named tuple looks its module up
    spec.loader.exec_module(made)
    return made


def prompts(*said: str | tuple[str, State]) -> tuple[UserPrompt, ...]:
    pairs = [(one, "finished") if isinstance(one, str) else one for one in said]
    return tuple(
        UserPrompt(turn, words, state)  # type: ignore[arg-type]
        for turn, (words, state) in enumerate(pairs, 1)
    )


def in_turns(*said: str | tuple[str, State]) -> tuple[Message, ...]:
    """Return messages of turns that end with an answer, or with no answer if the state is open."""
    made: list[Message] = []
    for one in prompts(*said):
        answer = "[no answer]" if one.state == "open" else "Done."
        made += [
            msgspec.structs.replace(each, turn=one.turn)
            for each in (user(one.words), assistant(answer))
        ]
    return tuple(made)


def notes(*said: str) -> tuple[UserNote, ...]:
    return user_notes(prompts(*said))


def test_what_was_said_once_survives_600_turns(study: ModuleType) -> None:
    lost: list[str] = []
    for one in study.conversations("develop"):
        card, files = study.carded(one, 32_000, 600)
        lost += [
            f"{one['name']}: {each.question}"
            for each in study.judged(one, card, files)
            if each.place not in {"request", "notes"} or each.is_stale
        ]
    assert lost == []


def test_the_sets_of_long_conversations_are_complete(study: ModuleType) -> None:
    assert [len(study.conversations(one)) for one in study.SETS] == [20, 20, 6, 12, 12]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We'll use MySQL as the database.", "The database is SQLite now, no longer MySQL."),
        ("The release is on 14 March 2027.", "The release is on 2 May 2027 now."),
        ("El puerto es el 3000.", "El puerto es ahora el 3100."),
        ("Wir nehmen MariaDB.", "Doch nicht MariaDB, wir nehmen PostgreSQL."),
        ("数据库就用 MySQL 8。", "数据库改成 PostgreSQL。"),
    ],
)
def test_a_revoked_statement_is_no_longer_valid(old: str, new: str) -> None:
    said = [old, "Is that all?", new]
    first, second = notes(*said)
    assert (first.text, first.changed_in) == (old, 3)
    assert (second.text, second.changes) == (new, (0,))
    card = task_card(in_turns(*said, "go"), budget_tokens=600)
    assert card is not None
    assert f"- {new} (turn 3; changes turn 1: {old})\n" in card.text
    assert f"- {old}" not in card.text
    (file,) = note_files(prompts(*said), "spill").spills
    assert f"- turn 1, changed in turn 3: {old}\n- turn 3: {new}\n" in file.text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Our contact is Mirela Stan.", "Mirela left, the contact is Oskar Lind."),
        ("Retention is 90 days, rollups stay.", "Retention for raw data: 30 days."),
        ("Field names are in snake_case.", "I must correct myself: field names use camelCase."),
        ("For the PDFs let's go with gofpdf.", "gofpdf can't embed it, so we're on pdfcpu."),
        ("Antworte bitte auf Deutsch.", "English from here on, a colleague is reading along."),
        ("La jauge est de 1200 places.", "La jauge tombe à 950 places."),
        ("每人最多借 5 本。", "借书上限提高了，现在是 8 本。"),  # noqa: RUF001 - a Chinese comma
    ],
)
def test_a_statement_that_is_perhaps_changed_stays_with_a_mark(old: str, new: str) -> None:
    said = [old, "Is that all?", new]
    first, second = notes(*said)
    assert (first.changed_in, first.doubted_in, second.doubts) == (0, 3, (0,))
    card = task_card(in_turns(*said, "go"), budget_tokens=600)
    assert card is not None
    assert f"- {old} (turn 1; perhaps changed in turn 3)\n" in f"{card.text}\n"
    (file,) = note_files(prompts(*said), "spill").spills
    assert f"- turn 1, perhaps changed in turn 3: {old}\n- turn 3: {new}\n" in file.text


def test_a_task_for_later_that_is_perhaps_dropped_says_so() -> None:
    said = "The dunning letters would be nice. Leave those until the tax works, we do them later."
    requests = prompts(said, "Add a test", "Forget the dunning letters.", "now")
    assert open_tasks(requests, user_notes(requests)) == (
        (
            1,
            "for later, perhaps changed in turn 3",
            "Leave those until the tax works, we do them later.",
        ),
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Prices are stored in cents.", "The release is no longer in May."),
        ("The shop is called Leafline.", "The shop is on port 8080."),
        ("Alice reviews the backend.", "Bob reviews the frontend."),
        ("The pilot starts on 3 May.", "The audit is on 12 June."),
    ],
)
def test_a_statement_about_something_else_changes_nothing(old: str, new: str) -> None:
    first, second = notes(old, "Is that all?", new)
    assert (first.changed_in, first.doubted_in) == (0, 0)
    assert (second.changes, second.doubts) == ((), ())


def test_a_sentence_with_two_statements_is_never_certainly_changed() -> None:
    first, _ = notes("The setpoint is 20.5 degrees, the hysteresis 3 watts.", "No longer 3 watts.")
    assert (first.changed_in, first.doubted_in) == (0, 2)


def test_pasted_text_and_chat_are_no_notes() -> None:
    pasted = "[12:01] the worker started\n| a | b is set |\n⏺ the port is 80 in the old setup"
    said = ["Looks good.", f"Fix this:\n{pasted}", "```\nnever do this\n```\nRename it"]
    assert [one.text for one in notes("a", "b", "c", *said)] == []


def test_open_tasks_are_closed_by_the_users_words_or_a_later_turn() -> None:
    requests = prompts(
        ("Write the importer for the bank", "open"),
        ("go on", "finished"),
        ("Add fuzzing for the lexer", "open"),
        ("Never mind the fuzzing, we skip it.", "finished"),
        ("Port the watchdog driver", "open"),
        ("Now port the watchdog driver, please", "finished"),
        ("Draw the logo", "asked back"),
        ("The icons come later.", "finished"),
        ("now", "open"),
    )
    found = open_tasks(requests, user_notes(requests))
    assert found == ((7, "asked back", "Draw the logo"), (8, "for later", "The icons come later."))


def test_unfinished_requests_are_named_after_many_turns() -> None:
    said: list[str | tuple[str, State]] = [f"Add case {at} to the table" for at in range(1, 220)]
    said[8] = ("Write the migration for the orders", "open")
    said[60] = ("Document the retry queue", "open")
    card = task_card(in_turns(*said, "go"), budget_tokens=600)
    assert card is not None
    assert card.meta.tokens <= 600
    assert "- turn 61, open: Document the retry queue\n- turn 9, open: Write the migr" in card.text


def test_the_card_names_the_files_of_notes_only_if_it_does_not_show_all_notes() -> None:
    named = "spill/notes-0001-a.txt"
    short = task_card(in_turns("Never touch the docs.", "go"), budget_tokens=600, notes_in=named)
    assert short is not None
    assert named not in short.text
    rules = " ".join(f"Never touch the folder number {at}." for at in range(80))
    longer = task_card(in_turns(rules, "go"), budget_tokens=400, notes_in=named)
    assert longer is not None
    assert longer.text.endswith(f" are in {named}\n</task-card>")
    assert longer.meta.tokens <= 400


def test_a_full_file_of_notes_is_not_written_again_when_the_conversation_grows() -> None:
    said = [f"The limit of queue number {at} is {at * 7} entries." for at in range(600)]
    before, after = (note_files(prompts(*said[:n]), "spill") for n in (500, 600))
    assert len(before.spills) > 1
    assert all(len(one.text) < NOTES_LENGTH + 500 for one in after.spills)
    assert before.spills[:-1] == after.spills[: len(before.spills) - 1]
    assert after.named.startswith(f"spill/{after.spills[0].name}, notes-0002-")
