"""The options of ``indwell replay``."""

from __future__ import annotations

import argparse


def replay_options(replay: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    replay.description = (
        "Runs recorded conversations through the real assembly and compaction, and prints for each "
        "preset what the requests would have cost, and what the agent would have missed."
    )
    replay.add_argument(
        "files", nargs="+", metavar="FILE", help=".jsonl or .jsonl.gz; - reads stdin"
    )
    replay.add_argument("--preset", default="", metavar="NAMES", help="of these, by comma (all)")
    replay.add_argument(
        "--window", type=int, default=64_000, metavar="N", help="tokens (default: 64000)"
    )
    _summaries(replay.add_argument_group("summaries and prices"))
    _cache(replay.add_argument_group("the provider's cache"))
    output = replay.add_argument_group("output")
    output.add_argument("--each", action="store_true", help="also for each session")
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument(
        "--plot",
        metavar="FILE",
        help="tokens of each request of the longest session as a picture: .svg or .png",
    )


def _summaries(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--summary-ratio",
        type=float,
        default=0.2,
        metavar="R",
        help="tokens of a simulated summary as a share of what it stands for; 0: extraction by "
        "code, without a model (default: 0.2)",
    )
    group.add_argument(
        "--model",
        default="",
        metavar="NAME",
        help="have this model of your endpoint write the summaries; that costs money",
    )
    group.add_argument(
        "--prices",
        default="",
        metavar="NAME",
        help="show costs in US dollars by the price list of this model (default: that of --model; "
        "else in prices of a million input tokens)",
    )


def _cache(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--cache",
        default="plain",
        metavar="NAME",
        help="rules of plain, openai, anthropic, deepseek, gemini or none (default: plain, the "
        "longest common prefix)",
    )
    group.add_argument(
        "--cache-minimum", type=int, metavar="N", help="tokens that a cached prefix has at least"
    )
    group.add_argument(
        "--cache-block", type=int, metavar="N", help="a cached prefix is a multiple of N tokens"
    )
    group.add_argument(
        "--cache-life", type=float, metavar="S", help="seconds without a use; 0: for ever"
    )
    group.add_argument(
        "--cache-anchors",
        action=argparse.BooleanOptionalAction,
        help="only what ends at a mark of an earlier request is served",
    )
    group.add_argument(
        "--pause",
        type=float,
        default=0.0,
        metavar="S",
        help="seconds between two requests, where the recording has no times (default: 0)",
    )
