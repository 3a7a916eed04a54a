"""Wraps text that is not the user's own in tags, escapes it, and limits its length.

One table has the tag, trust tier and source of each kind of injection. No other module makes a
tagged block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeAlias

from indwell.context.tokens import estimate_tokens
from indwell.context.untrusted_text import neutralise, noted, scalar_text, seen
from indwell.messages import Meta, Source, Text, Tier

Kind: TypeAlias = Literal[
    "reminder",
    "environment",
    "ide_selection",
    "ide_opened_file",
    "mention",
    "server_resource",
    "attached",
    "diagnostics",
    "changed_file",
    "prompt_hook",
    "pre_tool_hook",
    "post_tool_hook",
    "project_hook",
    "skill",
    "own_skill",
    "skill_list",
    "own_skill_list",
    "agent_list",
    "tool_list",
    "server_tools",
    "memory",
    "plan",
    "instructions",
    "summary",
    "left_out",
    "task_card",
    "todo",
]


LEFT_OUT = "left-out"  # the tag of the note on content that was removed without a marker


class _InjectionRow(NamedTuple):
    tag: str
    tier: Tier
    source: Source
    pinned: bool = False


KINDS: Mapping[Kind, _InjectionRow] = {
    "reminder": _InjectionRow("system-reminder", 0, "reminder"),
    "environment": _InjectionRow("system-reminder", 0, "environment"),
    "ide_selection": _InjectionRow("ide_selection", 2, "ide_selection"),
    "ide_opened_file": _InjectionRow("ide_opened_file", 2, "ide_opened"),
    "mention": _InjectionRow("mentioned-file", 2, "mention"),
    "server_resource": _InjectionRow("attached-item", 3, "mention"),
    "attached": _InjectionRow("attached-item", 2, "attached"),
    "diagnostics": _InjectionRow("ide_diagnostics", 2, "diagnostics"),
    "changed_file": _InjectionRow("changed-file", 2, "changed_file"),
    "prompt_hook": _InjectionRow("user-prompt-submit-hook", 1, "hook"),
    "pre_tool_hook": _InjectionRow("pre-tool-use-hook", 1, "hook"),
    "post_tool_hook": _InjectionRow("post-tool-use-hook", 1, "hook"),
    "project_hook": _InjectionRow("project-hook", 2, "hook"),
    "skill": _InjectionRow("skill", 2, "skill"),
    "own_skill": _InjectionRow("skill", 1, "skill"),
    "skill_list": _InjectionRow("available-skills", 2, "skill_list"),
    "own_skill_list": _InjectionRow("system-reminder", 0, "own_skill_list"),
    "agent_list": _InjectionRow("available-agents", 2, "agent_list"),
    "tool_list": _InjectionRow("changed-tools", 2, "tool_list"),
    "server_tools": _InjectionRow("changed-tools", 3, "server_tools"),
    "memory": _InjectionRow("remembered-facts", 2, "memory"),
    "plan": _InjectionRow("approved-plan", 1, "plan", pinned=True),
    "instructions": _InjectionRow("project-instructions", 2, "instructions", pinned=True),
    "summary": _InjectionRow("conversation-summary", 3, "compactor"),
    "left_out": _InjectionRow(LEFT_OUT, 3, "compactor"),
    "todo": _InjectionRow("agent-todo", 3, "todo"),
    "task_card": _InjectionRow("task-card", 1, "task_card", pinned=True),
}


class Frame(NamedTuple):
    """The tag of a text, with the attributes of the opening tag."""

    kind: Kind
    attributes: Mapping[str, str] = {}


def framed(frame: Frame, text: str) -> str:
    """Return ``text`` inside the tag of ``frame``; the text cannot open or close a tag."""
    tag = KINDS[frame.kind].tag
    shown = "".join(f' {name}="{_attribute(value)}"' for name, value in frame.attributes.items())
    body = noted(neutralise(scalar_text(text))).strip("\n")
    return f"<{tag}{shown}>\n{body}\n</{tag}>"


def inject(
    kind: Kind,
    text: str,
    *,
    turn: int,
    attributes: Mapping[str, str] | None = None,
    tool_use_id: str | None = None,
) -> Text:
    """Make a block of ``text`` in the tag of ``kind``; the text cannot open or close a tag.

    Args:
        kind: The kind, which determines tag, tier and source.
        text: The text, in which the function escapes tags.
        turn: The turn that the block belongs to, 1-based.
        attributes: The attributes of the opening tag, whose values the function escapes.
        tool_use_id: The tool call to which a hook's text refers.
    """
    row = KINDS[kind]
    wrapped = framed(Frame(kind, attributes or {}), text)
    return Text(
        text=wrapped,
        meta=Meta(
            tier=row.tier,
            source=row.source,
            tokens=estimate_tokens(wrapped),
            turn=turn,
            tool_use_id=tool_use_id,
            pinned=row.pinned,
            compactable=not row.pinned,
        ),
    )


def _attribute(value: str) -> str:
    """Escape an attribute's value: quotes, brackets and line breaks are replaced."""
    flat = " ".join(value.split())
    for raw, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        flat = flat.replace(raw, entity)
    return seen(neutralise(flat)).text


SHARE = 4  # a text may take a quarter of the window
READ_OF_LINE = 2_000  # the characters of a line that read_file shows
_SHOWN = 1_500  # the number of characters at each end that are kept in the message


def is_oversize(text: str, window: int) -> bool:
    """Return whether this one text would take more than a quarter of ``window`` tokens."""
    # Try the fast limit first, because no character has more than three tokens.
    return len(text) * 3 > window // SHARE and estimate_tokens(text) > window // SHARE


def oversize_words(text: str, path: str) -> str:
    """Return the replacement for a too long text: head, tail, length, and how to read all of it."""
    lines = text.count("\n") + 1
    longest = max(map(len, text.split("\n")))
    read = "read_file reads it in pieces"
    if longest > READ_OF_LINE:
        read = (
            f"read_file shows only {READ_OF_LINE:,} characters of a line, and its longest line has "
            f"{longest:,}, so read that line with a command such as `cut -c 2001-4000`"
        )
    return (
        f"{text[:_SHOWN]}\n[… this text is too long for one message: {len(text):,} characters in "
        f"{lines:,} lines; all of it is in {path}, and {read} …]\n"
        f"{text[-_SHOWN:]}"
    )
