"""The short forms of ``command_fuzz.py`` and ``command_oracle.py``."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_cmd_18_no_random_text_raises_or_takes_long() -> None:
    found = script("command_fuzz").run(4_000, seed=5)
    assert found["slow"] <= 2  # a busy machine may delay two judgements
    assert min(found["allow"], found["ask"], found["deny"]) > 10


@pytest.mark.skipif(
    sys.platform == "win32" or not shutil.which("bash", path="/bin"), reason="there is no /bin/bash"
)
def test_cmd_19_real_bash_runs_only_commands_that_the_parser_found(tmp_path) -> None:
    n_generated, n_ran, escaped = script("command_oracle").run(150, 3, tmp_path)
    assert n_generated > 150
    assert n_ran > 200
    assert escaped == []


@pytest.mark.skipif(
    sys.platform == "win32" or not shutil.which("bash", path="/bin"), reason="there is no /bin/bash"
)
def test_cmd_19_the_oracle_detects_hidden_commands(tmp_path) -> None:
    hidden = ["eval 'PW''N a b'", "ls $\\\n(PWN c)", "echo hi"]
    escaped = script("command_oracle").escapes(hidden, tmp_path)[1]
    assert len(escaped) >= 2
