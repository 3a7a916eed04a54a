import assert from "node:assert/strict";
import { test } from "node:test";
import { AT_DRAFT, edited, newer, older } from "../../../../src/webview/composer/draft.ts";

const PROMPTS = ["newest", "middle", "middle", "oldest"];

test("up goes back prompt by prompt, equal neighbours once, and stops at the oldest", () => {
  const seen: string[] = [];
  let place = AT_DRAFT;
  let text = "unsent";
  for (let step = older(place, PROMPTS, text); step !== null; step = older(place, PROMPTS, text)) {
    ({ place, text } = step);
    seen.push(text);
  }
  assert.deepEqual(seen, ["newest", "middle", "oldest"]);
});

test("down leads back to the words that were not sent", () => {
  const up = older(AT_DRAFT, PROMPTS, "unsent");
  assert.ok(up);
  const down = newer(up.place, PROMPTS, up.text);
  assert.deepEqual(down, { place: AT_DRAFT, text: "unsent" });
  assert.equal(newer(AT_DRAFT, PROMPTS, "unsent"), null);
});

test("a prompt that is changed on the way becomes the draft, and the one before is not lost", () => {
  const up = older(AT_DRAFT, PROMPTS, "unsent");
  assert.ok(up);
  const place = edited(up.place);
  assert.deepEqual(place, { at: -1, unsent: "", kept: ["unsent"] });
  const again = older(place, PROMPTS, "newest, changed");
  assert.equal(again?.text, "unsent");
  assert.equal(newer(again?.place ?? AT_DRAFT, PROMPTS, "unsent")?.text, "newest, changed");
});

test("typing where nothing was walked keeps the place", () => {
  assert.equal(edited(AT_DRAFT), AT_DRAFT);
});
