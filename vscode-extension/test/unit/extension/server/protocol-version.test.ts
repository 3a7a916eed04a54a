/** The versions of the protocol: the extension says which side to update. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNotSpoken } from "../../../../src/extension/server/protocol-version.ts";
import { PROTOCOL } from "../../../../src/protocol.ts";

test("a server with the extension's own protocol starts", () => {
  assert.equal(whyNotSpoken({ indwell: { protocol: PROTOCOL, methods: [] } }), null);
});

test("a newer server tells the user to update the extension", () => {
  const words = whyNotSpoken({ indwell: { protocol: PROTOCOL + 1 } }) ?? "";
  assert.match(words, /newer than this extension .* Update the extension\./);
});

test("a server without a version tells the user to update the server", () => {
  for (const told of [undefined, null, {}, { indwell: {} }, { indwell: { protocol: "1" } }])
    assert.match(whyNotSpoken(told) ?? "", /older than this extension .* Update the server/);
});
