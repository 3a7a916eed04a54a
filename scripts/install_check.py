"""Install a wheel from an index on this machine with pip, pipx and uv, and run what was installed.

    python scripts/install_check.py WHEEL

pip downloads the pinned dependencies from its configured index. The script serves them with the
wheel on a port of this machine, in the form of PEP 503. Each program that is on PATH then installs
`indwell` from there alone, into empty folders.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from wheels import REQUIREMENTS

PROGRAMS = ("pip", "pipx", "uv")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        return


def make_index(folder: Path, files: Sequence[Path]) -> None:
    """Write a page for each project, with a link and a digest for each of its files."""
    pages: dict[str, list[str]] = {}
    for file in files:
        name = re.sub(r"[-_.]+", "-", file.name.split("-")[0]).lower()
        (folder / name).mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / name / file.name)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        pages.setdefault(name, []).append(f'<a href="{file.name}#sha256={digest}">{file.name}</a>')
    for name, links in pages.items():
        text = "<!DOCTYPE html>\n" + "\n".join(links) + "\n"
        (folder / name / "index.html").write_text(text, "utf-8")


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        return  # uv closes a connection as soon as it has read the metadata in a wheel.


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the folder on a port of this machine; yield the address."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with _Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def install(program: str, index: str, home: Path) -> Path:
    """Install `indwell` into empty folders; return the folder of its program."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": index,
        "PIPX_HOME": str(home / "pipx"),
        "PIPX_BIN_DIR": str(home / "bin"),
        "PIPX_MAN_DIR": str(home / "man"),
        "PIPX_DEFAULT_PYTHON": sys.executable,
        "UV_TOOL_DIR": str(home / "uv"),
        "UV_TOOL_BIN_DIR": str(home / "bin"),
        "UV_CACHE_DIR": str(home / "cache"),
        "UV_DEFAULT_INDEX": index,
        "UV_NO_CONFIG": "1",
        "UV_PYTHON_DOWNLOADS": "never",
    }
    commands = {
        "pip": [
            [sys.executable, "-m", "venv", str(home / "venv")],
            [str(home / "venv/bin/python"), "-m", "pip", "-q", "install", "indwell"],
        ],
        "pipx": [["pipx", "install", "--quiet", "indwell"]],
        "uv": [["uv", "tool", "install", "-q", "--python", sys.executable, "indwell"]],
    }
    for command in commands[program]:
        subprocess.run(command, env=environment, check=True)
    return home / ("venv/bin" if program == "pip" else "bin")


def runs(folder: Path, home: Path) -> str:
    """Run the installed program as a new user; return its version.

    Raises:
        SystemExit: The program failed.
    """
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(home / "user")}
    work = home / "user" / "work"
    work.mkdir(parents=True)
    said = ""
    for words in (("--version",), ("run", "--scripted", "-q", "What can you do?"), ("demo",)):
        command = [str(folder / "indwell"), *words]
        command += ["--seed", "7", "--json"] if words == ("demo",) else []
        done = subprocess.run(
            command, env=environment, cwd=work, capture_output=True, text=True, check=False
        )
        if done.returncode or not done.stdout:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
        said = said or done.stdout.strip()
    return said


def main() -> None:
    """Install the wheel with each program, and print a line about each."""
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        download = ["-m", "pip", "--disable-pip-version-check", "-q", "download"]
        download += ["--require-hashes", "--no-deps", "-d", str(folder / "files")]
        subprocess.run([sys.executable, *download, "-r", str(REQUIREMENTS)], check=True)
        make_index(folder / "index", [wheel, *sorted((folder / "files").iterdir())])
        with served(folder / "index") as index:
            for program in PROGRAMS:
                if program != "pip" and shutil.which(program) is None:
                    print(f"{program}: not on this machine, so not tried")
                    continue
                begin = time.monotonic()
                where = install(program, index, folder / program)
                seconds = time.monotonic() - begin
                version = runs(where, folder / program)
                pages = [*(folder / program).rglob("man1/indwell.1")]
                man = "with" if pages else "without"
                print(f"{program}: {version}, installed in {seconds:.0f} s, {man} its man page")


if __name__ == "__main__":
    main()
