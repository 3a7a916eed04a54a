from __future__ import annotations

import pytest

from indwell.workspace.git.repository import branch_of
from support.memory_workspace import MemoryWorkspace


@pytest.mark.parametrize(
    ("head", "branch"),
    [
        ("ref: refs/heads/main\n", "main"),
        ("ref: refs/heads/fix/x-1\n", "fix/x-1"),
        ("0123456789abcdef0123456789abcdef01234567\n", "0123456789"),
        ("PASSWORD=hunter2\n", ""),  # a link to a secret file is not a branch
        ("", ""),
    ],
)
async def test_only_text_in_gits_format_counts_as_a_branch(head: str, branch: str) -> None:
    assert await branch_of(MemoryWorkspace({".git/HEAD": head})) == branch


async def test_outside_a_repository_there_is_no_branch() -> None:
    assert await branch_of(MemoryWorkspace({"a": "b"})) == ""
