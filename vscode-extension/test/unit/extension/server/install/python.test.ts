import assert from "node:assert/strict";
import { test } from "node:test";
import {
  candidates,
  choosePython,
  type Python,
  parsePython,
  searchPath,
} from "../../../../../src/extension/server/install/python.ts";

const python = (minor: number, hasVenv = true, major = 3): Python => ({
  executable: `/usr/bin/python${major}.${minor}`,
  major,
  minor,
  hasVenv,
});

test("the output of a Python gives its path, its version and its support for environments", () => {
  assert.deepEqual(parsePython('["/usr/bin/python3", 3, 12, true]\n'), {
    executable: "/usr/bin/python3",
    major: 3,
    minor: 12,
    hasVenv: true,
  });
});

test("the output of a stub or a broken shim does not count as a Python", () => {
  for (const output of [
    "",
    "Python was not found",
    "[]",
    '["", 3, 12, true]',
    '["/p", "3", 12]',
    "{}",
  ])
    assert.equal(parsePython(output), undefined, output);
});

test("the newest tested version is preferred to untested and outdated versions", () => {
  const chosen = choosePython([python(10), python(15), python(11), python(12), python(7, true, 2)]);
  assert.deepEqual(chosen, python(12));
});

test("a Python that makes environments is preferred to a newer one that does not", () => {
  assert.deepEqual(choosePython([python(13, false), python(11)]), python(11));
});

test("without a tested version the oldest of the newer versions is chosen", () => {
  assert.deepEqual(choosePython([python(16), python(15)]), python(15));
});

test("Python 3.10 is too old", () => {
  assert.equal(choosePython([python(10)]), undefined);
});

test("on Windows the py launcher is also a candidate", () => {
  const commands = candidates("win32").map(({ command, args }) => [command, ...args].join(" "));
  assert.ok(commands.includes("py -3"));
  assert.ok(commands.includes("python"));
});

test("programs are searched for in PATH and the usual folders, but not in relative folders", () => {
  const folders = searchPath("/usr/bin:.:bin::/opt/tools", "/home/ada", "linux");
  assert.deepEqual(folders, [
    "/usr/bin",
    "/opt/tools",
    "/home/ada/.local/bin",
    "/home/ada/.cargo/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
  ]);
});
