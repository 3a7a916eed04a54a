/** Runs axe, which finds barriers for people who use a keyboard, a screen reader or high contrast. */
import type { FrameLocator } from "playwright-core";
import { axeScript } from "./packages.ts";

/** One finding: the rule and where it is broken. */
export interface Finding {
  readonly rule: string;
  readonly impact: string;
  readonly where: string;
  readonly why: string;
}

/** Returns the serious and critical findings in the panel. */
export async function seriousFindings(panel: FrameLocator): Promise<readonly Finding[]> {
  const root = await panel.locator(":root").elementHandle();
  const frame = await root?.ownerFrame();
  if (!frame) throw new Error("the panel is not open");
  if (!(await frame.evaluate("typeof axe === 'object'"))) await frame.evaluate(axeScript());
  // The workbench draws the view's background behind the frame; without this, axe would assume white.
  await frame.evaluate(
    'document.documentElement.style.background = "var(--vscode-sideBar-background)"',
  );
  return frame.evaluate<readonly Finding[]>(`
    axe.run(document, { resultTypes: ["violations"] }).then((result) =>
      result.violations
        .filter((found) => found.impact === "serious" || found.impact === "critical")
        .flatMap((found) =>
          found.nodes.map((node) => ({
            rule: found.id,
            impact: found.impact,
            where: node.html.slice(0, 200),
            why: (node.failureSummary ?? "").slice(0, 300),
          })),
        ),
    )`);
}
