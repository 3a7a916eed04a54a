"""The arguments of bubblewrap: the mounts and their order."""

from __future__ import annotations

import itertools

import pytest

from indwell.errors import ToolError
from indwell.sandbox.confine.bubblewrap import (
    MOST_MOUNTS,
    SandboxHost,
    arguments,
    bound_places,
    fitting,
    is_in,
)
from indwell.sandbox.confinement import Confinement

HOST = SandboxHost(
    "/usr/bin/bwrap", covers=("/proc/sys", "/proc/fs"), kept=("/run/current-system",)
)
MOUNTS = {"--ro-bind", "--bind", "--ro-bind-try", "--bind-try"}


def words(bounds: Confinement, folders: frozenset[str] = frozenset()) -> list[str]:
    return list(arguments(HOST, bounds, folders, cwd="/w", filter_fd=9))


def mounts(bounds: Confinement, folders: frozenset[str] = frozenset()) -> list[tuple[str, str]]:
    """Return the options with the paths that they change, in order."""
    given = words(bounds, folders)
    found = []
    for at, word in enumerate(given):
        if word in MOUNTS:
            found.append((word, given[at + 2]))
        elif word == "--tmpfs":
            found.append((word, given[at + 1]))
    return found


def test_sbx_01_capabilities_and_namespaces_are_dropped() -> None:
    given = words(Confinement(writable=("/w",)))
    pairs = set(itertools.pairwise(given))
    assert {("--cap-drop", "ALL"), ("--seccomp", "9"), ("--chdir", "/w")} <= pairs
    for option in ("pid", "ipc", "uts", "net"):
        assert f"--unshare-{option}" in given
    assert {"--die-with-parent", "--new-session"} <= set(given)
    assert given[-1] == "--"


def test_sbx_20_hosts_never_share_the_network() -> None:
    for hosts in ((), ("*",), ("example.com",)):
        given = words(Confinement(writable=("/w",), hosts=hosts))
        assert "--unshare-net" in given
        assert "--share-net" not in given


def test_sbx_02_files_in_proc_that_root_can_write_are_covered() -> None:
    order = mounts(Confinement(writable=("/w",)))
    assert order[0] == ("--ro-bind", "/")
    assert {("--ro-bind", "/proc/sys"), ("--ro-bind", "/proc/fs")} <= set(order)


def test_sbx_15_the_workspace_comes_after_the_empty_folders() -> None:
    order = mounts(Confinement(writable=("/tmp/x/w",)))
    assert order.index(("--bind", "/tmp/x/w")) > order.index(("--tmpfs", "/tmp"))


def test_sbx_04_each_folder_above_a_protected_path_is_a_mount_before_it() -> None:
    bounds = Confinement(writable=("/w",), protected=("/w/pkg/a/.git/config", "/w/AGENTS.md"))
    order = mounts(bounds)
    assert order[order.index(("--bind", "/w")) + 1 :] == [
        ("--ro-bind-try", "/w/AGENTS.md"),
        ("--bind-try", "/w/pkg"),
        ("--bind-try", "/w/pkg/a"),
        ("--bind-try", "/w/pkg/a/.git"),
        ("--ro-bind-try", "/w/pkg/a/.git/config"),
    ]


def test_a_folder_inside_a_protected_folder_does_not_become_writable() -> None:
    bounds = Confinement(
        writable=("/w",), protected=("/w/.vscode",), hidden=("/w/.vscode/deep/.env",)
    )
    order = mounts(bounds)
    assert ("--bind-try", "/w/.vscode/deep") not in order
    assert order[-2:] == [("--ro-bind-try", "/w/.vscode"), ("--ro-bind", "/w/.vscode/deep/.env")]


def test_hidden_folders_appear_empty_and_hidden_files_as_devices() -> None:
    bounds = Confinement(writable=("/w",), hidden=("/home/u/.ssh", "/home/u/.netrc"))
    given = " ".join(words(bounds, frozenset(["/home/u/.ssh"])))
    assert "--perms 0500 --size 4096 --tmpfs /home/u/.ssh" in given
    assert "--ro-bind /dev/null /home/u/.netrc" in given


def test_a_workspace_in_a_hidden_folder_is_visible() -> None:
    bounds = Confinement(writable=("/home/u/.claude/w",), hidden=("/home/u/.claude",))
    order = mounts(bounds, frozenset(["/home/u/.claude"]))
    assert order.index(("--tmpfs", "/home/u/.claude")) < order.index(
        ("--bind", "/home/u/.claude/w")
    )


def test_a_visible_path_in_a_hidden_folder_is_read_only() -> None:
    own = "/home/u/.config/indwell"
    bounds = Confinement(writable=("/w",), hidden=(own,), shown=(f"{own}/skills/a",))
    order = mounts(bounds, frozenset([own]))
    assert order.index(("--tmpfs", own)) < order.index(("--ro-bind-try", f"{own}/skills/a"))
    assert ("--bind", f"{own}/skills/a") not in order


def test_a_read_only_command_gets_the_workspace_mounted_read_only() -> None:
    order = mounts(Confinement(writable=(), readable=("/tmp/w",)))
    assert ("--ro-bind", "/tmp/w") in order
    assert all(option != "--bind" for option, _ in order)


def test_the_session_folder_is_not_mounted_at_tmp_if_it_would_get_mounts() -> None:
    plain = mounts(Confinement(writable=("/w",), scratch="/tmp/indwell-1"))
    below = mounts(Confinement(writable=("/tmp/w",), scratch="/tmp/indwell-1"))
    assert ("--bind", "/tmp") in plain
    assert ("--tmpfs", "/tmp") in below
    assert ("--bind", "/tmp") not in below


def test_missing_folders_are_covered_read_only() -> None:
    given = " ".join(words(Confinement(writable=("/w",), missing=("/w/.vscode",))))
    assert "--ro-bind-try /w/.vscode /w/.vscode" in given


def test_less_important_paths_get_mounts_up_to_the_limit_shallow_paths_first() -> None:
    deep = tuple(f"/w/a/b/c/{i}" for i in range(MOST_MOUNTS))
    bounds = Confinement(
        writable=("/w",), protected=("/w/AGENTS.md",), hidden=("/w/.env",), minor=(*deep, "/w/x/p")
    )
    held = fitting(bounds)
    assert (held.protected[:2], held.minor) == (("/w/AGENTS.md", "/w/x/p"), ())
    assert len(bound_places(held)) + len(held.hidden) == MOST_MOUNTS


@pytest.mark.parametrize("kind", ["protected", "hidden"])
def test_sbx_01_a_command_with_too_many_protected_paths_does_not_run(kind: str) -> None:
    many = tuple(f"/w/{i}.pem" for i in range(MOST_MOUNTS + 1))
    with pytest.raises(ToolError, match="more than the sandbox can hold"):
        fitting(Confinement(writable=("/w",), **{kind: many}))  # type: ignore[arg-type]


def test_in_nested_folders_of_a_workspace_the_folders_up_to_the_outermost_are_mounts() -> None:
    bounds = Confinement(writable=("/w", "/w/a/b"), protected=("/w/a/b/c/.git/config",))
    assert set(bound_places(bounds)) == {
        "/w/a/b/c/.git/config", "/w/a/b/c/.git", "/w/a/b/c", "/w/a/b", "/w/a",
    }  # fmt: skip


def test_a_path_is_in_a_folder_only_by_whole_components() -> None:
    assert [is_in(path, "/w") for path in ("/w", "/w/a", "/ww", "/")] == [True, True, False, False]
    assert is_in("/anything", "/")


def test_open_folders_are_mounted_by_their_descriptors_and_others_are_left_out() -> None:
    bounds = Confinement(writable=("/w",), protected=("/w/a/kept", "/w/gone"))
    assert dict(bound_places(bounds)) == {
        "/w/a": "--bind", "/w/a/kept": "--ro-bind", "/w/gone": "--ro-bind",
    }  # fmt: skip
    handles = {"/w/a": 7, "/w/a/kept": 8}
    given = arguments(HOST, bounds, frozenset(), cwd="/w", filter_fd=9, handles=handles)
    text = " ".join(given)
    assert "--bind-fd 7 /w/a --ro-bind-fd 8 /w/a/kept" in text
    assert "/w/gone" not in text


def test_the_rule_for_the_deeper_path_takes_precedence() -> None:
    home = "/home/u"
    hidden = (home, f"{home}/.cargo/credentials.toml")
    bounds = Confinement(
        writable=(f"{home}/w/p",),
        hidden=hidden,
        readable=(f"{home}/w/p",),
        shown=(f"{home}/.cargo",),
    )
    order = mounts(bounds, frozenset([home]))
    wanted = [
        ("--tmpfs", home),
        ("--ro-bind-try", f"{home}/.cargo"),
        ("--bind", f"{home}/w/p"),
        ("--ro-bind", f"{home}/.cargo/credentials.toml"),
    ]
    places = [order.index(one) for one in wanted]
    assert places == sorted(places)
    assert ("--ro-bind", f"{home}/w/p") not in order
