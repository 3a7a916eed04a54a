"""The command line of a program on Windows; the rules are pure, for every system."""

from __future__ import annotations

import re
import subprocess

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from indwell.sandbox.starting import batch_command_line, is_batch_file

SHELL = r"C:\Windows\System32\cmd.exe"
SCRIPT = r"C:\Program Files\nodejs\npm.cmd"
VARIABLES = {"cd": r"C:\work", "PATH": 'EVIL" & calc', "x": "EVIL", "": "EVIL"}
HOSTILE = (
    *("", " ", "a b", '"', '""', '" & calc & "', 'a"b c', "&calc", "a&b", "a|b", "a>b", "a<b"),
    *(
        "^",
        "^&",
        "a^b",
        "(",
        ")",
        "a;b,c=d",
        "!x!",
        "%",
        "%%",
        "%PATH%",
        "%x%y%",
        '"%PATH%"',
        "50%",
    ),
    *(
        "\\",
        "a\\",
        'a\\"b',
        "a\\\\",
        "a b\\",
        '\\\\"',
        "ä € 漢",
        "\t",
        "--flag=a b",
        "@x",
        "~",
        "`x`",
    ),
)


def expanded(line: str) -> str:
    """Return a command line after cmd.exe expands variables; ``%%`` escapes nothing there."""
    done, at = "", 0
    while at < len(line):
        found = re.compile(r"%([^%:\r\n]+)(:~,)?%").match(line, at)
        if found and found[1].casefold() in {name.casefold() for name in VARIABLES}:
            done += "" if found[2] else VARIABLES[found[1]]
            at = found.end()
        else:
            done += line[at]
            at += 1
    return done


def commands(line: str) -> list[str]:
    """Return the commands of a line as cmd.exe separates them; refuse other active characters."""
    parts, is_quoted = [""], False
    for char in line:
        if char == '"':
            is_quoted = not is_quoted
        if char == "&" and not is_quoted:
            parts.append("")
            continue
        assert is_quoted or char not in "|<>^()\n", f"{char!r} acts in {line!r}"
        parts[-1] += char
    return parts


def words(line: str) -> list[str]:
    """Return the arguments that the C library of Windows parses from a command line."""
    found, at = [], 0
    while at < len(line):
        if line[at] in " \t":
            at += 1
            continue
        word, is_quoted = "", False
        while at < len(line) and (is_quoted or line[at] not in " \t"):
            run = re.compile(r"\\*").match(line, at)
            assert run is not None
            n, at = len(run[0]), run.end()
            if at < len(line) and line[at] == '"':
                word += "\\" * (n // 2)
                if n % 2:
                    word += '"'
                elif is_quoted and line[at + 1 : at + 2] == '"':
                    word += '"'
                    at += 1
                else:
                    is_quoted = not is_quoted
                at += 1
            elif n:
                word += "\\" * n
            else:
                word += line[at]
                at += 1
        found.append(word)
    return found


def received(argv: list[str]) -> list[str]:
    """Return the arguments that a program started by the batch file receives."""
    line = batch_command_line(argv, SHELL)
    head = f'{subprocess.list2cmdline([SHELL])} /e:ON /v:OFF /d /s /c "'
    assert line.startswith(head)
    assert line.endswith('"')
    (command,) = commands(expanded(line[len(head) : -1]))
    return words(command)


@pytest.mark.parametrize("word", HOSTILE)
def test_a_batch_file_gets_every_argument_unchanged(word) -> None:
    assert received([SCRIPT, "run", word, "last"]) == [SCRIPT, "run", word, "last"]


@given(st.lists(st.text(st.characters(exclude_characters="\r\n\0"), max_size=12), max_size=4))
@example(['"', "%x%", "&"])
def test_no_argument_can_break_out_of_its_quotes(given_words) -> None:
    assert received([SCRIPT, *given_words]) == [SCRIPT, *given_words]


def test_a_folder_with_a_percent_sign_is_not_expanded_as_a_variable() -> None:
    script = r"C:\%PATH%\x.cmd"
    assert received([script]) == [script]


@pytest.mark.parametrize("word", ["a\nb", "a\rcalc", "\0"])
def test_a_batch_file_argument_with_a_line_break_or_nul_is_refused(word) -> None:
    with pytest.raises(ValueError, match="no argument with a line break"):
        batch_command_line([SCRIPT, word], SHELL)


@pytest.mark.parametrize("script", ['C:\\a".cmd', "C:\\a.cmd\\"])
def test_an_invalid_name_of_a_batch_file_is_refused(script) -> None:
    with pytest.raises(ValueError, match="is not the name of a batch file"):
        batch_command_line([script], SHELL)


@pytest.mark.parametrize(
    ("program", "is_batch"),
    [
        (r"C:\x\npm.cmd", True),
        (r"C:\x\RUN.BAT", True),
        (r"C:\x\run.bat. .", True),  # Windows ignores these characters at the end
        (r"C:\x\run.bat ", True),
        ("C:/x/run.Cmd", True),
        (r"C:\x.cmd\python.exe", False),
        (r"C:\x\cmd.exe", False),
        (r"C:\x\cmd", False),
    ],
)
def test_a_batch_file_is_recognised_by_its_suffix(program, is_batch) -> None:
    assert is_batch_file(program) is is_batch
