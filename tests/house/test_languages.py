"""Checks the catalogues of the languages against the source."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from indwell.words import ENGLISH, words_for, words_of_environment

ROOT = Path(__file__).resolve().parents[2]
SHARE = {"de": 0.985, "zh": 0.985}  # the least share of translated sentences, which may only grow

spec = importlib.util.spec_from_file_location("languages", ROOT / "scripts" / "languages.py")
assert spec is not None
assert spec.loader is not None
languages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(languages)


@pytest.fixture(scope="module")
def source():
    return languages.source()


@pytest.mark.parametrize("language", languages.LANGUAGES)
def test_each_translated_sentence_is_in_the_source_with_its_placeholders(source, language) -> None:
    entries = languages.catalogue(language)
    assert languages.stale(entries, source) == []
    assert languages.wrong(entries) == []


@pytest.mark.parametrize("language", languages.LANGUAGES)
def test_the_share_of_translated_sentences_does_not_shrink(source, language) -> None:
    everything = {text: one for texts in source.values() for text, one in texts.items()}
    done, number = languages.share(languages.catalogue(language), everything)
    assert done / number >= SHARE[language]


def test_a_sentence_that_no_source_has_is_found() -> None:
    assert languages.stale({"A sentence of {nobody}": ""}, {Path("a.py"): {"A word of {}": True}})
    assert languages.wrong({"of {a}": "von {b}", "no": ""}) == ["of {a}", "no"]


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        ("de", "de"),
        ("de_AT.UTF-8", "de"),
        ("zh-CN", "zh"),
        ("zh_Hans_SG", "zh"),
        ("zh-TW", ""),
        ("zh-Hant", ""),
        ("den", ""),
        ("C", ""),
        ("", ""),
    ],
)
def test_a_locale_names_a_language(locale, language) -> None:
    assert words_for(locale).language == language


def test_the_terminal_takes_the_first_variable_that_is_set() -> None:
    environment = {"LC_ALL": "", "LC_MESSAGES": "zh_CN.UTF-8", "LANG": "de_DE.UTF-8"}
    assert words_of_environment(environment).language == "zh"
    assert words_of_environment({}).language == ""


GERMAN = words_for("de")


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("Fix this", "Beheben"),
        ("Accept these 3 changes", "Annehmen: diese 3 Änderungen"),
        ("all pending changes", "all pending changes"),  # "all pending" is no number
        ("Turn 4, new file, +3 −1", "Durchgang 4, neue Datei, +3 −1"),
        ("Change a (b).py, new file?", "a (b).py, new file ändern?"),  # data is not translated
        ("Change {path}?", "{path} ändern?"),
        ("sessions: nothing is pending", "sessions: keine offenen Änderungen"),
        ("a place, where the agent works: it", "a place, where the agent works: it"),  # no name
        ("x; " * 100 + "no text", "x; " * 100 + "no text"),  # too many parts
        ("11,237 tokens · $0.05", "11.237 Token · $0,05"),
        ("editing: failed", "Bearbeiten: fehlgeschlagen"),
        ("Indwell: edit Yes (turn 1)", "Indwell: Yes bearbeiten (Durchgang 1)"),
        ("unknown (turn 1); no text", "unknown (Durchgang 1); kein Text"),
        ("a (turn 1; b (no text))", "a (Durchgang 1; b (kein Text))"),
        ("│ Fix this", "│ Fix this"),  # a line of a command
        ("Rule: no text\n│ No\nno text", "Regel: no text\n│ No\nkein Text"),
        ("unknown sentence", "unknown sentence"),
        ("(" * 3_000, "(" * 3_000),
        ("", ""),
    ],
)
def test_a_message_is_translated_as_far_as_its_sentences_are_known(english, german) -> None:
    assert GERMAN.of(english) == german
    assert ENGLISH.of(english) == english


def test_the_terminals_markup_stays_around_a_translated_sentence() -> None:
    assert GERMAN.of_markup("  [dim]no text[/]") == "  [dim]kein Text[/]"
    assert GERMAN.of_markup("no text") == "kein Text"


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("accept", "accept"),
        ("rm a; done; no text", "rm a; done; no text"),
        ("curl x (outside the sandbox)", "curl x (außerhalb der Sandbox)"),
        ("done (no text)", "done (kein Text)"),
        ("and 3 more", "und 3 weitere"),
    ],
)
def test_a_part_of_a_command_is_data_and_its_reason_is_not(english, german) -> None:
    assert GERMAN.of_part(english) == german
    assert ENGLISH.of_part(english) == english
