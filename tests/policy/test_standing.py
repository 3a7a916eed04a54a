"""What a standing answer is for: this very call, in this sandbox, with these scripts."""

from __future__ import annotations

import msgspec
import pytest

from indwell.policy.asked import Asked
from indwell.policy.commands.verdict import Part
from indwell.policy.named_files import named_files, run_files
from indwell.policy.standing import is_granted, may_stand, rule_of
from indwell.policy.widening import ANY_HOST, NOTHING_MORE, Widening

RUN = Asked("bash", "run", command="./ship.sh", cwd="/w", scripts=(("ship.sh", "a" * 32),))
GITHUB = Widening(hosts=("github.com",))


def test_a_rule_names_sandbox_widening_and_the_scripts_as_they_are() -> None:
    assert rule_of(RUN) == "bash in /w, ship.sh as of aaaaaaaaaaaaaaaa: ./ship.sh"
    assert rule_of(msgspec.structs.replace(RUN, scripts=()), confined=True, widening=GITHUB) == (
        "bash in /w, sandboxed with network to github.com: ./ship.sh"
    )


def test_a_script_that_was_changed_is_another_call() -> None:
    changed = msgspec.structs.replace(RUN, scripts=(("ship.sh", "b" * 32),))
    granted = frozenset([rule_of(RUN)])
    assert is_granted(RUN, granted, NOTHING_MORE, confined=False)
    assert not is_granted(changed, granted, NOTHING_MORE, confined=False)


def test_an_answer_in_the_sandbox_is_none_for_a_run_without_it() -> None:
    for given, holds in ((False, (True, True)), (True, (False, True))):
        granted = frozenset([rule_of(RUN, confined=given)])
        found = [is_granted(RUN, granted, NOTHING_MORE, confined=now) for now in (False, True)]
        assert tuple(map(bool, found)) == holds


def test_an_answer_is_for_its_widening_only() -> None:
    granted = frozenset([rule_of(RUN, confined=True, widening=GITHUB)])
    wider = Widening(hosts=("github.com", "evil.example"))
    found = [is_granted(RUN, granted, one, confined=True) for one in (NOTHING_MORE, GITHUB, wider)]
    assert list(map(bool, found)) == [False, True, False]


@pytest.mark.parametrize(
    ("widening", "stands"),
    [
        (NOTHING_MORE, True),
        (GITHUB, True),
        (Widening(hosts=(ANY_HOST,)), False),
        (Widening(shows_secrets=True), False),
        (Widening(unconfined=True), False),
    ],
)
def test_pol_16_what_the_model_asks_for_by_itself_is_asked_each_time(
    widening: Widening,
    stands: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert may_stand(RUN, widening) is stands
    wanted = msgspec.structs.replace(RUN, wants=GITHUB)
    assert not may_stand(wanted, widening)
    granted = frozenset([rule_of(wanted, widening=widening)])
    assert not is_granted(wanted, granted, widening, confined=True)


def part(*words: str) -> Part:
    return Part(" ".join(words), 0, 0, words, "ask", "test")


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (("./build.sh", "-x"), ("build.sh",)),
        (("python3", "-u", "tools/make.py", "a.py"), ("sub/tools/make.py",)),
        (("sudo", "-E", "env", "A=1", "bash", "x.sh"), ("sub/x.sh",)),
        (("/w/bin/run",), ("bin/run",)),
        ((".", "env.sh"), ("sub/env.sh",)),
        (("/usr/bin/make",), ()),
        (("../../out.sh",), ()),
        (("python3", "-c", "print(1)"), ()),
        (("rm", "a.py"), ()),
        ((), ()),
    ],
)
def test_the_scripts_that_a_command_runs(words: tuple[str, ...], files: tuple[str, ...]) -> None:
    cwd = "/w" if words[:1] == ("./build.sh",) else "/w/sub"
    assert run_files([part(*words)], cwd, ("/w",)) == files


def test_the_files_that_a_command_names_stand_as_the_workspace_knows_them() -> None:
    parts = [part("cp", "--target-directory=../out", "a/./b"), part("/etc/hosts")]
    assert named_files(parts, "/w/sub", ("/w",)) == (
        "sub/cp", "sub/--target-directory=../out", "out", "sub/a/b", "/etc/hosts"
    )  # fmt: skip
