from __future__ import annotations

import asyncio
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.errors import ToolError
from indwell.files.spelling import quoted
from indwell.sandbox.proxy.hosts import allowed
from indwell.tools.base import Outcome, Succeeded, Tool, ToolContext, ToolFacts
from indwell.workspace.disk import DiskWorkspace
from support.memory_workspace import MemoryWorkspace
from support.platforms import posix_only
from tools.calling import Agent

# The byte FF in a command's output, as text. Programs on Windows write in the console's code page.
NO_UTF_8 = b"\xff".decode("oem") if sys.platform == "win32" else "\N{REPLACEMENT CHARACTER}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "w"
    (folder / "a" / "b").mkdir(parents=True)
    return folder


@pytest.fixture
def agent(root: Path, tmp_path: Path) -> Agent:
    return Agent(DiskWorkspace([root]), tmp_path / "spill")


async def test_output_and_exit_code_are_reported(agent: Agent) -> None:
    assert await agent.call("bash", command="echo out; echo err >&2") == Outcome(
        text="out\nerr\nexit code 0", figure="ok", succeeded=Succeeded()
    )


async def test_a_failing_command_is_not_a_tool_error(agent: Agent) -> None:
    assert await agent.call("bash", command="exit 3") == Outcome(
        text="(no output)\nexit code 3", figure="failed 3"
    )


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param("kill -KILL $$", "ended by SIGKILL", marks=posix_only("shell")),
        pytest.param("bash -c 'kill -9 $$'", "exit code 137", marks=posix_only("shell")),
        pytest.param("exec true", "exit code 0", marks=posix_only("shell")),
        ("cat <<EOF\nhere\nEOF", "here\nexit code 0"),
        ("echo a # note", "a\nexit code 0"),
        ("trap 'echo mine' EXIT", "mine\nexit code 0"),
    ],
)
async def test_every_way_a_command_ends_is_reported(agent: Agent, command: str, said: str) -> None:
    assert (await agent.call("bash", command=command)).text.endswith(said)


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        ("cd a", "a"),
        ("cd a && cd b", "a/b"),
        ("cd a\ncd b\nfalse", "a/b"),
        ("pushd a >/dev/null", "a"),
        ("cd a; exit 1", "a"),
        ("(cd a)", "."),
        ("bash -c 'cd a'", "."),
        ("cd a | cat", "."),
        ("cd nowhere", "."),
        pytest.param("cd a && mkdir -p x/y && cd x && rm -r ../x", ".", marks=posix_only("shell")),
        ("cd() { builtin cd a; }; pwd() { echo /etc; }; cd; pwd", "a"),
    ],
)
async def test_the_working_directory_of_the_last_command_is_kept(
    agent: Agent, root: Path, command: str, folder: str
) -> None:
    await agent.call("bash", command=command)
    outcome = await agent.call("bash", command="pwd")
    assert outcome.text.splitlines()[0] == str((root / folder).resolve())
    facts = agent.tools.bind("bash", '{"command": "ls"}').facts
    assert facts == ToolFacts("bash", "run", command="ls", cwd=(root / folder).resolve().as_posix())


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("cd /etc", marks=posix_only("folders")),
        "cd ..",
        pytest.param("cd out", marks=posix_only("symlinks")),
        "cd a; cd ../../",
    ],
)
async def test_the_working_directory_stays_in_the_workspace(
    agent: Agent, root: Path, tmp_path: Path, command: str
) -> None:
    (root / "out").symlink_to("/etc")
    outcome = await agent.call("bash", command=command)
    assert f"[the working directory stays {root.as_posix()}: " in outcome.text
    assert agent.shell.cwd == root


async def test_a_changed_working_directory_is_reported(agent: Agent) -> None:
    outcome = await agent.call("bash", command="cd a/b")
    assert outcome.text == "(no output)\nexit code 0\n[the working directory is now 'a/b']"


@posix_only("shell")
async def test_variables_aliases_and_functions_do_not_survive_a_command(agent: Agent) -> None:
    await agent.call("bash", command="X=1; export Y=2; alias z=ls; f() { :; }")
    outcome = await agent.call("bash", command="echo [$X$Y]; type z f 2>&1 | grep -c 'not found'")
    assert outcome.text == "[]\n2\nexit code 0"


async def test_the_working_directory_becomes_the_root_if_it_was_deleted(
    agent: Agent, root: Path
) -> None:
    await agent.call("bash", command="cd a/b")
    (root / "a" / "b").rmdir()
    with pytest.raises(ToolError, match="is gone, so nothing was run"):
        await agent.call("bash", command="pwd")
    outcome = await agent.call("bash", command="pwd")
    assert outcome.text == f"{root}\nexit code 0"


@posix_only("symlinks")
async def test_a_working_directory_replaced_by_a_link_is_not_entered(
    agent: Agent, root: Path
) -> None:
    await agent.call("bash", command="cd a/b")
    (root / "a" / "b").rmdir()
    (root / "a" / "b").symlink_to("/etc")
    with pytest.raises(ToolError, match=f"nothing was run; it is now '{root}'"):
        await agent.call("bash", command="pwd")


async def test_a_long_command_output_keeps_both_ends_and_is_kept_whole_in_a_file(
    agent: Agent,
) -> None:
    outcome = await agent.call("bash", command="seq 1 10000")
    whole = "".join(f"{number}\n" for number in range(1, 10_001))
    path = agent.context.readable.own[0] / "bash-1.txt"
    assert agent.spilled == [whole]
    assert outcome.text == (
        f"{whole[:6_000]}\n[… 39,894 characters left out; it is whole in {quoted(path)}, for "
        f"read_file or grep …]\n{whole[-3_000:]}exit code 0"
    )
    read = await agent.call("read_file", path=str(path), offset=5_000, limit=1)
    assert read.text.startswith("5000\t5000")


async def test_the_number_of_output_lines_is_limited_on_request(agent: Agent) -> None:
    outcome = await agent.call("bash", command="seq 1 10", max_lines=3)
    assert outcome.text.splitlines()[:2] == ["1", "2"]
    assert outcome.text.splitlines()[-2:] == ["10", "exit code 0"]


async def test_the_end_of_a_huge_output_is_kept(agent: Agent) -> None:
    outcome = await agent.call(
        "bash", command="echo begin; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end"
    )
    assert outcome.text.startswith("begin\nxxx")
    assert outcome.text.endswith("xxx\nend\nexit code 0")
    assert "its first 4,000,000 bytes are in" in outcome.text
    assert (len(outcome.text) < 10_000, len(agent.spilled[0])) == (True, 4_000_000)
    assert sum(map(len, agent.live)) < 201_000


async def test_output_is_reported_while_the_command_runs(agent: Agent, root: Path) -> None:
    command = (
        "printf 'r\\xc3'; printf '\\xa9ady\\n'; until [ -e go ]; do sleep 0.01; done; echo end"
    )
    heard = asyncio.Event()

    def hear(text: str) -> None:
        agent.live.append(text)
        if "".join(agent.live) == "réady\n":
            heard.set()

    agent.context = msgspec.structs.replace(agent.context, on_output=hear)
    task = asyncio.create_task(agent.call("bash", command=command))
    async with asyncio.timeout(60):
        await heard.wait()
    (root / "go").write_bytes(b"")
    assert (await task).text == "réady\nend\nexit code 0"


async def test_escape_sequences_and_progress_are_removed_for_the_model(agent: Agent) -> None:
    outcome = await agent.call("bash", command=r"printf '\e[31mred\e[0m 10%%\r\e[31m20%%\n\xff\n'")
    assert outcome.text == f"20%\n{NO_UTF_8}\nexit code 0"


ODD_OUTPUTS = {
    "no line feed at the end": ("printf 'a'", "a\nexit code 0"),
    "no UTF-8": (r"printf 'a\377b\n'", f"a{NO_UTF_8}b\nexit code 0"),
    "binary": (r"printf 'a\0\1\2b\n'", "ab\nexit code 0"),
    "escapes": (r"printf '\033[31mred\033[0m \033]0;title\007x\n'", "red x\nexit code 0"),
    "both streams in turn": (
        "for n in 1 2; do echo $n; echo e$n >&2; done",
        "1\ne1\n2\ne2\nexit code 0",
    ),
}


@pytest.mark.parametrize(("command", "told"), ODD_OUTPUTS.values(), ids=ODD_OUTPUTS)
async def test_prc_06_invalid_output_becomes_text_for_the_model(
    agent: Agent, command: str, told: str
) -> None:
    assert (await agent.call("bash", command=command)).text == told


async def test_prc_06_a_million_short_lines_are_cut_and_kept_in_a_file(agent: Agent) -> None:
    outcome = await agent.call("bash", command="yes | head -n 1000000")
    assert len(outcome.text) < 10_000
    assert outcome.text.startswith("y\ny\n")
    assert outcome.text.endswith("y\nexit code 0")
    assert agent.spilled[0].count("y\n") == 1_000_000


async def test_a_time_out_is_reported_with_the_output_before_it(agent: Agent) -> None:
    began = time.monotonic()
    outcome = await agent.call("bash", command="echo early; sleep 1000", timeout_s=1)
    assert outcome == Outcome(
        text="early\ntimed out after 1 s and was ended; timeout_s may be up to 600",
        figure="timed out",
    )
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("timeout_s", [0, 601])
async def test_the_time_limit_of_a_command_has_a_maximum(agent: Agent, timeout_s: int) -> None:
    with pytest.raises(ToolError, match="bad arguments for bash"):
        await agent.call("bash", command="true", timeout_s=timeout_s)


@posix_only("shell")
async def test_prc_07_leftover_background_processes_end_and_are_reported(agent: Agent) -> None:
    outcome = await agent.call("bash", command="sleep 1000 & echo started")
    assert outcome.text == ("started\nexit code 0\n[1 background process ended with the command]")


async def test_outdated_files_are_named_before_the_output(root: Path, tmp_path: Path) -> None:
    workspace = MemoryWorkspace({"a.py": "old"}, unsaved={"a.py": "new"}, root=root)
    outcome = await Agent(workspace, tmp_path / "spill").call("bash", command="echo run")
    assert outcome.text == (
        "[the command sees older text on disk of files not saved yet: a.py]\nrun\nexit code 0"
    )


class Touched(MemoryWorkspace):
    """A workspace in which every command changes an open file."""

    async def changed_under_buffers(self) -> tuple[Path, ...]:
        return (self.roots[0] / "a.py",)


async def test_open_files_that_a_command_changed_are_named(root: Path, tmp_path: Path) -> None:
    agent = Agent(Touched({"a.py": "text"}, root=root), tmp_path / "spill")
    assert (await agent.call("bash", command="echo run")).text == (
        "run\nexit code 0\n[the command changed files that are open in the editor: a.py; the "
        "editor may still show the old text]"
    )


@posix_only("shell")
async def test_prc_09_a_command_that_exceeds_its_cpu_limit_is_reported(agent: Agent) -> None:
    outcome = await agent.call("bash", command="echo early; kill -XCPU $$")
    assert "early\nended: it used over " in outcome.text
    assert (" s of processor time" in outcome.text, outcome.figure) == (True, "used too much")


async def test_prc_05_an_endless_output_takes_little_memory(agent: Agent) -> None:
    tracemalloc.start()
    try:
        outcome = await agent.call("bash", command="head -c 100000000 /dev/zero | tr '\\0' x")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()
    assert "its first 4,000,000 bytes are in" in outcome.text


@posix_only("folders")
async def test_a_command_that_fills_the_report_pipe_ends(agent: Agent, root: Path) -> None:
    fill = "for f in /dev/fd/*; do [ ${f##*/} -gt 2 ] && head -c 1000000 /dev/zero >$f; done"
    outcome = await agent.call("bash", command=f"cd a; {fill}", timeout_s=1)
    assert (outcome.figure, agent.shell.cwd) == ("timed out", root)


@posix_only("folders")
async def test_a_command_cannot_fake_a_working_directory_outside_the_workspace(
    agent: Agent, root: Path
) -> None:
    forge = "trap - EXIT; for f in /dev/fd/*; do [ ${f##*/} -gt 2 ] && echo /etc >$f; done"
    outcome = await agent.call("bash", command=f"{forge} 2>/dev/null")
    assert f"stays {root}: '/etc' is outside the workspace" in outcome.text
    assert agent.shell.cwd == root


async def test_a_command_runs_only_in_the_folder_of_its_permission(
    agent: Agent, root: Path
) -> None:
    call = agent.tools.bind("bash", '{"command": "touch here"}')
    await agent.call("bash", command="cd a")
    with pytest.raises(ToolError, match="nothing was run"):
        await call.run(agent.context)
    assert not (root / "a" / "here").exists()


class Anything(msgspec.Struct):
    """The arguments of a tool that accepts any JSON."""

    value: Any


def test_arguments_nested_too_deeply_are_reported() -> None:
    async def run(_arguments: Anything, _context: ToolContext) -> Outcome:
        return Outcome(text="")

    tool = Tool(
        name="any",
        description="",
        arguments=Anything,
        effect="read",
        facts=lambda _: ToolFacts("any", "read"),
        run=run,
    )
    with pytest.raises(ToolError, match="nested too deeply"):
        tool.bind('{"value": ' + "[" * 1_500 + "]" * 1_500 + "}")


@pytest.mark.parametrize(
    "host", ["example.com", "*.github.com", "*.a.b.org:8443", "localhost:3000", "GitHub.com"]
)
async def test_a_command_may_request_hosts_in_every_form_that_the_proxy_accepts(
    agent: Agent, host: str
) -> None:
    arguments = f'{{"command": "true", "network": ["{host}"]}}'
    call = agent.tools.bind("bash", arguments)
    assert call.facts.wants.hosts == (host.lower(),)
    assert allowed(call.facts.wants.hosts).places


@pytest.mark.parametrize(
    "host",
    ["*", "*.com", "*.*.org", "a.*.org", "1.1.1.1", "*.1.1.1", "-a.org", "a..org", "a.org:"],
)
async def test_a_host_that_the_proxy_cannot_read_is_refused_without_a_question(
    agent: Agent, host: str
) -> None:
    with pytest.raises(ToolError, match="is not a name of a host"):
        agent.tools.bind("bash", f'{{"command": "true", "network": ["{host}"]}}')
