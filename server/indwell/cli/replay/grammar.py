"""Defines the command-line options of ``indwell replay``."""

from __future__ import annotations

import argparse

_GLOSSARY = """\
rows of the table:
  requests     calls of the main model; re-reads and summaries are not among them
  tokens       of all prompts; cached: their share that a cache would have served
  cost         of all calls, in prices of a million input tokens (or US dollars), including
               summaries and lost text that was read again; summaries: the part spent on them
  kept         of the names that the agent used later and whose source had been shortened, the
               share that was still in the request
  edit lines   the same for lines that an edit had to match; –: there were none
  recoverable  of lost text, the share whose file is named where it was cut
  compactions  requests preceded by a compaction; largest: tokens of the largest request
  violations   broken rules: calls without results, over the window, the user's words missing, ...
  seconds      of computing
  study: ...   cost, kept and edit lines by the rules of a published study: a name is kept wherever
               the request shows it, and summaries are free
  window: ...  mean share of the window that each part takes; system is the system prompt with tools

The last line says how many of the sessions were used to fit numbers of the preset default. With
--json, fitted_sessions is this count, and --each shows the count and the fold of each session.

presets:
  default      Indwell's own: old results become digests when that pays, then summaries by region
  ladder-a     a published design, re-implemented: cut long results, then one summary of what is old
  auto-b       a published design, re-implemented: old results emptied before each call, then one
               summary of everything
  regions-d    a published design, re-implemented: the largest runs of calls summarised first
  slide        the oldest exchanges are dropped without a summary
  none         nothing is shortened
"""


def replay_options(replay: argparse.ArgumentParser) -> None:
    """Add the replay options to the command's parser."""
    replay.formatter_class = argparse.RawDescriptionHelpFormatter
    replay.epilog = _GLOSSARY
    replay.description = (
        "Replays recorded conversations through the real assembly and compaction. For each preset\n"
        "it prints what the requests would have cost, and what the agent would have missed."
    )
    replay.add_argument(
        "files", nargs="+", metavar="FILE", help=".jsonl or .jsonl.gz; - reads stdin"
    )
    replay.add_argument(
        "--preset", default="", metavar="NAMES", help="presets, separated by commas (default: all)"
    )
    replay.add_argument(
        "--window",
        type=int,
        default=64_000,
        metavar="N",
        help="tokens of the context window (default: 64000)",
    )
    _left_out(replay.add_argument_group("sessions that are left out"))
    _summaries(replay.add_argument_group("summaries and prices"))
    _cache(replay.add_argument_group("the provider's cache"))
    output = replay.add_argument_group("output")
    output.add_argument(
        "--each", action="store_true", help="also print the figures of each session"
    )
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument(
        "--plot",
        metavar="FILE",
        help="draw the tokens of each request of the longest session to FILE, .svg or .png "
        "(needs matplotlib)",
    )


def _left_out(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--leave-out",
        action="store_true",
        help="leave out the sessions that numbers of the preset default were fitted or chosen on, "
        "recognised by id and by content; fails if no other session is there",
    )
    group.add_argument(
        "--leave-out-folds",
        default="",
        metavar="N,...",
        help="leave out folds, 0 to 4; the fold of a session is the SHA-256 of its id, modulo 5",
    )
    group.add_argument(
        "--leave-out-agents",
        default="",
        metavar="NAME,...",
        help="leave out the sessions whose ids begin with NAME-",
    )


def _summaries(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--summary-ratio",
        type=float,
        metavar="R",
        help="tokens of a simulated summary as a share of the text it replaces; 0: extraction by "
        "code, without a model (default: 0.2); not with --model",
    )
    group.add_argument(
        "--model",
        default="",
        metavar="NAME",
        help="let this model of your endpoint write the summaries; this costs money",
    )
    group.add_argument(
        "--prices",
        default="",
        metavar="NAME",
        help="show costs in US dollars with this model's prices: from your settings, else from "
        "your endpoint, else from any list (default: those of --model; without it, in "
        "prices of a million input tokens)",
    )


def _cache(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--cache",
        default="plain",
        metavar="NAME",
        help="cache rules: plain, openai, anthropic, deepseek, gemini or none (default: plain, "
        "the longest common prefix)",
    )
    group.add_argument(
        "--cache-minimum", type=int, metavar="N", help="minimum tokens of a cached prefix"
    )
    group.add_argument(
        "--cache-block", type=int, metavar="N", help="a cached prefix is a multiple of N tokens"
    )
    group.add_argument(
        "--cache-life",
        type=float,
        metavar="S",
        help="seconds that an unused prefix stays cached; 0: for ever",
    )
    group.add_argument(
        "--cache-anchors",
        action=argparse.BooleanOptionalAction,
        help="only prefixes that end at a cache mark of an earlier request are served",
    )
    group.add_argument(
        "--pause",
        type=float,
        default=0.0,
        metavar="S",
        help="seconds between two requests, where the recording has no times (default: 0)",
    )
