"""Checks the catalogues of the languages against the source."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

from indwell.translation import ENGLISH, translation_for, translation_from_environment

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
    wrong = {"of {a}": "von {b}", "no": "", "run `a WHY`": "`a GRUND` ausführen"}
    assert languages.wrong(wrong) == list(wrong)


NOT_A_TERM = {  # Here, "turn" is a verb.
    f"{{1}}\nAbout {{2}} {tokens}. Press to turn it back into text"
    for tokens in ("token", "tokens")
}


@pytest.mark.parametrize(("language", "column"), [("de", 1), ("zh", 2)])
def test_each_translation_uses_the_terms_of_the_glossary(language, column) -> None:
    rows = glossary()
    assert {"session", "permission", "skill"} <= {row[0] for row in rows}
    terms = [(_english(row[0]), _forms(row[column])) for row in rows]
    assert [
        (english.pattern, text, translation)
        for text, translation in every_text(language).items()
        for english, forms in terms
        if text not in NOT_A_TERM and _lacks(text, translation, english, forms)
    ] == []


@pytest.mark.parametrize("language", languages.LANGUAGES)
def test_a_text_of_the_server_and_of_the_extension_has_one_translation(language) -> None:
    server, all_texts = languages.catalogue(language), every_text(language)
    both = {text for text in server if " " in text.strip()}  # One word may be a verb or a noun.
    assert {text: all_texts[text] for text in both if all_texts[text] != server[text]} == {}


def test_a_text_without_the_term_of_the_glossary_is_found() -> None:
    skill = _english("skill"), _forms("Skill")
    assert _lacks("Load the skill {name}", "Die Fähigkeit {name} laden", *skill)
    assert not _lacks("Load the skills", "Die Skills laden", *skill)
    assert not _lacks("`skill` is off; {skill}", "`skill` ist aus; {skill}", *skill)
    assert not _lacks("skills is not valid", "skills ist ungültig", *skill)
    verb = _english("pending, rewind"), _forms("zurückspulen, steht … aus")
    assert not _lacks("nothing is pending", "nichts steht mehr aus", *verb)
    assert not _lacks("Rewind", "Spule zurück, zurückspule", *verb)
    assert _lacks("nothing is pending", "nichts ist offen", *verb)


def glossary() -> list[list[str]]:
    """Return the rows of the glossary's table of checked terms."""
    page = (ROOT / "vscode-extension" / "l10n" / "glossary.md").read_text("utf-8")
    table = page.partition("## Checked terms")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def every_text(language) -> dict[str, str]:
    """Return the translations of the server, of the extension and of its package.json."""
    folder, name = ROOT / "vscode-extension" / "l10n", {"zh": "zh-cn"}.get(language, language)
    texts = dict(languages.catalogue(language))
    for path in (folder / f"bundle.l10n.{name}.json", folder / f"manifest.{name}.json"):
        texts |= json.loads(path.read_text("utf-8"))
    return texts


def _english(cell: str) -> re.Pattern[str]:
    return re.compile(rf"\b({cell.replace(', ', '|')})s?\b", re.IGNORECASE)


def _forms(cell: str) -> re.Pattern[str]:
    stems = [re.escape(form).replace("…\\ ", ".*") for form in cell.split(", ")]
    return re.compile("|".join(stem.removesuffix("en") for stem in stems), re.IGNORECASE)


def _lacks(text, translation, english, forms) -> bool:
    if english.search(text) is None:  # as in most cases, and quicker
        return False
    words = re.sub(r"`[^`]*`|\{[^}]*\}|'[^']*'|\b\w+ (Context|Client) Protocol", "", text)
    found = [one[0] for one in english.finditer(words)]
    kept = [one for one in found if one == one.lower() or one == one.upper()]
    return (
        bool(found)
        and forms.search(translation) is None
        and not any(re.search(rf"\b{one}\b", translation) for one in kept)
    )


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
    assert translation_for(locale).language == language


def test_the_terminal_takes_the_first_variable_that_is_set() -> None:
    environment = {"LC_ALL": "", "LC_MESSAGES": "zh_CN.UTF-8", "LANG": "de_DE.UTF-8"}
    assert translation_from_environment(environment).language == "zh"
    assert translation_from_environment({}).language == ""


GERMAN = translation_for("de")


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("Fix this", "Beheben"),
        ("Accept these 3 changes", "Annehmen: diese 3 Änderungen"),
        ("all pending changes", "all pending changes"),  # "all pending" is no number
        ("Turn 4, new file, +3 −1", "Durchgang 4, neue Datei, +3 −1"),
        ("Change a (b).py, new file?", "a (b).py, new file ändern?"),  # data is not translated
        ("Change {path}?", "{path} ändern?"),
        ("sessions: no change waits for review", "sessions: keine Änderung ist zu überprüfen"),
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


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        ("accepted 3 changes in 2 files", "已接受 2 个文件中的 3 项更改"),
        ("1 change in a.py awaits your verdict again", "a.py 中的 1 项更改再次等待您的决定"),
        ("3 changes in a.py await your verdict again", "a.py 中的 3 项更改再次等待您的决定"),
    ],
)
def test_a_chinese_sentence_has_its_own_order(english, chinese) -> None:
    assert translation_for("zh").of(english) == chinese


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
