/** Builds the webview as it ships, in memory. */
import { basename, join } from "node:path";
import * as esbuild from "esbuild";
import { EXTENSION } from "../editor/packages.ts";

/** Maps the name of each file that the page loads to its bytes. */
export type Files = ReadonlyMap<string, Uint8Array>;

/** Returns `webview.js`, `webview.css` and the font. */
export async function bundleWebview(): Promise<Files> {
  const built = await esbuild.build({
    absWorkingDir: EXTENSION,
    entryPoints: { webview: join(EXTENSION, "src/webview/main.tsx") },
    bundle: true,
    write: false,
    outdir: "dist",
    platform: "browser",
    format: "iife",
    target: "chrome138",
    jsx: "automatic",
    jsxImportSource: "preact",
    assetNames: "[name]",
    loader: { ".ttf": "file" },
    logLevel: "warning",
  });
  return new Map(built.outputFiles.map((file) => [basename(file.path), file.contents]));
}
