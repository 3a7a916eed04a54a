"""The model's questions over stdio: in a card, a box, a message, or the chat document."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from lsprotocol import types

from indwell.lsp.front_door import HEAD, IN_CHAT, IN_WORDS, NO_ANSWER
from indwell.lsp.messages.methods import AskParams, AskResult, SteerParams
from support.chatting import chat, is_over, opened, send, write
from support.editing import USAGE, Editor, Home, Playlist, editing, results, texts_of
from support.loopback_endpoint import LoopbackEndpoint, say

PORT = "Which port?"
OPTIONS = ["8000", "8080"]
RICH = ("ask", "permission", "events")
ASKING = say(calls=[("ask_user", json.dumps({"question": PORT, "options": OPTIONS}))], usage=USAGE)
PLAINLY = say(calls=[("ask_user", json.dumps({"question": PORT}))], usage=USAGE)


class Person:
    """Answers in an input box, and records the questions."""

    def __init__(self, *answers: AskResult) -> None:
        self.asked: list[AskParams] = []
        self.is_asked = asyncio.Event()
        self._answers = list(answers)

    async def __call__(self, params: AskParams) -> AskResult:
        self.asked.append(params)
        self.is_asked.set()
        if not self._answers:
            await asyncio.Event().wait()
        return self._answers.pop(0)


@asynccontextmanager
async def asking(
    folder: Path, *answers: AskResult, extensions: Sequence[str] = RICH, reply=ASKING
) -> AsyncIterator[tuple[Editor, Person, LoopbackEndpoint]]:
    playlist, person = Playlist(), Person(*answers)
    playlist.play(reply, say("Fine."))
    async with (
        LoopbackEndpoint(playlist) as endpoint,
        editing(Home(folder), endpoint.base_url, extensions=extensions) as editor,
    ):
        editor.answers.question = person
        yield editor, person, endpoint


def of_type(editor: Editor, kind: str) -> list[dict[str, object]]:
    return [dict(one) for one in editor.events if one["type"] == kind]


async def test_a_rich_client_gets_all_fields_of_a_question_card(tmp_path) -> None:
    async with asking(tmp_path, AskResult(chosen=1)) as (editor, person, endpoint):
        turn = await editor.ask("begin")
        assert (turn.ending, turn.answer) == ("done", "Fine.")
        (asked,) = person.asked
        (event,) = of_type(editor, "questionAsked")
        assert asked == AskParams(
            prompt=PORT, by="model", options=tuple(OPTIONS), session=turn.session, id=event["id"]
        )
        assert event["options"] == OPTIONS
        (answered,) = of_type(editor, "questionAnswered")
        assert (answered["id"], answered["answer"]) == (event["id"], "8080")
        assert results(endpoint.seen[-1]) == ["The user chose option 2: 8080"]


@pytest.mark.parametrize(
    "answer", [AskResult(), AskResult(chosen=7), AskResult(chosen=-1), AskResult(text="  ")]
)
async def test_an_unusable_answer_lets_the_model_decide(tmp_path, answer) -> None:
    async with asking(tmp_path, answer) as (editor, _, endpoint):
        assert (await editor.ask("begin")).ending == "done"
        assert "decide yourself" in results(endpoint.seen[-1])[0]


async def test_typed_answers_are_sent_as_the_users_text(tmp_path) -> None:
    async with asking(tmp_path, AskResult(text="9000, please")) as (editor, _, endpoint):
        await editor.ask("begin")
        assert "9000, please" in texts_of(endpoint.seen[-1].body["messages"])
        assert "9000" not in results(endpoint.seen[-1])[0]
        (told,) = of_type(editor, "steered")
        assert (told["text"], told["delivered"]) == ("9000, please", True)


async def test_a_steering_message_answers_the_open_question_and_closes_its_card(
    tmp_path,
) -> None:
    async with asking(tmp_path) as (editor, person, endpoint):
        editor.behave(heeds_cancel=True)
        turn = asyncio.ensure_future(editor.ask("begin"))
        await asyncio.wait_for(person.is_asked.wait(), 60)
        await editor.client.protocol.send_request_async("indwell/steer", SteerParams("9000"))
        assert (await turn).ending == "done"
        assert "9000" in texts_of(endpoint.seen[-1].body["messages"])


async def test_stopping_a_turn_closes_its_question_in_the_client(tmp_path) -> None:
    async with asking(tmp_path) as (editor, person, _):
        turn = asyncio.ensure_future(editor.ask("begin"))
        await asyncio.wait_for(person.is_asked.wait(), 60)
        assert await editor.execute("indwell.cancel")
        assert (await turn).ending == "cancelled"
        assert len(of_type(editor, "questionAnswered")) == 1


async def test_a_plain_editor_has_a_button_for_each_option(tmp_path) -> None:
    async with asking(tmp_path, extensions=()) as (editor, person, endpoint):
        editor.answers.choose = lambda _, titles: titles[1]
        await editor.ask("begin")
        assert editor.messages == [f"{HEAD}:\n│ {PORT}"]
        assert editor.choices == [["1. 8000", "2. 8080", IN_CHAT, NO_ANSWER]]
        assert person.asked == []
        assert results(endpoint.seen[-1]) == ["The user chose option 2: 8080"]


async def test_an_editor_with_an_input_box_accepts_a_free_text_answer(tmp_path) -> None:
    words = AskResult(text="9000")
    async with asking(tmp_path, words, extensions=("ask",)) as (editor, person, endpoint):
        editor.answers.choose = lambda _message, _titles: IN_WORDS
        await editor.ask("begin")
        assert [one.prompt for one in person.asked] == [PORT]
        assert "9000" in texts_of(endpoint.seen[-1].body["messages"])


async def test_an_editor_with_a_box_asks_there_if_there_are_no_options(tmp_path) -> None:
    words = AskResult(text="9000")
    asked = asking(tmp_path, words, extensions=("ask",), reply=PLAINLY)
    async with asked as (editor, person, endpoint):
        await editor.ask("begin")
        assert (len(person.asked), editor.choices) == (1, [])
        assert "9000" in texts_of(endpoint.seen[-1].body["messages"])


async def test_in_an_open_chat_the_next_send_is_the_answer(tmp_path) -> None:
    async with asking(tmp_path, extensions=()) as (editor, _, endpoint):
        page = await chat(editor)
        write(editor, page, "begin\n")
        await send(editor, page)
        await editor.wait_until(lambda: "> **The model asks:**" in page.text)
        assert f"> {PORT}\n>\n> 1. 8000\n> 2. 8080" in page.text
        assert editor.choices == [], "the question stands in the chat, and nowhere else"
        write(editor, page, "the second\n")
        identifier = types.TextDocumentIdentifier(page.uri)
        lenses = await editor.client.text_document_code_lens_async(types.CodeLensParams(identifier))
        assert [one.command.title for one in lenses[:2]] == ["Answer", "Stop"]
        end = types.Position(line=page.text.count("\n"), character=0)
        offered = await editor.code_actions(page, types.Range(start=end, end=end))
        sending = [one for one in offered if one.title.startswith("Send")]
        assert [one.title for one in sending] == ["Send the answer"], "a key finds only this"
        command = sending[0].command
        assert command is not None
        assert command.arguments
        await editor.execute(command.command, *command.arguments)
        await editor.wait_until(lambda: is_over(page, 1))
        assert "> **You, meanwhile:**\n> the second" in page.text
        assert "the second" in texts_of(endpoint.seen[-1].body["messages"])


@pytest.mark.parametrize("typed", ["2", "8080"])
async def test_an_option_chosen_in_a_chat_is_the_answer_and_no_new_prompt(
    tmp_path, typed: str
) -> None:
    async with asking(tmp_path, extensions=()) as (editor, _, endpoint):
        page = await chat(editor)
        write(editor, page, "begin\n")
        await send(editor, page)
        await editor.wait_until(lambda: "> **The model asks:**" in page.text)
        write(editor, page, f"{typed}\n")
        await send(editor, page)
        await editor.wait_until(lambda: is_over(page, 1))
        assert "> **Answered:**\n> 8080" in page.text
        assert "meanwhile" not in page.text
        assert page.text.rstrip().endswith("\n## You"), "the answer has left the draft"
        assert results(endpoint.seen[-1]) == ["The user chose option 2: 8080"]
        assert texts_of(endpoint.seen[-1].body["messages"]).endswith("begin")


@pytest.mark.parametrize("is_slow", [False, True])
async def test_a_message_opens_the_chat_of_the_question(tmp_path, is_slow) -> None:
    """The user may also answer before the editor has confirmed that it shows the chat."""
    async with asking(tmp_path, extensions=(), reply=PLAINLY) as (editor, _, endpoint):
        editor.showing = asyncio.Event() if is_slow else None
        editor.answers.choose = lambda _message, _titles: IN_CHAT
        turn = asyncio.ensure_future(editor.ask("begin"))
        await editor.wait_until(lambda: bool(editor.shown))
        page = opened(editor, Path(editor.shown[0].removeprefix("file://")))
        await editor.wait_until(lambda: "The model asks" in page.text)
        write(editor, page, "take 9000\n")
        await send(editor, page)
        assert (await turn).ending == "done"
        assert "take 9000" in texts_of(endpoint.seen[-1].body["messages"])
        await editor.wait_until(lambda: "> **You, meanwhile:**\n> take 9000" in page.text)
        # the answer has left the draft
        await editor.wait_until(lambda: page.text.rstrip().endswith("\n## You"))
        assert "not ended" not in page.text
