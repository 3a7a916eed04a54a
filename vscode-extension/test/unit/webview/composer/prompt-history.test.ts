import assert from "node:assert/strict";
import { test } from "node:test";
import { AT_DRAFT, edited, newer, older } from "../../../../src/webview/composer/draft.ts";

const PROMPTS = ["newest", "middle", "middle", "oldest"];

test("going back visits each prompt, skips equal neighbours and stops at the oldest prompt", () => {
  const seen: string[] = [];
  let place = AT_DRAFT;
  let text = "unsent";
  for (let step = older(place, PROMPTS, text); step !== null; step = older(place, PROMPTS, text)) {
    ({ place, text } = step);
    seen.push(text);
  }
  assert.deepEqual(seen, ["newest", "middle", "oldest"]);
});

test("going forward returns to the unsent text", () => {
  const up = older(AT_DRAFT, PROMPTS, "unsent");
  assert.ok(up);
  const down = newer(up.place, PROMPTS, up.text);
  assert.deepEqual(down, { place: AT_DRAFT, text: "unsent" });
  assert.equal(newer(AT_DRAFT, PROMPTS, "unsent"), null);
});

test("an edited prompt becomes the draft, and the unsent text before it stays reachable", () => {
  const up = older(AT_DRAFT, PROMPTS, "unsent");
  assert.ok(up);
  const place = edited(up.place);
  assert.deepEqual(place, { at: -1, unsent: "", kept: ["unsent"] });
  const again = older(place, PROMPTS, "newest, changed");
  assert.equal(again?.text, "unsent");
  assert.equal(newer(again?.place ?? AT_DRAFT, PROMPTS, "unsent")?.text, "newest, changed");
});

test("typing without a recalled prompt keeps the position", () => {
  assert.equal(edited(AT_DRAFT), AT_DRAFT);
});
