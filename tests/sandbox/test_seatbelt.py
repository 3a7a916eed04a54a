"""The profile for macOS, read as Seatbelt reads it; nothing here has run on a Mac."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from indwell.errors import ToolError
from indwell.sandbox import run_program
from indwell.sandbox.confine.seatbelt import PROGRAM, argv, profile
from indwell.sandbox.confinement import Confinement

W = "/Users/me/work"
SCRATCH = "/private/var/folders/xy/T/indwell-1"
USUAL = Confinement(
    writable=(W,),
    protected=(f"{W}/.git/hooks", f"{W}/.git/config", f"{W}/.vscode", f"{W}/pkg/a/.git/config"),
    missing=(f"{W}/.idea",),
    hidden=("/Users/me/.ssh", f"{W}/.env"),
)

TOKEN = re.compile(r'#"(?P<regex>[^"]*)"|"(?P<text>(?:[^"\\]|\\.)*)"|[()]|[^\s()"]+')


def parsed(text: str) -> list[list[object]]:
    """The rules of a profile as nested lists, strings as tuples of their kind and text."""
    stack: list[list[object]] = [[]]
    for token in TOKEN.finditer(text):
        match token[0]:
            case "(":
                stack.append([])
            case ")":
                done = stack.pop()
                stack[-1].append(done)
            case word:
                string = token["text"]
                if token["regex"] is not None:
                    stack[-1].append(("regex", token["regex"]))
                elif string is not None:
                    stack[-1].append(("text", re.sub(r"\\(.)", r"\1", string)))
                else:
                    stack[-1].append(word)
    assert len(stack) == 1
    return [rule for rule in stack[0] if isinstance(rule, list)]


def allows(text: str, operation: str, subject: str = "") -> bool:
    """What Seatbelt would say: the last rule that fits counts."""
    answer = False
    for rule in parsed(text):
        if rule[0] in {"allow", "deny"}:
            named = [one for one in rule[1:] if isinstance(one, str)]
            filters = [one for one in rule[1:] if isinstance(one, list)]
            is_meant = any(
                one in {operation, "default"}
                or (one.endswith("*") and operation.startswith(one[:-1]))
                for one in named
            )
            if is_meant and (not filters or any(fits(one, subject) for one in filters)):
                answer = rule[0] == "allow"
    return answer


def fits(one: list[object], subject: str) -> bool:
    match one:
        case ["subpath", ("text", str(text))]:
            return f"{subject}/".startswith(f"{text}/")
        case ["literal" | "global-name", ("text", str(text))]:
            return subject == text
        case ["regex", ("regex", str(pattern))]:
            return re.search(pattern, subject) is not None
        case ["remote", "ip", ("text", str(text))]:
            return subject == text
        case ["target", "same-sandbox"]:
            return subject == "inside"
    raise AssertionError(one)


def may(operation: str, subject: str = "", confinement: Confinement = USUAL) -> bool:
    return allows(profile(confinement, SCRATCH), operation, subject)


WRITES = ("file-write-data", "file-write-create", "file-write-unlink", "file-write-mode")


@pytest.mark.parametrize("operation", WRITES)
def test_sbx_24_seatbelt_lets_nothing_be_written_outside(operation: str) -> None:
    inside = (f"{W}/src/main.py", f"{W}/.git/index", f"{SCRATCH}/x", f"{W}/.env.example")
    outside = ("/etc/hosts", "/Users/me/.zshrc", f"{W}-evil/x", "/Users/me", "/private/tmp/x")
    assert [path for path in inside if not may(operation, path)] == []
    assert [path for path in outside if may(operation, path)] == []


@pytest.mark.parametrize("operation", WRITES)
@pytest.mark.parametrize(
    "path",
    [
        f"{W}/.git/hooks", f"{W}/.git/hooks/pre-commit", f"{W}/.git/config", f"{W}/.vscode/x",
        f"{W}/.VSCode/tasks.json", f"{W}/.GIT/CONFIG", f"{W}/.v\u017fcode/x",
        f"{W}/.git/hoo\u212as/x", f"{W}/.env", f"{W}/.idea", f"{W}/.Idea/x",
    ],
)  # fmt: skip
def test_sbx_24_what_is_protected_stays_in_any_spelling(operation: str, path: str) -> None:
    assert not may(operation, path)


@pytest.mark.parametrize("path", [W, "/Users/me", "/Users", f"{W}/.git", f"{W}/pkg", f"{W}/pkg/a"])
def test_sbx_24_no_folder_above_a_denied_path_is_renamed_or_removed(path: str) -> None:
    assert not may("file-write-unlink", path)
    assert may("file-write-create", f"{W}/pkg/new")
    assert may("file-write-unlink", f"{W}/pkg/b")


def test_what_is_shown_in_a_hidden_folder_is_read_but_not_what_is_hidden_in_it() -> None:
    bounds = Confinement((W,), hidden=("/own", "/own/a/.env"), shown=("/own/a",))
    given = profile(bounds, SCRATCH)
    allowed = given.index("(allow file-read* (regex")
    assert given.index("(deny file-read*") < allowed < given.rindex("(deny file-read*")
    assert given.count("(allow file-read* (regex") == 1


def test_a_workspace_in_a_hidden_home_folder_is_read_and_written() -> None:
    given = profile(Confinement((f"{W}/p",), hidden=(W,), readable=(f"{W}/p",)), SCRATCH)
    hidden = given.index("(deny file-read* file-write*")
    assert hidden < given.index("(allow file-read* (regex")
    assert hidden < given.index("(allow file-write* (subpath")
    assert "(allow file-read-metadata" in given


def test_sbx_24_what_is_hidden_is_not_read_nor_named_again() -> None:
    for path in ("/Users/me/.ssh/id", "/Users/me/.ssh", f"{W}/.env", f"{W}/.ENV"):
        assert not may("file-read-data", path)
        assert not may("file-link", path)
        assert not may("file-clone", path)
    assert may("file-read-data", f"{W}/.git/config")
    assert may("file-read-data", "/usr/lib/dyld")


def test_sbx_24_there_is_no_network_but_the_proxy() -> None:
    assert not may("network-outbound", "localhost:4711")
    assert not may("network-bind", "localhost:4711")
    with_proxy = profile(USUAL, SCRATCH, proxy_port=4711)
    assert allows(with_proxy, "network-outbound", "localhost:4711")
    assert not allows(with_proxy, "network-outbound", "localhost:4712")
    assert not allows(with_proxy, "network-outbound", "example.org:4711")


def test_nobody_outside_is_signalled_nor_asked_to_do_the_work() -> None:
    assert may("signal", "inside")
    assert not may("signal", "outside")
    assert may("mach-lookup", "com.apple.logd")
    for service in ("com.apple.coreservices.launchservicesd", "com.apple.pasteboard.1"):
        assert not may("mach-lookup", service)
    assert not may("appleevent-send")
    assert not may("job-creation")


names = st.text(min_size=1, max_size=6).filter(lambda one: "/" not in one and "\0" not in one)
hostile = names | st.sampled_from(
    [
        'a")(allow default)',
        '"',
        "\\",
        '\\"',
        "#",
        "a\n(allow default)",
        "(.*)",
        "^$",
        "[a-z]",
        "\u202e",
    ]
)


@settings(deadline=None)
@given(st.lists(hostile, min_size=1, max_size=3))
def test_no_name_carries_a_piece_of_a_profile(parts: list[str]) -> None:
    path = f"{W}/{'/'.join(parts)}"
    found = Confinement((W,), protected=(f"{path}/p",), hidden=(f"{path}/h",))
    text = profile(found, SCRATCH)
    usual = profile(Confinement((W,), protected=(f"{W}/p",), hidden=(f"{W}/h",)), SCRATCH)
    assert set(shapes(text)) == set(shapes(usual))
    assert not allows(text, "file-write-data", f"{path}/p")
    assert not allows(text, "file-read-data", f"{path}/h")


def shapes(text: str) -> Iterator[str]:
    """Each rule without what its strings say."""
    for rule in parsed(text):
        yield repr([one if isinstance(one, str) else [kind for kind, *_ in one] for one in rule])


@pytest.mark.parametrize("name", ["a\nb", "a\x00b", "\x7f"])
def test_a_writable_folder_with_a_control_character_confines_nothing(name: str) -> None:
    with pytest.raises(ToolError, match="control character"):
        profile(Confinement((f"{W}/{name}",)), SCRATCH)


def test_a_folder_with_quotes_stays_one_string() -> None:
    odd = f'{W}/a "b\\'
    text = profile(Confinement((odd,)), SCRATCH)
    assert allows(text, "file-write-data", f"{odd}/x")
    assert not allows(text, "file-write-data", f"{W}/x")


def test_the_whole_profile() -> None:
    small = Confinement(("/w",), protected=("/w/.git/config",), hidden=("/w/.env",))
    assert argv(small, "/t") == (PROGRAM, "-p", profile(small, "/t"))
    assert profile(small, "/t") == snapshot("""\
(version 1)
(deny default)
(allow process-fork process-exec)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow file-read*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero"))
(allow file-ioctl (literal "/dev/null"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.membership"))
(allow mach-lookup (global-name "com.apple.system.notification_center"))
(allow mach-lookup (global-name "com.apple.bsd.dirhelper"))
(allow mach-lookup (global-name "com.apple.logd"))
(allow file-write* (subpath "/w"))
(allow file-write* (subpath "/t"))
(deny file-write-unlink (regex #"^/[Tt]$"))
(deny file-write-unlink (regex #"^/[Ww]$"))
(deny file-write-unlink (regex #"^/[Ww]/[.][Gg][Ii][Tt]$"))
(deny file-write* (regex #"^/[Ww]/[.][Gg][Ii][Tt]/[Cc][Oo][Nn][Ff][Ii][Gg](/|$)"))
(deny file-read* file-write* (regex #"^/[Ww]/[.][Ee][Nn][Vv](/|$)"))
(deny file-link file-clone (regex #"^/[Ww]/[.][Ee][Nn][Vv](/|$)"))
(deny file-link file-clone (regex #"^/[Ww]/[.][Gg][Ii][Tt]/[Cc][Oo][Nn][Ff][Ii][Gg](/|$)"))
""")


@pytest.mark.skipif(sys.platform != "darwin", reason="Seatbelt is macOS's")
async def test_sbx_24_on_a_mac_the_profile_loads_and_holds(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "work"
    work.mkdir()
    words = "echo x >inside && ! echo x >../outside && echo held"
    held = (*argv(Confinement((str(work),)), str(work)), "/bin/bash", "-c", words)
    finished = await run_program(held, cwd=work, timeout_s=20)
    assert finished.output.strip().endswith("held")
    assert not (work.parent / "outside").exists()
