/** The file that stores what the panel showed last. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { KeptFile } from "../../../../../src/extension/chat/keeping/kept-file.ts";

const folder = mkdtempSync(join(tmpdir(), "indwell-kept-"));
after(() => rmSync(folder, { recursive: true }));

const failOnError = (error: unknown): void => assert.fail(String(error));

test("a later window reads the newest values", async () => {
  const path = join(folder, "deep", "chat.json");
  const first = new KeptFile(path, failOnError);
  const written = [1, 2, 3].map((number) => first.set("session", `s${number}`));
  await Promise.all([...written, first.set("lastShown", { turns: [1] })]);
  const second = new KeptFile(path, failOnError);
  assert.equal(second.get("session"), "s3");
  assert.deepEqual(second.get("lastShown"), { turns: [1] });
});

test("a damaged file counts as empty", () => {
  const path = join(folder, "damaged.json");
  writeFileSync(path, '{"session": "s');
  assert.equal(new KeptFile(path, failOnError).get("session"), undefined);
});

test("a failed write is reported, and this window keeps the value", async () => {
  const path = join(folder, "file.json", "chat.json");
  writeFileSync(join(folder, "file.json"), "");
  const errors: unknown[] = [];
  const file = new KeptFile(path, (error) => errors.push(error));
  await file.set("session", "s");
  assert.equal(errors.length, 1);
  assert.equal(file.get("session"), "s");
});
