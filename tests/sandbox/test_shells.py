"""The choice of a shell on described Windows machines, and the shells' command lines."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path, PureWindowsPath

import pytest

from indwell.errors import ToolError
from indwell.sandbox.shells import (
    CommandShell,
    choose_shell,
    command_language,
    command_shell,
    in_powershell,
    installed_on_windows,
    language_title,
    powershell_script,
)
from indwell.sandbox.spawn import spawn

GIT = "C:\\Program Files\\Git"
WSL = "C:\\Windows\\System32\\bash.exe"
STORE = "C:\\Users\\me\\AppData\\Local\\Microsoft\\WindowsApps"
OWN = "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"
PWSH = "C:\\Program Files\\PowerShell\\7\\pwsh.exe"
VARIABLES = {
    "SYSTEMROOT": "C:\\Windows",
    "PROGRAMFILES": "C:\\Program Files",
    "LOCALAPPDATA": "C:\\Users\\me\\AppData\\Local",
    "USERPROFILE": "C:\\Users\\me",
}


def chosen(
    *files: str,
    path: tuple[str, ...] = ("C:\\Windows\\System32",),
    registry: tuple[str, ...] = (),
    wanted: str = "auto",
) -> tuple[str, str, str]:
    there = {PureWindowsPath(one) for one in files}
    environment = {**VARIABLES, "PATH": ";".join(path)}
    found = installed_on_windows(environment, registry, there.__contains__)
    shell = choose_shell(wanted, found)  # type: ignore[arg-type]
    return shell.name, str(shell.path), shell.why


def test_the_bash_of_git_for_windows_is_found_beside_the_git_program_on_path() -> None:
    git = f"{GIT}\\cmd\\git.exe"
    name, path, why = chosen(git, f"{GIT}\\bin\\bash.exe", WSL, OWN, path=(f"{GIT}\\cmd",))
    assert (name, path) == ("bash", str(Path(PureWindowsPath(f"{GIT}\\bin\\bash.exe"))))
    assert why == f"the bash of Git for Windows, beside {git}"


@pytest.mark.parametrize("folder", ["cmd", "bin", "mingw64\\bin"])
def test_the_git_program_may_be_in_any_folder_of_git_for_windows(folder: str) -> None:
    files = (f"{GIT}\\{folder}\\git.exe", f"{GIT}\\usr\\bin\\bash.exe", OWN)
    assert chosen(*files, path=(f"{GIT}\\{folder}",))[0] == "bash"


def test_a_bash_at_the_root_of_a_drive_does_not_count_as_the_bash_of_git_for_windows() -> None:
    planted = ("C:\\bin\\bash.exe", "C:\\usr\\bin\\bash.exe")  # every user may create these folders
    assert chosen("C:\\tools\\git.exe", *planted, OWN, path=("C:\\tools",))[0] == "powershell"


def test_the_bash_of_git_for_windows_is_found_by_the_registry_and_in_the_usual_folders() -> None:
    assert "registry" in chosen("D:\\Git\\bin\\bash.exe", OWN, registry=("D:\\Git",))[2]
    usual = "the bash of Git for Windows, in its usual folder"
    assert chosen(f"{GIT}\\bin\\bash.exe", OWN)[2] == usual
    user = "C:\\Users\\me\\AppData\\Local\\Programs\\Git\\bin\\bash.exe"
    assert chosen(user, OWN)[2] == usual


def test_the_bash_that_starts_wsl_is_never_chosen() -> None:
    stubs = (WSL, f"{STORE}\\bash.exe", "C:\\Windows\\Sysnative\\bash.exe")
    path = ("C:\\Windows\\system32", STORE, "C:\\Windows\\Sysnative")
    assert chosen(*stubs, OWN, path=path)[0] == "powershell"
    assert chosen(*stubs, path=path)[0] == "none"


def test_another_bash_on_path_is_preferred_to_powershell() -> None:
    files = ("C:\\msys64\\usr\\bin\\bash.exe", PWSH, OWN)
    assert chosen(*files, path=("C:\\msys64\\usr\\bin",))[0] == "bash"


def test_powershell_7_is_preferred_to_windows_powershell_and_both_to_no_shell() -> None:
    assert chosen(PWSH, OWN) == (
        *("pwsh", str(Path(PureWindowsPath(PWSH)))),
        "no bash was found, other than that of WSL",
    )
    assert chosen("D:\\tools\\pwsh.exe", OWN, path=("D:\\tools",))[0] == "pwsh"
    assert chosen(OWN)[0] == "powershell"
    assert chosen() == ("none", "None", "no bash and no PowerShell was found")


def test_a_relative_folder_of_path_gives_no_shell() -> None:
    assert chosen("bash.exe", ".\\bash.exe", OWN, path=("", ".", "tools"))[0] == "powershell"


def test_the_setting_chooses_a_shell_or_none() -> None:
    files = (f"{GIT}\\bin\\bash.exe", PWSH, OWN)
    name, _, why = chosen(*files, wanted="pwsh")
    assert (name, why.partition(";")[0]) == (
        "pwsh",
        "your setting `command_shell` names PowerShell 7",
    )
    assert chosen(*files, wanted="powershell")[0] == "powershell"
    assert chosen(OWN, wanted="bash") == (
        *("none", "None"),
        "your setting `command_shell` names bash, which was not found",
    )


BASH = CommandShell("bash", Path("/bin/bash"), "")
PLAIN = CommandShell("none", None, "no bash and no PowerShell was found")


def test_bash_receives_the_whole_command_as_one_argument() -> None:
    options = [str(BASH.path), "--norc", "--noprofile", "-c"]
    assert BASH.argv("ls 'a b'") == [*options, "ls 'a b'"]
    words = BASH.argv("ls", before="ulimit -c 0; ", at_end="pwd >&5")
    assert words == [*options, "ulimit -c 0; trap 'pwd >&5' EXIT; ls"]


@pytest.mark.parametrize("name", ["pwsh", "powershell"])
def test_powershell_gets_its_text_encoded_and_without_a_weaker_execution_policy(name: str) -> None:
    shell = CommandShell(name, Path("p.exe"), "")  # type: ignore[arg-type]
    text = 'Write-Output "ä `"b`"" \'c\' | % { $_ }; exit 3 # end'
    program, *options, encoded = shell.argv(text, at_end="'x'")
    assert (program, options[-1]) == ("p.exe", "-EncodedCommand")
    assert {"-NoProfile", "-NonInteractive", "-NoLogo"} <= set(options)
    assert "-ExecutionPolicy" not in options
    assert base64.b64decode(encoded).decode("utf-16-le") == powershell_script(text, "'x'")
    assert f"\n{text}\n\n" in powershell_script(text, "'x'")
    assert shell.language == "powershell"


def test_arguments_become_a_powershell_text_in_which_no_argument_runs() -> None:
    words = ["git", "commit", "-m", "it's $(rm x); `a`", "a\u2019b"]
    said = "'it''s $(rm x); `a`' 'a\u2019\u2019b'"
    assert in_powershell(words) == f"& 'git' 'commit' '-m' {said}"


def test_without_a_shell_a_program_with_plain_arguments_runs() -> None:
    words = PLAIN.argv("python -B -m unittest -q")
    assert words[1:] == ["-B", "-m", "unittest", "-q"]
    assert Path(words[0]).is_file()


@pytest.mark.parametrize("text", ["ls | wc", "a; b", "echo $HOME", "cd 'x'", "a > b", "*", "a\nb"])
def test_without_a_shell_a_text_for_a_shell_is_refused_with_what_to_install(text: str) -> None:
    with pytest.raises(ToolError, match="install Git for Windows, which brings bash"):
        PLAIN.argv(text)


def test_the_folders_of_gits_programs_are_added_to_path_for_the_bash_in_usr_bin() -> None:
    root = Path("/git")
    shell = CommandShell("bash", root / "usr/bin/bash.exe", "")
    added = [str(root / "usr/bin"), str(root / "mingw64/bin")]
    assert shell.path_with("/a").split(os.pathsep) == ["/a", *added]
    assert BASH.path_with("/a") == "/a"
    assert CommandShell("bash", Path("/usr/bin/bash"), "").path_with("/a") == "/a"


@pytest.mark.skipif(sys.platform == "win32", reason="there it depends on the machine")
async def test_commands_run_in_bash_on_this_system(tmp_path: Path) -> None:
    assert command_language() == "bash"
    assert language_title() == "bash"
    assert command_shell().name == "bash"
    ended = await spawn("echo $BASH_VERSION", cwd=tmp_path, timeout_s=10, at_end="echo end")
    assert ended.output.splitlines()[-1] == "end"
