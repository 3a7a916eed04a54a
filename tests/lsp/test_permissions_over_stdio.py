from __future__ import annotations

import asyncio
import json

from indwell.bounds.command_bounds import strength
from support.editing import Editor, Home, bash, editing, results
from support.loopback_endpoint import Answer, LoopbackEndpoint, Seen, say

COMMAND = "rm -f gone; echo ran"  # a deleting command needs a question, with and without a sandbox
RAN = "ran\nexit code 0"
REFUSED = "the user did not allow this; go on without it, or say what it is needed for"


def runs_it(seen: Seen) -> Answer:
    """Run the command once per prompt, and then end the turn."""
    return say("Well.") if seen.body["messages"][-1]["role"] == "tool" else bash(COMMAND)


async def test_the_permission_answers_no_once_session_and_always_work(tmp_path) -> None:
    home = Home(tmp_path)
    files = home.files
    answers: list[str | None] = []
    rule = home.rule(COMMAND)
    # the title of the button
    always = "Always: the rule above" if len(rule) > 92 else f"Always: {rule}"

    async def asks(editor: Editor, answer: str | None, session: str | None = None) -> bool:
        """Check whether the user is asked, and whether the result follows the answer."""
        n_choices = len(editor.choices)
        answers[:] = [answer]
        finished = await editor.ask("run it", session=session)
        assert (finished.ending, finished.answer) == ("done", "Well."), finished
        is_asked = len(editor.choices) > n_choices
        allowed = not is_asked or answer not in {None, "No"}
        assert results(endpoint.seen[-1])[-1] == (RAN if allowed else REFUSED)
        return is_asked

    async with LoopbackEndpoint(runs_it) as endpoint:
        async with editing(home, endpoint.base_url) as editor:
            editor.answers.choose = lambda _message, _titles: answers[0]
            assert await asks(editor, "No")
            assert await asks(editor, None)  # the dialog was closed
            assert await asks(editor, "Once")
            assert await asks(editor, "This session")
            assert not await asks(editor, "No")
            assert await asks(editor, "No", session="new")
            assert await asks(editor, always)
            assert not await asks(editor, "No", session="new")
            assert {tuple(titles) for titles in editor.choices} == {
                ("No", "Once", "This session", always)
            }
            (message,) = set(editor.messages)
            assert message.startswith(f"Run a command in {home.workspace}? (")
            assert f"\n│ {COMMAND}\n" in message
            assert f"\nCommands here: {strength().words}" in message
            assert message.endswith(f"\nRule: {rule}") or always.endswith(rule)
        async with editing(home, endpoint.base_url) as editor:
            assert not await asks(editor, "No")

    assert home.files == files
    (kept,) = (home.state / "permissions").glob("*.json")
    assert json.loads(kept.read_text(encoding="utf-8")) == {"version": 1, "rules": [rule]}
    assert kept.parent.stat().st_mode & 0o077 == 0
    home.logs()


async def test_an_invalid_permission_answer_counts_as_a_no_at_once(tmp_path) -> None:
    home = Home(tmp_path)
    nonsense: list[object] = ["yes", "ALWAYS", "", 7, None, ["once"]]
    async with (
        LoopbackEndpoint(runs_it) as endpoint,
        editing(home, endpoint.base_url, extensions=("events", "permission")) as editor,
    ):

        async def say_nonsense(_question: object) -> object:
            return nonsense.pop()

        editor.answers.permission = say_nonsense
        while nonsense:
            async with asyncio.timeout(60):  # the user would have 300 s
                await editor.ask("run it")
            assert results(endpoint.seen[-1])[-1] == REFUSED
