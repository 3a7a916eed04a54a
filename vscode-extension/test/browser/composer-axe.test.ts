/** Runs axe on the composer and its popups in four themes: no finding may be serious or critical. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { type Pages, startPages, THEMES } from "./page.ts";
import { busyState, chips, composerScenes, composerState } from "./scenes-composer.ts";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let pages: Pages;
before(async () => {
  pages = await startPages();
});
after(() => pages.close());

const SCENES = [
  { name: "chips", state: composerState({ attachments: chips }), click: null },
  { name: "queue", state: busyState(), click: null },
  { name: "held", state: composerScenes().composerHeld?.() ?? busyState(), click: null },
  { name: "edit", state: busyState(), click: ".queue-actions button" },
  { name: "modes", state: composerState(), click: ".mode-picker" },
  { name: "models", state: composerState(), click: ".model-picker" },
  { name: "window", state: composerState(), click: ".window-meter" },
  { name: "commands", state: composerState(), click: null, type: "/" },
  { name: "steer", state: busyState(), click: null, type: "words" },
  { name: "wide", state: composerState({ attachments: chips }), click: null, width: 900 },
] as const;

for (const theme of THEMES) {
  test(`axe finds nothing serious in ${theme}`, async () => {
    const found: string[] = [];
    const panel = await pages.open({ theme, width: 300, height: 640 });
    for (const scene of SCENES) {
      if ("width" in scene) await panel.page.setViewportSize({ width: scene.width, height: 640 });
      await panel.show(scene.state);
      if (scene.name === "edit") await panel.page.locator(".queue-row").first().hover();
      if (scene.click !== null) await panel.page.locator(scene.click).first().click();
      if ("type" in scene) {
        await panel.page.locator(".prompt-text").focus();
        await panel.page.keyboard.type(scene.type);
        const shown = scene.name === "commands" ? "[role=listbox]" : ".send-choice";
        await panel.page.locator(shown).waitFor();
      }
      // The page's content security policy forbids a script element, but DevTools may evaluate.
      await panel.page.evaluate(AXE);
      const findings: readonly { id: string; impact: string; nodes: readonly string[] }[] =
        await panel.page.evaluate(async () => {
          const axe = Reflect.get(window, "axe");
          const result = await axe.run(document.querySelector(".composer"), {
            resultTypes: ["violations"],
          });
          return result.violations.map(
            (one: { id: string; impact: string; nodes: { html: string }[] }) => ({
              id: one.id,
              impact: one.impact,
              nodes: one.nodes.map((node) => node.html.slice(0, 160)),
            }),
          );
        });
      for (const one of findings) {
        if (one.impact === "serious" || one.impact === "critical") {
          found.push(`${scene.name}: ${one.id}: ${one.nodes.join(" | ")}`);
        }
      }
      await panel.page.keyboard.press("Escape");
      if (scene.name === "commands") await panel.page.keyboard.press("Backspace");
    }
    assert.deepEqual(found, []);
  });
}
