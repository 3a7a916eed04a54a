/** Runs the tests of test/host inside the real extension host; each is a subtest here. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { buildExtension } from "../editor/build.ts";
import { withModel } from "../editor/chat.ts";
import { theModel, theWorkbench } from "../editor/shared.ts";
import { SHOP } from "../editor/shop-files.ts";
import { openWindow } from "../editor/window.ts";

const TIMEOUT_MS = 150_000;
const MARK = "INDWELL-TEST ";

interface Result {
  readonly title: string;
  readonly error: string | null;
}

test("inside the extension host", { timeout: TIMEOUT_MS }, async (t) => {
  const built = buildExtension("--host-tests");
  after(built.remove);
  const workbench = await theWorkbench();
  const results: Result[] = [];
  const output: string[] = [];
  let end: (code: number) => void = () => undefined;
  const ended = new Promise<number>((done) => {
    end = done;
  });
  const opening = withModel({ name: "inside", files: SHOP }, await theModel());
  const window = await openWindow(workbench, {
    ...opening,
    payload: [
      ["extensionDevelopmentPath", join(import.meta.dirname, "..", "editor", "probe")],
      ["extensionTestsPath", join(built.folder, "out", "host", "index.js")],
    ],
    prepare: async (page) => {
      await page.exposeFunction(
        "codeAutomationLog",
        (_level: string, words: readonly unknown[]) => {
          const line = words.map(String).join(" ");
          const at = line.indexOf(MARK);
          if (at < 0) output.push(line);
          else results.push(JSON.parse(line.slice(at + MARK.length)));
        },
      );
      await page.exposeFunction("codeAutomationExit", (code: number) => end(code));
    },
  });
  const code = await ended;
  for (const { title, error } of results) {
    await t.test(title, () => assert.ok(error === null, error ?? ""));
  }
  assert.ok(results.length > 0, output.join("\n"));
  assert.equal(code, 0, output.join("\n"));
  await window.close();
});
