"""Project instructions: AGENTS.md of a trusted folder, bounded, as data of the workspace (H13)."""

from __future__ import annotations

FILE_NAME = "AGENTS.md"
LIMIT = 16_000  # characters: about 4,700 tokens; read_file has the rest


def instruction_words(text: str) -> str:
    """The body of ``<project-instructions>``."""
    if len(text) <= LIMIT:
        return f"{FILE_NAME} of this project:\n{text}"
    return (
        f"{FILE_NAME} of this project, its first {LIMIT:,} of {len(text):,} characters "
        f"(read_file {FILE_NAME} for the rest):\n{text[:LIMIT]}"
    )
