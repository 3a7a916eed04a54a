/** If the protocol versions differ, the extension says which side to update. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNotSpoken } from "../../../../src/extension/server/protocol-version.ts";
import { PROTOCOL } from "../../../../src/protocol.ts";

test("a server with the extension's protocol version is accepted", () => {
  assert.equal(whyNotSpoken({ indwell: { protocol: PROTOCOL, methods: [] } }), null);
});

test("a newer server tells the user to update the extension", () => {
  const words = whyNotSpoken({ indwell: { protocol: PROTOCOL + 1 } }) ?? "";
  assert.match(words, /newer than this extension .* Update the extension\./);
});

test("a server without a version tells the user to update the server", () => {
  for (const result of [undefined, null, {}, { indwell: {} }, { indwell: { protocol: "1" } }])
    assert.match(whyNotSpoken(result) ?? "", /older than this extension .* Update the server/);
});
