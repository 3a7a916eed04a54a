/** UI-02, UI-04: text of the model runs no script, loads nothing and opens only links that are allowed. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { hostileTexts } from "./hostile.ts";
import { forbiddenContent } from "./inspect.ts";
import { type Pages, type Panel, startPages } from "./page.ts";
import { emptyState, text, turn } from "./scenes.ts";

let pages: Pages;
let panel: Panel;
before(async () => {
  pages = await startPages();
  // High enough for all the payloads of one state: the conversation draws only what is near the view.
  panel = await pages.open({ width: 400, height: 3_000 });
});
after(() => pages.close());

const TEXTS = hostileTexts();

/** The long form tests each cut point, the short form every eleventh. */
const STEP = process.env["INDWELL_TEST_LONG"] === undefined ? 11 : 1;

function stateWith(parts: readonly string[], final = true) {
  return emptyState({
    turns: [
      turn(1, {
        ending: final ? "done" : "running",
        parts: parts.map((one, index) => text(`p${index}`, one, { final })),
      }),
    ],
  });
}

/** Fails unless each payload is in the page. */
async function areDrawn(payloads: readonly string[]): Promise<void> {
  assert.equal(await panel.page.locator(".markdown").count(), payloads.length);
}

test("there are at least 200 payloads", () => {
  assert.ok(new Set(TEXTS).size >= 200);
});

test("ui_02 ui_04 complete hostile text causes no request, no script and no forbidden element", async () => {
  for (let from = 0; from < TEXTS.length; from += 24) {
    const some = TEXTS.slice(from, from + 24);
    await panel.show(stateWith(some));
    await areDrawn(some);
    assert.deepEqual(await forbiddenContent(panel.page), [], some.join("\n"));
  }
  assert.deepEqual(panel.requests, []);
  assert.deepEqual(panel.consoleErrors, []);
});

test("ui_02 streamed hostile text causes no request, no script and no forbidden element at any cut point", async () => {
  const short = TEXTS.filter((one) => one.length <= 120);
  assert.ok(short.length >= 200);
  for (let from = 0; from < short.length; from += 60) {
    const some = short.slice(from, from + 60);
    const longest = Math.max(...some.map((one) => one.length));
    for (let cut = 1; cut <= longest + 1; cut += STEP) {
      await panel.show(
        stateWith(
          some.map((one) => one.slice(0, cut)),
          cut > longest,
        ),
      );
      const found = await forbiddenContent(panel.page);
      assert.deepEqual(found, [], some.map((one) => one.slice(0, cut)).join("\n"));
    }
    await areDrawn(some);
  }
  assert.deepEqual(panel.requests, []);
  assert.deepEqual(panel.consoleErrors, []);
});

test("ui_02 a click or Enter on any element of hostile text posts only https links and files of the workspace", async () => {
  for (let from = 0; from < TEXTS.length; from += 40) {
    const some = TEXTS.slice(from, from + 40);
    await panel.show(stateWith(some));
    await areDrawn(some);
    await panel.page.evaluate(() => {
      for (const element of document.querySelectorAll(".markdown *")) {
        if (element.closest("button") !== null) continue; // the buttons of code blocks post their code
        const how = { key: "Enter", bubbles: true, cancelable: true };
        element.dispatchEvent(new MouseEvent("click", how));
        element.dispatchEvent(new KeyboardEvent("keydown", how));
      }
    });
  }
  const posted = (await panel.posted()).filter((one) => one.type !== "ready");
  for (const message of posted) {
    if (message.type === "openLink") assert.match(message.href, /^https:\/\/[^@]+$/);
    else if (message.type === "openFile")
      assert.doesNotMatch(message.target, /^\/|\.\.|\\|^[a-z]+:/i);
    else assert.fail(message.type);
  }
  for (const type of ["openLink", "openFile"])
    assert.ok(
      posted.some((one) => one.type === type),
      type,
    );
  assert.deepEqual(panel.requests, []);
});

test("a link that is not allowed is shown as its Markdown source with its target", async () => {
  await panel.show(stateWith(["[click](javascript:alert(1)) and [pay](http://evil.test/x)"]));
  const words = await panel.page.locator(".markdown").innerText();
  assert.equal(words, "[click](javascript:alert(1)) and [pay](http://evil.test/x)");
});

test("characters that reverse or hide text are shown as code points in links, code and prose", async () => {
  await panel.show(stateWith(["[safe\u202Egnp.exe](src/a.py) `rm\u200b` a\u2066b"]));
  const words = await panel.page.locator(".markdown").innerText();
  assert.equal(words, "safeU+202Egnp.exe rmU+200B aU+2066b");
});
