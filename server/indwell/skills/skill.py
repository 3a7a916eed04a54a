"""A skill: the content of its ``SKILL.md``, and its folder. Pure."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from indwell.lazy_pattern import lazy_pattern
from indwell.skills.front_matter import BadFrontMatter, MarkdownDocument, read_document

Origin: TypeAlias = Literal["user", "workspace", "indwell"]
"""The source of a skill; of two skills with one name the earlier source wins."""

FILE_NAME = "SKILL.md"
BODY_CHARACTERS = 40_000  # about 12,000 tokens; the format recommends less than half of that
DESCRIPTION_CHARACTERS = 1_024  # the limit of the format; a catalogue shows less
_NAME = lazy_pattern(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_NAME_CHARACTERS = 64


class Skill(msgspec.Struct, frozen=True):
    """A skill before it is loaded.

    Attributes:
        name: The name for the model and the user.
        description: Its purpose, on one line.
        origin: Its source: user, workspace or shipped.
        folder: Its folder, absolute and resolved.
        tags: Words for searches.
        is_offered: The model may load it by itself; otherwise only the user, by name.
    """

    name: str
    description: str
    origin: Origin
    folder: str
    tags: tuple[str, ...] = ()
    is_offered: bool = True


class SkillFile(msgspec.Struct, frozen=True):
    """A skill with its content.

    Attributes:
        skill: Its description.
        body: The instructions in Markdown.
        asks_for_tools: It lists tools to allow, which skills cannot do here.
    """

    skill: Skill
    body: str
    asks_for_tools: bool = False


def read_skill(text: str, *, folder: str, origin: Origin) -> SkillFile:
    """Parse a ``SKILL.md``; ``folder`` is its location, with slashes.

    Raises:
        BadFrontMatter: It cannot be used; the message says why.
    """
    document = _document(text)
    name = document.text("name") or folder.rpartition("/")[2].lower()
    if len(name) > _NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise BadFrontMatter(
            f"the name {name[:_NAME_CHARACTERS]!r} cannot be used: at most {_NAME_CHARACTERS} "
            "small letters, digits and single hyphens"
        )
    description = document.text("description") or _first_words(document.body)
    if not description:
        raise BadFrontMatter("there is no `description`, so nobody knows when to use it")
    is_offered = document.flag("disable-model-invocation") is not True
    skill = Skill(
        name,
        description[:DESCRIPTION_CHARACTERS],
        origin,
        folder,
        document.names("tags") or (),
        is_offered,
    )
    return SkillFile(skill, document.body, "allowed-tools" in document.values)


def bounded_body(body: str, path: str, room: int = BODY_CHARACTERS) -> str:
    """Shorten a body to what the model gets at once.

    Args:
        body: The whole body.
        path: Where the model can read the rest.
        room: The limit of one text in this conversation, in characters.
    """
    most = min(room, BODY_CHARACTERS)
    if len(body) <= most:
        return body
    whole_lines = body[:most].rpartition("\n")[0] or body[:most]
    return (
        f"{whole_lines}\n\n[these are the first {len(whole_lines):,} of {len(body):,} characters; "
        f"read_file {path} for the rest]"
    )


def _document(text: str) -> MarkdownDocument:
    """Parse the file, with a cache.

    Raises:
        BadFrontMatter: It is invalid.
    """
    found = _read_once(text)
    if isinstance(found, str):
        raise BadFrontMatter(found)
    return found


@lru_cache(maxsize=256)
def _read_once(text: str) -> MarkdownDocument | str:
    """Parse it or return why not; cached, as YAML takes milliseconds and each turn reads skills."""
    try:
        return read_document(text)
    except BadFrontMatter as error:
        return str(error)


def _first_words(body: str) -> str:
    """Return the first line that is not a heading."""
    lines = (line.strip() for line in body.split("\n"))
    return next((line for line in lines if line and not line.startswith("#")), "")
