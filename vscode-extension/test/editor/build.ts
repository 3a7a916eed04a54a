/** Builds the extension from a copy of the working tree, because the tree may change meanwhile. */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EXTENSION } from "./packages.ts";

const COPIED = [
  "package.json",
  "esbuild.mjs",
  "build",
  "l10n",
  "src",
  "test/host",
  "test/editor/shop-files.ts",
  "test/editor/waiting.ts",
  "media",
  "walkthrough",
  "tsconfig.base.json",
  "README.md",
  "LICENSE",
];

/** An unpacked extension. */
export interface Built {
  readonly folder: string;
  readonly remove: () => void;
}

/** Builds the extension in its own folder, in about a second. `flags` select further builds, such as `--host-tests`. */
export function buildExtension(...flags: readonly string[]): Built {
  const folder = mkdtempSync(join(tmpdir(), "indwell-extension-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  for (const name of COPIED) {
    if (existsSync(join(EXTENSION, name)))
      cpSync(join(EXTENSION, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(EXTENSION, "node_modules"), join(folder, "node_modules"));
  const built = spawnSync(process.execPath, ["esbuild.mjs", ...flags], {
    cwd: folder,
    encoding: "utf8",
  });
  if (built.status === 0) return { folder, remove };
  remove();
  throw new Error(`the extension does not build:\n${built.stdout}${built.stderr}`);
}
