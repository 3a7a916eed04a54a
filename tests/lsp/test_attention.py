from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest
from lsprotocol import types
from lsprotocol.types import Position, Range

from indwell.context.attachments import OpenedFile, Problem, Selection
from indwell.lsp.prompts.attention import RECENT_S, Attention, hint_words, lines_of
from indwell.lsp.wire import sync
from indwell.lsp.workspace.documents import Documents
from indwell.settings.model import Settings
from support.secrets_of import names_in

URI = "file:///w/a.py"
TEXT = "one\ntwo 😀 x\nthree\n"
SETTINGS = Settings()
WRONG = types.Diagnostic(
    range=Range(start=Position(line=1, character=0), end=Position(line=1, character=3)),
    message="wrong",
    source="lint",
    code=7,
)


@dataclass
class Desk:
    """Attention with an open document, and a clock that a test advances."""

    text: str = TEXT
    now: float = 100.0

    def __post_init__(self) -> None:
        self.documents = Documents()
        self.attention = Attention(
            self.documents,
            lambda: self.now,
            lambda document: document.uri.removeprefix("file:///w/"),
            names_in(),
        )
        self.open(URI, self.text)

    def open(self, uri: str, text: str = "", language: str = "python") -> None:
        item = sync.OpenedDocument(uri=uri, language_id=language, version=1, text=text)
        self.documents.open(item)

    def type_at_the_start(self) -> None:
        change = sync.TextChange(range=span(0, 0, 0, 0), text="#\n")
        self.documents.change(URI, 2, [change])

    def selected(self, settings: Settings = SETTINGS) -> Selection | None:
        return self.attention.selection(settings)

    def opened(self, settings: Settings = SETTINGS) -> OpenedFile | None:
        return self.attention.opened(settings)


def span(line: int, character: int, last: int, end: int) -> Range:
    return Range(
        start=Position(line=line, character=character), end=Position(line=last, character=end)
    )


def with_settings(**changes: object) -> Settings:
    return msgspec.structs.replace(SETTINGS, **changes)


TWO = Selection(path="a.py", first_line=2, last_line=2, text="two 😀")


def test_a_reported_selection_is_sent_with_its_exact_text() -> None:
    desk = Desk()
    desk.attention.select(URI, 1, [span(1, 0, 1, 6)])  # utf-16, in which the emoji counts as two
    assert desk.selected() == TWO


def test_problems_on_selected_lines_are_sent_with_the_selection() -> None:
    desk = Desk()
    desk.attention.report(URI, [WRONG])
    wrong = Problem(line=2, last_line=2, severity="error", message="wrong", source="lint", code="7")
    desk.attention.select(URI, 1, [span(1, 0, 1, 6)])
    assert desk.selected() == msgspec.structs.replace(TWO, problems=(wrong,))
    assert desk.selected(with_settings(attach_diagnostics=False)) == TWO
    desk.attention.select(URI, 1, [span(2, 0, 2, 5)])
    assert desk.selected() == Selection(path="a.py", first_line=3, last_line=3, text="three")


def test_unsaved_text_is_reported_as_unsaved() -> None:
    desk = Desk()
    desk.type_at_the_start()
    desk.attention.select(URI, 2, [span(0, 0, 1, 0)])
    assert desk.selected() == Selection(
        path="a.py", first_line=1, last_line=1, text="#\n", unsaved=True
    )


def test_the_largest_of_several_selected_ranges_counts() -> None:
    desk = Desk()
    desk.attention.select(URI, 1, [span(2, 0, 2, 5), span(0, 0, 1, 0), span(0, 0, 0, 1)])
    assert desk.selected() == Selection(path="a.py", first_line=1, last_line=1, text="one\n")


def test_a_selection_guessed_from_a_request_has_its_age() -> None:
    desk = Desk()
    desk.attention.request(URI, span(1, 0, 1, 6))
    desk.now += 30
    note = "marked 30 s ago, perhaps no longer"
    assert desk.selected() == msgspec.structs.replace(TWO, note=note)
    desk.now += RECENT_S - 29
    assert desk.selected() is None


def test_a_selection_reported_by_the_editor_outweighs_a_guess() -> None:
    desk = Desk()
    desk.attention.select(URI, 1, [span(1, 0, 1, 6)])
    desk.attention.request(URI, span(0, 0, 0, 3))
    assert desk.selected() == TWO


def test_an_empty_selection_reported_by_the_editor_counts() -> None:
    desk = Desk()
    desk.attention.request(URI, span(0, 0, 0, 3))
    desk.attention.select(URI, 1, [span(1, 2, 1, 2)])
    assert desk.selected() is None


def test_a_cursor_is_not_a_selection() -> None:
    desk = Desk()
    desk.attention.request(URI, span(1, 2, 1, 2))
    assert desk.selected() is None


@pytest.mark.parametrize("how", ["select", "request"])
def test_a_range_of_another_version_is_left_out(how) -> None:
    desk = Desk()
    if how == "select":
        desk.attention.select(URI, 1, [span(1, 0, 1, 6)])
    else:
        desk.attention.request(URI, span(1, 0, 1, 6))
    desk.type_at_the_start()
    assert desk.selected() is None


def test_a_range_of_a_closed_document_is_left_out() -> None:
    desk = Desk()
    desk.attention.select(URI, 1, [span(1, 0, 1, 6)])
    desk.documents.close(URI)
    assert (desk.selected(), desk.opened()) == (None, None)


def test_a_range_beyond_the_document_ends_at_its_last_line() -> None:
    desk = Desk(text="one\ntwo")
    document = desk.documents.get(URI)
    stale = desk.attention.at(document, span(40, 0, 44, 2), [], SETTINGS)
    assert stale == Selection(path="a.py", first_line=2, last_line=2, text="")


def test_settings_turn_each_source_off() -> None:
    desk = Desk()
    desk.attention.select(URI, 1, [span(1, 0, 1, 6)])
    assert desk.selected(with_settings(attach_selection=False)) is None
    assert desk.opened(with_settings(attach_opened_file=False)) is None
    assert desk.opened(with_settings(attach_selection=False)) == OpenedFile("a.py", "python", 21)


@pytest.mark.parametrize("name", [".env", "sub/.ENV", "deploy.pem", "gone/.ssh/config"])
def test_neither_the_text_nor_the_name_of_an_open_secret_file_is_sent(name) -> None:
    desk = Desk()
    uri = f"file:///w/{name}"
    desk.open(uri, "KEY=1\n")
    desk.attention.focus(uri)
    desk.attention.select(uri, 1, [span(0, 0, 0, 5)])
    assert (desk.selected(), desk.opened()) == (None, None)


def test_the_opened_file_is_reported_by_name_language_size_and_state() -> None:
    desk = Desk()
    assert desk.opened() == OpenedFile("a.py", "python", 21)
    desk.type_at_the_start()
    assert desk.opened() == OpenedFile("a.py", "python", 23, unsaved=True)


def test_without_a_focus_the_newest_open_file_counts() -> None:
    desk = Desk()
    desk.open("git:/w/a.py?HEAD", "old")
    assert desk.opened() == OpenedFile("a.py", "python", 21)
    desk.open("untitled:Untitled-1", "x", "plaintext")
    assert desk.opened() == OpenedFile("untitled:Untitled-1", "plaintext", 1)


def test_the_focused_file_takes_precedence_over_the_newest_and_a_lost_focus_means_no_file() -> None:
    desk = Desk()
    desk.open("file:///w/b.py")
    desk.attention.focus(URI)
    assert desk.opened() == OpenedFile("a.py", "python", 21)
    desk.attention.focus(None)
    assert desk.opened() is None


@pytest.mark.parametrize(
    ("range_", "n_lines", "lines"),
    [
        (span(1, 0, 1, 0), 9, (1, 1)),
        (span(1, 0, 3, 0), 9, (1, 2)),  # an end at column 0 excludes its line
        (span(1, 0, 3, 1), 9, (1, 3)),
        (span(1, 0, 30, 1), 9, (1, 8)),
        (span(20, 0, 30, 1), 9, (8, 8)),
    ],
)
def test_a_range_covers_the_expected_lines(range_, n_lines, lines) -> None:
    assert lines_of(range_, n_lines) == lines


def test_a_deny_rule_counts_for_the_name_in_the_uri_whatever_its_scheme() -> None:
    documents = Documents()
    attention = Attention(documents, lambda: 0.0, lambda _document: "config/local.cfg", names_in())
    for uri in (
        "file:///w/.env",  # a link, whose target has no secret name
        "git:/w/.env?%7B%22ref%22%3A%22%22%7D",
        "vscode-vfs://github/w/.env#1",
        "vscode-notebook-cell:/w/%2Eenv",
    ):
        item = sync.OpenedDocument(uri=uri, language_id="text", version=1, text="KEY=1\n")
        assert attention.is_denied(documents.open(item), Settings()), uri
    item = sync.OpenedDocument(uri="file:///w/a.py", language_id="py", version=1, text="")
    assert not attention.is_denied(documents.open(item), Settings())


def test_a_code_action_request_shows_in_which_open_document_the_user_works() -> None:
    desk = Desk()
    desk.open("file:///w/b.py")
    assert desk.attention.opened_uri() == "file:///w/b.py"
    desk.attention.request(URI, span(0, 0, 0, 0))
    assert desk.attention.opened_uri() == URI
    desk.open("file:///w/c.py")
    assert desk.attention.opened_uri() == "file:///w/c.py"
    desk.attention.name(URI)
    desk.documents.close(URI)
    assert desk.attention.opened_uri() == "file:///w/c.py"
    desk.attention.name("file:///w/b.py")
    desk.attention.focus("file:///w/c.py")  # a reported focus is no guess
    assert desk.attention.opened_uri() == "file:///w/c.py"


def test_a_review_hint_that_lost_its_source_is_not_a_problem() -> None:
    """ALE returns the hint without its source, as an error."""
    words = hint_words("turn 1, +2 −1")
    ours = types.Diagnostic(range=WRONG.range, message=words, severity=types.DiagnosticSeverity(1))
    desk = Desk()
    desk.attention.report(URI, [ours, WRONG])
    assert desk.attention.problems(URI) == (WRONG,)
    given = desk.documents.get(URI)
    assert given is not None
    selection = desk.attention.at(given, WRONG.range, [ours], SETTINGS)
    assert selection is not None
    assert selection.problems == ()


def test_a_focused_plan_document_does_not_replace_the_users_open_file() -> None:
    desk = Desk()
    desk.attention.focus(URI)
    plan = "file:///state/plan.md"
    desk.documents.beside.add(plan)
    desk.open(plan, "1. do it\n", "markdown")
    desk.attention.focus(plan)
    desk.attention.select(plan, 1, [span(0, 0, 0, 5)])
    opened = desk.opened()
    assert opened is not None
    assert opened.path == "a.py"
    assert desk.selected() is None
