"""The tool ``navigate`` in real turns, with syntax trees as the only source."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from indwell.agent.features.tool_features import navigation_feature
from indwell.messages import ToolResult
from indwell.navigation.navigator import (
    CodeAnswer,
    CodePlace,
    CodeQuestion,
    Navigator,
    ServerEdit,
    SourceFailed,
)
from indwell.navigation.syntax import SyntaxTrees
from indwell.navigation.user_servers import RunningServers, UserServers
from indwell.policy.call_facts import Policy
from indwell.tools.navigation.locate import bare_name
from indwell.tools.navigation.navigate import BY_NAME, MOST_SHOWN
from indwell.workspace.base import Snapshot
from indwell.workspace.disk import DiskWorkspace
from support.doc_examples import examples
from support.platforms import posix_only
from support.session import a_world, asks, call, says, with_parts

FILES = {
    "shop/cart.py": (
        "class Cart:\n    def total(self):\n        return 1\n\n\ndef total():\n    pass\n"
    ),
    "shop/till.py": "from shop.cart import Cart\n\n# total\nprint(Cart().total())\n",
    "web/app.ts": "export function total(): number {\n  return 2;\n}\n",
}


def written(folder: Path, files: Mapping[str, str]) -> DiskWorkspace:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return DiskWorkspace((folder.resolve(),))


NO_SERVERS = UserServers(RunningServers(), (), dict, lambda: None, lambda: False)


async def asked(
    tmp_path: Path,
    *calls: Mapping[str, Any],
    files: Mapping[str, str] = FILES,
    navigator: Navigator | None = None,
    policy: Policy | None = None,
    hide: Any = None,
    workspace: Any = None,
) -> list[ToolResult]:
    """Return the results of calls of ``navigate``, one call per reply."""
    script = [asks(call("navigate", f"c{n}", **one)) for n, one in enumerate(calls)]
    workspace = workspace or written(tmp_path / "work", files)
    features = [navigation_feature(navigator or Navigator((SyntaxTrees(),)), NO_SERVERS)]
    async with a_world(
        tmp_path, [*script, says("done")], workspace=workspace, features=features, policy=policy
    ) as world:
        if hide is not None:
            with_parts(world.session, hide=hide)
        await world.turn()
        return world.results


def text_of(result: ToolResult) -> str:
    return result.text.strip()


async def test_a_definition_is_shown_whole_with_its_lines_as_read_file_shows_them(
    tmp_path: Path,
) -> None:
    (found,) = await asked(
        tmp_path, {"action": "definition", "path": "shop/till.py", "line": 4, "symbol": "Cart"}
    )
    assert text_of(found) == (
        f"shop/cart.py\n1\tclass Cart:\n2\t    def total(self):\n3\t        return 1\n[{BY_NAME}]"
    )


async def test_several_definitions_of_a_name_are_a_list_to_choose_from(tmp_path: Path) -> None:
    (found,) = await asked(tmp_path, {"action": "definition", "symbol": "total"})
    assert "2\t    def total(self):" in found.text
    assert "6\tdef total():" in found.text
    assert "web/app.ts\n1\texport function total(): number {" in found.text
    assert "several symbols fit: choose one by its path and line" in found.text


async def test_a_parameter_or_local_variable_is_found_in_its_function(tmp_path: Path) -> None:
    text = "def f(rate):\n    pass\n\n\ndef g(rate):\n    half = rate / 2\n    return half + rate\n"
    rate, half = await asked(
        tmp_path,
        {"action": "definition", "path": "a.py", "line": 7, "symbol": "rate"},
        {"action": "definition", "path": "a.py", "line": 7, "symbol": "half"},
        files={"a.py": text},
    )
    assert text_of(rate).startswith("a.py\n5\tdef g(rate):")
    assert text_of(half).startswith("a.py\n6\t    half = rate / 2")


async def test_a_dotted_name_chooses_the_inner_symbol(tmp_path: Path) -> None:
    (found,) = await asked(tmp_path, {"action": "definition", "symbol": "Cart.total"})
    assert text_of(found).startswith("shop/cart.py\n2\t    def total(self):\n3\t")
    assert "app.ts" not in found.text


async def test_references_by_name_leave_out_comments_and_say_how_they_were_found(
    tmp_path: Path,
) -> None:
    (found,) = await asked(
        tmp_path, {"action": "references", "path": "shop/cart.py", "line": 2, "symbol": "total"}
    )
    assert "shop/till.py\n4\tprint(Cart().total())" in found.text
    assert "3\t# total" not in found.text
    assert BY_NAME in found.text


async def test_symbols_of_a_file_form_an_outline_and_symbols_of_the_workspace_are_searched(
    tmp_path: Path,
) -> None:
    outline, part, search = await asked(
        tmp_path,
        {"action": "symbols", "path": "shop/cart.py"},
        {"action": "symbols", "path": "shop/cart.py", "symbol": "car"},
        {"action": "symbols", "symbol": "TOT"},
    )
    assert text_of(outline) == (
        "shop/cart.py\n1\tclass Cart:\n2\t    def total(self):\n6\tdef total():"
    )
    assert text_of(part) == "shop/cart.py\n1\tclass Cart:"
    assert text_of(search).startswith("shop/cart.py\n2\t")
    assert "web/app.ts\n1\t" in search.text


async def test_problems_without_a_checker_are_syntax_errors(tmp_path: Path) -> None:
    bad, good = await asked(
        tmp_path,
        {"action": "problems", "path": "bad.py"},
        {"action": "problems", "path": "good.py"},
        files={"bad.py": "def f(:\n    pass\n", "good.py": "x = 1\n"},
    )
    assert text_of(bad) == "line 1: error: ')' is missing [syntax tree]"
    assert text_of(good) == "the syntax tree reports no problems in 'good.py'"


async def test_no_answer_contains_a_hidden_file_or_a_secret(tmp_path: Path) -> None:
    files = {
        "a.py": "def key():\n    return 'hush'\n",
        "secret/b.py": "def key(): ...\n",
    }
    found, refused = await asked(
        tmp_path,
        {"action": "definition", "symbol": "key"},
        {"action": "symbols", "path": "secret/b.py"},
        files=files,
        policy=Policy("auto", deny=("secret/**",)),
        hide=lambda text: text.replace("hush", "[hidden]"),
    )
    assert "secret" not in found.text
    assert "[hidden]" in found.text
    assert refused.is_error


async def test_positions_in_hidden_files_are_left_out_and_positions_in_libraries_marked(
    tmp_path: Path,
) -> None:
    root = (tmp_path / "work").resolve()

    class Knows:
        async def ask(self, question: CodeQuestion) -> CodeAnswer | None:
            del question
            places = (root / "secret/b.py", root / "a.py", tmp_path.resolve() / "lib/c.py")
            return CodeAnswer("a server", tuple(CodePlace(path, 1, 1) for path in places))

    (found,) = await asked(
        tmp_path,
        {"action": "references", "path": "a.py", "symbol": "key"},
        files={"a.py": "def key(): ...\n", "secret/b.py": "key()\n"},
        navigator=Navigator((Knows(), SyntaxTrees())),
        policy=Policy("auto", deny=("secret/**",)),
    )
    library = (tmp_path.resolve() / "lib/c.py").as_posix()
    assert text_of(found) == (f"a.py\n1\tdef key(): ...\n{library} (outside the workspace)\nline 1")


async def test_a_failed_source_is_reported_once_and_the_next_source_answers(tmp_path: Path) -> None:
    class Breaks:
        async def ask(self, question: CodeQuestion) -> CodeAnswer | None:
            raise SourceFailed(f"{question.action}: pyright ended")

    first, second = await asked(
        tmp_path,
        *({"action": "definition", "path": "shop/till.py", "symbol": "Cart"},) * 2,
        navigator=Navigator((Breaks(), SyntaxTrees())),
    )
    assert "1\tclass Cart:" in first.text
    assert "[definition: pyright ended]" in first.text
    assert "1\tclass Cart:" in second.text
    assert "pyright ended" not in second.text


async def test_many_found_positions_are_cut_and_counted(tmp_path: Path) -> None:
    (found,) = await asked(
        tmp_path,
        {"action": "references", "path": "a.py", "symbol": "f"},
        files={"a.py": "def f(): ...\n" + "f()\n" * 300},
    )
    assert found.text.count("\tf()") == MOST_SHOWN - 1
    assert "stopped at 100 of 301 places" in found.text


async def test_navigate_uses_unsaved_text(tmp_path: Path) -> None:
    disk = written(tmp_path / "work", {"a.py": "old = 1\n", "b.py": "print(fresh)\n"})
    path = disk.roots[0] / "a.py"

    class Unsaved(DiskWorkspace):
        def unsaved(self) -> Mapping[Path, str]:
            return {path: "\n\nfresh = 1\n"}

        async def read(self, wanted: Path) -> Snapshot:
            found = await super().read(wanted)
            if wanted != path:
                return found
            return msgspec.structs.replace(found, text=self.unsaved()[path], unsaved=True)

    (found,) = await asked(
        tmp_path,
        {"action": "definition", "path": "b.py", "symbol": "fresh"},
        workspace=Unsaved(disk.roots),
    )
    assert text_of(found).startswith("a.py (not saved yet)\n3\tfresh = 1")


async def test_a_wrong_position_gives_an_error_that_quotes_the_line(tmp_path: Path) -> None:
    results = await asked(
        tmp_path,
        {"action": "definition", "path": "shop/till.py", "line": 1, "symbol": "nothing"},
        {"action": "definition", "symbol": "nothing"},
        {"action": "problems"},
        {"action": "hover", "path": "shop/till.py"},
        {"action": "rename", "path": "shop/till.py", "symbol": "Cart"},
        {"action": "rename", "path": "shop/till.py", "symbol": "Cart", "new_name": "Basket"},
    )
    assert [one.is_error for one in results] == [True] * 6
    assert "near line 1, which reads 'from shop.cart import Cart'" in results[0].text
    assert "no symbol 'nothing' is defined in the workspace" in results[1].text
    assert "problems needs the path of a file" in results[2].text
    assert "hover needs the name of a symbol" in results[3].text
    assert "rename needs new_name" in results[4].text
    assert "find the places with references, and change them with edit_file" in results[5].text


async def test_other_agents_names_of_navigates_arguments_are_understood(tmp_path: Path) -> None:
    (found,) = await asked(tmp_path, {"action": "symbols", "file_path": "web/app.ts", "query": ""})
    assert text_of(found) == "web/app.ts\n1\texport function total(): number {"


async def test_the_documented_example_of_navigate_gives_the_shown_result(tmp_path: Path) -> None:
    files = {one.title: one.text for one in examples("navigation.md", "python")}
    (asking,) = examples("navigation.md", "json")
    (shown,) = examples("navigation.md", "text")
    (found,) = await asked(tmp_path, json.loads(asking.text), files=files)
    assert text_of(found) == shown.text.strip()


def test_no_grammar_is_imported_before_a_file_is_parsed() -> None:
    code = (
        "import sys, indwell.wiring.compose\n"
        "print([name for name in sys.modules if name.startswith('tree_sitter')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("run", "run"),
        ("app.run", "run"),
        ("app().run(x, y(z))", "run"),
        ("Cart::total", "total"),
        ("$total", "total"),
        ("run(", "run"),
        (")", ""),
        ("", ""),
    ],
)
def test_the_name_of_a_symbol_is_its_last_part_without_arguments(written: str, name: str) -> None:
    assert bare_name(written) == name


@posix_only("symlinks")
async def test_a_link_to_a_hidden_file_neither_shows_nor_renames_its_text(
    tmp_path: Path,
) -> None:
    root = (tmp_path / "work").resolve()
    workspace = written(root, {"a.py": "def key(): ...\n", "secret/b.py": "key = 'hunter2'\n"})
    link = root / "link.py"
    link.symlink_to("secret/b.py")

    class Knows:
        async def ask(self, question: CodeQuestion) -> CodeAnswer | None:
            if question.action == "rename":
                changes = {link: (ServerEdit(0, 0, 0, 3, "keys"),)}
                return CodeAnswer("a server", changes=changes)
            return CodeAnswer("a server", (CodePlace(link, 1, 1),))

    found, refused = await asked(
        tmp_path,
        {"action": "references", "path": "a.py", "symbol": "key"},
        {"action": "rename", "path": "a.py", "symbol": "key", "new_name": "keys"},
        workspace=workspace,
        navigator=Navigator((Knows(),)),
        policy=Policy("auto", deny=("secret/**",)),
    )
    assert text_of(found) == "link.py\nline 1"
    assert "a file that you may not see" in refused.text
    assert (root / "secret/b.py").read_text() == "key = 'hunter2'\n"
