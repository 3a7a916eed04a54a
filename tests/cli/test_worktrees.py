"""Sessions in worktrees: apart from the folder, merged for review, and safe after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.editing import EDIT, MENDED, READ, SOURCE, Home, bash, texts_of
from support.git_shell import git
from support.loopback_endpoint import LoopbackEndpoint, say
from support.terminal import Ended, indwell


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def test_a_run_in_a_worktree(home) -> None:
    async with LoopbackEndpoint([READ, EDIT, say("Done.")]) as endpoint:
        env = home.environment(endpoint.base_url)
        ended = await indwell("run", "Fix it", "--worktree", "--trust", environment=env, folder=home.workspace)
        print(ended)
        for one in endpoint.seen: print(json.dumps(one.body["messages"][-1])[:600])
        print((await indwell("worktrees", environment=env, folder=home.workspace)))
        print((await indwell("worktrees", "diff", environment=env, folder=home.workspace)))
        print((await indwell("worktrees", "merge", environment=env, folder=home.workspace)))
        print((await indwell("review", environment=env, folder=home.workspace)))
        print((await indwell("worktrees", environment=env, folder=home.workspace)))
    assert 0
