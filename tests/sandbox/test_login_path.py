"""The PATH of a server that the desktop started comes from the user's shell, not the workspace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from indwell.own_path import OwnPath
from indwell.sandbox.login_path import ask, folders_of, is_short, may_be_asked
from support.bubblewrap import needs_bubblewrap
from support.editing import USAGE, Home, bash, editing, results
from support.loopback_endpoint import LoopbackEndpoint, say

LAUNCHD = "/usr/bin:/bin:/usr/sbin:/sbin"
DESKTOP = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/bin:/bin", "DISPLAY": ":0"}
MARK = "1234abcd"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no login shell")


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"PATH": LAUNCHD}, "darwin", True),
        ({"PATH": f"/usr/local/bin:{LAUNCHD}"}, "darwin", True),
        ({"PATH": f"/opt/homebrew/bin:{LAUNCHD}"}, "darwin", False),
        ({"PATH": LAUNCHD, "SHLVL": "1"}, "darwin", False),
        ({}, "darwin", True),
        (DESKTOP, "linux", True),
        ({**DESKTOP, "SHLVL": "0"}, "linux", True),
        ({**DESKTOP, "SHLVL": "2"}, "linux", False),
        ({"PATH": DESKTOP["PATH"]}, "linux", False),
        ({"PATH": DESKTOP["PATH"], "WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({**DESKTOP, "PATH": "/home/u/.local/bin:/usr/bin"}, "linux", False),
        ({"PATH": LAUNCHD}, "win32", False),
    ],
)
def test_a_path_variable_with_only_system_folders_counts_as_short(
    environment: dict[str, str], platform: str, *, expected: bool
) -> None:
    assert is_short(environment, platform) is expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (f"Welcome!\n{MARK}\n/a:/b\n{MARK}\nbye", ("/a", "/b")),
        (f"no line end{MARK}\n/a:/b:/a\n{MARK}\n", ("/a", "/b")),
        (f"{MARK}\n/a b:rel::.:/c\n{MARK}\n", ("/a b", "/c")),
        (f"{MARK}\n/a\x1b[31m:/b\r:/c\n{MARK}\n", ("/c",)),
        (f"{MARK}\n/a\n/b\n{MARK}\n", ()),
        (f"{MARK}\n/a:/b\n", ()),
        ("/a:/b\n", ()),
        ("", ()),
    ],
)
def test_only_absolute_folders_between_the_markers_are_used(
    said: str, expected: tuple[str, ...]
) -> None:
    assert folders_of(said.encode(), MARK) == expected


def test_a_shell_is_not_run_if_the_workspace_could_affect_its_answer(tmp_path: Path) -> None:
    home, dotfiles = tmp_path / "home", tmp_path / "home" / "dotfiles"
    dotfiles.mkdir(parents=True)
    sh = "/bin/sh"
    assert may_be_asked(sh, str(home), [dotfiles])
    assert not may_be_asked(sh, str(home), [home])
    assert not may_be_asked(sh, str(home), [tmp_path])
    assert not may_be_asked(sh, str(home), [Path("/")])
    assert not may_be_asked("/usr/bin/nu", str(home), [dotfiles])
    assert not may_be_asked("", "", [dotfiles])
    own = dotfiles / "bash"
    own.symlink_to("/bin/bash")
    assert not may_be_asked(str(own), str(home), [dotfiles])
    (dotfiles / "zshrc").touch()
    (home / ".zshrc").symlink_to(dotfiles / "zshrc")
    assert not may_be_asked(sh, str(home), [dotfiles])
    assert may_be_asked(sh, str(home), [tmp_path / "elsewhere"])


@pytest.mark.parametrize("name", ["bash", "dash", "zsh", "fish"])
def test_a_login_shell_prints_the_folders_from_its_start_up_files(
    tmp_path: Path, name: str
) -> None:
    shell = shutil.which(name)
    if shell is None:
        pytest.skip(f"{name} is not installed")
    text = "echo loud; printf '%s' unfinished; export PATH=\"/of/the/user:$PATH\"\n"
    for file in (".profile", ".zprofile", ".config/fish/config.fish"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    assert ask(shell, str(tmp_path), 30)[0] == "/of/the/user"


def test_a_shell_that_hangs_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text(f"sleep 4242 & echo $! >{tmp_path}/pid; wait\n")
    begun = time.monotonic()
    assert ask("/bin/sh", str(tmp_path), 1.0) == ()
    assert time.monotonic() - begun < 20
    pid = int((tmp_path / "pid").read_text())
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, encoding="utf-8", check=False
    )
    assert state.stdout.strip()[:1] in {"", "Z"}


def test_a_program_that_keeps_the_pipe_open_delays_no_answer(tmp_path: Path) -> None:
    (tmp_path / ".profile").write_text(f"sleep 20 & echo $! >{tmp_path}/pid; PATH=/mine:$PATH\n")
    try:
        begun = time.monotonic()
        assert ask("/bin/sh", str(tmp_path), 15)[0] == "/mine"
        assert time.monotonic() - begun < 15
    finally:
        os.kill(int((tmp_path / "pid").read_text()), 9)


def test_a_shell_that_does_not_start_gives_no_folders(tmp_path: Path) -> None:
    assert ask(str(tmp_path / "missing"), str(tmp_path)) == ()


def test_no_folder_of_the_workspace_is_added_to_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = OwnPath()
    path.keep_out([tmp_path])
    path.add([str(tmp_path / "bin"), "/mine", "/usr/bin"], first=True)
    path.add(["/opt/last", "rel"], first=False)
    assert path.given == os.environ["PATH"] == "/mine:/usr/bin:/opt/last"


@needs_bubblewrap
@pytest.mark.skipif(sys.platform != "linux", reason="the desktop's variable is that of X11")
async def test_a_server_started_by_the_desktop_finds_the_tools_of_the_user(tmp_path: Path) -> None:
    home = Home(tmp_path)
    tools = home.folder / "tools"
    tools.mkdir()
    (tools / "own-tool").write_text("#!/bin/sh\necho the tool of the user\n")
    (tools / "own-tool").chmod(0o755)
    for name in (".profile", ".bash_profile", ".zprofile"):
        (home.folder / name).write_text(f'echo hello; export PATH="{tools}:$PATH"\n')
    home.configure('[rules]\nallow = ["own-tool"]\n')
    script = [bash("own-tool"), say("ok", usage=USAGE)]
    async with LoopbackEndpoint(script) as server:
        environment = home.environment(server.base_url, PATH="/usr/bin:/bin", DISPLAY=":99")
        async with editing(home, environment=environment) as editor:
            await editor.ask("run the tool")
        (result,) = results(server.seen[-1])
    assert "the tool of the user" in result
