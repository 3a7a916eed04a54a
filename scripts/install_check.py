"""Live through the life of an installation with pip, pipx and uv, each in an empty home.

    python scripts/install_check.py WHEEL

pip downloads the pinned dependencies from its configured index. The script serves them with the
wheel on a port of this machine, in the form of PEP 503. Each installer that is on PATH installs an
earlier version of `indwell` from there alone and upgrades it. Then `newcomer.py` uses Indwell and
removes it. The script prints the seconds of each step, and fails if something is left in the home.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from newcomer import OLDER, STORED, Newcomer, older_wheel
from wheels import REQUIREMENTS

BASE_PYTHON = str(Path(sys.base_prefix) / "bin" / "python3")
INSTALL = {
    "pip": [f"{BASE_PYTHON} -m venv ~/.venvs/indwell", "~/.venvs/indwell/bin/pip install indwell"],
    "pipx": ["pipx install indwell"],
    "uv": ["uv tool install indwell"],
}
UPGRADE = {
    "pip": "~/.venvs/indwell/bin/pip install --upgrade indwell",
    "pipx": "pipx upgrade indwell",
    "uv": "uv tool upgrade indwell",
}
REMOVE = {
    "pip": "rm -r ~/.venvs",
    "pipx": "pipx uninstall indwell",
    "uv": "uv tool uninstall indwell",
}
LAST = max(
    (one.name for one in STORED.iterdir() if (one / "state").is_dir()),
    key=lambda name: [int(word) for word in name.split(".")],
)
"""The last release whose files are kept."""


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


def environment_of(program: str, index: str, home: Path, tools: Path) -> dict[str, str]:
    """Return the variables of a user who has nothing of this project but the installer."""
    tools.mkdir()
    if found := shutil.which(program):
        (tools / program).symlink_to(Path(found).resolve())
    where = home / (".venvs/indwell/bin" if program == "pip" else ".local/bin")
    return {
        "PATH": f"{where}:{tools}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": index,
        "PIPX_DEFAULT_PYTHON": BASE_PYTHON,
        "UV_DEFAULT_INDEX": index,
        "UV_NO_CONFIG": "1",
        "UV_PYTHON": BASE_PYTHON,
        "UV_PYTHON_DOWNLOADS": "never",
    }


def live(program: str, wheel: Path, index: Path, address: str, folder: Path) -> None:
    """Install, use, upgrade and remove Indwell with one installer; print the steps."""
    home = folder / "home"
    user = Newcomer(home, environment_of(program, address, home, folder / "tools"))
    shutil.rmtree(index / "indwell", ignore_errors=True)
    make_index(index, [older_wheel(wheel, folder)])
    for command in INSTALL[program]:
        user.run("installed", *command.replace("~", str(home)).split())
    if (version := user.run("version", "indwell", "--version").strip()) != f"indwell {OLDER}":
        raise SystemExit(f"{program} installed {version}")
    make_index(index, [wheel, older_wheel(wheel, folder)])
    upgrade, uninstall = (
        command.replace("~", str(home)).split() for command in (UPGRADE[program], REMOVE[program])
    )
    user.run("upgraded", *upgrade)
    version = user.run("version", "indwell", "--version").strip()
    if version.split()[-1] != wheel.name.split("-")[1]:
        raise SystemExit(f"after the upgrade with {program} it is {version}")
    if not [*home.rglob("man1/indwell.1")]:
        raise SystemExit(f"{program} did not install the man page")
    user.run("demo", "indwell", "demo", "--seed", "7", "--json")
    user.edit_first()
    user.use_state_of(LAST)
    user.remove(*uninstall)
    left, n_bytes = user.left()
    if left:
        raise SystemExit(f"left after {program}: " + ", ".join(left))
    print(f"{program}: {version}, nothing is left but {n_bytes / 1e6:.0f} MB of {program} itself")
    print("   " + ", ".join(f"{step} {seconds:.1f} s" for step, seconds in user.seconds.items()))


def main() -> None:
    """Live through the installation with each installer."""
    wheel = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        download = ["-m", "pip", "--disable-pip-version-check", "-q", "download"]
        download += ["--require-hashes", "--no-deps", "-d", str(folder / "files")]
        subprocess.run([sys.executable, *download, "-r", str(REQUIREMENTS)], check=True)
        make_index(folder / "index", sorted((folder / "files").iterdir()))
        with served(folder / "index") as address:
            for program in INSTALL:
                if program != "pip" and shutil.which(program) is None:
                    print(f"{program}: not on this machine, so not tried")
                    continue
                (folder / program).mkdir()
                live(program, wheel, folder / "index", address, folder / program)


if __name__ == "__main__":
    main()
