/** Stored values have a version, and an older extension leaves the values of a newer one alone. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Keeping } from "../../../../../src/extension/chat/keeping/keeping.ts";
import {
  KEPT_VERSION,
  KeptFile,
  storedHere,
} from "../../../../../src/extension/chat/keeping/kept-file.ts";
import { type Stored, TabMemories } from "../../../../../src/extension/chat/session/tab-state.ts";
import { FakeClock } from "../fake-room.ts";

/** The data that each release stored, in the server's tests. */
const RELEASES = join(process.cwd(), "..", "tests", "stored");

const folder = mkdtempSync(join(tmpdir(), "indwell-version-"));
after(() => rmSync(folder, { recursive: true }));

const failOnMessage = (error?: unknown): void => assert.fail(String(error));

function memento(values: Readonly<Record<string, unknown>>): Stored & { values: object } {
  const kept = new Map(Object.entries(values));
  return {
    get values() {
      return Object.fromEntries(kept);
    },
    keys: () => [...kept.keys()],
    get: (key) => kept.get(key),
    update: async (key, value) => {
      if (value === undefined) kept.delete(key);
      else kept.set(key, value);
    },
  };
}

test("stored values of 0.1.0 and earlier are read and get the current version", () => {
  for (const version of [{}, { "indwell.version": 1 }]) {
    const stored = memento({ "indwell.chat.typed": "half a prompt", ...version });
    assert.equal(storedHere(stored, failOnMessage).get("indwell.chat.typed"), "half a prompt");
    assert.equal(stored.get("indwell.version"), KEPT_VERSION);
  }
});

test("values of a newer extension are neither read nor changed, and the user gets one message", () => {
  const values = { "indwell.version": 99, "indwell.tab.ids": ["a"], "indwell.tab.a.typed": "x" };
  const stored = memento(values);
  let messages = 0;
  const here = storedHere(stored, () => {
    messages += 1;
  });
  const tabs = new TabMemories(here);
  assert.equal(tabs.left(), null);
  void tabs.of("b").set("typed", "new words");
  assert.equal(tabs.of("b").get("typed"), "new words");
  assert.deepEqual(stored.values, values);
  assert.equal(messages, 1);
});

test("a newer extension's file stays unchanged, and this window keeps its values in memory", async () => {
  const path = join(folder, "chat.json");
  const text = '{"version":99,"session":"s1"}';
  writeFileSync(path, text);
  const file = new KeptFile(path, failOnMessage);
  assert.equal(file.get("session"), undefined);
  await file.set("session", "s2");
  assert.equal(file.get("session"), "s2");
  assert.equal(readFileSync(path, "utf8"), text);
});

test("a file without a version is read, and a written file has the current version", async () => {
  const path = join(folder, "old.json");
  writeFileSync(path, '{"session":"s1"}');
  const file = new KeptFile(path, failOnMessage);
  assert.equal(file.get("session"), "s1");
  await file.set("lastShown", null);
  assert.deepEqual(JSON.parse(readFileSync(path, "utf8")), {
    version: KEPT_VERSION,
    session: "s1",
    lastShown: null,
  });
});

test("the stored panel of each release is restored", () => {
  const kept = readdirSync(RELEASES)
    .map((release) => join(RELEASES, release, "panel", "memento.json"))
    .filter((path) => existsSync(path));
  assert.notEqual(kept.length, 0);
  for (const path of kept) {
    const values: Record<string, unknown> = JSON.parse(readFileSync(path, "utf8"));
    const stored = storedHere(memento(values), failOnMessage);
    const get = (key: string): unknown => stored.get(`indwell.chat.${key}`);
    const keeping = new Keeping({ get, set: async () => {} }, new FakeClock());
    assert.equal(keeping.typed, "half a prompt");
    assert.equal(keeping.session, "20261128-120000-000-0123456789ab");
    assert.deepEqual(
      keeping.restore().map((action) => action.type),
      ["history", "attach"],
    );
    assert.equal(keeping.unsent([]).length, 1);
    assert.equal(new TabMemories(stored).of("t1").get("typed"), "words of a tab");
  }
});
