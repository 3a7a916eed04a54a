"""Measure the server's code: sizes by its syntax, calls between modules by a trace.

    python scripts/measure_house.py [--json] [--list]

The script traces a real server over stdio, with a loopback model and the real SDK. The editor
requests code actions and chooses "Fix this". The model reads the file, edits the file and ends the
turn. A tool call begins and ends with the module that runs the calls of a reply. Background tasks
and imports of modules do not count. A round begins when the model's reply was sent, and ends when
the next request has arrived. A frame counts once, even if a coroutine resumes often. The caller of
a function is the nearest of our frames on the stack. Import-linter's layers are the floors.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import io
import json
import runpy
import sys
import tempfile
import threading
import time
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "server" / "indwell"
FILE = "shop.py"
BUGGY = "def total(prices):\n    return sum(prices) - 1\n"
EDIT = {"old": "sum(prices) - 1", "new": "sum(prices)"}
END_S = 120.0  # The script gives up after so many seconds; a traced turn takes about two.
MAX_LINES = 500
MAX_ENTRIES = 15


class Module(NamedTuple):
    """The figures of one file's syntax."""

    path: Path
    lines: int
    code_lines: int
    tree: ast.Module


class Step(NamedTuple):
    """One call of a function: its time (monotonic seconds), the caller's file, and its own file.

    ``by`` and ``name`` are the names of both functions, ``call`` is the number of calls of a reply
    that had run when this one caused the step, or 0.
    """

    when: float
    caller: str
    callee: str
    by: str = ""
    name: str = ""
    call: int = 0


def modules() -> list[Module]:
    """Return each module of the package."""
    return [_module(path) for path in sorted(PACKAGE.rglob("*.py"))]


def _module(path: Path) -> Module:
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    return Module(path, text.count("\n"), code_lines(text, tree), tree)


def code_lines(text: str, tree: ast.Module) -> int:
    """Return the number of lines with code, without blank lines, comments and docstrings."""
    prose: set[int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            prose.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    said_nothing = {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    }  # fmt: skip
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in said_nothing:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - prose)


def sizes(found: Sequence[Module]) -> dict[str, Any]:
    """Return the figures that need no run."""
    folders = {one.path.parent for one in found}
    entries = {
        folder: sum(
            1 for entry in folder.iterdir() if entry.name not in {"__pycache__", "__init__.py"}
        )
        for folder in folders
    }
    names = {name: sum(1 for one in found if _names(one, name)) for name in FEATURE_NAMES}
    return {
        "modules": len(found),
        "lines of code": sum(one.code_lines for one in found),
        f"modules over {MAX_LINES} lines": sum(1 for one in found if one.lines > MAX_LINES),
        f"folders with over {MAX_ENTRIES} entries": sum(
            1 for count in entries.values() if count > MAX_ENTRIES
        ),
        "entries of the fullest folder": max(entries.values()),
        **{f"modules that name {name!r}": count for name, count in names.items()},
        **{f"fields of {name}": _fields(found, name) for name in ("Parts", "Session")},
        "names that two classes have": len(twice_named(found)),
    }


FEATURE_NAMES = ("plan", "memory", "todo")


def _names(one: Module, word: str) -> bool:
    """Return whether an identifier of this module contains the word as a part."""
    return any(word in identifier.lower().split("_") for identifier in _identifiers(one.tree))


def _identifiers(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.keyword(arg=str(name)) | ast.alias(name=name):
                yield from name.split(".")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ImportFrom(module=str(name)):
                yield from name.split(".")
            case _:
                pass


def _fields(found: Sequence[Module], name: str) -> int | None:
    """Return the number of fields of a class in `agent`: declared, or set by the constructor."""
    for one in found:
        if "agent" not in one.path.relative_to(PACKAGE).parts:
            continue
        for node in one.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == name:
                return len(_declared(node) or _constructed(node))
    return None


def _declared(node: ast.ClassDef) -> set[str]:
    return {
        line.target.id
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def _constructed(node: ast.ClassDef) -> set[str]:
    return {
        inner.attr
        for inner in ast.walk(node)
        if isinstance(inner, ast.Attribute)
        and isinstance(inner.ctx, ast.Store)
        and isinstance(inner.value, ast.Name)
        and inner.value.id == "self"
    }


def twice_named(found: Iterable[Module]) -> list[str]:
    """Return names that more than one public class of the package has."""
    seen: dict[str, int] = {}
    for one in found:
        for node in one.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                seen[node.name] = seen.get(node.name, 0) + 1
    return sorted(name for name, count in seen.items() if count > 1)


DISPATCH = "/dispatch.py"
# Tasks and threads of a call inherit this variable.
_CALL: ContextVar[int] = ContextVar("_CALL", default=0)


class Trace:
    """Records each call of Indwell's functions, and the calling file, in all threads."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        # A reference to a frame prevents the reuse of its id.
        self._frames: dict[int, FrameType] = {}
        self._imports: set[int] = set()  # The ids of frames that only import a module.
        self._calls = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        del argument
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(_PREFIX) or id(frame) in self._frames:
            return
        self._frames[id(frame)] = frame
        caller = frame.f_back
        while caller and not caller.f_code.co_filename.startswith(_PREFIX):
            caller = caller.f_back
        file, by = (caller.f_code.co_filename, _named(caller)) if caller else ("", "")
        here, what = name[len(_PREFIX) :], _named(frame)
        is_imported = what == "<module>" and here != "__main__.py"
        if is_imported or (caller and id(caller) in self._imports):
            self._imports.add(id(frame))
            return
        if here.endswith(DISPATCH) and what == "dispatch":
            self._calls += 1
            _CALL.set(self._calls)
        when, caller_file = time.monotonic(), file[len(_PREFIX) :]
        self.steps.append(Step(when, caller_file, here, by, what, _CALL.get()))


def _named(frame: FrameType) -> str:
    # Python 3.10 has no co_qualname
    return getattr(frame.f_code, "co_qualname", frame.f_code.co_name)


_PREFIX = f"{PACKAGE}/"


def traced_server(steps_file: Path) -> None:
    """Serve over stdio under a trace; write the trace when the server ends."""
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    sys.argv = ["indwell", "serve", "--stdio"]
    try:
        runpy.run_module("indwell", run_name="__main__", alter_sys=True)
    finally:
        sys.setprofile(None)
        steps_file.write_text(json.dumps(trace.steps), "utf-8")


class Model(ThreadingHTTPServer):
    """A loopback model that calls `read_file`, calls `edit_file`, and ends the turn."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.times: list[tuple[float, float]] = []
        """Of each request: when it was whole, and when its answer was sent (monotonic)."""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        """Return the value for `OPENAI_BASE_URL`."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Answers(BaseHTTPRequestHandler):
    server: Model

    def do_GET(self) -> None:
        """Answer 404, because there is no list of models."""
        self.send_error(404)

    def do_POST(self) -> None:
        """Answer a request for a completion."""
        self.rfile.read(int(self.headers["Content-Length"]))
        arrived = time.monotonic()
        body = completion(len(self.server.times))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.server.times.append((arrived, time.monotonic()))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Print nothing."""


def completion(number: int) -> bytes:
    """Return the stream of the reply to the request `number`, from 0."""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("read_file", {"path": FILE}),
        ("edit_file", {"path": FILE, "edits": [EDIT]}),
    )
    base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    delta: dict[str, Any] = {"role": "assistant", "content": "done"}
    if number < len(calls):
        name, arguments = calls[number]
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        delta = {"role": "assistant", "tool_calls": [call]}
    finish = "tool_calls" if number < len(calls) else "stop"
    usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
    chunks: list[dict[str, Any]] = [
        {**base, "choices": [{"index": 0, "delta": delta}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
        {**base, "choices": [], "usage": usage},
    ]
    return b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in chunks) + (
        b"data: [DONE]\n\n"
    )


def trace_fix_this() -> tuple[list[Step], list[tuple[float, float]]]:
    """Return the steps of a real "Fix this", and the times of the requests and replies."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    pipes = importlib.import_module("lsp_pipe")
    with tempfile.TemporaryDirectory() as name:
        steps_file = Path(name) / "steps.json"
        model = Model()
        command = (sys.executable, str(Path(__file__).resolve()), "--traced", str(steps_file))
        variables = {"OPENAI_BASE_URL": model.url, "INDWELL_MODEL": "m"}
        with pipes.serving(command, **variables) as pipe:
            # The timer ends a read that receives nothing.
            deadline = threading.Timer(END_S, pipe.process.kill)
            deadline.daemon = True
            deadline.start()
            _fix_this(pipe, pipes.opened)
            pipe.request("shutdown")
            pipe.notify("exit", None)
            pipe.process.wait(END_S)
        model.shutdown()
        found = [Step(*one) for one in json.loads(steps_file.read_text("utf-8"))]
    return found, model.times


def _fix_this(pipe: Any, opened: Any) -> None:  # noqa: ANN401 - of benchmarks/, found by path
    """Act as the editor: choose "Fix this", allow all, and apply the edit."""
    path = pipe.workspace / FILE
    path.write_text(BUGGY, "utf-8")
    uri = path.as_uri()
    pipe.initialize()
    pipe.notify("textDocument/didOpen", opened(uri, BUGGY))
    at = {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 26}}
    problem = {"range": at, "message": "the total is one too small", "severity": 1}
    params = {"textDocument": {"uri": uri}, "range": at, "context": {"diagnostics": [problem]}}
    actions = pipe.request("textDocument/codeAction", params)
    fix = next(one["command"] for one in actions if one["title"] == "Fix this")
    asked = {"command": fix["command"], "arguments": fix["arguments"]}
    pipe.ask("workspace/executeCommand", asked)
    is_applied = False
    while True:
        message = pipe.read()
        method, params = message.get("method"), message.get("params") or {}
        if method == "workspace/applyEdit":
            is_applied = True
            pipe.send({"id": message["id"], "result": {"applied": True}})
            changed = {"uri": uri, "version": 2}
            whole = [{"text": BUGGY.replace(EDIT["old"], EDIT["new"])}]
            pipe.notify(
                "textDocument/didChange", {"textDocument": changed, "contentChanges": whole}
            )
        elif method and "id" in message:
            answer = {"answer": "once"} if method == "indwell/permission" else None
            pipe.send({"id": message["id"], "result": answer})
        elif method == "indwell/event" and params["event"]["type"] == "turnFinished":
            if not is_applied:
                raise RuntimeError(f"the turn ended without an edit: {params}")
            return


def floors() -> dict[str, int]:
    """Return the height of each package in import-linter's layers; the top is highest."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one["type"] == "layers")
    heights = {
        name.strip(): height
        for height, layer in enumerate(reversed(layers))
        for name in layer.split("|")
    }
    return {**heights, "__main__": len(layers), "__init__": 0}


def ways(steps: Sequence[Step], times: Sequence[tuple[float, float]]) -> dict[str, int]:
    """Return the figures of the trace."""
    read = of_call(steps)
    between = [one for one in steps if times[0][1] <= one.when <= times[1][0]]
    turn = [one for one in steps if times[0][0] <= one.when]
    climbs = climbing(turn)
    return {
        "files that one read_file call runs through": len({one.callee for one in read}),
        "moves from file to file in one read_file call": len(moves(read)),
        "files from that reply of the model to the next request": len(
            {one.callee for one in between}
        ),
        "files that a turn with one read and one edit runs through": len(
            {one.callee for one in turn}
        ),
        "calls that climb to a higher floor in that turn": len(climbs),
    }


def of_call(steps: Iterable[Step], number: int = 1) -> list[Step]:
    """Return the steps of one reply's calls, up to the last function of their module."""
    caused = [one for one in steps if one.call == number]
    ends = [index for index, one in enumerate(caused) if one.callee.endswith(DISPATCH)]
    return caused[: ends[-1] + 1]


def climbing(steps: Iterable[Step]) -> list[Step]:
    """Return the calls from a lower layer to a higher layer."""
    heights = floors()

    def height(file: str) -> int:
        return heights[file.split("/", maxsplit=1)[0].removesuffix(".py")]

    return [one for one in steps if one.caller and height(one.callee) > height(one.caller)]


def listed(steps: Sequence[Step], times: Sequence[tuple[float, float]]) -> Iterator[str]:
    """Yield the turn's calls to higher layers by frequency, and the read call's files and moves."""
    climbs = climbing(one for one in steps if times[0][0] <= one.when)
    calls = Counter((one.caller, one.by, one.callee, one.name) for one in climbs)
    for (caller, by, callee, name), number in calls.most_common():
        yield f"{number:4}  {caller}:{by} -> {callee}:{name}"
    read = Counter(one.callee for one in of_call(steps))
    yield from (f"{number:4}  {file}" for file, number in sorted(read.items()))
    way = moves(of_call(steps))
    yield from (f"{one.caller}:{one.by} -> {one.callee}:{one.name}" for one in way)


def moves(steps: Iterable[Step]) -> list[Step]:
    """Return the calls from one of Indwell's files to another."""
    return [one for one in steps if one.caller and one.caller != one.callee]


def main() -> None:
    """Measure and print, or run the traced server."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--list", action="store_true", help="print the calls behind the figures")
    parser.add_argument("--traced", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.traced:
        traced_server(given.traced)
        return
    traced = trace_fix_this()
    if given.list:
        print("\n".join(listed(*traced)))
        return
    figures = {**ways(*traced), **sizes(modules())}
    if given.json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        print(f"{name:<62}{value:>8}")


if __name__ == "__main__":
    main()
