"""The profile for macOS, interpreted by a model of Seatbelt; no test here runs on a Mac."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from indwell.errors import ToolError
from indwell.sandbox import run_program
from indwell.sandbox.confine.seatbelt import PROGRAM, argv, canonical, profile
from indwell.sandbox.confine.strength import strength, why_no_seatbelt
from indwell.sandbox.confine.trial import Effects, judge
from indwell.sandbox.confinement import Confinement
from support.seatbelt import allows, read_profile, shapes

W = "/Users/me/work"
SCRATCH = "/private/var/folders/xy/T/indwell-1"
USUAL = Confinement(
    writable=(W,),
    protected=(f"{W}/.git/hooks", f"{W}/.git/config", f"{W}/.vscode", f"{W}/pkg/a/.git/config"),
    missing=(f"{W}/.idea",),
    hidden=("/Users/me/.ssh", f"{W}/.env"),
)


def may(operation: str, subject: str = "", confinement: Confinement = USUAL) -> bool:
    return allows(profile(confinement, SCRATCH), operation, subject)


WRITES = ("file-write-data", "file-write-create", "file-write-unlink", "file-write-mode")


@pytest.mark.parametrize("operation", WRITES)
def test_sbx_24_seatbelt_blocks_writes_outside_the_workspace(operation: str) -> None:
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
def test_sbx_24_protected_paths_are_read_only_in_any_spelling(operation: str, path: str) -> None:
    assert not may(operation, path)


@pytest.mark.parametrize("path", [W, "/Users/me", "/Users", f"{W}/.git", f"{W}/pkg", f"{W}/pkg/a"])
def test_sbx_24_no_folder_above_a_denied_path_is_renamed_or_removed(path: str) -> None:
    assert not may("file-write-unlink", path)
    assert may("file-write-create", f"{W}/pkg/new")
    assert may("file-write-unlink", f"{W}/pkg/b")


def test_a_visible_path_in_a_hidden_folder_is_readable_except_hidden_paths_in_it() -> None:
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


def test_sbx_24_hidden_paths_cannot_be_read_or_renamed() -> None:
    for path in ("/Users/me/.ssh/id", "/Users/me/.ssh", f"{W}/.env", f"{W}/.ENV"):
        assert not may("file-read-data", path)
        assert not may("file-link", path)
        assert not may("file-clone", path)
    assert may("file-read-data", f"{W}/.git/config")
    assert may("file-read-data", "/usr/lib/dyld")


def test_sbx_24_only_the_proxy_is_reachable_by_network() -> None:
    assert not may("network-outbound", "localhost:4711")
    assert not may("network-bind", "localhost:4711")
    with_proxy = profile(USUAL, SCRATCH, proxy_port=4711)
    assert allows(with_proxy, "network-outbound", "localhost:4711")
    assert not allows(with_proxy, "network-outbound", "localhost:4712")
    assert not allows(with_proxy, "network-outbound", "example.org:4711")


def test_no_outside_process_can_be_signalled_or_asked_to_act() -> None:
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
def test_no_path_can_inject_text_into_a_profile(parts: list[str]) -> None:
    path = f"{W}/{'/'.join(parts)}"
    found = Confinement((W,), protected=(f"{path}/p",), hidden=(f"{path}/h",))
    text = profile(found, SCRATCH)
    usual = profile(Confinement((W,), protected=(f"{W}/p",), hidden=(f"{W}/h",)), SCRATCH)
    assert shapes(text) == shapes(usual)
    assert not allows(text, "file-write-data", f"{path}/p")
    assert not allows(text, "file-read-data", f"{path}/h")


@pytest.mark.parametrize("name", ["a\nb", "a\x00b", "\x7f"])
def test_a_writable_folder_with_a_control_character_is_refused(name: str) -> None:
    with pytest.raises(ToolError, match="control character"):
        profile(Confinement((f"{W}/{name}",)), SCRATCH)


def test_a_folder_name_with_quotes_is_escaped() -> None:
    odd = f'{W}/a "b\\'
    text = profile(Confinement((odd,)), SCRATCH)
    assert allows(text, "file-write-data", f"{odd}/x")
    assert not allows(text, "file-write-data", f"{W}/x")


def test_the_complete_profile_is_as_recorded() -> None:
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
(allow ipc-posix-shm-read-data (ipc-posix-name "apple.shm.notification_center"))
(allow file-read*)
(deny file-read-data (regex #"^/dev/(cu|tty|r?disk)"))
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/fd/[0-9]+$"))
(allow file-ioctl (literal "/dev/null"))
(allow pseudo-tty)
(allow file-read* file-write* file-ioctl (literal "/dev/ptmx"))
(allow file-read* file-write* file-ioctl
  (require-all (regex #"^/dev/ttys[0-9]+$") (extension "com.apple.sandbox.pty")))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.membership"))
(allow mach-lookup (global-name "com.apple.system.notification_center"))
(allow mach-lookup (global-name "com.apple.bsd.dirhelper"))
(allow mach-lookup (global-name "com.apple.logd"))
(allow file-write* (subpath "/w"))
(allow file-write* (subpath "/t"))
(deny file-write-unlink (regex #"^(/System/Volumes/Data)?/[Tt]$"))
(deny file-write-unlink (regex #"^(/System/Volumes/Data)?/[Ww]$"))
(deny file-write-unlink (regex #"^(/System/Volumes/Data)?/[Ww]/[.][Gg][Ii][Tt]$"))
(deny file-write* (regex #"^(/System/Volumes/Data)?/[Ww]/[.][Gg][Ii][Tt]/[Cc][Oo][Nn][Ff][Ii][Gg](/|$)"))
(deny file-read* file-write* (regex #"^(/System/Volumes/Data)?/[Ww]/[.][Ee][Nn][Vv](/|$)"))
(deny file-link file-clone (regex #"^(/System/Volumes/Data)?/[Ww]/[.][Ee][Nn][Vv](/|$)"))
(deny file-link file-clone (regex #"^(/System/Volumes/Data)?/[Ww]/[.][Gg][Ii][Tt]/[Cc][Oo][Nn][Ff][Ii][Gg](/|$)"))
""")  # noqa: E501 - the rules of a profile are lines


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("/tmp/x", "/private/tmp/x"), ("/tmp", "/private/tmp"), ("/tmpfile", "/tmpfile"),
        ("/var/folders/ab/T/x", "/private/var/folders/ab/T/x"),
        ("/etc/hosts", "/private/etc/hosts"),
        ("/private/tmp/x", "/private/tmp/x"), ("/System/Volumes/Data/Users/me", "/Users/me"),
        ("/System/Volumes/Data/tmp/x", "/private/tmp/x"), ("/System/Volumes/Data", "/"),
        ("/System/Volumes/Database", "/System/Volumes/Database"),
        ("/Users/me/tmp", "/Users/me/tmp"),
    ],
)  # fmt: skip
def test_a_path_in_a_profile_has_the_spelling_that_the_kernel_uses(
    written: str, known: str
) -> None:
    assert canonical(written) == known
    assert canonical(known) == known


def test_links_of_the_system_lead_to_the_same_rules() -> None:
    bounds = Confinement(
        ("/tmp/work",), protected=("/tmp/work/.git/hooks",), hidden=("/tmp/work/.env",)
    )
    text = profile(bounds, "/var/folders/ab/T/indwell-1")
    assert text == profile(
        Confinement(
            ("/private/tmp/work",),
            protected=("/private/tmp/work/.git/hooks",),
            hidden=("/private/tmp/work/.env",),
        ),
        "/private/var/folders/ab/T/indwell-1",
    )
    assert allows(text, "file-write-data", "/private/tmp/work/a.py")
    assert allows(text, "file-write-data", "/private/var/folders/ab/T/indwell-1/x")
    assert not allows(text, "file-write-data", "/private/tmp/work/.git/hooks/post-checkout")
    assert not allows(text, "file-read-data", "/private/tmp/work/.env")


@pytest.mark.parametrize(
    "path",
    ["/private/tmp/x", "/private/var/tmp/x", "/private/var/folders/zz/T/other/x", "/dev/disk0"],
)
def test_temporary_files_of_other_programs_are_not_written(path: str) -> None:
    assert not may("file-write-data", path)
    assert not may("file-write-create", path)
    assert not may("file-write-unlink", path)


@pytest.mark.parametrize("operation", [*WRITES, "file-read-data", "file-link", "file-clone"])
@pytest.mark.parametrize("path", [f"{W}/.env", "/Users/me/.ssh/id_ed25519"])
def test_a_hidden_file_is_unreadable_through_the_data_volume_too(operation: str, path: str) -> None:
    assert not may(operation, path)
    assert not may(operation, f"/System/Volumes/Data{path}")


def test_a_command_gets_its_own_terminals_and_cannot_read_others() -> None:
    own = frozenset(["com.apple.sandbox.pty"])
    text = profile(USUAL, SCRATCH)
    assert may("pseudo-tty")
    assert may("file-write-data", "/dev/ptmx")
    for operation in ("file-read-data", "file-write-data", "file-ioctl"):
        assert allows(text, operation, "/dev/ttys003", own)
        for path in ("/dev/ttys003", "/dev/tty", "/dev/cu.usbserial", "/dev/rdisk0"):
            assert not may(operation, path), (operation, path)
        assert not allows(text, operation, "/dev/tty.usbserial", own)


def test_common_tools_reach_the_services_that_they_need() -> None:
    for operation in ("process-exec", "process-exec-interpreter", "process-fork"):
        assert may(operation, "/opt/homebrew/bin/node")
    for service in ("com.apple.system.opendirectoryd.libinfo", "com.apple.bsd.dirhelper"):
        assert may("mach-lookup", service)  # whoami, ssh and git ask for the user's name
    assert may("ipc-posix-sem")  # Python's multiprocessing needs named semaphores
    assert may("sysctl-read", "kern.sysv.semmni")  # Python's process pools need this value
    assert may("ipc-posix-shm-read-data", "apple.shm.notification_center")
    assert may("file-write-data", "/dev/null")
    assert may("file-write-data", "/dev/fd/63")  # `diff <(a) <(b)` needs it
    assert may("file-read-metadata", "/Users")


@pytest.mark.parametrize(
    "service",
    [
        "com.apple.securityd.xpc", "com.apple.SecurityServer", "com.apple.trustd.agent",
        "com.apple.cfprefsd.daemon", "com.apple.coreservices.appleevents", "com.apple.tccd",
        "com.apple.lsd.open", "com.apple.windowserver.active", "com.apple.dnssd.service",
        "com.apple.SystemConfiguration.configd", "com.apple.pbs.fetch_services",
    ],
)  # fmt: skip
def test_services_that_store_keys_or_act_for_others_are_unreachable(service: str) -> None:
    assert not may("mach-lookup", service)


@pytest.mark.parametrize(
    "operation",
    [
        "appleevent-send", "job-creation", "mach-register", "mach-priv-host-port", "lsopen",
        "system-privilege", "file-mount", "file-write-setugid", "iokit-open", "sysctl-write",
        "user-preference-write", "ipc-posix-shm-write-create", "process-info-setcontrol",
    ],
)  # fmt: skip
def test_actions_without_a_rule_are_denied(operation: str) -> None:
    assert not may(operation, "/anywhere")


@pytest.mark.parametrize(
    "text",
    [
        "(version 1)(allow default)", "(version 1)(deny default)(allow file-wirte*)",
        '(version 1)(deny default)(allow file-write* (below "/x"))', "(version 1)(deny default",
        "(version 1)(deny default))", '(version 1)(deny default)(allow "file-read*")', "",
    ],
)  # fmt: skip
def test_the_model_of_seatbelt_refuses_profiles_that_a_mac_would_not_load(text: str) -> None:
    with pytest.raises(ValueError, match="profile begins|unknown|bracket|without an operation"):
        read_profile(text)


def fake(tmp_path: Path, text: str) -> str:
    program = tmp_path / "sandbox-exec"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def test_a_mac_without_sandbox_exec_is_reported(tmp_path: Path) -> None:
    assert "comes with macOS, is missing" in why_no_seatbelt(str(tmp_path / "sandbox-exec"))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo 'sandbox_apply: Operation not permitted' >&2; exit 71", "Operation not permitted"),
        ("exit 1", "no command starts in it"),
        ('shift 2; exec "$@"', "it does not block writes and network and secrets and processes"),
        ("shift 2; cd /; chmod -w */inside; echo trial-started", "its own temporary files"),
    ],
)
def test_a_sandbox_exec_that_is_broken_or_blocks_nothing_is_detected(
    tmp_path: Path, text: str, reason: str
) -> None:
    assert reason in why_no_seatbelt(fake(tmp_path, text))


@pytest.mark.skipif(strength().level != "S3", reason="needs bubblewrap, in place of Seatbelt")
def test_a_sandbox_exec_that_blocks_every_attempt_is_used(tmp_path: Path) -> None:
    """Bubblewrap replaces sandbox-exec, because the trial must accept a complete confinement."""
    hold = (
        "shift 2; exec bwrap --ro-bind / / --dev /dev --proc /proc "
        '--bind "$PWD/inside" "$PWD/inside" --ro-bind /dev/null "$PWD/secret" '
        '--unshare-pid --unshare-net "$@"'
    )
    assert not why_no_seatbelt(fake(tmp_path, hold))
    leaky = hold.replace("--unshare-net ", "")
    assert "it does not block network" in why_no_seatbelt(fake(tmp_path, leaky))


def test_an_attempt_that_fails_unconfined_too_proves_nothing() -> None:
    free = Effects(started=True, is_usable=True, done=frozenset(["writes", "secrets", "processes"]))
    proof = judge(free, Effects(started=True, is_usable=True))
    assert proof.held == {"writes", "secrets", "processes"}
    assert proof.reason == "network could not be tried"


@pytest.mark.skipif(sys.platform != "darwin", reason="Seatbelt is macOS's")
async def test_sbx_24_on_a_mac_the_profile_loads_and_blocks_every_attempt(tmp_path: Path) -> None:
    work = tmp_path.resolve() / "work"
    work.mkdir()
    words = "echo x >inside && ! echo x >../outside && echo held"
    held = (*argv(Confinement((str(work),)), str(work)), "/bin/bash", "-c", words)
    finished = await run_program(held, cwd=work, timeout_s=20)
    assert finished.output.strip().endswith("held")
    assert not (work.parent / "outside").exists()
