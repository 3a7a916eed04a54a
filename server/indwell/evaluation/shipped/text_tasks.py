"""The templates of the shipped suite's tasks that document code or find a place in code. Pure data."""

from __future__ import annotations

from indwell.evaluation.shipped.check_beginnings import (
    JAVASCRIPT_START,
    PYTHON_START,
)
from indwell.evaluation.tasks import TaskTemplate

_UNITS = '''"""Converts @UNIT@ values."""

FACTOR = @FACTOR@


def to_small(value):
    return round(value * FACTOR)


def to_large(value, digits=1):
    return round(value / FACTOR, digits)
'''

_UNITS_SOLVED = '''"""Converts @UNIT@ values."""

FACTOR = @FACTOR@


def to_small(value):
    """Return the value in the small unit.

    >>> to_small(2) // FACTOR
    2
    """
    return round(value * FACTOR)


def to_large(value, digits=1):
    """Return the value in the large unit, rounded.

    >>> to_large(FACTOR)
    1.0
    """
    return round(value / FACTOR, digits)
'''

_CLI = '''"""The command line of @TOOL@."""

import argparse


def parser():
    one = argparse.ArgumentParser("@TOOL@")
    one.add_argument("--@FLAG@", type=int, default=@SIZE@, help="the limit")
    one.add_argument("--output", default="@TOOL@.txt", help="the file to write")
    one.add_argument("--dry-run", action="store_true", help="write nothing")
    return one
'''

_PLAIN = """export function @ONE@(width, height) {
  return width * height;
}

export function @TWO@(radius, digits = @DIGITS@) {
  return Number((Math.PI * radius ** 2).toFixed(digits));
}
"""

_DOCUMENTED = """/**
 * Returns the area of a rectangle.
 * @param {number} width The width.
 * @param {number} height The height.
 * @returns {number} The area.
 */
export function @ONE@(width, height) {
  return width * height;
}

/**
 * Returns the area of a circle.
 * @param {number} radius The radius.
 * @param {number} [digits] The digits after the point.
 * @returns {number} The rounded area.
 */
export function @TWO@(radius, digits = @DIGITS@) {
  return Number((Math.PI * radius ** 2).toFixed(digits));
}
"""

TEMPLATES: tuple[TaskTemplate, ...] = (
    TaskTemplate(
        name="examples",
        kind="document",
        language="python",
        prompt="Give each function in units.py a docstring with at least one doctest example that "
        "passes. Do not change the code.",
        files={"units.py": _UNITS},
        solution=(("units.py", "", _UNITS_SOLVED),),
        mutants=(
            (("units.py", "    2\n", "    3\n"),),
            (("units.py", "digits=1", "digits=2"),),
            (("units.py", "    >>> to_large(FACTOR)\n    1.0\n", ""),),
        ),
        check=PYTHON_START
        + '''
import doctest, units
SOURCE = """'''
        + _UNITS.replace('"""', "'''")
        + '''"""

def code(text):
    tree = ast.parse(text)
    for one in ast.walk(tree):
        if isinstance(one, (ast.Module, ast.FunctionDef)) and ast.get_docstring(one) is not None:
            one.body = one.body[1:]
    return ast.dump(tree)

with open("units.py", encoding="utf-8") as file:
    assert code(file.read()) == code(SOURCE), "the code has changed"
for name in ("to_small", "to_large"):
    found = doctest.DocTestFinder(recurse=False).find(getattr(units, name), name, units)
    assert found and found[0].examples, f"{name} has no example"
    assert name in "".join(one.source for one in found[0].examples), name
    assert doctest.DocTestRunner(verbose=False).run(found[0], out=sys.stderr.write).failed == 0
''',
        words={
            "UNIT": ("length", "weight"),
            "FACTOR": ("12", "16"),
        },
    ),
    TaskTemplate(
        name="options",
        kind="document",
        language="python",
        prompt="README.md lists the options of cli.py in a table, with the default of each option "
        "that has one (otherwise a hyphen). Bring the table up to date with cli.py: one row for "
        "each option, in the same order. Do not change cli.py.",
        files={
            "cli.py": _CLI,
            "README.md": "# @TOOL@\n\n| Option | Default |\n| --- | --- |\n"
            "| `--@FLAG@` | `5` |\n| `--verbose` | - |\n",
        },
        solution=(
            (
                "README.md",
                "| `--@FLAG@` | `5` |\n| `--verbose` | - |\n",
                "| `--@FLAG@` | `@SIZE@` |\n| `--output` | `@TOOL@.txt` |\n| `--dry-run` | - |\n",
            ),
        ),
        mutants=(
            (("README.md", "| `--dry-run` | - |\n", "| `--dry-run` | - |\n| `--verbose` | - |\n"),),
            (("README.md", "`@SIZE@`", "`5`"),),
            (("README.md", "| `--output` | `@TOOL@.txt` |\n", ""),),
        ),
        check=PYTHON_START
        + """
with open("README.md", encoding="utf-8") as file:
    rows = [[cell.strip(" `") for cell in line.strip().strip("|").split("|")] for line in file if line.startswith("|")]
assert [row[:2] for row in rows[2:]] == [["--@FLAG@", "@SIZE@"], ["--output", "@TOOL@.txt"], ["--dry-run", "-"]], rows
import cli
assert vars(cli.parser().parse_args([])) == {"@FLAG@": @SIZE@, "output": "@TOOL@.txt", "dry_run": False}
""",
        words={
            "TOOL": ("sift", "mixer", "tally"),
            "FLAG": ("limit", "most", "width"),
            "SIZE": ("40", "72", "100"),
        },
    ),
    TaskTemplate(
        name="caller",
        kind="navigate",
        language="python",
        prompt='Which function reaches `storage.@SINK@` when `app.handle("@EVENT@")` runs, as the '
        "direct caller of `storage.@SINK@`? Write `module.function` of the direct caller to "
        "answer.txt, and change nothing else.",
        files={
            "app.py": 'import first\nimport second\n\nROUTES = {\n    "open": first.begin,\n'
            '    "@EVENT@": second.begin,\n}\n\n\ndef handle(event):\n    return ROUTES[event]()\n',
            "first.py": "import storage\n\n\ndef begin():\n    return finish()\n\n\ndef finish():\n"
            "    return storage.@SINK@()\n",
            "second.py": "import first\nimport storage\n\n\ndef begin():\n    return @MIDDLE@(first)\n\n\n"
            'def @MIDDLE@(module):\n    storage.touch()\n    return getattr(module, "finish")()\n\n\n'
            "def finish():\n    return storage.@SINK@()\n",
            "storage.py": "def @SINK@():\n    return 1\n\n\ndef touch():\n    return 2\n",
        },
        solution=(("answer.txt", "", "first.finish\n"),),
        mutants=(
            (("answer.txt", "", "second.finish\n"),),
            (("answer.txt", "", "second.@MIDDLE@\n"),),
            (("storage.py", "return 2", "return 3"),),
        ),
        check=PYTHON_START
        + """
with open("answer.txt", encoding="utf-8") as file:
    assert file.read().strip().strip("`").removesuffix("()") == "first.finish"
with open("storage.py", encoding="utf-8") as file:
    assert file.read() == "def @SINK@():\\n    return 1\\n\\n\\ndef touch():\\n    return 2\\n"
""",
        words={
            "SINK": ("save", "flush", "commit"),
            "EVENT": ("close", "quit", "send"),
            "MIDDLE": ("through", "relay", "step"),
        },
    ),
    TaskTemplate(
        name="setting",
        kind="navigate",
        language="python",
        prompt='Which value does `settings.load("@STAGE@")["@KEY@"]` have? Find it by reading, and '
        "write only the value to answer.txt. Change nothing else.",
        files={
            "settings.py": '"""Merges settings; later layers override earlier ones."""\n\n'
            "import base\nimport stages\n\n\ndef load(stage):\n"
            "    layers = [base.VALUES, *stages.layers(stage)]\n    merged = {}\n"
            "    for layer in layers:\n        merged.update({key: value for key, value in layer.items() "
            "if value is not None})\n    return merged\n",
            "base.py": 'VALUES = {"@KEY@": @BASE@, "name": "base"}\n',
            "stages.py": 'PARENTS = {"@STAGE@": "common", "common": None, "other": "common"}\n'
            'VALUES = {\n    "common": {"@KEY@": @COMMON@},\n    "@STAGE@": {"@KEY@": None},\n'
            '    "other": {"@KEY@": 1},\n}\n\n\ndef layers(stage):\n    found = []\n'
            "    while stage:\n        found.insert(0, VALUES[stage])\n        stage = PARENTS[stage]\n"
            "    return found\n",
        },
        solution=(("answer.txt", "", "@COMMON@\n"),),
        mutants=(
            (("answer.txt", "", "@BASE@\n"),),
            (("answer.txt", "", "None\n"),),
            (("base.py", '"name": "base"', '"name": "x"'),),
        ),
        check=PYTHON_START
        + """
with open("answer.txt", encoding="utf-8") as file:
    assert file.read().strip() == "@COMMON@"
with open("base.py", encoding="utf-8") as file:
    assert file.read() == 'VALUES = {"@KEY@": @BASE@, "name": "base"}\\n'
import settings
assert settings.load("@STAGE@")["@KEY@"] == @COMMON@
""",
        words={
            "KEY": ("timeout", "retries", "workers"),
            "STAGE": ("production", "staging"),
            "BASE": ("30", "45"),
            "COMMON": ("70", "90"),
        },
    ),
    TaskTemplate(
        name="jsdoc",
        kind="document",
        language="javascript",
        prompt="Give each function of area.mjs a JSDoc comment right above it, with `@param` and a "
        "type for each parameter, and `@returns` with a type. Do not change the code.",
        files={"area.mjs": _PLAIN},
        solution=(("area.mjs", "", _DOCUMENTED),),
        mutants=(
            (("area.mjs", " * @param {number} height The height.\n", ""),),
            (("area.mjs", " * @returns {number} The area.\n", ""),),
            (("area.mjs", "radius ** 2", "radius ** 3"),),
        ),
        check=JAVASCRIPT_START
        + """
const SOURCE = `"""
        + _PLAIN
        + """`;
const bare = (code) => code.replace(/\\/\\*[^]*?\\*\\//g, "").replace(/\\s+/g, " ").trim();
assert.equal(bare(text("area.mjs")), bare(SOURCE), "the code has changed");
const before = (name) => text("area.mjs").split(new RegExp(`export function ${name}\\\\b`))[0];
const comment = (name) => before(name).trimEnd().endsWith("*/") ? before(name).split("/**").at(-1) : "";
for (const [name, ...parameters] of [["@ONE@", "width", "height"], ["@TWO@", "radius", "digits"]]) {
  for (const one of parameters) {
    assert.match(comment(name), new RegExp(`@param\\\\s+\\\\{.+\\\\}\\\\s+\\\\[?${one}\\\\b`), `${name}: ${one}`);
  }
  assert.match(comment(name), /@returns?\\s+\\{.+\\}/, name);
}
""",
        words={
            "ONE": ("rectangle", "panel", "field"),
            "TWO": ("circle", "disc", "pond"),
            "DIGITS": ("2", "3"),
        },
    ),
    TaskTemplate(
        name="errors",
        kind="document",
        language="javascript",
        prompt="codes.md has to list each error code of errors.mjs in a table with the columns Code "
        "and Message, sorted by code. Bring it up to date. Do not change errors.mjs.",
        files={
            "errors.mjs": 'export const ERRORS = {\n  E@THIRD@: "The @THING@ is locked",\n'
            '  E10: "The @THING@ does not exist",\n  E20: "The @THING@ is full",\n};\n',
            "codes.md": "# Codes\n\n| Code | Message |\n| --- | --- |\n"
            "| E20 | The @THING@ is full |\n| E15 | The @THING@ is old |\n",
        },
        solution=(
            (
                "codes.md",
                "| E20 | The @THING@ is full |\n| E15 | The @THING@ is old |\n",
                "| E10 | The @THING@ does not exist |\n| E20 | The @THING@ is full |\n"
                "| E@THIRD@ | The @THING@ is locked |\n",
            ),
        ),
        mutants=(
            (("codes.md", "| E10 | The @THING@ does not exist |\n", ""),),
            (
                (
                    "codes.md",
                    "| E@THIRD@ | The @THING@ is locked |\n",
                    "| E@THIRD@ | The @THING@ is locked |\n| E15 | The @THING@ is old |\n",
                ),
            ),
            (("errors.mjs", '"The @THING@ is full"', '"The @THING@ is too full"'),),
        ),
        check=JAVASCRIPT_START
        + """
const rows = text("codes.md").split("\\n").filter((line) => line.startsWith("|")).slice(2)
  .map((line) => line.split("|").slice(1, 3).map((cell) => cell.trim().replaceAll("`", "")));
const wanted = { E10: "The @THING@ does not exist", E20: "The @THING@ is full", E@THIRD@: "The @THING@ is locked" };
assert.deepEqual(rows, Object.entries(wanted));
assert.deepEqual({ ...(await load("errors.mjs")).ERRORS }, wanted);
""",
        words={"THING": ("drawer", "folder", "queue"), "THIRD": ("30", "40")},
    ),
    TaskTemplate(
        name="listener",
        kind="navigate",
        language="javascript",
        prompt='Which module\'s function runs last when `emit("@EVENT@")` of bus.mjs is called after '
        "main.mjs was imported? Write only the module's file name to answer.txt. Change nothing "
        "else.",
        files={
            "bus.mjs": "const listeners = [];\nexport function on(event, run, order = 0) {\n"
            "  listeners.push({ event, run, order });\n}\nexport function emit(event) {\n"
            "  const found = listeners.filter((one) => one.event === event);\n"
            "  return found.sort((a, b) => b.order - a.order).map((one) => one.run());\n}\n",
            "main.mjs": 'import "./@A@.mjs";\nimport "./@B@.mjs";\nimport "./@C@.mjs";\n',
            "@A@.mjs": 'import { on } from "./bus.mjs";\non("@EVENT@", () => "@A@", -1);\n',
            "@B@.mjs": 'import { on } from "./bus.mjs";\non("@EVENT@", () => "@B@", 5);\n'
            'on("start", () => "@B@", -9);\n',
            "@C@.mjs": 'import { on } from "./bus.mjs";\non("@EVENT@", () => "@C@");\n',
        },
        solution=(("answer.txt", "", "@A@.mjs\n"),),
        mutants=(
            (("answer.txt", "", "@B@.mjs\n"),),
            (("answer.txt", "", "@C@.mjs\n"),),
            (("@A@.mjs", "-1", "9"),),
        ),
        check=JAVASCRIPT_START
        + """
assert.equal(text("answer.txt").trim().replaceAll("`", "").replace(/^\\.\\//, ""), "@A@.mjs");
await load("main.mjs");
assert.deepEqual((await load("bus.mjs")).emit("@EVENT@"), ["@B@", "@C@", "@A@"]);
""",
        words={
            "EVENT": ("close", "login", "save"),
            "A": ("audit", "alarm"),
            "B": ("backup", "badge"),
            "C": ("counter", "cleaner"),
        },
    ),
    TaskTemplate(
        name="unused",
        kind="navigate",
        language="javascript",
        prompt="Exactly one exported function of lib.mjs is used by no other module, directly or "
        "through index.mjs. Write only its name to answer.txt. Change nothing else.",
        files={
            "lib.mjs": "".join(
                f"export function @{one}@() {{\n  return {number};\n}}\n"
                for number, one in enumerate(("A", "B", "C", "D"))
            ),
            "index.mjs": 'export { @A@ as first, @B@ as second, @C@ } from "./lib.mjs";\n',
            "use.mjs": 'import { second } from "./index.mjs";\nimport * as lib from "./lib.mjs";\n\n'
            'const name = "@D@";\nexport const use = () => second() + lib[name]();\n',
            "page.mjs": 'import { first as @C@ } from "./index.mjs";\n\nexport const page = () => @C@();\n',
        },
        solution=(("answer.txt", "", "@C@\n"),),
        mutants=(
            (("answer.txt", "", "@A@\n"),),
            (("answer.txt", "", "@D@\n"),),
            (("page.mjs", "first as", "@C@ as"),),
        ),
        check=JAVASCRIPT_START
        + """
assert.equal(text("answer.txt").trim().replaceAll("`", "").replace("()", ""), "@C@");
assert.equal((await load("page.mjs")).page(), 0);
assert.equal((await load("use.mjs")).use(), 4);
""",
        words={
            "A": ("parse", "scan"),
            "B": ("render", "draw"),
            "C": ("format", "layout"),
            "D": ("measure", "weigh"),
        },
    ),
)
