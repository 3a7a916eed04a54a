"""Which documents are chats, and where new ones lie. Pure."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

SUFFIX = ".chat.md"
PATTERN = f"**/*{SUFFIX}"
FOLDER = (".indwell", "chats")
"""Below the first root, so that the server which has the project open also sees its chats."""

IGNORE = ".gitignore"
IGNORED = b"*\n"
"""What stands in ``IGNORE``: chats are nobody's but the user's."""


def is_chat(uri: str) -> bool:
    """Does this URI, of any scheme, name a chat document?"""
    return SUFFIX in uri.lower() and unquote(urlsplit(uri).path).lower().endswith(SUFFIX)


def chat_name(day: str, taken: frozenset[str]) -> str:
    """A name for a new chat of a day (``2026-11-21``): the first number that is free."""
    number = 1
    while f"{day}-{number}{SUFFIX}" in taken:
        number += 1
    return f"{day}-{number}{SUFFIX}"
