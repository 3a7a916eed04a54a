from __future__ import annotations

import os
import shutil
import sys

import pytest

from indwell.sandbox.environment import FIXED, clean_environment, in_upper_case
from indwell.sandbox.spawn import spawn

FOLDERS = (r"C:\one", r"D:\two") if sys.platform == "win32" else ("/usr/bin", "/bin")


def test_keys_tokens_sockets_and_loader_variables_are_removed_from_the_environment() -> None:
    ours = {
        "PATH": os.pathsep.join([FOLDERS[0], ".", "bin", FOLDERS[1]]),
        "HOME": "/home/u",
        "LC_ALL": "de_DE.UTF-8",
        "OPENAI_API_KEY": "sk-canary",
        "GITHUB_TOKEN": "canary",
        "AWS_SECRET_ACCESS_KEY": "canary",
        "HTTPS_PROXY": "http://user:canary@proxy",
        "SSH_AUTH_SOCK": "/run/agent",
        "BASH_ENV": "/tmp/evil",
        "ENV": "/tmp/evil",
        "SHELLOPTS": "xtrace",
        "BASH_FUNC_ls%%": "() { evil; }",
        "CI": "true",
        "LD_PRELOAD": "/tmp/evil.so",
        "PYTHONPATH": "/tmp/evil",
    }
    assert clean_environment(ours) == {
        "PATH": os.pathsep.join(FOLDERS),
        "HOME": "/home/u",
        **FIXED,
    }


@pytest.mark.parametrize(
    "ours", [{}, {"LANG": "de_DE", "LC_ALL": "C", "TERM": "xterm", "COLUMNS": "7", "CI": "1"}]
)
def test_prc_14_terminal_width_language_and_ci_have_fixed_values(
    ours: dict[str, str],
) -> None:
    got = clean_environment({"PATH": "/bin", **ours})
    wanted = ("TERM", "COLUMNS", "LANG", "LC_ALL", "CI", "PAGER", "GIT_TERMINAL_PROMPT")
    assert [got.get(name) for name in wanted] == [
        *("dumb", "120", FIXED["LANG"], None, None, "cat", "0")
    ]
    assert FIXED["LANG"].endswith("UTF-8")


def test_variables_of_the_caller_take_precedence() -> None:
    assert clean_environment({"PATH": "/bin"}, {"TERM": "xterm"})["TERM"] == "xterm"


def test_a_name_in_another_case_is_the_same_variable_on_windows() -> None:
    given = {"Path": "a", "PATH": "b", "temp": "t", "GitHub_Token": "canary"}
    assert in_upper_case(given) == {"PATH": "b", "TEMP": "t", "GITHUB_TOKEN": "canary"}
    for name in ("github_token", "OpenAI_Api_Key", "Https_Proxy", "LD_preload", "comspec_x"):
        assert name not in clean_environment({"PATH": "/bin", name: "canary"})


@pytest.mark.skipif(sys.platform != "win32", reason="elsewhere they are two variables")
def test_on_windows_no_variable_is_passed_twice_and_the_working_folder_is_never_on_path() -> None:
    passed = clean_environment(
        {"Path": r"C:\a;.;b", "temp": "old", "Api_Key": "x"}, {"Temp": "new"}
    )
    assert passed["PATH"] == r"C:\a"
    assert [(name, value) for name, value in passed.items() if name.upper() == "TEMP"] == [
        ("TEMP", "new")
    ]
    assert "." not in clean_environment({"PATH": "."})["PATH"].split(";")
    assert len(passed) == len({name.upper() for name in passed})


PROGRAM = "touch {outside}/ran; false"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize(
    "command", ["cd sub && git status", "git -C sub log", "cd sub && git diff"]
)
async def test_tru_17_a_folder_that_looks_like_a_repository_runs_nothing(tmp_path, command) -> None:
    """A model may write such files, because no folder has the name ``.git``."""
    fake, outside = tmp_path / "work" / "sub", tmp_path / "outside"
    outside.mkdir()
    for folder in ("objects", "refs"):
        (fake / folder).mkdir(parents=True)
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    program = PROGRAM.format(outside=outside)
    (fake / "config").write_text(
        f'[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = "{program}"\n'
    )
    await spawn(command, cwd=fake.parent, timeout_s=30)
    assert list(outside.iterdir()) == []


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
async def test_tru_17_reading_a_repository_runs_no_fsmonitor(tmp_path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    made = "git init -q . && echo x > a && git -c user.name=a -c user.email=a@b add a"
    await spawn(made, cwd=tmp_path, timeout_s=30)
    with (tmp_path / ".git" / "config").open("a") as config:
        config.write(f'[core]\n\tfsmonitor = "{PROGRAM.format(outside=outside)}"\n')
    finished = await spawn("git status --short", cwd=tmp_path, timeout_s=30)
    assert "A  a" in finished.output
    assert list(outside.iterdir()) == []
