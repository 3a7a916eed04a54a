import assert from "node:assert/strict";
import { test } from "node:test";
import { type Surroundings, suggestions } from "../../../src/shared/suggestions.ts";

const NOTHING: Surroundings = { file: null, elsewhere: { errors: 0, files: 0 }, git: null };
const FILE = { path: "shop/invoice.py", errors: 0, warnings: 0, symbols: [] };
const titles = (around: Partial<Surroundings>) =>
  suggestions({ ...NOTHING, ...around }).map((one) => one.title);

test("suggestions about problems come first, then changed files, then the open file", () => {
  assert.deepEqual(
    titles({
      file: { ...FILE, errors: 1, warnings: 1, symbols: [{ name: "total", isFunction: true }] },
      git: { branch: "rounding", changed: 4 },
    }),
    [
      "Fix 2 problems in invoice.py",
      "Review 4 changed files on rounding",
      "Explain total() in invoice.py",
    ],
  );
});

test("errors in other files are suggested if the open file has none", () => {
  assert.deepEqual(titles({ file: FILE, elsewhere: { errors: 3, files: 2 } }), [
    "Fix 3 errors in 2 files",
    "Explain invoice.py",
    "Write tests for invoice.py",
  ]);
});

test("without an open file the suggestions are about the project", () => {
  assert.deepEqual(titles({}), [
    "Explain the structure of this project",
    "Say how to build, run and test it",
    "Find remaining work",
  ]);
});

test("a feature branch without uncommitted changes is suggested for review, but main is not", () => {
  assert.equal(
    titles({ git: { branch: "rounding", changed: 0 } })[0],
    "Review what rounding changes",
  );
  assert.equal(
    titles({ git: { branch: "main", changed: 0 } })[0],
    "Explain the structure of this project",
  );
});

test("no tests are suggested for a test file", () => {
  const file = { ...FILE, path: "tests/test_invoice.py" };
  assert.ok(!titles({ file }).some((title) => title.startsWith("Write tests")));
});

for (const path of ["README.md", "docs/notes.txt", "Makefile", "package.json", ".env"])
  test(`no tests are suggested for ${path}, which contains no program code`, () => {
    const [first, ...others] = titles({ file: { ...FILE, path } });
    assert.equal(first, `Explain ${path.split("/").at(-1)}`);
    assert.ok(!others.some((title) => title.startsWith("Write tests")));
  });

test("UI-09: a hostile file or branch name is escaped and shortened", () => {
  const hostile = `a\u202e\n${"x".repeat(200)}.py`;
  for (const one of suggestions({
    ...NOTHING,
    file: { ...FILE, path: hostile, errors: 2 },
    git: { branch: hostile, changed: 1 },
  })) {
    assert.ok(!one.title.includes("\u202e") && !one.prompt.includes("\u202e"));
    assert.ok(one.title.length < 100);
  }
});
