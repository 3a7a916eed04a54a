"""Defines the options of ``indwell record`` and ``indwell replay-cassette``."""

from __future__ import annotations

import argparse

from indwell.cli.stored.grammar import flags


def record_options(record: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell record`` to its parser."""
    record.description = (
        "Serves an editor as `indwell serve` does, and records the whole session for a bug report: "
        "messages, the model's answers, commands, files, time and ids. The editor starts this "
        "command in place of `indwell`. The cassette contains your code and prompts; known keys "
        "are hidden."
    )
    record.add_argument("--to", required=True, metavar="FILE", help="a new file")
    flags(
        record,
        editor_trust="see `indwell serve`",
        scripted="use the scripted model that ships with Indwell: no key, no network",
    )


def replay_cassette_options(replay: argparse.ArgumentParser) -> None:
    """Add the options of ``indwell replay-cassette`` to its parser."""
    replay.description = (
        "Plays a cassette of `indwell record` into this server, without an editor, a model or a "
        "command, and compares what the server sends. Exit codes: 0 the same, 1 a difference, 2 "
        "the cassette cannot be replayed."
    )
    replay.add_argument("file", metavar="FILE", help="the cassette")
    flags(replay, json="print one JSON object")
