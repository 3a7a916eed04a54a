/**
 * Finds the server's program: from the setting, in the package, or in a private environment, which
 * is created if needed.
 */

import { existsSync, mkdirSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import * as vscode from "vscode";
import { t } from "../../../shared/l10n.ts";
import { showProgress } from "../../say.ts";
import { CannotStart } from "../life.ts";
import { findBundle, findFrozen, whyFrozenFails } from "./bundle.ts";
import { install, installed, madeWith, tidy } from "./install.ts";

/** A program and its arguments. */
export interface Found {
  readonly command: string;
  readonly args: readonly string[];
}

/** The inputs of the search. */
export interface Finding {
  readonly context: vscode.ExtensionContext;
  readonly log: vscode.LogOutputChannel;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly step: (sentence: string) => void;
}

/** Returns the user's setting, which a workspace cannot change, or an empty text. */
export function serverPath(): string {
  const set = vscode.workspace.getConfiguration("indwell").inspect<unknown>("serverPath");
  return typeof set?.globalValue === "string" ? set.globalValue.trim() : "";
}

/** Finds the server, and installs it if need be. Rejects with `CannotStart`. */
export async function findServer(finding: Finding): Promise<Found> {
  const chosen = serverPath();
  if (chosen !== "") return { command: checked(chosen), args: ["serve", "--stdio"] };
  const { context, log, env, signal } = finding;
  const shipped = context.asAbsolutePath("server");
  const frozen = await findFrozen(shipped, process.platform);
  if (frozen !== undefined) {
    const cwd = emptyFolder(context);
    const reason = await whyFrozenFails(frozen, context.globalState, { cwd, env, signal });
    if (reason === "") {
      log.info(`The server of this package, with its own Python: ${frozen}`);
      return { command: frozen, args: ["serve", "--stdio"] };
    }
    log.warn(`The server of this package does not run on this machine: ${reason}`);
  }
  const bundle = await findBundle(shipped);
  if (bundle === undefined) {
    throw new CannotStart(t("This build of the extension contains no server. Choose one."));
  }
  const site = { folder: context.globalStorageUri.fsPath, platform: process.platform };
  const python = (await installed(bundle, site)) ?? (await installShowing(bundle, finding, site));
  log.info(
    `The server's own place: ${bundle.name} ${await madeWith(join(site.folder, bundle.name))}`,
  );
  void tidy(site.folder, bundle.name, Date.now());
  return { command: python, args: ["-I", "-m", "indwell", "serve", "--stdio"] };
}

/**
 * Returns the extension's own folder in which programs start, so that no file of a workspace is
 * loaded.
 */
export function emptyFolder(context: vscode.ExtensionContext): string {
  const folder = join(context.globalStorageUri.fsPath, "empty");
  mkdirSync(folder, { recursive: true });
  return folder;
}

function checked(path: string): string {
  const whole = path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
  if (!isAbsolute(whole)) {
    throw new CannotStart(t("The setting indwell.serverPath is not an absolute path: {0}", path));
  }
  if (!existsSync(whole) || !statSync(whole).isFile()) {
    throw new CannotStart(t("The setting indwell.serverPath names no file: {0}", path));
  }
  return whole;
}

function installShowing(
  bundle: Parameters<typeof install>[0],
  finding: Finding,
  site: { readonly folder: string; readonly platform: NodeJS.Platform },
): Promise<string> {
  return showProgress("Indwell", (step, token) => {
    const cancel = new AbortController();
    token.onCancellationRequested(() => cancel.abort());
    return install(bundle, {
      ...site,
      home: homedir(),
      env: finding.env,
      signal: AbortSignal.any([cancel.signal, finding.signal]),
      step: (sentence) => {
        step(sentence);
        finding.step(sentence);
      },
      log: (line) => finding.log.info(line),
    });
  });
}
