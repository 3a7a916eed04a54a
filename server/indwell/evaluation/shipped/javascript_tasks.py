"""The templates of the shipped suite's JavaScript tasks. Pure data."""

from __future__ import annotations

from indwell.evaluation.tasks import TaskTemplate

_START = """import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
const load = (name) => import(pathToFileURL(join(process.cwd(), name)).href);
const text = (name) => readFileSync(name, "utf8");
"""

_RUN_TESTS = (
    _START
    + """
function passes(from, to) {
  const place = mkdtempSync(join(tmpdir(), "check-"));
  try {
    for (const name of [MODULE, TESTS]) cpSync(name, join(place, name));
    const code = text(MODULE);
    assert.equal(code, SOURCE, "the module must stay as it is");
    assert.equal(code.split(from).length, 2);
    writeFileSync(join(place, MODULE), code.replace(from, () => to));
    return spawnSync(process.execPath, [TESTS], { cwd: place }).status === 0;
  } finally {
    rmSync(place, { recursive: true });
  }
}
function judge(changes) {
  assert(passes(changes[0][0], changes[0][0]), "the tests fail with the right code");
  for (const [from, to] of changes) assert(!passes(from, to), `no test fails if ${from} becomes ${to}`);
}
"""
)

_QUERY = """// Parses the query of an address.

/** Returns an object; a key that occurs several times has an array of its values, in order. */
export function parse(query) {
  const found = {};
  for (const part of query.replace("?", "").split("&")) {
    const [key, value] = part.split("=");
    found[key] = decodeURIComponent(value);
  }
  return found;
}
"""
_QUERY_SOLVED = """// Parses the query of an address.

const decoded = (text) => decodeURIComponent(text.replaceAll("+", " "));

/** Returns an object; a key that occurs several times has an array of its values, in order. */
export function parse(query) {
  const found = {};
  for (const part of query.replace(/^\\?/, "").split("&")) {
    if (!part) continue;
    const at = part.includes("=") ? part.indexOf("=") : part.length;
    const key = decoded(part.slice(0, at));
    const value = decoded(part.slice(at + 1));
    found[key] = Object.hasOwn(found, key) ? [found[key], value].flat() : value;
  }
  return found;
}
"""

_RANK = """// Ranks @THINGS@.

/** Returns the `n` largest numbers, largest first; the argument stays as it is. */
export function largest(@THINGS@, n) {
  return @THINGS@.sort().reverse().slice(0, n);
}

/** Returns the middle number, or the mean of the two middle ones; undefined if there are none. */
export function median(@THINGS@) {
  return @THINGS@.sort()[@THINGS@.length / 2];
}
"""
_RANK_SOLVED = """// Ranks @THINGS@.

/** Returns the `n` largest numbers, largest first; the argument stays as it is. */
export function largest(@THINGS@, n) {
  return [...@THINGS@].sort((a, b) => b - a).slice(0, n);
}

/** Returns the middle number, or the mean of the two middle ones; undefined if there are none. */
export function median(@THINGS@) {
  if (!@THINGS@.length) return undefined;
  const ordered = [...@THINGS@].sort((a, b) => a - b);
  const half = ordered.length >> 1;
  return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}
"""

_CLAMP = """/**
 * Returns the value, but at least `low` and at most `high`.
 *
 * A value that is no number gives `low`. If `low` is above `high`, a RangeError is thrown.
 */
export function @NAME@(value, low = @LOW@, high = @HIGH@) {
  if (low > high) throw new RangeError("low is above high");
  if (typeof value !== "number" || Number.isNaN(value)) return low;
  return Math.min(high, Math.max(low, value));
}
"""

_CACHE = """/** Keeps the `size` values that were used last; get and set both use a key. */
export class @NAME@ {
  #kept = new Map();
  constructor(size = @SIZE@) {
    this.size = size;
  }
  /** Returns the value of a key, or undefined. */
  get(key) {
    if (!this.#kept.has(key)) return undefined;
    const value = this.#kept.get(key);
    this.#kept.delete(key);
    this.#kept.set(key, value);
    return value;
  }
  /** Sets a key; the key that was unused for the longest time leaves a full cache. */
  set(key, value) {
    this.#kept.delete(key);
    this.#kept.set(key, value);
    if (this.#kept.size > this.size) this.#kept.delete(this.#kept.keys().next().value);
  }
}
"""

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

_CART = """export function cartLine(name, cents) {
  const whole = Math.floor(cents / 100);
  const rest = String(cents % 100).padStart(2, "0");
  return `${name}: ${whole}@POINT@${rest} @COIN@`;
}
"""
_BILL = """export function billTotal(lines) {
  const cents = lines.reduce((sum, line) => sum + line, 0);
  const whole = Math.floor(cents / 100);
  const rest = String(cents % 100).padStart(2, "0");
  return `Total ${whole}@POINT@${rest} @COIN@`;
}
"""

TEMPLATES: tuple[TaskTemplate, ...] = (
    TaskTemplate(
        name="query",
        kind="fix",
        language="javascript",
        prompt="`parse` in query.mjs is wrong for repeated keys, encoded keys, `+` (a space), values "
        "with `=`, keys without a value (an empty text) and an empty query (no keys). Fix it.",
        files={"query.mjs": _QUERY, "main.mjs": 'export { parse } from "./query.mjs";\n// @WORD@\n'},
        solution=(("query.mjs", "", _QUERY_SOLVED),),
        mutants=(
            (("query.mjs", "if (!part) continue;", ""),),
            (("query.mjs", '.replaceAll("+", " ")', ""),),
            (("query.mjs", "part.slice(at + 1)", 'part.split("=")[1] ?? ""'),),
            (("query.mjs", "[found[key], value].flat()", "[value, found[key]].flat()"),),
        ),
        check=_START
        + """
const { parse } = await load("query.mjs");
assert.deepEqual(parse("?@WORD@=1&b=x%26y"), { "@WORD@": "1", b: "x&y" });
assert.deepEqual(parse("a=1&a=2&a=3"), { a: ["1", "2", "3"] });
assert.deepEqual(parse("a+b=c+d&e%20f=g=h&flag"), { "a b": "c d", "e f": "g=h", flag: "" });
assert.deepEqual(parse("?"), {});
""",
        words={"WORD": ("page", "sort", "lang")},
    ),
    TaskTemplate(
        name="rank",
        kind="fix",
        language="javascript",
        prompt="Both functions of rank.mjs are wrong for numbers with several digits, change their "
        "argument, and `median` is wrong in other cases, too. Fix them as their comments say.",
        files={"rank.mjs": _RANK},
        solution=(("rank.mjs", "", _RANK_SOLVED),),
        mutants=(
            (("rank.mjs", "[...@THINGS@].sort((a, b) => b - a)", "@THINGS@.sort((a, b) => b - a)"),),
            (("rank.mjs", "[...@THINGS@].sort((a, b) => a - b)", "[...@THINGS@].sort()"),),
            (("rank.mjs", "  if (!@THINGS@.length) return undefined;\n", ""),),
        ),
        check=_START
        + """
const { largest, median } = await load("rank.mjs");
const given = [9, 10, 100, 2];
assert.deepEqual(largest(given, 2), [100, 10]);
assert.equal(median(given), 9.5);
assert.deepEqual(given, [9, 10, 100, 2]);
assert.equal(median([30, 4, 100]), 30);
assert.equal(median([]), undefined);
""",
        words={"THINGS": ("scores", "prices", "ages", "sizes")},
    ),
    TaskTemplate(
        name="money",
        kind="refactor",
        language="javascript",
        prompt="cart.mjs and bill.mjs format money with the same code. Move the code to an exported "
        "function `money(cents)` in a new module money.mjs, and use it in both. The results must "
        "stay the same.",
        files={"cart.mjs": _CART, "bill.mjs": _BILL},
        solution=(
            (
                "money.mjs",
                "",
                "export function money(cents) {\n  const whole = Math.floor(cents / 100);\n"
                '  const rest = String(cents % 100).padStart(2, "0");\n'
                "  return `${whole}@POINT@${rest} @COIN@`;\n}\n",
            ),
            (
                "cart.mjs",
                "",
                'import { money } from "./money.mjs";\n\nexport function cartLine(name, cents) {\n'
                "  return `${name}: ${money(cents)}`;\n}\n",
            ),
            (
                "bill.mjs",
                "",
                'import { money } from "./money.mjs";\n\nexport function billTotal(lines) {\n'
                "  return `Total ${money(lines.reduce((sum, line) => sum + line, 0))}`;\n}\n",
            ),
        ),
        mutants=(
            (("money.mjs", '.padStart(2, "0")', ""),),
            (("bill.mjs", "", _BILL),),
            (("cart.mjs", "${name}: ", "${name} "),),
        ),
        check=_START
        + """
const { money } = await load("money.mjs");
const { cartLine } = await load("cart.mjs");
const { billTotal } = await load("bill.mjs");
assert.equal(money(1205), "12@POINT@05 @COIN@");
assert.equal(cartLine("tea", 250), "tea: 2@POINT@50 @COIN@");
assert.equal(billTotal([199, 2]), "Total 2@POINT@01 @COIN@");
for (const name of ["cart.mjs", "bill.mjs"]) {
  assert(text(name).includes("money.mjs") && !text(name).includes("padStart"), name);
}
""",
        words={"POINT": (".", ","), "COIN": ("EUR", "CHF", "USD")},
    ),
    TaskTemplate(
        name="exports",
        kind="refactor",
        language="javascript",
        prompt="@NAME@.mjs has a default export, an object. Replace it by named exports of the two "
        "functions, and change all modules that import it. No default export may stay.",
        files={
            "@NAME@.mjs": "export default {\n  begin(n) {\n    return `begin ${n}`;\n  },\n"
            "  end(n) {\n    return `end ${n}`;\n  },\n};\n",
            "one.mjs": 'import tool from "./@NAME@.mjs";\n\nexport const one = () => tool.begin(1);\n',
            "two.mjs": 'import * as all from "./@NAME@.mjs";\n\nconst end = "default";\n'
            "export const two = () => `${end} ${all.default.end(2)}`;\n",
        },
        solution=(
            (
                "@NAME@.mjs",
                "",
                "export function begin(n) {\n  return `begin ${n}`;\n}\n\n"
                "export function end(n) {\n  return `end ${n}`;\n}\n",
            ),
            (
                "one.mjs",
                "",
                'import { begin } from "./@NAME@.mjs";\n\nexport const one = () => begin(1);\n',
            ),
            ("two.mjs", "all.default.end(2)", "all.end(2)"),
        ),
        mutants=(
            (("two.mjs", "all.end(2)", "all.default.end(2)"),),
            (("two.mjs", "${end} ", ""),),
            (("one.mjs", "begin(1)", "begin(2)"),),
        ),
        check=_START
        + """
const all = await load("@NAME@.mjs");
assert.deepEqual(Object.keys(all).sort(), ["begin", "end"]);
assert.equal((await load("one.mjs")).one(), "begin 1");
assert.equal((await load("two.mjs")).two(), "default end 2");
""",
        words={"NAME": ("timer", "tracer", "lamp")},
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
        check=_START
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
        check=_START
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
        name="clamp",
        kind="test",
        language="javascript",
        prompt="Write tests for clamp.mjs in clamp.test.mjs, which `node clamp.test.mjs` runs; use "
        "node:assert only. Each sentence of the comment, and both defaults, must have a test that "
        "fails if it is no longer true. Leave clamp.mjs as it is.",
        files={"clamp.mjs": _CLAMP},
        solution=(
            (
                "clamp.test.mjs",
                "",
                'import assert from "node:assert/strict";\nimport { @NAME@ } from "./clamp.mjs";\n\n'
                "assert.equal(@NAME@(5, 1, 9), 5);\nassert.equal(@NAME@(-1e6), @LOW@);\n"
                'assert.equal(@NAME@(1e6), @HIGH@);\nassert.equal(@NAME@(NaN, 1, 9), 1);\n'
                'assert.equal(@NAME@("7", 1, 9), 1);\nassert.throws(() => @NAME@(5, 9, 1), RangeError);\n',
            ),
        ),
        mutants=(
            (("clamp.test.mjs", "assert.throws(() => @NAME@(5, 9, 1), RangeError);\n", ""),),
            (("clamp.test.mjs", "assert.equal(@NAME@(1e6), @HIGH@);\n", ""),),
            (("clamp.test.mjs", 'assert.equal(@NAME@("7", 1, 9), 1);\n', ""),),
            (("clamp.test.mjs", "@NAME@(5, 1, 9), 5", "@NAME@(5, 1, 9), 6"),),
        ),
        check=_RUN_TESTS.replace("MODULE", '"clamp.mjs"').replace("TESTS", '"clamp.test.mjs"')
        + "const SOURCE = `"
        + _CLAMP.replace("`", "\\`")
        + """`;
judge([
  ["Math.max(low, value)", "value"], ["Math.min(high, Math.max(low, value))", "Math.max(low, value)"],
  ["low = @LOW@", "low = @LOW@ + 1"], ["high = @HIGH@", "high = @HIGH@ + 1"],
  ["|| Number.isNaN(value)", ""], ['typeof value !== "number" ||', ""], ["throw new RangeError", "throw new Error"],
]);
""",
        words={"NAME": ("clamp", "bounded", "within"), "LOW": ("0", "10"), "HIGH": ("100", "255")},
    ),
    TaskTemplate(
        name="cache",
        kind="test",
        language="javascript",
        prompt="Write tests for cache.mjs in cache.test.mjs, which `node cache.test.mjs` runs; use "
        "node:assert only. Each sentence of the comments, and the default size, must have a test "
        "that fails if it is no longer true. Leave cache.mjs as it is.",
        files={"cache.mjs": _CACHE},
        solution=(
            (
                "cache.test.mjs",
                "",
                'import assert from "node:assert/strict";\nimport { @NAME@ } from "./cache.mjs";\n\n'
                "const one = new @NAME@(2);\nassert.equal(one.get(1), undefined);\n"
                "one.set(1, 10);\none.set(2, 20);\nassert.equal(one.get(1), 10);\none.set(3, 30);\n"
                "assert.equal(one.get(2), undefined);\nassert.equal(one.get(1), 10);\n"
                "one.set(3, 31);\none.set(4, 40);\nassert.equal(one.get(1), undefined);\n"
                "assert.equal(one.get(3), 31);\nassert.equal(new @NAME@().size, @SIZE@);\n",
            ),
        ),
        mutants=(
            (("cache.test.mjs", "assert.equal(new @NAME@().size, @SIZE@);\n", ""),),
            (
                (
                    "cache.test.mjs",
                    "one.set(3, 31);\none.set(4, 40);\nassert.equal(one.get(1), undefined);\n"
                    "assert.equal(one.get(3), 31);\n",
                    "",
                ),
            ),
            (("cache.test.mjs", "assert.equal(one.get(2), undefined)", "assert.equal(one.get(2), 20)"),),
        ),
        check=_RUN_TESTS.replace("MODULE", '"cache.mjs"').replace("TESTS", '"cache.test.mjs"')
        + "const SOURCE = `"
        + _CACHE.replace("`", "\\`")
        + """`;
judge([
  ["    this.#kept.delete(key);\\n    this.#kept.set(key, value);\\n    return value;", "    return value;"],
  ["    this.#kept.delete(key);\\n    this.#kept.set(key, value);\\n    if", "    this.#kept.set(key, value);\\n    if"],
  ["this.#kept.size > this.size", "this.#kept.size > this.size + 1"],
  ["size = @SIZE@", "size = @SIZE@ + 1"],
]);
""",
        words={"NAME": ("Cache", "Recent", "Shelf"), "SIZE": ("8", "16", "50")},
    ),
    TaskTemplate(
        name="listener",
        kind="navigate",
        language="javascript",
        prompt="Which module's function runs last when `emit(\"@EVENT@\")` of bus.mjs is called after "
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
        check=_START
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
        check=_START
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
