"""The words for a sub-agent about itself, and the sub-agent that ships. Pure."""

from __future__ import annotations

from collections.abc import Sequence

EXPLORE = """\
---
name: explore
description: find where and how something is done in the workspace
tools: [read_file, glob, grep, bash]
read_only: true
---
Find out what the task asks for, and change nothing. Search wide first, then read only what decides.
Answer with what you found: each claim with its path and line numbers, the few lines of code that
prove it, and what you looked for and did not find. Do not guess.
"""
"""As a file would have it, so that users can copy it."""

_ROLE = """\
# You are a sub-agent
Another agent has given you one task, which is the user message, and waits for your answer. Do \
that task and nothing else. Nobody can be asked, and nobody reads what you write on the way: only \
your last message goes back, up to 4,500 characters. Say there what you found or did, with paths \
and line numbers, and what is left open. The tools you have are {tools}, and no others."""

_READS_ONLY = "You may only look: nothing can be changed, and commands run only if they just read."


def role_words(tools: Sequence[str], *, read_only: bool, own: str = "") -> str:
    """The end of a sub-agent's system prompt.

    Args:
        tools: Names of those it has.
        read_only: May it only look?
        own: What the user's own file, or what ships, says of it; no text of a repository (H13).
    """
    role = _ROLE.format(tools=", ".join(tools) or "none at all")
    parts = [f"{role} {_READS_ONLY}" if read_only else role, own.strip()]
    return "\n\n".join(filter(None, parts))
