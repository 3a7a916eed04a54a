"""The list of skills for the model: one line each, and what changed since. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from indwell.context.tokens import estimate_tokens
from indwell.context.untrusted_text import neutralise, seen
from indwell.skills.skill import Origin, Skill

LINE_TOKENS = 40  # of a skill in the catalogue, name included (H53)
MOST_LISTED = 50  # in one catalogue; further skills can still be loaded
HEADING = "# Skills"

_OPENING = "If one of these fits the task, load it with load_skill before you begin:"
_WHOSE: Mapping[Origin, str] = {
    "user": "your own",
    "workspace": "this folder's",
    "indwell": "Indwell's",
}


class Ranked(NamedTuple):
    """The skills in force.

    Attributes:
        own: The user's skills, and shipped ones that the user did not replace.
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
    """Choose among skills of one name: user, workspace, shipped; then the first one found."""
    by_name: dict[str, Skill] = {}
    notices: list[str] = []
    kept: dict[Origin, dict[str, Skill]] = {"user": {}, "workspace": {}, "indwell": {}}
    for one in found:
        first = kept[one.origin].setdefault(one.name, one)
        if first.folder != one.folder:
            notices.append(
                f"the skill {one.name!r} stands in {first.folder!r} and in {one.folder!r}; the "
                "first is used"
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
    """Format the skills for the prompt; empty if there are none."""
    lines = listed(skills).values()
    return "\n".join((HEADING, _OPENING, *lines)) if lines else ""


def lines_in(prompt: str) -> Mapping[str, str]:
    """Parse the catalogue in a system prompt into lines by skill name."""
    before, _, rest = f"\n{prompt}".partition(f"\n{HEADING}\n{_OPENING}\n")
    del before
    lines = rest.split("\n\n", 1)[0].split("\n")
    return {line[2:].partition(":")[0]: line for line in lines if line.startswith("- ")}


def without_catalogue(prompt: str) -> str:
    """Remove the catalogue from a system prompt, to compare the rest."""
    front, found, rest = prompt.partition(f"\n\n{HEADING}\n{_OPENING}\n")
    _, gap, behind = rest.partition("\n\n")
    return f"{front}{gap}{behind}" if found else prompt


def difference(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Describe added, changed and removed skills between two catalogues; empty if equal."""
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

    It may become part of a system prompt, so it must not contain tags or deceptive characters.
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
