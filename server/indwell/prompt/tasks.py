"""The prompts of the code actions: fix, explain, document, test, refactor, ask."""

from __future__ import annotations

from typing import Literal, TypeAlias

from indwell.lazy_pattern import lazy_pattern

_PLAIN = lazy_pattern(r"[\w./@+=~-]+")

Task: TypeAlias = Literal["fix", "fixAll", "explain", "document", "test", "refactor", "ask"]

TITLES: dict[Task, str] = {
    "fix": "Fix this",
    "fixAll": "Fix all problems in this file",
    "explain": "Explain this",
    "document": "Document this",
    "test": "Write tests for this",
    "refactor": "Refactor this",
    "ask": "Question",
}
"""Titles for the progress report and the session list."""


def named(path: str) -> str:
    """A path for a prompt; quoted if it could be read as more than a path."""
    return path if _PLAIN.fullmatch(path) else repr(path)


def task_words(task: Task, *, place: str, words: str = "") -> str:
    """The prompt of a task. Problems are attached to it, because they are not the user's words.

    Args:
        task: The code action.
        place: The place in the code, such as ``shop/invoice.py, lines 3-9``.
        words: The user's words, for ``refactor`` and ``ask``.
    """
    typed = words.strip()
    match task:
        case "fix":
            return (
                f"Fix this: {place}.\nFind out what is wrong there (problems that the editor "
                "reports are attached; run or read its tests where there are some), mend the "
                "cause, and check the result."
            )
        case "fixAll":
            return f"Fix all problems in {place}; they are attached.\nMend causes, not symptoms."
        case "explain":
            return (
                f"Explain {place}: what it does, how, and what a newcomer could get wrong."
                "\nDo not change anything."
            )
        case "document":
            return (
                f"Document {place}: add or mend its docstrings or comments in the project's own "
                "style. Do not change what the code does."
            )
        case "test":
            return (
                f"Write tests for {place} in the project's own test framework and style, beside "
                "its other tests, with the cases that matter; run them."
            )
        case "refactor":
            wish = typed or "make it simpler and clearer"
            return f"Refactor {place}: {wish}\nKeep its behaviour, and check that it is kept."
        case "ask":
            return f"{typed}\n(This is about {place}.)" if place else typed
