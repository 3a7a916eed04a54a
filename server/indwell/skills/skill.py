"""A skill: what its ``SKILL.md`` says of it, and where it lies. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from indwell.skills.front_matter import BadFrontMatter, MarkdownDocument, read_document

Origin: TypeAlias = Literal["user", "workspace", "indwell"]
"""Whose it is: of two skills with one name the first of these wins."""

FILE_NAME = "SKILL.md"
BODY_CHARACTERS = 40_000  # about 12,000 tokens; the layout's own advice is less than half of that
DESCRIPTION_CHARACTERS = 1_024  # as the layout has it; a catalogue shows less
_NAME = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_NAME_CHARACTERS = 64


class Skill(msgspec.Struct, frozen=True):
    """What is known of a skill before it is loaded.

    Attributes:
        name: As the model and the user call it.
        description: What it is for, on one line.
        origin: Whose it is.
        folder: Where it lies, absolute and resolved.
        tags: Words to find it by.
        is_offered: May the model load it by itself? Else only the user does, by its name.
    """

    name: str
    description: str
    origin: Origin
    folder: str
    tags: tuple[str, ...] = ()
    is_offered: bool = True


class SkillFile(msgspec.Struct, frozen=True):
    """A skill that was read.

    Attributes:
        skill: What is known of it.
        body: The Markdown that instructs.
        asks_for_tools: It names tools that it wants allowed, which no skill can do here.
    """

    skill: Skill
    body: str
    asks_for_tools: bool = False


def read_skill(text: str, *, folder: str, origin: Origin) -> SkillFile:
    """What a ``SKILL.md`` says; ``folder`` is where it lies, with slashes.

    Raises:
        BadFrontMatter: It cannot be used; the sentence says why.
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
    """As much of a body as the model gets at once.

    Args:
        body: All of it.
        path: Where it can be read.
        room: Characters that one text may have in this conversation.
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
    """What was read of it.

    Raises:
        BadFrontMatter: It cannot be read.
    """
    found = _read_once(text)
    if isinstance(found, str):
        raise BadFrontMatter(found)
    return found


@lru_cache(maxsize=256)
def _read_once(text: str) -> MarkdownDocument | str:
    """Or why not. YAML takes some milliseconds, and skills are looked at with each turn."""
    try:
        return read_document(text)
    except BadFrontMatter as error:
        return str(error)


def _first_words(body: str) -> str:
    """The first line that is no heading."""
    lines = (line.strip() for line in body.split("\n"))
    return next((line for line in lines if line and not line.startswith("#")), "")
