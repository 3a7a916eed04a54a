import assert from "node:assert/strict";
import { test } from "node:test";
import type { PermissionParams } from "../../../../src/protocol.ts";
import { hunksSent, offers } from "../../../../src/webview/questions/answers.tsx";

const ASKED: PermissionParams = {
  id: "q",
  title: "Run a command in .?",
  detail: "make",
  reason: "it may change files",
  rule: "make",
  cwd: ".",
  session: "",
  sandbox: "",
  more: "",
  why: "",
  wanted: false,
  risky: [],
  hunks: [],
  kind: "command",
};
const HUNKS = ["a", "b"].map((id) => ({ id, header: "@@", text: "+x" }));
const open = (asked: PermissionParams, seen: boolean, chosen: readonly string[] | null = null) =>
  offers(asked, { seen, factsSeen: true, chosen })
    .filter((offer) => offer.blocked === "")
    .map((offer) => offer.answer);

test("UI-12: no comes first", () => {
  assert.deepEqual(open(ASKED, true), ["no", "once", "session", "always"]);
});

test("UI-08: until the end of the text was seen there is only no", () => {
  assert.deepEqual(open(ASKED, false), ["no"]);
});

test("where nothing would be stored, session and always are not offered", () => {
  const offered = offers({ ...ASKED, rule: "" }, { seen: true, factsSeen: true, chosen: null });
  assert.deepEqual(
    offered.map((offer) => offer.answer),
    ["no", "once"],
  );
});

test("a part of an edit is allowed for once only, none at all is no", () => {
  const asked = { ...ASKED, hunks: HUNKS };
  assert.deepEqual(open(asked, true, ["a", "b"]), ["no", "once", "session", "always"]);
  assert.deepEqual(open(asked, true, ["b"]), ["no", "once"]);
  assert.deepEqual(open(asked, true, []), ["no"]);
});

test("hunks are named in their order where some are left out, and not with a no", () => {
  const asked = { ...ASKED, hunks: HUNKS };
  assert.deepEqual(hunksSent(asked, ["b"], "once"), ["b"]);
  assert.equal(hunksSent(asked, ["b", "a"], "once"), null);
  assert.equal(hunksSent(asked, ["b"], "no"), null);
  assert.equal(hunksSent(ASKED, null, "once"), null);
});

test("until the folder and the sandbox were on the screen there is only no", () => {
  const offered = offers(ASKED, { seen: true, factsSeen: false, chosen: null });
  assert.deepEqual(
    offered.filter((offer) => offer.blocked === "").map((offer) => offer.answer),
    ["no"],
  );
});
