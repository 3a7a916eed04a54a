// Builds what ships (dist/) and what tests run (out/). Flags: --minify (for a package: no source maps),
// --out=FOLDER (in place of dist), --watch, --tests (unit tests), --host-tests (those that run inside
// VS Code).
import { copyFileSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import * as esbuild from "esbuild";
import { thirdPartyNotices } from "./build/third-party.mjs";
import { withUsedIcons } from "./build/used-icons.ts";

const flags = new Set(process.argv.slice(2));
const minify = flags.has("--minify");
const out = [...flags].find((flag) => flag.startsWith("--out="))?.slice(6) ?? "dist";

/** @type {import("esbuild").BuildOptions} */
const shared = {
  bundle: true,
  minify,
  sourcemap: minify ? false : "linked",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { "process.env.NODE_ENV": minify ? '"production"' : '"development"' },
};

/**
 * The client is a file of its own: it is most of the code, and is read only when a server is wanted.
 *
 * @type {import("esbuild").Plugin}
 */
const clientApart = {
  name: "client-apart",
  setup(build) {
    build.onResolve({ filter: /\/language-client\.ts$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: "./client.js", external: true } : undefined,
    );
  },
};

/** @type {import("esbuild").BuildOptions} */
const extension = {
  ...shared,
  entryPoints: {
    extension: "src/extension/extension.ts",
    client: "src/extension/server/language-client.ts",
    colours: "src/extension/colours/thread.ts",
  },
  plugins: [clientApart],
  supported: { "dynamic-import": false }, // a plain `require`, as VS Code expects of extensions
  outdir: out,
  platform: "node",
  format: "cjs",
  target: "node22",
  mainFields: ["module", "main"],
  external: ["vscode"],
};

/** @type {import("esbuild").BuildOptions} */
const webview = {
  ...shared,
  entryPoints: { webview: "src/webview/main.tsx" },
  outdir: out,
  platform: "browser",
  format: "iife",
  target: "chrome138",
  assetNames: "[name]",
  loader: { ".ttf": "file" },
};

/** @type {import("esbuild").BuildOptions} */
const unitTests = {
  ...shared,
  entryPoints: globSync("test/unit/**/*.test.{ts,tsx}"),
  outbase: "test/unit",
  outdir: "out/test",
  outExtension: { ".js": ".mjs" },
  platform: "node",
  format: "esm",
  target: "node22",
  sourcemap: "inline",
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
  external: ["typescript"],
  loader: { ".css": "empty", ".ttf": "empty" },
};

/** @type {import("esbuild").BuildOptions} */
const hostTests = {
  ...extension,
  plugins: [],
  entryPoints: { index: "test/host/index.ts" },
  outdir: "out/host",
  external: ["vscode", "mocha"],
};

if (flags.has("--tests")) {
  rmSync("out/test", { recursive: true, force: true });
  await esbuild.build(unitTests);
} else if (flags.has("--host-tests")) {
  if (existsSync("test/host/index.ts")) await esbuild.build(hostTests);
} else if (flags.has("--watch")) {
  for (const options of [extension, webview]) await (await esbuild.context(options)).watch();
} else {
  rmSync(out, { recursive: true, force: true });
  const built = await Promise.all([extension, webview].map((options) => esbuild.build(options)));
  const notices = thirdPartyNotices(built.flatMap((one) => Object.keys(one.metafile.inputs)));
  writeFileSync(`${out}/THIRD-PARTY.txt`, notices);
  if (minify) {
    const [styles, script] = ["css", "js"].map((end) =>
      readFileSync(`${out}/webview.${end}`, "utf8"),
    );
    writeFileSync(`${out}/webview.css`, withUsedIcons(styles, script));
  }
  copyFileSync("node_modules/vscode-oniguruma/release/onig.wasm", `${out}/onig.wasm`);
}
