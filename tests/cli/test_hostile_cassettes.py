"""A cassette of others changes nothing of this machine's user, starts nothing, contacts nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell import edges
from indwell.cli.cassette.file_format import (
    Cassette,
    CassetteEvent,
    Places,
    WrongCassette,
    is_kept,
    line_of,
    read_cassette,
    recorded_roots,
)
from indwell.cli.cassette.player import Player, replay
from indwell.cli.cassette.staging import stage
from indwell.errors import ToolError, Unreachable
from indwell.files.private import new_private_folder
from indwell.mcp.definition import HttpServer
from indwell.mcp.http import http_client
from indwell.mcp.offers import McpError
from indwell.policy.web_address import web_address
from indwell.providers.fetch import fetching
from indwell.providers.http.web_pages import WebPages
from indwell.sandbox.confine import landlock
from indwell.service.stored_keys import key_store
from indwell.settings.keys import KeyringUnusable
from indwell.settings.paths import user_file
from support.editing import Home

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="replays need time.tzset")

REVIEW = Path(__file__).parent / "cassettes" / "emacs-eglot-review.jsonl.xz"


def hostile(events: Sequence[CassetteEvent] = (), **start: Any) -> Cassette:
    cassette = read_cassette(REVIEW)
    return Cassette(msgspec.structs.replace(cassette.start, **start), [*events])


@pytest.mark.parametrize("name", ["{0}/victim", "«home»/../../..{0}/victim", "victim\0"])
@pytest.mark.parametrize("kind", ["file", "files", "disk"])
def test_a_cassette_cannot_write_a_file_outside_its_folders(
    tmp_path: Path, name: str, kind: Any
) -> None:
    name = name.format(tmp_path)
    event = CassetteEvent(kind, name=name, body={name: 1} if kind == "files" else "owned")
    with pytest.raises(WrongCassette, match="outside its folders"):
        replay(hostile([event]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("field", ["home", "state", "roots"])
def test_a_cassette_cannot_name_a_real_folder_of_the_user(tmp_path: Path, field: str) -> None:
    place = str(tmp_path / "home")
    start = {field: (place,) if field == "roots" else place, "settings": "", "allowed": "[]"}
    with pytest.raises(WrongCassette, match="outside its folders"):
        replay(hostile(**start))
    assert not list(tmp_path.iterdir())


def test_a_cassette_cannot_fill_the_disk_or_set_a_variable_of_the_system() -> None:
    large = CassetteEvent("files", body={"«home»/work/a": 1 << 50})
    with pytest.raises(WrongCassette, match="too many large files"):
        replay(hostile([large], places={"home": 1 << 50}, roots=("«home»/work",)))
    names = ("PATH", "LD_PRELOAD", "SHELL", "INDWELL_TRUSTED", "INDWELL_STATE", "INDWELL_MODEL")
    assert [name for name in names if is_kept(name)] == ["INDWELL_MODEL"]


@pytest.mark.parametrize("name", ["INDWELL_A=1\nPATH", "OPENAI_\0", "INDWELL_MODEL ", "INDWELL_"])
def test_a_cassette_sets_only_variables_with_ordinary_names(name: str) -> None:
    assert is_kept(name) == (name == "INDWELL_")


def test_a_replay_starts_no_program_and_writes_only_in_its_folders(tmp_path: Path) -> None:
    player = Player(hostile(), Places({"home": str(tmp_path)}), "idle", 1.0)
    started = []

    @edges.program_edge
    async def run(program: str, **_more: object) -> None:
        started.append(program)

    for more in ({"stop": asyncio.Event()}, {"stdin": object()}):
        with edges.installed(player), pytest.raises(ToolError, match="starts no program"):
            asyncio.run(run("sh", **more))
    player.before_file_write(tmp_path / "a", b"")
    with pytest.raises(ToolError, match="only in its own temporary folders"):
        player.before_file_write(tmp_path / ".." / "a", b"")
    assert started == []


@pytest.mark.skipif(landlock.abi() < landlock.NEEDED_ABI, reason="the kernel has no Landlock")
def test_the_kernel_holds_a_replay_to_one_folder(tmp_path: Path) -> None:
    (inside := tmp_path / "inside").mkdir()
    script = f"""if True:
        import subprocess, threading
        from pathlib import Path
        from indwell.sandbox.confine.landlock import keep_writes_in
        assert keep_writes_in({str(inside)!r})
        def attack():
            Path({str(inside)!r}, "kept").write_text("x")
            for bad in (lambda: Path({str(tmp_path)!r}, "escaped").write_text("x"),
                        lambda: subprocess.run(["/bin/sh", "-c", "exit 0"])):
                try:
                    bad()
                except PermissionError:
                    print("refused")
        thread = threading.Thread(target=attack)
        thread.start()
        thread.join()
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout == "refused\nrefused\n", done.stderr
    assert [one.name for one in tmp_path.rglob("*") if one.is_file()] == ["kept"]


@pytest.mark.parametrize("kind", ["file", "files", "disk"])
def test_a_cassette_cannot_write_a_file_beside_its_workspace(kind: Any) -> None:
    name = "«home»/.config/python_keyring/keyringrc.cfg"
    event = CassetteEvent(kind, name=name, body={name: 1} if kind == "files" else "x")
    for roots in (("«home»/work",), ("«home»",)):
        with pytest.raises(WrongCassette, match="outside its workspace"):
            replay(hostile([event], roots=roots))


def test_a_negative_size_does_not_pay_for_a_large_file() -> None:
    sizes = {"«home»/work/a": -(1 << 40), "«home»/work/b": 1 << 31}
    with pytest.raises(WrongCassette, match="too many large files"):
        replay(hostile([CassetteEvent("files", body=sizes)], roots=("«home»/work",)))


def test_the_files_of_a_home_folder_are_not_recorded(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "home" / "work"
    assert recorded_roots((home, tmp_path, work), home) == (work,)


def test_a_replay_refuses_to_use_the_users_own_settings(tmp_path: Path) -> None:
    own = tmp_path / "config.toml"
    with pytest.raises(WrongCassette, match="your settings"), stage(hostile(), lambda: own):
        pass
    with stage(hostile()):
        assert user_file().is_relative_to(Path.home())


def test_a_folder_of_a_replay_is_new(tmp_path: Path) -> None:
    (tmp_path / "taken").symlink_to(tmp_path)
    with pytest.raises(FileExistsError):
        new_private_folder(tmp_path / "taken")
    new_private_folder(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


async def test_a_replay_opens_no_keyring_and_looks_up_no_host(tmp_path: Path) -> None:
    looked_up = []

    async def resolve(place: object) -> Sequence[Any]:
        looked_up.append(place)
        return ()

    player = Player(hostile(), Places({"home": str(tmp_path)}), "idle", 1.0)
    with edges.installed(player):
        with pytest.raises(KeyringUnusable, match="does not contact the system's keyring"):
            key_store()._open_ring()
        async with fetching("http://no-host.invalid", None, timeout_s=1.0) as fetcher:
            with pytest.raises(Unreachable):
                await fetcher.get("/models")
        with pytest.raises(ToolError, match="starts no program and opens no page"):
            await WebPages(resolve).fetch(web_address("https://no-host.invalid/"), is_named=True)
        with pytest.raises(McpError, match="starts no program"):
            async with http_client(HttpServer("http://no-host.invalid"), None, lambda _why: None):
                pass
    assert looked_up == []


_KEYS = """{"version":1,"keys":{"https://evil.example":{"where":"keyring"}}}"""
_RING = "[backend]\ndefault-keyring=evil.Ring\nkeyring-path=«home»/x\n"


def test_a_cassette_cannot_make_the_package_for_keyrings_load_its_module(tmp_path: Path) -> None:
    home, path, proof = Home(tmp_path), tmp_path / "evil.jsonl", tmp_path / "proof"
    cassette = read_cassette(REVIEW)
    start = msgspec.structs.replace(
        cassette.start,
        settings='base_url = "https://evil.example/v1"\nmodel = "x"\n',
        options={},
        variables={},
        roots=(*cassette.start.roots, "«home»/.config", "«home»/x"),
    )
    files = {
        ".config/indwell/keys.json": _KEYS,
        ".config/python_keyring/keyringrc.cfg": _RING,
        "x/evil.py": f"open({str(proof)!r}, 'w')\n",
    }
    put = [CassetteEvent("file", name=f"«home»/{name}", body=body) for name, body in files.items()]
    path.write_bytes(b"".join(map(line_of, (start, *put, *cassette.events))))
    done = subprocess.run(
        [sys.executable, "-m", "indwell", "replay-cassette", str(path)],
        capture_output=True,
        env=home.environment(TMPDIR=str(tmp_path)),
        cwd=home.workspace,
        check=False,
    )
    assert done.returncode == 1, done
    assert not proof.exists()


def test_python_itself_refuses_contacts_in_a_replay() -> None:
    script = """if True:
        import os, socket, subprocess, sys
        from indwell.cli.cassette.command import refuse_contact
        sys.addaudithook(refuse_contact)
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for attack in (
            lambda: socket.getaddrinfo('no-host.invalid', 80),
            lambda: udp.sendto(b'', ('127.0.0.1', 9)),
            lambda: socket.socket(socket.AF_UNIX).connect('/none'),
            lambda: subprocess.Popen(['/bin/sh', '-c', 'exit 0']),
            lambda: os.system('exit 0'),
            lambda: os.fork() or os._exit(0),
        ):
            try:
                attack()
            except PermissionError as error:
                print(error.strerror)
    """
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    words = ("socket.getaddrinfo", "socket.sendto", "socket.connect", "subprocess.Popen")
    expected = [f"a replay refuses {one}" for one in (*words, "os.system", "os.fork")]
    assert done.stdout.splitlines() == expected, done.stderr


BAD = {
    "a moment after years": CassetteEvent("in", at=1e300),
    "a moment before": CassetteEvent("in", at=-1.0),
    "a size as a text": CassetteEvent("files", body={"«home»/a": "x"}),
    "sizes without names": CassetteEvent("files", body=["a"]),
    "a file without content": CassetteEvent("file", name="«home»/a"),
    "a value without text": CassetteEvent("value", name="sandbox"),
    "an answer without status": CassetteEvent("head", n=1, body=[]),
    "a program without end": CassetteEvent("ran", n=1),
    "a second program with a number": CassetteEvent("run", n=1),
}


@pytest.mark.parametrize("name", BAD)
def test_an_event_that_no_recorder_writes_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "evil.jsonl"
    start = read_cassette(REVIEW).start
    path.write_bytes(b"".join(map(line_of, (start, CassetteEvent("run", n=1), BAD[name]))))
    with pytest.raises(WrongCassette, match="does not write such a line: line 3"):
        read_cassette(path)


def test_the_version_of_a_cassette_cannot_write_to_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "evil.jsonl"
    start = msgspec.structs.replace(read_cassette(REVIEW).start, cassette=2, indwell="\x1b[31m")
    path.write_bytes(line_of(start))
    with pytest.raises(WrongCassette) as refused:
        read_cassette(path)
    assert "\x1b" not in str(refused.value)


def test_a_file_in_the_place_of_a_folder_is_refused() -> None:
    file = CassetteEvent("file", name="«home»/work", body="x")
    with pytest.raises(WrongCassette, match="cannot be created"):
        replay(hostile([file], roots=("«home»/work",), variables={"INDWELL_A": "a\0b"}))
