"""Counts calls and tokens to answer thirty questions about code in three packages, by tool.

    python benchmarks/navigation.py NODE_MODULES PACKAGE LANGUAGE [PACKAGE LANGUAGE …]

NODE_MODULES has pyright, typescript-language-server and a typescript with a tsserver; LANGUAGE is
``python`` or ``typescript``. The script draws seven questions for a definition and three for all
references from each PACKAGE, at random places outside tests where code calls a name. The language
server's answer counts as true.

One strategy answers all questions, and knows the place of the question. The strategy asks for the
definition:
by a regular expression for definitions of the name (``grep``), or by ``navigate``. If there are
several places, the strategy reads twenty lines at each place. The strategy begins with the
question's file, and continues with files whose names occur in the first forty lines of that file.
After ten places the strategy stops. For references it takes the lines of one search. Tokens are
those of o200k, of calls and results.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from report import show

from indwell.navigation.navigator import CodePlace, CodeQuestion, Navigator, SourceFailed
from indwell.navigation.syntax import SyntaxTrees
from indwell.navigation.user_servers import RunningServers, UserServers
from indwell.settings.table_types import LanguageServerSetting
from indwell.tools.base import ToolContext
from indwell.tools.known_texts import KnownTexts
from indwell.tools.navigation.locate import WorkspaceTexts
from indwell.tools.navigation.navigate import make_navigate
from indwell.tools.read import make_read_file
from indwell.tools.searching.grep import make_grep
from indwell.workspace.disk import DiskWorkspace

DEFINITIONS, REFERENCES = 7, 3
MOST_REFERENCES = 80  # most references of a question, since a result shows 100 lines
SUFFIX = {"python": ".py", "typescript": ".ts"}
DEFINED = {
    "python": r"^\s*((async )?def|class) +{0}\b|^\s*{0}\s*(:[^=]+)?=[^=]",
    "typescript": (
        r"\b(function\*?|class|interface|type|const|let|enum|namespace) +{0}\b"
        r"|^\s*(public |private |static |readonly |async |get |set )*{0}\??\s*[(<:=]"
    ),
}
CALLED = re.compile(r"(?<![\w.])((?:\w+\.)*(\w+))\(")
MOST_READ = 10  # most places that the strategy reads


class Question(NamedTuple):
    kind: str
    path: str
    line: int
    name: str
    written: str  # the name with its prefix, such as ``util.name``
    truth: frozenset[tuple[str, int]]


class Cost(NamedTuple):
    is_right: bool
    calls: int
    tokens: int
    wrong: int = 0  # number of lines in results that are no references


class Bench:
    """The tools for one package, and the tokens that a strategy has used."""

    def __init__(self, root: Path, language: str, servers: UserServers) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import bpe_openai  # noqa: PLC0415

            self._encode = bpe_openai.get_encoding("o200k_base").encode
        self.root, self.language, self.servers = root, language, servers
        self.tools = {
            "grep": make_grep(),
            "read_file": make_read_file(),
            "trees": make_navigate(Navigator((SyntaxTrees(),))),
            "server": make_navigate(Navigator((servers, SyntaxTrees()))),
        }
        self.calls = self.tokens = 0

        async def spill(_name: str, _text: str) -> Path:
            raise AssertionError

        self.context = ToolContext(
            workspace=DiskWorkspace((root,)), seen=KnownTexts(), spill=spill, on_output=print
        )

    async def call(self, tool: str, **arguments: Any) -> str:
        given = json.dumps(arguments)
        outcome = await self.tools[tool].bind(given).run(self.context)
        self.calls += 1
        self.tokens += len(self._encode(given)) + len(self._encode(outcome.text))
        return outcome.text

    def reset(self) -> None:
        self.calls = self.tokens = 0


def found_in(text: str) -> list[tuple[str, int]]:
    """Return the places in a result of grep or navigate."""
    places, path = [], ""
    for line in text.splitlines():
        if match := re.match(r"(\d+)[:\t]|line (\d+)$", line):
            places.append((path, int(match[1] or match[2])))
        elif not line.startswith("["):
            path = line.removesuffix(" (outside the workspace)")
    return places


async def definition(bench: Bench, question: Question, tool: str) -> Cost:
    bench.reset()
    if tool == "grep":
        pattern = DEFINED[bench.language].format(re.escape(question.name))
        text = await bench.call("grep", pattern=pattern)
        places = found_in(text)
    else:
        text = await bench.call(
            tool,
            action="definition",
            path=question.path,
            line=question.line,
            symbol=question.written,
        )
        places = found_in(text)
        if "several symbols fit" not in text:  # the result has one definition with its body
            places = places[:1]
        elif re.search(r"^\d+\t.*\n\d+\t", text, re.MULTILINE) and "stopped at" not in text:
            # otherwise the result contains the bodies
            await bench.call("read_file", path=question.path, limit=40)
            return Cost(bool(question.truth & set(places)), bench.calls, bench.tokens)
    if len(places) == 1:
        return Cost(places[0] in question.truth, bench.calls, bench.tokens)
    own = [one for one in places if one[0] == question.path]
    others = [one for one in places if one[0] != question.path]
    ordered = own
    if others:
        head = await bench.call("read_file", path=question.path, limit=40)
        ordered += sorted(others, key=lambda one: Path(one[0]).stem not in head)
    for place in ordered[:MOST_READ]:
        await bench.call("read_file", path=place[0], offset=place[1], limit=20)
        if place in question.truth:
            return Cost(place in question.truth, bench.calls, bench.tokens)
    return Cost(is_right=False, calls=bench.calls, tokens=bench.tokens)


async def references(bench: Bench, question: Question, tool: str) -> Cost:
    bench.reset()
    if tool == "grep":
        text = await bench.call("grep", pattern=rf"\b{re.escape(question.name)}\b")
    else:
        text = await bench.call(
            tool,
            action="references",
            path=question.path,
            line=question.line,
            symbol=question.written,
        )
    places = set(found_in(text))
    return Cost(places >= question.truth, bench.calls, bench.tokens, len(places - question.truth))


async def questions(bench: Bench, chance: random.Random) -> list[Question]:
    """Draw calls at random, and keep calls that the language server resolves in the package."""
    files = [
        path
        for path in sorted(bench.root.rglob(f"*{SUFFIX[bench.language]}"))
        if {"tests", "benchmarks", "node_modules"}.isdisjoint(path.relative_to(bench.root).parts)
    ]
    drawn: list[Question] = []
    texts = WorkspaceTexts(bench.context)
    seen: set[str] = set()
    for kind, wanted in (("definition", DEFINITIONS), ("references", REFERENCES)):
        n_found = 0
        while n_found < wanted:
            path = chance.choice(files)
            text = path.read_text("utf-8")
            calls = list(CALLED.finditer(text))
            if not calls:
                continue
            match = chance.choice(calls)
            name, at = match[2], match.start(2)
            line = text.count("\n", 0, at)
            column = at - (text.rfind("\n", 0, at) + 1)
            asked = CodeQuestion("definition", texts, path, text, line, column, name)
            answer = await bench.servers.ask(asked)
            if name in seen or answer is None or len(answer.places) != 1:
                continue
            (place,) = answer.places
            if place.path not in files or (place.path, place.line) == (path, line + 1):
                continue
            if kind == "references":
                asked = CodeQuestion("references", texts, path, text, line, column, name)
                answer = await bench.servers.ask(asked)
                if answer is None or len(answer.places) > MOST_REFERENCES:
                    continue
            truth = frozenset(_named(bench.root, one) for one in answer.places)
            shown = path.relative_to(bench.root).as_posix()
            drawn.append(Question(kind, shown, line + 1, name, match[1], truth))
            seen.add(name)
            n_found += 1
    return drawn


def _named(root: Path, place: CodePlace) -> tuple[str, int]:
    inside = place.path.is_relative_to(root)
    name = place.path.relative_to(root) if inside else place.path
    return name.as_posix(), place.line


def copied(source: str, folder: str, modules: str) -> Path:
    root = Path(folder).resolve() / Path(source).name
    shutil.copytree(source, root)
    if any(root.rglob("*.ts")):
        (root / "tsconfig.json").write_text('{"compilerOptions": {"strict": true}}')
        (root / "node_modules").symlink_to(Path(modules).resolve())
    return root


async def main() -> None:
    modules, *packages = sys.argv[1:]
    commands = {
        "python": ("node", f"{modules}/pyright/langserver.index.js", "--stdio"),
        "typescript": ("node", f"{modules}/.bin/typescript-language-server", "--stdio"),
    }
    results: dict[tuple[str, str], list[Cost]] = {}
    for source, language in zip(packages[::2], packages[1::2], strict=True):
        with tempfile.TemporaryDirectory() as folder:
            root = await asyncio.to_thread(copied, source, folder, modules)
            setting = LanguageServerSetting(commands[language], (language,), confined=False)
            settings = {"server": setting}
            given = (partial(dict, settings), lambda: None, lambda: True)
            servers = UserServers(RunningServers(), (root,), *given)
            bench = Bench(root, language, servers)
            try:
                for one in await questions(bench, random.Random(22)):
                    ask = definition if one.kind == "definition" else references
                    for tool in ("grep", "trees", "server"):
                        cost = await ask(bench, one, tool)
                        results.setdefault((one.kind, tool), []).append(cost)
                        print(Path(source).name, one.name, one.kind, tool, cost, file=sys.stderr)
            except SourceFailed as error:
                sys.exit(str(error))
            finally:
                await servers.close()
    names = {"trees": "navigate, syntax trees", "server": "navigate, language server"}
    rows = {
        f"{kind}: {names.get(tool, tool)}": {
            "right": sum(one.is_right for one in costs),
            "of": len(costs),
            "calls": sum(one.calls for one in costs) / len(costs),
            "tokens": sum(one.tokens for one in costs) / len(costs),
            "wrong lines": sum(one.wrong for one in costs) / len(costs),
        }
        for (kind, tool), costs in results.items()
    }
    show("Questions about code: means of each strategy", rows)


if __name__ == "__main__":
    asyncio.run(main())
