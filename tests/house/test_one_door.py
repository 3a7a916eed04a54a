"""Checks in the source that one module makes each dangerous call; conftest checks at run time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "server" / "indwell"

DISK = {"read_text", "write_text", "read_bytes", "write_bytes", "unlink", "mkdir", "rmdir"}
DISK |= {"rename", "touch", "symlink_to", "hardlink_to", "chmod"}
PROCESS = {"create_subprocess_exec", "create_subprocess_shell", "Popen", "system", "popen"}
PROCESS |= {"fork", "execv", "execve", "posix_spawn", "check_output", "check_call"}
PROCESS |= {"subprocess_exec", "subprocess_shell"}
NETWORK = {"socket", "httpx2", "urllib.request", "http.client", "requests", "aiohttp", "openai"}

DOORS = {
    "disk": ("files/",),
    "process": ("sandbox/",),
    "network": (
        "providers/client.py",
        "providers/fetch.py",
        "providers/http/http_client.py",
        "providers/http/faults.py",
        "providers/http/guard.py",
        "providers/http/cassette_transport.py",
        "providers/http/web_pages.py",
        "lsp/wire/tcp.py",
        "providers/http/http_client.py",
        "mcp/http.py",
        "mcp/login.py",  # listens for the browser's redirect after a login
        "sandbox/proxy/",
        "sandbox/confine/trial.py",  # listens for a connection that a sandbox has to refuse
    ),
}
EXCUSED = {
    ("disk", "sandbox/confine/token_start.py"): "opens the null device for a program",
    ("disk", "sandbox/leftovers/processes.py"): "reads /proc to find the children it must end",
    ("process", "batch/warm_start.py"): "starts the process that forks the runs of a batch",
    ("network", "batch/warm_start.py"): "passes descriptors to that process over a socket pair",
    ("process", "cli/__init__.py"): "starts itself again, in Python's UTF-8 mode",
    ("network", "batch/on_ray.py"): "asks whether the address of a cluster answers",
    ("process", "cli/run/forking.py"): "forks the runs of a batch, which are Indwell itself",
    ("network", "cli/run/forking.py"): "receives descriptors over a socket pair",
}


def uses(kind: str, tree: ast.Module) -> Iterator[int]:
    """Yield the lines on which a module itself makes a call of ``kind``."""
    forbidden = {"network": NETWORK, "process": {"subprocess", "multiprocessing"}}.get(kind, set())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported = {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported = {node.module or ""}
        else:
            imported = set()
        is_call = isinstance(node, ast.Call) and _is_direct(kind, node.func)
        if imported & forbidden or is_call:
            yield node.lineno


def _is_direct(kind: str, called: ast.expr) -> bool:
    """Return whether a call uses the standard library; a bare name is a function of Indwell."""
    if isinstance(called, ast.Attribute):
        base = called.value.id if isinstance(called.value, ast.Name) else ""
        if kind == "process":
            # platform.system() starts no process
            return called.attr in PROCESS and base != "platform"
        return kind == "disk" and (called.attr in DISK or (base == "os" and called.attr == "open"))
    return kind == "disk" and isinstance(called, ast.Name) and called.id == "open"


def test_only_the_allowed_modules_use_processes_network_and_disk() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(path.read_text("utf-8"))
        for kind, doors in DOORS.items():
            is_free = name.startswith(doors) or (kind, name) in EXCUSED
            if not is_free and (lines := list(uses(kind, tree))):
                found[kind, name] = lines
    assert found == {}


def test_the_search_for_forbidden_uses_finds_each_kind() -> None:
    bad = ast.parse("import subprocess\nimport httpx2\nPath('x').write_text('y')\nopen('x')\n")
    assert [list(uses(kind, bad)) for kind in ("process", "network", "disk")] == [[1], [2], [3, 4]]


def test_waits_for_the_editor_measure_time_with_the_clock_of_the_event_loop() -> None:
    """A replay of a cassette sets that clock, and no other."""
    by_the_machine = [
        path.relative_to(PACKAGE).as_posix()
        for path in sorted((PACKAGE / "lsp").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if ast.unparse(node) == "time.monotonic"
        or (isinstance(node, ast.ImportFrom) and node.module == "time")
    ]
    assert set(by_the_machine) == {"lsp/wire/stdio.py"}  # runs before there is a loop


def test_json_on_a_terminal_is_written_by_json_line_alone() -> None:
    """Otherwise a file name in a repository could control the terminal."""
    writers = set()
    for path in sorted((PACKAGE / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in {
                "json.dumps", "json.dump", "msgspec.json.encode", "msgspec.json.Encoder",
            }:  # fmt: skip
                writers.add(path.relative_to(PACKAGE / "cli").as_posix())
    files_for_editors = {"setup/configurations.py", "setup/merging.py"}
    to_the_server = {"demo/client.py"}
    own_files = {"cassette/file_format.py", "cassette/split_secrets.py"}
    others = files_for_editors | to_the_server | own_files
    assert writers == {"terminal/json_line.py"} | others


def test_only_the_context_package_makes_tagged_blocks() -> None:
    """Raw text reaches the model only in blocks, which only ``context`` makes."""
    makers = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        made = [
            node.lineno
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "Meta"
            and "tier" in {keyword.arg for keyword in node.keywords}
        ]
        if made:
            makers[name] = made
    assert set(makers) == {
        "context/conversation.py", "context/injections.py", "context/pairing.py",
        "context/request/assemble.py",
    }  # fmt: skip
