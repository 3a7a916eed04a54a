import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { modeWords } from "../../../src/shared/words.ts";

test("the settings page describes each mode with the words of the mode picker", () => {
  const { contributes } = JSON.parse(readFileSync("package.json", "utf8"));
  const mode = contributes.configuration.properties["indwell.mode"];
  assert.equal(mode.enum[0], "config");
  assert.deepEqual(mode.enumDescriptions.slice(1), mode.enum.slice(1).map(modeWords));
});
