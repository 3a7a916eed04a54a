/** The file with what the panel showed last: a new window reads all that the earlier one has set. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { KeptFile } from "../../../../../src/extension/chat/keeping/kept-file.ts";

const folder = mkdtempSync(join(tmpdir(), "indwell-kept-"));
after(() => rmSync(folder, { recursive: true }));

const loud = (error: unknown): void => assert.fail(String(error));

test("a later window reads the newest of many changes", async () => {
  const path = join(folder, "deep", "chat.json");
  const first = new KeptFile(path, loud);
  const written = [1, 2, 3].map((number) => first.set("session", `s${number}`));
  await Promise.all([...written, first.set("lastShown", { turns: [1] })]);
  const second = new KeptFile(path, loud);
  assert.equal(second.get("session"), "s3");
  assert.deepEqual(second.get("lastShown"), { turns: [1] });
});

test("a damaged file is an empty one", () => {
  const path = join(folder, "damaged.json");
  writeFileSync(path, '{"session": "s');
  assert.equal(new KeptFile(path, loud).get("session"), undefined);
});

test("a disk that takes nothing is reported, and the value is known in this window", async () => {
  const path = join(folder, "file.json", "chat.json");
  writeFileSync(join(folder, "file.json"), "");
  const errors: unknown[] = [];
  const file = new KeptFile(path, (error) => errors.push(error));
  await file.set("session", "s");
  assert.equal(errors.length, 1);
  assert.equal(file.get("session"), "s");
});
