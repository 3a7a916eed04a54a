"""What a client sends along with the words of a prompt."""

from __future__ import annotations

from typing import Literal

import attrs

from indwell.lsp.values import Value


@attrs.frozen(eq=False, repr=False)
class Attachment(Value):
    """A piece that goes with a prompt; which fields count is a matter of ``kind``.

    Attributes:
        kind: ``image``: ``mime`` and ``data``. ``text``, pasted or from a terminal: ``text``.
            ``problems``: those that the editor knows of ``uri``, or of all documents.
        label: How people call it; it stands beside it wherever it is shown.
        mime: ``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``.
        data: Base64.
        text: As it is.
        uri: Of a document.
    """

    kind: Literal["image", "text", "problems"]
    label: str = ""
    mime: str = ""
    data: str = attrs.field(default="", repr=False)
    text: str = attrs.field(default="", repr=False)
    uri: str | None = None
