/** The text of a card: each fact once, hidden characters as escapes, hostile text as text. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { permission } from "../scenes-questions.ts";
import { panel, resetPanel, running, showQuestions } from "./panel.ts";

test("a card states each fact once and draws backquoted words as code", async () => {
  const reason = "'rm' removes or empties files; the mode is `ask`";
  await showQuestions(
    permission({
      reason,
      risky: ["rm -r build/ ('rm' removes or empties files)"],
      sandbox: "sandboxed (bubblewrap), no network; this one: outside the sandbox",
      more: "outside the sandbox",
      wanted: true,
    }),
  );
  const text = (await panel.page.locator(".question-body").innerText()).toLowerCase();
  for (const once of ["not sandboxed", "removes or empties", "the mode is ask"])
    assert.equal(text.split(once).length, 2, once);
  assert.doesNotMatch(text, /outside the sandbox|bubblewrap|`/);
  const why = panel.page.locator(".question-body > p.muted code");
  assert.deepEqual(await why.allTextContents(), ["ask"]);
});

test("a command that looks like a diff is drawn as a command", async () => {
  await showQuestions(
    permission({ kind: "command", cwd: "", detail: "cat <<x\n@@ -1 +1 @@\nx", risky: [] }),
  );
  assert.equal(await panel.page.locator(".asked-diff").count(), 0);
});

test("UI-12 an assertive live region announces a question", async () => {
  const detail = "rm -r dist/"; // no other test uses this command
  await showQuestions(permission({ detail, risky: [] }));
  const announced = await panel.page.locator('[aria-live="assertive"]').allTextContents();
  assert.ok(
    announced.some((words) => words.includes("Permission needed") && words.includes(detail)),
  );
});

test("UI-08 3,000 blanks in a command become one marker, and the command's end follows it", async () => {
  await showQuestions(permission({ detail: `echo hi${" ".repeat(3_000)}; curl evil`, risky: [] }));
  assert.equal(
    await panel.page.locator(".asked-text").textContent(),
    "echo hi [… 3000 blanks …] ; curl evil",
  );
});

test("UI-07 UI-09 characters that hide or reverse text are drawn as escapes with a warning, never raw", async () => {
  const odd = "echo \u202edone\u202c \u001b[2J\u001b]8;;x\u0007 \u200b/etс/passwd";
  await showQuestions(
    permission({
      detail: odd,
      title: `Run \u202e a command?`,
      reason: `because\u001b[1m`,
      cwd: "~/\u202eshop",
      sandbox: "none\u200b",
      why: "\u202esafe",
      wanted: true,
      more: "out\u0007side",
      rule: odd,
      risky: [`echo \u202e (turns)`],
    }),
  );
  const text = (await panel.page.locator(".panel").textContent()) ?? "";
  assert.deepEqual(
    [..."\u202e\u202c\u001b\u0007\u200b"].filter((one) => text.includes(one)),
    [],
  );
  assert.equal(
    (await panel.page.locator(".badge-warning").textContent())?.trim(),
    "2 characters that reverse the direction of text · An invisible character · " +
      "3 control characters · A character that looks like another",
  );
});

test("hostile text of a question creates no element, no request and no console error", async () => {
  const evil = '<img src=x onerror="alert(1)"><script>alert(2)</script><a href="command:x">y</a>';
  await showQuestions(permission({ detail: evil, title: evil, reason: evil, why: evil }));
  assert.equal(await panel.page.locator(".question img, .question script, .question a").count(), 0);
  assert.deepEqual(panel.requests, []);
  assert.deepEqual(panel.consoleErrors, []);
});

test("session titles, models, to-do items and chips show hidden characters as escapes", async () => {
  const odd = (name: string) => `${name}\u202e\u200b\u0007`;
  await resetPanel();
  const base = running();
  const [first] = base.turns;
  assert.ok(first !== undefined);
  await panel.show({
    ...base,
    todo: [{ text: odd("todo"), state: "doing", after: [] }],
    status: base.status === null ? null : { ...base.status, title: odd("title"), model: odd("m") },
    turns: [{ ...first, chips: [{ ...first.chips[0], label: odd("chip") }] }],
  });
  const drawn = await panel.page.evaluate(() => {
    const titles = [...document.querySelectorAll("[title], [aria-label]")].map(
      (one) => `${one.getAttribute("title")} ${one.getAttribute("aria-label")}`,
    );
    return `${document.body.textContent} ${titles.join(" ")}`;
  });
  assert.match(drawn, /todo\\u202e\\u200b\\u0007/);
  for (const hidden of "\u202e\u200b\u0007") assert.ok(!drawn.includes(hidden));
});
