import assert from "node:assert/strict";
import { test } from "node:test";
import {
  installSteps,
  toolsFor,
  whyNone,
} from "../../../../../src/extension/server/install/install.ts";
import type { Python } from "../../../../../src/extension/server/install/python.ts";

const PYTHON: Python = { executable: "/usr/bin/python3", major: 3, minor: 12, hasVenv: true };
const BARE: Python = { ...PYTHON, hasVenv: false };
const CONTENTS = { folder: "/s/made", requirements: "/x/requirements.txt", wheel: "/x/i.whl" };

test("uv is tried before venv, and each only if it is available", () => {
  assert.deepEqual(
    toolsFor("/bin/uv", PYTHON).map((tool) => tool.kind),
    ["uv", "venv"],
  );
  assert.deepEqual(
    toolsFor(undefined, PYTHON).map((tool) => tool.kind),
    ["venv"],
  );
  assert.deepEqual(
    toolsFor("/bin/uv", BARE).map((tool) => tool.kind),
    ["uv"],
  );
});

test("without a tool the message says what is missing", () => {
  assert.deepEqual(toolsFor(undefined, BARE), []);
  assert.match(whyNone(BARE, "linux"), /apt-get install python3-venv/);
  assert.doesNotMatch(whyNone(BARE, "darwin"), /apt-get/);
  assert.match(whyNone(undefined, "linux"), /Python 3\.11 or newer was not found/);
});

test("with venv, pip installs hashed wheels, then only the server's wheel, and the server is imported", () => {
  const steps = installSteps({ kind: "venv", python: PYTHON }, CONTENTS, "linux");
  const inside = "/s/made/bin/python";
  const pip = [
    "-I",
    "-m",
    "pip",
    "--disable-pip-version-check",
    "--no-input",
    "--quiet",
    "install",
    "--no-compile",
  ];
  assert.deepEqual(
    steps.map(({ command, args }) => [command, ...args]),
    [
      ["/usr/bin/python3", "-I", "-m", "venv", "/s/made"],
      [inside, ...pip, "--require-hashes", "--only-binary", ":all:", "-r", "/x/requirements.txt"],
      [inside, ...pip, "--no-deps", "--no-index", "/x/i.whl"],
      [inside, "-I", "-c", "import indwell.cli; print(indwell.__version__)"],
    ],
  );
});

test("without a system Python uv gets the versions that it may fetch", () => {
  const [make] = installSteps({ kind: "uv", uv: "/bin/uv", python: undefined }, CONTENTS, "linux");
  assert.deepEqual(make?.args, [
    "venv",
    "--quiet",
    "--no-project",
    "--python",
    ">=3.11",
    "/s/made",
  ]);
});

test("on Windows the interpreter is in Scripts", () => {
  const steps = installSteps({ kind: "venv", python: PYTHON }, CONTENTS, "win32");
  assert.equal(steps.at(-1)?.command, "\\s\\made\\Scripts\\python.exe");
});
