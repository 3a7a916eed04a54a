"""The words around AGENTS.md of a trusted folder, which the model gets as bounded data (H13)."""

from __future__ import annotations

FILE_NAME = "AGENTS.md"
LIMIT = 16_000  # characters: about 4,700 tokens; read_file has the rest


def instruction_words(text: str, *, folder: str = "", limit: int = LIMIT) -> str:
    """The body of ``<project-instructions>``.

    Args:
        text: The text of the file.
        folder: The displayed folder of the file; empty for the project's own file.
        limit: Most characters of the text that are sent.
    """
    name = f"{folder}/{FILE_NAME}" if folder else FILE_NAME
    whose = "of this project"
    if folder:
        whose = f"of the folder {folder!r}, which counts for what lies in it, before those above it"
    if len(text) <= limit:
        return f"{FILE_NAME} {whose}:\n{text}"
    return (
        f"{FILE_NAME} {whose}, its first {limit:,} of {len(text):,} characters "
        f"(read_file {name} for the rest):\n{text[:limit]}"
    )


def no_room_words(name: str) -> str:
    """The words in place of a file for which the limit on instructions leaves no room."""
    return f"{name} is not told here for want of room; read_file it before you work in its folder."


def gone_words(name: str) -> str:
    """The words that withdraw instructions that the model was sent before."""
    return f"{name} does not count any more: it was deleted, or the user has not trusted it so."
