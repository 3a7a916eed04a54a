"""Plays recorded sessions of other agents through the engine, call by call."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from indwell.context import conversation as talk
from indwell.context.compaction.presets import Preset
from indwell.context.compaction.step import CompactionFacts
from indwell.context.conversation import (
    Config,
    Conversation,
    counted,
    estimated_tokens,
    system_block,
)
from indwell.context.pairing import tool_uses
from indwell.context.request.assemble import assemble
from indwell.messages import Reply, Request, ToolCall
from indwell.sessions import imports
from indwell.sessions.imports import Recorded
from support.context_driver import fitted

BESIDE = Path(__file__).parents[3] / "shared" / "data"


def recorded_sessions(name: str) -> list[list[dict[str, Any]]]:
    """Return the messages of each session of a file, in OpenAI's form; skip if there is no file."""
    with gzip.open(_path(name), "rt", encoding="utf-8") as lines:
        return [json.loads(line)["messages"] for line in lines]


def foreign_sessions(name: str, *, first: int = 0, every: int = 1) -> Iterator[Recorded]:
    """Yield sessions of a file as ``indwell replay`` reads them; skip if there is no file."""
    with gzip.open(_path(name)) as lines:
        yield from imports.recorded_sessions(islice(lines, first, None, every), name=name)


def played(
    messages: Sequence[dict[str, Any]], preset: Preset, *, window: int
) -> Iterator[tuple[int, Request]]:
    """Yield, for each recorded reply, its index and the request that the engine builds."""
    now = Conversation(Config("m", window, 500), (system_block("You are an agent."),))
    words: list[str] = []
    results: dict[str, str] = {}
    turn = 0
    for index, message in enumerate(messages):
        match message["role"]:
            case "user":
                turn += 1
                words.append(str(message["content"]))
            case "tool":
                results[message["tool_call_id"]] = str(message["content"])
            case "assistant":
                now = answered(now, results, turn=turn)
                joining = talk.with_input(now, words=None, turn=turn, steered=words)
                incoming = estimated_tokens(joining) - estimated_tokens(now)
                now = fitted(now, preset, CompactionFacts(incoming=incoming, spill_folder="/s"))
                now = talk.with_input(now, words=None, turn=turn, steered=words)
                yield index, assemble(now)
                now = counted(talk.with_reply(now, _reply(message), turn=turn))
                words, results = [], {}


def answered(now: Conversation, results: dict[str, str], *, turn: int) -> Conversation:
    """Add the results of the last reply's calls, if the reply has any."""
    uses = tool_uses(now.messages[-1]) if now.messages else ()
    if not uses:
        return now
    blocks = [
        talk.tool_result(use, results[use.id], is_error=False) for use in uses if use.id in results
    ]
    return counted(talk.with_results(now, blocks, turn=turn))


def _reply(message: dict[str, Any]) -> Reply:
    calls = tuple(
        ToolCall(call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in message.get("tool_calls") or ()
    )
    return Reply(message["content"] or "", calls, finish="tool_calls" if calls else "stop")


def _path(name: str) -> Path:
    path = Path(os.environ.get("INDWELL_SHARED", BESIDE)) / "sessions" / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"no {path.name} beside the project or under INDWELL_SHARED")
    return path
