"""Runs the VS Code extension's specs: units, the panel in Chromium, and the real VS Code.

The specs are in ``vscode-extension/test/``. The specs in ``unit`` need Node. The specs in
``browser`` also need Chromium, and those in ``e2e`` VS Code's server
(``vscode-extension/test/editor/install``). CI has all three. The variable INDWELL_TEST_LONG selects
the long forms.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from editors.place import missing

REPOSITORY = Path(__file__).resolve().parents[2]
EXTENSION = REPOSITORY / "vscode-extension"
PATH = f"{REPOSITORY / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
# A slow or shared machine may take five times as long. A hang shows long before, because each wait
# of a spec has its own limit.
SLOWER = 5 if os.environ.get("INDWELL_TEST_LONG") is None else 20
PANEL_S = 100 * SLOWER  # the longest spec of the panel alone takes 98 s
EDITOR_S = 240 * SLOWER
TEXT_OF_A_FAILURE = 20_000


def _specs(folder: str) -> Sequence[str]:
    paths = (EXTENSION / "test" / folder).glob("*.test.ts")
    return sorted(path.name.removesuffix(".test.ts") for path in paths)


class SpecResult(msgspec.Struct, frozen=True):
    """The result of one test of a spec, as ``test/editor/json-reporter.ts`` writes it."""

    file: str
    name: str
    error: str | None


def test_the_unit_tests_of_the_extension_pass() -> None:
    _need_node()
    _passes("node", "esbuild.mjs", "--tests")
    _passes("node", "--test", "--test-reporter=dot", "out/test/**/*.test.mjs")


@pytest.mark.timeout(PANEL_S)
@pytest.mark.parametrize("spec", _specs("browser"))
def test_the_vscode_panel_works_alone_in_a_browser(spec: str) -> None:
    _need("panel")
    _passes("node", "--test", f"test/browser/{spec}.test.ts")


@pytest.mark.timeout(60, func_only=True)
@pytest.mark.parametrize("spec", _specs("e2e"))
def test_the_extension_works_in_the_real_vs_code(
    spec: str, in_vs_code: tuple[Sequence[SpecResult], str]
) -> None:
    results, output = in_vs_code
    of_this = [test for test in results if Path(test.file).name == f"{spec}.test.ts"]
    assert of_this, f"no test of {spec} ran\n{output[-TEXT_OF_A_FAILURE:]}"
    wrong = [f"{test.name}\n{test.error}" for test in of_this if test.error is not None]
    assert not wrong, "\n\n".join(wrong)[-TEXT_OF_A_FAILURE:]


@pytest.fixture(scope="module")
def in_vs_code(tmp_path_factory: pytest.TempPathFactory) -> tuple[Sequence[SpecResult], str]:
    """Return the results of all specs that ran in one workbench, and their output."""
    _need("editor")
    path = tmp_path_factory.mktemp("vscode") / "results"
    reporter = (
        "--test-reporter=./test/editor/json-reporter.ts",
        f"--test-reporter-destination={path}",
    )
    command = ("node", "--test", "--test-isolation=none", *reporter, "test/e2e/*.test.ts")
    with _alone():
        code, output = _run(command, {"INDWELL_EDITOR_LOCK": "held"}, EDITOR_S)
    results = [
        msgspec.json.decode(line, type=SpecResult) for line in path.read_bytes().splitlines()
    ]
    if code != 0 and all(test.error is None for test in results):
        pytest.fail(f"node ended with {code}\n{output[-TEXT_OF_A_FAILURE:]}")
    return results, output


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other run on this machine has an editor open; test/editor/lock.ts waits too."""
    path = Path(tempfile.gettempdir()) / f"indwell-editor-{os.getuid()}.lock"
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _need_node() -> None:
    if shutil.which("node", path=PATH) is None or not (EXTENSION / "node_modules").is_dir():
        missing("Node or the extension's packages are not installed: scripts/setup")


def _need(what: str) -> None:
    _need_node()
    reason = _passes("node", "test/editor/ready.ts", what)
    if reason:
        missing(reason)


def _passes(*command: str) -> str:
    code, output = _run(command, {}, PANEL_S)
    assert code == 0, output[-TEXT_OF_A_FAILURE:]
    return output


def _run(command: Sequence[str], more: dict[str, str], seconds: float) -> tuple[int, str]:
    """Run a command in the extension's folder; return its exit code and its output.

    All processes of the command end with the call, also after a time-out.
    """
    process = subprocess.Popen(
        command,
        cwd=EXTENSION,
        env={**os.environ, "PATH": PATH, **more},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
        encoding="utf-8",
    )
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return -signal.SIGKILL, f"{output}\ntimed out after {seconds} s"
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, output
