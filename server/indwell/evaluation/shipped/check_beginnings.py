"""The beginnings of the shipped suite's hidden checks. Pure data."""

from __future__ import annotations

PYTHON_START = (
    "import ast, json, os, re, shutil, subprocess, sys, tempfile\nsys.path.insert(0, os.getcwd())\n"
)

PYTHON_RUN_TESTS = (
    PYTHON_START
    + """
RUN = "import sys, unittest; sys.path.insert(0, '.'); unittest.main(module=None, argv=['x', 'discover', '-s', 'tests', '-t', '.'])"

def passes(old, new):
    with tempfile.TemporaryDirectory() as place:
        tree = os.path.join(place, "tree")
        shutil.copytree(".", tree, ignore=shutil.ignore_patterns(".git"))
        path = os.path.join(tree, MODULE)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert text == SOURCE, "the module must stay as it is"
        assert text.count(old) == 1
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace(old, new))
        ran = subprocess.run([sys.executable, "-SB", "-c", RUN], cwd=tree, capture_output=True, text=True)
        assert "Ran 0 tests" not in ran.stderr, "there are no tests"
        return ran.returncode == 0

def judge(changes):
    assert passes(changes[0][0], changes[0][0]), "the tests fail with the right code"
    for old, new in changes:
        assert not passes(old, new), f"no test fails if {old!r} becomes {new!r}"
"""
)

JAVASCRIPT_START = """import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
const load = (name) => import(pathToFileURL(join(process.cwd(), name)).href);
const text = (name) => readFileSync(name, "utf8");
"""

JAVASCRIPT_RUN_TESTS = (
    JAVASCRIPT_START
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
