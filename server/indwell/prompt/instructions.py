"""Project instructions: AGENTS.md of a trusted folder, bounded, as data of the workspace (H13)."""

from __future__ import annotations

FILE_NAME = "AGENTS.md"
LIMIT = 16_000  # characters: about 4,700 tokens; read_file has the rest


def instruction_words(text: str, *, folder: str = "", limit: int = LIMIT) -> str:
    """The body of ``<project-instructions>``.

    Args:
        text: Of the file.
        folder: Whose file it is, as shown; empty for the project's own.
        limit: Characters of it that are told.
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
    """Stands for a file when the instructions that were told take all the room they may have."""
    return f"{name} is not told here for want of room; read_file it before you work in its folder."


def gone_words(name: str) -> str:
    """Follows instructions that were told and do not count any more."""
    return f"{name} does not count any more: it was deleted, or the user has not trusted it so."
