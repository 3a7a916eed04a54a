"""A question of the model's as it stands in a chat document. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from indwell.lsp.chat.neutral import quoted


def question_words(question: str, options: Sequence[str]) -> str:
    """A question of the model's as a block quote, with its options and how to answer."""
    parts = [f"> **The model asks:**\n{quoted(question)}"]
    if options:
        parts.append(quoted("\n".join(f"{at}. {one}" for at, one in enumerate(options, 1))))
    parts.append("> *Write your answer below and send it.*")
    return "\n>\n".join(parts)
