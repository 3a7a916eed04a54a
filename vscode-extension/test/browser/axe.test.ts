/** Runs axe on each state of the conversation in each theme: no finding may be serious or critical. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ownQuestions } from "../../src/shared/state/selectors.ts";
import { axeScript } from "../editor/packages.ts";
import { type Pages, startPages, THEMES } from "./page.ts";
import { SCENES } from "./scenes.ts";

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

// Two at a time, because each test waits until question cards are armed.
describe("each state of the conversation", { concurrency: 2 }, () => {
  for (const theme of THEMES) {
    test(`axe finds nothing serious in theme ${theme}`, async () => {
      const panel = await pages.open({ theme, width: 400, height: 900, keepOpen: true });
      await panel.page.evaluate(axeScript());
      const found: string[] = [];
      for (const [name, scene] of Object.entries(SCENES)) {
        const state = scene();
        await panel.show(state);
        // A question card has low contrast until it is armed.
        if (ownQuestions(state).length > 0)
          await panel.page.locator(".question:not([data-armed=false])").first().waitFor();
        const findings: readonly Finding[] = await panel.page.evaluate(async () => {
          const axe: { run(what: Document, how: object): Promise<{ violations: Finding[] }> } =
            Reflect.get(window, "axe");
          return (await axe.run(document, { resultTypes: ["violations"] })).violations;
        });
        const serious = findings
          .filter((one) => one.impact === "serious" || one.impact === "critical")
          .map(
            (one) =>
              `${one.id}: ${one.nodes.map((node) => `${node.html}\n${node.failureSummary}`).join("\n")}`,
          );
        if (serious.length > 0) found.push(`${name}: ${serious.join("\n")}`);
      }
      assert.deepEqual(found, []);
    });
  }
});
