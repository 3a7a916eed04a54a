"""Windows: trials choose the cage of a command (a token, an AppContainer). Pure."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indwell.errors import ToolError
from indwell.files.system.access import EVERYONE, Ace
from indwell.sandbox import run_program
from indwell.sandbox.confine.cages import (
    ALL_PACKAGES,
    CAGES,
    Cage,
    environment_block,
    is_open_to_containers,
    scratch_descriptor,
    strength_of,
)
from indwell.sandbox.confine.confined_run import in_cage
from indwell.sandbox.confine.restricted_token import (
    are_open_to_containers,
    container_here,
    start_caged,
    strength_here,
)
from indwell.sandbox.confine.trial import (
    ALL_HELD,
    Effects,
    Held,
    Proof,
    TrialPlace,
    judge,
    python_script,
    shell_script,
)
from indwell.sandbox.confinement import Confinement
from indwell.sandbox.starting import Launch

ALL = frozenset(ALL_HELD)
FREE = Effects(started=True, is_usable=True, done=ALL)


def proof(*done: Held) -> Proof:
    """Return the result of a trial in which a confined command still did these actions."""
    return judge(FREE, Effects(started=True, is_usable=True, done=frozenset(done)))


def test_the_best_cage_that_blocks_writes_and_ends_processes_is_used() -> None:
    held, cage = strength_of([("restricted", proof("network", "secrets"))])
    assert (held.level, cage) == ("S2w", "restricted")
    assert held.words == "partly sandboxed (a restricted token with low integrity)"
    assert "Windows blocks: writes, processes; it does not block: network and secrets" in (
        held.reason
    )


def test_the_next_cage_is_used_if_the_shell_does_not_start_in_the_best_cage() -> None:
    unfit = Proof(reason=r"C:\Program Files\Git\bin\bash.exe does not start in it")
    held, cage = strength_of([("restricted", unfit), ("low", proof("network", "secrets"))])
    assert (held.level, cage) == ("S2w", "low")
    assert held.words == "partly sandboxed (low integrity)"


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (proof("writes"), "it does not block writes"),
        (proof("processes"), "it does not block processes"),
        (proof(*ALL_HELD), "it does not block writes and network and secrets and processes"),
        (Proof(reason="no command starts in it (Access denied.)"), "no command starts in it"),
        (Proof(frozenset(["processes", "network"])), "it does not block writes"),
        (judge(Effects(started=False, is_usable=False, said="no Python"), FREE), "no Python"),
        (judge(FREE, Effects(started=True, is_usable=False)), "its own temporary files"),
    ],
)
def test_a_cage_that_does_not_block_writes_or_end_processes_does_not_count(
    found: Proof, reason: str
) -> None:
    for cages in (CAGES, CAGES[:1]):
        held, cage = strength_of([(one, found) for one in cages])
        assert (held.level, cage) == ("S0", None)
        assert held.asks_for_all
        assert reason in held.reason


def test_an_attempt_that_also_fails_unconfined_does_not_count_as_blocked() -> None:
    free = Effects(started=True, is_usable=True, done=frozenset(["secrets", "network"]))
    found = judge(free, Effects(started=True, is_usable=True))
    assert found.held == {"secrets", "network"}
    assert strength_of([("restricted", found)])[0].level == "S0"


@given(st.sets(st.sampled_from(ALL_HELD)), st.sets(st.sampled_from(ALL_HELD)))
def test_only_failures_caused_by_the_confinement_count(free: set[Held], kept: set[Held]) -> None:
    before = Effects(started=True, is_usable=True, done=frozenset(free))
    after = Effects(started=True, is_usable=True, done=frozenset(kept))
    found = judge(before, after)
    assert found.held == free - kept
    assert bool(found.reason) == (found.held != ALL)


PLACE = TrialPlace(Path("t"), Path("in"), Path("out"), Path("secret"), "canary", 4711, 99)


def test_the_trial_scripts_attempt_every_action_to_be_blocked() -> None:
    script = python_script(PLACE)
    compile(script, "trial", "exec")
    for named in (repr(str(Path("in/own"))), "'out'", "'secret'", "4711", "opened(right, 0, 99)"):
        assert named in script
    assert shell_script(PLACE) == (
        "echo trial-started; echo x >'in/own'; echo x >'out'; cat 'secret'; "
        "kill -0 99 && echo trial-reached; (: <>/dev/tcp/127.0.0.1/4711); :"
    )


def test_only_the_user_the_system_and_the_command_may_use_its_temporary_files() -> None:
    assert scratch_descriptor("S-1-5-21-7", "S-1-9-1-2-3-4") == (
        "D:P(A;OICI;FA;;;S-1-5-21-7)(A;OICI;FA;;;SY)(A;OICI;0x1301bf;;;S-1-9-1-2-3-4)"
        "S:(ML;OICI;NW;;;LW)"
    )


READ = 0x1200A9


@pytest.mark.parametrize(
    ("aces", "is_open"),
    [
        ([Ace(0, 0, READ, ALL_PACKAGES)], True),
        ([Ace(0, 3, 0x1301BF, ALL_PACKAGES)], True),  # inherited by contents, and more than reading
        ([Ace(0, 0, 0x10000000, ALL_PACKAGES)], True),
        ([Ace(0, 0, 0xA0000000, ALL_PACKAGES)], True),
        ([Ace(1, 0, READ, EVERYONE), Ace(0, 0, READ, ALL_PACKAGES)], True),
        ([Ace(0, 8, READ, ALL_PACKAGES)], False),  # applies only to later files
        ([Ace(1, 0, READ, ALL_PACKAGES)], False),
        ([Ace(0, 0, 0x1, ALL_PACKAGES)], False),
        ([Ace(0, 0, READ, EVERYONE)], False),
        ([], False),
        (None, False),  # everyone may read the file, except an AppContainer
    ],
)
def test_an_appcontainer_reads_only_files_that_grant_it_access(
    aces: list[Ace] | None, *, is_open: bool
) -> None:
    assert is_open_to_containers(aces) is is_open


def test_windows_gets_variables_sorted_and_each_name_only_once() -> None:
    given = {"Path": "a", "TEMP": "t", "path": "b", "Alpha": "1", "_x": ""}
    assert environment_block(given) == "Alpha=1\0path=b\0TEMP=t\0_x=\0\0"
    assert environment_block({}) == "\0"


@pytest.mark.parametrize("variables", [{"A\0B": "x"}, {"A": "x\0B=y"}, {"": "x"}, {"A=B": "x"}])
def test_no_variable_value_can_inject_another_variable(variables: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="cannot be passed on"):
        environment_block(variables)


def test_a_system_without_restricted_tokens_does_not_offer_their_cage() -> None:
    if sys.platform != "win32":
        assert strength_here(()) == strength_of(())
        assert strength_here(())[0].level == "S0"
        assert not container_here(()).held
        assert not are_open_to_containers(["/"])


@pytest.mark.skipif(sys.platform == "win32", reason="there it starts")
async def test_no_program_starts_unconfined_if_a_token_was_requested(tmp_path: Path) -> None:
    launch = Launch(["/bin/true"], tmp_path, {}, stdin=0, stdout=1, stderr=2)
    for cage in get_args(Cage):
        with pytest.raises(ToolError, match="only Windows has restricted tokens"):
            await start_caged(launch, cage=cage, scratch=tmp_path)


@pytest.mark.parametrize(
    ("bounds", "cage"),
    [
        (Confinement(writable=()), None),
        (Confinement(writable=("/w",)), "restricted"),
        (Confinement(writable=(), hosts=("example.org",)), "low"),
    ],
)
async def test_a_command_with_a_rule_that_its_cage_cannot_enforce_does_not_run(
    bounds: Confinement, cage: Cage | None
) -> None:
    with pytest.raises(ToolError, match="Windows confines only commands that write nothing"):
        async with in_cage(bounds, cage):
            pass


async def test_a_read_only_program_gets_a_temporary_folder_that_is_removed_later() -> None:
    async with in_cage(Confinement(writable=(), environment={"A": "b"}), "low") as how:
        assert isinstance(how.start, functools.partial)
        scratch = how.start.keywords["scratch"]
        assert (scratch.is_dir(), how.has_ui, how.environment) == (True, False, {"A": "b"})
    assert not scratch.exists()


if sys.platform == "win32":
    import os

    from indwell.files.private import remove_own_tree, scratch_folder

    @pytest.mark.parametrize("cage", CAGES)
    async def test_a_program_with_a_token_runs_to_its_end(tmp_path: Path, cage: Cage) -> None:
        scratch = scratch_folder()
        start = functools.partial(start_caged, cage=cage, scratch=scratch)
        words = "echo said & echo %TEMP% & echo kept>%TEMP%\\own & exit 7"
        try:
            ended = await run_program(
                [os.environ["COMSPEC"], "/d", "/c", words],
                cwd=tmp_path,
                timeout_s=30,
                start=start,
                has_ui=False,
            )
            assert ended.exit_code == 7
            assert [one.strip() for one in ended.output.splitlines()] == ["said", str(scratch)]
            assert (scratch / "own").read_text().strip() == "kept"
        finally:
            remove_own_tree(scratch)

    @pytest.mark.parametrize("cage", CAGES)
    async def test_a_program_with_a_token_is_ended_at_its_time_limit(
        tmp_path: Path, cage: Cage
    ) -> None:
        start = functools.partial(start_caged, cage=cage, scratch=tmp_path)
        ended = await run_program(
            [sys.executable, "-I", "-S", "-c", "import time; time.sleep(60)"],
            cwd=tmp_path,
            timeout_s=1,
            start=start,
        )
        assert ended.timed_out

    def test_the_actions_that_this_windows_blocks_are_found_by_trial() -> None:
        held, cage = strength_here(())
        assert (held.level == "S2w") == (cage is not None)
        assert held.reason
        assert held.asks_for_all == (cage is None)

    def test_an_appcontainer_is_used_only_if_it_blocks_every_attempt(tmp_path: Path) -> None:
        assert not are_open_to_containers([str(tmp_path)])
        assert not are_open_to_containers([str(tmp_path / "missing")])
        found = container_here(())
        assert bool(found.reason) == (found.held != ALL)
