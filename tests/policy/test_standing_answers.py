"""A permanent answer applies to exactly this call, in this sandbox, with these scripts."""

from __future__ import annotations

import msgspec
import pytest

from indwell.files.spelling import slashed
from indwell.policy.call_facts import NO_FILE, CallFacts, covers_later_calls, is_granted, rule_of
from indwell.policy.commands.verdict import CommandPart
from indwell.policy.file_rules import Bound, bound_files, named_files
from indwell.policy.rules import ANY_HOST, NOTHING_MORE, Widening
from indwell.policy.shell.words import STAR, UNKNOWN

RUN = CallFacts("bash", "run", command="./ship.sh", cwd="/w", scripts=(("ship.sh", "a" * 32),))
GITHUB = Widening(hosts=("github.com",))


def test_a_stored_rule_names_the_sandbox_its_widening_and_script_digests() -> None:
    assert rule_of(RUN) == "bash in /w, ship.sh as of aaaaaaaaaaaaaaaa: ./ship.sh"
    assert rule_of(msgspec.structs.replace(RUN, scripts=()), confined=True, widening=GITHUB) == (
        "bash in /w, sandboxed with network to github.com: ./ship.sh"
    )


def test_a_changed_script_needs_another_permission() -> None:
    changed = msgspec.structs.replace(RUN, scripts=(("ship.sh", "b" * 32),))
    granted = frozenset([rule_of(RUN)])
    assert is_granted(RUN, granted, NOTHING_MORE, confined=False)
    assert not is_granted(changed, granted, NOTHING_MORE, confined=False)


def test_a_permission_for_a_sandboxed_command_does_not_cover_an_unsandboxed_run() -> None:
    for given, holds in ((False, (True, True)), (True, (False, True))):
        granted = frozenset([rule_of(RUN, confined=given)])
        found = [is_granted(RUN, granted, NOTHING_MORE, confined=now) for now in (False, True)]
        assert tuple(map(bool, found)) == holds


def test_a_permission_covers_only_its_extra_access() -> None:
    granted = frozenset([rule_of(RUN, confined=True, widening=GITHUB)])
    wider = Widening(hosts=("github.com", "evil.example"))
    found = [is_granted(RUN, granted, one, confined=True) for one in (NOTHING_MORE, GITHUB, wider)]
    assert list(map(bool, found)) == [False, True, False]


@pytest.mark.parametrize(
    ("widening", "is_lasting"),
    [
        (NOTHING_MORE, True),
        (GITHUB, True),
        (Widening(hosts=(ANY_HOST,)), False),
        (Widening(shows_secrets=True), False),
        (Widening(unconfined=True), False),
        (Widening(writes_protected=True), False),
    ],
)
def test_pol_16_wider_access_requested_by_the_model_is_asked_each_time(
    widening: Widening,
    is_lasting: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert covers_later_calls(RUN, widening) is is_lasting
    wanted = msgspec.structs.replace(RUN, wants=GITHUB)
    assert not covers_later_calls(wanted, widening)
    granted = frozenset([rule_of(wanted, widening=widening)])
    assert not is_granted(wanted, granted, widening, confined=True)


def part(*words: str) -> CommandPart:
    return CommandPart(" ".join(words), 0, 0, words, "ask", "test")


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
        ((), ()),
    ],
)
def test_the_scripts_that_a_command_runs_are_found(
    words: tuple[str, ...], files: tuple[str, ...]
) -> None:
    cwd = "/w" if words[:1] == ("./build.sh",) else "/w/sub"
    found = set(map(slashed, bound_files([part(*words)], cwd, ("/w",)).names))
    assert {slashed(f"/w/{file}") for file in files} <= found


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("timeout", "9", "./x.sh"), "x.sh"),
        (("bash", "-o", "pipefail", "x.sh"), "x.sh"),
        (("env", "-u", "A", "./x.sh"), "x.sh"),
        (("x.sh",), "x.sh"),  # the target of `bash < x.sh`, or the file in `cat x.sh | sh`
        (("python3.11", "x.py"), "x.py"),
        (("python3", "-W", "ignore", "x.py"), "x.py"),
        (("node", "--require", "./x.js", "y.js"), "x.js"),
        (("node", "--require=./x.js"), "x.js"),
        (("xargs", "-n", "1", "sh", "x.sh"), "x.sh"),
        (("./x.sh && ./y.sh",), "y.sh"),  # `bash -c` runs this text
        (("make", "test"), "Makefile"),
        (("nice", "make", "-f", "other.mk"), "other.mk"),
        (("make", "-Csub", "all"), "sub/Makefile"),
        (("npm", "--prefix", "web", "test"), "web/package.json"),
        (("tox",), "tox.ini"),
        (("just", "ship"), "justfile"),
    ],
)
def test_files_that_a_command_may_run_or_obey_are_found(words: tuple[str, ...], file: str) -> None:
    assert f"/w/{file}" in bound_files([part(*words)], "/w", ("/w",)).names


def test_a_script_is_searched_in_its_commands_folder() -> None:
    moved = msgspec.structs.replace(part("./x.sh"), folders=("sub",))
    assert bound_files([moved], "/b", ("/w", "/b")) == Bound(("/b/sub/x.sh",))


def test_a_removed_file_does_not_count_as_run() -> None:
    removing = msgspec.structs.replace(part("rm", "build.log"), rule="removes")
    assert bound_files([removing], "/w", ("/w",)) == Bound()


@pytest.mark.parametrize(
    "words", [("sh", f"x{STAR}.sh"), ("sh", UNKNOWN), ("sh", *map(str, range(3_000)))]
)
def test_files_known_only_at_run_time_make_the_list_incomplete(words: tuple[str, ...]) -> None:
    assert not bound_files([part(*words)], "/w", ("/w",)).is_all


def test_no_answer_is_kept_if_a_file_of_the_command_is_unknown() -> None:
    gone = msgspec.structs.replace(RUN, scripts=(("ship.sh", NO_FILE),))
    assert not covers_later_calls(gone, NOTHING_MORE)


def test_files_named_by_a_command_are_resolved_relative_to_the_workspace() -> None:
    parts = [part("cp", "--target-directory=../out", "a/./b"), part("/etc/hosts")]
    assert named_files(parts, "/w/sub", ("/w",)) == (
        "sub/--target-directory=../out", "out", "sub/a/b", "/etc/hosts"
    )  # fmt: skip
