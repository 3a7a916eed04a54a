import assert from "node:assert/strict";
import { test } from "node:test";
import {
  forgetKey,
  keepKey,
  keysForServer,
  origins,
} from "../../../../src/extension/client/keys.ts";
import { memorySecrets } from "../first-run/memory-secrets.ts";

test("a key is stored, replaced, listed and deleted by its origin", async () => {
  const secrets = memorySecrets();
  await keepKey(secrets, "https://b.example", "k1");
  await keepKey(secrets, "https://a.example", "k2");
  await keepKey(secrets, "https://b.example", "k3");
  assert.deepEqual(await origins(secrets), ["https://a.example", "https://b.example"]);
  assert.deepEqual(await keysForServer(secrets), {
    "https://a.example": "k2",
    "https://b.example": "k3",
  });
  await forgetKey(secrets, "https://b.example");
  await forgetKey(secrets, "https://a.example");
  assert.equal(secrets.stored.size, 0);
});

test("an unreadable store counts as empty, and entries that are not text are ignored", async () => {
  assert.deepEqual(await keysForServer(memorySecrets("{")), {});
  assert.deepEqual(await keysForServer(memorySecrets('{"a": 1, "b": "k"}')), { b: "k" });
  assert.deepEqual(await keysForServer(memorySecrets("null")), {});
});
