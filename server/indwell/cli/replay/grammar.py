"""The options of ``indwell replay``."""

from __future__ import annotations

import argparse

_GLOSSARY = """\
rows of the table:
  requests     calls of the main model; re-reads and summaries are not among them
  tokens       of all prompts; cached: the share of them that a cache would have served
  cost         of all calls, in prices of a million input tokens (or US dollars), with summaries
               and with what had to be read again because it was gone; summaries: of that, theirs
  kept         of the names that the agent went on to use and whose source had been shortened, the
               share that still stood in the request
  edit lines   the same for lines that an edit had to match
  recoverable  of what was lost, the share whose own file is named where it was cut
  compactions  requests before which anything was shortened; largest: tokens of the largest request
  violations   broken rules: calls without results, over the window, the user's words missing, ...
  seconds      of computing

presets:
  default      Indwell's own: old results become digests when that pays, then summaries by region
  ladder-a     a published design, re-implemented: cut long results, then one summary of what is old
  auto-b       a published design, re-implemented: old results emptied before each call, then one
               summary of everything
  regions-d    a published design, re-implemented: the largest runs of calls summed up first
  slide        the oldest exchanges are dropped, nothing is summed up
  none         nothing is shortened
"""


def replay_options(replay: argparse.ArgumentParser) -> None:
    """Add them to the command's parser."""
    replay.formatter_class = argparse.RawDescriptionHelpFormatter
    replay.epilog = _GLOSSARY
    replay.description = (
        "Runs recorded conversations through the real assembly and compaction, and prints\n"
        "for each preset what the requests would have cost, and what the agent would have missed."
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
        help="tokens of each request of the longest session as a picture: .svg or .png "
        "(needs matplotlib)",
    )


def _summaries(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--summary-ratio",
        type=float,
        metavar="R",
        help="tokens of a simulated summary as a share of what it stands for; 0: extraction by "
        "code, without a model (default: 0.2); not with --model",
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
        help="show costs in US dollars by the price list of this model: that of your settings, "
        "else of your endpoint, else of any list (default: that of --model; else in prices of a "
        "million input tokens)",
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
