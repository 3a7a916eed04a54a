import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionParams } from "../../../../src/protocol.ts";
import { hunksSent, offers } from "../../../../src/webview/questions/answers.tsx";
import { permission } from "../../fixtures.ts";

const ASKED = permission({ title: "Run a command in .?", reason: "it may change files", cwd: "." });
const HUNKS = ["a", "b"].map((id) => ({ id, header: "@@", text: "+x" }));
const available = (
  asked: PermissionParams,
  seen: boolean,
  chosen: readonly string[] | null = null,
) =>
  offers(asked, { seen, factsSeen: true, chosen })
    .filter((offer) => offer.blocked === "")
    .map((offer) => offer.answer);

test("UI-12: the answer no comes first", () => {
  assert.deepEqual(available(ASKED, true), ["no", "once", "session", "always"]);
});

test("UI-08: only no is available until the end of the text was seen", () => {
  assert.deepEqual(available(ASKED, false), ["no"]);
});

test("session and always are not offered for a question without a rule", () => {
  const offered = offers({ ...ASKED, rule: "" }, { seen: true, factsSeen: true, chosen: null });
  assert.deepEqual(
    offered.map((offer) => offer.answer),
    ["no", "once"],
  );
});

test("with some hunks chosen only no and once are available, and with none only no", () => {
  const asked = { ...ASKED, hunks: HUNKS };
  assert.deepEqual(available(asked, true, ["a", "b"]), ["no", "once", "session", "always"]);
  assert.deepEqual(available(asked, true, ["b"]), ["no", "once"]);
  assert.deepEqual(available(asked, true, []), ["no"]);
});

test("an answer lists the chosen hunks if some are left out, and never with a no", () => {
  const asked = { ...ASKED, hunks: HUNKS };
  assert.deepEqual(hunksSent(asked, ["b"], "once"), ["b"]);
  assert.equal(hunksSent(asked, ["b", "a"], "once"), null);
  assert.equal(hunksSent(asked, ["b"], "no"), null);
  assert.equal(hunksSent(ASKED, null, "once"), null);
});

test("an answer lists the chosen hunks in the order of the question", () => {
  const asked = {
    ...ASKED,
    hunks: ["a", "b", "c"].map((id) => ({ id, header: "@@", text: "+x" })),
  };
  assert.deepEqual(hunksSent(asked, ["c", "a"], "once"), ["a", "c"]);
});

test("only no is available until the folder and the sandbox were seen", () => {
  const offered = offers(ASKED, { seen: true, factsSeen: false, chosen: null });
  assert.deepEqual(
    offered.filter((offer) => offer.blocked === "").map((offer) => offer.answer),
    ["no"],
  );
});
