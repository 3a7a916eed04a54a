/**
 * Takes pictures of the panel without VS Code: `node test/browser/look.ts --scene edits --theme dark,light --width 300,400`.
 * Pictures go to test/artifacts/panel-SCENE-THEME-WIDTH.png.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { EXTENSION } from "../editor/packages.ts";
import { startPages, THEMES, type ThemeName } from "./page.ts";
import { SCENES } from "./scenes.ts";

const { values } = parseArgs({
  options: {
    scene: { type: "string", default: Object.keys(SCENES).join(",") },
    theme: { type: "string", default: "dark" },
    width: { type: "string", default: "400" },
    height: { type: "string", default: "800" },
    scale: { type: "string", default: "1" },
    out: { type: "string", default: join(EXTENSION, "test", "artifacts") },
    /** Clicks the first element of this selector before the picture; `--hover` only points at it. */
    click: { type: "string", multiple: true, default: [] },
    hover: { type: "string" },
    language: { type: "string", default: "en" },
    top: { type: "boolean", default: false },
  },
});

function isTheme(name: string): name is ThemeName {
  return THEMES.some((one) => one === name);
}

mkdirSync(values.out, { recursive: true });
const pages = await startPages();
try {
  for (const theme of values.theme.split(",").filter(isTheme)) {
    for (const width of values.width.split(",").map(Number)) {
      for (const name of values.scene.split(",")) {
        const scene = SCENES[name];
        if (scene === undefined)
          throw new Error(`no scene ${name}; there are ${Object.keys(SCENES).join(", ")}`);
        const panel = await pages.open({
          theme,
          width,
          height: Number(values.height),
          scale: Number(values.scale),
          language: values.language,
        });
        await panel.show(scene());
        if (values.top)
          await panel.page.locator("[data-part=scroller]").evaluate((list) => (list.scrollTop = 0));
        for (const selector of values.click) await panel.page.locator(selector).first().click();
        if (values.hover !== undefined) await panel.page.locator(values.hover).first().hover();
        await panel.page.waitForTimeout(150);
        const path = join(
          values.out,
          `panel-${name}-${theme}-${width}${values.language === "en" ? "" : `-${values.language}`}.png`,
        );
        await panel.page.screenshot({ path, animations: "disabled" });
        process.stdout.write(
          `${path}\n${panel.consoleErrors.map((line) => `  ! ${line}\n`).join("")}`,
        );
        await panel.page.context().close();
      }
    }
  }
} finally {
  await pages.close();
}
