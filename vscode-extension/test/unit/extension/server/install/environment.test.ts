import assert from "node:assert/strict";
import { test } from "node:test";
import {
  environmentName,
  outOfUse,
  unfinishedName,
  wheelVersion,
} from "../../../../../src/extension/server/install/environment.ts";

const DAY = 86_400_000;
const OLD = "server-0.1.0-0123456789ab";
const NEW = "server-0.2.0-ba9876543210";

test("the name of an environment contains the version and the hash of the wheel", () => {
  assert.equal(environmentName("0.1.0", "0123456789abcdef"), OLD);
  assert.equal(environmentName("0.1.0/../x", "0123456789abcdef"), "server-0.1.0_.._x-0123456789ab");
});

test("environments that were unused for a day are removed, but not current, recent or foreign folders", () => {
  const entries = [
    { name: OLD, used: 0 },
    { name: NEW, used: 0 },
    { name: "server-0.1.5-aaaaaaaaaaaa", used: 2.5 * DAY },
    { name: unfinishedName(NEW, "1f2e"), used: 0 },
    { name: unfinishedName(NEW, "3d4c"), used: 3 * DAY },
    { name: "empty", used: 0 },
    { name: "server-notes.txt", used: 0 },
  ];
  assert.deepEqual(outOfUse(entries, NEW, 3 * DAY), [OLD, unfinishedName(NEW, "1f2e")]);
});

test("only the wheel of the package indwell counts as the server", () => {
  assert.equal(wheelVersion("indwell-0.1.0-py3-none-any.whl"), "0.1.0");
  assert.equal(wheelVersion("indwell_extra-0.1.0-py3-none-any.whl"), undefined);
  assert.equal(wheelVersion("requirements.txt"), undefined);
});
