"""A skill: the content of its ``SKILL.md``, its folder, and its line in the catalogue. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from indwell.context.tokens import estimate_tokens
from indwell.context.untrusted_text import neutralise, seen
from indwell.lazy_pattern import lazy_pattern
from indwell.skills.front_matter import BadFrontMatter, MarkdownDocument, read_document

Origin: TypeAlias = Literal["user", "workspace", "indwell"]
"""The source of a skill; if two skills have the same name, the earlier source wins."""

FILE_NAME = "SKILL.md"
# The unit is characters: about 12,000 tokens; the format recommends less than half.
BODY_CHARACTERS = 40_000
# The unit is characters, and the limit is the format's; a catalogue shows fewer.
DESCRIPTION_CHARACTERS = 1_024
_NAME = lazy_pattern(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_NAME_CHARACTERS = 64
_NOT_NAME = lazy_pattern(r"[^a-z0-9._-]+|[._-]{2,}")
_PLACEHOLDER = lazy_pattern(r"\$ARGUMENTS|\$[1-9]|\$\{input:")
PLACEHOLDERS = (
    "(`$ARGUMENTS`, `$1` and `${input:…}` stand for what the user wrote behind the command's name.)"
)


class Skill(msgspec.Struct, frozen=True):
    """A skill before it is loaded.

    Attributes:
        name: The name for the model and the user.
        description: The purpose, on one line.
        origin: The source: user, workspace or shipped.
        folder: The folder, absolute and resolved.
        tags: Keywords for searches.
        is_offered: Whether the model may load the skill; if not, only the user can load it, by
            name.
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
        skill: The skill.
        body: The instructions in Markdown.
        asks_for_tools: Whether the file lists tools that should run without a question; Indwell
            ignores the list.
    """

    skill: Skill
    body: str
    asks_for_tools: bool = False


def command_name(file: str) -> str:
    """Return the name of the skill in a command file of other agents, such as ``fix.prompt.md``."""
    stem = file.removesuffix(".md").removesuffix(".prompt").lower()
    return _NOT_NAME.sub("-", stem).strip("-._")[:_NAME_CHARACTERS]


def read_command(text: str, *, file: str, origin: Origin) -> SkillFile:
    """Parse a command file of Claude Code or Copilot; ``file`` is its location, with slashes.

    Only the user can call the command, because the file's description was not written for a model.

    Raises:
        BadFrontMatter: The file cannot be used; the message says why.
    """
    document = _document(text)
    name = command_name(file.rpartition("/")[2])
    if not name:
        raise BadFrontMatter("the name of the file has no letters or digits")
    description = document.text("description") or _first_words(document.body) or name
    skill = Skill(name, description[:DESCRIPTION_CHARACTERS], origin, file, is_offered=False)
    body = document.body
    if _PLACEHOLDER.search(body):
        body = f"{body.rstrip()}\n\n{PLACEHOLDERS}"
    return SkillFile(skill, body, bool({"allowed-tools", "tools"} & document.values.keys()))


def read_skill(text: str, *, folder: str, origin: Origin) -> SkillFile:
    """Parse a ``SKILL.md``; ``folder`` is its location, with slashes.

    Raises:
        BadFrontMatter: The file cannot be used; the message says why.
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
        raise BadFrontMatter("there is no `description`, so the model cannot know when to use it")
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
    """Shorten a body to the limit of one result for the model.

    Args:
        body: The whole body.
        path: The file in which the model can read the rest.
        room: The most characters that one text may have in this conversation.
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
        BadFrontMatter: The front matter is invalid.
    """
    found = _read_once(text)
    if isinstance(found, str):
        raise BadFrontMatter(found)
    return found


@lru_cache(maxsize=256)
def _read_once(text: str) -> MarkdownDocument | str:
    """Parse a file or return the error; cached, because YAML takes milliseconds in each turn."""
    try:
        return read_document(text)
    except BadFrontMatter as error:
        return str(error)


def _first_words(body: str) -> str:
    """Return the first line that is not a heading; the line describes the command."""
    lines = (line.strip() for line in body.split("\n"))
    return next((line for line in lines if line and not line.startswith("#")), "")


LINE_TOKENS = 40  # The catalogue spends at most 40 tokens on a skill, with its name (H53).
MOST_LISTED = 50  # One catalogue lists at most 50 skills; further skills can still be loaded.
HEADING = "# Skills"

_OPENING = "Load one that fits the task with load_skill before you begin:"
_WHOSE: Mapping[Origin, str] = {
    "user": "your own",
    "workspace": "this folder's",
    "indwell": "Indwell's",
}


class Ranked(NamedTuple):
    """The skills that a session uses, one for each name.

    Attributes:
        own: The user's skills, and shipped skills that the user did not replace.
        workspace: Workspace skills that no user skill replaces.
        by_name: The skill for each name.
        notices: Remarks for the user about duplicate names.
        withheld: Names of workspace skills that changed since they were trusted.
    """

    own: tuple[Skill, ...] = ()
    workspace: tuple[Skill, ...] = ()
    by_name: Mapping[str, Skill] = {}
    notices: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


def ranked(found: Iterable[Skill]) -> Ranked:
    """Choose among skills of one name: user, workspace, shipped; of equals, the first found."""
    by_name: dict[str, Skill] = {}
    notices: list[str] = []
    kept: dict[Origin, dict[str, Skill]] = {"user": {}, "workspace": {}, "indwell": {}}
    for one in found:
        first = kept[one.origin].setdefault(one.name, one)
        if first.folder != one.folder:
            notices.append(
                f"the skill {one.name!r} is in {first.folder!r} and in {one.folder!r}; the first "
                "is used"
            )
    for origin in _WHOSE:
        for name, one in kept[origin].items():
            winner = by_name.setdefault(name, one)
            if winner is not one:
                notices.append(
                    f"the skill {name!r} is {_WHOSE[winner.origin]}, and not {_WHOSE[origin]}"
                )
    own = [*kept["user"].values(), *_without(kept["indwell"], kept["user"])]
    workspace = _without(kept["workspace"], kept["user"])
    return Ranked(_sorted(own), _sorted(workspace), dict(sorted(by_name.items())), tuple(notices))


def listed(skills: Sequence[Skill]) -> Mapping[str, str]:
    """Return the catalogue line of each skill that the model may load, by name."""
    offered = [one for one in skills if one.is_offered]
    return {one.name: _line(one) for one in offered[:MOST_LISTED]}


def catalogue(skills: Sequence[Skill]) -> str:
    """Format the skills for the prompt; return an empty text if there are no skills."""
    lines = listed(skills).values()
    return "\n".join((HEADING, _OPENING, *lines)) if lines else ""


def lines_in(prompt: str) -> Mapping[str, str]:
    """Parse the catalogue in a system prompt into lines by skill name."""
    before, _, rest = f"\n{prompt}".partition(f"\n{HEADING}\n{_OPENING}\n")
    del before
    lines = rest.split("\n\n", 1)[0].split("\n")
    return {line[2:].partition(":")[0]: line for line in lines if line.startswith("- ")}


def without_catalogue(prompt: str) -> str:
    """Remove the catalogue from a system prompt, so that the rest can be compared."""
    front, found, rest = prompt.partition(f"\n\n{HEADING}\n{_OPENING}\n")
    _, gap, behind = rest.partition("\n\n")
    return f"{front}{gap}{behind}" if found else prompt


def difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Describe added, changed and removed skills between two catalogues; may be empty."""
    new = [line for name, line in now.items() if name not in before]
    changed = [line for name, line in now.items() if before.get(name, line) != line]
    gone = [name for name in before if name not in now]
    parts = []
    if new:
        parts.append("\n".join(("New:", *new)))
    if changed:
        parts.append("\n".join(("Changed:", *changed)))
    if gone:
        parts.append(f"Gone: {', '.join(gone)}")
    return "\n".join(parts)


def _line(skill: Skill) -> str:
    """Format ``- name: description``, shortened to ``LINE_TOKENS`` and made harmless.

    The line may become part of a system prompt, so it must not contain tags or deceptive
    characters.
    """
    text = seen(neutralise(f"- {skill.name}: {' '.join(skill.description.split())}")).text
    if estimate_tokens(text) <= LINE_TOKENS:
        return text
    least, most = 0, len(text)
    while least < most:
        middle = (least + most + 1) // 2
        if estimate_tokens(f"{text[:middle]}…") <= LINE_TOKENS:
            least = middle
        else:
            most = middle - 1
    cut = text[:least]
    return f"{cut.rpartition(' ')[0] if ' ' in cut[len(skill.name) + 4 :] else cut}…"


def _without(skills: Mapping[str, Skill], others: Mapping[str, Skill]) -> list[Skill]:
    return [one for name, one in skills.items() if name not in others]


def _sorted(skills: Iterable[Skill]) -> tuple[Skill, ...]:
    return tuple(sorted(skills, key=lambda one: one.name))
