"""What leaves for the editor's boxes: whole where it is a question, harmless everywhere."""

from __future__ import annotations

from lsprotocol import types

from indwell.lsp.client import MESSAGE_LIMIT, Client

EVIL = "\x1b]0;evil\x07\u202e\x9b\ud800"
HARMLESS = "\\u001b]0;evil\\u0007\\u202e\\u009b\\ud800"


class Line:
    """The sending half of a server; its user chooses the first title."""

    def __init__(self) -> None:
        self.sent: list[object] = []

    def window_show_message(self, params: types.ShowMessageParams) -> None:
        self.sent.append(params)

    async def window_show_message_request_async(
        self, params: types.ShowMessageRequestParams
    ) -> types.MessageActionItem:
        self.sent.append(params)
        assert params.actions is not None
        return params.actions[0]


def test_a_message_hides_nothing_and_ends() -> None:
    line = Line()
    client = Client(line)
    client.show(types.MessageType.Info, f"{EVIL}\nmore")
    client.show(types.MessageType.Info, "x" * 1_000_000)
    assert line.sent == [
        types.ShowMessageParams(type=types.MessageType.Info, message=f"{HARMLESS}\nmore"),
        types.ShowMessageParams(type=types.MessageType.Info, message="x" * MESSAGE_LIMIT + "…"),
    ]


async def test_a_question_is_shown_whole_and_its_answer_is_the_title_that_was_meant() -> None:
    line = Line()
    long = "x" * (2 * MESSAGE_LIMIT)
    assert await Client(line).choose(f"{EVIL}\n{long}", (f"Use {EVIL}\n", "Not now"), 1.0) == (
        f"Use {EVIL}\n"
    )
    assert line.sent == [
        types.ShowMessageRequestParams(
            type=types.MessageType.Warning,
            message=f"{HARMLESS}\n{long}",
            actions=[
                types.MessageActionItem(title=f"Use {HARMLESS}\\u000a"),
                types.MessageActionItem(title="Not now"),
            ],
        )
    ]
