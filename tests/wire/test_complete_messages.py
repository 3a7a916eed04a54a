"""The server's own messages have all fields, even fields with their default value."""

from __future__ import annotations

from indwell.lsp.messages import methods as protocol
from indwell.lsp.messages import views
from indwell.lsp.messages.context import Attachment
from indwell.lsp.messages.methods import AskParams
from indwell.lsp.wire.conversion import unstructure


def test_no_field_of_a_message_is_left_out() -> None:
    sent = unstructure(AskParams("which"))
    assert sent == {
        "prompt": "which",
        "placeholder": "",
        "by": "indwell",
        "options": [],
        "session": "",
        "id": "",
    }


def test_nested_protocol_values_are_serialised_completely() -> None:
    params = protocol.PromptParams("go", attachments=(Attachment("text", text="x"),))
    assert unstructure(params) == {
        "text": "go",
        "session": None,
        "mode": None,
        "mentions": [],
        "attachments": [
            {"kind": "text", "label": "", "mime": "", "data": "", "text": "x", "uri": None}
        ],
        "beside": False,
    }


def test_a_printed_protocol_message_shows_neither_keys_nor_attached_text() -> None:
    wish = views.LoginParams("openai", "canary", keep="client")
    assert repr(wish) == "LoginParams(provider='openai', url=None, model=None, keep='client')"
    attached = Attachment("text", "notes", text="canary")
    assert repr(attached) == "Attachment(kind='text', label='notes', mime='', uri=None)"
