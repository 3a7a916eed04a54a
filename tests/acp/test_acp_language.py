"""An ACP client shows Indwell's sentences in the language that the environment names."""

from __future__ import annotations

from typing import Any

from indwell.acp.front_door import AcpDoor
from indwell.translation import translation_for


class ShownClient:
    """Keeps what a client shows, and chooses the last option of each question."""

    has_forms = False

    def __init__(self) -> None:
        self.shown: list[Any] = []
        self.titles: list[str] = []

    def update(self, session: str, update: Any) -> None:
        """Keep an update."""
        del session
        self.shown.append(update)

    async def permission(self, session: str, asked: Any, options: Any, timeout_s: float) -> str:
        """Keep the question's words, and choose the last option."""
        del session, timeout_s
        self.titles = [asked.title, *(one.name for one in options)]
        return str(options[-1].option_id)


async def test_a_question_and_a_remark_are_german_and_the_models_text_is_not(tmp_path) -> None:
    client: Any = ShownClient()
    door = AcpDoor(client, tmp_path)
    door.translation = translation_for("de")
    door.open("session")
    door.tell("no change waits for review")
    door.remark("no text", "no text")
    titles = ("Stay restricted", "Trust this folder")
    question = f"Indwell: do you trust the files in {str(tmp_path)!r}?"
    assert await door.allow(question, titles, 1.0) == "Trust this folder"
    assert client.titles == [
        f"Indwell: Vertrauen Sie den Dateien in {str(tmp_path)!r}?",
        "Eingeschränkt bleiben",
        "Diesem Ordner vertrauen",
    ]
    assert client.shown[0].title == "Indwell: keine Änderung ist zu überprüfen"
    assert client.shown[1].title == "Indwell: no text kein Text"
