/** Shows changes as diffs: one file beside its base, or all files in a multi-file editor. */

import * as vscode from "vscode";
import type { ChangeRow, ChangesResult } from "../../../protocol.ts";
import { t } from "../../../shared/l10n.ts";
import type { Server } from "../../server/server.ts";
import type { PendingChanges } from "../pending/pending-changes.ts";
import { baseQuery, type Compared, compared, reviewTitle, type Span } from "./resources.ts";

/** The URI scheme of texts without pending changes; the server provides them. */
export const BASE_SCHEME = "indwell-base";

/** Returns the URI of a file's text without pending changes (or before a turn). */
export function baseOf(uri: vscode.Uri, span: Span = {}): vscode.Uri {
  return vscode.Uri.from({ scheme: BASE_SCHEME, path: uri.path, query: baseQuery(span) });
}

/** Opens the diff of one file. */
export async function openDiff(uri: vscode.Uri, span: Span = {}, line?: number): Promise<void> {
  const name = vscode.workspace.asRelativePath(uri);
  const part = span.turn ? t("turn {0}", span.turn) : t("pending changes");
  const at = line === undefined ? undefined : new vscode.Range(line, 0, line, 0);
  const options: vscode.TextDocumentShowOptions =
    at === undefined ? { preview: true } : { preview: true, selection: at };
  await vscode.commands.executeCommand(
    "vscode.diff",
    baseOf(uri, span),
    uri,
    `${name} (${part})`,
    options,
  );
}

/**
 * Opens all changes of `span` in one editor; a single file is opened as an ordinary diff. Returns
 * false if there are no changes. `paths` are URIs of files that a finished turn changed, which may
 * have no pending changes.
 */
export async function openReview(
  server: Server,
  pending: PendingChanges,
  span: Span = {},
  files: readonly string[] = [],
): Promise<boolean> {
  const shown = await filesOf(server, pending, span, files);
  const [only] = shown;
  if (only === undefined) return false;
  if (shown.length === 1 && only.hasAfter && only.hasBefore) {
    await openDiff(vscode.Uri.parse(only.uri), span);
    return true;
  }
  await vscode.commands.executeCommand(
    "vscode.changes",
    reviewTitle(span),
    shown.map((one) => {
      const uri = vscode.Uri.parse(one.uri);
      const before = one.hasBefore ? baseOf(uri, span) : undefined;
      return [uri, before, one.hasAfter ? uri : undefined];
    }),
  );
  return true;
}

async function filesOf(
  server: Server,
  pending: PendingChanges,
  span: Span,
  files: readonly string[],
): Promise<readonly Compared[]> {
  if (files.length > 0) {
    return files.map((uri) => ({ uri, path: uri, hasBefore: true, hasAfter: true }));
  }
  return compared(await rowsOf(server, pending, span));
}

async function rowsOf(
  server: Server,
  pending: PendingChanges,
  span: Span,
): Promise<readonly ChangeRow[]> {
  if (!span.session && !span.turn && !span.uri) return pending.rows;
  const { changes } = await server.request<ChangesResult>("indwell/changes", span);
  return changes;
}
