"""Starts each real editor of the tests with one of the shared scenarios."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from editors import emacs, neovim, neovim07
from editors.place import TIMEOUT_S, environment, missing, put_files, run, serve_model
from editors.scenarios import FILES, FIRST, LAST, LINES, PATH, QUESTION, RUNS
from indwell.cli.setup.configurations import CONFIGURATIONS
from support.loopback_endpoint import LoopbackEndpoint

HERE = Path(__file__).resolve().parent
Start = Callable[[str, Path, Path, Mapping[str, str]], dict[str, Any]]


@dataclass(frozen=True)
class Client:
    """An editor of the tests.

    Attributes:
        column: The editor's heading in the table of ``docs/editors/README.md``.
        start: Plays a run in a project; arguments: run, root, user's folder, variables.
        runs: The runs to play; a second configuration of an editor plays only where it differs.
    """

    column: str
    start: Start
    runs: frozenset[str] = frozenset(RUNS)


def play(client: Client, run_name: str, folder: Path, endpoint: LoopbackEndpoint) -> dict[str, Any]:
    """Write the project into ``folder``, play the run, and return the editor's report."""
    folder.mkdir()
    root = put_files(FILES, folder)
    place = {
        "path": str(root / PATH),
        "root": str(root),
        "first": FIRST,
        "last": LAST,
        "lines": LINES,
        "question": QUESTION,
    }
    variables = {
        "INDWELL_SCENARIO": run_name,
        "INDWELL_PLACE": json.dumps(place, ensure_ascii=False),
        "INDWELL_REPORT": str(folder / "report.json"),
        "OPENAI_BASE_URL": endpoint.base_url,
        "INDWELL_MODEL": "loopback-model",
    }
    return client.start(run_name, root, folder, variables)


def _init(folder: Path, name: str, setup: str) -> Path:
    """Write the page's configuration to a file, with the test's command for the server."""
    path = folder / name
    path.write_text(CONFIGURATIONS[setup].text(serve_model()), "utf-8")
    return path


def _neovim(setup: str) -> Start:
    def start(_run: str, _root: Path, folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
        init = _init(folder, "init.lua", setup)
        options = ("--clean", "--headless", "-n", "-u", str(init))
        script = ("-l", str(HERE / "neovim_shared.lua"))
        return run([neovim.neovim(), *options, *script], folder, folder / "report.json", variables)

    return start


def _neovim07(_run: str, _root: Path, folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    init = _init(folder, "init.lua", "nvim-older")
    options = ("--clean", "--headless", "-n", "-u", str(init))
    script = ("-S", str(HERE / "neovim07_shared.lua"))
    return run([neovim07.neovim07(), *options, *script], folder, folder / "report.json", variables)


def _emacs(setup: str, feature: str, user: str = "") -> Start:
    def start(_run: str, _root: Path, folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
        program = emacs.emacs(feature)
        init = _init(folder, "init.el", setup)
        scripts = [HERE / f"{user or feature}_user.el", HERE / "emacs_shared.el"]
        loads = [word for path in (init, *scripts) for word in ("-l", str(path))]
        return run(
            [program, "--batch", "-q", *emacs.UNCOMPILED, "-f", "package-initialize", *loads],
            folder,
            folder / "report.json",
            variables,
        )

    return start


def vim() -> str:
    """Return Vim's path; skip the test without Vim or ALE, except in CI."""
    found = shutil.which("vim")
    if found is None or not Path("/usr/share/vim-ale/plugin/ale.vim").exists():
        missing("there is no Vim with ALE; on Debian: apt-get install vim-ale")
    return found


def _vim(_run: str, root: Path, folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """Run Vim in a terminal, because ALE sends changes only from Vim's main loop."""
    init = _init(folder, "vimrc", "vim")
    # A script cannot replace Vim's input(); the script's variable holds the user's answer.
    init.write_text(init.read_text("utf-8").replace("trim(input(", "trim(g:IndwellAsk("), "utf-8")
    before = folder / "before.vim"
    before.write_text("set nocompatible encoding=utf-8\npackadd! ale\n")
    files = ("-u", str(before), "--cmd", "set noswapfile viminfo=", "-S", str(init))
    argv = [vim(), "-N", *files, "-S", str(HERE / "ale_shared.vim")]
    import pty  # noqa: PLC0415 - not on Windows

    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        argv,
        cwd=root,
        env={**environment(folder), "TERM": "xterm", **variables},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        start_new_session=True,
    )
    os.close(terminal)
    shown: list[bytes] = []
    reader = threading.Thread(target=_read, args=(screen, shown))
    reader.start()
    try:
        process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        reader.join(TIMEOUT_S)
        os.close(screen)
    report = folder / "report.json"
    assert report.exists(), b"".join(shown).decode(errors="replace")[-4_000:]
    return json.loads(report.read_text("utf-8"))


def _read(screen: int, shown: list[bytes]) -> None:
    with suppress(OSError):  # the terminal is closed
        while part := os.read(screen, 65_536):
            shown.append(part)


def _acp(run: str, root: Path, folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    if sys.platform == "win32":
        missing("the tests on Windows play Neovim alone")
    from editors.acp_user import play_acp  # noqa: PLC0415 - needless on Windows

    return play_acp(run, root, folder, variables)


def _terminal(run: str, root: Path, folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    if sys.platform == "win32":
        missing("the tests on Windows play Neovim alone")
    from editors.terminal_user import play_terminal  # noqa: PLC0415 - impossible on Windows

    return play_terminal(run, root, folder, variables)


CLIENTS = {
    "nvim": Client("Neovim 0.11", _neovim("nvim")),
    "nvim-plain": Client("Neovim 0.11", _neovim("nvim-plain"), frozenset({"ask", "review"})),
    "nvim07": Client("Neovim 0.7", _neovim07),
    "indwell.el": Client("Emacs, indwell.el", _emacs("emacs", "eglot", "indwell")),
    "eglot": Client("Emacs, eglot", _emacs("emacs-eglot", "eglot")),
    "lsp-mode": Client("Emacs, lsp-mode", _emacs("emacs-lsp-mode", "lsp-mode")),
    "ale": Client("Vim, ALE", _vim),
    "acp": Client("ACP", _acp),
    "terminal": Client("Terminal", _terminal),
}
