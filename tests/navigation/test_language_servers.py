"""The user's language servers answer `navigate` in real turns."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.agent.core.events import EditApplied
from indwell.agent.features.tool_features import navigation_feature
from indwell.bounds.command_bounds import confiner, strength
from indwell.navigation.language_server import ANSWER_S
from indwell.navigation.navigator import Navigator
from indwell.navigation.syntax import SyntaxTrees
from indwell.navigation.user_servers import MOST_STARTS, RunningServers, UserServers
from indwell.policy.call_facts import Policy
from indwell.policy.rules import Widening
from indwell.settings.load import load
from indwell.settings.model import Settings
from indwell.settings.table_types import LanguageServerSetting
from indwell.tools.navigation.navigate import BY_NAME
from indwell.workspace.base import Snapshot
from indwell.workspace.disk import DiskWorkspace
from support.session import RecordingApprover, World, a_world, asks, call, says

ROOT = Path(__file__).resolve().parents[2]
TINY = str(ROOT / "tests" / "support" / "tiny_language_server.py")
PYRIGHT = ROOT / "vscode-extension" / "node_modules" / "pyright" / "langserver.index.js"
BIN = Path(sys.executable).parent
FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": (
        "class Cart:\n    def total(self) -> int:\n        return 1\n\n\n"
        "class Bag:\n    def total(self) -> int:\n        return 2\n"
    ),
    "shop/till.py": "from shop.cart import Cart\n\ncart = Cart()\nprint(cart.total())\n",
    "shop/other.py": "from shop.cart import Bag\n\n# Cart.total\nprint(Bag().total())\n",
}

needs_pyright = pytest.mark.skipif(
    not PYRIGHT.is_file() or sys.platform == "win32",
    reason="pyright is not installed: scripts/setup installs it with Node; not in the Windows lane",
)


def pyright(*, confined: bool = False) -> LanguageServerSetting:
    return LanguageServerSetting(
        command=(str(BIN / "node"), str(PYRIGHT), "--stdio"),
        languages=("python",),
        confined=confined,
    )


def tiny(*words: str) -> LanguageServerSetting:
    command = (sys.executable, TINY, *words)
    return LanguageServerSetting(command=command, languages=("python",), confined=False)


def written(folder: Path, files: Mapping[str, str] = FILES) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder.resolve()


@asynccontextmanager
async def a_session(
    tmp_path: Path,
    setting: LanguageServerSetting,
    *calls: Any,
    running: RunningServers | None = None,
    confine: Callable[[], Any] = lambda: None,
    workspace: Any = None,
    trusted: bool = True,
    answer_s: float = ANSWER_S,
    **more: Any,
) -> AsyncIterator[World]:
    """Run a session whose scripted model makes these calls, one per reply."""
    root = tmp_path / "work"
    if not root.exists():
        written(root)
    roots = (root.resolve(),)
    servers = UserServers(
        running or RunningServers(),
        roots,
        lambda: {"snake": setting},
        confine,
        lambda: trusted,
        answer_s=answer_s,
    )
    script = [
        asks(one if not isinstance(one, Mapping) else call("navigate", f"c{n}", **one))
        for n, one in enumerate(calls)
    ]
    async with a_world(
        tmp_path,
        [*script, says("done")],
        workspace=workspace or DiskWorkspace(roots),
        features=[navigation_feature(Navigator((servers, SyntaxTrees())), servers)],
        **more,
    ) as world:
        await world.turn()
        yield world


HOVER = {"action": "hover", "path": "shop/till.py", "line": 4, "symbol": "cart.total"}
TOTAL = {"path": "shop/till.py", "line": 4, "symbol": "total"}


@needs_pyright
async def test_pyright_distinguishes_symbols_of_one_name(tmp_path: Path) -> None:
    async with a_session(
        tmp_path,
        pyright(),
        {"action": "references", **TOTAL},
        {"action": "definition", **TOTAL},
        {"action": "hover", **TOTAL},
        {"action": "symbols", "path": "shop/cart.py"},
        {"action": "definition", "symbol": "Bag.total"},
    ) as world:
        references, definition, hover, outline, by_name = (one.text for one in world.results)
    assert references.strip() == (
        "shop/cart.py\n2\t    def total(self) -> int:\nshop/till.py\n4\tprint(cart.total())"
    )
    assert definition.strip() == (
        "shop/cart.py\n2\t    def total(self) -> int:\n3\t        return 1"
    )
    assert "total() -> int" in hover
    assert "6\tclass Bag:\n7\t    def total" in outline
    assert by_name.strip().startswith("shop/cart.py\n7\t    def total")
    assert BY_NAME not in references + definition + by_name


@needs_pyright
async def test_pyright_sees_edits_and_unsaved_text_and_reports_problems(tmp_path: Path) -> None:
    root = written(tmp_path / "work")
    unsaved = {root / "shop/other.py": "from shop.cart import Cart\nCart().total().nothing\n"}

    class Unsaved(DiskWorkspace):
        def unsaved(self) -> Mapping[Path, str]:
            return unsaved

        async def read(self, path: Path) -> Snapshot:
            found = await super().read(path)
            if path not in unsaved:
                return found
            return msgspec.structs.replace(found, text=unsaved[path], unsaved=True)

    change = {"old": "cart = Cart()\n", "new": "\n\ncart = Cart()\n"}
    async with a_session(
        tmp_path,
        pyright(),
        {"action": "references", **TOTAL},
        call("read_file", "r1", path="shop/till.py"),
        call("edit_file", "e1", path="shop/till.py", edits=[change]),
        {"action": "references", "path": "shop/cart.py", "line": 2, "symbol": "total"},
        {"action": "problems", "path": "shop/other.py"},
        workspace=Unsaved((root,)),
    ) as world:
        first, *_, second, problems = (one.text for one in world.results)
    assert "shop/other.py (not saved yet)\n2\tCart().total().nothing" in first
    assert "shop/till.py\n4\tprint(cart.total())" in first
    assert "shop/till.py\n6\tprint(cart.total())" in second
    assert 'line 2: error: Cannot access attribute "nothing"' in problems


@needs_pyright
@pytest.mark.skipif(not strength().holds_writers, reason="no sandbox on this machine")
async def test_pyright_answers_in_the_sandbox(tmp_path: Path) -> None:
    root = written(tmp_path / "work")
    bounds = confiner((root,), Settings, quarantine=tmp_path / "quarantine")
    try:
        async with a_session(
            tmp_path,
            pyright(confined=True),
            {"action": "hover", **TOTAL},
            confine=lambda: bounds(Widening(reads_only=True)),
        ) as world:
            assert "total() -> int" in world.results[0].text
    finally:
        bounds.close()


@needs_pyright
async def test_a_rename_changes_all_files_as_one_reviewed_change(tmp_path: Path) -> None:
    rename = {"action": "rename", **TOTAL, "new_name": "sum_up"}
    async with a_session(
        tmp_path, pyright(), rename, policy=Policy("ask"), answers=["once"]
    ) as world:
        (result,) = world.results
        (question,) = world.approver.questions
        edits = [(one.path, one.added, one.removed) for one in world.told(EditApplied)]
    root = tmp_path / "work"
    assert question.title == "Change shop/cart.py, shop/till.py?"
    assert "-    def total(self) -> int:\n+    def sum_up(self) -> int:" in question.detail
    assert "-print(cart.total())\n+print(cart.sum_up())" in question.detail
    assert result.text.strip().startswith("renamed total to sum_up: 2 places in 2 files\n")
    assert edits == [("shop/cart.py", 1, 1), ("shop/till.py", 1, 1)]
    assert (root / "shop/till.py").read_text() == FILES["shop/till.py"].replace("total", "sum_up")
    assert (root / "shop/other.py").read_text() == FILES["shop/other.py"]


@needs_pyright
@pytest.mark.parametrize(
    ("answer", "said"),
    [("no", "the user did not allow this"), ("changed", "changed while the rename was prepared")],
)
async def test_a_rename_changes_nothing_if_it_is_refused_or_a_file_has_changed(
    tmp_path: Path, answer: str, said: str
) -> None:
    root = written(tmp_path / "work")

    class Approver(RecordingApprover):
        async def ask(self, question: Any) -> Any:
            assert "sum_up" in question.detail
            if answer == "changed":
                (root / "shop/cart.py").write_text("# new\n" + FILES["shop/cart.py"])
                return "once"
            return "no"

    servers = UserServers(
        RunningServers(), (root,), lambda: {"snake": pyright()}, lambda: None, lambda: True
    )
    rename = call("navigate", action="rename", **TOTAL, new_name="sum_up")
    async with a_world(
        tmp_path,
        [asks(rename), says("done")],
        workspace=DiskWorkspace((root,)),
        features=[navigation_feature(Navigator((servers,)), servers)],
        policy=Policy("ask"),
    ) as world:
        world.session.parts = dataclasses.replace(world.session.parts, approver=Approver())
        await world.turn()
        (result,) = world.results
    assert result.is_error
    assert said in result.text
    assert (root / "shop/till.py").read_text() == FILES["shop/till.py"]


async def test_a_crash_of_a_server_is_reported_once_and_syntax_trees_answer(tmp_path: Path) -> None:
    async with a_session(tmp_path, tiny("crash"), *(HOVER,) * (MOST_STARTS + 1)) as world:
        first, *others = (one.text for one in world.results)
    assert "snake does not answer: it ended with exit code 3: out of ideas" in first
    assert "2\t    def total(self)" in first
    assert all(BY_NAME in one and "snake" not in one for one in others)


async def test_a_server_that_does_not_answer_delays_a_call_only_up_to_a_limit(
    tmp_path: Path,
) -> None:
    async with a_session(tmp_path, tiny("silent"), HOVER, answer_s=0.5) as world:
        (found,) = (one.text for one in world.results)
    assert "snake did not answer within 0.5 s" in found
    assert BY_NAME in found


async def test_a_server_that_sends_invalid_data_is_ended_and_syntax_trees_answer(
    tmp_path: Path,
) -> None:
    async with a_session(tmp_path, tiny("garbage"), HOVER) as world:
        (found,) = (one.text for one in world.results)
    assert "snake does not answer: it does not speak the language server protocol" in found
    assert BY_NAME in found


async def test_a_program_that_does_not_exist_is_reported_at_once(tmp_path: Path) -> None:
    setting = LanguageServerSetting(("no-such-program-here",), ("python",), confined=False)
    async with a_session(tmp_path, setting, HOVER) as world:
        (found,) = (one.text for one in world.results)
    assert "'no-such-program-here' could not be started" in found
    assert BY_NAME in found


async def test_no_server_starts_without_trust_or_without_its_sandbox(tmp_path: Path) -> None:
    async with a_session(tmp_path / "a", tiny(), HOVER, trusted=False) as world:
        assert "process" not in world.results[0].text
    confined = msgspec.structs.replace(tiny(), confined=True)
    async with a_session(tmp_path / "b", confined, HOVER) as world:
        assert "this machine has no sandbox for it; `confined = false`" in world.results[0].text


@pytest.mark.skipif(sys.platform == "win32", reason="signal 0 is Ctrl-C on Windows")
async def test_sessions_share_a_server_that_ends_with_the_last_session(tmp_path: Path) -> None:
    running = RunningServers()
    async with a_session(tmp_path, tiny(), HOVER, running=running) as one:
        async with a_session(tmp_path, tiny(), HOVER, running=running) as other:
            found = one.results[0].text
            assert other.results[0].text == found
        process = re.search(r"process (\d+)", found)
        assert process
        os.kill(int(process[1]), 0)
    # The process was waited for, so its number is free or belongs to another process.
    for _ in range(100):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(process[1]), 0)
            await asyncio.sleep(0)
            continue
        break
    with pytest.raises(ProcessLookupError):
        os.kill(int(process[1]), 0)


def test_only_the_users_settings_can_define_language_servers() -> None:
    own = (
        "[language_servers.pyright]\n"
        'command = ["pyright-langserver", "--stdio"]\nlanguages = ["python"]\n'
    )
    assert load({}, own).settings.language_servers == {
        "pyright": LanguageServerSetting(("pyright-langserver", "--stdio"), ("python",))
    }
    loaded = load({}, workspace_file=own, editor_options={"language_servers": {"x": {}}})
    assert loaded.settings.language_servers == {}
    assert "only your own settings can set it" in " ".join(loaded.notices)
