import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import {
  findFrozen,
  type Proofs,
  whyFrozenFails,
} from "../../../../../src/extension/server/install/bundle.ts";

const PLACE = mkdtempSync(join(tmpdir(), "indwell-frozen-"));
after(() => rmSync(PLACE, { recursive: true, force: true }));
mkdirSync(join(PLACE, "frozen"));

const skip = process.platform === "win32" ? "shell scripts play the server" : false;

/** Writes a script as the server's program and returns its path. */
function server(script: string): string {
  const program = join(PLACE, "frozen", "indwell-server");
  writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return program;
}

function memory(): Proofs & { readonly kept: Map<string, unknown> } {
  const kept = new Map<string, unknown>();
  return {
    kept,
    get: (key) => kept.get(key),
    update: async (key, value) => void kept.set(key, value),
  };
}

function how() {
  return { cwd: PLACE, env: { PATH: "/usr/bin:/bin" }, signal: new AbortController().signal };
}

test("the frozen server is found only under its platform's file name", async () => {
  assert.equal(await findFrozen(join(PLACE, "none"), "linux"), undefined);
  const program = server("exit 0");
  assert.equal(await findFrozen(PLACE, "linux"), program);
  assert.equal(await findFrozen(PLACE, "win32"), undefined);
});

test("a frozen server that has run once is not tried again", { skip }, async () => {
  const proofs = memory();
  const program = server("echo indwell 1.2.3");
  assert.equal(await whyFrozenFails(program, proofs, how()), "");
  server("exit 3");
  assert.equal(await whyFrozenFails(program, proofs, how()), "");
  assert.equal(await whyFrozenFails(program, memory(), how()), "it ended with 3");
});

test("a frozen server that fails gives the reason, and its failure is not stored", {
  skip,
}, async () => {
  const proofs = memory();
  const program = server("echo 'no version GLIBC_2.35' >&2; exit 1");
  assert.equal(await whyFrozenFails(program, proofs, how()), "no version GLIBC_2.35");
  assert.equal(proofs.kept.size, 0);
});
