"""The first sign of use prepares a prompt in threads, unless the server is shutting down."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from indwell.lsp import server as wiring


@dataclass
class Ready:
    """A host and a server that count the requested preparations."""

    is_stopped: bool
    done: list[str] = field(default_factory=list)

    @property
    def service(self) -> Any:
        return self

    def warm_up(self) -> None:
        self.done.append("warmed up")


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_a_stopping_server_prepares_no_prompt(*, is_stopped: bool) -> None:
    ready: Any = Ready(is_stopped)
    begin = wiring._first_sign(ready, ready)
    begin()
    begin()
    over = asyncio.Event()
    asyncio.get_running_loop().call_later(wiring.AFTER_S, over.set)
    await over.wait()
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)
    assert ready.done == ([] if is_stopped else ["warmed up"] * 2)
