from __future__ import annotations

import json

import pytest

from indwell.agent.core import events
from indwell.lsp.messages.methods import CommitMessageResult
from indwell.lsp.messages.values import translated
from indwell.lsp.messages.views import LoginResult, StepRow
from indwell.service.front_door import translated_event
from indwell.translation import ENGLISH, translation_for
from support.editing import Home, bash, editing, mend, results
from support.fake_editor.buffer import lines_range
from support.loopback_endpoint import LoopbackEndpoint, say

COMMAND = "rm -f gone; echo ran"  # a deleting command needs a question, with and without a sandbox


@pytest.mark.parametrize(
    ("locale", "titles"),
    [
        ("de", ["Beheben", "Erklären", "Dokumentieren"]),
        ("zh-cn", ["修复", "解释此代码", "为此代码编写文档"]),
        ("fr", ["Fix this", "Explain this", "Document this"]),
    ],
)
async def test_titles_of_code_actions_follow_the_editors_locale(tmp_path, locale, titles) -> None:
    home = Home(tmp_path)
    async with editing(home, locale=locale) as editor:
        actions = await editor.code_actions(editor.open(home.shop), lines_range(1, 2))
        assert [one.title for one in actions[:3]] == titles
        assert [one.command.title for one in actions[:3]] == titles
        assert [one.command.command for one in actions[:3]] == [
            "indwell.fix",
            "indwell.explain",
            "indwell.document",
        ]


async def test_a_german_editor_asks_in_german_and_the_model_reads_english(tmp_path) -> None:
    home = Home(tmp_path)
    answers = ["Nein", "Einmal"]
    async with (
        LoopbackEndpoint([bash(COMMAND), say("Well."), bash(COMMAND), say("Well.")]) as endpoint,
        editing(home, endpoint.base_url, locale="de-AT") as editor,
    ):
        editor.answers.choose = lambda _message, _titles: answers.pop(0)
        await editor.ask("run it")
        assert results(endpoint.seen[-1])[-1].startswith("the user did not allow this")
        await editor.ask("run it")
        assert results(endpoint.seen[-1])[-1] == "ran\nexit code 0"
        message, titles = editor.messages[0], editor.choices[0]
        assert message.startswith(f"Einen Befehl in {home.workspace} ausführen? (")
        assert f"\n│ {COMMAND}\n" in message
        assert titles[:3] == ["Nein", "Einmal", "Diese Sitzung"]
        assert titles[3].startswith("Immer: ")


async def test_a_client_that_makes_typed_words_of_titles_gets_english_titles(tmp_path) -> None:
    home = Home(tmp_path)
    async with (
        LoopbackEndpoint([bash(COMMAND), say("Well.")]) as endpoint,
        editing(home, endpoint.base_url, locale="de", extensions=("words",)) as editor,
    ):
        editor.answers.choose = lambda _message, titles: titles[0]
        await editor.ask("run it")
        assert editor.messages[0].startswith("Einen Befehl in ")
        assert editor.choices[0][:3] == ["No", "Once", "This session"]


async def test_a_question_quotes_a_path_that_reads_like_sentences(tmp_path) -> None:
    home = Home(tmp_path)
    path = home.workspace / "a; done; b)" / ".vscode" / "settings.json"
    path.parent.mkdir(parents=True)
    name = path.relative_to(home.workspace).as_posix()
    arguments = json.dumps({"path": name, "content": "{}"})
    script = [say(calls=[("write_file", arguments)]), say("Well.")]
    async with (
        LoopbackEndpoint(script) as endpoint,
        editing(home, endpoint.base_url, locale="de") as editor,
    ):
        editor.answers.choose = lambda _message, titles: titles[0]
        await editor.ask("write it")
        assert "fertig" not in editor.messages[0]
        assert editor.messages[0].startswith(f"'{name}' ändern? (")


async def test_the_review_of_a_change_is_offered_in_german(tmp_path) -> None:
    home = Home(tmp_path)
    async with (
        LoopbackEndpoint(mend()) as endpoint,
        editing(home, endpoint.base_url, locale="de") as editor,
    ):
        buffer = editor.open(home.shop)
        await editor.ask("fix it")
        actions = await editor.code_actions(buffer, lines_range(1, 2))
        assert [one.title for one in actions[:2]] == [
            "Annehmen: diese Änderung",
            "Ablehnen: diese Änderung",
        ]
        command = actions[0].command
        assert command is not None
        (argument,) = command.arguments or ()
        accepted = await editor.execute(command.command, {**argument, "wait": True})
        assert accepted["message"] == "1 Änderung in shop.py angenommen"


SENTENCES_OF_INDWELL = "Accept trailing commas\nStop\nReject empty input (new file)"


def test_a_commit_message_of_the_model_is_not_translated() -> None:
    german = translation_for("de")
    assert german.of(SENTENCES_OF_INDWELL) != SENTENCES_OF_INDWELL
    written = CommitMessageResult(SENTENCES_OF_INDWELL, staged=True)
    assert translated(written, german) == written
    english = LoginResult(
        ok=False,
        model="Stop",
        message="Stop",
        steps=(StepRow("Stop", "ok", "Stop", "Stop"),),
        notes=("Stop",),
        models=("Stop",),
        origin="",
    )
    assert translated(english, german) == LoginResult(
        ok=False,
        model="Stop",
        message="Stoppen",
        steps=(StepRow("Stop", "ok", "Stoppen", "Stoppen"),),
        notes=("Stoppen",),
        models=("Stop",),
        origin="",
    )
    assert translated(english, ENGLISH) is english


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("`python3 -B -m unittest -q` passed", "`python3 -B -m unittest -q` erfolgreich"),
        ("`a b c` passed; `d` passed", "`a b c` erfolgreich; `d` erfolgreich"),
    ],
)
def test_a_quoted_command_may_have_many_words(english, german) -> None:
    assert translation_for("de").of(english) == german


@pytest.mark.parametrize("name", ["x (no network)", "Stop: x", "a; Stop", 'it\'s (Stop) in "x"'])
@pytest.mark.parametrize("language", ["de", "zh"])
def test_what_a_quoted_name_contains_is_no_part_of_the_sentence(language, name) -> None:
    for english in (
        f"the key cannot be stored in {name!r} (no space); make the folder writable and try again",
        f"kept later work in {name!r}: no space",
        f"Indwell: do you trust the files in {name!r}?",
    ):
        told = translation_for(language).of(english)
        assert repr(name) in told
        assert told != english


@pytest.mark.parametrize(
    ("label", "german"),
    [
        ("Your prompt was not sent: ", "Ihr Prompt wurde nicht gesendet: "),
        ("your next prompt was: ", "Ihr nächster Prompt war: "),
        ("kept: ", "gemerkt: "),
    ],
)
def test_the_users_own_lines_after_a_label_are_not_translated(label, german) -> None:
    text = f"Fix this\n{SENTENCES_OF_INDWELL}"
    assert translation_for("de").of(label + text) == german + text


def test_events_keep_the_texts_of_the_user_and_the_model() -> None:
    german = translation_for("de")
    asked = events.PermissionAsked(1, "t1", "q1", "Change done?", "done", "nothing")
    told = translated_event(asked, german)
    assert isinstance(told, events.PermissionAsked)
    assert (told.title, told.detail) == ("done ändern?", "done")
    assert translated_event(asked, ENGLISH) is asked
    text = events.TextAdded(1, "Fix this")
    assert translated_event(text, german) is text
