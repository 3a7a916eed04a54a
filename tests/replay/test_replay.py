"""Recorded conversations run again: causality, prefix arithmetic, loss."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indwell.context.compaction.presets import PRESETS
from indwell.providers.dialect import Dialect
from indwell.providers.request_bytes import RequestEncoder
from indwell.replay.cache import CacheRules, PrefixCache
from indwell.replay.course import Rules, points
from indwell.replay.figures import Figures, total
from indwell.replay.measure import replayed
from indwell.replay.plot import plot
from indwell.replay.traces import names_in, said_in
from indwell.sessions.foreign import Recorded, recorded


def session(n: int = 40, *, lines: int = 120) -> Recorded:
    """Reads, an edit of what was read first, and words of the user now and then."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "mend parse_header in src/a.py"}]
    for number in range(n):
        path = f"src/part_{number}.py"
        arguments = {"file_path": path}
        name = "Read"
        if number == n - 1:
            name = "Edit"
            arguments = {"file_path": "src/part_0.py", "old_string": "value_0_7 = compute_total(7)"}
        call = {"id": f"c{number}", "function": {"name": name, "arguments": json.dumps(arguments)}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        text = "\n".join(f"value_{number}_{at} = compute_total({at})" for at in range(lines))
        messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": text})
        if number % 10 == 9:
            messages.append({"role": "assistant", "content": f"I looked at {path}."})
            messages.append({"role": "user", "content": f"go on with step {number}"})
    messages.append({"role": "assistant", "content": "done"})
    return recorded({"id": "made-up", "messages": messages})


def bodies(one: Recorded, preset: str, n: int | None = None) -> list[bytes]:
    encoder = RequestEncoder()
    messages = one.messages if n is None else one.messages[:n]
    rules = Rules(PRESETS[preset], 20_000)
    return [encoder.encode(point.request, Dialect()) for point in points(messages, rules)]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_part_of_a_recording_gives_the_requests_of_the_whole_byte_for_byte(preset: str) -> None:
    one = session()
    whole = bodies(one, preset)
    for n in (2, 21, 40, 61):
        part = bodies(one, preset, n)
        assert part == whole[: len(part)]
        assert len(part) == n // 2


def test_one_request_stands_before_each_recorded_reply() -> None:
    one = session(n=5)
    n_replies = sum(message.role == "assistant" for message in one.messages)
    assert replayed(one, "none", 100_000).requests == n_replies


def test_without_compaction_all_but_the_newest_is_served_and_nothing_is_lost() -> None:
    figures = replayed(session(), "none", 1_000_000)
    largest = figures.sizes[-1]
    assert figures.tokens - figures.cached == largest  # each token is written to the cache once
    assert (figures.kept, figures.lines_kept) == (figures.pairs, figures.lines) == (0, 0)
    assert figures.violations == 0
    assert figures.cost == pytest.approx(largest * 1.25 + figures.cached * 0.1)


def test_sliding_loses_the_line_that_a_late_edit_must_match_and_pays_for_reading_it_again() -> None:
    figures = replayed(session(), "slide", 20_000)
    assert (figures.lines, figures.lines_kept) == (1, 0)
    assert figures.recoverable == 0
    assert figures.rereads > 0 < figures.reread_cost
    assert figures.words_missing > 0
    assert figures.too_large == 0


def test_a_request_over_the_window_is_counted_not_hidden() -> None:
    figures = replayed(session(), "none", 20_000)
    assert figures.too_large == sum(size > 20_000 for size in figures.sizes) > 0


def test_the_rules_of_a_provider_decide_what_is_served() -> None:
    one = session(n=6)
    all_points = list(points(one.messages, Rules(PRESETS["none"], 1_000_000)))
    first, second = all_points[0], all_points[1]

    def served(rules: CacheRules, *, after_s: float = 0.0) -> int:
        cache = PrefixCache(rules)
        assert cache.served(first.request) == 0
        return cache.served(second.request, at_s=after_s)

    assert served(CacheRules()) == first.tokens
    assert served(CacheRules(minimum=first.tokens + 1)) == 0
    assert served(CacheRules(block=128)) == first.tokens // 128 * 128
    assert served(CacheRules(life_s=300.0), after_s=301.0) == 0
    assert served(CacheRules(life_s=300.0), after_s=300.0) == first.tokens


def test_names_are_paths_snake_camel_and_dotted_names_and_errors() -> None:
    text = "In src/io/read_file.py the ValueError of os.path.join, getName, E0308; not word, 1.2.3"
    assert names_in(text) == {
        "src/io/read_file.py", "read_file.py", "read_file", "ValueError", "os.path.join",
        "getName", "E0308",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "is_kept"),
    [
        ("value_one = 1", True),
        ("value_one, value_two, value_three", False),
        ("value_one", False),
        ("The setting value_one must stay above zero.", True),
    ],
)
def test_a_name_in_a_bare_list_is_not_kept(line: str, *, is_kept: bool) -> None:
    said = said_in(line, {"value_one = 1"})
    assert ("value_one" in said.names) == is_kept


def test_totals_add_up_and_keep_the_largest_request() -> None:
    one = total((Figures(requests=2, largest_request=7), Figures(requests=3, largest_request=5)))
    assert (one.requests, one.largest_request) == (5, 7)
    assert one.shown()["kept"] == 1.0


def test_a_picture_names_its_lines_and_escapes_them() -> None:
    picture = plot({"a<b": (1, 2, 3)}, 10)
    assert "a&lt;b" in picture
    assert picture.count("<polyline") == 1
