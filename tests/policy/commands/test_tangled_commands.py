from __future__ import annotations

import time
import tracemalloc

import pytest

from indwell.policy.commands.dangerous import why_dangerous
from indwell.policy.decide import COMMAND_LIMIT


@pytest.mark.parametrize(
    "unit",
    ["rm;" + "curl x|", "curl x|sh $(", "bash <(curl ", "f(){ rm|", "rm -rf {a,b}", "cat <<E |sh "],
)
def test_cmd_17_the_longest_complex_command_is_judged_fast(unit: str) -> None:
    command = (unit * COMMAND_LIMIT)[:COMMAND_LIMIT]
    began = time.thread_time()
    why_dangerous(command)
    assert time.thread_time() - began < 0.5  # an idle machine takes 0.03 s


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf /" + "*" * 7_900 + "x",
        "rm -rf /" + "*." * 3_900 + "x",
        "rm {" + "," * 7_900,
        "rm x" + "|sh" * 2_500,
        "echo rm x|" + "sh|" * 2_500 + "sh",
        "rm " + ("{" + ",".join("a" * 300) + "}") * 12,
        "rm -rf " + ("{a,b}" * 6 + " ") * 250,
        "rm " + '"$(' * 1_500 + "x" + ')"' * 1_500,
        "eval " * 1_500 + "rm x",
        "a=" + "'rm x;'" * 500 + ";" + 'eval "$a";' * 400,
        "a=" + "/x" * 1_500 + ";rm -rf " + "$a " * 1_600,
        "sudo " * 1_590 + "rm x",
    ],
    ids=lambda command: command[:20],
)
def test_cmd_17_no_command_takes_long_to_judge(command: str) -> None:
    taken = []
    for _ in range(3):
        began = time.thread_time()
        why_dangerous(command)
        taken.append(time.thread_time() - began)
    assert min(taken) < 0.5  # an idle machine takes less than 0.05 s


@pytest.mark.parametrize("unit", ["a=$a$a;", 'a="$a$a";', "a=$a'x'$a;", "a=${a}/${a};"])
def test_cmd_17_variables_of_variables_fill_no_memory(unit: str) -> None:
    tracemalloc.start()
    try:
        why = why_dangerous("a=aaaaaaaa;" + unit * 60 + "rm x")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 5e6
    assert why == "is too complex to be understood"


def test_cmd_17_a_script_with_many_path_variables_is_not_too_complex() -> None:
    paths = "a=/home/someone/some/project/of/theirs;" + 'rm -rf "$a/build" $a/{x,y}/z;' * 260
    assert len(paths) <= COMMAND_LIMIT
    assert why_dangerous(paths) == ""
    assert why_dangerous(f"bash -c '{paths}'") == ""
