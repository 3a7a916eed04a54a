"""``indwell replay`` as a process: its input, output, plots and exit codes."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import sys
from importlib.util import find_spec
from typing import Any
from xml.etree import ElementTree as ET

import msgspec
import pytest

from indwell.cli.parser import make_parser
from indwell.cli.replay.command import _rates, drawn
from indwell.cli.replay.options import ReplayOptions, wish_of
from indwell.errors import UserError
from indwell.replay.cache import CACHES
from indwell.replay.fitted_sessions import fitted_sessions, fold
from support.editing import MODEL, Home
from support.loopback_endpoint import (
    HANG,
    LoopbackEndpoint,
    endpoint_in_thread,
    refuse,
    say,
    stream,
)
from support.replay_sessions import entries, record
from support.terminal import Ended, indwell
from support.terminal_screen import INTERRUPT, Terminal

KEYS = [
    "requests", "tokens", "cached_share", "cost", "kept", "edit_lines", "recoverable",
    "summary_cost", "compactions", "largest_request", "violations", "seconds",
    "study_cost", "study_kept", "study_edit_lines", "filled",
]  # fmt: skip
"""As the issue fixes them for programs."""
FITTED = next(one for one in fitted_sessions().sessions if one.startswith("entire-"))
USAGE = {"prompt_tokens": 5_000, "completion_tokens": 100}


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path)


async def replay(
    home: Home, *arguments: str, base_url: str = "", stdin: bytes | None = None
) -> Ended:
    return await indwell(
        "replay",
        *arguments,
        environment=home.environment(base_url),
        folder=home.workspace,
        stdin=stdin,
    )


def written(home: Home, name: str, *records: str) -> str:
    return str(home.write(name, "".join(records)))


async def test_the_replay_json_has_the_specified_fields_and_sums_over_files(home) -> None:
    one = written(home, "one.jsonl", record("a", entries(12)))
    two = written(home, "two.jsonl", record("b", entries(6)), record("c", entries(3)))
    ended = await replay(
        home, one, two, "--json", "--each", "--window", "12000", "--preset", "slide,default"
    )
    assert (ended.code, ended.stderr) == (0, "")
    *each, total = ended.events
    assert [one["session"] for one in each] == ["a", "b", "c"]
    assert (total["window"], total["sessions"]) == (12_000, 3)
    assert list(total) == ["window", "sessions", "fitted_sessions", "presets"]
    assert list(total["presets"]) == ["slide", "default"]
    for preset, figures in total["presets"].items():
        assert list(figures) == KEYS
        mine = [one["presets"][preset] for one in each]
        for key in ("requests", "tokens", "compactions", "violations"):
            assert figures[key] == sum(one[key] for one in mine)
        assert figures["cost"] == pytest.approx(sum(one["cost"] for one in mine), abs=1e-5)
        filled = figures["filled"]
        assert filled["older"] > 0
        assert sum(filled.values()) == pytest.approx(1, abs=0.001)
        assert figures["largest_request"] == max(one["largest_request"] for one in mine)
    assert [one["sessions"] for one in each] == [1, 1, 1]


async def test_leave_out_replays_only_sessions_that_no_number_was_fitted_on(home) -> None:
    first = record(FITTED, entries(3))
    files = (written(home, "a.jsonl", first), written(home, "b.jsonl", record("b-1", entries(2))))
    every = ("--json", "--each", "--preset", "none")
    ended = await replay(home, *files, *every)
    assert [(one.get("session"), one["fitted_sessions"]) for one in ended.events] == [
        (FITTED, 1), ("b-1", 0), (None, 1),
    ]  # fmt: skip
    ended = await replay(home, *files, *every, "--leave-out")
    assert [one.get("session") for one in ended.events] == ["b-1", None]
    assert "sessions left out: 1 of 2" in ended.stderr
    ended = await replay(home, files[0], "--leave-out", "--leave-out-agents", "a")
    assert (ended.code, ended.stdout) == (2, "")
    assert "--leave-out, --leave-out-agents: all 1 sessions are left out" in ended.stderr


async def test_leave_out_takes_folds_and_agents_and_the_table_names_fitted_sessions(home) -> None:
    names = (FITTED, "b-1", "b-2", "c-1")
    files = [written(home, f"{one}.jsonl", record(one, entries(2))) for one in names]
    given = ("--leave-out-folds", str(fold("b-2")), "--leave-out-agents", "c,entire")
    ended = await replay(home, *files, "--json", "--each", "--preset", "none", *given)
    left = [one for one in names[1:3] if fold(one) != fold("b-2")]
    assert [one.get("session") for one in ended.events] == [*left, None]
    ended = await replay(home, *files, "--preset", "none")
    assert "fitted on 1 of the 4 sessions" in ended.stdout
    ended = await replay(home, files[1], "--preset", "none", "--leave-out-folds", "5")
    assert (ended.code, ended.stderr.count("no fold '5'")) == (2, 1)


async def test_worker_processes_give_the_figures_of_one_process(home) -> None:
    names = [f"s{number}" for number in range(9)]
    files = [written(home, f"{one}.jsonl", record(one, entries(8))) for one in names]
    options = ("--json", "--each", "--window", "9000", "--preset", "slide,default")
    alone = untimed(await replay(home, files[0], *options))["presets"]
    ended = await replay(home, *files, *options)
    assert [one["session"] for one in ended.events[:-1]] == names
    together = untimed(ended)["presets"]
    for preset, figures in together.items():
        assert figures["tokens"] == 9 * alone[preset]["tokens"]
        assert figures["cost"] == pytest.approx(9 * alone[preset]["cost"], abs=1e-5)


async def test_packed_files_and_stdin_give_the_same_figures(home) -> None:
    lines = (record("a", entries(8)) + record("b", entries(4))).encode()
    plain = str(home.write("plain.jsonl", lines.decode()))
    packed = home.workspace / "packed.jsonl.gz"
    half = len(lines) // 2  # `cat` joins two such parts
    packed.write_bytes(gzip.compress(lines[:half]) + gzip.compress(lines[half:]))
    told = [
        untimed(await replay(home, plain, "--json", "--window", "9000")),
        untimed(await replay(home, str(packed), "--json", "--window", "9000")),
        untimed(await replay(home, "-", "--json", "--window", "9000", stdin=lines)),
        untimed(await replay(home, "-", "--json", "--window", "9000", stdin=gzip.compress(lines))),
    ]
    assert told[0]["sessions"] == 2
    assert all(one == told[0] for one in told)


async def test_damaged_lines_are_reported_with_their_numbers_and_the_rest_is_replayed(home) -> None:
    good = record("a", entries(3))
    path = written(
        home, "bad.jsonl", good, "{broken\n", "\n", '{"x": 1}\n', record("b", entries(2))
    )
    ended = await replay(home, path, "--json", "--preset", "none")
    assert (ended.code, untimed(ended)["sessions"]) == (0, 2)
    assert ended.stderr.splitlines() == [
        "bad: line 2 is not a JSON object and was left out",
        "bad: line 4 contains no message and was left out",
    ]
    table = await replay(home, path, "--preset", "none")
    assert "note: bad: line 2 is not a JSON object" in table.stdout


async def test_the_readable_part_of_a_truncated_gzip_file_is_replayed(home) -> None:
    records = (record("a", entries(30)), record("b", entries(90)))
    whole = gzip.compress("".join(records).encode())
    path = home.workspace / "cut.jsonl.gz"
    path.write_bytes(whole[: len(whole) * 3 // 4])
    ended = await replay(home, str(path), "--json", "--preset", "none")
    assert (ended.code, untimed(ended)["sessions"]) == (0, 1)
    assert "the gzip file is cut off after" in ended.stderr
    damaged = len(whole) * 3 // 4
    path.write_bytes(whole[:damaged] + b"\xff" * 50 + whole[damaged:])
    ended = await replay(home, str(path), "--json", "--preset", "none")
    assert (ended.code, untimed(ended)["sessions"]) == (0, 1)
    assert "the gzip file is damaged after" in ended.stderr


def needs_matplotlib() -> None:
    if find_spec("matplotlib") is None and os.environ.get("CI") != "true":
        pytest.skip("matplotlib, which draws the picture, is not installed")


async def test_the_picture_format_follows_the_file_name(home) -> None:
    needs_matplotlib()
    path = written(home, "one.jsonl", record("a $b$ <c>", entries(6)))
    for name, begins in (("a.svg", b"<?xml"), ("a.PNG", b"\x89PNG")):
        target = home.workspace / name
        ended = await replay(home, path, "--plot", str(target), "--preset", "slide,default")
        assert ended.code == 0
        assert target.read_bytes().startswith(begins)
    root = ET.fromstring((home.workspace / "a.svg").read_bytes())  # noqa: S314 - our own
    words = {one.text for one in root.iter() if one.tag.endswith("text")}
    assert {"a $b$ <c>", "slide", "default", "window 64,000", "tokens", "request"} <= words
    ended = await replay(home, path, "--plot", str(home.workspace / "no" / "a.svg"))
    assert (ended.code, "/no'" in ended.stderr, ended.stdout) == (2, True, "")


def test_a_series_without_requests_can_be_drawn() -> None:
    needs_matplotlib()
    assert drawn({"default": ()}, 1, ".png").startswith(b"\x89PNG")


async def test_without_matplotlib_a_picture_is_refused_before_anything_runs(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(6)))
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from indwell.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    target = home.workspace / "a.svg"
    ended = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, "replay", path, "--plot", str(target)),
        env=home.environment(),
        stderr=asyncio.subprocess.PIPE,
    )
    _, told = await ended.communicate()
    assert (ended.returncode, target.exists()) == (2, False)
    assert b"-m pip install matplotlib`" in told


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--preset", "slide,best"], "no preset 'best'; known: default"),
        (["--cache", "acme"], "no rules 'acme'; known: plain, openai"),
        (["--cache-block", "0"], "--cache-block: 0 is not 1 or more"),
        (["--cache-life", "-1"], "--cache-life: -1 is not 0 or more"),
        (["--window", "0"], "--window: give a number of tokens"),
        (
            ["--window", "6000"],
            "--window: 6,000 tokens are too few for the 6,000 of the",
        ),
        (["--summary-ratio", "2"], "--summary-ratio: give a number between 0 and 1"),
        (["--summary-ratio", "0.2", "--model", "m"], "leave it out with --model"),
        (["--pause", "nan"], "--pause: give seconds"),
        (["--plot", "a.gif"], "must end with .svg or .png"),
    ],
)
def test_an_invalid_replay_option_is_reported(options: list[str], words: str) -> None:
    with pytest.raises(UserError) as told:
        wished(*options)
    assert words in str(told.value)


async def test_a_wrong_command_line_ends_with_2_and_no_trace(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(1)))
    ended = await replay(home, path, "--prices", "no-such-model")
    assert (ended.code, ended.stdout) == (2, "")
    assert "the price of 'no-such-model'" in ended.stderr
    assert ended.stderr.startswith("usage: indwell replay "), "its own usage"
    assert "Traceback" not in ended.stderr


async def test_a_file_that_is_missing_or_empty_is_reported(home) -> None:
    for name, words in (("gone.jsonl", "No such file"), ("empty.jsonl", "no conversation in")):
        path = home.workspace / name
        if name.startswith("empty"):
            path.write_bytes(b"\n")
        ended = await replay(home, str(path))
        assert (ended.code, words in ended.stderr) == (2, True), ended


def test_replay_options_choose_a_cache_by_name_and_override_single_rules() -> None:
    assert wished().cache == CACHES["plain"]
    for name, rules in CACHES.items():
        assert wished("--cache", name).cache == rules
    longer = msgspec.structs.replace(CACHES["openai"], life_s=3600.0, minimum=2_000, block=64)
    options = ("--cache-life", "3600", "--cache-minimum", "2000", "--cache-block", "64")
    assert wished("--cache", "openai", *options).cache == longer
    assert wished("--cache", "anthropic", "--no-cache-anchors").cache.anchors is False
    assert wished("--cache-anchors").cache.anchors is True


async def test_cache_rules_and_pauses_affect_the_figures(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(4)))

    async def share(*options: str) -> float:
        told = untimed(await replay(home, path, "--json", "--preset", "none", *options))
        return told["presets"]["none"]["cached_share"]

    slow = ("--cache", "openai", "--pause", "301")
    assert (await share(*slow), await share(*slow, "--cache-life", "400") > 0) == (0, True)


async def test_costs_are_in_dollars_by_a_price_list(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(4)))
    table = await replay(home, path, "--preset", "none", "--prices", "gpt-5")
    assert "cost in US dollars, as gpt-5 costs at your endpoint" in table.stdout
    assert "1 session, window 64,000" in table.stdout
    other = await replay(home, path, "--preset", "none", "--prices", "claude-sonnet-4-5")
    assert "as claude-sonnet-4-5 costs at anthropic, not your endpoint" in other.stdout
    home.configure(f'model = "{MODEL}"\nprice_in = 2.0\nprice_out = 8.0\n')
    own = await replay(home, path, "--preset", "none", "--prices", MODEL)
    assert f"as {MODEL} costs by your settings" in own.stdout
    ratios = ReplayOptions((path,))
    listed = _rates(msgspec.structs.replace(ratios, prices="gpt-5"))
    assert _rates(ratios) is None
    assert listed is not None
    dollars, _ = listed
    assert 0 < dollars.cached < dollars.input < dollars.output


async def test_a_model_of_the_endpoint_writes_the_summaries(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(12)))
    summary = "The parts compute totals; value_3_7 must never be zero."
    arguments = (path, "--json", "--preset", "regions-d", "--window", "12000", "--model", "summer")
    async with LoopbackEndpoint(lambda _seen: say(summary, usage=USAGE)) as endpoint:
        ended = await replay(home, *arguments, base_url=endpoint.base_url)
    figures = untimed(ended)["presets"]["regions-d"]
    assert ended.code == 0
    notice, spent = ended.stderr.splitlines()
    assert "the window of 'summer' is not known" in notice
    n_calls = len(endpoint.seen)
    assert spent.startswith(f"summaries by summer: {n_calls} calls, {5_000 * n_calls:,} tokens in")
    assert 0 < n_calls <= figures["compactions"] * 3
    # The price is on no list, so the usual ratios count: 1 for input, 5 for output.
    assert figures["summary_cost"] == pytest.approx(n_calls * (5_000 + 5 * 100) / 1e6)
    for seen in endpoint.seen:
        assert seen.body["model"] == "summer"
        assert "<transcript>" in json.dumps(seen.body["messages"][-1]["content"])
        assert "compute_total" in json.dumps(seen.body["messages"])


async def test_code_extracts_a_summary_with_a_note_if_the_model_fails(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(12)))
    arguments = (path, "--json", "--preset", "regions-d", "--window", "12000", "--model", "summer")
    async with LoopbackEndpoint(lambda _seen: refuse(400, "no such model")) as endpoint:
        ended = await replay(home, *arguments, base_url=endpoint.base_url)
    figures = untimed(ended)["presets"]["regions-d"]
    assert (ended.code, figures["summary_cost"]) == (0, 0)
    assert figures["compactions"] > 0
    assert "summaries were extracted by code: " in ended.stderr
    assert "no such model" in ended.stderr


async def test_a_replay_ends_at_the_first_summary_if_the_endpoint_rejects_the_key(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(12)))
    arguments = (path, "--preset", "regions-d", "--window", "12000", "--model", "summer")
    async with LoopbackEndpoint(lambda _seen: refuse(401, "no such key")) as endpoint:
        ended = await replay(home, *arguments, base_url=endpoint.base_url)
        assert len(endpoint.seen) == 1
    assert (ended.code, ended.stdout) == (1, "")
    assert "'summer' cannot write summaries: " in ended.stderr
    assert "Traceback" not in ended.stderr


async def test_the_replay_help_explains_rows_and_presets(home) -> None:
    told = (await replay(home, "--help")).stdout
    for word in ("edit lines", "recoverable", "violations", "ladder-a", "auto-b", "regions-d"):
        assert f"\n  {word} " in told
    assert max(map(len, told.splitlines())) <= 100


async def test_replay_with_a_model_but_without_an_endpoint_is_an_error(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(12)))
    ended = await replay(home, path, "--model", "summer")
    assert (ended.code, "Traceback" in ended.stderr) == (2, False)
    assert "key" in ended.stderr


def test_a_terminal_shows_a_progress_bar_and_the_table(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(40)), record("b", entries(40)))
    with at_terminal(home, path) as terminal:
        terminal.until("replaying")
        assert terminal.ends() == 0
        assert "violations" in terminal.shown


@pytest.mark.parametrize("n_sessions", [2, 12])
def test_ctrl_c_ends_a_replay_with_code_130_and_no_traceback(home, n_sessions: int) -> None:
    """The exit code is the same with workers, which the terminal does not end by itself."""
    long = [record(f"s{number}", entries(400, lines=60)) for number in range(n_sessions)]
    path = written(home, "long.jsonl", *long)
    with at_terminal(home, path, "--window", "30000") as terminal:
        terminal.until("replaying")
        terminal.press(INTERRUPT)
        assert terminal.ends() == 130
        assert "stopped" in terminal.shown
        assert "Traceback" not in terminal.shown
        assert "violations" not in terminal.shown


async def test_session_names_in_the_table_are_plain_text(home) -> None:
    evil = "[red]a\x1b[2J\u202e"
    path = written(home, "one.jsonl", record(evil, entries(2)), record("b", entries(1)))
    ended = await replay(home, path, "--each", "--preset", "none,slide")
    assert ended.code == 0
    assert not {"\x1b", "\u202e"} & set(ended.stdout + ended.stderr)
    titles = [line.strip() for line in ended.stdout.splitlines()]
    assert {"[red]a\\u001b[2J\\u202e", "b", "2 sessions, window 64,000"} <= set(titles)
    assert max(map(len, titles)) <= 100


def test_ctrl_c_while_a_model_writes_summaries_ends_the_replay_cleanly(home) -> None:
    path = written(home, "one.jsonl", record("a", entries(12)))
    with endpoint_in_thread(lambda _seen: stream(HANG)) as endpoint:
        arguments = ("--model", "summer", "--preset", "regions-d", "--window", "12000")
        with at_terminal(home, path, *arguments, base_url=endpoint.base_url) as terminal:
            terminal.until("replaying")
            while not endpoint.seen:
                terminal.until("replaying")  # the bar is drawn again and again
            terminal.press(INTERRUPT)
            assert terminal.ends() == 130
            assert "stopped" in terminal.shown
            assert "Traceback" not in terminal.shown


def wished(*options: str) -> ReplayOptions:
    return wish_of(make_parser().parse_args(["replay", "a.jsonl", *options]))


def at_terminal(home: Home, *arguments: str, base_url: str = "") -> Terminal:
    return Terminal(
        "replay",
        *arguments,
        environment=home.environment(base_url),
        folder=home.workspace,
        kind="xterm",
    )


def untimed(ended: Ended) -> dict[str, Any]:
    """Return the totals without the measured time."""
    assert ended.code == 0, ended
    total = ended.events[-1]
    for figures in total["presets"].values():
        assert figures.pop("seconds") >= 0
    return total
